"""Numbers at equal steps, histograms, differences of lists, polynomials."""
import collections

import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.arguments import array, integer
from tapedeck._core.composites import index_dtype as require_index_dtype, op, tensor
from tapedeck._core.host_ops import host_op, Known, needs_extents, needs_values
from tapedeck._core.public import public
from tapedeck._functions import control

ListDiff = collections.namedtuple("ListDiff", ["out", "idx"])

_RANGE_DTYPES = ["int32", "int64", "float16", "bfloat16", "float32", "float64"]


def _range_dtype(number):
    """What a tensor, or a value that has a dtype, counts as beside the others; None for Python's numbers."""
    name = getattr(getattr(number, "dtype", None), "name", None)
    if name is None or name in _RANGE_DTYPES:
        return name
    return "int64" if name in ("uint32", "uint64") else "int32"


@host_op(lambda dtype, **_: Known(dtype, [None]))
def _range_by_runs(start, limit, delta, dtype):
    return op("range")(start, limit, delta, dtype)


@public("range", in_errors=True, row="range")
def range(start, limit=None, delta=1, dtype=None, name=None):
    """Evenly spaced numbers. dtype: None for the widest of those that start, limit and delta have; Python's integers are
    int32, or int64 where they need it, its other numbers float32."""
    numbers = (start, delta) if limit is None else (start, limit, delta)
    for argument, number in (("start", start), ("limit", limit), ("delta", delta)):
        if isinstance(number, (bool, np.bool_)):
            raise _engine.TypeMismatchError(f"range: {argument} is {number!r}; needs a number")
    own = [each for each in map(_range_dtype, numbers) if each] if dtype is None else []
    if own:
        plain = [number for number in numbers if _range_dtype(number) is None]
        if any(isinstance(number, float) for number in plain):
            own.append("float32")
        if any(isinstance(number, int) and not -2**31 <= number < 2**31 for number in plain):
            own.append("int64")
        dtype = max(own, key=_RANGE_DTYPES.index)
    unknown = [number for number in numbers if control.is_unknown(number)]
    if not unknown:
        return op("range")(start, limit, delta, dtype)
    if any(number.dtype.is_floating for number in unknown):
        return _range_by_runs(*((0, start) if limit is None else (start, limit)), delta, dtype)
    steps = control.steps(*((0, start) if limit is None else (start, limit)), delta)
    if any(number.dtype.name not in ("int32", "int64") for number in unknown):
        return control.with_steps(_range_by_runs(*((0, start) if limit is None else (start, limit)), delta, dtype), steps)
    return control.with_steps(op("range")(start, limit, delta, dtype), steps)


@public("histogram_fixed_width_bins", in_errors=True)
def histogram_fixed_width_bins(values, value_range, nbins=100, dtype="int32", name=None):
    """The number of the bin of each value, where nbins bins of one width cover a range.

    values: numbers, any shape; value_range: (lowest, highest); values below are in the first bin, values from the highest on in
    the last; nbins: at least 1; dtype: int32 or int64.
    Returns: dtype, the shape of values.
    Errors: InvalidArgumentError for a range that is none, for nbins below 1 and another dtype; TypeError for bool.
    """
    values, count, dtype = tensor(values), integer(nbins, "nbins"), require_index_dtype("histogram_fixed_width_bins", "dtype", dtype)
    ends = array(value_range, "value_range", np.float64)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise InvalidArgumentError(f"histogram_fixed_width_bins: value_range is {value_range!r}; needs (lowest, highest)")
    if count < 1:
        raise InvalidArgumentError(f"histogram_fixed_width_bins: nbins is {nbins}; needs at least 1")
    if values.dtype.is_integer:
        values = op("cast")(values, "float64")
    lowest, width = float(ends[0]), float(ends[1] - ends[0])
    places = op("floor")((values - lowest) / width * count)
    # In float32 there is no number count − 1 where that has more than 24 bits.
    return op("cast")(op("minimum")(op("cast")(op("clip_by_value")(places, 0., count - 1.), "int64"), count - 1), dtype)


@public("histogram_fixed_width", in_errors=True)
def histogram_fixed_width(values, value_range, nbins=100, dtype="int32", name=None):
    """How many values are in each of nbins bins of one width. The arguments and the errors are those of
    histogram_fixed_width_bins. NaN is in none.

    Returns: dtype, (nbins,).
    """
    values, dtype = op("reshape")(tensor(values), [-1]), require_index_dtype("histogram_fixed_width", "dtype", dtype)
    bins = histogram_fixed_width_bins(values, value_range, nbins, "int64")
    if values.dtype.is_floating:
        bins = op("where")(op("is_nan")(values), tensor(-1, bins.dtype), bins)  # as a segment, -1 is left out
    return op("unsorted_segment_sum")(op("cast")(op("ones_like")(bins), dtype), bins, integer(nbins, "nbins"))


def _different(x, index_dtype, **_):
    return ListDiff(Known(tensor(x).dtype, [None]), Known(index_dtype, [None]))


@public("setdiff1d", in_errors=True)
@needs_values("x", "y", known=_different)
def setdiff1d(x, y, index_dtype="int32", name=None):
    """The elements of x that y does not hold, in their order, and their places in x.

    x, y: one axis, any dtype, the same for both; index_dtype: int32 or int64. NaN equals nothing.
    Returns: (out, idx): the dtype of x and index_dtype.
    Errors: InvalidArgumentError for another number of axes or another index_dtype; TypeError for different dtypes.
    """
    x, index_dtype = tensor(x), require_index_dtype("setdiff1d", "index_dtype", index_dtype)
    y = tensor(y, None if hasattr(y, "dtype") else x.dtype)
    if x.dtype != y.dtype:
        raise _engine.TypeMismatchError(f"setdiff1d: x is {x.dtype.name} and y is {y.dtype.name}; cast one of them")
    if x.ndim != 1 or y.ndim != 1:
        raise InvalidArgumentError(f"setdiff1d: x {tuple(x.shape)} and y {tuple(y.shape)}; each needs one axis")
    places = np.flatnonzero(~np.isin(np.asarray(x), np.asarray(y)))
    return ListDiff(op("gather")(x, places), op("cast")(places, index_dtype))


@public("math.polyval", in_errors=True)
def polyval(coeffs, x, name=None):
    """The polynomial coeffs[0]·xⁿ⁻¹ + … + coeffs[n − 1], by Horner's rule.

    coeffs: a list of numbers or tensors that broadcast to x; x: any numeric dtype.
    Returns: the dtype of x, the broadcast shape; zeros for no coefficients.
    Errors: TypeError where coeffs is not a list.
    """
    if not isinstance(coeffs, (list, tuple)):
        raise _engine.TypeMismatchError(f"polyval: coeffs is {type(coeffs).__name__}; needs a list")
    x = tensor(x)
    if not coeffs:
        return op("zeros_like")(x)
    total = _engine.convert_to_tensor(coeffs[0], dtype_hint=x.dtype)
    for coefficient in coeffs[1:]:
        total = coefficient + total * x
    return total


@public("parallel_stack", in_errors=True)
@needs_extents
def parallel_stack(values, name="parallel_stack"):
    """tf.stack along a new first axis."""
    return op("stack")(values, axis=0)
