"""The shape of a tensor."""
import math


class TensorShape(tuple):
    """A tensor's extents: a tuple of ints with TensorFlow's names on top. Equal to the same tuple or list."""

    __slots__ = ()

    @property
    def ndims(self):
        """Number of axes."""
        return len(self)

    rank = ndims

    @property
    def dims(self):
        """The extents as a list."""
        return list(self)

    def as_list(self):
        """The extents as a list."""
        return list(self)

    def num_elements(self):
        """Number of elements of a tensor of this shape."""
        return math.prod(self)

    def is_fully_defined(self):
        """True: an eager tensor's extents are all known."""
        return True

    def __getitem__(self, key):
        part = tuple.__getitem__(self, key)
        return TensorShape(part) if isinstance(key, slice) else part

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
