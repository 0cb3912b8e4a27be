"""Which gradient of a node is that of which input, and that nothing of the program's sees how it is known."""
import json

from recorded_programs import RecordedPrograms
from test_graph import WITHOUT_HOOK
from torch_interpreter import PROGRAMS, Runs, main

# A program as a function that returns what it came to: run before recording begins, and then recorded.
TWICE = """
import contextlib, io
def come_to(run):
    torch.manual_seed(0)
    return run()
"""


class Gradients(RecordedPrograms):
    def check_both(self, program):
        """Where PyTorch reports its nodes, and where it does not."""
        for before in ("", WITHOUT_HOOK):
            with self.subTest(before=before):
                self.check(program, before)

    def test_hooks_on_nodes_of_twenty_programs_saw_what_their_vjps_show(self):
        runs = Runs("differentiated")
        self.addCleanup(runs.close)
        for path in PROGRAMS:
            with self.subTest(path.stem):
                self.assertEqual(runs.exit[path.stem], "0", runs.err[path.stem])
                found = json.loads((runs.folder / f"{path.stem}.json").read_text(encoding="utf-8"))
                self.assertEqual(found["wrong"], [])
                self.assertNotIn("not known which inputs", runs.err[path.stem])
                if path.stem != "function_transforms":  # whose graphs are of other levels
                    self.assertGreater(found["nodes"], 10, found)
                self.assertGreaterEqual(found["gradients"], found["nodes"] // 2, found)

    def test_the_gradient_is_that_of_the_input_behind_what_has_none(self):
        self.check_both("""
            x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
            mask, whole, ones = torch.tensor([True, False, True]), torch.tensor([2, 3, 4]), torch.ones(3)
            functional = torch.nn.functional
            def of_slice():
                base = torch.zeros(4)
                base[1:].mul_(x)
                return base
            programs = [  # the place of the input whose gradient is x's
                ("mul", 0, lambda: x * mask), ("mul", 1, lambda: mask * x), ("mul", 1, lambda: whole * x), ("add", 1, lambda: whole + x),
                ("pow", 1, lambda: torch.pow(whole, x)), ("mul", 1, lambda: torch.mul(2.0, x)), ("sub", 1, lambda: torch.sub(1.0, x)),
                ("rsub", 0, lambda: 1 - x), ("addcmul", 2, lambda: torch.addcmul(ones, whole, x)),
                ("clamp", 2, lambda: torch.clamp(ones * 9, max=x)), ("atan2", 1, lambda: torch.atan2(whole, x)),
                ("native_layer_norm", 2, lambda: functional.layer_norm(ones, (3,), None, x)),
                ("mse_loss", 1, lambda: functional.mse_loss(ones, x)), ("where", 1, lambda: torch.where(mask, x, 0.0)),
                ("where", 2, lambda: torch.where(mask, 0.0, x)), ("lerp", 2, lambda: torch.lerp(ones * 0, ones, x)),
                ("index_put", 2, lambda: ones.index_put((whole - 2,), x)),
                ("index_put", 3, lambda: torch.ops.aten.index_put(ones[None], [None, whole - 2], x[None])),
                ("cat", 1, lambda: torch.cat([whole, x])), ("stack", 0, lambda: torch.stack([x, ones])),
                ("mul_", 1, lambda: (ones * 1).mul_(x)), ("scatter_add", 2, lambda: ones.scatter_add(0, whole - 2, x))]
            for name, place, program in programs:
                first, x.grad = records()[-1]["number"] if records() else 0, None
                program().sum().backward()
                vjp, = [one for one in records(kind="vjp") if one["number"] > first and one["op"].split(".")[1] == name]
                given = [place for place, one in enumerate(vjp["outputs"]) if one["id"]]
                shown = [float(part) for part in preview(vjp["outputs"][place]).split()] if given == [place] else given
                assert given == [place] and torch.allclose(torch.tensor(shown), x.grad), (name, place, vjp["outputs"], x.grad)
            x.grad = None
            of_slice().sum().backward()
            copied, = records(kind="vjp", op="autograd.CopySlices")
            assert [bool(one["id"]) for one in copied["outputs"]] == [False, True], copied
            assert preview(copied["outputs"][1]) == "0. 0. 0." and x.grad.tolist() == [0, 0, 0], copied
        """)

    def test_each_of_300_inputs_has_its_gradient(self):
        self.check_both("""
            xs = [torch.ones(2, requires_grad=True) for _ in range(300)]
            (torch.stack(xs) * torch.arange(300.0)[:, None]).sum().backward()
            vjp, = [one for one in records(kind="vjp") if "stack" in one["op"]]
            assert [preview(one) for one in vjp["outputs"]] == [f"{i}. {i}." for i in range(300)], vjp
            class Sum(torch.autograd.Function):
                @staticmethod
                def forward(ctx, *parts): return torch.stack(parts).sum(0)
                @staticmethod
                def backward(ctx, gradient): return tuple(gradient * i for i in range(300))
            Sum.apply(*xs).sum().backward()
            vjp, = records(kind="vjp", op="autograd.Sum")
            assert [preview(one) for one in vjp["outputs"]] == [f"{i}. {i}." for i in range(300)], vjp
        """)

    def test_ops_of_lists(self):
        self.check("""
            x, y, z = (torch.tensor([value], requires_grad=True) for value in (2.0, 3.0, 5.0))
            first, second = torch._foreach_mul([x, torch.ones(1)], [y, z])
            (first + second * 7).sum().backward()
            found = [[preview(one) if one["id"] else "" for one in vjp["outputs"]] for vjp in records(kind="vjp") if "foreach" in vjp["op"]]
            assert found in ([["3.", "", "2.", "7."]],  # one node
                             []), found  # one for each, of which it is not known
            assert [one.grad.item() for one in (x, y, z)] == [3, 2, 7]
        """)

    def test_places_are_not_known_where_edges_and_inputs_do_not_agree(self):
        self.check("""
            x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
            places = lambda tensor, *leads_on: _engine.torch.places_of_edges(made(tensor), leads_on, False)
            def made(tensor):
                tensor.sum().backward(retain_graph=True)
                return tensor.grad_fn.metadata[_engine.torch.FORWARD]
            assert places(x * w, True, True) == [0, 1] and places(2 * torch.addcmul(x, torch.arange(3), w), True, False) == [0, -1]
            added = torch.addcmul(x, torch.arange(3), w)
            assert places(added, True, False, True) == [0, -1, 2] and places(added, False, True, False, True) == [-1, 0, -1, 2]
            for leads_on in ((), (True,), (True, False, False), (True, True, True)):
                assert places(added, *leads_on) is None, leads_on
            assert _engine.torch.places_of_edges(made(added), (True, True), True) == [0, 2]  # the base, and the other one
            said = io.StringIO()
            import contextlib
            from tapedeck.torch import backward
            backward._engine.torch.places_of_edges, original = lambda *arguments: None, _engine.torch.places_of_edges
            with contextlib.redirect_stderr(said):
                (x * w).sum().backward()
            _engine.torch.places_of_edges = original
            assert "2 nodes" in said.getvalue() and "not known which inputs" in said.getvalue(), said.getvalue()
        """)

    def test_passes_through_a_graph_that_is_kept_walk_through_what_is_new(self):
        self.check("""
            from tapedeck.torch import backward
            walked, walk = [], backward._Walk.__iter__
            def counted(self):
                for one in walk(self):
                    walked.append(one)
                    yield one
            backward._Walk.__iter__ = counted
            x, w = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
            def ends_of_chain():
                y, ends = x, []
                for step in range(100):
                    y = y * 1.01 if step else y * w
                    ends.append(y.sum())
                return y, ends
            y, ends = ends_of_chain()
            for end in ends:
                torch.autograd.grad(end, x, retain_graph=True)
            assert len(walked) == 2 * 100 + 2, len(walked)
            walked.clear()
            y, ends = ends_of_chain()
            for end in ends:
                end.backward(retain_graph=True)
            assert len(walked) < 5 * 100, len(walked)
            playbacks = records(kind="playback")
            assert len(playbacks) == 200 and all(len(one["outputs"]) == 2 for one in playbacks[100:]), playbacks[100]
            assert all(preview(one["outputs"][0]) for one in playbacks), playbacks
            z = torch.ones(4, requires_grad=True)
            (y * z).sum().backward()  # a new leaf and what is known
            last = records(kind="playback")[-1]
            assert len(last["outputs"]) == 3 and all(one["id"] for one in last["outputs"]), last
        """)

    def test_first_backward_passes_of_threads_together(self):
        self.check("""
            at_once, raised = threading.Barrier(6), []
            graphs = [(leaf, (leaf * 2).sum()) for leaf in (torch.ones(3, requires_grad=True) for _ in range(6))]
            def play(graph):
                at_once.wait()
                try:
                    graph[1].backward()
                except BaseException as error:
                    raised.append(error)
            threads = [threading.Thread(target=play, args=(graph,)) for graph in graphs]
            for one in threads: one.start()
            for one in threads: one.join()
            assert not raised and all(leaf.grad.tolist() == [2, 2, 2] for leaf, _ in graphs), raised
            arrived = records(op="autograd.AccumulateGrad")
            assert len(arrived) == 6 and len({one["thread"] for one in arrived}) == 6, arrived
        """)

    def check_twice(self, program, check):
        """`run()`, which the program defines, comes to the same recorded as before recording; then `check`."""
        before = TWICE + "\nplain = come_to(run)\n"
        self.check("recorded = come_to(run)\nassert recorded == plain, (recorded, plain)\n" + check, program + before)

    def test_modes_of_the_program_see_what_they_see_without_recording(self):
        self.check_twice("""
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
def run():
    log = []
    class Ops(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            log.append("op " + str(function))
            return function(*args, **(kwargs or {}))
    class Calls(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            log.append("call " + getattr(function, "__name__", str(function)))
            return function(*args, **(kwargs or {}))
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x): return x * 2
        @staticmethod
        def backward(ctx, gradient): return gradient * 2
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for modes in ((Ops(),), (Calls(),), (Ops(), Calls())):
        with contextlib.ExitStack() as entered:
            for mode in modes: entered.enter_context(mode)
            Twice.apply(model(torch.ones(3, 4))).sum().backward()
            torch.autograd.backward(model(torch.ones(3, 4)).sum())  # itself seen by no mode of functions
            optimizer.step()
    return log, [one.tolist() for one in model.parameters()]
""", """
assert len(recorded[0]) > 50 and len(records(op="autograd.AccumulateGrad")) == 24, records(op="autograd.AccumulateGrad")
""")

    def test_subclasses_see_the_ops_that_they_see_without_recording(self):
        self.check_twice("""
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
class Plain(torch.Tensor): pass
try:
    with Passing():
        (torch.ones(3).as_subclass(Plain).requires_grad_() * 3).sum().backward()
except RuntimeError as refusal:
    raise unittest.SkipTest(f"this release cannot do that under a mode: {refusal}")
def run():
    log = []
    class Wrapped(torch.Tensor):
        @staticmethod
        def __new__(cls, inner, requires_grad=False):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=requires_grad)
        def __init__(self, inner, requires_grad=False):
            self.inner = inner
        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            log.append(str(function))
            inner = lambda one: one.inner if isinstance(one, Wrapped) else one
            found = function(*pytree.tree_map(inner, args), **pytree.tree_map(inner, kwargs or {}))
            return pytree.tree_map(lambda one: Wrapped(one) if isinstance(one, torch.Tensor) else one, found)
    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            log.append(getattr(function, "__name__", str(function)))
            return super().__torch_function__(function, types, args, kwargs or {})
    w = torch.nn.Parameter(Wrapped(torch.ones(3)))
    (w * 2).sum().backward()
    named = torch.ones(3).as_subclass(Named).requires_grad_()
    (named * 3).sum().backward()
    torch.autograd.backward((torch.Tensor.detach(named).requires_grad_() * 2).sum())
    return log, type(w.grad).__name__, w.grad.inner.tolist(), named.grad.tolist()
""", """
assert recorded[1:3] == ("Wrapped", [2, 2, 2]) and len(recorded[0]) > 6, recorded
assert len(records(op="autograd.AccumulateGrad")) >= 2
""")

    def test_distributed_tensors_and_sharded_modules_have_gradients(self):
        self.check_twice("""
def run():
    import torch.distributed as dist
    try:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        from torch.distributed.tensor import Shard, distribute_tensor
    except ImportError:  # before 2.6
        return None
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    mesh = init_device_mesh("cpu", (1,))
    w = torch.nn.Parameter(distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)]))
    (distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)]) * w).sum().backward()
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    fully_shard(model, mesh=mesh)
    model(torch.ones(2, 4)).sum().backward()
    found = type(w.grad).__name__, w.grad.to_local().tolist(), model[0].weight.grad.full_tensor().tolist()
    dist.destroy_process_group()
    return found
""", """
assert recorded is None or recorded[0] == "DTensor" and len(records(op="autograd.AccumulateGrad")) >= 3, recorded
""")


if __name__ == "__main__":
    main()
