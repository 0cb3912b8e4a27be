"""Images as files hold them: PNG, JPEG and BMP to and from tensors."""
from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.host_ops import host_op, Known
from tapedeck._core.public import public
from tapedeck.io.files import bytes_of


def _string(value):
    return _engine.convert_to_tensor(value)


def _image(image):
    return _engine.convert_to_tensor(image)


@public("image.encode_png", "io.encode_png")
@host_op(lambda image, **_: Known("string", None if image.shape.rank is None else image.shape[:-3]))
def encode_png(image, compression=-1, name=None):
    """An image as the bytes of a PNG file, a scalar string tensor.

    image: uint8 or uint16, (height, width, channels) with 1 to 4 channels, or more of them along axes in front; compression:
    zlib's, -1 to 9. Errors: InvalidArgumentError for another shape; TypeError for another dtype.
    """
    image = _image(image)
    if image.shape.ndims > 3:
        rows = _engine.op_function("reshape")(image, [-1, *image.shape[-3:]])
        encoded = [_engine.encode_png(row, compression) for row in rows]
        return _engine.op_function("reshape")(_engine.convert_to_tensor(encoded, dtypes.string), list(image.shape[:-3]))
    return _string(_engine.encode_png(image, compression))


@public("image.encode_jpeg", "io.encode_jpeg")
@host_op(lambda **_: Known("string", ()))
def encode_jpeg(image, format="", quality=95, progressive=False, optimize_size=False, chroma_downsampling=True, density_unit="in",
                x_density=300, y_density=300, xmp_metadata="", name=None):
    """An image as the bytes of a JPEG file, a scalar string tensor.

    image: uint8, (height, width, channels) with 1 channel or 3; format: "", "grayscale" or "rgb", which must fit the channels;
    quality: 0 to 100; density_unit: "in" or "cm". xmp_metadata is not written. Errors: InvalidArgumentError for other values.
    """
    image = _image(image)
    channels = {"": None, "grayscale": 1, "rgb": 3}
    if format not in channels or (channels[format] not in (None, image.shape[-1]) if image.shape.ndims == 3 else False):
        raise _engine.InvalidArgumentError(f"encode_jpeg: format is {format!r} for an image of shape {tuple(image.shape)}")
    if density_unit not in ("in", "cm"):
        raise _engine.InvalidArgumentError(f"encode_jpeg: density_unit is {density_unit!r}; must be 'in' or 'cm'")
    return _string(_engine.encode_jpeg(image, quality, progressive, optimize_size, chroma_downsampling, density_unit == "cm",
                                       x_density,
                                       y_density))


def _checked_dtype(function, dtype):
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (dtypes.uint8, dtypes.uint16):
        raise _engine.InvalidArgumentError(f"{function}: dtype is {dtype.name}; needs uint8 or uint16")
    return dtype


@public("image.decode_png", "io.decode_png")
@host_op(lambda channels, dtype, **_: Known(dtype, (None, None, channels or None)))
def decode_png(contents, channels=0, dtype=dtypes.uint8, name=None):
    """The image in the bytes of a PNG file: (height, width, channels).

    contents: bytes, or a scalar string tensor; channels: 0 for the file's own, 1 to 4 to convert to grey, grey with alpha, RGB,
    RGBA; dtype: uint8 or uint16. Errors: InvalidArgumentError for other bytes.
    """
    return _engine.decode_png(bytes_of(contents, "decode_png"), channels, _checked_dtype("decode_png", dtype))


@public("image.decode_jpeg", "io.decode_jpeg")
@host_op(lambda channels, **_: Known("uint8", (None, None, channels or None)))
def decode_jpeg(contents, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False, acceptable_fraction=1,
                dct_method="",
                name=None):
    """The image in the bytes of a JPEG file: uint8, (height, width, channels).

    contents: bytes, or a scalar string tensor; channels: 0 for the file's own, 1 or 3; ratio: 1, 2, 4 or 8, by which the image gets
    smaller; try_recover_truncated: what is missing of a file that ends too early is grey, where acceptable_fraction of the rows is
    there; dct_method: "", "INTEGER_FAST" or "INTEGER_ACCURATE". Errors: InvalidArgumentError for other bytes.
    """
    if dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise _engine.InvalidArgumentError(f"decode_jpeg: dct_method is {dct_method!r}; must be 'INTEGER_FAST' or 'INTEGER_ACCURATE'")
    return _engine.decode_jpeg(bytes_of(contents, "decode_jpeg"), channels, ratio, fancy_upscaling, try_recover_truncated,
                               acceptable_fraction, dct_method == "INTEGER_FAST")


@public("image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg")
@host_op(lambda channels, **_: Known("uint8", (None, None, channels or None)))
def decode_and_crop_jpeg(contents, crop_window, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False,
                         acceptable_fraction=1, dct_method="", name=None):
    """A part of decode_jpeg(contents, …). crop_window: (first row, first column, height, width). InvalidArgumentError where it goes
    beyond the image."""
    image = decode_jpeg(contents, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
    top, left, height, width = (int(each) for each in crop_window)
    if min(top, left) < 0 or min(height, width) < 1 or top + height > image.shape[0] or left + width > image.shape[1]:
        raise _engine.InvalidArgumentError(
            f"decode_and_crop_jpeg: crop_window is {(top, left, height, width)}; the image has shape "
            f"{tuple(image.shape)}")
    return image[top:top + height, left:left + width]


@public("image.decode_bmp", "io.decode_bmp")
@host_op(lambda channels, **_: Known("uint8", (None, None, channels or None)))
def decode_bmp(contents, channels=0, name=None):
    """The image in the bytes of an uncompressed BMP file: uint8, (height, width, channels). InvalidArgumentError for other bytes,
    and for channels that are not the file's."""
    return _engine.decode_bmp(bytes_of(contents, "decode_bmp"), channels)


@public("image.decode_image", "io.decode_image")
@host_op(lambda channels, dtype, **_: Known(dtype, (None, None, channels or None)))
def decode_image(contents, channels=None, dtype=dtypes.uint8, name=None, expand_animations=True):
    """The image in the bytes of a PNG, JPEG or BMP file: (height, width, channels).

    contents: bytes, or a scalar string tensor; channels: None or 0 for the file's own; dtype: uint8, uint16, or a floating one,
    whose values are then between 0 and 1. Errors: InvalidArgumentError for other bytes; UnimplementedError for a GIF.
    """
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        return _engine.decode_image(bytes_of(contents, "decode_image"), channels or 0, _checked_dtype("decode_image", dtype))
    image = _engine.decode_image(bytes_of(contents, "decode_image"), channels or 0, dtypes.uint8)
    return _engine.op_function("cast")(image, dtype) / 255


@public("image.is_jpeg", "io.is_jpeg")
@host_op(lambda **_: Known("bool", ()))
def is_jpeg(contents, name=None):
    """Whether bytes begin as those of a JPEG file: a bool tensor."""
    return _engine.convert_to_tensor(_engine.image_format(bytes_of(contents, "is_jpeg")) == "jpeg")


@public("image.extract_jpeg_shape", "io.extract_jpeg_shape")
@host_op(lambda output_type, **_: Known(output_type, (3,)))
def extract_jpeg_shape(contents, output_type=dtypes.int32, name=None):
    """(height, width, channels) of the image in the bytes of a JPEG file, whose pixels are not decoded."""
    return _engine.convert_to_tensor(list(_engine.jpeg_extent(bytes_of(contents, "extract_jpeg_shape"))), output_type)
