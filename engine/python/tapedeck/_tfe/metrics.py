"""TensorFlow's tfe.metrics: metrics of eager execution's first interface, whose variables come at the first call."""
import re

from tapedeck import _engine, _initializers as initializers
from tapedeck._core import dtypes
from tapedeck._core.composites import op, tensor
from tapedeck._core.public import public
from tapedeck._core.trackable import Trackable
from tapedeck.summary import first as _summary

_used_scopes = {}
_cast, _sum = op("cast"), op("reduce_sum")


def _in_dtype(value, dtype):
    """The value in that dtype; a Python value without a narrower one in between."""
    if isinstance(value, (_engine.Tensor, _engine.Variable)) or hasattr(value, "dtype"):
        return _cast(value, dtype)
    return tensor(value, dtype)


def _unique(scope):
    """The suffix that makes a scope's name one that no metric had: "", "_1", …"""
    count = _used_scopes.get(scope, 0)
    _used_scopes[scope] = count + 1
    return f"_{count}" if count else ""


@public("tfe.metrics.Metric")
class Metric(Trackable):
    """A base of metrics. A subclass makes its variables in build(), with add_variable, changes them in call(), and gives what comes
    of them in result(). build and call get what the metric is called with; build runs before the first call.

    name: None for the class's; with a number after it where a metric had it before.
    """

    def __init__(self, name=None):
        name = name or type(self).__name__
        scope = re.sub(r"[^A-Za-z0-9.]", "_", name)
        suffix = _unique(scope)
        vars(self).update(_built=False, _vars=[], _initial_values=[], _name=name + suffix, _scope=scope + suffix)

    def __call__(self, *args, **kwargs):
        """Takes a batch into account. Returns what call() returns."""
        if not self._built:
            vars(self)["_building"] = True
            try:
                self.build(*args, **kwargs)
            finally:
                vars(self)["_building"] = False
            vars(self)["_built"] = True
        return self.call(*args, **kwargs)

    @property
    def name(self):
        """The name, which no other metric has."""
        return self._name

    @property
    def variables(self):
        """The variables that build() made."""
        return self._vars

    def init_variables(self):
        """Sets the variables to what they were at first."""
        for variable, value in zip(self._vars, self._initial_values):
            variable.assign(value)

    def build(self, *args, **kwargs):
        """Makes the variables. To be defined by the subclass."""
        raise NotImplementedError("Metrics must define a build() member function")

    def call(self, *args, **kwargs):
        """Changes the variables by a batch. To be defined by the subclass."""
        raise NotImplementedError("Metrics must define a call() member function")

    def result(self):
        """What the metric is over all batches. To be defined by the subclass."""
        raise NotImplementedError("Metrics must define a result() member function")

    def aggregate(self, metrics):
        """Adds the variables of other metrics to this one's.

        metrics: a list of metrics of the same class. Errors: TypeError for another class, ValueError for other variables.
        """
        for other in metrics:
            if type(self) is not type(other):
                raise TypeError(f"All metrics must be the same type, '{type(self)}' != '{type(other)}'.")
        for place, own in enumerate(self._vars):
            others = [other._vars[place] for other in metrics if place < len(other._vars)]
            if len(others) != len(metrics) or any(_own_part(each.name) != _own_part(own.name) for each in others):
                raise ValueError("All metrics must have variables in the same order.")
            if others:
                own.assign_add(op("add_n")([each.read_value() for each in others]))

    def add_variable(self, name, shape=None, dtype=None, initializer=None):
        """A variable, not trainable, for build().

        name: follows the metric's name in that of the variable; shape: None for a scalar; dtype: None for float32; initializer: as
        tf.keras.initializers.get takes it, None for zeros. Errors: RuntimeError outside of build().
        """
        if self._built or not vars(self).get("_building"):
            raise RuntimeError("Can't call add_variable() except in build().")
        kind = dtypes.as_dtype(dtype or dtypes.float32)
        value = (initializers.get(initializer) or initializers.Zeros())(() if shape is None else shape, kind)
        restored = self._restored_value(name)
        variable = _engine.Variable(value if restored is None else restored, trainable=False, name=f"{self._scope}/{name}",
                                    import_scope="")
        self._vars.append(variable)
        self._initial_values.append(value)
        return self._track(name, variable)


def _own_part(name):
    return name.rpartition("/")[2]


@public("tfe.metrics.Mean")
class Mean(Metric):
    """The mean of all values, each counted with its weight.

    dtype: of the sums and of the result. In a context of tf.contrib.summary's that records, result() writes it.
    """

    def __init__(self, name=None, dtype=dtypes.float64):
        super().__init__(name)
        self.dtype = dtypes.as_dtype(dtype)

    def build(self, *args, **kwargs):
        """Makes the sums of values and of weights."""
        self.numer = self.add_variable("numer", (), self.dtype, initializers.Zeros())
        self.denom = self.add_variable("denom", (), self.dtype, initializers.Zeros())

    def call(self, values, weights=None):
        """Adds values of any shape. weights: what broadcasts to them, None for 1."""
        values = _in_dtype(values, self.dtype)
        if weights is None:
            self.denom.assign_add(float(values.shape.num_elements()))
            self.numer.assign_add(_sum(values))
            return
        weights = _in_dtype(weights, self.dtype)
        self.denom.assign_add(_sum(weights))
        self.numer.assign_add(_sum(values * weights))

    def result(self, write_summary=True):
        """The mean, a scalar; NaN of nothing. write_summary: False keeps it out of summaries."""
        mean = self.numer / self.denom
        if write_summary:
            _summary.scalar(self.name, mean)
        return mean


def _paired(metric, labels, predictions):
    labels, predictions = tensor(labels), tensor(predictions)
    if labels.shape != predictions.shape:
        raise _engine.InvalidArgumentError(f"{metric.name}: Shapes of labels {tuple(labels.shape)} and predictions "
                                           f"{tuple(predictions.shape)} are incompatible")
    return labels, predictions


@public("tfe.metrics.Accuracy")
class Accuracy(Mean):
    """How often predictions equal labels."""

    def __init__(self, name=None, dtype=dtypes.float64):
        super().__init__(name, dtype)

    def call(self, labels, predictions, weights=None):
        """Adds a batch. labels, predictions: of one shape; weights: what broadcasts to it, None for 1.

        Errors: InvalidArgumentError for different shapes.
        """
        labels, predictions = _paired(self, labels, predictions)
        super().call(_cast(op("equal")(labels, predictions), dtypes.float64), weights)


@public("tfe.metrics.CategoricalAccuracy")
class CategoricalAccuracy(Mean):
    """How often predictions and labels have their largest element at the same index."""

    def __init__(self, name=None, dtype=dtypes.float64):
        super().__init__(name, dtype)

    def call(self, labels, predictions, weights=None):
        """Adds a batch. labels, predictions: (…, classes), of one shape; weights: what broadcasts to it without the classes."""
        labels, predictions = _paired(self, labels, predictions)
        matches = op("equal")(op("argmax")(labels, -1), op("argmax")(predictions, -1))
        super().call(_cast(matches, dtypes.float64), weights)


@public("tfe.metrics.BinaryAccuracy")
class BinaryAccuracy(Mean):
    """How often predictions are on the side of threshold that labels, 0 and 1, name."""

    def __init__(self, threshold, name=None, dtype=dtypes.float64):
        super().__init__(name, dtype)
        self.threshold = threshold

    def call(self, labels, predictions, weights=None):
        """Adds a batch. labels, predictions: of one shape; weights: what broadcasts to it, None for 1."""
        labels, predictions = _paired(self, labels, predictions)
        chosen = op("greater")(predictions, tensor(self.threshold, predictions.dtype))
        super().call(_cast(op("equal")(_cast(labels, "bool"), chosen), dtypes.float64), weights)


@public("tfe.metrics.SparseAccuracy")
class SparseAccuracy(Mean):
    """How often labels are the numbers of the largest elements of predictions."""

    def __init__(self, name=None, dtype=dtypes.float64):
        super().__init__(name, dtype)

    def call(self, labels, predictions, weights=None):
        """Adds a batch. labels: integers; predictions: (…, classes), of the shape of labels before the classes."""
        predictions = tensor(predictions)
        labels, best = _paired(self, _cast(labels, dtypes.int64), op("argmax")(predictions, -1))
        super().call(_cast(op("equal")(labels, best), dtypes.float64), weights)
