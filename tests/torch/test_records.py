"""Records of PyTorch's ops, in the interpreter that TAPEDECK_TORCH names: each test is a program of its own, which looks at its records."""
import subprocess

from recorded_programs import RecordedPrograms
from torch_interpreter import TORCH, environment, main

IMPORT = """
import sys
from tapedeck import _engine
from tapedeck._session import torch_programs
assert "torch" not in sys.modules, "torch was imported before the program did"
_engine.debug.attach(files_are_cells=True)
torch_programs.install()
import torch
torch.ones(2)
assert '"aten.ones"' in _engine.debug.records_json()
"""


class Records(RecordedPrograms):
    def test_an_import_of_torch_attaches_and_nothing_imports_it_before(self):
        done = subprocess.run([TORCH, "-c", IMPORT], capture_output=True, text=True, timeout=120, check=False, env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_results_of_a_kind_that_was_recorded_without_values_are_not_all_held_later(self):
        self.check("""
            large = torch.ones(300_000)
            debug.stop()
            debug.attach(keep_values=False, files_are_cells=True)
            large.cosh()
            debug.stop()
            debug.attach(files_are_cells=True)
            for _ in range(40):
                large.cosh()
            held = debug.status()["held_bytes"]
            assert held < 20 * large.nbytes, held
        """)

    def test_each_write_makes_a_tensor_and_leaves_earlier_values(self):
        self.check("""
            x = torch.tensor([1.0, 2.0])
            view = x[0]
            y = x * 10
            x.add_(1)
            view.mul_(7)
            z = x * 100
            multiplied = records(op="aten.mul.Tensor")
            assert preview(multiplied[0]["inputs"][0]) == "1. 2.", multiplied[0]
            assert preview(multiplied[0]["outputs"][0]) == "10. 20.", multiplied[0]
            added, = records(op="aten.add_.Tensor")
            assert preview(added["inputs"][0]) == "1. 2." and preview(added["outputs"][0]) == "2. 3.", added
            assert added["inputs"][0]["id"] != added["outputs"][0]["id"]
            assert added["outputs"][0]["producer"] == added["number"]
            assert preview(multiplied[1]["inputs"][0]) == "14. 3.", multiplied[1]
            assert multiplied[0]["inputs"][0]["id"] == added["inputs"][0]["id"]
            assert multiplied[1]["inputs"][0]["id"] > added["outputs"][0]["id"]
        """)

    def test_memory_that_others_write_to_is_looked_at_again(self):
        self.check("""
            import numpy as np
            array = np.array([1.0, 2.0])
            x = torch.from_numpy(array)
            x + 0
            array[0] = 5
            x + 0
            y = torch.full([5000], 2.0)
            seen = y.numpy()
            y.mul_(3)
            assert seen[0] == 6, "a write moved the memory from under NumPy"
            first, second = records(op="aten.add.Tensor")
            assert preview(first["inputs"][0]) == "1. 2." and preview(second["inputs"][0]) == "5. 2.", (first, second)
        """)

    def test_exceptions_of_pytorch_pass_and_the_record_has_failed(self):
        self.check("""
            try:
                torch.mm(torch.ones(2, 3), torch.ones(2, 3))
            except RuntimeError as error:
                message = str(error)
            failed, = records(op="aten.mm")
            assert failed["state"] == "failed" and message in failed["error"], failed
            assert "tapedeck" not in message
        """)

    def test_a_backward_pass_is_a_playback_with_a_vjp_for_each_node(self):
        self.check("""
            x = torch.tensor([1.0, -2.0], requires_grad=True)
            y = (x * 3).relu()
            loss = y.sum()
            loss.backward()
            playback, = records(kind="playback")
            vjps = records(kind="vjp")
            assert [one["op"] for one in vjps] == ["aten.sum", "aten.relu", "aten.mul.Tensor"], vjps
            assert all(one["parent"] == playback["number"] and one["tape"] == playback["tape"] for one in vjps)
            by_number = {one["number"]: one for one in records()}
            for one in vjps:
                forward = by_number[one["forward"]]
                assert forward["op"] == one["op"] and forward["tape"] == one["tape"], (forward, one)
                assert len(one["outputs"]) == len(forward["inputs"])
            gradient = vjps[-1]["outputs"][0]
            assert preview(gradient) == "3. 0." and x.grad.tolist() == [3, 0], gradient
        """)

    def test_an_exception_in_a_backward_pass_ends_its_records(self):
        self.check("""
            class Fails(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 2
                @staticmethod
                def backward(ctx, gradient): raise ValueError("on purpose")
            x = torch.ones(2, requires_grad=True)
            loss = Fails.apply(x).sum()
            try:
                loss.backward()
            except ValueError as error:
                assert str(error) == "on purpose"
            else:
                assert False, "the exception was lost"
            assert not records(state="running"), records(state="running")
            playback, = records(kind="playback")
            assert "on purpose" in playback["error"], playback
            torch.ones(2) + 1
            assert records()[-1]["depth"] == 0
        """)

    def test_modules_are_scopes(self):
        self.check("""
            class Block(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.inner = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
                def forward(self, x): return self.inner(x) + 1
            block = Block()
            block(torch.ones(1, 2)).sum().backward()
            relu, = records(op="aten.relu", kind="op")
            assert relu["scope"] == "inner/1", relu
            assert records(op="aten.relu", kind="vjp")[0]["scope"] == "inner/1"
            assert records(op="aten.sum", kind="op")[0]["scope"] == ""
        """)

    def test_threads_that_the_program_starts_are_recorded(self):
        self.check("""
            torch.ones(1)  # on the first thread
            class Own(threading.Thread):
                def run(self): torch.ones(3).cos()
            for thread in (threading.Thread(target=lambda: torch.ones(3).sin()), Own()):
                thread.start()
                thread.join()
            sin, = records(op="aten.sin")
            cos, = records(op="aten.cos")
            assert len({sin["thread"], cos["thread"], 0}) == 3
        """)

    def test_a_gradient_that_arrives_at_its_variable_is_a_record(self):
        self.check("""
            w = torch.tensor([1.0, 2.0], requires_grad=True)
            for _ in range(2):
                (w * 3).sum().backward()
            arrivals, playbacks = records(op="autograd.AccumulateGrad"), records(kind="playback")
            assert [one["parent"] for one in arrivals] == [one["number"] for one in playbacks], arrivals
            variable, gradient = arrivals[1]["inputs"]
            assert preview(variable) == "1. 2." and preview(gradient) == "3. 3.", arrivals
            multiplied = records(kind="vjp", op="aten.mul.Tensor")[1]
            assert multiplied["outputs"][0]["id"] == gradient["id"], (multiplied, arrivals)
            assert w.grad.tolist() == [6, 6]
        """)

    def test_an_own_function_and_a_sum_of_gradients_in_a_backward_pass(self):
        self.check("""
            class Triple(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 3
                @staticmethod
                def backward(ctx, gradient):
                    return gradient * 3
            x = torch.ones(2, requires_grad=True)
            y = x.exp()
            (Triple.apply(y) + y * 2).sum().backward()
            own, = records(kind="vjp", op="autograd.Triple")
            assert preview(own["outputs"][0]) == "3. 3.", own
            assert own["line"] == Triple.backward.__code__.co_firstlineno + 2, own
            added, = [one for one in records(op="aten.add.Tensor") if one["sums_gradients"]]
            assert added["parent"] == records(kind="playback")[0]["number"] and preview(added["outputs"][0]) == "5. 5.", added
        """)

    def test_a_backward_pass_may_begin_at_an_edge_of_the_graph(self):
        self.check("""
            if not hasattr(torch.autograd.graph, "get_gradient_edge"):
                raise unittest.SkipTest(f"PyTorch {torch.__version__} has no edges for Python")
            x = torch.ones(2, requires_grad=True)
            edge = torch.autograd.graph.get_gradient_edge((x * 3).sum())
            try:
                torch.autograd.backward(edge)
            except TypeError as refused:
                raise unittest.SkipTest(f"PyTorch {torch.__version__} begins at tensors alone: {refused}")
            assert x.grad.tolist() == [3, 3] and records(kind="vjp", op="aten.mul.Tensor")
        """)

    def test_memory_of_a_storage_that_is_gone_shows_no_older_value(self):
        self.check("""
            for number in range(600):
                x = torch.full([4], float(number))
                x + 0
                del x
            for number, one in enumerate(records(op="aten.add.Tensor")):
                assert preview(one["inputs"][0]).split()[0] == f"{number}.", (number, one)
        """)

    def test_memory_whose_address_others_got_stays_where_it_is(self):
        self.check("""
            import ctypes
            import torch.utils.dlpack
            for name in ("dlpack", "storage", "address"):
                x = torch.full([50_000], 2.0)
                if name == "dlpack":
                    seen = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
                    first = lambda: seen[0].item()
                else:
                    address = x.untyped_storage().data_ptr() if name == "storage" else x.data_ptr()
                    first = lambda: ctypes.c_float.from_address(address).value
                x + 0
                x.mul_(3)
                assert first() == 6, f"{name}: a write moved the memory"
            x = torch.full([4], 2.0)
            x + 0
            x.untyped_storage().fill_(0)
            x + 0
            assert preview(records(op="aten.add.Tensor")[-1]["inputs"][0]) == "0. 0. 0. 0."
        """)

    def test_steps_of_optimisers_are_scopes_also_where_a_closure_raises(self):
        self.check("""
            model = torch.nn.Sequential(torch.nn.Linear(2, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
            def closure():
                optimizer.zero_grad()
                loss = model(torch.ones(1, 2)).sum()
                loss.backward()
                return loss
            optimizer.step(closure)
            assert {one["scope"] for one in records(op="aten.addmm", kind="op")} == {"0"}
            assert {one["scope"] for one in records(op="aten.add_.Tensor")} == {"SGD.step"}, records()
            class Broken(torch.nn.Module):
                def forward(self, x): raise KeyError("on purpose")
            broken = torch.nn.Sequential(Broken())
            try:
                optimizer.step(lambda: broken(torch.ones(2)))
            except KeyError:
                pass
            torch.ones(3).sqrt()
            assert records(op="aten.sqrt")[0]["scope"] == "", records(op="aten.sqrt")
        """)

    def test_copies_of_a_module_on_several_devices_are_refused(self):
        self.check("""
            import importlib
            model = torch.nn.Linear(2, 2)
            assert torch.nn.DataParallel(model)(torch.ones(1, 2)).shape == (1, 2)
            try:
                importlib.import_module("torch.nn.parallel.data_parallel").replicate(model, [0, 1])
            except RuntimeError as error:
                assert "device_ids=[0]" in str(error) and "DistributedDataParallel" in str(error), error
            else:
                assert False, "it was not refused"
        """)

    def test_compiled_functions_run_as_written_while_ops_are_recorded(self):
        self.check("""
            import contextlib
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                functions = [torch.compile(lambda x: x.sin() + 1) for _ in range(2)]
            assert said.getvalue().count("torch.compile") == 1, said.getvalue()
            functions[0](torch.ones(2))
            assert [one["op"] for one in records()][-2:] == ["aten.sin", "aten.add.Tensor"], records()
        """)

    def test_scalars_of_summary_writers_are_points_of_plots(self):
        self.check("""
            import pathlib, tempfile
            from unittest import mock
            with tempfile.TemporaryDirectory() as folder, mock.patch.object(debug, "add_scalar") as added:
                package = pathlib.Path(folder, "tensorboardX")
                package.mkdir()
                (package / "__init__.py").write_text("from .writer import SummaryWriter")
                (package / "writer.py").write_text(chr(10).join([
                    "class SummaryWriter:",
                    "    def __init__(self, logdir): self.logdir, self.written = logdir, []",
                    "    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None): self.written.append(tag)",
                    "    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None): pass"]))
                sys.path.insert(0, folder)
                from tensorboardX import SummaryWriter
                train, test = SummaryWriter("runs/train"), SummaryWriter("runs/test")
                loss = torch.tensor(2.5)
                count = len(records())
                train.add_scalar("loss", loss, global_step=7)
                test.add_scalar("loss", 3.5)
                test.add_scalar("loss", 4.5)
                train.add_scalar("name", "no number")
                train.add_scalars("rates", {"a": 1.0}, 2)
                points = [call.args for call in added.call_args_list]
            assert points == [("loss", 7, 2.5), ("loss (test)", 0, 3.5), ("loss (test)", 1, 4.5), ("rates/a", 2, 1.0)], points
            assert train.written == ["loss", "name"] and len(records()) == count, records()[count:]
        """)

    def test_what_has_no_value_says_why(self):
        self.check("""
            torch.ones(3, device="meta") + 1
            torch.ones(3).to_sparse()
            half = torch.ones(2, dtype=torch.bfloat16) * 2
            added = records(op="aten.add.Tensor")[0]
            assert added["outputs"][0]["shape"] == [3] and not added["outputs"][0].get("preview"), added
            doubled = records(op="aten.mul.Tensor")[0]["outputs"][0]
            assert doubled["dtype"] == "bfloat16" and preview(doubled) == "2. 2.", doubled
        """)

    def test_complex_numbers_beside_tensors(self):
        self.check("""
            x = torch.full((3,), 2, dtype=torch.complex64)
            y = x * 1j
            z = y + (1 - 2j)
            assert torch.equal(z, torch.full((3,), 1 + 0j, dtype=torch.complex64)), z
            for record in records(op="aten.mul.Tensor") + records(op="aten.add.Tensor"):
                assert not record.get("error"), record
        """)

    def test_an_interrupt_while_a_kind_of_op_is_tried_again_is_the_programs(self):
        # The first call of a kind runs twice.
        self.check("""
            calls = []
            def sinh(x):
                calls.append(x)
                if len(calls) == 2:
                    raise KeyboardInterrupt
                return x.exp()
            library = torch.library.Library("aten", "IMPL")
            library.impl("sinh", sinh, "CPU")
            try:
                y = torch.ones(2).sinh()
                for _ in range(1000):
                    pass
                raise AssertionError("the interrupt was lost")
            except KeyboardInterrupt:
                pass
            assert len(calls) == 2, calls
            torch.ones(2).sinh()
            assert len(calls) == 4, "the kind is tried again"
        """)


if __name__ == "__main__":
    main()
