"""Records of PyTorch's ops have the call as the program wrote it: each test is a program in a file of its own."""
import textwrap

from recorded_programs import RecordedPrograms
from torch_interpreter import main


class WrittenCalls(RecordedPrograms):
    def check_file(self, text, checks):
        """`checks`: code that looks at `calls`, a list of (op, kind, call) of the records of a program of this text."""
        self.check(f"""
import os, runpy, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write({textwrap.dedent(text)!r})
    runpy.run_path(path)
columns = hasattr(compile("", "", "exec"), "co_positions")
calls = [(one["op"], one["kind"], one["call"]) for one in records()]
assert all(one["call_is_line"] != columns for one in records() if one["call"] and "by_line" not in one["call"]), records()
def written(op, kind="op"):
    return [call for name, of, call in calls if name == op and of == kind]
""" + textwrap.dedent(checks))

    def test_ops_inside_pytorch_have_the_call_of_the_program(self):
        self.check_file("""
            import math, torch
            import torch.nn.functional as F
            class Attention(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.project = torch.nn.Linear(4, 4)
                def forward(self, x):
                    d = x.shape[-1]
                    scores = self.project(x) @ x.T
                    return F.softmax(scores / math.sqrt(d), dim=-1)
            layer = Attention()
            y = layer(torch.ones(3, 4))
            y[0] = 1.
            z = (y.detach()
                  .exp())
        """, """
            if columns:
                assert written("aten.addmm") == ["self.project(x)"], calls
                assert written("aten.mm") == ["self.project(x) @ x.T"], calls
                assert written("aten.div.Tensor") == ["scores / math.sqrt(d)"], calls
                assert written("aten._softmax") == ["F.softmax(scores / math.sqrt(d), dim=-1)"], calls
                assert written("aten.exp") == ["y.detach()\\n      .exp()"], calls
                assert "y[0] = 1." in written("aten.fill_.Tensor") + written("aten.copy_") + written("aten.fill_.Scalar"), calls
            else:
                assert written("aten._softmax") == ["return F.softmax(scores / math.sqrt(d), dim=-1)"], calls
        """)

    def test_backward_has_the_calls_of_the_forward_ops_and_the_line_of_a_backward_of_the_program(self):
        self.check_file("""
            import torch
            class Doubled(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return x * 2
                @staticmethod
                def backward(ctx, gradient):
                    return gradient * 2 * torch.ones(2)  # by_line
            x = torch.ones(2, requires_grad=True)
            y = Doubled.apply(x).tanh()
            loss = y.sum()
            loss.backward()
        """, """
            assert written("aten.tanh", "vjp") == written("aten.tanh"), calls
            assert written("aten.sum", "vjp") == written("aten.sum"), calls
            own, = [call for op, kind, call in calls if op == "autograd.Doubled" and kind == "vjp"]
            assert own == "return gradient * 2 * torch.ones(2)  # by_line", calls
            if columns:
                assert written("aten.tanh") == ["Doubled.apply(x).tanh()"], calls
                assert written("aten.sum") == ["loss = y.sum()"[7:]], calls
                assert written("gradient", "playback") == ["loss.backward()"], calls
                assert written("autograd.Doubled", "custom") == ["Doubled.apply(x)"], calls
                assert written("aten.ones") [-1] == "torch.ones(2)", calls
                assert "gradient * 2" in written("aten.mul.Tensor"), calls
        """)

    def test_optimisers_hooks_and_threads_have_their_calls(self):
        self.check_file("""
            import threading, torch
            layer = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
            layer.weight.register_hook(lambda gradient: gradient.mul(3))
            layer(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            thread = threading.Thread(target=lambda: torch.cos(torch.ones(1)))
            thread.start()
            thread.join()
        """, """
            if columns:
                assert written("aten.cos") == ["torch.cos(torch.ones(1))"], calls
                assert "gradient.mul(3)" in written("aten.mul.Tensor"), calls
                assert "optimizer.step()" in [call for _, _, call in calls], calls
        """)


if __name__ == "__main__":
    main()
