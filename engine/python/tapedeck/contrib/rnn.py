"""tf.contrib.rnn: the cells and loops of tf.nn, and an LSTM that is one op over a whole sequence."""
from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.arguments import sequence
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._nn.rnn_cells import LSTMStateTuple
from tapedeck._nn.rnn_loops import bidirectional_dynamic_rnn as _bidirectional
from tapedeck._variables.scopes import variable_scope
from tapedeck.layers.base import Layer as _Layer


@public("contrib.rnn.LSTMBlockFusedCell")
class LSTMBlockFusedCell(_Layer):
    """An LSTM over a whole sequence as one op, with BasicLSTMCell's variables and numbers.

    num_units; forget_bias: added to the gate f. Called with inputs, (time, batch, inputs), or a list of (batch, inputs);
    initial_state: (c, h), or None for zeros of `dtype`; sequence_length: (batch,), integers: past its length a sequence's outputs
    are zeros, and its state stays. Variables: kernel (inputs + units, 4·units) and bias.
    Returns: (outputs, (c, h)), outputs as inputs are.
    Errors: ValueError for neither an initial_state nor a dtype, and for inputs without three axes.
    """

    _opens_scope = False

    def __init__(self, num_units, forget_bias=1.0, reuse=None, name="lstm_fused_cell"):
        super().__init__(_reuse=reuse, name=name)
        self._num_units, self._forget_bias = num_units, forget_bias

    num_units = property(lambda self: self._num_units, doc="How wide c and h are.")

    def build(self, input_shape):
        self._kernel = self.add_variable("kernel", shape=[int(input_shape[2]) + self._num_units, 4 * self._num_units])
        self._bias = self.add_variable("bias", shape=[4 * self._num_units], initializer="zeros")
        self.built = True

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        """(outputs, (c, h))."""
        listed = isinstance(inputs, (list, tuple))
        inputs = _op("stack")(list(inputs), 0) if listed else _engine.convert_to_tensor(inputs)
        if inputs.ndim != 3:
            raise _engine.InvalidArgumentError(
                f"LSTMBlockFusedCell: inputs have shape {tuple(inputs.shape)}; need 3 axes, time, batch and inputs")
        if initial_state is None and dtype is None:
            raise _engine.InvalidArgumentError("Either initial_state or dtype needs to be specified")
        outputs, state = super().__call__(inputs, initial_state, dtype, sequence_length, **({} if scope is None else {"scope": scope}))
        return (_op("unstack")(outputs, axis=0) if listed else outputs), state

    def call(self, inputs, initial_state=None, dtype=None, sequence_length=None):
        units, batch = self._num_units, inputs.shape[1]
        if initial_state is None:
            c = h = _op("zeros")([batch, units], dtypes.as_dtype(dtype))
        else:
            c, h = initial_state
        i, candidate, f, o = _op("split")(self._kernel, 4, 1)
        kernel, recurrent = _op("split")(_op("concat")([i, f, candidate, o], 1), [inputs.shape[2], units], 0)
        i, candidate, f, o = _op("split")(self._bias, 4, 0)
        bias = _op("concat")([i, f + self._forget_bias, candidate, o], 0)
        mask = []
        if sequence_length is not None:
            steps = _op("range")(inputs.shape[0], dtype="int32")
            mask = [_op("reshape")(steps, [-1, 1]) < _op("cast")(_engine.convert_to_tensor(sequence_length), "int32")]
        outputs, h, c, _ = _engine.op_function("lstm")(inputs, h, c, kernel, recurrent, bias, mask, time_major=True)
        if mask:
            outputs = _op("where")(_op("expand_dims")(mask[0], -1), outputs, _op("zeros_like")(outputs))
        return outputs, LSTMStateTuple(c, h)


@public("contrib.rnn.stack_bidirectional_dynamic_rnn", in_errors=True)
def stack_bidirectional_dynamic_rnn(cells_fw, cells_bw, inputs, initial_states_fw=None, initial_states_bw=None, dtype=None,
                                    sequence_length=None, parallel_iterations=None, time_major=False, scope=None):
    """Layers of bidirectional_dynamic_rnn, each on both outputs of the one below, side by side; their scopes are cell_0, cell_1, …

    Returns: (outputs, states of cells_fw, states of cells_bw). Errors: ValueError where the lists of cells are empty or differ in length.
    """
    cells_fw, cells_bw = sequence(cells_fw, "cells_fw"), sequence(cells_bw, "cells_bw")
    if not cells_fw or len(cells_fw) != len(cells_bw):
        raise _engine.InvalidArgumentError(f"stack_bidirectional_dynamic_rnn: {len(cells_fw)} forward and {len(cells_bw)} backward "
                                           "cells; need as many of each, one at least")
    states = [], []
    initial_states = [[None] * len(cells_fw) if given is None else sequence(given, name) for given, name in
                      ((initial_states_fw, "initial_states_fw"), (initial_states_bw, "initial_states_bw"))]
    if any(len(given) != len(cells_fw) for given in initial_states):
        raise _engine.InvalidArgumentError(f"stack_bidirectional_dynamic_rnn: {len(cells_fw)} cells need as many initial states")
    with variable_scope("stack_bidirectional_rnn" if scope is None else scope):
        for number, (there, back) in enumerate(zip(cells_fw, cells_bw)):
            first = [given[number] for given in initial_states]
            with variable_scope(f"cell_{number}"):
                outputs, last = _bidirectional(there, back, inputs, sequence_length, *first, dtype, time_major=time_major)
            inputs = _op("concat")(list(outputs), 2)
            for found, each in zip(states, last):
                found.append(each)
    return inputs, tuple(states[0]), tuple(states[1])
