"""Windows of images, laid out as channels."""
from tapedeck import _engine
from tapedeck.composites import op, public, tensor


def _height_and_width(name, argument, value):
    """Two numbers of the four (1, height, width, 1) that TensorFlow takes."""
    numbers = [int(number) for number in value] if isinstance(value, (list, tuple)) or hasattr(value, "__array__") else None
    if numbers is None or len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
        raise _engine.InvalidArgumentError(f"{name}: {argument} is {value!r}; must be (1, height, width, 1), above 0")
    return numbers[1:3]


def _placed(extent, window, stride, rate, padding):
    """How many windows fit along an axis, and the zeros before and after it."""
    reach = (window - 1) * rate + 1
    if padding == "VALID":
        return max(0, (extent - reach) // stride + 1), 0, 0
    count = -(-extent // stride)
    zeros = max(0, (count - 1) * stride + reach - extent)
    return count, zeros // 2, zeros - zeros // 2


@public("image.extract_patches")
def extract_patches(images, sizes, strides, rates, padding, name=None):
    """The values under each place of a window that slides over images, one after the other on the last axis.

    images: any dtype, (batch, height, width, channels); sizes: the window, (1, height, width, 1); strides: from one place to
    the next, likewise; rates: steps between the values that a window takes, likewise; padding: 'SAME' (zeros around) or
    'VALID'. Returns: that dtype, (batch, places down, places across, height·width·channels of the window); on the last axis
    channels change fastest, then columns. conv2d is this, times its filters as a matrix.
    Errors: InvalidArgumentError for other axes, windows, strides, rates or paddings.
    """
    images = tensor(images)
    if images.ndim != 4:
        raise _engine.InvalidArgumentError(f"extract_patches: images has shape {tuple(images.shape)}; needs 4 axes, NHWC")
    kind = padding.upper() if isinstance(padding, str) else padding
    if kind not in ("SAME", "VALID"):
        raise _engine.InvalidArgumentError(f"extract_patches: padding is {padding!r}; must be 'SAME' or 'VALID'")
    window, stride, rate = (_height_and_width("extract_patches", argument, value)
                            for argument, value in (("sizes", sizes), ("strides", strides), ("rates", rates)))
    batch, *extents, channels = images.shape.as_list()
    (rows, top, bottom), (columns, left, right) = (_placed(*arguments, kind) for arguments in zip(extents, window, stride, rate))
    if 0 in (batch, rows, columns, channels):
        return op("zeros")([batch, rows, columns, window[0] * window[1] * channels], images.dtype)
    padded = op("pad")(images, [0, 0, top, bottom, left, right, 0, 0])
    taken = []
    for i in range(0, window[0] * rate[0], rate[0]):
        for j in range(0, window[1] * rate[1], rate[1]):
            taken.append(padded[:, i:i + (rows - 1) * stride[0] + 1:stride[0], j:j + (columns - 1) * stride[1] + 1:stride[1]])
    return op("concat")(taken, axis=3)


@public("image.extract_image_patches", "extract_image_patches")
def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name=None, *, sizes=None):
    """TensorFlow 1's name of tf.image.extract_patches; its sizes are called ksizes."""
    if (ksizes is None) == (sizes is None):
        raise TypeError("extract_image_patches() needs either 'ksizes' or 'sizes', and not both")
    return extract_patches(images, sizes if ksizes is None else ksizes, strides, rates, padding)
