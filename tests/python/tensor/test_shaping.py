"""Functions on shapes, places and parts of tensors agree with NumPy, and refuse what does not fit."""
import unittest

import numpy as np

import tapedeck as tf

cube = np.arange(2 * 3 * 4, dtype=np.float64).reshape(2, 3, 4)


class Shaping(unittest.TestCase):
    def same(self, tensor, wanted):
        wanted = np.asarray(wanted)
        self.assertEqual(tuple(tensor.shape), wanted.shape)
        np.testing.assert_array_equal(tensor.numpy(), wanted)

    def test_where_with_one_argument_gives_coordinates(self):
        for condition in (cube % 5 == 0, np.zeros((0, 2), bool), np.array(True), np.array(False), cube, np.array([0, -3, 0])):
            self.same(tf.where(condition), np.argwhere(condition))
        self.same(tf.where(tf.transpose(tf.constant(cube % 5 == 0))), np.argwhere(cube.T % 5 == 0))
        self.same(tf.where([True, False], [1, 2], 5), [1, 5])
        with self.assertRaisesRegex(ValueError, "give both x and y"):
            tf.where([True], 1.)

    def test_pad_takes_pairs_and_mirrors(self):
        for mode in ("CONSTANT", "REFLECT", "symmetric"):
            wanted = np.pad(cube, [(1, 0), (2, 1), (0, 3)], mode=mode.lower())
            for paddings in ([[1, 0], [2, 1], [0, 3]], np.array([[1, 0], [2, 1], [0, 3]]), tf.constant([[1, 0], [2, 1], [0, 3]])):
                self.same(tf.pad(cube, paddings, mode), wanted)
        self.same(tf.pad([1, 2], [[1, 1]], constant_values=-7), [-7, 1, 2, -7])
        self.same(tf.pad(3., []), 3.)
        six = np.arange(64.).reshape((2,) * 6)
        self.same(tf.pad(six, [(1, 0)] * 6, "SYMMETRIC"), np.pad(six, [(1, 0)] * 6, mode="symmetric"))
        for action, pattern in ((lambda: tf.pad(cube, [[1, 1]]), "two numbers for each axis"),
                                (lambda: tf.pad(cube, [1, 1]), r"paddings has shape \(2,\)"),
                                (lambda: tf.pad([1., 2.], [[2, 0]], "REFLECT"), "can pad axis 0 by at most 1"),
                                (lambda: tf.pad([1., 2.], [[2, 3]], "SYMMETRIC"), "can pad axis 0 by at most 2"),
                                (lambda: tf.pad([1., 2.], [[2, 3]], "edge"), "mode is 'edge'"),
                                (lambda: tf.pad([1, 2], [[2, 3]], constant_values=.5), "values 0.5 cannot be represented as int32"),
                                (lambda: tf.pad([1, 2], [[-1, 3]]), "none negative")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                action()

    def test_roll_reverse_transpose(self):
        for shift, axis in ((1, 0), (-5, 1), ([1, 2, -1], [0, 1, 2]), ([3, 3], [-1, -1]), (10**12, 2)):
            self.same(tf.roll(cube, shift, axis), np.roll(cube, shift, axis))
        self.same(tf.roll(tf.transpose(tf.constant(cube)), 1, 0), np.roll(cube.T, 1, 0))
        self.same(tf.transpose(cube, [1, 0, 2], conjugate=True), cube.transpose(1, 0, 2))
        with self.assertRaisesRegex(ValueError, "differ in length"):
            tf.roll(cube, [1, 2], 0)

    def test_split_tells_a_number_from_a_list(self):
        self.assertEqual([part.shape for part in tf.split(cube, 2, axis=2)], [(2, 3, 2)] * 2)
        self.assertEqual([part.shape for part in tf.split(cube, [4], axis=2)], [(2, 3, 4)])
        self.assertEqual([part.shape for part in tf.split(cube, tf.constant([1, -1]), -1)], [(2, 3, 1), (2, 3, 3)])
        self.assertEqual(len(tf.split(cube, np.int64(3), 1)), 3)
        self.assertEqual(len(tf.split(cube, tf.constant(3), 1, num=3)), 3)
        for sizes in (3, [1, 1], [-1, -1], [2**63 - 1, 2**63 - 1, 6], 0):
            with self.assertRaisesRegex(ValueError, "split: "):
                tf.split(cube, sizes, 2)
        with self.assertRaisesRegex(ValueError, "num is 3"):
            tf.split(cube, 2, 2, 3)

    def test_gather_with_batches(self):
        rng = np.random.default_rng(0)
        params = rng.normal(size=(2, 3, 4, 5))
        indices = rng.integers(0, 4, (2, 3, 6))
        self.same(tf.gather(params, indices, batch_dims=2), np.take_along_axis(params, indices[..., None], 2))
        self.same(tf.gather(params, indices, axis=3, batch_dims=1),
                  np.stack([params[b][:, :, indices[b]] for b in range(2)]))
        self.same(tf.gather(params, [1, 0], axis=-2), params[:, :, [1, 0]])
        for action, pattern in ((lambda: tf.gather(cube, [[0]], batch_dims=1), "do not begin with"),
                                (lambda: tf.gather(cube, [[0], [0]], axis=0, batch_dims=1), "is one of the 1 batch axes"),
                                (lambda: tf.gather(cube, [0], batch_dims=5), "batch_dims 5")):
            with self.assertRaisesRegex(ValueError, pattern):
                action()
        with self.assertRaisesRegex(IndexError, r"gather: indices\[1\] is 7; must be in \[0, 2\)"):
            tf.gather(cube, [0, 7])

    def test_gather_nd_and_scatters(self):
        places = np.array([[1, 2], [0, 0], [1, 1]])
        self.same(tf.gather_nd(cube, places), cube[places[:, 0], places[:, 1]])
        self.same(tf.gather_nd(cube, [[[2, 3]], [[0, 1]]], batch_dims=1), [[cube[0, 2, 3]], [cube[1, 0, 1]]])
        wanted = np.zeros((2, 3, 4))
        np.add.at(wanted, tuple(places.T), cube[:1, :3].reshape(3, 4))
        self.same(tf.scatter_nd(places, cube[0], cube.shape), wanted)
        updated = cube.copy()
        updated[tuple(places.T)] = -1
        for name in ("tensor_scatter_nd_update", "tensor_scatter_update"):
            self.same(getattr(tf, name)(cube, places, -np.ones((3, 4))), updated)
        self.same(tf.tensor_scatter_nd_add([1, 1, 1], [[0], [0], [2]], [5, 6, 7]), [12, 1, 8])
        self.same(tf.tensor_scatter_nd_sub([1, 1, 1], [[0], [0], [2]], [5, 6, 7]), [-10, 1, -6])
        self.same(tf.tensor_scatter_nd_update([True, True], [[1]], [False]), [True, False])
        with self.assertRaisesRegex(IndexError, r"gather_nd: indices\[1\] is \(2, 0\), outside of shape \(2, 3, 4\)"):
            tf.gather_nd(cube, [[0, 0], [2, 0]])
        with self.assertRaisesRegex(ValueError, r"updates \(2,\) for indices \(1, 1\) and shape \(3,\); needs \(1,\)"):
            tf.scatter_nd([[1]], [1., 2.], [3])
        with self.assertRaisesRegex(ValueError, "hold 4 coordinates each"):
            tf.gather_nd(cube, [[0, 0, 0, 0]])

    def test_boolean_mask(self):
        mask = cube[:, :, 0] % 2 == 0
        self.same(tf.boolean_mask(cube, mask), cube[mask])
        self.same(tf.boolean_mask(cube, [True, False, True], axis=1), cube[:, [0, 2]])
        self.same(tf.boolean_mask(cube, cube > 100), cube[cube > 100])
        with self.assertRaisesRegex(ValueError, "does not fit"):
            tf.boolean_mask(cube, [True])

    def test_sequence_mask_meshgrid_repeat(self):
        self.same(tf.sequence_mask([1, 3, 0]), [[1, 0, 0], [1, 1, 1], [0, 0, 0]])
        self.same(tf.sequence_mask([[1], [2]], 2, tf.float32), [[[1, 0]], [[1, 1]]])
        self.same(tf.sequence_mask(np.zeros(0, np.int32)), np.zeros((0, 0)))
        for indexing in ("xy", "ij"):
            vectors = [np.arange(2), np.arange(3) * 10, np.arange(4) * 100]
            for count in (1, 2, 3):
                for grid, wanted in zip(tf.meshgrid(*vectors[:count], indexing=indexing), np.meshgrid(*vectors[:count], indexing=indexing)):
                    self.same(grid, wanted)
        for repeats, axis in ((2, None), (3, 0), ([1, 0, 2], 1), ([2], -1), (0, 2), (tf.constant([1, 2]), 0)):
            self.same(tf.repeat(cube, repeats, axis), np.repeat(cube, np.asarray(repeats), axis))
        with self.assertRaisesRegex(ValueError, "none negative"):
            tf.repeat(cube, -1, 0)

    def test_partition_and_stitch_are_inverse(self):
        numbers = np.array([[2, 0, 1], [0, 0, 2]])
        parts = tf.dynamic_partition(cube, numbers, 4)
        for number, part in enumerate(parts):
            self.same(part, cube[numbers == number])
        places = tf.dynamic_partition(np.arange(6).reshape(2, 3), numbers, 4)
        self.same(tf.dynamic_stitch(places, parts), cube.reshape(6, 4))
        self.same(tf.dynamic_stitch([[0], [0, 2]], [[1], [5, 7]]), [5, 0, 7])
        x = tf.constant(cube)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.dynamic_stitch(places, tf.dynamic_partition(x, numbers, 4)) ** 2)
        self.same(tape.gradient(y, x), 2 * cube)
        with self.assertRaisesRegex(IndexError, r"must be in \[0, 2\)"):
            tf.dynamic_partition(cube, numbers, 2)

    def test_blocks_and_depth(self):
        image = np.arange(2 * 4 * 6 * 3.).reshape(2, 4, 6, 3)
        wanted = image.reshape(2, 2, 2, 3, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 2, 3, 12)
        self.same(tf.nn.space_to_depth(image, 2), wanted)
        self.same(tf.nn.depth_to_space(wanted, 2), image)
        first = tf.nn.space_to_depth(image.transpose(0, 3, 1, 2), 2, data_format="NCHW")
        self.same(first, wanted.transpose(0, 3, 1, 2))
        for block in (1, 5, 2**62):
            with self.assertRaisesRegex(ValueError, "block_size"):
                tf.nn.space_to_depth(image, block)
            with self.assertRaisesRegex(ValueError, "block_size"):
                tf.nn.depth_to_space(image, block)

    def test_shapes_of_shapes(self):
        self.same(tf.broadcast_dynamic_shape([2, 1], [3]), [2, 3])
        self.assertEqual(tf.broadcast_static_shape(tf.TensorShape([4, 1]), (1, 5)), (4, 5))
        self.assertEqual([shape.numpy().tolist() for shape in tf.shape_n([cube, 1.])], [[2, 3, 4], []])
        with self.assertRaisesRegex(ValueError, "do not broadcast"):
            tf.broadcast_static_shape([2], [3])
        self.same(tf.searchsorted([1., 3., 3.], [[3., 0.], [9., 2.]], side="right"), [[3, 0], [3, 1]])
        self.same(tf.math.invert_permutation([2, 0, 1]), [1, 2, 0])
        with self.assertRaisesRegex(ValueError, "holds 1 twice"):
            tf.math.invert_permutation([1, 1, 0])

    def test_ensure_shape_unravel_index_reverse_sequence(self):
        self.same(tf.ensure_shape(cube, [2, None, 4]), cube)
        for shape in ([2, 3], [2, 3, 5], [None, None, None, None]):
            with self.assertRaisesRegex(ValueError, r"x has shape \(2, 3, 4\), not"):
                tf.ensure_shape(cube, shape)
        self.same(tf.unravel_index([22, 5, 0], [2, 3, 4]), np.unravel_index([22, 5, 0], (2, 3, 4)))
        self.same(tf.unravel_index(7, [2, 3, 4]), np.unravel_index(7, (2, 3, 4)))
        with self.assertRaisesRegex(IndexError, r"must be in \[0, 24\)"):
            tf.unravel_index([24], [2, 3, 4])
        wanted = cube.copy()
        wanted[0, :, :3] = cube[0, :, 2::-1]
        self.same(tf.reverse_sequence(cube, [3, 0], seq_axis=2, batch_axis=0), wanted)
        self.same(tf.reverse_sequence(cube.T, [3, 0], seq_dim=0, batch_dim=2), wanted.T)
        with self.assertRaisesRegex(ValueError, r"needs 2 numbers in \[0, 4\]"):
            tf.reverse_sequence(cube, [3, 5], 2)

    def test_six_axes_views_and_empties(self):
        six = np.arange(2 * 1 * 3 * 2 * 1 * 2.).reshape(2, 1, 3, 2, 1, 2)
        view = tf.transpose(tf.constant(six))
        self.same(tf.concat([view, view], -1), np.concatenate([six.T, six.T], -1))
        self.same(tf.stack([view, view], 3), np.stack([six.T, six.T], 3))
        self.same(tf.tile(view, [1, 2, 1, 1, 3, 1]), np.tile(six.T, [1, 2, 1, 1, 3, 1]))
        self.same(tf.squeeze(view, [-2]), six.T.squeeze(-2))
        self.same(tf.reverse(view, [0, -1]), np.flip(six.T, [0, -1]))
        self.same(tf.gather(view, [2, 0], axis=3), six.T[:, :, :, [2, 0]])
        for empty in (tf.roll(np.zeros((0, 3)), 1, 0), tf.reverse(np.zeros((0, 3)), [0]), tf.gather(np.zeros((0, 3)), np.zeros(0, int)),
                      tf.tile(np.zeros((0, 3)), [2, 1]), tf.boolean_mask(np.zeros((0, 3)), np.zeros(0, bool))):
            self.assertEqual(empty.shape, (0, 3))


class Creation(unittest.TestCase):
    def test_one_hot_values_and_dtypes(self):
        for arguments, dtype in (({}, tf.float32), ({"on_value": 5}, tf.int32), ({"on_value": 5., "off_value": -1.}, tf.float32),
                                 ({"on_value": True, "off_value": False}, tf.bool), ({"dtype": tf.int64}, tf.int64)):
            result = tf.one_hot([[0], [2]], 3, **arguments)
            self.assertEqual((result.dtype, result.shape), (dtype, (2, 1, 3)), arguments)
        np.testing.assert_array_equal(tf.one_hot([1, -1, 3], 3, 5, 7, 0).numpy(), [[7, 7, 7], [5, 7, 7], [7, 7, 7]])
        with self.assertRaisesRegex(ValueError, "on_value 0.5 cannot be represented as int32"):
            tf.one_hot([0], 2, .5, dtype=tf.int32)

    def test_ranges_are_exact_and_never_wrap_around(self):
        for arguments in ((5,), (2, 11, 3), (5, -4, -2), (3, 3), (4, 0)):
            np.testing.assert_array_equal(tf.range(*arguments).numpy(), np.arange(*arguments))
        np.testing.assert_array_equal(tf.range(2**62, 2**62 + 3, dtype=tf.int64).numpy(), 2**62 + np.arange(3))
        np.testing.assert_array_equal(tf.range(2**63 - 1, -2**63, -2**62, dtype=tf.int64).numpy(),
                                      [2**63 - 1, 2**62 - 1, -1, -2**62 - 1])
        for arguments in ((2**31, 2**31 + 2), (2**31 - 1, 2**31 + 2), (0, 2**40, 2**35)):
            self.assertEqual(tf.range(*arguments).dtype, tf.int64)
            np.testing.assert_array_equal(tf.range(*arguments).numpy(), np.arange(*arguments))
            with self.assertRaisesRegex(ValueError, "leave int32; pass dtype int64"):
                tf.range(*arguments, dtype=tf.int32)
        with self.assertRaisesRegex(MemoryError, r"range: .*needs 7\.3 TiB"):
            tf.range(10**12, dtype=tf.int64)

    def test_linspace_between_tensors(self):
        start, stop = np.array([[0.], [10.]]), np.array([1., 2., .1])
        for axis in (0, 1, 2, -1, -2):
            for num in (1, 2, 5):
                result = tf.linspace(start, stop, num, axis=axis)
                np.testing.assert_allclose(result.numpy(), np.linspace(start + 0 * stop, stop + 0 * start, num, axis=axis), rtol=1e-15)
        for whole in ((-2, 2), (tf.constant(-2), np.int64(2)), ([-2, -4], tf.constant(2, tf.int64))):
            result = tf.linspace(*whole, 5)
            self.assertEqual(result.dtype, tf.float64)
            np.testing.assert_array_equal(result.numpy(), np.linspace(np.asarray(whole[0]), np.asarray(whole[1]), 5))
        self.assertEqual((tf.linspace(0, 1.5, 3).dtype, tf.linspace(0., 1, 3).dtype), (tf.float32, tf.float32))
        np.testing.assert_array_equal(tf.lin_space(0., 1., 5).numpy(), [0, .25, .5, .75, 1])
        ends = np.float64(-1.5e308), np.float64(1.5e308)  # their distance overflows
        np.testing.assert_allclose(tf.linspace(*ends, 5).numpy(), [-1.5e308, -.75e308, 0, .75e308, 1.5e308])
        with self.assertRaisesRegex(ValueError, "linspace: axis 3 is out of range"):
            tf.linspace(start, stop, 4, axis=3)
        with self.assertRaisesRegex(ValueError, "linspace: num is 0"):
            tf.linspace(start, stop, 0)

    def test_eye_in_batches(self):
        np.testing.assert_array_equal(tf.eye(2, 3, [2, 1]).numpy(), np.broadcast_to(np.eye(2, 3), (2, 1, 2, 3)))
        self.assertEqual(tf.linalg.eye(2, dtype=tf.int32).dtype, tf.int32)

    def test_absurd_sizes_say_what_they_need(self):
        for action in (lambda: tf.zeros([10**6, 10**6]), lambda: tf.ones([10**12]), lambda: tf.fill([10**12], 1.),
                       lambda: tf.tile([1.], [10**12]), lambda: tf.pad([1.], [[0, 10**12]]), lambda: tf.one_hot([0], 10**12),
                       lambda: tf.random.normal([10**12]), lambda: tf.eye(10**6)):
            with self.assertRaisesRegex(MemoryError, r"needs 3\.6 TiB, the machine has"):
                action()
        for action in (lambda: tf.zeros([2**40, 2**40]), lambda: tf.tile(tf.zeros([2, 2]), [2**62, 1]), lambda: tf.eye(2**62)):
            with self.assertRaises((MemoryError, ValueError)):
                action()


if __name__ == "__main__":
    unittest.main()
