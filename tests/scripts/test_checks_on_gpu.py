"""What tests/cuda/run_bundle makes of the programs of a bundle: a line for each failure, its exit status, its JSON; with programs that
stand in for the real ones."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CUDA = pathlib.Path(__file__).resolve().parents[1] / "cuda"
_spec = importlib.util.spec_from_file_location("checks_on_gpu", CUDA / "checks_on_gpu.py")
checks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(checks)

OF_OPS = """********* Start testing of GpuOpsTest *********
PASS   : GpuOpsTest::initTestCase()
FAIL!  : GpuOpsTest::every_op_gives_what_it_gives_on_the_cpu() 'failures.empty()' returned FALSE. (
exp: exp(float32 [2, 3], ): result 0 (float32 [2, 3]) lies 40 last places off: element 4 of 6: 1.5 on the GPU, 1.25 on the CPU
abs: threw out of memory
)
   Loc: [tst_gpu_ops.cpp(300)]
PASS   : GpuOpsTest::few_rows_go_by_copies()
FAIL!  : GpuOpsTest::one(row) 'text.isEmpty()' returned FALSE. (float32, 1 × 2 × 3: element 0 of 6: 1 on the GPU, 2 on the CPU)
   Loc: [/a/b/tst_rows.cpp(3)]
FAIL!  : GpuOpsTest::other() Compared values are not the same
   Actual   (difference(out.read(), expected)): "element 1 of 2: 1 on the GPU, 2 on the CPU"
   Expected (QString())                       : ""
   Loc: [tst_rows.cpp(4)]
FAIL!  : GpuOpsTest::last() Received signal 11
Totals: 2 passed, 3 failed, 0 skipped
"""
OF_PYTHON = """test_a (test_gpu_tensors.Tensors.test_a) ... ok
test_b (test_gpu_tensors.Tensors.test_b) ... FAIL
test_c (test_gpu_tensors.Tensors.test_c) ... skipped 'why'

======================================================================
FAIL: test_b (test_gpu_tensors.Tensors.test_b) [float32]
----------------------------------------------------------------------
Traceback (most recent call last):
  File "x.py", line 1, in test_b
AssertionError: 1.0 != 2.0

----------------------------------------------------------------------
Ran 3 tests in 1.000s

FAILED (failures=1, skipped=1)
"""


class Lines(unittest.TestCase):
    def test_each_failure_of_a_program_is_a_line(self):
        self.assertEqual(checks.failures_of_qttest("tst_gpu_ops", OF_OPS), [
            "tst_gpu_ops: every_op_gives_what_it_gives_on_the_cpu: exp: exp(float32 [2, 3], ): result 0 (float32 [2, 3]) lies 40 last "
            "places off: element 4 of 6: 1.5 on the GPU, 1.25 on the CPU",
            "tst_gpu_ops: every_op_gives_what_it_gives_on_the_cpu: abs: threw out of memory",
            "tst_gpu_ops: one:row: float32, 1 × 2 × 3: element 0 of 6: 1 on the GPU, 2 on the CPU [tst_rows.cpp(3)]",
            'tst_gpu_ops: other: Compared values are not the same Actual   (difference(out.read(), expected)): "element 1 of 2: 1 on the '
            'GPU, 2 on the CPU" Expected (QString())                       : "" [tst_rows.cpp(4)]',
            "tst_gpu_ops: last: Received signal 11"])

    def test_each_failure_of_a_python_test_is_a_line(self):
        self.assertEqual(checks.failures_of_unittest("test_gpu_tensors", OF_PYTHON), [
            "test_gpu_tensors: test_b [float32]: AssertionError: 1.0 != 2.0"])


class Runs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.bundle = pathlib.Path(temporary.name) / "bundle"
        self.out = pathlib.Path(temporary.name) / "out"
        self.out.mkdir()
        for name in ("bench/beside_peer.py", "bench/bench_training.py"):
            self.write(name, 'print(\'{"case": "matmul_256", "seconds": 1e-5, "ratio": 0.5}\')\n')
        self.write("commit.txt", "abc\n")
        self.write("tests/devices/test_gpu_some.py", "import unittest\nclass Some(unittest.TestCase):\n    def test_one(self): pass\n")
        self.write("python/packages/numpy.py", "")
        self.program("bench_engine", 'echo "{\\"case\\": \\"add_10\\", \\"ns\\": 5.0}"')
        self.program("tests_cuda", "if [ $1 = -classes ]; then echo tst_good; else echo 'PASS   : Good::one()'; fi")
        self.gpus(1)

    def write(self, name, text):
        path = self.bundle / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def program(self, name, text):
        self.write(f"bin/{name}", f"#!/bin/sh\n{text}\n").chmod(0o755)

    def gpus(self, count, why=""):
        self.write("python/packages/tapedeck/__init__.py", "")
        self.write("python/packages/tapedeck/_engine.py", f"def gpu_count(): return {count}\ndef why_no_gpu(): return {why!r}\n")

    def run_checks(self, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(self.bundle / "python/packages"), "LD_LIBRARY_PATH": "",
                       "TAPEDECK_PEER": "/no/python", "PATH": "/usr/bin:/bin"}
        done = subprocess.run([sys.executable, CUDA / "checks_on_gpu.py", "--bundle", self.bundle, "--out", self.out, *arguments],
                              env=environment, capture_output=True, text=True, timeout=120, check=False)
        lines = done.stdout.splitlines()
        with open(self.out / "results.json", encoding="utf-8") as file:
            results = json.load(file)
        self.assertEqual(json.loads(lines[-1]), results["summary"])  # JSON comes last
        return done.returncode, lines[:-1], results

    def test_all_is_well(self):
        status, lines, results = self.run_checks()
        self.assertEqual(status, 0, lines)
        self.assertIn("tests: 2 passed, 0 failed, 0 skipped", lines)
        self.assertIn("beside_peer  case matmul_256  seconds 1e-05  ratio 0.5", lines)
        self.assertEqual((results["commit"], results["benchmarks"]["bench_engine"]), ("abc", [{"case": "add_10", "ns": 5.0}]))

    def test_failures_crashes_and_hangs_are_lines_and_the_rest_goes_on(self):
        self.program("tests_cuda", "if [ $1 = -classes ]; then printf 'tst_bad  alone: why\\ntst_dies\\ntst_hangs\\n'; exit; fi\n"
                     "[ $1 != tst_dies ] || kill -SEGV $$\n[ $1 != tst_hangs ] || sleep 100\n"
                     "echo 'FAIL!  : Bad::one() float32 [3]: 1 on the GPU, 2 on the CPU'; exit 1")
        self.program("bench_engine", "echo no; exit 4")
        status, lines, results = self.run_checks("--seconds", "16")
        self.assertEqual(status, 1, lines)
        self.assertIn("FAIL tst_bad: one: float32 [3]: 1 on the GPU, 2 on the CPU", lines)
        self.assertIn("FAIL tst_dies: ended with signal 11: ", lines)
        self.assertTrue(any(line.startswith("FAIL tst_hangs: did not end within") for line in lines), lines)
        self.assertIn("BENCH bench_engine: exit status 4: no", lines)
        self.assertIn("beside_peer  case matmul_256  seconds 1e-05  ratio 0.5", lines)
        self.assertEqual(results["summary"]["tests"], {"passed": 1, "failed": 3, "skipped": 0,
                                                       "with_failures": ["tst_bad", "tst_dies", "tst_hangs"], "not_run": []})
        self.assertLess(results["seconds"], 60)

    def test_tests_for_which_no_time_is_left_are_told(self):
        status, lines, results = self.run_checks("--seconds", "2")
        self.assertEqual(status, 1)
        self.assertIn("FAIL no time was left for test_gpu_some, tst_good", lines)
        self.assertEqual(results["summary"]["tests"]["not_run"], ["test_gpu_some", "tst_good"])

    def test_without_a_gpu_everything_loads_and_it_says_so(self):
        self.gpus(0, "this machine has no CUDA driver (libcuda.so.1)")
        self.program("bench_engine", "echo 'There is no /gpu:0: this machine has no CUDA driver (libcuda.so.1)' >&2; exit 1")
        status, lines, results = self.run_checks()
        self.assertEqual((status, results["no_gpu"]), (3, "this machine has no CUDA driver (libcuda.so.1)"))
        self.assertIn("no GPU: this machine has no CUDA driver (libcuda.so.1)", lines)

    def test_what_does_not_load_is_told(self):
        self.program("tests_cuda", "echo 'libre2.so.9: cannot open shared object file' >&2; exit 127")
        status, lines, _ = self.run_checks()
        self.assertEqual(status, 2)
        self.assertIn("LOAD tests_cuda does not load: libre2.so.9: cannot open shared object file", lines)


if __name__ == "__main__":
    unittest.main()
