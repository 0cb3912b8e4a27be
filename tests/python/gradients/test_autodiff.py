"""Jacobians, Hessians, forward mode, recomputation, and variables in custom gradients."""
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import tfe

WEIGHTS = np.random.RandomState(3).standard_normal((3, 4))


def layer(x):
    return tf.tanh(tf.matmul(tf.reshape(x, (1, 3)), tf.constant(WEIGHTS)))[0]


def numeric_jacobian(f, x, step=1e-6):
    """Central differences, in float64."""
    columns = []
    for i in range(x.size):
        d = np.zeros_like(x)
        d.flat[i] = step
        columns.append((f(tf.constant(x + d)).numpy() - f(tf.constant(x - d)).numpy()) / (2 * step))
    return np.stack(columns, axis=-1).reshape(columns[0].shape + x.shape)


class Jacobians(unittest.TestCase):
    x = np.array([.3, -1.2, .7])

    def test_of_a_vector(self):
        x = tf.constant(self.x)
        for persistent in (False, True):
            with tf.GradientTape(persistent=persistent) as tape:
                tape.watch(x)
                y = layer(x)
            jacobian = tape.jacobian(y, x)
            self.assertEqual(tuple(jacobian.shape), (4, 3))
            np.testing.assert_allclose(jacobian.numpy(), numeric_jacobian(layer, self.x), atol=1e-8)

    def test_uses_a_tape_up_that_is_not_persistent(self):
        x = tf.constant(self.x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
        tape.jacobian(y, x)
        for again in (tape.jacobian, tape.gradient):
            with self.assertRaisesRegex(RuntimeError, "persistent"):
                again(y, x)

    def test_of_structures_scalars_and_what_is_not_connected(self):
        x, v, other = tf.constant(self.x), tf.Variable(2., dtype=tf.float64), tf.constant(1.)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, other])
            y = x * v
        found = tape.jacobian(y, {"x": x, "v": v, "other": other})
        np.testing.assert_allclose(found["x"].numpy(), 2 * np.eye(3))
        np.testing.assert_allclose(found["v"].numpy(), self.x)
        self.assertIsNone(found["other"])
        zeros = tape.jacobian(y, other, unconnected_gradients="zero")
        np.testing.assert_array_equal(zeros.numpy(), np.zeros(3))
        self.assertEqual(tuple(tape.jacobian(y[:0], x).shape), (0, 3))

    def test_in_narrow_dtypes(self):
        for dtype in (tf.float16, tf.bfloat16):
            x = tf.constant([1., 2.], dtype)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            jacobian = tape.jacobian(y, x)
            self.assertEqual((jacobian.dtype, tf.cast(jacobian, tf.float32).numpy().tolist()), (dtype, [[2., 0.], [0., 4.]]))

    def test_of_each_row_of_a_batch(self):
        batch = np.random.RandomState(1).standard_normal((5, 3))
        x = tf.constant(batch)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.tanh(tf.matmul(x, tf.constant(WEIGHTS)))
        found = tape.batch_jacobian(y, x).numpy()
        self.assertEqual(found.shape, (5, 4, 3))
        for i in range(5):
            np.testing.assert_allclose(found[i], numeric_jacobian(layer, batch[i]), atol=1e-8)
        with self.assertRaisesRegex(ValueError, "the same first axis"):
            tape.batch_jacobian(y, tf.zeros((4, 3), tf.float64))

    def test_hessian_and_its_product_with_a_vector(self):
        def f(x):
            return tf.reduce_sum(tf.exp(layer(x)) * layer(x))

        def gradient(x):
            return tfe.gradients_function(f)(x)[0]

        expected = numeric_jacobian(gradient, self.x)
        hessian = tfe.hessian_function(f)(self.x).numpy()
        np.testing.assert_allclose(hessian, expected, atol=1e-7)
        np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
        vector = np.array([1., -2., .5])
        product = tfe.hessian_vector_product_function(f)(self.x, vector=vector).numpy()
        np.testing.assert_allclose(product, hessian @ vector, atol=1e-12)
        np.testing.assert_allclose(tfe.jacobian_function(layer)(self.x)[0].numpy(), numeric_jacobian(layer, self.x), atol=1e-8)
        np.testing.assert_array_equal(tfe.hessian_function(lambda x: 3. * x)(1.).numpy(), 0)
        with self.assertRaisesRegex(ValueError, "a Hessian is that of a scalar"):
            tfe.hessian_function(layer)(self.x)


class ForwardMode(unittest.TestCase):
    x = np.array([.3, -1.2, .7])
    v = np.array([1., .5, -2.])

    def test_the_jacobian_times_a_vector(self):
        x = tf.constant(self.x)
        with tf.autodiff.ForwardAccumulator(x, tf.constant(self.v)) as accumulator:
            y = layer(x)
            inside = accumulator.jvp(y)
        expected = numeric_jacobian(layer, self.x) @ self.v
        np.testing.assert_allclose(inside.numpy(), expected, atol=1e-8)
        np.testing.assert_allclose(accumulator.jvp(y).numpy(), expected, atol=1e-8)
        np.testing.assert_allclose(accumulator.jvp({"x": x, "y": [y]})["x"].numpy(), self.v)

    def test_several_primals_and_variables(self):
        x, w = tf.constant(self.x), tf.Variable([2., 3., 4.], dtype=tf.float64)
        with tf.autodiff.ForwardAccumulator([x, w], [self.v, np.ones(3)]) as accumulator:
            y = tf.reduce_sum(x * w * w)
        expected = (self.v * np.array([4., 9., 16.])).sum() + (2 * self.x * np.array([2., 3., 4.])).sum()
        self.assertAlmostEqual(float(accumulator.jvp(y)), expected, places=12)

    def test_over_a_tape_gives_hessian_vector_products(self):
        def f(x):
            return tf.reduce_sum(tf.exp(layer(x)))

        x = tf.constant(self.x)
        with tf.autodiff.ForwardAccumulator(x, self.v) as accumulator:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            gradient = tape.gradient(y, x)
        expected = tfe.hessian_function(f)(self.x).numpy() @ self.v
        np.testing.assert_allclose(accumulator.jvp(gradient).numpy(), expected, atol=1e-12)

    def test_accumulators_nest(self):
        x = tf.constant(2., tf.float64)
        with tf.autodiff.ForwardAccumulator(x, 1.) as outer:
            with tf.autodiff.ForwardAccumulator(x, 1.) as inner:
                y = x * x * x
            first = inner.jvp(y)
        self.assertAlmostEqual(float(first), 12.)
        self.assertAlmostEqual(float(outer.jvp(first)), 12.)

    def test_a_tape_outside_differentiates_the_product(self):
        x = tf.constant(2., tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.autodiff.ForwardAccumulator(x, 1.) as accumulator:
                y = x * x * x
            slope = accumulator.jvp(y)
        self.assertAlmostEqual(float(tape.gradient(slope, x)), 12.)

    def test_custom_gradients_and_what_is_not_connected(self):
        @tf.custom_gradient
        def doubled(x):
            return x * 1., lambda upstream: 2. * upstream

        x, other = tf.constant(3.), tf.constant(4.)
        with tf.autodiff.ForwardAccumulator(x, 1.) as accumulator:
            y = doubled(x)
            z = other * 2.
        self.assertEqual(float(accumulator.jvp(y)), 2.)
        self.assertIsNone(accumulator.jvp(z))
        self.assertEqual(float(accumulator.jvp(z, unconnected_gradients="zero")), 0.)

    def test_a_derivative_of_zero_is_not_unconnected(self):
        x = tf.constant([-2., 3.])
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = tf.sign(x)
        self.assertEqual(accumulator.jvp(y).numpy().tolist(), [0, 0])

    def test_whole_numbers_have_no_tangent(self):
        x = tf.constant([1., 2.])
        with tf.autodiff.ForwardAccumulator(x, x) as accumulator:
            places, rounded = tf.argmax(x), tf.cast(x, tf.int32)
        self.assertEqual((accumulator.jvp(places), accumulator.jvp(rounded)), (None, None))
        self.assertEqual(accumulator.jvp(rounded, unconnected_gradients="zero").numpy().tolist(), [0, 0])

    def test_three_levels(self):
        x, one = tf.constant(1.3, tf.float64), tf.constant(1., tf.float64)
        with tf.autodiff.ForwardAccumulator(x, one) as a, tf.autodiff.ForwardAccumulator(x, one) as b:
            with tf.autodiff.ForwardAccumulator(x, one) as c:
                first = c.jvp(tf.sin(x) * x)
            third = a.jvp(b.jvp(first))
        self.assertAlmostEqual(float(third), -np.cos(1.3) * 1.3 - 3 * np.sin(1.3), places=12)

    def test_bad_use(self):
        x = tf.constant([1., 2.])
        with self.assertRaisesRegex(ValueError, r"tangent has the shape \(3,\), its primal \(2,\)"):
            tf.autodiff.ForwardAccumulator(x, [1., 2., 3.])
        with self.assertRaisesRegex(ValueError, "twice"):
            tf.autodiff.ForwardAccumulator([x, x], [x, x])
        with self.assertRaisesRegex(ValueError, "1 primals, but 2 tangents"):
            tf.autodiff.ForwardAccumulator([x], [x, x])
        with self.assertRaisesRegex(ValueError, "tangents is None"):
            tf.autodiff.ForwardAccumulator(x, None)
        with self.assertRaisesRegex(TypeError, "not float"):
            tf.autodiff.ForwardAccumulator(2., 1.)
        with self.assertRaisesRegex(ValueError, "nothing was recorded"):
            tf.autodiff.ForwardAccumulator(x, x).jvp(x)


class VariablesInCustomGradients(unittest.TestCase):
    def test_they_get_the_gradients_that_the_user_gives(self):
        w, b = tf.Variable(3.), tf.Variable(5.)

        @tf.custom_gradient
        def f(x):
            def grad(upstream, variables=None):
                self.assertEqual([v is w or v.name == w.name for v in variables][:1], [True])
                return upstream * 10., [upstream * 100., upstream * 1000.]
            return x * w + b, grad

        x = tf.constant(2.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        self.assertEqual([float(g) for g in tape.gradient(y, [x, w, b])], [10., 100., 1000.])
        # The argument need not be watched for the variables' sake.
        with tf.GradientTape() as tape:
            y = 2. * f(tf.constant(2.))
        self.assertEqual([float(g) for g in tape.gradient(y, [w, b])], [200., 2000.])

    def test_a_gradient_function_that_does_not_take_them_is_told(self):
        w = tf.Variable(3., name="weight")

        @tf.custom_gradient
        def f(x):
            return x * w, lambda upstream: upstream

        with self.assertRaisesRegex(TypeError, "f reads the variables weight:0"):
            f(tf.constant(2.))

    def test_wrong_answers_are_told(self):
        w = tf.Variable(3.)
        for answer, sentence in ((lambda g: g, "returns \\(gradients of the arguments"),
                                 (lambda g: (g, [g, g]), "2 gradients for 1 variables")):
            @tf.custom_gradient
            def f(x):
                return x * w, lambda upstream, variables: answer(upstream)

            with tf.GradientTape() as tape:
                y = f(tf.constant(2.))
            with self.assertRaisesRegex(ValueError, sentence):
                tape.gradient(y, w)


class Recomputation(unittest.TestCase):
    def test_gradients_are_those_of_the_function(self):
        w = tf.Variable(WEIGHTS)
        calls = []

        def block(x, y, scale=1.):
            calls.append(1)
            return tf.tanh(tf.matmul(x, w)) * scale, y * y

        x, y = tf.constant(np.random.RandomState(0).standard_normal((2, 3))), tf.constant([1., 2.], tf.float64)
        results = []
        for f in (block, tf.recompute_grad(block)):
            calls.clear()
            with tf.GradientTape() as tape:
                tape.watch([x, y])
                a, b = f(x, y, scale=2.)
                target = tf.reduce_sum(a * a) + tf.reduce_sum(b)
            results.append([t.numpy() for t in tape.gradient(target, [x, y, w])])
        self.assertEqual(len(calls), 2)  # once forward, once for the gradient
        for plain, again in zip(*results):
            np.testing.assert_array_equal(plain, again)

    def test_nested_in_itself_under_persistent_tapes(self):
        w, x = tf.Variable(WEIGHTS), tf.constant([[.3, -.2, .5]], tf.float64)

        def inner(x):
            return tf.tanh(x @ w)

        def twice(layer):
            return lambda x: layer(x) * 2. + layer(x * 2.)

        results = []
        for f in (twice(inner), tf.recompute_grad(twice(tf.recompute_grad(inner)))):
            with tf.GradientTape(persistent=True) as outer:
                outer.watch(x)
                with tf.GradientTape(persistent=True) as tape:
                    tape.watch(x)
                    y = f(x)
                first, jacobian = tape.gradient(y, [x, w]), tape.jacobian(y, w)
            results.append([t.numpy() for t in (*first, jacobian, *outer.gradient(first, [x, w]), outer.gradient(jacobian, x))])
        for plain, again in zip(*results):
            np.testing.assert_allclose(again, plain, rtol=1e-13, atol=1e-13)

    def test_arguments_that_are_no_tensors(self):
        scaled = tf.recompute_grad(lambda x, mode, factor=None: {"x": x * 2. if mode == "double" else x, "i": tf.constant(1)})
        x = tf.constant(3.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x, "double", factor=None)["x"]
        self.assertEqual(float(tape.gradient(y, x)), 2.)

    def test_an_error_in_the_second_run_is_the_users(self):
        runs = []

        def f(x):
            runs.append(1)
            if len(runs) == 2:
                raise KeyError("second run")
            return x * x

        x = tf.Variable(2.)
        with tf.GradientTape() as tape:
            y = tf.recompute_grad(f)(x)
        with self.assertRaisesRegex(KeyError, "second run"):
            tape.gradient(y, x)
        with tf.GradientTape() as tape:
            y = x * x
        self.assertEqual(float(tape.gradient(y, x)), 4.)

    def test_second_order(self):
        cube = tf.recompute_grad(lambda x: x * x * x)
        second = tfe.gradients_function(lambda x: tfe.gradients_function(cube)(x)[0])
        self.assertEqual(float(second(2.)[0]), 12.)


if __name__ == "__main__":
    unittest.main()
