"""tf.keras.preprocessing.image: pictures of the Pillow library (Debian's python3-pil) as arrays, and back."""
import numpy as np

from tapedeck._core.public import public
from tapedeck.io.files import path_of
from tapedeck.keras.settings import numpy_floatx

_MODES = {"rgb": "RGB", "rgba": "RGBA", "grayscale": "L"}
_METHODS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")


def _pillow(function):
    try:
        from PIL import Image  # Pillow may be missing
    except ImportError:
        raise ImportError(f"{function}: needs the Pillow library; install Debian's python3-pil") from None
    return Image


@public("keras.utils.load_img", "keras.preprocessing.image.load_img")
def load_img(path, color_mode="rgb", target_size=None, interpolation="nearest", keep_aspect_ratio=False):
    """A file's picture, as Pillow has it.

    color_mode: 'rgb', 'rgba' or 'grayscale'; target_size: None, or (rows, columns) to which it is resized by interpolation:
    'nearest', 'box', 'bilinear', 'hamming', 'bicubic' or 'lanczos'; keep_aspect_ratio: whether its middle is cut out first, of the
    target's form. Errors: ImportError without Pillow; ValueError for other modes and methods; OSError.
    """
    pillow = _pillow("load_img")
    if color_mode not in _MODES:
        raise ValueError(f"load_img: color_mode is {color_mode!r}; must be 'rgb', 'rgba' or 'grayscale'")
    if interpolation not in _METHODS:
        raise ValueError(f"load_img: interpolation is {interpolation!r}; must be one of {', '.join(map(repr, _METHODS))}")
    with pillow.open(path_of(path)) as opened:
        opened.load()
        deep = color_mode == "grayscale" and opened.mode in ("I;16", "I")  # which keeps more than 8 bits
        picture = opened.copy() if deep else opened.convert(_MODES[color_mode])
    if target_size is None:
        return picture
    size = target_size[1], target_size[0]
    box = _middle(picture.size, size) if keep_aspect_ratio else None
    return picture if picture.size == size else picture.resize(size, getattr(pillow, interpolation.upper()), box=box)


def _middle(own, wanted):
    """(left, top, right, bottom) of the largest part in the middle that has the form of `wanted`."""
    width = min(own[0], own[1] * wanted[0] // wanted[1])
    height = min(own[1], own[0] * wanted[1] // wanted[0])
    left, top = (own[0] - width) // 2, (own[1] - height) // 2
    return left, top, left + width, top + height


@public("keras.utils.img_to_array", "keras.preprocessing.image.img_to_array")
def img_to_array(img, data_format=None, dtype=None):
    """A picture as an array, (rows, columns, channels).

    img: of Pillow, or an array of 2 or 3 axes; data_format: 'channels_first' for (channels, rows, columns); dtype: floatx() unless
    given. Errors: ValueError for other shapes and formats.
    """
    array = np.asarray(img, dtype=dtype or numpy_floatx())
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(f"img_to_array: data_format is {data_format!r}; must be 'channels_last' or 'channels_first'")
    if array.ndim not in (2, 3):
        raise ValueError(f"img_to_array: img has shape {array.shape}; needs 2 or 3 axes")
    array = array[:, :, None] if array.ndim == 2 else array
    return array.transpose(2, 0, 1) if data_format == "channels_first" else array


@public("keras.utils.array_to_img", "keras.preprocessing.image.array_to_img")
def array_to_img(x, data_format=None, scale=True, dtype=None):
    """An array, (rows, columns, 1, 3 or 4 channels), as a picture of Pillow.

    scale: whether its least value becomes 0 and its greatest one 255. Errors: those of img_to_array, ValueError for another number
    of channels, ImportError without Pillow.
    """
    pillow = _pillow("array_to_img")
    array = np.array(x, dtype=dtype or numpy_floatx())
    if array.ndim != 3:
        raise ValueError(f"array_to_img: x has shape {array.shape}; needs 3 axes")
    if data_format == "channels_first":
        array = array.transpose(1, 2, 0)
    if array.shape[2] not in (1, 3, 4):
        raise ValueError(f"array_to_img: x has {array.shape[2]} channels; needs 1, 3 or 4")
    if scale:
        array = array - array.min()
        array = array / (array.max() or 1) * 255
    if array.shape[2] == 1:
        deep = array.max() > 255
        return pillow.fromarray(array[:, :, 0].astype("int32" if deep else "uint8"), "I" if deep else "L")
    return pillow.fromarray(array.astype("uint8"), "RGB" if array.shape[2] == 3 else "RGBA")


@public("keras.utils.save_img", "keras.preprocessing.image.save_img")
def save_img(path, x, data_format=None, file_format=None, scale=True, **kwargs):
    """Writes array_to_img(x) to a file. file_format: Pillow's name, or None for what the path ends with; kwargs: of Pillow's save.
    Errors: those of array_to_img; OSError."""
    picture = array_to_img(x, data_format, scale)
    if picture.mode == "RGBA" and str(file_format or path_of(path)).lower().endswith(("jpg", "jpeg")):
        picture = picture.convert("RGB")  # JPEG has no alpha
    picture.save(path_of(path), format=file_format, **kwargs)
