"""Complex matrices against NumPy and SciPy, and gradients of what is made of complex numbers against differences."""
import unittest

import numpy as np
import scipy.linalg
import tapedeck as tf

random = np.random.default_rng(11)
DTYPES = ((np.complex128, 1e-11), (np.complex64, 2e-4))


def numbers(*shape):
    return random.normal(size=shape) + 1j * random.normal(size=shape)


def square(n, *batch):
    return numbers(*batch, n, n) + 2 * np.sqrt(n) * np.eye(n)


def hermitian(n, *batch):
    a = numbers(*batch, n, n)
    return a @ a.conj().swapaxes(-1, -2) + np.eye(n)


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


class Systems(unittest.TestCase):
    def test_inverses_and_systems(self):
        for dtype, tolerance in DTYPES:
            for batch in ((), (2, 3)):
                a, b = square(4, *batch).astype(dtype), numbers(*batch, 4, 2).astype(dtype)
                for adj in (False, True):
                    matrix = adjoint(a) if adj else a
                    for got, expected in ((tf.linalg.inv(a, adjoint=adj), np.linalg.inv(matrix)),
                                          (tf.linalg.solve(a, b, adjoint=adj), np.linalg.solve(matrix, b))):
                        self.assertEqual(got.dtype, dtype)
                        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
                    for lower in (False, True):
                        part = np.tril(a) if lower else np.triu(a)
                        np.testing.assert_allclose(tf.linalg.triangular_solve(a, b, lower=lower, adjoint=adj),
                                                   np.linalg.solve(adjoint(part) if adj else part, b), rtol=tolerance, atol=tolerance)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"matrix_inverse: input\[1\] is singular: pivot 1 of its elim"):
            tf.linalg.inv(tf.constant([np.eye(2) + 0j, [[1j, 1], [1j, 1]]]))

    def test_determinants(self):
        for dtype, tolerance in DTYPES:
            a = square(4, 3).astype(dtype)
            np.testing.assert_allclose(tf.linalg.det(a), np.linalg.det(a), rtol=tolerance * 10)
            sign, log = np.linalg.slogdet(a)
            got = tf.linalg.slogdet(a)
            self.assertEqual((got.sign.dtype, got.log_abs_determinant.dtype), (dtype, dtype))
            np.testing.assert_allclose(got.sign, sign, rtol=tolerance * 10)
            np.testing.assert_allclose(got.log_abs_determinant, log, rtol=tolerance * 10, atol=tolerance)
            h = hermitian(3, 2).astype(dtype)
            logdet = tf.linalg.logdet(h)
            self.assertEqual(logdet.dtype, np.zeros(0, dtype).real.dtype)
            np.testing.assert_allclose(logdet, np.linalg.slogdet(h)[1], rtol=tolerance * 10)
        self.assertEqual(tf.linalg.det(np.zeros([0, 0], complex)).numpy(), 1)

    def test_cofactors_of_singular_matrices(self):
        a = numbers(3, 2) @ numbers(2, 3)  # of rank 2: the determinant is 0, its gradient is not
        x = tf.constant(a)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.linalg.det(x)
        expected = np.array([[(-1)**(i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)] for i in range(3)])
        np.testing.assert_allclose(tape.gradient(y, x), expected.conj(), rtol=1e-9)

    def test_least_squares_and_pseudo_inverses(self):
        for dtype, tolerance in DTYPES:
            for rows, columns in ((5, 3), (3, 5)):
                a, b = numbers(2, rows, columns).astype(dtype), numbers(2, rows, 2).astype(dtype)
                np.testing.assert_allclose(tf.linalg.pinv(a), np.linalg.pinv(a), rtol=tolerance * 20, atol=tolerance * 20)
                for fast in (True, False):
                    np.testing.assert_allclose(tf.linalg.lstsq(a, b, fast=fast), np.linalg.pinv(a) @ b, rtol=tolerance * 50,
                                               atol=tolerance * 50)
        a = numbers(4, 2) @ numbers(2, 4)
        self.assertEqual(tf.linalg.matrix_rank(a).numpy(), 2)

    def test_lu(self):
        a = square(4, 2)[..., ::-1, :]
        packed, order = tf.linalg.lu(a)
        for i in range(2):
            p, l, u = scipy.linalg.lu(a[i])
            np.testing.assert_allclose(packed[i], np.tril(l, -1) + u, rtol=1e-11, atol=1e-11)
            np.testing.assert_array_equal(order[i], np.argmax(p, axis=0))
        np.testing.assert_allclose(tf.linalg.lu_reconstruct(packed, order), a, rtol=1e-11)


class Decompositions(unittest.TestCase):
    def test_cholesky(self):
        for dtype, tolerance in DTYPES:
            a = hermitian(4, 2, 1).astype(dtype)
            np.testing.assert_allclose(tf.linalg.cholesky(a), np.linalg.cholesky(a), rtol=tolerance, atol=tolerance)
            b = numbers(2, 1, 4, 2).astype(dtype)
            np.testing.assert_allclose(tf.linalg.cholesky_solve(tf.linalg.cholesky(a), b), np.linalg.solve(a, b), rtol=tolerance * 100,
                                       atol=tolerance * 100)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "cholesky: input is not positive definite: pivot 1 is -3"):
            tf.linalg.cholesky(tf.constant([[1, -2j], [2j, 1]]))

    def test_qr(self):
        for dtype, tolerance in DTYPES:
            for shape in ((4, 4), (2, 5, 3), (3, 5)):
                for full in (False, True):
                    a = numbers(*shape).astype(dtype)
                    q, r = tf.linalg.qr(a, full_matrices=full)
                    expected_q, expected_r = np.linalg.qr(a if len(shape) == 2 else a[1], "complete" if full else "reduced")
                    one_q, one_r = (q, r) if len(shape) == 2 else (q[1], r[1])
                    k = min(shape[-2:])
                    turns = np.sign(np.diag(expected_r).real) * np.sign(np.diag(one_r).real)
                    np.testing.assert_allclose(one_r.numpy()[:k] * turns[:, None], expected_r[:k], rtol=tolerance, atol=tolerance)
                    np.testing.assert_allclose(one_q.numpy()[:, :k] * turns, expected_q[:, :k], rtol=tolerance, atol=tolerance)
                    np.testing.assert_array_equal(np.diag(one_r).imag, 0)
                    columns = q.shape[-1]
                    np.testing.assert_allclose(adjoint(q.numpy()) @ q.numpy(),
                                               np.broadcast_to(np.eye(columns), (*shape[:-2], columns, columns)), atol=tolerance)

    def test_svd(self):
        for dtype, tolerance in DTYPES:
            for shape in ((4, 4), (2, 5, 3), (3, 5), (1, 4), (4, 1)):
                a = numbers(*shape).astype(dtype)
                expected = np.linalg.svd(a, compute_uv=False)
                np.testing.assert_allclose(tf.linalg.svd(a, compute_uv=False), expected, rtol=tolerance, atol=tolerance)
                for full in (False, True):
                    s, u, v = (t.numpy() for t in tf.linalg.svd(a, full_matrices=full))
                    self.assertEqual((s.dtype, u.dtype), (np.zeros(0, dtype).real.dtype, dtype))
                    np.testing.assert_allclose(s, expected, rtol=tolerance, atol=tolerance)
                    k = s.shape[-1]
                    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ adjoint(v[..., :k]), a, atol=tolerance * 10)
                    for factor in (u, v):
                        np.testing.assert_allclose(adjoint(factor) @ factor, np.broadcast_to(
                            np.eye(factor.shape[-1]), (*shape[:-2], factor.shape[-1], factor.shape[-1])), atol=tolerance)
        u = tf.linalg.svd(np.array([[0, 2j], [3j, 0]]))[1]
        np.testing.assert_allclose(u, [[0, 1], [1, 0]], atol=1e-15)  # the leading element of a column is positive

    def test_eigenvalues_of_hermitian_matrices(self):
        for dtype, tolerance in DTYPES:
            a = hermitian(5, 2).astype(dtype)
            expected = np.linalg.eigvalsh(a)
            lower = np.tril(a) + np.triu(numbers(5, 5), 1).astype(dtype)  # the rest is not read
            for matrix in (a, lower):
                e, v = (t.numpy() for t in tf.linalg.eigh(matrix))
                self.assertEqual((e.dtype, v.dtype), (dtype, dtype))
                np.testing.assert_allclose(e, expected, rtol=tolerance * 10)
                np.testing.assert_allclose(a @ v, v * e[..., None, :], atol=tolerance * 50)
                np.testing.assert_allclose(adjoint(v) @ v, np.broadcast_to(np.eye(5), (2, 5, 5)), atol=tolerance)
            np.testing.assert_allclose(tf.linalg.eigvalsh(a), expected, rtol=tolerance * 10)

    def test_eigenvalues_of_any_matrix(self):
        for dtype in (np.float32, np.float64, np.complex64, np.complex128):
            tolerance = 1e-3 if dtype in (np.float32, np.complex64) else 1e-10
            for shape in ((1, 1), (4, 4), (2, 3, 7, 7)):
                a = (numbers(*shape).real if dtype in (np.float32, np.float64) else numbers(*shape)).astype(dtype)
                e, v = (t.numpy() for t in tf.linalg.eig(a))
                self.assertEqual(e.dtype, np.complex64 if dtype in (np.float32, np.complex64) else np.complex128)
                np.testing.assert_allclose(a @ v, v * e[..., None, :], atol=tolerance)
                np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, rtol=tolerance)
                np.testing.assert_allclose(np.sort_complex(np.round(e, 4)), np.sort_complex(np.round(np.linalg.eigvals(a), 4)), atol=2e-3)
                np.testing.assert_allclose(np.sort_complex(tf.linalg.eigvals(a).numpy()), np.sort_complex(e), atol=tolerance)
        e, v = tf.linalg.eig(tf.constant([[0., -1], [1, 0]]))
        np.testing.assert_array_equal(e[0], np.conj(e[1]))
        np.testing.assert_array_equal(v[:, 0], np.conj(v[:, 1]))
        e, v = tf.linalg.eig(tf.constant([[2., 1], [0, 3]]))
        np.testing.assert_array_equal((np.imag(e), np.imag(v[0])), np.zeros([2, 2]))
        np.testing.assert_array_equal(np.isnan(tf.linalg.eigvals(np.array([[1, np.nan], [0, 1]]))), True)
        self.assertEqual(tf.linalg.eig(np.zeros([0, 0]))[1].shape, (0, 0))
        with self.assertRaisesRegex(TypeError, "eig: tensor is float16; needs float32, float64, complex64 or complex128"):
            tf.linalg.eig(tf.zeros([2, 2], tf.float16))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"eigvals: tensor has shape \(2, 3\); needs square matrices"):
            tf.linalg.eigvals(tf.zeros([2, 3]))

    def test_numbers_far_from_one(self):
        for scale in (1e-200, 1e200):
            a = square(4) * scale
            np.testing.assert_allclose(tf.linalg.svd(a, compute_uv=False), np.linalg.svd(a / scale, compute_uv=False) * scale, rtol=1e-12)
            h = hermitian(3) * scale
            np.testing.assert_allclose(np.real(tf.linalg.eigvalsh(h)), np.linalg.eigvalsh(h / scale) * scale, rtol=1e-11)
        for scale in (1e-300, 1e-160, 1e160, 1e300):
            for a in (square(4), random.normal(size=(4, 4))):
                e, v = (part.numpy() for part in tf.linalg.eig(tf.constant(a * scale)))
                np.testing.assert_allclose(a @ v, v * (e / scale), atol=1e-12)
                np.testing.assert_allclose(tf.linalg.eigvals(tf.constant(a * scale)), e, rtol=1e-12)
            a, b = square(6), numbers(6, 2)
            for got, expected in ((tf.linalg.inv(a * scale) * scale, np.linalg.inv(a)),
                                  (tf.linalg.solve(a * scale, b) * scale, np.linalg.solve(a, b)),
                                  (tf.linalg.slogdet(a * scale)[1], np.linalg.slogdet(a)[1] + 6 * np.log(scale))):
                np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
            q, r = (part.numpy() for part in tf.linalg.qr(a * scale))
            np.testing.assert_allclose(q @ (r / scale), a, atol=1e-12)
            np.testing.assert_allclose(adjoint(q) @ q, np.eye(6), atol=1e-12)
            packed, order = tf.linalg.lu(a * scale)
            np.testing.assert_allclose(tf.linalg.lu_reconstruct(packed, order) / scale, a, rtol=1e-10)
            small = hermitian(6)
            np.testing.assert_allclose(tf.linalg.cholesky(small * scale) / scale**0.5, np.linalg.cholesky(small), rtol=1e-11, atol=1e-12)
        sizes = 10.0**np.array([0, -200, -200, -200, -200, 200])  # far from each other
        np.testing.assert_allclose(tf.linalg.inv(np.diag(sizes * 1j)), np.diag(-1j / sizes))
        np.testing.assert_allclose(tf.linalg.det(np.diag(sizes[[0, 1, 5]] * (1 + 1j))), (1 + 1j)**3)

    def test_nan_and_infinity_give_nan(self):
        a = hermitian(3)
        a[1, 1] = np.inf
        for function in (tf.linalg.svd, tf.linalg.eigh, tf.linalg.eig, tf.linalg.expm, tf.linalg.sqrtm, tf.linalg.logm, tf.linalg.pinv):
            self.assertTrue(np.isnan(np.sum([np.sum(part) for part in tf.nest.flatten(function(tf.constant(a)))])), function)


class Functions(unittest.TestCase):
    def test_exponentials_roots_and_logarithms(self):
        for dtype, tolerance in DTYPES:
            for n in (1, 2, 5):
                a = square(n, 2).astype(dtype)
                for name, reference in (("expm", scipy.linalg.expm), ("sqrtm", scipy.linalg.sqrtm), ("logm", scipy.linalg.logm)):
                    got = getattr(tf.linalg, name)(a)
                    self.assertEqual(got.dtype, dtype)
                    expected = np.array([reference(each.astype(complex)) for each in a])
                    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(), err_msg=name)
        a = tf.constant([[1 + 0j, .2], [.1, 1]])
        np.testing.assert_allclose(tf.linalg.expm(tf.linalg.logm(a)), a, rtol=1e-13)
        np.testing.assert_allclose(tf.linalg.logm(tf.constant([[-1 + 0j, 0], [0, 1]])), [[np.pi * 1j, 0], [0, 0]], atol=1e-15)
        np.testing.assert_allclose(tf.linalg.sqrtm(tf.zeros([2, 2], tf.complex128)), np.zeros([2, 2]))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "matrix_square_root: input has no square root: an eigenvalue is 0"):
            tf.linalg.sqrtm(tf.constant([[0j, 1], [0, 0]]))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "matrix_logarithm: input has no logarithm: an eigenvalue is 0"):
            tf.linalg.logm(tf.constant([[1 + 0j, 0], [0, 0]]))

    def test_running_sums_and_products(self):
        for dtype, tolerance in DTYPES:
            z = numbers(3, 4, 2).astype(dtype)
            for axis in (0, 1, -1):
                np.testing.assert_allclose(tf.cumsum(z, axis), np.cumsum(z, axis), rtol=tolerance, atol=tolerance)
                np.testing.assert_allclose(tf.math.cumprod(z, axis), np.cumprod(z, axis), rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(tf.cumsum(z, 1, reverse=True), np.cumsum(z[:, ::-1], 1)[:, ::-1], rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(tf.math.cumprod(z, 1, exclusive=True)[:, 1:], np.cumprod(z, 1)[:, :-1], rtol=tolerance,
                                       atol=tolerance)

    def test_diagonals_and_bands(self):
        a = numbers(2, 3, 4)
        changed = a[0].copy()
        changed[range(3), range(3)] = [1, 2, 3j]
        for got, expected in ((tf.linalg.trace(a), np.trace(a, axis1=1, axis2=2)),
                              (tf.linalg.diag_part(a), np.diagonal(a, axis1=1, axis2=2)),
                              (tf.linalg.band_part(a, 0, -1), np.triu(a)), (tf.linalg.diag(a[0, 0]), np.diag(a[0, 0])),
                              (tf.linalg.set_diag(a[0], [1, 2, 3j]), changed),
                              (tf.linalg.diag_part(a[0], k=(0, 1), padding_value=7)[0], np.diagonal(a[0], 1))):
            np.testing.assert_allclose(got, expected, rtol=1e-14)

    def test_norms(self):
        z = numbers(3, 4)
        t = tf.constant(z)
        euclidean = tf.norm(t)
        self.assertEqual(euclidean.dtype, tf.complex128)  # as in TensorFlow; the others are real
        np.testing.assert_allclose(euclidean, np.linalg.norm(z), rtol=1e-14)
        for order, axis in ((1, None), (3, 0), (np.inf, 1), (2, 1), (.5, 1)):
            expected = np.linalg.norm(z.ravel() if axis is None else z, order, axis)
            np.testing.assert_allclose(tf.norm(t, order, axis), expected, rtol=1e-12, err_msg=str(order))
        for order in ("fro", 1, 2, np.inf):
            np.testing.assert_allclose(tf.norm(t, order, [0, 1]), np.linalg.norm(z, order), rtol=1e-12, err_msg=str(order))
        np.testing.assert_allclose(tf.norm(tf.constant([3 + 4j, 0])), 5)
        np.testing.assert_allclose(tf.norm(tf.constant([3e200 + 4e200j, 0])), 5e200, rtol=1e-14)
        np.testing.assert_allclose(tf.math.l2_normalize(t, 1), z / np.linalg.norm(z, axis=1, keepdims=True), rtol=1e-13)
        unit, size = tf.linalg.normalize(t, 1, axis=0)
        np.testing.assert_allclose(unit, z / np.abs(z).sum(0, keepdims=True), rtol=1e-13)
        self.assertEqual(size.dtype, tf.complex128)

    def test_spread(self):
        z = numbers(3, 4)
        variance = tf.math.reduce_variance(z, 1)
        self.assertEqual(variance.dtype, tf.float64)
        np.testing.assert_allclose(variance, np.var(z, 1), rtol=1e-13)
        np.testing.assert_allclose(tf.math.reduce_std(tf.constant(z)), np.std(z), rtol=1e-13)


class Gradients(unittest.TestCase):
    """Of real functions of the real and imaginary parts, first and second order."""

    def check(self, function, *values):
        xs = [tf.constant(np.stack([np.real(value), np.imag(value)], -1)) for value in values]
        weights = {}

        def total(*pairs):
            results = tf.nest.flatten(function(*[tf.complex(pair[..., 0], pair[..., 1]) for pair in pairs]))
            sums = []
            for k, result in enumerate(results):
                for part in (tf.math.real(result), tf.math.imag(result)) if result.dtype.is_complex else (result,):
                    weight = weights.setdefault((k, len(sums)), random.normal(size=part.shape))
                    sums.append(tf.reduce_sum(part * weight))
            return tf.add_n(sums)

        directions = [random.normal(size=x.shape) for x in xs]

        def first(*pairs):
            with tf.GradientTape() as tape:
                tape.watch(pairs)
                y = total(*pairs)
            return tf.add_n([tf.reduce_sum(g * d) for g, d in zip(tape.gradient(y, pairs), directions)])

        for of, order, tolerance in ((total, 1, 1e-6), (first, 2, 3e-6)):
            with tf.GradientTape() as tape:
                tape.watch(xs)
                y = of(*xs)
            for k, gradient in enumerate(tape.gradient(y, xs, unconnected_gradients="zero")):
                point = xs[k].numpy()
                for at in np.ndindex(point.shape):
                    ends = []
                    for step in (1e-6, -1e-6):
                        moved = point.copy()
                        moved[at] += step
                        ends.append(float(of(*[tf.constant(moved) if i == k else x for i, x in enumerate(xs)])))
                    difference = (ends[0] - ends[1]) / 2e-6
                    self.assertLess(abs(gradient.numpy()[at] - difference), tolerance * (1 + abs(difference)),
                                    f"order {order}, input {k}, {at}")

    def test_sizes_and_directions(self):
        z = numbers(4)
        for function in (tf.abs, tf.sign, tf.math.angle, tf.math.real, tf.math.imag, tf.math.conj, lambda z: tf.abs(z) ** 3,
                         lambda z: tf.cast(z, tf.float64), lambda z: tf.cast(tf.abs(z), tf.complex128), lambda z: tf.norm(z),
                         lambda z: tf.norm(z, 1), lambda z: tf.norm(z, 3), lambda z: tf.norm(z, np.inf), tf.math.l2_normalize,
                         tf.math.reduce_variance, tf.math.reduce_std, tf.math.reduce_euclidean_norm, tf.reduce_mean, tf.reduce_prod,
                         tf.cumsum, lambda z: tf.math.cumprod(z, exclusive=True), lambda z: tf.math.squared_difference(z, 1j),
                         lambda z: tf.linalg.normalize(z)):
            self.check(function, z)

    def test_transforms(self):
        z = numbers(8)
        self.check(lambda z: tf.abs(tf.signal.fft(z)), z)
        self.check(lambda z: tf.abs(tf.signal.ifft2d(tf.reshape(z, [2, 4]))), z)
        self.check(lambda z: tf.abs(tf.signal.stft(tf.math.real(z), 4, 2)), z)
        self.check(lambda z: tf.abs(tf.signal.rfft(tf.math.imag(z))), z)
        self.check(lambda z: tf.signal.irfft(z[:5]), z)

    def test_functions_made_of_matrices(self):
        a, b = square(3), numbers(3, 2)
        self.check(lambda a: tf.linalg.logdet(tf.matmul(a, a, adjoint_b=True)), a)
        self.check(lambda a: tf.linalg.slogdet(a), a)
        self.check(tf.linalg.lstsq, numbers(4, 2), numbers(4, 1))
        self.check(tf.linalg.lstsq, numbers(2, 3), numbers(2, 1))
        self.check(lambda a, b: tf.linalg.cholesky_solve(a, b), np.tril(a), b)
        self.check(lambda a: tf.norm(a, 2, [0, 1]), a)

    def test_phases_of_vectors(self):
        """Factors that nothing but a rule for their phase makes unique."""
        self.check(lambda a: tf.linalg.eig(a), square(3))
        self.check(lambda a: tf.linalg.svd(a), numbers(3, 2))
        self.check(lambda a: tf.linalg.svd(a, full_matrices=True), numbers(2, 3))
        self.check(lambda a: tf.linalg.eigh(a + tf.linalg.adjoint(a)), numbers(3, 3))

    def test_the_values_of_tensorflow(self):
        x = tf.constant(1., tf.float64)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.abs(tf.complex(tf.constant(3., tf.float64), 4 * x))
            slope = inner.gradient(y, x)
        np.testing.assert_allclose((y, slope, outer.gradient(slope, x)), (5, 3.2, 1.152), rtol=1e-14)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.math.real(tf.sign(tf.complex(3 * x, tf.constant(4., tf.float64))))
        np.testing.assert_allclose(tape.gradient(y, x), 0.384, rtol=1e-14)
        zero = tf.constant(0j)
        for function in (tf.abs, tf.sign):
            with tf.GradientTape() as outer:
                outer.watch(zero)
                with tf.GradientTape() as inner:
                    inner.watch(zero)
                    y = function(zero)
                slope = inner.gradient(y, zero)
            self.assertEqual((slope.numpy(), outer.gradient(slope, zero).numpy()), (0, 0))


if __name__ == "__main__":
    unittest.main()
