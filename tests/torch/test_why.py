"""*Why?* about PyTorch programs, in the interpreter that TAPEDECK_TORCH names: each test is a program that asks about itself."""
import pathlib
import subprocess
import tempfile
import textwrap
import unittest

from debug_client import Client
from sample_cells import code_cells
from recorded_programs import RecordedPrograms
from test_values import SERVER, serve
from torch_interpreter import TORCH, environment, main, needs_module

# Of each program: why(question, tensor or record) asks, line_of(text) is the number of the line that has it.
PRELUDE = """
from torch.utils._python_dispatch import _disable_current_modes

def why(question, about=None, element=(), record=0):
    tensor = about if isinstance(about, int) else 0
    if isinstance(about, torch.Tensor):
        tensor = _engine.torch.known_id(about)
        assert tensor, "no record has this tensor"
    if isinstance(about, dict):
        record = about["number"]
    return debug.why(question, tensor, list(element), record)

def has(answer, *parts):
    assert answer.get("complete"), answer
    for part in parts:
        assert part in answer["sentence"], (part, answer)
    return answer

def lacks(answer, *parts):
    assert not answer.get("complete", True), answer
    for part in parts:
        assert part in answer["sentence"], (part, answer)
    return answer

def line_of(text):
    found = [number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line and "line_of" not in line]
    assert len(found) == 1, (text, found)
    return found[0]

def reason(answer, role):
    found = [one for one in answer["reasons"] if one["role"] == role]
    assert found, (role, answer)
    return found[0]

def refused(backward):
    try:
        backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error), error
        return why("gradient", records(kind="playback")[-1])
    raise AssertionError("it did not refuse")
"""


def with_prelude(program):
    """Its lines keep their numbers."""
    program = textwrap.dedent(program)
    first = f"exec({PRELUDE + f'SOURCE = {program!r}'!r})"
    assert program.startswith("\n")
    return first + program


def quiet(notebook):
    """Its first cell, which prints nothing: a program's output is its test's answer."""
    return code_cells(f"pytorch/{notebook}", {})["model"].replace("print(", "str(")


class Why(RecordedPrograms):
    def check(self, program, before=""):
        super().check(with_prelude(program), before)

    # ---- what was overwritten

    def test_a_backward_pass_that_refuses_leads_to_the_write_and_to_the_op_that_keeps(self):
        self.check("""
            a = torch.ones(3, requires_grad=True)
            b = a * 2
            c = b * b
            b.add_(1)
            answer = has(refused(c.sum().backward), "overwrote", "its input self", "(3,)")
            wrote, keeps = reason(answer, "overwrote"), reason(answer, "keeps it")
            assert (wrote["op"], wrote["line"]) == ("aten.add_.Tensor", line_of("b.add_(1)")), answer
            assert (keeps["op"], keeps["line"]) == ("aten.mul.Tensor", line_of("c = b * b")), answer
            assert preview(records()[keeps["record"] - 1]["inputs"][0]) == "2. 2. 2."
            failed = [one for one in records(kind="vjp") if one["state"] == "failed"]
            assert why("gradient", failed[0])["sentence"] == answer["sentence"]
            assert why("gradient", a)["sentence"] == answer["sentence"]
        """)

    def test_a_write_through_a_view_leads_to_the_view(self):
        self.check("""
            z = torch.zeros(4, 3, requires_grad=True)
            opening = torch.sigmoid(z)
            first = opening[:, 0]
            first.fill_(1)
            answer = has(refused((opening * 2).sum().backward), "its result, (4, 3)", "through another tensor on the same memory")
            assert reason(answer, "overwrote")["line"] == line_of("first.fill_"), answer
            assert reason(answer, "keeps it")["line"] == line_of("torch.sigmoid"), answer
            assert reason(answer, "same memory")["line"] == line_of("opening[:, 0]"), answer
        """)

    def test_a_step_of_an_optimiser_between_two_backward_passes(self):
        self.check("""
            first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
            optimizer = torch.optim.SGD(second.parameters(), lr=0.1, foreach=False)
            out = second(first(torch.ones(2, 3))).sum()
            out.backward(retain_graph=True)
            optimizer.step()
            answer = has(refused(out.backward), "overwrote what aten.addmm", "its input mat2")
            assert reason(answer, "overwrote")["line"] == line_of("optimizer.step()"), answer
        """)

    def test_writes_that_pytorch_does_not_count_are_told_apart(self):
        self.check("""
            x = torch.ones(4, requires_grad=True) * 2
            y = x.exp()
            y[0] = 5
            y.data.mul_(3)
            answer = refused(y.sum().backward)
            assert reason(answer, "overwrote")["line"] == line_of("y[0] = 5"), answer
            assert "by PyTorch's count not into this tensor" in answer["sentence"] and answer["complete"], answer
        """)

    def test_several_writes_and_the_one_that_did_not_matter(self):
        self.check("""
            x = torch.ones(4, requires_grad=True)
            other = torch.ones(4)
            y = x.exp()
            other.add_(1)
            y.add_(1)
            y.mul_(2)
            answer = has(refused(y.sum().backward), "the first of 2 writes")
            wrote = [one["line"] for one in answer["reasons"] if one["role"] == "overwrote"]
            assert wrote == [line_of("y.add_(1)"), line_of("y.mul_(2)")], answer
        """)

    def test_another_exception_in_a_backward_pass_is_told(self):
        self.check("""
            class Fails(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 2
                @staticmethod
                def backward(ctx, gradient): raise ValueError("on purpose")
            x = torch.ones(2, requires_grad=True)
            try:
                Fails.apply(x).sum().backward()
            except ValueError:
                pass
            assert "ended with an exception" in why("gradient", records(kind="playback")[-1])["sentence"]
            assert "on purpose" in why("gradient", x)["sentence"]
        """)

    def test_the_sample_about_an_overwritten_activation(self):
        model = quiet("overwritten_activation")
        self.check("\n" + model + '''
answer = has(refused(loss.backward), "aten.fill_", "aten.sigmoid", "its result, (32, 8)")
lines = [(one["role"], one["line"]) for one in answer["reasons"][:3]]
assert lines == [("overwrote", line_of("first.fill_(1)")), ("keeps it", line_of("opening = torch.sigmoid(gate(x))")),
                 ("same memory", line_of("first = opening[:, 0]"))], lines
''')

    # ---- NaN and infinity

    def test_the_sample_about_where(self):
        model = quiet("where_nan")
        self.check("\n" + model + '''
arrived, = records(op="autograd.AccumulateGrad")
answer = has(why("birth", arrived), "aten.div.Tensor", "0.0 / 0.0", "aten.sqrt", "aten.where.self", "did not choose that element")
assert answer["sentence"] == why("birth", points.grad)["sentence"]
''')

    def test_a_nan_is_born_in_the_vjp_of_what_where_did_not_choose(self):
        self.check("""
            x = torch.tensor([4.0, 0.0, 9.0], requires_grad=True)
            root = torch.sqrt(x)
            y = torch.where(x > 0, root, torch.zeros_like(x))
            y.sum().backward()
            answer = has(why("birth", x.grad), "The NaN at [1] was born in aten.div.Tensor", "0.0 / 0.0", "aten.sqrt",
                         f"(op {records(op='aten.where.self', kind='op')[0]['number']}, line {line_of('torch.where')}) did not choose")
            assert reason(answer, "forward op")["line"] == line_of("torch.sqrt"), answer
            assert reason(answer, "VJP")["op"] == "aten.sqrt", answer
            has(why("check", x.grad), "is wrong", "aten.sqrt", "0 times a slope that is not a finite number")
        """)

    def test_a_nan_of_the_forward_pass(self):
        self.check("""
            x = torch.tensor([1.0, -1.0])
            y = (x.log() * 2).sum()
            answer = has(why("birth", y), "born in aten.log", "log(-1.0)", "there is no real log")
            assert answer["reasons"][0]["line"] == line_of("x.log()"), answer
            z = torch.nn.functional.layer_norm(torch.tensor([[1.0, 2.0]]) / 0, [2])
            has(why("birth", z), "aten.div.Tensor", "1.0 / 0", "0")
            has(why("birth", torch.full([2], float("nan")) * 1), "aten.full", "its argument fill_value is nan")
            has(why("birth", torch.empty(3).cauchy_(0, float("inf")) * 2), "aten.cauchy_", "its argument sigma is inf")
            has(why("birth", torch.zeros(2).add(1)), "All of the 2 elements are finite")
        """)

    def test_a_nan_that_was_written_through_a_view(self):
        self.check("""
            x = torch.zeros(4)
            x[1:].sub_(1).sqrt_()
            y = x * 2
            answer = has(why("birth", y), "born in aten.sqrt_", "sqrt_(-1.0)")
            assert answer["reasons"][0]["line"] == line_of("sqrt_()"), answer
        """)

    def test_infinity_times_zero_in_a_product_of_matrices(self):
        self.check("""
            a, b = torch.ones(2, 3), torch.zeros(3, 2)
            a[1, 2] = float("inf")
            has(why("birth", a @ b), "The NaN at [1, 0] was born in aten.mm", "0 · ∞ is undefined")
        """)

    # ---- gradients that are None

    def test_where_the_path_of_a_gradient_ends(self):
        self.check("""
            w = torch.ones(3, requires_grad=True)
            def asked(make):
                x = torch.ones(3, requires_grad=True)
                (make(x) * w).sum().backward()
                assert x.grad is None
                answer = has(why("gradient", x), "no gradient came to")
                assert records()[reason(answer, "asked here")["record"] - 1]["kind"] == "playback"
                return answer
            def under_no_grad(x):
                with torch.no_grad():
                    return x * 2
            answer = has(asked(lambda x: x.detach() * 2), "ends at aten.detach", "detach() or .data cuts the graph")
            assert reason(answer, "stopped")["line"] == line_of("asked(lambda x: x.detach() * 2)"), answer
            has(asked(lambda x: x.data * 2), "detach() or .data cuts the graph")
            answer = has(asked(under_no_grad), "gradients were off", "torch.no_grad()")
            assert reason(answer, "stopped")["line"] == line_of("return x * 2"), answer
            has(asked(lambda x: x.long().float()), "its result is not a floating-point tensor, and integers have no gradient")
            answer = has(asked(lambda x: (x * 2).sum().item()), "does not depend on it", "Python read a number")
            assert reason(answer, "left the graph")["op"] == "aten._local_scalar_dense", answer
            answer = has(asked(lambda x: 1.0), "does not depend on it by any recorded op")
        """)

    def test_inference_mode_ends_the_path(self):
        self.check("""
            x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
            with torch.inference_mode():
                y = x * 2
            (y.clone() * w).sum().backward()
            has(why("gradient", x), "it ran under torch.inference_mode()")
        """)

    def test_a_tensor_that_requires_no_gradient(self):
        self.check("""
            x, w = torch.ones(3), torch.ones(3, requires_grad=True)
            (x * w).sum().backward()
            has(why("gradient", x), "aten.mul.Tensor", "did not require a gradient when this op read it")
            count, n = torch.ones(3, dtype=torch.int64), torch.ones(3, requires_grad=True)
            (count * n).sum().backward()
            vjp = [one for one in records(kind="vjp", op="aten.mul.Tensor") if one["forward"]][-1]
            has(why("gradient", vjp), "integers and booleans have no gradient")
            has(why("gradient", records(kind="vjp", op="aten.mul.Tensor")[0]), "did not require a gradient when the op ran")
        """)

    def test_a_leaf_that_was_replaced(self):
        self.check("""
            leaf = torch.ones(3, requires_grad=True)
            x = leaf.to(torch.float64)
            (x * 2).sum().backward()
            assert not x.is_leaf and leaf.grad is not None
            answer = has(why("gradient", x), "it is no leaf", "aten._to_copy", "retain_grad()")
            assert reason(answer, "not a leaf")["line"] == line_of("leaf.to("), answer
            came = records()[reason(answer, "came here")["record"] - 1]
            assert came["op"] == "aten._to_copy" and preview(came["inputs"][0]) == "2. 2. 2.", came
        """)

    def test_a_function_of_the_program_that_gives_none(self):
        self.check("""
            class Stops(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return (x * 3).exp()
                @staticmethod
                def backward(ctx, gradient): return None
            x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            (Stops.apply(x) * w).sum().backward()
            has(why("gradient", x), "the backward() of Stops gave None")
        """)

    def test_a_gradient_that_was_asked_of_others_alone(self):
        self.check("""
            x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            torch.autograd.grad((x * w).sum(), w)
            lacks(why("gradient", x), "asked for gradients of other tensors alone")
            has(why("gradient", w), "none of its 2 elements is zero")
        """)

    def test_a_gradient_that_arrived_and_was_dropped(self):
        self.check("""
            layer = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, foreach=False)
            layer(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            assert layer.weight.grad is None
            has(why("gradient", layer.weight), "a gradient arrived", "none of its 4 elements is zero", "zero_grad() does")
            layer(torch.ones(1, 2)).sum().backward()
            optimizer.zero_grad(set_to_none=False)
            answer = has(why("gradient", layer.weight), "a gradient arrived", "wrote zeros into it")
            assert reason(answer, "set to zero")["line"] == line_of("set_to_none=False)"), answer
            torch.ones(2, requires_grad=True).sum().backward()
            has(why("gradient", layer.weight), "no gradient came to", "An earlier backward pass had one for it")
        """)

    def test_gradients_of_a_checkpoint_arrive_in_the_pass_inside_and_outside(self):
        self.check("""
            from torch.utils.checkpoint import checkpoint
            layer = torch.nn.Linear(2, 2)
            for reentrant in (True, False):
                x = torch.ones(1, 2, requires_grad=True)
                checkpoint(lambda x: layer(x).tanh(), x, use_reentrant=reentrant).sum().backward()
                has(why("gradient", x), "a gradient arrived")
                has(why("gradient", layer.weight), "a gradient arrived")
        """)

    # ---- gradients that are zero

    def test_what_swallowed_a_gradient(self):
        self.check("""
            def asked(function):
                x = torch.tensor([-1.0, -2.0, 3.0], requires_grad=True)
                function(x).sum().backward()
                answer = why("gradient", x.grad)
                assert answer["sentence"] in why("gradient", x)["sentence"]
                return answer
            answer = has(asked(lambda x: x.relu() * 2), "67 %", "swallowed in aten.relu", "not above zero there, and relu is flat")
            assert reason(answer, "swallowed")["operands"] == ["self[0] = -1.0"], answer
            has(asked(lambda x: x * torch.tensor([1.0, 0.0, 1.0])), "33 %", "aten.mul.Tensor", "the other factor is zero there")
            has(asked(lambda x: x[:2] * 2), "aten.slice", "were not picked")
            has(asked(lambda x: x * 1e-30 * 1e-30), "underflow")
            has(asked(lambda x: (x * 0.5).masked_fill(x > 0, 0.0)), "aten.masked_fill")
            has(asked(lambda x: torch.nn.functional.dropout(x, 1.0)), "The whole gradient is zero")
            class Zeros(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 3
                @staticmethod
                def backward(ctx, gradient): return gradient * 0
            has(asked(Zeros.apply), "the VJP of autograd.Zeros", "the program gave it returned zeros")
            has(why("gradient", records(kind="playback")[-1]), "arrived at 1 tensor; 1 of them is zero as a whole")
        """)

    # ---- is it right, what made it, how exact is it

    def test_gradients_are_compared_with_differences(self):
        self.check("""
            torch.manual_seed(1)
            model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, bias=False), torch.nn.BatchNorm2d(2), torch.nn.Tanh(), torch.nn.Flatten(),
                                        torch.nn.Linear(8, 3), torch.nn.LayerNorm(3))
            loss = torch.nn.functional.cross_entropy(model(torch.randn(3, 1, 4, 4)), torch.tensor([0, 1, 2]))
            loss.backward()
            has(why("check", model[0].weight.grad), "is right", "aten.convolution")
            has(why("check", records(kind="playback")[-1]), "the 7 tensors at which one arrived is right")
            for vjp in records(kind="vjp"):
                assert "is wrong" not in why("check", vjp)["sentence"], vjp
        """)

    def test_what_is_not_compared_is_said(self):
        self.check("""
            class Doubled(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 3
                @staticmethod
                def backward(ctx, gradient): return gradient * 6
            x = torch.ones(2, requires_grad=True)
            Doubled.apply(x).exp().sum().backward()
            lacks(why("check", x.grad), "No error was found", "a backward() that the program wrote")
            y = torch.ones(2, requires_grad=True)
            (y * (y * 2).sum().item()).sum().backward()
            assert "Python read a number on the way" in why("check", y.grad)["sentence"]
            z = torch.ones(2, requires_grad=True)
            (z * z.detach()).sum().backward()
            assert "What goes through aten.detach" in why("check", z.grad)["sentence"], why("check", z.grad)
        """)

    def test_what_an_element_was_made_of(self):
        self.check("""
            a, b = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[10.0], [1.0]])
            answer = has(why("contributions", a @ b, [1, 0]), "34.0 at [1, 0]", "aten.mm", "of 2 contributions")
            assert answer["reasons"][0]["operands"] == ["self[1, 0] = 3.0 · mat2[0, 0] = 10.0"], answer
            has(why("contributions", (a * 2).sum()), "20.0", "aten.sum", "the largest is self[1, 1] = 8.0 (40 %")
            kernel = torch.ones(1, 1, 2, 2)
            has(why("contributions", torch.nn.functional.conv2d(a[None, None], kernel)), "10.0", "aten.convolution", "of 4 contributions")
            w = torch.ones(2, requires_grad=True)
            (w * torch.tensor([1.0, 3.0]) + w * 2).sum().backward()
            has(why("contributions", w.grad), "is the sum of 2 contributions", "one for each use")
            (w * 7).sum().backward()
            has(why("contributions", w.grad), "is the sum of 3 contributions")
        """)

    def test_how_many_digits_are_right(self):
        self.check("""
            x = torch.tensor([1e4 + 1 / 3])
            y = x * 3
            z = y - torch.tensor([3e4])
            answer = why("exactness", z)
            assert "Most digits were lost in aten.sub.Tensor" in answer["sentence"], answer
            assert reason(answer, "lost digits")["line"] == line_of("z = y"), answer
            dropped = torch.nn.functional.dropout(torch.ones(3).exp(), 0.5)
            has(why("exactness", y), "digits of it are correct")
            assert "digits" in why("exactness", dropped)["sentence"]
        """)

    def test_questions_leave_the_program_as_it_was(self):
        self.check("""
            torch.manual_seed(3)
            layer = torch.nn.Linear(3, 2)
            x = torch.randn(4, 3, requires_grad=True)
            loss = torch.nn.functional.dropout(layer(x).relu(), 0.5).sum()
            loss.backward()
            count, state, version = len(records()), torch.get_rng_state(), layer.weight._version
            gradient = layer.weight.grad.clone()
            count += 1
            for question in ("birth", "size", "gradient", "contributions", "check", "exactness"):
                for tensor in (loss, layer.weight, layer.weight.grad, x.grad):
                    answer = why(question, tensor)
                    assert answer.get("sentence"), (question, answer)
            assert len(records()) == count and torch.equal(torch.get_rng_state(), state) and torch.is_grad_enabled()
            assert layer.weight._version == version and torch.equal(layer.weight.grad, gradient)
        """)


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
        root = next(one for one in self.records if one["op"] == "aten.sqrt")
        self.assertIn("born in aten.sqrt", self.why("birth", root["number"], root["outputs"][0]["id"])["sentence"])


if __name__ == "__main__":
    main()
