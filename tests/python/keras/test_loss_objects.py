"""tf.keras.losses' classes: weights and reductions, dtypes, masks, configurations and names, and what they leave in records."""
import itertools
import json
import re
import unittest

import numpy as np

import tapedeck as tf
from loss_references import CLASSES, EXPECTED, values
from tapedeck import _engine
from tapedeck.keras.layers import calls

debug = _engine.debug
losses = tf.keras.losses


class Objects(unittest.TestCase):
    def weights(self, shape):
        """Random weights of every shape that fits values of that shape."""
        generator = np.random.RandomState(7)
        yield 2.5
        for axes in range(1, len(shape) + 1):
            for kept in itertools.product([True, False], repeat=axes):
                yield generator.rand(*(extent if keep else 1 for extent, keep in zip(shape, kept)))
        yield generator.rand(*shape, 1)

    def test_each_is_its_function_weighed_and_reduced(self):
        for name, expected in EXPECTED.items():
            y, p = values((2, 3, 4))
            each = expected(y, p)
            make = getattr(losses, CLASSES[name])
            self.assertAlmostEqual(float(make()(y, p)), each.mean(), 12, name)
            for weights in self.weights(each.shape):
                spread = np.asarray(weights)
                if spread.ndim > each.ndim:
                    spread = spread[..., 0]
                spread = np.broadcast_to(spread.reshape(spread.shape + (1,) * (each.ndim - spread.ndim if spread.ndim else 0)),
                                         each.shape)
                with self.subTest(name, weights=np.shape(weights)):
                    for reduction, wanted in [("sum", (each * spread).sum()), ("sum_over_batch_size", (each * spread).mean()),
                                              ("none", each * spread), (None, each * spread),
                                              ("mean_with_sample_weight", (each * spread).sum() / spread.sum())]:
                        result = make(reduction=reduction)(y, p, sample_weight=weights)
                        np.testing.assert_allclose(result, wanted, rtol=1e-10, err_msg=str(reduction))

    def test_weights_that_fit_no_first_axes_are_refused(self):
        y, p = values((2, 3, 4))
        for shape in [(3,), (4,), (2, 4), (2, 3, 2), (2, 3, 1, 1)]:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                        rf"mean_absolute_error: sample_weight {re.escape(str(shape))} does not fit the values "
                                         r"\(2, 3\)"):
                losses.MeanAbsoluteError()(y, p, sample_weight=np.ones(shape))

    def test_the_loss_of_no_examples_is_zero_and_so_is_its_gradient(self):
        for name in EXPECTED:
            if name in ("dice", "tversky"):
                continue
            p = tf.constant(np.zeros((0, 3), np.float32))
            with self.subTest(name), tf.GradientTape() as tape:
                tape.watch(p)
                loss = getattr(losses, CLASSES[name])()(np.zeros((0, 3), np.float32), p)
            self.assertEqual(loss.numpy(), 0.)
            self.assertEqual(tape.gradient(loss, p).shape, [0, 3])

    def test_what_it_computes_in_is_the_predictions_dtype_or_its_own(self):
        y, p = values()
        self.assertEqual(losses.MeanSquaredError()(y, p).dtype, tf.float64)
        self.assertEqual(losses.MeanSquaredError()(y, p.astype(np.float16)).dtype, tf.float16)
        self.assertEqual(losses.MeanSquaredError(dtype="float32")(y, p).dtype, tf.float32)
        self.assertEqual(losses.Huber(dtype="float64")([[1]], [[3]]).dtype, tf.float64)

    def test_a_squared_error_without_weights_is_one_op_and_so_are_cross_entropies_of_logits(self):
        y, p = (tf.constant(each) for each in values())
        for loss, arguments, ops in [
                (losses.MeanSquaredError(), (y, p), 1), (losses.BinaryCrossentropy(from_logits=True), (y, p), 2),
                (losses.SparseCategoricalCrossentropy(from_logits=True), (tf.constant([0, 1, 2, 0]), p), 2),
                (tf.losses.mean_squared_error, (y, p), 1), (tf.losses.sparse_softmax_cross_entropy, (tf.constant([0, 1, 2, 0]), p),
                                                            2)]:
            self.assertEqual(count_ops(lambda: loss(*arguments)), ops, loss)

    def test_what_a_layers_mask_leaves_out_does_not_count(self):
        data = np.array([[[1., 2.], [0., 0.], [3., 5.]], [[0., 0.], [0., 0.], [4., 4.]]])
        masked, counts = tf.constant(data), np.array([[1, 0, 1], [0, 0, 1]])
        calls.set_mask(masked, tf.constant(counts == 1))  # as a layer does
        y = np.ones((2, 3, 2))
        each = ((data - 1)**2).mean(-1)
        self.assertAlmostEqual(float(losses.MeanSquaredError()(y, masked)), (each * counts).sum() / 3)
        self.assertAlmostEqual(float(losses.MeanSquaredError(reduction="sum")(y, masked)), (each * counts).sum())
        weights = np.array([2., 5.])
        self.assertAlmostEqual(float(losses.MeanSquaredError()(y, masked, sample_weight=weights)),
                               (each * counts * weights[:, None]).sum() / 3)
        metric = tf.keras.metrics.MeanSquaredError(dtype="float64")
        metric(y, masked)
        self.assertAlmostEqual(float(metric.result()), (each * counts).sum() / 3)

    def test_a_subclass_defines_call_and_the_base_reduces(self):
        class Cubes(losses.Loss):
            def call(self, y_true, y_pred):
                return tf.reduce_sum(tf.abs(y_pred - y_true)**3, axis=-1)

        y, p = values()
        each = (np.abs(y - p)**3).sum(-1)
        self.assertEqual(Cubes().name, "cubes")
        np.testing.assert_allclose(Cubes()(y, p, sample_weight=[1., 2., 3., 4.]), (each * [1, 2, 3, 4]).mean())
        np.testing.assert_allclose(Cubes(reduction="sum")(y, p), each.sum())
        self.assertEqual(Cubes("sum", "mine").reduction, "sum")  # Keras 2's order
        with self.assertRaisesRegex(NotImplementedError, "Loss does not define call"):
            losses.Loss()(y, p)
        with self.assertRaisesRegex(ValueError, "Cubes: reduction is 'average'; must be one of 'sum_over_batch_size', 'sum'"):
            Cubes(reduction="average")

    def test_each_is_made_again_from_its_configuration(self):
        y, p = values()
        for make, arguments in [(getattr(losses, name), {}) for name in CLASSES.values()] + [
                (losses.Huber, {"delta": .1, "name": "h", "reduction": "sum"}), (losses.Tversky, {"alpha": .1, "beta": .9}),
                (losses.BinaryCrossentropy, {"label_smoothing": .25}), (losses.CosineSimilarity, {"axis": 0})]:
            loss = make(**arguments)
            again = losses.deserialize(losses.serialize(loss))
            self.assertIs(type(again), make)
            self.assertEqual(again.get_config(), loss.get_config())
            np.testing.assert_array_equal(again(y, p), loss(y, p))
        self.assertEqual(losses.deserialize({"class_name": "Huber", "config": {"delta": 3.}}).get_config()["delta"], 3.)

    def test_names_of_functions_and_classes_find_them(self):
        self.assertIs(losses.get("mse"), losses.mean_squared_error)
        self.assertIs(losses.get("MSE"), losses.mean_squared_error)
        self.assertIsInstance(losses.get("CategoricalCrossentropy"), losses.CategoricalCrossentropy)
        self.assertIsInstance(losses.get(losses.Huber), losses.Huber)
        self.assertIs(losses.get(abs), abs)
        self.assertIsNone(losses.get(None))
        self.assertIs(losses.deserialize(losses.serialize(losses.mae)), losses.mae)
        self.assertIs(losses.deserialize("own", {"own": abs}), abs)
        with self.assertRaisesRegex(ValueError, "has no 'hubber'; nearest: 'huber'"):
            losses.get("hubber")
        with self.assertRaisesRegex(ValueError, "identifier is 3"):
            losses.get(3)

    def test_records_stand_in_a_scope_of_the_losss_name(self):
        with tf.name_scope("outer"):
            self.assertEqual(scopes(lambda: losses.Huber(name="error")(*values())), {"outer/error"})
        with self.assertRaises(ValueError):
            losses.MeanAbsoluteError()(np.ones((2, 2)), np.ones((3, 3)))
        self.assertEqual(scopes(lambda: tf.constant(1.) + 1.), {""})  # an error leaves no scope behind


class Records:
    """Records of what the function runs."""

    def __init__(self, function):
        debug.attach()
        try:
            debug.begin_cell("losses", __file__)
            function()
            debug.end_cell()
            self.records = json.loads(debug.records_json())
        finally:
            debug.stop()


def count_ops(function):
    return len(Records(function).records)


def scopes(function):
    return {each.get("scope", "") for each in Records(function).records}


if __name__ == "__main__":
    unittest.main()
