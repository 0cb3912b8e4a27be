"""Twenty unmodified programs of PyTorch come to the same results, bit for bit, whether they are recorded or not."""
import json
import pathlib
import re
import subprocess
import tempfile
import textwrap
import unittest

from torch_interpreter import HERE, PROGRAMS, TORCH, Runs, environment, main, needs_module, needs_torch

NAMES = [path.stem for path in PROGRAMS]

# Programs that fail, each with a line of what it says then. Recording must not change that, nor which of its lines are to blame.
FAILURES = {
    "shape": ("torch.ones(2, 3) @ torch.ones(2, 3)", "mat1 and mat2 shapes cannot be multiplied"),
    "overwritten": ("y = torch.ones(3, requires_grad=True).exp()\ny.add_(1)\ny.sum().backward()", "modified by an inplace operation"),
    "custom": ("""
        class Broken(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, dy):
                raise KeyError("lost")


        Broken.apply(torch.ones(3, requires_grad=True)).sum().backward()""", "KeyError: 'lost'"),
    "hook": ("""
        x = torch.ones(3, requires_grad=True)
        x.register_hook(lambda gradient: gradient.nonsense)
        (x * 2).sum().backward()""", "object has no attribute 'nonsense'"),
    "twice": ("y = torch.ones(3, requires_grad=True).exp().sum()\ny.backward()\ny.backward()", "backward through the graph a second time"),
    "exit": ("import sys\ntorch.ones(3).sum()\nsys.exit('no more')", "no more"),
}


class Programs(unittest.TestCase):
    def test_there_are_twenty_and_they_know_nothing_of_tapedeck(self):
        self.assertEqual(len(NAMES), 20)
        for path in [*PROGRAMS, HERE / "programs/results.py"]:
            self.assertNotIn("tapedeck", path.read_text(encoding="utf-8").lower(), path.name)


def blamed(text):
    """The lines of a failing program that its traceback names, and what it ends with."""
    lines = text.splitlines()
    places = [place for line in lines for place in re.findall(r'File ".*/(\w+\.py)", line (\d+), in (\S+)', line)
              if place[0].removesuffix(".py") in FAILURES]
    last = max((number for number, line in enumerate(lines) if re.match(r"\w*(Error|Exception)\b", line)), default=0)
    return places, [line for line in lines[last:] if not line.startswith("Trace file")]


@needs_torch
class Results(unittest.TestCase):
    """All programs run in each state once: an import of PyTorch takes longer than any of them."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.programs = list(PROGRAMS)
        for name, (text, _) in FAILURES.items():
            cls.programs.append(pathlib.Path(folder.name, f"{name}.py"))
            cls.programs[-1].write_text("import torch\n\n" + textwrap.dedent(text) + "\n", encoding="utf-8")
        cls.plain = Runs("plain", cls.programs)
        cls.addClassCleanup(cls.plain.close)

    def test_each_program_prints_what_it_came_to_and_that_is_its_own(self):
        results = {}
        for name in NAMES:
            with self.subTest(name):
                self.assertEqual(self.plain.exit[name], "0", self.plain.err[name])
                results[name] = json.loads(self.plain.out[name])
                self.assertGreater(len(results[name]["losses"]), 3)
                self.assertTrue(all(abs(float.fromhex(loss)) < 1e3 for loss in results[name]["losses"]), results[name]["losses"])
        for what in ("parameters", "gradients"):
            self.assertEqual(len({result[what] for result in results.values()}), 20)
            self.assertTrue(all(re.fullmatch("[0-9a-f]{32}", result[what]) for result in results.values()))

    def test_the_failing_programs_fail(self):
        for name, (_, words) in FAILURES.items():
            with self.subTest(name):
                self.assertEqual(self.plain.exit[name], "1")
                self.assertIn(words, self.plain.err[name])

    @needs_module
    def test_recording_changes_no_bit_and_no_exception(self):
        traced = Runs("traced", self.programs)
        self.addCleanup(traced.close)
        for name in [*NAMES, *FAILURES]:
            with self.subTest(name):
                self.assertEqual((traced.exit[name], traced.out[name]), (self.plain.exit[name], self.plain.out[name]), traced.err[name])
                self.assertEqual(blamed(traced.err[name]) if name in FAILURES else None,
                                 blamed(self.plain.err[name]) if name in FAILURES else None)
                records = re.search(r"^Trace file .*\.tapetrace: ([\d,]+) records", traced.err[name], re.M)
                self.assertTrue(records, traced.err[name])
                self.assertGreater(int(records[1].replace(",", "")), 0 if name in FAILURES else 100)

    @needs_module
    def test_the_command_does_the_same_to_a_program_of_several_processes(self):
        """Started as a user starts it. What its workers do is not recorded, and they write no trace."""
        done = subprocess.run([TORCH, "-m", "tapedeck", "--trace", str(self.plain.folder / "alone.tapetrace"),
                               str(HERE / "programs/data_loader.py")], capture_output=True, text=True, timeout=200, check=False,
                              env=environment())
        self.assertEqual((done.returncode, done.stdout), (0, self.plain.out["data_loader"]), done.stderr)
        self.assertEqual(done.stderr.count("Trace file"), 1, done.stderr)


if __name__ == "__main__":
    main()
