"""TensorFlow 1's tf.losses, against computations of NumPy's own and finite differences."""
import unittest

import numpy as np
from scipy import special

import tapedeck as tf
from loss_references import logit_loss, normalized, slope, values

losses = tf.keras.losses


class First(unittest.TestCase):
    """TensorFlow 1's tf.losses."""

    def expected(self, name, y, p):
        return {"absolute_difference": np.abs(y - p), "mean_squared_error": (y - p)**2, "sigmoid_cross_entropy": logit_loss(y, p),
                "huber_loss": np.where(np.abs(y - p) <= 1, (y - p)**2 / 2, np.abs(y - p) - .5),
                "hinge_loss": np.maximum(0, 1 - (2 * y - 1) * p),
                "log_loss": -y * np.log(p + 1e-7) - (1 - y) * np.log(1 - p + 1e-7)}[name]

    def test_each_is_weighed_and_reduced_as_numpy_says(self):
        y, p = values()
        kinds = tf.losses.Reduction
        weights = [1., 2.5, 0., np.array([[1.], [0.], [2.], [3.]]), np.array([[1., 0., 2.]]), values(seed=4)[0], np.zeros((4, 3))]
        for name in ["absolute_difference", "mean_squared_error", "sigmoid_cross_entropy", "huber_loss", "hinge_loss", "log_loss"]:
            each = self.expected(name, y, p)
            for given in weights:
                spread = np.broadcast_to(given, each.shape)
                total, count = (each * spread).sum(), np.count_nonzero(spread)
                for reduction, wanted in [(kinds.SUM, total), (kinds.MEAN, total / spread.sum() if spread.sum() else 0),
                                          (kinds.NONE, each * spread), (kinds.SUM_OVER_BATCH_SIZE, total / each.size),
                                          (kinds.SUM_BY_NONZERO_WEIGHTS, total / count if count else 0)]:
                    with self.subTest(name, weights=np.shape(given), reduction=reduction):
                        result = getattr(tf.losses, name)(y, p, weights=given, reduction=reduction)
                        np.testing.assert_allclose(result, wanted, rtol=1e-12, atol=1e-15)

    def test_classes_have_cross_entropies_with_weights_of_examples(self):
        y, x = values()
        y /= y.sum(-1, keepdims=True)
        softmax = special.softmax(x, -1)
        each = -(y * np.log(softmax)).sum(-1)
        weights = np.array([1., 0., 2., 3.])
        self.assertAlmostEqual(float(tf.losses.softmax_cross_entropy(y, x)), each.mean())
        self.assertAlmostEqual(float(tf.losses.softmax_cross_entropy(y, x, weights)), (each * weights).sum() / 3)
        smooth = -((y * .7 + .1) * np.log(softmax)).sum(-1)
        self.assertAlmostEqual(float(tf.losses.softmax_cross_entropy(y, x, label_smoothing=.3)), smooth.mean())
        labels = np.array([0, 2, 1, 1])
        each = -np.log(softmax[range(4), labels])
        for given, given_weights in [(labels, weights), (labels[:, None], weights[:, None])]:
            self.assertAlmostEqual(float(tf.losses.sparse_softmax_cross_entropy(given, x, given_weights)),
                                   (each * weights).sum() / 3)
        self.assertAlmostEqual(float(tf.losses.sigmoid_cross_entropy(y, x, label_smoothing=.2)), logit_loss(y * .8 + .1, x).mean())

    def test_labels_of_softmax_cross_entropy_get_no_gradient(self):
        y, x = (tf.constant(each) for each in values())
        with tf.GradientTape() as tape:
            tape.watch([y, x])
            loss = tf.losses.softmax_cross_entropy(y, x)
        gradients = tape.gradient(loss, [y, x])
        self.assertIsNone(gradients[0])
        self.assertIsNotNone(gradients[1])

    def test_pairs_within_an_example_are_compared(self):
        y, p = values((3, 4))
        weights = np.array([[1.], [0.], [2.]])
        each = []
        for d in p - y:
            each.append(np.mean([(d[i] - d[j])**2 for i in range(4) for j in range(i + 1, 4)]))
        self.assertAlmostEqual(float(tf.losses.mean_pairwise_squared_error(y, p)), sum(each))
        self.assertAlmostEqual(float(tf.losses.mean_pairwise_squared_error(y, p, weights)), each[0] + 2 * each[2])
        self.assertEqual(float(tf.losses.mean_pairwise_squared_error(y, p, 0.)), 0.)
        self.assertEqual(float(tf.losses.mean_pairwise_squared_error([[1.], [2.]], [[3.], [5.]])), 0.)  # no pairs

    def test_cosine_distance_keeps_its_axis(self):
        y, p = map(normalized, values())
        self.assertAlmostEqual(float(tf.losses.cosine_distance(y, p, axis=1)), 1 - (y * p).sum(1).mean())
        self.assertAlmostEqual(float(tf.losses.cosine_distance(y, p, dim=1)), 1 - (y * p).sum(1).mean())
        self.assertEqual(tf.losses.cosine_distance(y, p, axis=1, reduction=tf.losses.Reduction.NONE).shape, [4, 1])
        for arguments, text in [({}, "must specify 'axis'"), ({"axis": 1, "dim": 1}, "both 'axis' and 'dim'")]:
            with self.assertRaisesRegex(ValueError, text):
                tf.losses.cosine_distance(y, p, **arguments)

    def test_what_does_not_fit_is_refused_by_name(self):
        y, p = values()
        for name in ["absolute_difference", "mean_squared_error", "sigmoid_cross_entropy", "huber_loss", "hinge_loss", "log_loss",
                     "softmax_cross_entropy", "mean_pairwise_squared_error"]:
            function = getattr(tf.losses, name)
            with self.subTest(name):
                with self.assertRaisesRegex(ValueError, rf"{name}: \w*labels must not be None"):
                    function(None, p)
                with self.assertRaisesRegex(ValueError, rf"{name}: Shapes of \w+ \(4, 3\) and \w+ \(4, 2\) are incompatible"):
                    function(y, p[:, :2])
                for shape in [(4,), (3, 1), (4, 2), (1, 4, 3)]:
                    if (name, shape) != ("softmax_cross_entropy", (4,)):
                        with self.assertRaisesRegex(ValueError, f"{name}: weights can not be broadcast to values"):
                            function(y, p, weights=np.ones(shape))
        with self.assertRaisesRegex(ValueError, "Invalid Reduction Key 'average'"):
            tf.losses.log_loss(y, p, reduction="average")
        with self.assertRaisesRegex(ValueError, "weights must not be None"):
            tf.losses.log_loss(y, p, weights=None)

    def test_gradients_of_a_weighted_loss_are_those_of_finite_differences(self):
        y, p = values((3, 2))
        weights = values((3, 2), seed=9)[0]
        weights[1] = 0
        for function in (tf.losses.huber_loss, tf.losses.log_loss, tf.losses.mean_squared_error,
                         tf.losses.mean_pairwise_squared_error):
            variable = tf.Variable(p)
            with tf.GradientTape() as tape:
                loss = function(y, variable, weights)
            gradient = tape.gradient(loss, variable).numpy()
            for place in np.ndindex(3, 2):
                self.assertAlmostEqual(gradient[place], slope(lambda x: float(function(y, x, weights)), p, place), 6)

    def test_losses_of_a_batch_without_examples_are_zero(self):
        empty = np.zeros((0, 3), np.float32)
        for function in (tf.losses.absolute_difference, tf.losses.mean_squared_error, tf.losses.softmax_cross_entropy):
            for weights in (1., 2.):
                self.assertEqual(float(function(empty, empty, weights)), 0.)

    def test_nothing_is_collected(self):
        tf.losses.add_loss(tf.losses.absolute_difference(*values()))
        self.assertEqual(tf.losses.get_losses(), [])
        self.assertEqual(tf.losses.get_regularization_losses(), [])
        self.assertEqual(float(tf.losses.get_regularization_loss()), 0.)
        with self.assertRaisesRegex(RuntimeError, "eager execution collects no losses"):
            tf.losses.get_total_loss()

    def test_the_classes_of_the_second_stand_beside_the_first_ones_functions(self):
        self.assertIs(tf.losses.Huber, losses.Huber)
        self.assertEqual(tf.losses.mean_squared_error([1., 2.], [2., 4.]).shape, [])
        self.assertEqual(tf.keras.losses.mean_squared_error([[1., 2.]], [[2., 4.]]).shape, [1])


if __name__ == "__main__":
    unittest.main()
