"""Rows and pixels of few channels, whose kernels go other ways: many rows beside one, windows of channels that fill no vector."""
import operator
import unittest

import numpy as np

import tapedeck as tf

OPERATORS = operator.add, operator.sub, operator.mul, operator.gt


class ManyRowsBesideOne(unittest.TestCase):
    def test_a_short_row_beside_many_is_as_in_numpy_on_either_side(self):
        rng = np.random.default_rng(1)
        for dtype in np.float32, np.float64, np.int8, np.int64:
            for channels in 2, 3, 6, 17, 33, 63, 64, 65:
                for rows in 127, 128, 1000:
                    many = rng.integers(-50, 50, [rows, channels]).astype(dtype)
                    row = rng.integers(-50, 50, [channels]).astype(dtype)
                    for apply in OPERATORS:
                        with self.subTest(dtype=dtype, channels=channels, rows=rows, operator=apply):
                            np.testing.assert_array_equal(apply(tf.constant(many), tf.constant(row)).numpy(), apply(many, row))
                            np.testing.assert_array_equal(apply(tf.constant(row), tf.constant(many)).numpy(), apply(row, many))

    def test_an_element_for_each_short_row_is_as_in_numpy_on_either_side(self):
        rng = np.random.default_rng(3)
        for dtype in np.float32, np.float64, np.int8, np.int64, np.bool_:
            for shape, other in (([200, 3], [200, 1]), ([4, 100, 3], [100, 1]), ([2, 3, 70, 5], [2, 1, 70, 1]), ([5, 700, 64], [700, 1]),
                                 ([3, 64, 1, 2], [64, 1, 1]), ([2, 900, 33], [2, 900, 1])):
                many, one = (rng.integers(0, 2 if dtype is np.bool_ else 50, extents).astype(dtype) for extents in (shape, other))
                operators = (np.logical_and, np.not_equal) if dtype is np.bool_ else (np.subtract, np.multiply, np.greater)
                for apply in operators:
                    ours = getattr(tf.math, apply.__name__)
                    with self.subTest(dtype=dtype, shape=shape, operator=apply.__name__):
                        np.testing.assert_array_equal(ours(tf.constant(many), tf.constant(one)).numpy(), apply(many, one))
                        np.testing.assert_array_equal(ours(tf.constant(one), tf.constant(many)).numpy(), apply(one, many))
                        np.testing.assert_array_equal(ours(tf.constant(many), tf.constant(one[..., ::-1, :])).numpy(),
                                                      apply(many, one[..., ::-1, :]))
        many, exponents = np.float32(rng.random([200, 3])), np.float32(rng.integers(0, 4, [200, 1]))
        np.testing.assert_array_equal(tf.pow(many, exponents).numpy(),
                                      np.concatenate([tf.pow(row, exponent).numpy()[None] for row, exponent in zip(many, exponents)]))

    def test_both_rows_repeated_and_rows_that_lie_apart_are_right_too(self):
        many = np.arange(200 * 12, dtype=np.float32).reshape(200, 12)
        row = np.arange(6, dtype=np.float32)
        apart = tf.constant(many)[:, ::2]
        np.testing.assert_array_equal((apart + row).numpy(), many[:, ::2] + row)
        wide = tf.broadcast_to(tf.constant(row), [200, 6])
        np.testing.assert_array_equal((wide * wide).numpy(), np.broadcast_to(row * row, [200, 6]))


class FewChannels(unittest.TestCase):
    def reference(self, x, kernel, stride):
        """(largest values, where they are) of windows that lie inside."""
        count = (x.shape[1] - kernel) // stride + 1
        windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (1, 2))[:, ::stride, ::stride][:, :count, :count]
        flat = windows.reshape(*windows.shape[:4], kernel * kernel)
        return flat.max(-1), flat.argmax(-1)

    def test_pooling_of_any_number_of_channels_and_its_gradient(self):
        rng = np.random.default_rng(2)
        for dtype in np.float32, np.float64:
            for channels in [*range(1, 20), 31, 33]:
                for kernel, stride in (2, 2), (3, 1):
                    with self.subTest(dtype=dtype, channels=channels, kernel=kernel):
                        x = rng.permutation(2 * 49 * channels).reshape(2, 7, 7, channels).astype(dtype)
                        values, places = self.reference(x, kernel, stride)
                        arrived = rng.integers(1, 9, values.shape).astype(dtype)
                        expected = np.zeros_like(x)
                        for (n, i, j, c), place in np.ndenumerate(places):
                            expected[n, i * stride + place // kernel, j * stride + place % kernel, c] += arrived[n, i, j, c]
                        tensor = tf.constant(x)
                        with tf.GradientTape(persistent=True) as tape:
                            tape.watch(tensor)
                            largest = tf.nn.max_pool(tensor, kernel, stride, "VALID")
                            mean = tf.nn.avg_pool(tensor, kernel, stride, "VALID")
                        np.testing.assert_array_equal(largest.numpy(), values)
                        np.testing.assert_array_equal(tape.gradient(largest, tensor, arrived).numpy(), expected)
                        even = tape.gradient(mean, tensor, np.full_like(arrived, kernel * kernel)).numpy()
                        covered = np.zeros([7, 7])
                        for i, j in np.ndindex(values.shape[1:3]):
                            covered[i * stride:i * stride + kernel, j * stride:j * stride + kernel] += 1
                        np.testing.assert_array_equal(even, np.broadcast_to(covered[..., np.newaxis], x.shape))


if __name__ == "__main__":
    unittest.main()
