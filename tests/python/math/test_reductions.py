"""Reductions, scans, order, segments and counts against NumPy and PyTorch."""
import collections
import functools
import itertools
import operator
import unittest

import numpy as np
import scipy.special

import tapedeck as tf
from gradients_of import gradient_of, torch

random = np.random.default_rng(4711)
cube = random.normal(size=(3, 4, 5))
AXES = [None, 0, -1, [1], (0, 2), [-1, 0], [0, 1, 2], []]


def numpy_axis(axis):
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


class Reductions(unittest.TestCase):
    def test_axes_and_keepdims_agree_with_numpy(self):
        references = {
            "reduce_sum": np.sum, "reduce_mean": np.mean, "reduce_prod": np.prod, "reduce_max": np.max, "reduce_min": np.min,
            "reduce_variance": np.var, "reduce_std": np.std, "reduce_logsumexp": scipy.special.logsumexp,
            "reduce_euclidean_norm": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims)),
            "count_nonzero": lambda x, axis, keepdims: np.count_nonzero(x, axis=axis, keepdims=keepdims),
        }
        for (name, reference), axis, keepdims in itertools.product(references.items(), AXES, (False, True)):
            if axis == [] and name in ("reduce_logsumexp", "count_nonzero"):
                continue  # SciPy and NumPy take an empty list for all axes, or refuse it
            for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 3e-6)):
                with self.subTest(name=name, axis=axis, keepdims=keepdims, dtype=dtype):
                    x = cube.astype(dtype)
                    result = getattr(tf.math, name)(x, axis=axis, keepdims=keepdims).numpy()
                    wanted = reference(cube, axis=numpy_axis(axis), keepdims=keepdims)
                    self.assertEqual(result.shape, np.shape(wanted))
                    np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)

    def test_six_axes_views_and_empty_tensors(self):
        six = random.normal(size=(2, 3, 1, 2, 3, 2))
        view = tf.transpose(tf.constant(six))[:, ::-1]
        plain = six.T[:, ::-1]
        for axis in ([0, 5], [1, 2, 4], -3):
            np.testing.assert_allclose(tf.math.reduce_std(view, axis=axis).numpy(), plain.std(numpy_axis(axis)))
            np.testing.assert_allclose(tf.math.reduce_euclidean_norm(view, axis=axis).numpy(),
                                       np.sqrt((plain**2).sum(numpy_axis(axis))))
        np.testing.assert_allclose(tf.cumsum(view, axis=-2).numpy(), plain.cumsum(-2))
        np.testing.assert_array_equal(tf.sort(view, axis=1).numpy(), np.sort(plain, 1))
        empty = np.zeros([0, 3])
        self.assertTrue(np.isnan(tf.math.reduce_variance(empty, axis=0).numpy()).all())
        self.assertEqual(tf.math.reduce_variance(empty, axis=1).shape, (0,))
        self.assertEqual(tf.math.reduce_euclidean_norm(empty).numpy(), 0)
        self.assertEqual(tf.math.count_nonzero(empty, axis=0).numpy().tolist(), [0, 0, 0])
        self.assertEqual(tf.cumprod(empty).shape, (0, 3))
        self.assertEqual(tf.sort(empty, axis=0).shape, (0, 3))

    def test_special_values(self):
        values = np.array([[1., np.inf], [np.nan, 2.], [-np.inf, np.inf], [-0., 0.]])
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(tf.math.reduce_std(values, axis=1).numpy(), values.std(1))
            np.testing.assert_array_equal(tf.math.reduce_max(values, axis=1).numpy(), values.max(1))
        self.assertEqual(tf.math.count_nonzero(values).numpy(), 6)
        self.assertEqual(tf.math.count_nonzero([True, False, True], dtype=tf.int32).dtype, tf.int32)
        self.assertEqual(tf.count_nonzero(input_tensor=[[1, 0], [2, 3]], reduction_indices=1, keep_dims=True).numpy().tolist(),
                         [[1], [2]])
        with self.assertRaisesRegex(TypeError, "both 'axis' and 'reduction_indices'"):
            tf.count_nonzero([1], axis=0, reduction_indices=0)

    def test_gradients_where_the_length_is_0(self):
        zeros = np.zeros(3)
        for function in (tf.math.reduce_euclidean_norm, tf.math.reduce_std, tf.norm):
            self.assertEqual(gradient_of(function, zeros)[0].tolist(), [0, 0, 0])

    def test_positions(self):
        x = random.integers(-3, 3, (4, 5, 6))
        for axis in (None, 0, 1, -1):
            for dtype in (tf.int32, tf.int64):
                result = tf.argmax(x, axis=axis, output_type=dtype)
                self.assertEqual(result.dtype, dtype)
                np.testing.assert_array_equal(result.numpy(), x.argmax(axis or 0))
            np.testing.assert_array_equal(tf.argmin(x, axis=axis).numpy(), x.argmin(axis or 0))


    def test_positions_in_long_rows(self):
        random = np.random.default_rng(4)
        for dtype in (np.float32, np.float64, np.int32, np.int64, np.uint8, np.float16, bool):
            for count in (1, 15, 16, 17, 63, 64, 65, 128, 200, 1000):
                x = random.integers(0, 2 if dtype is bool else 30, (11, count)).astype(dtype)  # with ties: the first counts
                if np.issubdtype(dtype, np.floating) and count > 20:
                    x[3, count - 2] = x[4, 5] = x[4, count - 1] = np.nan
                    x[5] = -np.inf
                    x[6, count // 2] = np.inf
                for axis in (0, 1):
                    np.testing.assert_array_equal(tf.argmax(x, axis), np.argmax(x, axis), str((dtype, count)))
                    np.testing.assert_array_equal(tf.argmin(x, axis), np.argmin(x, axis), str((dtype, count)))

    def test_dtypes_of_positions_are_not_too_short(self):
        x = tf.range(300)
        for call, name in ((lambda: tf.argmax(x, output_type=tf.int8), "argmax: output_type"),
                           (lambda: tf.size(x, out_type=tf.int8), "size: out_type"),
                           (lambda: tf.shape(x, out_type=tf.uint8), "shape: out_type"),
                           (lambda: tf.searchsorted(x, [299], out_type=tf.int8), "searchsorted: out_type"),
                           (lambda: tf.unique_with_counts(x, out_idx=tf.int16), "unique_with_counts: out_idx"),
                           (lambda: tf.math.top_k(x, 2, index_type=tf.int8), "top_k: index_type"),
                           (lambda: tf.setdiff1d(x, [1], index_dtype=tf.int8), "setdiff1d: index_dtype"),
                           (lambda: tf.histogram_fixed_width_bins(x, [0, 300], 300, tf.uint8), "histogram_fixed_width_bins: dtype"),
                           (lambda: tf.histogram_fixed_width(x, [0, 300], 1, tf.int8), "histogram_fixed_width: dtype"),
                           (lambda: tf.nn.max_pool_with_argmax(tf.ones([1, 20, 20, 1]), 2, 2, "SAME", output_dtype=tf.int8),
                            "max_pool_with_argmax: output_dtype")):
            with self.assertRaisesRegex(ValueError, name + r" is u?int\d+; needs int32 or int64"):
                call()
        with self.assertRaisesRegex(TypeError, "random_categorical: dtype is int8; needs int32 or int64"):
            tf.random.categorical([[0., 0.]], 3, dtype=tf.int8)

    def test_counts_do_not_wrap_around(self):
        view = tf.broadcast_to(0., [2**20, 2**20])
        with self.assertRaisesRegex(ValueError, r"size: 1099511627776 of input \(1048576, 1048576\) does not fit in int32"):
            tf.size(view)
        self.assertEqual(int(tf.size(view, out_type=tf.int64)), 2**40)
        with self.assertRaisesRegex(ValueError, "shape: 8589934592 of input .* does not fit in int32"):
            tf.shape(tf.broadcast_to(0., [2**33]))
        self.assertEqual(tf.shape(tf.broadcast_to(0., [2**33]), out_type=tf.int64).numpy().tolist(), [2**33])

    def test_means_of_whole_numbers_do_not_wrap_around(self):
        self.assertEqual(int(tf.reduce_mean([2**30] * 4)), 2**30)
        self.assertEqual(tf.reduce_mean([[-2**31, -2**31], [2**31 - 1, 2**31 - 4]], axis=1).numpy().tolist(), [-2**31, 2**31 - 3])
        self.assertEqual(tf.reduce_mean(tf.constant([127, 127, 125], tf.int8)).numpy(), 126)


class Norms(unittest.TestCase):
    def test_vectors(self):
        for order, axis, keepdims in itertools.product(("euclidean", 1, 2, 3, 2.5, np.inf), (None, 0, -1, [1]), (False, True)):
            wanted = np.linalg.norm(cube.ravel() if axis is None else cube, 2 if order == "euclidean" else order,
                                    axis=axis[0] if isinstance(axis, list) else axis)
            if keepdims:
                wanted = np.reshape(wanted, np.sum(cube, axis=numpy_axis(axis), keepdims=True).shape)
            result = tf.norm(cube, ord=order, axis=axis, keepdims=keepdims).numpy()
            self.assertEqual(result.shape, wanted.shape)
            np.testing.assert_allclose(result, wanted, rtol=1e-13, err_msg=str((order, axis, keepdims)))

    def test_matrices(self):
        orders = ["euclidean", "fro", 1, np.inf, 2]
        for order, axis, keepdims in itertools.product(orders, ([0, 1], (-2, -1), [2, 0]), (False, True)):
            wanted = np.linalg.norm(cube, "fro" if order == "euclidean" else order, axis=tuple(axis), keepdims=keepdims)
            result = tf.linalg.norm(cube, ord=order, axis=axis, keepdims=keepdims).numpy()
            self.assertEqual(result.shape, wanted.shape)
            np.testing.assert_allclose(result, wanted, rtol=1e-12, err_msg=str((order, axis, keepdims)))

    def test_errors(self):
        for arguments, message in (((cube, "fro"), "ord is 'fro'; vectors have"), ((cube, 3, [0, 1]), "ord is 3; matrices have"),
                                   ((cube, -1), "ord is -1"), ((cube, 1, [0, 1, 2]), "names 3 axes"),
                                   ((cube, 1, [0, -3]), "names axis 0 twice"), ((cube, 1, [0, 3]), "axis 3 is out of range")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "norm: .*" + message):
                tf.norm(*arguments)


class Scans(unittest.TestCase):
    def test_directions_and_dtypes(self):
        for dtype, axis, exclusive, reverse in itertools.product((np.int32, np.int64, np.float32, np.float64), (0, 1, -1),
                                                                 (False, True), (False, True)):
            x = (2 * cube).astype(dtype)
            for function, accumulate, start in ((tf.cumsum, np.cumsum, 0), (tf.math.cumprod, np.cumprod, 1)):
                turned = np.flip(x, axis) if reverse else x
                wanted = accumulate(turned, axis, dtype=dtype)
                if exclusive:
                    wanted = np.roll(wanted, 1, axis)
                    np.moveaxis(wanted, axis, 0)[0] = start
                wanted = np.flip(wanted, axis) if reverse else wanted
                result = function(x, axis=axis, exclusive=exclusive, reverse=reverse).numpy()
                self.assertEqual(result.dtype, dtype)
                np.testing.assert_allclose(result, wanted, rtol=2e-6, atol=1e-6)

    def test_running_sums_of_long_rows(self):
        random = np.random.default_rng(6)
        for count, rows, (exclusive, reverse) in itertools.product((65535, 65536, 70001, 131072), (1, 3),
                                                                   itertools.product((False, True), repeat=2)):
            numbers = random.integers(-1000, 1000, [rows, count])
            turned = np.flip(numbers, 1) if reverse else numbers
            wanted = np.cumsum(turned, 1) - (turned if exclusive else 0)
            wanted = np.flip(wanted, 1) if reverse else wanted
            for dtype in np.int32, np.int64, np.float32, np.float64:  # all sums are exact
                with self.subTest(count=count, rows=rows, exclusive=exclusive, reverse=reverse, dtype=dtype):
                    result = tf.cumsum(numbers.astype(dtype), 1, exclusive=exclusive, reverse=reverse).numpy()
                    np.testing.assert_array_equal(result, wanted.astype(dtype))
        x = random.normal(size=100_000).astype(np.float32)
        np.testing.assert_allclose(tf.cumsum(x), np.cumsum(x, dtype=np.float64), rtol=1e-6, atol=1e-5)
        x[70_000] = np.inf
        np.testing.assert_array_equal(np.isinf(tf.cumsum(x)), np.arange(len(x)) >= 70_000)

    def test_any_number_of_rows(self):
        random = np.random.default_rng(5)
        for shape in ((1, 9), (7, 5), (8, 5), (9, 33), (23, 100), (3, 8, 17)):
            x = random.normal(size=shape)
            for axis in range(-1, len(shape) - 1):
                np.testing.assert_allclose(tf.cumsum(x, axis), np.cumsum(x, axis), rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(tf.cumprod(x, axis), np.cumprod(x, axis), rtol=1e-12)
                backwards = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
                np.testing.assert_allclose(tf.cumsum(x, axis, reverse=True), backwards, rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(tf.cumsum(x, axis, exclusive=True, reverse=True), backwards - x, rtol=1e-11, atol=1e-11)

    def test_long_sums_keep_their_digits_and_whole_numbers_wrap(self):
        x = np.full(1_000_000, .1, np.float32)
        exact = np.cumsum(x.astype(np.float64))
        np.testing.assert_allclose(tf.cumsum(x).numpy(), exact, rtol=1e-7)
        self.assertEqual(tf.cumsum(np.array([2**31 - 1, 1], np.int32)).numpy().tolist(), [2**31 - 1, -2**31])


class Order(unittest.TestCase):
    def test_sort_and_argsort_agree_with_numpy(self):
        for x in (cube, cube.astype(np.float32), random.integers(-4, 4, (3, 40, 2)), np.zeros([3, 0, 2], np.int32)):
            for axis in (0, 1, -1):
                np.testing.assert_array_equal(tf.sort(x, axis=axis).numpy(), np.sort(x, axis))
                np.testing.assert_array_equal(tf.argsort(x, axis=axis, stable=True).numpy(), np.argsort(x, axis, kind="stable"))
                np.testing.assert_array_equal(tf.sort(x, axis=axis, direction="DESCENDING").numpy(),
                                              np.flip(np.sort(x, axis), axis))
                np.testing.assert_array_equal(tf.argsort(x, axis=axis, direction="DESCENDING").numpy(),
                                              np.argsort(-x, axis, kind="stable"))
        x = [3., np.nan, -np.inf, 1., np.nan, np.inf]
        np.testing.assert_array_equal(tf.sort(x).numpy(), np.sort(np.float32(x)))
        np.testing.assert_array_equal(tf.argsort(x, direction="DESCENDING").numpy(), [1, 4, 5, 0, 3, 2])

    def test_top_k_of_any_row(self):
        """Falling, rising, with ties and NaN: as a stable sort has it."""
        generator = np.random.default_rng(5)
        for count in (1, 15, 16, 17, 100, 1000):
            rows = np.stack([generator.normal(size=count), np.arange(count), -np.arange(count), generator.integers(0, 3, count),
                             np.where(generator.random(count) < .1, np.nan, generator.normal(size=count)), np.full(count, np.nan),
                             np.where(generator.random(count) < .1, -np.inf, 0.), np.full(count, -np.inf)])
            keys = np.where(np.isnan(rows), 0, 1), np.where(np.isnan(rows), 0, -rows)  # NaN is the largest
            order = np.stack([np.lexsort((key, odd)) for odd, key in zip(*keys)])
            for k in {0, 1, min(10, count), count // 2, count}:
                for dtype in (np.float64, np.float32):
                    values, places = tf.math.top_k(rows.astype(dtype), k)
                    np.testing.assert_array_equal(places, order[:, :k], err_msg=f"{count}, {k}")
                    np.testing.assert_array_equal(values, np.take_along_axis(rows.astype(dtype), order[:, :k], 1))
        whole = generator.integers(0, 256, (3, 300)).astype(np.uint8)
        np.testing.assert_array_equal(tf.math.top_k(whole, 20)[1], np.argsort(-whole.astype(int), 1, "stable")[:, :20])

    def test_top_k(self):
        x = random.integers(-9, 9, (4, 30))
        result = tf.nn.top_k(x, 7)
        np.testing.assert_array_equal(result.indices.numpy(), np.argsort(-x, 1, kind="stable")[:, :7])
        np.testing.assert_array_equal(result.values.numpy(), -np.sort(-x, 1)[:, :7])
        self.assertEqual(result.indices.dtype, tf.int32)
        values, indices = tf.math.top_k([1., 5.], index_type=tf.int64)
        self.assertEqual((values.numpy().tolist(), indices.dtype), ([5], tf.int64))
        self.assertEqual(gradient_of(lambda x: tf.nn.top_k(x, 2).values * [1., 10.], np.float32([3, 9, 5, 1]))[0].tolist(),
                         [0, 1, 10, 0])

    def test_unique(self):
        x = [4, 1, 1, 4, 7, -2]
        y, idx = tf.unique(x)
        self.assertEqual((y.numpy().tolist(), idx.numpy().tolist()), ([4, 1, 7, -2], [0, 1, 1, 0, 2, 3]))
        counted = tf.unique_with_counts(np.array(x), out_idx=tf.int64)
        self.assertEqual((counted.count.numpy().tolist(), counted.idx.dtype, counted.y.dtype), ([2, 2, 1, 1], tf.int64, tf.int64))
        self.assertEqual(tf.unique(np.zeros(0)).y.shape, (0,))
        many = tf.unique_with_counts(np.array([0.] + [np.nan] * 500000 + [-0.]))  # takes minutes where each looks at all before it
        self.assertEqual((many.y.shape, many.idx.numpy()[[0, 1, 500000, 500001]].tolist()), ((500001,), [0, 1, 500000, 0]))
        self.assertEqual(many.count.numpy()[:2].tolist(), [2, 1])


class Segments(unittest.TestCase):
    data = random.normal(size=(7, 2))
    ids = np.array([0, 0, 2, 2, 2, 3, 5], np.int32)

    def by_number(self, function, empty, count=6):
        return np.array([function(self.data[self.ids == s], axis=0) if (self.ids == s).any() else np.full(2, empty)
                         for s in range(count)])

    def test_sorted_and_unsorted(self):
        for name, reference, empty, unsorted_empty in (
                ("sum", np.sum, 0, 0), ("mean", np.mean, 0, 0), ("prod", np.prod, 1, 1),
                ("max", np.max, 0, np.finfo(float).min), ("min", np.min, 0, np.finfo(float).max)):
            found = getattr(tf.math, "segment_" + name)(self.data, self.ids).numpy()
            np.testing.assert_allclose(found, self.by_number(reference, empty), rtol=1e-14, err_msg=name)
            order = random.permutation(7)
            function = getattr(tf.math, "unsorted_segment_" + name)
            found = function(self.data[order], self.ids[order], 8).numpy()
            np.testing.assert_allclose(found, self.by_number(reference, unsorted_empty, 8), rtol=1e-14, err_msg=name)
            dropped = function(self.data, np.where(self.ids == 2, -1, self.ids), 6).numpy()
            np.testing.assert_array_equal(dropped[2], [unsorted_empty] * 2)
        rooted = tf.math.unsorted_segment_sqrt_n(self.data, self.ids, 6).numpy()
        np.testing.assert_allclose(rooted[2], self.data[2:5].sum(0) / np.sqrt(3))

    def test_extremes_see_nan_and_whole_numbers(self):
        np.testing.assert_array_equal(tf.math.segment_max([1., np.nan, 3.], [0, 0, 1]).numpy(), [np.nan, 3])
        self.assertEqual(tf.math.unsorted_segment_min(np.array([5, 3]), [0, 0], 2).numpy().tolist(), [3, 2**63 - 1])
        self.assertEqual(tf.math.segment_sum(np.array([2**31 - 1, 1], np.int32), [0, 0]).numpy().tolist(), [-2**31])
        self.assertEqual(tf.math.segment_sum(np.zeros([0, 3]), np.zeros(0, np.int32)).shape, (0, 3))

    def test_gradients_share_ties_and_know_zeros(self):
        x = np.array([2., 3., 3., 0., 5., 0., 0.])
        ids = [0, 0, 0, 1, 1, 2, 2]
        weights = [1., 10., 100.]
        result = gradient_of(lambda x: tf.math.unsorted_segment_max(x, ids, 3) * weights, x)[0]
        self.assertEqual(result.tolist(), [0, .5, .5, 0, 10, 50, 50])
        result = gradient_of(lambda x: tf.math.unsorted_segment_prod(x, ids, 3) * weights, x)[0]
        self.assertEqual(result.tolist(), [9, 6, 6, 50, 0, 0, 0])
        result = gradient_of(lambda x: tf.math.unsorted_segment_sum(x, [0, -1, 2, 0, 2, 1, -5], 3) * weights, x)[0]
        self.assertEqual(result.tolist(), [1, 0, 100, 1, 100, 10, 0])

    def test_errors(self):
        for ids, message in (([0, 2, 1], r"segment_ids\[2\] is 1, after 2"), ([-1, 0, 0], r"segment_ids\[0\] is -1"),
                             ([0, 1], r"segment_ids \(2,\)"), ([[0], [1], [2]], r"segment_ids \(3, 1\)")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "segment_sum: " + message):
                tf.math.segment_sum([1., 2., 3.], ids)
        with self.assertRaisesRegex(TypeError, "segment_mean: segment_ids is float32"):
            tf.math.segment_mean([1.], [0.])


class Counts(unittest.TestCase):
    def test_different_whole_numbers_close_together_and_far_apart(self):
        random = np.random.default_rng(7)
        for dtype in np.int8, np.int32, np.int64, np.uint64:
            info = np.iinfo(dtype)
            for low, high in ((info.min, info.max), (info.max - 100, info.max), (info.min, info.min + 100), (0, 100)):
                for count in 1, 50, 5000:
                    with self.subTest(dtype=dtype, low=low, high=high, count=count):
                        x = random.integers(low, high, count, dtype, endpoint=True)
                        y, places, counts = (each.numpy() for each in tf.unique_with_counts(x))
                        np.testing.assert_array_equal(y, list(dict.fromkeys(x)))
                        np.testing.assert_array_equal(y[places], x)
                        often = collections.Counter(x.tolist())
                        self.assertEqual(counts.tolist(), [often[value] for value in y.tolist()])

    def test_bincount(self):
        x = [1, 1, 3, 0, 1]
        self.assertEqual(tf.math.bincount(x).numpy().tolist(), [1, 3, 0, 1])
        self.assertEqual(tf.math.bincount(x).dtype, tf.int32)
        self.assertEqual(tf.math.bincount(x, minlength=6).numpy().tolist(), [1, 3, 0, 1, 0, 0])
        self.assertEqual(tf.math.bincount(x, maxlength=2, dtype=tf.int64).numpy().tolist(), [1, 3])
        self.assertEqual(tf.math.bincount(x, binary_output=True).numpy().tolist(), [1, 1, 0, 1])
        np.testing.assert_allclose(tf.math.bincount(x, weights=[.5, 1., 2., 3., 4.]).numpy(), [3, 5.5, 0, 2])
        self.assertEqual(tf.math.bincount(np.zeros(0, np.int32)).shape, (0,))
        self.assertEqual(tf.math.bincount([[2, 0], [1, 1]], axis=-1).numpy().tolist(), [[1, 0, 1], [0, 2, 0]])
        self.assertEqual(tf.math.bincount([[2, 0], [1, 1]]).numpy().tolist(), [1, 2, 1])
        self.assertEqual(tf.math.bincount([[2, 0]], axis=-1, maxlength=2).numpy().tolist(), [[1, 0]])

    def test_errors(self):
        for arguments, message in ((dict(arr=[1, -2]), "arr holds -2"), (dict(arr=[1], weights=[1., 2.]), r"weights \(2,\)"),
                                   (dict(arr=[1], weights=[1.], binary_output=True), "both given"),
                                   (dict(arr=[1], axis=2), "axis is 2")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "bincount: .*" + message):
                tf.math.bincount(**arguments)


@unittest.skipIf(torch is None, "PyTorch is not installed: python3-torch")
class GradientsAgreeWithPyTorch(unittest.TestCase):
    def check(self, ours, theirs, value):
        leaf = torch.tensor(value, requires_grad=True)
        result = theirs(leaf)
        weights = np.cos(np.arange(result.numel(), dtype=float)).reshape(tuple(result.shape))
        (first,) = torch.autograd.grad(result, leaf, torch.tensor(weights), create_graph=True)
        second = None
        if first.requires_grad:
            (second,) = torch.autograd.grad((first**2).sum(), leaf, allow_unused=True)
        x = tf.constant(value)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                weighted = tf.reduce_sum(ours(x) * weights)
            found = inner.gradient(weighted, x)
            squares = tf.reduce_sum(found * found)
        np.testing.assert_allclose(found.numpy(), first.detach().numpy(), rtol=1e-6, atol=1e-7)
        found_second = outer.gradient(squares, x)
        wanted = np.zeros(value.shape) if second is None else second.numpy()
        np.testing.assert_allclose(np.zeros(value.shape) if found_second is None else found_second.numpy(), wanted, rtol=1e-6,
                                   atol=1e-6)

    def test_products_with_zeros(self):
        for x in ([1.5, -2., .3, 4.], [1.5, 0., .3, 4.], [1.5, 0., .3, 0.], [0., 0., 0.]):
            self.check(tf.math.cumprod, lambda t: torch.cumprod(t, 0), np.array(x))
            self.check(tf.reduce_prod, lambda t: functools.reduce(operator.mul, t.unbind()), np.array(x))

    def test_norms_at_0_have_the_subgradient_0(self):
        for order in (.5, 1, 1.5, 2, 3, 4., 7, np.inf, "euclidean"):
            for values, wanted in (([0., 0.], [0., 0.]), ([0., -2.], [0., -1.]), ([0.], [0.])):
                x = tf.constant(values, tf.float64)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.norm(x, ord=order)
                np.testing.assert_allclose(tape.gradient(y, x).numpy(), wanted, atol=1e-12, err_msg=f"{values} {order}")
            rows = tf.constant([[0., 0.], [3., 4.]], tf.float64)
            with tf.GradientTape() as tape:
                tape.watch(rows)
                lengths = tf.norm(rows, ord=order, axis=1)
            gradient = tape.gradient(lengths, rows).numpy()
            self.assertEqual(gradient[0].tolist(), [0, 0])
            self.assertTrue(np.all(np.isfinite(gradient)) and np.any(gradient[1]))

    def test_powers_below_float16s_normal_numbers_lose_no_digits(self):
        for value, order in ((.01, 3.), (.02, 4.), (.003, 3.), (.5, 3.)):
            x = np.array([value, value], np.float16)
            np.testing.assert_allclose(float(tf.norm(x, order)), float(x[0]) * 2**(1 / order), rtol=2e-3, err_msg=f"{value} {order}")

    def test_lengths_whose_squares_are_no_numbers(self):
        for dtype, huge, small, least in ((np.float64, 1e300, 1e-200, 5e-324), (np.float32, 1e37, 1e-30, 1.4e-45)):
            for size in (huge, small, 1):
                for order, wanted in ((2, 5), (3, 91**(1 / 3)), (1.5, (27**.5 + 8)**(2 / 3))):
                    x = np.array([[0, 3, -4], [1, 0, 0]], dtype) * dtype(size)
                    x[1] = [1, 0, 0]
                    length = tf.norm(x, ord=order, axis=1).numpy()
                    np.testing.assert_allclose(length, [dtype(size) * wanted, 1], rtol=5e-7, err_msg=f"{order} {size}")
                    np.testing.assert_allclose(tf.norm(x[0], ord=order).numpy(), dtype(size) * wanted, rtol=5e-7)
                for unit in (tf.linalg.normalize(x, axis=1)[0], tf.math.l2_normalize(x, axis=1, epsilon=0)):
                    np.testing.assert_allclose(unit.numpy(), [[0, .6, -.8], [1, 0, 0]], rtol=5e-7)
                row = tf.constant(x[0])
                with tf.GradientTape(persistent=True) as tape:
                    tape.watch(row)
                    lengths = [tf.norm(row), tf.linalg.global_norm([row, None]), tf.norm(row, axis=0, ord=2)]
                for length in lengths:
                    np.testing.assert_allclose(float(length), size * 5., rtol=5e-7)
                    np.testing.assert_allclose(tape.gradient(length, row).numpy(), [0, .6, -.8], rtol=5e-7)
                np.testing.assert_allclose(tf.clip_by_global_norm([row], size * .5)[0][0].numpy(), x[0] / dtype(10), rtol=1e-6)
            np.testing.assert_array_equal(tf.norm(np.array([least, 0], dtype)).numpy(), dtype(least))
            for order in (2, 3):
                special = np.array([[0, 0], [np.inf, 1], [np.nan, 1]], dtype)
                np.testing.assert_array_equal(tf.norm(special, ord=order, axis=1).numpy(), [0, np.inf, np.nan])
        for dtype in (np.float32, np.float64):
            for size in (np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max / 8):
                x = tf.constant(np.array([[3, 4, 0], [0, -4, 3]], dtype) * size)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.math.reduce_euclidean_norm(x, axis=1)
                np.testing.assert_allclose(tape.gradient(y, x).numpy(), [[.6, .8, 0], [0, -.8, .6]], rtol=1e-6)
        self.assertEqual(tf.math.reduce_euclidean_norm(np.full((2, 3, 4), 1e200), axis=[0, 2], keepdims=True).shape, (1, 3, 1))
        np.testing.assert_allclose(tf.math.reduce_euclidean_norm(np.full((2, 3, 2), 1e200), axis=[0, 2]).numpy(), [2e200] * 3)

    def test_spread_norms_and_order(self):
        for axis in (0, 1, 2):
            self.check(lambda x: tf.math.reduce_variance(x, axis=axis), lambda t: t.var(axis, unbiased=False), cube)
            self.check(lambda x: tf.math.reduce_std(x, axis=axis), lambda t: t.std(axis, unbiased=False), cube)
            self.check(lambda x: tf.norm(x, axis=axis), lambda t: t.norm(dim=axis), cube)
            self.check(lambda x: tf.norm(x, ord=3, axis=axis), lambda t: t.norm(p=3, dim=axis), cube)
            self.check(lambda x: tf.sort(x, axis=axis), lambda t: t.sort(axis).values, cube)
            self.check(lambda x: tf.cumsum(x, axis=axis), lambda t: t.cumsum(axis), cube)
        self.check(lambda x: tf.nn.top_k(x, 3).values**2, lambda t: t.topk(3).values**2, cube)


if __name__ == "__main__":
    unittest.main()
