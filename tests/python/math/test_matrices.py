"""LU decompositions, logarithms, ranks and norms of matrices against SciPy's, and their gradients."""
import unittest
from fractions import Fraction

import numpy as np
from scipy import linalg

import tapedeck as tf


def exponential_of_nilpotent(a):
    """Σ Aᵏ / k! of a matrix of whole numbers whose n-th power is 0, in fractions."""
    n = len(a)
    term = total = np.array([[Fraction(int(i == j)) for j in range(n)] for i in range(n)])
    for k in range(1, n):
        term = term.dot(np.array([[Fraction(int(x)) for x in row] for row in a])) / k
        total = total + term
    return total.astype(float)


class Exponential(unittest.TestCase):
    """Matrices whose norm says little about their powers: every entry has all digits, however small beside others."""

    def test_triangular_matrices_keep_every_digit_of_every_entry(self):
        rng = np.random.default_rng(1)
        for n, size in ((2, 1e12), (3, 1e6), (4, 1e9), (6, 1e12), (9, 1e9)):
            a = np.triu(np.round(rng.normal(size=(n, n)) * size), 1)
            order = rng.permutation(n)
            wanted = exponential_of_nilpotent(a)
            for matrix, result in ((a, wanted), (a.T, wanted.T), (a[order][:, order], wanted[order][:, order])):
                np.testing.assert_allclose(tf.linalg.expm(matrix).numpy(), result, rtol=2e-15)
                shifted = tf.linalg.expm(matrix - 3 * np.eye(n)).numpy()
                np.testing.assert_allclose(shifted, np.exp(-3) * result, rtol=2e-15)
        for low, high, apart in ((1, 2, 1e12), (-5, 2, 1e12), (2, 2, 1e250), (-1e3, -1, 1e6), (-1, -1e3, 1e6)):
            slope = np.exp(low) if low == high else (np.exp(high) - np.exp(low)) / (high - low)
            np.testing.assert_allclose(tf.linalg.expm(np.array([[low, apart], [0, high]], float)).numpy(),
                                       [[np.exp(low), apart * slope], [0, np.exp(high)]], rtol=1e-15)

    def test_other_matrices_of_small_powers_are_not_scaled_away(self):
        for size in (1e4, 1e8, 1e12):  # exp [a b; 1/b a] = eᵃ·[cosh 1, b·sinh 1; sinh 1 / b, cosh 1]
            for a in (-2, 0, 1):
                wanted = np.exp(a) * np.array([[np.cosh(1), size * np.sinh(1)], [np.sinh(1) / size, np.cosh(1)]])
                np.testing.assert_allclose(tf.linalg.expm(np.array([[a, size], [1 / size, a]])).numpy(), wanted, rtol=1e-14)

    def test_gradients_of_triangular_matrices_keep_their_digits(self):
        # d/dt exp [p t; 0 q] and its siblings, of the divided differences of exp: Higham 2008, (3.11) and (4.16).
        p, q, t = 1., 2.5, 1e9
        one, two = (np.exp(q) - np.exp(p)) / (q - p), np.exp(p)
        for transposed in (False, True):
            a = tf.constant([[p, t], [0, q]], tf.float64)
            a = tf.transpose(a) if transposed else a
            with tf.GradientTape() as tape:
                tape.watch(a)
                y = tf.linalg.expm(a)
                corner = y[1, 0] if transposed else y[0, 1]
            found = tape.gradient(corner, a).numpy()
            found = found.T if transposed else found
            by_p = t * (one - two) / (q - p)
            by_q = t * (np.exp(q) - one) / (q - p)
            # of the element that is 0: t²·exp[p, p, q, q], the third divided difference
            by_zero = t * t * ((by_q - by_p) / t) / (q - p)
            np.testing.assert_allclose(found, [[by_p, one], [by_zero, by_q]], rtol=1e-13)

    def test_numbers_too_large_for_their_powers_give_no_wrong_result(self):
        np.testing.assert_array_equal(tf.linalg.expm(np.full((2, 2), 1e300)).numpy(), np.full((2, 2), np.inf))
        np.testing.assert_array_equal(tf.linalg.expm(np.diag([1000., -1000, 0])).numpy(), np.diag([np.inf, 0, 1]))
        np.testing.assert_allclose(tf.linalg.expm(np.array([[-1000., 1, 2], [0, 1000, 1], [0, 0, 5]])).numpy()[[0, 2], [0, 2]],
                                   [0, np.exp(5)], rtol=1e-15)
        for angle in (1e20, 1e30, 1e300):  # a turn by so much has no digits, and is not 0
            self.assertFalse(np.isfinite(tf.linalg.expm(np.array([[0, angle], [-angle, 0]])).numpy()).any())

    def test_numbers_whose_sum_is_no_double(self):
        for matrix, wanted in (([[1e308, 1.7e308], [1.7e308, 1.7e308]], [[np.inf, np.inf], [np.inf, np.inf]]),
                               ([[-1e308, 1.7e308], [0, -1.7e308]], [[0, 0], [0, 0]])):
            np.testing.assert_array_equal(tf.linalg.expm(np.array(matrix)).numpy(), wanted)

    def test_blocks_beside_infinite_ones_stay_apart(self):
        found = tf.linalg.expm(np.array([[1000., 0, 0], [0, 1, 1], [0, 0, 2]])).numpy()
        e = np.e
        np.testing.assert_allclose(found, [[np.inf, 0, 0], [0, e, e * (e - 1)], [0, 0, e * e]], rtol=1e-15)


class Lu(unittest.TestCase):
    def setUp(self):
        self.matrices = np.random.default_rng(3).normal(size=(2, 3, 5, 5))

    def test_it_is_scipys(self):
        packed, order = tf.linalg.lu(self.matrices, tf.int64)
        self.assertEqual((packed.dtype, order.dtype, order.shape), (tf.float64, tf.int64, (2, 3, 5)))
        for index in np.ndindex(2, 3):
            wanted, pivots = linalg.lu_factor(self.matrices[index])
            np.testing.assert_allclose(packed[index].numpy(), wanted, rtol=1e-12)
            rows = np.arange(5)
            for i, pivot in enumerate(pivots):
                rows[[i, pivot]] = rows[[pivot, i]]
            np.testing.assert_array_equal(order[index].numpy(), rows)
        np.testing.assert_allclose(tf.linalg.lu_reconstruct(packed, order).numpy(), self.matrices, atol=1e-14)
        np.testing.assert_allclose(tf.linalg.lu_matrix_inverse(packed, order).numpy(), np.linalg.inv(self.matrices), rtol=1e-9)
        right = np.random.default_rng(4).normal(size=(3, 5, 2))
        np.testing.assert_allclose(tf.linalg.lu_solve(packed, order, right).numpy(), np.linalg.inv(self.matrices) @ right,
                                   rtol=1e-9)

    def test_solutions_are_differentiable(self):
        matrix, right = tf.constant(self.matrices[0, 0]), tf.constant(self.matrices[0, 1])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([matrix, right])
            by_lu = tf.reduce_sum(tf.linalg.lu_solve(*tf.linalg.lu(matrix), right) ** 2)
            directly = tf.reduce_sum(tf.linalg.solve(matrix, right) ** 2)
        for ours, wanted in zip(tape.gradient(by_lu, [matrix, right]), tape.gradient(directly, [matrix, right])):
            np.testing.assert_allclose(ours.numpy(), wanted.numpy(), rtol=1e-8)

    def test_singular_matrices_are_named(self):
        batch = np.stack([np.eye(2), [[1, 2], [2, 4]]])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"lu: input\[1\] is singular: pivot 1 is 0"):
            tf.linalg.lu(batch)
        for pattern, call in (("lu_solve: rhs", lambda: tf.linalg.lu_solve([[1.]], [0], [1.])),
                              ("lu_solve: lower_upper", lambda: tf.linalg.lu_solve([[1.]], [0, 1], [[1.]])),
                              (r"must be in \[0, 1\)", lambda: tf.linalg.lu_solve([[1.]], [7], [[1.]])),
                              ("output_idx_type is float32", lambda: tf.linalg.lu([[1.]], tf.float32))):
            with self.assertRaisesRegex(ValueError, pattern):
                call()


class Functions(unittest.TestCase):
    def test_logarithm(self):
        rng = np.random.default_rng(5)
        for size in (1, 2, 5, 12):
            root = rng.normal(size=(size, size))
            matrix = linalg.expm(root / np.linalg.norm(root))
            np.testing.assert_allclose(tf.linalg.logm(matrix).numpy(), linalg.logm(matrix), atol=1e-12)
            np.testing.assert_allclose(tf.linalg.expm(tf.linalg.logm(matrix)).numpy(), matrix, atol=1e-12)
        np.testing.assert_allclose(tf.linalg.logm([[0., -1.], [1., 0.]]).numpy(), [[0, -np.pi / 2], [np.pi / 2, 0]], atol=1e-6)
        turned = np.array([[1., 1.], [-1., 1.]])
        for exponent in (-1060, -70, 70, 1020):  # ln(2ᵉ·A) = e·ln 2 + ln A
            np.testing.assert_allclose(tf.linalg.logm(turned * 2. ** exponent).numpy(),
                                       linalg.logm(turned) + exponent * np.log(2) * np.eye(2), atol=1e-11)
        mixed = np.zeros((4, 4))
        mixed[:2, :2], mixed[2:, 2:] = turned * 1e-90, np.eye(2)
        self.assertTrue(np.isfinite(tf.linalg.logm(mixed).numpy()).all())
        self.assertTrue(np.isnan(tf.linalg.logm([[np.nan, 0.], [0., 1.]]).numpy()).all())
        for bad in (-np.eye(2), np.zeros((1, 1)), np.diag([1., -1.])):
            with self.assertRaisesRegex(ValueError, "matrix_logarithm: input has no real logarithm"):
                tf.linalg.logm(bad)

    def test_logarithms_of_matrices_far_from_normal(self):
        for size in (1, 1e-5, 1e-10, 1e-30, 1e-60):  # eigenvalues size, 2·size and 3·size below ones; and thrice size
            for steps, first, second in (((1, 2, 3), np.log([2, 1.5]), np.log(3) / 2), ((1, 1, 1), [1, 1], 1)):
                matrix = np.triu(np.ones((3, 3)), 1) + size * np.diag(steps)
                wanted = np.diag(np.log(np.multiply(steps, size)))  # and divided differences
                wanted[[0, 1], [1, 2]] = np.divide(first, size)
                wanted[0, 2] = second / size + (-.5 if steps[1] == 1 else (np.log(1.5) - np.log(2)) / 2) / size**2
                np.testing.assert_allclose(tf.linalg.logm(matrix).numpy(), wanted, rtol=1e-13, err_msg=str((size, steps)))
        np.testing.assert_array_equal(tf.linalg.logm(np.array([[1, 1e100], [0, 1]])).numpy(), [[0, 1e100], [0, 0]])

    def test_gradients_of_logarithm_and_exponential_keep_their_digits(self):
        def gradient(function, a, weights):
            a = tf.constant(a)
            with tf.GradientTape() as tape:
                tape.watch(a)
                result = function(a)
            return tape.gradient(result, a, output_gradients=tf.constant(weights, a.dtype)).numpy()

        # Of a diagonal matrix the derivative of ln is the divided differences of the logarithm (Higham 2008, 3.3).
        for values in ((1e-12, 1), (1e-50, 1), (1e-99, 3e-3), (1e-60, 1e30, 1), (1e-60, 1e60), (1e-300, 1e-290), (3, .5)):
            values = np.array(values, float)
            apart = values[:, None] - values + np.diag(values)
            wanted = np.where(np.eye(len(values)), 1, np.log(values)[:, None] - np.log(values)) / apart
            found = gradient(tf.linalg.logm, np.diag(values), np.ones_like(wanted))
            np.testing.assert_allclose(found, wanted, rtol=1e-13, err_msg=str(values))
        # What float32 cannot hold is infinite, and no reason to refuse.
        np.testing.assert_allclose(gradient(tf.linalg.logm, np.diag(np.float32([1e-40, 1])), np.ones((2, 2))),
                                   [[np.inf, 92.10341], [92.10341, 1]], rtol=1e-6)
        np.testing.assert_array_equal(tf.linalg.logm(np.diag([1e-300, 1e300])).numpy(), np.diag(np.log([1e-300, 1e300])))
        a = np.array([[1, .5], [.2, 2]])
        for function in (tf.linalg.logm, tf.linalg.expm):
            wanted = gradient(function, a, np.ones((2, 2)))
            for size in (1e-200, 1e8, 1e30, 1e200):
                np.testing.assert_allclose(gradient(function, a, np.full((2, 2), size)) / size, wanted, rtol=1e-13)

    def test_rank_and_normalize(self):
        a = np.random.default_rng(6).normal(size=(4, 2, 5)) @ np.diag([1, 1e-3, 0, 1, 0])
        a[1] = 0
        np.testing.assert_array_equal(tf.linalg.matrix_rank(a).numpy(), np.linalg.matrix_rank(a))
        np.testing.assert_array_equal(tf.linalg.matrix_rank(a, tol=1e9).numpy(), [0, 0, 0, 0])
        np.testing.assert_array_equal(tf.linalg.matrix_rank(np.ones((3, 0, 2))).numpy(), [0, 0, 0])
        normalized, norm = tf.linalg.normalize([[3., 4.], [0., 2.]], axis=1)
        np.testing.assert_allclose(normalized.numpy(), [[.6, .8], [0, 1]])
        self.assertEqual(norm.numpy().tolist(), [[5], [2]])

    def test_full_matrices_have_gradients_where_tensorflows_have(self):
        rng = np.random.default_rng(7)
        for decomposition, rows, columns, works in ((tf.linalg.svd, 3, 2, True), (tf.linalg.svd, 2, 3, True),
                                                    (tf.linalg.svd, 4, 2, False), (tf.linalg.qr, 2, 4, True),
                                                    (tf.linalg.qr, 3, 2, False)):
            a = tf.constant(rng.normal(size=(rows, columns)))
            with tf.GradientTape() as tape:
                tape.watch(a)
                parts = decomposition(a, full_matrices=True)
                total = sum(tf.reduce_sum(part ** 3) for part in parts)
            if works:
                self.assertEqual(tape.gradient(total, a).shape, a.shape)
            else:
                with self.assertRaisesRegex(tf.errors.UnimplementedError, "with full_matrices for"):
                    tape.gradient(total, a)


if __name__ == "__main__":
    unittest.main()
