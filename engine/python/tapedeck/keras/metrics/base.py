"""What metrics are: variables that an evaluation's batches change, and a result that is computed from them."""
from tapedeck import _engine, _initializers as initializers
from tapedeck._core import dtypes
from tapedeck._core.arguments import having
from tapedeck._core.composites import op
from tapedeck._core.public import public
from tapedeck._core.trackable import Trackable
from tapedeck.keras.backend import floatx, unique_name
from tapedeck.keras.losses.base import snake_case


def is_dtype(value):
    """Whether the value names a dtype."""
    try:
        dtypes.as_dtype(value)
    except TypeError:
        return False
    return True


@public("keras.Metric", "metrics.Metric", "keras.metrics.Metric")
class Metric(Trackable):
    """A base of metrics. A subclass makes its variables with add_weight, in __init__ or later, changes them in update_state, and
    returns the metric's value in result.

    dtype: of its variables, None for tf.keras.backend.floatx(); name: None for the class's, in lower case,
    with a number where it was used before.
    """

    def __init__(self, dtype=None, name=None):
        if isinstance(dtype, str) and not is_dtype(dtype) or isinstance(name, dtypes.DType):  # Keras 2 has them the other way round
            dtype, name = name, dtype
        if name is not None and not isinstance(name, str):
            raise ValueError(f"{type(self).__name__}: name is {name!r}; needs a string")
        self.name = name or unique_name(snake_case(type(self).__name__))
        vars(self)["_dtype"] = dtypes.as_dtype(getattr(dtype, "compute_dtype", dtype) or floatx())
        vars(self)["_own_variables"] = []

    @property
    def dtype(self):
        """The dtype of what it computes."""
        return self._dtype

    def add_weight(self, *args, **kwargs):
        """A variable of this metric, not trainable: add_weight(shape=(), initializer=None, dtype=None, name=None), or, as Keras 2
        has it, add_weight(name, shape=(), initializer=None, dtype=None).

        shape: its extents, () for a scalar; initializer: as tf.keras.initializers.get takes it, None for zeros; dtype: None for the
        metric's; name: follows the metric's name in that of the variable. aggregation, synchronization and trainable change nothing.
        Errors: RuntimeError where the subclass did not call the base's __init__.
        """
        names = ("name", "shape") if args and isinstance(args[0], str) else ("shape", "initializer", "dtype", "name")
        return self._new_variable(**dict(zip(names, args)), **kwargs)

    def _new_variable(self, shape=(), initializer=None, dtype=None, name=None, aggregation=None, synchronization=None,
                      trainable=False):
        if "_own_variables" not in vars(self):
            raise RuntimeError(f"{type(self).__name__}.__init__ does not call super().__init__(): it has no place for variables")
        name, kind = name or "variable", dtypes.as_dtype(dtype or self._dtype)
        value = self._restored_value(name, shape, kind)
        if value is None:
            value = (initializers.get(initializer) or initializers.Zeros())(shape, kind)
        variable = _engine.Variable(value, trainable=False, name=f"{self.name.replace('/', '>')}/{name}")
        self._own_variables.append(variable)
        return self._track(name, variable)

    add_variable = add_weight

    @property
    def variables(self):
        """Its variables, and those of the metrics in its attributes, each once."""
        found = list(self._own_variables)
        for child in _metrics_in(self):
            found.extend(each for each in child.variables if not any(each is other for other in found))
        return found

    weights = non_trainable_variables = non_trainable_weights = variables

    @property
    def trainable_variables(self):
        """None: gradients have nothing to do with metrics."""
        return []

    trainable_weights = trainable_variables

    def update_state(self, *args, **kwargs):
        """Takes a batch into account. To be defined by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define update_state()")

    def result(self):
        """What the metric is over all batches since the last reset, a tensor. To be defined by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define result()")

    def __call__(self, *args, **kwargs):
        """Takes a batch into account, as update_state does, and returns result()."""
        self.update_state(*args, **kwargs)
        return self.result()

    def reset_state(self):
        """Sets all variables to 0."""
        for variable in self.variables:
            variable.assign(op("zeros")(variable.shape, variable.dtype))

    def reset_states(self):
        """reset_state under Keras 2's first name."""
        self.reset_state()

    def merge_state(self, metrics):
        """Adds the variables of other metrics to this one's, so that its result is that of the batches of all of them.

        metrics: a list of metrics of the same kind. Errors: ValueError for one with other variables.
        """
        for metric in metrics:
            having(metric, "merge_state: metrics", "variables", "metric")
            if [each.shape for each in metric.variables] != [each.shape for each in self.variables]:
                raise ValueError(f"merge_state: {metric!r} has other variables than {self!r}")
            for own, other in zip(self.variables, metric.variables):
                own.assign_add(other)

    def get_config(self):
        """What it was made with, by name."""
        return {"name": self.name, "dtype": self._dtype.name}

    @classmethod
    def from_config(cls, config):
        """The metric of that configuration."""
        return cls(**config)

    def __repr__(self):
        return f"<{type(self).__name__} name={vars(self).get('name')}>"


def refuse_values(function, problem):
    """InvalidArgumentError of a metric's name and what is wrong."""
    raise _engine.InvalidArgumentError(f"{function}: {problem}")


def _metrics_in(trackable):
    for child in trackable._children().values():
        if isinstance(child, Metric):
            yield child
        elif isinstance(child, (list, tuple, dict)):
            yield from _metrics_in(child)
