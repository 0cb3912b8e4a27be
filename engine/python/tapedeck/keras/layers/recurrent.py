"""Recurrent layers: RNN of any cell, and SimpleRNN, LSTM and GRU, which are one op where their cell is an ordinary one."""
from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.arguments import having
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extent
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._core.trackable import Trackable
from tapedeck.keras import activations
from tapedeck.keras.layers import recurrent_cells as cells
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.weights import described
from tapedeck.keras.utils.objects import serialize_keras_object

_where, _reverse, _expand = _op("where"), _op("reverse"), _op("expand_dims")


def _chosen(mask, new, old):
    """new where the mask, (batch,), is true, else old."""
    return _where(_op("reshape")(mask, [-1] + [1] * (new.ndim - 1)), new, old)


def run_steps(step, inputs, states, mask=None, go_backwards=False, zero_output_for_mask=False):
    """Calls step(inputs, states) → (output, states) for each step, inputs being lists with the time first.

    inputs: a list of tensors (or of structures of them), one for each step; mask: a list of (batch,) bools, or None. Where it is
    False the states stay, and the output is the one before, at first zeros; zeros always with zero_output_for_mask.
    Returns: (the outputs in the order of the steps, the states after the last).
    """
    order = range(len(inputs))
    outputs, before = [], None
    for time in reversed(order) if go_backwards else order:
        output, after = step(inputs[time], states)
        if mask is not None:
            runs = mask[time]
            if before is None or zero_output_for_mask:
                before = nest.map_structure(_op("zeros_like"), output) if nest.is_nested(output) else _op("zeros_like")(output)
            output = nest.map_structure(lambda new, old: _chosen(runs, new, old), output, before) if nest.is_nested(
                output) else _chosen(runs, output, before)
            after = cells.map_states(lambda new, old: _chosen(runs, new, old), after, states)
            before = output
        states = after
        outputs.append(output)
    return outputs, states


class _KeptStates(Trackable):
    """The states of a stateful layer between two batches: variables, which checkpoints keep and which are not weights."""

    def __init__(self, states):
        self.states = cells.map_states(lambda state: _engine.Variable(state, trainable=False, name="rnn_state"), states)

    def fits(self, states):
        """Whether they have the shapes of these."""
        return [kept.shape for kept in nest.flatten(self.states)] == [state.shape for state in nest.flatten(states)]

    def assign(self, states):
        """Gives them these values."""
        for kept, state in zip(nest.flatten(self.states), nest.flatten(states)):
            kept.assign(state)


@public("keras.layers.RNN")
class RNN(Layer):
    """A cell, step by step through sequences.

    cell: an object with call(inputs, states) → (output, states), state_size and maybe output_size and get_initial_state(batch_size),
    or a list of such, which are stacked. return_sequences: the outputs of all steps, not of the last alone; return_state: the last
    states after them; go_backwards: from the last step to the first, outputs in that order; stateful: a batch begins with the states
    that the one before left, which checkpoints keep; zero_output_for_mask: where the mask is False outputs are zeros, not the
    output before; time_major: sequences are (time, batch, …); unroll is taken, and changes nothing: steps are run one by one.
    Inputs: (batch, time, …); initial_state: a list of tensors, one for each state; mask: (batch, time), bool: where it is False the
    states stay as they were; constants: tensors that the cell's call takes as `constants`.
    Returns: (batch, units), (batch, time, units) with return_sequences; with return_state a tuple of it and the states.
    Errors: ValueError for a cell without call or state_size, and for a stateful layer that gets another batch size.
    """

    def __init__(self, cell, return_sequences=False, return_state=False, go_backwards=False, stateful=False, unroll=False,
                 zero_output_for_mask=False, time_major=False, **kwargs):
        if isinstance(cell, (list, tuple)):
            cell = cells.StackedRNNCells(cell, dtype=kwargs.get("dtype"))
        if not callable(getattr(cell, "call", cell if callable(cell) else None)):
            raise ValueError(f"Argument `cell` should have a `call` method. Received: cell={cell}")
        if not hasattr(cell, "state_size"):
            raise ValueError("The RNN cell should have a `state_size` attribute (single integer or list of integers, one integer per RNN "
                             f"state). Received: cell={cell}")
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self.stateful, self.unroll, self.time_major = stateful, unroll, time_major
        self.zero_output_for_mask = zero_output_for_mask
        self.supports_masking = True
        vars(self)["_kept"], vars(self)["_begins_anew"] = None, False

    @property
    def states(self):
        """A stateful layer's states as it keeps them between batches, a list of variables; None before the first."""
        return None if self._kept is None else list(self._kept.states)

    @property
    def state_size(self):
        """How wide the cell's states are, as a list."""
        return cells.sizes_of(self.cell)

    def build(self, input_shape):
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        shape = as_shape(input_shape)
        if len(shape) < 3:
            raise ValueError(f"Input 0 of layer \"{self.name}\" is incompatible with the layer: expected min_ndim=3, found "
                             f"ndim={len(shape)}. Full shape received: {tuple(shape)}")
        batch = shape[1 if self.time_major else 0]
        cells.build_cell(self.cell, TensorShape((batch, *shape[2:])))
        if self.stateful and batch is None:
            raise ValueError("When using `stateful=True` in a RNN, the batch size must be static. Found dynamic batch size: "
                             f"sequence.shape={tuple(shape)}")
        self.built = True

    def get_initial_state(self, batch_size):
        """The states before the first step: a list."""
        return cells.first_states(self.cell, batch_size, self._dtype)

    def reset_states(self, states=None):
        """A stateful layer's next batch begins anew: from zeros, or from these states."""
        if states is not None:
            self._keep(cells.constant_states(cells.as_states(states), self._dtype))
        elif self._kept is not None:
            self._kept.assign(cells.map_states(_op("zeros_like"), self.states))
            vars(self)["_begins_anew"] = True

    def _keep(self, states):
        """Makes them the states of the next batch."""
        vars(self)["_begins_anew"] = False
        if self._kept is None or not self._kept.fits(states):
            vars(self)["_kept"] = self._track("kept_states", _KeptStates(states))
        else:
            self._kept.assign(states)

    reset_state = reset_states

    def compute_mask(self, inputs, mask=None):
        flat = nest.flatten(mask) if mask is not None else [None]
        kept = flat[0] if self.return_sequences else None
        return [kept, *(None for _ in nest.flatten(self.state_size))] if self.return_state else kept

    def compute_output_shape(self, input_shape, initial_state_shape=None):
        if isinstance(input_shape, list) and input_shape and isinstance(input_shape[0], (list, tuple, TensorShape)):
            input_shape = input_shape[0]
        shape = as_shape(input_shape)
        batch, time = (shape[1], shape[0]) if self.time_major else (shape[0], shape[1])
        width = cells.output_size_of(self.cell)
        width = [width] if isinstance(width, int) else list(width)
        output = TensorShape((batch, *width))
        if self.return_sequences:
            output = TensorShape((time, batch, *width) if self.time_major else (batch, time, *width))
        if not self.return_state:
            return output
        states = [[TensorShape((batch, each)) for each in size] if isinstance(size, (list, tuple)) else TensorShape((batch, size))
                  for size in self.state_size]
        return (output, *states)

    def call(self, sequences, initial_state=None, mask=None, training=False, constants=None):
        if isinstance(sequences, (list, tuple)):
            if not sequences:
                raise ValueError(f"{self.name}: sequences is empty; needs a tensor, and states behind it where there are some")
            sequences, initial_state = sequences[0], list(sequences[1:]) or initial_state
        if isinstance(mask, (list, tuple)):
            mask = mask[0]
        if having(sequences, f"{self.name}: sequences", "ndim", "tensor").ndim < 3:
            raise ValueError(f"Input 0 of layer \"{self.name}\" is incompatible with the layer: expected min_ndim=3, found "
                             f"ndim={sequences.ndim}. Full shape received: {tuple(sequences.shape)}")
        if mask is not None:
            mask = _engine.convert_to_tensor(mask, "bool")
            if mask.ndim == 3 and mask.shape[2] == 1:
                mask = _op("squeeze")(mask, [2])
        batch = extent(sequences, 1 if self.time_major else 0)
        states = self._states_for(initial_state, batch)
        fused = self._fused(sequences, states, mask, training) if constants is None else None
        last, outputs, states = fused or self._by_steps(sequences, states, mask, training, constants)
        cells.forget_choices(self.cell)
        if self.stateful:
            self._keep(states)
        output = outputs if self.return_sequences else last
        return (output, *states) if self.return_state else output

    def _states_for(self, given, batch):
        if given is None:
            if not self.stateful:
                return self.get_initial_state(batch)
            if self._kept is None or self._begins_anew and nest.flatten(self.states)[0].shape[0] != batch:
                self._keep(self.get_initial_state(batch))  # before they are read: a restoration may fill them
            known = nest.flatten(self.states)[0].shape[0]
            if known != batch:
                raise ValueError("If an RNN is stateful, the batch size of the input sequences must be the same as the batch size of the "
                                 f"initial state. \n- Expected batch size: {known}\n- Received batch size: {batch}")
            return cells.map_states(lambda state: state.read_value(), self.states)
        given = cells.as_states(given)
        if len(given) != len(self.state_size):
            raise ValueError(f"{type(self).__name__}: initial_state has {len(given)} tensors; its cell has {len(self.state_size)} states")
        return cells.constant_states(given, self._dtype)

    def _by_steps(self, sequences, states, mask, training, constants):
        """(last output, outputs or None, states), the cell called step by step."""
        axis = 0 if self.time_major else 1
        more = {} if constants is None else {"constants": cells.as_states(constants)}
        masks = None if mask is None else _op("unstack")(mask, axis=axis)

        def step(inputs, before):
            return cells.call_cell(self.cell, inputs, before, training, more)

        outputs, states = run_steps(step, _op("unstack")(sequences, axis=axis), states, masks, self.go_backwards,
                                    self.zero_output_for_mask)
        if not outputs:
            width = cells.output_size_of(self.cell)
            width = [width] if isinstance(width, int) else list(width)
            batch = extent(sequences, 1 - axis)
            zeros = _op("zeros")
            shape = [0, batch, *width] if self.time_major else [batch, 0, *width]
            return zeros([batch, *width], sequences.dtype), zeros(shape, sequences.dtype), states
        return outputs[-1], _op("stack")(outputs, axis) if self.return_sequences else None, states

    def _fused(self, sequences, states, mask, training):
        """The same as one op, or None where the cell is none of those that there are ops for."""
        return None

    def get_config(self):
        return {**super().get_config(), **self._own_config(), "cell": serialize_keras_object(self.cell)}

    def _own_config(self):
        return described(self, "return_sequences", "return_state", "go_backwards", "stateful", "unroll", "zero_output_for_mask",
                         "time_major")

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        return cls(cells.deserialized(config.pop("cell"), custom_objects), **config)


class _CellLayer(RNN):
    """A recurrent layer with a cell of its own."""

    _cell_class = _op_name = None

    def _make(self, cell_arguments, kwargs):
        own = {name: kwargs.pop(name) for name in ("return_sequences", "return_state", "go_backwards", "stateful", "unroll",
                                                   "zero_output_for_mask", "time_major") if name in kwargs}
        for name in ("implementation", "use_cudnn"):
            kwargs.pop(name, None)
        if kwargs.get("dtype") is not None:
            cell_arguments["dtype"] = kwargs["dtype"]
        cell_arguments["trainable"] = kwargs.get("trainable", True)
        more = {name: kwargs.pop(name) for name in (*cells.WEIGHT_ARGUMENTS, "dropout", "recurrent_dropout", "seed")
                if name in kwargs}
        super().__init__(self._cell_class(**cell_arguments, **more), **own, **kwargs)

    def _fused(self, sequences, states, mask, training):
        cell = self.cell
        if (not self._is_ordinary(cell) or sequences.ndim != 3 or training and cell.recurrent_dropout
                or len(states) != len(self.state_size) or type(cell) is not self._cell_class):
            return None
        if training and cell.dropout:
            axis = 0 if self.time_major else 1
            sequences = sequences * _expand(cell.get_dropout_mask(_op("gather")(sequences, 0, axis=axis)), axis)
        bias = cell.bias
        if bias is None:
            bias = _op("zeros")(list(cell._bias_shape()), cell._dtype)
        found = _engine.op_function(self._op_name)(
            sequences, *states, cell.kernel, cell.recurrent_kernel, bias, [] if mask is None else [mask], time_major=self.time_major,
            reverse=self.go_backwards, **self._op_arguments(cell))
        outputs, states = found[0], list(found[1:1 + len(states)])
        last = states[0]
        if mask is not None:
            outputs, last = self._masked_outputs(outputs, last, mask)
        if self.go_backwards and self.return_sequences:
            outputs = _reverse(outputs, [0 if self.time_major else 1])
        return last, outputs, states

    def _masked_outputs(self, outputs, last, mask):
        """The op's outputs are the states. A layer's are zeros before the first step that runs, and with zero_output_for_mask at
        every one that does not."""
        axis = 0 if self.time_major else 1
        shown = mask
        if not self.zero_output_for_mask:
            shown = _op("cumsum")(_op("cast")(mask, "int32"), axis, reverse=self.go_backwards) > 0
        outputs = _where(_expand(shown, -1), outputs, _op("zeros_like")(outputs))
        if mask.shape[axis]:
            at = 0 if self.go_backwards else mask.shape[axis] - 1
            last = _op("gather")(outputs, at, axis=axis)
        return outputs, last

    def _op_arguments(self, cell):
        return {}

    @staticmethod
    def _is_ordinary(cell):
        """Whether the op has the cell's activations."""
        return cell.activation is activations.tanh and cell.recurrent_activation is activations.sigmoid

    def __getattr__(self, name):
        # What the cell was made with is the layer's, too: units, dropout, kernel_initializer …
        cell = vars(self).get("cell") if not name.startswith("_") else None
        if cell is not None and name in cell._names:
            return getattr(cell, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def get_config(self):
        return {**Layer.get_config(self), **self._own_config(), **described(self.cell, *self.cell._names)}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)


_SHARED_DOC = """
    use_bias; kernel_initializer, recurrent_initializer, bias_initializer, and likewise regularizers and constraints; dropout,
    recurrent_dropout: the share of inputs and of states that are set to zero in training, chosen once for a sequence; seed; the other
    arguments, inputs and results are RNN's. Inputs are (batch, time, inputs).
    Errors: ValueError for units that are not an integer above 0, and for inputs without three axes.
    """


@public("keras.layers.SimpleRNN")
class SimpleRNN(_CellLayer):
    __doc__ = """activation(inputs · kernel + state · recurrent_kernel + bias), step by step.

    units: how wide the state and the outputs are; activation: a name, a function or None;""" + _SHARED_DOC

    _cell_class, _op_name = cells.SimpleRNNCell, "simple_rnn"

    def __init__(self, units, activation="tanh", use_bias=True, kernel_initializer="glorot_uniform",
                 recurrent_initializer="orthogonal", bias_initializer="zeros", **kwargs):
        self._make(dict(units=units, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                        recurrent_initializer=recurrent_initializer, bias_initializer=bias_initializer), kwargs)

    @staticmethod
    def _is_ordinary(cell):
        return cell.activation in (activations.tanh, activations.relu)

    def _op_arguments(self, cell):
        return {"activation": "tanh" if cell.activation is activations.tanh else "relu"}


@public("keras.layers.LSTM")
class LSTM(_CellLayer):
    __doc__ = """Long short-term memory: i, f, o = recurrent_activation(x · kernel + h · recurrent_kernel + bias),
    c = f · c + i · activation(…), h = o · activation(c) (Hochreiter and Schmidhuber 1997). The states are h and c.

    units: how wide the states and the outputs are; activation, recurrent_activation: names or functions; unit_forget_bias: the bias
    of the gate f begins at 1;""" + _SHARED_DOC

    _cell_class, _op_name = cells.LSTMCell, "lstm"

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
                 unit_forget_bias=True, **kwargs):
        self._make(dict(units=units, activation=activation, recurrent_activation=recurrent_activation, use_bias=use_bias,
                        kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer,
                        bias_initializer=bias_initializer, unit_forget_bias=unit_forget_bias), kwargs)


@public("keras.layers.GRU")
class GRU(_CellLayer):
    __doc__ = """Gated recurrent units: z, r = recurrent_activation(x · kernel + h · recurrent_kernel + bias),
    h = z · h + (1 − z) · activation(…) (Cho et al. 2014, arXiv:1406.1078).

    units: how wide the state and the outputs are; activation, recurrent_activation: names or functions; reset_after: as of
    GRUCell;""" + _SHARED_DOC

    _cell_class, _op_name = cells.GRUCell, "gru"

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
                 reset_after=True, **kwargs):
        self._make(dict(units=units, activation=activation, recurrent_activation=recurrent_activation, use_bias=use_bias,
                        kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer,
                        bias_initializer=bias_initializer, reset_after=reset_after), kwargs)

    def _op_arguments(self, cell):
        return {"reset_after": bool(cell.reset_after)}
