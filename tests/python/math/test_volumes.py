"""Convolutions and pooling of volumes, against loops over windows in NumPy."""
import itertools
import unittest

import numpy as np

import tapedeck as tf

RANDOM = np.random.RandomState(5)


def windows(extents, kernel, strides, dilations, padding):
    """(output extents, paddings before, paddings after)"""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    if padding == "VALID":
        return [(n - r) // s + 1 for n, r, s in zip(extents, reach, strides)], [0] * 3, [0] * 3
    counts = [-(-n // s) for n, s in zip(extents, strides)]
    total = [max((c - 1) * s + r - n, 0) for c, s, r, n in zip(counts, strides, reach, extents)]
    return counts, [t // 2 for t in total], [t - t // 2 for t in total]


def each_window(x, kernel, strides, dilations, padding, fill):
    """(place, the window's values: (batch, *kernel, channels))"""
    counts, before, after = windows(x.shape[1:4], kernel, strides, dilations, padding)
    padded = np.pad(x, [(0, 0), *zip(before, after), (0, 0)], constant_values=fill)
    for place in itertools.product(*map(range, counts)):
        cut = tuple(slice(p * s, p * s + (k - 1) * d + 1, d) for p, s, k, d in zip(place, strides, kernel, dilations))
        yield place, padded[(slice(None), *cut)]


def reference(x, kernel, strides, dilations, padding, fill, of_window, channels):
    counts = windows(x.shape[1:4], kernel, strides, dilations, padding)[0]
    out = np.zeros((len(x), *counts, channels))
    for place, window in each_window(x, kernel, strides, dilations, padding, fill):
        out[(slice(None), *place)] = of_window(window)
    return out


CASES = [((2, 5, 6, 4, 3), (2, 3, 2), (1, 1, 1), (1, 1, 1)), ((1, 6, 5, 7, 2), (3, 2, 3), (2, 1, 3), (1, 1, 1)),
         ((1, 7, 5, 6, 2), (2, 2, 3), (1, 1, 1), (3, 2, 1)), ((2, 4, 4, 4, 1), (1, 2, 2), (2, 2, 2), (1, 1, 1))]


class Volumes(unittest.TestCase):
    def test_convolutions(self):
        for (shape, kernel, strides, dilations), padding in itertools.product(CASES, ("SAME", "VALID")):
            x, filters = RANDOM.randn(*shape), RANDOM.randn(*kernel, shape[-1], 4)
            wanted = reference(x, kernel, strides, dilations, padding, 0, lambda w: np.tensordot(w, filters, 4), 4)
            arguments = {"strides": [1, *strides, 1], "padding": padding, "dilations": list(dilations)}
            np.testing.assert_allclose(tf.nn.conv3d(x, filters, **arguments).numpy(), wanted, rtol=1e-12, atol=1e-12)
            first = tf.nn.conv3d(x.transpose(0, 4, 1, 2, 3), filters, [1, 1, *strides], padding, "NCDHW", [1, 1, *dilations])
            np.testing.assert_allclose(first.numpy(), wanted.transpose(0, 4, 1, 2, 3), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(tf.nn.convolution(x, filters, **arguments).numpy(),
                                          tf.nn.conv3d(x, filter=filters, **arguments).numpy())

    def test_padding_contributes_nothing_beside_infinity(self):
        """Not even 0 times infinity: by the sum over all places that lie within, of the result and of both gradients."""
        for (shape, kernel, strides, dilations), odd in itertools.product([*CASES, ((1, 1, 3, 3, 1), (2, 1, 1), (1, 1, 1), (2, 1, 1))],
                                                                         range(3)):
            counts, before, _ = windows(shape[1:4], kernel, strides, dilations, "SAME")
            x, filters, dy = (RANDOM.randn(*extents) for extents in (shape, (*kernel, shape[-1], 2), (shape[0], *counts, 2)))
            values = (x, filters, dy)[odd]
            values[RANDOM.rand(*values.shape) < .1] = np.inf
            y, dx, dw = np.zeros_like(dy), np.zeros_like(x), np.zeros_like(filters)
            with np.errstate(invalid="ignore"):
                for place, tap in itertools.product(itertools.product(*map(range, counts)), itertools.product(*map(range, kernel))):
                    at = tuple(p * s + k * d - b for p, s, k, d, b in zip(place, strides, tap, dilations, before))
                    if all(0 <= a < n for a, n in zip(at, shape[1:4])):
                        here, there = (slice(None), *at), (slice(None), *place)
                        y[there] += (x[here][:, :, None] * filters[tap]).sum(1)
                        dx[here] += (dy[there][:, None] * filters[tap]).sum(2)
                        dw[tap] += (x[here][:, :, None] * dy[there][:, None]).sum(0)
            a, b, c = tf.constant(x), tf.constant(filters), tf.constant(dy)
            with tf.GradientTape() as tape:
                tape.watch((a, b))
                result = tf.nn.conv3d(a, b, strides, "SAME", dilations=dilations)
            transposed = tf.nn.conv3d_transpose(c, b, shape, strides, "SAME", dilations=dilations)
            for got, wanted in zip((result, transposed, *tape.gradient(result, (a, b), c)), (y, dx, dx, dw)):
                np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-11, atol=1e-11)

    def test_the_transposed_one_is_the_gradient(self):
        for (shape, kernel, strides, dilations), padding in itertools.product(CASES, ("SAME", "VALID")):
            x, filters = tf.constant(RANDOM.randn(*shape)), tf.constant(RANDOM.randn(*kernel, shape[-1], 4))
            arguments = {"strides": strides, "padding": padding, "dilations": dilations}
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.nn.conv3d(x, filters, **arguments)
            upstream = tf.constant(RANDOM.randn(*y.shape))
            wanted = tape.gradient(y, x, upstream).numpy()
            for transposed in (tf.nn.conv3d_transpose, tf.nn.conv_transpose):
                np.testing.assert_allclose(transposed(upstream, filters, shape, **arguments).numpy(), wanted, rtol=1e-12, atol=1e-12)
            first = tf.nn.conv3d_transpose(tf.transpose(upstream, [0, 4, 1, 2, 3]), filters, [shape[0], shape[4], *shape[1:4]],
                                           data_format="NCDHW", **arguments)
            np.testing.assert_allclose(first.numpy(), wanted.transpose(0, 4, 1, 2, 3), rtol=1e-12, atol=1e-12)

    def test_pooling(self):
        for (shape, kernel, strides, _), padding in itertools.product(CASES, ("SAME", "VALID")):
            x, one = RANDOM.randn(*shape), (1, 1, 1)
            largest = reference(x, kernel, strides, one, padding, -np.inf, lambda w: w.max((1, 2, 3)), shape[-1])
            mean = reference(x, kernel, strides, one, padding, np.nan, lambda w: np.nanmean(w, (1, 2, 3)), shape[-1])
            for name, wanted, tolerance in (("max_pool", largest, 0), ("avg_pool", mean, 1e-14)):
                for pool in (getattr(tf.nn, name + "3d"), getattr(tf.nn, name)):
                    np.testing.assert_allclose(pool(x, kernel, strides, padding).numpy(), wanted, rtol=tolerance, atol=tolerance)
                first = getattr(tf.nn, name + "3d")(x.transpose(0, 4, 1, 2, 3), [1, 1, *kernel], [1, 1, *strides], padding, "NCDHW")
                np.testing.assert_allclose(first.numpy(), wanted.transpose(0, 4, 1, 2, 3), rtol=tolerance, atol=tolerance)
        whole = tf.nn.max_pool3d(np.arange(8, dtype=np.int32).reshape(1, 2, 2, 2, 1), 2, 2, "VALID")
        self.assertEqual((whole.dtype, whole.numpy().ravel().tolist()), (tf.int32, [7]))

    def test_gradients_of_first_and_second_order(self):
        x, filters = RANDOM.randn(1, 4, 3, 3, 2), RANDOM.randn(2, 2, 2, 2, 2)
        for f, at in ((lambda t: tf.nn.conv3d(t, filters, [1, 2, 1, 1, 1], "SAME"), x), (lambda t: tf.nn.conv3d(x, t, 1, "VALID"), filters),
                      (lambda t: tf.nn.max_pool3d(t, 2, 1, "SAME"), x), (lambda t: tf.nn.avg_pool3d(t, [2, 1, 2], 1, "SAME"), x)):
            def loss(t):
                return tf.reduce_sum(tf.sin(f(t)))

            def slope(t, direction):
                t = tf.constant(t)
                with tf.GradientTape() as tape:
                    tape.watch(t)
                    y = loss(t)
                return tf.reduce_sum(tape.gradient(y, t) * direction)

            direction, step = RANDOM.randn(*at.shape), 1e-5
            numeric = (float(loss(tf.constant(at + step * direction))) - float(loss(tf.constant(at - step * direction)))) / (2 * step)
            np.testing.assert_allclose(float(slope(at, direction)), numeric, rtol=1e-7)
            t = tf.constant(at)
            with tf.GradientTape() as outer:
                outer.watch(t)
                with tf.GradientTape() as inner:
                    inner.watch(t)
                    y = loss(t)
                along = tf.reduce_sum(inner.gradient(y, t) * direction)
            numeric = (float(slope(at + step * direction, direction)) - float(slope(at - step * direction, direction))) / (2 * step)
            np.testing.assert_allclose(float(tf.reduce_sum(outer.gradient(along, t) * direction)), numeric, rtol=1e-6)

    def test_a_windows_gradient_goes_to_its_first_largest_value(self):
        x = tf.constant(np.zeros((1, 2, 2, 2, 1)))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.max_pool3d(x, 2, 2, "VALID")
        self.assertEqual(tape.gradient(y, x).numpy().ravel().tolist(), [1, 0, 0, 0, 0, 0, 0, 0])

    def test_refusals(self):
        x, filters = tf.ones([1, 3, 3, 3, 2]), tf.ones([2, 2, 2, 2, 1])
        for call, pattern in (
                (lambda: tf.nn.conv3d(x, tf.ones([2, 2, 2, 1, 1]), 1, "SAME"), "conv3d: input has 2 channels, filters .* are for 1"),
                (lambda: tf.nn.conv3d(x, filters, 1, "EXPLICIT"), "conv3d: padding is 'EXPLICIT'; must be 'SAME' or 'VALID'"),
                (lambda: tf.nn.conv3d(x[0], filters, 1, "SAME"), r"conv3d: input has shape \(3, 3, 3, 2\); needs 5 axes, NDHWC"),
                (lambda: tf.nn.conv3d(x, filters, [2, 1, 1, 1, 1], "SAME"), "conv3d: strides is .*; it is 1 for the batch"),
                (lambda: tf.nn.conv3d(x, filters, [1, 1], "SAME"), "conv3d: strides is .*; needs one, three or five"),
                (lambda: tf.nn.conv3d(x, tf.ones([4, 1, 1, 2, 1]), 1, "VALID"), "conv3d: a window of depth 4 is larger than .* 3"),
                (lambda: tf.nn.conv3d(x, filters, 1, "SAME", "NHWC"), "conv3d: data_format is 'NHWC'"),
                (lambda: tf.nn.conv3d_transpose(x, filters, [1, 3, 3, 3, 7], 1), r"conv3d_transpose: .*do not make \(1, 3, 3, 3, 7\)"),
                (lambda: tf.nn.max_pool3d(x, 0, 1, "SAME"), "max_pool3d: ksize is 0"),
                (lambda: tf.nn.conv3d(x, filters[:0], 1, "SAME"), r"conv3d: filters has shape \(0, 2, 2, 2, 1\); .* a depth of at least 1"),
                (lambda: tf.nn.avg_pool3d(x, [4, 1, 1], 1, "VALID"), "avg_pool3d: a window of depth 4 is larger than .* depth, 3")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                call()
        with self.assertRaisesRegex(TypeError, r"conv3d\(\) needs either 'filters' or 'filter'"):
            tf.nn.conv3d(x, strides=1, padding="SAME")

    def test_paddings_for_blocks(self):
        for extents, block, base in (([5, 6], [2, 4], None), ([7], [3], [[1, 2]]), ([4, 1], [2, 5], [[0, 0], [3, 0]])):
            paddings, crops = tf.required_space_to_batch_paddings(extents, block, base)
            base = np.zeros((len(block), 2), int) if base is None else np.array(base)
            for axis, extent in enumerate(extents):
                before, after = paddings.numpy()[axis]
                self.assertEqual(before, base[axis, 0])
                self.assertTrue(base[axis, 1] <= after < base[axis, 1] + block[axis])
                self.assertEqual((extent + before + after) % block[axis], 0)
                self.assertEqual(crops.numpy()[axis].tolist(), [0, after - base[axis, 1]])
        x = tf.reshape(tf.range(30.), [1, 5, 6, 1])
        paddings, crops = tf.nn.required_space_to_batch_paddings([5, 6], [2, 4])
        back = tf.batch_to_space(tf.space_to_batch(x, [2, 4], paddings), [2, 4], crops)
        np.testing.assert_array_equal(back.numpy(), x.numpy())
        with self.assertRaisesRegex(ValueError, "required_space_to_batch_paddings: input_shape .* need one entry"):
            tf.required_space_to_batch_paddings([1, 2], [1])


if __name__ == "__main__":
    unittest.main()
