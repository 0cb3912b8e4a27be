"""What the values of summaries are made of: buckets, pictures, sound and text."""
import struct

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.composites import op, tensor
from tapedeck._image.colors import convert_image_dtype

events = _engine.events


def array_of(function, argument, value):
    """The values of a tensor, a variable or what becomes one, as a NumPy array of real numbers."""
    values = tensor(value)
    if values.dtype == dtypes.bfloat16:
        values = op("cast")(values, "float32")
    return values.numpy() if hasattr(values, "numpy") else np.asarray(values)


def number(function, value):
    """A scalar as a Python number. InvalidArgumentError for a tensor with axes."""
    value = tensor(value)
    if value.shape:
        raise _engine.InvalidArgumentError(f"{function}: data has shape {tuple(value.shape)}; needs a scalar")
    return float(value)


def buckets(values, count):
    """(left limit, right limit, number) of count buckets of one width from the least to the greatest value, a float64 array.

    Where all values are one, all limits are that, and the last bucket holds them. InvalidArgumentError for values that are not
    finite.
    """
    values = np.asarray(values, np.float64).reshape(-1)
    if count < 0:
        raise _engine.InvalidArgumentError(f"histogram: buckets is {count}; must not be negative")
    if not count or not values.size:
        return np.zeros((count, 3))
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise _engine.InvalidArgumentError(f"histogram: element {place} is {values[place]}; needs finite numbers")
    least, greatest = values.min(), values.max()
    if least == greatest:
        return np.stack([np.full(count, least), np.full(count, least), [0.] * (count - 1) + [float(values.size)]], 1)
    width = greatest / count - least / count
    places = np.minimum(np.floor((values - least) / width), count - 1).astype(int)
    limits = np.append(np.linspace(least, greatest, count + 1)[:-1], greatest)
    return np.stack([limits[:-1], limits[1:], np.bincount(places, minlength=count).astype(float)], 1)


def images_of(function, data):
    """uint8 images (batch, height, width, channels) of uint8 ones, or of real numbers on [0, 1], which are clipped.

    InvalidArgumentError for another number of axes or channels.
    """

    data = tensor(data)
    if len(data.shape) != 4 or not 1 <= data.shape[3] <= 4:
        raise _engine.InvalidArgumentError(f"{function}: data has shape {tuple(data.shape)}; needs (batch, height, width, "
                                           f"channels) with "
                                           "1 to 4 channels")
    return data if data.dtype == dtypes.uint8 else convert_image_dtype(data, dtypes.uint8, saturate=True)


def stretched_images(function, data, bad_color):
    """uint8 images as TensorFlow 1 makes them of real numbers: those of an image without negative ones are divided by the greatest,
    so that it becomes 255; others are stretched so that 0 becomes 127 and the one farthest from it 0 or 255. Pixels that hold what
    is not finite get bad_color."""
    values = array_of(function, "tensor", data)
    if values.ndim != 4 or not 1 <= values.shape[3] <= 4:
        raise _engine.InvalidArgumentError(f"{function}: tensor has shape {values.shape}; needs (batch, height, width, channels) "
                                           f"with 1 to 4 "
                                           "channels")
    if values.dtype == np.uint8:
        return values
    made = np.zeros(values.shape, np.uint8)
    for one, pixels in zip(made, values if values.dtype == np.float64 else values.astype(np.float32)):
        finite = np.isfinite(pixels)
        known = pixels[finite]
        least, greatest = (known.min(), known.max()) if known.size else (0., 0.)
        if least < 0:
            reach = max(-least, greatest)
            scale, offset = 127. / reach, 128.
        else:
            scale, offset = 0. if greatest < 1e-6 else 255. / greatest, 0.
        with np.errstate(invalid="ignore"):
            one[...] = np.clip(np.where(finite, pixels, 0) * scale + offset, 0, 255).astype(np.uint8)
        one[~finite.all(-1)] = np.asarray(bad_color, np.uint8)[:values.shape[3]]
    return made


def wav(samples, sample_rate):
    """A WAV file of 16 bits of samples on [-1, 1], (frames, channels), which are clipped."""
    frames, channels = samples.shape
    whole = np.clip(np.rint(np.asarray(samples, np.float64) * 32768.), -32768, 32767).astype("<i2").tobytes()
    rate = int(sample_rate)
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    return (b"RIFF" + struct.pack("<I", 36 + len(whole)) + b"WAVEfmt " + struct.pack("<I", 16) + form
            + b"data" + struct.pack("<I", len(whole)) + whole)


def sounds_of(function, data, axes):
    """Samples (batch, frames, channels), where axes allows it also (batch, frames)."""
    values = array_of(function, "data", data)
    if values.ndim == 2 and 2 in axes:
        values = values[..., None]
    if values.ndim != 3 or values.shape[2] == 0:
        raise _engine.InvalidArgumentError(f"{function}: data has shape {values.shape}; needs (batch, frames, channels)")
    return values


def texts_of(function, data):
    """(shape, the texts as bytes) of a text, a list of texts, an array or a tensor of them. TypeError for a value that is not a string."""
    values = np.asarray(data.numpy() if hasattr(data, "numpy") else data, dtype=object)
    texts = []
    for each in values.reshape(-1):
        if not isinstance(each, (str, bytes)):
            raise TypeError(f"{function}: data holds {each!r}; needs strings")
        texts.append(each.encode() if isinstance(each, str) else each)
    return list(values.shape), texts
