"""Dense and other layers that are none of the families."""
from tapedeck import initializers, linalg
from tapedeck.composites import op as _op
from tapedeck.keras import activations, constraints, regularizers
from tapedeck.keras.layers.base import Layer, as_shape
from tapedeck.keras.layers.input_spec import InputSpec
from tapedeck.shapes import TensorShape

_matmul, _add = _op("matmul"), _op("add")


def count_of(layer, argument, value):
    """A number of units: a whole number above 0."""
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number <= 0 or isinstance(value, bool):
        raise ValueError(f"Received an invalid value for `{argument}`, expected a positive integer. Received: {argument}={value!r} "
                         f"of {layer}")
    return number


class Dense(Layer):
    """activation(inputs · kernel + bias), over the last axis.

    units: the outputs' last extent; activation: a name, a function or None; use_bias; kernel_initializer, bias_initializer: names or
    functions; kernel_regularizer, bias_regularizer: functions of the variable; kernel_constraint, bias_constraint: of its value.
    Inputs: floating, (…, inputs), at least two axes. Outputs: (…, units).
    Errors: ValueError for units that are no whole number above 0, and for inputs of another last extent than the first.
    """

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, **kwargs):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.units = count_of(type(self).__name__, "units", units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = initializers.get(kernel_initializer), initializers.get(bias_initializer)
        self.kernel_regularizer, self.bias_regularizer = regularizers.get(kernel_regularizer), regularizers.get(bias_regularizer)
        self.kernel_constraint, self.bias_constraint = constraints.get(kernel_constraint), constraints.get(bias_constraint)
        self._active = None if self.activation is activations.linear else self.activation
        self.bias = None
        self.input_spec = InputSpec(min_ndim=2)
        self.supports_masking = True

    def build(self, input_shape):
        last = TensorShape(input_shape)[-1]
        if last is None:
            raise ValueError("The last dimension of the inputs to a Dense layer should be defined. Found None. Full input shape "
                             f"received: {tuple(input_shape)}")
        self.kernel = self.add_weight(name="kernel", shape=(last, self.units), initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.units,), initializer=self.bias_initializer,
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)
        self.input_spec = InputSpec(min_ndim=2, axes={-1: last})
        self.built = True

    def call(self, inputs):
        outputs = _matmul(inputs, self.kernel) if inputs.ndim == 2 else linalg.tensordot(inputs, self.kernel, 1)
        if self.bias is not None:
            outputs = _add(outputs, self.bias)
        return outputs if self._active is None else self._active(outputs)

    def compute_output_shape(self, input_shape):
        return TensorShape((*as_shape(input_shape)[:-1], self.units))

    def get_config(self):
        return {**super().get_config(), "units": self.units, **with_weights_config(self)}


def with_weights_config(layer, names=("kernel", "bias")):
    """The part of a config that tells of activation, bias, and the variables' initializers, regularizers and constraints."""
    config = {"activation": activations.serialize(layer.activation), "use_bias": layer.use_bias}
    for name in names:
        for kind, module in (("initializer", initializers), ("regularizer", regularizers), ("constraint", constraints)):
            config[f"{name}_{kind}"] = module.serialize(getattr(layer, f"{name}_{kind}"))
    return config
