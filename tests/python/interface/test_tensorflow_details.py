"""Details in which programs written for TensorFlow rely on its very behaviour."""
import unittest

import numpy as np
from device_names import CPU
import tapedeck as tf


class Details(unittest.TestCase):
    def test_numbers_of_several_elements_are_a_type_error(self):
        for convert in (int, float):
            with self.assertRaisesRegex(TypeError, r"shape \(2,\) has 2 elements"):
                convert(tf.constant([1, 2]))
        self.assertEqual((int(tf.constant([3])), float(tf.constant([[1.5]]))), (3, 1.5))

    def test_a_constant_that_does_not_fit_its_shape_is_a_type_error(self):
        with self.assertRaisesRegex(TypeError, r"constant: value has shape \(3,\), 3 elements; shape is \[2, 2\]"):
            tf.constant([1, 2, 3], shape=[2, 2])
        with self.assertRaisesRegex(TypeError, r"constant: value has shape \(4,\); shape is \(2, 2\)"):
            tf.constant([1, 2, 3, 4], shape=[2, 2], verify_shape=True)
        self.assertEqual(tf.constant([1, 2], shape=[2], verify_shape=True).shape, (2,))

    def test_no_name_stands_for_the_default_device(self):
        with tf.device(""), tf.device(tf.test.gpu_device_name()):
            self.assertEqual(tf.constant(1.).device, CPU)

    def test_gather_names_the_whole_index(self):
        for indices, pattern in (([[0, 9]], r"gather: indices\[0, 1\] is 9; must be in \[0, 3\)"), (7, r"gather: indices is 7;"),
                                 ([0, -1], r"gather: indices\[1\] is -1;")):
            with self.assertRaisesRegex(IndexError, pattern):
                tf.gather([1., 2., 3.], indices)

    def test_none_among_tensors_has_any_dtype(self):
        self.assertIs(tf.debugging.assert_same_float_dtype([None, None], tf.float32), tf.float32)
        self.assertIs(tf.debugging.assert_same_float_dtype([None, tf.constant([1.], tf.float64)]), tf.float64)

    def test_a_fixed_array_does_not_shrink(self):
        array = tf.TensorArray(tf.float32, size=3)
        with self.assertRaisesRegex(ValueError, "2 lengths; the size is 3"):
            array.split(tf.constant([1., 2.]), [1, 1])

    def test_map_fn_checks_the_form_of_its_results(self):
        x = tf.constant([1., 2.])
        for fn, dtype, kind in ((lambda v: (v, v), tf.float32, ValueError), (lambda v: v, (tf.float32, tf.float32), ValueError),
                                (lambda v: [v, v], (tf.float32, tf.float32), TypeError)):
            with self.assertRaises(kind):
                tf.map_fn(fn, x, dtype=dtype)
        first, second = tf.map_fn(lambda v: (v, v > 1), x, dtype=(tf.float32, tf.bool))
        self.assertEqual((first.dtype, second.dtype), (tf.float32, tf.bool))

    def test_dtypes_know_their_numbers(self):
        numbers = {tf.float32: 1, tf.float64: 2, tf.int32: 3, tf.uint8: 4, tf.string: 7, tf.complex64: 8, tf.int64: 9, tf.bool: 10,
                   tf.float16: 19,
                   tf.uint64: 23}
        for dtype, number in numbers.items():
            self.assertEqual(dtype.as_datatype_enum, number)
            self.assertIs(tf.as_dtype(number), dtype)

    def test_whole_numbers_without_a_sign_divide_as_such(self):
        got = tf.div(tf.constant([7, 200], tf.uint8), tf.constant([2, 3], tf.uint8))
        self.assertEqual((got.dtype, got.numpy().tolist()), (tf.uint8, [3, 66]))

    def test_an_extent_that_could_be_anything_is_refused(self):
        for shape in ([0, -1], [-1, 0]):
            with self.assertRaisesRegex(ValueError, "holds -1 beside a 0"):
                tf.reshape(tf.zeros([0, 3]), shape)
        self.assertEqual(tf.reshape(tf.zeros([0, 3]), [-1, 3]).shape, (0, 3))

    def test_short_indices_reach_every_batch_of_a_gradient(self):
        for dtype, batches in ((tf.int8, 130), (tf.uint8, 258)):
            x = tf.constant(np.ones((batches, 2), np.float32))
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.gather_nd(x, tf.ones([batches, 1], dtype), batch_dims=1))
            np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [[0, 1]] * batches)


if __name__ == "__main__":
    unittest.main()
