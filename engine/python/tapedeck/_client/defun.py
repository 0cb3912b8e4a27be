"""TensorFlow 1's functions of a graph: function.Defun."""
import functools

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._gradients.custom import custom_gradient


class Defun:
    """Decorates a function of tensors of these dtypes.

    grad_func: gives the gradients of the arguments, as a list, from the arguments and the gradients of the results; it may be a Defun,
    too. func_name and the other names change nothing: the function becomes part of the graph that calls it.
    Errors of a call: ValueError for another number of arguments, TypeError for other dtypes.
    """

    def __init__(self, *input_types, func_name=None, grad_func=None, python_grad_func=None, out_names=None, shape_func=None, noinline=None,
                 **_):
        self._types = [dtypes.as_dtype(kind) for kind in input_types]
        self._gradient, self._python_gradient = grad_func, python_grad_func

    def __call__(self, function):
        return DefinedFunction(function, self._types, self._gradient, self._python_gradient)


class DefinedFunction:
    """What Defun makes of a function."""

    def __init__(self, function, types, gradient, python_gradient):
        functools.update_wrapper(self, function)
        self._function, self._types = function, types
        self._gradient, self._python_gradient = gradient, python_gradient

    name = property(lambda self: self._function.__name__, doc="The Python function's name.")

    def __call__(self, *args, name=None):
        if self._types and len(args) != len(self._types):
            raise ValueError(f"Expected number of arguments: {len(self._types)}, received: {len(args)}")
        values = [_engine.convert_to_tensor(value, kind) for value, kind in zip(args, self._types or [None] * len(args))]
        if self._gradient is None and self._python_gradient is None:
            return _results(self._function(*values))
        return self._with_gradient(*values)

    def _with_gradient(self, *values):
        @custom_gradient
        def called(*arguments):
            results = _results(self._function(*arguments))

            def gradient(*cotangents):
                if self._gradient is not None:
                    found = self._gradient(*arguments, *cotangents)
                else:
                    found = self._python_gradient(_Call(arguments, results), *cotangents)
                return list(found) if isinstance(found, (list, tuple)) else [found]

            return results, gradient

        return called(*values)


class _Call:
    """What a python_grad_func reads of the operation."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = list(inputs), list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _results(found):
    """A list of one result is that result, as in TensorFlow."""
    if isinstance(found, (list, tuple)):
        tensors = [_engine.convert_to_tensor(each) for each in found]
        return tensors[0] if len(tensors) == 1 else tensors
    return _engine.convert_to_tensor(found)
