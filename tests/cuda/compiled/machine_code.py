"""What nvcc has made: the kernels in a library's section .nv_fatbin, with their registers and the widths of what they
load and store.

NVIDIA documents neither the fat binary's container nor its instructions' bits: test_kernels.py compiles kernels whose
answers are known, and compares, before it believes anything here.
"""
import dataclasses
import struct


class Malformed(Exception):
    """The file is not what this reader knows."""


@dataclasses.dataclass
class Kernel:
    name: str  # mangled
    architecture: int  # 80: sm_80
    registers: int
    frame: int  # bytes of local memory that the code itself uses
    shared: int  # bytes of shared memory, those given at a launch apart
    loads: dict  # space -> {bits: instructions}
    stores: dict


def unpack(form, data, at, what):
    """The fields at that place, in bytes from the beginning."""
    if at < 0 or at + struct.calcsize(form) > len(data):
        raise Malformed(f"{what} at byte {at} lies outside of {len(data)} bytes")
    return struct.unpack_from(form, data, at)


def piece(data, at, size, what):
    """So many bytes from that place on."""
    if at < 0 or size < 0 or at + size > len(data):
        raise Malformed(f"{what}: bytes {at} to {at + size} lie outside of {len(data)}")
    return data[at : at + size]


# ---- ELF, as the System V application binary interface says (chapter 4), 64 bits, least byte first ----

_nobits = 8


@dataclasses.dataclass
class Section:
    name: str
    kind: int
    size: int
    info: int
    data: bytes


def _text(data, at, what):
    end = data.find(b"\0", at)
    if not 0 <= at <= end:
        raise Malformed(f"{what}: a name at byte {at} has no end")
    return data[at:end].decode("ascii", "replace")


def sections(data):
    """The sections of an ELF file."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise Malformed(f"no ELF file of 64 bits: it begins with {data[:6]!r}")
    (table,) = unpack("<Q", data, 0x28, "the place of the sections' table")
    size, count, names = unpack("<HHH", data, 0x3A, "the size of the sections' table")
    headers = [unpack("<IIQQQQIIQQ", data, table + size * i, "a section's header") for i in range(count)]
    if names >= count:
        raise Malformed(f"the names are in section {names} of {count}")
    texts = piece(data, headers[names][4], headers[names][5], "the sections' names")
    return [
        Section(
            _text(texts, header[0], "sections"),
            header[1],
            header[5],
            header[7],
            b"" if header[1] in (0, _nobits) else piece(data, header[4], header[5], "a section"),
        )
        for header in headers
    ]


def _symbols(found):
    """The names of the symbols, by number."""
    table = next((section for section in found if section.name == ".symtab"), None)
    texts = next((section for section in found if section.name == ".strtab"), None)
    if table is None or texts is None:
        raise Malformed("machine code without a table of symbols")
    return [
        _text(texts.data, unpack("<I", table.data, at, "a symbol")[0], "symbols")
        for at in range(0, len(table.data), 24)
    ]


# ---- instructions of 128 bits, since Volta: the lowest twelve say what is done ----

_loads = {0x381: "global", 0x981: "global", 0x983: "local", 0x984: "shared", 0x980: "generic", 0x380: "generic"}
_stores = {
    0x386: "global", 0x986: "global", 0x387: "local", 0x987: "local",
    0x388: "shared", 0x988: "shared", 0x385: "generic", 0x985: "generic",
}  # fmt: skip
_bits = (8, 8, 16, 16, 32, 64, 128)


def memory_accesses(code):
    """({space: {bits: count}} of the loads, the same of the stores)."""
    if len(code) % 16:
        raise Malformed(f"{len(code)} bytes of code are no whole instructions")
    loads, stores = {}, {}
    for low, high in struct.iter_unpack("<QQ", code):
        for spaces, counts in ((_loads, loads), (_stores, stores)):
            space = spaces.get(low & 0xFFF)
            if space is None:
                continue
            width = high >> 9 & 7
            if width >= len(_bits):
                raise Malformed(f"an access of unknown width {width}: {high:016x}{low:016x}")
            of_space = counts.setdefault(space, {})
            of_space[_bits[width]] = of_space.get(_bits[width], 0) + 1
    return loads, stores


# ---- machine code of one source file and architecture: attributes in the sections .nv.info ----

_reserved_shared = 1 << 10  # bytes of the system's, which are in the section since Hopper
_with_a_size = 4  # other forms have two bytes of value
_registers, _frame_size = 0x2F, 0x11


def _attributes(data):
    at = 0
    while at < len(data):
        form, attribute, value = unpack("<BBH", data, at, "an attribute")
        at += 4
        content = b""
        if form == _with_a_size:
            content = piece(data, at, value, "an attribute's value")
            at += value
        yield attribute, content


def kernels_of(cubin, architecture):
    """The kernels of a cubin; functions that they call are none."""
    found = sections(cubin)
    names = _symbols(found)
    registers, frames = {}, {}
    for section in found:
        if section.name != ".nv.info":
            continue
        for attribute, content in _attributes(section.data):
            if attribute in (_registers, _frame_size):
                symbol, value = unpack("<II", content, 0, "an attribute of a function")
                if symbol >= len(names):
                    raise Malformed(f"an attribute of symbol {symbol} of {len(names)}")
                (registers if attribute == _registers else frames)[names[symbol]] = value
    prefix, reserved = ".nv.shared.", _reserved_shared if architecture >= 90 else 0
    shared = {
        section.name.removeprefix(prefix): section.size - reserved
        for section in found
        if section.name.startswith(prefix)
    }
    kernels = []
    for section in found:
        if not section.name.startswith(".text."):
            continue
        name = section.name[len(".text.") :]
        if name not in registers or name not in frames:
            raise Malformed(f"{name} has no attributes that tell its registers and its frame")
        loads, stores = memory_accesses(section.data)
        kernels.append(Kernel(name, architecture, registers[name], frames[name], shared.get(name, 0), loads, stores))
    return kernels


# ---- the container: groups of entries, PTX or machine code, each for one architecture ----

_magic, _ptx, _machine_code = 0xBA55ED50, 1, 2


def entries(fatbin):
    """(kind, architecture, content) of each entry; the content may be compressed."""
    at = 0
    while at < len(fatbin):
        magic, _, header, size = unpack("<IHHQ", fatbin, at, "a group's header")
        if magic != _magic:
            raise Malformed(f"byte {at}: a group begins with {magic:#x}")
        begin, end = at + header, at + header + size
        if end > len(fatbin):
            raise Malformed(f"a group ends at byte {end} of {len(fatbin)}")
        while begin < end:
            kind, _, length, bytes_ = unpack("<HHIQ", fatbin, begin, "an entry's header")
            (architecture,) = unpack("<I", fatbin, begin + 28, "an entry's architecture")
            if length < 32 or begin + length + bytes_ > end:
                raise Malformed(f"an entry of {length} + {bytes_} bytes leaves its group")
            yield kind, architecture, piece(fatbin, begin + length, bytes_, "an entry")
            begin += length + bytes_
        at = end + -end % 8


def _entries_in(library):
    fatbins = [section.data for section in sections(library) if section.name == ".nv_fatbin"]
    if not fatbins:
        raise Malformed("it has no section .nv_fatbin")
    for fatbin in fatbins:
        yield from entries(fatbin)


def kernels_in(library):
    """(the kernels in a linked library's or an object's bytes, the architectures that it has PTX for)."""
    kernels, ptx = [], set()
    for kind, architecture, content in _entries_in(library):
        if kind == _ptx:
            ptx.add(architecture)
        elif kind == _machine_code:
            kernels += kernels_of(content, architecture)
        else:
            raise Malformed(f"an entry of kind {kind}")
    return kernels, ptx


def empty_variables_in(library):
    """(name, architecture, bytes) of the devices' variables that begin as zeros, but for tags of a byte."""
    found = []
    for kind, architecture, content in _entries_in(library):
        if kind != _machine_code:
            continue
        parts = sections(content)
        empty = {number for number, section in enumerate(parts) if section.name == ".nv.global"}
        table = next((section.data for section in parts if section.name == ".symtab"), b"") if empty else b""
        for at, name in zip(range(0, len(table), 24), _symbols(parts) if table else ()):
            section, _, size = unpack("<HQQ", table, at + 6, "a symbol")
            if section in empty and size > 1:
                found.append((name, architecture, size))
    return found
