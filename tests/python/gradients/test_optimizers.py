"""tf.train's optimisers: against NumPy over 100 steps, dense and of rows; slots, errors, gradients of losses."""
import json
import unittest

import numpy as np

import optimizer_references as reference
import tapedeck as tf
from tapedeck import tfe

train = tf.train


def _adagrad_da(**kwargs):
    step = tf.Variable(0, dtype=tf.int64, trainable=False)
    optimizer = train.AdagradDAOptimizer(0.3, step, l1_regularization_strength=0.01, l2_regularization_strength=0.02)
    optimizer.step_of_test = step
    return optimizer


# name: (optimiser, the same in NumPy, whether an IndexedSlices changes its rows alone)
CASES = {
    "gradient descent": (lambda: train.GradientDescentOptimizer(0.1), reference.gradient_descent(0.1), True),
    "momentum": (lambda: train.MomentumOptimizer(0.05, 0.9), reference.momentum(0.05, 0.9), True),
    "nesterov": (lambda: train.MomentumOptimizer(0.05, 0.9, use_nesterov=True), reference.momentum(0.05, 0.9, True), True),
    "adagrad": (lambda: train.AdagradOptimizer(0.3), reference.adagrad(0.3), True),
    "adagrad da": (_adagrad_da, reference.adagrad_da(0.3, 0.01, 0.02), True),
    "adadelta": (lambda: train.AdadeltaOptimizer(1.0, 0.9, 1e-4), reference.adadelta(1.0, 0.9, 1e-4), True),
    "rmsprop": (lambda: train.RMSPropOptimizer(0.02, 0.9, 0.5, 1e-3), reference.rms_prop(0.02, 0.9, 1e-3, 0.5, initial=1.0), True),
    "centered rmsprop": (lambda: train.RMSPropOptimizer(0.02, 0.9, 0.5, 1e-3, centered=True),
                         reference.rms_prop(0.02, 0.9, 1e-3, 0.5, True, 1.0), True),
    "adam": (lambda: train.AdamOptimizer(0.02), reference.adam(0.02), False),
    "ftrl": (lambda: train.FtrlOptimizer(0.5, l1_regularization_strength=0.1, l2_regularization_strength=0.2,
                                         l2_shrinkage_regularization_strength=0.05),
             reference.ftrl(0.5, -0.5, 0.1, 0.2, 0.05), True),
    "ftrl of another power": (lambda: train.FtrlOptimizer(0.5, learning_rate_power=-0.3, initial_accumulator_value=0.2),
                              reference.ftrl(0.5, -0.3, initial=0.2), True),
    "proximal gradient descent": (lambda: train.ProximalGradientDescentOptimizer(0.1, 0.05, 0.1),
                                  reference.proximal_gradient_descent(0.1, 0.05, 0.1), True),
    "proximal adagrad": (lambda: train.ProximalAdagradOptimizer(0.3, 0.1, 0.05, 0.1), reference.proximal_adagrad(0.3, 0.05, 0.1), True),
}
START = np.random.default_rng(0).normal(size=(5, 3))
SLOTS = {"gradient descent": [], "momentum": ["momentum"], "adagrad": ["accumulator"], "adadelta": ["accum", "accum_update"],
         "adagrad da": ["gradient_accumulator", "gradient_squared_accumulator"], "rmsprop": ["momentum", "rms"],
         "centered rmsprop": ["mg", "momentum", "rms"], "adam": ["m", "v"], "ftrl": ["accum", "linear"],
         "proximal adagrad": ["accumulator"]}


def gradient_at(t):
    return np.random.default_rng(t).normal(size=START.shape)


class AgainstNumPy(unittest.TestCase):
    def test_a_hundred_steps_are_those_of_numpy(self):
        for name, (make, step, _) in CASES.items():
            wanted = reference.run(step, START, gradient_at)
            for dtype, tolerance in ("float64", 1e-11), ("float32", 1e-6):
                with self.subTest(name, dtype=dtype):
                    optimizer, w = make(), tf.Variable(START, dtype=dtype, name="w")
                    for t in range(1, 101):
                        g = tf.constant(gradient_at(t), dtype)
                        optimizer.apply_gradients([(g, w)], getattr(optimizer, "step_of_test", None))
                        np.testing.assert_allclose(w.numpy(), wanted[t - 1], atol=tolerance * 5, rtol=tolerance * 5)

    def test_gradients_of_rows_are_those_of_numpy(self):
        for name, (make, step, rows_alone) in CASES.items():
            with self.subTest(name):
                optimizer, w = make(), tf.Variable(START, dtype="float64")
                for t in range(1, 101):
                    indices, values, _ = reference.rows_gradient(t, *START.shape)
                    optimizer.apply_gradients([(tf.IndexedSlices(values, indices, START.shape), w)],
                                              getattr(optimizer, "step_of_test", None))
                np.testing.assert_allclose(w.numpy(), reference.run_rows(step, START, rows_alone), rtol=1e-10, atol=1e-10)

    def test_the_lookup_of_an_embedding_trains_its_rows(self):
        table = tf.Variable(np.ones([6, 2], np.float32))
        optimizer = train.MomentumOptimizer(0.5, 0.9)
        for _ in range(2):
            optimizer.minimize(lambda: tf.reduce_sum(tf.nn.embedding_lookup(table, [[1, 4], [4, 1]])))
        np.testing.assert_allclose(table.numpy(), [[1, 1], [-1.9, -1.9], [1, 1], [1, 1], [-1.9, -1.9], [1, 1]], rtol=1e-6)


class Interface(unittest.TestCase):
    def test_slots_have_tensorflows_names(self):
        for name, wanted in SLOTS.items():
            with self.subTest(name):
                optimizer, w = CASES[name][0](), tf.Variable(START, name="w")
                self.assertIsNone(optimizer.get_slot(w, "momentum"))
                optimizer.apply_gradients([(tf.ones_like(w), w)])
                self.assertEqual(optimizer.get_slot_names(), wanted)
                for slot in wanted:
                    self.assertEqual(optimizer.get_slot(w, slot).shape, w.shape)
                self.assertEqual({id(slot) for _, _, slot in optimizer._slots()}, {id(optimizer.get_slot(w, n)) for n in wanted})

    def test_variables_are_named_after_the_variable_and_the_optimizer(self):
        optimizer = train.AdamOptimizer()
        with tf.name_scope("outer"):
            w = tf.Variable([1.0], name="w")
            optimizer.minimize(lambda: w * w)
        self.assertEqual([v.name for v in optimizer.variables()],
                         ["beta1_power:0", "beta2_power:0", "outer/w/Adam:0", "outer/w/Adam_1:0"])
        self.assertEqual(optimizer.get_name(), "Adam")
        self.assertAlmostEqual(float(optimizer._get_beta_accumulators()[1]), 0.999 ** 2)

    def test_minimize_finds_the_variables_and_counts_steps(self):
        w, unused, fixed = tf.Variable(3.0), tf.Variable(1.0), tf.Variable(2.0, trainable=False)
        step = tf.Variable(0, dtype=tf.int64)
        optimizer = train.GradientDescentOptimizer(lambda: 0.5)
        optimizer.minimize(lambda: w * w * fixed, global_step=step)
        self.assertEqual((float(w), float(unused), float(fixed), int(step)), (-3.0, 1.0, 2.0, 1))

    def test_var_list_and_grad_loss_are_taken(self):
        a, b = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
        pairs = train.GradientDescentOptimizer(1.0).compute_gradients(lambda: a * b, [b], grad_loss=tf.constant([1.0, 10.0]))
        self.assertEqual([(g.numpy().tolist(), v is b) for g, v in pairs], [([1.0, 20.0], True)])

    def test_gradients_of_none_leave_their_variables(self):
        a, b = tf.Variable(1.0), tf.Variable(2.0)
        train.GradientDescentOptimizer(0.5).apply_gradients([(tf.constant(1.0), a), (None, b)])
        self.assertEqual((float(a), float(b)), (0.5, 2.0))

    def test_learning_rates_may_be_tensors_variables_and_functions(self):
        for rate in 0.5, tf.constant(0.5), tf.Variable(0.5), lambda: 0.5, lambda: tf.constant(0.5), train.exponential_decay(
                1.0, tf.Variable(1), 1, 0.5), np.float32(0.5):
            w = tf.Variable(1.0)
            train.GradientDescentOptimizer(rate).apply_gradients([(1.0, w)])
            self.assertEqual(float(w), 0.5)
            w = tf.Variable(1.0)
            train.AdamOptimizer(rate, epsilon=0.0).apply_gradients([(1.0, w)])
            self.assertAlmostEqual(float(w), 0.5, 5)

    def test_errors_are_tensorflows(self):
        w, other = tf.Variable(1.0, name="w"), tf.Variable(1.0, name="other")
        optimizer = train.GradientDescentOptimizer(1.0)
        for error, text, call in [
                (ValueError, "No variables provided.", lambda: optimizer.apply_gradients([])),
                (ValueError, r"No gradients provided for any variable: \[\"<tf.Variable 'w:0' shape=\(\) dtype=float32>\"\]",
                 lambda: optimizer.apply_gradients([(None, w)])),
                (ValueError, "No gradients provided for any variable, check your graph for ops that do not support gradients, between "
                 "variables .*'other:0'.* and loss", lambda: optimizer.minimize(lambda: w * w, var_list=[other])),
                (TypeError, "Gradient must be convertible to a Tensor or IndexedSlices, or None: <object",
                 lambda: optimizer.apply_gradients([(object(), w)])),
                (RuntimeError, "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled.",
                 lambda: optimizer.minimize(w * w)),
                (ValueError, "gate_gradients must be one of: .* Not 7", lambda: optimizer.compute_gradients(lambda: w, gate_gradients=7)),
                (ValueError, "Must specify the optimizer name", lambda: train.GradientDescentOptimizer(1.0, name="")),
                (ValueError, "initial_accumulator_value must be positive: 0", lambda: train.AdagradOptimizer(1.0, 0.0)),
                (ValueError, "learning_rate_power 0.5 needs to be negative or zero", lambda: train.FtrlOptimizer(1.0, 0.5)),
                (tf.errors.InvalidArgumentError, r"gradient_descent: gradient has the shape \(2,\), value \(\)",
                 lambda: optimizer.apply_gradients([([1.0, 2.0], w)]))]:
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()
        self.assertEqual(float(w), 1.0)

    def test_constraints_are_applied_after_the_step(self):
        w = tf.Variable([1.0, 1.0], constraint=lambda x: tf.maximum(x, 0.0))
        train.GradientDescentOptimizer(1.0).apply_gradients([([3.0, 0.25], w)])
        self.assertEqual(w.numpy().tolist(), [0.0, 0.75])

    def test_own_optimizers_say_what_a_step_does(self):
        class Signs(train.Optimizer):
            def __init__(self):
                super().__init__(False, "Signs")

            def _create_slots(self, var_list):
                for v in var_list:
                    self._zeros_slot(v, "count", self._name)

            def _resource_apply_dense(self, grad, handle):
                self.get_slot(handle, "count").assign_add(tf.ones_like(handle))
                handle.assign_sub(tf.sign(grad))

        w, table, optimizer = tf.Variable([5.0, -5.0]), tf.Variable(tf.ones([3, 1])), Signs()
        optimizer.minimize(lambda: tf.reduce_sum(w * w) + tf.reduce_sum(tf.gather(table, [1])))
        self.assertEqual((w.numpy().tolist(), table.numpy().ravel().tolist()), ([4.0, -4.0], [1.0, 0.0, 1.0]))
        self.assertEqual(optimizer.get_slot(w, "count").numpy().tolist(), [1.0, 1.0])

    def test_implicit_gradients_can_be_applied(self):
        w = tf.Variable(2.0)
        train.GradientDescentOptimizer(0.25).apply_gradients(tfe.implicit_gradients(lambda: w * w)())
        self.assertEqual(float(w), 1.0)

    def test_steps_are_records_of_their_op(self):
        from tapedeck._engine import debug
        tf.experimental.record_ops()
        self.addCleanup(tf.experimental.record_ops, False)
        w, table = tf.Variable([1.0]), tf.Variable([[1.0], [2.0]])
        train.AdamOptimizer(0.1).apply_gradients([([1.0], w)])
        train.AdagradOptimizer(0.1).apply_gradients([(tf.IndexedSlices([[1.0]], [1]), table)])
        ops = [record["op"] for record in json.loads(debug.records_json())]
        self.assertEqual((ops.count("adam"), ops.count("sparse_adagrad")), (1, 1))
        self.assertAlmostEqual(float(w[0]), 0.9, 5)


class GlobalStep(unittest.TestCase):
    def setUp(self):
        train.steps.reset_global_step()
        self.addCleanup(train.steps.reset_global_step)

    def test_there_is_one(self):
        self.assertIsNone(train.get_global_step())
        step = train.get_or_create_global_step()
        self.assertIs(train.get_global_step(), step)
        self.assertEqual((step.dtype, step.trainable, step.name), (tf.int64, False, "global_step:0"))
        with self.assertRaisesRegex(ValueError, '"global_step" already exists.'):
            train.create_global_step()
        step.assign_add(3)
        self.assertEqual(train.global_step(None, step), 3)


class Averages(unittest.TestCase):
    def test_they_forget(self):
        w = tf.Variable([1.0, 2.0], name="w")
        averages = train.ExponentialMovingAverage(0.75)
        averages.apply([w])
        w.assign([5.0, 2.0])
        averages.apply([w])
        self.assertEqual(averages.average(w).numpy().tolist(), [2.0, 2.0])
        self.assertEqual(averages.average_name(w), "w/ExponentialMovingAverage")
        self.assertEqual(averages.average(w).name, "w/ExponentialMovingAverage:0")
        self.assertEqual(list(averages.variables_to_restore()), ["w/ExponentialMovingAverage"])

    def test_the_decay_is_small_at_first_where_updates_are_counted(self):
        w, averages = tf.Variable(0.0), train.ExponentialMovingAverage(0.99, num_updates=tf.Variable(2))
        averages.apply([w])
        w.assign(4.0)
        averages.apply([w])
        self.assertAlmostEqual(float(averages.average(w)), 3.0, 5)

    def test_what_is_no_floating_variable_is_refused(self):
        with self.assertRaisesRegex(TypeError, "must be half, float, or double: n:0"):
            train.ExponentialMovingAverage(0.9).apply([tf.Variable(1, name="n")])


if __name__ == "__main__":
    unittest.main()
