"""tf.keras.metrics against computations of NumPy's own, over several batches, with and without weights."""
import unittest

import numpy as np

import tapedeck as tf
from metric_batches import CLASSES, EPSILON, LABELS, over_batches, PREDICTIONS, ratio, together, WEIGHTS

metrics = tf.keras.metrics


class Means(unittest.TestCase):
    def test_values_and_weights_of_all_shapes_count_as_their_means(self):
        mean, total, weight = metrics.Mean(), 0., 0.
        for values, weights, added, count in [
                (3., None, 3., 1), ([1., 2.], None, 3., 2), ([[1., 2.], [3., 5.]], None, 5.5, 2), ([3., 5.], [1., 3.], 18., 4.),
                ([3., 5.], 2., 8., 2.), ([[1., 3.], [5., 7.]], [1., 2.], 14., 3.), ([[1., 3.], [5., 7.]], [[1.], [2.]], 14., 3.),
                ([[1., 3.], [5., 7.]], [[1., 0.], [0., 2.]], 7.5, 1.5), ([[3.], [4.]], [[1.], [2.]], 11., 3.), (np.zeros((0, 3)),
                                                                                                                None, 0., 0)]:
            total, weight = total + added, weight + count
            self.assertAlmostEqual(float(mean(values, sample_weight=weights)), total / weight, 5, f"{values} {weights}")
        self.assertAlmostEqual(float(mean.count), weight)

    def test_the_mean_of_nothing_is_zero(self):
        self.assertEqual(float(metrics.Mean().result()), 0.)
        self.assertEqual(float(metrics.Mean()(np.zeros(0))), 0.)

    def test_sums_add_all_elements_times_their_weights(self):
        total = metrics.Sum()
        total([[1., 2.], [3., 4.]])
        total([[1., 2.], [3., 4.]], sample_weight=[1., 10.])
        self.assertEqual(float(total.result()), 10. + 73.)

    def test_tensors_are_averaged_element_by_element(self):
        mean = metrics.MeanTensor()
        with self.assertRaisesRegex(ValueError, "has had no values yet"):
            mean.result()
        mean([1., 2., 3.])
        mean([3., 4., 5.], sample_weight=[0., 1., 3.])
        np.testing.assert_allclose(mean.result(), [1., 3., 4.5])
        with self.assertRaisesRegex(ValueError, r"shape \(2,\); those before had \(3,\)"):
            mean([1., 2.])
        self.assertEqual(metrics.MeanTensor(shape=[2]).result().numpy().tolist(), [0., 0.])

    def test_whole_numbers_and_wider_dtypes_are_computed_in_the_metrics_own(self):
        self.assertEqual(metrics.Mean()([1, 2]).dtype, tf.float32)
        self.assertEqual(metrics.Mean(dtype="float64")([1., 2.]).dtype, tf.float64)
        self.assertEqual(metrics.Mean(dtype=tf.float16)(np.ones(3)).dtype, tf.float16)
        self.assertEqual(float(metrics.Mean(dtype="float64")(np.array([1e-20, 1.]))), .5)

    def test_weights_that_do_not_fit_are_refused_by_the_metrics_name(self):
        with self.assertRaisesRegex(ValueError, r"loss: sample_weight \(3,\) does not fit the values \(2, 3\)"):
            metrics.Mean("loss")(np.ones((2, 3)), sample_weight=np.ones(3))


class Predictions(unittest.TestCase):
    """Means of a function of each example."""

    def numpy(self, name, y, p):
        if name == "CategoricalAccuracy":
            return y.argmax(-1) == p.argmax(-1)
        if name == "TopKCategoricalAccuracy":
            return [right in row for right, row in zip(y.argmax(-1), (-p).argsort(-1)[:, :2])]
        length = np.sqrt((y**2).sum(-1) * (p**2).sum(-1))
        q = np.clip(p, EPSILON, 1 - EPSILON)
        centred = [each - each.mean(-1, keepdims=True) for each in (y, p)]
        covariance = (centred[0] * centred[1]).mean(-1)
        gap = (y.mean(-1) - p.mean(-1))**2
        return {
            "MeanSquaredError": ((y - p)**2).mean(-1), "MeanAbsoluteError": np.abs(y - p).mean(-1),
            "CosineSimilarity": ratio((y * p).sum(-1), length), "LogCoshError": np.log(np.cosh(p - y)).mean(-1),
            "MeanSquaredLogarithmicError": (np.log((1 + y) / (1 + p))**2).mean(-1),
            "Hinge": np.maximum(0, 1 - (2 * y - 1) * p).mean(-1), "SquaredHinge": (np.maximum(0, 1 - (2 * y - 1) * p)**2).mean(-1),
            "CategoricalHinge": np.maximum(0, 1 + ((1 - y) * p).max(-1) - (y * p).sum(-1)),
            "KLDivergence": (np.clip(y, EPSILON,
                                     1) * np.log(np.clip(y, EPSILON,
                                                         1) / p)).sum(-1), "Poisson": (p - y * np.log(p + EPSILON)).mean(-1),
            "BinaryCrossentropy": -(y * np.log(q) + (1 - y) * np.log(1 - q)).mean(-1),
            "CategoricalCrossentropy": -(y * np.log(p / p.sum(-1, keepdims=True))).sum(-1),
            "BinaryAccuracy": ((p > .5) == (y != 0)).mean(-1), "Accuracy": (y == p).mean(-1),
            "ConcordanceCorrelation": 2 * covariance / (y.var(-1) + p.var(-1) + gap + EPSILON),
            "PearsonCorrelation": ratio(covariance, y.std(-1) * p.std(-1)),
        }[name]

    def test_each_is_the_mean_over_all_batches_with_weights_or_without(self):
        y, p, w = together(LABELS), together(PREDICTIONS), together(WEIGHTS)
        for name in ["MeanSquaredError", "MeanAbsoluteError", "CosineSimilarity", "LogCoshError", "MeanSquaredLogarithmicError",
                     "Hinge",
                     "SquaredHinge", "CategoricalHinge", "KLDivergence", "Poisson", "BinaryCrossentropy", "CategoricalCrossentropy",
                     "BinaryAccuracy", "Accuracy", "CategoricalAccuracy", "TopKCategoricalAccuracy", "ConcordanceCorrelation"]:
            with self.subTest(name):
                each = np.asarray(self.numpy(name, y, p), float)
                arguments = {"k": 2} if name.startswith("TopK") else {}
                make = getattr(metrics, name)
                np.testing.assert_allclose(over_batches(make(**arguments), LABELS, PREDICTIONS), each.mean(), rtol=2e-5)
                np.testing.assert_allclose(over_batches(make(**arguments), LABELS, PREDICTIONS, WEIGHTS),
                                           np.average(each, weights=w), rtol=2e-5)

    def test_what_varies_together_correlates(self):
        y = PREDICTIONS[0].astype(float) * 2 + LABELS[0]
        self.assertAlmostEqual(float(metrics.PearsonCorrelation()(y, PREDICTIONS[0])),
                               np.mean(self.numpy("PearsonCorrelation", y, PREDICTIONS[0])), 5)

    def test_numbers_of_classes_are_right_or_wrong(self):
        y, p, w = together(CLASSES).astype(int), together(PREDICTIONS), together(WEIGHTS)
        for name, each, arguments in [
                ("SparseCategoricalAccuracy", y == p.argmax(-1), {}),
                ("SparseTopKCategoricalAccuracy", [right in row for right, row in zip(y, (-p).argsort(-1)[:, :3])], {"k": 3}),
                ("SparseCategoricalCrossentropy", -np.log(p / p.sum(-1, keepdims=True))[range(18), y], {})]:
            make = getattr(metrics, name)
            for labels in (CLASSES, [each[:, None] for each in CLASSES], [each.astype(np.float32) for each in CLASSES]):
                np.testing.assert_allclose(over_batches(make(**arguments), labels, PREDICTIONS), np.mean(each), rtol=1e-5)
                np.testing.assert_allclose(over_batches(make(**arguments), labels, PREDICTIONS, WEIGHTS),
                                           np.average(each, weights=w), rtol=1e-5)
        self.assertEqual(float(metrics.Accuracy()([[1], [2]], [1, 3])), .5)
        np.testing.assert_array_equal(metrics.sparse_top_k_categorical_accuracy([3, 1], [[3, 2], [2, 3]], k=2,
                                                                                from_sorted_ids=True), [1, 0])
        ignoring = metrics.SparseCategoricalCrossentropy(ignore_class=2)
        kept = y != 2
        np.testing.assert_allclose(over_batches(ignoring, CLASSES, PREDICTIONS),
                                   -np.log(p / p.sum(-1, keepdims=True))[range(18), y][kept].mean(), rtol=1e-5)

    def test_the_root_is_taken_of_the_mean_over_all_batches(self):
        y, p = together(LABELS), together(PREDICTIONS)
        np.testing.assert_allclose(over_batches(metrics.RootMeanSquaredError(), LABELS, PREDICTIONS), np.sqrt(((y - p)**2).mean()),
                                   rtol=1e-5)

    def test_the_coefficient_of_determination_is_that_of_each_output(self):
        y, p, w = together(LABELS), together(PREDICTIONS), together(WEIGHTS)[:, None]
        for weights, v in [(None, np.ones_like(w)), (WEIGHTS, w)]:
            total = (v * (y - np.average(y, axis=0, weights=v[:, 0]))**2).sum(0)
            scores = 1 - (v * (y - p)**2).sum(0) / total
            for average, expected in [("uniform_average", scores.mean()), (None, scores),
                                      ("variance_weighted_average", (total * scores).sum() / total.sum())]:
                np.testing.assert_allclose(over_batches(metrics.R2Score(average), LABELS, PREDICTIONS, weights), expected,
                                           rtol=1e-4)
        scores = 1 - ((y - p)**2).sum(0) / ((y - y.mean(0))**2).sum(0)
        np.testing.assert_allclose(over_batches(metrics.R2Score(None, num_regressors=3), LABELS, PREDICTIONS),
                                   1 - (1 - scores) * (y.size - 1) / (y.size - 4), rtol=1e-4)
        with self.assertRaisesRegex(ValueError, r"y_true \(3,\) and y_pred \(3,\); need \(batch, outputs\)"):
            metrics.R2Score()([1., 2., 3.], [1., 2., 3.])
        with self.assertRaisesRegex(ValueError, "class_aggregation is 'sum'"):
            metrics.R2Score("sum")

    def test_shapes_that_do_not_fit_are_refused(self):
        for metric in [metrics.CategoricalAccuracy(), metrics.SparseCategoricalAccuracy(), metrics.MeanSquaredError(),
                       metrics.AUC(),
                       metrics.Precision(
                           ), metrics.F1Score(), metrics.RootMeanSquaredError(), metrics.TopKCategoricalAccuracy(k=1)]:
            with self.subTest(metric), self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"\((4, 3|4,)\).*\(4, 2\)"):
                metric(np.ones((4, 3)), np.ones((4, 2)))


if __name__ == "__main__":
    unittest.main()
