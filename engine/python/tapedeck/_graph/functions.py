"""What TensorFlow needs for its graphs and eager programs call all the same: Python functions as ops, and constants."""
import functools

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes, errors
from tapedeck._core.composites import op, require_callable, tensor
from tapedeck._core.public import public


@public("guarantee_const")
def guarantee_const(input, name=None):
    """input as a tensor. In a graph it is promised not to change; tensors never do."""
    return op("identity")(input)


def _result(name, value, dtype):
    dtype = dtypes.as_dtype(dtype)
    try:
        return _engine.convert_to_tensor(value, dtype, None)
    except (TypeError, ValueError) as error:
        raise _engine.InvalidArgumentError(
            f"{name}: the result of func cannot be converted to {dtype.name}, the dtype in Tout: {error}") from error


def _tensors(name, inp):
    if inp is not None and not isinstance(inp, (list, tuple)):
        raise TypeError(f"{name}: inp is {type(inp).__name__}; it needs a list of tensors")
    return [tensor(value) for value in inp or ()]


# What TensorFlow makes of an exception that a Python function raises as an op; UnknownError of others.
_MEANINGS = ((StopIteration, errors.OutOfRangeError), (MemoryError, errors.ResourceExhaustedError),
             (NotImplementedError, errors.UnimplementedError), ((TypeError, ValueError), errors.InvalidArgumentError))


def _returned(name, func, arguments):
    try:
        return func(*arguments)
    except errors.OpError:
        raise
    except Exception as error:
        kind = next((kind for raised, kind in _MEANINGS if isinstance(error, raised)), errors.UnknownError)
        raise kind(f"{name}: {type(error).__name__}: {error}") from error


def _called_by_graph(name, func, arguments, Tout, as_arguments):
    """Each run of the graph that is being traced calls func. Results: of the dtypes Tout and of shapes that each run has."""
    kinds = [] if Tout is None else list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    listed = isinstance(Tout, (list, tuple))
    called = f"{name}({getattr(func, '__name__', type(func).__name__)})"

    def run(tensors):
        returned = _called(called, func, as_arguments(tensors), Tout, list)
        return returned if listed else [] if Tout is None else [returned]

    results = _engine.graph_host_call(called, run, arguments, [(dtypes.as_dtype(kind), None) for kind in kinds], as_arguments is list)
    return None if Tout is None else results if listed else results[0]


def _called(name, func, arguments, Tout, as_arguments=list):
    require_callable(name, "func", func)
    if _engine.is_tracing():
        return _called_by_graph(name, func, arguments, Tout, as_arguments)
    returned = _returned(name, func, as_arguments(arguments))
    if not isinstance(Tout, (list, tuple)):
        if Tout is not None and isinstance(returned, (list, tuple)) and len(returned) == 1:
            returned = returned[0]  # the list of results, not a vector
        return None if Tout is None else _result(name, returned, Tout)
    values = [] if returned is None else list(returned) if isinstance(returned, (list, tuple)) else [returned]
    if len(values) != len(Tout):
        raise _engine.InvalidArgumentError(f"{name}: func returned {len(values)} values; Tout has {len(Tout)} dtypes")
    return [_result(name, value, dtype) for value, dtype in zip(values, Tout)]


def _decorator(name, of_function):
    """What decorates a function: called with tensors, it is called by of_function(func, inp)."""
    def decorate(func):
        require_callable(name, "func", func)

        @functools.wraps(func)
        def called(*args):
            return of_function(func, list(args))

        return called

    return decorate


@public("py_function", "tfe.py_func")
def py_function(func=None, inp=None, Tout=None, name=None):
    """func(*inp), called at once, its results of the dtypes Tout. Gradients flow through the ops that func calls. In a function that is
    traced each run calls func; its results have shapes that are known only then.

        @tf.py_function(Tout=tf.float32)
        def doubled(x):
            return x.numpy() * 2

    func: takes tensors; inp: a list of what tensors are made of; without both a decorator of a function that is called with them;
    Tout: a dtype for one result, a list of them for a list, None for none. Returns: a tensor, a list of tensors, or None.
    Errors: InvalidArgumentError for a result of another dtype, and where their number is not that of Tout; TypeError for a func
    that is not callable, and an inp that is not a list. What func raises comes as TensorFlow's: InvalidArgumentError for a
    TypeError or ValueError, OutOfRangeError for a StopIteration, ResourceExhaustedError for a MemoryError, UnimplementedError for a
    NotImplementedError, else UnknownError; its __cause__ is what was raised.
    """
    if func is None and inp is None:
        return _decorator("py_function", lambda func, inp: py_function(func, inp, Tout))
    return _called("py_function", func, _tensors("py_function", inp), Tout)


@public("numpy_function", "py_func")
def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):
    """func(*inp), called at once with NumPy's arrays, its results of the dtypes Tout. No gradient flows through it.

    The arguments are those of tf.py_function, and without func and inp it is a decorator, too; stateful changes nothing.
    """
    if func is None and inp is None:
        return _decorator("numpy_function", lambda func, inp: numpy_function(func, inp, Tout))
    return _called("numpy_function", func, _tensors("numpy_function", inp), Tout, lambda tensors: [np.asarray(value) for value in tensors])
