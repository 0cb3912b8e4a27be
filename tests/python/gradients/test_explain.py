"""tf.explain_no_gradient names the op, or the step outside of the tape, at which the path ends, and its line."""
import unittest

import numpy as np

import tapedeck as tf


class NoGradient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tf.experimental.record_ops()

    @classmethod
    def tearDownClass(cls):
        tf.experimental.record_ops(False)

    def explain(self, f, x=None, watch=True):
        x = tf.constant([1., 2.]) if x is None else x
        with tf.GradientTape() as tape:
            if watch:
                tape.watch(x)
            y = f(x)
        self.assertIsNone(tape.gradient(y, x))
        return tf.explain_no_gradient(y, x)

    def test_names_the_op_that_has_none_and_its_line(self):
        def f(x):
            place = tf.argmax(x)
            return tf.cast(place, tf.float32) * 2.

        text = self.explain(f)
        self.assertRegex(text, r"ends at argmax \(op [\d,]+, line \d+ of test_explain.py: `place = tf.argmax\(x\)`\): this op")

    def test_names_stop_gradient(self):
        text = self.explain(lambda x: tf.exp(tf.stop_gradient(x * 3.)))
        self.assertIn("ends at stop_gradient", text)
        self.assertIn("blocks the gradient", text)

    def test_names_what_ran_outside_of_the_tape(self):
        x = tf.constant([1., 2.])
        early = tf.exp(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = early * 2.
        self.assertIsNone(tape.gradient(y, x))
        text = tf.explain_no_gradient(y, x)
        self.assertIn("no tape recorded it", text)
        self.assertIn("ends at exp", text)

    def test_names_what_was_not_watched(self):
        text = self.explain(lambda x: x * 2., watch=False)
        self.assertIn("ends at multiply", text)
        self.assertIn("tape.watch", text)

    def test_says_where_a_value_went_through_numpy(self):
        text = self.explain(lambda x: tf.constant(x.numpy()) * 2.)
        self.assertIn("does not depend on x by any recorded op", text)

    def test_says_that_integers_have_none_and_that_there_is_a_path(self):
        self.assertIn("dtype int32", tf.explain_no_gradient(tf.constant(1.), tf.constant(1)))
        x = tf.constant(2.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        self.assertIn("all pass gradients on", tf.explain_no_gradient(y, x))

    def test_inside_a_custom_gradient_the_function_is_the_step(self):
        @tf.custom_gradient
        def f(x):
            return tf.cast(tf.argmax(x), tf.float32), lambda upstream: upstream * tf.ones_like(x)

        x = tf.constant([1., 2.])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        self.assertIn("all pass gradients on", tf.explain_no_gradient(y, x))
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [1., 1.])

    def test_says_where_numpy_read_it(self):
        def f(x):
            doubled = x * 2.
            values = doubled.numpy()
            return tf.constant(values) * 3.

        text = self.explain(f)
        self.assertRegex(text, r"NumPy read the result of multiply \(op [\d,]+\), which was made of x, "
                               r"line \d+ of test_explain.py: `values = doubled.numpy\(\)`")
        self.assertRegex(text, r"a constant \[2. 4.\], which enters at multiply \(op [\d,]+, line \d+ of test_explain.py: `return")
        for read in (lambda x: tf.constant(float(x[0])), lambda x: tf.constant(np.exp(x)), lambda x: tf.constant(int(x[1])),
                     lambda x: tf.constant(np.asarray(x)), lambda x: tf.constant(memoryview(x).tolist()),
                     lambda x: tf.constant(np.from_dlpack(x))):
            self.assertIn("NumPy read", self.explain(read))

    def test_does_not_blame_a_decision(self):
        def f(x):
            values = x.numpy()
            factor = 3. if tf.reduce_sum(x) > 0. else 2.
            return tf.constant(values) * factor

        text = self.explain(f)
        self.assertIn("`values = x.numpy()`", text)
        self.assertNotIn("greater", text)

    def test_does_not_blame_what_was_read_later(self):
        x = tf.constant([1., 2.])
        y = tf.constant(5.) * 2.
        x.numpy()
        self.assertNotIn("NumPy read", tf.explain_no_gradient(y, x))

    def test_names_the_assignment(self):
        u, w = tf.Variable([3., 3.], name="u"), tf.Variable([1., 2.], name="w")
        with tf.GradientTape() as tape:
            w.assign(u * 2.)
            y = w * 3.
        self.assertIsNone(tape.gradient(y, u))
        self.assertRegex(tf.explain_no_gradient(y, u), r"The path from u:0 to y ends at the assignment to w:0, line \d+ of "
                                                       r"test_explain.py: `w.assign\(u \* 2.\)`: a variable keeps the value")

    def test_looks_at_the_value_that_a_variable_had(self):
        w = tf.Variable([1., 2.], name="w")
        with tf.GradientTape() as tape:
            y = tf.stop_gradient(w) * 3.
        w.assign_sub([.1, .1])
        self.assertIsNone(tape.gradient(y, w))
        self.assertIn("from w:0 to y ends at stop_gradient", tf.explain_no_gradient(y, w))

    def test_names_variables_that_no_tape_watches_by_itself(self):
        w = tf.Variable([1., 2.], trainable=False, name="w")
        with tf.GradientTape() as tape:
            y = w * 3.
        self.assertIsNone(tape.gradient(y, w))
        text = tf.explain_no_gradient(y, w)
        self.assertIn("ends at multiply", text)
        self.assertIn("w:0 is not trainable, so a tape watches it after tape.watch(w) alone", text)
        whole = tf.Variable([1, 2], name="whole")
        self.assertIn("whole:0 is of dtype int32", tf.explain_no_gradient(y, whole))

    def test_names_the_gradient_function_that_returned_none(self):
        @tf.custom_gradient
        def first_only(x, y):
            return x * y, lambda upstream: (upstream, None)

        x, other = tf.constant([1., 2.]), tf.constant([5., 5.])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, other])
            y = first_only(other, x) * 2.
        self.assertIsNone(tape.gradient(y, x))
        self.assertIsNotNone(tape.gradient(y, other))
        self.assertRegex(tf.explain_no_gradient(y, x), r"ends at first_only \(op [\d,]+, line \d+ .*its gradient function returned None")
        self.assertNotIn("returned None", tf.explain_no_gradient(y, other))

    def test_names_the_function_that_captured_it(self):
        @tf.custom_gradient
        def f(z):
            return x * z, lambda upstream: upstream

        x, z = tf.constant([1., 2.]), tf.constant([1., 1.])
        with tf.GradientTape() as tape:
            tape.watch([x, z])
            y = f(z)
        self.assertIsNone(tape.gradient(y, x))
        self.assertRegex(tf.explain_no_gradient(y, x), r"ends at f \(op [\d,]+, .*uses it without taking it as an argument")

    def test_names_every_end_of_several_paths(self):
        text = self.explain(lambda x: tf.stop_gradient(x) * tf.cast(tf.argmax(x), tf.float32) * tf.cast(tf.cast(x, tf.int32), tf.float32))
        for op in ("stop_gradient", "argmax", "cast"):
            self.assertIn(f"ends at {op}", text)

    def test_names_what_ran_while_the_tape_was_stopped_or_after_it(self):
        x = tf.constant([1., 2.])
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tape.stop_recording():
                hidden = tf.exp(x)
            y = hidden * 2.
        later = x - 1.
        self.assertIsNone(tape.gradient(y, x))
        self.assertIn("ends at exp", tf.explain_no_gradient(y, x))
        self.assertIn("ends at subtract", tf.explain_no_gradient(later, x))


class NothingRecorded(unittest.TestCase):
    def test_says_what_to_do(self):
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "record_ops"):
            tf.explain_no_gradient(tf.constant(1.), tf.constant(1.))


if __name__ == "__main__":
    unittest.main()
