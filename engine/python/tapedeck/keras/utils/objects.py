"""Objects as what JSON holds, and back."""
import numpy as np

from tapedeck._core import dtypes
from tapedeck._core.public import below, public
from tapedeck._core.shapes import TensorShape
from tapedeck.keras import named_objects

# Where the package's own classes and functions are defined, by their names in configs.
_NAMESPACES = ("layers", "initializers", "regularizers", "constraints", "activations", "losses", "metrics", "optimizers", "models")


@public("keras.utils.serialize_keras_object")
def serialize_keras_object(obj):
    """A value as what JSON holds: an object with get_config as {"class_name", "config"}, lists and dicts with what is in them."""
    if obj is None or isinstance(obj, (str, bool, int, float)):
        return obj
    if isinstance(obj, (TensorShape, tuple, list)):
        return [serialize_keras_object(each) for each in obj]
    if isinstance(obj, dict):
        return {name: serialize_keras_object(each) for name, each in obj.items()}
    if isinstance(obj, dtypes.DType):
        return obj.name
    if isinstance(obj, np.generic):
        return obj.item()
    if isinstance(obj, np.ndarray):
        return obj.tolist()
    return named_objects.serialize(obj)


def _own_objects():
    return {name: thing for namespace in _NAMESPACES for name, thing in below(f"keras.{namespace}").items()
            if not name.startswith("_") and callable(thing)}


@public("keras.utils.deserialize_keras_object")
def deserialize_keras_object(config, custom_objects=None, module_objects=None, printable_module_name="object"):
    """The value of what serialize_keras_object returned. ValueError for a class that none has."""
    if isinstance(config, (list, tuple)):
        return [deserialize_keras_object(each, custom_objects, module_objects) for each in config]
    if isinstance(config, dict) and "class_name" not in config:
        return {name: deserialize_keras_object(each, custom_objects, module_objects) for name, each in config.items()}
    if isinstance(config, dict) or module_objects is not None and isinstance(config, str):
        return named_objects.found(config, module_objects or _own_objects(), printable_module_name, custom_objects)
    return config
