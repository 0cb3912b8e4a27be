"""tf.GradientTape."""
import enum

from tapedeck import _engine, nest


class UnconnectedGradients(enum.Enum):
    """What a gradient is where the target does not depend on the source: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


def unconnected_as_zero(unconnected_gradients):
    """Reads the argument of that name. ValueError for anything but "none" and "zero"."""
    try:
        return UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    except ValueError:
        raise ValueError(f"unconnected_gradients is {unconnected_gradients!r}; it is 'none' or 'zero'") from None


class GradientTape:
    """Records the ops of the code inside `with`, so that gradient() can play them backwards.

        with tf.GradientTape() as tape:
            loss = w * w
        tape.gradient(loss, w)

    Trainable variables are watched as they are read; tensors after watch(). A tape gives its records up at the first
    gradient() unless it is persistent. Tapes nest: what one plays back, the outer ones record.
    """

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._tape = _engine.Tape(bool(persistent), bool(watch_accessed_variables))
        self._persistent = bool(persistent)

    def __enter__(self):
        self._tape.start()
        return self

    def __exit__(self, *exception):
        if self._tape.active():
            self._tape.stop()

    def watch(self, tensor):
        """Records what becomes of this tensor, or of every tensor and variable of a nested structure."""
        for leaf in nest.flatten(tensor):
            self._tape.watch(leaf)

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
        """The gradient of the sum of target with respect to sources, in the form of sources.

        target: a tensor or a nested structure of tensors. output_gradients: weights of the targets' elements, in the
        form of target; ones where None. A source that the target does not depend on gets None, or zeros with
        unconnected_gradients="zero". RuntimeError at the second call of a tape that is not persistent.
        """
        zero = unconnected_as_zero(unconnected_gradients)
        if self._tape.active() and not self._persistent:
            self._tape.stop()
        targets = nest.flatten(target)
        weights = nest.flatten_like(target, output_gradients)
        gradients = self._tape.gradient(targets, nest.flatten(sources), weights, zero)
        return nest.pack_sequence_as(sources, gradients)

    def stop_recording(self):
        """A context in which no tape of this thread records."""
        return _engine.StopRecording()

    def reset(self):
        """Forgets everything recorded so far, watched tensors too."""
        self._tape.reset()

    def watched_variables(self):
        """The variables that were read or watched, in the order of their first use."""
        return tuple(self._tape.watched_variables())
