"""tf.image: colours by hue and saturation, drawn changes, images brought to a size, and TensorFlow 1's resizing."""
import colorsys
import unittest

import numpy as np

import tapedeck as tf


def image(seed=1, shape=(4, 5, 3)):
    return np.random.RandomState(seed).rand(*shape).astype(np.float32)


class Colours(unittest.TestCase):
    def test_hue_saturation_and_value_are_pythons_both_ways(self):
        ends = [[0, 0, 0], [1, 1, 1], [.5, .5, .5], [1, 0, 0], [0, 0, 1]]
        pixels = np.concatenate([image().reshape(-1, 3), ends]).astype(np.float32)
        there = np.array([colorsys.rgb_to_hsv(*map(float, pixel)) for pixel in pixels])
        np.testing.assert_allclose(tf.image.rgb_to_hsv(pixels), there, atol=2e-6)
        np.testing.assert_allclose(tf.image.hsv_to_rgb(there.astype(np.float32)), pixels, atol=2e-6)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "last axis must be 3"):
            tf.image.rgb_to_hsv(pixels[:, :2])
        with self.assertRaisesRegex(TypeError, "uint8"):
            tf.image.rgb_to_hsv(pixels.astype(np.uint8))

    def test_hue_has_a_gradient_where_pixels_are_grey_or_black(self):
        pixels = tf.Variable([[0., 0., 0.], [.5, .5, .5], [.2, .4, .6]])
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(pixels)))
        self.assertTrue(np.isfinite(tape.gradient(total, pixels)).all())

    def test_hues_turn_and_saturation_is_scaled_in_whole_numbers_too(self):
        red = np.array([[[255, 0, 0]]], np.uint8)
        self.assertEqual(tf.image.adjust_hue(red, 1 / 3).numpy().tolist(), [[[0, 255, 0]]])
        self.assertEqual(tf.image.adjust_hue(red, -1 / 3).numpy().tolist(), [[[0, 0, 255]]])
        self.assertEqual(tf.image.adjust_saturation(red, 0.).numpy().tolist(), [[[255, 255, 255]]])
        np.testing.assert_allclose(tf.image.adjust_saturation([[[.5, .25, .25]]], 9.), [[[.5, 0., 0.]]], atol=1e-6)

    def test_gamma_is_a_power_with_a_gain(self):
        np.testing.assert_allclose(tf.image.adjust_gamma(image(), 2., .5), .5 * image()**2, rtol=1e-5)
        self.assertEqual(tf.image.adjust_gamma(np.array([[[50]]], np.uint8), .5).numpy().tolist(), [[[113]]])
        with self.assertRaisesRegex(ValueError, "gamma is -1"):
            tf.image.adjust_gamma(image(), -1)


class Drawn(unittest.TestCase):
    def test_changes_are_drawn_within_their_bounds(self):
        grey = np.full([2, 2, 3], .5, np.float32)
        drawn = np.array([tf.image.random_brightness(grey, .2).numpy()[0, 0, 0] - .5 for _ in range(200)])
        self.assertTrue((np.abs(drawn) <= .2001).all() and drawn.min() < -.1 and drawn.max() > .1)
        picture = image()
        centred = picture - picture.mean((0, 1))
        factors = [((tf.image.random_contrast(picture, .5, 2.) - picture.mean((0, 1))) / centred).numpy().mean() for _ in range(50)]
        self.assertTrue(.499 < min(factors) < 1. < max(factors) < 2.001)

    def test_one_seed_draws_one_change(self):
        for change in (lambda seed: tf.image.stateless_random_brightness(image(), .3, seed),
                       lambda seed: tf.image.stateless_random_contrast(image(), .3, 2., seed),
                       lambda seed: tf.image.stateless_random_hue(image(), .3, seed),
                       lambda seed: tf.image.stateless_random_saturation(image(), .3, 2., seed),
                       lambda seed: tf.image.stateless_random_crop(image(shape=(40, 40, 3)), [4, 4, 3], seed)):
            self.assertEqual(change((1, 2)).numpy().tolist(), change((1, 2)).numpy().tolist())
            self.assertNotEqual(change((1, 2)).numpy().tolist(), change((3, 4)).numpy().tolist())

    def test_each_image_is_flipped_or_not(self):
        pictures = image(shape=(32, 2, 2, 1))
        flipped = tf.image.stateless_random_flip_left_right(pictures, (1, 2)).numpy()
        kinds = [1 if (new == old).all() else 2 if (new == old[:, ::-1]).all() else 0 for new, old in zip(flipped, pictures)]
        self.assertEqual(set(kinds), {1, 2})

    def test_bounds_that_cannot_be_are_refused(self):
        for call, text in ((lambda: tf.image.random_brightness(image(), -1.), "max_delta is -1.0; must be at least 0"),
                           (lambda: tf.image.random_hue(image(), .7), "max_delta is 0.7; must be at least 0 and at most 0.5"),
                           (lambda: tf.image.random_contrast(image(), 2., 1.), "lower is 2.0 and upper 1.0"),
                           (lambda: tf.image.stateless_random_saturation(image(), -1., 1., (1, 2)), "lower is -1.0"),
                           (lambda: tf.image.stateless_random_crop(image(), [9, 9, 3], (1, 2)), "size \\[9, 9, 3\\]")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, text):
                call()


class Sizes(unittest.TestCase):
    def test_the_middle_is_cut_out_and_zeros_are_added(self):
        picture = np.arange(1., 16.).reshape(3, 5, 1)
        made = tf.image.resize_with_crop_or_pad(picture, 5, 2).numpy()[..., 0]
        self.assertEqual(made.tolist(), [[0, 0], [2, 3], [7, 8], [12, 13], [0, 0]])
        self.assertEqual(tf.image.resize_image_with_crop_or_pad(picture[None], 2, 7).shape, (1, 2, 7, 1))
        with self.assertRaisesRegex(ValueError, "the target is 0 × 2"):
            tf.image.resize_with_crop_or_pad(picture, 0, 2)

    def test_an_image_keeps_its_form_between_zeros(self):
        made = tf.image.resize_with_pad(np.ones([4, 8, 1], np.float32), 4, 4).numpy()[..., 0]
        self.assertEqual(made.tolist(), [[0] * 4, [1] * 4, [1] * 4, [0] * 4])

    def test_an_image_of_the_same_size_becomes_float_too(self):
        pixels = np.arange(4, dtype=np.uint8).reshape(2, 2, 1)
        self.assertEqual(tf.image.resize(pixels, [2, 2]).dtype, tf.float32)
        self.assertEqual(tf.image.resize(pixels, [2, 2], "nearest").dtype, tf.uint8)


class FirstGeneration(unittest.TestCase):
    row = np.array([0., 10., 20., 40.], np.float32).reshape(1, 4, 1)

    def resized(self, count, method, align_corners=False):
        return tf.image.resize_images(self.row, [1, count], method, align_corners).numpy().reshape(-1).tolist()

    def test_pixels_count_from_their_corner(self):
        self.assertEqual(self.resized(8, 0), [0, 5, 10, 15, 20, 30, 40, 40])
        self.assertEqual(self.resized(2, tf.image.ResizeMethod.BILINEAR), [0, 20])
        self.assertEqual(self.resized(8, 1), [0, 0, 10, 10, 20, 20, 40, 40])
        self.assertEqual(self.resized(2, 3), [5, 30])

    def test_corners_stay_where_they_are_asked_to(self):
        self.assertEqual(self.resized(7, 0, True), [0, 5, 10, 15, 20, 30, 40])
        self.assertEqual(self.resized(2, 1, True), [0, 40])

    def test_cubes_pass_through_the_pixels(self):
        made = self.resized(8, 2)
        self.assertEqual(made[::2], [0, 10, 20, 40])
        self.assertAlmostEqual(made[3], (-.09375 * (0 + 40) + .59375 * (10 + 20)), places=4)

    def test_one_method_functions_take_several_images_and_make_floats(self):
        pixels = np.arange(8, dtype=np.uint8).reshape(2, 2, 2, 1)
        self.assertEqual(tf.image.resize_bilinear(pixels, [2, 2]).dtype, tf.float32)
        self.assertEqual(tf.image.resize_nearest_neighbor(pixels, [1, 1]).numpy().reshape(-1).tolist(), [0, 4])
        with self.assertRaises(ValueError):
            tf.image.resize_area(pixels[0], [1, 1])

    def test_an_image_of_the_same_size_stays_as_it_is(self):
        self.assertEqual(tf.image.resize_images(np.zeros([2, 2, 1], np.uint8), [2, 2]).dtype, tf.uint8)

    def test_other_methods_are_refused(self):
        with self.assertRaisesRegex(tf.errors.UnimplementedError, "method is 'lanczos3'; must be one of 'bilinear'"):
            self.resized(2, "lanczos3")


if __name__ == "__main__":
    unittest.main()
