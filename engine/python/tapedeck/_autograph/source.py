"""Finds the syntax tree of a function in its file or cell."""
import ast
import linecache

from tapedeck._autograph.exits import Unconvertible
from tapedeck._autograph.names import parameters

_trees = {}  # by file: its text, and its tree
_MOST = 64  # files


def _tree(code, global_names):
    lines = linecache.getlines(code.co_filename, global_names)
    if not lines:
        raise Unconvertible(f"the source of {code.co_filename} is not there")
    text = "".join(lines)
    known = _trees.get(code.co_filename)
    if known is None or known[0] != text:
        try:
            known = text, ast.parse(text)
        except (SyntaxError, ValueError) as error:
            raise Unconvertible(f"the source of {code.co_filename} cannot be read: {error}") from None
        while len(_trees) >= _MOST:
            _trees.pop(next(iter(_trees)))
        _trees[code.co_filename] = known
    return known[1]


def node_of(function):
    """(the function's node, the name of the class around it or None)."""
    code = function.__code__
    kinds = ast.Lambda if code.co_name == "<lambda>" else (ast.FunctionDef, ast.AsyncFunctionDef)
    waiting, found = [(_tree(code, function.__globals__), None)], []
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, kinds) and _is_node_of(node, code):
            found.append((node, around))
        inner = node.name if isinstance(node, ast.ClassDef) else around
        waiting += [(child, inner) for child in ast.iter_child_nodes(node)]
    if kinds is ast.Lambda and found:  # code of a lambda lies in the body of those around it, too
        found = [min(found, key=lambda each: len(ast.unparse(each[0])))]
    if len(found) != 1:
        raise Unconvertible(f"line {code.co_firstlineno} of {code.co_filename} has "
                            f"{f'{len(found)} functions' if found else 'no function'} {code.co_name} as it was when it ran")
    return found[0]


def _is_node_of(node, code):
    arguments = parameters(node.args)
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    if len(arguments) != count or not all(_same_name(each.arg, name) for each, name in
                                          zip(sorted(arguments, key=lambda each: each.arg.lstrip("_")),
                                              sorted(code.co_varnames[:count], key=_unmangled))):
        return False
    if not isinstance(node, ast.Lambda):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        lines = [line for _, _, line in code.co_lines() if line is not None]
        return node.name == code.co_name and first == code.co_firstlineno and max(lines) <= node.end_lineno
    if node.lineno != code.co_firstlineno:
        return False
    body, places = node.body, [place for place in code.co_positions() if None not in place and place[2:] != (0, 0)]
    begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [(place[0], place[2], place[1], place[3]) for place in places]
    return bool(places) and all(begin <= place[:2] and place[2:] <= end for place in places)


def _unmangled(name):
    return name.lstrip("_").rpartition("__")[2] if name.startswith("_") else name


def _same_name(written, compiled):
    return compiled == written or compiled.endswith(written)
