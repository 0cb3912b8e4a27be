"""What TensorFlow needs for its graphs and eager programs call all the same: here ops run in the order in which Python reaches them."""
import contextlib

import numpy as np

from tapedeck import _engine, dtypes, nest
from tapedeck.composites import op, public, tensor
from tapedeck.custom import custom_gradient


@public("control_dependencies")
@contextlib.contextmanager
def control_dependencies(control_inputs):
    """A context that changes nothing: what stands before an op has run before it. Functions in control_inputs are called first."""
    for control_input in control_inputs or ():
        if callable(control_input) and not isinstance(control_input, (_engine.Tensor, _engine.Variable)):
            control_input()
    yield


@public("no_op")
def no_op(name=None):
    """None: an op that does nothing has nothing to return."""


@public("group")
def group(*inputs, name=None):
    """None: the inputs have run already."""


@public("guarantee_const")
def guarantee_const(input, name=None):
    """input as a tensor. In a graph it is promised not to change; tensors never do."""
    return op("identity")(input)


def _result(name, value, dtype):
    dtype = dtypes.as_dtype(dtype)
    try:
        return _engine.convert_to_tensor(value, dtype, None)
    except (TypeError, ValueError) as error:
        raise _engine.InvalidArgumentError(f"{name}: func returned what is no {dtype.name}, the dtype in Tout: {error}") from error


def _called(name, func, arguments, Tout):
    if not callable(func):
        raise TypeError(f"{name}: func is {type(func).__name__}; it needs a function")
    returned = func(*arguments)
    if not isinstance(Tout, (list, tuple)):
        return None if Tout is None else _result(name, returned, Tout)
    values = [] if returned is None else list(returned) if isinstance(returned, (list, tuple)) else [returned]
    if len(values) != len(Tout):
        raise _engine.InvalidArgumentError(f"{name}: func returned {len(values)} values; Tout has {len(Tout)} dtypes")
    return [_result(name, value, dtype) for value, dtype in zip(values, Tout)]


@public("py_function")
def py_function(func=None, inp=None, Tout=None, name=None):
    """func(*inp), called at once, its results of the dtypes Tout. Gradients flow through the ops that func calls.

    func: takes tensors; inp: a list of what tensors are made of; Tout: a dtype for one result, a list of them for a list, None
    for none. Returns: a tensor, a list of tensors, or None.
    Errors: InvalidArgumentError for a result of another dtype, and where their number is not that of Tout.
    """
    return _called("py_function", func, [tensor(value) for value in inp or ()], Tout)


@public("numpy_function")
def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):
    """func(*inp), called at once with NumPy's arrays, its results of the dtypes Tout. No gradient flows through it.

    The arguments are those of tf.py_function; stateful changes nothing.
    """
    return _called("numpy_function", func, [np.asarray(tensor(value)) for value in inp or ()], Tout)


@public("grad_pass_through")
def grad_pass_through(f):
    """f with the gradient of the identity: what arrives at the result goes to the argument unchanged (a straight-through estimator).

    f: takes one argument or several, returns a tensor of each one's shape. The variables that f reads get no gradient.
    """

    @custom_gradient
    def through(*args, **kwargs):

        def grad(*gradients, variables=None):
            of_arguments = list(gradients) * len(args) if len(gradients) == 1 else list(gradients)
            return of_arguments if variables is None else (of_arguments, [None] * len(variables))

        return f(*args, **kwargs), grad

    through.__name__ = getattr(f, "__name__", type(f).__name__)
    return through
