"""Extents of tensors as ops take them: numbers, and where a function is traced that does not know them, scalar tensors."""
from tapedeck import _engine
from tapedeck._core.composites import op
from tapedeck._core.shapes import TensorShape, UnknownShape


def is_late(value):
    """Whether it is a tensor, or a list with one, whose value only a run of the function knows that is being traced."""
    if isinstance(value, (list, tuple)):
        return any(map(is_late, value))
    return _engine.is_tracing() and _engine.is_symbolic(value) and _engine.known_value(value) is None


def extents(value):
    """All extents of a tensor, a list. Of a tensor of unknown rank they cannot be told: ValueError."""
    shape = value.shape
    if not isinstance(shape, (TensorShape, UnknownShape)) or shape.is_fully_defined():
        return list(shape)
    known, shape = shape.as_list(), op("shape")(value)
    return [shape[axis] if extent is None else extent for axis, extent in enumerate(known)]


def extent(value, axis):
    """One extent."""
    known = value.shape[axis] if value.shape.rank is not None else None
    return op("shape")(value)[axis] if known is None else known


def count(value, dtype=None):
    """The number of elements: a number, or a scalar tensor of the dtype (int32)."""
    known = value.shape.num_elements() if value.shape.rank is not None else None
    if known is not None:
        return known
    size = op("size")(value)
    return size if dtype is None else op("cast")(size, dtype)


def product(numbers):
    """Of numbers and scalar tensors, in any order."""
    total = 1
    for number in numbers:
        total = number * total
    return total


def as_dtype_of(value, number):
    """A number as it is, a scalar tensor in the value's dtype."""
    return number if isinstance(number, (int, float)) else op("cast")(number, value.dtype)
