"""The narrow dtypes: whole numbers of 8, 16 and 32 bits, float16 and bfloat16. Ops compute in a wider type and round."""
import operator
import pickle
import unittest

import numpy as np

import tapedeck as tf
from gradients_of import gradient_of, torch

WHOLE = [tf.int8, tf.int16, tf.uint8, tf.uint16, tf.uint32]


def bfloat16(values):
    """NumPy float32 rounded to bfloat16: the nearest, halves to even."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & np.uint32(0xffff0000)).view(np.float32)


class Making(unittest.TestCase):
    def test_properties(self):
        for dtype, size in zip(WHOLE + [tf.float16, tf.bfloat16], (1, 2, 1, 2, 4, 2, 2)):
            tensor = tf.zeros([3], dtype)
            self.assertEqual((tensor.dtype, dtype.size, tensor.numpy().tolist()), (dtype, size, [0, 0, 0]))
            self.assertIs(tf.as_dtype(dtype.name), dtype)
            self.assertIs(pickle.loads(pickle.dumps(dtype)), dtype)
            self.assertEqual(dtype.is_integer, dtype in WHOLE)
            self.assertEqual(dtype.is_floating, dtype not in WHOLE)
        self.assertEqual((tf.uint8.max, tf.int8.min, tf.float16.max), (255, -128, 65504))
        self.assertEqual(tf.bfloat16.max, 3.3895313892515355e38)
        self.assertTrue(tf.uint16.is_unsigned and not tf.int16.is_unsigned)
        self.assertIs(tf.half, tf.float16)
        self.assertEqual(len({tf.bfloat16, tf.float32, tf.float16}), 3)
        self.assertFalse(tf.bfloat16 == np.float32 or tf.bfloat16 == tf.float32 or tf.float32 == tf.bfloat16)

    def test_numpy_arrays_keep_their_dtype(self):
        for dtype in WHOLE + [tf.float16]:
            values = np.array([[0, 1], [100, 7]], dtype.as_numpy_dtype)
            tensor = tf.constant(values)
            self.assertEqual(tensor.dtype, dtype)
            self.assertEqual(tensor.numpy().dtype, values.dtype)
            np.testing.assert_array_equal(np.asarray(tensor), values)
            np.testing.assert_array_equal(np.asarray(memoryview(tensor)), values)
            again = pickle.loads(pickle.dumps(tensor))
            self.assertEqual(again.dtype, dtype)
            np.testing.assert_array_equal(again.numpy(), values)
            np.testing.assert_array_equal(np.from_dlpack(tensor), values)
            self.assertEqual(tf.experimental.dlpack.from_dlpack(values).dtype, dtype)

    def test_values_that_do_not_fit_are_refused(self):
        for dtype in WHOLE:
            self.assertEqual(tf.constant([dtype.min, dtype.max], dtype).numpy().tolist(), [dtype.min, dtype.max])
            for value in (int(dtype.max) + 1, int(dtype.min) - 1):
                with self.assertRaisesRegex(ValueError, f"{value} does not fit in {dtype.name}"):
                    tf.constant(value, dtype)
                with self.assertRaisesRegex(ValueError, f"{value} does not fit in {dtype.name}"):
                    tf.constant(np.array([value]), dtype)
            with self.assertRaises(TypeError):
                tf.constant(1.5, dtype)
        self.assertEqual(tf.constant(np.array([3], np.uint64), tf.uint8).numpy().tolist(), [3])

    def test_printing(self):
        self.assertEqual(str(tf.constant([1, 255], tf.uint8)), "tf.Tensor([  1 255], shape=(2,), dtype=uint8)")
        self.assertEqual(str(tf.constant([.1, 2.5], tf.float16)), "tf.Tensor([0.1 2.5], shape=(2,), dtype=float16)")
        self.assertEqual(str(tf.constant(.1, tf.bfloat16)), "tf.Tensor(0.1, shape=(), dtype=bfloat16)")
        self.assertEqual(repr(tf.constant([.1], tf.bfloat16)),
                         "<tf.Tensor: shape=(1,), dtype=bfloat16, numpy=array([0.1], dtype=bfloat16)>")
        self.assertEqual((int(tf.constant(-3, tf.int8)), float(tf.constant(.5, tf.float16))), (-3, .5))
        self.assertTrue(tf.constant(1, tf.uint16) and not tf.constant(0., tf.bfloat16))


class Casts(unittest.TestCase):
    every_half = np.arange(65536, dtype=np.uint16).view(np.float16)

    def test_float16_is_numpys(self):
        wide = tf.cast(tf.constant(self.every_half), tf.float32).numpy()
        np.testing.assert_array_equal(wide, self.every_half.astype(np.float32))
        random = np.random.default_rng(7)
        singles = random.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            halves = self.every_half.astype(np.float64)
            middles = (halves[:-1] + halves[1:]) / 2  # ties
        doubles = np.concatenate([middles, np.nextafter(middles, 0), np.nextafter(middles, np.inf),
                                  random.integers(0, 2**64, 100_000, dtype=np.uint64).view(np.float64)])
        for values in (singles, doubles):
            with np.errstate(all="ignore"):
                wanted = values.astype(np.float16)
            found = tf.cast(values, tf.float16).numpy()
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))

    def test_bfloat16_rounds_to_even(self):
        random = np.random.default_rng(8)
        values = random.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
        values = values[np.isfinite(values)]
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(tf.cast(values, tf.bfloat16).numpy(), bfloat16(values))
        edges = np.array([np.inf, -np.inf, np.nan, 0, -0., 3.4e38, 1e-45], np.float32)
        np.testing.assert_array_equal(tf.cast(edges, tf.bfloat16).numpy(), [np.inf, -np.inf, np.nan, 0, -0., np.inf, 0])
        if torch is not None:
            wanted = torch.tensor(values).bfloat16().float().numpy()
            np.testing.assert_array_equal(tf.cast(values, tf.bfloat16).numpy(), wanted)

    def test_whole_numbers_wrap_as_numpys(self):
        values = np.array([0, 1, -1, 127, 128, 255, 256, -129, 70000, -2**31, 2**40 + 3])
        for source in WHOLE + [tf.int32, tf.int64]:
            plain = values.astype(source.as_numpy_dtype)
            for target in WHOLE + [tf.int32, tf.int64, tf.float32, tf.float16, tf.bool]:
                with np.errstate(all="ignore"):
                    wanted = plain.astype(target.as_numpy_dtype)
                found = tf.cast(plain, target)
                self.assertEqual(found.dtype, target)
                np.testing.assert_array_equal(found.numpy(), wanted, err_msg=f"{source} {target}")
        self.assertEqual(tf.cast([3.7, -3.7, 200.], tf.uint8).numpy().tolist(), [3, 253, 200])
        self.assertEqual(tf.cast([True, False], tf.int8).numpy().tolist(), [1, 0])


class Ops(unittest.TestCase):
    def test_whole_numbers_agree_with_numpy(self):
        for dtype in WHOLE:
            numbers = dtype.as_numpy_dtype
            x = np.array([0, 1, 7, dtype.max, dtype.max // 2, dtype.min, 100], numbers)
            y = np.array([3, 1, 2, 5, dtype.max, 9, 100], numbers)
            a, b = tf.constant(x), tf.constant(y)
            with np.errstate(all="ignore"):
                for operation in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_,
                                  operator.or_, operator.xor, operator.lt, operator.eq, operator.ge):
                    wanted = operation(x, y)
                    found = operation(a, b).numpy()
                    self.assertEqual(found.dtype, wanted.dtype)
                    np.testing.assert_array_equal(found, wanted, err_msg=f"{operation} {dtype}")
                for name, reference in (("negative", np.negative), ("abs", np.abs), ("square", np.square), ("sign", np.sign),
                                        ("bitwise.invert", np.invert)):
                    found = operator.attrgetter(name)(tf)(x).numpy()
                    np.testing.assert_array_equal(found, reference(x), err_msg=f"{name} {dtype}")
                for name, reference in (("reduce_sum", np.sum), ("reduce_prod", np.prod)):
                    found = getattr(tf, name)(x).numpy()
                    np.testing.assert_array_equal(found, reference(x, dtype=numbers), err_msg=f"{name} {dtype}")
                np.testing.assert_array_equal(tf.cumsum(x).numpy(), np.cumsum(x, dtype=numbers))
            np.testing.assert_array_equal(tf.maximum(a, b).numpy(), np.maximum(x, y))
            np.testing.assert_array_equal(tf.sort(x).numpy(), np.sort(x))
            self.assertEqual(tf.reduce_max(x).numpy(), dtype.max)
            self.assertEqual(int(tf.argmin(x)), int(np.argmin(x)))
            self.assertEqual((a + 1).dtype, dtype)
            self.assertEqual(tf.where(a > 3, a, 0).dtype, dtype)

    def test_extremes_of_nothing_stay_in_range(self):
        for dtype in WHOLE:
            nothing = tf.zeros([0], dtype)
            self.assertEqual((int(tf.reduce_max(nothing)), int(tf.reduce_min(nothing))), (dtype.min, dtype.max))
            self.assertEqual(int(tf.math.unsorted_segment_max(nothing, tf.zeros([0], tf.int32), 1)[0]), dtype.min)
        self.assertEqual(float(tf.reduce_max(tf.zeros([0], tf.float16))), -np.inf)
        empty = tf.math.unsorted_segment_min(tf.zeros([0], tf.float16), tf.zeros([0], tf.int32), 1)
        self.assertEqual(float(empty[0]), 65504)

    def test_division(self):
        for dtype in WHOLE:
            result = tf.constant([7, 1], dtype) / 2
            self.assertEqual(result.dtype, tf.float64 if dtype == tf.uint32 else tf.float32)
            self.assertEqual(result.numpy().tolist(), [3.5, .5])

    def test_real_numbers_round_once_per_op(self):
        x = np.linspace(-3, 3, 101).astype(np.float16)
        for name, reference in (("exp", np.exp), ("sin", np.sin), ("tanh", np.tanh), ("square", np.square)):
            wanted = reference(x.astype(np.float32)).astype(np.float16)
            found = getattr(tf, name)(x).numpy()
            self.assertEqual(found.dtype, np.float16)
            np.testing.assert_allclose(found, wanted, rtol=1e-3)
        np.testing.assert_array_equal((tf.constant(x) * tf.constant(x[::-1].copy())).numpy(), x * x[::-1])
        ones = np.full(4096, .25, np.float16)  # a float16 sum would stop growing at 512
        self.assertEqual(float(tf.reduce_sum(ones)), 1024)
        small = tf.constant([1., 1 / 256], tf.bfloat16)
        self.assertEqual(float(tf.reduce_sum(small)), 1.0)  # halves to even
        self.assertEqual((tf.constant(65504., tf.float16) * 2).numpy(), np.inf)

    def test_shapes_indices_and_products(self):
        images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
        tensor = tf.constant(images)
        for found, wanted in ((tf.transpose(tensor), images.T), (tensor[:, 1:, ::-2], images[:, 1:, ::-2]),
                              (tf.concat([tensor, tensor], 1), np.concatenate([images, images], 1)),
                              (tf.reshape(tensor, [6, 4]), images.reshape(6, 4)),
                              (tf.stack([tensor, tensor]), np.stack([images] * 2)),
                              (tf.gather(tensor, tf.constant([1, 0], tf.int32)), images[::-1]),
                              (tf.tile(tensor, [1, 1, 2]), np.tile(images, [1, 1, 2])), (tf.reverse(tensor, [0]), images[::-1])):
            self.assertEqual(found.dtype, tf.uint8)
            np.testing.assert_array_equal(found.numpy(), wanted)
        half = images[0].astype(np.float16)
        np.testing.assert_array_equal(tf.matmul(half, half, transpose_b=True).numpy(), half @ half.T)
        self.assertEqual(tf.where(tensor).shape, (23, 3))
        self.assertEqual(tf.unique(np.array([3, 1, 3], np.uint8)).y.numpy().tolist(), [3, 1])

    def test_counts_and_segments_by_unsigned_numbers(self):
        numbers = np.array([200, 3, 200, 255], np.uint8)
        counts = tf.math.bincount(numbers).numpy()
        np.testing.assert_array_equal(counts, np.bincount(numbers))
        self.assertEqual(tf.math.bincount(numbers, maxlength=201).numpy()[200], 2)
        self.assertEqual(tf.math.segment_sum(numbers, np.array([0, 0, 1, 1], np.uint8)).numpy().tolist(), [203, 199])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"segment_ids\[1\] is 0, after 1"):
            tf.math.segment_sum(numbers, np.array([1, 0, 1, 1], np.uint8))

    def test_random_numbers_stay_in_range(self):
        numbers = tf.random.uniform([2000], 250, 256, dtype=tf.uint8).numpy()
        self.assertEqual((numbers.dtype, numbers.min(), numbers.max()), (np.uint8, 250, 255))
        with self.assertRaisesRegex(ValueError, r"the range \[0, 300\) leaves uint8"):
            tf.random.uniform([2], 0, 300, dtype=tf.uint8)

    def test_gradients(self):
        for dtype in (tf.float16, tf.bfloat16):
            x = tf.constant([.5, -1.5, 2.], dtype)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.square(tf.cast(x, tf.float32)) + tf.cast(tf.nn.relu(x) * 3., tf.float32))
            gradient = tape.gradient(y, x)
            self.assertEqual(gradient.dtype, dtype)
            self.assertEqual(gradient.numpy().tolist(), [4, -3, 7])
        found = gradient_of(lambda x: tf.math.cumprod(x), np.array([2., 3., .5], np.float16))[0]
        self.assertEqual((found.dtype, found.tolist()), (np.float16, [5.5, 3, 6]))


if __name__ == "__main__":
    unittest.main()
