"""Where and how ops run: eager execution, devices, name scopes."""
import contextlib
import time

from tapedeck import _engine
from tapedeck._core.public import public


@public("enable_eager_execution", "tfe.enable_eager_execution")
def enable_eager_execution(config=None, device_policy=None, execution_mode=None):
    """Does nothing: execution is always eager. TensorFlow 1 programs call it first."""


@public("disable_eager_execution")
def disable_eager_execution():
    """Refuses: FailedPreconditionError. Graphs, which a program would build from here on, are not in Tapedeck."""
    raise _engine.FailedPreconditionError("disable_eager_execution: Tapedeck is always eager: ops run as soon as Python reaches them, and there "
                                          "are no graphs, placeholders or sessions")


@public("add_check_numerics_ops")
def add_check_numerics_ops():
    """RuntimeError: there is no graph whose ops it could add checks to."""
    raise RuntimeError("add_check_numerics_ops() is not compatible with eager execution: ops run at once; "
                       "tf.debugging.check_numerics checks one tensor")


@public("executing_eagerly", "tfe.executing_eagerly")
def executing_eagerly():
    """True: ops run as soon as Python reaches them."""
    return True


@public("timestamp")
def timestamp(name=None):
    """Seconds since 1970, a float64 scalar."""
    return _engine.constant(time.time(), "float64", None)


@public("tfe.num_gpus")
def num_gpus():
    """How many GPUs this build can use on this machine."""
    return _engine.gpu_count()


@public("device")
@contextlib.contextmanager
def device(name=None, *, device_name=None, device_name_or_function=None):
    """Ops inside run on this device: tf.device("/cpu:0"). RuntimeError naming a GPU that is not there.

    None and "" stand for the default device; device_name and device_name_or_function are TensorFlow's names of the argument.
    """
    name = next((each for each in (name, device_name, device_name_or_function) if each is not None), None)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"device: name is {name!r}; needs a text, as '/cpu:0', or None")
    if name:
        _engine.check_device(name)
    yield


@public("name_scope")
@contextlib.contextmanager
def name_scope(name, default_name=None, values=None):
    """Records of the ops inside carry this scope: "outer/inner"; names of variables begin with it. Yields "outer/inner/".

    name: a text; one that ends with "/", as what was yielded, is a whole scope, whatever is around it. None for default_name.
    Errors: ValueError for what is no name.
    """
    text = name if name is not None else default_name
    if not isinstance(text, str) or not text.rstrip("/") or not text.isprintable():
        raise ValueError(f"name_scope: {text!r} is no name")
    whole = _engine.push_scope(text)
    try:
        yield whole + "/"
    finally:
        _engine.pop_scope()


@public("control_dependencies")
@contextlib.contextmanager
def control_dependencies(control_inputs):
    """Does nothing but call the functions in the list: ops run in the order in which Python reaches them.

    control_inputs: a list of anything, or None. Errors: TypeError for what is no list.
    """
    if control_inputs is not None and not hasattr(control_inputs, "__iter__"):
        raise TypeError(f"control_dependencies: control_inputs is {control_inputs!r}; needs a list")
    for each in control_inputs or ():
        if callable(each):
            each()
    yield


@public("init_scope")
@contextlib.contextmanager
def init_scope():
    """Does nothing: TensorFlow leaves the functions that it traces there, and no function is traced."""
    yield


@public("no_op")
def no_op(name=None):
    """Does nothing: TensorFlow's graphs have such an op. Returns: None."""


@public("group")
def group(*inputs, **kwargs):
    """Does nothing: the ops that made inputs have run. Returns: None."""
