"""F scores, and how much of predicted and true areas is common to both."""
from tapedeck._core.composites import in_dtype, op, tensor
from tapedeck._core.public import public
from tapedeck.keras.backend import epsilon, floatx
from tapedeck.keras.losses.weighting import floating, weights_like
from tapedeck.keras.metrics.base import Metric, refuse_values

_sum, _where, _cast = op("reduce_sum"), op("where"), op("cast")


@public("metrics.FBetaScore", "keras.metrics.FBetaScore")
class FBetaScore(Metric):
    """(1 + beta²)·precision·recall / (beta²·precision + recall) of each class.

    average: None, each class on its own; 'micro', of all classes' counts together; 'macro', the mean over the classes; 'weighted',
    the mean in which each counts as many as it has. beta: a float above 0. threshold: above which a class is predicted, in (0, 1];
    None for that of the largest prediction.
    Errors: ValueError for others; InvalidArgumentError for values that are not (batch, classes).
    """

    def __init__(self, average=None, beta=1.0, threshold=None, name="fbeta_score", dtype=None):
        super().__init__(dtype, name)
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(f"{self.name}: average is {average!r}; must be None, 'micro', 'macro' or 'weighted'")
        if not isinstance(beta, float) or beta <= 0:
            raise ValueError(f"{self.name}: beta is {beta!r}; needs a float above 0")
        if threshold is not None and (not isinstance(threshold, float) or not 0 < threshold <= 1):
            raise ValueError(f"{self.name}: threshold is {threshold!r}; needs a float in (0, 1], or None")
        self.average, self.beta, self.threshold = average, beta, threshold
        self._built = False

    def _build(self, classes):
        shape = [] if self.average == "micro" else [classes]
        self.true_positives, self.false_positives, self.false_negatives, self.intermediate_weights = (
            self.add_weight(name=name, shape=shape)
            for name in ("true_positives", "false_positives", "false_negatives", "intermediate_weights"))
        self._built = True

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch of (batch, classes). y_true: 0 and 1; sample_weight: a number, (batch,), (batch, 1) or (batch, classes)."""
        y_true, y_pred = in_dtype(y_true, self._dtype), in_dtype(y_pred, self._dtype)
        if len(y_pred.shape) != 2 or y_true.shape != y_pred.shape:
            refuse_values(self.name, f"y_true {tuple(y_true.shape)} and y_pred {tuple(y_pred.shape)}; need (batch, classes)")
        if not self._built:
            self._build(y_pred.shape[1])
        if self.threshold is None:
            largest = op("greater_equal")(y_pred, op("reduce_max")(y_pred, axis=-1, keepdims=True))
            chosen = op("logical_and")(largest, op("abs")(y_pred) > 1e-9)
        else:
            chosen = op("greater")(y_pred, self.threshold)
        chosen = _cast(chosen, self._dtype)
        weights = 1. if sample_weight is None else weights_like(self.name, sample_weight, y_pred)
        axis = None if self.average == "micro" else 0
        for variable, values in ((self.true_positives, chosen * y_true), (self.false_positives, chosen * (1. - y_true)),
                                 (self.false_negatives, (1. - chosen) * y_true), (self.intermediate_weights, y_true)):
            variable.assign_add(_sum(values * weights, axis=axis))

    def result(self):
        """The score: (classes,) where average is None, else a scalar. Errors: ValueError before the first batch."""
        if not self._built:
            raise ValueError(f"{self.name}: has had no batch yet")
        precision = self.true_positives / (self.true_positives + self.false_positives + epsilon())
        recall = self.true_positives / (self.true_positives + self.false_negatives + epsilon())
        score = (1. + self.beta**2) * precision * recall / (self.beta**2 * precision + recall + epsilon())
        if self.average == "weighted":
            return _sum(score * (self.intermediate_weights / (_sum(self.intermediate_weights) + epsilon())))
        return score if self.average is None else op("reduce_mean")(score)

    def get_config(self):
        """What it was made with, by name."""
        return {**super().get_config(), "average": self.average, "beta": self.beta, "threshold": self.threshold}


@public("metrics.F1Score", "keras.metrics.F1Score")
class F1Score(FBetaScore):
    """2·precision·recall / (precision + recall) of each class; the arguments are those of FBetaScore."""

    def __init__(self, average=None, threshold=None, name="f1_score", dtype=None):
        super().__init__(average, 1., threshold, name, dtype)

    def get_config(self):
        """What it was made with, by name."""
        config = super().get_config()
        del config["beta"]
        return config


@public("metrics.IoU", "keras.metrics.IoU")
class IoU(Metric):
    """The mean over some classes of the intersection of the places predicted and the true ones over their union.

    num_classes: how many there are; target_class_ids: those that count, in the mean those alone that occur. ignore_class: a label
    whose places do not count, like numbers outside of the classes. sparse_y_true, sparse_y_pred: numbers of classes; otherwise
    values of the classes along axis, the largest of which is meant. The counts are float64 where dtype is None.
    Errors: ValueError for a class out of range.
    """

    def __init__(self, num_classes, target_class_ids, name=None, dtype=None, ignore_class=None, sparse_y_true=True,
                 sparse_y_pred=True,
                 axis=-1):
        super().__init__(dtype or "float64", name)
        self.total_cm = self.add_weight(name="total_confusion_matrix", shape=[num_classes, num_classes])
        if any(not 0 <= each < num_classes for each in target_class_ids):
            raise ValueError(f"{self.name}: target_class_ids is {list(target_class_ids)}; must be in [0, {num_classes})")
        vars(self).update(num_classes=num_classes, target_class_ids=list(target_class_ids), ignore_class=ignore_class, axis=axis,
                          sparse_y_true=sparse_y_true, sparse_y_pred=sparse_y_pred)

    def _classes(self, values, sparse):
        values = tensor(values)
        return op("reshape")(_cast(values if sparse else op("argmax")(values, self.axis), "int64"), [-1])

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch. sample_weight: a number, or as many as there are places.

        Errors: InvalidArgumentError for different numbers of places.
        """
        y_true, y_pred = self._classes(y_true, self.sparse_y_true), self._classes(y_pred, self.sparse_y_pred)
        if y_true.shape != y_pred.shape:
            refuse_values(self.name, f"y_true has {y_true.shape[0]} places, y_pred {y_pred.shape[0]}")
        weights = in_dtype(1 if sample_weight is None else sample_weight, self._dtype)
        weights = op("broadcast_to")(op("reshape")(weights, [-1] if weights.shape else []), y_true.shape)
        counts = op("logical_and")(_within(y_true, self.num_classes), _within(y_pred, self.num_classes))
        if self.ignore_class is not None:
            counts = op("logical_and")(counts, op("not_equal")(y_true, self.ignore_class))
        place = _where(counts, y_true * self.num_classes + y_pred, op("fill")(y_true.shape, tensor(-1, "int64")))
        matrix = op("unsorted_segment_sum")(weights, place, self.num_classes**2)
        self.total_cm.assign_add(op("reshape")(matrix, [self.num_classes, self.num_classes]))

    def result(self):
        """The mean, a scalar of floatx(): 0 where no class of target_class_ids occurs."""
        both = op("matrix_diag_part")(self.total_cm)
        union = _sum(self.total_cm, axis=0) + _sum(self.total_cm, axis=1) - both
        both, union = (op("gather")(_cast(each, floatx()), self.target_class_ids) for each in (both, union))
        occurring = _sum(_cast(union > 1e-9, floatx()))
        return op("divide_no_nan")(_sum(op("divide_no_nan")(both, union)), occurring)

    def get_config(self):
        """What it was made with, by name."""
        own = ("num_classes", "target_class_ids", "ignore_class", "sparse_y_true", "sparse_y_pred", "axis")
        return {**super().get_config(), **{name: getattr(self, name) for name in own if name not in self._not_given}}

    _not_given = ()


def _within(classes, number):
    return op("logical_and")(op("greater_equal")(classes, 0), op("less")(classes, number))


@public("metrics.BinaryIoU", "keras.metrics.BinaryIoU")
class BinaryIoU(IoU):
    """The mean intersection over union of the classes 0 and 1; y_pred counts as 1 where it is at least threshold."""

    _not_given = ("num_classes", "ignore_class", "sparse_y_true", "sparse_y_pred", "axis")

    def __init__(self, target_class_ids=(0, 1), threshold=0.5, name=None, dtype=None):
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch. y_true: 0 and 1; y_pred: numbers; sample_weight: a number, or as many as there are places."""
        super().update_state(y_true, op("greater_equal")(floating(y_pred), self.threshold), sample_weight)

    def get_config(self):
        """What it was made with, by name."""
        return {**super().get_config(), "threshold": self.threshold}


@public("metrics.MeanIoU", "keras.metrics.MeanIoU")
class MeanIoU(IoU):
    """The mean intersection over union of all classes that occur; the arguments are those of IoU."""

    _not_given = ("target_class_ids",)

    def __init__(self, num_classes, name=None, dtype=None, ignore_class=None, sparse_y_true=True, sparse_y_pred=True, axis=-1):
        super().__init__(num_classes, range(num_classes), name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)


@public("metrics.OneHotIoU", "keras.metrics.OneHotIoU")
class OneHotIoU(IoU):
    """The IoU of y_true with values of the classes along axis, the largest of which is meant."""

    _not_given = ("sparse_y_true",)

    def __init__(self, num_classes, target_class_ids, name=None, dtype=None, ignore_class=None, sparse_y_pred=False, axis=-1):
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis)


@public("metrics.OneHotMeanIoU", "keras.metrics.OneHotMeanIoU")
class OneHotMeanIoU(MeanIoU):
    """The MeanIoU of y_true with values of the classes along axis, the largest of which is meant."""

    _not_given = ("target_class_ids", "sparse_y_true")

    def __init__(self, num_classes, name=None, dtype=None, ignore_class=None, sparse_y_pred=False, axis=-1):
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)
