"""The shape of a tensor."""
import math
from operator import index

from tapedeck._core.public import public


def _extent(value):
    """An extent as a Python number, or None."""
    try:
        number = value if value is None else index(value)
    except TypeError:
        raise TypeError(f"TensorShape: dims holds {value!r}; needs integers or None") from None
    if number is not None and number < 0:
        raise ValueError(f"TensorShape: dims holds {number}; an extent is at least 0")
    return number


@public("Dimension")
class Dimension(int):
    """TensorFlow 1's extent: an integer with `value`. A shape's items are such after tf.compat.v1_behavior()."""

    __slots__ = ()

    @property
    def value(self):
        """The extent as an int."""
        return int(self)

    def is_compatible_with(self, other):
        """True for the same extent, and for None."""
        return other is None or self == int(other)

    def __repr__(self):
        return f"Dimension({int(self)})"

    __str__ = int.__repr__


_dimensions = False


def set_dimensions(on):
    """Whether the items of shapes are Dimensions, else ints."""
    global _dimensions
    _dimensions = on


class UnknownShape:
    """tf.TensorShape(None): a shape of which not even the number of axes is known, with TensorShape's names. No tensor has it."""

    __slots__ = ()
    ndims = rank = dims = None

    def is_fully_defined(self):
        """False."""
        return False

    def num_elements(self):
        """None."""

    def is_compatible_with(self, other):
        """True."""
        return True

    def assert_is_compatible_with(self, other):
        """Does nothing."""

    def merge_with(self, other):
        """The other shape."""
        return TensorShape(other)

    def concatenate(self, other):
        """This shape."""
        return self

    def with_rank(self, rank):
        """The shape with as many extents, of which none is known."""
        return TensorShape([None] * rank)

    def with_rank_at_least(self, rank):
        """This shape."""
        return self

    with_rank_at_most = with_rank_at_least
    assert_has_rank = assert_same_rank = assert_is_compatible_with

    def assert_is_fully_defined(self):
        """ValueError."""
        raise ValueError("Shape <unknown> is not fully defined")

    def _refuse(self, *rest):
        raise ValueError("the extents of an unknown TensorShape are not known, nor their number")

    as_list = __len__ = __iter__ = __getitem__ = _refuse

    def __bool__(self):
        return False

    def __eq__(self, other):
        return isinstance(other, UnknownShape)

    def __hash__(self):
        return hash(UnknownShape)

    def __reduce__(self):
        return TensorShape, (None,)

    def __str__(self):
        return "<unknown>"

    def __repr__(self):
        return "TensorShape(None)"


@public("TensorShape")
class TensorShape(tuple):
    """A tensor's extents: a tuple of ints with TensorFlow's names on top. Equal to the same tuple or list.

    dims: the extents, None for one that is not known; None for an UnknownShape.
    Errors: TypeError for extents that are neither integers nor None; ValueError for those below 0.
    """

    __slots__ = ()

    def __new__(cls, dims=()):
        if dims is None or isinstance(dims, UnknownShape):
            return UnknownShape()
        if isinstance(dims, TensorShape):
            return tuple.__new__(cls, dims)
        return tuple.__new__(cls, map(_extent, dims if hasattr(dims, "__iter__") and getattr(dims, "ndim", 1) else (dims,)))

    @property
    def ndims(self):
        """Number of axes."""
        return len(self)

    rank = ndims

    @property
    def dims(self):
        """The extents as a list."""
        return [self[axis] for axis in range(len(self))]

    def as_list(self):
        """The extents as a list."""
        return list(self)

    def num_elements(self):
        """Number of elements of a tensor of this shape; None where an extent is None."""
        return math.prod(self) if self.is_fully_defined() else None

    def is_fully_defined(self):
        """True where no extent is None, as those of every tensor."""
        return None not in self

    def assert_is_fully_defined(self):
        """ValueError where an extent is None."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other):
        """True where both have as many axes, and the same extents where neither is None."""
        other = TensorShape(other)
        if isinstance(other, UnknownShape):
            return True
        return len(self) == len(other) and all(None in pair or pair[0] == pair[1] for pair in zip(self, other))

    def assert_is_compatible_with(self, other):
        """ValueError where the shapes are not compatible."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def merge_with(self, other):
        """The shape that has the extents that either knows. ValueError where the shapes are not compatible."""
        self.assert_is_compatible_with(other)
        if isinstance(TensorShape(other), UnknownShape):
            return self
        return TensorShape([mine if theirs is None else theirs for mine, theirs in zip(self, TensorShape(other))])

    def concatenate(self, other):
        """The extents of this shape and after them those of the other."""
        other = TensorShape(other)
        return other if isinstance(other, UnknownShape) else self + other

    def assert_has_rank(self, rank):
        """ValueError for another number of axes."""
        if len(self) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other):
        """ValueError where the other has another number of axes."""
        if len(self) != len(TensorShape(other)):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} must have the same rank")

    def with_rank(self, rank):
        """This shape. ValueError for another number of axes."""
        self.assert_has_rank(rank)
        return self

    def with_rank_at_least(self, rank):
        """This shape. ValueError for fewer axes."""
        if len(self) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank):
        """This shape. ValueError for more axes."""
        if len(self) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def __getitem__(self, key):
        part = tuple.__getitem__(self, key)
        if isinstance(key, slice):
            return TensorShape(part)
        return Dimension(part) if _dimensions and part is not None else part

    def __add__(self, other):
        return TensorShape(tuple.__add__(self, tuple(other)))

    def __radd__(self, other):
        return TensorShape(tuple(other) + tuple(self))

    def __eq__(self, other):
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other):
        return not self == other

    __hash__ = tuple.__hash__

    def __reduce__(self):
        return TensorShape, (tuple(self),)

    def __str__(self):
        return tuple.__repr__(self)

    def __repr__(self):
        return f"TensorShape({list(self)})"
