"""tf.nn.rnn_cell: TensorFlow 1's cells. Each is a layer of tf.layers: its variables are those of the open tf.variable_scope."""
import collections

from tapedeck._core import context, nest
from tapedeck._core.arguments import having
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import is_late
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._nn import functions as nn
from tapedeck._variables.scopes import variable_scope
from tapedeck.keras import activations as _activations
from tapedeck.layers.base import Layer

_matmul, _concat, _split, _sigmoid, _zeros = _op("matmul"), _op("concat"), _op("split"), _op("sigmoid"), _op("zeros")
_tanh = _op("tanh")


@public("nn.rnn_cell.LSTMStateTuple", "contrib.rnn.LSTMStateTuple")
class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", "c h")):
    """The states of an LSTM: c and h."""

    __slots__ = ()

    @property
    def dtype(self):
        """The dtype of both. TypeError where they differ."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


def _zeros_of(size, batch_size, dtype):
    """Zeros in the form of a state_size: (batch_size, …) each."""
    if nest.is_nested(size) and not isinstance(size, TensorShape):
        return nest.map_structure(lambda each: _zeros_of(each, batch_size, dtype), size)
    extents = [int(each) for each in size] if isinstance(size, TensorShape) else [int(size)]
    return _zeros([batch_size if is_late(batch_size) else int(batch_size), *extents], dtype)


@public("nn.rnn_cell.RNNCell", "contrib.rnn.RNNCell")
class RNNCell(Layer):
    """The base of cells: called with (inputs, state), a cell returns (output, new state).

    A subclass says state_size and output_size, and computes in call(inputs, state).
    """

    def __call__(self, inputs, state, scope=None):
        """(output, new state). inputs: (batch, inputs); state: in the form of state_size, (batch, …) each; scope: the variable scope
        of a cell that has none yet, a name or a VariableScope."""
        return super().__call__(inputs, state, **({} if scope is None else {"scope": scope}))

    @property
    def state_size(self):
        """How wide the states are: a number, or a structure of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self):
        """How wide the output is."""
        raise NotImplementedError("Abstract method")

    def build(self, _):
        self.built = True

    def zero_state(self, batch_size, dtype):
        """Zeros in the form of state_size, (batch_size, …) each."""
        with context.name_scope(type(self).__name__ + "ZeroState"):
            return _zeros_of(self.state_size, batch_size, dtype)


class _OwnVariables(RNNCell):
    """A cell of the package: it makes its variables in build."""

    _opens_scope = False

    def __init__(self, activation, reuse, name):
        super().__init__(_reuse=reuse, name=name)
        self._activation = _activations.get(activation) if activation is not None else _tanh

    def _inputs_extent(self, inputs_shape):
        if len(inputs_shape) < 2:
            raise ValueError(f"{self.name}: inputs have shape {tuple(inputs_shape)}; needs (batch, values)")
        extent = inputs_shape[1]
        if extent is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        return int(extent)


@public("nn.rnn_cell.BasicRNNCell", "contrib.rnn.BasicRNNCell")
class BasicRNNCell(_OwnVariables):
    """activation([inputs, state] · kernel + bias).

    num_units; activation: a function, None for tanh; reuse: whether variables of the scope are taken. Variables: kernel
    (inputs + units, units) and bias.
    """

    def __init__(self, num_units, activation=None, reuse=None, name=None):
        super().__init__(activation, reuse, name)
        self._num_units = num_units

    state_size = output_size = property(lambda self: self._num_units, doc="How wide the state and the output are.")

    def build(self, inputs_shape):
        rows = self._inputs_extent(inputs_shape) + self._num_units
        self._kernel = self.add_variable("kernel", shape=[rows, self._num_units])
        self._bias = self.add_variable("bias", shape=[self._num_units], initializer="zeros")
        self.built = True

    def call(self, inputs, state):
        output = self._activation(_matmul(_concat([inputs, state], 1), self._kernel) + self._bias)
        return output, output


@public("nn.rnn_cell.GRUCell", "contrib.rnn.GRUCell")
class GRUCell(_OwnVariables):
    """A gated recurrent unit (Cho et al. 2014, arXiv:1406.1078): r, u = σ([x, h] · gates), h = u·h + (1 − u)·activation([x, r·h] · …).

    num_units; activation: None for tanh; kernel_initializer, bias_initializer: None for the scope's, and ones for the gates and zeros
    for the candidate. Variables: gates/kernel, gates/bias, candidate/kernel, candidate/bias.
    """

    def __init__(self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None):
        super().__init__(activation, reuse, name)
        self._num_units, self._kernel_initializer, self._bias_initializer = num_units, kernel_initializer, bias_initializer

    state_size = output_size = property(lambda self: self._num_units, doc="How wide the state and the output are.")

    def build(self, inputs_shape):
        units = self._num_units
        rows = self._inputs_extent(inputs_shape) + units
        self._gate_kernel = self.add_variable("gates/kernel", shape=[rows, 2 * units], initializer=self._kernel_initializer)
        self._gate_bias = self.add_variable("gates/bias", shape=[2 * units], initializer=self._bias_initializer or "ones")
        self._candidate_kernel = self.add_variable("candidate/kernel", shape=[rows, units], initializer=self._kernel_initializer)
        self._candidate_bias = self.add_variable("candidate/bias", shape=[units], initializer=self._bias_initializer or "zeros")
        self.built = True

    def call(self, inputs, state):
        gates = _sigmoid(_matmul(_concat([inputs, state], 1), self._gate_kernel) + self._gate_bias)
        r, u = _split(gates, 2, 1)
        candidate = self._activation(_matmul(_concat([inputs, r * state], 1), self._candidate_kernel) + self._candidate_bias)
        h = u * state + (1 - u) * candidate
        return h, h


class _LSTM(_OwnVariables):
    """What both cells of long short-term memory share: the form of their states."""

    def _c_and_h(self, state):
        if self._state_is_tuple:
            return state
        return _split(state, [self._num_units, int(state.shape[1]) - self._num_units], 1)

    def _state(self, c, h):
        return LSTMStateTuple(c, h) if self._state_is_tuple else _concat([c, h], 1)


@public("nn.rnn_cell.BasicLSTMCell", "contrib.rnn.BasicLSTMCell")
class BasicLSTMCell(_LSTM):
    """Long short-term memory (Zaremba et al. 2014, arXiv:1409.2329): i, j, f, o = [x, h] · kernel + bias,
    c = c·σ(f + forget_bias) + σ(i)·activation(j), h = activation(c)·σ(o).

    num_units; forget_bias; state_is_tuple: the state is an LSTMStateTuple, else c and h side by side; activation: None for tanh.
    Variables: kernel (inputs + units, 4·units) and bias.
    """

    def __init__(self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None):
        super().__init__(activation, reuse, name)
        self._num_units, self._forget_bias, self._state_is_tuple = num_units, forget_bias, state_is_tuple

    @property
    def state_size(self):
        """(num_units, num_units), an LSTMStateTuple; 2·num_units where state_is_tuple is False."""
        return LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units

    output_size = property(lambda self: self._num_units, doc="num_units.")

    def build(self, inputs_shape):
        rows = self._inputs_extent(inputs_shape) + self._num_units
        self._kernel = self.add_variable("kernel", shape=[rows, 4 * self._num_units])
        self._bias = self.add_variable("bias", shape=[4 * self._num_units], initializer="zeros")
        self.built = True

    def call(self, inputs, state):
        c, h = self._c_and_h(state)
        i, j, f, o = _split(_matmul(_concat([inputs, h], 1), self._kernel) + self._bias, 4, 1)
        c = c * _sigmoid(f + self._forget_bias) + _sigmoid(i) * self._activation(j)
        h = self._activation(c) * _sigmoid(o)
        return h, self._state(c, h)


@public("nn.rnn_cell.LSTMCell", "contrib.rnn.LSTMCell")
class LSTMCell(_LSTM):
    """Long short-term memory with peepholes and a projection (Sak et al. 2014, arXiv:1402.1128).

    num_units; use_peepholes: the gates see c, by the diagonals w_f_diag, w_i_diag and w_o_diag; cell_clip: c is cut to ±this;
    initializer: of the kernels; num_proj: how wide h is, by projection/kernel; proj_clip: h is cut to ±this; forget_bias;
    state_is_tuple; activation: None for tanh. num_unit_shards, num_proj_shards are taken, and change nothing.
    Variables: kernel, bias, and those named above.
    """

    def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None,
                 num_unit_shards=None, num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None,
                 name=None):
        super().__init__(activation, reuse, name)
        self._num_units, self._num_proj, self._use_peepholes = num_units, num_proj, use_peepholes
        self._cell_clip, self._proj_clip, self._initializer = cell_clip, proj_clip, initializer
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple

    @property
    def output_size(self):
        """num_proj where there is one, else num_units."""
        return self._num_proj or self._num_units

    @property
    def state_size(self):
        """(num_units, output_size), an LSTMStateTuple; their sum where state_is_tuple is False."""
        both = LSTMStateTuple(self._num_units, self.output_size)
        return both if self._state_is_tuple else sum(both)

    def build(self, inputs_shape):
        units, rows = self._num_units, self._inputs_extent(inputs_shape) + self.output_size
        self._kernel = self.add_variable("kernel", shape=[rows, 4 * units], initializer=self._initializer)
        self._bias = self.add_variable("bias", shape=[4 * units], initializer="zeros")
        if self._use_peepholes:
            self._w_f, self._w_i, self._w_o = (self.add_variable(f"w_{gate}_diag", shape=[units], initializer=self._initializer)
                                               for gate in "fio")
        if self._num_proj:
            self._projection = self.add_variable("projection/kernel", shape=[units, self._num_proj], initializer=self._initializer)
        self.built = True

    def call(self, inputs, state):
        before, h = self._c_and_h(state)
        i, j, f, o = _split(_matmul(_concat([inputs, h], 1), self._kernel) + self._bias, 4, 1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f * before, i + self._w_i * before
        c = _sigmoid(f) * before + _sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = _op("clip_by_value")(c, -self._cell_clip, self._cell_clip)
        h = _sigmoid(o + self._w_o * c if self._use_peepholes else o) * self._activation(c)
        if self._num_proj:
            h = _matmul(h, self._projection)
            if self._proj_clip is not None:
                h = _op("clip_by_value")(h, -self._proj_clip, self._proj_clip)
        return h, self._state(c, h)


class _Wrapper(RNNCell):
    """A cell around a cell."""

    def __init__(self, cell):
        super().__init__()
        if not hasattr(cell, "output_size") or not hasattr(cell, "state_size") or not callable(cell):
            raise TypeError("The parameter cell is not a RNNCell.")
        self._cell = cell

    state_size = property(lambda self: self._cell.state_size, doc="That of the cell inside.")
    output_size = property(lambda self: self._cell.output_size, doc="That of the cell inside.")

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        return self._around(inputs, state, scope)


@public("nn.rnn_cell.DropoutWrapper", "contrib.rnn.DropoutWrapper")
class DropoutWrapper(_Wrapper):
    """A cell with dropout of its inputs, states and outputs.

    cell; input_keep_prob, output_keep_prob, state_keep_prob: the shares that are kept, 1 for all; variational_recurrent: chosen once,
    at the first step, for all (Gal and Ghahramani 2016, arXiv:1512.05287), which needs dtype, and input_size where inputs are dropped;
    seed; dropout_state_filter_visitor: a function of a state that says which of its tensors are dropped; None for all but an LSTM's c.
    Errors: TypeError for a value that is not a cell; ValueError for shares outside of (0, 1].
    """

    def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent=False,
                 input_size=None, dtype=None, seed=None, dropout_state_filter_visitor=None):
        super().__init__(cell)
        self._keep = {"input": input_keep_prob, "state": state_keep_prob, "output": output_keep_prob}
        for name, share in self._keep.items():
            if not 0 <= float(share) <= 1:
                raise ValueError(f"Parameter {name}_keep_prob must be between 0 and 1: {float(share):g}")
        if variational_recurrent and dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        self._variational, self._seed = variational_recurrent, seed
        self._drops = dropout_state_filter_visitor or (lambda state: not isinstance(state, LSTMStateTuple) or LSTMStateTuple(False, True))
        vars(self)["_chosen"] = {}

    def _dropped(self, kind, value):
        share = float(self._keep[kind])
        if share >= 1:
            return value
        leaves = [self._dropped_one(kind, place, each, share) for place, each in enumerate(nest.flatten(value))]
        return nest.pack_sequence_as(value, leaves) if nest.is_nested(value) else leaves[0]

    def _dropped_one(self, kind, place, value, share):
        seed = None if self._seed is None else self._seed + 100 * ("input", "state", "output").index(kind) + place
        if not self._variational:
            return nn.dropout(value, rate=1 - share, seed=seed)
        key = kind, place
        if key not in self._chosen:
            self._chosen[key] = nn.dropout(_op("ones_like")(value), rate=1 - share, seed=seed)
        return value * self._chosen[key]

    def _around(self, inputs, state, scope):
        output, after = self._cell(self._dropped("input", inputs), state, scope=scope)
        if float(self._keep["state"]) < 1:
            after = self._state_dropped(after)
        return self._dropped("output", output), after

    def _state_dropped(self, state):
        if isinstance(state, (list, tuple)) and not isinstance(state, LSTMStateTuple):
            return type(state)(self._state_dropped(each) for each in state)
        which = self._drops(state)
        if isinstance(which, tuple):
            dropped = self._dropped("state", state)
            return type(state)(*(new if drops else old for drops, new, old in zip(which, dropped, state)))
        return self._dropped("state", state) if which else state


@public("nn.rnn_cell.ResidualWrapper", "contrib.rnn.ResidualWrapper")
class ResidualWrapper(_Wrapper):
    """A cell whose inputs are added to its output. residual_fn: a function of (inputs, output) instead of their sum.

    Errors: TypeError for a value that is not a cell; ValueError where inputs and output differ in shape.
    """

    def __init__(self, cell, residual_fn=None):
        super().__init__(cell)
        self._residual_fn = residual_fn

    def _around(self, inputs, state, scope):
        output, after = self._cell(inputs, state, scope=scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, output), after

        def added(one, other):
            if tuple(one.shape) != tuple(other.shape):
                raise ValueError(f"ResidualWrapper: inputs of shape {tuple(one.shape)} and output of shape {tuple(other.shape)} differ")
            return one + other

        return (nest.map_structure(added, inputs, output) if nest.is_nested(inputs) else added(inputs, output)), after


@public("nn.rnn_cell.DeviceWrapper", "contrib.rnn.DeviceWrapper")
class DeviceWrapper(_Wrapper):
    """A cell that runs on a device: "/cpu:0"."""

    def __init__(self, cell, device):
        super().__init__(cell)
        self._device = device

    def _around(self, inputs, state, scope):
        with context.device(self._device):
            return self._cell(inputs, state, scope=scope)


@public("nn.rnn_cell.MultiRNNCell", "contrib.rnn.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Cells on top of each other. cells: a list; state_is_tuple: the state is a tuple of theirs, else all side by side.

    Variables are those of the cells, in the scopes cell_0, cell_1, …
    Errors: ValueError for no cells, and where a cell's state is a tuple and state_is_tuple is False; TypeError for a value that is not a
    list.
    """

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        for number, cell in enumerate(cells):
            having(cell, f"MultiRNNCell: cells[{number}]", "state_size", "cell")
        self._cells, self._state_is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError("Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: "
                             f"{[cell.state_size for cell in cells]}")

    @property
    def state_size(self):
        """The cells' own, as a tuple; their sum where state_is_tuple is False."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self):
        """That of the last cell."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size, dtype):
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs, state):
        if self._state_is_tuple:
            if not isinstance(state, (list, tuple)) or len(state) != len(self._cells):
                raise ValueError(f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}")
            states = state
        else:
            states = _split(state, [cell.state_size for cell in self._cells], 1)
        after = []
        for number, (cell, own) in enumerate(zip(self._cells, states)):
            with variable_scope(f"cell_{number}"):
                inputs, own = cell(inputs, own)
            after.append(own)
        return inputs, tuple(after) if self._state_is_tuple else _concat(after, 1)
