"""What is known of a value before it is there: tf.TensorSpec and its kin."""
from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.arguments import having
from tapedeck._core.public import NAMES, public
from tapedeck._core.shapes import TensorShape, UnknownShape


def shape_or_none(shape):
    """A TensorShape; None where not even the number of axes is known."""
    return None if shape is None or isinstance(shape, UnknownShape) else TensorShape(shape)


def compatible_shapes(one, other):
    """Whether a tensor can have both shapes, of which either may be None."""
    return one is None or other is None or one.is_compatible_with(other)


def common_shape(one, other):
    """What is sure of a value that has one shape or the other."""
    if one is None or other is None or len(one) != len(other):
        return None
    return TensorShape([mine if mine == theirs else None for mine, theirs in zip(one, other)])


@public("TensorSpec")
class TensorSpec:
    """Shape and dtype of a tensor. shape: extents, None where one is not known; None where the number of axes is not.

    Errors: as TensorShape's and as_dtype's.
    """

    __slots__ = ("_shape", "_dtype", "_name")

    def __init__(self, shape=None, dtype=dtypes.float32, name=None):
        self._shape, self._dtype, self._name = shape_or_none(shape), dtypes.as_dtype(dtype), name

    shape = property(lambda self: self._shape, doc="A TensorShape, or None.")
    dtype = property(lambda self: self._dtype, doc="The dtype.")
    name = property(lambda self: self._name, doc="The name that it was given, or None.")

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """The spec of a tensor, whose shape is known."""
        having(tensor, "TensorSpec.from_tensor: tensor", "dtype", "tensor")
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec, name=None):
        """The same spec, with another name where one is given."""
        having(spec, "TensorSpec.from_spec: spec", "dtype", "TensorSpec")
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    def is_compatible_with(self, spec_or_value):
        """Whether a tensor, or whatever has the other spec, can have this one."""
        other = spec_or_value if hasattr(spec_or_value, "dtype") else _engine.convert_to_tensor(spec_or_value)
        return self.dtype == other.dtype and compatible_shapes(self.shape, shape_or_none(other.shape))

    def most_specific_compatible_type(self, other):
        """The spec of what has this one or the other. ValueError where the dtypes differ."""
        if self.dtype != having(other, "TensorSpec.most_specific_compatible_type: other", "dtype", "TensorSpec").dtype:
            raise ValueError(f"TensorSpec: {self} and {other} have no spec in common")
        return TensorSpec(common_shape(self.shape, other.shape), self.dtype, self.name)

    value_type = _engine.Tensor

    def __eq__(self, other):
        return type(other) is type(self) and (self.shape, self.dtype, self.name) == (other.shape, other.dtype, other.name)

    def __hash__(self):
        return hash((self.shape, self.dtype))

    def __reduce__(self):
        return type(self), (None if self.shape is None else list(self.shape), self.dtype.name, self.name)

    def __repr__(self):
        shape = "<unknown>" if self.shape is None else str(tuple(self.shape))
        return f"TensorSpec(shape={shape}, dtype={self.dtype!r}, name={self.name!r})"


class _Wrapper:
    """A spec of what holds values of another one."""

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec):
        self._element_spec = element_spec

    def __eq__(self, other):
        return type(other) is type(self) and self._element_spec == other._element_spec

    def __hash__(self):
        return hash(type(self))

    def __repr__(self):
        return f"{type(self).__name__}({self._element_spec!r}, TensorShape([]))"


@public("data.DatasetSpec")
class DatasetSpec(_Wrapper):
    """The spec of a data set that is an element of another one, as window() makes them."""

    __slots__ = ()
    element_spec = property(lambda self: self._element_spec, doc="The spec of its elements.")
    shape, dtype = TensorShape(()), None

    def _graph_parts(self):  # in a signature
        return NAMES["data.Dataset"]._parts_of_spec(self._element_spec)


@public("OptionalSpec")
class OptionalSpec(_Wrapper):
    """The spec of an Optional."""

    __slots__ = ()
    value_type = property(lambda self: self._element_spec, doc="The spec of the value that may be there.")
