"""Branches and loops of graphs on nested structures, and what AutoGraph asks for them."""
import inspect
import os

from tapedeck import _engine
from tapedeck._autograph import backend as autograph, state
from tapedeck._autograph.state import shown
from tapedeck._core import nest
from tapedeck._core.composites import op

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def is_unknown(value):
    """Whether the value is a tensor whose elements are known only when the graph runs that this thread traces."""
    if not _engine.is_tracing():
        return False
    if isinstance(value, _engine.Variable):
        return True
    return _engine.is_symbolic(value) and _engine.known_value(value) is None


def _is_composite(leaf):
    """Whether it is an object that a graph carries as tensors (_autograph/state.py)."""
    return hasattr(type(leaf), "_carried")


def _expanded(leaves):
    """The leaves with what a graph carries in place of objects that are made of tensors."""
    return [part for leaf in leaves for part in (leaf._carried() if _is_composite(leaf) else [leaf])]


def _packed(structure, tensors):
    """The structure with these in place of what _expanded gives of its leaves; None stays."""
    remaining = iter(tensors)
    leaves = [leaf._with([next(remaining) for _ in leaf._carried()]) if _is_composite(leaf) else leaf if leaf is None else next(remaining)
              for leaf in nest.flatten(structure)]
    return nest.pack_sequence_as(structure, leaves)


def _tensors(function, leaves):
    for leaf in leaves:
        if not isinstance(leaf, (_engine.Tensor, _engine.Variable, bool, int, float, complex, str, bytes)) and not hasattr(
                leaf, "__array__"):
            raise TypeError(f"{function}: {leaf!r} is no tensor, and none can be made of it")
    return [_engine.convert_to_tensor(leaf) for leaf in leaves]


def _as_scalar(value):
    """The one element of a tensor that decides, as Python's `if` and `while` take it, too; others as they are."""
    value = _engine.convert_to_tensor(value)
    rank = value.shape.rank
    return op("reshape")(value, []) if rank and all(extent == 1 for extent in value.shape) else value


def branch(function, pred, true_fn, false_fn):
    """What one of the functions returns when the graph runs; both return the same form, None where the other does. function: whose
    name errors begin with."""
    sides = []

    def flat(fn):
        def called():
            returned = fn()
            leaves = nest.flatten(returned)
            kinds = [None if leaf is None else type(leaf) if _is_composite(leaf) else _engine.Tensor for leaf in leaves]
            tensors = _tensors(function, _expanded(leaf for leaf in leaves if leaf is not None))
            sides.append((returned, kinds, tensors))
            if len(sides) == 2:
                _require_alike(function, (true_fn, false_fn), sides)
            return tensors
        return called

    results = _engine.graph_branch(_as_scalar(pred), flat(true_fn), flat(false_fn))
    return _packed(nest.map_structure(state.agreeing, sides[0][0], sides[1][0]), results)


def _require_alike(function, functions, sides):
    """TypeError with what both functions return where these differ in number, structure or dtype. Shapes may."""
    (one, kinds, tensors), (other, kinds_there, tensors_there) = sides
    try:
        nest.assert_same_structure(one, other)
        same = kinds == kinds_there and [each.dtype for each in tensors] == [each.dtype for each in tensors_there]
    except (TypeError, ValueError):
        same = False
    if same:
        return
    names, them = (("true_fn", "false_fn"), "true_fn and false_fn") if function == "cond" else (("a function", "another"), "its functions")
    returned = [f"{name}{_line_of(fn)} returns {shown(value)}" for name, fn, value in zip(names, functions, (one, other))]
    raise _engine.TypeMismatchError(f"{function}: {them} must return the same number, type and structure of values: "
                                    f"{', '.join(returned)}")


def _line_of(function):
    """" in line 7": where a function of the user's begins."""
    while hasattr(function, "func"):  # of functools.partial
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None or code.co_filename.startswith(_PACKAGE) else f" in line {code.co_firstlineno}"


def _formed(cond, body, loop_vars):
    """loop_vars with the forms that some objects in it have only behind an iteration."""
    leaves = nest.flatten(loop_vars)
    if all(leaf._is_formed() for leaf in leaves if _is_composite(leaf)):
        return loop_vars
    seen = []

    def probe(tensors):
        remaining = iter(tensors)
        tried = [leaf._with(None) if _is_composite(leaf) else next(remaining) for leaf in leaves]
        seen.extend(nest.flatten(body(*nest.pack_sequence_as(loop_vars, tried))))
        return []

    tensors = [_engine.convert_to_tensor(leaf) for leaf in leaves if not _is_composite(leaf)]
    _engine.trace_graph("discarded", [(f"x{number}", each.dtype, each.shape) for number, each in enumerate(tensors)], probe)
    if len(seen) != len(leaves):
        return loop_vars  # the loop says what is wrong
    made = [leaf if not _is_composite(leaf) or leaf._is_formed() else leaf._formed_as(other) for leaf, other in zip(leaves, seen)]
    return nest.pack_sequence_as(loop_vars, made)


def loop(function, cond, body, loop_vars, shapes=()):
    """loop_vars = body(*loop_vars) as long as cond(*loop_vars) holds, when the graph runs. Numbers become tensors. shapes: for each leaf
    of loop_vars its shape in all iterations, None for the one that it has; or nothing for none."""
    loop_vars = nest.map_structure(lambda leaf: leaf._with(None) if _is_composite(leaf) else leaf, loop_vars)  # it keeps its own
    loop_vars = _formed(cond, body, loop_vars)
    leaves = nest.flatten(loop_vars)
    shapes = [shape for leaf, given in zip(leaves, shapes or [None] * len(leaves))
              for shape in (leaf._carried_shapes() if _is_composite(leaf) else [given])]

    def structured(tensors):
        return _packed(loop_vars, tensors)

    def holds(tensors):
        return [_as_scalar(cond(*structured(tensors)))]

    def step(tensors):
        values = body(*structured(tensors))
        if len(loop_vars) == 1 and not (isinstance(values, (list, tuple)) and len(values) == 1):
            values = [values]
        made = nest.flatten(values)
        for number, (before, after) in enumerate(zip(leaves, made)):
            if _is_composite(before) and type(before) is not type(after):
                raise _engine.TypeMismatchError(f"{function}: loop variable {number} is {before!r}, and body makes it {after!r}")
            if state.conflict(before, after):
                raise _engine.InvalidArgumentError(f"{function}: loop variable {number} is {before!r}, and body makes it {after!r}; its "
                                                   "tensors' shape must stay")
        made = _expanded(made)
        if len(made) != len(tensors):
            raise _engine.InvalidArgumentError(f"{function}: body returns {len(made)} tensors; there are {len(tensors)} loop variables")
        return [leaf if isinstance(leaf, _engine.Tensor) else _engine.convert_to_tensor(leaf, before.dtype)
                for leaf, before in zip(made, tensors)]

    return structured(_engine.graph_loop(_tensors(function, _expanded(leaves)), holds, step, shapes))


class Backend(autograph.Backend):
    """AutoGraph's: while this thread traces, tensors and variables decide in the graph."""

    def is_symbolic(self, value):
        return _engine.is_tracing() and isinstance(value, (_engine.Tensor, _engine.Variable))

    def branch(self, predicate, true_fn, false_fn):
        return _engine.graph_branch(predicate, true_fn, false_fn)

    def loop(self, variables, condition, body, shapes=()):
        return _engine.graph_loop(variables, lambda tensors: [condition(*tensors)], lambda tensors: body(*tensors), shapes)

    def discarded(self, function, variables):
        specs = [(f"x{number}", tensor.dtype, tensor.shape) for number, tensor in enumerate(variables)]

        def called(tensors):
            function(*tensors)
            return []

        _engine.trace_graph("discarded", specs, called)


autograph.plug_in(Backend())


def steps(start, limit, delta):
    """What `for` of a converted function runs over: numbers at equal steps, known when the graph runs."""
    from tapedeck._autograph import items  # it imports this package's ops, which need this file
    return items.range_(start, limit, delta)


def with_steps(values, steps):
    """The tensor of a range, which a `for` of a converted function counts through instead."""
    from tapedeck._autograph import items  # likewise
    items.remember(values, steps)
    return values


def converted(func):
    """The function with its control flow in the graph, where it can be converted."""
    from tapedeck._autograph import calls  # likewise
    return calls.callee(func)
