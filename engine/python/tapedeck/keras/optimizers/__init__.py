"""tf.keras.optimizers: optimisers in Keras' form, and schedules of learning rates."""
from tapedeck.keras import named_objects as _named_objects
from tapedeck.keras.optimizers import legacy, schedules
from tapedeck.keras.optimizers.base import Optimizer
from tapedeck.keras.optimizers.kfac import KFAC
from tapedeck.keras.optimizers.layerwise import Adafactor, Lamb
from tapedeck.keras.optimizers.standard import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Ftrl, Lion, Nadam, RMSprop

_classes = {kind.__name__: kind for kind in (SGD, Adadelta, Adafactor, Adagrad, Adam, Adamax, AdamW, Ftrl, KFAC, Lamb,
                                          Lion, Nadam, RMSprop)}
_named = {**_classes, **{name.lower(): kind for name, kind in _classes.items()}}


def serialize(optimizer):
    """An optimiser as {"class_name", "config"}."""
    return _named_objects.serialize(optimizer)


def deserialize(config, custom_objects=None):
    """The optimiser of what serialize() returned, its class in any letters. ValueError for a class that none has."""
    if isinstance(config, dict) and str(config.get("class_name")).lower() in _named:
        config = {**config, "class_name": config["class_name"].lower()}
    return _named_objects.found(config, _named, "optimizer", custom_objects)


def get(identifier):
    """An optimiser of itself, its name ("adam"), or what serialize() returned. ValueError for what is none."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, dict):
        return deserialize(identifier)
    from tapedeck.train.optimizer import Optimizer as _FirstOptimizer
    if isinstance(identifier, _FirstOptimizer):
        return identifier
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")


__all__ = [*_classes, "Optimizer", "deserialize", "get", "legacy", "schedules", "serialize"]
