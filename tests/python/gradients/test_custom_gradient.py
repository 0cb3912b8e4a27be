"""Custom gradients from Python."""
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import tfe


class CustomGradient(unittest.TestCase):
    def test_several_inputs_outputs_and_keywords(self):
        @tf.custom_gradient
        def sum_and_product(x, y, scale=1.):
            def grad(dsum, dproduct):
                return scale * (dsum + dproduct * y), (scale * (dsum + dproduct * x))
            return [x + y, x * y], grad

        x, y = tf.constant(2.), tf.constant(3.)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            total, product = sum_and_product(x, y, scale=10.)
        self.assertEqual((float(total), float(product)), (5., 6.))
        self.assertEqual([float(g) for g in tape.gradient(total, [x, y])], [10., 10.])
        self.assertEqual([float(g) for g in tape.gradient(product, [x, y])], [30., 20.])
        self.assertEqual([float(g) for g in tape.gradient([total, product], [x, y])], [40., 30.])

    def test_structures_come_back_as_they_were(self):
        @tf.custom_gradient
        def f(pair):
            return {"sum": pair[0] + pair[1]}, lambda d: (d, 2. * d)

        x, y = tf.constant(1.), tf.constant(2.)
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            result = f((x, y))
        self.assertEqual(float(result["sum"]), 3.)
        self.assertEqual([float(g) for g in tape.gradient(result, [x, y])], [1., 2.])

    def test_an_output_that_is_an_input_gets_the_custom_gradient(self):
        @tf.custom_gradient
        def clipped(x):
            return x, lambda d: tf.clip_by_value(d, -1., 1.)

        x = tf.constant(3.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = clipped(x) * 100.
        self.assertEqual(float(tape.gradient(y, x)), 1.)

    def test_it_nests_and_is_differentiated_again(self):
        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            return tf.math.log(1 + e), lambda d: d * (1 - 1 / (1 + e))

        @tf.custom_gradient
        def outer(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = log1pexp(x)
            inner = tape.gradient(y, x)
            return y, lambda d: d * inner * 2.

        sigmoid = 1 / (1 + np.exp(-.7))
        first = tfe.gradients_function(log1pexp)
        second = tfe.gradients_function(lambda x: first(x)[0])
        third = tfe.gradients_function(lambda x: second(x)[0])
        self.assertAlmostEqual(float(first(.7)[0]), sigmoid, places=6)
        self.assertAlmostEqual(float(second(.7)[0]), sigmoid * (1 - sigmoid), places=6)
        self.assertAlmostEqual(float(third(.7)[0]), sigmoid * (1 - sigmoid) * (1 - 2 * sigmoid), places=6)
        self.assertAlmostEqual(float(tfe.gradients_function(outer)(.7)[0]), 2 * sigmoid, places=6)

    def test_variables_as_arguments(self):
        @tfe.custom_gradient
        def doubled(x):
            return 2. * x, lambda d: 5. * d

        v = tf.Variable(3.)
        with tf.GradientTape() as tape:
            y = doubled(v)
        self.assertEqual(float(tape.gradient(y, v)), 5.)

    def test_gradients_pass_through_a_function(self):
        x, v = tf.Variable([1.4, 2.6]), tf.Variable(3.)
        with tf.GradientTape(persistent=True) as tape:
            y = tf.grad_pass_through(tf.round)(x) * 2.
            z = tf.grad_pass_through(lambda a: a * v)(x)
        self.assertEqual((y.numpy().tolist(), tape.gradient(y, x).numpy().tolist()), ([2, 6], [2, 2]))
        self.assertEqual((tape.gradient(z, x).numpy().tolist(), tape.gradient(z, v)), ([1, 1], None))
        two = tf.grad_pass_through(lambda a, b: (tf.floor(a), b**2))
        with tf.GradientTape() as tape:
            a, b = two(x, v)
            total = tf.reduce_sum(a) + 5. * b
        self.assertEqual([each.numpy().tolist() for each in tape.gradient(total, [x, v])], [[1, 1], 5])

    def test_none_is_no_gradient(self):
        @tf.custom_gradient
        def first_only(x, y):
            return x * y, lambda d: (d * y, None)

        x, y = tf.constant(2.), tf.constant(3.)
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = first_only(x, y)
        gradients = tape.gradient(z, [x, y])
        self.assertEqual((float(gradients[0]), gradients[1]), (3., None))

    def test_arguments_that_are_no_tensors_get_none(self):
        class Layer:
            @tf.custom_gradient
            def call(self, x, mode, nothing):
                return x * 2., lambda d: (None, d * 7., None, None)

        x = tf.constant(3.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = Layer().call(x, "fast", None)
        self.assertEqual((float(y), float(tape.gradient(y, x))), (6., 7.))

    def test_keyword_tensors_have_no_gradient_whatever_else_is_watched(self):
        @tf.custom_gradient
        def f(x, w=None):
            return x * w, lambda d: d * 100.

        x, w = tf.constant(2.), tf.constant(3.)
        for watched in ([w], [x, w]):
            with tf.GradientTape() as tape:
                tape.watch(watched)
                y = f(x, w=w)
            self.assertIsNone(tape.gradient(y, w))

    def test_an_exception_of_the_gradient_function_leaves_tapes_usable(self):
        @tf.custom_gradient
        def f(x):
            def grad(d):
                raise KeyError("mine")
            return x * 2., grad

        v = tf.Variable(1.)
        for persistent in (False, True):
            with tf.GradientTape(persistent=persistent) as tape:
                y, z = f(v), v * v
            with self.assertRaisesRegex(KeyError, "mine"):
                tape.gradient(y, v)
            if persistent:
                self.assertEqual(float(tape.gradient(z, v)), 2.)
        with tf.GradientTape() as tape:
            y = v * v
        self.assertEqual(float(tape.gradient(y, v)), 2.)

    def test_what_cannot_be_called_is_named(self):
        for decorator in (tf.custom_gradient, tf.grad_pass_through, tf.recompute_grad):
            with self.assertRaisesRegex(TypeError, f"^{decorator.__name__}: f is 3; needs a function"):
                decorator(3)

    def test_mistakes_are_named(self):
        @tf.custom_gradient
        def one_for_two(x, y):
            return x * y, lambda d: d

        with self.assertRaisesRegex(ValueError, "one_for_two returned 1 gradients for 2 inputs"):
            tfe.gradients_function(one_for_two)(1., 2.)

        @tf.custom_gradient
        def no_grad(x):
            return x

        with self.assertRaisesRegex(TypeError, "no_grad is decorated with custom_gradient, so it returns"):
            no_grad(1.)
        self.assertEqual(one_for_two.__name__, "one_for_two")


if __name__ == "__main__":
    unittest.main()
