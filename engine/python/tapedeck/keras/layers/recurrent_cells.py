"""Cells: one step of a recurrent layer each."""
from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._initializers import get as get_initializer
from tapedeck._nn import functions as nn
from tapedeck.keras import activations
from tapedeck.keras.layers import calls
from tapedeck.keras.layers.base import as_shape, call_form, Layer
from tapedeck.keras.layers.core import count_of
from tapedeck.keras.layers.weights import described, keep_weight_arguments
from tapedeck.keras.utils.objects import deserialize_keras_object, serialize_keras_object

_matmul, _add, _multiply, _split, _zeros = _op("matmul"), _op("add"), _op("multiply"), _op("split"), _op("zeros")
WEIGHT_ARGUMENTS = tuple(f"{which}_{kind}" for kind in ("initializer", "regularizer", "constraint")
                         for which in ("kernel", "recurrent", "bias"))


def as_states(value):
    """States as a list: one tensor is a list of it."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def sizes_of(cell):
    """The cell's state_size as a list, one entry for each state."""
    return as_states(cell.state_size)


def _extents(size):
    return [size] if isinstance(size, int) else [int(each) for each in size]


def first_states(cell, batch_size, dtype):
    """The states before the first step: what the cell's get_initial_state gives, else zeros."""
    if getattr(cell, "get_initial_state", None) is not None:
        return as_states(cell.get_initial_state(batch_size=batch_size))

    def zeros(size):
        if isinstance(size, (list, tuple)) and not isinstance(size, TensorShape):
            return [zeros(each) for each in size]
        return _zeros([batch_size, *_extents(size)], dtype)

    return [zeros(size) for size in sizes_of(cell)]


class DropoutMasks:
    """What a cell multiplies its inputs and states with in training: chosen once for all steps of a sequence."""

    _input_mask = _state_mask = None

    def get_dropout_mask(self, step_input):
        """The inputs' choices; None where `dropout` is 0. They stay until reset_dropout_mask()."""
        if self.dropout and self._input_mask is None:
            vars(self)["_input_mask"] = self._choices(step_input, self.dropout, 0)
        return self._input_mask

    def get_recurrent_dropout_mask(self, step_input):
        """The same for the state and `recurrent_dropout`."""
        if self.recurrent_dropout and self._state_mask is None:
            vars(self)["_state_mask"] = self._choices(step_input, self.recurrent_dropout, 1)
        return self._state_mask

    def _choices(self, like, rate, number):
        return nn.dropout(_op("ones_like")(like), rate=rate, seed=None if self.seed is None else self.seed + number)

    def reset_dropout_mask(self):
        """The next step chooses anew."""
        vars(self)["_input_mask"] = None

    def reset_recurrent_dropout_mask(self):
        """The next step chooses anew."""
        vars(self)["_state_mask"] = None

    def _disturbed(self, inputs, state, training):
        """(inputs, state), multiplied with the choices in training."""
        if training and self.dropout:
            inputs = _multiply(inputs, self.get_dropout_mask(inputs))
        if training and self.recurrent_dropout:
            state = _multiply(state, self.get_recurrent_dropout_mask(state))
        return inputs, state


def forget_choices(cell):
    """Ends a sequence: the cell, and those inside it, choose anew for the next one."""
    for each in getattr(cell, "cells", [cell]):
        if isinstance(each, DropoutMasks):
            each.reset_dropout_mask()
            each.reset_recurrent_dropout_mask()


class _Cell(DropoutMasks, Layer):
    """What the cells with a kernel, a recurrent kernel and a bias share."""

    _gates = 1
    _names = "units", "activation", "use_bias", *WEIGHT_ARGUMENTS, "dropout", "recurrent_dropout", "seed"

    def __init__(self, units, activation="tanh", use_bias=True, kernel_initializer="glorot_uniform",
                 recurrent_initializer="orthogonal", bias_initializer="zeros", kernel_regularizer=None, recurrent_regularizer=None,
                 bias_regularizer=None, kernel_constraint=None, recurrent_constraint=None, bias_constraint=None, dropout=0.0,
                 recurrent_dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.units = count_of(type(self).__name__, "units", units)
        self.activation, self.use_bias = activations.get(activation), use_bias
        keep_weight_arguments(self, dict(
            kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer, bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer, recurrent_regularizer=recurrent_regularizer, bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint, recurrent_constraint=recurrent_constraint, bias_constraint=bias_constraint))
        self.dropout, self.recurrent_dropout = min(1.0, max(0.0, dropout)), min(1.0, max(0.0, recurrent_dropout))
        self.seed, self.bias = seed, None
        self.output_size = self.units

    @property
    def state_size(self):
        """How wide the states are: a number, or a list with one for each."""
        return self.units

    def _bias_shape(self):
        return (self._gates * self.units,)

    def _bias_first(self):
        return self.bias_initializer

    def build(self, input_shape):
        last = as_shape(input_shape)[-1]
        if last is None:
            raise ValueError(f"{type(self).__name__}: the last extent of the inputs is not known: {tuple(input_shape)}")
        self.kernel = self.add_weight(name="kernel", shape=(last, self._gates * self.units), initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel", shape=(self.units, self._gates * self.units), initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer, constraint=self.recurrent_constraint)
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=self._bias_shape(), initializer=self._bias_first(),
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)
        self.built = True

    def get_initial_state(self, batch_size=None):
        """The states before the first step: a list of zeros, (batch_size, units) each."""
        return [_zeros([batch_size, self.units], self._dtype) for _ in sizes_of(self)]

    def compute_output_shape(self, input_shape):
        return TensorShape((as_shape(input_shape)[0], self.units))

    def get_config(self):
        return {**super().get_config(), **described(self, *self._names)}


@public("keras.layers.SimpleRNNCell")
class SimpleRNNCell(_Cell):
    """One step of SimpleRNN: activation(inputs · kernel + state · recurrent_kernel + bias).

    Inputs: (batch, inputs); states: (batch, units), or a list of it. Returns: (output, [state]), both the same.
    Errors: ValueError for units that are not an integer above 0.
    """

    def call(self, sequence, states, training=False):
        nested = isinstance(states, (list, tuple))
        inputs, state = self._disturbed(sequence, as_states(states)[0], training)
        output = _add(_matmul(inputs, self.kernel), _matmul(state, self.recurrent_kernel))
        if self.bias is not None:
            output = _add(output, self.bias)
        output = self.activation(output)
        return output, [output] if nested else output


@public("keras.layers.LSTMCell")
class LSTMCell(_Cell):
    """One step of LSTM. The kernels' columns are those of the gates i, f, the candidate, and o.

    unit_forget_bias: the bias of the gate f begins at 1. Inputs: (batch, inputs); states: [h, c], (batch, units) each.
    Returns: (h, [h, c]). Errors: ValueError for units that are not an integer above 0.
    """

    _gates = 4
    _names = *_Cell._names, "recurrent_activation", "unit_forget_bias"

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
                 unit_forget_bias=True, **kwargs):
        super().__init__(units, activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
                         **_without_implementation(kwargs))
        self.recurrent_activation, self.unit_forget_bias = activations.get(recurrent_activation), unit_forget_bias

    @property
    def state_size(self):
        """[units, units]: h and c."""
        return [self.units, self.units]

    def _bias_first(self):
        if not self.unit_forget_bias:
            return self.bias_initializer

        def first(shape, dtype=None, **_):
            each = self.bias_initializer, get_initializer("ones"), self.bias_initializer
            parts = [make((units,), dtype=dtype) for make, units in zip(each, (self.units, self.units, 2 * self.units))]
            return _op("concat")(parts, 0)

        return first

    def call(self, inputs, states, training=False):
        inputs, h = self._disturbed(inputs, states[0], training)
        z = _add(_matmul(inputs, self.kernel), _matmul(h, self.recurrent_kernel))
        if self.bias is not None:
            z = _add(z, self.bias)
        i, f, candidate, o = _split(z, 4, 1)
        gate = self.recurrent_activation
        c = gate(f) * states[1] + gate(i) * self.activation(candidate)
        h = gate(o) * self.activation(c)
        return h, [h, c]


@public("keras.layers.GRUCell")
class GRUCell(_Cell):
    """One step of GRU. The kernels' columns are those of the gates z, r, and the candidate.

    reset_after: the gate r weighs the product with the state, and the bias is (2, 3·units), of the inputs and of the state; else r
    weighs the state itself. Inputs: (batch, inputs); states: (batch, units), or a list of it. Returns: (state, [state]).
    Errors: ValueError for units that are not an integer above 0.
    """

    _gates = 3
    _names = *_Cell._names, "recurrent_activation", "reset_after"

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
                 reset_after=True, **kwargs):
        super().__init__(units, activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
                         **_without_implementation(kwargs))
        self.recurrent_activation, self.reset_after = activations.get(recurrent_activation), reset_after

    def _bias_shape(self):
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def call(self, inputs, states, training=False):
        nested = isinstance(states, (list, tuple))
        before = as_states(states)[0]
        inputs, state = self._disturbed(inputs, before, training)
        of_inputs = of_state = None
        if self.bias is not None:
            of_inputs, of_state = _op("unstack")(self.bias, axis=0) if self.reset_after else (self.bias, None)
        from_x = _matmul(inputs, self.kernel)
        xz, xr, xh = _split(from_x if of_inputs is None else _add(from_x, of_inputs), 3, 1)
        gate = self.recurrent_activation
        if self.reset_after:
            from_h = _matmul(state, self.recurrent_kernel)
            hz, hr, hh = _split(from_h if of_state is None else _add(from_h, of_state), 3, 1)
            z = gate(xz + hz)
            candidate = self.activation(xh + gate(xr + hr) * hh)
        else:
            gates, last = _split(self.recurrent_kernel, [2 * self.units, self.units], 1)
            hz, hr = _split(_matmul(state, gates), 2, 1)
            z = gate(xz + hz)
            candidate = self.activation(xh + _matmul(gate(xr + hr) * state, last))
        h = z * before + (1 - z) * candidate
        return h, [h] if nested else h


def _without_implementation(kwargs):
    """`implementation` chose between ways of computing that gave the same numbers."""
    return {name: value for name, value in kwargs.items() if name != "implementation"}


@public("keras.layers.StackedRNNCells")
class StackedRNNCells(Layer):
    """Cells on top of each other: each one's output is the next one's input.

    cells: a list of cells. States: a list with each cell's own. Returns: (the last one's output, states).
    Errors: ValueError for a cell without call or state_size.
    """

    def __init__(self, cells, **kwargs):
        for cell in cells:
            if not callable(getattr(cell, "call", cell)):
                raise ValueError(f"All cells must have a `call` method. Received cell without a `call` method: {cell}")
            if not hasattr(cell, "state_size"):
                raise ValueError(f"All cells must have a `state_size` attribute. Received cell without a `state_size`: {cell}")
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self):
        """A list of the cells' own."""
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self):
        """That of the last cell."""
        return output_size_of(self.cells[-1])

    def get_initial_state(self, batch_size=None):
        """The states before the first step: a list with each cell's own."""
        found = []
        for cell in self.cells:
            states = first_states(cell, batch_size, self._dtype)
            found.append(states[0] if isinstance(cell.state_size, int) else states)
        return found

    def build(self, input_shape):
        shape = as_shape(input_shape)
        for cell in self.cells:
            build_cell(cell, shape)
            shape = TensorShape((shape[0], *_extents(output_size_of(cell))))
        self.built = True

    def call(self, inputs, states, training=False, **kwargs):
        after = []
        for cell, own in zip(self.cells, states):
            nested = isinstance(own, (list, tuple))
            inputs, own = call_cell(cell, inputs, as_states(own), training, kwargs)
            after.append(own if nested else own[0])
        return inputs, after

    def get_config(self):
        return {**super().get_config(), "cells": [serialize_keras_object(cell) for cell in self.cells]}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        cells = [deserialized(cell, custom_objects) for cell in config.pop("cells")]
        return cls(cells, **config)


def output_size_of(cell):
    """How wide the cell's output is."""
    size = getattr(cell, "output_size", None)
    return size if size is not None else sizes_of(cell)[0]


def deserialized(config, custom_objects=None):
    """The layer or cell of what serialize_keras_object gave; an object stays as it is."""
    return deserialize_keras_object(config, custom_objects) if isinstance(config, dict) else config


def build_layer(layer, *shapes):
    """Makes the variables of a layer inside another one, in its own scope, where it has none yet."""
    if layer.built:
        return
    outer, calls.current.layer = calls.current.layer, layer
    _engine.push_scope(layer._scope_text)
    try:
        layer.build(*shapes)
    finally:
        _engine.pop_scope()
        calls.current.layer = outer
    layer.built = True


def build_cell(cell, step_shape):
    """Makes a cell's variables where it is a layer that has none yet."""
    if isinstance(cell, Layer):
        build_layer(cell, step_shape)


def call_cell(cell, inputs, states, training, more):
    """(output, states as a list) of one step. A cell that is not a layer is called, or its call is."""
    if isinstance(cell, Layer):
        keywords = {**more, "training": training} if call_form(type(cell)).takes_training else more
        output, after = cell(inputs, states, **keywords)
    else:
        output, after = (cell if callable(cell) else cell.call)(inputs, states, **more)
    return output, as_states(after)


def map_states(function, *states):
    """A function of states, in their nested lists."""
    return nest.map_structure(function, *states)


def constant_states(states, dtype):
    """States as tensors of this dtype, in their nested lists."""
    def converted(value):
        value = _engine.convert_to_tensor(value)
        return value if dtype is None or value.dtype is dtype or not value.dtype.is_floating else _op("cast")(value, dtype)

    return [nest.map_structure(converted, each) if nest.is_nested(each) else converted(each) for each in states]
