"""The *VJP* panel's answers for PyTorch: a formula is shown only where its numbers are those that PyTorch's VJP gave."""
import json
import subprocess
import textwrap
import unittest

from torch_interpreter import TORCH, environment, main, needs_module

# Each program runs in a fork of one process, recorded and served: `parts` are the answers for its VJPs, by the name of their op.
RUNNER = """
import json, os, secrets, sys, tempfile, traceback
import torch
from torch.utils._python_dispatch import _disable_current_modes
from debug_client import Client
from tapedeck import _engine
from tapedeck._session import torch_programs

def run(program, checks):
    entry = dict(endpoint=f"ipc://{tempfile.mkdtemp(prefix='td-')}/s", key=secrets.token_hex(16),
                 protocol_version=_engine.debug.PROTOCOL_VERSION)
    _engine.debug.start(entry["endpoint"], entry["key"].encode())
    torch_programs.install()
    names = dict(torch=torch)
    exec(program, names)
    with _disable_current_modes(), Client(entry, 60) as client:
        names["parts"] = {}
        for record in json.loads(_engine.debug.records_json()):
            if record["kind"] == "vjp":
                names["parts"][record["op"]] = client.ask("get_vjp", record=record["number"])
            if record["kind"] == "op":
                client.ask("get_vjp", record=record["number"])
        exec(checks, names)

for line in sys.stdin:
    program, checks = json.loads(line)
    process = os.fork()
    if process == 0:
        torch.set_num_threads(1)
        problem = ""
        try:
            run(program, checks)
        except BaseException:
            problem = traceback.format_exc()
        print(json.dumps(problem), flush=True)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if status:
        print(json.dumps(f"the process ended with status {status}"), flush=True)
"""


@needs_module
class Vjps(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        variables = environment()
        here = __import__("debug_client").__file__.rsplit("/", 1)[0]
        variables["PYTHONPATH"] = ":".join(filter(None, [variables.get("PYTHONPATH"), here]))
        if subprocess.run([TORCH, "-c", "import zmq"], capture_output=True, check=False, timeout=60, env=variables).returncode:
            raise unittest.SkipTest("the interpreter that TAPEDECK_TORCH names has no pyzmq")
        cls.runner = subprocess.Popen([TORCH, "-c", RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables)
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        cls.runner.stdin.close()
        cls.runner.stdout.close()
        cls.runner.wait(timeout=60)

    def check(self, program, checks):
        self.runner.stdin.write(json.dumps([textwrap.dedent(program), textwrap.dedent(checks)]) + "\n")
        self.runner.stdin.flush()
        self.assertEqual(json.loads(self.runner.stdout.readline()), "")

    def test_formulas_that_agree_are_shown(self):
        self.check("""
            x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
            (((x @ x).tanh() * x + x.exp()).relu() / 2 - x.sin()).sum().backward()
        """, """
            for op in ("aten.mm", "aten.tanh", "aten.mul.Tensor", "aten.exp", "aten.relu", "aten.sum", "aten.sin", "aten.sub.Tensor"):
                assert parts[op]["problem"] is None and parts[op]["forward"]["vjp_formula"] not in ("", "none"), (op, parts[op])
        """)

    def test_formulas_that_do_not_fit_the_call_are_not_shown(self):
        self.check("""
            x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
            y = torch.add(x, x * 3, alpha=5)
            y = torch.nn.functional.gelu(y, approximate="tanh").sum(dim=1)
            y.sum().backward()
        """, """
            for op, text in (("aten.add.Tensor", "alpha = 5"), ("aten.gelu", "approximate = "), ("aten.sum.dim_IntList", "dim = [1]")):
                assert parts[op]["forward"]["vjp_formula"] == "none", (op, parts[op]["forward"]["vjp_formula"])
                assert text in parts[op]["problem"], (op, parts[op]["problem"])
        """)

    def test_a_formula_with_other_numbers_is_not_shown(self):
        self.check("""
            class Own(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x.exp()
                @staticmethod
                def backward(ctx, gradient): return gradient * 7
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            y = x.sinh()
            y.grad_fn.register_hook(lambda gradients, _: (gradients[0] * 9,))
            Own.apply(y).sum().backward()
        """, """
            own, sinh = parts["autograd.Own"], parts["aten.sinh"]
            assert own["forward"]["kind"] == "custom" and "autograd.Own" in own["forward"]["op"] and own["problem"] is None, own
            assert sinh["forward"]["vjp_formula"] == "none" and "gives other numbers than PyTorch's VJP" in sinh["problem"], sinh["problem"]
        """)


if __name__ == "__main__":
    main()
