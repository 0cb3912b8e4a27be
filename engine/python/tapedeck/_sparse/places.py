"""The places of a SparseTensor's values as NumPy's arrays, (count, axes): their order, those that occur twice, axes by number."""
import math

import numpy as np

from tapedeck._engine import InvalidArgumentError
from tapedeck._core.arguments import integer, integers

_LARGEST = 2**63 - 1


def places_of(sparse):
    """The places, (count, axes), int64."""
    return sparse.indices.numpy()


def shape_of(sparse):
    """The extents, a list."""
    return sparse.dense_shape.numpy().tolist()


def numbered(places, shape):
    """Each place as its number in row-major order, int64; None where numbers of the shape's elements do not fit in there."""
    if math.prod(shape) > _LARGEST:
        return None
    numbers = np.zeros(len(places), np.int64)
    for axis, extent in enumerate(shape):
        numbers = numbers * extent + places[:, axis]
    return numbers


def row_major(places):
    """The numbers of the places in row-major order; equal places stay in theirs."""
    return np.lexsort(places.T[::-1]) if places.shape[1] else np.arange(len(places))


def distinct(places, shape):
    """(the places that occur, in row-major order, and for each place which of them it is)."""
    numbers = numbered(places, shape)
    if numbers is not None:
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        return places[first], inverse.reshape(-1)
    found, inverse = np.unique(places, axis=0, return_inverse=True)
    return found, inverse.reshape(-1)


def axis_of(function, axis, rank, name="axis"):
    """An axis' number, counted from the front. InvalidArgumentError for one that is not there."""
    number = integer(axis, name)
    if not -rank <= number < rank:
        raise InvalidArgumentError(f"{function}: {name} is {number}; the tensor has {rank} axes")
    return number % rank


def axes_of(function, axis, rank):
    """The numbers of axes, each once, counted from the front: of one, several, or all for None."""
    if axis is None:
        return list(range(rank))
    return sorted({axis_of(function, each, rank) for each in integers(axis, "axis")})


def extents_of(function, name, value, rank):
    """As many integers as the tensor has axes. InvalidArgumentError for another number of them."""
    found = integers(value, name)
    if len(found) != rank:
        raise InvalidArgumentError(f"{function}: {name} is {found}; the tensor has {rank} axes")
    return found
