"""What TensorFlow's tfe says of modes and devices, where ops run at once but in functions that are traced."""
import contextlib
import sys

from tapedeck import _engine
from tapedeck._core.arguments import having
from tapedeck._core.public import public
from tapedeck.config import list_logical_devices

SYNC, ASYNC = public("tfe.SYNC")(0), public("tfe.ASYNC")(1)


@public("tfe.in_eager_mode")
def in_eager_mode():
    """True, but in a function that is being traced."""
    return not _engine.is_tracing()


@public("tfe.in_graph_mode")
def in_graph_mode():
    """False, but in a function that is being traced."""
    return _engine.is_tracing()


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
