"""tf.nn.dynamic_rnn and its kin: TensorFlow 1's cells, step by step through sequences."""
from tapedeck import _engine
from tapedeck._array import shaping as _shaping
from tapedeck._core import dtypes, nest
from tapedeck._core.arguments import flag
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extent
from tapedeck._core.public import public
from tapedeck._graph.tensor_array import TensorArray
from tapedeck._variables.scopes import variable_scope

_where, _reshape = _op("where"), _op("reshape")


def _mapped(function, *structures):
    return nest.map_structure(function, *structures) if nest.is_nested(structures[0]) else function(*structures)


def _initial(cell, state, dtype, batch):
    if state is not None:
        return _mapped(lambda each: each if isinstance(each, TensorArray) else _engine.convert_to_tensor(each), state)
    if dtype is None:
        raise _engine.InvalidArgumentError("If there is no initial_state, you must give a dtype.")
    return cell.zero_state(batch, dtypes.as_dtype(dtype))


def _lengths(owner, sequence_length, batch):
    if sequence_length is None:
        return None
    lengths = _op("cast")(_engine.convert_to_tensor(sequence_length), "int32")
    if lengths.ndim != 1 or isinstance(batch, int) and lengths.shape[0] not in (None, batch):
        raise _engine.InvalidArgumentError(f"{owner}: sequence_length has shape {tuple(lengths.shape)}; must be a vector, one number for "
                         f"each of {batch} sequences")
    return lengths


def _chosen(runs, new, old):
    if isinstance(new, TensorArray):  # which has no rows for the sequences
        return new
    return _where(_reshape(runs, [-1] + [1] * (new.ndim - 1)), new, old)


def _steps(cell, inputs, state, lengths):
    """(outputs of all steps, last state): past its length a sequence's outputs are zeros, and its state stays."""
    outputs = []
    for time, each in enumerate(inputs):
        output, after = cell(each, state)
        if lengths is not None:
            runs = lengths > time
            output = _mapped(lambda new: _chosen(runs, new, _op("zeros_like")(new)), output)
            after = _mapped(lambda new, old: _chosen(runs, new, old), after, state)
        outputs.append(output)
        state = after
    return outputs, state


@public("nn.dynamic_rnn", in_errors=True)
def dynamic_rnn(cell, inputs, sequence_length=None, initial_state=None, dtype=None, parallel_iterations=None, swap_memory=False,
                time_major=False, scope=None):
    """Calls a cell step by step through sequences.

    cell: an RNNCell; inputs: (batch, time, …), (time, batch, …) with time_major, or a structure of such; sequence_length: (batch,),
    integers: past its length a sequence's outputs are zeros, and its state stays; initial_state: in the form of the cell's, or
    None for zeros of `dtype`; scope: of the variables, "rnn" where it is None. parallel_iterations and swap_memory are taken, and
    change nothing.
    Returns: (outputs, state): outputs as inputs are, (batch, time, …); the state after the last step.
    Errors: TypeError for a value that is not a cell; ValueError for neither an initial_state nor a dtype, for inputs of fewer than two
    axes, and for sequence_length of another shape.
    """
    if not hasattr(cell, "state_size") or not callable(cell):
        raise _engine.TypeMismatchError(f"cell must be an instance of RNNCell, but got {cell!r}")
    time_major = flag(time_major, "time_major")
    axis = 0 if time_major else 1
    inputs = _mapped(_engine.convert_to_tensor, inputs)
    flat = nest.flatten(inputs)
    for each in flat:
        if each.ndim < 2:
            raise _engine.InvalidArgumentError(f"dynamic_rnn: inputs have shape {tuple(each.shape)}; need at least 2 axes, batch and time")
    batch, time = extent(flat[0], 1 - axis), flat[0].shape[axis]
    with variable_scope("rnn" if scope is None else scope):
        lengths = _lengths("dynamic_rnn", sequence_length, batch)
        state = _initial(cell, initial_state, dtype, batch)
        by_step = [_op("unstack")(each, axis=axis) for each in flat]
        steps = [nest.pack_sequence_as(inputs, list(each)) if nest.is_nested(inputs) else each[0] for each in zip(*by_step)]
        outputs, state = _steps(cell, steps, state, lengths)
        if time == 0:
            outputs = _mapped(lambda size: _op("zeros")([0, batch, size] if time_major else [batch, 0, size], flat[0].dtype),
                              cell.output_size)
            return outputs, state
        if nest.is_nested(outputs[0]):
            stacked = [_op("stack")(list(each), axis) for each in zip(*(nest.flatten(output) for output in outputs))]
            return nest.pack_sequence_as(outputs[0], stacked), state
        return _op("stack")(outputs, axis), state


@public("nn.static_rnn", "contrib.rnn.static_rnn", in_errors=True)
def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """The same with a list of inputs, one for each step, (batch, …). Returns: (a list of outputs, state).

    Errors: as dynamic_rnn; TypeError for inputs that are not a list, ValueError for an empty one.
    """
    if not hasattr(cell, "state_size") or not callable(cell):
        raise _engine.TypeMismatchError(f"cell must be an instance of RNNCell, but got {cell!r}")
    if not isinstance(inputs, (list, tuple)):
        raise _engine.TypeMismatchError("inputs must be a sequence")
    if not inputs:
        raise _engine.InvalidArgumentError("inputs must not be empty")
    inputs = [_mapped(_engine.convert_to_tensor, each) for each in inputs]
    batch = extent(nest.flatten(inputs[0])[0], 0)
    with variable_scope("rnn" if scope is None else scope):
        lengths = _lengths("static_rnn", sequence_length, batch)
        return _steps(cell, inputs, _initial(cell, initial_state, dtype, batch), lengths)


def _reversed(value, lengths, time_axis):
    """Sequences from their ends to their beginnings; what is past their lengths stays where it is."""
    if lengths is None:
        return _mapped(lambda each: _op("reverse")(each, [time_axis]), value)

    return _mapped(lambda each: _shaping.reverse_sequence(each, lengths, seq_axis=time_axis, batch_axis=1 - time_axis), value)


@public("nn.bidirectional_dynamic_rnn", in_errors=True)
def bidirectional_dynamic_rnn(cell_fw, cell_bw, inputs, sequence_length=None, initial_state_fw=None, initial_state_bw=None, dtype=None,
                              parallel_iterations=None, swap_memory=False, time_major=False, scope=None):
    """dynamic_rnn in both directions: cell_bw begins at the end of each sequence. The variables' scopes are scope/fw and scope/bw,
    "bidirectional_rnn" where scope is None.

    Returns: ((outputs of cell_fw, outputs of cell_bw), (their last states)). Errors: as dynamic_rnn.
    """
    time_major = flag(time_major, "time_major")
    axis = 0 if time_major else 1
    with variable_scope("bidirectional_rnn" if scope is None else scope):
        forward = dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw, dtype, time_major=time_major, scope="fw")
        inputs = _mapped(_engine.convert_to_tensor, inputs)
        batch = extent(nest.flatten(inputs)[0], 1 - axis)
        lengths = _lengths("bidirectional_dynamic_rnn", sequence_length, batch)
        backward = dynamic_rnn(cell_bw, _reversed(inputs, lengths, axis), sequence_length, initial_state_bw, dtype,
                               time_major=time_major, scope="bw")
        return (forward[0], _reversed(backward[0], lengths, axis)), (forward[1], backward[1])


@public("nn.static_bidirectional_rnn", "contrib.rnn.static_bidirectional_rnn", in_errors=True)
def static_bidirectional_rnn(cell_fw, cell_bw, inputs, initial_state_fw=None, initial_state_bw=None, dtype=None, sequence_length=None,
                             scope=None):
    """static_rnn in both directions. Returns: (a list of both outputs side by side, state of cell_fw, state of cell_bw).

    Errors: as static_rnn.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        kind = _engine.InvalidArgumentError if isinstance(inputs, (list, tuple)) else _engine.TypeMismatchError
        raise kind("inputs must be a sequence that is not empty")
    with variable_scope("bidirectional_rnn" if scope is None else scope):
        forward, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope="fw")
        stacked = _op("stack")([_engine.convert_to_tensor(each) for each in inputs], 0)
        lengths = _lengths("static_bidirectional_rnn", sequence_length, stacked.shape[1])
        turned = _op("unstack")(_reversed(stacked, lengths, 0), axis=0)
        backward, state_bw = static_rnn(cell_bw, turned, initial_state_bw, dtype, sequence_length, scope="bw")
        backward = _op("unstack")(_reversed(_op("stack")(backward, 0), lengths, 0), axis=0)
        return [_op("concat")([one, other], -1) for one, other in zip(forward, backward)], state_fw, state_bw
