"""L-BFGS with a line search: the strong Wolfe conditions hold at each step, and known minima are found as SciPy finds them."""
import unittest

import numpy as np
import scipy.optimize

import tapedeck as tf
from tapedeck.train.line_search import Point, strong_wolfe


def rosenbrock(x):
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


FUNCTIONS = {
    "a parabola": (lambda a: (a - 3.0) ** 2, lambda a: 2.0 * (a - 3.0)),
    "a steep wall": (lambda a: np.exp(5 * a) - 20 * a, lambda a: 5 * np.exp(5 * a) - 20),
    "waves": (lambda a: np.cos(3 * a) - 0.05 * a, lambda a: -3 * np.sin(3 * a) - 0.05),
    "a far minimum": (lambda a: (a - 500.0) ** 2 / 1e3, lambda a: (a - 500.0) / 500.0),
    "more-thuente 1": (lambda a: -a / (a * a + 2.0), lambda a: (a * a - 2.0) / (a * a + 2.0) ** 2),
    "more-thuente 2": (lambda a: (a + 0.004) ** 5 - 2 * (a + 0.004) ** 4, lambda a: 5 * (a + 0.004) ** 4 - 8 * (a + 0.004) ** 3),
    "undefined from 2 on": (lambda a: a * a - 3 * a - np.log(np.maximum(2 - a, 0)) if a < 2 else np.nan,
                            lambda a: 2 * a - 3 + 1 / (2 - a) if a < 2 else np.nan),
}


class LineSearch(unittest.TestCase):
    def test_the_conditions_hold_where_it_ends(self):
        for name, (f, slope) in FUNCTIONS.items():
            for first in 1e-3, 0.1, 1.0, 10.0, 1e3:
                for c2 in 0.9, 0.1:
                    with self.subTest(name, first=first, c2=c2):
                        if name == "more-thuente 2" and c2 < 0.5:
                            continue  # values near the minimum are equal before slopes are so small
                        looked = []

                        def point(a):
                            looked.append(a)
                            return Point(a, float(f(a)), float(slope(a)), None)

                        start = point(0.0)
                        found = strong_wolfe(point, start, first, 1e-4, c2, evaluations=60)
                        self.assertLessEqual(found.value, start.value + 1e-4 * found.length * start.slope)
                        self.assertLessEqual(abs(found.slope), -c2 * start.slope)
                        self.assertLess(len(looked), 50)

    def test_a_function_that_falls_for_ever_gives_its_lowest_point(self):
        found = strong_wolfe(lambda a: Point(a, -a, -1.0, None), Point(0.0, 0.0, -1.0, None), 1.0, evaluations=8)
        self.assertEqual(found.length, 128.0)

    def test_a_slope_that_rises_is_refused(self):
        with self.assertRaisesRegex(ValueError, "slope is 1.0 at the start; needs a direction of descent"):
            strong_wolfe(None, Point(0.0, 0.0, 1.0, None), 1.0)


class LBFGS(unittest.TestCase):
    def test_rosenbrocks_valley_is_followed_to_its_end(self):
        start = np.tile([-1.2, 1.0], 5)
        x = tf.Variable(start, dtype="float64")
        evaluations = []

        def loss():
            evaluations.append(1)
            return rosenbrock(x)

        losses = tf.train.LBFGS(history_size=10, line_search="strong_wolfe").minimize(loss, [x], iterations=200)
        np.testing.assert_allclose(x.numpy(), np.ones(10), atol=1e-5)
        self.assertTrue(all(after <= before for before, after in zip(losses, losses[1:])))
        scipys = scipy.optimize.minimize(scipy.optimize.rosen, start, jac=scipy.optimize.rosen_der, method="L-BFGS-B",
                                         options={"maxcor": 10, "ftol": 1e-14, "gtol": 1e-7})
        self.assertLess(len(evaluations), 2 * scipys.nfev)

    def test_each_step_satisfies_the_conditions(self):
        x = tf.Variable(np.tile([-1.2, 1.0], 2), dtype="float64")
        path = []
        tf.train.LBFGS(line_search="strong_wolfe", c1=1e-3, c2=0.5).minimize(
            lambda: rosenbrock(x), [x], iterations=60, callback=lambda i, value: path.append((x.numpy(), value)))
        self.assertGreater(len(path), 10)
        for (before, f0), (after, f1) in zip(path, path[1:-1]):
            step = after - before
            slope0, slope1 = scipy.optimize.rosen_der(before) @ step, scipy.optimize.rosen_der(after) @ step
            self.assertLessEqual(f1, f0 + 1e-3 * slope0)
            self.assertLessEqual(abs(slope1), 0.5 * abs(slope0) * (1 + 1e-9))

    def test_several_variables_move_together(self):
        a, b = tf.Variable(np.zeros((2, 3)), dtype="float64"), tf.Variable(5.0, dtype="float64")
        wanted = np.arange(6.0).reshape(2, 3)
        tf.train.LBFGS(line_search="strong_wolfe").minimize(lambda: tf.reduce_sum((a - wanted * b) ** 4) + (b - 2.0) ** 2, [a, b], 500)
        self.assertAlmostEqual(float(b), 2.0, 4)
        np.testing.assert_allclose(a.numpy(), 2 * wanted, atol=0.05)

    def test_where_nothing_goes_down_the_variables_stay(self):
        x = tf.Variable([1.0], dtype="float64")

        def loss():  # the gradient lies: the loss grows in every direction
            return tf.reduce_sum(tf.stop_gradient(2 * abs(x - 1.0)) + x - tf.stop_gradient(x))
        tf.train.LBFGS(line_search="strong_wolfe").minimize(loss, [x], 5)
        self.assertEqual(x.numpy().tolist(), [1.0])

    def test_bad_arguments_are_named(self):
        with self.assertRaisesRegex(ValueError, "line_search is 'armijo'; must be None or 'strong_wolfe'"):
            tf.train.LBFGS(line_search="armijo")
        with self.assertRaisesRegex(ValueError, "c1 is 0.9 and c2 is 0.1"):
            tf.train.LBFGS(line_search="strong_wolfe", c1=0.9, c2=0.1)


if __name__ == "__main__":
    unittest.main()
