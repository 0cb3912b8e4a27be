"""tf.debugging: checks that raise InvalidArgumentError (a ValueError) where they fail, and return None where they hold; and
lockstep, which compares two runs."""
import linecache
import os
import sys

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.arguments import array, integer, number, one_of, path_text, sequence, text
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._core.refusals import whole

_to_tensor = _engine.convert_to_tensor
_InvalidArgument = _engine.InvalidArgumentError


def _text(values, most):
    return np.array2string(np.asarray(values).reshape(-1)[:most], separator=" ")


def _begin(message):
    return "" if message is None else str(message)


def _fail(message, text):
    raise whole(_InvalidArgument(f"{_begin(message)}\n{text}".lstrip("\n")))


def _compare(op, symbol, x, y, message, summarize, other="y"):
    """Fails where the comparison does not hold for some pair, and says which. other: what the text calls y."""
    most = 3 if summarize is None else integer(summarize, "summarize")
    x, y = _pair(x, y)

    def later():
        _engine.graph_host_call(f"assert {symbol}", lambda tensors: _compare(op, symbol, *tensors, message, summarize, other), [x, y])

    if _are_unknown(x, y):
        return later()
    wrong = ~np.asarray(_op(op)(x, y))
    if not wrong.any():
        return
    if _engine.is_tracing():  # it fails where a run gets here: a branch that is not taken does not
        return later()
    left, right = np.broadcast_arrays(np.asarray(x), np.asarray(y))
    places = np.argwhere(wrong)[:most]
    lines = [f"Condition x {symbol} {other} did not hold."]
    if wrong.ndim:
        lines.append(f"Indices of first {len(places)} different values:\n{places}")
        lines.append(f"Corresponding x values:\n{_text(left[wrong], most)}\nCorresponding y values:\n{_text(right[wrong], most)}")
    lines.append(f"First {min(most, np.size(x))} elements of x:\n{_text(x, most)}")
    lines.append(f"First {min(most, np.size(y))} elements of y:\n{_text(y, most)}")
    _fail(message, "\n".join(lines))


def _are_unknown(*tensors):
    """Whether a function is traced and each of its runs has other values."""
    return _engine.is_tracing() and any(_engine.known_value(each) is None for each in tensors)


def _is_tensor(value):
    return isinstance(value, (_engine.Tensor, _engine.Variable))


def _pair(x, y):
    """Both as tensors; a Python value takes the dtype of the tensor beside it, integers that of floats."""
    left, right = _to_tensor(x), _to_tensor(y)
    if left.dtype != right.dtype:
        if not _is_tensor(y) and (_is_tensor(x) or left.dtype.is_floating):
            return left, _to_tensor(y, dtype_hint=left.dtype)
        if not _is_tensor(x):
            return _to_tensor(x, dtype_hint=right.dtype), right
    return left, right


@public("debugging.assert_equal", "assert_equal", in_errors=True)
def assert_equal(x, y, message=None, summarize=None, name=None, data=None):
    """x == y, element by element."""
    _compare("equal", "==", x, y, message, summarize)


@public("debugging.assert_none_equal", "assert_none_equal", in_errors=True)
def assert_none_equal(x, y, message=None, summarize=None, name=None, data=None):
    """x != y, element by element."""
    _compare("not_equal", "!=", x, y, message, summarize)


@public("debugging.assert_less", "assert_less", in_errors=True)
def assert_less(x, y, message=None, summarize=None, name=None, data=None):
    """x < y, element by element."""
    _compare("less", "<", x, y, message, summarize)


@public("debugging.assert_less_equal", "assert_less_equal", in_errors=True)
def assert_less_equal(x, y, message=None, summarize=None, name=None, data=None):
    """x <= y, element by element."""
    _compare("less_equal", "<=", x, y, message, summarize)


@public("debugging.assert_greater", "assert_greater", in_errors=True)
def assert_greater(x, y, message=None, summarize=None, name=None, data=None):
    """x > y, element by element."""
    _compare("greater", ">", x, y, message, summarize)


@public("debugging.assert_greater_equal", "assert_greater_equal", in_errors=True)
def assert_greater_equal(x, y, message=None, summarize=None, name=None, data=None):
    """x >= y, element by element."""
    _compare("greater_equal", ">=", x, y, message, summarize)


@public("debugging.assert_positive", "assert_positive", in_errors=True)
def assert_positive(x, message=None, summarize=None, name=None, data=None):
    """x > 0 everywhere."""
    _compare("greater", ">", x, 0, message, summarize, "0")


@public("debugging.assert_negative", "assert_negative", in_errors=True)
def assert_negative(x, message=None, summarize=None, name=None, data=None):
    """x < 0 everywhere."""
    _compare("less", "<", x, 0, message, summarize, "0")


@public("debugging.assert_non_negative", "assert_non_negative", in_errors=True)
def assert_non_negative(x, message=None, summarize=None, name=None, data=None):
    """x >= 0 everywhere."""
    _compare("greater_equal", ">=", x, 0, message, summarize, "0")


@public("debugging.assert_non_positive", "assert_non_positive", in_errors=True)
def assert_non_positive(x, message=None, summarize=None, name=None, data=None):
    """x <= 0 everywhere."""
    _compare("less_equal", "<=", x, 0, message, summarize, "0")


@public("debugging.assert_near", "assert_near", in_errors=True)
def assert_near(x, y, rtol=None, atol=None, message=None, summarize=None, name=None, data=None):
    """|x - y| <= atol + rtol * |y|, element by element. The tolerances are ten times the dtype's epsilon where None."""
    most = 3 if summarize is None else integer(summarize, "summarize")
    x, y = _pair(x, y)
    if x.dtype != y.dtype:
        raise _engine.TypeMismatchError(f"assert_near: x is {x.dtype.name} and y is {y.dtype.name}; cast one of them")
    epsilon = 10 * np.finfo(x.dtype.as_numpy_dtype).eps if x.dtype.is_floating else 0
    rtol, atol = (epsilon if given is None else number(given, name) for given, name in ((rtol, "rtol"), (atol, "atol")))
    _op("subtract")(x, y)  # which says where dtypes and shapes do not fit

    def later():
        _engine.graph_host_call("assert_near", lambda tensors: assert_near(*tensors, rtol, atol, message, summarize), [x, y])

    if _are_unknown(x, y):
        return later()
    left, right = np.asarray(x), np.asarray(y)
    with np.errstate(invalid="ignore"):  # infinities are near where they are equal
        near = (left == right) | (np.isfinite(right) & (np.abs(left - right) <= atol + rtol * np.abs(right)))
    if np.all(near):
        return
    if _engine.is_tracing():  # it fails where a run gets here
        return later()
    _fail(message, f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}\nx values:\n{_text(left, most)}\n"
                   f"y values:\n{_text(right, most)}")


def _require_rank(x, holds, text, message):
    x = _to_tensor(x)
    if not holds(x.ndim):
        _fail("", f"{_begin(message)} Tensor must have rank {text}. Received rank {x.ndim}, shape {tuple(x.shape)}".lstrip())


def _rank(function, value):
    """A number of axes as Python's."""
    value = _to_tensor(value)
    if value.shape:
        raise _InvalidArgument(f"{function}: rank has shape {tuple(value.shape)}; Rank must be a scalar")
    if not value.dtype.is_integer:
        raise _engine.TypeMismatchError(f"{function}: rank is {value.dtype.name}, not an integer; must be of type <dtype: 'int32'>")
    return int(value)


@public("debugging.assert_rank", "assert_rank", in_errors=True)
def assert_rank(x, rank, message=None, name=None, data=None, summarize=None):
    """x has that many axes."""
    rank = _rank("assert_rank", rank)
    _require_rank(x, lambda ndim: ndim == rank, rank, message)


@public("debugging.assert_rank_at_least", "assert_rank_at_least", in_errors=True)
def assert_rank_at_least(x, rank, message=None, name=None, data=None, summarize=None):
    """x has at least that many axes."""
    rank = _rank("assert_rank_at_least", rank)
    _require_rank(x, lambda ndim: ndim >= rank, f"at least {rank}", message)


@public("debugging.assert_rank_in", "assert_rank_in", in_errors=True)
def assert_rank_in(x, ranks, message=None, name=None, data=None, summarize=None):
    """x has one of these numbers of axes."""
    ranks = tuple(_rank("assert_rank_in", rank) for rank in sequence(ranks, "ranks"))
    _require_rank(x, lambda ndim: ndim in ranks, f"in {ranks}", message)


@public("debugging.assert_scalar", "assert_scalar", in_errors=True)
def assert_scalar(tensor, name=None, message=None):
    """tensor has no axes.

    tensor: any dtype; message: how the error begins.
    Returns: tensor.
    Errors: InvalidArgumentError, with the shape, where it has axes.
    """
    tensor = _to_tensor(tensor)
    if tensor.shape:
        _fail("", f"{_begin(message)} Expected scalar, received shape {tuple(tensor.shape)}".lstrip())
    return tensor


def _symbols(shape):
    """The entries of one shape of assert_shapes: the ignored side ("", "outer", "inner") and the rest."""
    if isinstance(shape, (int, str)) and shape not in ("...", "*"):
        entries = list(shape) if isinstance(shape, str) else [shape]
    else:
        entries = [shape] if isinstance(shape, str) else sequence(shape, "shapes")
    if entries and entries[0] in ("...", "*"):
        return "outer", entries[1:]
    if entries and entries[-1] in ("...", "*"):
        return "inner", entries[:-1]
    return "", entries


def _check_shape(tensor, shape, known, message):
    ignored, entries = _symbols(shape)
    actual = list(tensor.shape)
    if len(actual) < len(entries) or (not ignored and len(actual) != len(entries)):
        _fail(message, f"Tensor of shape {tuple(actual)} must have {'at least ' if ignored else ''}rank {len(entries)}, as "
                       f"specified by {shape!r}")
    extents = actual[len(actual) - len(entries):] if ignored == "outer" else actual[:len(entries)]
    for axis, (entry, extent) in enumerate(zip(entries, extents)):
        if entry is None or entry == ".":
            continue
        if not isinstance(entry, str) or entry.isdigit():
            wanted, source = int(entry), "as specified"
        else:
            wanted, source = known.setdefault(entry, (extent, tuple(actual)))
            source = f"as '{entry}' of a tensor of shape {source}"
        if extent != wanted:
            _fail(message, f"Tensor of shape {tuple(actual)}: dimension {axis} of {shape!r} must have size {wanted}, {source}; "
                           f"it has {extent}")


@public("debugging.assert_shapes", "assert_shapes", in_errors=True)
def assert_shapes(shapes, data=None, summarize=None, message=None, name=None):
    """Shapes with symbols: assert_shapes([(x, ("N", "D")), (w, ("D", 3)), (y, ("...", 3))]).

    Equal names mean equal extents; None and "." match any extent; "..." or "*" at one end matches any axes.
    """
    known = {}
    for pair in shapes.items() if isinstance(shapes, dict) else sequence(shapes, "shapes"):
        found = sequence(pair, "shapes")
        if len(found) != 2:
            raise _InvalidArgument(f"shapes: {pair!r} is not a pair of a tensor and its shape")
        _check_shape(_to_tensor(found[0]), found[1], known, message)


@public("debugging.assert_type", "assert_type", in_errors=True)
def assert_type(tensor, tf_type, message=None, name=None):
    """tensor has that dtype.

    tensor: any dtype; tf_type: a dtype, or its name; message: how the error begins.
    Returns: None.
    Errors: TypeError, with both dtypes, where it has another.
    """
    tensor, wanted = _to_tensor(tensor), dtypes.as_dtype(tf_type)
    if tensor.dtype != wanted:
        text = f"{_begin(message)} tensor must be of type {wanted.name}, it is {tensor.dtype.name}"
        raise whole(_engine.TypeMismatchError(text.strip()))


@public("debugging.assert_integer", "assert_integer", in_errors=True)
def assert_integer(x, message=None, name=None):
    """x holds integers.

    x: any dtype; message: how the error begins.
    Returns: None.
    Errors: TypeError, with its dtype, where it does not.
    """
    x = _to_tensor(x)
    if not x.dtype.is_integer:
        raise whole(_engine.TypeMismatchError(f"{_begin(message)} Expected an integer tensor, it is {x.dtype.name}".strip()))


@public("debugging.assert_same_float_dtype", "assert_same_float_dtype", in_errors=True)
def assert_same_float_dtype(tensors=None, dtype=None):
    """All tensors have one floating dtype: dtype, where that is given.

    tensors: a list of them, in which None is skipped, or None; dtype: a floating dtype, or None.
    Returns: that dtype; float32 for no tensors and no dtype.
    Errors: InvalidArgumentError for several dtypes, and for one that is not floating.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    for tensor in () if tensors is None else sequence(tensors, "tensors"):
        if tensor is None:
            continue
        found = tensor.dtype if isinstance(getattr(tensor, "dtype", None), dtypes.DType) else _to_tensor(tensor).dtype
        if wanted is not None and found != wanted:
            raise whole(_InvalidArgument(f"Tensors must be of one dtype: {wanted.name} and {found.name}"))
        wanted = found
    wanted = wanted or dtypes.float32
    if not wanted.is_floating:
        raise whole(_InvalidArgument(f"Expected a floating dtype, it is {wanted.name}"))
    return wanted


@public("debugging.assert_proper_iterable", "assert_proper_iterable", in_errors=True)
def assert_proper_iterable(values):
    """values is iterable, and no tensor, array or text.

    Returns: None.
    Errors: TypeError, with its type, for what is not.
    """
    if _is_tensor(values) or isinstance(values, (np.ndarray, str, bytes)) or not hasattr(values, "__iter__"):
        raise whole(_engine.TypeMismatchError("Expected values to be iterable, a proper list or tuple of them; got "
                                        f"{type(values).__name__}"))


@public("debugging.assert_all_finite", "assert_all_finite", in_errors=True)
def assert_all_finite(x, message, name=None):
    """x has no NaN and no infinity: the op check_numerics.

    x: any floating dtype, any shape; message: how the error begins.
    Returns: x.
    Errors: InvalidArgumentError where it has one; TypeError for another dtype.
    """
    return _op("check_numerics")(x, message)


@public("debugging.verify_tensor_all_finite", "verify_tensor_all_finite", in_errors=True)
def verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None):
    """TensorFlow 1's name of assert_all_finite."""
    return assert_all_finite(x if t is None else t, message if msg is None else msg)


@public("debugging.Assert", "Assert", in_errors=True)
def Assert(condition, data, summarize=None, name=None):
    """condition holds; data is what the error shows."""
    if _engine.is_tracing():
        tensors = [_to_tensor(each) for each in (condition, *sequence(data, "data"))]
        # What is known to fail does so where a run gets here.
        if _are_unknown(*tensors) or not array(condition, "condition", bool).all():
            _engine.graph_host_call("Assert", lambda values: Assert(values[0], list(values[1:]), summarize), tensors)
        return
    if not array(condition, "condition", bool).all():
        most = 3 if summarize is None else integer(summarize, "summarize")
        shown = [each if isinstance(each, str) else _text(each, most) for each in sequence(data, "data")]
        raise whole(_InvalidArgument(f"Expected '{condition!s}' to be true. Summarized data: " + "\n".join(shown)))


def _steps(x, op):
    values = _op("reshape")(x, [-1])
    return _op("reduce_all")(_op(op)(values[:-1], values[1:]))


@public("debugging.is_non_decreasing", "is_non_decreasing", in_errors=True)
def is_non_decreasing(x, name=None):
    """Whether the values in row-major order never decrease, as a bool tensor."""
    return _steps(x, "less_equal")


@public("debugging.is_strictly_increasing", "is_strictly_increasing", in_errors=True)
def is_strictly_increasing(x, name=None):
    """Whether the values in row-major order strictly increase, as a bool tensor."""
    return _steps(x, "less")


@public("debugging.health", in_errors=True)
def health(name, value):
    """Reports a number of your own optimiser to the panel Health, once per step.

        tf.debugging.health("L-BFGS/s·y", tf.tensordot(step, change, 1))

    name: a group and a quantity, "L-BFGS/step length". Each quantity is a curve, each group a table. Of "s·y", "rho" (1 / s·y), "d·g"
    (the direction times the gradient), "step length" and "curvature" (s·y / s·s) the panel's rules report problems. value: a number
    or a tensor of one element.
    The number belongs to the current step; between a step's last update and the next forward pass, to the step that has ended.
    Without a recorder the function returns at once and reads nothing.
    Errors: TypeMismatchError for a name that is not a string, ValueError for one without a group.
    """
    name = text(name, "name")
    if _engine.debug.attached():
        _engine.debug.add_health(name, number(value, "value"))


@public("debugging.is_numeric_tensor", "is_numeric_tensor", in_errors=True)
def is_numeric_tensor(tensor):
    """True for a tensor of numbers."""
    return _is_tensor(tensor) and tensor.dtype != dtypes.bool


@public("debugging.save_trace", in_errors=True)
def save_trace(path):
    """Writes the recording so far to a trace file, which the window opens like a session: records, values, curves and sources.

    path: where to; by convention it ends with .tapetrace.
    Returns: a dict with the file's path and bytes, and how many records and values it has.
    Errors: ValueError where nothing records, OSError with path and cause where it cannot be written; an older file of that path
    stays as it was.
    """
    debug = _engine.debug
    cells = {debug.cell_of(name): "".join(entry[2]) for name, entry in list(linecache.cache.items()) if len(entry) == 4}
    cells.pop("", None)
    program = "" if cells or not sys.argv or not os.path.isfile(sys.argv[0]) else os.path.abspath(sys.argv[0])
    return debug.save_trace(path_text(path, "path"), title=program, cells=list(cells.items()))


@public("debugging.set_replay_device", in_errors=True)
def set_replay_device(device):
    """Sets the device on which the window recomputes values that are no longer held.

        tf.debugging.set_replay_device("/cpu:0")   # *Session > Recompute on the CPU*

    device: "/cpu:0", or None for the device where each op ran, which is how a session begins.
    Errors: InvalidArgumentError for another device, ValueError where nothing records.
    """
    name = _engine.check_device(device) if isinstance(device, str) else device
    _engine.debug.set_replay_on_cpu(one_of(name, "device", (None, "/cpu:0")) is not None)


_MESSAGE_DOC = """message: how the error begins; summarize: how many values it shows, 3 by default; name and
    data change nothing.
    Returns: None.
    Errors: InvalidArgumentError where it does not hold, with {shown}."""


def _document(functions, arguments, shown):
    for function in functions:
        function.__doc__ += f"\n\n    {arguments}; {_MESSAGE_DOC.format(shown=shown)}\n    "


_document((assert_equal, assert_none_equal, assert_less, assert_less_equal, assert_greater, assert_greater_equal),
          "x, y: tensors or values of one dtype, whose shapes broadcast", "the places and the values")
_document((assert_near,), "x, y: tensors or values of one dtype, whose shapes broadcast; rtol, atol: numbers", "the values")
_document((assert_positive, assert_negative, assert_non_negative, assert_non_positive), "x: numbers, any shape",
          "the places and the values")
_document((assert_rank, assert_rank_at_least, assert_rank_in), "x: any dtype; rank, ranks: integers", "the shape")
_document((assert_shapes,), "shapes: pairs of a tensor and its shape, or a dict of them", "the shape and the extent")
