"""TensorFlow's tf.keras.losses: functions that give what each example costs, and objects that reduce that to one number."""
from tapedeck.keras.losses import functions as _functions
from tapedeck.keras.losses.base import Loss, LossFunctionWrapper as _LossFunctionWrapper, Reduction, snake_case as _snake_case
from tapedeck.keras.losses.classes import (
    BinaryCrossentropy,
    BinaryFocalCrossentropy,
    CategoricalCrossentropy,
    CategoricalFocalCrossentropy,
    CategoricalGeneralizedCrossEntropy,
    CategoricalHinge,
    Circle,
    CosineSimilarity,
    Dice,
    Hinge,
    Huber,
    KLDivergence,
    LogCosh,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    MeanSquaredLogarithmicError,
    Poisson,
    SparseCategoricalCrossentropy,
    SquaredHinge,
    Tversky,
)
from tapedeck.keras.losses.functions import (
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_generalized_cross_entropy,
    categorical_hinge,
    circle,
    cosine_similarity,
    dice,
    hinge,
    huber,
    kl_divergence,
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
    tversky,
)
from tapedeck.keras.losses.identifiers import find as _find, serialized as _serialized

bce = BCE = binary_crossentropy
kld = KLD = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
mse = MSE = mean_squared_error
msle = MSLE = mean_squared_logarithmic_error
cosine_proximity = cosine_similarity

_NAMED = {name: value for name, value in list(globals().items())
          if not name.startswith("_") and callable(value) and name not in ("Loss", "Reduction")}
__all__ = ["Loss", "Reduction", *_NAMED, "deserialize", "get", "serialize"]


def serialize(loss):
    """What deserialize makes the loss of again: a function's name, or a dict of an object's class and configuration."""
    return _serialized("losses", loss, _NAMED)


def deserialize(name, custom_objects=None):
    """The loss of a name, or of a dict of class_name and config.

    custom_objects: a dict of other classes and functions, by name. Errors: ValueError for a name that none has.
    """
    return _find("losses", name, _NAMED, custom_objects)


def get(identifier):
    """The loss of a name ('mse', 'MeanSquaredError'), of a dict of class_name and config, of a class, or the loss itself; None for
    None.

    Errors: ValueError for what is none of them.
    """
    found = _find("losses", identifier, _NAMED) if isinstance(identifier, (str, dict)) else identifier
    if found is None:
        return None
    if isinstance(found, type):
        return found()
    if not callable(found):
        raise ValueError(f"get: identifier is {identifier!r}; needs a loss's name, a dict of class_name and config, or a function")
    return found
