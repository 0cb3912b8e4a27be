"""Layers that turn, move and enlarge images by chance in training."""
import math

import numpy as np

from tapedeck import _engine
from tapedeck._core import context
from tapedeck._core.composites import in_dtype, op as _op
from tapedeck._core.host_ops import host_op, Known, shape_of
from tapedeck._core.public import public
from tapedeck._random import distributions as random
from tapedeck.keras.layers import sizes
from tapedeck.keras.layers.preprocessing import RandomImages

_FILLS = ("constant", "reflect", "wrap", "nearest")


def _inside(places, extent, fill_mode):
    """Places beyond an axis' ends as ones within: mirrored, or the nearest."""
    if fill_mode == "reflect":
        places = np.mod(places, 2 * extent)
        return np.where(places >= extent, 2 * extent - 1 - places, places)
    return np.clip(places, 0, extent - 1)


def _wrapped(places, extent):
    """Places from the other end, as TensorFlow's projective transform finds them: those between the last pixel and the next first
    one are the first."""
    span = max(extent - 1, 1)
    below, above = places + extent * (np.trunc(-places / span) + 1), places - extent * np.trunc(places / span)
    return np.clip(np.where(places < 0, below, np.where(places > extent - 1, above, places)), 0, extent - 1)


def sampled(images, rows, columns, interpolation, fill_mode, fill_value):
    """The images' values at (rows, columns), arrays of (batch, height, width), between pixels by interpolation. (batch, height,
    width, channels)."""
    batch, height, width, channels = images.shape
    if fill_mode == "wrap":
        rows, columns = _wrapped(rows, height), _wrapped(columns, width)
    flat = _op("reshape")(images, [batch * height * width, channels])
    first = (np.arange(batch) * height * width)[:, None, None]

    def at(row, column):
        place = first + _inside(row, height, fill_mode) * width + _inside(column, width, fill_mode)
        values = _op("gather")(flat, place.astype(np.int64))
        if fill_mode != "constant":
            return values
        outside = ((row < 0) | (row >= height) | (column < 0) | (column >= width))[..., None]
        return _op("where")(outside, in_dtype(fill_value, values.dtype), values)

    if interpolation == "nearest":
        return at(np.rint(rows).astype(np.int64), np.rint(columns).astype(np.int64))
    top, left = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    down, right = (_engine.constant((places - whole)[..., None], images.dtype, None)
                   for places, whole in ((rows, top), (columns, left)))
    upper = at(top, left) * (1 - right) + at(top, left + 1) * right
    lower = at(top + 1, left) * (1 - right) + at(top + 1, left + 1) * right
    return upper * (1 - down) + lower * down


def _between(layer, argument, value, least=-1.):
    """(low, high) of a factor: a number means both ways. ValueError outside of [least, 1]."""
    try:
        low, high = sorted(map(float, value)) if hasattr(value, "__len__") else (-abs(float(value)), abs(float(value)))
    except (TypeError, ValueError):
        low = high = math.nan
    if not least <= low <= high <= 1:
        raise ValueError(f"The `{argument}` argument of {layer} should be a number (or a list of two numbers) in the range "
                         f"[{least}, 1.0]. Received: {argument}={value}")
    return low, high


class _Moved(RandomImages):
    """What the layers share: how values between pixels and beyond the edges are found."""

    def _keep(self, fill_mode, interpolation, seed, fill_value, data_format):
        if fill_mode not in _FILLS:
            raise NotImplementedError(f"Unknown `fill_mode` {fill_mode}. Expected of one {_FILLS}.")
        if interpolation not in ("nearest", "bilinear"):
            raise NotImplementedError(f"Unknown `interpolation` {interpolation}. Expected of one ('nearest', 'bilinear').")
        self.fill_mode, self.interpolation, self.seed, self.fill_value = fill_mode, interpolation, seed, fill_value
        self.data_format = sizes.data_format_of(data_format)

    def _draw(self, batch, between):
        """A number for each image, as an array."""
        with context.device("/cpu:0"):
            return random.uniform([batch, 1, 1], *between, seed=self.seed).numpy().astype("float64")

    @host_op(lambda self, inputs: Known(inputs.dtype, shape_of(inputs)))
    def _changed(self, inputs):
        first = self.data_format == "channels_first"
        images = _op("transpose")(inputs, [0, 2, 3, 1]) if first else inputs
        height, width = images.shape[1:3]
        rows, columns = np.meshgrid(np.arange(height, dtype="float64"), np.arange(width, dtype="float64"), indexing="ij")
        rows, columns = np.broadcast_arrays(*self._from_where(images.shape[0], rows[None], columns[None], height, width))
        moved = sampled(images, rows, columns, self.interpolation, self.fill_mode, self.fill_value)
        return _op("transpose")(moved, [0, 3, 1, 2]) if first else moved


@public("keras.layers.RandomRotation")
class RandomRotation(_Moved):
    """In training, turns each image around its middle by a random angle, counter-clockwise where that is above 0.

    factor: the angle as a share of a whole turn lies between −factor and factor, or between two numbers. fill_mode: what is beyond
    the edges: 'reflect', 'wrap', 'nearest', or 'constant' for fill_value; interpolation: 'bilinear' or 'nearest'.
    Errors: ValueError for a factor outside of [−1, 1]; NotImplementedError for other names.
    """

    _arguments = "factor", "fill_mode", "interpolation", "seed", "fill_value", "data_format"

    def __init__(self, factor, fill_mode="reflect", interpolation="bilinear", seed=None, fill_value=0.0, data_format=None,
                 **kwargs):
        super().__init__(**kwargs)
        self.factor = factor
        vars(self)["_between"] = _between("RandomRotation", "factor", factor)
        self._keep(fill_mode, interpolation, seed, fill_value, data_format)

    def _from_where(self, batch, rows, columns, height, width):
        angle = self._draw(batch, self._between) * 2 * np.pi
        middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
        y, x = rows - middle_row, columns - middle_column
        return (middle_row + x * np.sin(angle) + y * np.cos(angle), middle_column + x * np.cos(angle) - y * np.sin(angle))


@public("keras.layers.RandomTranslation")
class RandomTranslation(_Moved):
    """In training, moves each image by random shares of its height and width, down and to the right where these are above 0.

    height_factor, width_factor: the shares lie between −factor and factor, or between two numbers. The others are RandomRotation's.
    Errors: ValueError for a factor outside of [−1, 1]; NotImplementedError for other names.
    """

    _arguments = "height_factor", "width_factor", "fill_mode", "interpolation", "seed", "fill_value", "data_format"

    def __init__(self, height_factor, width_factor, fill_mode="reflect", interpolation="bilinear", seed=None, fill_value=0.0,
                 data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor
        vars(self)["_limits"] = (_between("RandomTranslation", "height_factor", height_factor),
                                 _between("RandomTranslation", "width_factor", width_factor))
        self._keep(fill_mode, interpolation, seed, fill_value, data_format)

    def _from_where(self, batch, rows, columns, height, width):
        down, right = (self._draw(batch, each) for each in self._limits)
        return rows - down * height, columns - right * width


@public("keras.layers.RandomZoom")
class RandomZoom(_Moved):
    """In training, makes what is seen of each image larger or smaller around its middle: smaller where the factor is above 0.

    height_factor, width_factor: the factors lie between −factor and factor, or between two numbers; width_factor None for that of
    the height. The others are RandomRotation's.
    Errors: ValueError for a factor outside of [−1, 1]; NotImplementedError for other names.
    """

    _arguments = RandomTranslation._arguments

    def __init__(self, height_factor, width_factor=None, fill_mode="reflect", interpolation="bilinear", seed=None, fill_value=0.0,
                 data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor
        vars(self)["_limits"] = (_between("RandomZoom", "height_factor", height_factor),
                                 None if width_factor is None else _between("RandomZoom", "width_factor", width_factor))
        self._keep(fill_mode, interpolation, seed, fill_value, data_format)

    def _from_where(self, batch, rows, columns, height, width):
        tall = 1 + self._draw(batch, self._limits[0])
        wide = tall if self._limits[1] is None else 1 + self._draw(batch, self._limits[1])
        middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
        return middle_row + (rows - middle_row) * tall, middle_column + (columns - middle_column) * wide
