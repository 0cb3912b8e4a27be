"""tf.image.resize: every method is a matrix of weights for the rows and one for the columns."""
import functools

import numpy as np

from tapedeck._engine import InvalidArgumentError, UnimplementedError
from tapedeck._core import dtypes
from tapedeck._core.arguments import integers
from tapedeck._core.composites import op, tensor
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._image.images import checked_images


@public("image.ResizeMethod")
class ResizeMethod:
    """The names of image.resize's methods."""

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


public("image.ResizeMethod")(ResizeMethod)


def _lanczos(radius):
    return lambda x: np.where(x <= radius, np.sinc(x) * np.sinc(x / radius), 0.)


def _triangle(x):
    return np.maximum(0., 1. - x)


def _gaussian(x):
    return np.where(x < 1.5, np.exp(-2. * x * x), 0.)


def _keys(x):
    """R. Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -1/2."""
    return np.where(x >= 2, 0., np.where(x >= 1, ((-.5 * x + 2.5) * x - 4.) * x + 2., (1.5 * x - 2.5) * x * x + 1.))


def _mitchell(x):
    """D. Mitchell and A. Netravali, "Reconstruction filters in computer graphics", 1988, with B = C = 1/3."""
    return np.where(x >= 2, 0., np.where(x >= 1, ((-7 / 18 * x + 2.) * x - 10 / 3) * x + 16 / 9, (7 / 6 * x - 2.) * x * x + 8 / 9))


# Of each method, weights by the distance from a pixel's centre, and beyond which there are none.
_KERNELS = {"bilinear": (_triangle, 1), "bicubic": (_keys, 2), "gaussian": (_gaussian, 1.5), "lanczos3": (_lanczos(3), 3),
            "lanczos5": (_lanczos(5), 5), "mitchellcubic": (_mitchell, 2)}


def _area_weights(extent, count):
    """How much of each of `extent` pixels lies under each of `count`."""
    step = extent / count
    first, pixel = np.arange(count)[:, None] * step, np.arange(extent)
    covered = np.minimum(first + step, pixel + 1) - np.maximum(first, pixel)
    return np.maximum(covered, 0.) / step


def _weights(method, extent, count, antialias):
    """(count, extent): of every pixel of the result, its parts of the image's."""
    if method == "area":
        return _area_weights(extent, count)
    kernel, radius = _KERNELS[method]
    centers = (np.arange(count) + .5) * (extent / count)
    width = max(extent / count, 1.) if antialias else 1.
    distance = np.abs(centers[:, None] - (np.arange(extent) + .5)) / width
    weights = np.where(distance <= radius, kernel(distance), 0.)
    return weights / weights.sum(1, keepdims=True)


def _nearest(images, axis, count):
    extent = images.shape[axis]
    places = np.minimum(np.floor((np.arange(count) + .5) * (extent / count)), extent - 1)
    return op("gather")(images, places.astype(np.int64), axis=axis)


def _two_nearest(extent, count, dtype):
    """Of every pixel of the result the two before and after its centre: their places and weights, (count, 2) each. The sum of two
    weights is 1, in dtype too."""
    centers = (np.arange(count) + .5) * (extent / count) - .5
    before = np.floor(centers)
    behind = centers - before
    if dtype == np.float32:
        behind = np.round(behind * 2**23) / 2**23
    return np.clip(before[:, None] + [0, 1], 0, extent - 1), np.stack([1 - behind, behind], 1)


def _taps(weights):
    """What of a matrix of weights is not 0: for every row as many places, and their weights."""
    first = np.argmax(weights != 0, 1)
    behind = weights.shape[1] - np.argmax(weights[:, ::-1] != 0, 1)
    reach = max(1, int((behind - first).max()))
    places = np.minimum(first, weights.shape[1] - reach)[:, None] + np.arange(reach)
    return places, np.take_along_axis(weights, places, 1)


@functools.lru_cache(64)
def _table(method, extent, count, antialias, dtype):
    """Places and weights, of a dtype of NumPy's, as resample takes them. Images of the same size come one after the other."""
    if method == "bilinear" and not antialias:
        places, weights = _two_nearest(extent, count, dtype)
    else:
        places, weights = _taps(_weights(method, extent, count, antialias))
    arrays = places.astype(np.int64), weights.astype(dtype)
    for array in arrays:
        array.flags.writeable = False  # tensors share it
    return arrays


def _weighted(images, axis, places, weights):
    kind = images.dtype.as_numpy_dtype
    return op("resample")(images, tensor(places.astype(np.int64, copy=False)), tensor(weights.astype(kind, copy=False)), axis)


def _extents(size, own, images, preserve_aspect_ratio):
    extents = integers(size, "size")
    if len(extents) != 2 or min(extents) < 1 or min(own) < 1:
        raise InvalidArgumentError(f"resize: size is {size!r} for images {tuple(images.shape)}; needs (rows, columns), above 0")
    if preserve_aspect_ratio:
        factor = min(wanted / extent for wanted, extent in zip(extents, own))
        extents = [max(1, round(extent * factor)) for extent in own]
    return extents


@public("image.resize", in_errors=True)
@needs_extents
def resize(images, size, method=ResizeMethod.BILINEAR, preserve_aspect_ratio=False, antialias=False, name=None):
    """Images with other numbers of rows and columns. Pixels are squares: the centre of pixel i is at i + 1/2.

    images: one image or several, any numeric dtype; size: (rows, columns); method: 'nearest', 'area' (the mean of what lies
    under a pixel), or weights by distance: 'bilinear', 'bicubic' (Keys, a = -1/2), 'lanczos3', 'lanczos5', 'gaussian',
    'mitchellcubic'; preserve_aspect_ratio: whether the result is the largest one within size that is as wide for its height;
    antialias: where an image gets smaller, weights reach as far as its new pixels do.
    Returns: the dtype of images by 'nearest', else float32.
    Errors: InvalidArgumentError for another number of axes, for a size below 1 and images without pixels; UnimplementedError for
    other methods.
    """
    return resize_in(dtypes.float32, images, size, method, preserve_aspect_ratio, antialias)


@needs_extents
def resize_in(dtype, images, size, method, preserve_aspect_ratio=False, antialias=False):
    """image.resize, computed in float32 or float64, which is the dtype of the result unless the method is 'nearest'."""
    images = checked_images("resize", "images", images)
    own = list(images.shape[-3:-1])
    if None in own:
        raise InvalidArgumentError(f"resize: the rows and columns of images {images.shape} must be known while a function is traced")
    extents = _extents(size, own, images, preserve_aspect_ratio)
    method = method.lower() if isinstance(method, str) else method
    if method not in ("nearest", "area") and method not in _KERNELS:
        raise UnimplementedError(f"resize: method is {method!r}; must be one of 'nearest', 'area', " + ", ".join(map(repr, _KERNELS)))
    if method != "nearest":
        images = op("cast")(images, dtype)
    # Columns first: whole rows, which are many then, are taken in less time than pixels.
    for axis, count in ((images.ndim - 2, extents[1]), (images.ndim - 3, extents[0])):
        if count == images.shape[axis] and method not in ("gaussian", "mitchellcubic"):  # which smooth an image of any size
            continue
        if method == "nearest":
            images = _nearest(images, axis, count)
        else:
            images = _weighted(images, axis, *_table(method, images.shape[axis], count, bool(antialias),
                                                    dtype.as_numpy_dtype))
    return images
