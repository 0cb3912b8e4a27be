"""Functions of a shape that give a variable's first value."""
from tapedeck import _engine, dtypes


class Initializer:
    """Called as initializer(shape, dtype=None)."""

    def __call__(self, shape, dtype=None):
        raise NotImplementedError(f"{type(self).__name__} does not say what it gives")


class Constant(Initializer):
    """Every element is `value`."""

    def __init__(self, value=0.0, dtype=dtypes.float32):
        self._value = value
        self._dtype = dtype

    def __call__(self, shape, dtype=None):
        return _engine.constant(self._value, dtype or self._dtype, shape)


class Zeros(Constant):
    """Every element is 0."""

    def __init__(self, dtype=dtypes.float32):
        super().__init__(0, dtype)


class Ones(Constant):
    """Every element is 1."""

    def __init__(self, dtype=dtypes.float32):
        super().__init__(1, dtype)


constant = constant_initializer = Constant
zeros = zeros_initializer = Zeros
ones = ones_initializer = Ones
