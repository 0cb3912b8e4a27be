"""How the sources of engine/cuda start their kernels: threads of a block, and whether shared memory is given at the
launch. A launch that this reader does not understand is an error."""
import re


class Unclear(Exception):
    """A launch is written in a way that this reader does not know."""


default_threads = 256  # Grid's and its makers'
of_rows = (32, 128, 256)  # threads_for_row()
#: Kernels that are started through a table or a pointer: grid_for() makes all of their grids.
through_pointers = {"unary_kernel", "unary_walk_kernel", "binary_kernel", "binary_walk_kernel", "cast_kernel",
                    "widen_kernel", "narrow_kernel"}  # fmt: skip


def arguments(text, at):
    """Those of a call whose bracket opens before that place."""
    found, depth, begin = [], 1, at
    while depth:
        if at == len(text):
            raise Unclear(f"a call without an end: {text[begin:begin + 60]}")
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 or (depth == 1 and text[at] == ","):
            found.append(" ".join(text[begin:at].split()))
            begin = at + 1
        at += 1
    return found


def constants_in(texts):
    """The whole numbers that have a name: `constexpr int tile = 16`."""
    found = {}
    for text in texts:
        for names in re.findall(r"constexpr int (\w+ = \d+(?:, \w+ = \d+)*);", text):
            for name, value in re.findall(r"(\w+) = (\d+)", names):
                found.setdefault(name, set()).add(int(value))
    return found


def _value(expression, text, constants):
    product = 1
    for factor in expression.split("*"):
        name = factor.strip()
        here = constants_in([text]).get(name) or constants.get(name, set())
        values = {int(name)} if name.isdigit() else here
        if len(values) != 1:
            raise Unclear(f"threads = {expression}: {name} is {sorted(values) or 'unknown'}")
        product *= min(values)
    return product


def _threads(grid, text, constants):
    """The counts that a grid's expression may have."""
    call = re.match(r"(grid_for|grid_of_warps|grid_of_rows|grid_of_blocks)\(", grid)
    if call and call[1] == "grid_of_rows":
        return of_rows
    if call:
        given = arguments(grid, call.end())
        place = {"grid_for": 2, "grid_of_warps": 1, "grid_of_blocks": 1}[call[1]]
        return (_value(given[place], text, constants),) if len(given) > place else (default_threads,)
    if "threads_for_row(" in grid:
        return of_rows
    if several := re.search(r"\.threads = .*\? (\d+) : (\w+)", grid):
        return int(several[1]), _value(several[2], text, constants)
    if one := re.search(r"\.threads = ([\w *]+)", grid):
        return (_value(one[1], text, constants),)
    if grid.startswith(("{", "Grid{")):
        return (default_threads,)
    raise Unclear(f"a grid: {grid}")


def _grid_of(expression, text, at, headers):
    """What a variable or a function of a launch's grid stands for."""
    if expression == "grid":
        made = re.findall(r"Grid grid\s*=\s*([^;]+);|Grid grid(\{[^;]+\});", text[:at])
        if not made:
            raise Unclear(f"no grid before {text[at:at + 60]}")
        return " ".join((made[-1][0] or made[-1][1]).split())
    if member := re.fullmatch(r"parts\.(grid|join_grid)\(\)", expression):
        includes = re.findall(r'#include "engine/cuda/(?:\w+/)?(\w+\.h)"', text)
        for name, header in headers.items():
            if name in includes or header == text:
                if body := re.search(rf"Grid {member[1]}\(\) const \{{\s*return ([^;]+);", header):
                    return " ".join(body[1].split())
        raise Unclear(f"{expression} in a file that includes {includes}")
    return expression


def launches_in(files):
    """{kernel: (counts of threads, whether it gets shared memory)} of sources {name: text}; scan.cu's kernels are
    named with the way that they go."""
    headers = {name: text for name, text in files.items() if name.endswith(".h") and name != "launch.h"}
    constants = constants_in(files.values())
    found = {}

    def note(kernel, threads, shared):
        before, had = found.get(kernel, ((), False))
        found[kernel] = tuple(sorted({*before, *threads})), had or shared

    for name, text in files.items():
        if name == "launch.h":
            continue
        for call in re.finditer(r"(?<![\w:])launch\(", text):
            grid, kernel = arguments(text, call.end())[1:3]
            kernel = re.sub(r"^\w+ \? ", "", kernel)
            function = re.match(r"\w+", kernel)[0]
            body = _grid_of(grid, text, call.start(), headers)
            within = text[text.rfind("\n}\n", 0, call.start()) : call.start()]
            shared = ".shared_bytes = " in body or "grid.shared_bytes = " in within
            if body.startswith("Way::grid("):
                for way in ("ByThread", "ByWarp"):
                    own = re.search(rf"struct {way} \{{\s*static Grid grid\([^)]*\) \{{ return ([^;]+);", text)
                    note(f"{function}<{way}>", _threads(own[1], text, constants), shared)
            elif function in ("kernel", "reinterpret_cast"):
                if _threads(body, text, constants) != (default_threads,):
                    raise Unclear(f"{name}: a kernel by its pointer with another count of threads: {grid}")
            else:
                note(function, _threads(body, text, constants), shared)
    for function in through_pointers:
        note(function, (default_threads,), False)
    return found
