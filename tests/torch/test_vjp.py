"""The *VJP* panel's answers for PyTorch: formulas with the arguments of calls, shown only where their numbers are those that PyTorch's VJP
gave; what the nodes saved; the terms of an element."""
import collections
import json
import subprocess
import tempfile
import unittest

from recorded_programs import RecordedPrograms
from torch_interpreter import HERE, PROGRAMS, TORCH, environment, main

HELPERS = HERE.parent / "python" / "helpers"

BEFORE = """
import collections
from torch.utils._python_dispatch import _disable_current_modes
client = asking()

def vjps(most=None):
    "The panel's answer for each VJP, at most so many of one op."
    seen = collections.Counter()
    with _disable_current_modes():
        for record in records(kind="vjp"):
            seen[record["op"]] += 1
            if most is None or seen[record["op"]] <= most:
                yield client.ask("get_vjp", record=record["number"])

def vjp(op):
    *_, last = (one for one in vjps() if one["vjp"]["op"] == op)
    return last

def formula(parts):
    "Empty where there is none."
    return parts["forward"]["vjp_formula"].replace("none", "", 1) if parts["problem"] else parts["forward"]["vjp_formula"]

def terms(parts, input, element=0):
    with _disable_current_modes():
        return client.ask("explain_element", record=parts["vjp"]["number"], input=input, element=element, terms=1000)

def saved(parts):
    return {symbol["symbol"] or symbol["role"] + str(symbol["index"]): symbol["text"] for symbol in parts["symbols"] if symbol["text"]}
"""

# In float64, so that a formula of other numbers cannot pass as rounding: `x` is 3 × 4, positive; `image` 2 × 4 × 6 × 6.
CALLS = """
torch.add(x, y, alpha=3)
torch.sub(x, y, alpha=2)
torch.rsub(x, y, alpha=2)
torch.rsub(x, 2)
x * 2 + 1
x / y
x / 3
x ** 3
x ** y
2 ** x
x.clamp(min=0.4)
x.clamp(0.3, 0.8)
x.clamp(max=0.6)
torch.where(x > 0.5, x, y)
x.masked_fill(x > 0.5, 2.0)
F.hardtanh(x, 0.2, 0.7)
F.leaky_relu(x - 0.5, 0.2)
F.prelu(x - 0.5, y[0, :1])
F.elu(x - 0.5)
F.elu(x - 0.5, alpha=0.7)
F.selu(x - 0.5)
F.celu(x - 0.5, alpha=2.0)
torch.ops.aten.threshold_backward(y, x - 0.5, 0)
F.gelu(x)
F.gelu(x, approximate="tanh")
F.silu(x)
F.mish(x)
F.softplus(x)
F.softplus(x, beta=3)
x[x > 0.5]
x[torch.tensor(True)]
x[x[:, 0] > 0.2]
x[x[:, 0] > 0.2, 1]
image[1, image[1] > 0]
F.hardswish(6 * x - 3)
(x - 0.5).relu()
x.view(2, 6)
x.reshape(12)
x[:, None].squeeze(1)
x.expand(2, 3, 4)
x.repeat(2, 1, 3)
x.t()
x.transpose(0, 1)
image.permute(0, 2, 3, 1)
x.select(1, -1)
x[1]
x[:, 1:3]
x[:, ::2]
torch.cat(x.split(2, dim=1), dim=0)
torch.cat(x.unbind(1))
torch.cat([x, y], dim=-1)
torch.stack([x, y], dim=1)
x.index_select(1, torch.tensor([0, 0, 3]))
x[:, torch.tensor([0, 2, -1])]
x[torch.tensor([0, 2]), torch.tensor([1, 1])]
x.gather(1, torch.tensor([[0, 1], [2, 2], [3, 0]]))
F.embedding(torch.tensor([[0, 2], [2, 1]]), x)
x.diagonal(1)
x.tril(-1)
x.triu(1)
x.flip(1)
x.roll(2, 1)
F.pad(x, (1, 2, 0, 1))
torch.zeros(3, 4).double().index_add(0, torch.tensor([0, 2, 2]), x, alpha=2)
x.sum()
x.sum(dim=1)
x.sum(dim=(0, 1), keepdim=True)
x.mean()
x.mean(dim=0)
x.amax(1)
x.max(dim=1)[0]
torch.maximum(x, y)
x.logsumexp(1)
x.norm()
x.norm(dim=1)
x.var(dim=1)
x.cumsum(1)
x.cumprod(1)
x.prod()
x.mm(y.t())
x @ y[0]
torch.addmm(b, x, y.t())
torch.addmm(b, x, y.t(), beta=2, alpha=3)
torch.baddbmm(x[None], x[None] @ y.t()[None], x[None], alpha=2)
torch.dot(x[0], y[0])
F.linear(x, y, b[0])
F.conv2d(image, filters, bias, stride=2, padding=1)
F.conv2d(image, filters, dilation=2)
F.conv2d(image, filters[:, :2], bias, padding=(2, 1), groups=2)
F.conv1d(image[:, :, 0], filters[:, :, 0], bias, padding=1)
F.conv_transpose2d(image, filters.transpose(0, 1), bias, stride=2, padding=1, output_padding=1)
F.max_pool2d(image, 2)
F.max_pool2d(image, 3, stride=2, padding=1)
F.avg_pool2d(image, 2)
F.avg_pool2d(image, 3, stride=2, padding=1)
F.avg_pool2d(image, 3, stride=2, padding=1, count_include_pad=False)
F.adaptive_avg_pool2d(image, 4)
F.batch_norm(image, None, None, channels, channels, training=True)
F.batch_norm(image, channels.detach(), channels.detach() + 1, channels, None)
F.layer_norm(x, (4,), y[0], y[1])
F.layer_norm(x, (4,))
F.group_norm(image, 2, channels, channels)
F.softmax(x, 0)
F.log_softmax(x, 1)
F.scaled_dot_product_attention(image, image.flip(3), image * 2)
F.scaled_dot_product_attention(image, image.flip(3), image * 2, is_causal=True, scale=0.7)
F.scaled_dot_product_attention(image, image.flip(3), image * 2, attn_mask=image[0, 0])
F.nll_loss(x, torch.tensor([0, 3, 1]))
F.nll_loss(x, torch.tensor([0, -100, 1]), weight=y[0].detach())
F.nll_loss(x, torch.tensor([0, 3, 1]), reduction="sum")
F.nll_loss(x, torch.tensor([0, 3, 1]), reduction="none")
F.cross_entropy(image, torch.zeros(2, 6, 6, dtype=torch.long))
F.mse_loss(x, y)
F.mse_loss(x, y, reduction="sum")
F.huber_loss(x, 3 * y, delta=0.3)
F.smooth_l1_loss(x, 3 * y, beta=0.5)
F.binary_cross_entropy_with_logits(x, y.detach(), weight=x.detach())
x.mul_(2) * 3
x.to(torch.float32).tanh()
""".strip().splitlines()


class Vjps(RecordedPrograms):
    modules = (HELPERS, HERE / "programs")

    @classmethod
    def setUpClass(cls):
        asked = [TORCH, "-c", "import zmq"]
        if TORCH and subprocess.run(asked, capture_output=True, check=False, timeout=60, env=environment()).returncode:
            raise unittest.SkipTest("the interpreter that TAPEDECK_TORCH names has no pyzmq")
        super().setUpClass()

    def check(self, program, before=BEFORE):
        super().check(program, before)

    def test_formulas_that_agree_are_shown(self):
        self.check("""
            x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
            (((x @ x).tanh() * x + x.exp()).relu() / 2 - x.sin()).sum().backward()
            parts = {one["vjp"]["op"]: one for one in vjps()}
            for op in ("aten.mm", "aten.tanh", "aten.mul.Tensor", "aten.exp", "aten.relu", "aten.sum", "aten.sin", "aten.sub.Tensor"):
                assert parts[op]["problem"] is None and formula(parts[op]), (op, parts[op])
        """)

    def test_arguments_of_calls_are_in_the_formula(self):
        self.check(f"""
            import torch.nn.functional as F
            calls = {CALLS!r}
            """ """
            for number, call in enumerate(calls):
                torch.manual_seed(number)
                x, y = (torch.rand(3, 4).double() + 0.1).requires_grad_(), (torch.rand(3, 4).double() + 0.1).requires_grad_()
                image, filters = torch.randn(2, 4, 6, 6).double().requires_grad_(), torch.randn(2, 4, 3, 3).double().requires_grad_()
                b, bias, channels = torch.rand(3, 3).double(), torch.rand(2).double(), torch.rand(4).double()
                for one in (b, bias, channels):
                    one.requires_grad_()
                if "mul_" in call:
                    x = x.clone()
                result = eval(call)
                result.backward(torch.randn_like(result))
            shown = list(vjps())
            assert len(shown) > len(calls)
            wrong = [(one["vjp"]["op"], one["forward"]["attributes"], one["problem"]) for one in shown if not formula(one)]
            assert not wrong, wrong
            addmm = next(one for one in shown if "beta·dC" in one["forward"]["vjp_formula"])
            assert formula(addmm) == "dx = beta·dC, dA = alpha·dC·Bᵀ, dB = alpha·Aᵀ·dC; with x self, A mat1, B mat2", formula(addmm)
            assert saved(addmm)["beta"] == "2" and saved(addmm)["alpha"] == "3", saved(addmm)
        """)

    def test_formulas_that_do_not_fit_the_call_are_not_shown(self):
        self.check("""
            x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
            y = x.frexp()[0]
            (y.logit(0.1) + torch.linalg.vector_norm(x, ord=3)).sum().backward()
            for op, text in (("aten.frexp.Tensor", "no op like it"),
                             ("aten.logit", "no op like it"), ("aten.linalg_vector_norm", "ord = 2")):
                parts = vjp(op)
                assert parts["forward"]["vjp_formula"] == "none" and text in parts["problem"], (op, parts["problem"])
                try:
                    terms(parts, 0)
                except AssertionError as error:
                    assert text in str(error), error
                else:
                    assert False, op
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
            own, sinh = vjp("autograd.Own"), vjp("aten.sinh")
            assert own["forward"]["kind"] == "custom" and "autograd.Own" in own["forward"]["op"] and own["problem"] is None, own
            assert sinh["forward"]["vjp_formula"] == "none" and "other numbers than PyTorch's VJP" in sinh["problem"], sinh["problem"]
        """)

    def test_sums_that_cancel_have_their_formula(self):
        """The gradient of a bias in front of a batch normalisation is zero; what is computed is rounding, in each library another."""
        self.check("""
            torch.manual_seed(2)
            layer = torch.nn.Sequential(torch.nn.Linear(6, 24), torch.nn.BatchNorm1d(24))
            layer(torch.randn(128, 6)).square().mean().backward()
            assert 0 < layer[0].bias.grad.abs().max() < 1e-6
            assert vjp("aten.addmm")["problem"] is None, vjp("aten.addmm")["problem"]
        """)

    def test_an_element_is_taken_apart_into_terms(self):
        self.check("""
            torch.manual_seed(3)
            layer, filters = torch.nn.Linear(3, 2).double(), torch.nn.Conv2d(2, 3, 2, padding=1).double()
            x, image = torch.randn(4, 3).double().requires_grad_(), torch.randn(1, 2, 3, 3).double().requires_grad_()
            (layer(x).square().sum() + filters(image).cos().sum()).backward()
            addmm, convolution = vjp("aten.addmm"), vjp("aten.convolution")
            for parts, gradients in ((addmm, {0: layer.bias.grad, 1: x.grad, 2: layer.weight.grad.t()}),
                                     (convolution, {0: image.grad, 1: filters.weight.grad, 2: filters.bias.grad})):
                for input, gradient in gradients.items():
                    for element, number in enumerate(gradient.flatten().tolist()):
                        found = terms(parts, input, element)
                        assert abs(found["value"] - number) <= 1e-9 * (1 + abs(number)), (found, number)
                        assert abs(sum(one["value"] for one in found["terms"]) - number) <= 1e-9 * (1 + abs(number)), (found, number)
            of_a = terms(addmm, 1, 4)
            assert of_a["formula"] == "dA[1,1] = Σₖ dC[1,k]·B[1,k]" and len(of_a["terms"]) == 2, of_a["formula"]
            of_image = terms(convolution, 0, 4)
            assert "dz[0," in of_image["terms"][0]["expression"] and "weight[" in of_image["terms"][0]["expression"], of_image["terms"][0]
        """)

    def test_what_nodes_saved_is_named(self):
        self.check("""
            x, w = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True), torch.eye(2)
            y = (x @ w).logit(0.3)[:, torch.tensor([1, 0])].softmax(1)
            y.sum().backward(retain_graph=True)
            mm, logit, softmax, index = map(vjp, ("aten.mm", "aten.logit", "aten._softmax", "aten.index.Tensor"))
            modern = hasattr(torch._C._autograd.SavedTensor, "data")
            if modern:
                assert saved(mm)["B"] == "saved as mat2" and saved(mm)["self"] == "None (saved)", saved(mm)
            assert saved(logit)["self"].endswith("saved as self" if modern else "say)") and saved(logit)["eps"] == "0.3", saved(logit)
            assert [one["tensor"]["shape"] for one in logit["symbols"] if one["text"] and "saved as self" in one["text"]] == [[2, 2]]
            assert saved(softmax)["dim"] == "1" and "saved as result" in saved(softmax)["z"], saved(softmax)
            assert any("saved as indices[1]" in text for text in saved(index).values()), saved(index)
            y.sum().backward()
            assert saved(vjp("aten.logit"))["self"].endswith("freed since"), saved(vjp("aten.logit"))
        """)

    def test_hooks_of_saved_tensors_are_not_called_for_a_look(self):
        self.check("""
            from torch.utils.checkpoint import checkpoint
            calls = []
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            with torch.autograd.graph.saved_tensors_hooks(lambda one: one, lambda one: (calls.append("unpacked"), one)[1]):
                y = x.exp()
            y.sum().backward()
            assert calls == ["unpacked"], calls
            if hasattr(torch._C._autograd.SavedTensor, "data"):
                assert "packed by hooks of the program" in saved(vjp("aten.exp"))["z"], saved(vjp("aten.exp"))
            def again(x):
                calls.append("ran")
                return x.sin().cos()
            checkpoint(again, x, use_reentrant=False).sum().backward()
            assert calls == ["unpacked", "ran", "ran"], calls
        """)

    def test_most_vjps_of_the_programs_have_a_formula(self):
        """One VJP of each op of a program, compared with PyTorch's numbers."""
        total, reasons = collections.Counter(), collections.Counter()
        for path in PROGRAMS:
            with tempfile.NamedTemporaryFile("r") as answer:
                self.check(f"""
                    import contextlib, io, runpy
                    with contextlib.redirect_stdout(io.StringIO()):
                        runpy.run_path({str(path)!r}, run_name="__main__")
                    found = []
                    for parts in vjps(1):
                        own = parts["forward"]["kind"] == "custom"
                        kind = "custom" if own else "formula" if formula(parts) else "saved" if saved(parts) else "neither"
                        found.append([kind, parts["vjp"]["op"], parts["problem"]])
                    with open({answer.name!r}, "w") as answer:
                        json.dump(found, answer)
                """)
                for kind, op, problem in json.load(answer):
                    total[kind] += 1
                    if kind in ("saved", "neither"):
                        reasons[f"{path.stem}: {op}: {kind}: {problem}"] += 1
        explained = total["formula"] / (total["formula"] + total["saved"] + total["neither"])
        self.assertGreater(explained, 0.9, (total, reasons))


if __name__ == "__main__":
    main()
