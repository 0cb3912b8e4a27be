"""The readers of what nvcc makes, on files made here: whole ones are understood, damaged ones refused."""
import random
import struct
import unittest

import launches
import machine_code
import plan
import resources
from occupancy import occupancy

report = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4plainPf' for 'sm_80'
ptxas info    : Function properties for _Z4plainPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 8264 bytes smem, 384 bytes cmem[0], 184 bytes cmem[2]
ptxas info    : Compile time = 38.384 ms
ptxas info    : Function properties for __internal_pow
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function '_Z6spillsPf' for 'sm_90'
ptxas info    : Function properties for _Z6spillsPf
    120 bytes stack frame, 116 bytes spill stores, 112 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
"""


def _instruction(operation, width=0):
    return struct.pack("<QQ", operation, width << 9)


def _attribute(number, symbol, value):
    return struct.pack("<BBHII", 4, number, 8, symbol, value)


def cubin():
    """Of one kernel `k`: 24 registers, a frame of 40 bytes, 4096 bytes of shared memory."""
    strings = b"\0k\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 0, 0, 48)
    code = _instruction(0x981, 6) + _instruction(0x981, 4) + _instruction(0x986, 5) + _instruction(0x94D)
    contents = [
        ("", 0, b"", 0),
        (".strtab", 3, strings, len(strings)),
        (".symtab", 2, symbols, len(symbols)),
        (".nv.info", 1, _attribute(0x2F, 1, 24) + struct.pack("<BBH", 3, 0x1B, 255) + _attribute(0x11, 1, 40), None),
        (".text.k", 1, code, len(code)),
        (".nv.shared.k", 8, b"", 4096),
    ]
    return _elf(contents)


def _elf(contents):
    names = b"\0".join(name.encode() for name, *_ in contents) + b"\0.shstrtab\0"
    contents = [*contents, (".shstrtab", 3, names, None)]
    body, headers = bytes(64), b""
    for name, kind, data, size in contents:
        place = names.find(b"\0" + name.encode() + b"\0") + 1 if name else 0
        size = len(data) if size is None else size
        headers += struct.pack("<IIQQQQIIQQ", place, kind, 0, 0, len(body), size, 0, 0, 1, 0)
        body += data
    count = len(contents)
    start = struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, len(body), 0, 64, 0, 0, 64, count, count - 1)
    return b"\x7fELF\x02\x01\x01" + bytes(9) + start + body[64:] + headers


def library():
    """With PTX, and with that machine code for sm_80."""
    entries = b""
    for kind, content in ((1, b"(\xb5/\xfd" + bytes(12)), (2, cubin())):
        content += bytes(-len(content) % 8)
        header = struct.pack("<HHIQ", kind, 0x101, 64, len(content)) + bytes(12) + struct.pack("<I", 80) + bytes(32)
        entries += header + content
    fatbin = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
    return _elf([("", 0, b"", 0), (".nv_fatbin", 1, fatbin, None)])


class MachineCode(unittest.TestCase):
    def test_a_kernel_is_read(self):
        kernels, ptx = machine_code.kernels_in(library())
        self.assertEqual(ptx, {80})
        self.assertEqual(
            kernels,
            [machine_code.Kernel("k", 80, 24, 40, 4096, {"global": {128: 1, 32: 1}}, {"global": {64: 1}})],
        )

    def test_a_truncated_file_is_refused(self):
        whole = library()
        for length in range(len(whole)):
            with self.assertRaises(machine_code.Malformed, msg=f"the first {length} bytes"):
                machine_code.kernels_in(whole[:length])

    def test_a_damaged_file_gives_kernels_or_is_refused(self):
        whole, generator, refused = library(), random.Random(5), 0
        for _ in range(3000):
            damaged = bytearray(whole)
            for _ in range(generator.randint(1, 4)):
                value = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
                damaged[generator.randrange(len(damaged))] = value
            try:
                machine_code.kernels_in(bytes(damaged))
            except machine_code.Malformed:
                refused += 1
        self.assertGreater(refused, 100)

    def test_a_file_of_another_kind_is_refused(self):
        for content, text in (
            (b"", "no ELF file"),
            (b"\x7fELF\x01\x01" + bytes(80), "no ELF file"),
            (_elf([("", 0, b"", 0)]), "no section .nv_fatbin"),
        ):
            with self.assertRaisesRegex(machine_code.Malformed, text):
                machine_code.kernels_in(content)


class Reports(unittest.TestCase):
    def test_a_report_is_read(self):
        self.assertEqual(
            resources.parse(report),
            [
                resources.Resources("_Z4plainPf", 80, 40, 0, 0, 0, 8264),
                resources.Resources("_Z6spillsPf", 90, 32, 120, 116, 112, 0),
            ],
        )

    def test_a_truncated_report_has_fewer_kernels_or_is_refused(self):
        lines = report.splitlines(keepends=True)
        for count in range(len(lines)):
            try:
                self.assertLess(len(resources.parse("".join(lines[:count]))), 2)
            except resources.Malformed:
                pass
        for lost, text in (
            (3, "registers of no kernel, or of one without a frame"),
            (4, "_Z4plainPf has no registers"),
            (1, "registers of no kernel"),
            (11, "the report ends within _Z6spillsPf"),
        ):
            with self.assertRaisesRegex(resources.Malformed, text, msg=lines[lost]):
                resources.parse("".join(lines[:lost] + lines[lost + 1 :]))

    def test_what_a_report_says_of_spills_and_registers_is_unharmed_by_damage_or_refused(self):
        def numbers(text):
            return [
                (one.registers, one.frame, one.spill_stores, one.spill_loads, one.architecture)
                for one in resources.parse(text)
            ]

        whole, refused = numbers(report), 0
        for place in range(len(report)):
            try:
                self.assertEqual(numbers(report[:place] + "x" + report[place + 1 :]), whole, place)
            except resources.Malformed:
                refused += 1
        self.assertGreater(refused, 200)


class Launches(unittest.TestCase):
    def test_threads_and_given_memory_are_found(self):
        files = {
            "parts.h": """struct Parts {
  Grid grid() const {
    return {.blocks = parts, .threads = part_threads, .cooperation = Cooperation::block};
  }
};
constexpr int part_threads = 128;
""",
            "a.cu": """#include "engine/cuda/parts.h"
constexpr int tile = 32, tile_rows = 4;
void f() {
  launch("plain", grid_for(count, 4), plain_kernel<T>, in, out);
  launch("small", grid_for(count, 1, 64), small_kernel, in);
  launch("rows", grid_of_rows(rows, f(a, b)), rows_kernel<T, 4>, in);
  launch("tiles", {.blocks = 1, .threads = tile * tile_rows}, packs ? tiles_kernel<4> : tiles_kernel<1>, in);
  launch("parts", parts.grid(), parts_kernel<IsTrue>, in);
}
void g() {
  Grid grid = grid_for(count);
  grid.shared_bytes = 4 * count;
  launch("given", grid, given_kernel, in);
  launch("sorted", Grid{.shared_bytes = size}, sorted_kernel, in);
}
""",
        }
        found = launches.launches_in(files)
        for kernel, expected in (
            ("plain_kernel", ((256,), False)),
            ("small_kernel", ((64,), False)),
            ("rows_kernel", ((32, 128, 256), False)),
            ("tiles_kernel", ((128,), False)),
            ("parts_kernel", ((128,), False)),
            ("given_kernel", ((256,), True)),
            ("sorted_kernel", ((256,), True)),
            ("unary_kernel", ((256,), False)),
        ):
            self.assertEqual(found[kernel], expected, kernel)

    def test_what_is_not_understood_is_refused(self):
        for call, text in (
            ('launch("f", make_grid(4), kernel_f, in);', "a grid: make_grid"),
            ('launch("f", grid, kernel_f, in);', "no grid before"),
            ('launch("f", {.threads = many}, kernel_f, in);', "many is unknown"),
            ('launch("f", grid_for(1, 2, 64), reinterpret_cast<Start>(kernel.strided), in);', "by its pointer"),
            ('launch("f", grid_for(count', "a call without an end"),
        ):
            with self.assertRaisesRegex(launches.Unclear, text):
                launches.launches_in({"a.cu": call})


class Plans(unittest.TestCase):
    def test_names_are_taken_apart(self):
        ours = "tapedeck::cuda::(anonymous namespace)::"
        function = "tapedeck::cpu::device::(anonymous namespace)::functions_of_one::is_nan"
        for demangled, text in (
            (
                f"void {ours}unary_kernel<float, bool, {function}, 4>(tapedeck::cuda::Source<float>, bool*, long)",
                "unary_kernel<float, bool, is_nan, 4>",
            ),
            (f"void {ours}rows_by_warps_kernel<({ours}Result)2, double>(long)", "rows_by_warps_kernel<2, double>"),
            (
                f"void {ours}parts_kernel<tapedeck::cuda::Sum, {ours}Plain<double> >(long)",
                "parts_kernel<Sum, Plain<double>>",
            ),
            (f"{ours}any_kernel(bool const*, long)", "any_kernel"),
        ):
            self.assertEqual(str(plan.signature(demangled)), text)

    def test_widths_follow_from_the_types(self):
        for name, widths in (
            ("unary_kernel<float, float, exp, 4>", (128, 128)),
            ("unary_kernel<double, bool, is_nan, 2>", (128, 16)),
            ("unary_walk_kernel<double, double, erf, 1>", None),
            ("cast_kernel<Half<Float16>, Plain<double>>", (32, 128)),
            ("cast_kernel<Narrow<short, int>, Plain<bool>>", (128, 64)),
            ("copy_kernel<unsigned int>", None),
            ("rows_by_warps_kernel<2, float>", (128, None)),
        ):
            self.assertEqual(plan.widths_of(plan.signature(name)), widths, name)

    def test_occupancy_is_that_of_nvidias_calculator(self):
        for call, share in (
            ((90, 256, 32, 0), 1),
            ((90, 256, 33, 0), 0.75),
            ((90, 256, 40, 0), 0.75),
            ((90, 256, 64, 0), 0.5),
            ((90, 256, 255, 0), 0.125),
            ((80, 256, 128, 0), 0.25),
            ((80, 256, 32, 40 << 10), 0.5),
            ((90, 256, 32, 40 << 10), 0.625),
            ((80, 1024, 64, 0), 0.5),
            ((80, 64, 32, 0), 1),
            ((90, 32, 32, 0), 0.5),
        ):
            self.assertEqual(occupancy(*call), share, call)


if __name__ == "__main__":
    unittest.main()
