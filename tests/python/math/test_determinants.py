"""Gradients of determinants at singular matrices and beside them, where the matrix has no inverse to use."""
import unittest

import numpy as np

import tapedeck as tf

rng = np.random.default_rng(5)
DTYPES = ((np.float64, 1e-12), (np.float32, 1e-5))


def cofactors(a):
    """By the definition, in float64."""
    n = len(a)
    out = np.empty((n, n))
    for i, j in np.ndindex(n, n):
        rest = np.delete(np.delete(a, i, 0), j, 1).astype(np.float64)
        out[i, j] = (-1) ** (i + j) * (np.linalg.det(rest) if n > 1 else 1.0)
    return out


def of_rank(n, rank, smallest=1.0):
    """n × n with singular values 2, 1, 1 …; the last one that is not 0 is `smallest`."""
    u, _ = np.linalg.qr(rng.standard_normal((n, n)))
    v, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = np.zeros(n)
    values[:rank] = 1.0
    values[0] = 2.0
    if rank:
        values[rank - 1] = smallest
    return u @ np.diag(values) @ v.T


def gradient(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


class Determinant(unittest.TestCase):
    def check(self, a, dtype, tolerance):
        ours = gradient(tf.linalg.det, tf.constant(a.astype(dtype)))
        self.assertEqual(ours.dtype.name, np.dtype(dtype).name)
        np.testing.assert_allclose(ours.numpy(), cofactors(a.astype(dtype)), atol=tolerance)

    def test_gradient_at_an_exactly_singular_matrix(self):
        for dtype, tolerance in DTYPES:
            self.check(np.array([[1.0, 2.0], [2.0, 4.0]]), dtype, tolerance)
            self.check(np.array([[0.0]]), dtype, tolerance)
            self.check(np.diag([1.0, 2.0, 0.0]), dtype, tolerance)
            self.check(np.diag([3.0, 0.0, 0.0]), dtype, tolerance)
            self.check(np.zeros((3, 3)), dtype, tolerance)

    def test_gradient_of_rank_n_minus_1_is_of_rank_1_and_of_lower_rank_zero(self):
        for dtype, tolerance in DTYPES:
            for n in (2, 3, 5, 8):
                self.check(of_rank(n, n - 1), dtype, 10 * tolerance)
                self.check(of_rank(n, n - 2), dtype, 10 * tolerance)
        ours = gradient(tf.linalg.det, tf.constant(of_rank(5, 4))).numpy()
        self.assertEqual(np.linalg.matrix_rank(ours, tol=1e-10), 1)
        self.assertGreater(np.abs(ours).max(), 0.1)

    def test_gradient_beside_a_singular_matrix_keeps_its_digits(self):
        for distance in (1e-3, 1e-7, 1e-12, 1e-15, 1e-300):
            for dtype, tolerance in DTYPES:
                self.check(of_rank(6, 6, distance), dtype, 10 * tolerance)

    def test_batches_mix_singular_matrices_with_others(self):
        a = np.stack([np.eye(3), of_rank(3, 2), np.zeros((3, 3)), rng.standard_normal((3, 3))]).reshape(2, 2, 3, 3)
        ours = gradient(lambda x: tf.reduce_sum(tf.linalg.det(x)), tf.constant(a)).numpy()
        for i in np.ndindex(2, 2):
            np.testing.assert_allclose(ours[i], cofactors(a[i]), atol=1e-12)

    def test_a_determinant_that_no_float_holds_has_a_gradient_all_the_same(self):
        a = np.diag(np.array([1e-30, 1e-30, 1e30, 1e30], np.float32))
        ours = gradient(tf.linalg.det, tf.constant(a)).numpy()
        np.testing.assert_allclose(np.diag(ours), np.float32([1e30, 1e30, 1e-30, 1e-30]), rtol=1e-5)

    def test_second_order_at_singular_matrices_equal_singular_values_and_elsewhere(self):
        for a in (of_rank(4, 3), of_rank(4, 2), of_rank(4, 1), np.zeros((2, 2)), np.eye(3), rng.standard_normal((4, 4)),
                  of_rank(4, 4, 1e-13)):
            weights = rng.standard_normal(a.shape)
            ours = gradient(lambda x: tf.reduce_sum(gradient(tf.linalg.det, x) * weights), tf.constant(a)).numpy()
            step = 1e-5
            numeric = np.empty_like(a)
            for i in np.ndindex(a.shape):
                up, down = a.copy(), a.copy()
                up[i] += step
                down[i] -= step
                numeric[i] = np.sum((cofactors(up) - cofactors(down)) * weights) / (2 * step)
            np.testing.assert_allclose(ours, numeric, atol=1e-8)

    def test_nan_gives_nan(self):
        a = np.array([[np.nan, 1.0], [2.0, 3.0]])
        self.assertTrue(np.isnan(gradient(tf.linalg.det, tf.constant(a)).numpy()).all())

    def test_third_order_at_a_singular_matrix_says_what_it_needs(self):
        def second(x):
            return tf.reduce_sum(gradient(lambda y: tf.reduce_sum(gradient(tf.linalg.det, y) ** 2), x))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "beyond the second order"):
            gradient(second, tf.constant(np.diag([1.0, 2.0, 0.0])))


class LogDeterminant(unittest.TestCase):
    def test_the_gradient_at_a_singular_matrix_says_which_and_why(self):
        a = np.stack([np.eye(2), np.ones((2, 2))])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                    r"log_matrix_determinant: input\[1\] is singular: log \|det\| is −∞ there"):
            gradient(lambda x: tf.linalg.slogdet(x)[1], tf.constant(a))
        sign, log = tf.linalg.slogdet(tf.constant(a))
        self.assertEqual((sign.numpy()[1], log.numpy()[1]), (0.0, -np.inf))


if __name__ == "__main__":
    unittest.main()
