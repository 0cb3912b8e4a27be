"""Optimisers by what names them: tf.keras.optimizers.get, serialize, deserialize."""
from tapedeck._core.public import public
from tapedeck.keras import named_objects as _named_objects
from tapedeck.keras.optimizers.base import Optimizer
from tapedeck.keras.optimizers.kfac import KFAC
from tapedeck.keras.optimizers.layerwise import Adafactor, Lamb
from tapedeck.keras.optimizers.standard import Adadelta, Adagrad, Adam, Adamax, AdamW, Ftrl, Lion, Nadam, RMSprop, SGD
from tapedeck.train.optimizer import Optimizer as _FirstOptimizer

_classes = {kind.__name__: kind for kind in (SGD, Adadelta, Adafactor, Adagrad, Adam, Adamax, AdamW, Ftrl, KFAC, Lamb,
                                          Lion, Nadam, RMSprop)}
_named = {**_classes, **{name.lower(): kind for name, kind in _classes.items()}}


@public("keras.optimizers.serialize")
def serialize(optimizer):
    """An optimiser as {"class_name", "config"}."""
    return _named_objects.serialize(optimizer)


@public("keras.optimizers.deserialize")
def deserialize(config, custom_objects=None):
    """The optimiser of what serialize() returned, its class in any letters. ValueError for a class that none has."""
    if isinstance(config, dict) and str(config.get("class_name")).lower() in _named:
        config = {**config, "class_name": config["class_name"].lower()}
    return _named_objects.found(config, _named, "optimizer", custom_objects)


@public("keras.optimizers.get")
def get(identifier):
    """An optimiser of itself, its name ("adam"), or what serialize() returned. ValueError for any other value."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, _FirstOptimizer):
        return identifier
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")
