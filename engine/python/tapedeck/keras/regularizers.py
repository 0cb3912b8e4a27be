"""tf.keras.regularizers: functions of a variable that give a loss."""
from tapedeck import _engine
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck.keras import named_objects as _named_objects


@public("keras.regularizers.Regularizer", "keras.Regularizer")
class Regularizer:
    """Called with a tensor or a variable; returns a scalar of its dtype."""

    def __call__(self, x):
        raise NotImplementedError(f"{type(self).__name__} does not define __call__()")

    def get_config(self):
        """The arguments that it was made with, by name."""
        return {}

    @classmethod
    def from_config(cls, config):
        """The regularizer of these arguments."""
        return cls(**config)


def _factor(name, value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.
    if not 0 <= number < float("inf") or isinstance(value, bool):
        raise ValueError(f"Invalid value for argument {name}: expected a non-negative float. Received: {name}={value!r}")
    return number


@public("keras.regularizers.L1L2")
class L1L2(Regularizer):
    """l1·Σ|x| + l2·Σx². ValueError for factors that are not numbers of at least 0."""

    def __init__(self, l1=0.0, l2=0.0):
        self.l1, self.l2 = _factor("l1", 0. if l1 is None else l1), _factor("l2", 0. if l2 is None else l2)

    def __call__(self, x):
        parts = []
        if self.l1:
            parts.append(self.l1 * _op("reduce_sum")(_op("abs")(x)))
        if self.l2:
            parts.append(2 * self.l2 * _op("l2_loss")(x))
        if not parts:
            return _engine.convert_to_tensor(0, x.dtype)
        return parts[0] + parts[1] if len(parts) > 1 else parts[0]

    def get_config(self):
        return {"l1": self.l1, "l2": self.l2}


@public("keras.regularizers.L1", "keras.regularizers.l1")
class L1(Regularizer):
    """l1·Σ|x|. ValueError for a factor that is not a number of at least 0."""

    def __init__(self, l1=0.01):
        self.l1 = _factor("l1", 0.01 if l1 is None else l1)

    def __call__(self, x):
        return self.l1 * _op("reduce_sum")(_op("abs")(x))

    def get_config(self):
        return {"l1": self.l1}


@public("keras.regularizers.L2", "keras.regularizers.l2")
class L2(Regularizer):
    """l2·Σx². ValueError for a factor that is not a number of at least 0."""

    def __init__(self, l2=0.01):
        self.l2 = _factor("l2", 0.01 if l2 is None else l2)

    def __call__(self, x):
        return 2 * self.l2 * _op("l2_loss")(x)

    def get_config(self):
        return {"l2": self.l2}


@public("keras.regularizers.OrthogonalRegularizer", "keras.regularizers.orthogonal_regularizer")
class OrthogonalRegularizer(Regularizer):
    """How far the rows, or the columns, of a matrix are from being orthogonal: factor times the mean over the pairs of the absolute
    cosine of their angle.

    ValueError for another mode than 'rows' and 'columns', and for a value that is not a matrix.
    """

    def __init__(self, factor=0.01, mode="rows"):
        if mode not in ("rows", "columns"):
            raise ValueError(f"Invalid value for argument mode. Expected one of {{'rows', 'columns'}}. Received: mode={mode}")
        self.factor, self.mode = _factor("factor", factor), mode

    def __call__(self, x):
        if len(x.shape) != 2:
            raise ValueError(f"Inputs to OrthogonalRegularizer must have rank 2. Received: inputs.shape={tuple(x.shape)}")
        rows = self.mode == "rows"
        axis = 1 if rows else 0
        unit = x / _op("maximum")(_op("reduce_euclidean_norm")(x, axis=axis, keepdims=True), 1e-6)
        products = _op("matmul")(unit, unit, transpose_a=not rows, transpose_b=rows)
        size = x.shape[1 - axis]
        others = _op("reduce_sum")(_op("abs")(products * (1 - _op("eye")(size, dtype=products.dtype))))
        return self.factor * 0.5 * others / (max(size * (size - 1), 1) / 2)

    def get_config(self):
        return {"factor": self.factor, "mode": self.mode}


l1, l2, orthogonal_regularizer = L1, L2, OrthogonalRegularizer


@public("keras.regularizers.l1_l2")
def l1_l2(l1=0.01, l2=0.01):  # TensorFlow's defaults differ from the class'
    """L1L2 of these factors."""
    return L1L2(l1, l2)


_named = {"l1": L1, "l2": L2, "l1_l2": L1L2, "L1": L1, "L2": L2, "L1L2": L1L2, "OrthogonalRegularizer": OrthogonalRegularizer,
          "orthogonal_regularizer": OrthogonalRegularizer}


@public("keras.regularizers.serialize")
def serialize(regularizer):
    """What get() makes the same regularizer of."""
    return _named_objects.serialize(regularizer)


@public("keras.regularizers.deserialize")
def deserialize(config, custom_objects=None):
    """The regularizer of what serialize() returned."""
    return _named_objects.found(config, _named, "regularizer", custom_objects)


@public("keras.regularizers.get")
def get(identifier):
    """A regularizer by its name, by a dict of class_name and config, or as it is; None for None. ValueError for a name that none
    has."""
    return _named_objects.get(identifier, _named, "regularizer")
