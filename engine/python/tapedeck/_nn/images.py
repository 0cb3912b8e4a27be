"""Convolutions and pooling as TensorFlow's two generations call them; the ops know one form, four axes."""
import collections


from tapedeck import _engine
from tapedeck._core.arguments import array, integers, one_of, sequence
from tapedeck._core.composites import either as _either, index_dtype, op as _op
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._nn import volumes as nn_volumes
from tapedeck._nn.volumes import of_output_shape

MaxPoolWithArgmax = collections.namedtuple("MaxPoolWithArgmax", ["output", "argmax"])  # of two ops, so of no registry row


def _sliding(op, strides, padding, data_format, dilations):
    """The ops' keyword arguments. padding: 'SAME', 'VALID', or pairs (before, after) for all four axes."""
    arguments = {"strides": 1 if strides is None else strides, "dilations": 1 if dilations is None else dilations,
                 "data_format": "NHWC" if data_format is None else data_format}
    if isinstance(padding, str):
        arguments["padding"] = padding.upper()
    elif padding is None:
        raise _engine.TypeMismatchError(f"{op}() is missing argument 'padding'")
    else:
        arguments["padding"] = "EXPLICIT"
        pairs = array(padding, "padding")
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise _engine.InvalidArgumentError(f"{op}: padding is {padding!r}; must be 'SAME', 'VALID', or a pair of integers "
                                               "(before, after) for each axis")
        arguments["explicit_paddings"] = pairs.ravel().tolist()
    return arguments


def _pair_of_one(value, name):
    """A width, given as a number or as a list for one or three axes, as (1, width)."""
    if value is None:
        return None
    numbers = integers(value, name)
    if len(numbers) == 3:
        numbers = [max(numbers)]
    if len(numbers) != 1:
        raise _engine.InvalidArgumentError(f"{name} is {value!r}; needs one number, or 3")
    return [1, numbers[0]]


def _wide(op, data_format, input):
    """A batch of rows as images of height 1: (tensor, the new axis, data_format)."""
    one_of(data_format, "data_format", (None, "NWC", "NCW", "NHWC", "NCHW"))
    axis, images = (2, "NCHW") if data_format in ("NCW", "NCHW") else (1, "NHWC")
    tensor = _engine.convert_to_tensor(input)
    if len(tensor.shape) != 3:
        raise _engine.InvalidArgumentError(f"{op}: input has shape {tuple(tensor.shape)}; needs 3 axes, {data_format or 'NWC'}")
    return _op("expand_dims")(tensor, axis), axis, images


def _wide_padding(padding, axis):
    if padding is None or isinstance(padding, str):
        return padding
    pairs = sequence(padding, "padding")
    return pairs[:axis] + [(0, 0)] + pairs[axis:]


@public("nn.conv2d", in_errors=True, row="conv2d")
def conv2d(input, filters=None, strides=None, padding=None, data_format="NHWC", dilations=None, name=None, *, filter=None,
           use_cudnn_on_gpu=None):
    """Slides filters over images.

    filters: `filter` in TensorFlow 1; padding: 'SAME', 'VALID' in upper or lower case, or pairs (before, after) for each of the
    four axes: the op's explicit_paddings. None for strides, dilations or data_format is the op's default.
    """
    return _op("conv2d")(input, _either("conv2d", "filters", filters, "filter", filter),
                         **_sliding("conv2d", strides, padding, data_format, dilations))


@public("nn.conv2d_transpose", in_errors=True)
@needs_extents(known=of_output_shape)
def conv2d_transpose(input=None, filters=None, output_shape=None, strides=None, padding="SAME", data_format="NHWC",
                     dilations=None, name=None, *, value=None, filter=None):
    """The transposed convolution: the gradient of conv2d with respect to its input, as an op of its own.

    input (`value` in TensorFlow 1): what conv2d with these arguments would return; filters (`filter`): (height, width, output
    channels, input channels), the same floating dtype; output_shape: the result's four extents; the others as in conv2d.
    Returns: that dtype, output_shape.
    Errors: InvalidArgumentError for shapes, strides, dilations and paddings that do not fit; TypeError for other or different
    dtypes.
    """
    if output_shape is None:
        raise _engine.TypeMismatchError("conv2d_transpose() is missing argument 'output_shape'")
    return _op("conv2d_backprop_input")(
        output_shape, _either("conv2d_transpose", "filters", filters, "filter", filter),
        _either("conv2d_transpose", "input", input, "value", value),
        **_sliding("conv2d_transpose", strides, padding, data_format, dilations))


@public("nn.conv2d_backprop_input", in_errors=True, row="conv2d_backprop_input")
@needs_extents(known=lambda input_sizes, out_backprop, **_: of_output_shape(out_backprop, output_shape=input_sizes))
def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None, use_cudnn_on_gpu=True,
                          data_format="NHWC", dilations=None, name=None, *, filters=None):
    """The gradient of conv2d with respect to its input. filter, strides, padding, data_format and dilations are taken as there."""
    return _op("conv2d_backprop_input")(input_sizes, _either("conv2d_backprop_input", "filter", filter, "filters", filters),
                                        out_backprop,
                                        **_sliding("conv2d_backprop_input", strides, padding, data_format, dilations))


@public("nn.conv2d_backprop_filter", in_errors=True, row="conv2d_backprop_filter")
@needs_extents(known=lambda input, filter_sizes, **_: of_output_shape(input, output_shape=filter_sizes))
def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides=None, padding=None, use_cudnn_on_gpu=True,
                           data_format="NHWC", dilations=None, name=None):
    """The gradient of conv2d with respect to its filters. strides, padding, data_format and dilations are taken as there."""
    return _op("conv2d_backprop_filter")(input, filter_sizes, out_backprop,
                                         **_sliding("conv2d_backprop_filter", strides, padding, data_format, dilations))


@public("nn.depthwise_conv2d", "nn.depthwise_conv2d_native", in_errors=True, row="depthwise_conv2d_native")
def depthwise_conv2d(input, filter=None, strides=None, padding=None, data_format=None, dilations=None, name=None, *,
                     rate=None):
    """A convolution in which each channel has filters of its own. strides, padding, data_format and dilations (`rate` in TensorFlow 1) are
    taken as in conv2d."""
    return _op("depthwise_conv2d_native")(
        input, filter, **_sliding("depthwise_conv2d", strides, padding, data_format, rate if dilations is None else dilations))


@public("nn.depthwise_conv2d_backprop_input", "nn.depthwise_conv2d_native_backprop_input", in_errors=True,
        row="depthwise_conv2d_native_backprop_input")
def depthwise_conv2d_backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format="NHWC", dilations=None,
                                    name=None):
    """The gradient of depthwise_conv2d with respect to its input. strides, padding, data_format and dilations are taken as in conv2d."""
    return _op("depthwise_conv2d_native_backprop_input")(
        input_sizes, filter, out_backprop,
        **_sliding("depthwise_conv2d_backprop_input", strides, padding, data_format, dilations))


@public("nn.depthwise_conv2d_backprop_filter", "nn.depthwise_conv2d_native_backprop_filter", in_errors=True,
        row="depthwise_conv2d_native_backprop_filter")
def depthwise_conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format="NHWC", dilations=None,
                                     name=None):
    """The gradient of depthwise_conv2d with respect to its filter. strides, padding, data_format and dilations are taken as in conv2d."""
    return _op("depthwise_conv2d_native_backprop_filter")(
        input, filter_sizes, out_backprop,
        **_sliding("depthwise_conv2d_backprop_filter", strides, padding, data_format, dilations))


@public("nn.separable_conv2d", in_errors=True)
def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, data_format=None, dilations=None, name=None,
                     *, rate=None):
    """depthwise_conv2d, then conv2d with filters of one pixel.

    input, depthwise_filter and the others: as in depthwise_conv2d; pointwise_filter: (1, 1, channels·multiplier, output
    channels).
    Returns: the dtype of input, (batch, height, width, output channels), in the order of data_format.
    Errors: InvalidArgumentError for shapes, strides, dilations and paddings that do not fit; TypeError for other or different
    dtypes.
    """
    between = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations, rate=rate)
    return conv2d(between, pointwise_filter, 1, "VALID", data_format or "NHWC")


@public("nn.atrous_conv2d", in_errors=True)
def atrous_conv2d(value, filters, rate, padding, name=None):
    """conv2d with dilations `rate` and stride 1.

    value, filters, padding: as in conv2d; rate: a number.
    Returns: the dtype of value, (batch, height, width, output channels).
    Errors: InvalidArgumentError for shapes, strides, dilations and paddings that do not fit; TypeError for other or different
    dtypes.
    """
    return conv2d(value, filters, 1, padding, dilations=rate)


@public("nn.atrous_conv2d_transpose", in_errors=True)
def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """conv2d_transpose with dilations `rate` and stride 1.

    value, filters, output_shape, padding: as in conv2d_transpose; rate: a number.
    Returns: the dtype of value, output_shape.
    Errors: InvalidArgumentError for shapes, strides, dilations and paddings that do not fit; TypeError for other or different
    dtypes.
    """
    return conv2d_transpose(value, filters, output_shape, 1, padding, dilations=rate)


@public("nn.conv1d", in_errors=True)
def conv1d(input=None, filters=None, stride=None, padding=None, data_format="NWC", dilations=None, name=None, *, value=None,
           use_cudnn_on_gpu=None):
    """Slides filters along rows: conv2d on images of height 1.

    input (`value` in TensorFlow 1): (batch, width, channels), or channels before width with 'NCW', any floating dtype; filters:
    (width, input channels, output channels), the same dtype; stride, dilations: a number; padding as in conv2d, of three pairs.
    Returns: that dtype, (batch, width, output channels), in the order of data_format.
    Errors: InvalidArgumentError for shapes, strides, dilations and paddings that do not fit; TypeError for other or different
    dtypes.
    """
    images, axis, image_format = _wide("conv1d", data_format, _either("conv1d", "input", input, "value", value))
    result = conv2d(images, _op("expand_dims")(filters, 0), _pair_of_one(stride, "stride"), _wide_padding(padding, axis),
                    image_format, _pair_of_one(dilations, "dilations"))
    return _op("squeeze")(result, axis=[axis])


@public("nn.conv1d_transpose", in_errors=True)
@needs_extents(known=of_output_shape)
def conv1d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None, name=None):
    """The transposed convolution along rows: the gradient of conv1d with respect to its input.

    input: what conv1d with these arguments would return; filters: (width, output channels, input channels); output_shape: the
    result's three extents; the others as in conv1d.
    Returns: the dtype of input, output_shape.
    Errors: InvalidArgumentError for shapes, strides, dilations and paddings that do not fit; TypeError for other or different
    dtypes.
    """
    images, axis, image_format = _wide("conv1d_transpose", data_format, input)
    shape = integers(output_shape, "output_shape")
    result = conv2d_transpose(images, _op("expand_dims")(filters, 0), shape[:axis] + [1] + shape[axis:],
                              _pair_of_one(strides, "strides"), _wide_padding(padding, axis), image_format,
                              _pair_of_one(dilations, "dilations"))
    return _op("squeeze")(result, axis=[axis])


def _first_order(strides, padding):
    """(strides, padding), also where TensorFlow 1's order puts the padding, a text, first."""
    if isinstance(strides, str):
        return (None if isinstance(padding, str) else padding), strides
    return strides, padding


@public("nn.convolution", in_errors=True)
@needs_extents
def convolution(input, filters=None, strides=None, padding="VALID", data_format=None, dilations=None, name=None, *,
                filter=None, dilation_rate=None):
    """conv1d, conv2d or conv3d, by the number of the input's axes: the arguments, the result and the errors are theirs.

    Returns: the dtype of input. `filter` and `dilation_rate` are TensorFlow 1's names, whose third argument is padding.
    Errors: InvalidArgumentError for an input of other than three to five axes.
    """
    filters = _either("convolution", "filters", filters, "filter", filter)
    strides, padding = _first_order(strides, padding)
    dilations = dilation_rate if dilations is None else dilations
    axes = len(_engine.convert_to_tensor(input).shape)
    channels_last = {3: "NWC", 5: "NDHWC"}.get(axes, "NHWC")
    data_format = channels_last if data_format is None else data_format
    if axes == 5:
        return nn_volumes.conv3d(input, filters, strides, padding, data_format, dilations)
    if axes == 3:
        return conv1d(input, filters, strides, padding, data_format, dilations)
    return conv2d(input, filters, strides, padding, data_format, dilations)


@public("nn.conv_transpose", in_errors=True)
@needs_extents(known=of_output_shape)
def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None, name=None):
    """conv1d_transpose, conv2d_transpose or conv3d_transpose, by the number of the input's axes: the arguments, the result and the
    errors are theirs.

    Returns: the dtype of input, output_shape.
    Errors: InvalidArgumentError for an input of other than three to five axes.
    """
    axes = len(_engine.convert_to_tensor(input).shape)
    channels_last = {3: "NWC", 5: "NDHWC"}.get(axes, "NHWC")
    data_format = channels_last if data_format is None else data_format
    if axes == 5:
        return nn_volumes.conv3d_transpose(input, filters, output_shape, strides, padding, data_format, dilations)
    if axes == 3:
        return conv1d_transpose(input, filters, output_shape, strides, padding, data_format, dilations)
    return conv2d_transpose(input, filters, output_shape, strides, padding, data_format, dilations)


def _pool(op, input, ksize, strides, padding, data_format):
    return _op(op)(input, ksize, **_sliding(op, ksize if strides is None else strides, padding, data_format, None))


def _pool1d(op, input, ksize, strides, padding, data_format):
    images, axis, image_format = _wide(op + "1d", data_format, input)
    strides = ksize if strides is None else strides
    result = _pool(op, images, _pair_of_one(ksize, "ksize"), _pair_of_one(strides, "strides"), _wide_padding(padding, axis),
                   image_format)
    return _op("squeeze")(result, axis=[axis])


def _pool_by_rank(op, input, ksize, strides, padding, data_format):
    axes = len(_engine.convert_to_tensor(input).shape)
    channels_last = {3: "NWC", 5: "NDHWC"}.get(axes, "NHWC")
    data_format = channels_last if data_format is None else data_format
    if axes == 5:
        pooling = nn_volumes.max_pool3d if op == "max_pool" else nn_volumes.avg_pool3d
        return pooling(input, ksize, strides, padding, data_format or "NDHWC")
    if axes == 3:
        return _pool1d(op, input, ksize, strides, padding, data_format)
    return _pool(op, input, ksize, strides, padding, data_format)


@public("nn.max_pool", in_errors=True, row="max_pool")
@needs_extents
def max_pool(input=None, ksize=None, strides=None, padding=None, data_format=None, name=None, *, value=None):
    """The largest value of each window; volumes have five axes, images four, rows three.

    input: `value` in TensorFlow 1. padding is taken as in conv2d; None for strides is ksize.
    """
    return _pool_by_rank("max_pool", _either("max_pool", "input", input, "value", value), ksize, strides, padding, data_format)


@public("nn.avg_pool", in_errors=True, row="avg_pool")
@needs_extents
def avg_pool(input=None, ksize=None, strides=None, padding=None, data_format=None, name=None, *, value=None):
    """The mean of each window; volumes have five axes, images four, rows three. Arguments are taken as in max_pool."""
    return _pool_by_rank("avg_pool", _either("avg_pool", "input", input, "value", value), ksize, strides, padding, data_format)


@public("nn.pool", in_errors=True)
def pool(input, window_shape=None, pooling_type=None, strides=None, padding="VALID", data_format=None, dilations=None,
         name=None, *, dilation_rate=None):
    """max_pool or avg_pool with stride 1 where none is given.

    window_shape: as ksize in max_pool; pooling_type: 'MAX' or 'AVG'; the others as there. dilation_rate is TensorFlow 1's name of
    dilations; its fourth argument is padding.
    Returns: what max_pool or avg_pool returns.
    Errors: UnimplementedError for dilations above 1; InvalidArgumentError for another pooling_type, and as max_pool.
    """
    if pooling_type not in ("MAX", "AVG"):
        raise _engine.InvalidArgumentError(f"pool: pooling_type is {pooling_type!r}; must be 'MAX' or 'AVG'")
    strides, padding = _first_order(strides, padding)
    dilations = dilation_rate if dilations is None else dilations
    rates = dilations if isinstance(dilations, (list, tuple)) else [1 if dilations is None else dilations]
    if any(rate != 1 for rate in rates):
        raise _engine.UnimplementedError(f"pool: dilations are {dilations}; windows are dense here")
    return (max_pool if pooling_type == "MAX" else avg_pool)(input, window_shape, 1 if strides is None else strides, padding,
                                                             data_format)


@public("nn.max_pool1d", in_errors=True)
def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """The largest value of each window along rows.

    input: any numeric dtype, (batch, width, channels), or channels before width with 'NCW'; ksize, strides: a number; padding:
    'SAME', 'VALID', or three pairs.
    Returns: the dtype of input, (batch, width, channels), in the order of data_format.
    Errors: InvalidArgumentError for windows, strides and paddings that do not fit; TypeError for bool.
    """
    return _pool1d("max_pool", input, ksize, strides, padding, data_format)


@public("nn.avg_pool1d", in_errors=True)
def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """The mean of each window along rows. Padding does not count. The arguments are those of max_pool1d.

    Returns: the dtype of input, which is floating, (batch, width, channels), in the order of data_format.
    Errors: InvalidArgumentError for windows, strides and paddings that do not fit; TypeError for another dtype.
    """
    return _pool1d("avg_pool", input, ksize, strides, padding, data_format)


@public("nn.max_pool2d", in_errors=True, row="max_pool")
def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """The largest value of each window of images: max_pool for four axes alone."""
    return _pool("max_pool", input, ksize, strides, padding, data_format)


@public("nn.avg_pool2d", in_errors=True, row="avg_pool")
def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """The mean of each window of images: avg_pool for four axes alone."""
    return _pool("avg_pool", input, ksize, strides, padding, data_format)


@public("nn.max_pool_with_argmax", in_errors=True)
@needs_extents
def max_pool_with_argmax(input, ksize, strides, padding, data_format="NHWC", output_dtype="int64", name=None,
                         include_batch_in_index=False):
    """The largest value of each window of images, and where it is.

    The arguments are those of max_pool2d; output_dtype: int32 or int64; include_batch_in_index: count positions within the
    whole batch, not within the image.
    Returns: the named tuple (output, argmax): the dtype of input and output_dtype, both of max_pool2d's shape. A position is
    (y·width + x)·channels + channel.
    Errors: InvalidArgumentError for windows, strides and paddings that do not fit, and another output_dtype; TypeError for
    bool.
    """
    output_dtype = index_dtype("max_pool_with_argmax", "output_dtype", output_dtype)
    sliding = _sliding("max_pool_with_argmax", strides, padding, data_format, None)
    tensor = _engine.convert_to_tensor(input)
    positions = _op("max_pool_argmax")(tensor, ksize, **sliding)
    if include_batch_in_index:
        image = 1
        for extent in tensor.shape[1:]:
            image *= extent
        first = _op("range")(0, tensor.shape[0], dtype="int64") * image
        positions = positions + _op("reshape")(first, [-1, 1, 1, 1])
    return MaxPoolWithArgmax(_op("max_pool")(tensor, ksize, **sliding), _op("cast")(positions, output_dtype))
