"""Finds the syntax tree of a function in its file or cell."""
import __future__

import ast
import dis
import linecache
import types

from tapedeck._autograph.exits import Unconvertible
from tapedeck._autograph.names import parameters

_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names if name != "nested_scopes")
_trees = {}  # by file: its text, its tree, and a list of its code objects, filled when it is asked for
_MOST = 64  # files


def _tree(code, global_names):
    lines = linecache.getlines(code.co_filename, global_names)
    if not lines:
        raise Unconvertible(f"the source of {code.co_filename} is not there")
    text = "".join(lines)
    known = _trees.get(code.co_filename)
    if known is None or known[0] != text:
        try:
            known = text, ast.parse(text), []
        except (SyntaxError, ValueError) as error:
            raise Unconvertible(f"the source of {code.co_filename} cannot be read: {error}") from None
        while len(_trees) >= _MOST:
            _trees.pop(next(iter(_trees)))
        _trees[code.co_filename] = known
    return known[1:]


def text_of(file):
    """What functions of the file were converted from; None where none was, or too many files since."""
    known = _trees.get(file)
    return known and known[0]


def _codes(code, tree, found):
    """The code objects that the file's text gives now."""
    if not found:
        waiting = [compile(tree, code.co_filename, "exec", code.co_flags & _FUTURE, True)]
        while waiting:
            each = waiting.pop()
            found.append(each)
            waiting += [const for const in each.co_consts if isinstance(const, types.CodeType)]
    return found


def _steps(code):
    """Instructions with their arguments. A call of what the same text imports is compiled in another way than elsewhere, as cells are,
    whose statements are compiled one by one."""
    for each in dis.get_instructions(code):
        if each.opname in ("PRECALL", "CALL", "PUSH_NULL"):
            continue
        shown = each.argrepr.replace("NULL + ", "").replace("NULL|self + ", "") if each.opcode in _SHOWN else None
        yield each.opname.replace("LOAD_METHOD", "LOAD_ATTR"), shown


_SHOWN = frozenset((*dis.hasname, *dis.haslocal, *dis.hasfree, *dis.hascompare, dis.opmap.get("BINARY_OP", -1)))


def _same(one, other):
    """Whether two code objects do the same."""
    if one.co_names != other.co_names or len(one.co_consts) != len(other.co_consts) or [*_steps(one)] != [*_steps(other)]:
        return False
    return all(_same(a, b) if isinstance(a, types.CodeType) and isinstance(b, types.CodeType) else repr(a) == repr(b)
               for a, b in zip(one.co_consts, other.co_consts))


def _require_unchanged(code, tree, found):
    """Unconvertible where the text of the file is not what runs: it was edited after it was imported. Testing tools that rewrite
    assertions mark the code with names that no program has."""
    if any("@" in name for name in (*code.co_names, *code.co_varnames)):
        return
    now = [each for each in _codes(code, tree, found) if each.co_name == code.co_name and each.co_firstlineno == code.co_firstlineno]
    if now and not any(_same(each, code) for each in now):
        raise Unconvertible(f"the text of {code.co_filename} is not what runs: it was changed since; import it again")


def node_of(function):
    """(the function's node, the name of the class around it or None)."""
    code = function.__code__
    kinds = ast.Lambda if code.co_name == "<lambda>" else (ast.FunctionDef, ast.AsyncFunctionDef)
    tree, codes = _tree(code, function.__globals__)
    waiting, found = [(tree, None)], []
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
    _require_unchanged(code, tree, codes)
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
    if not hasattr(code, "co_positions"):
        return False  # Python 3.10 knows lines alone, and two lambdas may be on one
    body, places = node.body, [place for place in code.co_positions() if None not in place and place[2:] != (0, 0)]
    begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [(place[0], place[2], place[1], place[3]) for place in places]
    return bool(places) and all(begin <= place[:2] and place[2:] <= end for place in places)


def _unmangled(name):
    return name.lstrip("_").rpartition("__")[2] if name.startswith("_") else name


def _same_name(written, compiled):
    return compiled == written or compiled.endswith(written)
