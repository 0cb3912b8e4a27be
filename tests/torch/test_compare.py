"""Traces of PyTorch programs, compared by the program that reads traces: what it says, and its exit status."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from torch_interpreter import TORCH, environment, main, needs_module

# Records programs in forks of one process: an import of PyTorch takes longer than any of them.
RUNNER = """
import json, os, sys, traceback
import numpy
import torch
from tapedeck import _engine
from tapedeck._debugging.assertions import save_trace
from tapedeck._session import torch_programs

for name, program, trace in json.load(sys.stdin):
    process = os.fork()
    if process == 0:
        try:
            torch.set_num_threads(1)
            if trace:
                _engine.debug.attach(files_are_cells=True)
                torch_programs.install()
            exec(compile(program, name, "exec"), {"torch": torch, "numpy": numpy})
            if trace:
                save_trace(trace)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(process, 0)[1]:
        sys.exit(f"{name} failed")
"""

ATTENTION = """
torch.manual_seed(0)
nn = torch.nn
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8, bias=False) for _ in range(3))
    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.T
        return (scores / 8 ** 0.5).softmax(-1) @ v
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.att, self.norm, self.fc = Attention(), nn.LayerNorm(8), nn.Linear(8, 3)
    def forward(self, x):
        return self.fc(self.norm(self.att(x) + x))
model = Model()
model.att.q.weight.requires_grad_(True)
x = torch.randn(8, 8)
t = torch.arange(8) % 3
loss = nn.functional.cross_entropy(model(x), t)
loss.backward()
"""
STATE = ATTENTION.split("x = torch.randn")[0] + "state = {name: value.detach().numpy() for name, value in model.state_dict().items()}\n"

# Each with the line that it replaces.
PROGRAMS = {
    "original": ("", ""),
    "again": ("", ""),
    "transposed": ("scores = q @ k.T", "scores = k @ q.T"),
    "detached": ("self.q(x), self.k(x)", "self.q(x).detach(), self.k(x)"),
    "frozen": ("model.att.q.weight.requires_grad_(True)", "model.fc.bias.requires_grad_(False)"),
    "summed": ("(model(x), t)", "(model(x), t, reduction='sum')"),
    "square": ("model.att.q.weight.requires_grad_(True)", "model.att.q.weight.data = model.att.q.weight.data.T.contiguous()"),
}
FILES = {
    "ok.npz": "numpy.savez(PATH, **state)",
    "turned.npz": "state['att.q.weight'] = state['att.q.weight'].T.copy()\nnumpy.savez(PATH, **state)",
    "missing.npz": "del state['fc.bias']\nnumpy.savez(PATH, **state)",
    "shapes.npz": "state['fc.bias'] = numpy.zeros(4, 'float32')\nnumpy.savez(PATH, **state)",
    "unnamed.npz": "numpy.savez(PATH, *state.values())",
}
AGREE, DIFFER, FAILED, INCOMPLETE = range(4)


@needs_module
@unittest.skipUnless(os.environ.get("TAPEDECK_TRACE_SERVER"), "TAPEDECK_TRACE_SERVER names no program that reads traces")
class Compare(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="td-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)
        work = [(f"{name}.py", ATTENTION.replace(old, new, 1) if old else ATTENTION, str(cls.folder / f"{name}.tapetrace"))
                for name, (old, new) in PROGRAMS.items()]
        work += [(name, STATE + made.replace("PATH", repr(str(cls.folder / name))), "") for name, made in FILES.items()]
        done = subprocess.run([TORCH, "-c", RUNNER], input=json.dumps(work), capture_output=True, text=True, timeout=300, check=False,
                              env=environment())
        assert done.returncode == 0, done.stderr

    def compared(self, left, right, status):
        """All that it prints, of which the last line is the verdict."""
        left, right = (name if "." in name else name + ".tapetrace" for name in (left, right))
        done = subprocess.run([os.environ["TAPEDECK_TRACE_SERVER"], self.folder / left, "--compare", self.folder / right],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def test_a_program_agrees_with_itself_whatever_lay_in_its_memory(self):
        said = self.compared("original", "again", AGREE)
        self.assertNotIn("frameworks", said)
        self.assertIn(" | : loss: agrees\n", said)
        self.assertTrue(said.splitlines()[-1].startswith("No compared value differs: "), said)

    def test_the_product_with_its_factors_exchanged_is_named(self):
        sentence = self.compared("original", "transposed", DIFFER).splitlines()[-1]
        self.assertTrue(sentence.startswith("The first layer whose output differs is att: "), sentence)
        line = ATTENTION.splitlines().index("        scores = q @ k.T") + 1
        self.assertRegex(sentence, rf"aten\.mm, original\.py line {line} \| op \d+, aten\.mm, transposed\.py line {line}: its result is "
                                   r"the other side's with its axes in another order \(.*equal after transposing the axes 1, 0")
        self.assertNotIn("softmax", sentence)

    def test_a_gradient_that_one_side_lacks_is_named(self):
        for name, of in (("detached", "weight of att/q"), ("frozen", r"bias( \| input)? of fc")):  # a frozen one may have no name
            sentence = self.compared("original", name, DIFFER).splitlines()[-1]
            self.assertRegex(sentence, "^All compared outputs and weights agree. The first gradient that differs, backwards, is the "
                                       f"gradient of {of}: the right side has none.")

    def test_the_loss_is_compared(self):
        sentence = self.compared("original", "summed", DIFFER).splitlines()[-1]
        self.assertTrue(sentence.startswith("All other compared outputs agree. The loss differs: it differs in 1 of 1 element"), sentence)
        self.assertIn("nll_loss_forward", sentence)

    def test_weights_of_one_framework_are_not_transposed(self):
        sentence = self.compared("original", "square", DIFFER).splitlines()[-1]
        self.assertIn("The first layer whose output differs is att/q", sentence)
        self.assertNotIn("its inputs agree,", sentence)
        self.assertIn("equal after transposing the axes 1, 0", sentence)
        for left in ("original", "ok.npz"):
            said = self.compared(left, "turned.npz", DIFFER)
            self.assertRegex(said, r"att/q: weight: DIFFERS, by up to \S+ \(relative \S+\), equal after transposing the axes 1, 0\n")

    def test_what_has_no_counterpart_is_counted(self):
        said = self.compared("original", "missing.npz", INCOMPLETE)
        self.assertIn("fc | fc: bias: not compared: the right side has none\n", said)
        self.assertIn("1 weight of the left side has no counterpart and could not be compared.", said.splitlines()[-1])

    def test_files_with_and_without_names(self):
        self.compared("original", "ok.npz", AGREE)
        said = self.compared("original", "unnamed.npz", AGREE)
        self.assertIn("att/q | att/q: weight | arr_0: agrees\n", said)
        self.assertIn("7 tensors of the file without a layer's name were paired by shape, in order.", said)

    def test_other_shapes_are_named(self):
        said = self.compared("original", "shapes.npz", DIFFER)
        problem = "The shapes differ, so elements cannot be compared: (3,) | (4,)."
        self.assertIn(f"fc | fc: bias: DIFFERS: {problem}\n", said)
        self.assertTrue(said.splitlines()[-1].startswith(f"The first value that differs is bias of fc: {problem} Counted"), said)

    def test_a_file_that_is_none_is_an_error(self):
        self.compared("original", "nowhere.tapetrace", FAILED)


if __name__ == "__main__":
    main()
