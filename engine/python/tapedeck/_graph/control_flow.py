"""Control flow with TensorFlow's arguments: tf.cond, tf.while_loop, tf.map_fn and their siblings.

Ops run at once, so these are plain Python: they call the functions they are given as often as it takes, and the ops inside
are recorded like any others. Arguments for TensorFlow's graphs (parallel_iterations, swap_memory, infer_shape; back_prop but for
while_loop's) are accepted and have no effect. Exceptions of the functions propagate unchanged.
"""
from operator import index

import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core import dtypes, generation, nest
from tapedeck._core.composites import either, op, require_callable as _require_callable, tensor
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._functions import control
from tapedeck._graph import slice_loops
from tapedeck._graph.tensor_array import TensorArray


def _is_tensor(value):
    return isinstance(value, (_engine.Tensor, _engine.Variable))


def _require_list(function, argument, value):
    if not isinstance(value, (list, tuple, dict)):
        raise TypeError(f"{function}: {argument} is {value!r}; needs a list or a dict")


def _scalar(function, argument, value):
    """The value, checked to be one element."""
    if np.prod(np.shape(value), dtype=int) != 1:
        raise InvalidArgumentError(f"{function}: {argument} has shape {tuple(np.shape(value))}; needs a scalar")
    return value


def _whole(function, argument, value):
    """The value as a Python number, checked to be an integer."""
    try:
        return index(_scalar(function, argument, value))
    except TypeError:
        raise TypeError(f"{function}: {argument} is {value!r}; needs an integer") from None


def _require_form(function, what, wanted, given):
    """ValueError where `given` is not nested as `wanted`: the same lists, tuples and dicts around as many leaves."""
    def fits(one, other):
        if not nest.is_nested(one) or not nest.is_nested(other):
            return nest.is_nested(one) == nest.is_nested(other)
        if isinstance(one, dict) or isinstance(other, dict):
            return (isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys()
                    and all(fits(one[key], other[key]) for key in one))
        return len(one) == len(other) and all(map(fits, one, other))

    if not fits(wanted, given):
        raise InvalidArgumentError(f"{function}: {what} has the form {_form(given)}; needs {_form(wanted)}")


def _form(structure):
    """A nested structure's form, its leaves as dots."""
    return repr(nest.map_structure(lambda _: ..., structure)).replace("Ellipsis", "·")


@public("cond")
def cond(pred, true_fn=None, false_fn=None, name=None, *, strict=None, fn1=None, fn2=None):
    """Returns true_fn() if pred is True, else false_fn().

    pred: one element, a tensor's or a Python value; true_fn, false_fn: functions without arguments, of which one is called; fn1, fn2: their
    names in TensorFlow 1; strict: whether a list of one value stays a list, None for True, and False after
    tf.compat.v1_behavior().
    Returns: what it returns.
    Errors: TypeError for a value that is not a function, and, in a function that is traced, where both return other structures or dtypes;
    InvalidArgumentError for a pred of several elements.
    """
    true_fn, false_fn = either("cond", "true_fn", true_fn, "fn1", fn1), either("cond", "false_fn", false_fn, "fn2", fn2)
    _require_callable("cond", "true_fn", true_fn)
    _require_callable("cond", "false_fn", false_fn)
    if control.is_unknown(pred):
        result = control.branch("cond", pred, true_fn, false_fn)
    else:
        result = true_fn() if _scalar("cond", "pred", pred) else false_fn()
    strict = not generation.is_first() if strict is None else strict
    return result[0] if not strict and isinstance(result, (list, tuple)) and len(result) == 1 else result


def _case_pairs(pred_fn_pairs):
    _require_list("case", "pred_fn_pairs", pred_fn_pairs)
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    for number, pair in enumerate(pairs):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(f"case: pred_fn_pairs[{number}] is {pair!r}; needs a pair of a bool and a function")
        pred, function = pair
        if not isinstance(pred, (bool, np.bool_)) and not (_is_tensor(pred) and pred.dtype.is_bool):
            raise TypeError(f"case: the pred of pred_fn_pairs[{number}] is {pred!r}; needs a bool")
        _scalar("case", f"the pred of pred_fn_pairs[{number}]", pred)
        _require_callable("case", f"the function of pred_fn_pairs[{number}]", function)
    return pairs


def _case_of_graph(pairs, default):
    """As TensorFlow's graphs: where none holds and there is no default, the last function's."""
    if not pairs:
        return default()
    (pred, function), others = pairs[0], pairs[1:]
    if not others and default is None:
        return function()
    return control.branch("case", pred, function, lambda: _case_of_graph(others, default))


@public("case")
def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """The function of the first pair whose pred holds, else default, called.

    pred_fn_pairs: a list of pairs (pred, function): pred a bool or a scalar bool tensor, function without arguments; or a
    dict of them; default: a function; exclusive: at most one pred may hold.
    Returns: what the function returns.
    Errors: InvalidArgumentError where none holds and there is no default, where several do with exclusive, and for a pred
    that is not a scalar; TypeError for other pairs.
    """
    pairs = _case_pairs(pred_fn_pairs)
    if default is not None:
        _require_callable("case", "default", default)
    if any(control.is_unknown(pred) for pred, _ in pairs):
        return _case_of_graph(pairs, default)
    holding = [number for number, (pred, _) in enumerate(pairs) if pred]
    if exclusive and len(holding) > 1:
        raise InvalidArgumentError(f"case: exclusive, but the preds of the pairs {holding} hold")
    if holding:
        return pairs[holding[0]][1]()
    if default is None:
        raise InvalidArgumentError(f"case: none of the {len(pairs)} preds holds, and there is no default")
    return default()


@public("switch_case")
def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """The function of that number, or default where there is none, called.

    branch_index: an integer or a scalar tensor of one; branch_fns: a list of functions without arguments, or of pairs
    (number, function), or a dict of them; default: a function; None for the one with the highest number.
    Returns: what the function returns.
    Errors: TypeError for other arguments; InvalidArgumentError for a branch_index that is not a scalar, for no functions, and
    a number that occurs twice.
    """
    _require_list("switch_case", "branch_fns", branch_fns)
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    else:
        pairs = [pair if isinstance(pair, (list, tuple)) else (number, pair) for number, pair in enumerate(branch_fns)]
    functions = {}
    for pair in pairs:
        if len(pair) != 2 or isinstance(pair[0], bool) or not isinstance(pair[0], int):
            raise TypeError(f"switch_case: branch_fns holds {pair!r}; needs functions, or pairs of a number and a function")
        number, function = pair
        _require_callable("switch_case", f"the function of number {number}", function)
        if number in functions:
            raise InvalidArgumentError(f"switch_case: the number {number} occurs twice in branch_fns")
        functions[number] = function
    if not functions:
        raise InvalidArgumentError("switch_case: branch_fns is empty")
    if default is None:
        default = functions[max(functions)]
    _require_callable("switch_case", "default", default)
    chosen = tensor(_scalar("switch_case", "branch_index", branch_index))
    if not chosen.dtype.is_integer:
        raise TypeError(f"switch_case: branch_index is {chosen.dtype.name}; needs an integer")
    if control.is_unknown(chosen):
        pairs = [(op("equal")(chosen, number), function) for number, function in functions.items()]
        return _case_of_graph(pairs, default)
    return functions.get(int(chosen), default)()


def _invariants(loop_vars, shapes):
    """For each leaf of loop_vars its shape in `shapes`, which is nested alike."""
    if not nest.is_nested(loop_vars):
        return [TensorShape(shapes.shape if hasattr(shapes, "dtype") else shapes)]
    children = [loop_vars[key] for key in sorted(loop_vars)] if isinstance(loop_vars, dict) else list(loop_vars)
    if len(shapes) != len(children):
        raise InvalidArgumentError(f"while_loop: shape_invariants has {len(shapes)} entries; loop_vars has {len(children)}")
    own = [shapes[key] for key in sorted(shapes)] if isinstance(shapes, dict) else list(shapes)
    return [shape for child, shape in zip(children, own) for shape in _invariants(child, shape)]


def _loop_of_graph(cond, body, loop_vars, limit, return_same_structure, shapes):
    if limit is None:
        values = control.loop("while_loop", cond, body, loop_vars, shapes)
    else:
        def holds(count, *values):
            return op("logical_and")(op("less")(count, limit), tensor(cond(*values)))

        def step(count, *values):
            made = body(*values)
            if len(loop_vars) == 1 and not isinstance(made, (list, tuple)):
                made = [made]
            return [count + 1, *made]

        _, *values = control.loop("while_loop", holds, step, [tensor(0), *loop_vars], shapes and [None, *shapes])
        values = nest.pack_sequence_as(loop_vars, nest.flatten(values))
    same = not generation.is_first() if return_same_structure is None else return_same_structure
    return values if same or len(values) > 1 else values[0]


def _without_gradients(values):
    return nest.map_structure(lambda value: op("stop_gradient")(value) if _is_tensor(value) else value, values)


@public("while_loop")
def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,
               maximum_iterations=None, name=None, *, return_same_structure=None):
    """Repeats loop_vars = body(*loop_vars) while cond(*loop_vars) is True.

    cond: a function of the loop variables that returns one element; body: one that returns their new values, nested as they
    are (of a single variable, its value will do); loop_vars: a list or tuple, whose items may be nested structures of
    tensors; shape_invariants: nested alike, the shapes that they have in all iterations, with None for what changes: only functions
    that are traced need it; back_prop: False cuts the gradients of the results; maximum_iterations: how often body is called at most;
    return_same_structure: whether the value of a list of one loop variable comes in a list, None for True, and False after
    tf.compat.v1_behavior().
    Returns: the last values as tensors, and TensorArrays as they are, in the form of loop_vars.
    Errors: TypeError for a value that is not a function or not a list; InvalidArgumentError (a ValueError) for no loop variables, values
    of another form, or a cond that gives more than one element.
    """
    _require_callable("while_loop", "cond", cond)
    _require_callable("while_loop", "body", body)
    if not isinstance(loop_vars, (list, tuple)):
        raise TypeError(f"while_loop: loop_vars is {type(loop_vars).__name__}; needs a list or a tuple")
    if not loop_vars:
        raise InvalidArgumentError("while_loop: loop_vars is empty")
    limit = maximum_iterations
    if limit is not None and not control.is_unknown(limit):
        limit = _whole("while_loop", "maximum_iterations", limit)
    if _engine.is_tracing():
        shapes = [] if shape_invariants is None else _invariants(loop_vars, shape_invariants)
        values = _loop_of_graph(cond, body, loop_vars, limit, return_same_structure, shapes)
        return values if back_prop else _without_gradients(values)
    values, count = loop_vars, 0
    while (limit is None or count < limit) and _scalar("while_loop", "the result of cond", cond(*values)):
        values = body(*values)
        if len(loop_vars) == 1 and not isinstance(values, (list, tuple)):
            values = [values]
        _require_form("while_loop", "the result of body", loop_vars, values)
        count += 1
    result = nest.pack_sequence_as(loop_vars, [value if isinstance(value, TensorArray) else tensor(value)
                                               for value in nest.flatten(values)])
    result = result if back_prop else _without_gradients(result)
    same = not generation.is_first() if return_same_structure is None else return_same_structure
    return result if same or len(result) > 1 else result[0]


@public("tuple")
def tuple_of(tensors, name=None, control_inputs=None):
    """The tensors as a list: TensorFlow's graphs compute all of them before one is used.

    tensors: a list; None in it stays, an IndexedSlices too; control_inputs changes nothing.
    Returns: a list of tensors. Errors: ValueError where there is none.
    """
    if not any(value is not None for value in tensors):
        raise InvalidArgumentError(f"tuple: tensors is {tensors!r}; needs at least one Tensor")
    return [value if value is None or hasattr(value, "indices") else tensor(value) for value in tensors]


def _slices(function, elems, broadcasts=False):
    """For each place of the first axis, the leaves' slices there."""
    leaves = [tensor(leaf) for leaf in nest.flatten(elems)]
    if not leaves or any(leaf.shape.ndims == 0 for leaf in leaves):
        raise InvalidArgumentError(f"{function}: elems has {'a scalar' if leaves else 'no tensor'}; needs at least one axis")
    extents = [leaf.shape[0] for leaf in leaves]
    different = {extent for extent in extents if not (broadcasts and extent == 1)} or {1}
    if len(different) > 1:
        raise InvalidArgumentError(f"{function}: the first axes of elems have the extents {extents}; needs equal ones")
    count = different.pop()
    parts = [op("unstack")(leaf, axis=0) if extent else [] for leaf, extent in zip(leaves, extents)]
    return [nest.pack_sequence_as(elems, [part[number if extent == count else 0] for part, extent in zip(parts, extents)])
            for number in range(count)]


def _dtypes(signature):
    """The dtypes that a signature, nested dtypes or what has a dtype, asks for."""
    return [dtypes.as_dtype(getattr(leaf, "dtype", leaf)) for leaf in nest.flatten(signature)]


def _leaf(function, number, value, first):
    """A result of fn as a tensor, checked to be like the first one."""
    try:
        made = tensor(value)
    except TypeError:
        raise TypeError(f"{function}: result {number} of fn holds {value!r}; needs tensors") from None
    first = first if number == 0 or _is_tensor(first) else tensor(first)
    if number and (made.shape != first.shape or made.dtype != first.dtype):
        raise InvalidArgumentError(f"{function}: result {number} of fn is {made.dtype.name} {tuple(made.shape)}, result 0 "
                                   f"{first.dtype.name} {tuple(first.shape)}; needs one dtype and shape")
    return made


def _stacked(function, results, signature=None):
    """The results, all nested alike, as one structure of tensors with a new first axis."""
    columns = []
    for number, result in enumerate(results):
        _require_form(function, f"result {number} of fn", results[0], result)
    for leaves in zip(*(nest.flatten(result) for result in results)):
        columns.append([_leaf(function, number, leaf, leaves[0]) for number, leaf in enumerate(leaves)])
    _require_signature(function, signature, results[0])
    return nest.pack_sequence_as(results[0], [op("stack")(column, axis=0) for column in columns])


def _require_signature(function, signature, result):
    """Refuses what fn returns where it has not the form and the dtypes of fn_output_signature."""
    if signature is None:
        return
    _require_form(function, "the result of fn", signature, result)
    if isinstance(signature, (list, tuple)) and type(signature) is not type(result):
        raise _engine.TypeMismatchError(f"{function}: fn returns a {type(result).__name__}; fn_output_signature is a "
                                        f"{type(signature).__name__}")
    wanted, given = _dtypes(signature), [tensor(leaf).dtype for leaf in nest.flatten(result)]
    if wanted != given:
        raise InvalidArgumentError(f"{function}: fn returns {', '.join(dtype.name for dtype in given)}; "
                                   f"fn_output_signature is {', '.join(dtype.name for dtype in wanted)}")


def _mapped(function, fn, elems, signature, broadcasts=False):
    _require_callable(function, "fn", fn)
    if _engine.is_tracing():
        return slice_loops.mapped(function, fn, elems, lambda result: _require_signature(function, signature, result), broadcasts)
    slices = _slices(function, elems, broadcasts)
    if slices:
        return _stacked(function, [fn(part) for part in slices], signature)
    form = elems if signature is None else signature
    kinds = [tensor(leaf).dtype for leaf in nest.flatten(elems)] if signature is None else _dtypes(signature)
    return nest.pack_sequence_as(form, [op("zeros")([0], kind) for kind in kinds])


@public("map_fn")
def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name=None,
           fn_output_signature=None):
    """Applies fn to each slice along the first axis and stacks the results.

    fn: a function of one argument, a slice in the form of elems, that returns tensors, nested in any form; elems: a tensor
    or a nested structure of tensors, their first extents equal; fn_output_signature (dtype in TensorFlow 1): the results'
    dtypes in their form, checked where it is given.
    Returns: in the form of fn's results, each with an axis more in front. fn is not called where that is empty: then one
    empty vector for each dtype of fn_output_signature, or of elems.
    Errors: InvalidArgumentError (a ValueError) for scalars, different extents, results of different forms or shapes or of
    another dtype or form than fn_output_signature has; TypeError for a value that is not a function, and a list where that is a tuple.
    """
    signature = dtype if fn_output_signature is None else fn_output_signature
    return _mapped("map_fn", fn, elems, signature)


@public("vectorized_map")
def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True, name=None):
    """As tf.map_fn, and first extents of 1 are repeated as far as the others go. fn is called for one slice after another.

    fn, elems: as in tf.map_fn; fallback_to_while_loop, warn: change nothing.
    Returns: in the form of fn's results, each with an axis more in front.
    Errors: as those of tf.map_fn.
    """
    return _mapped("vectorized_map", fn, elems, None, True)


def _accumulate(function, fn, elems, initializer, backwards):
    """All values that the accumulator takes, in the order in which it takes them, without the initializer."""
    _require_callable(function, "fn", fn)
    slices = _slices(function, elems)
    if backwards:
        slices.reverse()
    if initializer is None:
        if not slices:
            raise InvalidArgumentError(f"{function}: elems is empty, and there is no initializer")
        values, slices = [slices[0]], slices[1:]
        accumulated = values[0]
    else:
        values, accumulated = [], nest.map_structure(tensor, initializer)
    for part in slices:
        result = fn(accumulated, part)
        _require_form(function, "the result of fn", accumulated, result)
        accumulated = nest.map_structure(tensor, result)
        values.append(accumulated)
    return values


@public("scan")
def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True,
         reverse=False, name=None):
    """All values of accumulated = fn(accumulated, slice) over the slices of the first axis, stacked.

    fn: a function of two arguments, the accumulated value and a slice in the form of elems, that returns the next value;
    elems: a tensor or a nested structure of tensors, their first extents equal; initializer: the first accumulated value;
    None for the first slice, which is then the first result; reverse: from the last slice to the first, the results in the
    slices' order.
    Returns: in the form of initializer (or elems), each with the first axis of elems in front.
    Errors: InvalidArgumentError (a ValueError) for scalars, different extents, results of another form or of different
    shapes, and for no slices without an initializer; TypeError for a value that is not a function.
    """
    if _engine.is_tracing():
        _require_callable("scan", "fn", fn)
        return slice_loops.scanned(fn, elems, initializer, reverse, _accumulated("scan"))
    values = _accumulate("scan", fn, elems, initializer, reverse)
    if not values:
        return nest.map_structure(lambda leaf: op("zeros")([0, *tensor(leaf).shape], tensor(leaf).dtype), initializer)
    return _stacked("scan", values[::-1] if reverse else values)


def _accumulated(function):
    return lambda accumulated, result: _require_form(function, "the result of fn", accumulated, result)


def _folded(function, fn, elems, initializer, backwards):
    """The last value, or the initializer where there was nothing to accumulate."""
    if _engine.is_tracing():
        _require_callable(function, "fn", fn)
        return slice_loops.folded(function, fn, elems, initializer, backwards, _accumulated(function))
    values = _accumulate(function, fn, elems, initializer, backwards)
    return values[-1] if values else nest.map_structure(tensor, initializer)


@public("foldl")
def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """The last value of accumulated = fn(accumulated, slice), from the first slice of the first axis to the last.

    fn, elems, initializer: as in tf.scan.
    Returns: in the form of initializer (or elems).
    Errors: as those of tf.scan.
    """
    return _folded("foldl", fn, elems, initializer, False)


@public("foldr")
def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """The last value of accumulated = fn(accumulated, slice), from the last slice of the first axis to the first.

    fn, elems, initializer: as in tf.scan.
    Returns: in the form of initializer (or elems).
    Errors: as those of tf.scan.
    """
    return _folded("foldr", fn, elems, initializer, True)
