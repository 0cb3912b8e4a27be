"""tf.keras.losses and tf.losses, against computations of NumPy's own and finite differences."""
import itertools
import json
import re
import unittest

import numpy as np
from scipy import special

import tapedeck as tf
from tapedeck import _engine
from tapedeck.keras.layers import calls

debug = _engine.debug
losses = tf.keras.losses
EPSILON = 1e-7


def normalized(x, axis=-1):
    return x / np.sqrt((x**2).sum(axis, keepdims=True))


def logit_loss(y, x):
    return np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))


def clipped(p):
    return np.clip(p, EPSILON, 1 - EPSILON)


def cross(y, p):
    return -(y * np.log(clipped(p)) + (1 - y) * np.log(1 - clipped(p)))


def shares(p):
    return clipped(p / p.sum(-1, keepdims=True))


def signs(y):
    return 2 * y - 1 if set(np.unique(y)) <= {0, 1} else y


# Each loss per example, of y_true and y_pred in (0, 1), as NumPy has it.
EXPECTED = {
    "mean_squared_error": lambda y, p: ((y - p)**2).mean(-1),
    "mean_absolute_error": lambda y, p: np.abs(y - p).mean(-1),
    "mean_absolute_percentage_error": lambda y, p: 100 * (np.abs(y - p) / np.maximum(np.abs(y), EPSILON)).mean(-1),
    "mean_squared_logarithmic_error": lambda y, p: (np.log((1 + y) / (1 + p))**2).mean(-1),
    "cosine_similarity": lambda y, p: -(normalized(y) * normalized(p)).sum(-1),
    "huber": lambda y, p: np.where(np.abs(y - p) <= 1, (y - p)**2 / 2, np.abs(y - p) - .5).mean(-1),
    "log_cosh": lambda y, p: np.log(np.cosh(p - y)).mean(-1),
    "hinge": lambda y, p: np.maximum(0, 1 - signs(y) * p).mean(-1),
    "squared_hinge": lambda y, p: (np.maximum(0, 1 - signs(y) * p)**2).mean(-1),
    "categorical_hinge": lambda y, p: np.maximum(0, 1 + ((1 - y) * p).max(-1) - (y * p).sum(-1)),
    "kl_divergence": lambda y, p: special.rel_entr(y, p).sum(-1),
    "poisson": lambda y, p: (p - y * np.log(p + EPSILON)).mean(-1),
    "binary_crossentropy": lambda y, p: cross(y, p).mean(-1),
    "binary_focal_crossentropy": lambda y, p: ((1 - y * p - (1 - y) * (1 - p))**2 * cross(y, p)).mean(-1),
    "categorical_crossentropy": lambda y, p: -(y * np.log(shares(p))).sum(-1),
    "categorical_focal_crossentropy": lambda y, p: -(.25 * (1 - shares(p))**2 * y * np.log(shares(p))).sum(-1),
    "dice": lambda y, p: 1 - 2 * (y * p).sum() / (y.sum() + p.sum() + EPSILON),
    "tversky": lambda y, p: 1 - (y * p).sum() / ((y * p).sum() + .5 * (y * (1 - p)).sum() + .5 * ((1 - y) * p).sum() + EPSILON),
}
CLASSES = {
    "mean_squared_error": "MeanSquaredError", "mean_absolute_error": "MeanAbsoluteError", "huber": "Huber", "log_cosh": "LogCosh",
    "mean_absolute_percentage_error": "MeanAbsolutePercentageError", "hinge": "Hinge", "squared_hinge": "SquaredHinge",
    "mean_squared_logarithmic_error": "MeanSquaredLogarithmicError", "cosine_similarity": "CosineSimilarity", "poisson": "Poisson",
    "categorical_hinge": "CategoricalHinge", "kl_divergence": "KLDivergence", "binary_crossentropy": "BinaryCrossentropy",
    "binary_focal_crossentropy": "BinaryFocalCrossentropy", "categorical_crossentropy": "CategoricalCrossentropy",
    "categorical_focal_crossentropy": "CategoricalFocalCrossentropy", "dice": "Dice", "tversky": "Tversky",
}


def values(shape=(4, 3), dtype=np.float64, seed=0):
    generator = np.random.RandomState(seed)
    return generator.uniform(.05, .95, shape).astype(dtype), generator.uniform(.05, .95, shape).astype(dtype)


def slope(function, x, place, step=1e-6):
    """The derivative with respect to one element."""
    ends = []
    for sign in (1, -1):
        moved = x.copy()
        moved[place] += sign * step
        ends.append(function(moved))
    return (ends[0] - ends[1]) / (2 * step)


class Functions(unittest.TestCase):
    def test_each_is_what_numpy_says_for_matrices_and_batches_of_matrices(self):
        for (name, expected), shape in itertools.product(EXPECTED.items(), [(4, 3), (1, 5), (2, 3, 4)]):
            with self.subTest(name, shape=shape):
                y, p = values(shape)
                np.testing.assert_allclose(getattr(losses, name)(y, p), expected(y, p), rtol=1e-12)

    def test_real_numbers_keep_their_dtype_and_whole_numbers_become_float32(self):
        for (name, expected), (dtype, error) in itertools.product(EXPECTED.items(), [(np.float16, 2e-2), (np.float32, 2e-5)]):
            with self.subTest(name, dtype=dtype):
                y, p = values(dtype=dtype)
                result = getattr(losses, name)(y.astype(np.float64), p)
                self.assertEqual(result.dtype, dtype)
                np.testing.assert_allclose(result, expected(y.astype(float), p.astype(float)), rtol=error, atol=error / 10)
        self.assertEqual(losses.mse([[1, 2]], [[3, 5]]).numpy().tolist(), [6.5])
        self.assertEqual(losses.mse([[1, 2]], [[3, 5]]).dtype, tf.float32)

    def test_from_logits_the_losses_are_those_of_probabilities_and_stay_finite_far_out(self):
        y, x = values()
        x = (x - .5) * 12
        np.testing.assert_allclose(losses.binary_crossentropy(y, x, from_logits=True), logit_loss(y, x).mean(-1), rtol=1e-12)
        softmax = special.softmax(x, -1)
        np.testing.assert_allclose(losses.categorical_crossentropy(y / y.sum(-1, keepdims=True), x, from_logits=True),
                                   -(y / y.sum(-1, keepdims=True) * np.log(softmax)).sum(-1), rtol=1e-12)
        np.testing.assert_allclose(losses.sparse_categorical_crossentropy([0, 1, 2, 0], x, from_logits=True),
                                   -np.log(softmax[range(4), [0, 1, 2, 0]]), rtol=1e-12)
        np.testing.assert_allclose(losses.binary_focal_crossentropy(y, x, from_logits=True),
                                   EXPECTED["binary_focal_crossentropy"](y, special.expit(x)), rtol=1e-12)
        np.testing.assert_allclose(losses.categorical_focal_crossentropy(y, x, from_logits=True),
                                   EXPECTED["categorical_focal_crossentropy"](y, softmax), rtol=1e-12)
        far = losses.binary_crossentropy([[0., 1.]], [[1000., -1000.]], from_logits=True)
        self.assertEqual(far.numpy().tolist(), [1000.])

    def test_perfect_predictions_cost_next_to_nothing_in_every_dtype(self):
        right = np.eye(3)
        for dtype, most in [("float16", 2e-3), ("bfloat16", 2e-2), ("float32", 1e-6), ("float64", 1e-6)]:
            for name in ["binary_crossentropy", "binary_focal_crossentropy", "categorical_crossentropy",
                         "categorical_focal_crossentropy", "sparse_categorical_crossentropy"]:
                p = tf.cast(tf.constant(right), dtype)
                with self.subTest(name, dtype=dtype), tf.GradientTape() as tape:
                    tape.watch(p)
                    loss = getattr(losses, name)([0, 1, 2] if name.startswith("sparse") else right, p)
                self.assertLess(float(tf.reduce_max(tf.abs(tf.cast(loss, "float64")))), most)
                self.assertTrue(np.isfinite(tf.cast(tape.gradient(loss, p), "float32")).all())

    def test_smoothed_labels_are_drawn_towards_all_classes_alike(self):
        y, p = values()
        np.testing.assert_allclose(losses.binary_crossentropy(y, p, label_smoothing=.2), cross(y * .8 + .1, p).mean(-1))
        np.testing.assert_allclose(losses.categorical_crossentropy(y, p, label_smoothing=.3),
                                   EXPECTED["categorical_crossentropy"](y * .7 + .1, p))
        np.testing.assert_allclose(losses.categorical_crossentropy(y.T, p.T, label_smoothing=.3, axis=0),
                                   EXPECTED["categorical_crossentropy"](y * .7 + .1, p))

    def test_sparse_labels_may_be_floats_have_a_last_axis_and_stand_along_any_axis(self):
        p = values((2, 3, 4))[1]
        labels = np.array([[0, 3, 1], [2, 2, 0]])
        expected = -np.log(np.take_along_axis(clipped(p) / clipped(p).sum(-1, keepdims=True), labels[..., None], -1)[..., 0])
        for given in (labels, labels.astype(float), labels[..., None], labels.astype(np.uint8)):
            np.testing.assert_allclose(losses.sparse_categorical_crossentropy(given, p), expected)
        np.testing.assert_allclose(losses.sparse_categorical_crossentropy(labels, p.transpose(0, 2, 1), axis=1), expected)

    def test_an_ignored_class_costs_nothing_and_is_left_out_of_the_mean(self):
        p = values((4, 3))[1]
        labels = np.array([0, -1, 2, -1])
        each = losses.sparse_categorical_crossentropy(labels, p, ignore_class=-1).numpy()
        self.assertTrue(each[[0, 2]].all() and not each[[1, 3]].any())
        mean = losses.SparseCategoricalCrossentropy(ignore_class=-1)(labels, p)
        self.assertAlmostEqual(float(mean), each.sum() / 2)
        self.assertEqual(float(losses.SparseCategoricalCrossentropy(ignore_class=-1)([-1] * 4, p)), 0.)
        weighted = losses.SparseCategoricalCrossentropy(ignore_class=-1)(labels, p, sample_weight=[1., 2., 3., 4.])
        self.assertAlmostEqual(float(weighted), (each[0] + 3 * each[2]) / 2)

    def test_huber_goes_on_in_a_line_beyond_delta(self):
        y, p = np.zeros((1, 3)), np.array([[.5, -2., 4.]])
        self.assertAlmostEqual(losses.huber(y, p, delta=2.).numpy()[0], (.125 + 2. + 6.) / 3)

    def test_labels_of_zero_and_one_are_signs_to_hinge_losses(self):
        p = values()[1]
        zeros_and_ones = np.array([[0., 1, 1]] * 4)
        np.testing.assert_allclose(losses.hinge(zeros_and_ones, p), losses.hinge(2 * zeros_and_ones - 1, p))

    def test_a_last_axis_of_one_is_dropped_or_added(self):
        y, p = values((4,))
        self.assertEqual(losses.mean_squared_error(y[:, None], p).shape, [4])
        np.testing.assert_allclose(losses.MeanSquaredError()(y[:, None], p), ((y - p)**2).mean())

    def test_tversky_and_dice_go_along_the_axes_that_are_named(self):
        y, p = values((2, 3, 4))
        both = (y * p).sum((1, 2))
        np.testing.assert_allclose(losses.dice(y, p, axis=(1, 2)), 1 - 2 * both / (y.sum((1, 2)) + p.sum((1, 2)) + EPSILON))
        np.testing.assert_allclose(losses.tversky(y, p, .3, .7, axis=(1, 2)),
                                   1 - both / (both + .3 * (y * (1 - p)).sum((1, 2)) + .7 * ((1 - y) * p).sum((1, 2)) + EPSILON))

    def test_circle_compares_each_example_with_the_others_of_its_class_and_of_others(self):
        labels = np.array([0, 1, 1, 0, 2])
        x = normalized(np.random.RandomState(3).randn(5, 4))
        gamma, margin = 3., .4
        expected = []
        for i in range(5):
            near = [1 - x[i] @ x[j] for j in range(5) if j != i and labels[j] == labels[i]]
            far = [1 - x[i] @ x[j] for j in range(5) if labels[j] != labels[i]]
            positive = sum(np.exp(-gamma * max(0, margin + d) * (margin - d)) for d in near)
            negative = sum(np.exp(gamma * max(0, 1 + margin - d) * (1 - margin - d)) for d in far)
            expected.append(np.log1p(positive * negative))
        result = losses.circle(labels, x, gamma=gamma, margin=margin)
        np.testing.assert_allclose(result, expected, rtol=1e-10)
        self.assertEqual(expected[4], 0.)  # it has no other of its class
        self.assertAlmostEqual(float(losses.Circle(gamma=gamma)(labels, x)), sum(expected) / 4)
        variable = tf.Variable(x)
        with tf.GradientTape() as tape:
            loss = losses.Circle(gamma=gamma)(labels, variable)
        self.assertTrue(np.isfinite(tape.gradient(loss, variable)).all())

    def test_the_generalized_cross_entropy_is_the_power_of_the_right_ones_probability(self):
        p = values()[1]
        np.testing.assert_allclose(losses.categorical_generalized_cross_entropy([0, 2, 1, 1], p, .7),
                                   (1 - p[range(4), [0, 2, 1, 1]]**.7) / .7)
        with self.assertRaisesRegex(ValueError, "q is 1.5"):
            losses.CategoricalGeneralizedCrossEntropy(1.5)

    def test_gradients_are_those_of_finite_differences(self):
        for name in EXPECTED:
            y, p = values((2, 3), seed=5)
            with self.subTest(name):
                for argument in (0, 1):
                    given = [tf.constant(y), tf.constant(p)]
                    with tf.GradientTape() as tape:
                        tape.watch(given[argument])
                        total = tf.reduce_sum(getattr(losses, name)(*given))
                    gradient = tape.gradient(total, given[argument]).numpy()

                    def value(moved):
                        return EXPECTED[name](*((moved, p) if argument == 0 else (y, moved))).sum()

                    for place in np.ndindex(2, 3):
                        self.assertAlmostEqual(gradient[place], slope(value, (y, p)[argument], place), 5, f"{argument} {place}")

    def test_shapes_that_do_not_fit_are_refused_by_name(self):
        for name in EXPECTED:
            with self.subTest(name), self.assertRaisesRegex(ValueError,
                                                            name.replace("squared_hinge", "hinge") + r".*\(4, 3\).*\(4, 2\)"):
                getattr(losses, name)(np.ones((4, 3)), np.ones((4, 2)))
        with self.assertRaisesRegex(ValueError,
                                    r"y_true \(3,\) and y_pred \(4, 3\); y_true needs the shape of y_pred without axis 1"):
            losses.sparse_categorical_crossentropy([0, 1, 2], np.ones((4, 3)))
        with self.assertRaisesRegex(ValueError, "axis is True; needs a whole number"):
            losses.categorical_crossentropy(np.ones((4, 3)), np.ones((4, 3)), axis=True)
        with self.assertRaisesRegex(ValueError, "scalars"):
            losses.categorical_crossentropy(1., 1.)


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
                                         f"\(2, 3\)"):
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
