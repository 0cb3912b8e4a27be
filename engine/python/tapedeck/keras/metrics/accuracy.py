"""How often predictions are right."""
from tapedeck._core import dtypes
from tapedeck._core.composites import in_dtype, op, tensor
from tapedeck._core.extents import count, extent, extents
from tapedeck._core.public import public
from tapedeck.keras.losses.weighting import floating, pair, same_rank
from tapedeck.keras.metrics.base import refuse_values
from tapedeck.keras.metrics.means import MeanMetricWrapper
from tapedeck.keras.settings import floatx

_cast, _equal, _argmax, _reshape = op("cast"), op("equal"), op("argmax"), op("reshape")


def _one_for(matches):
    return _cast(matches, floatx())


def accuracy(y_true, y_pred):
    """1 where y_true equals y_pred, else 0.

    y_true takes the dtype of y_pred. Returns: floatx(), their shape; an axis of extent 1 that one alone has last is dropped or
    added.
    """
    y_pred = tensor(y_pred)
    return _one_for(_equal(*same_rank(in_dtype(y_true, y_pred.dtype), y_pred)))


@public("metrics.binary_accuracy", "keras.metrics.binary_accuracy")
def binary_accuracy(y_true, y_pred, threshold=0.5):
    """1 where y_true is 1 and y_pred above threshold, or y_true 0 and y_pred not, else 0. Returns: floatx(), their shape."""
    y_true, y_pred = pair("binary_accuracy", y_true, y_pred)
    return _one_for(_equal(y_true, _cast(op("greater")(y_pred, tensor(threshold, y_pred.dtype)), y_pred.dtype)))


def _one_shape(function, y_true, y_pred):
    y_true, y_pred = tensor(y_true), tensor(y_pred)
    if y_true.shape != y_pred.shape or not y_true.shape:
        refuse_values(function, f"y_true {tuple(y_true.shape)} and y_pred {tuple(y_pred.shape)} need one shape, and an axis")
    return y_true, y_pred


@public("metrics.categorical_accuracy", "keras.metrics.categorical_accuracy")
def categorical_accuracy(y_true, y_pred):
    """1 where y_true and y_pred have their largest element along the last axis at the same index, else 0.

    Returns: floatx(), the shape without the last axis. Errors: InvalidArgumentError for different shapes.
    """
    y_true, y_pred = _one_shape("categorical_accuracy", y_true, y_pred)
    return _one_for(_equal(_argmax(y_true, -1), _argmax(y_pred, -1)))


@public("metrics.sparse_categorical_accuracy", "keras.metrics.sparse_categorical_accuracy")
def sparse_categorical_accuracy(y_true, y_pred):
    """1 where y_true is the number of the largest element of y_pred along the last axis, else 0.

    y_true: the shape of y_pred without the last axis, or with extent 1 there.
    Returns: floatx(), the shape of y_pred without the last axis. Errors: InvalidArgumentError for another shape of y_true.
    """
    y_true, y_pred = _classes("sparse_categorical_accuracy", y_true, y_pred)
    return _one_for(_equal(y_true, _argmax(y_pred, -1)))


def _classes(function, y_true, y_pred):
    """Right classes, int64, of the shape of y_pred without the last axis; and y_pred."""
    y_true, y_pred = tensor(y_true), tensor(y_pred)
    if y_pred.shape and len(y_true.shape) == len(y_pred.shape) and y_true.shape[-1] == 1:
        y_true = op("squeeze")(y_true, [-1])
    if not y_pred.shape or not y_true.shape.is_compatible_with(y_pred.shape[:-1]):
        refuse_values(function, f"y_true {tuple(y_true.shape)} and y_pred {tuple(y_pred.shape)}; y_true needs the shape of y_pred "
                                "without the last axis")
    return _cast(y_true, dtypes.int64), y_pred


def _among_best(classes, y_pred, k):
    y_pred = floating(y_pred)
    matches = op("in_top_k")(_reshape(y_pred, [count(classes), extent(y_pred, -1)]), _reshape(classes, [-1]), k)
    return _one_for(_reshape(matches, extents(classes)))


@public("metrics.top_k_categorical_accuracy", "keras.metrics.top_k_categorical_accuracy")
def top_k_categorical_accuracy(y_true, y_pred, k=5):
    """1 where the largest element of y_true along the last axis is at the index of one of the k largest of y_pred, else 0.

    Returns: floatx(), the shape without the last axis. Errors: InvalidArgumentError for different shapes.
    """
    y_true, y_pred = _one_shape("top_k_categorical_accuracy", y_true, y_pred)
    return _among_best(_argmax(y_true, -1), y_pred, k)


@public("metrics.sparse_top_k_categorical_accuracy", "keras.metrics.sparse_top_k_categorical_accuracy")
def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5, from_sorted_ids=False):
    """1 where y_true is the number of one of the k largest elements of y_pred along the last axis, else 0.

    y_true: the shape of y_pred without the last axis, or with extent 1 there; from_sorted_ids: y_pred holds the numbers of classes
    instead, the best one first.
    Returns: floatx(), the shape of y_pred without the last axis. Errors: InvalidArgumentError for another shape of y_true.
    """
    y_true, y_pred = _classes("sparse_top_k_categorical_accuracy", y_true, y_pred)
    if from_sorted_ids:
        best = y_pred[..., :k]
        return _one_for(op("reduce_any")(_equal(op("expand_dims")(_cast(y_true, best.dtype), -1), best), axis=-1))
    return _among_best(y_true, y_pred, k)


@public("metrics.Accuracy", "keras.metrics.Accuracy")
class Accuracy(MeanMetricWrapper):
    """How often y_pred equals y_true."""

    def __init__(self, name="accuracy", dtype=None):
        super().__init__(accuracy, name, dtype)


@public("metrics.BinaryAccuracy", "keras.metrics.BinaryAccuracy")
class BinaryAccuracy(MeanMetricWrapper):
    """How often y_pred is on the side of threshold that y_true, 0 or 1, names."""

    def __init__(self, name="binary_accuracy", dtype=None, threshold=0.5):
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)
        self.threshold = threshold


@public("metrics.CategoricalAccuracy", "keras.metrics.CategoricalAccuracy")
class CategoricalAccuracy(MeanMetricWrapper):
    """How often y_pred and y_true have their largest element at the same index."""

    def __init__(self, name="categorical_accuracy", dtype=None):
        super().__init__(categorical_accuracy, name, dtype)


@public("metrics.SparseCategoricalAccuracy", "keras.metrics.SparseCategoricalAccuracy")
class SparseCategoricalAccuracy(MeanMetricWrapper):
    """How often y_true is the number of the largest element of y_pred."""

    def __init__(self, name="sparse_categorical_accuracy", dtype=None):
        super().__init__(sparse_categorical_accuracy, name, dtype)


@public("metrics.TopKCategoricalAccuracy", "keras.metrics.TopKCategoricalAccuracy")
class TopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the largest element of y_true is at the index of one of the k largest of y_pred."""

    def __init__(self, k=5, name="top_k_categorical_accuracy", dtype=None):
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)
        self.k = k


@public("metrics.SparseTopKCategoricalAccuracy", "keras.metrics.SparseTopKCategoricalAccuracy")
class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """How often y_true is the number of one of the k largest elements of y_pred."""

    def __init__(self, k=5, name="sparse_top_k_categorical_accuracy", dtype=None, from_sorted_ids=False):
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype, k=k, from_sorted_ids=from_sorted_ids)
        self.k = k
