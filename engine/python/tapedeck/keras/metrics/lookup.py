"""Metrics by what names them: tf.keras.metrics.get, serialize, deserialize."""
from tapedeck._core.public import public
from tapedeck.keras.losses.base import snake_case as _snake_case
from tapedeck.keras.losses.identifiers import find as _find, get as _get, named_in as _named_in, serialized as _serialized
from tapedeck.keras.metrics import accuracy, base, confusion, curves, means, regression, scores  # noqa: F401
from tapedeck.keras.metrics.regression import (
    BinaryCrossentropy, MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredError, MeanSquaredLogarithmicError)

_NAMED = _named_in("metrics")
_CLASSES = {name: value for name, value in _NAMED.items() if isinstance(value, type)}
# What a name means to `get`: a class where there is one.
_IDENTIFIERS = {**_NAMED, **{_snake_case(name): cls for name, cls in _CLASSES.items()},
                "bce": BinaryCrossentropy, "BCE": BinaryCrossentropy, "mse": MeanSquaredError, "MSE": MeanSquaredError,
                "mae": MeanAbsoluteError, "MAE": MeanAbsoluteError, "mape": MeanAbsolutePercentageError,
                "MAPE": MeanAbsolutePercentageError, "msle": MeanSquaredLogarithmicError, "MSLE": MeanSquaredLogarithmicError}


@public("keras.metrics.serialize", "metrics.serialize")
def serialize(metric):
    """What deserialize makes the metric of again: a function's name, or a dict of an object's class and configuration."""
    return _serialized("metrics", metric, _NAMED)


@public("keras.metrics.deserialize", "metrics.deserialize")
def deserialize(config, custom_objects=None):
    """The metric of a dict of class_name and config, or the function or class of a name.

    custom_objects: a dict of other classes and functions, by name. Errors: ValueError for a name that none has.
    """
    return _find("metrics", config, _NAMED, custom_objects)


@public("keras.metrics.get", "metrics.get")
def get(identifier):
    """The metric of a name ('mse', 'AUC', 'categorical_accuracy'), of a dict of class_name and config, of a class, or what is
    callable itself; None for None.

    Errors: ValueError for any other value.
    """
    return _get("metrics", identifier, _IDENTIFIERS, "{!r} is not a metric: it needs a metric's name")
