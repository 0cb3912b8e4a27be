"""The sample samples/convnet.ipynb: its cells run, and what its text says is so."""
import os
import tempfile
import unittest

import serving
from sample_cells import needs_data, run_sample


@needs_data
class Sample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.saved = os.path.join(cls.folder.name, "clothes")
        cls.run_ = run_sample("convnet", pictures_to_use=12000, epochs=2, saved_in=cls.saved)

    def test_it_learns_from_a_fifth_of_the_pictures_what_most_of_the_others_show(self):
        lines = self.run_.printed["train"].splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["epoch 1", "epoch 2"])
        self.assertGreater(self.run_.names["score"], 0.82)
        self.assertEqual(self.run_.printed["test"], f"{self.run_.names['score']:.1%} of the test pictures right\n")
        self.assertEqual(self.run_.names["table"].sum(), 10000)
        self.assertEqual(self.run_.names["table"].trace(), (self.run_.names["guesses"] == self.run_.names["test_y"]).sum())

    def test_the_curves_are_of_the_loss_and_of_each_epochs_accuracy(self):
        curves = self.run_.curves
        self.assertEqual([step for step, _ in curves["loss"]], list(range(0, 2 * 187, 20)))
        self.assertEqual([step for step, _ in curves["accuracy"]], [187, 374])
        self.assertLess(curves["loss"][-1][1], 0.5 * curves["loss"][0][1])

    def test_the_pictures_show_each_kind_and_the_surest_mistakes(self):
        kinds = self.run_.names["kinds"]
        self.assertEqual(self.run_.titles("pictures"), ["; ".join(kinds)])
        _, mistakes = self.run_.figures["guesses"]
        self.assertTrue(all("\n(" in axis.get_title() and axis.title.get_color() == "red" for axis in mistakes.axes))
        self.assertEqual([len(figure.axes) for figure in self.run_.figures["filters"]], [32])

    def test_a_cell_names_the_gradients_of_all_variables(self):
        self.assertEqual(len(self.run_.values["one"]), 11)
        self.assertTrue(all(norm > 0 for norm in self.run_.values["one"].values()))

    def test_a_program_without_python_says_of_the_pictures_what_the_notebook_does(self):
        names, count = self.run_.names, 20
        pictures = [serving.write_png(os.path.join(self.folder.name, f"{i}.png"), names["test_images"][i]) for i in range(count)]
        printed = serving.served(self.saved, *pictures)
        kinds = [line.rpartition(": ")[2].partition(" (")[0] for line in printed]
        self.assertEqual(kinds, [names["kinds"][guess] for guess in names["guesses"][:count]])


if __name__ == "__main__":
    unittest.main()
