"""Initializers: their distributions, names and arguments."""
import math
import unittest

import numpy as np
from scipy import stats

import tapedeck as tf

SHAPE = (300, 200)
# The standard deviation of each, and of its distribution; 0.87962566 is that of the standard normal one between −2 and 2.
SCALED = {"glorot_uniform": ("uniform", 250), "glorot_normal": ("truncated", 250), "he_uniform": ("uniform", 150),
          "he_normal": ("truncated", 150), "lecun_uniform": ("uniform", 300), "lecun_normal": ("truncated", 300)}


def distribution(kind, deviation):
    if kind == "uniform":
        return stats.uniform(-deviation * math.sqrt(3), 2 * deviation * math.sqrt(3))
    if kind == "truncated":
        return stats.truncnorm(-2, 2, scale=deviation / .87962566103423978)
    return stats.norm(scale=deviation)


class Initializers(unittest.TestCase):
    def setUp(self):
        tf.random.set_seed(3)
        self.addCleanup(tf.random.set_seed, None)

    def follows(self, values, wanted):
        self.assertGreater(stats.kstest(values.numpy().astype(np.float64).ravel(), wanted.cdf).pvalue, 1e-4)

    def test_variances_are_those_of_the_fans(self):
        for name, (kind, count) in SCALED.items():
            with self.subTest(name):
                values = getattr(tf.initializers, name)()(SHAPE)
                self.assertEqual((values.dtype, values.shape), (tf.float32, SHAPE))
                self.follows(values, distribution(kind, 1 / math.sqrt(count)))
        for mode, count in (("fan_in", 300), ("fan_out", 200), ("fan_avg", 250)):
            for name, kind in (("uniform", "uniform"), ("truncated_normal", "truncated"), ("normal", "truncated"),
                               ("untruncated_normal", "normal")):
                values = tf.initializers.VarianceScaling(3., mode, name)(SHAPE, tf.float64)
                self.assertEqual(values.dtype, tf.float64)
                self.follows(values, distribution(kind, math.sqrt(3. / count)))

    def test_fans_of_vectors_and_of_convolutions(self):
        unit = tf.initializers.VarianceScaling(1., "fan_out", "uniform")
        self.follows(unit([5, 5, 40, 60]), distribution("uniform", 1 / math.sqrt(25 * 60)))
        self.follows(unit([60000]), distribution("uniform", 1 / math.sqrt(60000)))
        self.assertLessEqual(abs(float(unit([]))), math.sqrt(3))

    def test_defaults_are_tensorflows(self):
        normal = tf.random_normal_initializer()(SHAPE)
        self.follows(normal, distribution("normal", .05))
        self.follows(tf.random_uniform_initializer()(SHAPE), stats.uniform(-.05, .1))
        self.follows(tf.keras.initializers.TruncatedNormal()(SHAPE), stats.truncnorm(-2, 2, scale=.05))
        self.follows(tf.truncated_normal_initializer()(SHAPE), stats.truncnorm(-2, 2))
        self.follows(tf.variance_scaling_initializer()(SHAPE), distribution("truncated", 1 / math.sqrt(300)))
        self.follows(tf.random_normal_initializer(1., 2.)(SHAPE, tf.float64), stats.norm(1, 2))
        whole = tf.initializers.RandomUniform(-3, 4, dtype=tf.int32)(SHAPE).numpy()
        self.assertEqual((whole.dtype, whole.min(), whole.max()), (np.int32, -3, 3))

    def test_constants(self):
        self.assertEqual(tf.zeros_initializer()([2], tf.bool).numpy().tolist(), [False, False])
        self.assertEqual(tf.initializers.Ones(tf.int8)([2, 1]).numpy().tolist(), [[1], [1]])
        self.assertEqual(tf.constant_initializer([1, 2, 3, 4])([2, 2]).numpy().tolist(), [[1, 2], [3, 4]])
        self.assertEqual(tf.initializers.identity(2.)([2, 3]).numpy().tolist(), [[2, 0, 0], [0, 2, 0]])
        v = tf.Variable(lambda: tf.glorot_uniform_initializer()((3, 4)))
        self.assertEqual(v.shape, (3, 4))
        self.assertEqual(tf.ones_initializer()(tf.constant([1, 2])).shape, (1, 2))

    def test_orthogonal(self):
        for shape in ((7, 4), (4, 7), (2, 3, 5), (5, 5)):
            values = tf.initializers.orthogonal(2., dtype=tf.float64)(shape)
            self.assertEqual(values.shape, shape)
            matrix = values.numpy().reshape(-1, shape[-1]) / 2
            product = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
            np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-14)
        # Uniform among all rotations: an element's sign is a fair coin, and its square has the mean 1/n.
        first = np.array([tf.initializers.orthogonal()([3, 3]).numpy()[0, 0] for _ in range(400)])
        self.assertLess(abs(np.sign(first).sum()), 80)
        self.assertLess(abs((first**2).mean() - 1 / 3), .06)

    def test_a_seed_gives_the_same_values_at_every_call(self):
        for cls in (tf.initializers.GlorotNormal, tf.initializers.RandomUniform, tf.initializers.Orthogonal, tf.random_normal_initializer,
                    tf.initializers.TruncatedNormal, tf.initializers.LecunUniform):
            make, draws = cls(seed=1), []
            for draw in (make, make, cls(seed=np.int64(1)), cls(seed=2), cls(), cls()):
                draws.append(draw([4, 4]).numpy())
                tf.random.set_seed(5 + len(draws))
            for again in draws[1:3]:
                np.testing.assert_array_equal(again, draws[0], cls.__name__)
            self.assertEqual(len({values.tobytes() for values in draws}), 4)
        wide = tf.initializers.HeNormal(-3)
        self.assertFalse(np.array_equal(wide([2, 3]).numpy(), tf.initializers.HeNormal(3)([2, 3]).numpy()))
        state = tf.random.normal([3])  # what the seeded ones draw does not move the common sequence
        tf.random.set_seed(7)
        first = tf.random.normal([3]).numpy()
        tf.random.set_seed(7)
        wide([2, 3])
        np.testing.assert_array_equal(tf.random.normal([3]).numpy(), first)
        self.assertFalse(np.array_equal(state.numpy(), first))

    def test_names_and_configurations(self):
        initializers = tf.keras.initializers
        for name, cls in (("glorot_uniform", initializers.GlorotUniform), ("Zeros", initializers.Zeros),
                          ("lecun_normal", tf.initializers.lecun_normal)):
            self.assertIsInstance(initializers.get(name), cls)
        self.assertIsNone(initializers.get(None))
        self.assertIs(initializers.get(math.sin), math.sin)
        with self.assertRaisesRegex(ValueError, "get: identifier is 'nothing'; must be one of constant, zeros"):
            initializers.get("nothing")
        for made in (initializers.VarianceScaling(2., "fan_out", "uniform", 4), initializers.HeNormal(7), initializers.Constant(3),
                     initializers.RandomNormal(1., 2., dtype=tf.float64)):
            again = type(made).from_config(made.get_config())
            self.assertEqual(again.get_config(), made.get_config())
        self.assertEqual(initializers.HeNormal(7).get_config(), {"seed": 7, "dtype": "float32"})
        self.assertEqual(initializers.get({"class_name": "Constant", "config": {"value": 4}})([1]).numpy(), [4])

    def test_refusals(self):
        for call, pattern in ((lambda: tf.initializers.VarianceScaling(0), "VarianceScaling: scale is 0; must be above 0"),
                              (lambda: tf.initializers.VarianceScaling(mode="fan"), "mode is 'fan'; must be 'fan_in'"),
                              (lambda: tf.initializers.VarianceScaling(distribution="even"), "distribution is 'even'"),
                              (lambda: tf.initializers.orthogonal()([3]), r"Orthogonal: shape is \(3,\)"),
                              (lambda: tf.initializers.identity()([3]), r"Identity: shape is \(3,\)"),
                              (lambda: tf.initializers.glorot_normal()([2, -1]), "-1"),
                              (lambda: tf.initializers.VarianceScaling("wide"), "VarianceScaling: scale is 'wide'"),
                              (lambda: tf.initializers.VarianceScaling(None), "^VarianceScaling: scale is None; needs a number"),
                              (lambda: tf.initializers.VarianceScaling(np.inf),
                               "^VarianceScaling: scale is inf; must be above 0, and finite"),
                              (lambda: tf.initializers.Orthogonal("x"), "^Orthogonal: gain is 'x'; needs a number"),
                              (lambda: tf.initializers.Identity([]), r"^Identity: gain is \[\]; needs a number"),
                              (lambda: tf.keras.initializers.get({"config": {}}),
                               "get: identifier is {'config': {}}; a dict needs class_name")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                call()
        for call, pattern in ((lambda: tf.initializers.he_normal(dtype=tf.int32)([3, 3]), "HeNormal: dtype is int32; needs a floating"),
                              (lambda: tf.initializers.GlorotUniform(dtype=tf.int32)([3, 3]), "GlorotUniform: dtype is int32"),
                              (lambda: tf.initializers.GlorotUniform()([None, 3]), r"GlorotUniform: shape is \[None, 3\]; needs integers"),
                              (lambda: tf.initializers.Orthogonal()([2.5, 3]), r"Orthogonal: shape is \[2.5, 3\]"),
                              (lambda: tf.initializers.Zeros()([3], []), r"\[\] is not one of bool"),
                              (lambda: tf.initializers.RandomNormal(seed=1.5)([3]),
                               "RandomNormal: seed is 1.5; needs an integer or None")):
            with self.assertRaisesRegex(TypeError, pattern):
                call()


if __name__ == "__main__":
    unittest.main()
