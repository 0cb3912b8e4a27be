"""tf.image: images turned, cut, resized and compared. An image is (rows, columns, channels), several have an axis in front."""
import math

import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core import dtypes
from tapedeck._core.arguments import integer, integers, number, one_of
from tapedeck._core.composites import op, tensor
from tapedeck._core.extents import extent as extent_of, extents
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._nn.images import depthwise_conv2d


def checked_images(function, argument, value, ranks=(3, 4)):
    images = tensor(value)
    if images.ndim not in ranks:
        wanted = {3: "(rows, columns, channels)", 4: "(batch, rows, columns, channels)"}
        raise InvalidArgumentError(f"{function}: {argument} has shape {tuple(images.shape)}; needs "
                                   + " or ".join(wanted[rank] for rank in ranks))
    return images


def _reversed(function, image, axis):
    return op("reverse")(checked_images(function, "image", image), [axis])


@public("image.flip_left_right", in_errors=True)
def flip_left_right(image):
    """The columns in the opposite order.

    image: any dtype, one image or several. Returns: dtype and shape of image.
    Errors: InvalidArgumentError for another number of axes.
    """
    return _reversed("flip_left_right", image, -2)


@public("image.flip_up_down", in_errors=True)
def flip_up_down(image):
    """The rows in the opposite order. The argument, the result and the errors are those of image.flip_left_right."""
    return _reversed("flip_up_down", image, -3)


def _perhaps(function, image, axis, seed):
    """Reverses each image with probability ½."""
    images = checked_images(function, "image", image)
    coins = op("random_uniform")([1] * 3 if images.ndim == 3 else [extent_of(images, 0), 1, 1, 1], 0., 1., dtypes.float32, seed)
    return op("where")(op("less")(coins, .5), op("reverse")(images, [axis]), images)


@public("image.random_flip_left_right", in_errors=True)
def random_flip_left_right(image, seed=None):
    """The columns in the opposite order, or not, by a fair coin for each image. seed: an integer or None.

    The other argument, the result and the errors are those of image.flip_left_right.
    """
    return _perhaps("random_flip_left_right", image, -2, seed)


@public("image.random_flip_up_down", in_errors=True)
def random_flip_up_down(image, seed=None):
    """The rows in the opposite order, or not, by a fair coin for each image. seed: an integer or None.

    The other argument, the result and the errors are those of image.flip_left_right.
    """
    return _perhaps("random_flip_up_down", image, -3, seed)


@public("image.transpose", in_errors=True)
def transpose(image, name=None):
    """Rows become columns. The argument, the result and the errors are those of image.flip_left_right."""
    images = checked_images("transpose", "image", image)
    return op("transpose")(images, [1, 0, 2] if images.ndim == 3 else [0, 2, 1, 3])


@public("image.rot90", in_errors=True)
@needs_extents
def rot90(image, k=1, name=None):
    """Rotates images counter-clockwise by k·90 degrees. k: an integer.

    The other argument and the errors are those of image.flip_left_right. Returns: the dtype of image, its rows and columns
    exchanged where k is odd.
    """
    images, turns = checked_images("rot90", "image", image), integer(k, "k") % 4
    if turns == 2:
        return op("reverse")(images, [-2, -3])
    if turns == 1:
        return transpose(flip_left_right(images))
    return flip_left_right(transpose(images)) if turns == 3 else images


@public("image.crop_to_bounding_box", in_errors=True)
@needs_extents
def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """target_height rows from offset_height on, and target_width columns from offset_width on.

    image: any dtype, one image or several; the others: integers. Returns: the dtype of image.
    Errors: InvalidArgumentError for a box that is empty or not inside the image, and another number of axes.
    """
    images = checked_images("crop_to_bounding_box", "image", image)
    top, left = integer(offset_height, "offset_height"), integer(offset_width, "offset_width")
    rows, columns = integer(target_height, "target_height"), integer(target_width, "target_width")
    if min(top, left) < 0 or min(rows, columns) < 1 or top + rows > images.shape[-3] or left + columns > images.shape[-2]:
        raise InvalidArgumentError(f"crop_to_bounding_box: {rows} × {columns} pixels from ({top}, {left}) on are not in an image "
                                   f"of {images.shape[-3]} × {images.shape[-2]}")
    return images[..., top:top + rows, left:left + columns, :]


@public("image.pad_to_bounding_box", in_errors=True)
@needs_extents
def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Pads the image with zeros: offset_height rows above, offset_width columns at the left, the rest below and to the right.

    image: any dtype, one image or several; the others: integers. Returns: the dtype of image, target_height rows and
    target_width columns.
    Errors: InvalidArgumentError for a target into which the image does not fit, and another number of axes.
    """
    images = checked_images("pad_to_bounding_box", "image", image)
    top, left = integer(offset_height, "offset_height"), integer(offset_width, "offset_width")
    rows, columns = integer(target_height, "target_height"), integer(target_width, "target_width")
    below, right = rows - top - images.shape[-3], columns - left - images.shape[-2]
    if min(top, left, below, right) < 0:
        raise InvalidArgumentError(f"pad_to_bounding_box: an image of {images.shape[-3]} × {images.shape[-2]} at ({top}, {left}) "
                                   f"does not fit into {rows} × {columns}")
    return op("pad")(images, [0] * 2 * (images.ndim - 3) + [top, below, left, right, 0, 0])


@public("image.central_crop", in_errors=True)
@needs_extents
def central_crop(image, central_fraction):
    """The middle of the image: that fraction of its rows and of its columns.

    image: any dtype, one image or several; central_fraction: a number above 0, at most 1. Returns: the dtype of image.
    Errors: InvalidArgumentError for another fraction and another number of axes.
    """
    images, fraction = checked_images("central_crop", "image", image), number(central_fraction, "central_fraction")
    if not 0 < fraction <= 1:
        raise InvalidArgumentError(f"central_crop: central_fraction is {central_fraction}; must be above 0 and at most 1")
    top, left = (int((extent - extent * fraction) / 2) for extent in images.shape[-3:-1])
    return images[..., top:images.shape[-3] - top, left:images.shape[-2] - left, :]


def _pair(function, argument, value):
    """The two numbers in the middle of (1, rows, columns, 1)."""
    numbers = integers(value, argument)
    if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
        raise InvalidArgumentError(f"{function}: {argument} is {value!r}; needs [1, rows, columns, 1], above 0")
    return numbers[1:3]


@public("image.extract_patches", in_errors=True)
@needs_extents
def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Windows of images as channels: channel (r·width + c)·channels + d of window (i, j) is images[b, i·stride + r·rate,
    j·stride + c·rate, d].

    images: (batch, rows, columns, channels), any dtype; sizes, strides, rates: [1, rows, columns, 1]; padding: 'VALID', or 'SAME'
    for zeros around the images.
    Returns: the dtype of images, (batch, windows down, windows across, sizes' product · channels).
    Errors: InvalidArgumentError for shapes, sizes, strides, rates and paddings that do not fit.
    """
    images = checked_images("extract_patches", "images", images, (4,))
    sizes, strides, rates = (_pair("extract_patches", *pair) for pair in (("sizes", sizes), ("strides", strides), ("rates", rates)))
    padding = padding.upper() if isinstance(padding, str) else padding
    one_of(padding, "padding", ("SAME", "VALID"))
    counts, borders = [], [0, 0]
    for extent, size, stride, rate in zip(images.shape[1:3], sizes, strides, rates):
        reach = (size - 1) * rate + 1
        counts.append(-(-extent // stride) if padding == "SAME" else max(0, (extent - reach) // stride + 1))
        missing = max((counts[-1] - 1) * stride + reach - extent, 0) if padding == "SAME" else 0
        borders += [missing // 2, missing - missing // 2]
    padded = op("pad")(images, [*borders, 0, 0])
    if 0 in counts:
        return op("zeros")([images.shape[0], *counts, sizes[0] * sizes[1] * images.shape[3]], images.dtype)
    parts = [padded[:, r * rates[0]:r * rates[0] + (counts[0] - 1) * strides[0] + 1:strides[0],
                    c * rates[1]:c * rates[1] + (counts[1] - 1) * strides[1] + 1:strides[1]]
             for r in range(sizes[0]) for c in range(sizes[1])]
    return op("concat")(parts, 3)


@public("extract_image_patches", "image.extract_image_patches", in_errors=True)
def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name=None, *, sizes=None):
    """TensorFlow 1's name of tf.image.extract_patches; its sizes are called ksizes."""
    if (ksizes is None) == (sizes is None):
        raise _engine.TypeMismatchError("extract_image_patches() needs either 'ksizes' or 'sizes', and not both")
    return extract_patches(images, sizes if ksizes is None else ksizes, strides, rates, padding)


@public("image.image_gradients", in_errors=True)
@needs_extents
def image_gradients(image):
    """(dy, dx): the next row less this one, the next column less this one; 0 in the last row and in the last column.

    image: (batch, rows, columns, channels), any numeric dtype; in unsigned ones, differences below 0 wrap around.
    Returns: two tensors of its dtype and shape.
    Errors: InvalidArgumentError for another number of axes.
    """
    image = checked_images("image_gradients", "image", image, (4,))
    return (op("pad")(image[:, 1:] - image[:, :-1], [0, 0, 0, min(1, image.shape[1]), 0, 0, 0, 0]),
            op("pad")(image[:, :, 1:] - image[:, :, :-1], [0, 0, 0, 0, 0, min(1, image.shape[2]), 0, 0]))


@public("image.total_variation", in_errors=True)
def total_variation(images, name=None):
    """The sum of the magnitudes of the differences between neighbouring pixels.

    images: one image or several, any numeric dtype with negative numbers. Returns: its dtype, a scalar or (batch,).
    Errors: InvalidArgumentError for another number of axes; TypeError for other dtypes.
    """
    images = checked_images("total_variation", "images", images)
    if images.dtype.is_unsigned:
        raise _engine.TypeMismatchError(f"total_variation: images is {images.dtype.name}, which has no numbers below 0; cast it")
    down = images[..., 1:, :, :] - images[..., :-1, :, :]
    across = images[..., 1:, :] - images[..., :-1, :]
    return sum(op("reduce_sum")(op("abs")(each), [-3, -2, -1]) for each in (down, across))


@public("image.sobel_edges", in_errors=True)
@needs_extents
def sobel_edges(image):
    """Sobel's two filters: how bright the image becomes downwards, and to the right; pixels beyond the border are reflected.

    image: (batch, rows, columns, channels), floating, at least 2 rows and 2 columns.
    Returns: the dtype of image, (batch, rows, columns, channels, 2).
    Errors: InvalidArgumentError for other shapes; TypeError for another dtype.
    """
    image = checked_images("sobel_edges", "image", image, (4,))
    kernels = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]])
    filters = np.tile(kernels.transpose(1, 2, 0)[:, :, None], [1, 1, image.shape[3], 1])
    padded = op("pad")(image, [0, 0, 1, 1, 1, 1, 0, 0], mode="REFLECT")
    edges = depthwise_conv2d(padded, op("cast")(filters, image.dtype), [1, 1, 1, 1], "VALID")
    return op("reshape")(edges, [*extents(image), 2])


@public("image.psnr", in_errors=True)
def psnr(a, b, max_val, name=None):
    """The ratio of the largest signal and the noise, in decibels: 20·log₁₀(max_val) − 10·log₁₀(mean of (a − b)²).

    a, b: images of one shape and dtype; max_val: the difference of the largest and the least value that pixels may have,
    above 0.
    Returns: float32, (batch…).
    Errors: InvalidArgumentError for different shapes, and another max_val; TypeError for different dtypes.
    """
    a = tensor(a)
    b = tensor(b, None if hasattr(b, "dtype") else a.dtype)
    if a.dtype != b.dtype:
        raise _engine.TypeMismatchError(f"psnr: a is {a.dtype.name} and b is {b.dtype.name}; cast one of them")
    if a.ndim < 3 or tuple(a.shape) != tuple(b.shape):
        raise InvalidArgumentError(f"psnr: a has shape {tuple(a.shape)}, b {tuple(b.shape)}; needs one shape, "
                                   "(batch…, rows, columns, channels)")
    max_val = number(max_val, "max_val")
    if not max_val > 0:
        raise InvalidArgumentError(f"psnr: max_val is {max_val}; must be above 0")
    scale = 1. / a.dtype.max if a.dtype.is_integer else 1.
    difference = (op("cast")(a, dtypes.float32) - op("cast")(b, dtypes.float32)) * scale
    noise = op("reduce_mean")(op("square")(difference), [-3, -2, -1])
    return 20 * math.log10(max_val * scale) - 10 / math.log(10) * op("log")(noise)
