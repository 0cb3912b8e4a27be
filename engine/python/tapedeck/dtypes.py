"""The element types of tensors: tf.float32, tf.float64, tf.int32, tf.int64, tf.bool."""
import numpy as np

from tapedeck import _engine
from tapedeck.shapes import TensorShape


class DType:
    """An element type. Equal to its NumPy dtype, to its NumPy scalar type and to its name."""

    __slots__ = ("_name", "_numpy")

    def __init__(self, name):
        self._name = name
        self._numpy = np.dtype(name)

    @property
    def name(self):
        """TensorFlow's name: "float32"."""
        return self._name

    @property
    def as_numpy_dtype(self):
        """The NumPy scalar type: np.float32."""
        return self._numpy.type

    @property
    def base_dtype(self):
        """The type itself: there are no reference types here."""
        return self

    @property
    def size(self):
        """Bytes of one element."""
        return self._numpy.itemsize

    @property
    def is_floating(self):
        """True for float32 and float64."""
        return self._numpy.kind == "f"

    @property
    def is_integer(self):
        """True for int32 and int64."""
        return self._numpy.kind == "i"

    @property
    def is_bool(self):
        """True for bool."""
        return self._numpy.kind == "b"

    @property
    def min(self):
        """The least finite value."""
        return self._limits().min

    @property
    def max(self):
        """The greatest finite value."""
        return self._limits().max

    def _limits(self):
        if self.is_bool:
            raise TypeError("bool has no least and greatest value")
        return np.finfo(self._numpy) if self.is_floating else np.iinfo(self._numpy)

    @property
    def dtype(self):
        """The NumPy dtype, so that NumPy takes a DType wherever it takes a dtype."""
        return self._numpy

    def __eq__(self, other):
        if isinstance(other, DType):
            return self is other
        if other is None:
            return False
        try:
            return self._numpy == np.dtype(other)
        except TypeError:
            return False

    def __hash__(self):
        return hash(self._numpy)

    def __reduce__(self):
        return as_dtype, (self._name,)

    def __str__(self):
        return f"<dtype: '{self._name}'>"

    def __repr__(self):
        return f"tf.{self._name}"


bool = DType("bool")
int32 = DType("int32")
int64 = DType("int64")
float32 = DType("float32")
float64 = DType("float64")
double = float64

_all = [bool, int32, int64, float32, float64]


def as_dtype(type_value):
    """The DType of a DType, a name, a NumPy dtype or a NumPy scalar type. TypeError where there is none."""
    if isinstance(type_value, DType):
        return type_value
    for candidate in _all:
        if candidate == type_value:
            return candidate
    raise TypeError(f"{type_value!r} is not one of bool, int32, int64, float32, float64")


_engine._register_types(_all, DType, TensorShape)
