"""tensor[...] agrees with NumPy."""
import unittest

import numpy as np

import tapedeck as tf

values = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)


class Index(unittest.TestCase):
    def check(self, index, source=values):
        result = tf.constant(source)[index]
        wanted = source[index]
        self.assertEqual(result.shape, wanted.shape, index)
        np.testing.assert_array_equal(result.numpy(), wanted, str(index))

    def test_integers_slices_ellipsis_and_newaxis(self):
        for index in (0, -1, np.int64(2), (1, 2), (1, -2, 3), slice(None), slice(1, 3), slice(-3, None, 2),
                      slice(None, None, -1), slice(3, 0, -2), slice(10, 20), slice(-100, 2), slice(None, -100, -1),
                      (slice(None), 1), (Ellipsis, 0), (0, Ellipsis), (0, Ellipsis, slice(1, 4)), Ellipsis, None, (),
                      (None, 1), (slice(None), None, 2), (Ellipsis, None), (1, None, slice(None, None, -2), None, 2),
                      (slice(2, 2),), (slice(1, 3), slice(None, None, 2), slice(4, 1, -1))):
            self.check(index)

    def test_lists_and_tensors_of_integers_gather(self):
        for index in ([0, 2], [[0, 1], [3, 3]], np.array([1, 1, 0]), (slice(None), [0, 4]), (Ellipsis, [5, 0, 1]),
                      (slice(1, 3), [2, 2], slice(None, None, 2)), (2, [0, 3])):
            self.check(index)
        np.testing.assert_array_equal(tf.constant(values)[tf.constant([3, 1])].numpy(), values[[3, 1]])
        np.testing.assert_array_equal(tf.constant(values)[tf.constant(2)].numpy(), values[2])
        np.testing.assert_array_equal(tf.constant(values)[tf.constant(1):tf.constant(3)].numpy(), values[1:3])

    def test_masks_of_bools_pick(self):
        rows = np.array([True, False, True, True])
        for index in (rows, rows.tolist(), values > 50, values[:, :, 0] > 20, (slice(None), [True, False, True, True, False]),
                      (slice(1, 3), [True, False, True, True, False], 2), (Ellipsis, np.array([False] * 5 + [True])),
                      (None, rows), (slice(None, None, -1), np.ones((5, 6), bool)), (1, values[1] > 40), ~rows & rows):
            self.check(index)
        tensor = tf.constant(values)
        np.testing.assert_array_equal(tensor[tensor > 50].numpy(), values[values > 50])
        np.testing.assert_array_equal(tensor[..., tf.constant([True, False] * 3)].numpy(), values[..., [True, False] * 3])
        self.assertEqual(tf.zeros([0, 3])[tf.zeros([0], tf.bool)].shape, (0, 3))
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            y = tf.reduce_sum(tensor[tensor > 50] ** 2)
        np.testing.assert_array_equal(tape.gradient(y, tensor).numpy(), np.where(values > 50, 2 * values, 0))
        for index, error, pattern in ((rows[:3], IndexError, r"a mask of shape \(3,\) at axis 0 of a tensor of shape \(4, 5, 6\)"),
                                      ((0, rows), IndexError, r"a mask of shape \(4,\) at axis 1"),
                                      ((rows, [0, 1]), ValueError, "at most one list"),
                                      (np.zeros((4, 5, 6, 1), bool), IndexError, ""),
                                      (tf.constant(True), TypeError, "a single bool is not an index")):
            with self.assertRaisesRegex(error, pattern, msg=str(index)):
                tensor[index]

    def test_views_of_views(self):
        view = tf.constant(values)[1:, ::2]
        np.testing.assert_array_equal(view[:, -1, ::-1].numpy(), values[1:, ::2][:, -1, ::-1])

    def test_variables_are_indexed_alike(self):
        np.testing.assert_array_equal(tf.Variable(values)[1, ..., 2].numpy(), values[1, ..., 2])

    def test_gradients_reach_the_indexed_tensor(self):
        x = tf.constant(values)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x[1:, ::2, -1] * 2.)
        wanted = np.zeros_like(values)
        wanted[1:, ::2, -1] = 2
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), wanted)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x[[0, 0, 2]])
        wanted = np.zeros_like(values)
        wanted[0], wanted[2] = 2, 1
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), wanted)

    def test_what_is_refused(self):
        tensor = tf.constant(values)
        for index, error, pattern in (
                (4, IndexError, r"index 4 is out of range for axis 0 of a tensor of shape \(4, 5, 6\)"),
                ((0, -6), IndexError, "index -6 is out of range for axis 1"),
                ((0, 0, 0, 0), IndexError, r"4 indices for a tensor of 3 axes"),
                ((Ellipsis, Ellipsis), ValueError, "only one"),
                (slice(None, None, 0), ValueError, "step is 0"),
                (1.5, TypeError, "index 1.5 is not an integer"),
                ("text", TypeError, "index 'text' is not an integer"),
                (slice(1.5, None), TypeError, "slice start 1.5 is not an integer"),
                (True, TypeError, "a single bool is not an index"),
                ([1.5], TypeError, "a list of float32; indices are integers"),
                (([0], [1]), ValueError, "at most one list"),
                (2**70, IndexError, "does not fit in int64")):
            with self.assertRaisesRegex(error, pattern, msg=str(index)):
                tensor[index]


if __name__ == "__main__":
    unittest.main()
