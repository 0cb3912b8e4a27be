"""What one part of tf.function must keep of another: shapes, tapes and lines across branches, nested functions and threads."""
import threading
import unittest

import numpy as np

import tapedeck as tf

OPEN = tf.TensorSpec([None], tf.float32)


class Together(unittest.TestCase):
    def test_watched_tensor_that_only_a_branch_or_a_loop_reads_has_its_gradient(self):
        c, x = tf.constant(2.0), tf.constant(3.0)

        def branch(x, n):
            return tf.cond(n > 0, lambda: c * c, lambda: c) * (x * x * x)

        def loop(x, n):
            return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * c), [tf.constant(0), tf.constant(1.0)])[1] * (x * x * x)

        for each in (branch, loop):
            found = []
            for f in (each, tf.function(each)):
                with tf.GradientTape() as tape:
                    tape.watch([c, x])
                    y = f(x, tf.constant(3))
                found.append([float(gradient) for gradient in tape.gradient(y, [x, c])])
            self.assertEqual(*found)

    def test_shape_that_is_checked_in_a_function_is_checked_where_another_calls_it(self):
        @tf.function(input_signature=[OPEN])
        def inner(x):
            return tf.reduce_sum(tf.ensure_shape(x, [3])) / 3.0

        outer = tf.function(lambda x: inner(x), input_signature=[OPEN])
        self.assertEqual(float(outer(tf.ones([3]))), 1.0)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"float32 \(4,\) in this run.*float32 \(3,\)"):
            outer(tf.ones([4]))

    def test_shape_that_a_branch_says_of_a_tensor_around_it_is_checked(self):
        @tf.function(input_signature=[OPEN, tf.TensorSpec([], tf.bool)])
        def f(x, p):
            y = x * 1.0

            def sets():
                y.set_shape([3])
                return tf.reduce_sum(y)

            return tf.cond(p, sets, lambda: 0.0) + tf.reduce_sum(y) / float(y.shape[0])

        self.assertEqual(float(f(tf.ones([3]), tf.constant(False))), 1.0)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"float32 \(4,\) in this run"):
            f(tf.ones([4]), tf.constant(False))

    def test_gradients_of_a_tensor_whose_shape_was_set(self):
        @tf.function(input_signature=[OPEN])
        def f(x):
            y = x * 2.0
            y.set_shape([3])
            return tf.gradients(y * y, y)

        np.testing.assert_array_equal(f(tf.constant([1.0, 2.0, 3.0]))[0], [4.0, 8.0, 12.0])

    def test_threads_that_ask_for_the_first_gradient_at_once(self):
        large = np.ones((2000, 2000), np.float32)

        @tf.function
        def f(x):
            c = tf.constant(large)  # folding takes long enough for Python's lock to be given up
            return tf.reduce_sum(tf.sin(c) @ tf.cos(c)) * 0.0 + (x * x + x * x)

        x = tf.constant(2.0)
        f(x)
        found = []

        def gradient():
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            found.append(float(tape.gradient(y, x)))

        threads = [threading.Thread(target=gradient, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(found, [8.0] * 4)

    def test_error_names_the_line_of_its_own_function_after_one_in_a_gradient(self):
        @tf.custom_gradient
        def fails_backwards(x):
            def gradient(d):
                tf.debugging.assert_less(x, 2.0)
                return d
            return x * 1.0, gradient

        with tf.GradientTape() as tape:
            x = tf.constant([3.0])
            tape.watch(x)
            y = tf.function(lambda x: fails_backwards(x) * 2.0)(x)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tape.gradient(y, x)

        @tf.function
        def reshapes(x, n):
            return tf.reshape(x, [n, 7])

        with self.assertRaises(tf.errors.InvalidArgumentError) as raised:
            reshapes(x, tf.constant(2))
        line = reshapes.python_function.__code__.co_firstlineno + 2
        self.assertIn(f"line {line}", " ".join(raised.exception.__notes__))

    def test_row_gradients_have_as_many_rows_as_the_run_gathered(self):
        weights = tf.Variable([0.5, -0.5, 0.25])

        def chosen():
            y = tf.constant(0.5)
            for x in weights:
                kept = []
                for _ in range(2):
                    kept.append(x)
                if x < 0.0:
                    for each in kept:
                        y = each
            return y

        @tf.function
        def gradient():
            with tf.GradientTape() as tape:
                y = chosen()
            return tf.convert_to_tensor(tape.gradient(y, weights))

        self.assertEqual(gradient().numpy().tolist(), [0.0, 1.0, 0.0])
        weights.assign([-1.0, 0.5, -2.0])
        self.assertEqual(gradient().numpy().tolist(), [0.0, 0.0, 1.0])

    def test_statistics_of_open_shapes_count_all_elements(self):
        f = tf.function(lambda x: tf.nn.sufficient_statistics(x, [0])[0], [tf.TensorSpec([None, 3], tf.float32)])
        self.assertEqual(float(f(tf.ones([4, 3]))), 4.0)


if __name__ == "__main__":
    unittest.main()
