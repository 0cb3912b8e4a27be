"""Branches and loops of graphs on nested structures, and what AutoGraph asks for them."""
from tapedeck import _engine
from tapedeck._autograph import backend as autograph
from tapedeck._core import nest


def is_unknown(value):
    """Whether the value is a tensor whose elements are known only when the graph runs that this thread traces."""
    if not _engine.is_tracing():
        return False
    if isinstance(value, _engine.Variable):
        return True
    return _engine.is_symbolic(value) and _engine.known_value(value) is None


def _tensors(function, leaves):
    for leaf in leaves:
        if not isinstance(leaf, (_engine.Tensor, _engine.Variable, bool, int, float, complex, str, bytes)) and not hasattr(
                leaf, "__array__"):
            raise TypeError(f"{function}: {leaf!r} is no tensor, and none can be made of it")
    return [_engine.convert_to_tensor(leaf) for leaf in leaves]


def branch(function, pred, true_fn, false_fn):
    """What one of the functions returns when the graph runs; both return the same form, None where the other does. function: whose
    name errors begin with."""
    forms = []

    def flat(fn):
        def called():
            returned = fn()
            leaves = nest.flatten(returned)
            forms.append((returned, [leaf is None for leaf in leaves]))
            return _tensors(function, [leaf for leaf in leaves if leaf is not None])
        return called

    results = iter(_engine.graph_branch(_engine.convert_to_tensor(pred), flat(true_fn), flat(false_fn)))
    (one, missing), (other, missing_there) = forms
    nest.assert_same_structure(one, other)
    if missing != missing_there:
        raise TypeError(f"{function}: one branch returns None where the other returns a tensor: {one!r} and {other!r}")
    return nest.pack_sequence_as(one, [None if none else next(results) for none in missing])


def loop(function, cond, body, loop_vars, shapes=()):
    """loop_vars = body(*loop_vars) as long as cond(*loop_vars) holds, when the graph runs. Numbers become tensors. shapes: for each leaf
    of loop_vars its shape in all iterations, None for the one that it has; or nothing for none."""
    def structured(tensors):
        return nest.pack_sequence_as(loop_vars, tensors)

    def holds(tensors):
        return [_engine.convert_to_tensor(cond(*structured(tensors)))]

    def step(tensors):
        values = body(*structured(tensors))
        if len(loop_vars) == 1 and not (isinstance(values, (list, tuple)) and len(values) == 1):
            values = [values]
        leaves = nest.flatten(values)
        if len(leaves) != len(tensors):
            raise _engine.InvalidArgumentError(f"{function}: body returns {len(leaves)} tensors; there are {len(tensors)} loop variables")
        return [leaf if isinstance(leaf, _engine.Tensor) else _engine.convert_to_tensor(leaf, before.dtype)
                for leaf, before in zip(leaves, tensors)]

    return structured(_engine.graph_loop(_tensors(function, nest.flatten(loop_vars)), holds, step, shapes))


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


def converted(func):
    """The function with its control flow in the graph, where it can be converted."""
    from tapedeck._autograph import calls  # likewise
    return calls.callee(func)
