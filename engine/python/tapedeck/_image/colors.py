"""tf.image: the values of pixels: other dtypes, grey and coloured, brighter and of more contrast."""
from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core import dtypes
from tapedeck._core.composites import op, tensor
from tapedeck._core.extents import extents, product
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._math.casts import saturate_cast


@public("image.convert_image_dtype", in_errors=True)
def convert_image_dtype(image, dtype, saturate=False, name=None):
    """The image with pixels of another dtype, the range kept: [0, 1] for floating ones, from 0 to the greatest value for whole
    numbers.

    image: any numeric dtype and shape; dtype: the other one; saturate: whether values beyond the range become its ends, not what
    a cast makes of them.
    Returns: dtype, the shape of image.
    Errors: TypeError for bool.
    """
    image, dtype = tensor(image), dtypes.as_dtype(dtype)
    own = image.dtype
    if own.is_bool or dtype.is_bool:
        raise _engine.TypeMismatchError(f"convert_image_dtype: from {own.name} to {dtype.name}; needs numbers")
    cast = (lambda value: saturate_cast(value, dtype)) if saturate else (lambda value: op("cast")(value, dtype))
    if own == dtype:
        return op("identity")(image)
    if own.is_integer and dtype.is_integer:
        if own.max > dtype.max:
            return cast(op("floordiv")(image, (own.max + 1) // (dtype.max + 1)))
        return cast(image) * ((dtype.max + 1) // (own.max + 1))
    if own.is_integer:
        return cast(image) * (1. / own.max)
    return cast(image * (dtype.max + .5)) if dtype.is_integer else cast(image)  # the half of one is lost by the cast


def _floating(images):
    """As a floating dtype in which there is no loss."""
    return convert_image_dtype(images, dtypes.float64 if images.dtype == dtypes.float64 else dtypes.float32)


def _with_channels(function, value, wanted):
    images = tensor(value)
    if images.ndim < 1 or images.shape[-1] != wanted:
        raise InvalidArgumentError(f"{function}: images has shape {tuple(images.shape)}; its last axis must be {wanted}")
    return images


@public("image.rgb_to_grayscale", in_errors=True)
@needs_extents
def rgb_to_grayscale(images, name=None):
    """Grey as bright as red, green and blue together: 0.2989·red + 0.587·green + 0.114·blue.

    images: (…, 3), any numeric dtype. Returns: its dtype, (…, 1).
    Errors: InvalidArgumentError for another last axis.
    """
    images = _with_channels("rgb_to_grayscale", images, 3)
    real = _floating(images)
    grey = op("reduce_sum")(real * tensor([.2989, .587, .114], real.dtype), [-1], keepdims=True)
    return convert_image_dtype(grey, images.dtype)


@public("image.grayscale_to_rgb", in_errors=True)
@needs_extents
def grayscale_to_rgb(images, name=None):
    """Red, green and blue of one brightness.

    images: (…, 1), any dtype. Returns: its dtype, (…, 3).
    Errors: InvalidArgumentError for another last axis.
    """
    images = _with_channels("grayscale_to_rgb", images, 1)
    return op("tile")(images, [1] * (images.ndim - 1) + [3])


@public("image.adjust_brightness", in_errors=True)
def adjust_brightness(image, delta):
    """The image with delta added to its pixels, as fractions of the range where they are integers.

    image: any numeric dtype and shape; delta: a number or a scalar tensor. Returns: dtype and shape of image.
    Errors: TypeError for bool.
    """
    image = tensor(image)
    real = image if image.dtype.is_floating else _floating(image)
    return convert_image_dtype(real + op("cast")(delta, real.dtype), image.dtype, saturate=True)


@public("image.adjust_contrast", in_errors=True)
@needs_extents
def adjust_contrast(images, contrast_factor):
    """(x − mean)·contrast_factor + mean, the mean of each channel of each image.

    images: (…, rows, columns, channels), any numeric dtype; contrast_factor: a number or a scalar tensor.
    Returns: dtype and shape of images.
    Errors: InvalidArgumentError for fewer axes; TypeError for bool.
    """
    images = tensor(images)
    if images.ndim < 3:
        raise InvalidArgumentError(f"adjust_contrast: images has shape {tuple(images.shape)}; needs at least 3 axes")
    real = _floating(images)
    mean = op("reduce_mean")(real, [-3, -2], keepdims=True)
    return convert_image_dtype((real - mean) * op("cast")(contrast_factor, real.dtype) + mean, images.dtype, saturate=True)


def _one_over(count, dtype):
    return 1. / max(1, count) if isinstance(count, int) else 1. / op("cast")(op("maximum")(count, 1), dtype)


@public("image.per_image_standardization", in_errors=True)
@needs_extents
def per_image_standardization(image):
    """(x − mean) / max(standard deviation, 1/√pixels), over all values of an image.

    image: (…, rows, columns, channels), any numeric dtype. Returns: float16 where image is, else float32; the shape of image.
    Errors: InvalidArgumentError for fewer axes.
    """
    image = tensor(image)
    if image.ndim < 3:
        raise InvalidArgumentError(f"per_image_standardization: image has shape {tuple(image.shape)}; needs at least 3 axes")
    real = image if image.dtype == dtypes.float16 else op("cast")(image, dtypes.float32)
    count = product(extents(image)[-3:])
    mean = op("reduce_mean")(real, [-3, -2, -1], keepdims=True)
    variance = op("reduce_mean")(op("square")(real - mean), [-3, -2, -1], keepdims=True)
    return (real - mean) * op("rsqrt")(op("maximum")(variance, _one_over(count, real.dtype)))  # no root of 0, which has no gradient
