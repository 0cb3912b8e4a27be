"""What if? of PyTorch programs: what the window says for a changed value is what PyTorch computes with it."""
import json
import subprocess
import tempfile
import textwrap
import unittest

from torch_interpreter import HERE, TORCH, environment, main, needs_module

# Runs programs from standard input in forks of one process, each served and asked by itself.
RUNNER = """
import json, math, os, secrets, struct, sys, traceback
import torch
from tapedeck import _engine
from tapedeck._session import torch_programs
from debug_client import Client
debug = _engine.debug
FOLDER = sys.argv[1]

def records(**wanted):
    return [one for one in json.loads(debug.records_json()) if all(one.get(name) == value for name, value in wanted.items())]

def op(name, number=0):
    return records(kind="op", op=name)[number]

def change(kind, **what):
    numbers = what.pop("numbers", [])
    absent = dict.fromkeys(("tensor", "element", "record", "attribute", "text", "result"))
    return dict(absent, kind=kind, numbers=struct.pack(f"<{len(numbers)}d", *numbers), **what)

def branch_of(*changes, sets=()):
    return client.ask("make_branch", changes=list(changes), sets=list(sets), last=None)

def value_in(branch, tensor):
    count = math.prod(tensor["shape"])
    tile = dict(tensor=tensor["id"], reshape=[count], slice=None, row=0, column=0, rows=1, columns=count, row_step=1, column_step=1,
                cell="mean")
    values = client.ask("get_branch_tile", branch=branch["branch"], difference=False, tile=tile)["values"]
    return list(struct.unpack(f"<{count}d", values))

def refused(function, *arguments):
    try:
        function(*arguments)
    except AssertionError as error:
        return error.args[0][2]
    assert False, "it was not refused"

def same(shown, tensor):
    assert shown == tensor.detach().double().flatten().tolist(), (shown, tensor)

for line in sys.stdin:
    name, program = json.loads(line)
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        torch.set_num_threads(1)
        problem = ""
        try:
            endpoint, key = f"ipc://{FOLDER}/{os.getpid()}", secrets.token_hex(16)
            debug.start(endpoint, key.encode())
            torch_programs.install()
            client = Client(dict(endpoint=endpoint, key=key, protocol_version=debug.PROTOCOL_VERSION))
            exec(compile(program, name, "exec"), globals())
        except BaseException:
            problem = traceback.format_exc()
        print(json.dumps([name, problem]), flush=True)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if status != 0:
        print(json.dumps([name, f"the process ended with status {status}"]), flush=True)
"""


@needs_module
class WhatIf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        variables = environment()
        variables["PYTHONPATH"] = ":".join(filter(None, [variables.get("PYTHONPATH"), str(HERE.parent / "python/helpers")]))
        if subprocess.run([TORCH, "-c", "import zmq"], capture_output=True, check=False, timeout=60, env=variables).returncode:
            raise unittest.SkipTest("the interpreter that TAPEDECK_TORCH names has no pyzmq")
        folder = tempfile.TemporaryDirectory(prefix="td-")
        cls.addClassCleanup(folder.cleanup)
        cls.runner = subprocess.Popen([TORCH, "-c", RUNNER, folder.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env=variables)
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        cls.runner.stdin.close()
        cls.runner.stdout.close()
        cls.runner.wait(timeout=60)

    def check(self, program):
        self.runner.stdin.write(json.dumps([self.id(), textwrap.dedent(program)]) + "\n")
        self.runner.stdin.flush()
        _, problem = json.loads(self.runner.stdout.readline())
        self.assertEqual(problem, "")

    def test_a_changed_weight_goes_through_views_writes_backward_and_the_optimiser(self):
        self.check("""
            noise = None
            def train(values):
                global noise
                w = torch.tensor(values, requires_grad=True)
                h = torch.ones(2, 3) * w
                h[0].mul_(2)
                if noise is None:
                    noise = torch.randn_like(h)
                loss = (h * noise).relu().sum()
                loss.backward()
                optimizer = torch.optim.SGD([w], lr=0.1)
                optimizer.step()
                return (w * 2).exp()
            train([1.0, -2.0, 3.0])
            weight, result = op("aten.mul.Tensor")["inputs"][1], op("aten.exp")["outputs"][0]
            loss = op("aten.sum")["outputs"][0]
            branch = branch_of(change("value", tensor=weight["id"], numbers=[-2.0, 2.0, 3.0]))
            same(value_in(branch, result), train([-2.0, 2.0, 3.0]))
            same(value_in(branch, loss), (torch.tensor([[-4.0, 4.0, 6.0], [-2.0, 2.0, 3.0]]) * noise).relu().sum())
            assert not branch["notes"], branch["notes"]
        """)

    def test_what_is_written_through_a_view_is_read_through_the_whole(self):
        self.check("""
            a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
            x = torch.zeros(2, 2)
            x[0] = a
            x[:, 1] = b
            y = x.exp()
            x.view(4).add_(a.sum())
            z = x.exp()
            first = op("aten.copy_")["inputs"][1]
            branch = branch_of(change("element", tensor=first["id"], element=[0], numbers=[5.0]))
            same(value_in(branch, op("aten.exp")["outputs"][0]), torch.tensor([[5.0, 3.0], [0.0, 4.0]]).exp())
            same(value_in(branch, op("aten.exp", 1)["outputs"][0]), torch.tensor([[12.0, 10.0], [7.0, 11.0]]).exp())
        """)

    def test_a_change_of_a_view_that_its_base_does_not_get_is_said(self):
        self.check("""
            x = torch.ones(2, 2)
            row = x[0]
            row.exp()
            x.sum()
            branch = branch_of(change("value", tensor=op("aten.select.int")["outputs"][0]["id"], numbers=[3.0]))
            same(value_in(branch, op("aten.exp")["outputs"][0]), torch.tensor([3.0, 3.0]).exp())
            assert any("shares its memory" in note and "aten.sum" in note for note in branch["notes"]), branch["notes"]
        """)

    def test_random_ops_keep_what_they_drew_and_say_so_where_it_depends_on_the_change(self):
        self.check("""
            x = torch.tensor([0.25, 0.5, 0.75])
            x * torch.rand_like(x)
            drawn = torch.bernoulli(x) * 2
            noise = op("aten.rand_like")["outputs"][0]
            source = op("aten.mul.Tensor")["inputs"][0]
            branch = branch_of(change("value", tensor=source["id"], numbers=[1.0]))
            same(value_in(branch, op("aten.mul.Tensor")["outputs"][0]), torch.tensor(value_in(branch, noise)))
            same(value_in(branch, op("aten.mul.Tensor", 1)["outputs"][0]), drawn)
            note, = branch["notes"]
            assert note.startswith("aten.bernoulli (op ") and "keeps its recorded result" in note, note
            said = refused(branch_of, change("attribute", record=op("aten.bernoulli")["number"], attribute="generator", text="1"))
            assert "draws random numbers" in said["reason"], said
        """)

    def test_an_op_with_another_attribute(self):
        self.check("""
            x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
            torch.add(x, x, alpha=2).sum(1).exp()
            added, summed = op("aten.add.Tensor"), op("aten.sum.dim_IntList")
            branch = branch_of(change("attribute", record=added["number"], attribute="alpha", text="-0.5"))
            same(value_in(branch, op("aten.exp")["outputs"][0]), (x * 0.5).sum(1).exp())
            branch = branch_of(change("attribute", record=summed["number"], attribute="dim", text="[0]"))
            same(value_in(branch, op("aten.exp")["outputs"][0]), (x * 3).sum(0).exp())
            said = refused(branch_of, change("attribute", record=summed["number"], attribute="dim", text="first"))
            assert "needs" in said["reason"] or "takes integers" in said["reason"], said
        """)

    def test_a_number_that_happened_to_be_whole_is_scaled(self):
        self.check("""
            x, y = torch.tensor([1.0, 2.0]), torch.zeros(2)
            for _ in range(3):
                y.add_(x, alpha=1)
            torch.ones(2, 3).cumsum(1)
            last = records(op="aten.add_.Tensor")[-1]
            scaled = dict(filter="op:aten.add_.Tensor", subject="alpha", action="scale", value="0.25")
            branch = branch_of(sets=[scaled])
            assert branch["ops"] == 3, branch
            same(value_in(branch, last["outputs"][0]), x * 0.75)
            said = refused(lambda: branch_of(sets=[dict(scaled, filter="op:aten.cumsum", subject="dim", value="0.5")]))
            assert "takes integers, and of 1 the change makes 0.5" in said["reason"], said
        """)

    def test_what_python_read_of_a_moved_value_is_said(self):
        self.check("""
            x = torch.tensor([1.0, 2.0])
            factor = x.sum().item()
            x * factor
            source = op("aten.sum")["inputs"][0]
            branch = branch_of(change("value", tensor=source["id"], numbers=[5.0]))
            use, = branch["reads"]
            assert (use["link"], use["op"]) == ("same", "aten.mul.Tensor"), branch["reads"]
        """)

    def test_an_op_that_cannot_run_again_is_named_with_the_reason(self):
        self.check("""
            library = torch.library.Library("mine", "FRAGMENT")
            library.define("twice(Tensor x) -> Tensor")
            library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
            x = torch.tensor([1.0])
            y = torch.ops.mine.twice(x + 1)
            y + 1
            branch = branch_of(change("value", tensor=op("aten.add.Tensor")["inputs"][0]["id"], numbers=[5.0]))
            assert "mine.twice" in branch["sentence"] and "not reproducible" in branch["sentence"], branch["sentence"]
            same(value_in(branch, op("aten.add.Tensor")["outputs"][0]), torch.tensor([6.0]))
        """)


if __name__ == "__main__":
    main()
