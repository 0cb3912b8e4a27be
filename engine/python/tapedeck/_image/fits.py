"""tf.image: images brought to a size with the parts that are cut off or added, and TensorFlow 1's ways of resizing."""
import numpy as np

from tapedeck._engine import InvalidArgumentError, UnimplementedError
from tapedeck._core import dtypes
from tapedeck._core.arguments import one_integer
from tapedeck._core.composites import op
from tapedeck._core.extents import is_late
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._image.images import checked_images, crop_to_bounding_box, pad_to_bounding_box
from tapedeck._image.sizes import _area_weights, _extents, _taps, _weighted, resize, ResizeMethod


def _target(function, height, width):
    target = [one_integer(height, "target_height"), one_integer(width, "target_width")]
    if min(target) < 1:
        raise InvalidArgumentError(f"{function}: the target is {target[0]} × {target[1]}; must be above 0")
    return target


@public("image.resize_with_crop_or_pad", "image.resize_image_with_crop_or_pad", in_errors=True)
@needs_extents
def resize_with_crop_or_pad(image, target_height, target_width):
    """The middle of the image where it is too large, zeros around it where it is too small; no pixel changes.

    image: any dtype, one image or several; the others: integers. Returns: the dtype of image, target_height rows and
    target_width columns. Errors: InvalidArgumentError for a target below 1 and another number of axes.
    """
    image = checked_images("resize_with_crop_or_pad", "image", image)
    target = _target("resize_with_crop_or_pad", target_height, target_width)
    own = list(map(int, image.shape[-3:-1]))
    cut = [max((extent - wanted) // 2, 0) for extent, wanted in zip(own, target)]
    added = [max((wanted - extent) // 2, 0) for extent, wanted in zip(own, target)]
    cropped = crop_to_bounding_box(image, *cut, *map(min, own, target))
    return pad_to_bounding_box(cropped, *added, *target)


@public("image.resize_with_pad", "image.resize_image_with_pad", in_errors=True)
@needs_extents
def resize_with_pad(image, target_height, target_width, method=ResizeMethod.BILINEAR, antialias=False):
    """The image resized to the largest one within the target that is as wide for its height, with zeros around it.

    method, antialias: image.resize's. The other arguments and the errors are resize_with_crop_or_pad's and image.resize's.
    """
    image = checked_images("resize_with_pad", "image", image)
    target = _target("resize_with_pad", target_height, target_width)
    own = list(map(int, image.shape[-3:-1]))
    ratio = max(extent / wanted for extent, wanted in zip(own, target))
    exact = [extent / ratio for extent in own]
    borders = [max(0, int((wanted - extent) / 2)) for extent, wanted in zip(exact, target)]
    return pad_to_bounding_box(resize(image, [max(1, int(extent)) for extent in exact], method, antialias=antialias), *borders,
                               *target)


# ---- TensorFlow 1: pixel i is at i, not at i + 1/2

_METHODS = [ResizeMethod.BILINEAR, ResizeMethod.NEAREST_NEIGHBOR, ResizeMethod.BICUBIC, ResizeMethod.AREA]


def _keys(distance):
    """R. Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -3/4."""
    near, far = (1.25 * distance - 2.25) * distance**2 + 1., ((-.75 * distance + 3.75) * distance - 6.) * distance + 3.
    return np.where(distance <= 1., near, np.where(distance < 2., far, 0.))


def _places(extent, count, align_corners):
    step = (extent - 1) / (count - 1) if align_corners and count > 1 else extent / count
    return np.arange(count, dtype=np.float32) * np.float32(step)


def _weights(method, extent, count, align_corners):
    """(count, extent): of every pixel of the result, its parts of the image's; those beyond the border are the border's."""
    if method == ResizeMethod.AREA:
        return _area_weights(extent, count)
    places = _places(extent, count, align_corners)
    weights, first = np.zeros([count, extent]), np.floor(places)
    for step in (-1, 0, 1, 2) if method == ResizeMethod.BICUBIC else (0, 1):
        distance = np.abs(first + step - places)
        part = _keys(distance) if method == ResizeMethod.BICUBIC else np.maximum(0., 1. - distance)
        np.add.at(weights, (np.arange(count), np.clip(first + step, 0, extent - 1).astype(int)), part)
    return weights


def _nearest(images, axis, count, align_corners):
    places = _places(images.shape[axis], count, align_corners)
    places = np.floor(places + .5) if align_corners else np.floor(places)
    return op("gather")(images, np.minimum(places, images.shape[axis] - 1).astype(np.int64), axis=axis)


@needs_extents
def _resized(function, images, size, method, align_corners, ranks=(3, 4), preserve_aspect_ratio=False):
    images = checked_images(function, "images", images, ranks)
    if method == ResizeMethod.AREA and align_corners:
        raise UnimplementedError(f"{function}: align_corners is True; the method 'area' does not support it")
    extents = _extents(size, list(images.shape[-3:-1]), images, preserve_aspect_ratio)
    if method != ResizeMethod.NEAREST_NEIGHBOR:
        images = op("cast")(images, dtypes.float32)
    for axis, count in zip((images.ndim - 3, images.ndim - 2), extents):
        if method == ResizeMethod.NEAREST_NEIGHBOR:
            images = _nearest(images, axis, count, align_corners)
        elif count != images.shape[axis]:
            images = _weighted(images, axis, *_taps(_weights(method, images.shape[axis], count, align_corners)))
    return images


@public("image.resize_images", in_errors=True)
def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners=False, preserve_aspect_ratio=False, name=None):
    """TensorFlow 1's resizing, in which pixel i is at i: image.resize counts from the pixels' centres.

    images: one image or several, any numeric dtype; size: (rows, columns); method: 'bilinear', 'nearest', 'bicubic' (Keys, a =
    -3/4), 'area', or their numbers 0 to 3; align_corners: whether the corners' pixels stay where they are.
    Returns: the dtype of images by 'nearest', else float32; images as they are where size is theirs, as far as a trace knows.
    Errors: InvalidArgumentError for another number of axes, and a size below 1; UnimplementedError for other methods.
    """
    images = checked_images("resize_images", "images", images)
    own = list(images.shape[-3:-1])
    if None not in own and not is_late(size) and _extents(size, own, images, preserve_aspect_ratio) == own:
        return images
    method = _METHODS[method] if method in range(len(_METHODS)) else method
    if method not in _METHODS:
        raise UnimplementedError(f"resize_images: method is {method!r}; must be one of " + ", ".join(map(repr, _METHODS)))
    return _resized("resize_images", images, size, method, align_corners, preserve_aspect_ratio=preserve_aspect_ratio)


def _one_method(method):
    def function(images, size, align_corners=False, name=None):
        return _resized(f"resize_{method}", images, size, method, align_corners, (4,))
    function.__name__ = function.__qualname__ = f"resize_{method}"
    function.__doc__ = f"""image.resize_images of several images by '{method}'; images of that size become float32, too."""
    return function


for _method in (ResizeMethod.BILINEAR, ResizeMethod.BICUBIC, ResizeMethod.AREA):
    public(f"image.resize_{_method}", in_errors=True)(_one_method(_method))


@public("image.resize_nearest_neighbor", in_errors=True)
def resize_nearest_neighbor(images, size, align_corners=False, name=None):
    """image.resize_images of several images by 'nearest'."""
    return _resized("resize_nearest_neighbor", images, size, ResizeMethod.NEAREST_NEIGHBOR, align_corners, (4,))
