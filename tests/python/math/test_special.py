"""The incomplete gamma and beta functions against SciPy, their symmetries, and their gradients."""
import math
import unittest
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

import tapedeck as tf

try:
    import scipy.special
except ImportError:
    scipy = None

needs_scipy = unittest.skipUnless(scipy, "SciPy is not installed: python3-scipy")
RANDOM = np.random.RandomState(7)

# (a, b, x, I(x; a, b))
TABLE = [
    (365.75, 0.015, 0.99995, 0.0505164532918090476),
    (0.001, 2000.0, 1e-09, 0.987532154175194457),
    (2000.0, 0.001, 0.9999, 0.00122271122891171549),
    (0.5, 300.0, 0.02, 0.999498893812491297),
    (300.0, 0.5, 0.9, 1.90181907868197808e-15),
    (0.0001, 0.0001, 0.5, 0.5),
    (40.0, 60.0, 0.2, 2.68192576602834038e-6),
    (5000.0, 30.0, 0.995, 0.810442245612856093),
]


def exact_polygamma(n, x):
    """(−1)ⁿ⁺¹ n! Σ (x + k)⁻⁽ⁿ⁺¹⁾ for a fraction x, in 60 digits: a sum over k, and its rest by Euler's and Maclaurin's formula."""
    with localcontext() as context:
        context.prec = 60
        q, s = Decimal(x.numerator) / x.denominator, n + 1
        terms = 40 * n
        total = sum((1 + Decimal(k) / q)**-s for k in range(min(terms, 4000)))
        at, power = q + min(terms, 4000), (1 + Decimal(min(terms, 4000)) / q)**-s
        total += power * at / (s - 1) + power / 2 + s * power / at / 12
        total -= Decimal(s * (s + 1) * (s + 2)) * power / at**3 / 720
        total += Decimal(s * (s + 1) * (s + 2) * (s + 3) * (s + 4)) * power / at**5 / 30240
        value = Decimal(math.factorial(n)) * q**-s * total
        try:
            return float(value if n % 2 else -value)
        except OverflowError:
            return math.inf if n % 2 else -math.inf


def differences(f, x, step=1e-5):
    return (f(x + step) - f(x - step)) / (2 * step)


# a, b, x, I(x; a, b), ∂I/∂x: the density's integral by Gauss' and Legendre's rule of 60 points on pieces of the tail,
# with the exponents' digits kept (up to 1400), mpmath 1.2.1.
LARGE_BETA = [
    (1e+300, 1e+300, 0.5, 0.5, 1.1283791670955127e+150),
    (1.7e+308, 1.7e+308, 0.5, 0.5, 1.4712264360219253e+154),
    (1e+300, 1e+300, 0.4999999999999999, 0.0, 0.0),
    (100000.0, 100000.0, 0.5, 0.5, 356.82437719980396),
    (1000000000.0, 1000000000.0, 0.50001, 0.814453315231583, 23918.683198207622),
    (1e+16, 3e+16, 0.2500000001, 0.5184198074299764, 184067103.30858484),
    (1920733481410708.5, 69.6483473311977, 0.9999999999999415, 6.0327367358911835e-06, 4655422575.03449),
    (2.2091375054662215e+23, 1.2625866758355208e+17, 0.9999994284710882, 0.47979948835695696, 247711039271667.47),
    (5.134154373143956e+17, 5.356308624579107e+19, 0.009494242810362794, 0.5000000242616299, 30252111386.975986),
    (68947.42542618838, 4.214649928228513e+56, 1.6476046738007998e-52, 0.9696482970635483, 1.0975171401193475e+53),
    (6.817035039182383e+19, 5.558956493688208e+18, 0.9246031632108392, 9.060541465747588e-27, 3.164272511084278e-15),
    (1e-300, 1e+300, 1e-200, 1.0, 0.0),
    (612048038.87527, 1658.9669738935736, 0.9999970716506964, 0.0006924729892646005, 34274.56946095925),
    (43.30609559317135, 810170.5949441034, 9.53121161230994e-07, 3.3682608560816903e-59, 1.5037436060679814e-51),
    (10000.0, 10000.0, 0.45, 6.312654777749951e-46, 2.5630696705413882e-42),
]
# a, x, P(a, x), Q(a, x), ∂P/∂a, ∂P/∂x: the same of the gamma distribution.
LARGE_GAMMA = [
    (100000.0, 100300.0, 0.8286363112512076, 0.17136368874879235, -0.0008039282123635643, 0.0008027239887844245),
    (10000000000.0, 9999800000.0, 0.02274959203581455, 0.9772504079641855, -5.399006665459764e-07, 5.399060656336285e-07),
    (1e+16, 1.00000001e+16, 0.8413447460685429, 0.15865525393145705, -2.4197072411585883e-09, 2.419707229060052e-09),
    (1e+28, 1.0000000000000277e+28, 0.9972037983161156, 0.00279620168388439, -8.586880226326422e-17, 8.586880226326302e-17),
    (1e+100, 1e+100, 0.5, 0.5, -3.989422804014327e-51, 3.989422804014327e-51),
    (12761.776392802725, 13605.487414351765, 0.9999999999998693, 1.306235250405863e-13, -8.516859402951725e-15,
     8.249858130712982e-15),
    (1000000000000.0, 999975000000.0, 3.040817622157107e-138, 1.0, -7.6142635872177235e-143, 7.61435876749422e-143),
    (25.0, 1e-05, 6.446888294776375e-151, 1.0, -9.510235571001772e-150, 1.6117214538009973e-144),
    (1e-10, 3.0, 0.9999999999986952, 1.3048381096671611e-12, -0.013048381099146186, 1.65956894587358e-12),
    (3807.6736460418065, 3279.8768692634603, 1.3724089901088845e-19, 1.0, -2.071428909389772e-20, 2.2338547924493657e-20),
    (1e-300, 1e-300, 1.0, 6.901983122333122e-298, -690.1983122333122, 1.0),
]


@needs_scipy
class AgainstSciPy(unittest.TestCase):
    def test_incomplete_gamma_functions(self):
        a = 10**RANDOM.uniform(-3, 4, 4000)
        x = np.where(RANDOM.uniform(size=4000) < .5, a * RANDOM.uniform(.3, 2, 4000), 10**RANDOM.uniform(-4, 3, 4000))
        for ours, theirs in ((tf.math.igamma, scipy.special.gammainc), (tf.math.igammac, scipy.special.gammaincc)):
            wanted = theirs(a, x)
            normal = wanted > 1e-280
            np.testing.assert_allclose(ours(a, x).numpy()[normal], wanted[normal], rtol=2e-11)
            np.testing.assert_allclose(ours(a, x).numpy()[~normal], 0, atol=1e-279)

    def test_incomplete_beta_function(self):
        # Of smaller a and b SciPy's own values lose digits.
        a, b = (10**RANDOM.uniform(-.3, 3, 4000) for _ in range(2))
        mean = a / (a + b)
        x = np.where(RANDOM.uniform(size=4000) < .5, RANDOM.uniform(size=4000),
                     np.clip(mean + np.sqrt(mean * (1 - mean) / (a + b + 1)) * RANDOM.normal(size=4000), 1e-6, 1 - 1e-6))
        wanted = scipy.special.betainc(a, b, x)
        normal = wanted > 1e-250
        np.testing.assert_allclose(tf.math.betainc(a, b, x).numpy()[normal], wanted[normal], rtol=1e-9, atol=1e-15)

    def test_other_dtypes_round_the_result(self):
        for dtype, tolerance in ((np.float32, 1e-6), (np.float16, 1e-3)):
            a, x = np.array([.5, 3, 20], dtype), np.array([.25, 4, 15], dtype)
            result = tf.math.igamma(a, x)
            self.assertEqual(result.dtype, dtype)
            np.testing.assert_allclose(result.numpy(), scipy.special.gammainc(a.astype(float), x.astype(float)), rtol=tolerance)
            np.testing.assert_allclose(tf.math.betainc(a, a, x / 64).numpy(),
                                       scipy.special.betainc(*(v.astype(float) for v in (a, a, x / 64))), rtol=tolerance)

    def test_bessel_functions(self):
        near = np.concatenate([10**RANDOM.uniform(-8, 0, 500), RANDOM.uniform(0, 30, 1500), RANDOM.uniform(30, 650, 500)])
        far = np.concatenate([near, 10**RANDOM.uniform(2, 12, 500)])
        for name in ("i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e", "j0", "j1", "y0", "y1"):
            x = near if name in ("i0", "i1", "k0", "k1") else far
            if name[0] in "ij":
                x = np.concatenate([x, -x])
            if name[0] in "jy":  # SciPy's own lose digits by then
                x = x[np.abs(x) < 1e3]
            ours, wanted = getattr(tf.math.special, "bessel_" + name)(x).numpy(), getattr(scipy.special, name)(x)
            scale = np.abs(wanted)
            if name[0] in "jy":  # an error of the argument in the last digit, where the function has a zero
                scale = np.hypot(wanted, np.sqrt(2 / np.pi / np.maximum(np.abs(x), 1)))
            self.assertLess((np.abs(ours - wanted) / np.maximum(scale, 1e-300)).max(), 4e-15 if name[0] in "ik" else 2e-13, name)

    def test_polygamma_of_orders_whose_factorial_is_no_double(self):
        # (n, x): ln n! + ln ζ(n + 1, x), in which the sum is of few terms, with whole numbers of any size.
        for n, x in ((171, 2.), (172, 3.5), (171, 30.), (200, 80.), (500, 200.25), (1000, 380.), (171, 1e4), (180, .99)):
            wanted = exact_polygamma(n, Fraction(x))
            found = float(tf.math.polygamma(np.float64(n), np.float64(x)))
            np.testing.assert_allclose(found, wanted, rtol=1e-14, err_msg=f"{n} {x}")


class Incomplete(unittest.TestCase):
    def test_the_two_parts_of_gamma_are_one(self):
        a, x = 10**RANDOM.uniform(-8, 8, 500), 10**RANDOM.uniform(-8, 8, 500)
        both = tf.math.igamma(a, x) + tf.math.igammac(a, x)
        np.testing.assert_allclose(both.numpy(), np.ones(500), rtol=1e-14)

    def test_known_values(self):
        x = np.array([1e-300, 1e-5, .3, 2., 40., 700.])
        np.testing.assert_allclose(tf.math.igamma(np.ones(6), x).numpy(), -np.expm1(-x), rtol=1e-14)  # P(1, x) = 1 − e⁻ˣ
        np.testing.assert_allclose(tf.math.igammac(np.ones(6), x).numpy(), np.exp(-x), rtol=2e-14)
        # Q(a, 1) = a·E₁(1) + O(a²), E₁(1) = 0.219383934395520…: a tiny a keeps its digits.
        np.testing.assert_allclose(float(tf.math.igammac(1e-200, np.float64(1))), .21938393439552027e-200, rtol=1e-14)
        u = np.array([1e-300, .1, .5, .9])
        np.testing.assert_allclose(tf.math.betainc(np.ones(4), np.ones(4), u).numpy(), u, rtol=1e-14)  # uniform
        np.testing.assert_allclose(tf.math.betainc(3., 3., .5).numpy(), .5, rtol=1e-6)

    def test_betainc_next_to_one(self):
        """With a as large or b as small as this the mean is next to 1, too."""
        # For large a, I(1 − t; a, b) is Q(b, at); mpmath 1.2.1 with 60 digits.
        for a, b, x, wanted in ((2.**65, 8000, 1 - 2.**-52, .016445630304507967),
                                (3.568765336826335e19, 8721.039036924583, 1 - 2.**-52, 1),
                                (30747.251541141854, 3.4151208464809263e-07, .9999999999888929, 4.8879414194278174e-06),
                                (38561.33465360305, 1.3433219582005398e-10, .9999999999999964, 2.9732895557152949e-09)):
            np.testing.assert_allclose(float(tf.math.betainc(np.float64(a), b, x)), wanted, rtol=1e-10, atol=1e-15,
                                       err_msg=f"{a} {b} {x}")

    def test_betainc_keeps_its_digits_where_a_and_b_are_far_apart(self):
        # Computed with mpmath, 40 digits.
        for a, b, x, wanted in TABLE:
            np.testing.assert_allclose(float(tf.math.betainc(np.float64(a), b, x)), wanted, rtol=2e-12, err_msg=f"{a} {b} {x}")

    def test_edges(self):
        nan = np.nan
        np.testing.assert_array_equal(tf.math.igamma([1., 1, 0, -1, 1, nan], [0., np.inf, 1, 1, -1, 1]).numpy(),
                                      [0, 1, nan, nan, nan, nan])
        np.testing.assert_array_equal(tf.math.igammac([1., 1, 0, -1], [0., np.inf, 1, 1]).numpy(), [1, 0, nan, nan])
        np.testing.assert_array_equal(tf.math.betainc([1., 1, 0, 1, 1], [1., 1, 1, 1, nan], [0., 1, .5, 1.5, .5]).numpy(),
                                      [0, 1, nan, nan, nan])

    def test_names_broadcasting_and_errors(self):
        self.assertIs(tf.igamma, tf.math.igamma)
        self.assertIs(tf.igammac, tf.math.igammac)
        self.assertIs(tf.betainc, tf.math.betainc)
        self.assertEqual(tf.math.betainc(1., [[2.], [3.]], [.1, .2, .3]).shape, (2, 3))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"betainc: .*\(2,\).*\(3,\)"):
            tf.math.betainc([1., 2], [1., 2, 3], .5)
        with self.assertRaisesRegex(TypeError, "igamma: a is int32; needs a floating dtype"):
            tf.math.igamma(1, 2)
        with self.assertRaisesRegex(TypeError, "igammac: a is float32 and x is float64"):
            tf.math.igammac(tf.constant(1.), tf.constant(1., tf.float64))

    def test_gradients_to_both_arguments(self):
        a, x = np.array([.4, 1., 3., 25., 300.]), np.array([.7, 2., 2.5, 28., 310.])
        for function in (tf.math.igamma, tf.math.igammac):
            ta, tx = tf.constant(a), tf.constant(x)
            with tf.GradientTape() as tape:
                tape.watch([ta, tx])
                y = function(ta, tx)
            da, dx = tape.gradient(y, [ta, tx])
            np.testing.assert_allclose(da.numpy(), differences(lambda v: function(v, x).numpy(), a), rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(dx.numpy(), differences(lambda v: function(a, v).numpy(), x), rtol=1e-6, atol=1e-9)

    def test_large_and_small_arguments_keep_their_digits_and_so_do_gradients(self):
        for *arguments, value, slope in LARGE_BETA:
            a, b, x = (tf.constant(v, tf.float64) for v in arguments)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.math.betainc(a, b, x)
            np.testing.assert_allclose(y.numpy(), value, rtol=3e-13, atol=1e-290, err_msg=f"betainc {arguments}")
            found = tape.gradient(y, x).numpy()
            np.testing.assert_allclose(found, slope, rtol=3e-13, atol=1e-290, err_msg=f"slope {arguments}")
        for *arguments, lower, upper, by_a, by_x in LARGE_GAMMA:
            a, x = (tf.constant(v, tf.float64) for v in arguments)
            for function, value, sign in ((tf.math.igamma, lower, 1), (tf.math.igammac, upper, -1)):
                with tf.GradientTape() as tape:
                    tape.watch([a, x])
                    y = function(a, x)
                np.testing.assert_allclose(y.numpy(), value, rtol=1e-13, err_msg=f"{function} {arguments}")
                for ours, wanted, tolerance in zip(tape.gradient(y, [a, x]), (sign * by_a, sign * by_x), (1e-11, 2e-13)):
                    np.testing.assert_allclose(ours.numpy(), wanted, rtol=tolerance, err_msg=f"slopes {arguments}")

    def test_gradients_are_numbers_where_nothing_moves_any_more(self):
        for a, x in ((8e234, 2e-267), (1e300, 1e-300), (1e-300, 1e300), (2., np.inf), (1e300, 1e308)):
            a, x = tf.constant(a, tf.float64), tf.constant(x, tf.float64)
            with tf.GradientTape() as tape:
                tape.watch([a, x])
                y = tf.math.igamma(a, x)
            self.assertEqual([float(v) for v in tape.gradient(y, [a, x])], [0, 0])

    def test_second_derivatives_at_the_ends(self):
        def second(function, *arguments):
            x = tf.constant(arguments[-1], tf.float64)
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = function(*(tf.constant(v, tf.float64) for v in arguments[:-1]), x)
                slope = inner.gradient(y, x)
            return float(outer.gradient(slope, x))
        for a, wanted in ((1, -1), (2, 1), (3, 0), (1.5, np.inf), (.5, -np.inf)):  # of xᵃ⁻¹·e⁻ˣ / Γ(a)
            self.assertEqual(second(tf.math.igamma, a, 0), wanted, a)
        for a, b, x, wanted in ((1, 3, 0, -6), (2, 3, 0, 12), (3, 3, 0, 0), (3, 1, 1, 6), (3, 2, 1, -12), (3, 3, 1, 0)):
            self.assertAlmostEqual(second(tf.math.betainc, a, b, x), wanted, 12, f"{a} {b} {x}")

    def test_gradients_at_zero(self):
        a, x = tf.constant([.5, 1., 2.]), tf.constant([0., 0., 0.])
        with tf.GradientTape() as tape:
            tape.watch([a, x])
            y = tf.math.igamma(a, x)
        da, dx = tape.gradient(y, [a, x])
        np.testing.assert_array_equal(da.numpy(), [0, 0, 0])
        np.testing.assert_array_equal(dx.numpy(), [np.inf, 1, 0])

    def test_gradients_next_to_zero(self):
        def slope(function, *arguments):
            x = tf.constant(arguments[-1], tf.float64)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(*(tf.constant(v, tf.float64) for v in arguments[:-1]), x)
            return float(tape.gradient(y, x))
        for x in (1e-200, 1e-305, 1e-310, 5e-324):
            cases = [((tf.math.igamma, a, x), x**(a - 1) / scipy.special.gamma(a)) for a in (.25, .5, .75, 1.5)]
            cases += [((tf.math.betainc, a, 1, x), a * x**(a - 1)) for a in (.25, .5, .75, 1.5, 2.5)]
            cases.append(((tf.math.betainc, .0625, 32, x), x**(.0625 - 1) / scipy.special.beta(.0625, 32)))
            for arguments, wanted in cases:
                np.testing.assert_allclose(slope(*arguments), wanted, rtol=1e-12 if wanted > 1e-300 else 1e-7,
                                           err_msg=str(arguments))

    def test_betainc_has_a_gradient_to_x_alone(self):
        values = [tf.constant(v, tf.float64) for v in (2., 3., .3)]
        with tf.GradientTape() as tape:
            tape.watch(values)
            y = tf.math.betainc(*values)
        gradients = tape.gradient(y, values)
        self.assertEqual(gradients[:2], [None, None])
        self.assertAlmostEqual(float(gradients[2]), 12 * .3 * .7**2, places=13)  # 1 / B(2, 3) = 12


# x, J₀, J₁, Y₀, Y₁ by Hankel's expansions (DLMF 10.17.3) with 700 digits of mpmath 1.2.1.
FAR = [
    (1000.5, 0.01948655998713014, 0.016027715373203338, 0.016017974964604328, -0.019478557437521776),
    (12345.0, -0.004480422295220666, -0.005612209079694793, -0.005612027608008375, 0.0044801949992763455),
    (654321.125, -0.00039976143862888164, 0.0009017412246941458, 0.000901741530171899, 0.00039976212769549465),
    (98765432.0, -6.925710941159273e-05, -4.061068856958191e-05, -4.0610688218967796e-05, 6.925710920600113e-05),
    (1e8, 3.206029534041208e-05, 7.306391181551854e-05, 7.306391165521707e-05, -3.2060294975092524e-05),
    (1e16, 8.661427680921677e-10, 7.931694266803265e-09, 7.931694266803265e-09, -8.661427680921673e-10),
    (1e22, -1.8561051065108217e-12, -7.759951744073064e-12, -7.759951744073064e-12, 1.8561051065108217e-12),
    (1e100, 3.069679402196795e-51, -7.364716260962595e-51, -7.364716260962595e-51, -3.069679402196795e-51),
    (1e308, -2.4706564120790077e-155, 7.586687955241802e-155, 7.586687955241802e-155, 2.4706564120790077e-155),
]


class Others(unittest.TestCase):
    def test_bessel_functions_keep_their_phase_far_out(self):
        for x, *values in FAR:
            amplitude = np.sqrt(2 / np.pi) / np.sqrt(x)
            for name, wanted in zip(("j0", "j1", "y0", "y1"), values):
                function = getattr(tf.math.special, "bessel_" + name)
                self.assertLess(abs(float(function(tf.constant(x, tf.float64))) - wanted), 1e-15 * amplitude, f"{name} {x}")
                if x < 1e38 and np.float32(x) == x:
                    self.assertLess(abs(float(function(tf.constant(x))) - wanted), 6e-8 * amplitude, f"{name} {x} float32")

    def test_bessel_functions_of_the_least_numbers(self):
        for x in (5e-324, 1e-310, 1e-200, 1e-149):
            with np.errstate(over="ignore"):
                inverse = 1 / np.float64(x)
            for name, wanted in (("j0", 1), ("j1", x / 2), ("i0", 1), ("i1", x / 2), ("i1e", x / 2), ("k1", inverse),
                                 ("k1e", inverse), ("y1", -2 / np.pi * inverse),
                                 ("k0", -math.log(x) + math.log(2) - np.euler_gamma),
                                 ("y0", (math.log(x) - math.log(2) + np.euler_gamma) * 2 / np.pi)):
                found = getattr(tf.math.special, "bessel_" + name)(tf.constant(x, tf.float64)).numpy()
                np.testing.assert_allclose(found, wanted, rtol=1e-15, err_msg=f"{name} {x}")

    def test_bessel_functions_at_their_limits(self):
        inf, nan = np.inf, np.nan
        x = np.array([0., -0., inf, -inf, nan, 1e300, -1e300])
        for name, wanted in (("i0", [1, 1, inf, inf, nan, inf, inf]), ("i1", [0, -0., inf, -inf, nan, inf, -inf]),
                             ("i0e", [1, 1, 0, 0, nan, 3.989422804014327e-151, 3.989422804014327e-151]),
                             ("i1e", [0, -0., 0, -0., nan, 3.989422804014327e-151, -3.989422804014327e-151])):
            np.testing.assert_allclose(getattr(tf.math, "bessel_" + name)(x).numpy(), wanted, rtol=1e-15, err_msg=name)
        for name, wanted in (("j0", [1, 1, 0, 0, nan]), ("j1", [0, 0, 0, 0, nan]), ("y0", [-inf, -inf, 0, nan, nan]),
                             ("y1", [-inf, -inf, 0, nan, nan]), ("k0", [inf, inf, 0, nan, nan]), ("k0e", [inf, inf, 0, nan, nan]),
                             ("k1", [inf, inf, 0, nan, nan]), ("k1e", [inf, inf, 0, nan, nan])):
            np.testing.assert_array_equal(getattr(tf.math.special, "bessel_" + name)(x[:5]).numpy(), wanted, name)
        self.assertIs(tf.math.bessel_i0e, tf.math.special.bessel_i0e)
        self.assertEqual(tf.math.bessel_i1(tf.constant([1.], tf.bfloat16)).dtype, tf.bfloat16)
        with self.assertRaisesRegex(TypeError, "bessel_i0: x is int32; needs a floating dtype"):
            tf.math.bessel_i0(1)

    def test_gradients_of_bessel_functions_at_zero(self):
        x = tf.constant([0., -2., 2.], tf.float64)
        for name, first, second in (("i0", 0, .5), ("i1", .5, 0), ("j0", 0, -.5), ("j1", .5, 0)):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = getattr(tf.math.special, "bessel_" + name)(x)
                slope = inner.gradient(y, x)
            np.testing.assert_allclose([slope.numpy()[0], outer.gradient(slope, x).numpy()[0]], [first, second], atol=1e-15)

    def test_polygamma_has_no_limit_of_order(self):
        n = np.array([170., 171, 172, 171, 172, 172, 172, 171, np.inf, 200, 1e6, 171])
        x = np.array([1., 1, 1, 0, 0, -.3, -.7, -.7, 1, np.inf, 1e300, np.nan])
        np.testing.assert_array_equal(np.sign(tf.math.polygamma(n, x).numpy()), [-1, 1, -1, 1, -1, 1, -1, 1, np.nan, 0, 0, np.nan])
        self.assertTrue(np.isinf(tf.math.polygamma(n[1:8], x[1:8]).numpy()).all())
        half = float(tf.math.polygamma(np.float64(172), np.float64(-.5)))  # both sides of −½ cancel
        np.testing.assert_allclose(half, exact_polygamma(172, Fraction(3, 2)), rtol=1e-14)

    def test_the_next_number(self):
        x, y = np.array([1., 1., 0., -0., 5e-324, np.inf, 2.]), np.array([2., 0., 1., -1., 0., 0., 2.])
        for dtype in (np.float64, np.float32):
            a, b = x.astype(dtype), y.astype(dtype)
            np.testing.assert_array_equal(tf.math.nextafter(a, b).numpy(), np.nextafter(a, b))
        with tf.GradientTape() as tape:
            a, b = tf.constant([1., 2.]), tf.constant(3.)
            tape.watch([a, b])
            z = tf.math.nextafter(a, b) * [2., 3.]
        first, second = tape.gradient(z, [a, b])
        self.assertEqual((first.numpy().tolist(), float(second)), ([2, 3], 0))
        for dtype in (tf.float16, tf.bfloat16):
            with self.assertRaisesRegex(TypeError, f"nextafter: x1 is {dtype.name}; needs float32 or float64"):
                tf.math.nextafter(tf.ones([1], dtype), tf.ones([1], dtype))

    def test_bytes_read_as_another_dtype(self):
        x = RANDOM.randn(3, 4).astype(np.float32)
        for dtype in (tf.int32, tf.uint32, tf.int8, tf.int16, tf.float16):
            np.testing.assert_array_equal(tf.bitcast(x, dtype).numpy(), x.view(dtype.as_numpy_dtype).reshape(
                (3, 4) + ((4 // dtype.size,) if dtype.size < 4 else ())))
        np.testing.assert_array_equal(tf.bitcast(tf.transpose(x), tf.int32).numpy(), x.T.copy().view(np.int32))
        np.testing.assert_array_equal(tf.bitcast(x.reshape(3, 2, 2), tf.float64).numpy(), x.view(np.float64))
        self.assertEqual(tf.bitcast(tf.constant([1.], tf.bfloat16), tf.uint16).numpy().tolist(), [0x3f80])
        self.assertEqual(tf.bitcast(tf.zeros([0], tf.int64), type=tf.int8).shape, (0, 8))
        for call, kind, pattern in (
                (lambda: tf.bitcast(x, tf.float64), ValueError, r"bitcast: input has shape \(3, 4\); 2 elements of float32 along its last"),
                (lambda: tf.bitcast(1., tf.int64), ValueError, r"bitcast: input has shape \(\)"),
                (lambda: tf.bitcast(x, tf.bool), TypeError, "bitcast: input is float32 and type is bool; needs numeric dtypes")):
            with self.assertRaisesRegex(kind, pattern):
                call()


if __name__ == "__main__":
    unittest.main()
