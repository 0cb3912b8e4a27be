"""tf.linalg against NumPy and SciPy, and against PyTorch where it is installed."""
import importlib.util
import itertools
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import tfe

try:
    import scipy.linalg
except ImportError:
    scipy = None

rng = np.random.default_rng(11)
needs_scipy = unittest.skipUnless(scipy, "SciPy is not installed: python3-scipy")
needs_torch = unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed: python3-torch")
SHAPES = [(1, 1), (3, 3), (2, 5, 5), (2, 3, 4, 4), (40, 40), (0, 3, 3), (2, 0, 0)]


def draw(*shape, dtype=np.float64):
    return rng.standard_normal(shape).astype(dtype)


def well(*shape):
    """Matrices far from singular."""
    return draw(*shape) + 2 * np.sqrt(shape[-1]) * np.eye(*shape[-2:])


def positive(*shape):
    a = draw(*shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def turned(a):
    return np.swapaxes(a, -1, -2)


def differences(f, x, step=1e-6):
    """The gradient of the scalar f by central differences."""
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        out[i] = (f(up) - f(down)) / (2 * step)
    return out


class Inverses(unittest.TestCase):
    def test_against_numpy_in_both_dtypes(self):
        for shape, (dtype, tolerance) in itertools.product(SHAPES, ((np.float64, 1e-11), (np.float32, 2e-4))):
            a, b = well(*shape), draw(*shape[:-1], 3)
            ta, tb = tf.constant(a.astype(dtype)), tf.constant(b.astype(dtype))
            for ours, numpys in (
                    (tf.linalg.inv(ta), np.linalg.inv(a)), (tf.matrix_inverse(ta, adjoint=True), turned(np.linalg.inv(a))),
                    (tf.linalg.solve(ta, tb), np.linalg.solve(a, b)),
                    (tf.matrix_solve(ta, tb, adjoint=True), np.linalg.solve(turned(a), b))):
                self.assertEqual(ours.dtype.name, np.dtype(dtype).name)
                np.testing.assert_allclose(ours.numpy(), numpys, rtol=tolerance, atol=tolerance)
            sign, log = tf.linalg.slogdet(ta)
            np.testing.assert_array_equal(sign.numpy(), np.linalg.slogdet(a)[0])
            np.testing.assert_allclose(log.numpy(), np.linalg.slogdet(a)[1], rtol=tolerance, atol=tolerance)
            if shape[-1] < 10:
                np.testing.assert_allclose(tf.matrix_determinant(ta).numpy(), np.linalg.det(a), rtol=tolerance * 10)

    def test_triangles_ignore_the_other_half(self):
        a, b = well(2, 4, 4), draw(2, 4, 3)
        for lower, adjoint in itertools.product((True, False), repeat=2):
            triangle = np.tril(a) if lower else np.triu(a)
            spoilt = triangle + (np.triu if lower else np.tril)(np.full_like(a, np.nan), 1 if lower else -1)
            wanted = np.linalg.solve(turned(triangle) if adjoint else triangle, b)
            np.testing.assert_allclose(tf.linalg.triangular_solve(spoilt, b, lower, adjoint).numpy(), wanted, rtol=1e-10)

    def test_nan_is_not_lost_below_a_pivot_of_0(self):
        for dtype in (np.float32, np.float64, np.complex128):
            for a in ([[0, 1], [np.nan, 1]], [[1, 2, 3], [0, 0, 1], [0, np.nan, 1]]):
                a = np.array(a, dtype)
                results = [tf.linalg.det(a), *tf.linalg.slogdet(a)]
                self.assertTrue(all(np.isnan(result.numpy()) for result in results), results)
                self.assertTrue(np.isnan(tf.linalg.inv(a).numpy()).any())
            beside = tf.constant(np.array([[0, np.nan], [0, 1]], dtype))  # 0 · 1 − NaN · 0
            self.assertTrue(np.isnan(tf.linalg.det(beside).numpy()))
            self.assertTrue(np.isnan(tf.linalg.slogdet(beside)[0].numpy()))

    def test_singular_matrices_are_named(self):
        a = np.stack([np.eye(3)] * 4).reshape(2, 2, 3, 3)
        a[1, 0, 2, 2] = 0
        for action, pattern in (
                (lambda: tf.linalg.inv(a), r"matrix_inverse: input\[1, 0\] is singular: pivot 2 of its elimination is 0"),
                (lambda: tf.linalg.inv(a[1, 0]), "matrix_inverse: input is singular: pivot 2"),
                (lambda: tf.linalg.solve(a, a), r"matrix_solve: matrix\[1, 0\] is singular: pivot 2"),
                (lambda: tf.linalg.triangular_solve(a, a), r"matrix_triangular_solve: matrix\[1, 0\] is singular: pivot 2"),
                (lambda: tf.linalg.cholesky(a - np.eye(3) * .5), r"cholesky: input\[1, 0\] is not positive definite: pivot 2 is -0.5"),
                (lambda: tf.cholesky([[1., 2.], [2., 1.]]), "cholesky: input is not positive definite: pivot 1 is -3"),
                (lambda: tf.linalg.sqrtm([[-1., 0.], [0., 1.]]), "matrix_square_root: input has no real square root"),
                (lambda: tf.linalg.inv(draw(2, 3)), r"matrix_inverse: input has shape \(2, 3\); needs square matrices"),
                (lambda: tf.linalg.inv(draw(3)), r"matrix_inverse: input has shape \(3,\); a matrix needs at least 2 axes"),
                (lambda: tf.linalg.solve(draw(2, 2), draw(3, 2)), r"matrix \(2, 2\) and rhs \(3, 2\): 2 and 3 rows differ"),
                (lambda: tf.linalg.solve(draw(2, 2, 2), draw(3, 2, 2)), "matrix_solve")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                action()
        many = np.tile(np.eye(30), (64, 1, 1))
        many[[9, 40, 63], 3, 3] = 0  # the first one is named, whichever thread finds its own
        for _ in range(20):
            with self.assertRaisesRegex(ValueError, r"input\[9\] is singular: pivot 3"):
                tf.linalg.inv(many)
        with self.assertRaisesRegex(TypeError, "matrix_inverse: input is int32; needs a floating dtype"):
            tf.linalg.inv([[1, 2], [3, 4]])
        self.assertEqual(float(tf.linalg.det(a[1, 0])), 0)
        self.assertEqual([float(x) for x in tf.linalg.slogdet(a[1, 0])], [0, -np.inf])

    def test_nan_goes_through(self):
        a = np.array([[np.nan, 1.], [1., 2.]])
        for f in (tf.linalg.inv, tf.linalg.det, tf.linalg.cholesky, tf.linalg.eigvalsh, tf.linalg.expm, tf.linalg.sqrtm,
                  tf.linalg.pinv, lambda x: tf.linalg.svd(x, compute_uv=False), lambda x: tf.linalg.qr(x)[1],
                  lambda x: tf.linalg.solve(x, tf.ones([2, 1], tf.float64))):
            self.assertTrue(np.isnan(f(tf.constant(a)).numpy()).any())

    def test_pseudo_inverse(self):
        for shape in ((4, 3), (2, 3, 5), (3, 3), (30, 20), (0, 2)):
            a = draw(*shape)
            np.testing.assert_allclose(tf.linalg.pinv(a).numpy(), np.linalg.pinv(a), rtol=1e-9, atol=1e-11)
        low_rank = draw(5, 2) @ draw(2, 4)
        np.testing.assert_allclose(tf.linalg.pinv(low_rank).numpy(), np.linalg.pinv(low_rank, 1e-12), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(tf.linalg.pinv(np.diag([1., .1]), rcond=.2).numpy(), np.diag([1., 0.]), atol=1e-15)

    def test_least_squares(self):
        for shape in ((6, 3), (3, 6), (2, 5, 5)):
            a, b = draw(*shape), draw(*shape[:-1], 2)
            wanted = np.linalg.pinv(a) @ b
            for fast in (True, False):
                np.testing.assert_allclose(tf.linalg.lstsq(a, b, fast=fast).numpy(), wanted, rtol=1e-5, atol=1e-7)
            ridge = np.linalg.solve(turned(a) @ a + .3 * np.eye(shape[-1]), turned(a) @ b)
            np.testing.assert_allclose(tf.matrix_solve_ls(a, b, .3).numpy(), ridge, rtol=1e-8, atol=1e-10)


class Decompositions(unittest.TestCase):
    def test_cholesky_and_what_is_made_of_it(self):
        for shape in SHAPES:
            a, b = positive(*shape), draw(*shape[:-1], 2)
            l = tf.linalg.cholesky(a + np.triu(np.full_like(a, 9.), 1))  # the upper half is not read
            np.testing.assert_allclose(l.numpy(), np.linalg.cholesky(a), rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(tf.linalg.cholesky_solve(l, b).numpy(), np.linalg.solve(a, b), rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(tf.linalg.logdet(a).numpy(), np.linalg.slogdet(a)[1], rtol=1e-9, atol=1e-9)

    def test_qr_has_householders_signs(self):
        for shape in ((3, 3), (5, 3), (3, 5), (2, 4, 3), (40, 20), (3, 0), (0, 3), (2, 0, 0)):
            a = draw(*shape)
            for mode, full in (("reduced", False), ("complete", True)):
                parts = [np.linalg.qr(one, mode) for one in a.reshape(-1, *shape[-2:])] if a.size else []
                result = tf.linalg.qr(a, full_matrices=full)
                q, r = result.q.numpy(), result.r.numpy()
                np.testing.assert_allclose(q @ r, a, atol=1e-12)
                np.testing.assert_allclose(turned(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), turned(q).shape[:-1] + q.shape[-1:]),
                                           atol=1e-12)
                for i, (nq, nr) in enumerate(parts):
                    np.testing.assert_allclose(q.reshape(-1, *q.shape[-2:])[i], nq, atol=1e-11)
                    np.testing.assert_allclose(r.reshape(-1, *r.shape[-2:])[i], nr, atol=1e-11)

    def test_singular_values(self):
        for shape in ((3, 3), (5, 3), (3, 5), (2, 4, 3), (60, 40), (2, 0), (0, 3)):
            a = draw(*shape)
            for dtype, tolerance in ((np.float64, 1e-11), (np.float32, 1e-4)):
                for full in (False, True):
                    s, u, v = (x.numpy() for x in tf.svd(a.astype(dtype), full_matrices=full))
                    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=tolerance * 10, atol=tolerance * 10)
                    k = min(shape[-2:])
                    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ turned(v[..., :k]), a, atol=tolerance * 10)
                    self.assertEqual((u.shape[-1], v.shape[-1]), shape[-2:] if full else (k, k))
                    for x in (u, v):
                        np.testing.assert_allclose(turned(x) @ x, np.zeros(x.shape[:-2] + (1, 1)) + np.eye(x.shape[-1]),
                                                   atol=tolerance * 10)
                np.testing.assert_allclose(tf.linalg.svd(a.astype(dtype), compute_uv=False).numpy(), s, rtol=1e-5, atol=tolerance)

    def test_symmetric_eigenvalues(self):
        for shape in SHAPES:
            a = draw(*shape)
            a = a + turned(a)
            e, v = (x.numpy() for x in tf.linalg.eigh(np.tril(a)))
            np.testing.assert_allclose(e, np.linalg.eigvalsh(a), rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(v * e[..., None, :] @ turned(v), a, atol=1e-10)
            np.testing.assert_allclose(tf.self_adjoint_eigvals(a).numpy(), e, rtol=1e-10, atol=1e-10)
        self.assertEqual(len(tf.self_adjoint_eig(np.eye(2))), 2)

    def test_equal_values_have_finite_gradients(self):
        eye = tf.constant(np.eye(3))
        for f in (lambda a: tf.linalg.eigh(a)[0], lambda a: tf.svd(a)[0], lambda a: tf.svd(a)[1], lambda a: tf.linalg.eigh(a)[1]):
            gradient, = tfe.gradients_function(f)(eye)
            self.assertTrue(np.isfinite(gradient.numpy()).all())

    def test_gradients_that_do_not_exist_say_so(self):
        x = tf.constant(draw(4, 2))
        with self.assertRaisesRegex(NotImplementedError, "svd: no gradient of u and v with full_matrices"):
            tfe.gradients_function(lambda a: tf.svd(a, full_matrices=True)[1])(x)
        with self.assertRaisesRegex(NotImplementedError, r"qr: no gradient with full_matrices for input \(4, 2\)"):
            tfe.gradients_function(lambda a: tf.qr(a, full_matrices=True)[0])(x)
        gradient, = tfe.gradients_function(lambda a: tf.svd(a, full_matrices=True)[0])(x)
        _, u, v = tf.svd(x)
        np.testing.assert_allclose(gradient.numpy(), u.numpy() @ v.numpy().T, atol=1e-12)

    def test_gradients_of_one_output_alone(self):
        x = spread = draw(3, 3) * .3 + np.diag([2., 5., 9.])
        wide = np.concatenate([spread, draw(3, 2)], axis=1)
        for a, f in ((x, lambda t: tf.linalg.qr(t)[0]), (x, lambda t: tf.linalg.qr(t)[1]), (wide, lambda t: tf.linalg.qr(t)[0]),
                     (wide, lambda t: tf.linalg.qr(t)[1]), (wide, lambda t: tf.svd(t)[1]), (wide, lambda t: tf.svd(t)[2]),
                     (x, lambda t: tf.linalg.eigh(t)[1]), (x, lambda t: tf.linalg.slogdet(t)[1])):
            weights = draw(*f(tf.constant(a)).shape)
            gradient, = tfe.gradients_function(lambda t: f(t) * weights)(tf.constant(a))
            numeric = differences(lambda t: (f(tf.constant(t)).numpy() * weights).sum(), a)
            np.testing.assert_allclose(gradient.numpy(), numeric, rtol=1e-5, atol=1e-6)
        gradient, = tfe.gradients_function(lambda t: tf.linalg.slogdet(t)[0])(tf.constant(x))
        np.testing.assert_array_equal(gradient.numpy(), np.zeros((3, 3)))


class Shapes(unittest.TestCase):
    def test_diagonals(self):
        x = np.arange(24.).reshape(2, 3, 4)
        np.testing.assert_array_equal(tf.linalg.diag_part(x).numpy(), np.diagonal(x, axis1=1, axis2=2))
        for k in (-2, -1, 1, 3):
            np.testing.assert_array_equal(tf.matrix_diag_part(x, k=k).numpy(), np.diagonal(x, k, 1, 2))
        # The example of TensorFlow's documentation of matrix_diag_part.
        example = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 8, 7, 6]])
        np.testing.assert_array_equal(tf.linalg.diag_part(example, k=(-1, 2)).numpy(),
                                      [[0, 3, 8], [2, 7, 6], [1, 6, 7], [5, 8, 0]])
        np.testing.assert_array_equal(tf.linalg.diag_part(example, k=(1, 3), padding_value=9, align="LEFT_RIGHT").numpy(),
                                      [[4, 9, 9], [3, 8, 9], [2, 7, 6]])
        np.testing.assert_array_equal(tf.linalg.diag([1, 2], k=-1, num_cols=2).numpy(), [[0, 0], [1, 0], [0, 2]])
        np.testing.assert_array_equal(tf.matrix_set_diag(np.ones((2, 2, 3)), np.zeros((2, 2))).numpy()[1], [[0, 1, 1], [1, 0, 1]])
        self.assertEqual(tf.linalg.diag(np.array([1, 1]), padding_value=2**53 + 1).numpy()[0, 1], 2**53 + 1)
        for action, pattern in ((lambda: tf.linalg.diag_part(x, k=4), "k is 4; matrices of 3 × 4 have diagonals -2 to 3"),
                                (lambda: tf.linalg.diag_part(x, align="UP"), "align is 'UP'"),
                                (lambda: tf.linalg.diag([1], padding_value=.5),
                                 "matrix_diag: padding_value 0.5 cannot be represented as int32"),
                                (lambda: tf.linalg.diag_part([[1]], padding_value=np.nan),
                                 "padding_value nan cannot be represented as int32"),
                                (lambda: tf.linalg.set_diag(x, x), r"diagonal has shape \(2, 3, 4\); k 0 of input .* needs \(2, 3\)"),
                                (lambda: tf.linalg.diag([1., 2.], num_rows=1), "diagonals of length 2 do not fit")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                action()

    def test_tensor_diagonals_bands_and_traces(self):
        x = draw(2, 3)
        np.testing.assert_array_equal(tf.diag_part(tf.diag(x)).numpy(), x)
        self.assertEqual(tf.linalg.tensor_diag(x).shape, (2, 3, 2, 3))
        a = draw(2, 4, 3)
        np.testing.assert_array_equal(tf.matrix_band_part(a, -1, 0).numpy(), np.tril(a))
        np.testing.assert_array_equal(tf.linalg.band_part(a, 1, -1).numpy(), np.triu(a, -1))
        np.testing.assert_allclose(tf.trace(a).numpy(), np.trace(a, axis1=1, axis2=2))
        self.assertEqual(int(tf.linalg.trace([[1, 2], [3, 4]])), 5)
        np.testing.assert_array_equal(tf.matrix_transpose(a).numpy(), turned(a))
        np.testing.assert_array_equal(tf.eye(2, batch_shape=[3]).numpy(), np.broadcast_to(np.eye(2), (3, 2, 2)))

    def test_products(self):
        a, b = draw(2, 3, 4), draw(2, 4)
        np.testing.assert_allclose(tf.linalg.matvec(a, b).numpy(), np.einsum("nij,nj->ni", a, b))
        np.testing.assert_allclose(tf.linalg.matvec(a, draw(2, 3) * 0 + 1, transpose_a=True).numpy(), a.sum(1))
        product = tf.linalg.matvec(np.eye(2), [1., 2.])  # numbers take an array's dtype, and an array a tensor's
        self.assertEqual((product.numpy().tolist(), product.dtype), ([1, 2], tf.float64))
        self.assertEqual(tf.tensordot(tf.constant([1., 2.]), np.ones(2), 1).dtype, tf.float32)
        np.testing.assert_allclose(tf.matmul(a, a, adjoint_b=True).numpy(), a @ turned(a))
        with self.assertRaisesRegex(ValueError, "matmul: transpose_a and adjoint_a are both True"):
            tf.matmul(a, a, transpose_a=True, adjoint_a=True)
        x, y = draw(2, 3, 4), draw(4, 3, 5)
        for axes in (0, 1, [[2], [0]], ([1, 2], [1, 0]), (-1, 0)):
            np.testing.assert_allclose(tf.tensordot(x, y, axes).numpy(), np.tensordot(x, y, axes), rtol=1e-11, atol=1e-12)
        for axes in (3, [[0], [0]], [[0, 1], [0]], [[0, 0], [0, 1]], [[5], [0]]):
            with self.assertRaisesRegex(ValueError, "tensordot: "):
                tf.tensordot(x, y, axes)
        np.testing.assert_allclose(tf.linalg.cross(draw(4, 3) * 0 + [1., 2, 3], np.tile([4., 5, 6], (4, 1))).numpy(),
                                   np.tile([-3., 6, -3], (4, 1)))

    def test_norms(self):
        x = draw(3, 4, 5)
        for ord, axis in itertools.product((1, 2, 3.5, np.inf), (0, -1)):
            np.testing.assert_allclose(tf.norm(x, ord, axis).numpy(), np.linalg.norm(x, ord, axis), rtol=1e-12)
        for ord, axis in itertools.product((1, 2, "fro", np.inf), ((0, 1), (2, 0))):
            for keep in (False, True):
                np.testing.assert_allclose(tf.linalg.norm(x, ord, axis, keep).numpy(),
                                           np.linalg.norm(x, ord, axis, keep), rtol=1e-11)
        self.assertAlmostEqual(float(tf.norm(x)), np.linalg.norm(x.ravel()))
        with self.assertRaisesRegex(ValueError, "norm: ord is 'nuclear'"):
            tf.norm(x, "nuclear")


class Einsum(unittest.TestCase):
    def test_against_numpy(self):
        shapes = {"a": 2, "b": 3, "c": 4, "d": 2, "i": 3, "j": 3}
        for equation in ("ab,bc->ac", "ab,cb", "ba", "ab->", "aab->b", "ii", "ii->i", "ijj->ij", "abc,cd->abd", "ab,bc,cd->ad",
                         "ab,ab,ab->b", "a,b,c->cab", "abc,bcd->da", "ab,c->", "iji,j->j"):
            terms = equation.split("->")[0].split(",")
            inputs = [draw(*(shapes[letter] for letter in term)) for term in terms]
            wanted = np.einsum(equation, *inputs)
            np.testing.assert_allclose(tf.einsum(equation, *inputs).numpy(), wanted, rtol=1e-11, atol=1e-12, err_msg=equation)

    def test_ellipsis_broadcasts(self):
        for equation, *shapes in (("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
                                  ("...i->...", (2, 3)), ("i...->...i", (2, 3, 4)), ("...,...", (2, 1), (3,)),
                                  ("b...i,...ij->b...j", (2, 3, 4), (4, 2)), ("...ii->...i", (2, 3, 3)), ("...i,...i", (2, 3), (3,))):
            inputs = [draw(*shape) for shape in shapes]
            np.testing.assert_allclose(tf.einsum(equation, *inputs).numpy(), np.einsum(equation, *inputs), rtol=1e-11, atol=1e-12,
                                       err_msg=equation)
            weights = draw(*np.einsum(equation, *inputs).shape)
            gradients = tfe.gradients_function(lambda *t: tf.einsum(equation, *t) * weights)(*map(tf.constant, inputs))
            for k, gradient in enumerate(gradients):
                numeric = differences(
                    lambda x: (np.einsum(equation, *inputs[:k], x, *inputs[k + 1:]) * weights).sum(), inputs[k])
                np.testing.assert_allclose(gradient.numpy(), numeric, rtol=1e-6, atol=1e-7, err_msg=equation)

    def test_whole_numbers_and_empty_sums(self):
        a = np.arange(6).reshape(2, 3)
        np.testing.assert_array_equal(tf.einsum("ij,kj->ik", a, a).numpy(), a @ a.T)
        np.testing.assert_array_equal(tf.einsum("ij,jk->ik", np.zeros((2, 0)), np.zeros((0, 3))).numpy(), np.zeros((2, 3)))
        x = tf.constant(draw(3, 4))
        np.testing.assert_allclose(tf.einsum("ij,jk", tf.transpose(x), x).numpy(), x.numpy().T @ x.numpy())

    def test_errors(self):
        a = draw(2, 3)
        for action, pattern in ((lambda: tf.einsum("ij,jk->ik", a, a), r"'j' is 3 and, in inputs\[1\] of shape \(2, 3\), 2"),
                                (lambda: tf.einsum("ij->k", a), "the result's 'k' is not an axis of any input"),
                                (lambda: tf.einsum("ij,jk->ik", a), "it has 2 operands, and 1 inputs were given"),
                                (lambda: tf.einsum("ijk", a), r"'ijk' names 3 axes, and inputs\[0\] has shape \(2, 3\)"),
                                (lambda: tf.einsum("i", a), r"'i' names 1 axes, and inputs\[0\] has shape \(2, 3\)"),
                                (lambda: tf.einsum("i*", a), r"'\*' is neither a letter"),
                                (lambda: tf.einsum("...i,...i", draw(2, 3), draw(4, 3)), "axes of '...' do not broadcast")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                action()


@needs_scipy
class Functions(unittest.TestCase):
    def test_exponential_and_root(self):
        for n in (1, 2, 5, 20):
            a = draw(n, n)
            for scale in (1e-3, 1., 30.):
                wanted = scipy.linalg.expm(a * scale)
                np.testing.assert_allclose(tf.linalg.expm(a * scale).numpy(), wanted, rtol=1e-9, atol=1e-10 * np.abs(wanted).max())
            p = positive(n, n)
            np.testing.assert_allclose(tf.linalg.sqrtm(p).numpy(), scipy.linalg.sqrtm(p), rtol=1e-8, atol=1e-9)
        turn = np.array([[0., -1.], [1., 0.]])  # a quarter turn is twice an eighth
        np.testing.assert_allclose(tf.linalg.sqrtm(turn).numpy(), np.array([[1, -1], [1, 1]]) / np.sqrt(2), atol=1e-14)
        np.testing.assert_allclose(tf.linalg.sqrtm(np.ones((2, 2))).numpy(), np.full((2, 2), np.sqrt(.5)), atol=1e-7)
        np.testing.assert_array_equal(tf.linalg.expm(np.zeros((2, 3, 3))).numpy(), np.broadcast_to(np.eye(3), (2, 3, 3)))


@needs_torch
class AgainstPyTorch(unittest.TestCase):
    def test_first_and_second_gradients(self):
        import torch
        square = draw(3, 3) * .3 + np.diag([2., 5., 9.])
        tall = np.concatenate([square, draw(1, 3)])
        for ours, theirs, a in (
                (tf.linalg.inv, torch.linalg.inv, square), (tf.linalg.det, torch.linalg.det, square),
                (lambda x: tf.linalg.cholesky((x + tf.transpose(x)) / 2.), lambda x: torch.linalg.cholesky((x + x.T) / 2), square),
                (lambda x: tf.linalg.qr(x).r, lambda x: torch.linalg.qr(x)[1], tall),
                (lambda x: tf.svd(x, compute_uv=False), torch.linalg.svdvals, tall),
                (lambda x: tf.linalg.eigvalsh((x + tf.transpose(x)) / 2.), lambda x: torch.linalg.eigvalsh((x + x.T) / 2), square),
                (tf.linalg.pinv, torch.linalg.pinv, tall), (tf.linalg.expm, torch.matrix_exp, square / 5),
                (lambda x: tf.linalg.slogdet(x)[1], lambda x: torch.linalg.slogdet(x)[1], square)):
            t = tf.constant(a)
            with tf.GradientTape() as outer:
                outer.watch(t)
                with tf.GradientTape() as inner:
                    inner.watch(t)
                    y = tf.reduce_sum(tf.sin(ours(t)))
                first = inner.gradient(y, t)
                size = tf.reduce_sum(first ** 3)
            second = outer.gradient(size, t)
            p = torch.tensor(a, requires_grad=True)
            torch_first, = torch.autograd.grad(torch.sin(theirs(p)).sum(), p, create_graph=True)
            torch_second, = torch.autograd.grad((torch_first ** 3).sum(), p)
            for mine, other in ((first, torch_first), (second, torch_second)):
                other = other.detach().numpy()
                np.testing.assert_allclose(mine.numpy(), other, rtol=1e-7, atol=1e-9 * max(1, np.abs(other).max()))


if __name__ == "__main__":
    unittest.main()
