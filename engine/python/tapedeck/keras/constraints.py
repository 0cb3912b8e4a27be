"""tf.keras.constraints: functions of a variable's value that optimisers apply after each update."""
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck.keras import backend as _backend, named_objects as _named_objects


@public("keras.constraints.Constraint")
class Constraint:
    """Called with a value; returns one of the same shape and dtype."""

    def __call__(self, w):
        raise NotImplementedError(f"{type(self).__name__} does not define __call__()")

    def get_config(self):
        """The arguments that it was made with, by name."""
        return {}

    @classmethod
    def from_config(cls, config):
        """The constraint of these arguments."""
        return cls(**config)


def _length(w, axis):
    return _op("reduce_euclidean_norm")(w, axis=axis, keepdims=True)


@public("keras.constraints.MaxNorm", "keras.constraints.max_norm")
class MaxNorm(Constraint):
    """Makes what is longer than max_value along `axis` that long."""

    def __init__(self, max_value=2, axis=0):
        self.max_value, self.axis = max_value, axis

    def __call__(self, w):
        length = _length(w, self.axis)
        return w * (_op("minimum")(length, self.max_value) / (length + _backend.epsilon()))

    def get_config(self):
        return {"max_value": self.max_value, "axis": self.axis}


@public("keras.constraints.NonNeg", "keras.constraints.non_neg")
class NonNeg(Constraint):
    """Makes what is below 0 zero."""

    def __call__(self, w):
        return _op("relu")(w)


@public("keras.constraints.UnitNorm", "keras.constraints.unit_norm")
class UnitNorm(Constraint):
    """Makes the length along `axis` 1."""

    def __init__(self, axis=0):
        self.axis = axis

    def __call__(self, w):
        return w / (_length(w, self.axis) + _backend.epsilon())

    def get_config(self):
        return {"axis": self.axis}


@public("keras.constraints.MinMaxNorm", "keras.constraints.min_max_norm")
class MinMaxNorm(Constraint):
    """Moves the length along `axis` towards [min_value, max_value], by the share `rate` of the way."""

    def __init__(self, min_value=0.0, max_value=1.0, rate=1.0, axis=0):
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w):
        length = _length(w, self.axis)
        inside = _op("maximum")(_op("minimum")(length, self.max_value), self.min_value)
        wanted = self.rate * inside + (1 - self.rate) * length
        return w * (wanted / (length + _backend.epsilon()))

    def get_config(self):
        return {"min_value": self.min_value, "max_value": self.max_value, "rate": self.rate, "axis": self.axis}


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm
_named = {"max_norm": MaxNorm, "non_neg": NonNeg, "unit_norm": UnitNorm, "min_max_norm": MinMaxNorm, "MaxNorm": MaxNorm,
          "NonNeg": NonNeg, "UnitNorm": UnitNorm, "MinMaxNorm": MinMaxNorm}


@public("keras.constraints.serialize")
def serialize(constraint):
    """What get() makes the same constraint of."""
    return _named_objects.serialize(constraint)


@public("keras.constraints.deserialize")
def deserialize(config, custom_objects=None):
    """The constraint of what serialize() returned."""
    return _named_objects.found(config, _named, "constraint", custom_objects)


@public("keras.constraints.get")
def get(identifier):
    """A constraint by its name, by a dict of class_name and config, or as it is; None for None. ValueError for a name that none
    has."""
    return _named_objects.get(identifier, _named, "constraint")
