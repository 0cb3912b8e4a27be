"""Activations with parameters, as layers."""
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck.keras import activations
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.input_spec import InputSpec
from tapedeck.keras.layers.weights import described, keep_weight_arguments


class _Elementwise(Layer):
    """A function of each element."""

    _arguments = ()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        vars(self)["_built"] = True

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)

    def get_config(self):
        return {**super().get_config(), **described(self, *self._arguments)}


def _number(layer, argument, value, may_be_none=False):
    if value is None and may_be_none:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.
    if number < 0:
        raise ValueError(f"{argument} of a {layer} layer cannot be None or a negative value; expected a number of at least 0. "
                         f"Received: {argument}={value}")
    return number


@public("keras.layers.ReLU")
class ReLU(_Elementwise):
    """x where x ≥ threshold, no more than max_value; else negative_slope·(x − threshold). ValueError for numbers below 0."""

    _arguments = "max_value", "negative_slope", "threshold"

    def __init__(self, max_value=None, negative_slope=0.0, threshold=0.0, **kwargs):
        super().__init__(**kwargs)
        self.max_value = _number("ReLU", "max_value", max_value, True)
        self.negative_slope = _number("ReLU", "negative_slope", negative_slope)
        self.threshold = _number("ReLU", "threshold", threshold)

    def call(self, inputs):
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


@public("keras.layers.LeakyReLU")
class LeakyReLU(_Elementwise):
    """x where x > 0, else negative_slope·x (`alpha` in TensorFlow's older versions)."""

    _arguments = ("negative_slope",)

    def __init__(self, negative_slope=0.3, **kwargs):
        negative_slope = kwargs.pop("alpha", negative_slope)
        super().__init__(**kwargs)
        self.negative_slope = _number("LeakyReLU", "negative_slope", negative_slope)

    def call(self, inputs):
        return activations.leaky_relu(inputs, self.negative_slope)


@public("keras.layers.ELU")
class ELU(_Elementwise):
    """x where x > 0, else alpha·(eˣ − 1)."""

    _arguments = ("alpha",)

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self.alpha = _number("ELU", "alpha", alpha)

    def call(self, inputs):
        return activations.elu(inputs, self.alpha)


@public("keras.layers.ThresholdedReLU")
class ThresholdedReLU(_Elementwise):
    """x where x > theta, else 0."""

    _arguments = ("theta",)

    def __init__(self, theta=1.0, **kwargs):
        super().__init__(**kwargs)
        self.theta = _number("ThresholdedReLU", "theta", theta)

    def call(self, inputs):
        return activations.threshold(inputs, self.theta, 0)


@public("keras.layers.Softmax")
class Softmax(_Elementwise):
    """Exponentials along an axis, or several, that add up to 1; where mask is False they are 0."""

    _arguments = ("axis",)

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs, mask=None):
        if mask is not None:
            inputs = inputs + (1 - _op("cast")(mask, inputs.dtype)) * (-3e4 if inputs.dtype == "float16" else -1e9)
        if isinstance(self.axis, (tuple, list)):
            return activations.softmax(inputs, list(self.axis)) if len(self.axis) > 1 else _op("softmax")(inputs, self.axis[0])
        return _op("softmax")(inputs, self.axis)


@public("keras.layers.PReLU")
class PReLU(_Elementwise):
    """x where x > 0, else alpha·x with an alpha of its own for each element of an example (He, Zhang, Ren and Sun 2015).

    alpha_initializer, alpha_regularizer, alpha_constraint: of alpha; shared_axes: axes along which one alpha serves all.
    """

    _arguments = "alpha_initializer", "alpha_regularizer", "alpha_constraint", "shared_axes"

    def __init__(self, alpha_initializer="Zeros", alpha_regularizer=None, alpha_constraint=None, shared_axes=None, **kwargs):
        super().__init__(**kwargs)
        vars(self)["_built"] = False
        keep_weight_arguments(self, dict(alpha_initializer=alpha_initializer, alpha_regularizer=alpha_regularizer,
                                         alpha_constraint=alpha_constraint))
        if shared_axes is not None:
            shared_axes = tuple(shared_axes) if hasattr(shared_axes, "__len__") else (shared_axes,)
        self.shared_axes = shared_axes

    def build(self, input_shape):
        input_shape = TensorShape(input_shape)
        shared = {axis % len(input_shape) for axis in self.shared_axes or ()}
        extents = [1 if axis in shared else extent for axis, extent in enumerate(input_shape) if axis]
        self.alpha = self.add_weight(name="alpha", shape=extents, initializer=self.alpha_initializer,
                                     regularizer=self.alpha_regularizer, constraint=self.alpha_constraint)
        self.input_spec = InputSpec(ndim=len(input_shape), axes={axis: extent for axis, extent in enumerate(input_shape)
                                                                 if axis and axis not in shared})
        self.built = True

    def call(self, inputs):
        return _op("relu")(inputs) - self.alpha * _op("relu")(-inputs)
