"""What a program wrote at an instruction: "F.relu(x)" for the op that runs there. Asked once for each instruction.

It returns a text only where that text is what runs. It compiles a file's source again, and looks for the running code object in the
result. Cells and generated code have their source in linecache, where those who compile them put it; nothing else is read from there.
"""
import ast
import contextlib
import dis
import itertools
import linecache
import os
import sys
import tokenize
import types
import warnings

_LONGEST = 4000  # characters
_MOST_FILES = 64
_MOST_BYTES = 4 << 20  # of a file
_files = {}  # by path: _File


class _File:
    """A source file as it is on the disk."""

    def __init__(self, path, stamp):
        self.stamp = stamp
        self.text = ""
        self.codes = frozenset()
        try:
            with tokenize.open(path) as stream:
                self.text = stream.read()
            with _without_warnings():
                self.codes = frozenset(_codes_in(compile(self.text, path, "exec", dont_inherit=True)))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # not the source of what runs


def _codes_in(code):
    waiting = [code]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += [const for const in each.co_consts if isinstance(const, types.CodeType)]


@contextlib.contextmanager
def _without_warnings():
    """What the compiler warns of it has said before. warnings.catch_warnings() would have it say the program's own warnings again."""
    quiet = ("ignore", None, Warning, None, 0)
    warnings.filters.insert(0, quiet)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            warnings.filters.remove(quiet)


def _source_of(code):
    """The text that the code was compiled from; None where that is not known."""
    name = code.co_filename
    known = linecache.cache.get(name)
    # Given by who compiled it: such an entry has no time; IPython before 8.6 gives its cells the time and keeps a list of them.
    given = known is not None and len(known) == 4 and (known[1] is None or name in getattr(linecache, "_ipython_cache", ()))
    if given:
        return "".join(known[2])
    conversion = sys.modules.get("tapedeck._autograph.conversion")
    if conversion is not None and conversion.is_converted(code):
        return conversion.source.text_of(name)
    path = os.path.abspath(name)
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    stamp = found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
    file = _files.get(path)
    if file is None or code not in file.codes and file.stamp != stamp:
        if found.st_size > _MOST_BYTES:
            return None
        while len(_files) >= _MOST_FILES:
            _files.pop(next(iter(_files)))
        file = _files[path] = _File(path, stamp)
    return file.text if code in file.codes else None


def _taken(lines, first, column, last, last_column):
    """The text between two places; columns are bytes of UTF-8, as Python counts them."""
    parts = [line.encode() for line in lines[first - 1:last]]
    parts[-1] = parts[-1][:last_column]
    parts[0] = parts[0][column:]
    return _less_indented(b"\n".join(parts).decode(), lines[first - 1])


def _less_indented(text, line):
    """Further lines without the indentation of the first, where all have it."""
    indentation = line[:len(line) - len(line.lstrip())]
    first, *others = text.split("\n")
    if all(other.startswith(indentation) or not other.strip() for other in others):
        others = [other[len(indentation):] for other in others]
    return "\n".join([first, *others])


_trees = {}  # the newest text alone, and its syntax tree


def _node_at(text, fits):
    """The innermost node that fits(node), which has a place."""
    if text not in _trees:
        _trees.clear()
        with _without_warnings():
            _trees[text] = ast.parse(text)
    found = [node for node in ast.walk(_trees[text]) if hasattr(node, "end_col_offset") and fits(node)]
    return min(found, key=lambda node: (node.end_lineno - node.lineno, node.end_col_offset - node.col_offset), default=None)


def _widened(code, instruction, text, place):
    """Python says of a method's call on a line of its own only where its name begins, and of an assignment where its target is."""
    first, column, last, last_column = place
    operation = dis.opname[code.co_code[instruction]]
    if operation.startswith(("STORE_", "DELETE_", "UNPACK_")):
        node = _node_at(text, lambda node: isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete))
                        and (node.lineno, node.col_offset) <= (first, column)
                        and (last, last_column) <= (node.end_lineno, node.end_col_offset))
    elif column == 0 or not _lines(text)[first - 1].encode()[:column].rstrip().endswith(b"."):
        return place
    else:
        node = _node_at(text, lambda node: isinstance(node, (ast.Call, ast.Attribute))
                        and (node.end_lineno, node.end_col_offset) == (last, last_column))
    return place if node is None else (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def _lines(text):
    return text.split("\n")  # as Python counts them: splitlines() would end lines at other characters, too


def _place(code, instruction):
    """(line, column, last line, last column); of Python 3.10, or started with -X no_debug_ranges, (line, None, line, None)."""
    if hasattr(code, "co_positions"):
        for first, last, column, last_column in itertools.islice(code.co_positions(), max(instruction, 0) // 2, None):
            return first, column, last, last_column
    for begin, end, line in code.co_lines():
        if begin <= instruction < end:
            return line, None, line, None
    return None, None, None, None


def at(code, instruction, whole_line):
    """What is written at the instruction, by its offset in bytes.

    whole_line: the line that it is on in place of that.

    Returns: (text, whether it is a whole line, because nothing else is known); None where what runs there was written nowhere.
    """
    text = _source_of(code)
    first, column, last, last_column = _place(code, instruction)
    if not text or not first:
        return None
    lines = _lines(text)
    if last is None or last > len(lines):
        return None
    whole_line = bool(whole_line) or column is None or last_column is None
    if whole_line:
        written = lines[first - 1].strip()
    else:
        written = _taken(lines, *_widened(code, instruction, text, (first, column, last, last_column))).strip()
    if len(written) > _LONGEST:
        written = f"{written[:_LONGEST]}… ({len(written) - _LONGEST:,} more characters)"
    return (written, whole_line) if written else None
