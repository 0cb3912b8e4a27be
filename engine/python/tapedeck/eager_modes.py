"""What TensorFlow's tfe says of modes, devices and functions, where everything is eager and runs at once."""
import contextlib
import functools
import sys

from tapedeck.composites import require_callable
from tapedeck.config import list_logical_devices

DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT, DEVICE_PLACEMENT_SILENT_FOR_INT32 = range(4)
SYNC, ASYNC = 0, 1


def in_eager_mode():
    """True: execution is always eager."""
    return True


def in_graph_mode():
    """False: execution is always eager."""
    return False


def list_devices():
    """The names of the devices, as tf.device takes them: ["/device:CPU:0"]."""
    return [device.name for device in list_logical_devices()]


@contextlib.contextmanager
def execution_mode(mode):
    """Does nothing: ops have run when their function returns. mode: tfe.SYNC, tfe.ASYNC or None; ValueError for another."""
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be None/SYNC/ASYNC. Got {mode}")
    yield


def async_wait():
    """Does nothing: no op is under way."""


def async_clear_error():
    """Does nothing: an op's error is raised where it was called."""


def defun(func=None, input_signature=None, **kwargs):
    """func, called as it is: TensorFlow makes a graph of it. Also a decorator with arguments, which change nothing.

    Returns: a function with `python_function`. Errors: TypeError for what cannot be called.
    """
    if func is None:
        return lambda function: defun(function, input_signature)
    require_callable("defun", "func", func)

    @functools.wraps(func)
    def called(*args, **kwargs):
        return func(*args, **kwargs)

    called.python_function = func
    return called


def run_test_in_graph_and_eager_modes(__unused__=None, graph=None, config=None, use_gpu=True, force_gpu=False, reset_test=True,
                                      assert_no_eager_garbage=False):
    """Decorates a test's method: TensorFlow runs it in a graph too; here it runs once. The arguments change nothing."""
    if __unused__ is not None:
        raise ValueError("Add () after run_test_in_graph_and_eager_modes.")
    return lambda method: method


class IsolateTest(contextlib.AbstractContextManager):
    """A context that shares no variables with what is around it. Does nothing: no variable is found by its name, but in a store."""

    def __exit__(self, *raised):
        return None


def get_optimizer_variables(optimizer):
    """optimizer.variables(): the slots and the other variables of a tf.train.Optimizer, a list."""
    return optimizer.variables()


def run(main=None, argv=None):
    """Calls main(argv) and ends the program with what it returns. None: the program's own `main`, and its arguments."""
    main = main or sys.modules["__main__"].main
    sys.exit(main(sys.argv if argv is None else argv))
