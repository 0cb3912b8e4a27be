"""Small helpers on arrays."""
import random

import numpy as np

from tapedeck import _engine
from tapedeck._core.composites import op as _op
from tapedeck._core.host_ops import Known, needs_values
from tapedeck._core.public import public
from tapedeck._math.reductions import norm
from tapedeck._random import distributions as random_ops


def _of_classes(x, num_classes, **_):
    shape = x.shape.as_list() if x.shape.rank is not None else None
    if shape is None or len(shape) > 1 and shape[-1] is None:  # an axis of extent 1 would go
        return Known("float32", None)
    return Known("float32", [*(shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape), num_classes])


@public("keras.utils.to_categorical")
@needs_values("x", known=_of_classes)
def to_categorical(x, num_classes=None):
    """Class numbers as rows of zeros with a 1 at the class.

    x: integers, any shape; a last axis of extent 1 is left out. num_classes: None for the largest number and 1.
    Returns: float, the shape of x and num_classes: a tensor for a tensor, else a NumPy array. Errors: IndexError for a number
    beyond num_classes.
    """
    tensor = isinstance(x, (_engine.Tensor, _engine.Variable))
    numbers = np.asarray(x.numpy() if tensor else x, "int64")
    shape = numbers.shape[:-1] if numbers.ndim > 1 and numbers.shape[-1] == 1 else numbers.shape
    flat = numbers.reshape(-1)
    count = num_classes or (int(flat.max()) + 1 if flat.size else 0)
    if tensor:
        return _op("one_hot")(_engine.convert_to_tensor(numbers.reshape(shape)), count)
    beyond = flat[(flat >= count) | (flat < -count)]
    if beyond.size:
        raise _engine.OutOfRangeError(f"to_categorical: x has the class {beyond[0]}; num_classes is {count}")
    rows = np.zeros((flat.size, count))
    rows[np.arange(flat.size), flat] = 1
    return rows.reshape((*shape, count))


@public("keras.utils.normalize")
def normalize(x, axis=-1, order=2):
    """x divided by its norm of that order along an axis; zeros stay. A tensor for a tensor, else a NumPy array."""
    if isinstance(x, (_engine.Tensor, _engine.Variable)):
        length = norm(x, ord="euclidean" if order == 2 else order, axis=axis, keepdims=True)
        return x / _op("where")(length == 0, _op("ones_like")(length), length)
    rank = np.ndim(x)
    if not -rank <= axis < rank:
        raise ValueError(f"normalize: axis is {axis}; x has {rank} axes")
    length = np.atleast_1d(np.linalg.norm(x, order, axis))
    length[length == 0] = 1
    return x / np.expand_dims(length, axis)


@public("keras.utils.set_random_seed")
def set_random_seed(seed):
    """Seeds Python's, NumPy's and this package's random numbers. ValueError for a value that is not an integer."""
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool):
        raise ValueError(f"Expected `seed` argument to be an integer. Received: seed={seed} (of type {type(seed)})")
    random.seed(int(seed))
    np.random.seed(int(seed) % 2**32)
    random_ops.set_seed(int(seed))
