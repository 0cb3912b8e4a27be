"""The sample samples/gan.ipynb: its cells run, and what its text says is so."""
import glob
import json
import os
import shutil
import unittest

NOTEBOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples", "gan.ipynb")
DATA = glob.glob("/usr/share/datasets/fashion-mnist/*")


@unittest.skipUnless(DATA, "Debian's package dataset-fashion-mnist is not installed")
class Sample(unittest.TestCase):
    def run_cells(self, rounds):
        """What the cells define, with so many rounds in place of the notebook's; the titles of pictures, and what was printed."""
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        with open(NOTEBOOK, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        sources = {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"}
        self.assertIn("rounds = 300", sources["first"])
        printed, titles = [], []
        names = {"print": lambda *values: printed.append(values)}
        for name, source in sources.items():
            exec(compile(source.replace("%matplotlib inline", "").replace("rounds = 300", f"rounds = {rounds}"), name, "exec"), names)
            if name == "show":
                names["show"] = lambda pictures, title: titles.append((title, pictures.shape))
        plt.close("all")
        self.addCleanup(shutil.rmtree, names["folder"])
        return names, titles, printed

    def test_it_goes_on_to_the_same_bits_and_the_generator_is_restored_alone(self):
        names, titles, printed = self.run_cells(4)
        self.assertEqual(printed[0][0], "ckpt-1")
        self.assertIs(printed[1][0], True)  # the ten steps of both games
        self.assertEqual(int(names["game"].step), 16)
        self.assertTrue(printed[2][0])  # the generator that was taken out of the checkpoint
        self.assertEqual(sorted(os.listdir(names["folder"])), ["checkpoint", "ckpt-1.safetensors", "sneakers-2.safetensors"])
        self.assertTrue(all(line[0].startswith("generator/") for line in printed[3:]) and len(printed) > 10)
        self.assertEqual([shape for _, shape in titles], [(9, 28, 28, 1)] * 5)


if __name__ == "__main__":
    unittest.main()
