"""Values on other devices than the CPU. A device that is only pretended has them (pretended_device.py), so that all of it runs on machines
without a GPU; tests/cuda/torch_on_gpu.py does the same on a GPU. And conjugates and negatives that PyTorch has not computed."""
import functools
import pathlib
import subprocess

from recorded_programs import RecordedPrograms
from torch_interpreter import TORCH, environment, main

HERE = pathlib.Path(__file__).resolve().parent
HELPERS = HERE.parent / "python/helpers"
BEFORE = f"""
sys.path[:0] = [{str(HERE)!r}, {str(HELPERS)!r}]
import pretended_device
pretended_device.install()
"""
# A server beside the program, as the window asks it.
CLIENT = """
import secrets, struct, tempfile
from debug_client import Client
folder = tempfile.mkdtemp(prefix="td-")
entry = dict(endpoint=f"ipc://{folder}/socket", key=secrets.token_hex(16), protocol_version=debug.PROTOCOL_VERSION)
_engine.debug.attach = lambda **unused: _engine.debug.start(entry["endpoint"], entry["key"].encode())

def tile(client, tensor, rows, columns, row_step=1, column_step=1, cell="mean"):
    found = client.ask("get_tile", tensor=tensor["id"], reshape=None, slice=None, row=0, column=0, rows=rows, columns=columns,
                       row_step=row_step, column_step=column_step, cell=cell)
    return list(struct.unpack(f"<{len(found['values']) // 8}d", found["values"]))
"""


@functools.cache
def can_pretend():
    found = subprocess.run([TORCH, "-c", "import pretended_device; print(pretended_device.AVAILABLE)"], capture_output=True, text=True,
                           timeout=120, check=False, cwd=HERE, env=environment())
    return found.stdout.strip() == "True"


class Devices(RecordedPrograms):
    def setUp(self):
        if not can_pretend():
            self.skipTest("this release of PyTorch cannot register a device in Python")

    def on_device(self, program, before=""):
        self.check(program, BEFORE + before)

    def test_values_are_what_the_program_computed_even_after_writes(self):
        self.on_device("""
            x = torch.arange(6.).reshape(2, 3).to("pretended")
            y = x * 2
            y.add_(1)
            y[0].zero_()
            multiplied, = records(op="aten.mul.Tensor")
            assert multiplied["outputs"][0]["device"] == "pretended:0", multiplied
            added, = records(op="aten.add_.Tensor")
            with torch.utils._python_dispatch._disable_current_modes(), Client(entry) as client:  # it computes again what is gone
                assert tile(client, multiplied["outputs"][0], 2, 3) == [0, 2, 4, 6, 8, 10]
                assert tile(client, added["inputs"][0], 2, 3) == [0, 2, 4, 6, 8, 10]
                assert tile(client, added["outputs"][0], 2, 3) == [1, 3, 5, 7, 9, 11]
        """, CLIENT)

    def test_recording_waits_for_the_device_only_to_try_an_op_or_where_one_looks(self):
        self.on_device("""
            x = torch.ones(3).to("pretended")
            x * 2  # is tried once
            x.add_(1)
            pretended_device.waits.clear()
            for _ in range(3):
                y = x * 2
                x.add_(1)
            assert "synchronize" not in pretended_device.waits, pretended_device.waits
            assert preview(records(op="aten.mul.Tensor")[-1]["outputs"][0]) == "8. 8. 8."
            assert "synchronize" in pretended_device.waits
        """)

    def test_without_values_nothing_is_copied(self):
        self.on_device("""
            debug.stop()
            _engine.debug.attach(keep_values=False)
            x = torch.ones(3).to("pretended")
            pretended_device.waits.clear()
            y = x * 2
            x.add_(1)
            assert not [op for op in pretended_device.waits if "clone" in op or "copy" in op or op == "synchronize"], pretended_device.waits
            assert records(op="aten.mul.Tensor")[-1]["outputs"][0]["device"] == "pretended:0"
        """)

    def test_only_what_is_looked_at_leaves_the_device(self):
        self.on_device("""
            x = torch.arange(4000., dtype=torch.float64).reshape(40, 100).to("pretended")
            y = x + 0.5
            made = records(op="aten.add.Tensor")[-1]["outputs"][0]
            here = (torch.arange(4000., dtype=torch.float64) + 0.5).reshape(40, 100)
            copied = []
            plain = pretended_device.to_host
            pretended_device.to_host = lambda there, here: (copied.append(there.numel()), plain(there, here))[1]
            with torch.utils._python_dispatch._disable_current_modes(), Client(entry) as client:
                assert tile(client, made, 2, 3) == here[:2, :3].flatten().tolist()
                assert max(copied) == 6, copied
                for cell, shown in (("mean", here.reshape(4, 10, 20, 5).mean((1, 3))), ("maximum", here.reshape(4, 10, 20, 5).amax((1, 3))),
                                    ("minimum", here.reshape(4, 10, 20, 5).amin((1, 3))),
                                    ("extreme", here.reshape(4, 10, 20, 5).amax((1, 3)))):
                    found = tile(client, made, 4, 20, 10, 5, cell)
                    assert torch.allclose(torch.tensor(found, dtype=torch.float64), shown.flatten()), (cell, found)
                found = client.ask("get_statistics", tensor=made["id"], bins=8)
                assert (found["minimum"], found["maximum"], found["count"]) == (0.5, 3999.5, 4000), found
                assert abs(found["mean"] - 2000) < 1e-9 and abs(found["deviation"] - here.std(correction=0).item()) < 1e-6, found
                assert max(copied) <= 80, copied
                status = client.ask("get_status")
                gpus = {one["device"]: one for one in status["gpus"]}
                assert gpus["pretended:0"]["total_bytes"] == 1 << 30 and gpus["pretended:0"]["used_bytes"] >= 64000, gpus
        """, CLIENT)

    def test_narrow_and_whole_numbers_are_read(self):
        self.on_device("""
            for dtype in (torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64):
                x = torch.tensor([[0, 1], [1, 1]]).to(dtype).to("pretended")
                x.clone()
                made = records(op="aten.clone")[-1]["outputs"][0]
                text = preview(made).replace("[", "").replace("]", "")
                expected = {torch.bool: "False True True True", torch.complex64: "0.0+0.0j 1.0+0.0j 1.0+0.0j 1.0+0.0j"}.get(dtype)
                expected = expected or ("0 1 1 1" if dtype in (torch.int64, torch.uint8) else "0. 1. 1. 1.")
                assert text.split() == expected.split(), (dtype, text)
        """)

    def test_what_was_there_before_recording_has_a_value(self):
        self.on_device("""
            there = torch.arange(3.).to("pretended")
            debug.stop()
            made_before = torch.arange(3.).to("pretended")
            debug.attach(files_are_cells=True)
            torch_programs.install()
            y = made_before + there
            made_before.zero_()
            there.zero_()
            added, = records(op="aten.add.Tensor")
            with torch.utils._python_dispatch._disable_current_modes():
                for value in added["inputs"][:2]:
                    assert preview(value) == "0. 1. 2.", value
        """)

    def test_backward_and_steps_have_values_and_are_computed_again(self):
        self.on_device("""
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).to("pretended")
            x = torch.randn(5, 3).to("pretended")
            optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
            before = model[0].weight.detach().cpu().clone()
            loss = model(x).square().mean()
            loss.backward()
            gradient = model[0].weight.grad.cpu()
            optimiser.step()
            arrived = [one for one in records(op="autograd.AccumulateGrad") if one["inputs"][0]["name"].endswith("0.weight")]
            assert len(arrived) == 1, [one["op"] for one in records()]
            assert arrived[0]["inputs"][1]["device"] == "pretended:0"
            every = records()
            assert [one["op"] for one in every if one["kind"] == "vjp"] == [
                "aten.mean", "aten.pow.Tensor_Scalar", "aten.addmm", "aten.t", "aten.tanh", "aten.addmm", "aten.t"], every
            assert {one["thread"] for one in every} == {every[0]["thread"]}, every
            with torch.utils._python_dispatch._disable_current_modes(), Client(entry) as client:
                assert tile(client, arrived[0]["inputs"][1], 4, 3) == gradient.double().flatten().tolist()
                for one in every:
                    assert one["state"] != "failed", one
                    for tensor in one["outputs"]:
                        if tensor.get("device") == "pretended:0" and tensor["shape"] and 0 not in tensor["shape"]:
                            rows, columns = (1, *tensor["shape"])[-2:]
                            assert len(tile(client, tensor, rows, columns)) == rows * columns, (one["op"], tensor)
        """, CLIENT)

    def test_a_late_error_of_the_device_stays_the_programs(self):
        self.on_device("""
            x = torch.ones(3).to("pretended")
            x * 2
            y = x * 3
            pretended_device.fails.append(RuntimeError("CUDA error: device-side assert triggered"))
            try:
                records(op="aten.mul.Tensor")  # looks at it, and meets the error
            except Exception as error:
                assert "device-side assert triggered" in str(error), error
            else:
                raise AssertionError("the look says nothing of the error")
            assert not pretended_device.fails
            pretended_device.fails.append(RuntimeError("CUDA error: an illegal memory access was encountered"))
            try:
                torch.pretended.synchronize()
            except RuntimeError as error:
                assert str(error) == "CUDA error: an illegal memory access was encountered"
            else:
                raise AssertionError("the program's own wait raises nothing")
        """)

    def test_copies_stay_within_the_budget(self):
        self.on_device("""
            debug.stop()
            _engine.debug.attach(budget_bytes=1_000_000)
            x = torch.ones(300_000).to("pretended")
            x * 2
            made, = records(op="aten.mul.Tensor")
            assert made["outputs"][0]["preview"] == "" or "budget" in str(made), made
            small = torch.ones(3).to("pretended")
            small * 2
            assert preview(records(op="aten.mul.Tensor")[-1]["outputs"][0]) == "2. 2. 2."
        """)


class Unresolved(RecordedPrograms):
    def test_a_conjugate_has_its_own_value_beside_what_it_is_of(self):
        self.check("""
            x = torch.tensor([1 + 2j, 3 - 1j])
            y = x.conj()
            assert y.is_conj()
            y * 1
            x * 1
            products = records(op="aten.mul.Tensor")
            of_y, of_x = [one["inputs"][0] for one in products]
            assert preview(of_y).split() == ["1.0-2.0j", "3.0+1.0j"], of_y
            assert preview(of_x).split() == ["1.0+2.0j", "3.0-1.0j"], of_x
            assert of_x["id"] != of_y["id"]
        """)

    def test_a_negative_has_its_value_and_keeps_it_after_a_write(self):
        self.check("""
            x = torch.tensor([1 + 2j, 3 - 1j])
            negative = x.conj().imag
            assert negative.is_neg()
            negative * 1
            x.mul_(10)
            negative * 1
            first, second = [one["inputs"][0] for one in records(op="aten.mul.Tensor")]
            assert preview(first).split() == ["-2.", "1."], first
            assert preview(second).split() == ["-20.", "10."], second
        """)

    def test_products_of_adjoints_are_computed_again_bit_for_bit(self):
        self.check("""
            torch.manual_seed(0)
            a, b = torch.randn(4, 3, dtype=torch.complex64), torch.randn(4, 5, dtype=torch.complex64)
            for _ in range(3):
                product = a.mH @ b
            expected = str(torch.view_as_real(product).flatten()[0].item())
            made = records(op="aten.mm")[-1]
            value, why = _engine.torch.value_of(product)
            assert not why
            assert abs(complex(value.numpy()[0, 0]) - product[0, 0].item()) == 0
        """)

    def test_a_gradient_through_a_conjugate_is_shown(self):
        self.check("""
            w = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
            (w * w.conj()).real.sum().backward()
            arrived, = records(op="autograd.AccumulateGrad")
            assert preview(arrived["inputs"][1]).split() == ["2.0+4.0j", "6.0-2.0j"], arrived
        """)


if __name__ == "__main__":
    main()
