"""The sample samples/second_order.ipynb: its cells run, and what its text says is so."""
import unittest

import numpy as np

from sample_cells import needs_data, run_sample


@needs_data
class Sample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = run_sample("second_order", pictures_to_use=600, steps=80)
        cls.runs = [cls.run_.names[name] for name in ("adam", "lbfgs", "kfac")]

    def test_all_three_begin_alike_and_k_fac_ends_lowest(self):
        adam, lbfgs, kfac = (run.losses for run in self.runs)
        for losses in lbfgs, kfac:
            self.assertAlmostEqual(losses[0], adam[0], delta=1e-4)
        self.assertEqual([len(adam), len(lbfgs), len(kfac)], [161, 121, 81])
        self.assertTrue(all(after <= before for before, after in zip(lbfgs, lbfgs[1:])))
        self.assertLess(kfac[-1], lbfgs[-1])
        self.assertLess(lbfgs[-1], adam[-1])
        self.assertLess(adam[-1], 0.2 * adam[0])

    def test_three_curves_and_none_of_the_other_tries(self):
        self.assertEqual(list(self.run_.curves), ["Adam", "L-BFGS", "K-FAC"])
        for run in self.runs:
            steps, losses = zip(*self.run_.curves[run.name])
            self.assertEqual(list(steps), list(range(len(run.losses))))
            np.testing.assert_array_equal(losses, run.losses)

    def test_the_other_tries_are_listed_with_the_race_by_their_losses(self):
        lines = self.run_.printed["fair"].splitlines()
        self.assertEqual(len(lines), 8)
        self.assertEqual(len({line[:24] for line in lines}), 8)
        losses = [float(line[24:].split()[0]) for line in lines]
        self.assertEqual(losses, sorted(losses))
        self.assertTrue(lines[0].startswith("K-FAC"), lines)

    def test_the_picture_has_the_losses_over_steps_and_over_seconds(self):
        over_steps, over_seconds = self.run_.figures["curves"][0].axes
        for axis, unit in (over_steps, "steps"), (over_seconds, "seconds"):
            self.assertEqual((axis.get_xlabel(), axis.get_yscale()), (unit, "log"))
            self.assertEqual([line.get_label() for line in axis.lines[::2]], ["Adam", "L-BFGS", "K-FAC"])
        for run, line in zip(self.runs, over_seconds.lines[::2]):
            self.assertTrue(np.all(np.diff(line.get_xdata()) >= 0))
            np.testing.assert_array_equal(line.get_ydata(), run.losses)

    def test_curvature_spreads_over_powers_of_ten(self):
        for axis in self.run_.figures["spread"][0].axes:
            values = axis.lines[0].get_ydata()
            self.assertGreater(values[0], 100 * values[-1])
        sizes = [len(line.get_ydata()) for axis in self.run_.figures["spread"][0].axes for line in axis.lines]
        self.assertEqual(sizes, [197, 51, 100, 12])


if __name__ == "__main__":
    unittest.main()
