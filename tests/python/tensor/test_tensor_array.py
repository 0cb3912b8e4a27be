"""Arrays of tensors that loops write."""
import gc
import unittest
import weakref

import numpy as np

import tapedeck as tf


class TensorArray(unittest.TestCase):
    def test_it_is_written_read_and_stacked(self):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for number in tf.range(3):
            array = array.write(number, tf.cast([number, 2 * number], tf.float32))
        self.assertEqual(array.stack().numpy().tolist(), [[0, 0], [1, 2], [2, 4]])
        self.assertEqual(array.concat().numpy().tolist(), [0, 0, 1, 2, 2, 4])
        self.assertEqual(array.gather([2, 0]).numpy().tolist(), [[2, 4], [0, 0]])
        self.assertEqual((array.size().numpy(), array.size().dtype, array.dtype, array.element_shape, array.dynamic_size),
                         (3, tf.int32, tf.float32, (2,), True))
        self.assertEqual(array.write(1, [7, 8]).read(1).numpy().tolist(), [7, 8])  # numbers take the array's dtype
        self.assertIs(array.identity(), array)
        self.assertEqual(repr(array), "<tf.TensorArray: dtype=float32, size=3, element_shape=(2,)>")
        array.close()
        self.assertEqual(array.size().numpy(), 0)

    def test_what_was_not_written_is_zeros(self):
        array = tf.TensorArray(tf.int32, 3, element_shape=[2])
        self.assertEqual(array.write(1, [1, 2]).stack().numpy().tolist(), [[0, 0], [1, 2], [0, 0]])
        self.assertEqual(tf.TensorArray(tf.int32, 2).write(1, [5]).stack().numpy().tolist(), [[0], [5]])
        self.assertEqual(tf.TensorArray(tf.int32, 0, element_shape=[3, 4]).stack().shape, (0, 3, 4))
        self.assertEqual(tf.TensorArray(tf.int32, 0, element_shape=[3, 4]).concat().shape, (0, 4))

    def test_slices_and_parts_fill_it(self):
        values = np.arange(6.).reshape(3, 2)
        array = tf.TensorArray(tf.float64, 3).unstack(values)
        np.testing.assert_array_equal(array.stack().numpy(), values)
        array.scatter([2, 0], values[:2])
        np.testing.assert_array_equal(array.stack().numpy(), values[[1, 1, 0]])
        parts = tf.TensorArray(tf.float64, 2, infer_shape=False).split(values, [1, 2])
        self.assertEqual((parts.read(0).shape, parts.read(1).shape), ((1, 2), (2, 2)))
        np.testing.assert_array_equal(tf.TensorArray(tf.float64, dynamic_size=True).split(values, [2, 1]).concat().numpy(), values)

    def test_reading_clears_unless_it_is_told_not_to(self):
        array = tf.TensorArray(tf.float32, 1).write(0, 1.)
        self.assertEqual(array.read(0).numpy(), 1)
        for read in (lambda: array.read(0), array.stack):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "index 0 was read and is cleared; pass clear_after_read=False"):
                read()
        self.assertEqual(array.write(0, 2.).stack().numpy().tolist(), [2])
        kept = tf.TensorArray(tf.float32, 1, clear_after_read=False).write(0, 1.)
        self.assertEqual([kept.read(0).numpy(), kept.read(0).numpy()], [1, 1])

    def test_gradients_pass_through_it(self):
        x, w = tf.constant([[1., 2.], [3., 4.], [5., 6.]]), tf.Variable([2., 3.])
        with tf.GradientTape() as tape:
            steps, results = tf.TensorArray(tf.float32, 3).unstack(x), tf.TensorArray(tf.float32, 3)
            state = tf.zeros([2])
            for i in range(3):
                state = state * w + steps.read(i)
                results = results.write(i, state)
            y = tf.reduce_sum(results.stack())
        # The sums of w·x0 + x1 and w²·x0 + w·x1 + x2: x0 + (2·w·x0 + x1).
        self.assertEqual(tape.gradient(y, w).numpy().tolist(), [1 + 4 + 3, 2 + 12 + 4])

    def test_while_loop_carries_it(self):
        count, array = tf.while_loop(lambda i, array: i < 4, lambda i, array: (i + 1, array.write(i, i * i)),
                                     (tf.constant(0), tf.TensorArray(tf.int32, 4)))
        self.assertEqual((count.numpy(), array.stack().numpy().tolist()), (4, [0, 1, 4, 9]))

    def test_refusals_name_argument_and_values(self):
        array = tf.TensorArray(tf.float32, 2, element_shape=[2])
        for call, kind, pattern in (
                (lambda: array.write(2, [1., 2.]), IndexError, "index is 2; the size is 2, and dynamic_size is False"),
                (lambda: array.write(-1, [1., 2.]), IndexError, "index is -1; must not be negative"),
                (lambda: array.write(.5, [1., 2.]), TypeError, "index is 0.5; needs an integer"),
                (lambda: array.write(0, [1., 2., 3.]), ValueError, r"element_shape is \(2,\), the value has shape \(3,\)"),
                (lambda: array.write(0, tf.constant([1, 2])), TypeError, "dtype is float32, the value is int32; cast it"),
                (lambda: array.write(0, None), TypeError, "value: None is not a tensor"),
                (lambda: array.gather("first"), TypeError, "indices is string; needs integers"),
                (lambda: array.split([[1., 2.]], None), TypeError, "lengths: None is not a tensor"),
                (lambda: array.unstack([[1.], [1., 2.]]), ValueError, "value: not rectangular"),
                (lambda: array.unstack(1.), ValueError, "value is a scalar; needs a first axis"),
                (lambda: array.scatter([0], 1.), ValueError, "value is a scalar; needs a first axis"),
                (lambda: array.read(5), IndexError, "index is 5; the size is 2"),
                (lambda: array.unstack(tf.zeros([3, 2])), ValueError, "3 slices; the size is 2"),
                (lambda: array.scatter([0], tf.zeros([2, 2])), ValueError, "1 indices and 2 slices"),
                (lambda: array.scatter([0, 4], tf.ones([2, 2])), IndexError, "indices has 4; the size is 2"),
                (lambda: array.split(tf.zeros([3, 2]), [1, 1, 1]), ValueError, "3 lengths; the size is 2"),
                (lambda: tf.TensorArray(tf.float32, 1).stack(), ValueError, "index 0 was not written, and the element_shape is not known"),
                (lambda: tf.TensorArray(tf.float32).stack(), ValueError, "it is empty, and the element_shape is not known"),
                (lambda: tf.TensorArray(tf.float32, -1), ValueError, "size is -1; must not be negative"),
                (lambda: tf.TensorArray(tf.float32, 2**40), tf.errors.ResourceExhaustedError, "size is 1099511627776; at most 16777216"),
                (lambda: tf.TensorArray(tf.float32, dynamic_size=True).write(2**70, 1.), tf.errors.ResourceExhaustedError,
                 "index is 1180591620717411303424; at most"),
                (lambda: tf.TensorArray(tf.float32, "two"), TypeError, "size is 'two'; needs an integer")):
            with self.assertRaisesRegex(kind, "^TensorArray: " + pattern):
                call()
        self.assertEqual(array.stack().numpy().tolist(), [[0, 0], [0, 0]])

    def test_a_refused_scatter_writes_nothing(self):
        array = tf.TensorArray(tf.float32, 2, dynamic_size=True, element_shape=[])
        with self.assertRaisesRegex(tf.errors.ResourceExhaustedError, "TensorArray: indices has 33554432; at most"):
            array.scatter([0, 2**25], [1., 2.])
        self.assertEqual(array.stack().numpy().tolist(), [0, 0])

    def test_second_gradients_and_persistent_tapes_pass_through_it(self):
        x = tf.constant([1., 2., 3.])
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                parts = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x * x)
                moved = tf.TensorArray(tf.float32, 2).scatter([1, 0], parts.gather([0, 1]))
                y = parts.read(0) * parts.read(1) + parts.read(2)**2 + moved.stack()[0]
            total = tf.reduce_sum(inner.gradient(y, x))
        # y = x0²·x1² + x2⁴ + x1²; its gradient's sum is 2·x0·x1² + 2·x0²·x1 + 2·x1 + 4·x2³
        for _ in range(2):
            self.assertEqual(outer.gradient(total, x).numpy().tolist(), [16, 12, 108])

    def test_it_is_freed_without_the_collector(self):
        array = tf.TensorArray(tf.float32, 2).unstack([1., 2.])
        gone = weakref.ref(array)
        gc.disable()
        self.addCleanup(gc.enable)
        del array
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
