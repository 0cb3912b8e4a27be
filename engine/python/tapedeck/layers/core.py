"""tf.layers: dense layers, convolutions, pooling, dropout, flatten."""
from tapedeck.keras import layers as keras
from tapedeck.layers.base import Layer, first_generation, functional

_SEPARABLE = {"depthwise_initializer": None, "pointwise_initializer": None, "data_format": "channels_last"}
_TRANSPOSED = "output_padding", "dilation_rate"


@first_generation(kernel_initializer=None)
class Dense(keras.Dense, Layer):
    __doc__ = keras.Dense.__doc__ + "    kernel_initializer None: that of the variable scope.\n"


@first_generation(without=("groups",), data_format="channels_last", kernel_initializer=None)
class Conv1D(keras.Conv1D, Layer):
    __doc__ = keras.Conv1D.__doc__


@first_generation(without=("groups",), data_format="channels_last", kernel_initializer=None)
class Conv2D(keras.Conv2D, Layer):
    __doc__ = keras.Conv2D.__doc__


@first_generation(without=("groups",), data_format="channels_last", kernel_initializer=None)
class Conv3D(keras.Conv3D, Layer):
    __doc__ = keras.Conv3D.__doc__


@first_generation(without=_TRANSPOSED, data_format="channels_last", kernel_initializer=None)
class Conv2DTranspose(keras.Conv2DTranspose, Layer):
    __doc__ = keras.Conv2DTranspose.__doc__


@first_generation(without=_TRANSPOSED, data_format="channels_last", kernel_initializer=None)
class Conv3DTranspose(keras.Conv3DTranspose, Layer):
    __doc__ = keras.Conv3DTranspose.__doc__


@first_generation(**_SEPARABLE)
class SeparableConv1D(keras.SeparableConv1D, Layer):
    __doc__ = keras.SeparableConv1D.__doc__


@first_generation(**_SEPARABLE)
class SeparableConv2D(keras.SeparableConv2D, Layer):
    __doc__ = keras.SeparableConv2D.__doc__


class _Pooling:
    """pool_size and strides have no defaults in TensorFlow 1."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)

    _opens_scope = False


class MaxPooling1D(_Pooling, keras.MaxPooling1D, Layer):
    __doc__ = keras.MaxPooling1D.__doc__


class MaxPooling2D(_Pooling, keras.MaxPooling2D, Layer):
    __doc__ = keras.MaxPooling2D.__doc__


class MaxPooling3D(_Pooling, keras.MaxPooling3D, Layer):
    __doc__ = keras.MaxPooling3D.__doc__


class AveragePooling1D(_Pooling, keras.AveragePooling1D, Layer):
    __doc__ = keras.AveragePooling1D.__doc__


class AveragePooling2D(_Pooling, keras.AveragePooling2D, Layer):
    __doc__ = keras.AveragePooling2D.__doc__


class AveragePooling3D(_Pooling, keras.AveragePooling3D, Layer):
    __doc__ = keras.AveragePooling3D.__doc__


@first_generation(rate=0.5)
class Dropout(keras.Dropout, Layer):
    __doc__ = keras.Dropout.__doc__


@first_generation(without=("data_format",))
class Flatten(keras.Flatten, Layer):
    __doc__ = keras.Flatten.__doc__


dense = functional(Dense, "dense")
conv1d, conv2d, conv3d = functional(Conv1D, "conv1d"), functional(Conv2D, "conv2d"), functional(Conv3D, "conv3d")
conv2d_transpose = functional(Conv2DTranspose, "conv2d_transpose")
conv3d_transpose = functional(Conv3DTranspose, "conv3d_transpose")
separable_conv1d = functional(SeparableConv1D, "separable_conv1d")
separable_conv2d = functional(SeparableConv2D, "separable_conv2d")
max_pooling1d, max_pooling2d = functional(MaxPooling1D, "max_pooling1d"), functional(MaxPooling2D, "max_pooling2d")
max_pooling3d = functional(MaxPooling3D, "max_pooling3d")
average_pooling1d = functional(AveragePooling1D, "average_pooling1d")
average_pooling2d = functional(AveragePooling2D, "average_pooling2d")
average_pooling3d = functional(AveragePooling3D, "average_pooling3d")
dropout = functional(Dropout, "dropout", ("training", False, "name"))
flatten = functional(Flatten, "flatten")
