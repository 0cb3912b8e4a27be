"""The notebooks of samples/pytorch: their cells run where PyTorch is, and what their texts say is so."""
import functools
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from sample_cells import code_cells, needs_data
from torch_interpreter import HERE, TORCH, environment, facts, main, needs_module, needs_torch

NAMES = sorted(os.path.splitext(os.path.basename(path))[0] for path in glob.glob(str(HERE.parents[1] / "samples/pytorch/*.ipynb")))
LONG = bool(int(os.environ.get("TAPEDECK_LONG") or 0))


def sources(name, **constants):
    return code_cells("pytorch/" + name, constants)


def run(interpreter, notebooks, **variables):
    """{notebook: {cell: [printed, exception]}}"""
    done = subprocess.run([interpreter, "-B", str(HERE / "run_cells.py")], input=json.dumps(notebooks), capture_output=True, text=True,
                          timeout=500, check=True, env={**environment(), **variables})
    return json.loads(done.stdout)


class WithoutPyTorch(unittest.TestCase):
    def test_the_first_cell_says_what_is_needed(self):
        self.assertEqual(NAMES, ["convnet_in_torch", "overwritten_activation", "where_nan", "wrong_axis"])
        missing = "import sys\nsys.modules['torch'] = None\n"
        first = {name: {"first": missing + next(iter(sources(name).values()))} for name in NAMES}
        for name, cells in run(sys.executable, first).items():
            printed, error = cells["first"]
            self.assertEqual((printed, error), ("", "ImportError: This notebook needs PyTorch 2.1 or newer. Choose an environment that "
                                                    "has it: Session ▸ Python environment…"), name)


@functools.cache
def results():
    """Of all notebooks that can run here, in one process."""
    shorter = {} if LONG else dict(pictures_to_use=6000)
    notebooks = {name: sources(name, **(shorter if name == "convnet_in_torch" else {})) for name in NAMES}
    if not facts()["tapedeck"]:
        del notebooks["wrong_axis"]
    return run(TORCH, notebooks)


class Sample(unittest.TestCase):
    notebook = None

    def printed(self, cell):
        """What it printed; it raised nothing."""
        text, error = results()[self.notebook][cell]
        self.assertIsNone(error)
        return text


@needs_torch
@needs_data
class ConvNet(Sample):
    notebook = "convnet_in_torch"

    def test_it_learns_to_recognise_clothing(self):
        self.assertIn(" pictures to learn from, 10,000 to be tested with; the first shows a boot\n", self.printed("data"))
        self.assertEqual(self.printed("model"), "20,538 weights to be learnt\n")
        self.assertRegex(self.printed("train"), r"^epoch 1: [\d.]+% of the training pictures right\nepoch 2: .*\n$")
        score = float(re.match(r"([\d.]+)% of the test pictures right\n$", self.printed("test"))[1])
        self.assertGreater(score, 88 if LONG else 78)

    def test_shirts_are_the_hardest(self):
        right = {line.split()[0]: int(line.split()[1]) for line in self.printed("mistakes").splitlines()}
        self.assertEqual(len(right), 10)
        self.assertEqual(min(right, key=right.get), "shirt")


@needs_torch
class Overwritten(Sample):
    notebook = "overwritten_activation"

    def test_backward_refuses_as_the_text_says_and_the_fix_mends_it(self):
        loss = self.printed("model")
        self.assertRegex(loss, r"^loss 0\.\d+\n$")
        printed, error = results()[self.notebook]["backward"]
        self.assertEqual(printed, "")
        self.assertRegex(error, r"^RuntimeError: .*modified by an inplace operation: \[torch\.FloatTensor \[32, 8\]\], "
                                r"which is output 0 of Sigmoid\w*, is at version 1; expected version 0 instead")
        self.assertEqual(self.printed("versions"), "version 0 before, 1 after; the same memory: True\n")
        self.assertRegex(self.printed("mend"), rf"^{loss.strip()}; the gradient of the first gate's weights is 0\.0, "
                                                  r"of the second's 0\.00[1-9]\n$")


@needs_torch
class WhereNaN(Sample):
    notebook = "where_nan"

    def test_one_row_is_nan_and_none_after_the_fix(self):
        rows = self.printed("model").splitlines()
        self.assertEqual([number for number, row in enumerate(rows[1:]) if "nan" in row], [2])
        self.assertNotIn("nan", rows[0])
        first, second = self.printed("factors").splitlines()
        self.assertEqual(first, "dy of sqrt [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]")
        self.assertEqual([number for number, slope in enumerate(second.split("[")[1].split(",")) if "nan" in slope], [2])
        mended = self.printed("mend").splitlines()
        self.assertEqual(mended[0], rows[0])
        self.assertEqual([row for number, row in enumerate(mended) if number != 3], [row for number, row in enumerate(rows) if number != 3])
        self.assertEqual(mended[3].split(), ["[", "0.0000,", "0.0000],"])


@needs_module
class WrongAxis(Sample):
    notebook = "wrong_axis"

    def test_the_port_differs_and_the_fix_brings_it_to_rounding(self):
        before, after = (float(re.match(r"The largest difference is (\S+)\.\n$", self.printed(cell))[1]) for cell in ("port", "mend"))
        self.assertGreater(before, 0.1)
        self.assertLess(after, 1e-5)
        last, other = self.printed("sums").splitlines()
        self.assertEqual(last, "dim=-1: the attention of a place sums to 1.000 … 1.000")
        self.assertRegex(other, r"^dim=-2: .* 0\.[0-8]\d+ … 1\.[2-9]\d+$")


def compared(left, right):
    """What the program that reads traces says of two."""
    return subprocess.run([os.environ["TAPEDECK_TRACE_SERVER"], left, "--compare", right], capture_output=True, text=True, timeout=120,
                          check=False)


@needs_module
@unittest.skipUnless(os.environ.get("TAPEDECK_TRACE_SERVER"), "TAPEDECK_TRACE_SERVER names no program that reads traces")
class WrongAxisCompared(unittest.TestCase):
    """The fault as a reader of the notebook finds it: the traces of both programs, compared where no PyTorch is."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="td-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def trace(self, name, *cells):
        program, trace = (os.path.join(self.folder, name + ending) for ending in (".py", ".tapetrace"))
        with open(program, "w", encoding="utf-8") as file:
            file.write("\n".join(cells))
        subprocess.run([TORCH, "-B", "-m", "tapedeck", "--trace", trace, program], check=True, capture_output=True, timeout=120,
                       env=environment())
        return trace

    def test_the_softmax_of_the_attention_is_named_and_the_fix_agrees(self):
        cells = sources("wrong_axis")
        without_original = cells["port"].split("def difference")[0] + (
            "\nfound = Block()(torch.tensor(x), {name: torch.tensor(weight) for name, weight in weights.items()})")
        original = self.trace("original", cells["weights"], cells["original"])
        weights = cells["weights"].replace("import tapedeck as tf\n", "")
        wrong = compared(original, self.trace("wrong", weights, without_original))
        self.assertEqual(wrong.returncode, 1, wrong.stdout + wrong.stderr)
        sentence = wrong.stdout.splitlines()[-1]
        self.assertTrue(sentence.startswith("The first layer whose output differs is attention: "), sentence)
        line = [number for number, text in enumerate((weights + "\n" + without_original).splitlines(), 1) if "softmax" in text][0]
        self.assertRegex(sentence, rf"In it the first op that differs is op \d+, softmax, \S*original\.py line \d+ \| op \d+, "
                                   rf"aten\._softmax, \S*wrong\.py line {line}: its inputs agree, its result does not")
        right = compared(original, self.trace("right", weights, without_original.replace("dim=-2", "dim=-1")))
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
        self.assertIn("attention | attention: output: agrees\n", right.stdout)
        self.assertIn("mlp | mlp: output: agrees\n", right.stdout)


if __name__ == "__main__":
    main()
