"""Casts under TensorFlow 1's names, and without wrapping around."""
import numpy as np

from tapedeck._core import dtypes
from tapedeck._core.composites import op, tensor
from tapedeck._core.extents import extents
from tapedeck._core.public import public


def _cast_to(name):
    def function(x, name=None):
        return op("cast")(x, target)

    target = dtypes.as_dtype(name)
    function.__name__ = function.__qualname__ = "to_" + {"float32": "float", "float64": "double"}.get(name, name)
    function.__doc__ = f"tf.cast(x, tf.{name}), TensorFlow 1's name of it."
    return public(function.__name__)(function)


for _name in ("float32", "float64", "int32", "int64", "bfloat16"):
    _cast_to(_name)


@public("saturate_cast", "dtypes.saturate_cast", in_errors=True)
def saturate_cast(value, dtype, name=None):
    """A tensor in another dtype; values that this does not have become the nearest that it has.

    value: any numeric dtype; dtype: likewise.
    Returns: dtype, the shape of value. NaN becomes 0 in integers.
    Errors: TypeError for something that is not a dtype.
    """
    value, dtype = tensor(value), dtypes.as_dtype(dtype)
    if value.dtype.is_bool or dtype.is_bool or value.dtype == dtype:
        return op("cast")(value, dtype)
    if value.dtype.is_floating and dtype.is_integer:
        value = op("where")(op("is_nan")(value), op("zeros_like")(value), value)
    lowest, highest = _limits(value.dtype, dtype)
    return op("cast")(op("clip_by_value")(value, lowest, highest), dtype)


def _limits(source, target):
    """The numbers of `source` that are nearest to the limits of `target`, and within."""
    lowest, highest = max(source.min, target.min), min(source.max, target.max)
    if not source.is_floating:
        return int(lowest), int(highest)
    bits = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}[source.name]
    return (float(end) if not target.is_integer or abs(int(end)) < 2**bits else _towards_zero(int(end), bits)
            for end in (lowest, highest))


def _towards_zero(number, bits):
    """The integer with that many significant bits which comes next on the way to 0."""
    spare = max(0, abs(number).bit_length() - bits)
    return float(np.sign(number)) * float(abs(number) >> spare << spare)


@public("real", "math.real", in_errors=True)
def real(input, name=None):
    """The real part of numbers; of real ones they themselves.

    input: any numeric dtype, any shape. Returns: its dtype, of complex64 float32, of complex128 float64; its shape.
    Errors: TypeError for a value that cannot be converted to a tensor.
    """
    input = tensor(input)
    return op("real" if input.dtype.is_complex else "identity")(input)


@public("conj", "math.conj", in_errors=True)
def conj(x, name=None):
    """The conjugates of numbers; of real ones they themselves.

    x: any numeric dtype, any shape. Returns: its dtype and shape. Errors: TypeError for a value that cannot be converted to a tensor.
    """
    x = tensor(x)
    return op("conj" if x.dtype.is_complex else "identity")(x)


@public("angle", "math.angle", in_errors=True)
def angle(input, name=None):
    """The angle of numbers in the complex plane, in (-pi, pi]: of real ones 0, or pi below 0.

    input: complex or floating, any shape. Returns: the dtype of its parts, its shape. Errors: TypeError for other dtypes.
    """
    input = tensor(input)
    if input.dtype.is_complex:
        return op("angle")(input)
    zero = op("zeros_like")(input)
    return op("where")(op("less")(input, zero), op("fill")(extents(input), op("cast")(np.pi, input.dtype)), zero)


@public("imag", "math.imag", in_errors=True)
def imag(input, name=None):
    """The imaginary part of numbers; of real ones zeros.

    input: any numeric dtype, any shape. Returns: its dtype, of complex64 float32, of complex128 float64; its shape.
    Errors: TypeError for a value that cannot be converted to a tensor.
    """
    input = tensor(input)
    return op("imag" if input.dtype.is_complex else "zeros_like")(input)


@public("batch_gather", in_errors=True)
def batch_gather(params, indices, name=None):
    """TensorFlow 1's tf.gather along the last axis of indices, in batches: result[…, i] = params[…, indices[…, i]].

    params: any dtype; indices: any integer dtype, its axes but the last those of params.
    Errors: InvalidArgumentError for other shapes, and for indices out of range.
    """
    indices = tensor(indices)
    axis = max(0, indices.ndim - 1)
    return op("gather")(params, indices, axis=axis, batch_dims=axis)
