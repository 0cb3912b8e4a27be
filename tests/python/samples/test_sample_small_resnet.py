"""The sample samples/small_resnet.ipynb: its cells run, and what its text says is so."""
import unittest

import numpy as np
from sample_cells import needs_data, run_sample


@needs_data
class Sample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = run_sample("small_resnet", pictures_to_use=2560, test_pictures=250, epochs=1)

    def test_the_networks_differ_in_the_shortcuts_alone(self):
        networks = self.run_.names["networks"]
        kernels = [[tuple(kernel.shape) for kernel in self.run_.names["main_path"](network)] for network in networks.values()]
        self.assertEqual(len(kernels[0]), 33)
        self.assertEqual(kernels[0], kernels[1])
        self.assertIn("with shortcuts: 34 layers", self.run_.printed["model"])
        halved = [block.halved is not None for block in networks["with shortcuts"].blocks]
        self.assertEqual(halved, [number == 8 for number in range(16)])

    def test_without_shortcuts_the_gradient_grows_towards_the_first_layers(self):
        norms = self.run_.names["norms"]
        spread = {name: max(values) / min(values) for name, values in norms.items()}
        self.assertLess(spread["with shortcuts"], 10)
        self.assertGreater(spread["without"], 20)
        self.assertGreater(np.mean(norms["without"][:8]), 10 * np.mean(norms["without"][-8:]))

    def test_with_shortcuts_it_learns_faster_and_bears_the_loss_of_a_block(self):
        losses, scores, kept = (self.run_.names[name] for name in ("losses", "scores", "kept"))
        last = {name: np.mean(values[-20:]) for name, values in losses.items()}
        self.assertLess(last["with shortcuts"], 0.7 * last["without"])
        self.assertGreater(scores["with shortcuts"], scores["without"] + 0.15)
        self.assertGreater(np.mean(kept["with shortcuts"]), np.mean(kept["without"]) + 0.15)

    def test_curves_and_pictures_name_both(self):
        names = ["with shortcuts", "without"]
        self.assertEqual(sorted(self.run_.curves), names)
        for cell in "gradients", "curves", "without":
            figure, = self.run_.figures[cell]
            legend = [text.get_text().split(":")[0] for text in figure.axes[0].get_legend().get_texts()]
            self.assertEqual(legend, names, cell)


if __name__ == "__main__":
    unittest.main()
