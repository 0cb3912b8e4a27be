"""Blocks of pixels into the batch and back; casts that do not wrap around; counts of mistakes; messages of what needs memory."""
import unittest

import numpy as np

import tapedeck as tf


class Blocks(unittest.TestCase):
    def setUp(self):
        self.images = np.arange(2 * 4 * 6 * 3).reshape(2, 4, 6, 3)
        # TensorFlow's definition, by its documentation's reshape and transpose.
        apart = self.images.reshape(2, 2, 2, 2, 3, 3).transpose(2, 4, 0, 1, 3, 5)
        self.batches = apart.reshape(12, 2, 2, 3)

    def test_both_generations_call_them(self):
        none = [[0, 0], [0, 0]]
        for made in (tf.space_to_batch(self.images, [2, 3], none), tf.space_to_batch_nd(self.images, tf.constant([2, 3]), none),
                     tf.space_to_batch(input=self.images, paddings=tf.constant(none), block_shape=(2, 3)),
                     tf.nn.space_to_batch(self.images, [2, 3], none), tf.manip.space_to_batch_nd(self.images, [2, 3], none)):
            np.testing.assert_array_equal(made.numpy(), self.batches)
        np.testing.assert_array_equal(tf.batch_to_space(self.batches, [2, 3], none).numpy(), self.images)
        np.testing.assert_array_equal(tf.batch_to_space(self.batches, [2, 3], [[1, 0], [0, 2]]).numpy(), self.images[:, 1:, :4])
        square = tf.space_to_batch(self.images, [2, 2], none).numpy()
        for first in (tf.space_to_batch(self.images, none, 2), tf.space_to_batch(self.images, none, block_size=2)):
            np.testing.assert_array_equal(first.numpy(), square)
        for first in (tf.batch_to_space(square, none, 2), tf.batch_to_space(square, crops=none, block_size=2)):
            np.testing.assert_array_equal(first.numpy(), self.images)
        self.assertEqual(tf.space_to_batch_nd([[True, False]], [2], [[1, 1]]).numpy().tolist(), [[False, False], [True, False]])

    def test_bad_arguments_are_named(self):
        for pattern, call in (
                (r"space_to_batch_nd: input \(1, 3\) with paddings \[0, 0\] is not a multiple of block_shape \[2\]",
                 lambda: tf.space_to_batch(np.ones((1, 3)), [2], [[0, 0]])),
                (r"block_shape is \[0\]; needs extents of at least 1", lambda: tf.space_to_batch(np.ones((1, 3)), [0], [[0, 0]])),
                (r"paddings is \[-1, 0\]; none may be negative", lambda: tf.space_to_batch(np.ones((1, 3)), [1], [[-1, 0]])),
                (r"paddings has shape \(2,\); it is a list of pairs", lambda: tf.space_to_batch(np.ones((1, 3)), [1], [0, 1])),
                (r"block_shape is \[4611686018427387904, 4\].*fits int64",
                 lambda: tf.space_to_batch(np.ones((1, 1, 1)), [2**62, 4], [[0, 0], [0, 0]])),
                (r"batch_to_space_nd: input \(2, 3\) with block_shape \[2\] and crops \[5, 5\]",
                 lambda: tf.batch_to_space(np.ones((2, 3)), [2], [[5, 5]])),
                (r"batch_to_space_nd: input \(3, 3\).*the batch is not a multiple",
                 lambda: tf.batch_to_space(np.ones((3, 3)), [2], [[0, 0]]))):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                call()
        for call in (lambda: tf.space_to_batch([[1.]]), lambda: tf.space_to_batch([[1.]], [1], [[.5, 0]])):
            with self.assertRaises(TypeError):
                call()


class Casts(unittest.TestCase):
    def test_values_beyond_a_dtype_become_its_nearest(self):
        for values, dtype, wanted in (
                ([300., -5., 3.7, np.nan, np.inf], tf.uint8, [255, 0, 3, 0, 255]),
                ([300, -3, 7], tf.uint8, [255, 0, 7]), (np.array([2**40, -2**40]), tf.int32, [2**31 - 1, -2**31]),
                (np.array([1e300, -1e300]), tf.int64, [2**63 - 1024, -2**63]), ([1e30, -1e30], tf.int32, [2**31 - 128, -2**31]),
                ([1e6, -1e6], tf.float16, [65504, -65504]), ([70000, 5], tf.float16, [65504, 5]),
                (np.array([np.inf]), tf.float32, [np.finfo(np.float32).max]), ([True], tf.float32, [1])):
            for cast in (tf.saturate_cast, tf.dtypes.saturate_cast):
                result = cast(values, dtype)
                self.assertEqual(result.dtype, dtype)
                self.assertEqual(result.numpy().tolist(), np.asarray(wanted, result.numpy().dtype).tolist())

    def test_the_first_generations_casts(self):
        for cast, dtype in ((tf.to_float, tf.float32), (tf.to_double, tf.float64), (tf.to_int32, tf.int32),
                            (tf.to_int64, tf.int64), (tf.to_bfloat16, tf.bfloat16)):
            self.assertEqual(cast([1.5, -1.5]).dtype, dtype)
        self.assertEqual(tf.to_int32([1.7, -1.7]).numpy().tolist(), [1, -1])
        self.assertEqual(tf.batch_gather([[1, 2], [3, 4]], [[1, 1], [0, 1]]).numpy().tolist(), [[2, 2], [3, 4]])

    def test_confusion_matrix(self):
        labels, predictions = np.random.default_rng(1).integers(0, 5, (2, 200))
        wanted = np.zeros((5, 5))
        np.add.at(wanted, (labels, predictions), 1)
        np.testing.assert_array_equal(tf.math.confusion_matrix(labels, predictions).numpy(), wanted)
        self.assertEqual(tf.math.confusion_matrix([0, 1], [1, 0], 3, [.5, 2.], tf.float32).numpy().tolist(),
                         [[0, .5, 0], [2, 0, 0], [0, 0, 0]])
        for pattern, arguments in ((r"labels holds 0 to 5; must be in \[0, 3\)", ([0, 5], [1, 1], 3)),
                                   (r"predictions holds -1 to 1", ([0, 1], [1, -1])), ("as long as", ([0, 1], [1]))):
            with self.assertRaisesRegex(ValueError, pattern):
                tf.math.confusion_matrix(*arguments)

    def test_outer_products_and_the_beta_function(self):
        a, b = np.arange(6.).reshape(2, 3), np.array([1., -2.])
        np.testing.assert_array_equal(tf.experimental.numpy.outer(a, b).numpy(), np.outer(a, b))
        from scipy import special
        np.testing.assert_allclose(tf.math.lbeta([[.5, 2.], [3., 4.]]).numpy(), special.betaln([.5, 3], [2, 4]), rtol=1e-5)


class Memory(unittest.TestCase):
    def test_what_needs_too_much_memory_says_how_much(self):
        huge = 2**45
        for op, call in (("zeros", lambda: tf.zeros([huge])), ("repeat", lambda: tf.repeat([1, 2], huge)),
                         ("repeat", lambda: tf.repeat([1, 2], [1, huge])), ("sequence_mask", lambda: tf.sequence_mask([1], huge)),
                         ("pad", lambda: tf.pad([1, 2], [[1, huge]])), ("range", lambda: tf.range(huge)),
                         ("space_to_batch", lambda: tf.space_to_batch([[1]], [1], [[0, huge]])),
                         ("cumsum", lambda: tf.cumsum(tf.constant(1, shape=[huge])))):
            with self.assertRaisesRegex(tf.errors.ResourceExhaustedError, f"^{op}: .*needs [0-9.]+ TiB, the machine has "):
                call()
        with self.assertRaisesRegex(ValueError, r"^pad: .*the extents overflow int64"):
            tf.pad([1, 2], [[2**62, 2**62]])
        with self.assertRaisesRegex(ValueError, "^reshape: .*more elements than int64 counts"):
            tf.reshape([1, 2], [2**62, 4])

    def test_a_view_of_more_elements_than_memory_prints_its_edges(self):
        text = "tf.Tensor([1 1 1 ... 1 1 1], shape=(35184372088832,), dtype=int32)"
        self.assertEqual(str(tf.constant(1, shape=[2**45])), text)


if __name__ == "__main__":
    unittest.main()
