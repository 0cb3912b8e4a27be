"""The area under a curve that a threshold draws."""
from tapedeck._core.composites import in_dtype, op, require_few
from tapedeck._core.public import public
from tapedeck.keras.backend import epsilon
from tapedeck.keras.metrics.base import Metric, refuse_values
from tapedeck.keras.metrics.thresholds import Counter

_ratio, _sum, _where, _maximum = op("divide_no_nan"), op("reduce_sum"), op("where"), op("maximum")
_COUNTS = ("true_positives", "false_positives", "true_negatives", "false_negatives")


def _one_of(argument, value, allowed):
    for each in allowed:
        if str(getattr(value, "value", value)).lower() == each.lower():
            return each
    raise ValueError(f"AUC: {argument} is {value!r}; must be one of {', '.join(map(repr, allowed))}")


@public("metrics.AUC", "keras.metrics.AUC")
class AUC(Metric):
    """The area under the curve of ROC (the share of positives that are found, over the share of negatives taken for such), of PR
    (precision over recall), or of PRGAIN (the gains of both, Flach and Kull 2015).

    num_thresholds: how many points the curve has, evenly on [0, 1]; thresholds: those between the ends instead. curve: 'ROC', 'PR'
    or 'PRGAIN'; summation_method: 'interpolation', the trapezoids' rule, for PR that of Davis and Goadrich (2006,
    https://doi.org/10.1145/1143844.1143874), 'minoring' or 'majoring', sums below or above. multi_label: the mean over the places
    of the last axis, num_labels of them (None: as many as the first batch has), each counted on its own. label_weights: what they
    count. from_logits: predictions are x of σ(x). Errors: ValueError for others.
    """

    def __init__(self, num_thresholds=200, curve="ROC", summation_method="interpolation", name=None, dtype=None, thresholds=None,
                 multi_label=False, num_labels=None, label_weights=None, from_logits=False):
        super().__init__(dtype, name)
        if thresholds is None and num_thresholds <= 1:
            raise ValueError(f"AUC: num_thresholds is {num_thresholds!r}; must be above 1")
        require_few("AUC: num_thresholds", num_thresholds)
        if num_labels and not multi_label:
            raise ValueError(f"AUC: num_labels is {num_labels!r}, but multi_label is False")
        evenly = [each / (num_thresholds - 1) for each in range(1, num_thresholds - 1)]
        inner = evenly if thresholds is None else sorted(thresholds)
        if any(not 0 <= each <= 1 for each in inner):
            raise ValueError(f"AUC: thresholds is {thresholds!r}; needs numbers in [0, 1]")
        vars(self).update(
            curve=_one_of("curve", curve, ("ROC", "PR", "PRGAIN")), multi_label=multi_label, num_labels=num_labels,
            summation_method=_one_of("summation_method", summation_method, ("interpolation", "minoring", "majoring")),
            thresholds=[-epsilon(), *inner, 1. + epsilon()], label_weights=label_weights, _from_logits=from_logits,
            _given_thresholds=thresholds, _built=False)
        self.num_thresholds = len(self.thresholds)
        self._counter = Counter(self.thresholds, self._dtype)
        if not multi_label or num_labels:
            self._build(num_labels)

    def _build(self, labels):
        vars(self).update(_built=True, _labels=labels)
        shape = [self.num_thresholds, labels] if self.multi_label else [self.num_thresholds]
        for name in _COUNTS:
            setattr(self, name, self.add_weight(name=name, shape=shape))

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch. y_true: 0 for no, others for yes; y_pred: of its shape, brought into [0, 1]; sample_weight: what each
        counts."""
        y_pred = in_dtype(y_pred, self._dtype)
        if self.multi_label and (len(y_pred.shape) != 2 or self._built and y_pred.shape[1] != self._labels):
            refuse_values(self.name, f"multi_label needs y_pred (batch, {self._labels if self._built else 'labels'}); its shape is "
                                     f"{tuple(y_pred.shape)}")
        if not self._built:
            self._build(y_pred.shape[1])
        if self._from_logits:
            y_pred = op("sigmoid")(y_pred)
        counts = self._counter.counts(self.name, y_true, y_pred, sample_weight, clip=True, by_label=self.multi_label,
                                      label_weights=None if self.multi_label else self.label_weights)
        for name, count in zip(_COUNTS, counts):
            getattr(self, name).assign_add(count)

    def result(self):
        """The area, a scalar. Errors: ValueError before the first batch where multi_label does not say num_labels."""
        if not self._built:
            raise ValueError(f"{self.name}: has had no batch yet, so that the number of labels is not known")
        counts = [getattr(self, name).read_value() for name in _COUNTS]
        if (self.curve, self.summation_method) == ("PR", "interpolation"):
            return self._over_labels(_interpolated_precision(*counts))
        x, y = {"ROC": _roc, "PR": _precision_recall, "PRGAIN": _gains}[self.curve](*counts)
        if self.summation_method == "interpolation":
            heights = (y[:-1] + y[1:]) / 2.
        else:
            heights = op("minimum" if self.summation_method == "minoring" else "maximum")(y[:-1], y[1:])
        return self._over_labels((x[:-1] - x[1:]) * heights)

    def _over_labels(self, areas):
        areas = _sum(areas, axis=0)
        if not self.multi_label:
            return areas
        if self.label_weights is None:
            return op("reduce_mean")(areas)
        weights = in_dtype(self.label_weights, self._dtype)
        return _ratio(_sum(areas * weights), _sum(weights))

    def get_config(self):
        """What it was made with, by name."""
        config = {**super().get_config(), "num_thresholds": self.num_thresholds, "curve": self.curve,
                  "summation_method": self.summation_method, "multi_label": self.multi_label, "num_labels": self.num_labels,
                  "label_weights": self.label_weights, "from_logits": self._from_logits}
        return config if self._given_thresholds is None else {**config, "thresholds": self.thresholds[1:-1]}


def _roc(true_positives, false_positives, true_negatives, false_negatives):
    return (_ratio(false_positives, false_positives + true_negatives), _ratio(true_positives, true_positives + false_negatives))


def _precision_recall(true_positives, false_positives, true_negatives, false_negatives):
    return (_ratio(true_positives, true_positives + false_negatives), _ratio(true_positives, true_positives + false_positives))


def _gains(true_positives, false_positives, true_negatives, false_negatives):
    scale = _ratio(true_positives + false_negatives, true_negatives + false_positives)
    found, ones = op("not_equal")(true_positives, 0), op("ones_like")(true_positives)
    recall = _where(found, 1. - scale * _ratio(false_negatives, true_positives), op("zeros_like")(ones))
    return _maximum(recall, 0.), _where(found, 1. - scale * _ratio(false_positives, true_positives), ones)


def _interpolated_precision(true_positives, false_positives, true_negatives, false_negatives):
    """The areas between neighbouring points of the curve of precision over recall, between which true positives rise in a line with
    all positives."""
    positives = true_positives + false_positives
    fewer, more = positives[1:], positives[:-1]
    gained = true_positives[:-1] - true_positives[1:]
    slope = _ratio(gained, _maximum(more - fewer, 0.))
    offset = true_positives[1:] - slope * fewer
    growth = _where(op("logical_and")(more > 0., fewer > 0.), _ratio(more, fewer), op("ones_like")(fewer))
    return _ratio(slope * (gained + offset * op("log")(growth)), true_positives[1:] + false_negatives[1:])
