"""Choices between tensors, and limits on their length."""
from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.arguments import array, extents, sequence
from tapedeck._core.composites import op, tensor, zero_of
from tapedeck._core.extents import count
from tapedeck._core.host_ops import host_op, Known
from tapedeck._core.indexed_slices import IndexedSlices
from tapedeck._core.public import public
from tapedeck._core.shapes import UnknownShape


def _chooses_rows_perhaps(shape, rows, others):
    """Whether it depends on extents that are not known if a condition with one axis chooses rows."""
    return shape[0] != 1 and rows == others and len(rows) > 1 and rows[-1] != 1 and None in (shape[0], rows[0], rows[-1]) and (
        None in (shape[0], rows[0]) or shape[0] == rows[0])


@host_op(lambda x, **_: Known(tensor(x).dtype, tensor(x).shape))
def _chosen(condition, x, y):
    return where(condition, x, y)


@public("where", "where_v2", in_errors=True)
def where(condition, x=None, y=None, name=None):
    """Selects elements of x where the condition is True, of y elsewhere; without x and y returns the coordinates of the True elements.

    condition: bool (alone also numbers, where 0 is False); x, y: any dtype, the same for both. The three shapes
    broadcast by NumPy's rule. Where they do not, a condition with one axis, as long as the first of x and y, chooses
    whole rows, as in TensorFlow 1.
    Returns: the dtype of x and y, the broadcast shape; without x and y int64, (how many are True, number of axes).
    Errors: ValueError where only one of x and y is given; InvalidArgumentError for shapes that do not fit; TypeError for
    a condition that is not bool, or different dtypes.
    """
    if x is None and y is None:
        condition = tensor(condition)
        holds = condition if condition.dtype.name == "bool" else op("not_equal")(condition, zero_of(condition))
        return op("where_indices")(holds)
    if x is None or y is None:
        raise _engine.InvalidArgumentError(f"where: {'x' if x is None else 'y'} is None; give both x and y, or neither")
    shape = extents(condition, "condition")
    if any(isinstance(own, UnknownShape) for own in (shape, extents(x, "x"), extents(y, "y"))):
        return op("where")(condition, x, y)
    if len(shape) == 1 and _engine.is_tracing() and _chooses_rows_perhaps(shape, extents(x, "x"), extents(y, "y")):
        return _chosen(condition, x, y)
    if len(shape) == 1 and shape[0] != 1 and extents(x, "x") == extents(y, "y"):
        rows = tuple(extents(x, "x"))
        if len(rows) > 1 and rows[0] == shape[0] and rows[-1] not in (1, shape[0]):
            condition = op("reshape")(condition, [-1 if shape[0] is None else shape[0]] + [1] * (len(rows) - 1))
    return op("where")(condition, x, y)


@public("clip_by_norm", in_errors=True)
def clip_by_norm(t, clip_norm, axes=None, name=None):
    """Clips t to the L2 norm clip_norm: t·clip_norm / max(‖t‖, clip_norm).

    t: any floating dtype, or an IndexedSlices of it, whose rows are taken; clip_norm: a scalar above 0, or a tensor that broadcasts
    to t; axes: one axis or a list of
    axes along which the norm is taken, None for all.
    Returns: dtype and shape of t. A t of norm 0 is unchanged, and its gradient passes unchanged.
    Errors: TypeError for other dtypes; InvalidArgumentError for axes out of range.
    """
    if isinstance(t, IndexedSlices):
        return _like(t, clip_by_norm(t.values, clip_norm, axes))
    t = tensor(t)
    length = op("reduce_euclidean_norm")(t, axis=axes, keepdims=True)
    clip_norm = tensor(clip_norm, t.dtype)
    return t * clip_norm / op("maximum")(length, clip_norm)


def _like(slices, values):
    return IndexedSlices(values, slices.indices, slices.dense_shape)


@public("clip_by_average_norm", in_errors=True)
def clip_by_average_norm(t, clip_norm, name=None):
    """Shortens t so that its length for each of its elements, ‖t‖ / n, is at most clip_norm: t·min(1, clip_norm·n / ‖t‖).

    t: any floating dtype; clip_norm: a scalar above 0.
    Returns: dtype and shape of t. A t of length 0 stays, and its gradient passes unchanged.
    Errors: TypeError for other dtypes.
    """
    t = tensor(t)
    elements = count(t, t.dtype)
    elements = float(max(1, elements)) if isinstance(elements, int) else op("maximum")(elements, tensor(1, t.dtype))
    return clip_by_norm(t, tensor(clip_norm, t.dtype) * elements)


def _given(t_list):
    if isinstance(t_list, (str, bytes)) or not hasattr(t_list, "__iter__"):
        raise _engine.TypeMismatchError(f"t_list is {type(t_list).__name__}; it needs a list of tensors")
    return [t if t is None or isinstance(t, IndexedSlices) else tensor(t) for t in t_list]


def _rows_of(t):
    return t.values if isinstance(t, IndexedSlices) else t


@public("global_norm", "linalg.global_norm", in_errors=True)
def global_norm(t_list, name=None):
    """The global L2 norm of a list of tensors: √(Σ ‖t‖²). Squares may overflow and underflow.

    t_list: any floating dtype, one for all, any shapes; None is left out, of an IndexedSlices the rows are taken.
    Returns: a scalar of that dtype; float32 0 for an empty list.
    Errors: TypeError for other dtypes or an argument that is not a list.
    """
    tensors = [_rows_of(t) for t in _given(t_list) if t is not None]
    return op("global_norm")(tensors) if tensors else tensor(0.0)


@public("clip_by_global_norm", in_errors=True)
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """Scales all tensors of a list by one factor, so that their global L2 norm is at most clip_norm.

    t_list: any floating dtype, one for all, any shapes; None stays None, an IndexedSlices one of scaled rows; clip_norm: a number
    above 0; use_norm: their global norm, if it is known already.
    Returns: (list of t·clip_norm / max(norm, clip_norm), norm). Where the norm is infinite or NaN all become NaN.
    Errors: TypeError for other dtypes or an argument that is not a list.
    """
    tensors = _given(t_list)
    norm = global_norm(tensors) if use_norm is None else tensor(use_norm)
    scale = clip_norm / op("maximum")(norm, clip_norm)
    scale = op("where")(op("is_finite")(norm), scale, float("nan"))
    values = [_rows_of(t) for t in tensors if t is not None]
    scaled = iter(op("scale_all")(scale, values) if values else ())
    return [t if t is None else _like(t, next(scaled)) if isinstance(t, IndexedSlices) else next(scaled) for t in tensors], norm


@public("scalar_mul", "math.scalar_mul", in_errors=True)
def scalar_mul(scalar, x, name=None):
    """The tensor x multiplied by a scalar.

    scalar: a number, or a tensor without axes; x: any numeric dtype, or an IndexedSlices of it.
    Returns: dtype and shape of x; an IndexedSlices of the same rows for one.
    Errors: ValueError for a scalar with axes; TypeError for different dtypes.
    """
    if extents(scalar, "scalar") != ():
        raise InvalidArgumentError(f"scalar_mul: scalar has shape {tuple(extents(scalar, 'scalar'))}; it needs one without axes")
    if isinstance(x, IndexedSlices):
        return _like(x, op("multiply")(scalar, x.values))
    return op("multiply")(scalar, x)


@public("nn.crelu", in_errors=True)
def crelu(features, axis=-1, name=None):
    """The rectifier of x and of −x, one after the other along an axis. (Shang, Sohn, Almeida, Lee 2016)

    features: numbers, at least one axis; axis: along which.
    Returns: the dtype of features, its shape with the axis twice as long.
    Errors: InvalidArgumentError for an axis out of range.
    """
    features = tensor(features)
    return op("concat")([op("relu")(features), op("relu")(-features)], axis=axis)


@public("math.is_non_decreasing", in_errors=True)
def is_non_decreasing(x, name=None):
    """True where no element of x, in row-major order, is below the one before it.

    x: numbers, any shape.
    Returns: a bool scalar; True for less than two elements.
    Errors: TypeError for bool.
    """
    flat = op("reshape")(x, [-1])
    return op("reduce_all")(flat[1:] >= flat[:-1])


@public("math.is_strictly_increasing", in_errors=True)
def is_strictly_increasing(x, name=None):
    """True where every element of x, in row-major order, is above the one before it.

    x: numbers, any shape.
    Returns: a bool scalar; True for less than two elements.
    Errors: TypeError for bool.
    """
    flat = op("reshape")(x, [-1])
    return op("reduce_all")(flat[1:] > flat[:-1])


@public("math.zero_fraction", "nn.zero_fraction", in_errors=True)
def zero_fraction(value, name=None):
    """The fraction of elements that are 0.

    value: numbers, any shape.
    Returns: a float32 scalar; NaN for an empty value.
    Errors: TypeError for a value that is not a number.
    """
    is_zero = op("logical_not")(op("cast")(value, "bool"))
    return op("reduce_mean")(op("cast")(is_zero, "float32"))


@public("div", in_errors=True)
def div(x, y, name=None):
    """TensorFlow 1's quotient: x / y of real numbers, rounded down of whole ones.

    x, y: numbers of one dtype; shapes that broadcast by NumPy's rule.
    Returns: the dtype of both, the broadcast shape.
    Errors: TypeError for different dtypes; InvalidArgumentError for shapes that do not broadcast, and integers
    divided by 0.
    """
    def is_whole(value, name):
        return value.dtype.is_integer if isinstance(value, _engine.Tensor) else array(value, name).dtype.kind in "iu"

    whole = all(is_whole(value, name) for value, name in ((x, "x"), (y, "y")))
    return op("floordiv" if whole else "divide")(x, y)


@public("accumulate_n", "math.accumulate_n", in_errors=True)
def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """The sum of tensors of one shape and dtype: the op add_n. shape and tensor_dtype, where given, must be theirs.

    inputs: a list of tensors of any numeric dtype.
    Returns: their dtype and shape.
    Errors: InvalidArgumentError for an empty list, different shapes, and another shape or tensor_dtype than was given.
    """
    total = op("add_n")(inputs)
    if shape is not None and list(total.shape) != sequence(shape, "shape"):
        raise InvalidArgumentError(f"accumulate_n: inputs have shape {tuple(total.shape)}, not {tuple(shape)}")
    if tensor_dtype is not None and total.dtype != tensor_dtype:
        raise InvalidArgumentError(f"accumulate_n: inputs are {total.dtype.name}, not {tensor_dtype!r}")
    return total


@public("identity_n", in_errors=True)
def identity_n(input, name=None):
    """A list of the same tensors, as new ones for the tape."""
    return [op("identity")(each) for each in sequence(input, "input")]


@public("lbeta", "math.lbeta", in_errors=True)
def lbeta(x, name=None):
    """ln |B(x)| along the last axis: Σ lnΓ(xᵢ) − lnΓ(Σ xᵢ), Euler's beta function for two numbers.

    x: floating, at least one axis.
    Returns: the dtype of x, its shape without the last axis; −∞ for no numbers.
    Errors: InvalidArgumentError for a scalar; TypeError for another dtype.
    """
    x = tensor(x)
    if x.ndim == 0:
        raise InvalidArgumentError("lbeta: x is a scalar; needs at least one axis")
    return op("reduce_sum")(op("lgamma")(x), axis=-1) - op("lgamma")(op("reduce_sum")(x, axis=-1))
