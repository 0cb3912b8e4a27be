"""Functions and operators that have loops of vector code, over all kinds of numbers: digits, edges, views, one value for all."""
import math
import unittest

import numpy as np
import scipy.special

import tapedeck as tf


class VectorFunctions(unittest.TestCase):
    def assert_digits(self, function, x, exact, ulps):
        """Values in the dtype of x, beside exact ones in a wider dtype."""
        y = np.asarray(function(tf.constant(x)))
        self.assertEqual(y.dtype, x.dtype)
        nearest = exact.astype(x.dtype)
        np.testing.assert_array_equal(np.isnan(y), np.isnan(nearest))
        np.testing.assert_array_equal(np.isinf(y), np.isinf(nearest))
        at = np.isfinite(nearest)
        off = np.abs(y[at].astype(exact.dtype) - exact[at]) / np.spacing(np.maximum(np.abs(nearest[at]), np.finfo(x.dtype).tiny))
        self.assertLess(off.max(), ulps, f"at {x[at][off.argmax()]!r}")
        zeros = (x == 0) & (nearest == 0)
        np.testing.assert_array_equal(np.signbit(y[zeros]), np.signbit(nearest[zeros]))

    @staticmethod
    def of_all_kinds(dtype):
        random = np.random.default_rng(8)
        bits = random.integers(0, 2**32, 200_000, dtype=np.uint64)
        return np.concatenate([bits.astype(np.uint32).view(np.float32).astype(dtype), random.uniform(-15, 15, 100_000).astype(dtype),
                               random.uniform(-1, 1, 50_000).astype(dtype) * dtype(1e6), (np.arange(1, 40_000) * (np.pi / 2)).astype(dtype),
                               np.array([0., -0., np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 1048575., 1048577., -3e38], dtype)])

    def test_trigonometric_functions_to_their_last_digits(self):
        with np.errstate(all="ignore"):
            for dtype, ulps in ((np.float32, 1.6), (np.float64, 2.5)):
                x = self.of_all_kinds(dtype)
                wide = x.astype(np.longdouble)
                self.assert_digits(tf.sin, x, np.sin(wide), ulps)
                self.assert_digits(tf.cos, x, np.cos(wide), ulps)
                self.assert_digits(tf.atan, x, np.arctan(wide), 1.6)
                self.assert_digits(tf.tan, x, np.tan(wide), 3.5)
                self.assert_digits(tf.sinh, x, np.sinh(wide), 3.5)
                self.assert_digits(tf.cosh, x, np.cosh(wide), 3.5)
                x = np.concatenate([x, np.linspace(-1, 1, 100_001).astype(dtype)])
                wide = x.astype(np.longdouble)
                self.assert_digits(tf.asin, x, np.arcsin(wide), 2.5)
                self.assert_digits(tf.acos, x, np.arccos(wide), 2.5)

    def test_error_functions_to_their_last_digits(self):
        x = self.of_all_kinds(np.float32)
        wide = x.astype(np.float64)
        with np.errstate(all="ignore"):
            self.assert_digits(tf.math.erf, x, scipy.special.erf(wide), 2.6)
            self.assert_digits(tf.math.erfc, x, scipy.special.erfc(wide), 6)
            self.assert_digits(tf.nn.gelu, x, wide * scipy.special.ndtr(wide), 9)  # 7 where the processor fuses products with sums
            x = np.concatenate([x, np.linspace(-1, 1, 100_001).astype(np.float32), 1 - np.float32(2)**-np.arange(1, 25, dtype=np.float32)])
            self.assert_digits(tf.math.erfinv, x, np.copysign(scipy.special.erfinv(x.astype(np.float64)), x), 4)  # SciPy loses -0's sign

    def test_the_gamma_functions_logarithm_to_its_last_digit(self):
        positive = np.abs(np.concatenate([self.of_all_kinds(np.float32)[::17], np.linspace(.5, 3.5, 30_001).astype(np.float32),
                                          np.float32([1e30, 2e30, 3e38, .99999994, 1.0000001, 1.9999999, 2.0000002])]))
        exact = np.array([math.lgamma(x) if 0 < x < np.inf else np.nan if x != x else np.inf for x in positive.tolist()])
        self.assert_digits(tf.math.lgamma, positive, exact, .6)

    def test_angles_of_points(self):
        x = self.of_all_kinds(np.float32)
        y = np.random.default_rng(9).permutation(x)
        edges = np.float32([0., -0., 1., -1., np.inf, -np.inf, np.nan, 1e-45, 3e38])
        y, x = np.concatenate([y, np.repeat(edges, 9)]), np.concatenate([x, np.tile(edges, 9)])
        exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
        self.assert_digits(lambda y: tf.atan2(y, x), y, exact, 1.7)
        found = np.asarray(tf.atan2(y, x))
        np.testing.assert_array_equal(np.signbit(found), np.signbit(exact) & ~np.isnan(exact) | np.signbit(found) & np.isnan(exact))

    def test_remainders_are_exact(self):
        x = self.of_all_kinds(np.float32)
        random = np.random.default_rng(10)
        for y in (random.permutation(x), random.uniform(-3, 3, x.size).astype(np.float32), np.float32(.1), np.float32(-7)):
            with np.errstate(all="ignore"):
                rest = np.fmod(x, y)
                wanted = np.where(rest == 0, np.copysign(np.float32(0), y), np.where((rest < 0) != (y < 0), rest + y, rest))
            found = np.asarray(tf.constant(x) % y)
            np.testing.assert_array_equal(found, wanted)
            at = ~np.isnan(wanted)
            np.testing.assert_array_equal(np.signbit(found[at]), np.signbit(wanted[at]))

    def test_remainders_of_reversed_divisors(self):
        random = np.random.default_rng(11)
        for dtype in (np.float32, np.float64, np.int32):
            x, y = (random.integers(1, 1000, 200).astype(dtype) for _ in range(2))
            for step in (1, 2, -1, -2):
                count = y[::step].size
                np.testing.assert_array_equal(tf.constant(x)[:count] % tf.constant(y)[::step], x[:count] % y[::step], str(step))
                np.testing.assert_array_equal(tf.constant(x)[::step] % tf.constant(y)[:count], x[::step] % y[:count], str(step))

    def test_limits(self):
        for dtype in (np.float32, np.float64, np.int32, np.int64):
            x = np.array([-9, -3, 0, 2, 5, 100] * 30).astype(dtype)
            np.testing.assert_array_equal(tf.clip_by_value(x, dtype(-3), dtype(5)), np.clip(x, -3, 5))
            rows = tf.transpose(tf.reshape(tf.constant(x), [6, 30]))
            np.testing.assert_array_equal(tf.clip_by_value(rows, dtype(-3), dtype(5)), np.clip(x, -3, 5).reshape(6, 30).T)
        np.testing.assert_array_equal(tf.clip_by_value([np.nan, np.inf, -np.inf], -1., 1.), [np.nan, 1, -1])
        np.testing.assert_array_equal(tf.clip_by_value([0., 5.], 3., 2.), [2., 2.])  # the upper limit counts
        for low, high in ((np.nan, 1.), (0., np.nan)):
            np.testing.assert_array_equal(tf.clip_by_value([0., 5.], low, high), [np.nan, np.nan])
            np.testing.assert_array_equal(tf.clip_by_value([0., 5.], [low, low], [high, high]), [np.nan, np.nan])

    def test_powers_with_one_exponent_for_all(self):
        """Some exponents have loops of their own: they must give what the power gives, in a scalar, a vector and a matrix."""
        edges = [0., -0., 1., -1., np.inf, -np.inf, np.nan, 2.5, -7., 1e-40, -1e-40, 1e19, 1e-20, -1e13]
        random = np.random.default_rng(1)
        values = np.concatenate([edges, random.normal(0, 3, 200), np.exp(random.normal(0, 20, 200))])
        for dtype in (np.float32, np.float64):
            x = values.astype(dtype)
            for exponent in (2, 3, 1, -1, .5, 0, -2, -.5, 1.5, 4):
                with np.errstate(all="ignore"):
                    exact = np.power(x.astype(np.longdouble), np.longdouble(exponent)).astype(dtype)
                vector = np.asarray(tf.constant(x)**exponent)
                np.testing.assert_array_max_ulp(np.nan_to_num(vector), np.nan_to_num(exact), 1)
                np.testing.assert_array_equal(np.isnan(vector), np.isnan(exact))
                signs = (np.where(np.isnan(powers), 1, powers)[:6] for powers in (vector, exact))  # what is no number has none
                np.testing.assert_array_equal(*map(np.signbit, signs), str((dtype, exponent)))
                one_by_one = [np.asarray(tf.constant(value)**exponent) for value in x[:40]]
                np.testing.assert_array_equal(one_by_one, vector[:40], str((dtype, exponent)))
                matrix = np.asarray(tf.transpose(tf.reshape(tf.constant(x), [-1, 2]))**exponent)
                np.testing.assert_array_equal(matrix, vector.reshape(-1, 2).T)

    def test_powers_do_not_depend_on_how_many_are_computed(self):
        """The last of so many is computed on its own: still not as if it were the only one, by the loop for one exponent."""
        count = 2**21 + 1
        for exponent, value in ((2, 0x1223df8ebb541a / 2**52), (-1, 0x1670d2d66e160d / 2**51), (.5, 0x1b6c289cfda94d / 2**51)):
            x = tf.fill([count + 1], tf.constant(value, tf.float64))
            y = tf.fill([count + 1], tf.constant(exponent, tf.float64))
            y = tf.tensor_scatter_nd_update(y, [[0]], tf.constant([7.], tf.float64))  # all of them are stored
            one_fewer = np.asarray(x[:count]**y[:count])
            self.assertEqual(one_fewer[-1], np.asarray(x**y)[-2], exponent)


if __name__ == "__main__":
    unittest.main()
