"""Dense and other layers that are none of the families."""
import inspect

from tapedeck import _engine
from tapedeck._core import dtypes, nest
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._linalg import functions as linalg
from tapedeck._nn import functions as nn
from tapedeck.keras import activations
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.input_spec import InputSpec
from tapedeck.keras.layers.weights import described, keep_weight_arguments

_matmul, _add = _op("matmul"), _op("add")
WEIGHT_ARGUMENTS = ("kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer", "kernel_constraint",
                    "bias_constraint")


def count_of(layer, argument, value):
    """A number of units: an integer above 0."""
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number <= 0 or isinstance(value, bool):
        raise ValueError(f"Received an invalid value for `{argument}`, expected a positive integer. Received: {argument}={value!r} "
                         f"of {layer}")
    return number


@public("keras.layers.Dense")
class Dense(Layer):
    """activation(inputs · kernel + bias), over the last axis.

    units: the outputs' last extent; activation: a name, a function or None; use_bias; kernel_initializer, bias_initializer: names
    or functions; kernel_regularizer, bias_regularizer: functions of the variable; kernel_constraint, bias_constraint: of its value.
    Inputs: floating, (…, inputs), at least two axes. Outputs: (…, units).
    Errors: ValueError for units that are not an integer above 0, and for inputs of another last extent than the first.
    """

    _casts_integers = True

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, **kwargs):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.units = count_of(type(self).__name__, "units", units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        keep_weight_arguments(self, dict(
            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint, bias_constraint=bias_constraint))
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
        if not inputs.dtype.is_floating:  # integers, as of images
            inputs = _op("cast")(inputs, self.kernel.dtype)
        outputs = _matmul(inputs, self.kernel) if inputs.ndim == 2 else linalg.tensordot(inputs, self.kernel, 1)
        if self.bias is not None:
            outputs = _add(outputs, self.bias)
        return outputs if self._active is None else self._active(outputs)

    def compute_output_shape(self, input_shape):
        return TensorShape((*as_shape(input_shape).with_rank_at_least(2)[:-1], self.units))

    def get_config(self):
        return {**super().get_config(), **described(self, "units", "activation", "use_bias", *WEIGHT_ARGUMENTS)}


@public("keras.layers.EinsumDense")
class EinsumDense(Layer):
    """activation(einsum(equation, inputs, kernel) + bias).

    equation: of two operands, the inputs and the kernel: "abc,cd->abd"; an ellipsis covers the axes that it does not name.
    output_shape: the outputs' extents without the batch, None where an extent is that of the inputs; bias_axes: the letters of the
    outputs that the bias has, None for no bias. The others are those of Dense.
    Errors: ValueError for an equation that is none of two operands, or whose letters do not fit the shapes.
    """

    _casts_integers = True

    def __init__(self, equation, output_shape, activation=None, bias_axes=None, kernel_initializer="glorot_uniform",
                 bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, **kwargs):
        super().__init__(**kwargs)
        self.equation = equation
        self.partial_output_shape = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self.bias_axes, self.activation = bias_axes, activations.get(activation)
        keep_weight_arguments(self, dict(
            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint, bias_constraint=bias_constraint))
        self.bias = None

    def _letters(self, ndim):
        """The letters of inputs, kernel and outputs; axes that an ellipsis covers get letters of their own."""
        try:
            operands, outputs = self.equation.replace(" ", "").split("->")
            inputs, kernel = operands.split(",")
        except ValueError:
            raise ValueError(f"Invalid einsum equation '{self.equation}'. Equations must be in the form [X],[Y]->[Z], "
                             f"...[X],[Y]->...[Z],"
                             " or [X]...,[Y]->[Z]....") from None
        if "..." in inputs:
            free = [letter for letter in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if letter not in self.equation]
            extra = "".join(free[:max(ndim - len(inputs) + 3, 0)])
            inputs, outputs = inputs.replace("...", extra), outputs.replace("...", extra)
        if len(inputs) != ndim:
            raise ValueError(f"EinsumDense: equation '{self.equation}' has {len(inputs)} axes of inputs, they have {ndim}")
        return inputs, kernel, outputs

    def _shapes(self, input_shape):
        """(kernel's shape, bias' shape, outputs' shape)."""
        inputs, kernel, outputs = self._letters(len(input_shape))
        extents = dict(zip(inputs, input_shape))
        wanted = self.partial_output_shape
        behind = outputs.replace(inputs[0], "", 1)[-len(wanted):] if wanted else ""
        for letter, extent in zip(behind[::-1], wanted[::-1]):
            if extent is not None and extents.get(letter, extent) not in (extent, None):
                raise ValueError(f"EinsumDense: output_shape {wanted} gives '{letter}' of '{self.equation}' the extent {extent}; "
                                 f"the inputs {tuple(input_shape)} have {extents[letter]}")
            if extent is not None:
                extents[letter] = extent
        missing = [letter for letter in kernel if extents.get(letter) is None]
        if missing:
            raise ValueError(f"EinsumDense: the extent of '{missing[0]}' in the kernel of '{self.equation}' is not known; inputs "
                             f"are {tuple(input_shape)}, output_shape is {wanted}")
        bias = None
        if self.bias_axes:
            unknown = [letter for letter in self.bias_axes if letter not in outputs]
            if unknown:
                raise ValueError(f"Bias dimension '{unknown[0]}' was requested, but is not part of the output spec '{outputs}'")
            first = min(outputs.index(letter) for letter in self.bias_axes)
            bias = [extents[letter] if letter in self.bias_axes else 1 for letter in outputs[first:]]
        return [extents[letter] for letter in kernel], bias, TensorShape([extents.get(letter) for letter in outputs])

    def build(self, input_shape):
        kernel, bias, _ = self._shapes(TensorShape(input_shape))
        self.kernel = self.add_weight(name="kernel", shape=kernel, initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        if bias is not None:
            self.bias = self.add_weight(name="bias", shape=bias, initializer=self.bias_initializer,
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)
        self.built = True

    def call(self, inputs):
        outputs = linalg.einsum(self.equation, inputs, self.kernel)
        return self.activation(outputs if self.bias is None else _add(outputs, self.bias))

    def compute_output_shape(self, input_shape):
        return self._shapes(as_shape(input_shape))[2]

    def get_config(self):
        return {**super().get_config(), "output_shape": self.partial_output_shape,
                **described(self, "equation", "activation", "bias_axes", *WEIGHT_ARGUMENTS)}


@public("keras.layers.Embedding")
class Embedding(Layer):
    """Looks up rows of a table by index.

    input_dim: how many rows; output_dim: their length; mask_zero: 0 is not a row, and masked. embeddings_initializer, _regularizer,
    _constraint: of the table.
    Inputs: integers in [0, input_dim), any shape. Outputs: that shape and output_dim. Errors: OutOfRangeError for other
    numbers.
    """

    def __init__(self, input_dim, output_dim, embeddings_initializer="uniform", embeddings_regularizer=None,
                 embeddings_constraint=None, mask_zero=False, weights=None, **kwargs):
        input_length = kwargs.pop("input_length", None)
        activity = kwargs.pop("activity_regularizer", None)
        super().__init__(activity_regularizer=activity, **({"weights": weights} if weights is not None else {}), **kwargs)
        self.input_dim = count_of("Embedding", "input_dim", input_dim)
        self.output_dim = count_of("Embedding", "output_dim", output_dim)
        self.input_length, self.mask_zero = input_length, mask_zero
        self.supports_masking = mask_zero
        vars(self)["_autocast"] = False
        keep_weight_arguments(self, dict(
            embeddings_initializer=embeddings_initializer, embeddings_regularizer=embeddings_regularizer,
            embeddings_constraint=embeddings_constraint))

    def build(self, input_shape=None):
        self.embeddings = self.add_weight(
            name="embeddings", shape=(self.input_dim, self.output_dim), initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer, constraint=self.embeddings_constraint)
        self.built = True

    def call(self, inputs):
        inputs = _engine.convert_to_tensor(inputs)
        if not inputs.dtype.is_integer:
            inputs = _op("cast")(inputs, dtypes.int32)
        return nn.embedding_lookup(self.embeddings, inputs)

    def compute_mask(self, inputs, mask=None):
        return _op("not_equal")(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape).concatenate((self.output_dim,))

    def get_config(self):
        return {**super().get_config(), **described(
            self, "input_dim", "output_dim", "embeddings_initializer", "embeddings_regularizer", "embeddings_constraint",
            "mask_zero")}


@public("keras.layers.Activation")
class Activation(Layer):
    """A function of the inputs: a name, or a function."""

    def __init__(self, activation, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking, self.activation = True, activations.get(activation)

    def call(self, inputs):
        return self.activation(inputs)

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)

    def get_config(self):
        return {**super().get_config(), **described(self, "activation")}


@public("keras.layers.Identity")
class Identity(Layer):
    """The inputs."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs):
        return inputs

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)


@public("keras.layers.Lambda")
class Lambda(Layer):
    """A function of the inputs, as a layer. Variables that it uses are not the layer's.

    function: of the inputs, and of `mask` and `training` where it takes these; output_shape: a shape without the batch, or a
    function of the inputs' shape; mask: the outputs' mask, or a function of the inputs and their mask; arguments: further keyword
    arguments.
    """

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        super().__init__(**kwargs)
        if not callable(function):
            raise TypeError(f"Lambda: function is {function!r}; needs a function")
        self.function, self.arguments, self._output_shape, self.mask = function, arguments or {}, output_shape, mask
        if mask is not None:
            self.supports_masking = True
        try:
            taken = inspect.signature(function).parameters
        except (TypeError, ValueError):
            taken = ()
        vars(self)["_takes"] = [name for name in ("mask", "training") if name in taken]

    def call(self, inputs, mask=None, training=None):
        given = {name: value for name, value in (("mask", mask), ("training", training)) if name in self._takes}
        return self.function(inputs, **self.arguments, **given)

    def compute_mask(self, inputs, mask=None):
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def compute_output_shape(self, input_shape):
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return as_shape(self._output_shape(as_shape(input_shape)))
        first = nest.flatten(as_shape(input_shape))[0]
        return TensorShape((first[0], *self._output_shape))

    def get_config(self):
        return {**super().get_config(), "function": self.function, "output_shape": self._output_shape, "mask": self.mask,
                "arguments": dict(self.arguments)}


@public("keras.layers.Masking")
class Masking(Layer):
    """Masks the steps in which every value is mask_value, and sets them to 0. Inputs: (batch, steps, …)."""

    def __init__(self, mask_value=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking, self.mask_value = True, mask_value

    def compute_mask(self, inputs, mask=None):
        return _op("reduce_any")(_op("not_equal")(inputs, self.mask_value), axis=-1)

    def call(self, inputs):
        kept = _op("reduce_any")(_op("not_equal")(inputs, self.mask_value), axis=-1, keepdims=True)
        return inputs * _op("cast")(kept, inputs.dtype)

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)

    def get_config(self):
        return {**super().get_config(), **described(self, "mask_value")}
