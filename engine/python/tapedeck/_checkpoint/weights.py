"""The weights of one layer or model, by their places in it."""
from tapedeck._checkpoint.files import write_tensors
from tapedeck._checkpoint.graph import Collected, METADATA_KEY
from tapedeck._checkpoint.objects import read_objects


class _WithoutSlots(Collected):
    def _add_slots(self, number):
        pass


def save_weights(filepath, layer, without=()):
    """Writes the variables of a layer, a model, or another trackable object to one file; no optimiser's slots.

    without: names of attributes that are left out, as "optimizer". Returns: the file's path. Errors: those of write_tensors.
    """
    collected = _WithoutSlots(_Without(layer, without) if without else layer)
    return write_tensors(filepath, collected.values(), {METADATA_KEY: collected.to_json()})


def load_weights(filepath, layer):
    """Restores what save_weights wrote, by structure, also into variables that are made later. A file of another tool: by the
    variables' names. Returns: a status, as tf.train.Checkpoint.restore does. Errors: those of tf.train.Checkpoint.read."""
    return read_objects(filepath, layer)


class _Without:
    """An object without some of its children."""

    def __init__(self, trackable, names):
        self._trackable, self._names = trackable, names

    def _children(self):
        return {name: child for name, child in self._trackable._children().items() if name not in self._names}

    def _own_state(self):
        return self._trackable._own_state()

    def _slots(self):
        return ()
