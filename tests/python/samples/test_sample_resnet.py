"""The sample samples/resnet.ipynb: its cells run, on smaller pictures, and what its text says is so."""
import re
import unittest

from sample_cells import run_sample


class Sample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = run_sample("resnet", size=64, steps=8)

    def test_it_has_the_layers_and_weights_of_resnet_50(self):
        self.assertEqual(self.run_.printed["model"], "53 convolutions, 175 layers, 25,557,032 weights: 97 MB\n")
        strides = [layer.strides[0] for layer in self.run_.names["convolutions"]]
        self.assertEqual(strides.count(2), 1 + 2 * 3)  # the first one; in three stages a block's 3 × 3 and its shortcut

    def test_the_tape_holds_memory_and_the_way_back_leaves_the_gradients_alone(self):
        parts = dict(re.findall(r"(\w+) +([+-]\d+) MB", self.run_.printed["step"]))
        self.assertEqual(list(parts), ["forward", "backward", "update"])
        forward, backward, update = (int(change) for change in parts.values())
        self.assertGreater(forward, 40)
        self.assertAlmostEqual(forward + backward, 97, delta=5)  # the gradients, as large as the weights
        self.assertAlmostEqual(update, 97, delta=5)  # the momenta

    def test_it_learns_the_noise_by_heart(self):
        losses = self.run_.names["losses"]
        self.assertAlmostEqual(losses[0], 6.9, delta=1.5)
        self.assertLess(losses[-1], 1)
        self.assertEqual([step for step, _ in self.run_.curves["loss"]], list(range(8)))
        self.assertEqual(self.run_.printed["check"], "right: [ True  True  True  True]\n"
                         "161 gradients; all are finite: True; none is zero: True\n")

    def test_the_picture_names_its_axes(self):
        figure, = self.run_.figures["look"]
        self.assertEqual([axis.get_xlabel() for axis in figure.axes], ["step", "seconds of one step"])


if __name__ == "__main__":
    unittest.main()
