"""tf.debugging.lockstep: both runs begin alike: variables, random numbers and iterators are put back for the second."""
import random
import unittest

import numpy as np

import tapedeck as tf

lockstep = tf.debugging.lockstep
FLOAT32, FLOAT64 = {"dtype": "float32"}, {"dtype": "float64"}


class State(unittest.TestCase):
    def test_variables_and_optimisers_are_put_back(self):
        from tapedeck import keras
        for make in (lambda: tf.train.AdamOptimizer(0.1), lambda: keras.optimizers.Adam(0.1), lambda: tf.train.MomentumOptimizer(0.1, 0.9)):
            w, optimizer = tf.Variable([1.0, 2.0]), make()

            def step():
                for _ in range(3):
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_sum(w ** 2)
                    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
                return w

            with self.subTest(type(optimizer).__name__):
                report = lockstep(step, {"threads": 1}, {"threads": 2})
                self.assertEqual(report.largest, 0)
                np.testing.assert_array_equal(w, [1, 2])
                self.assertFalse(np.array_equal(report.results[0], [1, 2]))
                wide = lockstep(step, None, FLOAT64)
                self.assertEqual([each.dtype for each in wide.results], [tf.float32, tf.float64])
                np.testing.assert_allclose(*wide.results, rtol=1e-5)
                self.assertEqual((w.dtype, w.numpy().tolist()), (tf.float32, [1, 2]))
                step()
                np.testing.assert_array_equal(w, report.results[0])
                self.assertEqual(w.dtype, tf.float32)

    def test_a_layer_that_builds_itself_builds_in_both_runs(self):
        layer = tf.keras.layers.Dense(3)
        report = lockstep(lambda: layer(tf.ones([2, 4])), {"threads": 1}, {"threads": 2})
        np.testing.assert_array_equal(*report.results)
        self.assertFalse(layer.built)

    def test_variables_that_stay_are_found_by_both_runs(self):
        class Holder:
            w = None

        def f():
            if Holder.w is None:
                Holder.w = tf.Variable(tf.random.normal([3]))
            return Holder.w.assign_add(tf.ones([3]))

        report = lockstep(f, {"threads": 1}, {"threads": 2})
        np.testing.assert_array_equal(*report.results)
        np.testing.assert_allclose(Holder.w + 1.0, report.results[0])

    def test_random_numbers_go_on_where_they_were(self):
        generator = tf.random.Generator.from_seed(3)
        state, rng, own = np.random.RandomState(4), np.random.default_rng(5), random.Random(6)

        def f():
            drawn = np.random.rand() + random.random() + state.randn() + rng.random() + own.random()
            return tf.random.normal([2]) + generator.normal([2]) + drawn

        tf.set_random_seed(5)
        np.random.seed(5)
        random.seed(5)
        report = lockstep(f, None, None)
        np.testing.assert_array_equal(*report.results)
        np.testing.assert_array_equal(f(), report.results[0])

    def test_iterators_give_both_runs_the_same_elements(self):
        iterator = iter(tf.data.Dataset.range(10).batch(2))
        next(iterator)
        report = lockstep(lambda: next(iterator) + 1, None, None)
        self.assertEqual([each.numpy().tolist() for each in report.results], [[3, 4], [3, 4]])
        self.assertEqual(next(iterator).numpy().tolist(), [2, 3])

    def test_draws_are_the_same_numbers_in_every_dtype(self):
        tf.set_random_seed(1)
        report = lockstep(lambda: tf.random.normal([100]) * 2.0, FLOAT32, FLOAT64)
        np.testing.assert_array_equal(*report.results)
        self.assertEqual(report.results[1].dtype, tf.float64)

    def test_bits_are_read_as_they_are(self):
        x = tf.constant([1.5, -2.0])
        self.assertEqual(lockstep(lambda: tf.bitcast(x, tf.int32) + 1, FLOAT32, FLOAT64).largest, 0)

    def test_dropout_drops_the_same_in_every_dtype(self):
        x = tf.random.normal([1000], seed=1)
        report = lockstep(lambda: tf.nn.dropout(x, 0.5) + tf.random.shuffle(x), FLOAT32, FLOAT64)
        self.assertEqual(report.results[1].dtype, tf.float64)
        np.testing.assert_allclose(*report.results, rtol=1e-5)
        self.assertTrue(np.any(report.results[1].numpy() != report.results[1].numpy().astype(np.float32)))

    def test_fit_runs_under_two_settings(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dropout(0.2),
                                     tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        x = np.random.RandomState(0).randn(32, 4).astype(np.float32)

        def fit():
            return model.fit(x, x[:, :1], epochs=2, batch_size=8, verbose=0).history["loss"]

        for other in ({"threads": 1}, {"dtype": "float64"}, {"dtype": "bfloat16"}):
            with self.subTest(other):
                report = lockstep(fit, None, other)
                self.assertGreater(report.ops, 100)
                self.assertFalse(model.built)
                np.testing.assert_allclose(*report.results, rtol=0.1)

    def test_gradients_of_captured_tensors_and_models_run_in_float64(self):
        x = tf.random.normal([8, 4], seed=1)
        model = tf.keras.Sequential([tf.keras.layers.Dense(5, activation="tanh"), tf.keras.layers.Dense(1)])
        model(x)

        def step():
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_mean(tf.cast(model(x), tf.float32) ** 2)
            return tape.gradient(loss, [x, *model.trainable_variables])

        report = lockstep(step, FLOAT32, FLOAT64)
        for narrow, wide in zip(*report.results):
            self.assertEqual((narrow.dtype, wide.dtype), (tf.float32, tf.float64))
            np.testing.assert_allclose(narrow, wide, rtol=1e-3, atol=1e-6)
        self.assertEqual({each.dtype for each in model.trainable_variables}, {tf.float32})


if __name__ == "__main__":
    unittest.main()
