"""Elementwise ops against NumPy, SciPy and PyTorch: values at the edges, dtypes, broadcasting, operators, gradients."""
import operator
import unittest

import numpy as np
import scipy.special

import tapedeck as tf

from gradients_of import gradient_of, torch

EDGES = [0., -0., 1., -1., .5, -.5, 1.5, 2.5, -2.5, 3., 1e-300, 5e-324, -1e-310, 1e-20, 1e20, -30., 30., 745., -745., 1e300,
         -1e300, np.inf, -np.inf, np.nan]


def edges(dtype):
    with np.errstate(over="ignore", under="ignore"):
        return np.array(EDGES).astype(dtype)


UNARY = {
    "abs": np.abs, "negative": np.negative, "sign": np.sign, "square": np.square, "sqrt": np.sqrt, "exp": np.exp,
    "expm1": np.expm1, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "round": np.round, "rint": np.rint, "trunc": np.trunc,
    "math.log": np.log, "math.reciprocal": lambda x: 1 / x, "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.erf": scipy.special.erf, "math.erfc": scipy.special.erfc, "math.is_nan": np.isnan, "math.is_inf": np.isinf,
    "math.is_finite": np.isfinite, "sigmoid": scipy.special.expit, "math.log_sigmoid": scipy.special.log_expit,
    "nn.relu": lambda x: np.where(x < 0, 0, x), "nn.relu6": lambda x: np.minimum(np.maximum(x, 0), 6),
    "nn.elu": lambda x: np.where(x < 0, np.expm1(x), x), "nn.softplus": lambda x: np.logaddexp(x, 0),
    "nn.softsign": lambda x: x / (1 + np.abs(x)), "nn.leaky_relu": lambda x: np.where(x > 0, x, x.dtype.type(.2) * x),
    "math.reciprocal_no_nan": lambda x: np.where(x == 0, 0, 1 / x),
}


class Values(unittest.TestCase):
    def check(self, result, wanted, tolerance, what):
        result = result.numpy()
        self.assertEqual(result.dtype, wanted.dtype, what)
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance / 10, err_msg=what)

    def test_one_operand_at_the_edges(self):
        for dtype, tolerance in ((np.float32, 1e-6), (np.float64, 1e-14)):
            x = edges(dtype)
            for name, reference in UNARY.items():
                with np.errstate(all="ignore"):
                    wanted = reference(x)
                if wanted.dtype != bool:
                    wanted = wanted.astype(dtype)
                self.check(operator.attrgetter(name)(tf)(x), wanted, tolerance, f"{name} {dtype.__name__}")

    def test_zeros_keep_their_sign(self):
        for name in ("asinh", "atanh", "trunc", "rint", "nn.elu", "nn.softsign", "math.erfinv", "nn.gelu", "nn.swish"):
            result = operator.attrgetter(name)(tf)(np.array([0., -0.])).numpy()
            self.assertEqual(np.signbit(result).tolist(), [False, True], name)

    def test_special_functions_agree_with_scipy(self):
        x = np.concatenate([np.linspace(-7.3, 40, 200), [1e-10, -1e-10, 1e5, 1e15, 170.5, -150.25]])
        for name, reference in (("lgamma", scipy.special.gammaln), ("digamma", scipy.special.digamma),
                                ("erfc", scipy.special.erfc)):
            self.check(getattr(tf.math, name)(x), reference(x), 2e-13, name)
            with np.errstate(all="ignore"):
                wanted = reference(x.astype(np.float32)).astype(np.float32)
            self.check(getattr(tf.math, name)(x.astype(np.float32)), wanted, 1e-5, name)
        positive = x[x > 0]
        for n in (0., 1., 2., 3., 10.):
            with np.errstate(all="ignore"):
                self.check(tf.math.polygamma(n, positive), scipy.special.polygamma(int(n), positive), 2e-14, f"polygamma {n}")
        for s in (1.25, 2., 5.5):
            self.check(tf.math.zeta(s, positive), scipy.special.zeta(s, positive), 2e-14, f"zeta {s}")
        p = np.concatenate([10.**-np.arange(1, 300, 7.), np.linspace(.01, .99, 99), [0, 1, -.1, 1.1, np.nan]])
        self.check(tf.math.ndtri(p), scipy.special.ndtri(p), 1e-14, "ndtri")
        inside = np.concatenate([p, -p])
        self.check(tf.math.erfinv(inside), scipy.special.erfinv(inside), 1e-14, "erfinv")
        self.check(tf.math.erfcinv(2 * p), scipy.special.erfcinv(2 * p), 1e-14, "erfcinv")

    def test_erfcinv_of_the_least_numbers_of_narrow_dtypes(self):
        for dtype, least, wanted, tolerance in ((tf.float16, 6e-8, 3.832031, 1e-3),
                                                (tf.float32, 1.4e-45, 10.019834518432617, 1e-6)):
            found = tf.math.erfcinv(tf.constant([least, -least, 0, 1], dtype)).numpy()
            np.testing.assert_allclose(found, [wanted, np.nan, np.inf, 0], rtol=tolerance)
            self.assertEqual(found.dtype, dtype.as_numpy_dtype)

    def test_digamma_keeps_its_digits_beside_its_zeros(self):
        for x, wanted in (  # by mpmath 1.2.1 with 60 digits
                (1.4616321449683622, -9.241265521729427e-17), (1.4616321449683707, 8.072510599401404e-15), (1.4616321,
                -4.3514636958769774e-08), (1.461, -0.0006118861376865112), (1.5154389927239045, 0.05082445744871386), (1.25,
                -0.22745353337626542), (1.7, 0.2085478748734939), (1.2000001, -0.2890397698544751), (1.7499,
                0.247396040550276), (-0.504, 0.0007420716047053968), (-0.4797518857071592, 0.2175009807494184), (-1.5734,
                0.0009788966613444876), (-2.6330366027846033, -0.24904396530277448), (-12.723194563320385,
                -0.0702942939284083), (-0.5, 0.03648997397857652), (-100.25, 7.754238959208646), (-1e-20, 1e+20),
                (2.5838146493934206, 0.7434474960661192)):
            np.testing.assert_allclose(tf.math.digamma(np.float64(x)).numpy(), wanted, rtol=1.2e-15, err_msg=str(x))

    def test_zeta_below_zero_to_the_last_digits_beside_its_zeros_too(self):
        # Sums of mpmath 1.2.1 with 60 digits.
        for s, q, wanted in ((3, -.5, 0.41439832211716), (3, -1.4375, -6.286139575742933), (3, -3.484375, -1.4959002842915086),
                             (5, -2.4921875, -5.012927466419517), (5, -7.5, 6.0255206861549874e-05),
                             (7, -1.501, 3.586553820394968), (3, -20.4990234375, -0.09399400899362309),
                             (9, -12.498, -36.87544302268693), (4, -2.5, 32.4579793698646), (2, -1e-09, 9.999999999999999e+17),
                             (3, -33.0009765625, -1073741823.9932128), (3, -.49609375, 0.03658308568591455),
                             (1025, -1.5, 0), (2049, -3.25, -np.inf), (99999, -3.75, np.inf), (100000, -3.75, np.inf)):
            found = tf.math.zeta(np.float64(s), np.float64(q)).numpy()
            np.testing.assert_allclose(found, wanted, rtol=2.3e-16, err_msg=f"{s} {q}")

    def test_zeta_to_the_last_digits(self):
        # ζ(s, q) by Euler's and Maclaurin's formula with 45 digits
        for s, q, wanted in ((1.0000000001, 1e-17, 1.0000001039143867e+17), (1.000000000001, 1e-16, 1.0000999911475768e+16),
                             (50., 100.3, 2.228270349795668e-100), (24., 398.96610586303785, 6.748502108153257e-62),
                             (54.51990169253576, 1082.0379105596612, 7.759317391805151e-165),
                             (2.674576446284124, 120.67259374106406, 1.9646998667058576e-4),
                             (30., 1.5e8, 2.6974632180891906e-239), (3.3, 1e12, 1.0921245354402093e-28),
                             (3., -1e-20, -1e60), (2., .3, 12.245364546107732)):
            np.testing.assert_allclose(tf.math.zeta(np.float64(s), np.array([q])).numpy(), [wanted], rtol=6e-16, err_msg=f"{s} {q}")

    def test_poles_of_the_gamma_functions(self):
        self.assertEqual(tf.math.lgamma([0., -0., -1., -7., np.inf]).numpy().tolist(), [np.inf] * 5)
        np.testing.assert_array_equal(tf.math.digamma([0., -0., -1., np.inf, -np.inf]).numpy(),
                                      [-np.inf, np.inf, np.nan, np.inf, np.nan])
        np.testing.assert_array_equal(tf.math.polygamma([1., 1., -1., .5], [0., -3., 2., 2.]).numpy(),
                                      [np.inf, np.inf, np.nan, np.nan])
        np.testing.assert_array_equal(tf.math.zeta([1., .5, 2., np.nan], [2., 2., 0., 2.]).numpy(),
                                      [np.inf, np.nan, np.inf, np.nan])
        # ψ'(x) + ψ'(1 − x) = π² / sin²(πx) (Abramowitz and Stegun, 6.4.7), also far below 0
        for x in (-.3, -5.25, -1e6 - .25):
            wanted = np.pi**2 / np.sin(np.pi * (x % 1))**2
            found = tf.math.polygamma(np.float64(1), np.array([x, 1 - x])).numpy().sum()
            self.assertAlmostEqual(found / wanted, 1, places=9)

    def test_activations_far_out(self):
        x = np.array([-1e4, -40., -20., -6., 6., 20., 40., 1e4])
        normal = x * scipy.special.ndtr(x)
        np.testing.assert_allclose(tf.nn.gelu(x).numpy(), normal, rtol=1e-13)
        np.testing.assert_allclose(tf.nn.silu(x).numpy(), x * scipy.special.expit(x), rtol=1e-13)
        np.testing.assert_allclose(tf.nn.swish(x, beta=2.).numpy(), x * scipy.special.expit(2 * x), rtol=1e-13)
        np.testing.assert_allclose(tf.nn.gelu(x, approximate=True).numpy()[3:5],
                                   .5 * x[3:5] * (1 + np.tanh(np.sqrt(2 / np.pi) * (x[3:5] + .044715 * x[3:5]**3))), rtol=1e-6)
        self.assertEqual(tf.nn.gelu(x, approximate=True).numpy()[[0, -1]].tolist(), [0, 1e4])
        np.testing.assert_allclose(tf.nn.selu(x).numpy()[[0, -1]], [-1.7580993408473766, 10507.009873554805], rtol=1e-15)
        np.testing.assert_array_equal(tf.nn.crelu([[-1., 2.]]).numpy(), [[0, 2, 1, 0]])

    def test_two_operands_at_the_edges(self):
        def where_zero(condition, function):
            return lambda x, y: np.where(condition(x, y), x.dtype.type(0), function(x, y))

        references = {
            "truncatediv": lambda x, y: np.trunc(x / y), "truncatemod": np.fmod, "atan2": np.arctan2,
            "maximum": np.maximum, "minimum": np.minimum, "squared_difference": lambda x, y: (x - y)**2,
            "math.divide_no_nan": where_zero(lambda x, y: y == 0, np.divide),
            "math.multiply_no_nan": where_zero(lambda x, y: y == 0, np.multiply),
            "math.xdivy": where_zero(lambda x, y: x == 0, np.divide),
            "math.xlogy": where_zero(lambda x, y: x == 0, lambda x, y: x * np.log(y)),
            "math.xlog1py": where_zero(lambda x, y: x == 0, lambda x, y: x * np.log1p(y)),
            "pow": np.power, "equal": np.equal, "less": np.less, "greater_equal": np.greater_equal,
        }
        for dtype, tolerance in ((np.float32, 2e-6), (np.float64, 1e-14)):
            x = edges(dtype)
            for name, reference in references.items():
                with np.errstate(all="ignore"):
                    wanted = reference(x[:, None], x)
                self.check(operator.attrgetter(name)(tf)(x[:, None], x), wanted, tolerance, f"{name} {dtype.__name__}")

    def test_whole_numbers(self):
        low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
        x = np.array([-7, 7, -8, 8, low, high, 0], np.int32)
        y = np.array([2, -2, 3, -3, -1, -1, 5], np.int32)
        self.assertEqual(tf.truncatediv(x, y).numpy().tolist(), [-3, -3, -2, -2, low, -high, 0])
        self.assertEqual(tf.truncatemod(x, y).numpy().tolist(), [-1, 1, -2, 2, 0, 0, 0])
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(tf.math.floormod(x, y).numpy(), np.mod(x, y))
        self.assertEqual(tf.div([7, -7], 2).numpy().tolist(), [3, -4])
        self.assertEqual(tf.div([7., -7.], 2).numpy().tolist(), [3.5, -3.5])
        self.assertEqual(tf.nn.relu6(np.array([-3, 4, 9])).numpy().tolist(), [0, 4, 6])
        self.assertEqual(tf.trunc(x).dtype, tf.int32)
        for dtype in (np.int32, np.int64):
            a, b = np.array([5, -12, 0, 255], dtype), np.array([[3], [-1]], dtype)
            for name, reference in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or),
                                    ("bitwise_xor", np.bitwise_xor)):
                np.testing.assert_array_equal(getattr(tf.bitwise, name)(a, b).numpy(), reference(a, b))
            np.testing.assert_array_equal(tf.bitwise.invert(a).numpy(), ~a)
            np.testing.assert_array_equal(tf.bitwise.left_shift(a, dtype(3)).numpy(), a << 3)
            np.testing.assert_array_equal(tf.bitwise.right_shift(a, dtype(3)).numpy(), a >> 3)
        self.assertEqual(tf.bitwise.left_shift(1, [31, 32, 99, -1]).numpy().tolist(), [low, low, low, 1])

    def test_logic(self):
        a, b = [True, True, False, False], [True, False, True, False]
        self.assertEqual(tf.math.logical_xor(a, b).numpy().tolist(), [False, True, True, False])
        self.assertEqual(tf.logical_and(a, b).numpy().tolist(), [True, False, False, False])
        self.assertEqual(tf.logical_or(a, b).numpy().tolist(), [True, True, True, False])
        self.assertEqual(tf.logical_not(b).numpy().tolist(), [False, True, False, True])

    def test_empty_scalar_six_axes_and_views(self):
        six = np.arange(64.).reshape((2,) * 6) / 7 - 3
        for name in ("asinh", "nn.gelu", "math.lgamma", "nn.elu"):
            function = operator.attrgetter(name)(tf)
            self.assertEqual(function(np.zeros([0, 3])).shape, (0, 3), name)
            self.assertEqual(function(1.).shape, (), name)
            whole = function(six).numpy()
            view = tf.transpose(tf.constant(six))[::-1, :, ::-1]
            np.testing.assert_array_equal(function(view).numpy(), whole.T[::-1, :, ::-1], err_msg=name)


class Operators(unittest.TestCase):
    def test_whole_numbers_both_ways(self):
        values, other = np.array([13, -7, 255, 0], np.int32), np.array([3, 5, -2, 1], np.int32)
        a, b = tf.constant(values), tf.constant(other)
        for operation in (operator.and_, operator.or_, operator.xor, operator.floordiv, operator.mod):
            for left, right in ((a, b), (a, other), (values, b), (a, 6), (6, b), (tf.Variable(values), b)):
                result = operation(left, right)
                self.assertIsInstance(result, tf.Tensor)
                plain = [np.asarray(x) if isinstance(x, np.ndarray) else x if isinstance(x, int) else x.numpy()
                         for x in (left, right)]
                np.testing.assert_array_equal(result.numpy(), operation(*plain), err_msg=str(operation))
        np.testing.assert_array_equal((a << 3).numpy(), values << 3)
        np.testing.assert_array_equal((a >> 1).numpy(), values >> 1)
        np.testing.assert_array_equal((1 << tf.constant([0, 4])).numpy(), [1, 16])
        np.testing.assert_array_equal((-64 >> tf.constant([0, 4])).numpy(), [-64, -4])
        np.testing.assert_array_equal((~a).numpy(), ~values)

    def test_divmod(self):
        values = np.array([7., -7., 7.5], np.float32)
        for left, right in ((tf.constant(values), 2.), (-20., tf.constant(values)), (tf.constant(values), values[::-1].copy())):
            quotient, remainder = divmod(left, right)
            plain = [x.numpy() if isinstance(x, tf.Tensor) else np.float32(x) for x in (left, right)]
            wanted = np.divmod(*plain)
            np.testing.assert_allclose(quotient.numpy(), wanted[0])
            np.testing.assert_allclose(remainder.numpy(), wanted[1], rtol=1e-6)
        with self.assertRaises(TypeError):
            divmod(tf.constant(1.), object())

    def test_bits_of_real_numbers_are_refused(self):
        for action in (lambda x: x & 1, lambda x: 1 | x, lambda x: x ^ x, lambda x: ~x):
            with self.assertRaisesRegex(TypeError, "float32; it needs bools or integers"):
                action(tf.constant([1.]))
        with self.assertRaisesRegex(TypeError, "left_shift: x is float32; needs an integer dtype"):
            tf.constant([1.]) << tf.constant([1.])


class Selection(unittest.TestCase):
    def test_where_alone_gives_coordinates(self):
        mask = np.array([[True, False, True], [False, False, True]])
        result = tf.where(mask)
        self.assertEqual(result.dtype, tf.int64)
        np.testing.assert_array_equal(result.numpy(), np.argwhere(mask))
        np.testing.assert_array_equal(tf.where(np.array([0., 2., np.nan])).numpy(), [[1], [2]])
        self.assertEqual(tf.where(True).shape, (1, 0))
        self.assertEqual(tf.where(np.zeros([0, 2], bool)).shape, (0, 2))

    def test_where_broadcasts_or_takes_rows(self):
        x = np.arange(6.).reshape(3, 2)
        np.testing.assert_array_equal(tf.where([True, False], x, -x).numpy(), np.where([True, False], x, -x))
        rows = tf.where([True, False, True], x, -x)  # TensorFlow 1
        np.testing.assert_array_equal(rows.numpy(), np.where([[True], [False], [True]], x, -x))
        square = np.arange(9.).reshape(3, 3)  # both would fit: the later version's way
        np.testing.assert_array_equal(tf.where([True, False, True], square, -square).numpy(),
                                      np.where([True, False, True], square, -square))
        self.assertEqual(tf.where(True, tf.constant(1., dtype=tf.float64), 0).dtype, tf.float64)
        with self.assertRaisesRegex(ValueError, "where: y is None; give both x and y, or neither"):
            tf.where([True], [1.])
        with self.assertRaisesRegex(ValueError, r"where: .*\(3,\)"):
            tf.where([True, False, True], [[1., 2.]], 0.)

    def test_where_passes_gradients_to_what_was_chosen(self):
        x, y = gradient_of(lambda x, y: tf.where([True, False, True], x * x, y / 0.), np.array([1., 2., 3.]),
                           np.array([4., 5., 6.]))
        self.assertEqual(x.tolist(), [2, 0, 6])

    def test_clip_by_norm(self):
        t = np.array([[3., 4.], [.3, .4]])
        np.testing.assert_allclose(tf.clip_by_norm(t, 2.).numpy(), t * 2 / np.linalg.norm(t))
        np.testing.assert_allclose(tf.clip_by_norm(t, 1., axes=1).numpy(), [[.6, .8], [.3, .4]])
        np.testing.assert_array_equal(tf.clip_by_norm(t, 10.).numpy(), t)
        np.testing.assert_array_equal(tf.clip_by_norm(0 * t, 1.).numpy(), 0 * t)
        self.assertEqual(gradient_of(lambda t: tf.clip_by_norm(t, 5.), np.array([0., 0.]))[0].tolist(), [1, 1])

    def test_clip_by_global_norm(self):
        a, b = np.array([3., 0.]), np.array([[4.]])
        self.assertEqual(float(tf.linalg.global_norm([a, None, b])), 5)
        clipped, norm = tf.clip_by_global_norm([a, None, b], 1.)
        self.assertEqual(float(norm), 5)
        self.assertIsNone(clipped[1])
        np.testing.assert_allclose(clipped[0].numpy(), a / 5)
        same, _ = tf.clip_by_global_norm([a, b], 50.)
        np.testing.assert_array_equal(same[1].numpy(), b)
        self.assertTrue(np.isnan(tf.clip_by_global_norm([np.array([np.inf]), b], 1.)[0][1].numpy()).all())
        with self.assertRaisesRegex(TypeError, "t_list"):
            tf.clip_by_global_norm(3., 1.)

    def test_monotony_and_zeros(self):
        self.assertTrue(tf.math.is_non_decreasing([1, 1, 2]))
        self.assertFalse(tf.math.is_strictly_increasing([1, 1, 2]))
        self.assertTrue(tf.math.is_strictly_increasing([1.]))
        self.assertFalse(tf.math.is_non_decreasing([2., 1.]))
        self.assertEqual(float(tf.nn.zero_fraction([0, 3, 0, 0])), .75)
        self.assertEqual(tf.scalar_mul(2, [1., 2.]).numpy().tolist(), [2, 4])
        with self.assertRaisesRegex(ValueError, r"scalar has shape \(2,\)"):
            tf.scalar_mul([1., 2.], [1., 2.])


@unittest.skipIf(torch is None, "PyTorch is not installed: python3-torch")
class GradientsAgreeWithPyTorch(unittest.TestCase):
    def both_orders(self, ours, theirs, *values, tolerance=1e-10):
        """Gradients of Σ f·w, and of the square sum of those gradients."""
        tensors = [tf.constant(value) for value in values]
        leaves = [torch.tensor(value, requires_grad=True) for value in values]
        with tf.GradientTape() as outer:
            outer.watch(tensors)
            with tf.GradientTape() as inner:
                inner.watch(tensors)
                result = ours(*tensors)
            first = inner.gradient(result, tensors)
            total = tf.add_n([tf.reduce_sum(g * g) for g in first])
        second = outer.gradient(total, tensors)
        result = theirs(*leaves)
        wanted = torch.autograd.grad(result.sum(), leaves, create_graph=True)
        wanted_second = torch.autograd.grad(sum((g * g).sum() for g in wanted), leaves, allow_unused=True)
        for mine, reference in zip(list(first) + list(second), list(wanted) + list(wanted_second)):
            reference = np.zeros(values[0].shape) if reference is None else reference.detach().numpy()
            mine = np.zeros(values[0].shape) if mine is None else mine.numpy()
            np.testing.assert_allclose(mine, reference, rtol=tolerance, atol=1e-12)

    def test_activations(self):
        x = np.array([-30., -8., -3.2, -1., -.1, .1, .7, 2.5, 5.9, 8., 30.])
        functional = torch.nn.functional
        for name, ours, theirs in (
                ("elu", tf.nn.elu, functional.elu), ("selu", tf.nn.selu, functional.selu),
                ("relu6", tf.nn.relu6, functional.relu6), ("softsign", tf.nn.softsign, functional.softsign),
                ("silu", tf.nn.silu, functional.silu), ("gelu", tf.nn.gelu, functional.gelu),
                ("gelu tanh", lambda x: tf.nn.gelu(x, approximate=True), lambda x: functional.gelu(x, approximate="tanh")),
                ("leaky_relu", lambda x: tf.nn.leaky_relu(x, alpha=.3), lambda x: functional.leaky_relu(x, .3)),
                ("log_sigmoid", tf.math.log_sigmoid, functional.logsigmoid)):
            with self.subTest(name):
                self.both_orders(ours, theirs, x)

    def test_functions(self):
        x = np.array([.1, .35, .6, .93])
        for name in ("asinh", "atanh", "erfc", "lgamma", "digamma", "erfinv"):
            with self.subTest(name):  # PyTorch's trigamma has nine digits
                self.both_orders(operator.attrgetter(name)(tf.math), getattr(torch, name), x,
                                 tolerance=2e-9 if "gamma" in name else 1e-10)
        self.both_orders(tf.acosh, torch.acosh, x + 1.05)
        self.both_orders(lambda x: tf.math.polygamma(np.float64(2), x), lambda x: torch.polygamma(2, x), x)
        orders = x + 2  # taken as constants
        self.both_orders(lambda q: tf.math.zeta(orders, q), lambda q: torch.special.zeta(torch.tensor(orders), q), x + .5)
        self.assertIsNone(gradient_of(tf.math.zeta, orders, x)[0])
        self.assertIsNone(gradient_of(tf.math.polygamma, np.ones(4), x)[0])

    def test_two_operands(self):
        x, y = np.array([.3, -1.2, 2., -.7]), np.array([1.1, .4, -2.2, -.9])
        self.both_orders(tf.atan2, torch.atan2, x, y)
        self.both_orders(tf.math.xlogy, torch.xlogy, x, abs(y))
        self.both_orders(tf.math.xlog1py, torch.special.xlog1py, x, abs(y))
        self.both_orders(tf.math.divide_no_nan, torch.div, x, y)

    def test_gradients_near_the_ends_of_their_range(self):
        x = np.float32([.9999, -.99999, .9999999])
        wide = x.astype(float)
        root = np.sqrt((1 - wide) * (1 + wide))
        for function, wanted in ((tf.asin, 1 / root), (tf.acos, -1 / root), (tf.atanh, 1 / root**2)):
            np.testing.assert_allclose(gradient_of(function, x)[0], wanted, rtol=3e-7)
        for size in (1e-30, 1e30):
            found = gradient_of(tf.atan2, np.float32([3 * size]), np.float32([4 * size]))
            np.testing.assert_allclose(np.ravel(found), [.16 / size, -.12 / size], rtol=1e-6)
        self.assertEqual(gradient_of(tf.atan2, np.array([np.inf]), np.array([1.]))[0].tolist(), [0])
        np.testing.assert_allclose(gradient_of(tf.math.xdivy, np.float32([1e38]), np.float32([1e25]))[1], [-1e-12], rtol=1e-6)

    def test_powers_with_the_exponent_0(self):
        x, y = tf.constant([2., 0., np.inf, 1e-310], tf.float64), tf.zeros(4, tf.float64)
        with tf.GradientTape() as outer:
            outer.watch(y)
            with tf.GradientTape() as tape:
                tape.watch(x)
                power = x**y
            slope = tape.gradient(power, x)
        self.assertEqual(slope.numpy().tolist(), [0, 0, 0, 0])
        self.assertEqual(outer.gradient(slope, y).numpy()[0], .5)  # ∂²xʸ/∂x∂y = x^(y−1)·(1 + y·ln x)

    def test_powers_with_a_constant_exponent(self):
        x = tf.constant([-2., 0., .5, 3.], tf.float64)
        for exponent in (1, 2, 3, -1, .5, 2.5):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = x**exponent
                first = tape.gradient(y, x)
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(first, exponent * np.power(x.numpy(), exponent - 1.), rtol=1e-15)
                wanted = exponent * (exponent - 1.) * np.power(x.numpy(), exponent - 2.) if exponent != 1 else np.zeros(4)
                np.testing.assert_allclose(outer.gradient(first, x), wanted, rtol=1e-14)

    def test_an_exponent_counts_for_an_outer_tape(self):
        x, n = tf.constant([2., 3.], tf.float64), tf.constant(2., tf.float64)
        with tf.GradientTape() as outer:
            outer.watch(n)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x**n
            first = tape.gradient(y, x)  # n·xⁿ⁻¹
        wanted = np.sum(x.numpy() + 2 * x.numpy() * np.log(x.numpy()))
        np.testing.assert_allclose(outer.gradient(first, n), wanted, rtol=1e-14)

    def test_zeros_of_x_in_xlogy_and_no_nan(self):
        zero = np.array([0.])
        self.assertEqual([g.tolist() for g in gradient_of(tf.math.xlogy, zero, zero)], [[0], [0]])
        self.assertEqual([g.tolist() for g in gradient_of(tf.math.divide_no_nan, np.array([3.]), zero)], [[0], [0]])
        self.assertEqual([g.tolist() for g in gradient_of(tf.math.multiply_no_nan, np.array([np.inf]), zero)],
                         [[0], [np.inf]])


if __name__ == "__main__":
    unittest.main()
