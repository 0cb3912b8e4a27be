"""Tensors of 9 to 32 axes, as NumPy has them: each op beside NumPy, gradients, and what lies beyond."""
import itertools
import pickle
import unittest

import numpy as np

import tapedeck as tf

ranks = (8, 9, 10, 13, 20, 31, 32)


def numbers(shape, dtype=np.float32):
    return np.arange(1, int(np.prod(shape)) + 1).reshape(shape).astype(dtype)


def shape_of(rank, long_axes=8):
    """Most extents are 1, some 2 and one 3, in places that are no neighbours."""
    shape = [1] * rank
    for i in range(min(long_axes, rank)):
        shape[i * rank // min(long_axes, rank)] = 2
    shape[rank // 2] = 3
    return shape


class ManyAxes(unittest.TestCase):
    def each(self):
        for rank in ranks:
            with self.subTest(rank=rank):
                array = numbers(shape_of(rank))
                yield rank, array, tf.constant(array)

    def same(self, tensor, array):
        self.assertEqual(tuple(tensor.shape), np.shape(array))
        np.testing.assert_allclose(tensor.numpy(), array, rtol=1e-6)

    def test_they_come_from_numpy_and_lists_and_go_back(self):
        for _, array, tensor in self.each():
            self.same(tensor, array)
            self.same(tf.constant(array.tolist()), array)
            self.assertEqual(np.asarray(tensor).strides, array.strides)
            self.assertEqual(memoryview(tensor).shape, array.shape)
            self.same(tf.experimental.dlpack.from_dlpack(tensor), array)
            self.same(pickle.loads(pickle.dumps(tensor)), array)
            self.assertEqual(tensor.numpy().tolist(), array.tolist())
            self.assertIn("shape=(" + ", ".join(map(str, array.shape)) + ")", repr(tensor))

    def test_arranging(self):
        for rank, array, tensor in self.each():
            order = list(reversed(range(rank)))
            mixed = [(7 * i + 3) % rank for i in range(rank)] if rank % 7 else order
            self.same(tf.transpose(tensor), array.T)
            self.same(tf.transpose(tensor, mixed), array.transpose(mixed))
            self.same(tf.transpose(tensor, mixed) + 1., array.transpose(mixed) + 1)
            self.same(tf.reshape(tf.transpose(tensor), [-1]), array.T.ravel())
            self.same(tf.squeeze(tensor), array.squeeze())
            self.same(tf.reverse(tensor, [0, rank - 1, rank // 2]), np.flip(array, (0, rank - 1, rank // 2)))
            self.same(tf.roll(tensor, 1, rank // 2), np.roll(array, 1, rank // 2))
            self.same(tf.concat([tensor, tensor], rank - 1), np.concatenate([array, array], rank - 1))
            self.same(tf.tile(tensor, [1] * (rank - 1) + [3]), np.tile(array, [1] * (rank - 1) + [3]))
            self.same(tf.repeat(tensor, 2, axis=rank // 2), np.repeat(array, 2, rank // 2))
            self.same(tf.pad(tensor, [[0, 0]] * (rank - 1) + [[1, 2]]), np.pad(array, [[0, 0]] * (rank - 1) + [[1, 2]]))
            self.same(tf.split(tensor, 3, axis=rank // 2)[1], np.split(array, 3, rank // 2)[1])
            self.same(tf.unstack(tensor, axis=rank // 2)[2], array.take(2, rank // 2))
            if rank < 32:
                self.same(tf.expand_dims(tensor, 3), np.expand_dims(array, 3))
                self.same(tf.stack([tensor, tensor], axis=rank // 2), np.stack([array, array], rank // 2))
                self.same(tf.broadcast_to(tensor, [2] + list(array.shape)), np.broadcast_to(array, (2,) + array.shape))

    def test_elements(self):
        for rank, array, tensor in self.each():
            column = numbers([3 if i == rank // 2 else 1 for i in range(rank)])
            self.same(tensor * column, array * column)
            self.same(column - tensor, column - array)
            self.same(tf.where(tensor > 5., tensor, tf.constant(column)), np.where(array > 5, array, column))
            self.same(tf.clip_by_value(tensor, 2., 9.), array.clip(2, 9))
            self.same(tf.exp(-tf.transpose(tensor)), np.exp(-array.T))
            self.same(tf.cast(tensor, tf.int64), array)
            self.same(tf.zeros_like(tensor), np.zeros_like(array))
            self.same(tf.ones(array.shape), np.ones(array.shape))
            self.same(tf.where(tensor > 20.), np.argwhere(array > 20))

    def test_reducing(self):
        for rank, array, tensor in self.each():
            some = (0, rank // 2, rank - 1)
            for ours, numpys in ((tf.reduce_sum, np.sum), (tf.reduce_max, np.max), (tf.reduce_mean, np.mean)):
                self.same(ours(tensor), numpys(array))
                self.same(ours(tensor, axis=some), numpys(array, axis=some))
                self.same(ours(tf.transpose(tensor), axis=some, keepdims=True), numpys(array.T, axis=some, keepdims=True))
            self.same(tf.argmax(tensor, rank // 2), array.argmax(rank // 2))
            self.same(tf.cumsum(tensor, axis=rank // 2), array.cumsum(rank // 2))
            self.same(tf.sort(-tensor, axis=rank // 2), np.sort(-array, rank // 2))
            exponents = np.exp(array - array.max(rank // 2, keepdims=True))
            self.same(tf.nn.softmax(tensor, axis=rank // 2), exponents / exponents.sum(rank // 2, keepdims=True))

    def test_picking(self):
        for rank, array, tensor in self.each():
            self.same(tensor[1], array[1])
            self.same(tensor[..., :1], array[..., :1])
            self.same(tensor[::-1, ..., :1], array[::-1, ..., :1])
            if rank < 32:
                self.same(tensor[::-1, ..., tf.newaxis], array[::-1, ..., np.newaxis])
            everywhere = (slice(None),) * (rank // 2)
            self.same(tensor[everywhere + (slice(None, None, 2),)], array[everywhere + (slice(None, None, 2),)])
            self.same(tf.slice(tensor, [0] * rank, [1] * rank), array[(slice(1),) * rank])
            self.same(tf.strided_slice(tensor, [0] * rank, array.shape), array)
            self.same(tf.gather(tensor, [2, 0], axis=rank // 2), array.take([2, 0], rank // 2))
            places = list(itertools.islice(itertools.product(*map(range, array.shape)), 5))
            self.same(tf.gather_nd(tensor, places), [array[place] for place in places])
            self.same(tf.scatter_nd(places, [1.] * 5, array.shape), tf.cast(tensor <= 5., tf.float32).numpy())
            self.same(tf.boolean_mask(tensor, tensor > 20.), array[array > 20])

    def test_products(self):
        for rank in ranks:
            with self.subTest(rank=rank):
                a = numbers([1] * (rank - 4) + [2, 3, 2, 3]) / 10
                b = numbers([1] * (rank - 4) + [2, 1, 3, 2]) / 10
                self.same(tf.matmul(a, b), np.matmul(a, b))
                self.same(tf.linalg.matrix_transpose(a), np.swapaxes(a, -1, -2))
                letters = "abcdefghijklmnopqrstuvwxyzABCDEF"[:rank]
                self.same(tf.einsum(f"{letters},{letters[-1]}->{letters[:-1]}", a, np.ones(3, np.float32)), a.sum(-1))
                self.same(tf.einsum(f"{letters}->{letters[::-1]}", a), a.T)
                if 2 * rank - 2 <= 32:
                    axes = [[rank - 1], [rank - 2]]
                    self.same(tf.tensordot(a, b, axes), np.tensordot(a, b, axes))
                square = np.matmul(a, b) + np.eye(2, dtype=np.float32)
                np.testing.assert_allclose(tf.linalg.inv(square).numpy(), np.linalg.inv(square), rtol=1e-3)

    def test_gradients(self):
        for rank, array, _ in self.each():
            last = [1] * (rank - 1) + [2]
            functions = (
                lambda x: tf.transpose(x) ** 2.,
                lambda x: x * tf.reduce_sum(x, axis=rank // 2, keepdims=True),
                lambda x: tf.concat([x, x * x], 0)[1:],
                lambda x: tf.gather(x, [2, 2, 0], axis=rank // 2) ** 2.,
                lambda x: tf.tile(x, last) ** 2.,
                lambda x: tf.reverse(tf.pad(x, [[1, 0]] + [[0, 0]] * (rank - 1)), [rank - 1]) ** 2.,
                lambda x: tf.math.cumprod(x / 10., axis=rank // 2),
                lambda x: tf.reduce_max(x, axis=[0, rank // 2]) ** 2.,
                lambda x: tf.nn.softmax(x / 10., axis=rank // 2) ** 2.,
                lambda x: tf.repeat(x, 2, axis=rank // 2) ** 2.,
                lambda x: tf.reduce_prod(x / 5., axis=rank // 2),
            )
            flat = np.float64(array).ravel()
            for function in functions:
                x = tf.constant(np.float64(array) / 10)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(function(x))
                gradient = np.ravel(tape.gradient(y, x).numpy())
                for i in (0, flat.size // 2, flat.size - 1):
                    step = np.zeros_like(flat)
                    step[i] = 1e-5
                    step = step.reshape(array.shape)
                    difference = tf.reduce_sum(function(x + step)) - tf.reduce_sum(function(x - step))
                    self.assertAlmostEqual(float(difference) / 2e-5, gradient[i], 4)

    def test_the_jacobian_of_conv3d(self):
        x = tf.constant(numbers([1, 3, 3, 3, 2], np.float64) / 54)
        filters = tf.constant(numbers([2, 2, 2, 2, 3], np.float64) / 48)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, filters])
            y = tf.nn.conv3d(x, filters, strides=[1, 1, 1, 1, 1], padding="VALID")
        of_filters, of_x = tape.jacobian(y, [filters, x])
        self.assertEqual(tuple(of_filters.shape), (1, 2, 2, 2, 3, 2, 2, 2, 2, 3))
        self.assertEqual(tuple(of_x.shape), (1, 2, 2, 2, 3, 1, 3, 3, 3, 2))
        # The convolution is linear in both: the jacobians times the arguments are the result.
        self.same(tf.tensordot(of_filters, filters, 5), y.numpy())
        self.same(tf.einsum("abcdefghij,fghij->abcde", of_x, x), y.numpy())
        patch = x[0, 1:3, 0:2, 1:3].numpy()
        for channel in range(3):
            self.same(of_filters[0, 1, 0, 1, channel, ..., channel], patch)

    def test_beyond_32_axes_is_a_clear_error(self):
        most = tf.ones([1] * 32)
        for call in (lambda: tf.expand_dims(most, 0), lambda: most[tf.newaxis], lambda: tf.stack([most, most]),
                     lambda: tf.ones([1] * 33), lambda: tf.zeros([1] * 40), lambda: tf.reshape(most, [1] * 33),
                     lambda: tf.broadcast_to(most, [1] * 33), lambda: tf.tensordot(most, most, 0),
                     lambda: tf.einsum("...,...->......", most, most), lambda: tf.gather(most, [[0]], axis=3),
                     lambda: tf.one_hot(tf.cast(most, tf.int32), 2), lambda: tf.random.normal([1] * 33)):
            with self.assertRaisesRegex(ValueError, "at most 32 axes|appears twice|einsum"):
                call()
        nested = [0.]
        for _ in range(32):
            nested = [nested]
        with self.assertRaisesRegex(ValueError, "nested more than 32 deep"):
            tf.constant(nested)


if __name__ == "__main__":
    unittest.main()
