"""What losses are as objects: they know how to weigh and reduce what each example costs."""
import re

from tapedeck import _engine
from tapedeck._core import dtypes, nest
from tapedeck._core.composites import in_dtype, op
from tapedeck._core.public import public
from tapedeck.keras.layers.calls import mask_of
from tapedeck.keras.losses.weighting import floating, reduced, REDUCTIONS, standard_reduction
from tapedeck.keras.settings import floatx


def snake_case(name):
    """A class's name in snake_case: "mean_squared_error"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


@public("keras.losses.Reduction")
class Reduction:
    """The names of the reductions of a loss."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"
    MEAN = "mean"
    MEAN_WITH_SAMPLE_WEIGHT = "mean_with_sample_weight"

    @classmethod
    def all(cls):
        """All of them."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE, cls.MEAN, cls.MEAN_WITH_SAMPLE_WEIGHT

    @classmethod
    def validate(cls, key):
        """ValueError for any other value."""
        standard_reduction("Reduction", key)


@public("keras.Loss", "losses.Loss", "keras.losses.Loss")
class Loss:
    """A base of losses: a subclass defines call(y_true, y_pred), which gives a value for each example.

    name: None for the class's name in snake_case. reduction: what becomes of the values: 'sum_over_batch_size' ('mean', 'auto'),
    their sum divided by their number, 'sum', 'mean_with_sample_weight', their sum divided by the weights', or 'none' (None). dtype:
    what y_true and y_pred are converted to; None leaves real numbers as they are, and makes others floatx().
    Errors: ValueError for another reduction.
    """

    def __init__(self, name=None, reduction="sum_over_batch_size", dtype=None):
        if name in REDUCTIONS and name is not None and reduction not in REDUCTIONS[:3]:  # Keras 2 has them the other way round
            name, reduction = reduction, name
        self.name = name or snake_case(type(self).__name__)
        standard_reduction(type(self).__name__, reduction)
        self.reduction = reduction
        self._dtype = None if dtype is None else dtypes.as_dtype(getattr(dtype, "compute_dtype", dtype))

    @property
    def dtype(self):
        """The dtype that it was made with, floatx() for None."""
        return self._dtype or dtypes.as_dtype(floatx())

    def __call__(self, y_true, y_pred, sample_weight=None):
        """The loss of predictions.

        y_true: what should be; y_pred: what was predicted; (batch, …) each, or structures of such. sample_weight: what each value
        counts: a number, a tensor of the shape of the values, or of that of their first axes, as (batch,). Where a layer's mask came
        with y_pred, what it leaves out does not count, also in the mean.
        Returns: a scalar; for the reduction 'none' the values that call gives.
        Errors: InvalidArgumentError for shapes that do not fit.
        """
        _engine.push_scope(self.name)
        try:
            mask = mask_of(y_pred)
            y_true, y_pred = self._convert(y_true), self._convert(y_pred)
            if sample_weight is None and mask is None and standard_reduction(self.name, self.reduction) == "sum_over_batch_size":
                return self._unweighted(y_true, y_pred)
            return self._weighted(y_true, y_pred, sample_weight, mask)
        finally:
            _engine.pop_scope()

    def _convert(self, values):
        if nest.is_nested(values) and (isinstance(values, dict) or any(hasattr(each, "dtype") for each in values)):
            return nest.map_structure(self._convert, values)
        return floating(values) if self._dtype is None else in_dtype(values, self._dtype)

    def _unweighted(self, y_true, y_pred):
        return self._weighted(y_true, y_pred, None, None)

    def _weighted(self, y_true, y_pred, sample_weight, mask):
        values = floating(self.call(y_true, y_pred))
        counts = self._counts(y_true, y_pred, values)
        if mask is not None and counts is not None:
            mask = op("logical_and")(op("cast")(mask, "bool"), counts)
        return reduced(self.name, values, sample_weight, counts if mask is None else mask,
                       standard_reduction(self.name, self.reduction))

    def _counts(self, y_true, y_pred, values):
        """False where a value is not to count in a mean; None where all do."""
        return None

    def call(self, y_true, y_pred):
        """The value of each example. To be defined by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define call(y_true, y_pred)")

    def get_config(self):
        """What it was made with, by name."""
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config):
        """The loss of that configuration."""
        return cls(**config)


class LossFunctionWrapper(Loss):
    """A loss of a function of (y_true, y_pred, **kwargs) that gives a value for each example."""

    def __init__(self, fn, reduction="sum_over_batch_size", name=None, dtype=None, **kwargs):
        super().__init__(name or getattr(fn, "__name__", None), reduction, dtype)
        self.fn = fn
        self._fn_kwargs = kwargs

    def _convert(self, values):
        return values if self._dtype is None else super()._convert(values)  # the function converts

    def _unweighted(self, y_true, y_pred):
        elements = getattr(self.fn, "elements", None)
        if elements is None:
            return super()._unweighted(y_true, y_pred)
        values = elements(y_true, y_pred, **self._fn_kwargs)  # each example has as many: the mean of means is theirs
        return reduced(self.name, values)

    def call(self, y_true, y_pred):
        """What the function gives."""
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self):
        """What it was made with, by name."""
        config = {**super().get_config(), **self._fn_kwargs}
        if type(self) is LossFunctionWrapper:
            config["fn"] = self.fn
        return config
