"""How many predictions are above thresholds, rightly and wrongly: what Precision, Recall, AUC and their kin count."""
import numpy as np

from tapedeck._core.composites import in_dtype, op, tensor
from tapedeck.keras.losses.weighting import pair, weights_like
from tapedeck.keras.metrics.base import refuse_values

_reshape, _sum, _where, _cast = op("reshape"), op("reduce_sum"), op("where"), op("cast")
LOWEST = -1e10  # a prediction that no threshold is below


def given_thresholds(function, thresholds, default):
    """A list of thresholds. ValueError for one outside [0, 1]."""
    if thresholds is None:
        return [default]
    found = list(thresholds) if np.ndim(thresholds) else [thresholds]
    if not found or any(each is None or not 0 <= each <= 1 for each in found):
        raise ValueError(f"{function}: thresholds is {thresholds!r}; needs numbers in [0, 1]")
    return [float(each) for each in found]


class Counter:
    """Counts of predictions above each of some thresholds, for metrics whose variables hold them."""

    def __init__(self, thresholds, dtype):
        order = np.argsort(thresholds, kind="stable")
        self._sorted = tensor(np.asarray(thresholds, np.float64)[order].astype(dtype.as_numpy_dtype))
        self._back = None if (order == np.arange(len(order))).all() else np.argsort(order)
        self._dtype = dtype

    def counts(self, function, y_true, y_pred, sample_weight=None, top_k=None, class_id=None, clip=False, by_label=False,
               label_weights=None):
        """(true positives, false positives, true negatives, false negatives), the thresholds on the first axis.

        y_true: 0 for no, others for yes; y_pred: predictions, of its shape. sample_weight: what each counts. top_k: of the last
        axis only the top_k largest count as predicted at all; class_id: only that place of the last axis counts. clip: predictions
        are brought into [0, 1]. by_label: each place of the last axis is counted on its own, on a second axis. label_weights: what
        the places of the last axis count.
        """
        y_true, y_pred = pair(function, in_dtype(y_true, self._dtype), in_dtype(y_pred, self._dtype))
        if y_true.shape != y_pred.shape:
            refuse_values(function, f"y_true {tuple(y_true.shape)} and y_pred {tuple(y_pred.shape)} need one shape")
        weights = None
        if sample_weight is not None:
            weights = op("broadcast_to")(weights_like(function, sample_weight, y_pred), y_pred.shape)
        if label_weights is not None:
            weights = in_dtype(label_weights, self._dtype) * (op("ones_like")(y_pred) if weights is None else weights)
        if top_k is not None:
            y_pred = _best_alone(function, y_pred, top_k)
        if class_id is not None:
            if len(y_pred.shape) < 2:
                refuse_values(function, f"class_id needs y_pred (batch, classes); its shape is {tuple(y_pred.shape)}")
            y_true, y_pred = y_true[..., class_id], y_pred[..., class_id]
            weights = None if weights is None else weights[..., class_id]
        if clip:
            y_pred = op("clip_by_value")(y_pred, 0., 1.)
        labels = y_pred.shape[-1] if by_label else 1
        return self._counted(op("not_equal")(y_true, 0), y_pred, weights, labels, by_label)

    def _counted(self, positive, y_pred, weights, labels, by_label):
        bins = self._sorted.shape[0] + 1
        # A prediction is above as many thresholds as are below it; NaN is above none.
        y_pred = _where(op("is_nan")(y_pred), tensor(-np.inf, y_pred.dtype), y_pred)
        above = _reshape(op("searchsorted")(self._sorted, _reshape(y_pred, [-1])), [-1])
        if labels > 1:
            above = above + _reshape(op("broadcast_to")(tensor(np.arange(labels, dtype=np.int32) * bins), y_pred.shape), [-1])
        positive = _reshape(_cast(positive, self._dtype), [-1])
        weights = op("ones_like")(positive) if weights is None else _reshape(weights, [-1])
        found = []
        for values in (positive * weights, (1. - positive) * weights):
            held = _reshape(op("unsorted_segment_sum")(values, above, bins * labels), [labels, bins])
            # What is above threshold i is in the bins after i.
            passed = op("cumsum")(held, axis=1, exclusive=True, reverse=True)[:, :-1]
            missed = _sum(held, axis=1, keepdims=True) - passed
            found.append([self._in_order(each, by_label) for each in (passed, missed)])
        (true_positives, false_negatives), (false_positives, true_negatives) = found
        return true_positives, false_positives, true_negatives, false_negatives

    def _in_order(self, counts, by_label):
        counts = op("transpose")(counts) if by_label else counts[0]
        return counts if self._back is None else op("gather")(counts, self._back)


def _best_alone(function, y_pred, top_k):
    """y_pred with what is not among the top_k largest of the last axis far below."""
    if not y_pred.shape or not 0 < top_k <= y_pred.shape[-1]:
        refuse_values(function, f"top_k is {top_k!r}; y_pred has the shape {tuple(y_pred.shape)}, and needs as many classes")
    places = op("top_k")(y_pred, top_k)[1]
    best = _sum(op("one_hot")(places, y_pred.shape[-1], dtype=y_pred.dtype), axis=-2)
    return _where(best > 0., y_pred, op("zeros_like")(y_pred) + LOWEST)
