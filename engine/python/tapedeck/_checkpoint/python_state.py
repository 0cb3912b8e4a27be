"""Python objects in checkpoints."""
import inspect

from tapedeck._core.public import public
from tapedeck._core.trackable import Trackable


@public("train.experimental.PythonState")
class PythonState(Trackable):
    """A base of objects that turn into text and back: serialize() returns what is saved, deserialize(text) gets it back."""

    def serialize(self):
        """The state as text or bytes."""
        raise NotImplementedError(f"{type(self).__name__}: PythonState needs serialize()")

    def deserialize(self, string_value):
        """Takes what serialize() gave, as text or bytes as it was."""
        raise NotImplementedError(f"{type(self).__name__}: PythonState needs deserialize()")

    def _own_state(self):
        value = self.serialize()
        if isinstance(value, bytes):
            return {"py_state_bytes": value.decode("latin-1")}
        if not isinstance(value, str):
            raise TypeError(f"{type(self).__name__}.serialize() returned {value!r}; needs a str or bytes")
        return {"py_state": value}

    def _set_own_state(self, state):
        if "py_state_bytes" in state:
            self.deserialize(state["py_state_bytes"].encode("latin-1"))
        elif "py_state" in state:
            self.deserialize(state["py_state"])


@public("train.CheckpointOptions")
class CheckpointOptions:
    """How a checkpoint is written. experimental_write_callbacks: functions of no argument, or of the checkpoint's path, that are
    called when it is written; the others are TensorFlow's and change nothing."""

    def __init__(self, experimental_io_device=None, experimental_enable_async_checkpoint=False, experimental_write_callbacks=None,
                 enable_async=False, experimental_sharding_callback=None, experimental_skip_slot_variables=False):
        self.experimental_io_device = experimental_io_device
        self.experimental_enable_async_checkpoint = experimental_enable_async_checkpoint or enable_async
        self.experimental_write_callbacks = experimental_write_callbacks
        self.experimental_sharding_callback = experimental_sharding_callback
        self.experimental_skip_slot_variables = experimental_skip_slot_variables


def call_back(options, path):
    """Calls what the options want to be called."""
    for function in getattr(options, "experimental_write_callbacks", None) or ():
        function(*(path,) * len(inspect.signature(function).parameters))
