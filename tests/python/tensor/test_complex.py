"""Complex tensors against NumPy, and their gradients against differences of the real and the imaginary parts."""
import pickle
import unittest

import numpy as np
import tapedeck as tf

random = np.random.default_rng(3)


def numbers(*shape):
    return random.normal(size=shape) + 1j * random.normal(size=shape)


class Values(unittest.TestCase):
    def test_they_come_from_python_and_numpy(self):
        self.assertEqual((tf.constant(1 + 2j).dtype, tf.constant([1j, 2]).dtype), (tf.complex128, tf.complex128))
        self.assertEqual(tf.constant(1j, tf.complex64).dtype, tf.complex64)
        for dtype in (np.complex64, np.complex128):
            array = numbers(2, 3).astype(dtype)
            t = tf.constant(array)
            self.assertEqual(t.dtype, dtype)
            np.testing.assert_array_equal(t.numpy(), array)
            np.testing.assert_array_equal(np.asarray(t.numpy().T), tf.transpose(t).numpy())
            again = pickle.loads(pickle.dumps(t))
            np.testing.assert_array_equal(again.numpy(), array)
        self.assertEqual(complex(tf.constant(1 + 2j).numpy()), 1 + 2j)
        with self.assertRaises(TypeError):
            float(tf.constant(1j))

    def test_they_print_as_in_tensorflow(self):
        self.assertEqual(str(tf.constant([1 + 2j])), "tf.Tensor([1.+2.j], shape=(1,), dtype=complex128)")
        self.assertEqual(repr(tf.constant(1j, tf.complex64)), "<tf.Tensor: shape=(), dtype=complex64, numpy=1j>")

    def test_the_dtypes_describe_themselves(self):
        self.assertTrue(tf.complex64.is_complex and not tf.complex64.is_floating)
        self.assertEqual((tf.complex64.real_dtype, tf.complex128.real_dtype, tf.complex64.size), (tf.float32, tf.float64, 8))

    def test_parts(self):
        z = numbers(3, 2)
        t = tf.constant(z)
        for function, reference in ((tf.math.real, np.real), (tf.math.imag, np.imag), (tf.math.conj, np.conj), (tf.abs, np.abs),
                                    (tf.math.angle, np.angle)):
            np.testing.assert_allclose(function(t).numpy(), reference(z), rtol=1e-14)
        np.testing.assert_array_equal(tf.complex(z.real, z.imag[0]).numpy(), z.real + 1j * z.imag[0])
        self.assertEqual(tf.complex(1., 2.).dtype, tf.complex64)
        np.testing.assert_array_equal(tf.math.angle([-1., 2.]).numpy(), np.float32([np.pi, 0]))
        with self.assertRaisesRegex(TypeError, "complex: real is int32; needs float32 or float64"):
            tf.complex(tf.constant([1]), tf.constant([2]))

    def test_casts(self):
        z = numbers(4)
        np.testing.assert_array_equal(tf.cast(z, tf.float32).numpy(), z.real.astype(np.float32))
        np.testing.assert_array_equal(tf.cast(z, tf.complex64).numpy(), z.astype(np.complex64))
        for dtype in (tf.int32, tf.float16, tf.bfloat16, tf.uint8, tf.float64):
            np.testing.assert_array_equal(tf.cast(tf.constant([1, 2], dtype), tf.complex128).numpy(), [1, 2])

    def test_functions(self):
        for name in ("exp", "log", "sqrt", "square", "sin", "cos", "tan", "sinh", "cosh", "tanh", "expm1", "log1p", "negative",
                     "reciprocal"):
            for dtype, tolerance in ((np.complex128, 1e-12), (np.complex64, 1e-5)):
                z = numbers(2, 5).astype(dtype)
                function = getattr(tf, name, None) or getattr(tf.math, name)
                np.testing.assert_allclose(function(tf.constant(z)).numpy(), getattr(np, name)(z), rtol=tolerance, err_msg=name)
        for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh"):
            z = numbers(5)
            np.testing.assert_allclose(getattr(tf, name)(tf.constant(z)).numpy(), getattr(np, name.replace("a", "arc", 1))(z), rtol=1e-12)

    def test_arithmetic_broadcasts(self):
        a, b = numbers(3, 1), numbers(4)
        x, y = tf.constant(a), tf.constant(b)
        for got, expected in ((x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (x ** 2, a ** 2), (-x, -a), (2. * x, 2 * a),
                              (tf.pow(x, y), a ** b), (x == x, a == a), (x != y, a != b), (x + 1j, a + 1j)):
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)
        for action in (lambda: x < y, lambda: tf.reduce_max(x), lambda: tf.maximum(x, y), lambda: x // y, lambda: tf.sort(x),
                       lambda: tf.nn.relu(x), lambda: tf.argmax(x), lambda: tf.math.erf(x), lambda: tf.nn.softmax(x)):
            with self.assertRaises((TypeError, NotImplementedError)):
                action()

    def test_reductions_and_products(self):
        z = numbers(3, 4, 2)
        t = tf.constant(z)
        for axis in (None, 0, 1, [0, 2]):
            numpy_axis = tuple(axis) if isinstance(axis, list) else axis
            np.testing.assert_allclose(tf.reduce_sum(t, axis).numpy(), z.sum(numpy_axis), rtol=1e-12)
            np.testing.assert_allclose(tf.reduce_mean(t, axis).numpy(), z.mean(numpy_axis), rtol=1e-12)
            np.testing.assert_allclose(tf.reduce_prod(t, axis).numpy(), z.prod(numpy_axis), rtol=1e-12)
        a, b = numbers(2, 3, 4), numbers(4, 5)
        np.testing.assert_allclose(tf.matmul(a, b).numpy(), a @ b, rtol=1e-12)
        np.testing.assert_allclose(tf.matmul(a, a, adjoint_b=True).numpy(), a @ a.conj().swapaxes(1, 2), rtol=1e-12)
        np.testing.assert_allclose(tf.matmul(a, a, adjoint_a=True).numpy(), a.conj().swapaxes(1, 2) @ a, rtol=1e-12)
        np.testing.assert_allclose(tf.matmul(a, a, transpose_a=True).numpy(), a.swapaxes(1, 2) @ a, rtol=1e-12)
        np.testing.assert_allclose(tf.transpose(b, conjugate=True).numpy(), b.conj().T)
        np.testing.assert_allclose(tf.linalg.adjoint(a).numpy(), a.conj().swapaxes(1, 2))
        np.testing.assert_allclose(tf.linalg.matrix_transpose(a).numpy(), a.swapaxes(1, 2))

    def test_what_moves_elements_moves_them(self):
        z = numbers(3, 4)
        t = tf.constant(z)
        np.testing.assert_array_equal(tf.gather(t, [2, 0]).numpy(), z[[2, 0]])
        np.testing.assert_array_equal(t[1:, ::-2].numpy(), z[1:, ::-2])
        np.testing.assert_array_equal(tf.concat([t, t], 1).numpy(), np.concatenate([z, z], 1))
        np.testing.assert_array_equal(tf.where(z.real > 0, t, tf.zeros_like(t)).numpy(), np.where(z.real > 0, z, 0))
        np.testing.assert_array_equal(tf.pad(t, [[1, 0], [0, 2]]).numpy(), np.pad(z, [[1, 0], [0, 2]]))
        np.testing.assert_array_equal(tf.ones([2], tf.complex64).numpy(), [1, 1])
        np.testing.assert_array_equal(tf.eye(2, dtype=tf.complex128).numpy(), np.eye(2))
        np.testing.assert_array_equal(tf.math.unsorted_segment_sum(t, [1, 0, 1], 2).numpy(), [z[1], z[0] + z[2]])
        np.testing.assert_allclose(tf.add_n([t, t, t]).numpy(), 3 * z)


class Gradients(unittest.TestCase):
    """TensorFlow's convention: dL/dz is the derivative by the real part plus i times that by the imaginary part."""

    def check(self, function, *values, places=5):
        """function returns complex or real tensors; L is a real sum of them with random weights."""
        tensors = [tf.constant(value) for value in values]

        def loss(*arguments):
            out = function(*arguments)
            weights = np.random.default_rng(1).normal(size=[2, *out.shape])
            if out.dtype.is_complex:
                return tf.reduce_sum(tf.math.real(out) * weights[0]) + tf.reduce_sum(tf.math.imag(out) * weights[1])
            return tf.reduce_sum(out * weights[0])

        with tf.GradientTape() as tape:
            for each in tensors:
                tape.watch(each)
            result = loss(*tensors)
        gradients = tape.gradient(result, tensors)
        for k, value in enumerate(values):
            self.assertEqual(gradients[k].dtype, tensors[k].dtype)
            flat = gradients[k].numpy().reshape(-1)
            for i in range(value.size):
                for unit in (1., 1j) if np.iscomplexobj(value) else (1.,):
                    step = np.zeros(value.size, value.dtype)
                    step[i] = unit * 1e-6
                    ends = [float(loss(*[tf.constant(v + (sign * step.reshape(v.shape) if j == k else 0)) for j, v in enumerate(values)]))
                            for sign in (1, -1)]
                    slope = (ends[0] - ends[1]) / 2e-6
                    part = flat[i].real if unit == 1. else flat[i].imag
                    self.assertAlmostEqual(part, slope, places=places, msg=f"argument {k}, element {i}, along {unit}")

    def test_functions_of_one_number(self):
        z = numbers(3) + 2.5
        for name in ("exp", "log", "sqrt", "square", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid", "expm1", "log1p",
                     "negative", "asin",
                     "acos", "atan", "asinh", "acosh", "atanh"):
            with self.subTest(name=name):
                self.check(getattr(tf, name, None) or getattr(tf.math, name), z / 2)
        for function in (tf.math.reciprocal, tf.math.rsqrt, tf.abs, tf.math.angle, tf.math.real, tf.math.imag, tf.math.conj,
                         tf.identity, lambda x: tf.cast(x, tf.float64), lambda x: x ** 3):
            self.check(function, z)

    def test_functions_of_two(self):
        a, b = numbers(2, 3), numbers(3) + 2
        for function in (tf.add, tf.subtract, tf.multiply, tf.divide, tf.pow, tf.math.squared_difference, tf.math.divide_no_nan):
            self.check(function, a, b)
        self.check(tf.complex, random.normal(size=(2, 3)), random.normal(size=3))
        self.check(lambda x: tf.cast(x, tf.complex128) * (1 + 2j), random.normal(size=3))

    def test_matrices_and_reductions(self):
        a, b = numbers(2, 3), numbers(3, 2)
        self.check(tf.matmul, a, b)
        self.check(lambda x, y: tf.matmul(x, y, adjoint_a=True), a, a)
        self.check(lambda x, y: tf.matmul(x, y, adjoint_b=True), a, a)
        self.check(lambda x, y: tf.matmul(x, y, transpose_a=True, adjoint_b=True), a, numbers(4, 2))
        self.check(lambda x: tf.transpose(x, conjugate=True), a)
        for function in (tf.reduce_sum, tf.reduce_mean, tf.reduce_prod):
            self.check(lambda x: function(x, 0), a)
        self.check(lambda x: tf.gather(x, [1, 1, 0]), a)
        self.check(lambda x: tf.concat([x[:, :2] * 2j, x], 1), a)
        self.check(lambda x: tf.where([[True], [False]], x, x * x), a)

    def test_what_tensorflow_gives(self):
        z = tf.constant(1 + 2j)
        with tf.GradientTape() as tape:
            tape.watch(z)
            y = z * z
        np.testing.assert_allclose(tape.gradient(y, z).numpy(), np.conj(2 * (1 + 2j)))

    def test_second_derivatives(self):
        z = tf.constant(.5 + .25j)
        with tf.GradientTape() as outer:
            outer.watch(z)
            with tf.GradientTape() as inner:
                inner.watch(z)
                y = z ** 3
            first = inner.gradient(y, z)
            real = tf.math.real(first)
        # first is conj(3 z^2), whose real part has the gradient conj(6 z)
        np.testing.assert_allclose(outer.gradient(real, z).numpy(), np.conj(6 * (.5 + .25j)), rtol=1e-12)


if __name__ == "__main__":
    unittest.main()
