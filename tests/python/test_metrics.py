"""tf.keras.metrics against computations of NumPy's own, over several batches, with and without weights."""
import itertools
import math
import unittest

import numpy as np

import tapedeck as tf

metrics = tf.keras.metrics
generator = np.random.RandomState(1)
LABELS = [(generator.rand(6, 4) > .5).astype(np.float32) for _ in range(3)]
PREDICTIONS = [generator.rand(6, 4).astype(np.float32) for _ in range(3)]
CLASSES = [generator.randint(0, 4, 6) for _ in range(3)]
GUESSES = [generator.randint(0, 4, 6) for _ in range(3)]
WEIGHTS = [generator.rand(6).astype(np.float32) for _ in range(3)]
EPSILON = 1e-7


def over_batches(metric, labels, predictions, weights=None):
    for place, (y, p) in enumerate(zip(labels, predictions)):
        metric.update_state(y, p, None if weights is None else weights[place])
    return np.asarray(metric.result())


def together(values):
    return np.concatenate(values).astype(float)


def counted(y, p, thresholds, w=None):
    """(true positives, false positives, true negatives, false negatives), one for each threshold."""
    w = np.ones_like(y) if w is None else np.broadcast_to(w.reshape(w.shape + (1,) * (y.ndim - w.ndim)), y.shape)
    kinds = [(lambda above: above & (y != 0)), (lambda above: above & (y == 0)), (lambda above: ~above & (y == 0)),
             (lambda above: ~above & (y != 0))]
    return [np.array([w[kind(p > threshold)].sum() for threshold in thresholds]) for kind in kinds]


def ratio(a, b):
    return np.divide(a, b, out=np.zeros(np.shape(b)), where=b != 0)


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


class Thresholds(unittest.TestCase):
    def test_rights_and_wrongs_are_counted_at_each_threshold_in_the_order_given(self):
        y, p, w = together(LABELS), together(PREDICTIONS), together(WEIGHTS)
        for thresholds in (None, .3, [.7, .2, .4], [0., 1.]):
            at = [.5] if thresholds is None else np.atleast_1d(thresholds)
            for kind, name in enumerate(["TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives"]):
                for weights, v in [(None, None), (WEIGHTS, w)]:
                    expected = counted(y, p, at, v)[kind]
                    result = over_batches(getattr(metrics, name)(thresholds), LABELS, PREDICTIONS, weights)
                    np.testing.assert_allclose(result, expected if len(at) > 1 else expected[0], rtol=1e-5)

    def test_a_prediction_at_a_threshold_is_not_above_it_and_nan_is_above_none(self):
        metric = metrics.TruePositives([0., .25, .5, .75])
        metric(np.ones(4), [.25, .5, np.nan, .75])
        self.assertEqual(metric.result().numpy().tolist(), [3., 2., 1., 0.])

    def test_precision_and_recall_are_shares_of_what_was_counted(self):
        y, p, w = together(LABELS), together(PREDICTIONS), together(WEIGHTS)
        for weights, v in [(None, None), (WEIGHTS, w)]:
            tp, fp, _, fn = counted(y, p, [.3, .6], v)
            np.testing.assert_allclose(over_batches(metrics.Precision([.3, .6]), LABELS, PREDICTIONS, weights), tp / (tp + fp),
                                       rtol=1e-5)
            np.testing.assert_allclose(over_batches(metrics.Recall([.3, .6]), LABELS, PREDICTIONS, weights), tp / (tp + fn),
                                       rtol=1e-5)
            tp, fp, _, fn = counted(y[:, 2], p[:, 2], [.5], v)
            np.testing.assert_allclose(over_batches(metrics.Precision(class_id=2), LABELS, PREDICTIONS, weights),
                                       (tp / (tp + fp))[0], rtol=1e-5)
        best = np.argsort(np.argsort(-p, -1), -1) < 2
        self.assertAlmostEqual(over_batches(metrics.Precision(top_k=2), LABELS, PREDICTIONS), y[best].sum() / best.sum(), 5)
        self.assertAlmostEqual(over_batches(metrics.Recall(top_k=2, class_id=1), LABELS, PREDICTIONS),
                               (y * best)[:, 1].sum() / y[:, 1].sum(), 5)
        self.assertEqual(float(metrics.Precision()([0., 0.], [.1, .2])), 0.)

    def test_thresholds_outside_zero_to_one_are_refused(self):
        for make in (metrics.Precision, metrics.TruePositives, lambda thresholds: metrics.AUC(thresholds=thresholds)):
            with self.assertRaisesRegex(ValueError, r"thresholds is \[0.5, 1.5\]; needs numbers in \[0, 1\]"):
                make([.5, 1.5])
        with self.assertRaisesRegex(ValueError, r"specificity is 2; must be in \[0, 1\]"):
            metrics.SensitivityAtSpecificity(2)
        with self.assertRaisesRegex(ValueError, "top_k is 9"):
            metrics.Precision(top_k=9)(np.ones((2, 3)), np.ones((2, 3)))

    def test_the_best_of_one_share_is_found_where_another_is_large_enough(self):
        y, p, w = together(LABELS), together(PREDICTIONS), together(WEIGHTS)
        thresholds = np.linspace(0, 1, 50)
        for weights, v in [(None, None), (WEIGHTS, w)]:
            tp, fp, tn, fn = counted(y, p, thresholds, v)
            recall, precision, specificity = ratio(tp, tp + fn), ratio(tp, tp + fp), ratio(tn, tn + fp)
            for name, share, constrained in [("SensitivityAtSpecificity", recall, specificity),
                                             ("PrecisionAtRecall", precision, recall),
                                             ("SpecificityAtSensitivity", specificity, recall), ("RecallAtPrecision", recall,
                                                                                                 precision)]:
                for least in (.3, .55, .999):
                    result = over_batches(getattr(metrics, name)(least, num_thresholds=50), LABELS, PREDICTIONS, weights)
                    self.assertAlmostEqual(result, max(share[constrained >= least], default=0), 5, f"{name} {least}")

    def curve(self, kind, tp, fp, tn, fn):
        if kind == "ROC":
            return ratio(fp, fp + tn), ratio(tp, tp + fn)
        if kind == "PR":
            return ratio(tp, tp + fn), ratio(tp, tp + fp)
        share = (tp + fn) / (tn + fp)
        return np.maximum(np.where(tp > 0, 1 - share * ratio(fn, tp), 0), 0), np.where(tp > 0, 1 - share * ratio(fp, tp), 1)

    def area(self, kind, method, y, p, w):
        thresholds = [-EPSILON, *np.linspace(0, 1, 200)[1:-1], 1 + EPSILON]
        tp, fp, tn, fn = counts = counted(y, p, thresholds, w)
        if (kind, method) == ("PR", "interpolation"):  # the integral of (a + b·n) / n over all positives n, with a midpoint rule
            total = 0
            for i in range(199):
                n = np.linspace(tp[i + 1] + fp[i + 1], tp[i] + fp[i], 4001)
                if n[-1] > n[0]:
                    middle = (n[1:] + n[:-1]) / 2
                    slope = (tp[i] - tp[i + 1]) / (n[-1] - n[0])
                    total += slope * np.sum((tp[i + 1] + slope * (middle - n[0])) / middle) * (n[1] - n[0]) / (tp[0] + fn[0])
            return total
        x, heights = self.curve(kind, *counts)
        join = {"interpolation": lambda a, b: (a + b) / 2, "minoring": np.minimum, "majoring": np.maximum}[method]
        return np.sum((x[:-1] - x[1:]) * join(heights[:-1], heights[1:]))

    def test_areas_under_all_curves_by_all_sums_are_numpys(self):
        y, p, w = together(LABELS), together(PREDICTIONS), together(WEIGHTS)
        for kind, method in itertools.product(["ROC", "PR", "PRGAIN"], ["interpolation", "minoring", "majoring"]):
            for weights, v in [(None, None), (WEIGHTS, w)]:
                with self.subTest(kind, method=method, weighted=v is not None):
                    result = over_batches(metrics.AUC(curve=kind, summation_method=method), LABELS, PREDICTIONS, weights)
                    self.assertAlmostEqual(result, self.area(kind, method, y, p, v), 4)
            with self.subTest(kind, method=method, by="label"):
                each = [self.area(kind, method, y[:, i], p[:, i], w) for i in range(4)]
                by_label = metrics.AUC(curve=kind, summation_method=method, multi_label=True)
                self.assertAlmostEqual(over_batches(by_label, LABELS, PREDICTIONS, WEIGHTS), np.mean(each), 4)
                weighted = metrics.AUC(curve=kind, summation_method=method, multi_label=True, num_labels=4,
                                       label_weights=[1., 2., 0., .5])
                self.assertAlmostEqual(over_batches(weighted, LABELS, PREDICTIONS, WEIGHTS),
                                       np.average(each, weights=[1., 2., 0., .5]), 4)

    def test_the_area_of_roc_is_the_share_of_pairs_in_the_right_order(self):
        y, p = np.repeat([0., 1.], 50), (generator.randint(0, 80, 100) + .5) / 100
        p[50:] = np.round(p[50:] + .2, 3)
        pairs = [(high > low) + (high == low) / 2 for high in p[50:] for low in p[:50]]
        self.assertAlmostEqual(float(metrics.AUC(1001)(y, p)), np.mean(pairs), 3)

    def test_predictions_may_be_logits_and_labels_may_weigh_in_one_curve(self):
        logits = [8 * p - 4 for p in PREDICTIONS]
        probabilities = [1 / (1 + np.exp(-x)) for x in logits]
        self.assertAlmostEqual(over_batches(metrics.AUC(from_logits=True), LABELS, logits),
                               over_batches(metrics.AUC(), LABELS, probabilities), 5)
        weights = np.array([1., 2., 0., .5])
        y, p = together(LABELS), together(PREDICTIONS)
        tp, fp, tn, fn = counted(y, p, np.linspace(0, 1, 7), np.broadcast_to(weights, y.shape))
        found = metrics.AUC(7, label_weights=weights)
        over_batches(found, LABELS, PREDICTIONS)
        np.testing.assert_allclose(found.true_positives[1:-1], tp[1:-1], rtol=1e-5)

    def test_what_auc_cannot_do_is_refused(self):
        for arguments, text in [({"curve": "RCO"}, "curve is 'RCO'; must be one of 'ROC', 'PR', 'PRGAIN'"),
                                ({"num_thresholds": 1}, "must be above 1"),
                                ({"summation_method": "x"}, "summation_method is 'x'"), ({"num_labels": 3},
                                                                                         "multi_label is False")]:
            with self.assertRaisesRegex(ValueError, text):
                metrics.AUC(**arguments)
        with self.assertRaisesRegex(ValueError, r"needs y_pred \(batch, 4\); its shape is \(2, 3\)"):
            metrics.AUC(multi_label=True, num_labels=4)(np.ones((2, 3)), np.ones((2, 3)))
        with self.assertRaisesRegex(ValueError, "has had no batch yet"):
            metrics.AUC(multi_label=True).result()


class Scores(unittest.TestCase):
    def test_f_scores_are_those_of_counts_of_classes(self):
        y, p, w = together(LABELS), together(PREDICTIONS), together(WEIGHTS)[:, None]
        for beta, threshold, (weights, v) in itertools.product([1., 2.], [None, .4], [(None, np.ones((18, 1))), (WEIGHTS, w)]):
            chosen = p == p.max(-1, keepdims=True) if threshold is None else p > threshold
            counts = [(v * each).sum(0) for each in (chosen * y, chosen * (1 - y), (1 - chosen) * y)]

            def score(tp, fp, fn):
                return (1 + beta**2) * tp / ((1 + beta**2) * tp + fp + beta**2 * fn)

            each = score(*counts)
            for average, expected in [(None, each), ("macro", each.mean()), ("micro", score(*(count.sum() for count in counts))),
                                      ("weighted", np.average(each, weights=(v * y).sum(0)))]:
                result = over_batches(metrics.FBetaScore(average, beta, threshold), LABELS, PREDICTIONS, weights)
                np.testing.assert_allclose(result, expected, rtol=1e-5, err_msg=str((average, beta, threshold)))
                if beta == 1:
                    np.testing.assert_array_equal(over_batches(metrics.F1Score(average, threshold), LABELS, PREDICTIONS, weights),
                                                  result)
        for arguments, text in [({"average": "mean"}, "average is 'mean'"), ({"beta": 2}, "beta is 2; needs a float"),
                                ({"threshold": 2.}, "threshold is 2.0")]:
            with self.assertRaisesRegex(ValueError, text):
                metrics.FBetaScore(**arguments)

    def overlaps(self, y, p, w=None):
        w = np.ones(len(y)) if w is None else w
        both = np.array([w[(y == c) & (p == c)].sum() for c in range(4)])
        return both / np.array([w[(y == c) | (p == c)].sum() for c in range(4)])

    def test_intersections_are_divided_by_unions_and_averaged_over_the_classes_that_occur(self):
        y, p, w = together(CLASSES), together(GUESSES), together(WEIGHTS)
        each = self.overlaps(y, p)
        self.assertAlmostEqual(over_batches(metrics.MeanIoU(4), CLASSES, GUESSES), each.mean(), 6)
        self.assertAlmostEqual(over_batches(metrics.MeanIoU(9), CLASSES, GUESSES), each.mean(), 6)
        self.assertAlmostEqual(over_batches(metrics.IoU(4, [0, 2]), CLASSES, GUESSES), each[[0, 2]].mean(), 6)
        self.assertAlmostEqual(over_batches(metrics.MeanIoU(4), CLASSES, GUESSES, WEIGHTS), self.overlaps(y, p, w).mean(), 5)
        kept = y != 1
        ignoring = self.overlaps(y[kept], p[kept])
        self.assertAlmostEqual(over_batches(metrics.MeanIoU(4, ignore_class=1), CLASSES, GUESSES), np.nanmean(ignoring), 6)
        outside = metrics.MeanIoU(4)
        outside([-1, 7, 0], [0, 0, 9])
        self.assertEqual(float(outside.result()), 0.)

    def test_classes_may_come_as_values_of_each(self):
        y, p = together(LABELS).argmax(-1), together(PREDICTIONS).argmax(-1)
        each = self.overlaps(y, p)
        self.assertAlmostEqual(over_batches(metrics.OneHotIoU(4, [0, 1]), LABELS, PREDICTIONS), each[:2].mean(), 6)
        self.assertAlmostEqual(over_batches(metrics.OneHotMeanIoU(4), LABELS, PREDICTIONS), each.mean(), 6)
        self.assertAlmostEqual(over_batches(metrics.OneHotMeanIoU(4, sparse_y_pred=True), LABELS, GUESSES),
                               self.overlaps(y, together(GUESSES)).mean(), 6)
        binary = [(metrics.BinaryIoU(threshold=.3)), [each[:, 0] for each in LABELS], [each[:, 0] for each in PREDICTIONS]]
        y, p = together(binary[1]), together(binary[2]) >= .3
        expected = np.mean([((y == c) & (p == c)).sum() / ((y == c) | (p == c)).sum() for c in (0, 1)])
        self.assertAlmostEqual(over_batches(*binary), expected, 6)
        with self.assertRaisesRegex(ValueError, r"target_class_ids is \[4\]; must be in \[0, 4\)"):
            metrics.IoU(4, [4])


class State(unittest.TestCase):
    MADE = [(metrics.Mean, {}), (metrics.Sum, {}), (metrics.AUC, {}), (metrics.AUC, {"thresholds": [.2, .6], "curve": "PR"}),
            (metrics.Precision, {"thresholds": [.2, .6]}), (metrics.Recall, {"top_k": 2}), (metrics.TruePositives, {}),
            (metrics.SensitivityAtSpecificity, {"specificity": .4}), (metrics.RecallAtPrecision,
                                                                      {"precision": .4, "num_thresholds": 9}),
            (metrics.F1Score, {"average": "micro"}), (metrics.FBetaScore, {"beta": 3.}), (metrics.MeanIoU, {"num_classes": 4}),
            (metrics.IoU, {"num_classes": 4, "target_class_ids": [1, 2]}), (metrics.BinaryIoU,
                                                                            {"threshold": .7}), (metrics.R2Score, {}),
            (metrics.OneHotIoU, {"num_classes": 4, "target_class_ids": [1]}), (metrics.OneHotMeanIoU, {"num_classes": 4}),
            (metrics.MeanSquaredError, {}), (metrics.TopKCategoricalAccuracy, {"k": 2}), (metrics.BinaryAccuracy,
                                                                                          {"threshold": .3}),
            (metrics.SparseCategoricalCrossentropy, {"ignore_class": 1, "from_logits": True}), (metrics.CosineSimilarity,
                                                                                                {"axis": 0}),
            (metrics.MeanTensor, {"shape": (2,)}), (metrics.SparseTopKCategoricalAccuracy, {"k": 3, "from_sorted_ids": True}),
            (metrics.BinaryCrossentropy, {"label_smoothing": .1}), (metrics.ConcordanceCorrelation, {"axis": 0})]

    def test_each_is_made_again_from_its_configuration(self):
        import json

        for make, arguments in self.MADE:
            with self.subTest(make, **arguments):
                metric = make(name="mine", **arguments)
                config = metrics.serialize(metric)
                again = metrics.deserialize(json.loads(json.dumps(config)))
                self.assertIs(type(again), make)
                self.assertEqual(json.dumps(again.get_config()), json.dumps(metric.get_config()))
                self.assertEqual(again.name, "mine")
                for name, value in arguments.items():
                    self.assertEqual(json.dumps(metric.get_config()[name]), json.dumps(value))

    def test_a_reset_forgets_everything(self):
        for make, arguments in self.MADE:
            metric = make(**arguments)
            with self.subTest(metric):
                for kind in (lambda: metric.update_state(LABELS[0][0, :2]), lambda: metric.update_state(CLASSES[0], GUESSES[0]),
                             lambda: metric.update_state(LABELS[0], PREDICTIONS[0]), lambda: metric.update_state(CLASSES[0],
                                                                                                                 PREDICTIONS[0])):
                    try:
                        kind()
                        break
                    except (TypeError, ValueError, IndexError):
                        continue
                self.assertTrue(any(np.any(each.numpy()) for each in metric.variables))
                metric.reset_state()
                self.assertFalse(any(np.any(each.numpy()) for each in metric.variables))

    def test_state_of_others_is_added(self):
        one, two, three = (metrics.AUC() for _ in range(3))
        both = over_batches(metrics.AUC(), LABELS[:2], PREDICTIONS[:2])
        one(LABELS[0], PREDICTIONS[0])
        two(LABELS[1], PREDICTIONS[1])
        three.merge_state([one, two])
        self.assertEqual(float(three.result()), float(both))
        with self.assertRaisesRegex(ValueError, "has other variables than"):
            three.merge_state([metrics.AUC(7)])

    def test_a_call_updates_and_returns_what_came_of_it(self):
        mean = metrics.Mean()
        self.assertEqual([float(mean(value)) for value in (1., 3., 5.)], [1., 2., 3.])

    def test_names_tell_metrics_apart(self):
        first, second = metrics.AUC(), metrics.AUC()
        self.assertRegex(first.name, "^auc(_[0-9]+)?$")
        self.assertNotEqual(first.name, second.name)
        self.assertEqual(metrics.Mean("loss").total.name, "loss/total:0")
        self.assertEqual(repr(metrics.Mean("loss")), "<Mean name=loss>")
        self.assertFalse(metrics.Mean().total.trainable)

    def test_a_subclass_says_how_its_variables_change(self):
        class Largest(metrics.Metric):
            def __init__(self, name="largest", **kwargs):
                super().__init__(name=name, **kwargs)
                self.largest = self.add_weight(name="largest", initializer="zeros")
                self.seen = self.add_weight("seen", shape=(2,), initializer="ones", dtype="int32")

            def update_state(self, values, sample_weight=None):
                self.largest.assign(tf.maximum(self.largest, tf.reduce_max(values)))

            def result(self):
                return self.largest

        largest = Largest()
        self.assertEqual(float(largest([1., 5., 2.])), 5.)
        self.assertEqual(float(largest([3.])), 5.)
        self.assertEqual(largest.seen.numpy().tolist(), [1, 1])
        self.assertEqual([each.name for each in largest.variables], ["largest/largest:0", "largest/seen:0"])
        largest.reset_states()
        self.assertEqual(float(largest.result()), 0.)
        with self.assertRaisesRegex(NotImplementedError, "Metric does not define update_state"):
            metrics.Metric()(1.)

        class Forgetful(metrics.Metric):
            def __init__(self):
                self.total = self.add_weight(name="total")

        with self.assertRaisesRegex(RuntimeError, r"does not call super\(\).__init__"):
            Forgetful()

    def test_metrics_in_attributes_share_their_variables_with_the_outer_one(self):
        class Both(metrics.Metric):
            def __init__(self):
                super().__init__(name="both")
                self.parts = [metrics.Mean(), metrics.Sum()]

            def update_state(self, values):
                for part in self.parts:
                    part.update_state(values)

            def result(self):
                return self.parts[0].result() + self.parts[1].result()

        both = Both()
        self.assertEqual(float(both([1., 3.])), 6.)
        self.assertEqual(len(both.variables), 3)
        both.reset_state()
        self.assertEqual(float(both.result()), 0.)

    def test_a_function_becomes_a_metric(self):
        metric = metrics.MeanMetricWrapper(lambda y, p, power: abs(p - y)**power, name="own", power=3)
        metric(np.zeros(2), np.array([1., 2.]), sample_weight=[1., 3.])
        self.assertEqual(float(metric.result()), 25 / 4)
        again = metrics.deserialize(metrics.serialize(metrics.MeanMetricWrapper(metrics.mean_absolute_error)))
        self.assertEqual(float(again([[1.]], [[3.]])), 2.)

    def test_names_find_classes_and_functions(self):
        self.assertIsInstance(metrics.get("mse"), metrics.MeanSquaredError)
        self.assertIsInstance(metrics.get("AUC"), metrics.AUC)
        self.assertIsInstance(metrics.get("categorical_accuracy"), metrics.CategoricalAccuracy)
        self.assertIsInstance(metrics.get({"class_name": "Recall", "config": {"thresholds": .3}}), metrics.Recall)
        self.assertIsNone(metrics.get(None))
        self.assertIs(metrics.get(math.hypot), math.hypot)
        with self.assertRaisesRegex(ValueError, "has no 'acuracy'; nearest: 'accuracy'"):
            metrics.get("acuracy")

    def test_tf_metrics_are_these_and_the_first_ones_functions_say_what_to_use(self):
        self.assertIs(tf.metrics.AUC, metrics.AUC)
        for name, instead in [("accuracy", "Accuracy"), ("mean", "Mean"), ("auc", "AUC"), ("precision_at_k", "Precision"),
                              ("percentage_below", "Metric")]:
            with self.assertRaisesRegex(AttributeError, f"tf.metrics.{name}: .*graph.*tf.keras.metrics.{instead}"):
                getattr(tf.metrics, name)
        with self.assertRaisesRegex(AttributeError, r"tf\.metrics\.nothing is not in Tapedeck"):
            tf.metrics.nothing

    def test_the_number_of_threads_changes_no_bit(self):
        y, p = (generator.rand(20000) > .5).astype(np.float32), generator.rand(20000).astype(np.float32)
        results = []
        for threads in (1, 2):
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            metric = metrics.AUC(curve="PR")
            metric(y, p, sample_weight=p)
            results.append(metric.result().numpy().tobytes())
        self.assertEqual(results[0], results[1])


if __name__ == "__main__":
    unittest.main()
