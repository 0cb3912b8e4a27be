"""What TensorFlow's tfe says of modes, devices and functions, where everything is eager and runs at once."""
import contextlib
import functools
import sys

import numpy as np

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.arguments import having
from tapedeck._core.composites import require_callable
from tapedeck._core.public import public
from tapedeck.config import list_logical_devices

SYNC, ASYNC = public("tfe.SYNC")(0), public("tfe.ASYNC")(1)


@public("tfe.in_eager_mode")
def in_eager_mode():
    """True: execution is always eager."""
    return True


@public("tfe.in_graph_mode")
def in_graph_mode():
    """False: execution is always eager."""
    return False


@public("tfe.list_devices")
def list_devices():
    """The full names of the devices, as tensors have them: ["/job:localhost/replica:0/task:0/device:CPU:0", …]."""
    return [f"/job:localhost/replica:0/task:0{device.name}" for device in list_logical_devices()]


@public("tfe.execution_mode")
@contextlib.contextmanager
def execution_mode(mode):
    """Does nothing: ops on the CPU have run when their function returns, and those on GPUs go on meanwhile, in any mode. mode:
    tfe.SYNC, tfe.ASYNC or None; ValueError for another."""
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be None/SYNC/ASYNC. Got {mode}")
    yield


@public("tfe.async_wait")
def async_wait():
    """Waits until the GPUs have finished this thread's ops. Raises an error that a kernel has detected, as the next read of a value would:
    an index out of range, a singular matrix. Ops on the CPU are done anyway."""
    _engine.wait_for_gpus()


@public("tfe.async_clear_error")
def async_clear_error():
    """Waits as async_wait does, and discards errors that kernels have detected. InternalError where the GPU is lost to the process. An
    error of an op on the CPU is raised where it is called."""
    _engine.wait_for_gpus(raises=False)


@public("tfe.defun")
def defun(func=None, input_signature=None, **kwargs):
    """func, called as it is: TensorFlow makes a graph of it. Also a decorator with arguments, which change nothing.

    Returns: a function with `python_function`, whose results are those of tf.function. Errors: TypeError for an argument that is not
    callable.
    """
    if func is None:
        return lambda function: defun(function, input_signature)
    require_callable("defun", "func", func)

    @functools.wraps(func)
    def called(*args, **kwargs):
        return nest.map_structure(result_as_tensor, func(*args, **kwargs))

    called.python_function = func
    return called


_VALUES = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)


@public("function")
def function(func=None, input_signature=None, autograph=True, jit_compile=None, reduce_retracing=False, **kwargs):
    """func, called as it is, every time: TensorFlow makes graphs of it. A decorator, with arguments too.

    As there, arrays come to func as tensors, and numbers, texts and arrays that it returns, in lists, tuples and dicts too, are
    tensors; a variable that it returns is read when it returns. input_signature: TensorSpecs of the positional arguments, which
    become tensors of these dtypes. autograph, jit_compile, reduce_retracing and other arguments of
    TensorFlow's (experimental_…) change nothing.
    Returns: a function with `python_function`. Errors: TypeError for an argument that is not callable, for unknown arguments, and for calls
    that do not fit input_signature.
    """
    unknown = [name for name in kwargs if not name.startswith("experimental_")]
    if unknown:
        raise TypeError(f"function() got an unexpected keyword argument {unknown[0]!r}")
    if func is None:
        return lambda given: function(given, input_signature)
    require_callable("function", "func", func)

    @functools.wraps(func)
    def called(*args, **kwargs):
        if input_signature is not None:
            args = _as_specified(func, args, input_signature)
        args, kwargs = nest.map_structure(_array_as_tensor, [list(args), kwargs])
        return nest.map_structure(result_as_tensor, func(*args, **kwargs))

    called.python_function = func
    return called


def _array_as_tensor(value):
    return _engine.convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def result_as_tensor(value):
    """What a function of a graph would return for the value: of a variable what it holds now, of numbers, texts and arrays a
    tensor; other objects as they are."""
    if isinstance(value, _engine.Variable):
        return value.read_value()
    return _engine.convert_to_tensor(value) if isinstance(value, _VALUES) else value


def _as_specified(func, args, signature):
    """The arguments, without a method's self, as tensors of the specs. TypeError where one does not fit."""
    first = len(args) - len(signature)
    name = getattr(func, "__name__", "func")
    if first not in (0, 1):
        raise TypeError(f"{name}: input_signature has {len(signature)} entries, the call has {len(args)} positional arguments")

    def fitted(spec, value):
        value = _engine.convert_to_tensor(value, spec.dtype) if not isinstance(value, (_engine.Tensor, _engine.Variable)) else value
        if not spec.is_compatible_with(value):
            raise TypeError(f"{name}: input_signature wants {spec}; the call has shape {tuple(value.shape)}, dtype "
                            f"{value.dtype.name}")
        return value

    return [*args[:first], *(nest.map_structure(fitted, spec, value) if nest.is_nested(spec) else fitted(spec, value)
                             for spec, value in zip(signature, args[first:]))]


@public("tfe.run_test_in_graph_and_eager_modes")
def run_test_in_graph_and_eager_modes(__unused__=None, graph=None, config=None, use_gpu=True, force_gpu=False, reset_test=True,
                                      assert_no_eager_garbage=False):
    """Decorates a test's method: TensorFlow runs it in a graph too; here it runs once. The arguments change nothing."""
    if __unused__ is not None:
        raise ValueError("Add () after run_test_in_graph_and_eager_modes.")
    return lambda method: method


@public("tfe.IsolateTest")
class IsolateTest(contextlib.AbstractContextManager):
    """A context that shares no variables with what is around it. Does nothing: no variable is found by its name, but in a store."""

    def __exit__(self, *raised):
        return None


@public("tfe.get_optimizer_variables")
def get_optimizer_variables(optimizer):
    """optimizer.variables(): the slots and the other variables of a tf.train.Optimizer, a list."""
    return having(optimizer, "get_optimizer_variables: optimizer", "variables", "optimizer").variables()


@public("tfe.run")
def run(main=None, argv=None):
    """Calls main(argv) and ends the program with what it returns. None: the program's own `main`, and its arguments."""
    main = main or sys.modules["__main__"].main
    sys.exit(main(sys.argv if argv is None else argv))
