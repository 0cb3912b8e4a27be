"""Tensors from Python values."""
import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes, generation, indexed_slices
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape

public("Tensor", "tfe.EagerTensor")(_engine.Tensor)
public("Variable", "tfe.Variable")(_engine.Variable)
public("newaxis")(None)


@public("constant")
def constant(value, dtype=None, shape=None, name=None, verify_shape=False):
    """Creates a tensor from a number, a string, a nested list, or a NumPy array.

    dtype: None takes float32 for floats, int32 for ints, complex128 for complex numbers, bool for bools, string for str and
    bytes, and an array's own. shape: the value is reshaped to it, or repeated where it is one number; verify_shape: it must
    have that shape. An array that is read-only (flags.writeable is False, down to its base) shares its memory; others
    are copied. After tf.compat.v1_behavior() floats are cut where dtype is one of integers. InvalidArgumentError (a
    ValueError) for lists that are not rectangular and numbers that do not fit; TypeError for values and dtypes that no tensor
    has, and another shape.
    """
    if verify_shape and shape is not None:
        tensor = _engine.constant(value, dtype, None, True)
        wanted = tuple(TensorShape(shape))
        if tuple(tensor.shape) != wanted:
            raise _engine.TypeMismatchError(f"constant: value has shape {tuple(tensor.shape)}; shape is {wanted}")
        return tensor
    try:
        return _engine.constant(value, dtype, shape, True)
    except _engine.TypeMismatchError:
        if not generation.is_first() or dtype is None or not dtypes.as_dtype(dtype).is_integer:
            raise
        floats = _engine.constant(value, None, None)
        if not floats.dtype.is_floating:
            raise
        return _engine.constant(np.trunc(floats.numpy()).astype(np.int64).tolist(), dtype, shape, True)


@public("convert_to_tensor")
def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None, preferred_dtype=None):
    """Converts a value to a tensor: a tensor is returned as it is, a variable as its value, other values as by tf.constant.

    dtype: what the tensor must be; a tensor of another dtype is an error. dtype_hint (preferred_dtype in TensorFlow 1):
    used where the value can have it. An IndexedSlices becomes the whole tensor.
    """
    if isinstance(value, indexed_slices.IndexedSlices):
        return indexed_slices.whole(value, dtype)
    return _engine.convert_to_tensor(value, dtype, preferred_dtype if dtype_hint is None else dtype_hint, True)


@public("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x):
    """True for tensors and variables."""
    return isinstance(x, (_engine.Tensor, _engine.Variable))
