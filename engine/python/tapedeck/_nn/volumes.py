"""Convolutions and pooling of volumes, made of those of images: the depth's windows become channels, or a second pass."""
import math

from tapedeck import _engine
from tapedeck._core.arguments import integers
from tapedeck._core.composites import either as _either, op as _op
from tapedeck._core.host_ops import Known, known_extents, needs_extents
from tapedeck._core.public import public


def of_output_shape(input=None, value=None, output_shape=None, **_):
    """What is known of a transposed convolution (_core/host_ops.py)."""
    return Known(_engine.convert_to_tensor(value if input is None else input).dtype, known_extents(output_shape))


def _three(op, argument, value):
    """A number, (depth, height, width), or five numbers in the order of the data format, as (depth, height, width)."""
    numbers = integers(1 if value is None else value, argument)
    if len(numbers) not in (1, 3, 5) or any(number < 1 for number in numbers):
        raise _engine.InvalidArgumentError(f"{op}: {argument} is {value!r}; needs one, three or five numbers above 0")
    return numbers * 3 if len(numbers) == 1 else numbers


def _spatial(op, argument, value, data_format):
    numbers = _three(op, argument, value)
    if len(numbers) == 3:
        return numbers
    batch, channels = numbers[0], numbers[1 if data_format == "NCDHW" else 4]
    if batch != 1 or channels != 1:
        raise _engine.InvalidArgumentError(f"{op}: {argument} is {value!r}; it is 1 for the batch and the channels")
    return numbers[2:] if data_format == "NCDHW" else numbers[1:4]


def _volumes(op, input, data_format):
    """The tensor with the channels last."""
    if data_format not in ("NDHWC", "NCDHW"):
        raise _engine.InvalidArgumentError(f"{op}: data_format is {data_format!r}; must be 'NDHWC' or 'NCDHW'")
    tensor = _engine.convert_to_tensor(input)
    if tensor.ndim != 5:
        raise _engine.InvalidArgumentError(f"{op}: input has shape {tuple(tensor.shape)}; needs 5 axes, {data_format}")
    return tensor if data_format == "NDHWC" else _op("transpose")(tensor, [0, 2, 3, 4, 1])


def _in_format(tensor, data_format):
    return tensor if data_format == "NDHWC" else _op("transpose")(tensor, [0, 4, 1, 2, 3])


def _padding(op, padding):
    name = padding.upper() if isinstance(padding, str) else padding
    if name not in ("SAME", "VALID"):
        raise _engine.InvalidArgumentError(f"{op}: padding is {padding!r}; must be 'SAME' or 'VALID'")
    return name


def _depth_windows(op, extent, kernel, stride, dilation, padding):
    """(number of windows, padding before, padding after) along the depth."""
    reach = (kernel - 1) * dilation + 1
    if padding == "SAME":
        count = -(-extent // stride)
        total = max((count - 1) * stride + reach - extent, 0)
        return count, total // 2, total - total // 2
    if reach > extent:
        raise _engine.InvalidArgumentError(f"{op}: a window of depth {reach} is larger than the input's depth, {extent}")
    return (extent - reach) // stride + 1, 0, 0


def _filter_of_images(filters):
    """The filter's depth as further input channels: (height, width, depth·channels, output channels)."""
    depth, height, width, channels, outputs = filters.shape
    return _op("reshape")(_op("transpose")(filters, [1, 2, 0, 3, 4]), [height, width, depth * channels, outputs])


def _depth_runs(count, extent, kernel, stride, dilation, before):
    """Runs of windows that have the same places within the input: (first, last window, first, last place), lasts excluded. Of others
    nothing is added up: what is outside contributes nothing, whatever the filter holds."""
    runs = []
    for window in range(count):
        start = window * stride - before
        first = max(0, -(start // dilation))
        last = max(first, min(kernel, -(-(extent - start) // dilation)))
        if runs and runs[-1][2:] == (first, last):
            runs[-1] = (runs[-1][0], window + 1, first, last)
        else:
            runs.append((window, window + 1, first, last))
    return runs


def _depths_under(run, stride, dilation, before):
    """Where the depths under each place of a run's windows begin and end."""
    first, last, first_place, last_place = run
    begins = [first * stride + place * dilation - before for place in range(first_place, last_place)]
    return [(begin, begin + (last - 1 - first) * stride + 1) for begin in begins]


def _on_images(strides, dilations, padding):
    return {"strides": strides[1:], "dilations": dilations[1:], "padding": padding}


def _arguments(op, input, filters, filter, strides, dilations, padding, data_format):
    """The arguments of a convolution, checked: the input with the channels last, filters, strides, dilations, padding."""
    volumes = _volumes(op, input, data_format)
    filters = _engine.convert_to_tensor(_either(op, "filters", filters, "filter", filter), None, volumes.dtype)
    if filters.ndim != 5 or filters.shape[0] == 0:
        raise _engine.InvalidArgumentError(f"{op}: filters has shape {tuple(filters.shape)}; needs (depth, height, width, "
                                           "channels, outputs), a depth of at least 1")
    return (volumes, filters, _spatial(op, "strides", strides, data_format), _spatial(op, "dilations", dilations, data_format),
            _padding(op, padding))


@public("nn.conv3d", in_errors=True)
@needs_extents
def conv3d(input, filters=None, strides=None, padding=None, data_format="NDHWC", dilations=None, name=None, *, filter=None):
    """Slides filters over volumes: y[n, d, i, j, o] = Σ input[n, d·stride + a·dilation, …, c]·filters[a, b, e, c, o].

    input: (batch, depth, height, width, channels), or channels first with 'NCDHW', any floating dtype; filters (`filter` in
    TensorFlow 1): (depth, height, width, channels, output channels), the same dtype; strides, dilations: a number, (depth,
    height, width), or five numbers; padding: 'SAME' or 'VALID'.
    Returns: that dtype, (batch, depth, height, width, output channels), in the order of data_format.
    Errors: InvalidArgumentError for shapes, strides, dilations and paddings that do not fit; TypeError for other or different
    dtypes.
    """
    volumes, filters, strides, dilations, padding = _arguments("conv3d", input, filters, filter, strides, dilations, padding,
                                                               data_format)
    batch, depth, height, width, channels = volumes.shape
    if filters.shape[3] != channels:
        raise _engine.InvalidArgumentError(f"conv3d: input has {channels} channels, filters {tuple(filters.shape)} are for "
                                           f"{filters.shape[3]}")
    kernel = filters.shape[0]
    count, before = _depth_windows("conv3d", depth, kernel, strides[0], dilations[0], padding)[:2]

    def run_of(run):
        first, last, first_place, last_place = run
        places = last_place - first_place
        parts = [_op("strided_slice")(volumes, [0, begin], [batch, end], [1, strides[0]])
                 for begin, end in _depths_under(run, strides[0], dilations[0], before)]
        if not parts:  # all of it lies outside: windows without channels
            parts = [_op("slice")(volumes, [0, 0, 0, 0, 0], [batch, depth, height, width, 0])]
        images = _op("reshape")(_op("concat")(parts, 4) if places > 1 else parts[0],
                                [batch * (last - first), height, width, places * channels])
        own = filters if places == kernel else _op("slice")(filters, [first_place, 0, 0, 0, 0], [places, *filters.shape[1:]])
        result = _op("conv2d")(images, _filter_of_images(own), **_on_images(strides, dilations, padding))
        return _op("reshape")(result, [batch, last - first, *result.shape[1:]])

    runs = _depth_runs(count, depth, kernel, strides[0], dilations[0], before) or [(0, 0, 0, kernel)]
    results = [run_of(run) for run in runs]
    return _in_format(_op("concat")(results, 1) if len(results) > 1 else results[0], data_format)


@public("nn.conv3d_transpose", in_errors=True)
@needs_extents(known=of_output_shape)
def conv3d_transpose(input=None, filters=None, output_shape=None, strides=None, padding="SAME", data_format="NDHWC",
                     dilations=None, name=None, *, value=None, filter=None):
    """The transposed convolution: the gradient of conv3d with respect to its input, as an op of its own.

    input (`value` in TensorFlow 1): what conv3d with these arguments would return; filters (`filter`): (depth, height, width,
    output channels, input channels), the same floating dtype; output_shape: the result's five extents; the others as in conv3d.
    Returns: that dtype, output_shape.
    Errors: InvalidArgumentError for shapes, strides, dilations and paddings that do not fit; TypeError for other or different
    dtypes.
    """
    input = _either("conv3d_transpose", "input", input, "value", value)
    gradient, filters, strides, dilations, padding = _arguments("conv3d_transpose", input, filters, filter, strides, dilations,
                                                                padding, data_format)
    extents = integers(output_shape, "output_shape")
    if len(extents) != 5:
        raise _engine.InvalidArgumentError(f"conv3d_transpose: output_shape is {output_shape!r}; needs 5 extents")
    if data_format == "NCDHW":
        extents = [extents[0], *extents[2:], extents[1]]
    batch, depth, height, width, channels = extents
    kernel = filters.shape[0]
    count, before = _depth_windows("conv3d_transpose", depth, kernel, strides[0], dilations[0], padding)[:2]
    if gradient.shape[:2] != (batch, count) or filters.shape[3] != channels:
        raise _engine.InvalidArgumentError(f"conv3d_transpose: input {tuple(gradient.shape)} and filters {tuple(filters.shape)} do not "
                                           f"make {tuple(extents)}; its windows are {count} along the depth")
    parts = []
    for run in _depth_runs(count, depth, kernel, strides[0], dilations[0], before):
        first, last, first_place, last_place = run
        places = last_place - first_place
        if places == 0:  # all of it lies outside
            continue
        own = gradient if last - first == count else _op("strided_slice")(gradient, [0, first], [batch, last], [1, 1])
        weights = filters if places == kernel else _op("slice")(filters, [first_place, 0, 0, 0, 0], [places, *filters.shape[1:]])
        slices = _op("conv2d_backprop_input")([batch * (last - first), height, width, places * channels], _filter_of_images(weights),
                                              _op("reshape")(own, [batch * (last - first), *gradient.shape[2:]]),
                                              **_on_images(strides, dilations, padding))
        slices = _op("reshape")(slices, [batch, last - first, height, width, places * channels])
        parts += [_op("strided_slice_grad")(part, extents, [0, begin], [batch, end], [1, strides[0]])
                  for part, (begin, end) in zip(_op("split")(slices, places, 4) if places > 1 else [slices],
                                                _depths_under(run, strides[0], dilations[0], before))]
    if not parts:
        return _in_format(_op("zeros")(extents, gradient.dtype), data_format)
    return _in_format(_op("add_n")(parts) if len(parts) > 1 else parts[0], data_format)


def _pool3d(op, input, ksize, strides, padding, data_format):
    """Windows of images, and then of their depths: the largest value, and the mean, of a window is that of its parts."""
    name = op + "3d"
    volumes = _volumes(name, input, data_format)
    windows = _spatial(name, "ksize", ksize, data_format)
    steps = windows if strides is None else _spatial(name, "strides", strides, data_format)
    padding = _padding(name, padding)
    batch, depth, *image, channels = volumes.shape
    _depth_windows(name, depth, windows[0], steps[0], 1, padding)
    flat = _op(op)(_op("reshape")(volumes, [batch * depth, *image, channels]), windows[1:], strides=steps[1:], padding=padding)
    *image, channels = flat.shape[1:]
    columns = _op("reshape")(flat, [batch, depth, math.prod(image), channels])
    result = _op(op)(columns, [windows[0], 1], strides=[steps[0], 1], padding=padding)
    return _in_format(_op("reshape")(result, [batch, result.shape[1], *image, channels]), data_format)


@public("nn.max_pool3d", in_errors=True)
@needs_extents
def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The largest value of each window of volumes. A window's gradient goes to its first largest value.

    input: as in conv3d, any numeric dtype; ksize, strides: as strides in conv3d; padding: 'SAME' or 'VALID'.
    Returns: the dtype of input, (batch, depth, height, width, channels), in the order of data_format.
    Errors: InvalidArgumentError for windows, strides and paddings that do not fit; TypeError for bool.
    """
    return _pool3d("max_pool", input, ksize, strides, padding, data_format)


@public("nn.avg_pool3d", in_errors=True)
@needs_extents
def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The mean of each window of volumes; padding does not count. The arguments are those of max_pool3d.

    Returns: the dtype of input, which is floating, (batch, depth, height, width, channels), in the order of data_format.
    Errors: InvalidArgumentError for windows, strides and paddings that do not fit; TypeError for another dtype.
    """
    return _pool3d("avg_pool", input, ksize, strides, padding, data_format)
