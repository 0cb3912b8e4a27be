"""Losses by what names them: tf.keras.losses.get, serialize, deserialize."""
from tapedeck._core.public import public
from tapedeck.keras.losses import base, classes, functions  # noqa: F401
from tapedeck.keras.losses.identifiers import find as _find, get as _get, named_in as _named_in, serialized as _serialized

_NAMED = _named_in("losses")


@public("keras.losses.serialize", "losses.serialize")
def serialize(loss):
    """What deserialize makes the loss of again: a function's name, or a dict of an object's class and configuration."""
    return _serialized("losses", loss, _NAMED)


@public("keras.losses.deserialize", "losses.deserialize")
def deserialize(name, custom_objects=None):
    """The loss of a name, or of a dict of class_name and config.

    custom_objects: a dict of other classes and functions, by name. Errors: ValueError for a name that none has.
    """
    return _find("losses", name, _NAMED, custom_objects)


@public("keras.losses.get", "losses.get")
def get(identifier):
    """The loss of a name ('mse', 'MeanSquaredError'), of a dict of class_name and config, of a class, or the loss itself; None for
    None.

    Errors: ValueError for any other value.
    """
    return _get("losses", identifier, _NAMED, "identifier is {!r}; needs a loss's name")
