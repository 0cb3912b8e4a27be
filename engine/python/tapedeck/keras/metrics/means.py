"""Metrics that are a sum, or a mean with weights, of values or of what a function gives for each example."""
from tapedeck._core.composites import in_dtype, op, tensor
from tapedeck._core.extents import extents, product
from tapedeck._core.public import public
from tapedeck.keras.layers.calls import mask_of
from tapedeck.keras.losses.identifiers import find, named_in
from tapedeck.keras.losses.weighting import masked_weights, weights_like
from tapedeck.keras.metrics.base import Metric

_sum, _mean, _divide_no_nan = op("reduce_sum"), op("reduce_mean"), op("divide_no_nan")


def _inner(shape, axes):
    """How many elements an example has on the axes from 1 to axes."""
    return product(shape[1:axes])


def _samples(function, values, sample_weight, mean):
    """(the sum of all examples' values, that of their weights), each example being the mean or the sum of its elements."""
    if sample_weight is None:
        own = extents(values)
        count = own[0] if own else 1
        inner = _inner(own, len(own)) if mean else 1
        if not isinstance(count, int) or not isinstance(inner, int):
            return _divide_no_nan(_sum(values), in_dtype(inner, values.dtype)), in_dtype(count, values.dtype)
        return (_sum(values) / inner if inner > 1 else _sum(values)), float(count if inner else 0)
    weights = weights_like(function, sample_weight, values)
    rank = min(len(tensor(sample_weight).shape), len(values.shape))
    if rank < len(values.shape):
        values = (_mean if mean else _sum)(values, axis=list(range(rank, len(values.shape))))
        weights = op("reshape")(weights, extents(weights)[:rank])
    weights = op("broadcast_to")(weights, extents(values))
    inner = _inner(extents(values), rank) if mean else 1
    inner = max(inner, 1) if isinstance(inner, int) else in_dtype(op("maximum")(inner, 1), values.dtype)
    return _sum(values * weights) / inner, _sum(weights) / inner


@public("metrics.Sum", "keras.metrics.Sum")
class Sum(Metric):
    """The sum of all values, each times its weight."""

    def __init__(self, name="sum", dtype=None):
        super().__init__(dtype, name)
        self.total = self.add_weight(name="total")

    def update_state(self, values, sample_weight=None):
        """Adds values of any shape. sample_weight: a number, or of the values' shape or that of their first axes."""
        self.total.assign_add(_samples(self.name, in_dtype(values, self._dtype), sample_weight, False)[0])

    def result(self):
        """The sum, a scalar."""
        return self.total.read_value()


@public("metrics.Mean", "keras.metrics.Mean")
class Mean(Metric):
    """The mean of all values, each counted with its weight: 0 where there are none. An example with several values counts as one,
    their mean."""

    def __init__(self, name="mean", dtype=None):
        super().__init__(dtype, name)
        self.total = self.add_weight(name="total")
        self.count = self.add_weight(name="count")

    def update_state(self, values, sample_weight=None):
        """Adds values of the shape (batch, …), or one. sample_weight: a number, or of the values' shape or that of their first
        axes.

        Errors: InvalidArgumentError for weights of another shape.
        """
        total, count = _samples(self.name, in_dtype(values, self._dtype), sample_weight, True)
        self.total.assign_add(total)
        self.count.assign_add(count)

    def result(self):
        """The mean, a scalar."""
        return _divide_no_nan(self.total, self.count)


@public("metrics.MeanTensor", "keras.metrics.MeanTensor")
class MeanTensor(Metric):
    """The mean of tensors of one shape, element by element: 0 where there are none.

    shape: None for that of the first values.
    """

    def __init__(self, name="mean_tensor", dtype=None, shape=None):
        super().__init__(dtype, name)
        self._shape = None
        if shape is not None:
            self._build(shape)

    def _build(self, shape):
        self._shape = tuple(shape)
        self.total = self.add_weight(name="total", shape=shape)
        self.count = self.add_weight(name="count", shape=shape)

    def update_state(self, values, sample_weight=None):
        """Adds values of the metric's shape. sample_weight: a number, or of the values' shape or that of their first axes.

        Errors: ValueError for another shape.
        """
        values = in_dtype(values, self._dtype)
        if self._shape is None:
            self._build(values.shape)
        if tuple(values.shape) != self._shape:
            raise ValueError(f"{self.name}: values have shape {tuple(values.shape)}; those before had {self._shape}")
        weights = op("ones_like")(values)
        if sample_weight is not None:
            weights = op("broadcast_to")(weights_like(self.name, sample_weight, values), values.shape)
        self.total.assign_add(values * weights)
        self.count.assign_add(weights)

    def result(self):
        """The mean, of the metric's shape. Errors: ValueError before the first values, where no shape was given."""
        if self._shape is None:
            raise ValueError(f"{self.name}: has had no values yet, so that its shape is not known")
        return _divide_no_nan(self.total, self.count)

    def get_config(self):
        """What it was made with, by name."""
        return {**super().get_config(), "shape": self._shape}


@public("metrics.MeanMetricWrapper", "keras.metrics.MeanMetricWrapper")
class MeanMetricWrapper(Mean):
    """The mean of what a function of (y_true, y_pred, **kwargs) gives for each example."""

    def __init__(self, fn, name=None, dtype=None, **kwargs):
        super().__init__(name or getattr(fn, "__name__", None), dtype)
        vars(self).update(_fn=fn, _fn_kwargs=kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch.

        y_true: what should be; y_pred: what was predicted; sample_weight: what each value of the function counts: a number, a
        tensor of their shape, or of that of their first axes. Errors: InvalidArgumentError for shapes that do not fit.
        """
        mask = mask_of(y_pred)
        values = in_dtype(self._fn(y_true, y_pred, **self._fn_kwargs), self._dtype)
        counts = self._counts(y_true, y_pred)
        if counts is not None:
            mask = counts if mask is None else op("logical_and")(op("cast")(mask, "bool"), counts)
        if mask is not None:
            sample_weight = masked_weights(self.name, sample_weight, mask, values, "none")
        super().update_state(values, sample_weight)

    def _counts(self, y_true, y_pred):
        """False where a value is not to count; None where all do."""
        return None

    def get_config(self):
        """What it was made with, by name."""
        config = {**super().get_config(), **self._fn_kwargs}
        if type(self) is MeanMetricWrapper:
            config["fn"] = self._fn.__name__
        return config

    @classmethod
    def from_config(cls, config):
        """The metric of that configuration. Errors: ValueError for a function's name that tf.keras.metrics does not have."""
        if isinstance(config.get("fn"), str):
            config = {**config, "fn": find("metrics", config["fn"], named_in("metrics"))}
        return cls(**config)
