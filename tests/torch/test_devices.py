"""Values on other devices than the CPU: a device that is only pretended has them (pretended_device.py), so that all of it runs on machines
without a GPU. tests/cuda/torch_on_gpu.py does the same on a GPU."""
import pathlib
import subprocess

from recorded_programs import RecordedPrograms
from torch_interpreter import TORCH, environment, main

HERE = pathlib.Path(__file__).resolve().parent
BEFORE = f"""
sys.path.insert(0, {str(HERE)!r})
import pretended_device
pretended_device.install()
torch.utils._python_dispatch  # as a program has it that moved a model before
"""


def setUpModule():
    found = subprocess.run([TORCH, "-c", "import pretended_device; print(pretended_device.AVAILABLE)"], capture_output=True, text=True,
                           timeout=120, check=False, cwd=HERE, env=environment()) if TORCH else None
    Devices.__unittest_skip__ = Devices.__unittest_skip__ if hasattr(Devices, "__unittest_skip__") else False
    if found is not None and found.stdout.strip() != "True":
        Devices.__unittest_skip__ = True
        Devices.__unittest_skip_why__ = "this release of PyTorch cannot register a device in Python"


class Devices(RecordedPrograms):
    def on_device(self, program):
        self.check(program, BEFORE)

    def test_values_of_a_device_are_what_the_program_computed_even_after_writes(self):
        self.on_device("""
            x = torch.arange(6.).reshape(2, 3).to("pretended")
            y = x * 2
            y.add_(1)
            y[0].zero_()
            multiplied, = records(op="aten.mul.Tensor")
            assert multiplied["outputs"][0]["device"] == "pretended:0", multiplied
            assert preview(multiplied["outputs"][0]).split() == ["0.", "2.", "4.]", "[", "6.", "8.", "10."], multiplied
            added, = records(op="aten.add_.Tensor")
            assert preview(added["inputs"][0]).split() == ["0.", "2.", "4.]", "[", "6.", "8.", "10."], added
            assert preview(added["outputs"][0]).split() == ["1.", "3.", "5.]", "[", "7.", "9.", "11."], added
        """)


if __name__ == "__main__":
    main()
