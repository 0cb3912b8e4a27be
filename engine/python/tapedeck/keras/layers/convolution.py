"""Convolutions of rows, images and volumes."""
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._core.extents import extent
from tapedeck._core.shapes import TensorShape
from tapedeck._nn import functions as nn
from tapedeck.keras import activations
from tapedeck.keras.layers import sizes
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.input_spec import InputSpec
from tapedeck.keras.layers.weights import described, keep_weight_arguments

_conv2d, _bias_add = _op("conv2d"), _op("bias_add")
_FUNCTIONS = {1: nn.conv1d, 2: nn.conv2d, 3: nn.conv3d}


def _weight_names(*names):
    return [f"{name}_{kind}" for kind in ("initializer", "regularizer", "constraint") for name in names]


class _Window(Layer):
    """What all convolutions share: sizes, padding and order of axes, activation and bias."""

    _casts_integers = True

    _rank = 2
    _weights_of = ("kernel", "bias")
    _paddings = ()

    def _keep(self, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, weights):
        rank = self._rank
        self.rank, self.kernel_size = rank, sizes.numbers_of(kernel_size, rank, "kernel_size")
        self.strides = sizes.numbers_of(strides, rank, "strides")
        self.dilation_rate = sizes.numbers_of(dilation_rate, rank, "dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(f"`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
                             f"strides={self.strides} and dilation_rate={self.dilation_rate}")
        self.padding = sizes.padding_of(padding, self._paddings)
        self.data_format = sizes.data_format_of(data_format)
        self.activation, self.use_bias = activations.get(activation), use_bias
        keep_weight_arguments(self, weights)
        self.bias = None
        own = vars(self)
        own["_first"] = self.data_format == "channels_first"
        own["_axes"] = sizes.axes_letters(self.data_format, rank)
        own["_active"] = None if self.activation is activations.linear else self.activation
        self.input_spec = InputSpec(min_ndim=rank + 2, max_ndim=rank + 2)

    def _channels(self, input_shape):
        """How many channels the inputs have; then the layer's input_spec says so. ValueError where it is not known."""
        axis = 1 if self._first else -1
        channels = TensorShape(input_shape)[axis]
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. The input_shape received is "
                             f"{tuple(input_shape)}, where axis {axis} (0-based) is the channel dimension, which found to be "
                             f"`None`.")
        self.input_spec = InputSpec(min_ndim=self._rank + 2, axes={axis: channels})
        return channels

    def _weight(self, name, shape):
        return self.add_weight(name=name, shape=shape, **{kind: getattr(self, f"{name.removesuffix('_kernel')}_{kind}")
                                                          for kind in ("initializer", "regularizer", "constraint")})

    def _finished(self, outputs):
        if self.bias is not None:
            outputs = self._with_bias(outputs)
        return outputs if self._active is None else self._active(outputs)

    def _with_bias(self, outputs):
        if not self._first:
            return _bias_add(outputs, self.bias)
        return outputs + _op("reshape")(self.bias, [1, -1, *[1] * self._rank])

    def _window_extents(self, place, extent):
        return sizes.window_extent(extent, self.kernel_size[place], self.strides[place], self.padding, self.dilation_rate[place])

    def compute_output_shape(self, input_shape):
        shape = as_shape(input_shape)
        found = sizes.with_spatial(shape, self.data_format, self._window_extents, self._outputs(shape[1 if self._first else -1]))
        if 0 in found[1:] and 0 not in shape:
            raise ValueError(f"Computed output size would be negative. Received `inputs shape={tuple(shape)}`, `kernel "
                             f"size={self.kernel_size}`, `dilation_rate={self.dilation_rate}`.")
        return found

    def get_config(self):
        return {**super().get_config(), **described(self, "kernel_size", "strides", "padding", "data_format", "dilation_rate",
                                                    "activation", "use_bias", *_weight_names(*self._weights_of))}


class Conv(_Window):
    """A convolution: outputs[…, o] = Σ inputs[…, c]·kernel[…, c, o] over windows, and then bias and activation.

    filters: the outputs' channels; kernel_size, strides, dilation_rate: a number, or one for each spatial axis; padding: 'valid' or
    'same'; data_format: 'channels_last', (batch, …, channels), or 'channels_first'; groups: the channels are cut into as many, each
    with filters of its own; activation, use_bias and the others: as in Dense.
    Errors: ValueError for numbers that do not fit, and inputs whose number of channels is not known or not that of the first call.
    """

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1, groups=1,
                 activation=None,
                 use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros", kernel_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, **kwargs):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters, self.groups = filters, groups
        if not isinstance(filters, int) or filters <= 0:
            raise ValueError(f"Invalid value for argument `filters`. Expected a strictly positive value. Received "
                             f"filters={filters}.")
        if groups <= 0 or filters % groups:
            raise ValueError(f"The number of filters must be evenly divisible by the number of groups. Received: groups={groups}, "
                             f"filters={filters}.")
        self._keep(kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, dict(
            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint, bias_constraint=bias_constraint))
        if padding == "causal" and self._first:
            raise ValueError("Causal padding needs `data_format='channels_last'`")

    def _outputs(self, channels):
        return self.filters

    def build(self, input_shape):
        channels = self._channels(input_shape)
        if channels % self.groups:
            raise ValueError(f"The number of input channels must be evenly divisible by the number of groups. Received groups="
                             f"{self.groups}, but the input has {channels} channels (full input shape is {tuple(input_shape)}).")
        self.kernel = self._weight("kernel", (*self.kernel_size, channels // self.groups, self.filters))
        if self.use_bias:
            self.bias = self._weight("bias", (self.filters,))
        vars(self)["_how"] = {"strides": list(self.strides), "padding": self.padding.upper(), "data_format": self._axes,
                              "dilations": list(self.dilation_rate)}
        self.built = True

    def call(self, inputs):
        return self._finished(_conv2d(inputs, self.kernel, **self._how))

    def get_config(self):
        return {**super().get_config(), **described(self, "filters", "groups")}


@public("keras.layers.Conv1D", "keras.layers.Convolution1D")
class Conv1D(Conv):
    __doc__ = Conv.__doc__.replace("'same';", "'same', or 'causal', where no output sees later steps;")
    _rank, _paddings = 1, ("causal",)

    def call(self, inputs):
        return self._finished(self._convolved(inputs))

    def _convolved(self, inputs):
        how = self._how
        if self.padding == "causal":
            inputs = _causal(inputs, (self.kernel_size[0] - 1) * self.dilation_rate[0])
            how = {**how, "padding": "VALID"}
        axis = 2 if self._first else 1
        wide = _conv2d(_op("expand_dims")(inputs, axis), _op("expand_dims")(self.kernel, 0), strides=[1, *how["strides"]],
                       padding=how["padding"], data_format="NCHW" if self._first else "NHWC", dilations=[1, *how["dilations"]])
        return _op("squeeze")(wide, [axis])


def _causal(inputs, before):
    return _op("pad")(inputs, [0, 0, before, 0, 0, 0]) if before else inputs


@public("keras.layers.Conv2D", "keras.layers.Convolution2D")
class Conv2D(Conv):
    __doc__ = Conv.__doc__

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1), groups=1,
                 activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, groups, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, **kwargs)


@public("keras.layers.Conv3D", "keras.layers.Convolution3D")
class Conv3D(Conv):
    __doc__ = Conv.__doc__
    _rank = 3

    def __init__(self, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format=None, dilation_rate=(1, 1, 1),
                 groups=1, activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, groups, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, **kwargs)

    def call(self, inputs):
        if self.groups == 1:
            return self._finished(nn.conv3d(inputs, self.kernel, **self._how))
        axis = 1 if self._first else 4
        parts = [nn.conv3d(values, filters, **self._how) for values, filters in zip(
            _op("split")(inputs, self.groups, axis), _op("split")(self.kernel, self.groups, 4))]
        return self._finished(_op("concat")(parts, axis))


class ConvTranspose(_Window):
    """The transposed convolution: the gradient of a convolution with respect to its inputs, as a layer; strides make it larger.

    output_padding: how much is added after each spatial axis, less than the stride; None for what makes 'same' outputs stride
    times the inputs. The other arguments are those of Conv2D.
    Errors: ValueError for numbers that do not fit.
    """

    def __init__(self, filters, kernel_size, strides=1, padding="valid", output_padding=None, data_format=None, dilation_rate=1,
                 activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, **kwargs):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if not isinstance(filters, int) or filters <= 0:
            raise ValueError(f"Invalid value for argument `filters`. Expected a strictly positive value. Received "
                             f"filters={filters}.")
        self.filters = filters
        self._keep(kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, dict(
            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint, bias_constraint=bias_constraint))
        self.output_padding = None
        if output_padding is not None:
            self.output_padding = sizes.numbers_of(output_padding, self._rank, "output_padding", 0)
            if any(extra >= stride for extra, stride in zip(self.output_padding, self.strides)):
                raise ValueError(f"The strides must be greater than the output padding. Received: strides={self.strides}, "
                                 f"output_padding={self.output_padding}.")

    def _outputs(self, channels):
        return self.filters

    def build(self, input_shape):
        self.kernel = self._weight("kernel", (*self.kernel_size, self.filters, self._channels(input_shape)))
        if self.use_bias:
            self.bias = self._weight("bias", (self.filters,))
        self.built = True

    def _window_extents(self, place, extent):
        if extent is None:
            return None
        stride, reach = self.strides[place], (self.kernel_size[place] - 1) * self.dilation_rate[place] + 1
        if self.output_padding is None:
            return extent * stride + (max(reach - stride, 0) if self.padding == "valid" else 0)
        cut = 2 * (reach // 2) if self.padding == "same" else 0
        return (extent - 1) * stride + reach - cut + self.output_padding[place]

    _function = staticmethod(nn.conv2d_transpose)

    def call(self, inputs):
        _, *others = self.compute_output_shape(inputs.shape)
        outputs = self._function(inputs, self.kernel, [extent(inputs, 0), *others], list(self.strides), self.padding.upper(), self._axes,
                                 dilations=list(self.dilation_rate))
        return self._finished(outputs)

    def get_config(self):
        return {**super().get_config(), **described(self, "filters", "output_padding")}


@public("keras.layers.Conv1DTranspose", "keras.layers.Convolution1DTranspose")
class Conv1DTranspose(ConvTranspose):
    __doc__ = ConvTranspose.__doc__
    _rank = 1
    _function = staticmethod(nn.conv1d_transpose)


@public("keras.layers.Conv2DTranspose", "keras.layers.Convolution2DTranspose")
class Conv2DTranspose(ConvTranspose):
    __doc__ = ConvTranspose.__doc__

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", output_padding=None, data_format=None,
                 dilation_rate=(1, 1), activation=None, use_bias=True, kernel_initializer="glorot_uniform",
                 bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, output_padding, data_format, dilation_rate, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, **kwargs)


@public("keras.layers.Conv3DTranspose", "keras.layers.Convolution3DTranspose")
class Conv3DTranspose(ConvTranspose):
    __doc__ = ConvTranspose.__doc__
    _rank = 3
    _function = staticmethod(nn.conv3d_transpose)

    def __init__(self, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format=None, output_padding=None,
                 dilation_rate=(1, 1, 1), activation=None, use_bias=True, kernel_initializer="glorot_uniform",
                 bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, output_padding, data_format, dilation_rate, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, **kwargs)


class DepthwiseConv(_Window):
    """A convolution in which each channel has `depth_multiplier` filters of its own. The other arguments are those of Conv2D, with
    depthwise_initializer, depthwise_regularizer and depthwise_constraint for the kernel's."""

    _weights_of = ("depthwise", "bias")

    def __init__(self, kernel_size, strides=1, padding="valid", depth_multiplier=1, data_format=None, dilation_rate=1,
                 activation=None,
                 use_bias=True, depthwise_initializer="glorot_uniform", bias_initializer="zeros", depthwise_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None, bias_constraint=None, **kwargs):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if not isinstance(depth_multiplier, int) or depth_multiplier <= 0:
            raise ValueError("Invalid value for argument `depth_multiplier`. Expected a strictly positive value. Received "
                             f"depth_multiplier={depth_multiplier}.")
        self.depth_multiplier = depth_multiplier
        self._keep(kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, dict(
            depthwise_initializer=depthwise_initializer, bias_initializer=bias_initializer,
            depthwise_regularizer=depthwise_regularizer,
            bias_regularizer=bias_regularizer, depthwise_constraint=depthwise_constraint, bias_constraint=bias_constraint))

    def _outputs(self, channels):
        return None if channels is None else channels * self.depth_multiplier

    def build(self, input_shape):
        channels = self._channels(input_shape)
        self.kernel = self.add_weight(
            name="kernel", shape=(*self.kernel_size, channels, self.depth_multiplier), initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer, constraint=self.depthwise_constraint)
        if self.use_bias:
            self.bias = self._weight("bias", (channels * self.depth_multiplier,))
        self.built = True

    def call(self, inputs):
        return self._finished(depthwise(inputs, self.kernel, self))

    def get_config(self):
        return {**super().get_config(), **described(self, "depth_multiplier")}


def depthwise(inputs, kernel, layer):
    """The depthwise convolution with the layer's strides, padding, dilations and order of axes."""
    strides, rates = list(layer.strides), list(layer.dilation_rate)
    if layer._rank == 2:
        return nn.depthwise_conv2d(inputs, kernel, strides, layer.padding.upper(), layer._axes, rates)
    axis = 2 if layer._first else 1
    padding = layer.padding.upper()
    if padding == "CAUSAL":
        inputs, padding = _causal(inputs, (layer.kernel_size[0] - 1) * rates[0]), "VALID"
    wide = nn.depthwise_conv2d(_op("expand_dims")(inputs, axis), _op("expand_dims")(kernel, 0), [1, *strides], padding,
                               "NCHW" if layer._first else "NHWC", [1, *rates])
    return _op("squeeze")(wide, [axis])


@public("keras.layers.DepthwiseConv1D")
class DepthwiseConv1D(DepthwiseConv):
    __doc__ = DepthwiseConv.__doc__
    _rank, _paddings = 1, ("causal",)


@public("keras.layers.DepthwiseConv2D")
class DepthwiseConv2D(DepthwiseConv):
    __doc__ = DepthwiseConv.__doc__

    def __init__(self, kernel_size, strides=(1, 1), padding="valid", depth_multiplier=1, data_format=None, dilation_rate=(1, 1),
                 activation=None, use_bias=True, depthwise_initializer="glorot_uniform", bias_initializer="zeros",
                 depthwise_regularizer=None, bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None,
                 bias_constraint=None, **kwargs):
        super().__init__(kernel_size, strides, padding, depth_multiplier, data_format, dilation_rate, activation, use_bias,
                         depthwise_initializer, bias_initializer, depthwise_regularizer, bias_regularizer, activity_regularizer,
                         depthwise_constraint, bias_constraint, **kwargs)


class SeparableConv(_Window):
    """A depthwise convolution, and then one with filters of one place that mixes the channels.

    filters: the outputs' channels; depth_multiplier: outputs of the first convolution for each channel; depthwise_… and
    pointwise_…: initializers, regularizers and constraints of their kernels. The others are those of Conv2D.
    """

    _weights_of = ("depthwise", "pointwise", "bias")

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1, depth_multiplier=1,
                 activation=None, use_bias=True, depthwise_initializer="glorot_uniform", pointwise_initializer="glorot_uniform",
                 bias_initializer="zeros", depthwise_regularizer=None, pointwise_regularizer=None, bias_regularizer=None,
                 activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None, **kwargs):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters, self.depth_multiplier = filters, depth_multiplier
        for name, value in (("filters", filters), ("depth_multiplier", depth_multiplier)):
            if not isinstance(value, int) or value <= 0:
                raise ValueError(f"Invalid value for argument `{name}`. Expected a strictly positive value. Received "
                                 f"{name}={value}.")
        self._keep(kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, dict(
            depthwise_initializer=depthwise_initializer, pointwise_initializer=pointwise_initializer,
            bias_initializer=bias_initializer,
            depthwise_regularizer=depthwise_regularizer, pointwise_regularizer=pointwise_regularizer,
            bias_regularizer=bias_regularizer,
            depthwise_constraint=depthwise_constraint, pointwise_constraint=pointwise_constraint, bias_constraint=bias_constraint))

    def _outputs(self, channels):
        return self.filters

    def build(self, input_shape):
        channels = self._channels(input_shape)
        self.depthwise_kernel = self._weight("depthwise_kernel", (*self.kernel_size, channels, self.depth_multiplier))
        self.pointwise_kernel = self._weight("pointwise_kernel", (*[1] * self._rank, channels * self.depth_multiplier,
                                                                  self.filters))
        if self.use_bias:
            self.bias = self._weight("bias", (self.filters,))
        self.built = True

    def call(self, inputs):
        between = depthwise(inputs, self.depthwise_kernel, self)
        return self._finished(_FUNCTIONS[self._rank](between, self.pointwise_kernel, 1, "VALID", self._axes))

    def get_config(self):
        return {**super().get_config(), **described(self, "filters", "depth_multiplier")}


@public("keras.layers.SeparableConv1D", "keras.layers.SeparableConvolution1D")
class SeparableConv1D(SeparableConv):
    __doc__ = SeparableConv.__doc__
    _rank, _paddings = 1, ("causal",)


@public("keras.layers.SeparableConv2D", "keras.layers.SeparableConvolution2D")
class SeparableConv2D(SeparableConv):
    __doc__ = SeparableConv.__doc__

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1),
                 depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer="glorot_uniform",
                 pointwise_initializer="glorot_uniform", bias_initializer="zeros", depthwise_regularizer=None,
                 pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None,
                 pointwise_constraint=None, bias_constraint=None, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation, use_bias,
                         depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
                         pointwise_regularizer,
                         bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint, bias_constraint,
                         **kwargs)


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution1DTranspose, Convolution2DTranspose, Convolution3DTranspose = Conv1DTranspose, Conv2DTranspose, Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
