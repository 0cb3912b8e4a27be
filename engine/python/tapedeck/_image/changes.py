"""tf.image: changes of colours, and those that augment training images: drawn ones, from a seed of the generator or one's own."""
import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core import context, dtypes
from tapedeck._core.arguments import integers, number
from tapedeck._core.composites import op, tensor
from tapedeck._core.extents import extent
from tapedeck._core.host_ops import needs_extents, needs_values
from tapedeck._core.public import public
from tapedeck._image.colors import _floating, _with_channels, adjust_brightness, adjust_contrast, convert_image_dtype
from tapedeck._image.images import checked_images, flip_left_right, flip_up_down
from tapedeck._random.distributions import known_crop
from tapedeck._random.streams import stateless_uniform


def _real(function, images):
    images = _with_channels(function, images, 3)
    if not images.dtype.is_floating:
        raise _engine.TypeMismatchError(f"{function}: images is {images.dtype.name}; needs a floating dtype")
    return images


@public("image.rgb_to_hsv", in_errors=True)
@needs_extents
def rgb_to_hsv(images, name=None):
    """Hue, saturation and value, each in [0, 1], of red, green and blue in [0, 1].

    images: (…, 3), floating. Returns: dtype and shape of images.
    Errors: InvalidArgumentError for another last axis; TypeError for another dtype.
    Source: A. R. Smith, "Color gamut transform pairs", 1978.
    """
    images = _real("rgb_to_hsv", images)
    red, green, blue = op("unstack")(images, axis=-1)
    value, where = op("reduce_max")(images, [-1]), op("where")
    chroma = value - op("reduce_min")(images, [-1])
    grey, black = op("equal")(chroma, 0.), op("less_equal")(value, 0.)
    sixth = 1. / (6. * where(grey, 1. + 0. * chroma, chroma))
    hue = where(op("equal")(red, value), sixth * (green - blue),
                where(op("equal")(green, value), sixth * (blue - red) + 1 / 3, sixth * (red - green) + 2 / 3))
    hue = where(grey, 0. * hue, where(op("less")(hue, 0.), hue + 1., hue))
    saturation = where(black, 0. * chroma, chroma / where(black, 1. + 0. * value, value))
    return op("stack")([hue, saturation, value], axis=-1)


@public("image.hsv_to_rgb", in_errors=True)
@needs_extents
def hsv_to_rgb(images, name=None):
    """Red, green and blue of hue, saturation and value: the inverse of image.rgb_to_hsv, with its arguments and errors."""
    images = _real("hsv_to_rgb", images)
    hue, saturation, value = op("unstack")(images, axis=-1)
    sixths = hue * 6.
    parts = (op("abs")(sixths - 3.) - 1., 2. - op("abs")(sixths - 2.), 2. - op("abs")(sixths - 4.))
    return op("stack")([((1. - saturation) + saturation * op("clip_by_value")(part, 0., 1.)) * value for part in parts], axis=-1)


def _by_hsv(function, image, change):
    image = _with_channels(function, image, 3)
    changed = hsv_to_rgb(op("stack")(change(*op("unstack")(rgb_to_hsv(_floating(image)), axis=-1)), axis=-1))
    return convert_image_dtype(changed, image.dtype)


@public("image.adjust_hue", in_errors=True)
@needs_extents
def adjust_hue(image, delta, name=None):
    """The image with delta, a part of the circle of colours, added to its hues.

    image: (…, 3), any numeric dtype; delta: in [-1, 1], a number or a scalar tensor. Returns: dtype and shape of image.
    Errors: InvalidArgumentError for another last axis.
    """
    def turned(hue, saturation, value):
        hue = hue + op("cast")(delta, hue.dtype)
        return [hue - op("floor")(hue), saturation, value]
    return _by_hsv("adjust_hue", image, turned)


@public("image.adjust_saturation", in_errors=True)
@needs_extents
def adjust_saturation(image, saturation_factor, name=None):
    """The image with its saturation times saturation_factor. The other argument, the result and errors are adjust_hue's."""
    def scaled(hue, saturation, value):
        return [hue, op("clip_by_value")(saturation * op("cast")(saturation_factor, hue.dtype), 0., 1.), value]
    return _by_hsv("adjust_saturation", image, scaled)


@public("image.adjust_gamma", in_errors=True)
def adjust_gamma(image, gamma=1, gain=1):
    """gain·x^gamma of pixels in [0, 1], or of fractions of the range where they are integers.

    image: any numeric dtype and shape; gamma: at least 0. Returns: dtype and shape of image.
    Errors: InvalidArgumentError for another gamma.
    """
    image = tensor(image)
    if number(gamma, "gamma") < 0:
        raise InvalidArgumentError(f"adjust_gamma: gamma is {float(gamma)}; must be at least 0")
    real = image if image.dtype.is_floating else _floating(image)
    return convert_image_dtype(tensor(gain, real.dtype) * op("pow")(real, op("cast")(gamma, real.dtype)), image.dtype, saturate=True)


def _checked_limits(function, lower, upper):
    lower, upper = number(lower, "lower"), number(upper, "upper")
    if not 0 <= lower < upper:
        raise InvalidArgumentError(f"{function}: lower is {lower} and upper {upper}; needs 0 <= lower < upper")
    return lower, upper


def _checked_delta(function, max_delta, most=None):
    max_delta = number(max_delta, "max_delta")
    if max_delta < 0 or (most is not None and max_delta > most):
        raise InvalidArgumentError(f"{function}: max_delta is {max_delta}; must be at least 0"
                                   + ("" if most is None else f" and at most {most}"))
    return -max_delta, max_delta


def _drawn(seed, limits):
    return op("random_uniform")([], *limits, dtypes.float32, seed)


def _drawn_by(seed, limits):
    return stateless_uniform([], seed, *limits, dtypes.float32)


@public("image.random_brightness", in_errors=True)
def random_brightness(image, max_delta, seed=None):
    """image.adjust_brightness by a number drawn from [-max_delta, max_delta). seed: an integer or None.

    Returns: dtype and shape of image.
    Errors: InvalidArgumentError for a negative max_delta, and adjust_brightness's.
    """
    return adjust_brightness(image, _drawn(seed, _checked_delta("random_brightness", max_delta)))


@public("image.stateless_random_brightness", in_errors=True)
def stateless_random_brightness(image, max_delta, seed):
    """image.random_brightness with the same result for the same seed: two integers."""
    return adjust_brightness(image, _drawn_by(seed, _checked_delta("stateless_random_brightness", max_delta)))


@public("image.random_hue", in_errors=True)
def random_hue(image, max_delta, seed=None):
    """image.adjust_hue by a number drawn from [-max_delta, max_delta). seed: an integer or None.

    Returns: dtype and shape of image.
    Errors: InvalidArgumentError for a max_delta outside [0, 1/2], and adjust_hue's.
    """
    return adjust_hue(image, _drawn(seed, _checked_delta("random_hue", max_delta, .5)))


@public("image.stateless_random_hue", in_errors=True)
def stateless_random_hue(image, max_delta, seed):
    """image.random_hue with the same result for the same seed: two integers."""
    return adjust_hue(image, _drawn_by(seed, _checked_delta("stateless_random_hue", max_delta, .5)))


@public("image.random_contrast", in_errors=True)
def random_contrast(image, lower, upper, seed=None):
    """image.adjust_contrast by a factor drawn from [lower, upper). seed: an integer or None.

    Returns: dtype and shape of image.
    Errors: InvalidArgumentError for bounds that are not 0 <= lower < upper, and adjust_contrast's.
    """
    return adjust_contrast(image, _drawn(seed, _checked_limits("random_contrast", lower, upper)))


@public("image.stateless_random_contrast", in_errors=True)
def stateless_random_contrast(image, lower, upper, seed):
    """image.random_contrast with the same result for the same seed: two integers."""
    return adjust_contrast(image, _drawn_by(seed, _checked_limits("stateless_random_contrast", lower, upper)))


@public("image.random_saturation", in_errors=True)
def random_saturation(image, lower, upper, seed=None):
    """image.adjust_saturation by a factor drawn from [lower, upper). seed: an integer or None.

    Returns: dtype and shape of image.
    Errors: InvalidArgumentError for bounds that are not 0 <= lower < upper, and adjust_saturation's.
    """
    return adjust_saturation(image, _drawn(seed, _checked_limits("random_saturation", lower, upper)))


@public("image.stateless_random_saturation", in_errors=True)
def stateless_random_saturation(image, lower, upper, seed):
    """image.random_saturation with the same result for the same seed: two integers."""
    return adjust_saturation(image, _drawn_by(seed, _checked_limits("stateless_random_saturation", lower, upper)))


def _perhaps(function, flip, image, seed):
    image = checked_images(function, "image", image)
    coins = stateless_uniform([] if image.ndim == 3 else [extent(image, 0), 1, 1, 1], seed)
    return op("where")(op("less")(coins, .5), flip(image), image)


@public("image.stateless_random_flip_left_right", in_errors=True)
def stateless_random_flip_left_right(image, seed):
    """image.random_flip_left_right with the same result for the same seed: two integers."""
    return _perhaps("stateless_random_flip_left_right", flip_left_right, image, seed)


@public("image.stateless_random_flip_up_down", in_errors=True)
def stateless_random_flip_up_down(image, seed):
    """image.random_flip_up_down with the same result for the same seed: two integers."""
    return _perhaps("stateless_random_flip_up_down", flip_up_down, image, seed)


@public("image.stateless_random_crop", in_errors=True)
@needs_values("size", "seed", known=known_crop)
def stateless_random_crop(value, size, seed, name=None):
    """image.random_crop with the same result for the same seed: two integers."""
    value, parts = tensor(value), integers(size, "size")
    if len(parts) != value.ndim or any(not 0 <= part <= own for part, own in zip(parts, value.shape)):
        raise InvalidArgumentError(f"stateless_random_crop: size {parts} for value {tuple(value.shape)}; needs at most its "
                                   "extent for each axis")
    with context.device("/cpu:0"):
        drawn = np.asarray(stateless_uniform([value.ndim], seed, 0, 2**31 - 1, dtypes.int32))
    begin = [int(number) % (own - part + 1) for number, own, part in zip(drawn, value.shape, parts)]
    return op("slice")(value, begin, parts)
