"""Inputs that were normalised over the wrong axis, and programs that normalise as they should."""
import unittest

import numpy as np
from health_programs import HealthOfPrograms, descend

import tapedeck as tf

RULE = "normalised over the wrong axis"


def people(count=64, seed=0):
    """Age, income and rooms: features whose scales differ by orders of magnitude."""
    random = np.random.RandomState(seed)
    return np.stack([40 + 12 * random.randn(count), 5e4 + 1e4 * random.randn(count), 4 + 1.2 * random.randn(count)],
                    1).astype(np.float32)


def fit(inputs, rate=.05):
    """A linear model of them; `inputs` is called in each step, as a program does."""
    random = np.random.RandomState(1)
    w = tf.Variable((.1 * random.randn(inputs().shape[1], 1)).astype(np.float32), name="w")
    y = random.randn(inputs().shape[0], 1).astype(np.float32)
    descend(lambda step: tf.reduce_mean(tf.square(tf.matmul(inputs(), w) - y)), [w], rate=rate)


class WrongScalesTest(HealthOfPrograms):
    def test_each_example_by_its_own_deviation(self):
        x = tf.constant(people())

        def inputs():
            middle = tf.reduce_mean(x, 1, keepdims=True)
            return (x - middle) / (tf.math.reduce_std(x, 1, keepdims=True) + 1e-7)
        fit(inputs)
        found = self.the(RULE)
        self.assertEqual((found["severity"], found["op"]), ("warning", "divide"))
        self.assertRegex(found["sentence"], r"^divide \(line \d+\) scales the inputs \(64, 3\) of the first layer's matmul "
                         r"\(line \d+\) by one number for each example, reduce_std \(line \d+\) of shape \(64, 1\)")
        self.assertRegex(found["sentence"], r"before it column 1 has a standard deviation of [\d.]+(e\+04|e\+03)?, "
                         r"column 2 of [01]\.\d+")
        self.assertIn("axis=0", found["cure"])

    def test_all_features_by_one_deviation_before_the_loop(self):
        data = people()
        x = (tf.constant(data) - tf.reduce_mean(data)) / tf.math.reduce_std(data)
        fit(lambda: x)
        self.assertIn("by one number for all features together, reduce_std", self.the(RULE)["sentence"])

    def test_batches_of_data_that_were_normalised_before(self):
        data = people(128)
        x = tf.constant(data) / tf.math.reduce_std(data, 1, keepdims=True)
        fit(lambda: x[32:96])
        self.assertIn("of shape (128, 1)", self.the(RULE)["sentence"])

    def test_the_mean_of_each_example_beside_the_deviation_of_each_feature(self):
        x = tf.constant(people())
        fit(lambda: (x - tf.reduce_mean(x, 1, keepdims=True)) / tf.math.reduce_std(x, 0), rate=1e-8)
        self.assertIn("shifts the inputs", self.the(RULE)["sentence"])

    def test_numpy_normalised_all_features_together(self):
        data = people()
        x = (data - data.mean()) / data.std()
        fit(lambda: x)
        found = self.the(RULE)
        self.assertEqual(found["op"], "matmul")
        self.assertIn("over all features together, not in each feature", found["sentence"])
        self.assertRegex(found["sentence"], r"column 1 has a standard deviation of [01]\.\d+, column 2 of [\d.]+e-05")

    def test_numpy_normalised_each_example(self):
        data = people()
        x = (data - data.mean(1, keepdims=True)) / data.std(1, keepdims=True)
        fit(lambda: x)
        self.assertIn("in each example, not in each feature", self.the(RULE)["sentence"])


class RightScalesTest(HealthOfPrograms):
    def nothing(self):
        self.assertNotIn(RULE, self.rules())

    def test_each_feature_by_its_own_deviation(self):
        x = tf.constant(people())
        fit(lambda: (x - tf.reduce_mean(x, 0)) / (tf.math.reduce_std(x, 0) + 1e-7))
        self.nothing()

    def test_all_by_the_largest_and_then_each_feature(self):
        x = tf.constant(people())
        scaled = x / tf.reduce_max(x)
        fit(lambda: (scaled - tf.reduce_mean(scaled, 0)) / tf.math.reduce_std(scaled, 0))
        self.nothing()

    def test_numpy_normalised_each_feature(self):
        data = people()
        x = (data - data.mean(0)) / data.std(0)
        fit(lambda: x)
        self.nothing()

    def test_pixels_of_which_the_border_is_dark(self):
        random = np.random.RandomState(0)
        pixels = random.randint(0, 256, (64, 16)).astype(np.float32)
        pixels[:, :6] = 0
        pixels[3, 2] = 1
        x = tf.constant(pixels)
        fit(lambda: (x - tf.reduce_mean(x)) / tf.math.reduce_std(x), rate=.01)
        self.nothing()

    def test_each_picture_by_its_own_deviation(self):
        x = tf.constant(np.random.RandomState(0).rand(64, 16).astype(np.float32))
        fit(lambda: (x - tf.reduce_mean(x, 1, keepdims=True)) / tf.math.reduce_std(x, 1, keepdims=True), rate=.01)
        self.nothing()

    def test_a_layer_that_normalises_activations(self):
        random = np.random.RandomState(0)
        x = tf.constant(random.randn(64, 4).astype(np.float32))
        w1 = tf.Variable((.5 * random.randn(4, 8)).astype(np.float32) * np.logspace(-2, 2, 8, dtype=np.float32), name="w1")
        w2 = tf.Variable((.3 * random.randn(8, 1)).astype(np.float32), name="w2")

        def loss(step):
            hidden = tf.matmul(x, w1)
            mean, variance = tf.nn.moments(hidden, [1], keepdims=True)
            return tf.reduce_mean(tf.square(tf.matmul((hidden - mean) * tf.math.rsqrt(variance + 1e-5), w2) - x[:, :1]))
        descend(loss, [w1, w2], rate=.01)
        self.nothing()

    def test_a_trained_encoder_that_rests_is_no_data(self):
        random = np.random.RandomState(0)
        x = tf.constant(random.randn(64, 4).astype(np.float32))
        encoder = tf.Variable(random.randn(4, 8).astype(np.float32) * np.logspace(-2, 2, 8, dtype=np.float32), name="encoder")

        def inputs():
            code = tf.matmul(x, encoder)
            return code / tf.math.reduce_std(code, 1, keepdims=True)
        fit(inputs, rate=.01)
        self.nothing()


if __name__ == "__main__":
    unittest.main()
