"""How losses and metrics pair, weight and reduce values."""
from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.composites import in_dtype, op, tensor
from tapedeck._core.extents import as_dtype_of, count, extents
from tapedeck._core.host_ops import needs_extents
from tapedeck.keras.settings import floatx

_cast, _reshape, _expand_dims, _squeeze = op("cast"), op("reshape"), op("expand_dims"), op("squeeze")
_sum, _mean, _divide_no_nan = op("reduce_sum"), op("reduce_mean"), op("divide_no_nan")

REDUCTIONS = ("sum_over_batch_size", "sum", "none", None, "mean", "mean_with_sample_weight", "auto")


def standard_reduction(function, reduction):
    """The reduction under the name that the rest of this file has for it. ValueError for any other value."""
    if reduction is not None and not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise ValueError(f"{function}: reduction is {reduction!r}; must be one of {', '.join(map(repr, REDUCTIONS))}")
    return {"auto": "sum_over_batch_size", "mean": "sum_over_batch_size", None: "none"}.get(reduction, reduction)


def floating(value):
    """The value as a tensor; integers, bools and Python numbers become floatx()."""
    made = tensor(value)
    if not made.dtype.is_floating:
        return _cast(made, floatx())
    if made.dtype == dtypes.float32 and floatx() != "float32" and type(value) in (float, list, tuple):
        return in_dtype(value, floatx())
    return made


@needs_extents
def same_rank(first, second, expand_one_axis=True):
    """Both, where one has one axis more than the other and its last extent is 1: with the same number of axes.

    The longer loses its last axis; where the shorter has one axis alone and expand_one_axis, that gains one instead.
    """
    difference = len(first.shape) - len(second.shape)
    if difference in (1, -1) and (first if difference == 1 else second).shape[-1] is None:
        raise ValueError("the last extent of the longer one must be known")
    if difference == 1 and first.shape[-1] == 1:
        if len(second.shape) == 1 and expand_one_axis:
            return first, _expand_dims(second, -1)
        return _squeeze(first, [-1]), second
    if difference == -1 and second.shape[-1] == 1:
        return same_rank(second, first, expand_one_axis)[::-1]
    return first, second


def broadcasts(shape, other):
    """Whether two shapes broadcast by NumPy's rule."""
    return all(1 in pair or None in pair or pair[0] == pair[1] for pair in zip(reversed(shape), reversed(other)))


def pair(function, y_true, y_pred, squeeze=True):
    """(y_true, y_pred) as tensors of y_pred's dtype, floatx() where that is none of real numbers.

    squeeze: what same_rank does is done first. Errors: InvalidArgumentError for shapes that do not broadcast.
    """
    y_pred = floating(y_pred)
    y_true = in_dtype(y_true, y_pred.dtype)
    if y_true.shape != y_pred.shape:
        if squeeze:
            y_true, y_pred = same_rank(y_true, y_pred)
        if not broadcasts(y_true.shape, y_pred.shape):
            raise _engine.InvalidArgumentError(
                f"{function}: y_true {tuple(y_true.shape)} and y_pred {tuple(y_pred.shape)} do not broadcast")
    return y_true, y_pred


def weights_like(function, weights, values):
    """Weights that broadcast to the values, where they have the shape of the values or of their first axes, 1 for any extent, or
    that with one more axis of extent 1.

    Errors: InvalidArgumentError for other shapes.
    """
    weights = in_dtype(weights, values.dtype)
    given = tuple(weights.shape)
    if len(given) == len(values.shape) + 1 and given[-1] == 1:
        weights = _squeeze(weights, [-1])
    missing = len(values.shape) - len(weights.shape)
    if missing < 0 or any(None not in (given, own) and given not in (1, own) for given, own in zip(weights.shape, values.shape)):
        raise _engine.InvalidArgumentError(
            f"{function}: sample_weight {given} does not fit the values {tuple(values.shape)}; needs their first axes")
    if missing and weights.shape:
        weights = _reshape(weights, [*extents(weights), *[1] * missing])
    return weights


def masked_weights(function, weights, mask, values, reduction):
    """Weights that are 0 where mask is False. Where the reduction is the mean, the others count as many times as there are
    values for each that is left, so that the mean is one of those."""
    if mask is None:
        return None if weights is None else weights_like(function, weights, values)
    left = weights_like(function, mask, values)
    if reduction == "sum_over_batch_size":
        left = left * _divide_no_nan(in_dtype(count(left), values.dtype), _sum(left))
    return left if weights is None else left * weights_like(function, weights, values)


def reduced(function, values, weights=None, mask=None, reduction="sum_over_batch_size"):
    """The values, weighed and reduced.

    values: floating; weights: as weights_like has them, or None; mask: bool, False for what does not count, or None;
    reduction: one of those of standard_reduction.
    Returns: their dtype; a scalar, or for 'none' the values' shape. 0 for the mean of nothing.
    """
    weights = masked_weights(function, weights, mask, values, reduction)
    if weights is None and reduction == "sum_over_batch_size" and 0 not in values.shape:
        return _mean(values)
    if weights is not None:
        values = values * weights
    if reduction == "none":
        return values
    total = _sum(values)
    if reduction == "sum" or 0 in values.shape:
        return total
    if reduction == "mean_with_sample_weight" and weights is not None:
        return _divide_no_nan(total, _sum(op("broadcast_to")(weights, extents(values))))
    return total / as_dtype_of(total, count(values))
