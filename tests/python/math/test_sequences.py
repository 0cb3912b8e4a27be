"""Ranges, histograms, differences of lists and polynomials."""
import unittest

import numpy as np

import tapedeck as tf


class Ranges(unittest.TestCase):
    def test_the_widest_dtype_of_the_numbers_decides(self):
        for arguments, wanted in (((tf.constant(3, tf.int64),), tf.int64), ((0, tf.constant(3, tf.int64)), tf.int64),
                                  ((0, 3, np.int64(1)), tf.int64), ((1, tf.constant(2.), tf.constant(.5, tf.float64)), tf.float64),
                                  ((tf.constant(3), 4.5), tf.float32), ((tf.constant(2), 2**33, 2**32), tf.int64),
                                  ((tf.constant(3., tf.float16),), tf.float16), ((np.float64(3),), tf.float64),
                                  ((tf.constant(3, tf.uint8),), tf.int32), ((tf.Variable(3, dtype=tf.int64),), tf.int64),
                                  ((3,), tf.int32), ((3.,), tf.float32), ((2**33, 2**33 + 1), tf.int64), ((np.uint64(3),), tf.int64)):
            result = tf.range(*arguments)
            self.assertEqual(result.dtype, wanted, arguments)
            np.testing.assert_array_equal(result.numpy(), np.arange(*(float(number) for number in arguments)), str(arguments))
        self.assertEqual(tf.range(tf.constant(3, tf.int64), dtype=tf.float32).dtype, tf.float32)
        with self.assertRaisesRegex(TypeError, r"^range: start: \[1, 2\] is not a number"):
            tf.range([1, 2])


    def test_numbers_do_not_wrap_around(self):
        for dtype, least, greatest in ((tf.int8, -128, 127), (tf.uint8, 0, 255), (tf.int16, -2**15, 2**15 - 1), (tf.uint16, 0, 2**16 - 1),
                                       (tf.uint32, 0, 2**32 - 1), (tf.int32, -2**31, 2**31 - 1)):
            self.assertEqual(tf.range(greatest - 1, greatest + 1, dtype=dtype).numpy().tolist(), [greatest - 1, greatest])
            self.assertEqual(tf.range(least, least + 1, dtype=dtype).numpy().tolist(), [least])
            for arguments in ((greatest, greatest + 2), (least - 1, least + 2)):
                with self.assertRaisesRegex(tf.errors.InvalidArgumentError, f"^range: .* leave {dtype.name}; pass dtype int64"):
                    tf.range(*arguments, dtype=dtype)
        for arguments, name in (((True,), "start"), ((0, np.bool_(True)), "limit"), ((0, 3, True), "delta")):
            with self.assertRaisesRegex(TypeError, f"^range: {name} is .*True.*; needs a number"):
                tf.range(*arguments)


class Histograms(unittest.TestCase):
    def test_the_last_bin_of_more_than_floats_count_is_the_last(self):
        for count in (2**24 + 1, 2**24 + 3, 2**31 - 1):
            self.assertEqual(int(tf.histogram_fixed_width_bins([1.], [0., 1.], count)[0]), count - 1)

    def test_values_outside_fall_into_the_outer_bins(self):
        values = [-1., 0., 1.5, 2., 5., 15.]
        self.assertEqual(tf.histogram_fixed_width_bins(values, [0., 5.], nbins=5).numpy().tolist(), [0, 0, 1, 2, 4, 4])
        counts = tf.histogram_fixed_width(values, [0., 5.], nbins=5, dtype=tf.int64)
        self.assertEqual((counts.numpy().tolist(), counts.dtype), ([2, 1, 1, 0, 2], tf.int64))
        self.assertEqual(tf.histogram_fixed_width([[1, 2], [3, 3]], [0, 4], 4).numpy().tolist(), [0, 1, 1, 2])

    def test_nan_is_in_no_bin_and_nothing_fills_none(self):
        self.assertEqual(tf.histogram_fixed_width([float("nan"), .5], [0., 1.], 2).numpy().tolist(), [0, 1])
        self.assertEqual(tf.histogram_fixed_width([], [0., 1.], 3).numpy().tolist(), [0, 0, 0])

    def test_no_range_and_no_bins_are_refused(self):
        with self.assertRaisesRegex(ValueError, r"value_range is \[1.0, 1.0\]"):
            tf.histogram_fixed_width([1.], [1., 1.])
        with self.assertRaisesRegex(ValueError, "nbins is 0"):
            tf.histogram_fixed_width([1.], [0., 1.], 0)


class Differences(unittest.TestCase):
    def test_what_only_the_first_list_holds(self):
        found = tf.setdiff1d([1, 2, 3, 4, 2], [1, 3], index_dtype=tf.int64)
        self.assertEqual((found.out.numpy().tolist(), found.idx.numpy().tolist()), ([2, 4, 2], [1, 3, 4]))
        self.assertEqual((found.out.dtype, found.idx.dtype), (tf.int32, tf.int64))
        self.assertEqual(tf.setdiff1d([1., float("nan")], [float("nan")]).idx.numpy().tolist(), [0, 1])
        with self.assertRaisesRegex(TypeError, "setdiff1d: x is int32 and y is float32"):
            tf.setdiff1d([1], tf.constant([1.]))


class Polynomials(unittest.TestCase):
    def test_horners_rule_and_its_gradient(self):
        x = np.linspace(-2, 2, 7)
        np.testing.assert_allclose(tf.math.polyval([1., -2., 0.5], x).numpy(), np.polyval([1, -2, .5], x), rtol=1e-15)
        self.assertEqual(tf.math.polyval([], [1., 2.]).numpy().tolist(), [0, 0])
        x = tf.constant(3.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.math.polyval([2, 1, 5], x)
        self.assertEqual((float(y), float(tape.gradient(y, x))), (26, 13))
        with self.assertRaisesRegex(TypeError, "polyval: coeffs is Tensor"):
            tf.math.polyval(tf.constant([1.]), 1.)


if __name__ == "__main__":
    unittest.main()
