"""The sample samples/char_lstm.ipynb: its cells run, and what its text says is so."""
import unittest

import numpy as np

from sample_cells import run_sample


class Sample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = run_sample("char_lstm", steps=300)

    def test_bits_fall_from_those_of_a_draw_to_less_than_a_third(self):
        by_number, by_share, untrained = [float(line) for line in self.run_.printed["bits"].split() if line.replace(".", "").isdigit()]
        self.assertLess(by_share, by_number)
        self.assertAlmostEqual(untrained, by_number, delta=0.1)
        known, unseen = (self.run_.curves[name] for name in ("bits a letter", "bits a letter, December"))
        self.assertEqual([step for step, _ in known], list(range(10, 301, 10)))
        self.assertGreater(known[0][1], 3.0)
        self.assertLess(known[-1][1], by_share / 3)
        self.assertLess(unseen[-1][1], by_share / 2)
        self.assertGreater(unseen[-1][1], known[-1][1])

    def test_it_writes_words_of_the_poem_when_it_has_learnt(self):
        words = set(self.run_.names["poem"].split())
        stages = [part.split("----") for part in self.run_.printed["train"].split("---- after ")[1:]]
        self.assertEqual([head.split()[0] for head, _ in stages], ["7", "25", "50", "100", "300"])
        shares = [np.mean([word in words for word in text.split()]) for _, text in stages]
        self.assertLess(shares[0], 0.2)
        self.assertGreater(shares[-1], 0.5)

    def test_a_high_temperature_writes_more_lines_that_are_new(self):
        heads = [line for line in self.run_.printed["temperatures"].splitlines() if line.startswith("----")]
        cold, _, hot = [int(head.split()[3]) / int(head.split()[5]) for head in heads]
        self.assertLess(cold, hot)

    def test_lines_that_come_back_surprise_it_less_and_the_picture_shows_it(self):
        axis, bar = self.run_.figures["surprise"][0].axes
        cells = axis.images[0].get_array()
        self.assertEqual(cells.shape[0], 8)
        self.assertEqual(len(axis.texts), np.isfinite(cells.filled(np.nan)).sum())
        self.assertLess(4 * cells[4:].mean(), cells[:4].mean())
        self.assertEqual(bar.get_ylabel(), "bits")

    def test_it_goes_on_where_its_state_was(self):
        model, poem = self.run_.names["model"], self.run_.names["encoded"](self.run_.names["poem"][:30])[None]
        whole, _ = model(poem)
        _, state = model(poem[:, :20])
        rest, _ = model(poem[:, 20:], state=state)
        np.testing.assert_allclose(rest.numpy(), whole.numpy()[:, 20:], atol=1e-5)
        self.assertEqual(self.run_.values["one"], "b")  # "He counts the b…"


if __name__ == "__main__":
    unittest.main()
