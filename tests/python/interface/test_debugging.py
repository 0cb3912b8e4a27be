"""tf.debugging: what holds passes, what does not is an InvalidArgumentError that shows the values."""
import unittest

import numpy as np

import tapedeck as tf

x = tf.constant([1., 2., 3.])


class Comparisons(unittest.TestCase):
    def test_each_check_passes_and_fails_with_its_values(self):
        debugging = tf.debugging
        for check, good, bad, symbol in ((debugging.assert_equal, (x, [1., 2., 3.]), (x, 2.), "=="),
                                         (debugging.assert_none_equal, (x, 5), (x, [0, 2, 0]), "!="),
                                         (debugging.assert_less, (x, 4), (x, 3), "<"),
                                         (debugging.assert_less_equal, (x, 3), (x, 2), "<="),
                                         (debugging.assert_greater, (x, 0), (1, x), ">"),
                                         (debugging.assert_greater_equal, (x, [1, 2, 3]), (x, 2), ">="),
                                         (debugging.assert_positive, (x,), ([0., 1.],), ">"),
                                         (debugging.assert_negative, (-x,), ([0., -1.],), "<"),
                                         (debugging.assert_non_negative, ([0, 1],), ([0, -1],), ">="),
                                         (debugging.assert_non_positive, ([0, -1],), (x,), "<=")):
            self.assertIsNone(check(*good))
            self.assertIsNone(check(*(tf.zeros([0]) for _ in good)))
            with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
                check(*bad, message="the message")
            other = "0" if len(good) == 1 else "y"
            self.assertTrue(str(caught.exception).startswith(f"the message\nCondition x {symbol} {other} did not hold.\n"))
            self.assertIs(getattr(tf, check.__name__), check)

    def test_the_error_shows_places_and_values(self):
        with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
            tf.assert_equal(tf.constant([[1, 2], [3, 4]]), [[1, 0], [3, 9]])
        self.assertEqual(str(caught.exception), "Condition x == y did not hold.\nIndices of first 2 different values:\n"
                         "[[0 1]\n [1 1]]\nCorresponding x values:\n[2 4]\nCorresponding y values:\n[0 9]\n"
                         "First 3 elements of x:\n[1 2 3]\nFirst 3 elements of y:\n[1 0 3]")
        with self.assertRaisesRegex(ValueError, r"First 1 elements of x:\n\[1\.\]"):
            tf.assert_less(x, 0., summarize=1)

    def test_nan_is_equal_to_nothing(self):
        for check in (tf.debugging.assert_equal, tf.debugging.assert_near):
            with self.assertRaises(ValueError):
                check([np.nan], [np.nan])
        with self.assertRaises(ValueError):
            tf.debugging.assert_non_negative([np.nan])
        tf.debugging.assert_near([np.inf, -np.inf], [np.inf, -np.inf])
        with self.assertRaises(ValueError):
            tf.debugging.assert_near([np.inf], [-np.inf])

    def test_near_has_tolerances(self):
        epsilon = np.finfo(np.float32).eps
        tf.debugging.assert_near(x, x * (1 + 5 * epsilon))
        tf.debugging.assert_near(x, x + .1, atol=.11)
        tf.debugging.assert_near(x, x * 1.1, rtol=.1)
        for arguments in ({}, {"rtol": .01}, {"atol": .09}):
            with self.assertRaisesRegex(ValueError, "not equal to tolerance"):
                tf.debugging.assert_near(x, x + .1, **arguments)
        with self.assertRaises(TypeError):
            tf.debugging.assert_near(x, tf.cast(x, tf.float64))

    def test_mixed_dtypes_are_refused(self):
        with self.assertRaises(TypeError):
            tf.debugging.assert_equal(x, tf.constant([1, 2, 3]))


class Properties(unittest.TestCase):
    def test_ranks(self):
        tf.assert_rank(x, 1)
        tf.assert_rank_at_least(x, 1)
        tf.assert_rank_in(x, (0, 1))
        tf.assert_scalar(3.)
        for action in (lambda: tf.assert_rank(x, 2), lambda: tf.assert_rank_at_least(x, 2), lambda: tf.assert_rank_in(x, [0, 2])):
            with self.assertRaisesRegex(ValueError, r"Received rank 1, shape \(3,\)"):
                action()
        with self.assertRaisesRegex(ValueError, r"^here Expected scalar, received shape \(3,\)"):
            tf.assert_scalar(x, message="here")
        for check in (tf.assert_rank, tf.assert_rank_at_least, lambda x, rank: tf.assert_rank_in(x, [1, rank])):
            with self.assertRaisesRegex(ValueError, r"rank has shape \(1,\); Rank must be a scalar"):
                check(x, [1])
            with self.assertRaisesRegex(TypeError, "rank is float32, not an integer; must be of type <dtype: 'int32'>"):
                check(x, .5)

    def test_shapes_with_symbols(self):
        a, b = tf.zeros([5, 3]), tf.zeros([3, 7, 2])
        tf.debugging.assert_shapes([(a, ("N", "D")), (b, ("D", None, 2)), (a, "ND"), (b, ("...", 2)), (b, (3, "*")), (3., ())])
        tf.debugging.assert_shapes({a: ("N", "D"), b: ("D", "."  , 2)})
        for shapes, pattern in (([(a, ("N", "N"))], r"dimension 1 of \('N', 'N'\) must have size 5"),
                                ([(a, ("N", "D")), (b, ("N", 7, 2))], r"as 'N' of a tensor of shape \(5, 3\); it has 3"),
                                ([(a, ("N",))], "must have rank 1"), ([(a, ("...", 1, 5, 3))], "at least rank 3"),
                                ([(a, (5, 4))], "must have size 4, as specified; it has 3")):
            with self.assertRaisesRegex(ValueError, pattern):
                tf.debugging.assert_shapes(shapes)

    def test_types(self):
        tf.debugging.assert_type(x, tf.float32)
        tf.debugging.assert_integer([1])
        tf.debugging.assert_proper_iterable([x])
        self.assertEqual(tf.debugging.assert_same_float_dtype([x, x]), tf.float32)
        for action in (lambda: tf.debugging.assert_type(x, tf.int32), lambda: tf.debugging.assert_integer(x),
                       lambda: tf.debugging.assert_proper_iterable(x)):
            with self.assertRaises(TypeError):
                action()
        with self.assertRaises(ValueError):
            tf.debugging.assert_same_float_dtype([x, tf.zeros([], tf.float64)])
        self.assertTrue(tf.debugging.is_numeric_tensor(x))
        self.assertFalse(tf.debugging.is_numeric_tensor(x > 1))

    def test_order(self):
        for values, rises, never_falls in (([1, 2, 3], True, True), ([1, 1, 2], False, True), ([2, 1], False, False), ([], True, True)):
            self.assertEqual(bool(tf.math.reduce_all(tf.debugging.is_non_decreasing(values))), never_falls)
            self.assertEqual(bool(tf.is_strictly_increasing(values)), rises)

    def test_numerics(self):
        np.testing.assert_array_equal(tf.debugging.check_numerics(x, "x").numpy(), x.numpy())
        for values, found in (([1., np.nan], "NaN"), ([np.inf], "Inf"), ([np.nan, -np.inf], "NaN and Inf")):
            for action in (lambda: tf.debugging.check_numerics(values, "here"), lambda: tf.debugging.assert_all_finite(values, "here"),
                           lambda: tf.verify_tensor_all_finite(values, "here")):
                with self.assertRaisesRegex(tf.errors.InvalidArgumentError, f"here : tensor .* had {found} values"):
                    action()
        with self.assertRaisesRegex(ValueError, "the gradient : tensor .* had Inf"):
            with tf.GradientTape() as tape:
                zero = tf.Variable(0.)
                y = tf.debugging.check_numerics(tf.sqrt(zero), "y")
                z = tf.debugging.check_numerics(tf.identity(zero), "zero")
                y = y + tf.sqrt(z)
            tape.gradient(y, zero)

    def test_assert(self):
        tf.Assert(True, ["fine"])
        with self.assertRaisesRegex(ValueError, r"Summarized data: loss\n\[1\. 2\. 3\.\]"):
            tf.debugging.Assert(tf.reduce_all(x > 1), ["loss", x])


if __name__ == "__main__":
    unittest.main()
