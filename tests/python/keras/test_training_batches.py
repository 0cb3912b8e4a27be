"""Training by single batches, from files, and what it prints."""
import io
import os
import tempfile
import unittest
from contextlib import redirect_stdout

import numpy as np
import tapedeck as tf
from training_problem import classifier, compiled, layers, problem

X, Y = problem()


class Steps(unittest.TestCase):
    def test_single_batches_train_evaluate_and_predict(self):
        model = compiled(classifier(), metrics=["accuracy"])
        first = model.train_on_batch(X, Y, return_dict=True)
        self.assertEqual(set(first), {"loss", "accuracy"})
        for _ in range(60):
            last = model.train_on_batch(X, Y, reset_metrics=True)
        self.assertLess(last[0], first["loss"])
        self.assertEqual(model.metrics_names, ["loss", "accuracy"])
        np.testing.assert_allclose(model.test_on_batch(X, Y, reset_metrics=True), model.evaluate(X, Y, verbose=0), rtol=1e-5)
        np.testing.assert_array_equal(model.predict_on_batch(X), model(X))

    def test_predict_joins_batches_in_the_outputs_structure(self):
        inputs = tf.keras.Input((6,))
        model = tf.keras.Model(inputs, [inputs * 2., {"sum": tf.reduce_sum(inputs, axis=1)}])
        doubled, summed = model.predict(X, batch_size=10, verbose=0)
        np.testing.assert_array_equal(doubled, X * 2)
        np.testing.assert_allclose(summed["sum"], X.sum(1), rtol=1e-5, atol=1e-5)

    def test_dropout_is_on_in_fit_and_off_elsewhere(self):
        seen = []

        class Saying(layers.Layer):
            def call(self, x, training=None):
                seen.append(training)
                return x

        model = tf.keras.Sequential([Saying(), layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(X, X[:, 0], batch_size=96, verbose=0)
        model.evaluate(X, X[:, 0], batch_size=96, verbose=0)
        model.predict(X, batch_size=96, verbose=0)
        self.assertEqual(seen, [True, False, False])

    def test_first_generations_optimizers_train_too(self):
        model = classifier()
        model.compile(tf.train.GradientDescentOptimizer(.1), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        history = model.fit(X, Y, epochs=10, verbose=0).history["loss"]
        self.assertLess(history[-1], history[0])


class Saved(unittest.TestCase):
    def test_training_goes_on_from_a_file_as_if_nothing_had_been(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.keras")
            model = compiled(classifier(), metrics=["accuracy"])
            model.fit(X, Y, epochs=2, shuffle=False, verbose=0)
            model.save(path)
            loaded = tf.keras.models.load_model(path)
            for each in (model, loaded):
                each.fit(X, Y, epochs=2, shuffle=False, verbose=0)
            for one, two in zip(model.get_weights(), loaded.get_weights()):
                np.testing.assert_array_equal(one, two)
            self.assertEqual(int(loaded.optimizer.iterations), int(model.optimizer.iterations))
            self.assertEqual(loaded.metrics_names, ["loss", "accuracy"])


class Output(unittest.TestCase):
    def test_where_lines_cannot_be_rewritten_there_is_one_for_an_epoch(self):
        model = compiled(classifier(), metrics=["accuracy"])
        with redirect_stdout(io.StringIO()) as out:
            model.fit(X, Y, epochs=2, verbose=1)
            model.evaluate(X, Y)
        lines = out.getvalue().splitlines()
        self.assertEqual((len(lines), lines[0], lines[2]), (5, "Epoch 1/2", "Epoch 2/2"))
        self.assertRegex(lines[1], r"^3/3 \d+s \d+[mu]?s/step - loss: \d\.\d{4} - accuracy: \d\.\d{4}$")
        with redirect_stdout(io.StringIO()) as out:
            model.fit(X, Y, epochs=2, verbose=0)
            model.predict(X, verbose=0)
        self.assertEqual(out.getvalue(), "")


if __name__ == "__main__":
    unittest.main()
