"""uint64 against NumPy's, with numbers that neither int64 nor float64 holds."""
import unittest

import numpy as np
import tapedeck as tf

large = np.array([2**64 - 1, 2**63, 2**63 + 12345, 7, 0, 2**53 + 1], np.uint64)
small = np.array([3, 2**63 - 1, 2, 7, 9, 2**64 - 2], np.uint64)


class UInt64(unittest.TestCase):
    def test_values_in_and_out(self):
        t = tf.constant(large)
        self.assertEqual(t.dtype, tf.uint64)
        np.testing.assert_array_equal(t.numpy(), large)
        self.assertEqual(tf.constant(2**64 - 1, tf.uint64).numpy(), 2**64 - 1)
        self.assertEqual(int(tf.constant(2**64 - 1, tf.uint64)), 2**64 - 1)
        self.assertEqual(str(t[0]), "tf.Tensor(18446744073709551615, shape=(), dtype=uint64)")
        self.assertEqual((tf.uint64.max, tf.uint64.min), (2**64 - 1, 0))
        for wrong in (-1, 2**64):
            with self.assertRaisesRegex(ValueError, "does not fit in uint64"):
                tf.constant(wrong, tf.uint64)

    def test_arithmetic_is_exact_and_wraps_around(self):
        a, b = tf.constant(large), tf.constant(small)
        with np.errstate(over="ignore"):
            for name, got, expected in (("+", a + b, large + small), ("-", a - b, large - small), ("*", a * b, large * small),
                                        ("//", a // b, large // small), ("%", a % b, large % small),
                                        ("max", tf.maximum(a, b), np.maximum(large, small)),
                                        ("min", tf.minimum(a, b), np.minimum(large, small)), ("&", a & b, large & small),
                                        ("|", a | b, large | small),
                                        ("^", a ^ b, large ^ small), ("~", ~a, ~large),
                                        (">>", a >> tf.constant([3] * 6, tf.uint64), large >> np.uint64(3)),
                                        ("abs", abs(a), large), ("square", tf.square(a), large * large)):
                with self.subTest(name=name):
                    self.assertEqual(got.dtype, tf.uint64)
                    np.testing.assert_array_equal(got.numpy(), expected)
        for got, expected in ((a < b, large < small), (a <= b, large <= small), (a > b, large > small), (a >= b, large >= small),
                              (a == b, large == small),
                              (a != b, large != small)):
            np.testing.assert_array_equal(got.numpy(), expected)
        with self.assertRaisesRegex(ValueError, "floordiv: y holds a 0"):
            b // a

    def test_casts(self):
        np.testing.assert_array_equal(tf.cast(large, tf.float64).numpy(), large.astype(np.float64))
        np.testing.assert_array_equal(tf.cast(large, tf.int64).numpy(), large.astype(np.int64))
        np.testing.assert_array_equal(tf.cast(large, tf.uint8).numpy(), large.astype(np.uint8))
        np.testing.assert_array_equal(tf.cast(np.float64([1.7, 2.**63, 1e19]), tf.uint64).numpy(), np.array([1, 2**63, 10**19], np.uint64))
        np.testing.assert_array_equal(tf.cast(np.array([5, 255], np.uint8), tf.uint64).numpy(), [5, 255])
        np.testing.assert_array_equal((tf.constant(large) / tf.constant(small)).numpy(), large.astype(float) / small.astype(float))

    def test_reductions_and_order(self):
        t = tf.constant(large)
        with np.errstate(over="ignore"):
            self.assertEqual(tf.reduce_sum(t).numpy(), large.sum())
            self.assertEqual(tf.reduce_prod(t[:3]).numpy(), large[:3].prod())
            np.testing.assert_array_equal(tf.cumsum(t).numpy(), large.cumsum())
        self.assertEqual((tf.reduce_max(t).numpy(), tf.reduce_min(t).numpy()), (large.max(), large.min()))
        self.assertEqual((int(tf.argmax(t)), int(tf.argmin(t))), (0, 4))
        np.testing.assert_array_equal(tf.sort(t).numpy(), np.sort(large))
        np.testing.assert_array_equal(tf.argsort(t).numpy(), np.argsort(large))
        np.testing.assert_array_equal(tf.unique(tf.concat([t, t], 0)).y.numpy(), large)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(tf.matmul(tf.constant(large[None]), tf.constant(small[:, None])).numpy(),
                                          [[(large * small).sum()]])

    def test_what_moves_elements_moves_them(self):
        t = tf.constant(large.reshape(2, 3))
        np.testing.assert_array_equal(tf.transpose(t).numpy(), large.reshape(2, 3).T)
        np.testing.assert_array_equal(tf.gather(t, [1, 0]).numpy(), large.reshape(2, 3)[[1, 0]])
        np.testing.assert_array_equal(tf.where([[True], [False]], t, tf.zeros_like(t)).numpy(), [large[:3], [0, 0, 0]])
        np.testing.assert_array_equal(tf.ones([2], tf.uint64).numpy(), [1, 1])
        with self.assertRaisesRegex(TypeError, "uint64"):
            tf.gather(t, tf.constant([0], tf.uint64))


if __name__ == "__main__":
    unittest.main()
