"""Pooling: the largest value or the mean of windows, or of all places."""
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._nn import functions as nn
from tapedeck.keras.layers import sizes
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.input_spec import InputSpec
from tapedeck.keras.layers.weights import described


class Pooling(Layer):
    """{what} of each window.

    pool_size, strides: a number, or one for each spatial axis; strides None for pool_size; padding: 'valid' or 'same', where what
    is added does not count; data_format: 'channels_last', (batch, …, channels), or 'channels_first'.
    Errors: ValueError for numbers that do not fit.
    """

    _rank, _function = 2, None

    def __init__(self, pool_size=2, strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.pool_size = sizes.numbers_of(pool_size, self._rank, "pool_size")
        self.strides = sizes.numbers_of(pool_size if strides is None else strides, self._rank, "strides")
        self.padding, self.data_format = sizes.padding_of(padding), sizes.data_format_of(data_format)
        vars(self)["_axes"] = sizes.axes_letters(self.data_format, self._rank)
        self.input_spec = InputSpec(ndim=self._rank + 2)
        vars(self)["_built"] = True

    def call(self, inputs):
        one = self._rank == 1
        size, strides = (each[0] if one else list(each) for each in (self.pool_size, self.strides))
        return self._function(inputs, size, strides, self.padding.upper(), self._axes)

    def compute_output_shape(self, input_shape):
        def extent_of(place, extent):
            return sizes.window_extent(extent, self.pool_size[place], self.strides[place], self.padding)

        return sizes.with_spatial(as_shape(input_shape), self.data_format, extent_of)

    def get_config(self):
        return {**super().get_config(), **described(self, "pool_size", "strides", "padding", "data_format")}


class GlobalPooling(Layer):
    """{what} of each channel over all places.

    data_format: 'channels_last', (batch, …, channels), or 'channels_first'; keepdims: leave the spatial axes with extent 1.
    """

    _rank, _reduction = 2, None

    def __init__(self, data_format=None, keepdims=False, **kwargs):
        super().__init__(**kwargs)
        self.data_format, self.keepdims = sizes.data_format_of(data_format), keepdims
        first = 2 if self.data_format == "channels_first" else 1
        vars(self)["_over"] = list(range(first, first + self._rank))
        self.input_spec = InputSpec(ndim=self._rank + 2)
        vars(self)["_built"] = True

    def call(self, inputs):
        return _op(self._reduction)(inputs, axis=self._over, keepdims=self.keepdims)

    def compute_output_shape(self, input_shape):
        shape = as_shape(input_shape)
        kept = [1 if axis in self._over else extent for axis, extent in enumerate(shape) if self.keepdims or axis not in self._over]
        return as_shape(tuple(kept))

    def get_config(self):
        return {**super().get_config(), **described(self, "data_format", "keepdims")}


@public("keras.layers.MaxPooling1D", "keras.layers.MaxPool1D")
class MaxPooling1D(Pooling):
    __doc__ = Pooling.__doc__.format(what="The largest value")
    _rank, _function = 1, staticmethod(nn.max_pool1d)


@public("keras.layers.MaxPooling2D", "keras.layers.MaxPool2D")
class MaxPooling2D(Pooling):
    __doc__ = Pooling.__doc__.format(what="The largest value")
    _function = staticmethod(nn.max_pool2d)

    def __init__(self, pool_size=(2, 2), strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


@public("keras.layers.MaxPooling3D", "keras.layers.MaxPool3D")
class MaxPooling3D(Pooling):
    __doc__ = Pooling.__doc__.format(what="The largest value")
    _rank, _function = 3, staticmethod(nn.max_pool3d)

    def __init__(self, pool_size=(2, 2, 2), strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


@public("keras.layers.AveragePooling1D", "keras.layers.AvgPool1D")
class AveragePooling1D(Pooling):
    __doc__ = Pooling.__doc__.format(what="The mean")
    _rank, _function = 1, staticmethod(nn.avg_pool1d)


@public("keras.layers.AveragePooling2D", "keras.layers.AvgPool2D")
class AveragePooling2D(Pooling):
    __doc__ = Pooling.__doc__.format(what="The mean")
    _function = staticmethod(nn.avg_pool2d)

    def __init__(self, pool_size=(2, 2), strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


@public("keras.layers.AveragePooling3D", "keras.layers.AvgPool3D")
class AveragePooling3D(Pooling):
    __doc__ = Pooling.__doc__.format(what="The mean")
    _rank, _function = 3, staticmethod(nn.avg_pool3d)

    def __init__(self, pool_size=(2, 2, 2), strides=None, padding="valid", data_format=None, name=None, **kwargs):
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


@public("keras.layers.GlobalMaxPooling1D", "keras.layers.GlobalMaxPool1D")
class GlobalMaxPooling1D(GlobalPooling):
    __doc__ = GlobalPooling.__doc__.format(what="The largest value")
    _rank, _reduction = 1, "reduce_max"


@public("keras.layers.GlobalMaxPooling2D", "keras.layers.GlobalMaxPool2D")
class GlobalMaxPooling2D(GlobalPooling):
    __doc__ = GlobalPooling.__doc__.format(what="The largest value")
    _reduction = "reduce_max"


@public("keras.layers.GlobalMaxPooling3D", "keras.layers.GlobalMaxPool3D")
class GlobalMaxPooling3D(GlobalPooling):
    __doc__ = GlobalPooling.__doc__.format(what="The largest value")
    _rank, _reduction = 3, "reduce_max"


@public("keras.layers.GlobalAveragePooling1D", "keras.layers.GlobalAvgPool1D")
class GlobalAveragePooling1D(GlobalPooling):
    __doc__ = GlobalPooling.__doc__.format(what="The mean") + "    Steps that a mask leaves out do not count.\n"
    _rank, _reduction = 1, "reduce_mean"

    def __init__(self, data_format=None, keepdims=False, **kwargs):
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None:
            return super().call(inputs)
        axis = self._over[0]
        weights = _op("expand_dims")(_op("cast")(mask, inputs.dtype), 2 if axis == 1 else 1)
        total = _op("reduce_sum")(inputs * weights, axis=axis, keepdims=self.keepdims)
        return total / _op("reduce_sum")(weights, axis=axis, keepdims=self.keepdims)

    def compute_mask(self, inputs, mask=None):
        return None


@public("keras.layers.GlobalAveragePooling2D", "keras.layers.GlobalAvgPool2D")
class GlobalAveragePooling2D(GlobalPooling):
    __doc__ = GlobalPooling.__doc__.format(what="The mean")
    _reduction = "reduce_mean"


@public("keras.layers.GlobalAveragePooling3D", "keras.layers.GlobalAvgPool3D")
class GlobalAveragePooling3D(GlobalPooling):
    __doc__ = GlobalPooling.__doc__.format(what="The mean")
    _rank, _reduction = 3, "reduce_mean"


MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = GlobalAveragePooling1D, GlobalAveragePooling2D, GlobalAveragePooling3D
