"""The sample samples/gan.ipynb: its cells run, and what its text says is so."""
import os
import shutil
import unittest

from sample_cells import needs_data, run_sample


@needs_data
class Sample(unittest.TestCase):
    def test_it_goes_on_to_the_same_bits_and_the_generator_is_restored_alone(self):
        run = run_sample("gan", rounds=4)
        self.addCleanup(shutil.rmtree, run.names["folder"])
        self.assertTrue(run.printed["first"].startswith("ckpt-1 "))
        self.assertTrue(run.printed["again"].startswith("True "))  # the ten steps of both games
        self.assertEqual(int(run.names["game"].step), 16 + 1)  # and the last cell's
        self.assertEqual(run.printed["part"], "True\n")  # the generator that was taken out of the checkpoint
        self.assertEqual(sorted(os.listdir(run.names["folder"])), ["checkpoint", "ckpt-1.safetensors", "sneakers-2.safetensors"])
        inside = run.printed["inside"].splitlines()
        self.assertTrue(all(line.startswith("generator/") for line in inside) and len(inside) > 10)
        drawn = [figure for cell in ("first", "second", "part", "walk") for figure in run.figures[cell]]
        self.assertEqual([len(figure.axes) for figure in drawn], [9] * 5)
        self.assertEqual(run.titles("first"), ["Before the first step", "After 4 steps"])


if __name__ == "__main__":
    unittest.main()
