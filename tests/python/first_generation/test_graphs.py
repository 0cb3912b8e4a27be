"""What programs call that were written for graphs, for both generations' names, and for checking gradients."""
import unittest

import numpy as np

import tapedeck as tf


class Graphs(unittest.TestCase):
    def test_both_generations_are_the_package(self):
        import tapedeck.compat.v1 as tf1
        self.assertIs(tf1, tf)
        self.assertIs(tf.compat.v2, tf)
        self.assertEqual(float(tf.compat.v1.log(1.)), 0.)

    def test_a_python_function_is_called_with_tensors_and_differentiated(self):
        x = tf.constant([1., 2.])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.py_function(lambda t: t * t, [x], tf.float32)
        np.testing.assert_array_equal(tape.gradient(y, x), [2., 4.])
        one, two = tf.py_function(lambda t: (t, 3), [1.], [tf.float32, tf.int64])
        self.assertEqual((one.dtype, two.dtype), (tf.float32, tf.int64))
        self.assertEqual(tf.py_function(lambda: None, [], []), [])
        self.assertIsNone(tf.py_function(lambda: 3, [], None))

    def test_python_functions_may_be_decorated(self):
        @tf.py_function(Tout=tf.float32)
        def doubled(x):
            "twice"
            return x.numpy() * 2 if float(x) > 2 else x * 2

        @tf.numpy_function(Tout=[tf.float64, tf.int64])
        def parts(a, b):
            self.assertIsInstance(a, np.ndarray)
            return np.float64(a + b), 3

        self.assertEqual((float(doubled(tf.constant(3.))), doubled.__doc__, doubled.__name__), (6., "twice", "doubled"))
        x = tf.constant(2.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = doubled(x)
        self.assertEqual(float(tape.gradient(y, x)), 2.)
        self.assertEqual([(each.dtype, float(each)) for each in parts(1., 2.)], [(tf.float64, 3.), (tf.int64, 3.)])
        self.assertIsNone(tf.py_function()(lambda: 7)())
        for decorate in (tf.py_function(Tout=tf.int32), tf.numpy_function(Tout=tf.int32)):
            with self.assertRaisesRegex(TypeError, "_function: func is 3; needs a function"):
                decorate(3)
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "cannot be converted to int32, the dtype in Tout"):
                decorate(lambda: "text")()
        with self.assertRaisesRegex(TypeError, "py_function: func is None"):
            tf.py_function(None, [], tf.float32)

    def test_a_numpy_function_is_called_with_arrays(self):
        seen = []

        def function(a):
            seen.append(type(a))
            return np.sinh(a)

        x = tf.constant([1., 2.])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.numpy_function(function, [x], tf.float32)
        np.testing.assert_array_equal(y, np.sinh(np.float32([1, 2])))
        self.assertEqual(seen, [np.ndarray])
        self.assertIsNone(tape.gradient(y, x))

    def test_results_of_python_functions_are_checked(self):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                    "py_function: the result of func cannot be converted to int32, the dtype in Tout: .*float32"):
            tf.py_function(lambda: tf.constant(1.), [], tf.int32)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "numpy_function: func returned 1 values; Tout has 2 dtypes"):
            tf.numpy_function(lambda: [1.], [], [tf.float32, tf.float32])
        with self.assertRaisesRegex(TypeError, "py_function: func is 3; needs a function"):
            tf.py_function(3, [], tf.float32)
        for call in (tf.py_function, tf.numpy_function):
            for inp, text in ((tf.constant([1., 2.]), "Tensor"), (5, "int"), ({"a": 1.}, "dict")):
                with self.assertRaisesRegex(TypeError, f"^{call.__name__}: inp is {text}; it needs a list of tensors"):
                    call(lambda a: a, inp, tf.float32)


class FirstGeneration(unittest.TestCase):
    def test_positions_have_their_first_names(self):
        x = [[1., 5., 2.], [7., 0., 3.]]
        np.testing.assert_array_equal(tf.arg_max(x, 1), [1, 0])
        np.testing.assert_array_equal(tf.arg_min(x, dimension=0, output_type=tf.int32), [0, 1, 0])

    def test_the_average_length_is_limited(self):
        t = tf.constant([3., 4.])  # length 5, 2.5 for each element
        np.testing.assert_allclose(tf.clip_by_average_norm(t, 0.5), [0.6, 0.8], rtol=1e-6)
        np.testing.assert_array_equal(tf.clip_by_average_norm(t, 4.), [3., 4.])
        np.testing.assert_array_equal(tf.clip_by_average_norm([0., 0.], 1.), [0., 0.])

    def test_tensors_are_stacked(self):
        np.testing.assert_array_equal(tf.parallel_stack([[1, 2], [3, 4]]), [[1, 2], [3, 4]])

    def test_real_numbers_have_parts(self):
        x = tf.constant([1., -2.])
        np.testing.assert_array_equal(tf.math.real(x), [1., -2.])
        np.testing.assert_array_equal(tf.math.conj(x), [1., -2.])
        np.testing.assert_array_equal(tf.math.imag(x), [0., 0.])


class GradientChecks(unittest.TestCase):
    def test_tape_and_differences_agree_for_a_right_gradient(self):
        x, w = np.array([[0.3, -1.2], [2., 0.7]]), np.array([[1.5], [-0.4]])
        theoretical, numeric = tf.test.compute_gradient(lambda x, w: tf.tanh(x @ w), [x, w], delta=1e-5)
        self.assertEqual([jacobian.shape for jacobian in theoretical], [(2, 4), (2, 2)])
        for by_tape, by_differences in zip(theoretical, numeric):
            np.testing.assert_allclose(by_tape, by_differences, atol=1e-9)
        np.testing.assert_allclose(theoretical[1], (1 - np.tanh(x @ w)**2) * x, rtol=1e-12)

    def test_a_wrong_gradient_shows(self):
        @tf.custom_gradient
        def square(x):
            return x * x, lambda upstream: upstream * x

        (theoretical,), (numeric,) = tf.test.compute_gradient(square, [tf.constant([1., 2.])])
        np.testing.assert_array_equal(theoretical, [[1., 0.], [0., 2.]])
        np.testing.assert_allclose(numeric, [[2., 0.], [0., 4.]], atol=1e-3)

    def test_what_a_result_does_not_depend_on_has_zeros(self):
        (first, second), numeric = tf.test.compute_gradient(lambda x, y: x * 2., [[1., 2.], 3.])
        np.testing.assert_array_equal(first, [[2., 0.], [0., 2.]])
        np.testing.assert_array_equal(second, [[0.], [0.]])
        np.testing.assert_array_equal(numeric[1], [[0.], [0.]])
        x = tf.constant([1., 2.])
        (first, second), _ = tf.test.compute_gradient(lambda x, y: x * y, [x, x * 1.])
        (same, other), _ = tf.test.compute_gradient(lambda x, y: x * y, [x, x])
        self.assertEqual((same.tolist(), other.tolist()), (first.tolist(), second.tolist()))
        (empty,), (differences,) = tf.test.compute_gradient(tf.exp, [tf.zeros([0])])
        self.assertEqual((empty.shape, differences.shape), ((0, 0), (0, 0)))

    def test_bad_arguments_are_named(self):
        for arguments, error, text in [((tf.exp, tf.constant(1.)), TypeError, "x is .*Tensor; it needs a list"),
                                       ((tf.exp, [1]), TypeError, r"x\[0\] is int32"),
                                       ((lambda x: [x], [1.]), TypeError, "f returned list"),
                                       ((lambda x: tf.cast(x, tf.int32), [1.]), TypeError, "f returned int32"),
                                       ((tf.exp, [1.], -1), tf.errors.InvalidArgumentError, "delta is -1.0"),
                                       ((tf.exp, [1.], np.inf), tf.errors.InvalidArgumentError,
                                        "delta is inf; must be above 0, and finite"),
                                       ((tf.exp, [1.], "small"), tf.errors.InvalidArgumentError, "delta is 'small': could not convert"),
                                       ((tf.exp, [1.], 10**400), tf.errors.InvalidArgumentError, "delta is '1000.*too large"),
                                       ((tf.exp, [1.], []), TypeError, r"delta is '\[\]'"),
                                       ((3, [1.]), TypeError, "f is 3; needs a function"),
                                       ((tf.exp, [1., None]), TypeError, r"x\[1\]: .*None is not a tensor"),
                                       ((tf.exp, [1e9]), tf.errors.InvalidArgumentError,
                                        r"too small a step from the value 1000000000.0 of x\[0\]")]:
            with self.assertRaisesRegex(error, f"^compute_gradient: .*{text}"):
                tf.test.compute_gradient(*arguments)


if __name__ == "__main__":
    unittest.main()
