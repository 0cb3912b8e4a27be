"""tf.GradientTape."""
import enum

import numpy as np

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.arguments import having
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public


@public("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """The gradient of a source that the target does not depend on: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


def unconnected_as_zero(unconnected_gradients):
    """Reads the argument of that name. ValueError for anything but "none" and "zero"."""
    try:
        return UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    except ValueError:
        raise ValueError(f"unconnected_gradients is {unconnected_gradients!r}; must be 'none' or 'zero'") from None


def in_order(variables):
    """The variables in the order of their construction."""
    return tuple(sorted(variables, key=lambda variable: variable._id))


def _unit_vectors(target, count, row=None):
    """Weights that pick one element after the other: of target, or of each of its rows, which have the shape `row`."""
    for i in range(count):
        picked = np.zeros(count, target.dtype.as_numpy_dtype)
        picked[i] = 1
        picked = picked.reshape(target.shape.as_list() if row is None else row)
        yield _engine.convert_to_tensor(np.array(np.broadcast_to(picked, target.shape.as_list())), dtype=target.dtype)


def _stacked(rows, shape, source):
    if any(row is None for row in rows):
        return None
    if not rows:
        return _op("zeros")(shape, dtype=source.dtype)
    return _op("reshape")(_op("stack")(list(rows), axis=0), shape)


@public("GradientTape", "tfe.GradientTape")
class GradientTape(_engine.Tape):
    """Records the ops of a `with` block for automatic differentiation.

        with tf.GradientTape() as tape:
            loss = w * w
        tape.gradient(loss, w)

    Trainable variables are watched when they are read, tensors after watch(). A tape releases its records after the first
    gradient() unless it is persistent. Tapes nest: outer tapes record the playback of inner ones.
    """

    def watched_variables(self):
        """The variables that were read or watched, in the order of their construction, each once: a tuple."""
        return in_order(super().watched_variables())

    def _gradient_of_structures(self, target, sources, output_gradients=None,
                                unconnected_gradients=UnconnectedGradients.NONE):
        """What gradient() calls where its arguments are not one target and one source or a list of them."""
        zero = unconnected_as_zero(unconnected_gradients)
        if self._active() and not self._persistent:
            self._stop()
        targets = nest.flatten(target)
        weights = nest.flatten_like(target, output_gradients)
        gradients = self._gradients(targets, nest.flatten(sources), weights, zero, True)
        return nest.pack_sequence_as(sources, gradients)

    def jacobian(self, target, sources, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None,
                 experimental_use_pfor=True):
        """The derivative of each element of target with respect to each element of sources, in the form of sources.

        target: one tensor. Each Jacobian has the shape of target followed by the source's. The tape is played once per
        element of target. A source that target does not depend on gets None, or zeros with unconnected_gradients="zero".
        parallel_iterations and experimental_use_pfor are accepted for compatibility and have no effect.
        """
        target = self._target_value(target)
        count = int(np.prod(target.shape.as_list(), dtype=np.int64))
        flat = nest.flatten(sources)
        rows = self._rows(target, flat, _unit_vectors(target, count), unconnected_as_zero(unconnected_gradients))
        jacobians = [_stacked(column, list(target.shape) + list(source.shape), source)
                     for column, source in zip(zip(*rows) if rows else [()] * len(flat), flat)]
        return nest.pack_sequence_as(sources, jacobians)

    def batch_jacobian(self, target, source, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None,
                       experimental_use_pfor=True):
        """The Jacobian of each row target[i] with respect to source[i]: shape (batch, *target's, *source's).

        target: (batch, …), source: (batch, …); target[i] must depend on source[i] alone. The tape is played once per
        element of a row. ValueError where the batches differ.
        """
        target = having(self._target_value(target), "batch_jacobian: target", "shape", "tensor")
        having(source, "batch_jacobian: source", "shape", "tensor")
        if target.shape.ndims == 0 or source.shape.ndims == 0 or target.shape[0] != source.shape[0]:
            raise ValueError(f"batch_jacobian: target {tuple(target.shape)} and source {tuple(source.shape)} need the same "
                             "first axis, the batch")
        row = target.shape.as_list()[1:]
        count = int(np.prod(row, dtype=np.int64))
        rows = self._rows(target, [source], _unit_vectors(target, count, row), unconnected_as_zero(unconnected_gradients))
        column = [gradients[0] for gradients in rows]
        if any(gradient is None for gradient in column):
            return None
        shape = [target.shape[0]] + row + source.shape.as_list()[1:]
        if not column:
            return _op("zeros")(shape, dtype=source.dtype)
        return _op("reshape")(_op("stack")(column, axis=1), shape)

    def _rows(self, target, sources, weights, zero):
        """The gradients of the sources for each of several weightings of target's elements."""
        if self._active() and not self._persistent:
            self._stop()
        self._begin_many()
        try:
            return [self._gradients([target], sources, [weight], zero) for weight in weights]
        finally:
            self._end_many()

    def stop_recording(self):
        """A context in which this tape does not record; other tapes do. RuntimeError where it is not recording."""
        return _engine.StopRecording(self)
