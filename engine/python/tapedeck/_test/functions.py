"""tf.test: a function's gradients checked against differences, and questions about the machine."""
import math
import tempfile

import numpy as np

from tapedeck import _engine
from tapedeck._core.composites import require_callable
from tapedeck._core.public import public
from tapedeck._gradients.tape import GradientTape
from tapedeck.config import experimental


def _of_tape(f, x):
    with GradientTape() as tape:
        for tensor in x:
            tape.watch(tensor)
        y = f(*x)
    if not isinstance(y, (_engine.Tensor, _engine.Variable)):
        raise TypeError(f"compute_gradient: f returned {type(y).__name__}; it needs to return one tensor")
    if not y.dtype.is_floating:
        raise TypeError(f"compute_gradient: f returned {y.dtype.name}; it needs a floating dtype")
    jacobians = tape.jacobian(y, x, unconnected_gradients="zero")
    return [np.reshape(jacobian, [y.shape.num_elements(), tensor.shape.num_elements()]) for jacobian, tensor in zip(jacobians, x)]


def _values(f, x):
    return np.asarray(f(*x), np.float64).ravel()


def _of_differences(f, x, position, delta):
    """Central differences of f along each element of x[position]."""
    array = np.array(x[position])
    columns = []
    for i in range(array.size):
        values, places = [], []
        for step in (delta, -delta):
            moved = array.copy()
            moved.flat[i] += step
            places.append(float(moved.flat[i]))  # where the sum was rounded to
            arguments = list(x)
            arguments[position] = _engine.convert_to_tensor(moved)
            values.append(_values(f, arguments))
        columns.append((values[0] - values[1]) / (places[0] - places[1]))
    count = _values(f, x).size
    result = np.stack(columns, 1) if columns else np.zeros([count, 0])
    return result.astype(array.dtype)


def _step(delta):
    try:
        step = float(delta)
    except (TypeError, ValueError, OverflowError) as error:
        kind = _engine.TypeMismatchError if isinstance(error, TypeError) else _engine.InvalidArgumentError
        raise kind(f"compute_gradient: delta is {str(delta)[:60]!r}: {error}") from error
    if not 0 < step < math.inf:
        raise _engine.InvalidArgumentError(f"compute_gradient: delta is {step}; must be above 0, and finite")
    return step


def _source(position, value):
    """A new tensor, because x may contain the same one twice."""
    try:
        return _engine.op_function("identity")(value)
    except _engine.OpError as error:
        raise type(error)(f"compute_gradient: x[{position}]: {error}") from error


@public("test.compute_gradient")
def compute_gradient(f, x, delta=None):
    """The derivatives of f by the tape and by central differences, to compare them.

        theoretical, numeric = tf.test.compute_gradient(f, [x])

    f: takes as many tensors as x has, returns one of a floating dtype, and gives the same values for the same arguments; x: a
    list of floating tensors or what they are made of, whose values are the place; delta: the step of the differences, above 0
    and finite; None for 1/1024. Each element of x costs two calls of f, and each element of f's result one playback of the tape.
    Returns: two lists with one array for each of x, of its dtype and the shape (elements of f's result, elements of x).
    Errors: TypeError for an f that is not callable, an x that is not a list, for other dtypes, and for what f returns else;
    InvalidArgumentError for another delta, and one that is too small to move a value.
    """
    if not isinstance(x, (list, tuple)):
        raise TypeError(f"compute_gradient: x is {type(x).__name__}; it needs a list of tensors")
    require_callable("compute_gradient", "f", f)
    delta = 1 / 1024 if delta is None else _step(delta)
    x = [_source(i, value) for i, value in enumerate(x)]
    for i, tensor in enumerate(x):
        if not tensor.dtype.is_floating or tensor.dtype.name == "bfloat16":
            raise TypeError(f"compute_gradient: x[{i}] is {tensor.dtype.name}; needs float16, float32 or float64")
        array = np.array(tensor)
        stuck = array[np.isfinite(array) & (array + np.asarray(delta, array.dtype) == array)]
        if stuck.size:
            raise _engine.InvalidArgumentError(f"compute_gradient: delta is {delta}, too small a step from the value {stuck[0]} of x[{i}] "
                                               f"in {tensor.dtype.name}")
    return _of_tape(f, x), [_of_differences(f, x, i, delta) for i in range(len(x))]


@public("test.is_gpu_available")
def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    """Whether this build can use a GPU of this machine, of this compute capability at least: (7, 0)."""
    if min_cuda_compute_capability is None:
        return _engine.gpu_count() > 0
    wanted = tuple(min_cuda_compute_capability)
    return any(experimental.get_device_details(f"/gpu:{gpu}").get("compute_capability", ()) >= wanted
               for gpu in range(_engine.gpu_count()))


@public("test.gpu_device_name")
def gpu_device_name():
    """"/device:GPU:0" where this build can use a GPU of this machine, else an empty text."""
    return "/device:GPU:0" if is_gpu_available() else ""


@public("test.is_built_with_cuda")
def is_built_with_cuda():
    """Whether this build has kernels for GPUs, be there one or not."""
    return _engine.has_gpu_kernels()


@public("test.get_temp_dir")
def get_temp_dir():
    """A folder for the files of the program's tests; it goes when the program ends."""
    if not _folders:
        _folders.append(tempfile.TemporaryDirectory())
    return _folders[0].name


_folders = []
