"""What metrics keep: their variables, resets, merges, configurations and names, and metrics of a program's own."""
import math
import unittest

import numpy as np

import tapedeck as tf
from metric_batches import CLASSES, generator, GUESSES, LABELS, over_batches, PREDICTIONS

metrics = tf.keras.metrics


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
