"""The sample samples/transformer.ipynb: its cells run, and what its text says is so."""
import json
import unittest

import numpy as np
from sample_cells import code_cells, run_sample
from tapedeck import _engine

debug = _engine.debug


class Sample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = run_sample("transformer", steps=300)

    def test_both_tasks_are_learnt_and_writing_backwards_first(self):
        curves = {name: np.array([value for _, value in points]) for name, points in self.run_.curves.items()}
        self.assertEqual(sorted(curves), ["alphabetical", "back to front"])
        self.assertLess(curves["back to front"][-5:].mean(), 0.05)
        self.assertLess(curves["alphabetical"][-5:].mean(), 0.5 * curves["alphabetical"][0])
        self.assertGreater(curves["alphabetical"][-5:].mean(), curves["back to front"][-5:].mean())
        lines = self.run_.printed["test"].splitlines()
        self.assertEqual(lines[1], "<journalist → tsilanruoj")
        self.assertEqual([line.split(" → ")[0] for line in lines[1:]], self.run_.names["words"])

    def test_the_second_block_fetches_the_letters_backwards_and_the_first_one_spreads_its_attention(self):
        model, codes = self.run_.names["model"], self.run_.names["codes"]
        model(codes("<journalist")[np.newaxis])
        first, second = (block.attention_seen.numpy()[0, :, 1:] for block in model.blocks)
        backwards = np.arange(10, 0, -1)
        self.assertTrue(any((head.argmax(-1) == backwards).sum() >= 9 for head in second), second.argmax(-1))
        model(codes("^journalist")[np.newaxis])
        self.assertLess(model.blocks[0].attention_seen.numpy()[0, :, 1:].max(-1).mean(), 0.3)
        self.assertLess(first.max(-1).mean(), 0.4)

    def test_the_attention_is_output_1_of_the_last_attention_record_as_the_text_says(self):
        debug.attach()
        try:
            exec(code_cells("transformer", {})["step"], self.run_.names)
            records = [record for record in json.loads(debug.records_json()) if record["op"] == "attention"]
        finally:
            debug.stop()
        attention = self.run_.names["attention"]
        self.assertEqual([record["outputs"][1]["shape"] for record in records], [[4, 2, 11, 11]] * 2)
        self.assertEqual(records[-1]["outputs"][1]["id"], attention._id)
        np.testing.assert_allclose(attention.numpy().sum(-1), 1, rtol=1e-5)

    def test_the_picture_names_heads_and_letters(self):
        figure, = self.run_.figures["look"]
        self.assertEqual([axis.get_title() for axis in figure.axes[:4]],
                         [f"block {block}, head {head}" for block in (1, 2) for head in (1, 2)])
        self.assertEqual([label.get_text() for label in figure.axes[0].get_xticklabels()], list("<journalist"))


if __name__ == "__main__":
    unittest.main()
