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

    def test_dependencies_are_called_before_the_body(self):
        called = []
        with tf.control_dependencies([tf.constant(1.), lambda: called.append(1), None]):
            self.assertEqual(called, [1])
        with tf.control_dependencies(None):
            pass
        self.assertIsNone(tf.no_op())
        self.assertIsNone(tf.group(tf.constant(1.), tf.no_op()))

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
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "py_function: func returned what is no int32, the dtype in Tout: .*float32"):
            tf.py_function(lambda: tf.constant(1.), [], tf.int32)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "numpy_function: func returned 1 values; Tout has 2 dtypes"):
            tf.numpy_function(lambda: [1.], [], [tf.float32, tf.float32])
        with self.assertRaisesRegex(TypeError, "py_function: func is int"):
            tf.py_function(3, [], tf.float32)


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


class Devices(unittest.TestCase):
    def test_devices_are_listed(self):
        gpus = tf.config.list_physical_devices("GPU")
        self.assertEqual(len(gpus), tf.tfe.num_gpus())
        self.assertEqual(tf.test.is_gpu_available(), bool(gpus))
        self.assertEqual(tf.config.list_physical_devices("CPU"), [("/physical_device:CPU:0", "CPU")])
        self.assertEqual(len(tf.config.list_physical_devices()), 1 + len(gpus))
        with tf.device(tf.config.list_logical_devices("CPU")[0].name):
            self.assertEqual(tf.zeros([]).device, "/cpu:0")
        with self.assertRaisesRegex(TypeError, "device_type is int"):
            tf.config.list_physical_devices(1)


class Patches(unittest.TestCase):
    def reference(self, x, window, stride, rate, padding):
        """Each window by its definition."""
        reach = [(w - 1) * r + 1 for w, r in zip(window, rate)]
        if padding == "SAME":
            count = [-(-n // s) for n, s in zip(x.shape[1:3], stride)]
            zeros = [max(0, (c - 1) * s + k - n) for c, s, k, n in zip(count, stride, reach, x.shape[1:3])]
        else:
            zeros = [0, 0]
            count = [max(0, (n - k) // s + 1) for n, k, s in zip(x.shape[1:3], reach, stride)]
        x = np.pad(x, [(0, 0)] + [(z // 2, z - z // 2) for z in zeros] + [(0, 0)])
        result = np.zeros([x.shape[0], *count, window[0] * window[1] * x.shape[3]], x.dtype)
        for i in range(count[0]):
            for j in range(count[1]):
                top, left = i * stride[0], j * stride[1]
                taken = x[:, top:top + reach[0]:rate[0], left:left + reach[1]:rate[1]]
                result[:, i, j] = taken.reshape(x.shape[0], -1)
        return result

    def test_windows_are_laid_out_as_channels(self):
        random = np.random.default_rng(3)
        x = random.random([2, 7, 9, 3])
        for window, stride, rate in [((3, 3), (1, 1), (1, 1)), ((2, 3), (2, 1), (1, 2)), ((3, 2), (3, 4), (2, 1)), ((1, 1), (2, 2), (1, 1)),
                                     ((5, 7), (1, 2), (1, 1)), ((8, 2), (1, 1), (1, 1))]:
            for padding in ("SAME", "VALID"):
                found = tf.image.extract_patches(x, [1, *window, 1], [1, *stride, 1], [1, *rate, 1], padding)
                np.testing.assert_array_equal(found, self.reference(x, window, stride, rate, padding), str((window, stride, rate, padding)))

    def test_filters_as_a_matrix_make_a_convolution(self):
        x, f = tf.random.normal([2, 6, 5, 3], dtype=tf.float64, seed=1), tf.random.normal([3, 2, 3, 4], dtype=tf.float64, seed=2)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            patches = tf.extract_image_patches(x, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 1, 1], "SAME")
            product = patches @ tf.reshape(f, [-1, 4])
            convolved = tf.nn.conv2d(x, f, [2, 1], "SAME")
        np.testing.assert_allclose(product, convolved, rtol=1e-12, atol=1e-12)
        weights = tf.random.normal(convolved.shape, dtype=tf.float64, seed=3)
        np.testing.assert_allclose(tape.gradient(product, x, weights), tape.gradient(convolved, x, weights), rtol=1e-12, atol=1e-12)

    def test_what_does_not_fit_is_named(self):
        x = tf.zeros([1, 4, 4, 1])
        ones = [1, 1, 1, 1]
        for arguments, text in [((tf.zeros([4, 4, 1]), ones, ones, ones, "SAME"), r"images has shape \(4, 4, 1\)"),
                                ((x, [1, 0, 1, 1], ones, ones, "SAME"), r"sizes is \[1, 0, 1, 1\]"),
                                ((x, ones, [2, 1, 1, 1], ones, "SAME"), r"strides is \[2, 1, 1, 1\]"),
                                ((x, ones, ones, 1, "SAME"), "rates is 1"), ((x, ones, ones, ones, "FULL"), "padding is 'FULL'")]:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, f"extract_patches: {text}"):
                tf.image.extract_patches(*arguments)
        self.assertEqual(tf.image.extract_patches(tf.zeros([0, 4, 4, 2]), [1, 2, 2, 1], ones, ones, "VALID").shape, (0, 3, 3, 8))


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
        (empty,), (differences,) = tf.test.compute_gradient(tf.exp, [tf.zeros([0])])
        self.assertEqual((empty.shape, differences.shape), ((0, 0), (0, 0)))

    def test_bad_arguments_are_named(self):
        for arguments, error, text in [((tf.exp, tf.constant(1.)), TypeError, "x is .*Tensor; it needs a list"),
                                       ((tf.exp, [1]), TypeError, r"x\[0\] is int32"),
                                       ((lambda x: [x], [1.]), TypeError, "f returned list"),
                                       ((lambda x: tf.cast(x, tf.int32), [1.]), TypeError, "f returned int32"),
                                       ((tf.exp, [1.], -1), tf.errors.InvalidArgumentError, "delta is -1.0"),
                                       ((tf.exp, [1e9]), tf.errors.InvalidArgumentError, r"too small a step from the value 1000000000.0 of x\[0\]")]:
            with self.assertRaisesRegex(error, f"compute_gradient: .*{text}"):
                tf.test.compute_gradient(*arguments)


if __name__ == "__main__":
    unittest.main()
