"""The sample samples/vae.ipynb: its cells run, and what its text says is so."""
import unittest

import numpy as np

from sample_cells import needs_data, run_sample


@needs_data
class Sample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = run_sample("vae", pictures_to_use=6000, epochs=3)

    def test_both_parts_of_the_loss_are_curves_that_make_up_the_third(self):
        whole, drawing, place = ([value for _, value in self.run_.curves[name]] for name in ("minus ELBO", "drawing", "place"))
        np.testing.assert_allclose(whole, np.add(drawing, place), rtol=1e-5)
        self.assertEqual(len(whole), 8)
        self.assertGreater(drawing[0], 500)
        self.assertLess(drawing[-1], 330)
        self.assertLess(place[0], 1)
        self.assertGreater(place[-1], 1)

    def test_the_gradient_goes_through_the_drawn_point(self):
        of_mean, of_sigma = self.run_.names["slopes"]
        np.testing.assert_array_equal(of_mean.numpy(), [[1, 1]])
        np.testing.assert_allclose(of_sigma.numpy(), self.run_.names["epsilon"].numpy(), rtol=1e-5)

    def test_place_is_the_divergence_of_the_clouds(self):
        import tapedeck as tf
        mean, log_variance = self.run_.names["encode"](self.run_.names["test"][:50])
        clouds = tf.random.Generator.from_seed(9).normal([4000, 50, 2])
        z = mean + tf.exp(0.5 * log_variance) * clouds
        log_ratio = 0.5 * (z ** 2 - clouds ** 2 - log_variance)  # log q(z) − log p(z)
        _, place = self.run_.names["parts_of_loss"](self.run_.names["test"][:50])
        self.assertAlmostEqual(float(tf.reduce_mean(tf.reduce_sum(log_ratio, 2))), float(place), delta=0.05)

    def test_the_grid_is_drawn_from_quantiles_with_its_axes_the_right_way(self):
        grid = self.run_.figures["grid"][0].axes[0]
        picture = grid.images[0].get_array()
        self.assertEqual(picture.shape, (15 * 28, 15 * 28))
        from statistics import NormalDist
        left, top = [float(text.get_text().replace("−", "-")) for text in (grid.get_xticklabels()[0], grid.get_yticklabels()[0])]
        self.assertAlmostEqual(left, NormalDist().inv_cdf(0.5 / 15), delta=0.05)
        self.assertAlmostEqual(top, NormalDist().inv_cdf(14.5 / 15), delta=0.05)
        corner = NormalDist().inv_cdf(0.5 / 15)
        wanted = self.run_.names["draw"](np.array([[corner, -corner]], np.float32)).numpy().reshape(28, 28)
        np.testing.assert_allclose(picture[:28, :28], wanted, atol=1e-4)

    def test_every_kind_has_its_colour_on_the_map(self):
        places = self.run_.figures["map"][0].axes[0]
        self.assertEqual([text.get_text() for text in places.get_legend().get_texts()], self.run_.names["kinds"])
        self.assertEqual(len({tuple(each.get_facecolor()[0]) for each in places.collections}), 10)
        self.assertEqual(sum(len(each.get_offsets()) for each in places.collections), 3000)


if __name__ == "__main__":
    unittest.main()
