"""Layers that move elements and compute nothing."""
import math

from tapedeck._core import dtypes
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extent as extent_of, extents, product
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._image import sizes as image_sizes
from tapedeck.keras.layers import sizes
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.input_spec import InputSpec
from tapedeck.keras.layers.weights import described

_reshape, _transpose = _op("reshape"), _op("transpose")


class _Moving(Layer):
    """A layer without variables. _axes_needed: how many axes its inputs have, or None."""

    _axes_needed, _arguments = None, ()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        vars(self)["_built"] = True
        if self._axes_needed is not None:
            self.input_spec = InputSpec(ndim=self._axes_needed)

    def get_config(self):
        return {**super().get_config(), **described(self, *self._arguments)}


@public("keras.layers.Flatten")
class Flatten(_Moving):
    """The axes after the batch as one, in the order of channels_last. data_format: where the inputs' channels are."""

    _arguments = ("data_format",)

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = sizes.data_format_of(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs):
        if self.data_format == "channels_first" and inputs.ndim > 2:
            inputs = _transpose(inputs, [0, *range(2, inputs.ndim), 1])
        batch, *others = extents(inputs)
        return _reshape(inputs, [batch, product(others)])

    def compute_output_shape(self, input_shape):
        shape = as_shape(input_shape)
        return TensorShape((shape[0], None if None in shape[1:] else math.prod(shape[1:])))


@public("keras.layers.Reshape")
class Reshape(_Moving):
    """Each example in another shape. target_shape: without the batch; −1 in it for the extent that fits. ValueError where the
    number of elements is another."""

    _arguments = ("target_shape",)

    def __init__(self, target_shape, **kwargs):
        super().__init__(**kwargs)
        self.target_shape = (target_shape,) if isinstance(target_shape, int) else tuple(target_shape)
        if self.target_shape.count(-1) > 1:
            raise ValueError(f"There must be at most one unknown dimension in target_shape. Received: target_shape={target_shape}.")

    def _target(self, shape):
        wanted, size = list(self.target_shape), None if None in shape else math.prod(shape)
        if -1 in wanted:
            rest = math.prod(extent for extent in wanted if extent != -1)
            fits = size is not None and rest and size % rest == 0
            if size is not None and not fits and rest:
                raise ValueError(f"The total size of the tensor must be unchanged. Received: input_shape={tuple(shape)}, "
                                 f"target_shape={self.target_shape}")
            wanted[wanted.index(-1)] = size // rest if fits else None
        elif size is not None and math.prod(wanted) != size:
            raise ValueError(f"The total size of the tensor must be unchanged. Received: input_shape={tuple(shape)}, "
                             f"target_shape={self.target_shape}")
        return wanted

    def call(self, inputs):
        wanted = self._target(inputs.shape[1:])
        return _reshape(inputs, [extent_of(inputs, 0), *(-1 if each is None else each for each in wanted)])

    def compute_output_shape(self, input_shape):
        shape = as_shape(input_shape)
        return TensorShape((shape[0], *self._target(shape[1:])))


@public("keras.layers.Permute")
class Permute(_Moving):
    """The axes after the batch in another order. dims: their numbers, the first is 1. ValueError for a list that is not a permutation."""

    _arguments = ("dims",)

    def __init__(self, dims, **kwargs):
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError("Invalid permutation argument `dims` for Permute Layer. The set of indices in `dims` must be "
                             f"consecutive and start from 1. Received dims={dims}")
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs):
        return _transpose(inputs, [0, *self.dims])

    def compute_output_shape(self, input_shape):
        shape = as_shape(input_shape)
        return TensorShape((shape[0], *(shape[axis] for axis in self.dims)))


@public("keras.layers.RepeatVector")
class RepeatVector(_Moving):
    """Each row n times: (batch, values) as (batch, n, values). TypeError for an n that is not an integer."""

    _axes_needed, _arguments = 2, ("n",)

    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(n, int):
            raise TypeError(f"Expected an integer value for `n`, got {type(n)}.")
        self.n = n

    def call(self, inputs):
        batch, values = extents(inputs)
        return _op("broadcast_to")(_reshape(inputs, [batch, 1, values]), [batch, self.n, values])

    def compute_output_shape(self, input_shape):
        batch, values = as_shape(input_shape)
        return TensorShape((batch, self.n, values))


class ZeroPadding(_Moving):
    """Zeros around the spatial axes. padding: a number, one for each axis, or pairs (before, after); data_format: where the
    channels are."""

    _rank, _arguments = 2, ("padding", "data_format")

    def __init__(self, padding=1, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.padding = sizes.pairs_of(padding, self._rank, "padding")
        self.data_format = sizes.data_format_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs):
        spatial = [number for pair in self.padding for number in pair]
        first = self.data_format == "channels_first"
        return _op("pad")(inputs, [0, 0, 0, 0, *spatial] if first else [0, 0, *spatial, 0, 0])

    def compute_output_shape(self, input_shape):
        return sizes.with_spatial(as_shape(input_shape), self.data_format,
                                  lambda place, extent: None if extent is None else extent + sum(self.padding[place]))

    def get_config(self):
        config = super().get_config()
        return {**config, "padding": config["padding"][0]} if self._rank == 1 else config


@public("keras.layers.ZeroPadding1D")
class ZeroPadding1D(ZeroPadding):
    __doc__ = ZeroPadding.__doc__
    _rank = 1


@public("keras.layers.ZeroPadding2D")
class ZeroPadding2D(ZeroPadding):
    __doc__ = ZeroPadding.__doc__

    def __init__(self, padding=(1, 1), data_format=None, **kwargs):
        super().__init__(padding, data_format, **kwargs)


@public("keras.layers.ZeroPadding3D")
class ZeroPadding3D(ZeroPadding):
    __doc__ = ZeroPadding.__doc__
    _rank = 3

    def __init__(self, padding=((1, 1), (1, 1), (1, 1)), data_format=None, **kwargs):
        super().__init__(padding, data_format, **kwargs)


class Cropping(_Moving):
    """The spatial axes without their ends. cropping: a number, one for each axis, or pairs (before, after); data_format: where the
    channels are. ValueError where nothing is left."""

    _rank, _arguments = 2, ("cropping", "data_format")

    def __init__(self, cropping, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.cropping = sizes.pairs_of(cropping, self._rank, "cropping")
        self.data_format = sizes.data_format_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _left(self, place, extent):
        if extent is not None and extent <= sum(self.cropping[place]):
            raise ValueError(f"`cropping` parameter of {type(self).__name__} layer must be smaller than the input extents. "
                             f"Received: cropping={self.cropping}, an extent of {extent}")
        return None if extent is None else extent - sum(self.cropping[place])

    def call(self, inputs):
        self.compute_output_shape(inputs.shape)  # says where nothing is left
        left, before = extents(inputs), [pair[0] for pair in self.cropping]
        for axis, pair in enumerate(self.cropping, 2 if self.data_format == "channels_first" else 1):
            left[axis] -= sum(pair)
        return _op("slice")(inputs, [0, 0, *before] if self.data_format == "channels_first" else [0, *before, 0], left)

    def compute_output_shape(self, input_shape):
        return sizes.with_spatial(as_shape(input_shape), self.data_format, self._left)


@public("keras.layers.Cropping1D")
class Cropping1D(Cropping):
    __doc__ = Cropping.__doc__
    _rank, _arguments = 1, ("cropping",)

    def __init__(self, cropping=(1, 1), **kwargs):
        super().__init__(cropping, "channels_last", **kwargs)

    def get_config(self):
        return {**super().get_config(), "cropping": self.cropping[0]}


@public("keras.layers.Cropping2D")
class Cropping2D(Cropping):
    __doc__ = Cropping.__doc__

    def __init__(self, cropping=((0, 0), (0, 0)), data_format=None, **kwargs):
        super().__init__(cropping, data_format, **kwargs)


@public("keras.layers.Cropping3D")
class Cropping3D(Cropping):
    __doc__ = Cropping.__doc__
    _rank = 3

    def __init__(self, cropping=((1, 1), (1, 1), (1, 1)), data_format=None, **kwargs):
        super().__init__(cropping, data_format, **kwargs)


def repeated(inputs, size, axes):
    """Each place along the axes as often as size says: one broadcast."""
    shape, tall, wide = extents(inputs), [], []
    for axis, extent in enumerate(shape):
        times = dict(zip(axes, size)).get(axis, 1)
        tall += [extent, 1] if times > 1 else [extent]
        wide += [extent, times] if times > 1 else [extent]
        shape[axis] = extent * times
    return _reshape(_op("broadcast_to")(_reshape(inputs, tall), wide), shape)


class UpSampling(_Moving):
    """Each place along the spatial axes several times. size: a number, or one for each axis; data_format: where the channels
    are."""

    _rank, _arguments = 2, ("size", "data_format")

    def __init__(self, size=2, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.size, self.data_format = sizes.numbers_of(size, self._rank, "size"), sizes.data_format_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs):
        first = 2 if self.data_format == "channels_first" else 1
        return repeated(inputs, self.size, range(first, first + self._rank))

    def compute_output_shape(self, input_shape):
        return sizes.with_spatial(as_shape(input_shape), self.data_format,
                                  lambda place, extent: None if extent is None else extent * self.size[place])


@public("keras.layers.UpSampling1D")
class UpSampling1D(UpSampling):
    __doc__ = UpSampling.__doc__
    _rank, _arguments = 1, ("size",)

    def __init__(self, size=2, **kwargs):
        super().__init__(size, "channels_last", **kwargs)

    def get_config(self):
        return {**super().get_config(), "size": self.size[0]}


@public("keras.layers.UpSampling2D")
class UpSampling2D(UpSampling):
    __doc__ = UpSampling.__doc__.rstrip() + """ interpolation: 'nearest', or another of
    tf.image.resize's methods. ValueError for another name."""
    _arguments = "size", "data_format", "interpolation"

    def __init__(self, size=(2, 2), data_format=None, interpolation="nearest", **kwargs):
        super().__init__(size, data_format, **kwargs)
        self.interpolation = interpolation.lower() if isinstance(interpolation, str) else interpolation
        if self.interpolation not in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
            raise ValueError(f"`interpolation` argument should be one of: ['bicubic', 'bilinear', 'lanczos3', 'lanczos5', "
                             f"'nearest']. Received: interpolation={interpolation}")

    def call(self, inputs):
        if self.interpolation == "nearest":
            return super().call(inputs)
        return resized(inputs, self.compute_output_shape(inputs.shape), self.data_format, self.interpolation)


def resized(inputs, shape, data_format, method, **how):
    """Images in the extents of that shape, by tf.image.resize, of the dtype that they had."""
    first, dtype = data_format == "channels_first", inputs.dtype
    inputs = _transpose(inputs, [0, 2, 3, 1]) if first else inputs
    wide = dtypes.float64 if dtype == dtypes.float64 else dtypes.float32  # float16's rounding comes once, at the end
    made = image_sizes.resize_in(wide, inputs, list(shape[2:] if first else shape[1:3]), method, **how)
    made = made if made.dtype == dtype else _op("cast")(made, dtype)
    return _transpose(made, [0, 3, 1, 2]) if first else made


@public("keras.layers.UpSampling3D")
class UpSampling3D(UpSampling):
    __doc__ = UpSampling.__doc__
    _rank = 3

    def __init__(self, size=(2, 2, 2), data_format=None, **kwargs):
        super().__init__(size, data_format, **kwargs)
