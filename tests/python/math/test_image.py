"""tf.image: images turned, cut, resized, compared and recoloured."""
import unittest

import numpy as np
from scipy import ndimage

import tapedeck as tf

try:
    import torch
except ImportError:
    torch = None

RNG = np.random.default_rng(5)
IMAGES = RNG.uniform(0., 1., (2, 5, 7, 3))


class Turned(unittest.TestCase):
    def test_flips_and_turns_are_numpys(self):
        for images, rows in ((IMAGES, 1), (IMAGES[0], 0)):
            for result, wanted in ((tf.image.flip_left_right(images), np.flip(images, rows + 1)),
                                   (tf.image.flip_up_down(images), np.flip(images, rows)),
                                   (tf.image.transpose(images), np.swapaxes(images, rows, rows + 1)),
                                   *((tf.image.rot90(images, k), np.rot90(images, k, (rows, rows + 1))) for k in (-3, 0, 1, 2, 3, 6))):
                np.testing.assert_array_equal(result.numpy(), wanted)

    def test_coins_are_thrown_for_each_image(self):
        images = np.tile(IMAGES[:1], [400, 1, 1, 1])
        for flip, axis in ((tf.image.random_flip_left_right, 2), (tf.image.random_flip_up_down, 1)):
            flipped = flip(images, seed=3).numpy()
            kept = (flipped == images).all((1, 2, 3))
            self.assertTrue(120 < kept.sum() < 280)
            np.testing.assert_array_equal(flipped[~kept], np.flip(images, axis)[~kept])
            self.assertEqual(flip(IMAGES[0]).shape, (5, 7, 3))

    def test_boxes(self):
        self.assertEqual(tf.image.crop_to_bounding_box(IMAGES, 1, 2, 3, 4).numpy().tolist(), IMAGES[:, 1:4, 2:6].tolist())
        padded = tf.image.pad_to_bounding_box(IMAGES[0], 1, 2, 8, 9).numpy()
        self.assertEqual((padded.shape, padded[1:6, 2:].tolist(), np.count_nonzero(padded)), ((8, 9, 3), IMAGES[0].tolist(), 105))
        self.assertEqual(tf.image.central_crop(np.zeros((10, 7, 1)), .5).shape, (6, 5, 1))  # (10 − 5) / 2 and 1.75, cut off
        self.assertEqual(tf.image.central_crop(IMAGES, 1.).shape, IMAGES.shape)


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
                found = tf.image.extract_patches(x, sizes=[1, *window, 1], strides=[1, *stride, 1], rates=[1, *rate, 1], padding=padding)
                np.testing.assert_array_equal(found, self.reference(x, window, stride, rate, padding), str((window, stride, rate, padding)))
        self.assertEqual(tf.image.extract_patches(x.astype(np.int32), [1, 2, 2, 1], [1] * 4, [1] * 4, "SAME").dtype, tf.int32)

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
                                ((x, [2, 2], ones, ones, "SAME"), r"sizes is \[2, 2\]"),
                                ((x, ones, [2, 1, 1, 1], ones, "SAME"), r"strides is \[2, 1, 1, 1\]"),
                                ((x, ones, ones, 1, "SAME"), "rates is 1"), ((x, ones, ones, ones, "FULL"), "padding is 'FULL'")]:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, f"extract_patches: {text}"):
                tf.image.extract_patches(*arguments)
        self.assertEqual(tf.image.extract_patches(tf.zeros([0, 4, 4, 2]), [1, 2, 2, 1], ones, ones, "VALID").shape, (0, 3, 3, 8))


class Resized(unittest.TestCase):
    @unittest.skipUnless(torch, "needs PyTorch (python3-torch)")
    def test_values_and_gradients_are_pytorchs(self):
        for size in ((10, 14), (3, 4), (8, 2), (5, 9), (1, 1)):
            for method, there in (("bilinear", {"mode": "bilinear", "align_corners": False}), ("nearest", {"mode": "nearest-exact"})):
                x = tf.constant(IMAGES, tf.float32)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.image.resize(x, size, method)
                    loss = tf.reduce_sum(y**3)
                t = torch.tensor(np.moveaxis(IMAGES, 3, 1).astype(np.float32), requires_grad=True)
                u = torch.nn.functional.interpolate(t, size, **there)
                (u**3).sum().backward()
                np.testing.assert_allclose(np.moveaxis(y.numpy(), 3, 1), u.detach().numpy(), atol=2e-6)
                np.testing.assert_allclose(np.moveaxis(tape.gradient(loss, x).numpy(), 3, 1), t.grad.numpy(), atol=2e-5)

    def test_dtypes_and_shapes(self):
        whole = tf.constant([[[1], [5]]], tf.uint8)
        self.assertEqual(tf.image.resize(whole, [1, 4]).numpy().ravel().tolist(), [1, 2, 4, 5])
        self.assertEqual(tf.image.resize(whole, [1, 4]).dtype, tf.float32)
        nearest = tf.image.resize(whole, [2, 4], tf.image.ResizeMethod.NEAREST_NEIGHBOR)
        self.assertEqual((nearest.dtype, nearest.numpy()[..., 0].tolist()), (tf.uint8, [[1, 1, 5, 5]] * 2))
        self.assertEqual(tf.image.resize(whole, [1, 2]).dtype, tf.float32)
        self.assertEqual(tf.image.resize(IMAGES, [10, 10], preserve_aspect_ratio=True).shape, (2, 7, 10, 3))


class Compared(unittest.TestCase):
    def test_differences_of_neighbours(self):
        down, across = tf.image.image_gradients(IMAGES)
        np.testing.assert_array_equal(down.numpy(), np.diff(IMAGES, axis=1, append=IMAGES[:, -1:]))
        np.testing.assert_array_equal(across.numpy(), np.diff(IMAGES, axis=2, append=IMAGES[:, :, -1:]))
        variation = np.abs(np.diff(IMAGES, axis=1)).sum((1, 2, 3)) + np.abs(np.diff(IMAGES, axis=2)).sum((1, 2, 3))
        np.testing.assert_allclose(tf.image.total_variation(IMAGES).numpy(), variation)
        np.testing.assert_allclose(tf.image.total_variation(IMAGES[1]).numpy(), variation[1])

    def test_sobels_edges_are_scipys(self):
        edges = tf.image.sobel_edges(IMAGES).numpy()
        self.assertEqual(edges.shape, (*IMAGES.shape, 2))
        for b, c, axis in np.ndindex(2, 3, 2):
            np.testing.assert_allclose(edges[b, :, :, c, axis], ndimage.sobel(IMAGES[b, :, :, c], axis, mode="mirror"), atol=1e-12)

    def test_psnr(self):
        other = np.clip(IMAGES + .1, 0, 1)
        wanted = -10 * np.log10(((other - IMAGES)**2).mean((1, 2, 3)))
        np.testing.assert_allclose(tf.image.psnr(IMAGES, other, 1.).numpy(), wanted, rtol=1e-5)
        whole, near = np.full((4, 4, 1), 100, np.uint8), np.full((4, 4, 1), 110, np.uint8)
        np.testing.assert_allclose(tf.image.psnr(whole, near, 255).numpy(), 20 * np.log10(255 / 10), rtol=1e-5)


class Recoloured(unittest.TestCase):
    def test_dtypes_keep_the_range(self):
        for value, dtype, wanted in (([0, 128, 255], tf.float32, [0, 128 / 255, 1]), ([0, 128, 255], tf.uint16, [0, 128 * 256, 255 * 256])):
            result = tf.image.convert_image_dtype(tf.constant(value, tf.uint8), dtype)
            self.assertEqual(result.dtype, dtype)
            np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-6)
        self.assertEqual(tf.image.convert_image_dtype([0., .5, 1.], tf.uint8).numpy().tolist(), [0, 127, 255])
        self.assertEqual(tf.image.convert_image_dtype([-1., 2.], tf.uint8, saturate=True).numpy().tolist(), [0, 255])
        self.assertEqual(tf.image.convert_image_dtype(tf.constant([256, 65535], tf.uint16), tf.uint8).numpy().tolist(), [1, 255])
        every = tf.range(256, dtype=tf.uint8)
        self.assertEqual(tf.image.convert_image_dtype(tf.image.convert_image_dtype(every, tf.float32), tf.uint8).numpy().tolist(),
                         list(range(256)))

    def test_grey_and_colours(self):
        grey = tf.image.rgb_to_grayscale(IMAGES)
        np.testing.assert_allclose(grey.numpy(), IMAGES @ [[.2989], [.587], [.114]])
        self.assertEqual(tf.image.grayscale_to_rgb(grey).numpy().tolist(), np.repeat(grey.numpy(), 3, 3).tolist())
        self.assertEqual(tf.image.rgb_to_grayscale(tf.constant([[100] * 3], tf.uint8)).numpy().tolist(), [[100]])

    def test_brightness_and_contrast(self):
        np.testing.assert_allclose(tf.image.adjust_brightness(IMAGES, .3).numpy(), IMAGES + .3)
        whole = tf.constant([[[10], [250]]], tf.uint8)
        self.assertEqual(tf.image.adjust_brightness(whole, .1).numpy().ravel().tolist(), [35, 255])
        mean = IMAGES.mean((1, 2), keepdims=True)
        np.testing.assert_allclose(tf.image.adjust_contrast(IMAGES, 2.).numpy(), (IMAGES - mean) * 2 + mean)
        self.assertEqual(tf.image.adjust_contrast(tf.constant([[[100], [120]]], tf.uint8), .5).numpy().ravel().tolist(), [105, 115])

    def test_standardization(self):
        result = tf.image.per_image_standardization(IMAGES)
        self.assertEqual(result.dtype, tf.float32)
        wanted = (IMAGES - IMAGES.mean((1, 2, 3), keepdims=True)) / IMAGES.std((1, 2, 3), keepdims=True)
        np.testing.assert_allclose(result.numpy(), wanted, atol=1e-5)
        even = tf.fill([2, 2, 1], 7.)
        with tf.GradientTape() as tape:
            tape.watch(even)
            result = tf.image.per_image_standardization(even)
        self.assertEqual(result.numpy().tolist(), np.zeros((2, 2, 1)).tolist())
        self.assertTrue(np.isfinite(tape.gradient(result, even, output_gradients=[[[1.], [2.]], [[3.], [5.]]]).numpy()).all())


class Refusals(unittest.TestCase):
    def test_they_name_function_argument_and_values(self):
        image = tf.constant(IMAGES[0])
        for call, kind, pattern in (
                (lambda: tf.image.flip_left_right([1.]), ValueError,
                 r"flip_left_right: image has shape \(1,\); needs \(rows, columns, channels\)"),
                (lambda: tf.image.rot90(image, .5), TypeError, "rot90: .*k: 0.5"),
                (lambda: tf.image.crop_to_bounding_box(image, 1, 0, 5, 2), ValueError,
                 r"5 × 2 pixels from \(1, 0\) on are not in .* 5 × 7"),
                (lambda: tf.image.pad_to_bounding_box(image, 0, 0, 5, 6), ValueError, r"5 × 7 at \(0, 0\) does not fit into 5 × 6"),
                (lambda: tf.image.central_crop(image, 0), ValueError, "central_crop: central_fraction is 0"),
                (lambda: tf.image.resize(image, [0, 3]), ValueError, r"resize: size is \[0, 3\] for images \(5, 7, 3\)"),
                (lambda: tf.image.resize(image, [3.5, 3]), TypeError, r"resize: .*size: \[3.5, 3\]"),
                (lambda: tf.image.resize(image, [3, 3], "cubist"), tf.errors.UnimplementedError, "resize: method is 'cubist'"),
                (lambda: tf.image.total_variation(tf.cast(image, tf.uint8)), TypeError,
                 "^total_variation: images is uint8, which has no numbers"),
                (lambda: tf.image.psnr(image, image, 0), ValueError, "^psnr: max_val is 0.0; must be above 0"),
                (lambda: tf.image.psnr(image, image, np.nan), ValueError, "^psnr: max_val is nan; must be above 0"),
                (lambda: tf.image.total_variation(3.), ValueError, r"total_variation: images has shape \(\)"),
                (lambda: tf.image.psnr(image, image[:2], 1.), ValueError, r"psnr: a has shape \(5, 7, 3\), b \(2, 7, 3\)"),
                (lambda: tf.image.rgb_to_grayscale(image[..., :2]), ValueError, "rgb_to_grayscale: .* last axis must be 3"),
                (lambda: tf.image.convert_image_dtype([True], tf.float32), TypeError, "convert_image_dtype: from bool to float32")):
            with self.assertRaisesRegex(kind, pattern):
                call()


if __name__ == "__main__":
    unittest.main()
