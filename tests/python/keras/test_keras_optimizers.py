"""tf.keras' optimisers: against NumPy over 100 steps, dense and of rows; what Keras adds to a step; configs; schedules."""
import json
import math
import unittest
import warnings

import numpy as np

import optimizer_references as reference
import tapedeck as tf
from tapedeck.keras import optimizers
from tapedeck.keras.optimizers import schedules

# name: (optimiser, the same in NumPy, whether an IndexedSlices changes its rows alone)
CASES = {
    "sgd": (lambda: optimizers.SGD(0.1), reference.gradient_descent(0.1), True),
    "momentum": (lambda: optimizers.SGD(0.1, 0.9), reference.velocity(0.1, 0.9), True),
    "nesterov": (lambda: optimizers.SGD(0.1, 0.9, nesterov=True), reference.velocity(0.1, 0.9, True), True),
    "rmsprop": (lambda: optimizers.RMSprop(0.02, epsilon=1e-3), reference.rms_prop(0.02, 0.9, 1e-3), True),
    "rmsprop with momentum": (lambda: optimizers.RMSprop(0.02, 0.8, 0.5, 1e-3), reference.rms_prop(0.02, 0.8, 1e-3, 0.5), True),
    "rmsprop centered": (lambda: optimizers.RMSprop(0.02, epsilon=1e-2, centered=True),
                         reference.rms_prop(0.02, 0.9, 1e-2, centered=True), True),
    "rmsprop centered with momentum": (lambda: optimizers.RMSprop(0.02, 0.9, 0.5, 1e-2, True),
                                       reference.rms_prop(0.02, 0.9, 1e-2, 0.5, True), True),
    "adagrad": (lambda: optimizers.Adagrad(0.3, 0.2, 1e-4), reference.adagrad(0.3, 0.2, 1e-4), True),
    "adadelta": (lambda: optimizers.Adadelta(1.0, 0.9, 1e-4), reference.adadelta(1.0, 0.9, 1e-4), True),
    "adam": (lambda: optimizers.Adam(0.02), reference.adam(0.02, epsilon=1e-7), False),
    "amsgrad": (lambda: optimizers.Adam(0.02, 0.8, 0.9, 1e-6, True), reference.adam(0.02, 0.8, 0.9, 1e-6, True), False),
    "adamw": (lambda: optimizers.AdamW(0.02, 0.1), reference.adam(0.02, epsilon=1e-7, decay=0.002), False),
    "adamax": (lambda: optimizers.Adamax(0.02), reference.adamax(0.02), None),
    "nadam": (lambda: optimizers.Nadam(0.02), reference.nadam(0.02), False),
    "ftrl": (lambda: optimizers.Ftrl(0.5, l1_regularization_strength=0.1, l2_regularization_strength=0.2, beta=0.3),
             reference.ftrl(0.5, -0.5, 0.1, 0.2 + 0.3 / (2 * 0.5)), True),
    "lamb": (lambda: optimizers.Lamb(0.02), reference.lamb(0.02), None),
    "adafactor": (lambda: optimizers.Adafactor(0.2), reference.adafactor(0.2), None),
    "lion": (lambda: optimizers.Lion(0.02, weight_decay=0.1), reference.lion(0.02, decay=0.002), False),
}
START = np.random.default_rng(0).normal(size=(5, 3))


def gradient_at(t):
    return np.random.default_rng(t).normal(size=START.shape)


class AgainstNumPy(unittest.TestCase):
    def test_a_hundred_steps_are_those_of_numpy(self):
        for name, (make, step, _) in CASES.items():
            wanted = reference.run(step, START, gradient_at)
            for dtype, tolerance in ("float64", 1e-7), ("float32", 5e-6):  # learning rates are float32
                with self.subTest(name, dtype=dtype):
                    optimizer, w = make(), tf.Variable(START, dtype=dtype)
                    for t in range(1, 101):
                        optimizer.apply_gradients([(tf.constant(gradient_at(t), dtype), w)])
                    np.testing.assert_allclose(w.numpy(), wanted[-1], atol=tolerance, rtol=tolerance)
                    self.assertEqual(int(optimizer.iterations), 100)

    def test_gradients_of_rows_are_those_of_numpy(self):
        for name, (make, step, rows_alone) in CASES.items():
            if rows_alone is None:  # corrections count all steps, the reference a row's own; others need the whole variable
                continue
            with self.subTest(name):
                optimizer, w = make(), tf.Variable(START, dtype="float64")
                for t in range(1, 101):
                    indices, values, _ = reference.rows_gradient(t, *START.shape)
                    optimizer.apply([tf.IndexedSlices(values, indices, START.shape)], [w])
                np.testing.assert_allclose(w.numpy(), reference.run_rows(step, START, rows_alone), rtol=1e-7, atol=1e-7)

    def test_threads_change_no_bit(self):
        found = []
        for threads in 1, 2, 4:
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            w, optimizer = tf.Variable(np.linspace(-1, 1, 200000, dtype=np.float32)), optimizers.Adam(0.1)
            for _ in range(3):
                optimizer.minimize(lambda: tf.reduce_sum(w ** 4), [w])
            found.append(w.numpy().tobytes())
        tf.config.threading.set_intra_op_parallelism_threads(2)
        self.assertEqual(len(set(found)), 1)


class Step(unittest.TestCase):
    def updated(self, optimizer, gradient, start=(1.0, 1.0)):
        w = tf.Variable(start)
        optimizer.apply([tf.constant(gradient)], [w])
        return w.numpy().tolist()

    def test_gradients_are_clipped(self):
        self.assertEqual(self.updated(optimizers.SGD(1.0, clipvalue=0.5), [3.0, -0.25]), [0.5, 1.25])
        np.testing.assert_allclose(self.updated(optimizers.SGD(1.0, clipnorm=1.0), [3.0, 4.0]), [0.4, 0.2], rtol=1e-6)
        a, b = tf.Variable([0.0]), tf.Variable([0.0])
        optimizers.SGD(1.0, global_clipnorm=6.5).apply([tf.constant([5.0]), tf.constant([12.0])], [a, b])
        np.testing.assert_allclose([float(a[0]), float(b[0])], [-2.5, -6.0], rtol=1e-6)

    def test_rows_are_clipped(self):
        w = tf.Variable([[0.0], [0.0], [0.0]])
        optimizers.SGD(1.0, clipnorm=1.0).apply([tf.IndexedSlices([[3.0], [4.0]], [0, 2], [3, 1])], [w])
        np.testing.assert_allclose(w.numpy().ravel(), [-0.6, 0.0, -0.8], rtol=1e-6)

    def test_weights_decay_but_those_that_are_excluded(self):
        a, b, c = tf.Variable(1.0, name="kernel"), tf.Variable(1.0, name="bias"), tf.Variable(1.0)
        for optimizer in optimizers.SGD(0.5, weight_decay=0.1), optimizers.AdamW(0.5, weight_decay=0.1):
            for v in a, b, c:
                v.assign(1.0)
            optimizer.exclude_from_weight_decay([c], ["bias"])
            optimizer.apply([tf.constant(0.0)] * 3, [a, b, c])
            np.testing.assert_allclose([float(a), float(b), float(c)], [0.95, 1.0, 1.0], rtol=1e-6)

    def test_updates_are_made_of_several_gradients(self):
        w, optimizer = tf.Variable(0.0), optimizers.SGD(1.0, gradient_accumulation_steps=3)
        found = []
        for g in 1.0, 2.0, 6.0, 3.0:
            optimizer.apply([tf.constant(g)], [w])
            found.append((float(w), int(optimizer.iterations)))
        self.assertEqual(found, [(0.0, 0), (0.0, 0), (-3.0, 1), (-3.0, 1)])

    def test_averages_are_kept_and_put_into_the_variables(self):
        w, optimizer = tf.Variable(0.0), optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2)
        optimizer.build([w])
        optimizer.apply([tf.constant(-4.0)])
        self.assertEqual(float(w), 4.0)  # and so is the first average
        optimizer.apply([tf.constant(2.0)])
        self.assertEqual(float(w), 3.0)
        optimizer.apply([tf.constant(-1.0)])
        self.assertEqual(float(w), 4.0)
        optimizer.finalize_variable_values([w])
        self.assertEqual(float(w), 3.5)

    def test_gradients_of_a_scaled_loss_are_divided(self):
        w, optimizer = tf.Variable(1.0), optimizers.SGD(1.0, loss_scale_factor=8.0)
        with tf.GradientTape() as tape:
            loss = optimizer.scale_loss(w * 0.25)
        optimizer.apply(tape.gradient(loss, [w]), [w])
        self.assertEqual(float(w), 0.75)

    def test_constraints_are_applied(self):
        w = tf.Variable([1.0, 1.0], constraint=tf.keras.constraints.NonNeg())
        optimizers.Adam(2.0).apply([tf.constant([1.0, -1.0])], [w])
        self.assertEqual(w.numpy()[0], 0.0)
        self.assertGreater(w.numpy()[1], 2.9)

    def test_the_learning_rate_can_be_changed(self):
        w, optimizer = tf.Variable(0.0), optimizers.SGD(lr=1.0)
        optimizer.learning_rate = 0.5
        optimizer.apply([tf.constant(1.0)], [w])
        optimizer.learning_rate.assign(0.25)
        optimizer.apply([tf.constant(1.0)], [w])
        self.assertEqual((float(w), float(optimizer.lr)), (-0.75, 0.25))

    def test_the_older_decay_is_by_time(self):
        w, optimizer = tf.Variable(0.0), optimizers.SGD(1.0, decay=1.0)
        for _ in range(3):
            optimizer.apply([tf.constant(1.0)], [w])
        self.assertAlmostEqual(float(w), -(1 + 1 / 2 + 1 / 3), 6)

    def test_minimize_takes_a_function_or_a_tensor_with_its_tape(self):
        w, optimizer = tf.Variable(1.0), optimizers.SGD(0.25)
        self.assertEqual(int(optimizer.minimize(lambda: w * w, [w])), 1)
        with tf.GradientTape() as tape:
            loss = w * w
        optimizer.minimize(loss, lambda: [w], tape)
        self.assertEqual(float(w), 0.25)
        with self.assertRaisesRegex(ValueError, "`tape` is required when a `Tensor` loss is passed"):
            optimizer.minimize(loss, [w])

    def test_own_optimizers_may_keep_their_slots_in_lists(self):
        class Momentum(tf.keras.optimizers.Optimizer):
            def build(self, variables):
                super().build(variables)
                self.velocities = [self.add_variable_from_reference(each, "velocity") for each in variables]

            def update_step(self, gradient, variable, learning_rate):
                velocity = self.velocities[self._get_variable_index(variable)]
                velocity.assign(.5 * velocity + gradient)
                variable.assign_sub(learning_rate * velocity)

        optimizer, first, second = Momentum(1.), tf.Variable(0.), tf.Variable([0., 0.])
        for _ in range(2):
            optimizer.apply_gradients([(tf.constant(1.), first), (tf.constant([2., 4.]), second)])
        self.assertEqual((float(first), second.numpy().tolist()), (-2.5, [-5., -10.]))

    def test_own_optimizers_as_older_releases_have_them_say_what_a_step_does(self):
        class Momentum(tf.keras.optimizers.Optimizer):
            def __init__(self, learning_rate=1., name="Momentum", **kwargs):
                super().__init__(name=name, **kwargs)
                self._learning_rate = self._build_learning_rate(learning_rate)

            def build(self, variables):
                super().build(variables)
                self.velocities = [self.add_variable_from_reference(model_variable=each, variable_name="m") for each in variables]

            def update_step(self, gradient, variable):
                rate = tf.cast(self.learning_rate, variable.dtype)
                velocity = self.velocities[self._index_dict[self._var_key(variable)]]
                velocity.assign(.5 * velocity + gradient)
                variable.assign_sub(rate * velocity)

        optimizer, first, second = Momentum(2.), tf.Variable(0.), tf.Variable([0., 0.])
        for _ in range(2):
            optimizer.apply_gradients([(tf.constant(1.), first), (tf.constant([2., 4.]), second)])
        self.assertEqual((float(first), second.numpy().tolist()), (-5., [-10., -20.]))

    def test_own_optimizers_say_what_a_step_does(self):
        class Signs(optimizers.Optimizer):
            def build(self, variables):
                super().build(variables)
                self.counts = [self.add_variable_from_reference(v, name="count") for v in variables]

            def update_step(self, gradient, variable, learning_rate):
                self.assign_sub(variable, learning_rate * tf.sign(gradient))
                self.assign_add(self.get_slot(variable, "count"), tf.ones_like(variable))

        w = tf.Variable([5.0, -5.0])
        optimizer = Signs(0.5)
        optimizer.apply_gradients([(2 * w, w)])
        self.assertEqual((w.numpy().tolist(), optimizer.counts[0].numpy().tolist()), ([4.5, -4.5], [1.0, 1.0]))

    def test_errors_are_keras(self):
        a, b = tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b")
        optimizer = optimizers.SGD(1.0)
        with self.assertRaisesRegex(ValueError, "No gradients provided for any variable."):
            optimizer.apply([None], [a])
        with self.assertRaisesRegex(ValueError, "Unknown variable: .*'b:0'.* only be called for the variables it was originally built"):
            optimizer.apply([tf.constant(1.0)], [b])
        with self.assertRaisesRegex(ValueError, r"Argument\(s\) not recognized: {'rate': 1}"):
            optimizers.Adam(rate=1)
        with self.assertRaisesRegex(ValueError, "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set"):
            optimizers.Adam(clipnorm=1, clipvalue=1)
        with self.assertRaisesRegex(ValueError, "`momentum` must be a float between"):
            optimizers.SGD(momentum=2.0)
        with self.assertRaisesRegex(TypeError, "hence its learning rate is not settable"):
            optimizers.SGD(schedules.ExponentialDecay(1.0, 1, 0.5)).learning_rate = 0.5
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            optimizers.SGD(1.0).apply([tf.constant(1.0), None], [a, b])
        self.assertRegex(str(caught[0].message), r"Gradients do not exist for variables \['b:0'\] when minimizing the loss")

    def test_variables_are_the_counter_the_rate_and_the_slots(self):
        optimizer = optimizers.Adam(name="mine")
        w, b = tf.Variable([1.0], name="dense/kernel"), tf.Variable([1.0], name="b")
        optimizer.build([w, b])
        self.assertEqual([v.name for v in optimizer.variables],
                         ["mine/iteration:0", "mine/learning_rate:0", "mine/dense_kernel_momentum:0", "mine/dense_kernel_velocity:0",
                          "mine/b_momentum:0", "mine/b_velocity:0"])
        optimizer.apply([tf.constant([2.0])] * 2)
        other = optimizers.Adam()
        other.build([tf.Variable([1.0]), tf.Variable([1.0])])
        other.set_weights(optimizer.get_weights())
        self.assertEqual([v.tolist() for v in other.get_weights()], [v.tolist() for v in optimizer.get_weights()])


class Configs(unittest.TestCase):
    def test_a_config_makes_the_same_optimizer(self):
        for name, (make, _, _) in CASES.items():
            with self.subTest(name):
                optimizer = make()
                again = optimizers.deserialize(json.loads(json.dumps(optimizers.serialize(optimizer))))
                self.assertIs(type(again), type(optimizer))
                self.assertEqual(again.get_config(), optimizer.get_config())

    def test_arguments_of_the_base_are_in_it(self):
        optimizer = optimizers.SGD(schedules.CosineDecay(0.5, 10), weight_decay=0.1, clipnorm=2.0, use_ema=True, ema_momentum=0.5,
                                   gradient_accumulation_steps=4, name="mine")
        again = optimizers.SGD.from_config(optimizer.get_config())
        self.assertEqual(again.get_config(), optimizer.get_config())
        self.assertEqual((again.name, again.weight_decay, again.clipnorm, again.ema_momentum), ("mine", 0.1, 2.0, 0.5))
        self.assertEqual(float(again.learning_rate), 0.5)

    def test_names_are_made_of_the_class(self):
        tf.keras.backend.clear_session()
        made = optimizers.SGD(), optimizers.SGD(), optimizers.RMSprop(), optimizers.AdamW(), optimizers.Adam(name="mine")
        self.assertEqual([optimizer.name for optimizer in made], ["sgd", "sgd_1", "rm_sprop", "adam_w", "mine"])
        self.assertIs(tf.optimizers, tf.keras.optimizers)

    def test_get_takes_names_configs_and_optimizers(self):
        self.assertIsInstance(optimizers.get("AdamW"), optimizers.AdamW)
        self.assertIsInstance(optimizers.get("rmsprop"), optimizers.RMSprop)
        self.assertIsInstance(optimizers.get({"class_name": "Lion", "config": {"learning_rate": 0.5}}), optimizers.Lion)
        optimizer = optimizers.Adam()
        self.assertIs(optimizers.get(optimizer), optimizer)
        for bad, text in (("nothing", "Unknown optimizer: 'nothing'"), (3, "Could not interpret optimizer identifier: 3")):
            with self.assertRaisesRegex(ValueError, text):
                optimizers.get(bad)


class Schedules(unittest.TestCase):
    CASES = [
        (schedules.ExponentialDecay(0.5, 10, 0.9), lambda t: 0.5 * 0.9 ** (t / 10)),
        (schedules.ExponentialDecay(0.5, 10, 0.9, staircase=True), lambda t: 0.5 * 0.9 ** (t // 10)),
        (schedules.InverseTimeDecay(0.5, 10, 0.9), lambda t: 0.5 / (1 + 0.9 * t / 10)),
        (schedules.InverseTimeDecay(0.5, 10, 0.9, staircase=True), lambda t: 0.5 / (1 + 0.9 * (t // 10))),
        (schedules.PiecewiseConstantDecay([10, 20], [1.0, 0.5, 0.25]), lambda t: 1.0 if t <= 10 else 0.5 if t <= 20 else 0.25),
        (schedules.PolynomialDecay(0.5, 20, 0.1, power=2.0), lambda t: 0.4 * (1 - min(t, 20) / 20) ** 2 + 0.1),
        (schedules.PolynomialDecay(0.5, 10, 0.1, cycle=True), lambda t: 0.4 * (1 - t / (10 * max(1, math.ceil(t / 10)))) + 0.1),
        (schedules.CosineDecay(0.5, 20, 0.2), lambda t: 0.5 * (0.8 * (1 + math.cos(math.pi * min(t, 20) / 20)) / 2 + 0.2)),
        (schedules.CosineDecay(0.1, 20, warmup_target=0.5, warmup_steps=5),
         lambda t: 0.1 + 0.4 * t / 5 if t < 5 else 0.25 * (1 + math.cos(math.pi * min(t - 5, 20) / 20))),
        (schedules.CosineDecayRestarts(0.5, 10, 1.0, 0.5), lambda t: 0.25 * 0.5 ** (t // 10) * (1 + math.cos(math.pi * (t % 10) / 10))),
        (schedules.CosineDecayRestarts(0.5, 10), lambda t: 0.25 * (1 + math.cos(math.pi * (t / 10 if t < 10 else (t - 10) / 20 if t < 30
                                                                                          else (t - 30) / 40)))),
    ]

    def test_rates_are_those_of_the_formulas(self):
        for schedule, wanted in self.CASES:
            for t in 0, 1, 5, 9, 10, 11, 15, 20, 21, 29, 30, 35:
                with self.subTest(schedule.name, t=t):
                    self.assertAlmostEqual(float(schedule(t)), wanted(t), 6)
                    self.assertEqual(float(schedule(tf.Variable(t, dtype=tf.int64))), float(schedule(t)))

    def test_arrays_of_steps_give_arrays_of_rates(self):
        steps = np.arange(42).reshape(2, 3, 7)
        for schedule, wanted in self.CASES:
            for given in (steps, steps.astype(np.float32), tf.constant(steps), tf.Variable(steps), steps.tolist(), lambda: steps):
                with self.subTest(schedule.name, given=type(given)):
                    found = schedule(given)
                    self.assertEqual((found.shape, found.dtype), (steps.shape, tf.float32))
                    np.testing.assert_allclose(found, np.vectorize(wanted)(steps), rtol=1e-5, atol=1e-7)
            self.assertEqual((schedule([5]).shape, schedule([]).shape), ((1,), (0,)))
            with self.assertRaises(ValueError):
                schedule("x")
        decay = tf.train.exponential_decay(0.5, tf.constant(steps), 10, 0.9, True)
        np.testing.assert_allclose(decay(), np.vectorize(self.CASES[1][1])(steps), rtol=1e-6)
        self.assertEqual(repr(decay), "<exponential_decay: shape (2, 3, 7) now>")

    def test_configs_make_the_same_schedules(self):
        for schedule, _ in self.CASES:
            again = schedules.deserialize(json.loads(json.dumps(schedules.serialize(schedule))))
            self.assertEqual((type(again), again.get_config()), (type(schedule), schedule.get_config()))

    def test_tf_train_has_the_same_rates(self):
        step = tf.Variable(0, dtype=tf.int64)
        pairs = [(tf.train.exponential_decay(0.5, step, 10, 0.9, True), self.CASES[1][1]),
                 (tf.train.inverse_time_decay(0.5, step, 10, 0.9), self.CASES[2][1]),
                 (tf.train.piecewise_constant(step, [10, 20], [1.0, 0.5, 0.25]), self.CASES[4][1]),
                 (tf.train.polynomial_decay(0.5, step, 10, 0.1, cycle=True), self.CASES[6][1]),
                 (tf.train.cosine_decay(0.5, step, 20, 0.2), self.CASES[7][1]),
                 (tf.train.cosine_decay_restarts(0.5, step, 10), self.CASES[10][1]),
                 (tf.train.natural_exp_decay(0.5, step, 10, 0.9), lambda t: 0.5 * math.exp(-0.9 * t / 10)),
                 (tf.train.linear_cosine_decay(0.5, step, 20), lambda t: 0.5 * (
                     (1 - min(t, 20) / 20) * (1 + math.cos(math.pi * min(t, 20) / 20)) / 2 + 0.001))]
        for t in 0, 1, 9, 10, 11, 29, 35:
            step.assign(t)
            for rate, wanted in pairs:
                with self.subTest(repr(rate), t=t):
                    self.assertAlmostEqual(float(rate), wanted(t), 6)
                    self.assertAlmostEqual(float(rate()), wanted(t), 6)
                    self.assertAlmostEqual(float(rate * tf.constant(2.0)), 2 * wanted(t), 6)

    def test_a_step_takes_the_rate_of_its_number(self):
        w, optimizer = tf.Variable(0.0), optimizers.SGD(schedules.PiecewiseConstantDecay([0, 1], [1.0, 10.0, 100.0]))
        for _ in range(3):
            optimizer.apply([tf.constant(1.0)], [w])
        self.assertEqual(float(w), -111.0)

    def test_own_schedules_are_called_with_the_step(self):
        class Halving(schedules.LearningRateSchedule):
            def __call__(self, step):
                return tf.constant(0.5) ** tf.cast(step, tf.float32)

        w, optimizer = tf.Variable(0.0), optimizers.Adam(Halving(), epsilon=0.0)
        for _ in range(3):
            optimizer.apply([tf.constant(1.0)], [w])
        self.assertAlmostEqual(float(w), -1.75, 5)

    def test_bad_arguments_are_named(self):
        with self.assertRaisesRegex(ValueError, "length of boundaries should be 1 less than the length of values"):
            schedules.PiecewiseConstantDecay([1], [1.0])
        with self.assertRaisesRegex(ValueError, "`decay_steps` must be > 0. Received: decay_steps=0"):
            schedules.CosineDecay(1.0, 0)
        with self.assertRaisesRegex(ValueError, "global_step is required for exponential_decay."):
            tf.train.exponential_decay(1.0, None, 1, 0.5)


if __name__ == "__main__":
    unittest.main()
