"""Which function an op of the past ran in, and what locals that has: read from the source, no frame of it is left."""
import functools
import json
import linecache

from tapedeck import _engine

_OPTIMIZED = 1  # CO_OPTIMIZED: a function's code
_debug = _engine.debug


def function_of(record):
    """(the function's name, the names of its locals and of those around it that it sees); ("", ()): it ran in none."""
    page = json.loads(_debug.records_json(record, 1))
    if not page or not page[0].get("line"):
        return "", ()
    cell, file, line = (page[0].get(field) for field in ("cell", "file", "line"))
    files = [file] if not cell else [name for name in list(linecache.cache)[::-1] if _debug._cell_of(name) == cell] or [cell]
    for each in files:  # of a cell whose code changed: the newest first
        function, names = _at_line("".join(linecache.getlines(each)), line)
        if function:
            return function, names
    return "", ()


@functools.lru_cache(16)
def _at_line(source, line):
    try:
        code = compile(source, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return "", ()
    function, names = "", set()
    while True:
        code = next((inner for inner in code.co_consts if hasattr(inner, "co_code") and _has_line(inner, line)), None)
        if code is None:
            return function, frozenset(names)
        if code.co_flags & _OPTIMIZED:
            names.update(code.co_varnames + code.co_cellvars)
            if not code.co_name.startswith("<") or not function:
                function = "a lambda" if code.co_name == "<lambda>" else code.co_name


def _has_line(code, line):
    return code.co_firstlineno <= line and any(line == each for _, _, each in code.co_lines()) or any(
        _has_line(inner, line) for inner in code.co_consts if hasattr(inner, "co_code"))
