"""Values of tensors whose memory is written through others, and what threads and compiled functions record, as test_records.py has it."""
import subprocess

from recorded_programs import RecordedPrograms
from torch_interpreter import HERE, TORCH, environment, main

HELPERS = HERE.parent / "python" / "helpers"

# A function is compiled, or an optimiser imports torch._dynamo, before ops are recorded.
BEFORE = """
import sys
import torch
from tapedeck import _engine
from tapedeck._session import torch_programs
if sys.argv[1] == "compiled":
    function = torch.compile(lambda x: x.sin() + 1)
else:
    import torch._dynamo
    function = lambda x: x.sin() + 1
_engine.debug.attach(files_are_cells=True)
torch_programs.install()
function(torch.ones(2))
print('"aten.sin"' in _engine.debug.records_json(), hasattr(torch.compiler, "set_stance"))
"""


ASKING = """
try:
    import zmq
except ImportError:
    raise unittest.SkipTest("the interpreter that TAPEDECK_TORCH names has no pyzmq") from None
client = asking()
"""


class Memory(RecordedPrograms):
    modules = (HELPERS,)

    def test_a_write_through_a_view_of_a_view_is_seen_in_its_bases(self):
        self.check("""
            base = torch.zeros(2, 2) + 1
            row = base[1]
            row[0:1].mul_(5)
            base + 0
            row + 0
            of_base, of_row = records(op="aten.add.Tensor")[1:]
            assert preview(of_base["inputs"][0]).split() == ["1.", "1.]", "[5.", "1."], of_base
            assert preview(of_row["inputs"][0]) == "5. 1.", of_row
            selected, = records(op="aten.select.int")
            assert preview(selected["outputs"][0]) == "1. 1.", "the row's value before the write"
            turned = torch.zeros(2, 2)
            turned.t()[0].fill_(2)
            turned.diagonal().mul_(3)
            turned + 0
            assert preview(records(op="aten.add.Tensor")[-1]["inputs"][0]).split() == ["6.", "0.]", "[2.", "0."], records()[-1]
        """)

    def test_a_result_written_into_a_part_of_another_tensor_is_seen_in_it(self):
        self.check("""
            whole = torch.zeros(4)
            torch.add(torch.ones(2), 1, out=whole[2:])
            whole + 0
            assert preview(records(op="aten.zeros")[0]["outputs"][0]) == "0. 0. 0. 0."
            assert preview(records(op="aten.add.out")[0]["outputs"][0]) == "2. 2."
            assert preview(records(op="aten.add.Tensor")[-1]["inputs"][0]) == "0. 0. 2. 2."
        """)

    def test_writes_to_data_and_other_data_are_seen(self):
        self.check("""
            x = torch.ones(3)
            x + 0
            x.data.add_(1)
            x + 0
            x.data = torch.full((3,), 9.0)
            x + 0
            seen = [preview(one["inputs"][0]) for one in records(op="aten.add.Tensor")]
            assert seen == ["1. 1. 1.", "2. 2. 2.", "9. 9. 9."], seen
        """)

    def test_set_and_resize_show_the_memory_that_the_tensor_then_has(self):
        self.check("""
            other = torch.tensor([0.0, 1.0, 2.0])
            x = torch.ones(2)
            x.set_(other)
            x + 0
            other.add_(1)
            x + 0
            seen = [preview(one["inputs"][0]) for one in records(op="aten.add.Tensor")]
            assert seen == ["0. 1. 2.", "1. 2. 3."], seen
            grown = torch.ones(2)
            first = grown[0]
            grown.resize_(4)
            grown.fill_(7)
            grown + 0
            first + 0
            seen = [preview(one["inputs"][0]) for one in records(op="aten.add.Tensor")][2:]
            assert seen[0] == "7. 7. 7. 7." and seen[1] == "7.0", seen
            assert preview(records(op="aten.ones")[-1]["outputs"][0]) == "1. 1."
        """)

    def test_threads_write_to_one_storage_through_views(self):
        self.check("""
            base = torch.zeros(2, 2)
            def write(row, value): base[row].fill_(value)
            for row in range(2):
                thread = threading.Thread(target=write, args=(row, row + 3.0))
                thread.start()
                thread.join()
            base + 0
            filled = records(op="aten.fill_.Scalar")
            assert len({one["thread"] for one in filled}) == 2, filled
            assert preview(records(op="aten.add.Tensor")[-1]["inputs"][0]).split() == ["3.", "3.]", "[4.", "4."], records()[-1]
        """)

    def test_workers_of_a_data_loader_leave_the_records_of_their_program_alone(self):
        self.check("""
            class Numbers(torch.utils.data.Dataset):
                def __len__(self): return 4
                def __getitem__(self, i): return torch.full((2,), float(i)).mul(2)
            loader = torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=1, multiprocessing_context="fork")
            for batch in loader:
                batch + 0
            seen = [preview(one["inputs"][0]).replace("]", "").replace("[", "").split() for one in records(op="aten.add.Tensor")]
            assert seen == [["0.", "0.", "2.", "2."], ["4.", "4.", "6.", "6."]], seen
            assert not records(op="aten.mul.Tensor"), "ops of a worker's process are none of this one's"
            assert not records(state="running"), records(state="running")
        """)

    def test_a_write_in_place_counts_once_while_it_runs(self):
        self.check("""
            def at(record):
                state = client.ask("get_memory_state", record=record["number"], group="tensor", first=0, count=50)
                held = {one["held_by"] for one in state["rows"] if one["bytes"] > 1e6}
                return sum(state[who] for who in ("variables", "tapes", "program")), held
            size = 4 << 20
            big = torch.zeros(1 << 20)
            big.mul_(2).add_(1)
            weight = torch.nn.Parameter(torch.ones(1 << 20))
            (weight[:4] * 3).sum().backward()
            torch.optim.SGD([weight], 0.1).step()
            big * 2
            big + 0
            for op, storages in (("aten.mul_.Tensor", 1), ("aten.add_.Tensor", 1)):
                bytes, held = at(records(op=op)[0])
                assert storages * size <= bytes < (storages + 0.1) * size and held == {"the program"}, (op, bytes / size, held)
            bytes, held = at(records(op="aten.add_.Tensor")[-1])
            assert 3 * size <= bytes < 3.1 * size and held == {"the program", "variable weight"}, (bytes / size, held)
            bytes, held = at(records(op="aten.mul.Tensor")[-1])  # a result of its own comes to them
            assert 4 * size <= bytes < 4.1 * size, bytes / size
            curve = client.ask("get_memory_curve", first=1, last=None, points=50)
            assert curve["peak_bytes"] < 4.2 * size, curve["peak_bytes"] / size
        """, before=ASKING)

    def test_functions_compiled_before_ops_are_recorded_are_named(self):
        for how in ("compiled", "imported"):
            with self.subTest(how):
                done = subprocess.run([TORCH, "-c", BEFORE, how], capture_output=True, text=True, timeout=120, check=False,
                                      env=environment())
                self.assertEqual(done.returncode, 0, done.stderr)
                sine, forces = done.stdout.split()
                if forces == "True" or how == "imported":
                    self.assertEqual(sine, "True", "the function ran as it was compiled")
                said = done.stderr.count("tapedeck: torch.compile:")
                if forces == "True":
                    self.assertEqual(said, 1 if how == "compiled" else 0, done.stderr)
                elif how == "compiled":
                    self.assertEqual(said, 1, done.stderr)


if __name__ == "__main__":
    main()
