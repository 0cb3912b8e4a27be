"""Makes the converted function: the user's own in file, lines, name, defaults, globals and closure."""
import __future__

import ast
import copy
import dis
import inspect
import sys
import types
import weakref

from tapedeck._autograph import source
from tapedeck._autograph.exits import Unconvertible
from tapedeck._autograph.expressions import shadows
from tapedeck._autograph.state import qualified_name
from tapedeck._autograph.statements import Converter, why_not
from tapedeck._autograph.syntax import OPERATORS, THUNK, statements

_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names if name != "nested_scopes")
_codes = {}  # by the address of the code: a weak reference to it, and its conversion
_made = {}  # weak references to the code of conversions and of the functions inside, by its address


def is_converted(code):
    """Whether a conversion made the code."""
    known = _made.get(id(code))
    return OPERATORS in code.co_freevars or known is not None and known() is code


def _remember(code):
    address = id(code)
    _made[address] = weakref.ref(code, lambda _: _made.pop(address, None))
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            _remember(each)


def tree(function):
    """(the converted node of the function, the name of the class around it or None)."""
    node, around = source.node_of(function)
    reason = why_not(node)
    if reason:
        raise Unconvertible(reason)
    node = copy.deepcopy(node)
    converter = Converter(shadows(function.__globals__))
    arguments = node.args
    arguments.defaults = [ast.copy_location(ast.Constant(None), node) for _ in arguments.defaults]  # the function has them
    arguments.kw_defaults = [each and ast.copy_location(ast.Constant(None), node) for each in arguments.kw_defaults]
    if isinstance(node, ast.Lambda):
        node.body = converter.visit(node.body)
        return node, around
    # Code begins in the line of the first decorator; this one is never called.
    node.decorator_list, node.returns = [ast.copy_location(ast.Constant(None), each) for each in node.decorator_list[:1]], None
    for each in ast.walk(arguments):
        if isinstance(each, ast.arg):
            each.annotation = None
    return converter.function(node), around


def _compiled(function):
    code = function.__code__
    try:
        node, around = tree(function)
    except RecursionError as error:
        raise Unconvertible(f"it is nested too deeply: {error}") from error
    outer = [name for name in code.co_freevars if not (name == "__class__" and around)]
    inner = statements("ag__function", node, ag__function=[node] if isinstance(node, ast.stmt) else [_expression(node)])
    if around:  # private names are those of the class
        inner = statements(f"class {around}:\n    ag__inner", node, ag__inner=inner)
    name = around or code.co_name
    own = f"    global {name}\n" if name.isidentifier() and name not in outer else ""  # it is no name of the factory's
    body = statements(f"def ag__factory({', '.join([OPERATORS, *outer])}):\n{own}    ag__inner", node, ag__inner=inner)
    module = ast.fix_missing_locations(ast.Module(body, []))
    try:
        made = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, True)
    except (SyntaxError, RecursionError, ValueError) as error:
        raise Unconvertible(f"{type(error).__name__}: {error}") from error
    for name in ("ag__factory", *([around] if around else []), code.co_name):
        made = next(each for each in made.co_consts if isinstance(each, types.CodeType) and each.co_name == name)
    made = _named(made, qualified_name(code))
    _remember(made)
    return made


def _expression(node):
    return ast.copy_location(ast.Expr(node), node)


def _named(code, name):
    """The code under the user's names, as tracebacks and profilers show them: the parts of a function have its name."""
    if not hasattr(code, "co_qualname"):
        return code  # Python 3.10: the names are constants of the code around it
    consts = []
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            each = _named(each, _name_inside(code, name, each))
        elif each == qualified_name(code) and not code.co_flags & inspect.CO_OPTIMIZED:
            each = name  # what a class takes for its __qualname__
        consts.append(each)
    return code.replace(co_consts=tuple(consts), co_qualname=name, co_name=name.rpartition(".")[2])


def _name_inside(code, name, inner):
    if inner.co_name.startswith(OPERATORS) or inner.co_varnames[:1] == (THUNK,):
        return name
    if not qualified_name(inner).startswith(qualified_name(code) + "."):
        return qualified_name(inner)  # it is declared global
    return f"{name}.{'<locals>.' if code.co_flags & inspect.CO_OPTIMIZED else ''}{inner.co_name}"


def convert(function, operators=None):
    """The converted function. Unconvertible where its source is not there or it is one that stays as it is."""
    code = function.__code__
    known = _codes.get(id(code))
    if known is None or known[0]() is not code:
        address = id(code)
        known = _codes[address] = weakref.ref(code, lambda _: _codes.pop(address, None)), _compiled(function)
    made = known[1]
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells[OPERATORS] = types.CellType(operators or sys.modules["tapedeck._autograph.operators"])
    closure = tuple(cells[name] for name in made.co_freevars)
    result = types.FunctionType(made, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__annotations__ = function.__annotations__
    result.__dict__.update(function.__dict__)
    result.__doc__, result.__module__, result.__qualname__ = function.__doc__, function.__module__, function.__qualname__
    return result


def _decides(code):
    """Whether the code, or some that is in it, branches, loops or asks for a truth value: what conversion is for."""
    jumps = (*dis.hasjrel, *dis.hasjabs)
    if any(each.opcode in jumps or each.opname == "UNARY_NOT" for each in dis.get_instructions(code)):
        return True
    return any(_decides(const) for const in code.co_consts if isinstance(const, types.CodeType))


_warned = set()
settings = {"verbosity": 0}


def warn(function, error):
    """Says once of a function why it runs as it is; of generators and coroutines, and of functions without control flow, from
    verbosity 1 on."""
    from tapedeck.logging import get_logger  # what tf.logging needs is loaded when something is said
    code = function.__code__
    place = code.co_filename, code.co_firstlineno, code.co_name
    if place not in _warned and (settings["verbosity"] or not str(error).startswith("it is a ") and _decides(code)):
        _warned.add(place)
        get_logger().warning("AutoGraph cannot convert %s (line %d of %s), which runs as it is: %s", qualified_name(code),
                             code.co_firstlineno, code.co_filename, error)
