"""TensorFlow's tf.keras.metrics, also under the name tf.metrics: what is counted over all batches of an evaluation."""
from tapedeck.keras.losses.base import snake_case as _snake_case
from tapedeck.keras.losses.functions import (
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_hinge,
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
)
from tapedeck.keras.losses.identifiers import find as _find, serialized as _serialized
from tapedeck.keras.metrics.accuracy import (
    Accuracy,
    BinaryAccuracy,
    CategoricalAccuracy,
    SparseCategoricalAccuracy,
    SparseTopKCategoricalAccuracy,
    TopKCategoricalAccuracy,
    binary_accuracy,
    categorical_accuracy,
    sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy,
)
from tapedeck.keras.metrics.base import Metric
from tapedeck.keras.metrics.confusion import (
    FalseNegatives,
    FalsePositives,
    Precision,
    PrecisionAtRecall,
    Recall,
    RecallAtPrecision,
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
    TrueNegatives,
    TruePositives,
)
from tapedeck.keras.metrics.curves import AUC
from tapedeck.keras.metrics.means import Mean, MeanMetricWrapper, MeanTensor, Sum
from tapedeck.keras.metrics.regression import (
    BinaryCrossentropy,
    CategoricalCrossentropy,
    CategoricalHinge,
    ConcordanceCorrelation,
    CosineSimilarity,
    Hinge,
    KLDivergence,
    LogCoshError,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    MeanSquaredLogarithmicError,
    PearsonCorrelation,
    Poisson,
    R2Score,
    RootMeanSquaredError,
    SparseCategoricalCrossentropy,
    SquaredHinge,
    concordance_correlation,
    cosine_similarity,
    pearson_correlation,
)
from tapedeck.keras.metrics.scores import BinaryIoU, F1Score, FBetaScore, IoU, MeanIoU, OneHotIoU, OneHotMeanIoU

bce = BCE = binary_crossentropy
kld = KLD = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
mse = MSE = mean_squared_error
msle = MSLE = mean_squared_logarithmic_error
cosine_proximity = cosine_similarity

_NAMED = {name: value for name,
          value in list(globals().items()) if not name.startswith("_") and callable(value) and name != "Metric"}
_CLASSES = {name: value for name, value in _NAMED.items() if isinstance(value, type)}
# What a name means to `get`: a class where there is one.
_IDENTIFIERS = {**_NAMED, **{_snake_case(name): cls for name, cls in _CLASSES.items()},
                "bce": BinaryCrossentropy, "BCE": BinaryCrossentropy, "mse": MeanSquaredError, "MSE": MeanSquaredError,
                "mae": MeanAbsoluteError, "MAE": MeanAbsoluteError, "mape": MeanAbsolutePercentageError,
                "MAPE": MeanAbsolutePercentageError, "msle": MeanSquaredLogarithmicError, "MSLE": MeanSquaredLogarithmicError}
__all__ = ["Metric", *_NAMED, "deserialize", "get", "serialize"]


def serialize(metric):
    """What deserialize makes the metric of again: a function's name, or a dict of an object's class and configuration."""
    return _serialized("metrics", metric, _NAMED)


def deserialize(config, custom_objects=None):
    """The metric of a dict of class_name and config, or the function or class of a name.

    custom_objects: a dict of other classes and functions, by name. Errors: ValueError for a name that none has.
    """
    return _find("metrics", config, _NAMED, custom_objects)


def get(identifier):
    """The metric of a name ('mse', 'AUC', 'categorical_accuracy'), of a dict of class_name and config, of a class, or what is
    callable itself; None for None.

    Errors: ValueError for what is none of them.
    """
    found = _find("metrics", identifier, _IDENTIFIERS) if isinstance(identifier, (str, dict)) else identifier
    if found is None:
        return None
    if isinstance(found, type):
        return found()
    if not callable(found):
        raise ValueError(f"get: {identifier!r} is no metric: it needs a metric's name, a dict of class_name and config, or a function")
    return found
