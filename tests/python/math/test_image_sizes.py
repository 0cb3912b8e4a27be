"""image.resize's methods against the sums that define them, pixel by pixel."""
import unittest

import numpy as np
import tapedeck as tf

random = np.random.default_rng(11)
image = random.normal(size=(2, 7, 9, 3)).astype(np.float32)

KERNELS = {
    "bilinear": (1, lambda x: 1 - x),
    "bicubic": (2, lambda x: 1.5 * x**3 - 2.5 * x**2 + 1 if x < 1 else -.5 * x**3 + 2.5 * x**2 - 4 * x + 2),
    "lanczos3": (3, lambda x: np.sinc(x) * np.sinc(x / 3)),
    "lanczos5": (5, lambda x: np.sinc(x) * np.sinc(x / 5)),
    "gaussian": (1.5, lambda x: np.exp(-x * x / .5)),
    "mitchellcubic": (2, lambda x: (7 * x**3 - 12 * x**2 + 16 / 3) / 6 if x < 1 else (-7 / 3 * x**3 + 12 * x**2 - 20 * x + 32 / 3) / 6),
}


def resized_line(line, count, method, antialias):
    """One axis, the first, by the definition."""
    extent = len(line)
    result = []
    for i in range(count):
        if method == "area":
            begin, end = i * extent / count, (i + 1) * extent / count
            weights = [max(0., min(end, k + 1) - max(begin, k)) for k in range(extent)]
        else:
            radius, kernel = KERNELS[method]
            width = max(1., extent / count) if antialias else 1.
            distances = [abs((i + .5) * (extent / count) - (k + .5)) / width for k in range(extent)]
            weights = [kernel(d) if d < radius else 0. for d in distances]
        result.append(sum(w * row for w, row in zip(weights, line)) / sum(weights))
    return np.array(result)


class Methods(unittest.TestCase):
    def test_each_is_its_weighted_sum(self):
        for method in [*KERNELS, "area"]:
            for antialias in (False, True):
                for size in ((4, 5), (13, 10), (7, 20), (3, 9)):
                    with self.subTest(method=method, antialias=antialias, size=size):
                        rows = np.stack([resized_line(each.astype(float), size[0], method, antialias) for each in image])
                        expected = np.stack([resized_line(each.swapaxes(0, 1), size[1], method, antialias).swapaxes(0, 1) for each in rows])
                        got = tf.image.resize(image, size, method=method, antialias=antialias)
                        self.assertEqual(got.dtype, tf.float32)
                        np.testing.assert_allclose(got.numpy(), expected, atol=2e-5)

    def test_a_constant_image_stays_so(self):
        for method in [*KERNELS, "area", "nearest"]:
            got = tf.image.resize(np.full((5, 4, 1), 3, np.uint8), (11, 2), method=method, antialias=True)
            np.testing.assert_allclose(got.numpy(), 3, rtol=1e-6)

    def test_the_area_of_whole_pixels_is_their_mean(self):
        small = tf.image.resize(image[:, :6, :8], (3, 4), "area").numpy()
        np.testing.assert_allclose(small, image[:, :6, :8].reshape(2, 3, 2, 4, 2, 3).mean((2, 4)), rtol=1e-4, atol=1e-6)

    def test_gradients_are_the_weights(self):
        x = tf.constant(image[0])
        for method in ("bicubic", "area", "lanczos3"):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.image.resize(x, (3, 5), method, antialias=True) ** 2)
            gradient = tape.gradient(y, x).numpy()
            step = np.zeros_like(image[0])
            step[2, 3, 1] = 1e-2
            ends = [float(tf.reduce_sum(tf.image.resize(image[0] + sign * step, (3, 5), method, antialias=True) ** 2)) for sign in (1, -1)]
            self.assertAlmostEqual(gradient[2, 3, 1], (ends[0] - ends[1]) / 2e-2, places=2)


if __name__ == "__main__":
    unittest.main()
