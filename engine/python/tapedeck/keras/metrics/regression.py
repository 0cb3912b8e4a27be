"""Metrics that are means of a loss, and how well numbers are predicted."""
import warnings

from tapedeck._core import dtypes
from tapedeck._core.composites import in_dtype, op
from tapedeck._core.extents import extents
from tapedeck._core.public import public
from tapedeck.keras.backend import epsilon
from tapedeck.keras.losses import functions
from tapedeck.keras.losses.weighting import pair, weights_like
from tapedeck.keras.metrics.base import Metric, refuse_values
from tapedeck.keras.metrics.means import Mean, MeanMetricWrapper

_mean, _sum, _square = op("reduce_mean"), op("reduce_sum"), op("square")


@public("metrics.cosine_similarity", "keras.metrics.cosine_similarity", "metrics.cosine_proximity",
        "keras.metrics.cosine_proximity")
def cosine_similarity(y_true, y_pred, axis=-1):
    """Σ y_true·y_pred / (‖y_true‖·‖y_pred‖) along axis: 1 for the same direction. tf.keras.losses' function has the other sign.

    Returns: the dtype of y_pred, its shape without axis. Errors: InvalidArgumentError for shapes that do not fit.
    """
    return -functions.cosine_similarity(y_true, y_pred, axis)


@public("metrics.pearson_correlation", "keras.metrics.pearson_correlation")
def pearson_correlation(y_true, y_pred, axis=-1):
    """Pearson's correlation of y_true and y_pred along axis, in [−1, 1]; NaN where one of them does not vary.

    Returns: the dtype of y_pred, its shape without axis. Errors: InvalidArgumentError for shapes that do not fit.
    """
    y_true, y_pred = (each - _mean(each, axis=axis, keepdims=True) for each in pair("pearson_correlation", y_true, y_pred))
    deviations = (op("sqrt")(_mean(_square(each), axis=axis)) for each in (y_true, y_pred))
    return _mean(y_true * y_pred, axis=axis) / next(deviations) / next(deviations)


@public("metrics.concordance_correlation", "keras.metrics.concordance_correlation")
def concordance_correlation(y_true, y_pred, axis=-1):
    """Lin's coefficient of concordance along axis, 2·cov / (var(y_true) + var(y_pred) + (mean(y_true) − mean(y_pred))² + 10⁻⁷)
    (Lin 1989, https://doi.org/10.2307/2532051).

    Returns: the dtype of y_pred, its shape without axis. Errors: InvalidArgumentError for shapes that do not fit.
    """
    y_true, y_pred = pair("concordance_correlation", y_true, y_pred)
    centre, other = (_mean(each, axis=axis, keepdims=True) for each in (y_true, y_pred))
    covariance = _mean((y_true - centre) * (y_pred - other), axis=axis)
    spread = _mean(_square(y_true - centre), axis=axis) + _mean(_square(y_pred - other), axis=axis)
    return 2. * covariance / (spread + _square(op("reshape")(centre - other, extents(spread))) + epsilon())


def _of_loss(class_name, function, name, summary):
    """The mean of a loss without arguments as a metric."""

    def __init__(self, name=name, dtype=None):
        MeanMetricWrapper.__init__(self, function, name, dtype)

    made = type(class_name, (MeanMetricWrapper,), {"__init__": __init__, "__doc__": summary, "__module__": __name__})
    return public(f"keras.metrics.{class_name}", f"metrics.{class_name}")(made)


MeanSquaredError = _of_loss("MeanSquaredError", functions.mean_squared_error, "mean_squared_error",
                            "The mean of (y_true − y_pred)².")
MeanAbsoluteError = _of_loss("MeanAbsoluteError", functions.mean_absolute_error, "mean_absolute_error",
                             "The mean of |y_true − y_pred|.")
MeanAbsolutePercentageError = _of_loss(
    "MeanAbsolutePercentageError", functions.mean_absolute_percentage_error, "mean_absolute_percentage_error",
    "The mean of 100·|y_true − y_pred| / max(|y_true|, 10⁻⁷).")
MeanSquaredLogarithmicError = _of_loss(
    "MeanSquaredLogarithmicError", functions.mean_squared_logarithmic_error, "mean_squared_logarithmic_error",
    "The mean of (ln(1 + y_true) − ln(1 + y_pred))².")
LogCoshError = _of_loss("LogCoshError", functions.log_cosh, "logcosh", "The mean of ln cosh(y_pred − y_true).")
Hinge = _of_loss("Hinge", functions.hinge, "hinge", "The mean of max(0, 1 − y_true·y_pred).")
SquaredHinge = _of_loss("SquaredHinge", functions.squared_hinge, "squared_hinge", "The mean of max(0, 1 − y_true·y_pred)².")
CategoricalHinge = _of_loss("CategoricalHinge", functions.categorical_hinge, "categorical_hinge",
                            "The mean of max(0, 1 + max((1 − y_true)·y_pred) − Σ y_true·y_pred).")
KLDivergence = _of_loss("KLDivergence", functions.kl_divergence, "kl_divergence", "The mean of Σ y_true·ln(y_true / y_pred).")
Poisson = _of_loss("Poisson", functions.poisson, "poisson", "The mean of y_pred − y_true·ln y_pred.")


@public("metrics.BinaryCrossentropy", "keras.metrics.BinaryCrossentropy")
class BinaryCrossentropy(MeanMetricWrapper):
    """The mean of tf.keras.losses.binary_crossentropy, whose arguments it takes."""

    def __init__(self, name="binary_crossentropy", dtype=None, from_logits=False, label_smoothing=0):
        super().__init__(functions.binary_crossentropy, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing)


@public("metrics.CategoricalCrossentropy", "keras.metrics.CategoricalCrossentropy")
class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean of tf.keras.losses.categorical_crossentropy, whose arguments it takes."""

    def __init__(self, name="categorical_crossentropy", dtype=None, from_logits=False, label_smoothing=0, axis=-1):
        super().__init__(functions.categorical_crossentropy, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing,
                         axis=axis)


@public("metrics.SparseCategoricalCrossentropy", "keras.metrics.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean of tf.keras.losses.sparse_categorical_crossentropy, whose arguments it takes; those of ignore_class do not count."""

    def __init__(self, name="sparse_categorical_crossentropy", dtype=None, from_logits=False, ignore_class=None, axis=-1):
        super().__init__(functions.sparse_categorical_crossentropy, name, dtype, from_logits=from_logits, ignore_class=ignore_class,
                         axis=axis)

    def _counts(self, y_true, y_pred):
        return functions.ignored(y_true, y_pred, self._fn_kwargs["ignore_class"], self._fn_kwargs["axis"])


@public("metrics.CosineSimilarity", "keras.metrics.CosineSimilarity")
class CosineSimilarity(MeanMetricWrapper):
    """The mean of Σ y_true·y_pred / (‖y_true‖·‖y_pred‖) along axis: 1 for the same direction."""

    def __init__(self, name="cosine_similarity", dtype=None, axis=-1):
        super().__init__(cosine_similarity, name, dtype, axis=axis)


@public("metrics.PearsonCorrelation", "keras.metrics.PearsonCorrelation")
class PearsonCorrelation(MeanMetricWrapper):
    """The mean of Pearson's correlations along axis."""

    def __init__(self, name="pearson_correlation", dtype=None, axis=-1):
        super().__init__(pearson_correlation, name, dtype, axis=axis)
        self.axis = axis


@public("metrics.ConcordanceCorrelation", "keras.metrics.ConcordanceCorrelation")
class ConcordanceCorrelation(MeanMetricWrapper):
    """The mean of Lin's coefficients of concordance along axis."""

    def __init__(self, name="concordance_correlation", dtype=None, axis=-1):
        super().__init__(concordance_correlation, name, dtype, axis=axis)
        self.axis = axis


@public("metrics.RootMeanSquaredError", "keras.metrics.RootMeanSquaredError")
class RootMeanSquaredError(Mean):
    """The square root of the mean of (y_true − y_pred)²."""

    def __init__(self, name="root_mean_squared_error", dtype=None):
        super().__init__(name, dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch. sample_weight: a number, or of the shape of y_pred or that of its first axes."""
        y_true, y_pred = pair(self.name, in_dtype(y_true, self._dtype), in_dtype(y_pred, self._dtype))
        super().update_state(op("squared_difference")(y_pred, y_true), sample_weight)

    def result(self):
        """The root, a scalar."""
        return op("sqrt")(super().result())


@public("metrics.R2Score", "keras.metrics.R2Score")
class R2Score(Metric):
    """The coefficient of determination, 1 − Σ (y_true − y_pred)² / Σ (y_true − mean(y_true))², of each output.

    class_aggregation: the outputs' 'uniform_average', their 'variance_weighted_average', or None, each on its own. num_regressors:
    of how many regressors the score is adjusted for, 0 for none.
    Errors: ValueError for other values; InvalidArgumentError for values that are not (batch, outputs).
    """

    def __init__(self, class_aggregation="uniform_average", num_regressors=0, name="r2_score", dtype=None):
        super().__init__(dtype, name)
        if class_aggregation not in (None, "uniform_average", "variance_weighted_average"):
            raise ValueError(f"R2Score: class_aggregation is {class_aggregation!r}; must be 'uniform_average', "
                             "'variance_weighted_average' or None")
        if num_regressors < 0:
            raise ValueError(f"R2Score: num_regressors is {num_regressors!r}; must not be negative")
        self.class_aggregation, self.num_regressors = class_aggregation, num_regressors
        self.num_samples = self.add_weight(name="num_samples", dtype=dtypes.int64)
        self._built = False

    def _build(self, outputs):
        self.squared_sum, self.sum, self.total_mse, self.count = (
            self.add_weight(name=name, shape=[outputs]) for name in ("squared_sum", "sum", "residual", "count"))
        self._built = True

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch of (batch, outputs). sample_weight: a number, (batch,), (batch, 1) or (batch, outputs)."""
        y_true, y_pred = pair(self.name, in_dtype(y_true, self._dtype), in_dtype(y_pred, self._dtype))
        if len(y_true.shape) != 2 or y_true.shape != y_pred.shape:
            refuse_values(self.name, f"y_true {tuple(y_true.shape)} and y_pred {tuple(y_pred.shape)}; need (batch, outputs)")
        if not self._built:
            self._build(y_pred.shape[1])
        weights = op("broadcast_to")(weights_like(self.name, 1. if sample_weight is None else sample_weight, y_true), y_true.shape)
        self.sum.assign_add(_sum(y_true * weights, axis=0))
        self.squared_sum.assign_add(_sum(_square(y_true) * weights, axis=0))
        self.total_mse.assign_add(_sum(op("squared_difference")(y_true, y_pred) * weights, axis=0))
        self.count.assign_add(_sum(weights, axis=0))
        self.num_samples.assign_add(y_true.shape.num_elements())

    def result(self):
        """The score: a scalar, or (outputs,). Errors: ValueError before the first batch."""
        if not self._built:
            raise ValueError(f"{self.name}: has had no batch yet")
        total = self.squared_sum - _square(self.sum) / self.count
        scores = 1. - self.total_mse / total
        scores = op("where")(op("is_inf")(scores), op("zeros_like")(scores), scores)
        if self.class_aggregation == "uniform_average":
            scores = _mean(scores)
        elif self.class_aggregation == "variance_weighted_average":
            scores = _sum(total * scores) / _sum(total)
        samples = int(self.num_samples)
        if self.num_regressors and self.num_regressors < samples - 1:
            return 1. - (1. - scores) * (samples - 1.) / (samples - self.num_regressors - 1.)
        if self.num_regressors:
            warnings.warn(f"{self.name}: {self.num_regressors} regressors need more than {samples} values to adjust the score "
                          f"for; it "
                          "is not adjusted", stacklevel=2)
        return scores

    def get_config(self):
        """What it was made with, by name."""
        return {**super().get_config(), "class_aggregation": self.class_aggregation, "num_regressors": self.num_regressors}
