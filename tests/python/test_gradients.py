"""Tapes and gradient functions from Python."""
import collections
import gc
import unittest
import weakref

import numpy as np

import tapedeck as tf
from tapedeck import tfe


class GradientTape(unittest.TestCase):
    def test_nested_structures_of_sources_and_targets(self):
        Pair = collections.namedtuple("Pair", "first second")
        x, y, z = tf.constant(2.), tf.constant(3.), tf.constant(4.)
        with tf.GradientTape() as tape:
            tape.watch([x, (y, {"z": z})])
            targets = [x * y, {"t": y * z}]
        gradients = tape.gradient(targets, {"x": x, "pair": Pair(y, [z])})
        self.assertEqual(float(gradients["x"]), 3.)
        self.assertIsInstance(gradients["pair"], Pair)
        self.assertEqual(float(gradients["pair"].first), 2. + 4.)
        self.assertEqual(float(gradients["pair"].second[0]), 3.)

    def test_output_gradients_weigh_the_targets(self):
        x = tf.constant([1., 2.])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            z = 3. * x
        weights = np.array([1., 10.], np.float32)
        np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=weights).numpy(), [2, 40])
        np.testing.assert_array_equal(tape.gradient([y, z], x, [tf.constant(weights), None]).numpy(), [2 + 3, 40 + 3])
        with self.assertRaisesRegex(ValueError, "1 output_gradients for 2 targets"):
            tape.gradient([y, z], x, [weights])

    def test_results_go_with_their_last_holder(self):
        """Not when Python next looks for cycles: by then a training loop has held hundreds of gradients."""
        x = tf.constant([[1., 2.], [3., 4.]])
        recomputed = tf.recompute_grad(lambda v: v * v)

        @tf.custom_gradient
        def doubled(v):
            return 2. * v, lambda upstream: 2. * upstream

        def taped(f, read):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = f(x)
            return y, read(tape, y)

        def forward(f):
            with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
                y = f(x)
            return y, accumulator.jvp(y)

        square = tf.square
        gc.collect()
        gc.disable()
        try:
            for make in (lambda: taped(square, lambda tape, y: tape.gradient(y, x)),
                         lambda: taped(square, lambda tape, y: tape.gradient([y], {"a": [x]})["a"][0]),
                         lambda: taped(square, lambda tape, y: tape.jacobian(y, x)),
                         lambda: taped(square, lambda tape, y: tape.batch_jacobian(y, x)),
                         lambda: taped(doubled, lambda tape, y: tape.gradient(y, x)),
                         lambda: taped(recomputed, lambda tape, y: tape.gradient(y, x)),
                         lambda: forward(square),
                         lambda: tuple(tfe.value_and_gradients_function(lambda v: tf.reduce_sum(v * v))(x))):
                value, gradient = make()
                gradient = gradient[0] if isinstance(gradient, (list, tuple)) else gradient
                left = [weakref.ref(value), weakref.ref(gradient)]
                del value, gradient
                self.assertEqual([reference() for reference in left], [None, None])
        finally:
            gc.enable()

    def test_unconnected_sources_are_none_or_zero(self):
        x, other = tf.constant([1., 2.]), tf.constant([[5.]])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, other])
            y = x * 2.
        self.assertIsNone(tape.gradient(y, other))
        for zero in ("zero", tf.UnconnectedGradients.ZERO):
            np.testing.assert_array_equal(tape.gradient(y, other, unconnected_gradients=zero).numpy(), [[0]])
        with self.assertRaisesRegex(ValueError, "unconnected_gradients is 'maybe'; it is 'none' or 'zero'"):
            tape.gradient(y, x, unconnected_gradients="maybe")

    def test_a_variable_as_a_target_is_watched_as_if_it_had_been_read(self):
        v, w, fixed = tf.Variable([2., 5.]), tf.Variable(3.), tf.Variable(1., trainable=False)
        with tf.GradientTape() as tape:
            result = v  # a branch that hands the variable on
        first, other = tape.gradient(result, [v, w])
        self.assertEqual((first.numpy().tolist(), other), ([1, 1], None))
        with tf.GradientTape(persistent=True) as tape:
            y = v * w
        self.assertEqual(tape.gradient({"v": v, "y": y}, v).numpy().tolist(), [4, 4])
        self.assertEqual(tape.gradient(v, v, output_gradients=[2., 3.]).numpy().tolist(), [2, 3])
        self.assertEqual(tape.jacobian(v, v).numpy().tolist(), [[1, 0], [0, 1]])
        self.assertEqual(tape.batch_jacobian(v, v).numpy().tolist(), [1, 1])
        self.assertIsNone(tape.gradient(fixed, fixed))
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(w)
        self.assertEqual([each is None for each in tape.gradient([v, w], [v, w])], [True, False])
        with tf.GradientTape() as tape:
            y = v * 1.
        tape.gradient(y, v)
        with self.assertRaisesRegex(RuntimeError, "non-persistent"):
            tape.gradient(v, v)

    def test_watching_is_explicit_for_tensors_and_can_be_for_variables(self):
        x, v = tf.constant(3.), tf.Variable(2.)
        with tf.GradientTape() as tape:
            y = x * v
        gradients = tape.gradient(y, [x, v])
        self.assertIsNone(gradients[0])
        self.assertEqual(float(gradients[1]), 3.)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            y = v * v
        self.assertIsNone(tape.gradient(y, v))
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(v)
            y = v * v
        self.assertEqual(float(tape.gradient(y, v)), 4.)
        untrained = tf.Variable(2., trainable=False)
        with tf.GradientTape() as tape:
            y = untrained * v
        self.assertEqual(tape.watched_variables(), (v,))
        for whole in (tf.constant(1), tf.Variable(1)):
            with tf.GradientTape() as tape, self.assertWarnsRegex(UserWarning, "dtype int32 has no gradients"):
                tape.watch([v, whole])
                y = v * tf.cast(whole, tf.float32)
            self.assertEqual(float(tape.gradient(y, [v, whole])[0]), 1.)
        with self.assertRaisesRegex(TypeError, "neither a tensor nor a variable"):
            tf.GradientTape().watch(1.)

    def test_gradient_inside_the_context_ends_the_recording(self):
        x = tf.constant(3.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            gradient = tape.gradient(y, x)
        self.assertEqual(float(gradient), 6.)
        with self.assertRaisesRegex(RuntimeError, "persistent"):
            tape.gradient(y, x)

    def test_stop_recording_and_reset(self):
        x = tf.constant(3.)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            with tape.stop_recording():
                hidden = x * x
            y = hidden * x
        self.assertEqual(float(tape.gradient(y, x)), 9.)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            tape.reset()
            tape.watch(x)
            z = x * 5.
        self.assertIsNone(tape.gradient(y, x))
        self.assertEqual(float(tape.gradient(z, x)), 5.)

    def test_stop_recording_is_for_one_tape(self):
        x = tf.constant(3.)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                with inner.stop_recording():
                    y = x * x
                z = y * x
        self.assertEqual((float(outer.gradient(z, x)), float(inner.gradient(z, x))), (27., 9.))
        with self.assertRaisesRegex(RuntimeError, "stop_recording: the tape is not active"):
            with inner.stop_recording():
                pass

    def test_stop_recording_ends_with_an_exception_and_nests(self):
        x = tf.constant(2.)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            with self.assertRaises(KeyError), tape.stop_recording():
                with tape.stop_recording():
                    pass
                hidden = x * x
                raise KeyError
            y = x * x
        self.assertIsNone(tape.gradient(hidden, x))
        self.assertEqual(float(tape.gradient(y, x)), 4.)

    def test_sources_come_back_in_their_own_containers(self):
        class Many(list):
            pass

        x = tf.Variable(2.)
        groups = collections.defaultdict(list, z=x)
        for sources in (groups, Many([x, x]), collections.OrderedDict(b=x, a=x), [], {}, ((x,), [])):
            with tf.GradientTape() as tape:
                y = x * x
            gradients = tape.gradient(y, sources)
            self.assertIs(type(gradients), type(sources))
            self.assertEqual(len(gradients), len(sources))
        with tf.GradientTape() as tape:
            y = x * x
        self.assertEqual(float(tape.gradient(y, groups)["z"]), 4.)

    def test_values_between_can_be_sources(self):
        x = tf.constant(2.)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            z = y * y
        self.assertEqual([float(g) for g in tape.gradient(z, [x, y, z])], [32., 8., 1.])
        self.assertEqual(float(tape.gradient([z, y], x)), 36.)
        self.assertIsNone(tape.gradient(y, z))

    def test_a_persistent_tape_that_records_its_own_gradients(self):
        x = tf.constant(1.5, tf.float64)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            order = x**5
            for factor in (5 * 1.5**4, 20 * 1.5**3, 60 * 1.5**2, 120 * 1.5):
                order = tape.gradient(order, x)
                self.assertAlmostEqual(float(order), factor, places=10)

    def test_nested_tapes_give_second_derivatives(self):
        x = tf.constant([1., 2., 3.])
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x**3
            first = inner.gradient(y, x)
        np.testing.assert_allclose(first.numpy(), 3 * x.numpy()**2)
        np.testing.assert_allclose(outer.gradient(first, x).numpy(), 6 * x.numpy())

    def test_an_exception_inside_closes_the_tape(self):
        with self.assertRaises(KeyError):
            with tf.GradientTape():
                raise KeyError
        tape = tf.GradientTape()
        with tape:
            with self.assertRaisesRegex(RuntimeError, "active"):
                tape.__enter__()

    def test_lists_of_tensors_carry_gradients(self):
        x = tf.constant(2.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.convert_to_tensor([x, [x * x][0]]) * [1., 10.])
        self.assertEqual(float(tape.gradient(y, x)), 1 + 10 * 4)


class GradientFunctions(unittest.TestCase):
    def test_params_by_index_and_name(self):
        def f(x, y):
            return x * x * y

        self.assertEqual([float(g) for g in tfe.gradients_function(f)(3., 2.)], [12., 9.])
        self.assertEqual([float(g) for g in tfe.gradients_function(f, params=["y"])(3., 2.)], [9.])
        self.assertEqual([float(g) for g in tfe.gradients_function(f, params=[1, 0])(3., 2.)], [9., 12.])
        with self.assertRaisesRegex(ValueError, "index 2 is out of range for 2 arguments"):
            tfe.gradients_function(f, params=[2])(3., 2.)
        with self.assertRaisesRegex(ValueError, "f has no argument 'z'"):
            tfe.gradients_function(f, params=["z"])(3., 2.)

    def test_one_tensor_for_two_arguments_has_two_gradients(self):
        x = tf.constant(3.)
        gradients = tfe.gradients_function(lambda a, b: a * a * b)(x, x)
        self.assertEqual([float(g) for g in gradients], [18., 9.])

    def test_dy_keywords_and_arguments_that_are_not_differentiated(self):
        value, (gradient,) = tfe.value_and_gradients_function(lambda x, power=2: x**power)([1., 2.], power=3, dy=[1., 2.])
        np.testing.assert_allclose(value.numpy(), [1, 8])
        np.testing.assert_allclose(gradient.numpy(), [3, 24])
        gradients = tfe.gradients_function(lambda x, name: x * len(name), params=[0])(2., "four")
        self.assertEqual(float(gradients[0]), 4.)

    def test_a_function_that_returns_none_is_named(self):
        def forgot(x):
            x * x

        with self.assertRaisesRegex(ValueError, "forgot returned None"):
            tfe.gradients_function(forgot)(1.)

    def test_implicit_gradients_name_the_variables(self):
        v, w, unused = tf.Variable(3., name="v"), tf.Variable([1., 2.], name="w"), tf.Variable(1.)
        value, pairs = tfe.implicit_value_and_gradients(lambda scale: scale * v * tf.reduce_sum(w))(2.)
        self.assertEqual(float(value), 18.)
        self.assertIs(pairs[0][1], v)
        self.assertIs(pairs[1][1], w)
        self.assertEqual(float(pairs[0][0]), 6.)
        np.testing.assert_array_equal(pairs[1][0].numpy(), [6, 6])
        self.assertFalse(any(variable is unused for _, variable in pairs))
        self.assertEqual(len(tfe.implicit_gradients(lambda: v * v)()), 1)
        with self.assertRaisesRegex(ValueError, "read no trainable variable"):
            tfe.implicit_gradients(lambda: tf.constant(1.))()


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
