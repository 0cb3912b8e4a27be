"""*Why?* about a trace of a PyTorch program, on a machine without PyTorch."""
import pathlib
import subprocess
import tempfile
import unittest

from debug_client import Client
from test_values import SERVER, serve
from torch_interpreter import TORCH, environment, main, needs_module

TRACED = """
import torch
a = torch.ones(3, requires_grad=True)
w = torch.tensor([2.0, -1.0, 1.0], requires_grad=True)
d = (a.detach() * w.relu()).sum()
d.backward()
b = a * 2
c = b * b
b.add_(1)
try:
    c.sum().backward()
except RuntimeError:
    pass
torch.tensor([-1.0]).sqrt()
from tapedeck._debugging.assertions import save_trace
save_trace("PLACE")
"""


@needs_module
@unittest.skipUnless(SERVER, "TAPEDECK_TRACE_SERVER names no tapedeck-trace")
class Traced(unittest.TestCase):
    """A trace on a machine without PyTorch: what it cannot run again is said, and nothing else is claimed."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="td-")
        cls.addClassCleanup(folder.cleanup)
        trace = pathlib.Path(folder.name, "why.tapetrace")
        program = ("from tapedeck import _engine\nfrom tapedeck._session import torch_programs\n"
                   "_engine.debug.attach(files_are_cells=True)\ntorch_programs.install()\n"
                   f"exec(compile({TRACED.replace('PLACE', str(trace))!r}, 'traced.py', 'exec'))\n")
        subprocess.run([TORCH, "-c", program], check=True, env=environment(), timeout=120)
        version = subprocess.run([TORCH, "-c", "from tapedeck import _engine; print(_engine.debug.PROTOCOL_VERSION)"], check=True,
                                 capture_output=True, text=True, env=environment(), timeout=120).stdout
        process, entry = serve(trace, folder.name)
        cls.addClassCleanup(process.wait, 60)
        cls.addClassCleanup(process.stdout.close)
        cls.addClassCleanup(process.stdin.close)
        cls.client = Client({**entry, "protocol_version": int(version)}).__enter__()
        cls.addClassCleanup(cls.client.close)
        cls.records = cls.client.ask("get_records", first=1, count=1000, with_previews=False)["records"]

    def why(self, question, record=None, tensor=None):
        return self.client.ask("why", question=question, tensor=tensor, element=None, record=record)

    def numbers(self, **wanted):
        return [one["number"] for one in self.records if all(one[name] == value for name, value in wanted.items())]

    def test_what_was_overwritten_is_known(self):
        failed = self.numbers(kind="playback", state="failed")[-1]
        answer = self.why("gradient", failed)
        self.assertIn("overwrote what aten.mul.Tensor", answer["sentence"])
        self.assertEqual([one["role"] for one in answer["reasons"]], ["overwrote", "keeps it", "failed here"])

    def test_where_a_path_ends_is_known(self):
        first = self.numbers(kind="playback")[0]
        leaf = self.records[0]["outputs"][0]["id"]
        self.assertIn("ends at aten.detach", self.why("gradient", first, leaf)["sentence"])

    def test_what_needs_pytorch_is_said(self):
        arrived = next(one for one in self.records if one["op"] == "autograd.AccumulateGrad")
        gradient = arrived["inputs"][1]["id"]
        for question in ("gradient", "check"):
            answer = self.why(question, arrived["number"], gradient)
            self.assertFalse(answer["complete"], answer)
            self.assertIn("PyTorch, which is not loaded", answer["sentence"])
            self.assertNotIn("failed when it ran again", answer["sentence"])
        for root in (one for one in self.records if one["op"] == "aten.sqrt"):
            answer = self.why("exactness", root["number"], root["outputs"][0]["id"])
            self.assertFalse(answer["complete"], answer)
            self.assertIn("How exact it is, is not known", answer["sentence"])
            self.assertNotIn("in float64, too", answer["sentence"])  # nothing ran in float64
        self.assertIn("born in aten.sqrt", self.why("birth", root["number"], root["outputs"][0]["id"])["sentence"])


if __name__ == "__main__":
    main()
