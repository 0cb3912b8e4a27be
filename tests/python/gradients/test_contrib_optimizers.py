"""tf.contrib.opt's optimisers, and losses that are scaled."""
import unittest

import numpy as np

import optimizer_references as reference
import tapedeck as tf
from tapedeck.contrib import opt
from tapedeck.keras import mixed_precision, optimizers

START = np.random.default_rng(0).normal(size=(5, 3))


def gradient_at(t):
    return np.random.default_rng(t).normal(size=START.shape)


def nadam_of_constant_momentum(rate, beta1=0.9, beta2=0.999, epsilon=1e-8):
    def step(x, g, s, t):
        s["m"] = beta1 * s.get("m", 0.0) + (1 - beta1) * g
        s["v"] = beta2 * s.get("v", 0.0) + (1 - beta2) * g * g
        size = rate * np.sqrt(1 - beta2 ** t) / (1 - beta1 ** t)
        return x - size * (beta1 * s["m"] + (1 - beta1) * g) / (np.sqrt(s["v"]) + epsilon)
    return step


class ContribOpt(unittest.TestCase):
    def test_a_hundred_steps_are_those_of_numpy(self):
        for make, step in [(lambda: opt.AdamWOptimizer(0.01, 0.02), reference.adam(0.02, decay=0.01)),
                           (lambda: opt.LazyAdamOptimizer(0.02), reference.adam(0.02)),
                           (lambda: opt.NadamOptimizer(0.02), nadam_of_constant_momentum(0.02))]:
            optimizer, w = make(), tf.Variable(START, dtype="float64")
            with self.subTest(optimizer.get_name()):
                for t in range(1, 101):
                    optimizer.apply_gradients([(tf.constant(gradient_at(t)), w)])
                np.testing.assert_allclose(w.numpy(), reference.run(step, START, gradient_at)[-1], rtol=1e-10)

    def test_lazy_adam_leaves_rows_without_a_gradient(self):
        w, optimizer = tf.Variable(START, dtype="float64"), opt.LazyAdamOptimizer(0.1)
        optimizer.apply_gradients([(tf.IndexedSlices(np.ones((2, 3)), [1, 3], START.shape), w)])
        before = w.numpy()
        optimizer.apply_gradients([(tf.IndexedSlices(np.ones((1, 3)), [3], START.shape), w)])
        np.testing.assert_array_equal(w.numpy()[[0, 1, 2, 4]], before[[0, 1, 2, 4]])
        self.assertTrue((w.numpy()[3] < before[3]).all())

    def test_decay_is_of_the_variables_that_are_named(self):
        a, b = tf.Variable(1.0), tf.Variable(1.0)
        opt.AdamWOptimizer(0.25).apply_gradients([(0.0, a), (0.0, b)], decay_var_list=[b])
        self.assertEqual((float(a), float(b)), (1.0, 0.75))
        opt.MomentumWOptimizer(0.5, 1.0, 0.0).apply_gradients([(0.0, a), (1.0, b)])
        self.assertEqual((float(a), float(b)), (0.5, -0.625))

    def test_averages_are_swapped_in_and_out(self):
        w = tf.Variable(0.0)
        optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), average_decay=0.5)
        for _ in range(2):
            optimizer.minimize(lambda: -w)
        self.assertEqual((float(w), float(optimizer.average(w))), (2.0, 1.5))
        optimizer.swap()
        self.assertEqual((float(w), float(optimizer.average(w))), (1.5, 2.0))
        optimizer.swap()
        self.assertEqual(float(w), 2.0)


class LossScale(unittest.TestCase):
    def optimizer(self, **kwargs):
        return mixed_precision.LossScaleOptimizer(optimizers.SGD(1.0), **kwargs)

    def test_small_gradients_of_halves_are_not_lost(self):
        w = tf.Variable(0.0)
        with tf.GradientTape() as tape:
            plain = tf.cast(w, tf.float16) * tf.constant(1e-4, tf.float16) * tf.constant(1e-4, tf.float16)
        self.assertEqual(float(tape.gradient(plain, w)), 0.0)
        optimizer = self.optimizer(initial_scale=2.0 ** 12)
        with tf.GradientTape() as tape:
            loss = optimizer.scale_loss(tf.cast(w, tf.float16) * tf.constant(1e-4, tf.float16)) * tf.constant(1e-4, tf.float16)
        optimizer.apply(tape.gradient(loss, [w]), [w])
        self.assertAlmostEqual(float(w), -1e-8, 9)

    def test_steps_that_are_not_finite_are_left_out_and_halve_the_scale(self):
        w, optimizer = tf.Variable(1.0), self.optimizer(initial_scale=8.0, dynamic_growth_steps=2)
        for gradient, wanted in (np.inf, (1.0, 4.0)), (4.0, (0.0, 4.0)), (4.0, (-1.0, 8.0)), (np.nan, (-1.0, 4.0)):
            optimizer.apply([tf.constant(gradient)], [w])
            self.assertEqual((float(w), float(optimizer.loss_scale)), wanted)
        self.assertEqual(int(optimizer.iterations), 2)

    def test_a_fixed_scale_stays(self):
        w, optimizer = tf.Variable(1.0), self.optimizer(initial_scale=4.0, dynamic=False)
        optimizer.apply([tf.constant(np.inf)], [w])
        optimizer.minimize(lambda: w * 2.0, [w])
        self.assertEqual((float(w), float(optimizer.loss_scale)), (-1.0, 4.0))

    def test_a_config_makes_the_same(self):
        optimizer = self.optimizer(initial_scale=4.0)
        again = mixed_precision.LossScaleOptimizer.from_config(optimizer.get_config())
        self.assertEqual(again.get_config(), optimizer.get_config())
        with self.assertRaisesRegex(TypeError, "inner_optimizer is 3"):
            mixed_precision.LossScaleOptimizer(3)


if __name__ == "__main__":
    unittest.main()
