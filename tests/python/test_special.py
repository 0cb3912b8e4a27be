"""The incomplete gamma and beta functions against SciPy, their symmetries, and their gradients."""
import unittest

import numpy as np

import tapedeck as tf

try:
    import scipy.special
except ImportError:
    scipy = None

needs_scipy = unittest.skipUnless(scipy, "SciPy is not installed")
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


def differences(f, x, step=1e-5):
    return (f(x + step) - f(x - step)) / (2 * step)


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

    def test_gradients_at_zero(self):
        a, x = tf.constant([.5, 1., 2.]), tf.constant([0., 0., 0.])
        with tf.GradientTape() as tape:
            tape.watch([a, x])
            y = tf.math.igamma(a, x)
        da, dx = tape.gradient(y, [a, x])
        np.testing.assert_array_equal(da.numpy(), [0, 0, 0])
        np.testing.assert_array_equal(dx.numpy(), [np.inf, 1, 0])

    def test_betainc_has_a_gradient_to_x_alone(self):
        values = [tf.constant(v, tf.float64) for v in (2., 3., .3)]
        with tf.GradientTape() as tape:
            tape.watch(values)
            y = tf.math.betainc(*values)
        gradients = tape.gradient(y, values)
        self.assertEqual(gradients[:2], [None, None])
        self.assertAlmostEqual(float(gradients[2]), 12 * .3 * .7**2, places=13)  # 1 / B(2, 3) = 12


if __name__ == "__main__":
    unittest.main()
