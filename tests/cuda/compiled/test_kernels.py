"""What nvcc has made of engine/cuda, in the library and beside the objects that it is linked from: nothing spilt, 128
bits at a time where data stream, registers and shared memory as planned (plan.py)."""
import collections
import os
import pathlib
import subprocess
import tempfile
import unittest

import launches
import machine_code
import plan
import resources
import roofline
from occupancy import multiprocessors, occupancy

architectures = sorted(multiprocessors)

#: Kernels whose accesses and registers are known.
known_source = """
template <class T> __device__ void move(const T* from, T* to) { to[threadIdx.x + 1] = from[threadIdx.x]; }
extern "C" __global__ void bits_8(const unsigned char* from, unsigned char* to) { move(from, to); }
extern "C" __global__ void bits_16(const unsigned short* from, unsigned short* to) { move(from, to); }
extern "C" __global__ void bits_32(const float* from, float* to) { move(from, to); }
extern "C" __global__ void bits_64(const double* from, double* to) { move(from, to); }
extern "C" __global__ void bits_128(const float4* from, float4* to) { move(from, to); }
extern "C" __global__ void through_shared(const float4* from, float4* to) {
  __shared__ float4 all[64];
  all[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = all[threadIdx.x ^ 1];
}
extern "C" __global__ void with_a_frame(const int* from, int* to, int count) {
  int all[64];
  for (int i = 0; i < 64; ++i) all[i] = from[i];
  for (int i = 0; i < count; ++i) all[from[i] & 63] += i;
  to[0] = all[count & 63];
}
struct Made { double all[40]{}; constexpr Made() { for (int i = 0; i < 40; ++i) all[i] = i + 0.5; } };
extern "C" __global__ void with_a_table(const int* from, double* to) {
  static constexpr Made made;
  to[0] = made.all[from[0]];
}
extern "C" __global__ void __launch_bounds__(1024, 2) spills(const float* from, float* to) {
  float all[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) all[i] = from[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; ++i) to[i * 1024 + threadIdx.x] = all[63 - i] * all[i];
}
"""


def sources(*patterns):
    folder = pathlib.Path(__file__).parents[3] / "engine" / "cuda"
    return sorted(path for pattern in patterns for path in folder.rglob(pattern))


def demangled(names):
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return [plan.signature(line) for line in text.splitlines()]


class KnownKernels(unittest.TestCase):
    """Nobody has written down what the readers take for granted, so what they read must be what was compiled."""

    def test_the_readers_find_what_the_source_says(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "known.cu"
            source.write_text(known_source)
            codes = [f"--generate-code=arch=compute_{n},code=[compute_{n},sm_{n}]" for n in architectures]
            made = subprocess.run(
                [os.environ["TAPEDECK_NVCC"], *codes, "--resource-usage", "-c", source, "-o", source.with_suffix(".o")],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            object_file = source.with_suffix(".o").read_bytes()
            kernels, ptx = machine_code.kernels_in(object_file)
            empty = machine_code.empty_variables_in(object_file)
            self.assertEqual(sorted(one[1:] for one in empty), [(number, 320) for number in architectures])
            self.assertTrue(all("made" in name for name, *_ in empty), empty)
        self.assertEqual(ptx, set(architectures))
        reported = {(one.name, one.architecture): one for one in resources.parse(made.stderr)}
        self.assertEqual(len(reported), 9 * len(architectures))
        for kernel in kernels:
            report = reported[kernel.name, kernel.architecture]
            told = (report.registers, report.frame, report.shared)
            self.assertEqual((kernel.registers, kernel.frame, kernel.shared), told)
            if kernel.name.startswith("bits_"):
                width = int(kernel.name.removeprefix("bits_"))
                self.assertEqual((kernel.loads, kernel.stores), ({"global": {width: 1}}, {"global": {width: 1}}))
        for number in architectures:
            found = {kernel.name: kernel for kernel in kernels if kernel.architecture == number}
            self.assertEqual(found["through_shared"].loads, {"global": {128: 1}, "shared": {128: 1}})
            self.assertEqual(found["through_shared"].stores, {"global": {128: 1}, "shared": {128: 1}})
            self.assertEqual(found["through_shared"].shared, 64 * 16)
            self.assertGreaterEqual(found["with_a_frame"].frame, 256)
            self.assertIn("local", found["with_a_frame"].loads)
            self.assertEqual(reported["with_a_frame", number].spill_stores, 0)
            self.assertGreater(reported["spills", number].spill_stores, 0)
            self.assertGreater(reported["spills", number].spill_loads, 0)


class CompiledKernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths = map(pathlib.Path, pathlib.Path(os.environ["TAPEDECK_CUDA_OBJECTS"]).read_text().splitlines())
        cls.objects = [path for path in paths if path.name.endswith(".cu.o")]
        cls.linked, cls.ptx = machine_code.kernels_in(pathlib.Path(os.environ["TAPEDECK_CUDA_LIBRARY"]).read_bytes())
        names = [kernel.name for kernel in cls.linked]
        cls.signatures = dict(zip(names, demangled(names), strict=True))
        cls.ours = [kernel for kernel in cls.linked if not plan.is_of_a_library(cls.signatures[kernel.name])]
        cls.launches = launches.launches_in({path.name: path.read_text() for path in sources("*.cu", "*.h")})

    def told(self, kernel):
        return f"{self.signatures[kernel.name]} for sm_{kernel.architecture}"

    def launch_of(self, kernel):
        signature = self.signatures[kernel.name]
        found = self.launches.get(signature.function)
        if signature.arguments:
            found = self.launches.get(f"{signature.function}<{signature.arguments[0]}>", found)
        return found

    def occupancy_of(self, kernel):
        """With the most threads that it is started with: where it works on long rows."""
        given = plan.plan_of(self.signatures[kernel.name]).given
        shared = kernel.shared + (given(self.signatures[kernel.name]) if given else 0)
        return occupancy(kernel.architecture, max(self.launch_of(kernel)[0]), kernel.registers, shared)

    def check(self, wrong):
        """Fails with all that is wrong."""
        if wrong:
            self.fail("\n" + "\n".join(wrong))

    def test_the_library_has_all_kernels_for_each_architecture_and_ptx(self):
        counts = collections.Counter(kernel.architecture for kernel in self.linked)
        self.assertEqual(sorted(counts), architectures)
        self.assertGreater(counts[80], 1000)
        self.assertEqual(counts[80], counts[90])
        self.assertEqual(self.ptx, {80})
        present = {self.signatures[kernel.name].function for kernel in self.ours}
        self.check([f"{family}: planned, but not compiled" for family in plan.plans if family not in present])

    def test_no_table_is_left_empty(self):
        """nvcc leaves tables that a constructor makes as zeros, without a word."""
        library = pathlib.Path(os.environ["TAPEDECK_CUDA_LIBRARY"]).read_bytes()
        self.check([f"{name} for sm_{number}: {size} bytes" for name, number, size in machine_code.empty_variables_in(library)])

    def test_no_function_of_the_host_calls_one_of_devices(self):
        """In a generic lambda nvcc does not refuse it: it puts exit() in its place."""
        listed = subprocess.run(["nm", "-A", "-u", *self.objects], capture_output=True, text=True, check=True).stdout
        self.check([line for line in listed.splitlines() if line.endswith(" exit")])

    def test_nothing_is_spilt(self):
        """As the assembler tells it of the very objects that are linked: all else it tells is so in the library."""
        linked = {(kernel.name, kernel.architecture): kernel for kernel in self.linked}
        wrong, seen = [], set()
        compiled = sorted(path.name + ".o" for path in sources("*.cu"))
        self.assertEqual(sorted(path.name for path in self.objects), compiled)
        for path in self.objects:
            reports = resources.parse(path.with_name(path.name + ".resources").read_text())
            inside, _ = machine_code.kernels_in(path.read_bytes())
            self.assertEqual(
                sorted((kernel.name, kernel.architecture) for kernel in inside),
                sorted((report.name, report.architecture) for report in reports),
                f"{path.name}: its kernels are not those of the report beside it",
            )
            for report in reports:
                kernel = linked.get((report.name, report.architecture))
                told = (report.registers, report.frame, report.shared)
                if kernel is None or (kernel.registers, kernel.frame, kernel.shared) != told:
                    wrong.append(f"{path.name}: the library has not what is reported: {report}, {kernel}")
                elif report.spill_stores or report.spill_loads:
                    spilt = f"{report.spill_stores} bytes spilt, {report.spill_loads} read again"
                    wrong.append(f"{self.told(kernel)}: {spilt}")
                seen.add((report.name, report.architecture))
        self.check(wrong)
        self.assertEqual(seen, set(linked))

    def test_only_the_reduction_of_large_arguments_has_local_memory(self):
        wrong, with_a_frame = [], 0
        for kernel in self.ours:
            local = kernel.frame or "local" in kernel.loads or "local" in kernel.stores
            if not local:
                continue
            with_a_frame += 1
            if not plan.may_have_a_frame(self.signatures[kernel.name]) or kernel.frame > plan.largest_frame:
                wrong.append(f"{self.told(kernel)}: a frame of {kernel.frame} bytes")
        print(f"{with_a_frame} of {len(self.ours)} kernels have a frame, of up to {plan.largest_frame} bytes")
        self.check(wrong)

    def test_what_streams_moves_128_bits_at_a_time(self):
        wrong, streaming = [], 0
        for kernel in self.ours:
            widths = plan.widths_of(self.signatures[kernel.name])
            if widths is None:
                continue
            streaming += 1
            for verb, accesses, width in (("loads", kernel.loads, widths[0]), ("stores", kernel.stores, widths[1])):
                has = accesses.get("global", {})
                if width is not None and max(has, default=0) < width:
                    wrong.append(f"{self.told(kernel)}: {verb} of {sorted(has)} bits, none of {width}")
        print(f"{streaming} kernels stream")
        self.assertGreater(streaming, 1000)
        self.check(wrong)

    def test_each_kernel_is_started_somewhere_with_the_shared_memory_that_is_planned(self):
        wrong = []
        for kernel in self.ours:
            started = self.launch_of(kernel)
            given = plan.plan_of(self.signatures[kernel.name]).given is not None
            if started is None:
                wrong.append(f"{self.told(kernel)}: no source starts it")
            elif started[1] != given:
                wrong.append(f"{self.told(kernel)}: planned with{'' if given else 'out'} memory given at the launch")
        self.check(wrong)

    def test_registers_and_shared_memory_leave_the_planned_occupancy(self):
        wrong = []
        for kernel in self.ours:
            planned = plan.plan_of(self.signatures[kernel.name])
            reached = self.occupancy_of(kernel)
            if reached < planned.occupancy:
                wrong.append(
                    f"{self.told(kernel)}: {kernel.registers} registers and {kernel.shared} bytes of shared memory "
                    f"leave {reached:.0%} of the warps, not {planned.occupancy:.0%}"
                )
            if planned.shared is not None and kernel.shared != planned.shared(self.signatures[kernel.name]):
                declared = planned.shared(self.signatures[kernel.name])
                wrong.append(f"{self.told(kernel)}: {kernel.shared} bytes of shared memory, not {declared}")
        self.check(wrong)

    def test_the_table_of_bounds(self):
        kernels = [
            (self.signatures[kernel.name], (kernel.registers, self.occupancy_of(kernel)))
            for kernel in self.ours
            if kernel.architecture == 90
        ]
        lines = roofline.table(kernels, os.environ["TAPEDECK_OP_COSTS"])
        print("On an H100 SXM (3.35 TB/s, 67 TFLOP/s float32, 34 float64), for each element:")
        print("\n".join(lines))
        self.assertGreater(len(lines), 100)


if __name__ == "__main__":
    unittest.main()
