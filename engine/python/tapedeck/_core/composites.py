"""What functions are made of that are several ops, or none."""
import os

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes

op = _engine.op_function  # the function of the op of that name: op("matmul")


def tensor(value, dtype=None):
    """The value as a tensor."""
    return _engine.convert_to_tensor(value, dtype, None)


def in_dtype(value, dtype):
    """The value as a tensor of that dtype: Python's numbers and arrays at once, without a narrower dtype between, others cast."""
    value = _engine.convert_to_tensor(value, dtype_hint=dtype)
    return value if value.dtype == dtype else op("cast")(value, dtype)


def either(function, name, value, other_name, other):
    """An argument that has a name of its own in each of TensorFlow's generations."""
    if (value is None) == (other is None):
        raise _engine.TypeMismatchError(f"{function}() needs either {name!r} or {other_name!r}, and not both")
    return other if value is None else value


def require_callable(function, argument, value):
    """TypeError for an argument that is not callable."""
    if not callable(value):
        raise _engine.TypeMismatchError(f"{function}: {argument} is {value!r}; needs a function")


def limits(dtype):
    """NumPy's finfo of a floating dtype; float32's for bfloat16, which NumPy does not have and which has the same exponents."""
    return np.finfo(np.float32 if dtype == dtypes.bfloat16 else dtype.as_numpy_dtype)


def index_dtype(function, argument, dtype):
    """The dtype of positions or counts; shorter ones than int32 would wrap around."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (dtypes.int32, dtypes.int64):
        raise _engine.InvalidArgumentError(f"{function}: {argument} is {dtype.name}; needs int32 or int64")
    return dtype


def zero_of(x):
    """A 0 of the dtype of x."""
    return _engine.constant(0, x.dtype, None)


def require_memory(what, elements, dtype):
    """ResourceExhaustedError where a tensor of so many elements needs more memory than the machine has."""
    needed, room = elements * dtype.size, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > room:
        raise _engine.ResourceExhaustedError(f"{what} needs {_readable(needed)}, the machine has {_readable(room)}")


def _readable(count):
    """Bytes as the engine writes them: "4.0 TiB", "24 GiB"."""
    power = max(0, min(6, (max(count, 1).bit_length() - 1) // 10))
    value = count / 2**(10 * power)
    return f"{value:.{1 if value < 10 else 0}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB')[power]}"


MOST_PARTS = 2**24  # as many tensors as ops make at most


def require_few(what, count):
    """ResourceExhaustedError for more tensors, or numbers in a list, than a program can mean."""
    if count > MOST_PARTS:
        raise _engine.ResourceExhaustedError(f"{what} is {count}; at most {MOST_PARTS} can be made")
