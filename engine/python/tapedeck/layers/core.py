"""tf.layers: dense layers, convolutions, pooling, dropout, flatten."""
from tapedeck._core.public import public
from tapedeck.keras.layers import convolution, core, pooling, regularization, reshaping
from tapedeck.layers.base import first_generation, functional, Layer

_SEPARABLE = {"depthwise_initializer": None, "pointwise_initializer": None, "data_format": "channels_last"}
_TRANSPOSED = "output_padding", "dilation_rate"


@public("layers.Dense")
@first_generation(kernel_initializer=None)
class Dense(core.Dense, Layer):
    __doc__ = core.Dense.__doc__ + "    kernel_initializer None: that of the variable scope.\n"


@public("layers.Conv1D")
@first_generation(without=("groups",), data_format="channels_last", kernel_initializer=None)
class Conv1D(convolution.Conv1D, Layer):
    __doc__ = convolution.Conv1D.__doc__


@public("layers.Conv2D")
@first_generation(without=("groups",), data_format="channels_last", kernel_initializer=None)
class Conv2D(convolution.Conv2D, Layer):
    __doc__ = convolution.Conv2D.__doc__


@public("layers.Conv3D")
@first_generation(without=("groups",), data_format="channels_last", kernel_initializer=None)
class Conv3D(convolution.Conv3D, Layer):
    __doc__ = convolution.Conv3D.__doc__


@public("layers.Conv2DTranspose")
@first_generation(without=_TRANSPOSED, data_format="channels_last", kernel_initializer=None)
class Conv2DTranspose(convolution.Conv2DTranspose, Layer):
    __doc__ = convolution.Conv2DTranspose.__doc__


@public("layers.Conv3DTranspose")
@first_generation(without=_TRANSPOSED, data_format="channels_last", kernel_initializer=None)
class Conv3DTranspose(convolution.Conv3DTranspose, Layer):
    __doc__ = convolution.Conv3DTranspose.__doc__


@public("layers.SeparableConv1D")
@first_generation(**_SEPARABLE)
class SeparableConv1D(convolution.SeparableConv1D, Layer):
    __doc__ = convolution.SeparableConv1D.__doc__


@public("layers.SeparableConv2D")
@first_generation(**_SEPARABLE)
class SeparableConv2D(convolution.SeparableConv2D, Layer):
    __doc__ = convolution.SeparableConv2D.__doc__


class _Pooling:
    """pool_size and strides have no defaults in TensorFlow 1."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)

    _opens_scope = False


@public("layers.MaxPooling1D")
class MaxPooling1D(_Pooling, pooling.MaxPooling1D, Layer):
    __doc__ = pooling.MaxPooling1D.__doc__


@public("layers.MaxPooling2D")
class MaxPooling2D(_Pooling, pooling.MaxPooling2D, Layer):
    __doc__ = pooling.MaxPooling2D.__doc__


@public("layers.MaxPooling3D")
class MaxPooling3D(_Pooling, pooling.MaxPooling3D, Layer):
    __doc__ = pooling.MaxPooling3D.__doc__


@public("layers.AveragePooling1D")
class AveragePooling1D(_Pooling, pooling.AveragePooling1D, Layer):
    __doc__ = pooling.AveragePooling1D.__doc__


@public("layers.AveragePooling2D")
class AveragePooling2D(_Pooling, pooling.AveragePooling2D, Layer):
    __doc__ = pooling.AveragePooling2D.__doc__


@public("layers.AveragePooling3D")
class AveragePooling3D(_Pooling, pooling.AveragePooling3D, Layer):
    __doc__ = pooling.AveragePooling3D.__doc__


@public("layers.Dropout")
@first_generation(rate=0.5)
class Dropout(regularization.Dropout, Layer):
    __doc__ = regularization.Dropout.__doc__


@public("layers.Flatten")
@first_generation(without=("data_format",))
class Flatten(reshaping.Flatten, Layer):
    __doc__ = reshaping.Flatten.__doc__


for _class, _name in {
        Dense: "dense", Conv1D: "conv1d", Conv2D: "conv2d", Conv3D: "conv3d", Conv2DTranspose: "conv2d_transpose",
        Conv3DTranspose: "conv3d_transpose", SeparableConv1D: "separable_conv1d", SeparableConv2D: "separable_conv2d",
        MaxPooling1D: "max_pooling1d", MaxPooling2D: "max_pooling2d", MaxPooling3D: "max_pooling3d",
        AveragePooling1D: "average_pooling1d", AveragePooling2D: "average_pooling2d", AveragePooling3D: "average_pooling3d",
        Flatten: "flatten"}.items():
    functional(_class, _name)
functional(Dropout, "dropout", ("training", False, "name"))
