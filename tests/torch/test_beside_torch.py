"""torch and tapedeck in one process, in the interpreter that TAPEDECK_TORCH names: each computes what it computes alone."""
import os
import pathlib
import subprocess
import tempfile
import textwrap
import unittest

from torch_interpreter import TORCH, environment, main, needs_module

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Convolutions through oneDNN: of both, forward and backward, of several shapes and kinds; and torch's number of threads.
PROGRAM = """
import sys
import numpy as np
import {first}
import {second}
import tapedeck as tf, torch
torch.set_num_threads(2)
made = np.random.default_rng(7)
sizes = [(2, 9, 3, 4, 1, 1), (3, 16, 16, 32, 2, 1), (1, 20, 8, 8, 1, 2), (4, 12, 32, 16, 1, 1)]
for images, size, channels, filters, stride, dilation in sizes:
    x = made.normal(size=[images, size, size, channels]).astype("f4")
    w = made.normal(size=[3, 3, channels, filters]).astype("f4")
    theirs_x = torch.tensor(x.transpose(0, 3, 1, 2).copy(), requires_grad=True)
    theirs_w = torch.tensor(w.transpose(3, 2, 0, 1).copy(), requires_grad=True)
    ours_x, ours_w = tf.constant(x), tf.constant(w)
    for order in ("ours", "theirs") if {ours_first} else ("theirs", "ours"):
        if order == "ours":
            with tf.GradientTape() as tape:
                tape.watch([ours_x, ours_w])
                ours = tf.nn.conv2d(ours_x, ours_w, stride, "VALID", dilations=dilation)
                loss = tf.reduce_sum(ours * ours)
            ours_gradients = tape.gradient(loss, [ours_x, ours_w])
        else:
            theirs = torch.conv2d(theirs_x, theirs_w, stride=stride, dilation=dilation)
            (theirs * theirs).sum().backward()
    np.testing.assert_allclose(ours.numpy(), theirs.detach().permute(0, 2, 3, 1).numpy(), rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(ours_gradients[0].numpy(), theirs_x.grad.permute(0, 2, 3, 1).numpy(), rtol=2e-3, atol=2e-2)
    np.testing.assert_allclose(ours_gradients[1].numpy(), theirs_w.grad.permute(2, 3, 1, 0).numpy(), rtol=2e-3, atol=2e-1)
assert torch.get_num_threads() == 2, torch.get_num_threads()
assert torch.backends.mkldnn.is_available()
dnn = sorted({{line.split()[-1] for line in open("/proc/self/maps") if "libdnnl" in line}})
print(len(dnn), "right")
"""


def run(code):
    return subprocess.run([TORCH, "-c", code], capture_output=True, text=True, timeout=250, check=False, cwd="/", env=environment())


@unittest.skipIf(os.environ.get("TAPEDECK_TORCH_MODULE"), "only an installed module has a oneDNN of its own")
@needs_module
class BesideTorch(unittest.TestCase):
    def test_convolutions_of_both_are_right_in_both_orders_of_import(self):
        for first, second in (("torch", "tapedeck"), ("tapedeck", "torch")):
            for ours_first in (False, True):
                with self.subTest(first=first, ours_first=ours_first):
                    result = run(PROGRAM.format(first=first, second=second, ours_first=ours_first))
                    self.assertEqual((result.returncode, result.stdout), (0, "1 right\n"), result.stderr)

    def test_also_where_torch_makes_its_symbols_global(self):
        code = "import os, sys\nsys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)\nimport torch\nsys.setdlopenflags(os.RTLD_NOW)\n"
        result = run(code + PROGRAM.format(first="torch", second="tapedeck", ours_first=True))
        self.assertEqual((result.returncode, result.stdout), (0, "1 right\n"), result.stderr)

    def test_the_module_exports_nothing_of_onednn(self):
        found = run("from tapedeck import _engine; print(_engine.__file__)").stdout.strip()
        symbols = subprocess.run(["nm", "-D", found], capture_output=True, text=True, check=True).stdout
        self.assertEqual([line for line in symbols.splitlines() if " dnnl_" in line or " omp_" in line], [])
        needed = subprocess.run(["objdump", "-p", found], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libdnnl", needed)

    def test_a_program_with_torch_is_recorded_in_a_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text(textwrap.dedent("""
                import torch
                import tapedeck as tf
                print(float(torch.ones(3).sum()), float(tf.reduce_sum(tf.ones([4]))))
            """), encoding="utf-8")
            trace = pathlib.Path(folder, "run.tapetrace")
            folder = pathlib.Path(TORCH).parents[1]
            result = subprocess.run([ROOT / "run.sh", "--trace", trace, "--env", folder, program], capture_output=True, text=True,
                                    timeout=250, check=False, env=environment())
            self.assertEqual((result.returncode, result.stdout), (0, "3.0 4.0\n"), result.stderr)
            self.assertIn("records", result.stderr)
            self.assertTrue(trace.read_bytes().startswith(b"SQLite"))


if __name__ == "__main__":
    main()
