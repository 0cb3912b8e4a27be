"""Health from Python: what the package's optimisers publish, and steps of each way to train."""
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine


def data():
    random = np.random.RandomState(0)
    return tf.constant(random.randn(32, 6).astype(np.float32)), tf.constant(random.randn(32, 1).astype(np.float32))


class HealthTest(unittest.TestCase):
    def setUp(self):
        _engine.debug.attach()
        self.addCleanup(_engine.debug.stop)

    def names(self, kind):
        return [row["name"] for row in _engine.debug.health()["rows"] if row["kind"] == kind]

    def test_a_name_that_is_no_text_is_refused(self):
        for attached in (True, False):
            for name in (tf.constant(1.), 3, None, ["a/b"]):
                with self.subTest(name=name, attached=attached), self.assertRaisesRegex(TypeError, "name: .* is not a string"):
                    tf.debugging.health(name, 1.)
            _engine.debug.stop()
        _engine.debug.attach()
        tf.debugging.health(tf.constant("L-BFGS/step length"), 1.)

    def test_fit_is_sampled_layer_by_layer(self):
        x, y = data()
        model = tf.keras.Sequential([tf.keras.layers.Dense(8, "relu", name="first"), tf.keras.layers.Dense(1, name="second")])
        model.compile(tf.keras.optimizers.Adam(1e-3), "mse")
        _engine.debug.health(60_000)
        model.fit(x, y, batch_size=8, epochs=2, verbose=0)
        state = _engine.debug.health()
        self.assertEqual(state["steps"], 8)
        self.assertGreater(state["sampled"], 0)
        names = self.names("variable")
        self.assertEqual(len(names), 4, names)
        self.assertTrue("first/kernel" in names[0] and "second/bias" in names[3], names)
        (activation,) = self.names("activation")
        self.assertIn("first", activation)
        newest = {row["name"]: row["newest"] for row in state["rows"]}
        self.assertGreater(newest[names[0]]["gradient"], 0)
        self.assertGreater(newest[names[0]]["update"], 0)

    def test_a_run_that_nobody_watched_is_recomputed(self):
        x, y = data()
        w = tf.Variable(tf.zeros([6, 1]), name="w")
        for _ in range(10):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
            w.assign_sub(0.1 * tape.gradient(loss, w))
        _engine.debug.health_findings(4)
        state = _engine.debug.health()
        self.assertEqual((state["steps"], state["gone"]), (10, 0))
        self.assertGreaterEqual(state["recomputed"], 4)
        self.assertEqual(self.names("variable"), ["w"])

    def test_an_unconnected_variable_is_found(self):
        w, other = tf.Variable([1., 2.], name="w"), tf.Variable([1., 2.], name="other")
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w * w) + tf.reduce_sum(tf.stop_gradient(other * 2.))
            gradients = tape.gradient(loss, [w, other])
            optimizer.apply_gradients([(gradients[0], w)])
        found = [each for each in _engine.debug.health_findings() if each["rule"] == "no gradient"]
        self.assertEqual(len(found), 1)
        self.assertIn("other gets no gradient (None) in every step.", found[0]["sentence"])
        self.assertIn("stop_gradient", found[0]["sentence"])
        self.assertEqual(found[0]["op"], "stop_gradient")

    def test_lbfgs_publishes_its_pairs(self):
        for search in (None, "strong_wolfe"):
            w = tf.Variable(tf.constant([3., -2.], tf.float64), name="w")
            tf.train.LBFGS(learning_rate=0.5, line_search=search).minimize(
                lambda: tf.reduce_sum(w * w * tf.constant([1., 10.], tf.float64)), [w], iterations=8)
            (row,) = [row for row in _engine.debug.health()["rows"] if row["kind"] == "published"]
            self.assertEqual(row["name"], "L-BFGS")
            # The loss's second derivatives are 2 and 20.
            self.assertGreaterEqual(row["newest"]["curvature"], 2 - 1e-9)
            self.assertLessEqual(row["newest"]["curvature"], 20 + 1e-9)
            self.assertAlmostEqual(row["newest"]["rho"] * row["newest"]["s·y"], 1)
        self.assertGreater(row["newest"]["evaluations"], 0)

    def test_publishing_of_ones_own(self):
        tf.debugging.health("mine/step length", tf.constant(0.5))
        (row,) = _engine.debug.health()["rows"]
        self.assertEqual((row["name"], row["newest"]), ("mine", {"step length": 0.5}))
        with self.assertRaisesRegex(ValueError, "it is GROUP/QUANTITY"):
            tf.debugging.health("no group", 1)

    def test_without_a_recorder_nothing_is_read(self):
        _engine.debug.stop()
        tf.debugging.health("no group", object())
        with self.assertRaisesRegex(ValueError, "nothing records"):
            _engine.debug.health()


if __name__ == "__main__":
    unittest.main()
