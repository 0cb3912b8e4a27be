"""TensorFlow's tf.nn: what is made of several ops, beside the registry's own (tf.nn.softmax …)."""
import functools as _functools

from tapedeck import _engine
from tapedeck._core import generation as _generation
from tapedeck._core.arguments import flag, integer, number, sequence
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extent, extents, is_late, product
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._nn import images as _images
from tapedeck._nn import volumes as _volumes

avg_pool = _images.avg_pool
avg_pool1d = _images.avg_pool1d
avg_pool2d = _images.avg_pool2d
avg_pool3d = _volumes.avg_pool3d
atrous_conv2d = _images.atrous_conv2d
atrous_conv2d_transpose = _images.atrous_conv2d_transpose
conv1d = _images.conv1d
conv1d_transpose = _images.conv1d_transpose
conv2d = _images.conv2d
conv2d_backprop_filter = _images.conv2d_backprop_filter
conv2d_backprop_input = _images.conv2d_backprop_input
conv2d_transpose = _images.conv2d_transpose
conv3d = _volumes.conv3d
conv3d_transpose = _volumes.conv3d_transpose
conv_transpose = _images.conv_transpose
convolution = _images.convolution
depthwise_conv2d = _images.depthwise_conv2d
depthwise_conv2d_backprop_filter = _images.depthwise_conv2d_backprop_filter
depthwise_conv2d_backprop_input = _images.depthwise_conv2d_backprop_input
depthwise_conv2d_native = _images.depthwise_conv2d
depthwise_conv2d_native_backprop_filter = _images.depthwise_conv2d_backprop_filter
depthwise_conv2d_native_backprop_input = _images.depthwise_conv2d_backprop_input
max_pool = _images.max_pool
max_pool1d = _images.max_pool1d
max_pool2d = _images.max_pool2d
max_pool3d = _volumes.max_pool3d
max_pool_with_argmax = _images.max_pool_with_argmax
pool = _images.pool
separable_conv2d = _images.separable_conv2d


def _floating(op, argument, value):
    tensor = _engine.convert_to_tensor(value)
    if not tensor.dtype.is_floating:
        raise _engine.TypeMismatchError(f"{op}: {argument} is {tensor.dtype.name}; needs a floating dtype")
    return tensor


def _like(x, value):
    """A parameter of an op on x: Python values and arrays take x's dtype; None stays."""
    if value is None or isinstance(value, (_engine.Tensor, _engine.Variable)):
        return value
    return _engine.convert_to_tensor(value, x.dtype)


def _dropped_share(rate, keep_prob):
    """The rate of either generation's arguments, in [0, 1)."""
    if (rate is None) == (keep_prob is None):
        raise _engine.InvalidArgumentError(f"dropout: give either rate or keep_prob; they are {rate!r} and {keep_prob!r}")
    try:
        share = float(rate) if keep_prob is None else 1 - float(keep_prob)
    except (TypeError, ValueError):
        raise _engine.TypeMismatchError(
            f"dropout: {'rate' if keep_prob is None else 'keep_prob'} is {rate if keep_prob is None else keep_prob!r}; "
            "needs a number") from None
    if not 0 <= share < 1:
        wrong = f"rate is {rate!r}; must be in [0, 1)" if keep_prob is None else f"keep_prob is {keep_prob!r}; must be in (0, 1]"
        raise _engine.InvalidArgumentError(f"dropout: {wrong}")
    return share


def _dropped_by_run(x, rate, keep_prob, noise_shape, seed):
    """dropout by a rate that only a run of the graph knows."""
    kept = 1 - _op("cast")(rate, x.dtype) if keep_prob is None else _op("cast")(keep_prob, x.dtype)
    noise = _op("random_uniform")(extents(x) if noise_shape is None else noise_shape, dtype=x.dtype, seed=seed)
    return _op("where")(_op("less")(noise, kept), x / kept, _op("zeros_like")(x))


def _second_is_keep_prob(function):
    """The function; its second argument, where no keyword says what it is, is TensorFlow 1's in programs for that."""
    @_functools.wraps(function)
    def called(x, *args, **kwargs):
        if args and _generation.is_first():
            kwargs["keep_prob"], args = args[0], (kwargs.pop("rate", None), *args[1:])
        return function(x, *args, **kwargs)

    return called


@public("nn.dropout", in_errors=True)
@_second_is_keep_prob
def dropout(x, rate=None, noise_shape=None, seed=None, name=None, *, keep_prob=None):
    """Sets each element to 0 with probability `rate`, and divides the others by 1 − rate.

    x: any floating dtype. rate: in [0, 1), also a tensor of a graph; keep_prob, TensorFlow 1's name for 1 − rate, goes by keyword. A
    second argument without a keyword is keep_prob where tf.compat.v1_behavior() was called.
    noise_shape: the shape of the random choices, which broadcast to x; None in it means x's extent. seed: as in
    tf.random.uniform. Elements that are set to 0 get gradient 0.
    Returns: dtype and shape of x; x itself for rate 0.
    Errors: InvalidArgumentError for a rate outside, and for a noise_shape that does not broadcast; TypeError for another dtype.
    """
    x = _floating("dropout", "x", x)
    if is_late(rate) or is_late(keep_prob):
        return _dropped_by_run(x, rate, keep_prob, noise_shape, seed)
    share = _dropped_share(rate, keep_prob)
    if share == 0:
        return x
    if noise_shape is None:
        return _op("dropout")(x, share, seed=seed)
    noise_shape = sequence(noise_shape, "noise_shape")
    whole = extents(x) if len(noise_shape) == len(x.shape) else noise_shape
    noise_shape = [own if wanted is None else wanted if is_late(wanted) else integer(wanted, "noise_shape")
                   for wanted, own in zip(noise_shape, whole)]
    if not x.shape.is_fully_defined() or is_late(noise_shape):
        pass  # a run checks it
    elif len(noise_shape) > len(x.shape) or any(
            own not in (1, extent) for own, extent in zip(noise_shape[::-1], list(x.shape)[::-1])):
        raise _engine.InvalidArgumentError(f"dropout: noise_shape {tuple(noise_shape)} does not broadcast to x {tuple(x.shape)}")
    kept = _op("greater_equal")(_op("random_uniform")(noise_shape, dtype=x.dtype, seed=seed), share)
    return _op("where")(kept, x * (1 / (1 - share)), _op("zeros_like")(x))


@public("nn.swish", "nn.silu", in_errors=True, row="swish")
def swish(features, beta=1.0, name=None):
    """x·sigmoid(beta·x). beta may be a tensor that broadcasts, with respect to which the result is then differentiable, too."""
    if isinstance(beta, (_engine.Tensor, _engine.Variable)):
        features = _floating("swish", "features", features)
        return features * _op("sigmoid")(_op("cast")(beta, features.dtype) * features)
    return _op("swish")(features, beta)


silu = swish


@public("nn.leaky_relu", in_errors=True, row="leaky_relu")
def leaky_relu(features, alpha=0.2, name=None):
    """The rectifier with a slope below 0. Integers are taken as float32."""
    features = _engine.convert_to_tensor(features)
    if features.dtype.is_integer:
        features = _op("cast")(features, "float32")
    return _op("leaky_relu")(features, alpha)


@public("nn.l2_normalize", "linalg.l2_normalize", "math.l2_normalize", in_errors=True)
def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """x / √max(Σ x², epsilon), the sum along `axis`.

    x: any floating or complex dtype; axis (`dim` in TensorFlow 1): one axis, a list of axes, or None for all; epsilon: a number.
    Returns: dtype and shape of x.
    Errors: InvalidArgumentError for an axis out of range or named twice; TypeError for another dtype.
    """
    if axis is None:
        axis = dim
    x = _engine.convert_to_tensor(x)
    sizes = _op("abs")(x) if x.dtype.is_complex else _floating("l2_normalize", "x", x)
    length = _op("reduce_euclidean_norm")(sizes, axis=axis, keepdims=True)  # whose squares do not overflow
    length = _op("maximum")(length, max(number(epsilon, "epsilon"), 0)**.5)
    return x / (_op("cast")(length, x.dtype) if x.dtype.is_complex else length)


@public("nn.batch_normalization", in_errors=True)
def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """scale·(x − mean) / √(variance + variance_epsilon) + offset; offset and scale may be None.

    x: any floating dtype; mean, variance, offset and scale broadcast to x and have its dtype; variance_epsilon: a number
    (Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167).
    Returns: dtype and shape of x.
    Errors: InvalidArgumentError for shapes that do not broadcast; TypeError for other or different dtypes.
    """
    x = _floating("batch_normalization", "x", x)
    mean, variance, offset, scale = (_like(x, value) for value in (mean, variance, offset, scale))
    if mean is None or variance is None:
        raise _engine.InvalidArgumentError(f"batch_normalization: {'mean' if mean is None else 'variance'} is None; needs a tensor")
    factor = _op("rsqrt")(variance + number(variance_epsilon, "variance_epsilon"))
    if scale is not None:
        factor = factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    return x * factor + shift


@public("nn.fused_batch_norm", in_errors=True)
def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True,
                     name=None, exponential_avg_factor=1.0):
    """Batch normalisation of images over all axes but the channels.

    x: any floating dtype, four axes in the order of data_format; scale, offset, mean, variance: (channels,), the same dtype;
    epsilon: is added to the variance.
    Returns: (y, mean, variance). While training, mean and variance are the batch's, the variance with n − 1 below, mixed
    with the given ones where exponential_avg_factor is not 1: old·(1 − factor) + new·factor. Otherwise `mean` and
    `variance` are used, and returned as they are.
    Errors: InvalidArgumentError for other shapes; ValueError without mean and variance where is_training is False; TypeError
    for other or different dtypes.
    """
    x = _floating("fused_batch_norm", "x", x)
    if data_format not in ("NHWC", "NCHW") or len(x.shape) != 4:
        raise _engine.InvalidArgumentError(
            f"fused_batch_norm: x has shape {tuple(x.shape)} and data_format is {data_format!r}; needs 4 axes, and 'NHWC' or 'NCHW'")
    channels_first = data_format == "NCHW"
    axes = [0, 2, 3] if channels_first else [0, 1, 2]

    def spread(value):
        value = _like(x, value)
        return _op("reshape")(value, [1, -1, 1, 1]) if channels_first else value

    if not is_training:
        if mean is None or variance is None:
            raise _engine.InvalidArgumentError("fused_batch_norm: mean and variance are needed where is_training is False")
        return batch_normalization(x, spread(mean), spread(variance), spread(offset), spread(scale), epsilon), mean, variance
    y, batch_mean, batch_variance = _op("batch_norm")(x, _like(x, scale), _like(x, offset), 1 if channels_first else 3, epsilon)
    count = product(extent(x, axis) for axis in axes)
    if isinstance(count, int):
        running = batch_variance * (count / max(count - 1, 1))
    else:
        count = _op("cast")(count, batch_variance.dtype)
        running = batch_variance * (count / _op("maximum")(count - 1, 1))
    if exponential_avg_factor != 1.0:
        keep = 1 - exponential_avg_factor
        batch_mean = mean * keep + batch_mean * exponential_avg_factor
        running = variance * keep + running * exponential_avg_factor
    return y, batch_mean, running


@public("nn.layer_normalization", in_errors=True)
def layer_normalization(x, scale=None, offset=None, axis=-1, epsilon=1e-3, name=None):
    """scale·(x − mean) / √(variance + epsilon) + offset with x's own mean and variance along `axis`.

    x: any floating dtype; scale and offset broadcast to x, or are None (Ba, Kiros and Hinton 2016,
    https://arxiv.org/abs/1607.06450); axis: one axis or a list of them; epsilon: a number.
    Returns: dtype and shape of x.
    Errors: InvalidArgumentError for an axis out of range, and shapes that do not broadcast; TypeError for other dtypes.
    """
    x = _floating("layer_normalization", "x", x)
    first = axis % max(x.ndim, 1) if isinstance(axis, int) and -x.ndim <= axis < x.ndim else None
    if first is not None and first == x.ndim - 1:
        scale, offset = (_like(x, value) for value in (scale, offset))
        if scale is not None and offset is not None and scale.shape == offset.shape == x.shape[first:]:
            return _op("layer_norm")(x, scale, offset, first, epsilon)[0]
    mean, variance = _op("moments")(x, axis, keepdims=True)
    return batch_normalization(x, mean, variance, offset, scale, epsilon)


@public("nn.moments", in_errors=True, row="moments")
def moments(x, axes, shift=None, keepdims=False, name=None, keep_dims=None):
    """(mean, variance) along axes. shift does nothing, as in TensorFlow; keep_dims is TensorFlow 1's name of keepdims, where it has
    `name`."""
    return _op("moments")(x, axes, _keeps(keepdims, keep_dims))


def _keeps(keepdims, keep_dims):
    """TensorFlow 1 has `name` where TensorFlow 2 has `keepdims`."""
    keep_dims = flag(keep_dims, "keep_dims")
    return keep_dims if isinstance(keepdims, (str, type(None))) else flag(keepdims, "keepdims") or keep_dims


@public("nn.normalize_moments", in_errors=True)
def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """Mean and variance of the sums that sufficient_statistics returns.

    counts, mean_ss, variance_ss, shift: those four, floating, one dtype.
    Returns: (mean, variance), that dtype, the shape of the sums.
    Errors: TypeError for different dtypes; InvalidArgumentError for shapes that do not broadcast.
    """
    mean = _op("divide")(mean_ss, counts)
    variance = _op("subtract")(_op("divide")(variance_ss, counts), _op("square")(mean))
    return (mean if shift is None else _op("add")(mean, shift)), variance


@public("nn.sufficient_statistics", in_errors=True)
def sufficient_statistics(x, axes, shift=None, keepdims=False, name=None, keep_dims=None):
    """What mean and variance along axes are made of, so that parts of the data can be added up first.

    x: any floating dtype; axes: one axis or a list of them; shift: a number or tensor near the mean, against loss of digits, or
    None; keepdims: leave the reduced axes with extent 1.
    Returns: (number of elements, Σ (x − shift), Σ (x − shift)², shift), the dtype of x.
    Errors: InvalidArgumentError for an axis out of range or named twice; TypeError for another dtype.
    """
    x = _floating("sufficient_statistics", "x", x)
    keepdims = _keeps(keepdims, keep_dims)
    ones = _op("reduce_sum")(_op("ones_like")(x), axis=axes)
    count = _op("reduce_max")(ones) if x.shape.num_elements() != 0 else _engine.convert_to_tensor(0., x.dtype)
    moved = x if shift is None else _op("subtract")(x, shift)
    total = _op("reduce_sum")(moved, axis=axes, keepdims=keepdims)
    return count, total, _op("reduce_sum")(_op("square")(moved), axis=axes, keepdims=keepdims), shift


@public("nn.weighted_moments", in_errors=True)
@needs_extents
def weighted_moments(x, axes, frequency_weights, keepdims=False, name=None, keep_dims=None):
    """Weighted mean and variance along axes: Σ w·x / Σ w and Σ w·(x − mean)² / Σ w.

    x: any floating dtype; axes: one axis, a list of axes, or None for all; frequency_weights: w, broadcast to x; keepdims: leave
    the reduced axes with extent 1.
    Returns: (mean, variance), the dtype of x; NaN where the weights' sum is 0.
    Errors: InvalidArgumentError for an axis out of range, and weights that do not broadcast; TypeError for another dtype.
    """
    x = _floating("weighted_moments", "x", x)
    keepdims = _keeps(keepdims, keep_dims)
    weights = _op("broadcast_to")(_op("cast")(_like(x, frequency_weights), x.dtype), x.shape)
    total = _op("reduce_sum")(weights, axis=axes, keepdims=True)
    mean = _op("reduce_sum")(weights * x, axis=axes, keepdims=True) / total
    variance = _op("reduce_sum")(weights * _op("squared_difference")(x, mean), axis=axes, keepdims=True) / total
    if keepdims:
        return mean, variance
    axes = list(range(len(x.shape))) if axes is None else axes
    return _op("squeeze")(mean, axis=axes), _op("squeeze")(variance, axis=axes)


@public("nn.in_top_k", "math.in_top_k", in_errors=True, row="in_top_k")
def in_top_k(targets, predictions, k, name=None):
    """Whether the target class is among the k largest predictions of its row. TensorFlow 1 has predictions and targets the other way round:
    they are distinguished by their number of axes."""
    predictions, targets = _engine.convert_to_tensor(predictions), _engine.convert_to_tensor(targets)
    if len(predictions.shape) == 1 and len(targets.shape) == 2:
        predictions, targets = targets, predictions
    return _op("in_top_k")(predictions, targets, k)


def _clipped(rows, max_norm, id_axes):
    """Rows (the axes after the first `id_axes`) no longer than max_norm."""
    if max_norm is None:
        return rows
    axes = list(range(id_axes, len(rows.shape)))
    length = _op("reduce_euclidean_norm")(rows, axis=axes, keepdims=True)  # 0 has a gradient, 0
    return rows * (max_norm / _op("maximum")(length, max_norm))


@public("nn.embedding_lookup", in_errors=True)
@needs_extents
def embedding_lookup(params, ids, max_norm=None, name=None, validate_indices=True, partition_strategy="mod"):
    """Looks up rows of `params` by index.

    params: one tensor or variable, or a list of them that together hold the rows: with 'mod' row i is row i // n of part
    i % n; with 'div' the parts hold consecutive rows. ids: integers, any shape. max_norm: longer rows are scaled down to
    it; a text there is partition_strategy, which comes third in TensorFlow 1.
    Returns: the dtype of params, shape ids.shape + params.shape[1:].
    Errors: OutOfRangeError for an id outside the rows; InvalidArgumentError for parts that do not fit; TypeError for ids that
    are not whole.
    """
    if isinstance(max_norm, str):
        max_norm, partition_strategy = None, max_norm
    ids = _engine.convert_to_tensor(ids)
    if isinstance(params, (_engine.Tensor, _engine.Variable)):
        parts = [params]
    else:
        parts = [_engine.convert_to_tensor(part) for part in (params if isinstance(params, (list, tuple)) else [params])]
    if not parts:
        raise _engine.InvalidArgumentError("embedding_lookup: params is empty")
    if any(part.ndim == 0 for part in parts):
        raise _engine.InvalidArgumentError(f"embedding_lookup: params is a list of {len(parts)} parts, of which one is a scalar; "
                                           "each needs rows, and numbers that are one part need tf.constant")
    if len(parts) == 1:
        return _clipped(_op("gather")(parts[0], ids), max_norm, len(ids.shape))
    if partition_strategy == "mod":
        if any(part.shape[0] != parts[0].shape[0] for part in parts) and max(p.shape[0] for p in parts) - min(
                p.shape[0] for p in parts) > 1:
            raise _engine.InvalidArgumentError(
                f"embedding_lookup: params have {[p.shape[0] for p in parts]} rows; 'mod' needs parts that differ by 1 at most")
        starts = [0]
        for part in parts:
            starts.append(starts[-1] + part.shape[0])
        start = _engine.convert_to_tensor(starts[:-1], ids.dtype)
        rows = _op("gather")(start, _op("mod")(ids, len(parts))) + _op("floordiv")(ids, len(parts))
    elif partition_strategy == "div":
        rows = ids
    else:
        raise _engine.InvalidArgumentError(f"embedding_lookup: partition_strategy is {partition_strategy!r}; must be 'mod' or 'div'")
    return _clipped(_op("gather")(_op("concat")(parts, 0), rows), max_norm,
                    len(ids.shape))
