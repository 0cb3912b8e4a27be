"""What nvcc's assembler says of each kernel with --resource-usage, as engine/cuda/keep_resources.sh keeps it beside the
objects."""
import dataclasses
import re


class Malformed(Exception):
    """The text is not what this reader knows."""


@dataclasses.dataclass
class Resources:
    name: str  # mangled
    architecture: int  # 80: sm_80
    registers: int
    frame: int  # bytes
    spill_stores: int  # bytes
    spill_loads: int
    shared: int


_begin = re.compile(r"ptxas info +: Compiling entry function '([^']+)' for 'sm_(\d+)a?'$")
_frame = re.compile(r" +(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads$")
_used = re.compile(r"ptxas info +: Used (\d+) registers")
_shared = re.compile(r"(\d+) bytes smem")


def parse(text):
    """The resources of each kernel in a report. Functions that are no kernels have lines of their own: left out."""
    found, name, frame = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        if match := _begin.match(line):
            if name is not None:
                raise Malformed(f"line {number}: {name[0]} has no registers")
            name, frame = (match[1], int(match[2])), None
        elif match := _frame.match(line):
            if name is not None and frame is None:
                frame = [int(value) for value in match.groups()]
        elif match := _used.match(line):
            if name is None or frame is None:
                raise Malformed(f"line {number}: registers of no kernel, or of one without a frame: {line}")
            shared = _shared.search(line)
            found.append(Resources(*name, int(match[1]), *frame, int(shared[1]) if shared else 0))
            name = None
    if name is not None:
        raise Malformed(f"the report ends within {name[0]}")
    return found
