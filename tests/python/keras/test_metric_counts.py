"""Metrics of counts of rights and wrongs: at thresholds, of whole curves, of classes; against counts by NumPy."""
import itertools
import unittest

import numpy as np

import tapedeck as tf
from metric_batches import (CLASSES, EPSILON, generator, GUESSES, LABELS, over_batches, PREDICTIONS, ratio, together,
                            WEIGHTS)

metrics = tf.keras.metrics


def counted(y, p, thresholds, w=None):
    """(true positives, false positives, true negatives, false negatives), one for each threshold."""
    w = np.ones_like(y) if w is None else np.broadcast_to(w.reshape(w.shape + (1,) * (y.ndim - w.ndim)), y.shape)
    kinds = [(lambda above: above & (y != 0)), (lambda above: above & (y == 0)), (lambda above: ~above & (y == 0)),
             (lambda above: ~above & (y != 0))]
    return [np.array([w[kind(p > threshold)].sum() for threshold in thresholds]) for kind in kinds]


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


if __name__ == "__main__":
    unittest.main()
