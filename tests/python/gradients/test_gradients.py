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
        with self.assertRaisesRegex(ValueError, "unconnected_gradients is 'maybe'; must be 'none' or 'zero'"):
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

        with self.assertRaisesRegex(ValueError, "a function that returns None; did you forget to return a value from forgot"):
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


if __name__ == "__main__":
    unittest.main()
