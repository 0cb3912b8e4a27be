"""tf.nn against NumPy, and against PyTorch where it is installed."""
import importlib.util
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import tfe

rng = np.random.default_rng(7)
needs_torch = unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed: python3-torch")


def draw(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def windows(x, kernel, stride, dilation, padding):
    """x (n, h, w, c) as (n, rows, columns, kh, kw, c); padding: ((above, below), (left, right))."""
    x = np.pad(x, ((0, 0), *padding, (0, 0)))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(1, 2))
    view = view[:, ::stride[0], ::stride[1], :, ::dilation[0], ::dilation[1]]
    return view.transpose(0, 1, 2, 4, 5, 3)


def same(size, kernel, stride):
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class Convolutions(unittest.TestCase):
    def test_pointwise_filters_of_many_channels_and_strides(self):
        for channels, filters in ((256, 512), (512, 1024), (1024, 512), (128, 192)):  # ResNet-50's, whose layout has larger blocks
            own = np.random.default_rng(channels)
            x, w = (own.standard_normal(shape).astype(np.float32) for shape in ((2, 14, 14, channels), (1, 1, channels, filters)))
            wanted = x[:, ::2, ::2] @ w[0, 0]
            np.testing.assert_allclose(tf.nn.conv2d(x, w, 2, "VALID"), wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())
            value = tf.constant(x)
            with tf.GradientTape() as tape:
                tape.watch(value)
                total = tf.reduce_sum(tf.nn.conv2d(value, w, 2, "VALID"))
            gradient = np.zeros_like(x)
            gradient[:, ::2, ::2] = w[0, 0].sum(1)
            np.testing.assert_allclose(tape.gradient(total, value), gradient, rtol=1e-3, atol=1e-3 * np.abs(gradient).max())

    def test_values_and_gradients_in_both_dtypes(self):
        """Batches that fall into blocks with a shorter last one; float32 goes through oneDNN, float64 does not."""
        for batch, size, channels, outputs, kernel, stride, mode in (
                (37, 12, 3, 8, 3, 1, "SAME"), (5, 33, 16, 32, 5, 2, "VALID"), (1, 7, 1, 1, 7, 1, "VALID"),
                (19, 28, 1, 16, 5, 1, "SAME"), (3, 9, 5, 7, 1, 1, "VALID"), (2, 30, 40, 24, 3, 3, "SAME")):
            x, f = draw(batch, size, size, channels, dtype=np.float64), draw(kernel, kernel, channels, outputs, dtype=np.float64)
            pads = (same(size, kernel, stride),) * 2 if mode == "SAME" else ((0, 0),) * 2
            taps = windows(x, (kernel,) * 2, (stride,) * 2, (1, 1), pads)
            wanted = np.einsum("nijabc,abco->nijo", taps, f, optimize=True)
            dy = draw(*wanted.shape, dtype=np.float64)
            filter_gradient = np.einsum("nijabc,nijo->abco", taps, dy, optimize=True)
            for dtype, tolerance in ((np.float64, 1e-11), (np.float32, 2e-4)):
                tx, tw = tf.constant(x.astype(dtype)), tf.constant(f.astype(dtype))
                with tf.GradientTape() as tape:
                    tape.watch([tx, tw])
                    y = tf.nn.conv2d(tx, tw, strides=[1, stride, stride, 1], padding=mode)
                dx, dw = tape.gradient(y, [tx, tw], output_gradients=tf.constant(dy.astype(dtype)))
                np.testing.assert_allclose(y.numpy(), wanted, rtol=tolerance, atol=tolerance * 10)
                np.testing.assert_allclose(dw.numpy(), filter_gradient, rtol=tolerance,
                                           atol=tolerance * np.abs(filter_gradient).max())
                # ⟨dx, v⟩ = ⟨dy, conv(v)⟩ for every v: the gradient is the transpose.
                v = draw(*x.shape, dtype=np.float64)
                through = np.einsum("nijabc,abco,nijo->", windows(v, (kernel,) * 2, (stride,) * 2, (1, 1), pads), f, dy,
                                    optimize=True)
                got = (dx.numpy().astype(np.float64) * v).sum()
                self.assertAlmostEqual(got, through, delta=tolerance * 10 * np.linalg.norm(dx.numpy()) * np.sqrt(v.size) ** .5)

    def test_large_filters_of_one_pixel_with_strides_are_products(self):
        """As residual networks project with: the filter's layout may have blocks of 48 channels, which 1024 is no multiple of."""
        for size, channels, outputs in ((14, 512, 1024), (7, 256, 512), (6, 320, 448)):
            x, f = .1 * draw(2, size, size, channels), .1 * draw(1, 1, channels, outputs)
            tx, tw = tf.constant(x), tf.constant(f)
            with tf.GradientTape() as tape:
                tape.watch([tx, tw])
                y = tf.nn.conv2d(tx, tw, 2, "VALID")
            picked = x[:, ::2, ::2]
            np.testing.assert_allclose(y.numpy(), picked @ f[0, 0], rtol=1e-3, atol=1e-4)
            dy = .1 * draw(*y.shape)
            dx, dw = tape.gradient(y, [tx, tw], output_gradients=tf.constant(dy))
            np.testing.assert_allclose(dx.numpy()[:, ::2, ::2], dy @ f[0, 0].T, rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(dw.numpy()[0, 0], np.einsum("nijc,nijo->co", picked, dy), rtol=1e-3, atol=1e-4)

    def test_float32_agrees_with_float64_where_other_kernels_take_over(self):
        # (input, filter, stride, dilation): pointwise with many and few pixels, large filters with and without padding,
        # steps and gaps, wide enough for several tasks and with a rest, more images than blocks; images that are cut into
        # rows, with windows that leave rows out, reach far beyond them, or lie in the padding alone.
        for images, window, stride, dilation in (
                ((3, 40, 40, 24), (1, 1, 24, 40), 1, 1), ((2, 5, 3, 300), (1, 1, 300, 70), 1, 1),
                ((1, 70, 60, 1), (1, 1, 1, 3), 1, 1), ((2, 9, 8, 260), (3, 3, 260, 256), 1, 1),
                ((2, 11, 9, 130), (3, 5, 130, 320), 2, 1), ((3, 10, 9, 192), (3, 3, 192, 320), 1, 2),
                ((1, 4, 4, 800), (1, 1, 800, 700), 2, 1), ((37, 6, 5, 3), (3, 3, 3, 64), 1, 1),
                ((3, 12, 12, 64), (3, 3, 64, 128), 1, 1), ((1, 40, 41, 16), (3, 3, 16, 32), 1, 1),
                ((1, 97, 80, 16), (5, 4, 16, 24), 3, 1), ((2, 81, 60, 16), (3, 3, 16, 32), 2, 1),
                ((1, 64, 64, 24), (3, 3, 24, 32), 1, 7), ((1, 90, 64, 24), (2, 2, 24, 64), 3, 1),
                ((1, 24, 40, 32), (3, 3, 32, 64), 1, 30), ((5, 50, 50, 32), (3, 3, 16, 32), 1, 1),
                ((1, 33, 200, 16), (7, 7, 16, 16), 2, 2)):
            x, w = tf.random.normal(images, dtype=tf.float64), tf.random.normal(window, dtype=tf.float64)
            with self.subTest(images=images, window=window, stride=stride, dilation=dilation):
                results = []
                for dtype in (tf.float64, tf.float32):
                    tx, tw = tf.cast(x, dtype), tf.cast(w, dtype)
                    with tf.GradientTape() as tape:
                        tape.watch([tx, tw])
                        y = tf.nn.conv2d(tx, tw, stride, "SAME", dilations=dilation)
                    results.append([y, *tape.gradient(y, [tx, tw], tf.sin(y))])
                for wanted, seen in zip(*results):
                    wanted = wanted.numpy()
                    np.testing.assert_allclose(seen.numpy(), wanted, rtol=0, atol=2e-4 * np.abs(wanted).max())

    def test_results_do_not_depend_on_the_number_of_threads(self):
        before = tf.config.threading.get_intra_op_parallelism_threads()
        for images, window in (((33, 20, 20, 8), (3, 3, 8, 16)), ((5, 40, 40, 24), (1, 1, 24, 40)),
                               ((2, 9, 8, 260), (3, 3, 260, 256)), ((1, 61, 48, 16), (3, 3, 16, 32)),
                               ((3, 40, 40, 16), (5, 5, 16, 32))):
            x, f = tf.constant(draw(*images)), tf.constant(draw(*window))
            results = []
            try:
                for threads in (1, 2, 3):
                    tf.config.threading.set_intra_op_parallelism_threads(threads)
                    y = tf.nn.conv2d(x, f, 1, "SAME")
                    results.append((y.numpy(), tf.nn.conv2d_backprop_filter(x, window, y, 1, "SAME").numpy(),
                                    tf.nn.conv2d_backprop_input(x.shape, f, y, 1, "SAME").numpy()))
            finally:
                tf.config.threading.set_intra_op_parallelism_threads(before)
            for other in results[1:]:
                for a, b in zip(results[0], other):
                    np.testing.assert_array_equal(a, b)

    def test_both_generations_of_arguments(self):
        x, f = draw(2, 6, 5, 3), draw(2, 2, 3, 4)
        wanted = tf.nn.conv2d(x, f, 1, "VALID").numpy()
        for y in (tf.nn.conv2d(x, filter=f, strides=[1, 1, 1, 1], padding="VALID"),
                  tf.nn.conv2d(x, filters=f, strides=(1, 1), padding=[[0, 0]] * 4),
                  tf.nn.convolution(x, f), tf.nn.atrous_conv2d(x, f, 1, "valid")):
            np.testing.assert_array_equal(y.numpy(), wanted)
        first = tf.nn.conv2d(x.transpose(0, 3, 1, 2), f, [1, 1, 1, 1], "VALID", data_format="NCHW")
        np.testing.assert_allclose(first.numpy().transpose(0, 2, 3, 1), wanted, rtol=1e-6)
        padded = tf.nn.conv2d(x, f, 1, [[0, 0], [1, 2], [0, 3], [0, 0]]).numpy()
        np.testing.assert_allclose(padded, tf.nn.conv2d(np.pad(x, ((0, 0), (1, 2), (0, 3), (0, 0))), f, 1, "VALID").numpy(),
                                   rtol=1e-5, atol=1e-5)

    def test_rows(self):
        x, f = draw(3, 11, 4, dtype=np.float64), draw(3, 4, 5, dtype=np.float64)
        y = tf.nn.conv1d(x, f, stride=2, padding="VALID", dilations=2).numpy()
        wanted = np.stack([np.einsum("nac,aco->no", x[:, i:i + 5:2], f) for i in range(0, 7, 2)], axis=1)
        np.testing.assert_allclose(y, wanted, rtol=1e-12)
        np.testing.assert_allclose(tf.nn.conv1d(x.transpose(0, 2, 1), f, 2, "VALID", "NCW", 2).numpy(),
                                   wanted.transpose(0, 2, 1), rtol=1e-12)
        back = tf.nn.conv1d_transpose(y, f, [3, 11, 4], 2, "VALID", dilations=2).numpy()
        v = draw(*x.shape, dtype=np.float64)
        self.assertAlmostEqual((back * v).sum(), (y * tf.nn.conv1d(v, f, 2, "VALID", dilations=2).numpy()).sum(), places=8)

    def test_depthwise_and_separable(self):
        x, f, point = draw(2, 6, 7, 3, dtype=np.float64), draw(3, 2, 3, 2, dtype=np.float64), draw(1, 1, 6, 4, dtype=np.float64)
        taps = windows(x, (3, 2), (1, 1), (1, 1), ((0, 0), (0, 0)))
        wanted = np.einsum("nijabc,abcm->nijcm", taps, f).reshape(2, 4, 6, 6)
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
            y = tf.nn.depthwise_conv2d(x.astype(dtype), f.astype(dtype), [1, 1, 1, 1], "VALID").numpy()
            np.testing.assert_allclose(y, wanted, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(tf.nn.separable_conv2d(x, f, point, 1, "VALID").numpy(), wanted @ point[0, 0], rtol=1e-11,
                                   atol=1e-12)

    def test_transposed_convolution(self):
        y, f = draw(2, 4, 5, 3), draw(3, 3, 6, 3)
        x = tf.nn.conv2d_transpose(y, f, [2, 8, 10, 6], 2)
        self.assertEqual(x.shape, (2, 8, 10, 6))
        v = draw(2, 8, 10, 6)
        np.testing.assert_allclose((x.numpy() * v).sum(), (y * tf.nn.conv2d(v, f, 2, "SAME").numpy()).sum(), rtol=1e-3)

    def test_empty_batches_and_no_channels(self):
        f = draw(3, 3, 2, 4)
        x = tf.zeros([0, 5, 5, 2])
        with tf.GradientTape() as tape:
            tape.watch(x)
            w = tf.constant(f)
            tape.watch(w)
            y = tf.nn.conv2d(x, w, 1, "SAME")
        self.assertEqual(y.shape, (0, 5, 5, 4))
        dx, dw = tape.gradient(y, [x, w])
        self.assertEqual(dx.shape, (0, 5, 5, 2))
        np.testing.assert_array_equal(dw.numpy(), np.zeros_like(f))
        self.assertEqual(tf.nn.max_pool(x, 2, 2, "VALID").shape, (0, 2, 2, 2))
        np.testing.assert_array_equal(tf.nn.conv2d(tf.zeros([1, 4, 4, 0]), tf.zeros([2, 2, 0, 3]), 1, "VALID").numpy(),
                                      np.zeros((1, 3, 3, 3)))

    def test_errors_name_what_is_wrong(self):
        x, f = draw(2, 6, 5, 3), draw(2, 2, 3, 4)
        for action, pattern in (
                (lambda: tf.nn.conv2d(x[0], f, 1, "SAME"), r"conv2d: input has shape \(6, 5, 3\); needs 4 axes, batch, height"),
                (lambda: tf.nn.conv2d(x, f[0], 1, "SAME"), r"conv2d: filter has shape \(2, 3, 4\); needs 4 axes"),
                (lambda: tf.nn.conv2d(x, draw(2, 2, 2, 4), 1, "SAME"), r"has 3 channels and filter \(2, 2, 2, 4\) is for 2"),
                (lambda: tf.nn.conv2d(x, draw(7, 2, 3, 4), 1, "VALID"), "windows of 7 × 2 are larger than the padded images of 6 × 5"),
                (lambda: tf.nn.conv2d(x, f, 1, "FULL"), "padding is 'FULL'; must be 'SAME', 'VALID' or 'EXPLICIT'"),
                (lambda: tf.nn.conv2d(x, f, 0, "SAME"), r"strides is 0; needs 1, 2 or 4 numbers from 1 to 2147483647"),
                (lambda: tf.nn.conv2d(x, f, [2, 1, 1, 1], "SAME"), r"strides is \[2, 1, 1, 1\]; .*batch and channels 1"),
                (lambda: tf.nn.conv2d(x, f, 1, "SAME", "HWCN"), "data_format is 'HWCN'; must be 'NHWC' or 'NCHW'"),
                (lambda: tf.nn.conv2d_transpose(x, draw(2, 2, 4, 3), [2, 5, 5, 4], 1, "SAME"),
                 r"out_backprop has shape \(2, 6, 5, 3\); the convolution's result has \(2, 5, 5, 3\)"),
                (lambda: tf.nn.max_pool(x, 9, 1, "VALID"), "max_pool: windows of 9 × 9 are larger"),
                (lambda: tf.nn.bias_add(x, [1., 2.]),
                 r"bias_add: bias \(2,\) and value \(2, 6, 5, 3\); needs one number for each of the 3"),
                (lambda: tf.nn.sigmoid_cross_entropy_with_logits([1.], [1., 2.]), r"labels \(1,\) and logits \(2,\) differ")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                action()
        with self.assertRaisesRegex(TypeError, "conv2d: input is int32; needs a floating dtype"):
            tf.nn.conv2d(x.astype(np.int32), f.astype(np.int32), 1, "SAME")


class Pooling(unittest.TestCase):
    def test_against_numpy(self):
        x = draw(3, 9, 8, 5)
        for kernel, stride, mode in ((2, 2, "VALID"), (3, 2, "SAME"), (3, 1, "SAME")):
            pads = [same(n, kernel, stride) for n in x.shape[1:3]] if mode == "SAME" else [(0, 0)] * 2
            taps = windows(np.where(np.isnan(x), x, x) + 0, (kernel,) * 2, (stride,) * 2, (1, 1), pads)
            inside = windows(np.ones_like(x), (kernel,) * 2, (stride,) * 2, (1, 1), pads)
            y = tf.nn.max_pool(x, [1, kernel, kernel, 1], [1, stride, stride, 1], mode).numpy()
            np.testing.assert_array_equal(y, np.where(inside > 0, taps, -np.inf).max((3, 4)))
            y = tf.nn.avg_pool(x, kernel, stride, mode).numpy()
            np.testing.assert_allclose(y, taps.sum((3, 4)) / inside.sum((3, 4)), rtol=1e-5, atol=1e-6)
            first = tf.nn.avg_pool2d(x.transpose(0, 3, 1, 2), kernel, stride, mode, "NCHW").numpy()
            np.testing.assert_array_equal(first.transpose(0, 2, 3, 1), y)

    def test_rows_whole_numbers_and_ties(self):
        x = np.array([[[3], [1], [4], [1], [5]]])
        np.testing.assert_array_equal(tf.nn.max_pool1d(x, 2, 2, "SAME").numpy()[0, :, 0], [3, 4, 5])
        np.testing.assert_allclose(tf.nn.avg_pool1d(x.astype(float), 2, 2, "SAME").numpy()[0, :, 0], [2, 2.5, 5])
        np.testing.assert_array_equal(tf.nn.max_pool(value=x, ksize=3, strides=1, padding="VALID").numpy()[0, :, 0], [4, 4, 5])
        flat = tf.ones([1, 2, 2, 1])
        gradient, = tfe.gradients_function(lambda t: tf.nn.max_pool(t, 2, 2, "VALID"))(flat)
        np.testing.assert_array_equal(gradient.numpy()[0, :, :, 0], [[1, 0], [0, 0]])

    def test_nan_and_infinities(self):
        x = np.array([np.nan, 1, -np.inf, -np.inf, np.inf, 2], np.float32).reshape(1, 1, 6, 1)
        y = tf.nn.max_pool(x, [1, 2], [1, 2], "VALID").numpy().ravel()
        np.testing.assert_array_equal(y, [np.nan, -np.inf, np.inf])

    def test_positions(self):
        x = draw(2, 4, 6, 3)
        y, at = tf.nn.max_pool_with_argmax(x, 2, 2, "SAME", include_batch_in_index=True)
        np.testing.assert_array_equal(x.ravel()[at.numpy()], y.numpy())
        _, at = tf.nn.max_pool_with_argmax(x, 2, 2, "SAME", output_dtype=tf.int32)
        self.assertEqual(at.dtype, tf.int32)
        np.testing.assert_array_equal(x[1].ravel()[at.numpy()[1]], y.numpy()[1])


class Losses(unittest.TestCase):
    def test_far_logits_keep_their_accuracy(self):
        x, z = np.array([-1e4, -100., -0., 0., 100., 1e4, 5e-324]), np.array([0., 0., 1., 0., 1., 1., .5])
        got = tf.nn.sigmoid_cross_entropy_with_logits(z, tf.constant(x)).numpy()
        np.testing.assert_allclose(got, [0, np.exp(-100), np.log(2), np.log(2), np.exp(-100), 0, np.log(2)], rtol=1e-15)
        got = tf.nn.weighted_cross_entropy_with_logits(z, tf.constant(x), 3.).numpy()
        np.testing.assert_allclose(got, [0, np.exp(-100), 3 * np.log(2), np.log(2), 3 * np.exp(-100), 0, 2 * np.log(2)], rtol=1e-15)
        self.assertTrue(np.isnan(tf.nn.sigmoid_cross_entropy_with_logits([.5], [np.nan]).numpy()[0]))
        named = tf.nn.weighted_cross_entropy_with_logits(targets=z, logits=x, pos_weight=3.)
        np.testing.assert_array_equal(named.numpy(), got)

    def test_in_top_k(self):
        p = np.array([[.1, .6, .3], [.8, .1, .1], [np.nan, 1, 2]], np.float32)
        np.testing.assert_array_equal(tf.nn.in_top_k(p, [2, 2, 2], 2).numpy(), [True, True, False])
        np.testing.assert_array_equal(tf.math.in_top_k(predictions=p, targets=[0, 1, 2], k=1).numpy(), [False, False, False])
        np.testing.assert_array_equal(tf.nn.in_top_k([1, 0, 2], p, 1).numpy(), [True, True, False])


class Normalisation(unittest.TestCase):
    def test_batch_layer_and_l2(self):
        x = draw(4, 3, 5, 6, dtype=np.float64)
        scale, offset = draw(6, dtype=np.float64), draw(6, dtype=np.float64)
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        wanted = (x - mean) / np.sqrt(variance + 1e-3) * scale + offset
        np.testing.assert_allclose(tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3).numpy(), wanted, rtol=1e-10)
        y, m, v = tf.nn.fused_batch_norm(x, scale, offset)
        np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-10)
        np.testing.assert_allclose(m.numpy(), mean, rtol=1e-10)
        np.testing.assert_allclose(v.numpy(), x.var((0, 1, 2), ddof=1), rtol=1e-10)
        first, _, _ = tf.nn.fused_batch_norm(x.transpose(0, 3, 1, 2), scale, offset, data_format="NCHW")
        np.testing.assert_allclose(first.numpy().transpose(0, 2, 3, 1), wanted, rtol=1e-10)
        y, _, _ = tf.nn.fused_batch_norm(x, scale, offset, mean * 0, variance * 0 + 1, 0., is_training=False)
        np.testing.assert_allclose(y.numpy(), x * scale + offset, rtol=1e-12)
        m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        np.testing.assert_allclose(tf.nn.layer_normalization(x, scale, offset).numpy(), (x - m) / np.sqrt(v + 1e-3) * scale + offset,
                                   rtol=1e-10)
        np.testing.assert_allclose(tf.nn.l2_normalize(x, 1).numpy(), x / np.linalg.norm(x, axis=1, keepdims=True), rtol=1e-12)
        np.testing.assert_array_equal(tf.math.l2_normalize([0., 0.], dim=0).numpy(), [0, 0])
        np.testing.assert_allclose(tf.nn.moments(x, [0], keep_dims=True)[0].numpy(), x.mean(0, keepdims=True), rtol=1e-12)

    def test_sufficient_statistics(self):
        x = draw(4, 3, dtype=np.float64)
        count, total, squares, shift = tf.nn.sufficient_statistics(x, [0], shift=tf.constant(1., tf.float64))
        mean, variance = tf.nn.normalize_moments(count, total, squares, shift)
        np.testing.assert_allclose(mean.numpy(), x.mean(0), rtol=1e-10)
        np.testing.assert_allclose(variance.numpy(), x.var(0), rtol=1e-10)
        weights = rng.random((4, 1))
        mean, variance = tf.nn.weighted_moments(x, [0], weights)
        wanted = np.average(x, axis=0, weights=weights[:, 0])
        np.testing.assert_allclose(mean.numpy(), wanted, rtol=1e-10)
        np.testing.assert_allclose(variance.numpy(), np.average((x - wanted) ** 2, axis=0, weights=weights[:, 0]), rtol=1e-10)

    def test_python_values_take_the_dtype_of_x(self):
        y = tf.nn.batch_normalization(tf.constant([[1., 2.]]), [1., 1.], np.array([4., 4.]), [0., 1.], 3, 0.)
        np.testing.assert_allclose(y.numpy(), [[0, 2.5]])
        self.assertEqual(y.dtype, tf.float32)


class Training(unittest.TestCase):
    def test_a_small_network_learns(self):
        """Bright squares, left or right: convolution, pooling, bias, dropout and the loss all carry gradients."""
        tf.set_random_seed(1)
        labels = rng.integers(0, 2, 64)
        images = .1 * draw(64, 8, 8, 1)
        for image, label in zip(images, labels):
            image[2:6, 4 * label:4 * label + 4] += 1
        weights = [tf.Variable(draw(3, 3, 1, 4) * .3), tf.Variable(np.zeros(4, np.float32)), tf.Variable(draw(64, 2) * .1)]
        losses = []
        for _ in range(60):
            with tf.GradientTape() as tape:
                h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(images, weights[0], 1, "SAME"), weights[1]))
                h = tf.reshape(tf.nn.max_pool(h, 2, 2, "SAME"), [64, 64])
                logits = tf.matmul(tf.nn.dropout(h, .2), weights[2])
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            for weight, gradient in zip(weights, tape.gradient(loss, weights)):
                weight.assign(weight - .3 * gradient)
            losses.append(float(loss))
        self.assertLess(losses[-1], .1 * losses[0])


@needs_torch
class AgainstPyTorch(unittest.TestCase):
    def test_convolution_pooling_and_their_second_order(self):
        import torch
        import torch.nn.functional as F
        x, f = draw(3, 8, 9, 4, dtype=np.float64), draw(3, 3, 4, 5, dtype=np.float64)

        def ours(a, b):
            y = tf.nn.conv2d(a, b, 2, [[0, 0], [1, 1], [1, 1], [0, 0]])
            return tf.reduce_sum(tf.square(tf.nn.max_pool(tf.tanh(y), 2, 1, "VALID")) + tf.nn.avg_pool(y, 2, 1, "VALID") ** 3)

        def theirs(a, b):
            y = F.conv2d(a.permute(0, 3, 1, 2), b.permute(3, 2, 0, 1), stride=2, padding=1)
            return (F.max_pool2d(torch.tanh(y), 2, 1).square() + F.avg_pool2d(y, 2, 1) ** 3).sum()

        ta, tb = tf.constant(x), tf.constant(f)
        with tf.GradientTape() as outer:
            outer.watch([ta, tb])
            with tf.GradientTape() as inner:
                inner.watch([ta, tb])
                value = ours(ta, tb)
            first = inner.gradient(value, [ta, tb])
            size = sum(tf.reduce_sum(tf.sin(g)) for g in first)
        second = outer.gradient(size, [ta, tb])
        pa, pb = torch.tensor(x, requires_grad=True), torch.tensor(f, requires_grad=True)
        torch_value = theirs(pa, pb)
        torch_first = torch.autograd.grad(torch_value, [pa, pb], create_graph=True)
        torch_second = torch.autograd.grad(sum(torch.sin(g).sum() for g in torch_first), [pa, pb])
        self.assertAlmostEqual(float(value), float(torch_value), places=9)
        for a, b in zip([*first, *second], [*torch_first, *torch_second]):
            b = b.detach().numpy()
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-9, atol=1e-9 * np.abs(b).max())

    def test_losses(self):
        import torch
        import torch.nn.functional as F
        x, z, q = draw(5, 4, dtype=np.float64) * 5, rng.random((5, 4)), rng.random(4) + .5
        ours = tf.nn.weighted_cross_entropy_with_logits(z, x, q).numpy()
        theirs = F.binary_cross_entropy_with_logits(torch.tensor(x), torch.tensor(z), pos_weight=torch.tensor(q), reduction="none")
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-12)


if __name__ == "__main__":
    unittest.main()
