"""Metrics of right and wrong positives and negatives, at one threshold or at many."""
from tapedeck._core.composites import op, require_few
from tapedeck._core.public import public
from tapedeck.keras.metrics.base import Metric
from tapedeck.keras.metrics.thresholds import Counter, given_thresholds, LOWEST

_ratio = op("divide_no_nan")


class _Count(Metric):
    """How many predictions are of one kind, above thresholds and rightly so or not.

    thresholds: a number, or a list of them, in [0, 1]; None for 0.5. Errors: ValueError for others.
    """

    def __init__(self, thresholds=None, name=None, dtype=None):
        super().__init__(dtype, name)
        vars(self).update(init_thresholds=thresholds, thresholds=given_thresholds(self.name, thresholds, .5))
        self._counter = Counter(self.thresholds, self._dtype)
        self.accumulator = self.add_weight(name="accumulator", shape=[len(self.thresholds)])

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch. y_true: 0 for no, others for yes; y_pred: of its shape; sample_weight: what each counts."""
        self.accumulator.assign_add(self._counter.counts(self.name, y_true, y_pred, sample_weight)[self._kind])

    def result(self):
        """Their number, or sum of weights: a scalar for one threshold, else one for each."""
        return self.accumulator[0] if len(self.thresholds) == 1 else self.accumulator.read_value()

    def get_config(self):
        """What it was made with, by name."""
        return {**super().get_config(), "thresholds": self.init_thresholds}


@public("metrics.TruePositives", "keras.metrics.TruePositives")
class TruePositives(_Count):
    """How many predictions are above thresholds where the label is 1."""

    _kind = 0


@public("metrics.FalsePositives", "keras.metrics.FalsePositives")
class FalsePositives(_Count):
    """How many predictions are above thresholds where the label is 0."""

    _kind = 1


@public("metrics.TrueNegatives", "keras.metrics.TrueNegatives")
class TrueNegatives(_Count):
    """How many predictions are not above thresholds where the label is 0."""

    _kind = 2


@public("metrics.FalseNegatives", "keras.metrics.FalseNegatives")
class FalseNegatives(_Count):
    """How many predictions are not above thresholds where the label is 1."""

    _kind = 3


class _Share(Metric):
    """True positives as a share."""

    def __init__(self, other, thresholds, top_k, class_id, name, dtype):
        super().__init__(dtype, name)
        given = given_thresholds(self.name, thresholds, .5 if top_k is None else LOWEST)
        vars(self).update(init_thresholds=thresholds, top_k=top_k, class_id=class_id, thresholds=given)
        self._counter = Counter(given, self._dtype)
        self.true_positives = self.add_weight(name="true_positives", shape=[len(given)])
        setattr(self, other, self.add_weight(name=other, shape=[len(given)]))
        self._other = other

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch. y_true: 0 for no, others for yes; y_pred: of its shape; sample_weight: what each counts."""
        counts = self._counter.counts(self.name, y_true, y_pred, sample_weight, self.top_k, self.class_id)
        self.true_positives.assign_add(counts[0])
        getattr(self, self._other).assign_add(counts[{"false_positives": 1, "false_negatives": 3}[self._other]])

    def result(self):
        """The share, 0 of nothing: a scalar for one threshold, else one for each."""
        shares = _ratio(self.true_positives, self.true_positives + getattr(self, self._other))
        return shares[0] if len(self.thresholds) == 1 else shares

    def get_config(self):
        """What it was made with, by name."""
        return {**super().get_config(), "thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}


@public("metrics.Precision", "keras.metrics.Precision")
class Precision(_Share):
    """How many of those predicted are right: true positives / (true + false positives).

    thresholds: a number, or a list of them, in [0, 1]; None for 0.5, with top_k for none. top_k: only the top_k largest predictions
    of the last axis count as predicted; class_id: only that class counts. Errors: ValueError for other thresholds.
    """

    def __init__(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        super().__init__("false_positives", thresholds, top_k, class_id, name, dtype)


@public("metrics.Recall", "keras.metrics.Recall")
class Recall(_Share):
    """How many of those to be found were predicted: true positives / (true positives + false negatives).

    The arguments are those of Precision.
    """

    def __init__(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        super().__init__("false_negatives", thresholds, top_k, class_id, name, dtype)


class _At(Metric):
    """The largest of one share at those thresholds where another is at least a given one."""

    def __init__(self, value, num_thresholds, class_id, name, dtype):
        super().__init__(dtype, name)
        if not 0 <= value <= 1:
            raise ValueError(f"{self.name}: {self._given} is {value!r}; must be in [0, 1]")
        if num_thresholds <= 0:
            raise ValueError(f"{self.name}: num_thresholds is {num_thresholds!r}; needs an integer above 0")
        require_few(f"{self.name}: num_thresholds", num_thresholds)
        spaced = [.5] if num_thresholds == 1 else [each / (num_thresholds - 1) for each in range(num_thresholds)]
        vars(self).update(value=value, num_thresholds=num_thresholds, class_id=class_id, thresholds=spaced, **{self._given: value})
        self._counter = Counter(spaced, self._dtype)
        for name in ("true_positives", "false_positives", "true_negatives", "false_negatives"):
            setattr(self, name, self.add_weight(name=name, shape=[num_thresholds]))

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch. y_true: 0 for no, others for yes; y_pred: of its shape, brought into [0, 1]; sample_weight: what each
        counts."""
        counts = self._counter.counts(self.name, y_true, y_pred, sample_weight, class_id=self.class_id, clip=True)
        for name, count in zip(("true_positives", "false_positives", "true_negatives", "false_negatives"), counts):
            getattr(self, name).assign_add(count)

    def _shares(self):
        """(recall, precision, specificity) at each threshold."""
        found = self.true_positives.read_value()
        return (_ratio(found, found + self.false_negatives), _ratio(found, found + self.false_positives),
                _ratio(self.true_negatives, self.true_negatives + self.false_positives))

    def _largest(self, share, constrained):
        allowed = op("where")(op("greater_equal")(constrained, self.value), share, op("zeros_like")(share))
        return op("reduce_max")(allowed)

    def get_config(self):
        """What it was made with, by name."""
        return {**super().get_config(), "num_thresholds": self.num_thresholds, self._given: self.value, "class_id": self.class_id}


@public("metrics.SensitivityAtSpecificity", "keras.metrics.SensitivityAtSpecificity")
class SensitivityAtSpecificity(_At):
    """The largest sensitivity (recall) where the specificity, true negatives / all negatives, is at least `specificity`.

    num_thresholds: how many, evenly on [0, 1]; class_id: only that place of the last axis counts. Errors: ValueError for others.
    """

    _given = "specificity"

    def __init__(self, specificity, num_thresholds=200, class_id=None, name=None, dtype=None):
        super().__init__(specificity, num_thresholds, class_id, name, dtype)

    def result(self):
        """The sensitivity, a scalar."""
        recall, _, specificity = self._shares()
        return self._largest(recall, specificity)


@public("metrics.SpecificityAtSensitivity", "keras.metrics.SpecificityAtSensitivity")
class SpecificityAtSensitivity(_At):
    """The largest specificity where the sensitivity (recall) is at least `sensitivity`; the arguments as above."""

    _given = "sensitivity"

    def __init__(self, sensitivity, num_thresholds=200, class_id=None, name=None, dtype=None):
        super().__init__(sensitivity, num_thresholds, class_id, name, dtype)

    def result(self):
        """The specificity, a scalar."""
        recall, _, specificity = self._shares()
        return self._largest(specificity, recall)


@public("metrics.PrecisionAtRecall", "keras.metrics.PrecisionAtRecall")
class PrecisionAtRecall(_At):
    """The largest precision where the recall is at least `recall`; the arguments as above."""

    _given = "recall"

    def __init__(self, recall, num_thresholds=200, class_id=None, name=None, dtype=None):
        super().__init__(recall, num_thresholds, class_id, name, dtype)

    def result(self):
        """The precision, a scalar."""
        recall, precision, _ = self._shares()
        return self._largest(precision, recall)


@public("metrics.RecallAtPrecision", "keras.metrics.RecallAtPrecision")
class RecallAtPrecision(_At):
    """The largest recall where the precision is at least `precision`; the arguments as above."""

    _given = "precision"

    def __init__(self, precision, num_thresholds=200, class_id=None, name=None, dtype=None):
        super().__init__(precision, num_thresholds, class_id, name, dtype)

    def result(self):
        """The recall, a scalar."""
        recall, precision, _ = self._shares()
        return self._largest(recall, precision)
