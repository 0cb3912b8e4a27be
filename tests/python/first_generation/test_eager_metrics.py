"""tfe.metrics and tfe.Evaluator: eager execution's first interface, as TensorFlow 1.5 has it."""
import tempfile
import unittest

import event_reader
import numpy as np

import tapedeck as tf
from tapedeck import tfe
from tapedeck.contrib import summary


class Means(unittest.TestCase):
    def test_values_of_all_shapes_count_each(self):
        mean = tfe.metrics.Mean()
        for values in ([1, 10, 100], 1000, [[10000., 100000.]]):
            self.assertIsNone(mean(values))
        self.assertEqual(float(mean.result()), 111111. / 6)
        self.assertEqual((mean.dtype, mean.result().dtype), (tf.float64, tf.float64))

    def test_weights_broadcast(self):
        mean = tfe.metrics.Mean()
        mean([1, 100, 100000], weights=[1, .2, .3])
        mean([500000, 5000, 500])
        self.assertAlmostEqual(float(mean.result()), 535521 / 4.5)
        scalar = tfe.metrics.Mean()
        scalar([[1., 2.]], weights=[[1.], [3.]])
        self.assertEqual(float(scalar.result()), (1 + 2 + 3 * 1 + 3 * 2) / 4)

    def test_the_sums_have_the_dtype_that_is_asked_for(self):
        mean = tfe.metrics.Mean(dtype=tf.float32)
        mean([0, 2])
        self.assertEqual((float(mean.result()), mean.dtype, mean.result().dtype), (1., tf.float32, tf.float32))

    def test_variables_are_set_back_to_what_they_were(self):
        mean = tfe.metrics.Mean()
        mean([1, 10])
        mean.init_variables()
        mean(7)
        self.assertEqual(float(mean.result()), 7.)

    def test_names_are_never_shared(self):
        first, second = (tfe.metrics.Mean("has space") for _ in range(2))
        second(2)
        first(0)
        self.assertEqual((first.name, first.numer.name), ("has space", "has_space/numer:0"))
        self.assertEqual((second.name, second.numer.name), ("has space_1", "has_space_1/numer:0"))
        self.assertEqual([float(each.result()) for each in (first, second)], [0., 2.])
        self.assertNotEqual(tfe.metrics.Mean().name, tfe.metrics.Mean().name)
        with tf.name_scope("outer"):
            inner = tfe.metrics.Mean("inner")
            inner(1.)
        self.assertEqual(inner.numer.name, "inner/numer:0")

    def test_results_are_written_in_a_context_that_records(self):
        mean = tfe.metrics.Mean("loss of summary")
        mean([1, 10, 100])
        with tempfile.TemporaryDirectory() as folder:
            step = tf.train.get_or_create_global_step()
            step.assign(12)
            with summary.create_summary_file_writer(folder, max_queue=0).as_default():
                mean.result()
                with summary.always_record_summaries():
                    mean.result()
                    mean.result(write_summary=False)
            (event,) = event_reader.events(folder)
        self.assertEqual((event.step, event.values[0].tag, event.values[0].simple), (12, "loss_of_summary", 37.))


class Accuracies(unittest.TestCase):
    def test_labels_equal_predictions(self):
        accuracy = tfe.metrics.Accuracy()
        accuracy([0, 1, 2, 3], [0, 0, 0, 0])
        for label, prediction in [([4], [4]), ([5], [0]), ([6], [6]), ([7], [2])]:
            accuracy(labels=label, predictions=prediction)
        self.assertEqual(float(accuracy.result()), 3 / 8)
        weighted = tfe.metrics.Accuracy()
        weighted([0, 1, 2, 3], [0, 0, 0, 0], weights=[1, 1, 0, 0])
        weighted([4], [4], weights=[.5])
        self.assertEqual(float(weighted.result()), 1.5 / 2.5)
        with self.assertRaisesRegex(ValueError, r"Shapes of labels \(2,\) and predictions \(3,\) are incompatible"):
            accuracy([1, 2], [1, 2, 3])

    def test_classes_are_right_by_values_by_numbers_and_by_sides_of_a_threshold(self):
        generator = np.random.RandomState(0)
        labels, predictions, weights = generator.rand(9, 3), generator.rand(9, 3), generator.rand(9)
        right = labels.argmax(-1) == predictions.argmax(-1)
        for make, given, each in [
                (tfe.metrics.CategoricalAccuracy, labels, right), (tfe.metrics.SparseAccuracy, labels.argmax(-1), right),
                (lambda: tfe.metrics.BinaryAccuracy(.4), labels[:, 0] > .5, (labels[:, 0] > .5) == (predictions[:, 0] > .4))]:
            metric, weighted = make(), make()
            data = predictions[:, 0] if given.dtype == bool else predictions
            metric(given, data)
            weighted(given, data, weights=weights)
            self.assertAlmostEqual(float(metric.result()), each.mean())
            self.assertAlmostEqual(float(weighted.result()), np.average(each, weights=weights))


class Own(unittest.TestCase):
    def test_a_subclass_builds_at_the_first_call(self):
        calls = []

        class Largest(tfe.metrics.Metric):
            def build(self, values, offset=0.):
                calls.append((np.shape(values), offset))
                self.largest = self.add_variable("largest", (2,), tf.float32, tf.constant_initializer(-1e30))
                self.count = self.add_variable("count", dtype=tf.int64)

            def call(self, values, offset=0.):
                self.largest.assign(tf.maximum(self.largest, tf.reduce_max(values) + offset))
                self.count.assign_add(1)
                return "returned"

            def result(self):
                return self.largest

        largest = Largest()
        self.assertEqual(largest.variables, [])
        self.assertEqual(largest([1., 5.], offset=1.), "returned")
        largest([3.])
        self.assertEqual(calls, [((2,), 1.)])
        self.assertEqual((largest.result().numpy().tolist(), int(largest.count)), ([6., 6.], 2))
        self.assertEqual([each.name for each in largest.variables], ["Largest/largest:0", "Largest/count:0"])
        self.assertFalse(largest.largest.trainable)
        largest.init_variables()
        self.assertEqual(largest.largest.numpy().tolist(), [np.float32(-1e30)] * 2)
        for metric in (largest, Largest()):
            with self.assertRaisesRegex(RuntimeError, r"Can't call add_variable\(\) except in build\(\)."):
                metric.add_variable("more")

    def test_what_is_not_defined_says_so(self):
        class Built(tfe.metrics.Metric):
            def build(self, *args):
                pass

        for action, text in [(lambda: tfe.metrics.Metric()(1.), r"must define a build\(\)"),
                             (lambda: Built()(1.), r"must define a call\(\)"),
                             (lambda: Built().result(), r"must define a result\(\)")]:
            with self.assertRaisesRegex(NotImplementedError, text):
                action()

    def test_metrics_of_one_class_add_up(self):
        one, two, three = (tfe.metrics.Mean() for _ in range(3))
        for metric, values in ((one, [1.]), (two, [2., 3.]), (three, [10.])):
            metric(values)
        one.aggregate([two, three])
        self.assertEqual(float(one.result()), 4.)
        with self.assertRaisesRegex(TypeError, "All metrics must be the same type"):
            one.aggregate([tfe.metrics.Accuracy()])
        with self.assertRaisesRegex(ValueError, "must have variables in the same order"):
            one.aggregate([tfe.metrics.Mean()])


class Model:
    def eval_data(self, batch):
        return {"loss": batch[0], "label": batch[1], "predicted_class": batch[2],
                **({"weights": batch[3]} if len(batch) > 3 else {})}


BATCHES = [([1., 3.], [0, 1], [0, 0]), ([5.], [2], [2])]


class Evaluators(unittest.TestCase):
    def test_a_softmax_models_loss_and_accuracy_are_averaged(self):
        evaluator = tfe.SparseSoftmaxEvaluator(Model())
        results = evaluator.evaluate_on_dataset(BATCHES)
        self.assertEqual({name.rstrip("_0123456789"): float(value) for name, value in results.items()},
                         {"Avg Loss": 3., "Accuracy": 2 / 3})
        self.assertEqual(len(evaluator.metric_variables), 4)
        evaluator(([7.], [1], [0], [0.]))
        self.assertEqual(float(evaluator.avg_loss.result()), 3.)

    def test_results_are_written_into_a_folder(self):
        evaluator = tfe.SparseSoftmaxEvaluator(Model())
        with tempfile.TemporaryDirectory() as folder:
            evaluator.evaluate_on_dataset(BATCHES, summary_logdir=folder)
            found = [value.simple for event in event_reader.events(folder) for value in event.values]
        np.testing.assert_allclose(found, [3., 2 / 3], rtol=1e-6)

    def test_evaluators_inside_have_a_prefix(self):
        class Outer(tfe.Evaluator):
            def __init__(self, model):
                super().__init__(model)
                self.inner = self.track_evaluator("inner", tfe.SparseSoftmaxEvaluator(model))
                self.own = self.track_metric(tfe.metrics.Mean("own"))

            def call(self, eval_data):
                self.own(eval_data["loss"])
                self.inner.call(eval_data)

        outer = Outer(Model())
        outer(BATCHES[0])
        names = [name.rstrip("_0123456789") for name in outer.all_metric_results()]
        self.assertEqual(names, ["own", "inner/Avg Loss", "inner/Accuracy"])
        self.assertEqual([prefix for prefix, _ in outer.metrics], ["", "inner/", "inner/"])
        self.assertIs(outer.model, outer.inner.model)
        with self.assertRaisesRegex(RuntimeError, "same prefix 'inner'"):
            outer.track_evaluator("inner", tfe.SparseSoftmaxEvaluator(Model()))
        with self.assertRaisesRegex(TypeError, "not a tfe.Evaluator"):
            outer.track_evaluator("x", 3)

    def test_metrics_belong_to_one_evaluator(self):
        evaluator, mean = tfe.Evaluator(Model()), tfe.metrics.Mean("mine")
        self.assertIs(evaluator.track_metric(mean), mean)
        self.assertIs(evaluator.track_metric(mean), mean)
        with self.assertRaisesRegex(ValueError, "Metric mine already added to Evaluator Evaluator"):
            tfe.Evaluator(Model()).track_metric(mean)
        with self.assertRaisesRegex(TypeError, "not a tfe.metrics.Metric"):
            evaluator.track_metric(3)
        with self.assertRaisesRegex(NotImplementedError, "must define a call"):
            evaluator(BATCHES[0])
        for action in (evaluator.init_variables, lambda: evaluator.run_evaluation(None, None, None)):
            with self.assertRaisesRegex(RuntimeError, "when eager execution is enabled"):
                action()


if __name__ == "__main__":
    unittest.main()
