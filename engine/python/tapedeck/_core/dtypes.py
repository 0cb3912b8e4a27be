"""The element types of tensors: tf.float32, tf.int32, tf.bool and their siblings.

bool, int32, int64, float32 and float64 have kernels of their own. The others are stored as they are, while ops compute in
int32 (uint32: int64) or float32 and round the results: integers wrap around. NumPy has no bfloat16: arrays of such
tensors are float32.

string holds bytes of any length (text as UTF-8); uint64 and the complex types take part in the ops that say so.
"""
import numpy as np

from tapedeck import _engine
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape


@public("dtypes.DType", "DType")
class DType:
    """An element type. Equal to its NumPy dtype, to its NumPy scalar type and to its name."""

    __slots__ = ("_name", "_numpy")

    def __init__(self, name):
        self._name = name
        self._numpy = np.dtype({"bfloat16": "float32", "string": "object"}.get(name, name))

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
        """The dtype itself: there are no reference dtypes."""
        return self

    @property
    def size(self):
        """Bytes of one element."""
        return 2 if self._name == "bfloat16" else self._numpy.itemsize

    @property
    def is_floating(self):
        """True for real numbers: bfloat16, float16, float32 and float64."""
        return self._numpy.kind == "f"

    @property
    def is_integer(self):
        """True for integers, with or without a sign."""
        return self._numpy.kind in "iu"

    @property
    def is_unsigned(self):
        """True for integers without a sign."""
        return self._numpy.kind == "u"

    @property
    def is_bool(self):
        """True for bool."""
        return self._numpy.kind == "b"

    @property
    def is_complex(self):
        """True for complex64 and complex128."""
        return self._numpy.kind == "c"

    @property
    def is_quantized(self):
        """False: tensors hold no quantized numbers."""
        return False

    @property
    def is_numpy_compatible(self):
        """True where NumPy has this type: it has no bfloat16. Arrays of strings hold bytes objects."""
        return self._name != "bfloat16"

    @property
    def real_dtype(self):
        """The type of a complex number's parts; any other type itself."""
        return {"complex64": float32, "complex128": float64}.get(self._name, self)

    @property
    def as_datatype_enum(self):
        """TensorFlow's number of the type in its protocol buffers: 1 for float32."""
        return _ENUMS[self._name]

    def is_compatible_with(self, other):
        """True for the same type."""
        return self is as_dtype(other)

    @property
    def limits(self):
        """(least, greatest): the range of a pixel of this type, (0, 1) of real numbers, as TensorFlow has it."""
        if self.is_floating:
            return 0, 1
        return (False, True) if self.is_bool else (self.min, self.max)

    @property
    def min(self):
        """The smallest finite value."""
        return -self.max if self._name == "bfloat16" else self._limits().min

    @property
    def max(self):
        """The largest finite value."""
        return float.fromhex("0x1.fep127") if self._name == "bfloat16" else self._limits().max

    def _limits(self):
        if not (self.is_floating or self.is_integer):
            raise _engine.TypeMismatchError(f"{self._name} has no least and greatest value")
        return np.finfo(self._numpy) if self.is_floating else np.iinfo(self._numpy)

    @property
    def dtype(self):
        """The NumPy dtype, so that NumPy takes a DType wherever it takes a dtype."""
        return self._numpy

    def __eq__(self, other):
        if isinstance(other, DType):
            return self is other
        if other is None or self._name in ("bfloat16", "string"):
            return isinstance(other, str) and other == self._name or self._name == "string" and other in (object, np.dtype("O"))
        try:
            return self._numpy == np.dtype(other)
        except (TypeError, ValueError):
            return False

    def __hash__(self):
        return hash(self._name if self._name == "bfloat16" else self._numpy)

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
int8 = DType("int8")
int16 = DType("int16")
uint8 = DType("uint8")
uint16 = DType("uint16")
uint32 = DType("uint32")
float16 = DType("float16")
half = float16
bfloat16 = DType("bfloat16")
string = DType("string")
uint64 = DType("uint64")
complex64 = DType("complex64")
complex128 = DType("complex128")

_all = [bool, int32, int64, float32, float64, int8, int16, uint8, uint16, uint32, float16, bfloat16, string, uint64,
        complex64, complex128]
for _dtype in _all:
    public(_dtype.name, f"dtypes.{_dtype.name}")(_dtype)
public("double", "dtypes.double")(float64)
public("half", "dtypes.half")(float16)

# DataType in TensorFlow's types.proto.
_ENUMS = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8, "int64": 9,
          "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23}


@public("dtypes.as_dtype", "as_dtype")
def as_dtype(type_value):
    """The DType of a DType, a name, a NumPy dtype, a NumPy scalar type or TensorFlow's number. TypeError where there is none."""
    if isinstance(type_value, DType):
        return type_value
    if type(type_value) is int:
        for candidate in _all:
            if candidate.as_datatype_enum == type_value:
                return candidate
    if type_value is str or type_value is bytes or isinstance(type_value, np.dtype) and type_value.kind in "SU":
        return string
    if type_value == "float" and isinstance(type_value, str):  # TensorFlow's name; NumPy's float has 64 bits
        return float32
    if isinstance(type_value, (str, type, np.dtype)):
        for candidate in _all:
            if candidate == type_value:
                return candidate
    raise _engine.TypeMismatchError(f"{type_value!r} is not one of {', '.join(dtype.name for dtype in _all)}")


_engine._register_types(_all, DType, TensorShape)
