"""tf.keras.losses' functions, against computations of NumPy's own and finite differences."""
import itertools
import unittest

import numpy as np
from scipy import special

import tapedeck as tf
from loss_references import clipped, cross, EPSILON, EXPECTED, logit_loss, normalized, slope, values

losses = tf.keras.losses


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
        with self.assertRaisesRegex(ValueError, "axis is True; needs an integer"):
            losses.categorical_crossentropy(np.ones((4, 3)), np.ones((4, 3)), axis=True)
        with self.assertRaisesRegex(ValueError, "scalars"):
            losses.categorical_crossentropy(1., 1.)


if __name__ == "__main__":
    unittest.main()
