"""Slices joined by number, and counts of numbers."""

import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.arguments import flag, integer, one_of
from tapedeck._core.composites import op, require_memory, tensor, zero_of
from tapedeck._core.host_ops import Known, needs_values
from tapedeck._core.public import public

_SORTED_DOC = """{what} of the slices of data that have the same number, numbers in ascending order.

    data: any numeric dtype; segment_ids: any integer dtype, one axis, as long as the first of data, none below
    0, each at least the one before it.
    Returns: the dtype of data, (last number + 1,) + the rest of its shape; {empty} for a number that is not there.
    Errors: InvalidArgumentError for numbers that are not in order or below 0, or shapes that do not fit.
    """


def _sorted_ids(name, data, segment_ids):
    """Data and numbers as tensors, how many numbers there are, and whether some are missing."""
    data, ids = tensor(data), tensor(segment_ids)
    if not ids.dtype.is_integer:
        raise _engine.TypeMismatchError(f"{name}: segment_ids is {ids.dtype.name}; needs integers")
    values = ids.numpy().astype(np.int64)
    if values.ndim != 1 or data.ndim == 0 or data.shape[0] != len(values):
        raise InvalidArgumentError(f"{name}: segment_ids {values.shape} is not one axis as long as the first of data "
                                   f"{tuple(data.shape)}")
    if len(values) and values[0] < 0:
        raise InvalidArgumentError(f"{name}: segment_ids[0] is {values[0]}; none may be below 0")
    steps = np.diff(values)
    if (steps < 0).any():
        at = int(np.argmax(steps < 0))
        raise InvalidArgumentError(f"{name}: segment_ids[{at + 1}] is {values[at + 1]}, after {values[at]}; they must be "
                                   "in ascending order (tf.math.unsorted_" + name + " takes any)")
    count = int(values[-1]) + 1 if len(values) else 0
    return data, ids, count, (steps > 1).any() or (count > 0 and values[0] > 0)


def _counts(ids, count, dtype):
    return op("unsorted_segment_sum")(op("ones_like")(ids, dtype=dtype), ids, count)


def _beside(counts, data, ids):
    """Counts with the axes that a joined slice has."""
    return op("reshape")(counts, [-1] + [1] * (data.ndim - ids.ndim))


def _joined(data, **_):
    """What is known where only a run knows the numbers."""
    data = tensor(data)
    return Known(data.dtype, [None, *data.shape.as_list()[1:]] if data.shape.rank else None)


def _sorted_segments(what, text, empty):
    name = "segment_" + what

    def function(data, segment_ids, name=None):
        data, ids, count, gaps = _sorted_ids("segment_" + what, data, segment_ids)
        if what == "mean":
            return unsorted_segment_mean(data, ids, count)
        result = op("unsorted_segment_" + what)(data, ids, count)
        if gaps and what in ("max", "min"):  # an extreme of nothing is 0 here
            counts = _beside(_counts(ids, count, "int32"), data, ids)
            result = op("where")(op("equal")(counts, zero_of(counts)), zero_of(result), result)
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _SORTED_DOC.format(what=text, empty=empty)
    return public(name, "math." + name, in_errors=True)(needs_values("segment_ids", known=_joined)(function))


_UNSORTED_DOC = """{what} of the slices of data that have the same number.

    data: any floating dtype; segment_ids: any integer dtype, values below num_segments, its shape a beginning of that of
    data; slices with a number below 0 are left out; num_segments: how many numbers there are.
    Returns: the dtype of data, (num_segments,) + the rest of its shape; 0 for a number that is not there.
    Errors: OutOfRangeError for a number of at least num_segments; InvalidArgumentError for shapes that do not fit.
    """


def _divided(data, segment_ids, num_segments, divisor):
    data, ids = tensor(data), tensor(segment_ids)
    sums = op("unsorted_segment_sum")(data, ids, num_segments)
    counts = _beside(_counts(ids, num_segments, data.dtype), data, ids)
    return sums / divisor(op("maximum")(counts, 1))


@public("unsorted_segment_mean", "math.unsorted_segment_mean", in_errors=True)
def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    return _divided(data, segment_ids, num_segments, lambda counts: counts)


@public("unsorted_segment_sqrt_n", "math.unsorted_segment_sqrt_n", in_errors=True)
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    return _divided(data, segment_ids, num_segments, op("sqrt"))


unsorted_segment_mean.__doc__ = _UNSORTED_DOC.format(what="The mean")
unsorted_segment_sqrt_n.__doc__ = _UNSORTED_DOC.format(what="The sum, divided by the square root of the number,")
segment_sum = _sorted_segments("sum", "The sum", "0")
segment_mean = _sorted_segments("mean", "The mean", "0")
segment_prod = _sorted_segments("prod", "The product", "1")
segment_max = _sorted_segments("max", "The largest", "0")
segment_min = _sorted_segments("min", "The smallest", "0")


def _counted(arr, weights, dtype, axis, **_):
    arr = tensor(arr)
    extent = arr.shape[0] if arr.shape.rank else None
    shape = None if arr.shape.rank is None and axis == -1 else [extent, None] if axis == -1 and arr.shape.rank == 2 else [None]
    return Known(dtype if weights is None else tensor(weights).dtype, shape)


@public("bincount", "math.bincount", in_errors=True)
@needs_values("arr", known=_counted)
def bincount(arr, weights=None, minlength=None, maxlength=None, dtype="int32", name=None, axis=None,
             binary_output=False):
    """How often each integer 0, 1, 2 … occurs, or the sum of the weights of its occurrences.

    arr: integers, none below 0; weights: numbers of the shape of arr; minlength: the result has at least so many
    entries; maxlength: numbers from this on are left out; dtype: of the counts, where there are no weights; axis: None or
    0 counts all of arr, -1 each row of a matrix; binary_output: 1 for a number that occurs, however often.
    Returns: dtype, or that of weights; one entry per number up to the largest, one row of them per row of arr for axis
    -1.
    Errors: InvalidArgumentError for numbers below 0, weights of another shape, weights with binary_output, and another
    axis; ResourceExhaustedError, which says how much memory the result needs, where the machine has less.
    """
    arr = tensor(arr)
    if not arr.dtype.is_integer:
        raise _engine.TypeMismatchError(f"bincount: arr is {arr.dtype.name}; needs integers")
    if arr.dtype.size < 4 or arr.dtype.is_unsigned:  # the numbers of rows must fit, and −1
        arr = op("cast")(arr, "int64")
    values = np.asarray(arr)
    if not values.flags.c_contiguous:  # one number, repeated, may need more memory than there is
        values = arr.numpy()
    if values.size and values.min() < 0:
        raise InvalidArgumentError(f"bincount: arr holds {values.min()}; none may be below 0")
    if one_of(axis, "axis", (None, 0, -1)) == -1 and values.ndim not in (1, 2):
        raise InvalidArgumentError(f"bincount: axis is {axis!r} of arr {values.shape}; needs None, 0, or -1 of a vector "
                                   "or matrix")
    size = max(int(values.max()) + 1 if values.size else 0, 0 if minlength is None else integer(minlength, "minlength"))
    if maxlength is not None:
        size = min(size, integer(maxlength, "maxlength"))
    if weights is None:
        weights = op("ones_like")(arr, dtype=dtype)
    elif flag(binary_output, "binary_output"):
        raise InvalidArgumentError("bincount: weights and binary_output were both given")
    weights = tensor(weights)
    if weights.shape != arr.shape:
        raise InvalidArgumentError(f"bincount: weights {tuple(weights.shape)} have another shape than arr {values.shape}")
    rows = values.shape[0] if axis == -1 and values.ndim == 2 else 1
    require_memory(f"bincount: {f'{rows} rows of ' * (rows > 1)}a count of each number from 0 to {size - 1}", rows * size, weights.dtype)
    ids = arr if maxlength is None else op("where")(arr < size, arr, -1)
    if rows > 1:
        starts = op("reshape")(op("range")(0, rows * size, size, dtype=arr.dtype), [rows, 1]) if size else 0
        ids = op("where")(ids < 0, ids, ids + starts)
    counts = op("unsorted_segment_sum")(weights, ids, rows * size)
    if flag(binary_output, "binary_output"):
        counts = op("minimum")(counts, 1)
    return op("reshape")(counts, [rows, size]) if axis == -1 and values.ndim == 2 else counts


def _confused(num_classes, dtype, **_):
    return Known(dtype, [num_classes if isinstance(num_classes, int) else None] * 2)


@public("confusion_matrix", "math.confusion_matrix", in_errors=True)
@needs_values("labels", "predictions", known=_confused)
def confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype="int32", name=None):
    """How often each class was taken for each: entry [i, j] counts the places with label i and prediction j.

    labels, predictions: integers, one axis, as long as each other; num_classes: None for the largest number + 1;
    weights: what each place counts, None for 1; dtype: of the result.
    Returns: dtype, (num_classes, num_classes).
    Errors: InvalidArgumentError for other shapes, and numbers outside [0, num_classes).
    """
    given = {"labels": tensor(labels), "predictions": tensor(predictions)}
    for argument, values in given.items():
        if not values.dtype.is_integer:
            raise _engine.TypeMismatchError(f"confusion_matrix: {argument} is {values.dtype.name}; needs integers")
    rows, columns = (values.numpy().astype(np.int64) for values in given.values())
    if rows.ndim != 1 or rows.shape != columns.shape:
        raise InvalidArgumentError(f"confusion_matrix: labels {rows.shape} and predictions {columns.shape}; need one axis, as "
                                   "long as each other")
    largest = max((int(values.max()) for values in (rows, columns) if values.size), default=-1)
    size = largest + 1 if num_classes is None else integer(num_classes, "num_classes")
    for argument, values in (("labels", rows), ("predictions", columns)):
        if values.size and not (0 <= values.min() and values.max() < size):
            raise InvalidArgumentError(f"confusion_matrix: {argument} holds {values.min()} to {values.max()}; must be in "
                                       f"[0, {size})")
    weights = op("ones")(rows.shape, dtype) if weights is None else op("cast")(weights, dtype)
    return op("scatter_nd")(np.stack([rows, columns], -1), weights, [size, size])
