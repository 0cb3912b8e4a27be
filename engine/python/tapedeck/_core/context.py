"""Where and how ops run: eager execution, devices, name scopes."""
import contextlib
import time

from tapedeck import _engine
from tapedeck._core import program_graph
from tapedeck._core.public import public


EXPLICIT, WARN, SILENT, SILENT_FOR_INT32 = (
    public(f"tfe.DEVICE_PLACEMENT_{name}")(policy) for policy, name in enumerate(("EXPLICIT", "WARN", "SILENT", "SILENT_FOR_INT32")))


@public("enable_eager_execution", "tfe.enable_eager_execution")
def enable_eager_execution(config=None, device_policy=None, execution_mode=None):
    """Ops run at once, as they do from the start, but after tf.disable_eager_execution(). It also sets what happens to ops' inputs that
    are on another device, and to what a variable on another one is given. TensorFlow 1 programs call it first; ValueError where a graph
    has been begun.

    device_policy: tfe.DEVICE_PLACEMENT_SILENT, they are copied (the default, None); _WARN, with a line of output; _EXPLICIT, they
    are refused; _SILENT_FOR_INT32, all but those of int32 are. For all threads without a policy of their own
    (tf.config.experimental.set_device_policy). ValueError for another.
    """
    if device_policy not in (None, EXPLICIT, WARN, SILENT, SILENT_FOR_INT32):
        raise ValueError("device_policy must be one of None, tfe.DEVICE_PLACEMENT_EXPLICIT, tfe.DEVICE_PLACEMENT_WARN, "
                         f"tfe.DEVICE_PLACEMENT_SILENT, tfe.DEVICE_PLACEMENT_SILENT_FOR_INT32; it is {device_policy!r}")
    if device_policy is not None:
        _engine.set_process_device_policy(device_policy)
    if program_graph.depth():
        program_graph.service("leave_graph")()


@public("add_check_numerics_ops")
def add_check_numerics_ops():
    """RuntimeError: there is no graph whose ops it could add checks to."""
    raise RuntimeError("add_check_numerics_ops() is not compatible with eager execution: ops run at once; "
                       "tf.debugging.check_numerics checks one tensor")


@public("executing_eagerly", "tfe.executing_eagerly")
def executing_eagerly():
    """Whether ops run as soon as Python reaches them: True, but in a function that is being traced."""
    return not _engine.is_tracing()


@public("inside_function")
def inside_function():
    """Whether a function is being traced: ops become part of its graph."""
    return _engine.is_tracing()


@public("timestamp")
def timestamp(name=None):
    """Seconds since 1970, a float64 scalar. In a function that is traced those of each run."""
    if _engine.is_tracing():
        return _engine.graph_host_call("timestamp", lambda _: [timestamp()], [], [("float64", ())])[0]
    return _engine.constant(time.time(), "float64", None)


@public("tfe.num_gpus")
def num_gpus():
    """How many GPUs this build can use on this machine."""
    return _engine.gpu_count()


soft_placement = [True]  # tf.config.set_soft_device_placement


@public("device")
@contextlib.contextmanager
def device(name=None, *, device_name=None, device_name_or_function=None):
    """Ops of this thread inside run on this device: tf.device("/cpu:0"), tf.device("/gpu:1"), or a full name, as a tensor's `device`
    is: tf.device("/job:localhost/replica:0/task:0/device:CPU:0"). An op without a kernel for GPUs runs on
    the CPU, and its results are copied back.

    None and "" cancel the surrounding tf.device: an op runs on the first GPU that holds one of its inputs, else on the CPU; an op without
    inputs runs on the first GPU, if there is one. device_name and device_name_or_function are TensorFlow's
    names of the argument.
    A missing device is replaced by the first GPU, or by the CPU on a machine without GPUs, so a program for GPUs runs on any machine.
    After tf.config.set_soft_device_placement(False) a missing device is a RuntimeError that names the device and the reason.
    Errors: ValueError for a value that is not a device's name.
    """
    name = next((each for each in (name, device_name, device_name_or_function) if each is not None), None)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"device: name is {name!r}; needs a string, as '/cpu:0', or None")
    before = _engine.enter_device(name or None, soft_placement[0])
    try:
        yield
    finally:
        _engine.enter_device(before)


def open_scope(text):
    """Opens a name scope, which _engine.pop_scope() ends; in a tf.Graph one that no other has. Returns: its whole name."""
    graph = program_graph.current()
    if graph is not None and not text.endswith("/"):
        around = _engine.current_scope()
        text = graph.unique_name(f"{around}/{text}" if around else text) + "/"
    return _engine.push_scope(text)


@public("name_scope")
@contextlib.contextmanager
def name_scope(name, default_name=None, values=None):
    """Records of the ops inside carry this scope: "outer/inner"; names of variables begin with it. Yields "outer/inner/".

    name: a text; one that ends with "/", as what was yielded, is a whole scope, whatever is around it. None for default_name.
    Errors: ValueError for a value that is not a name.
    """
    text = name if name is not None else default_name
    if not isinstance(text, str) or not text.rstrip("/") or not text.isprintable():
        raise ValueError(f"name_scope: {text!r} is not a name")
    whole = open_scope(text)
    try:
        yield whole + "/"
    finally:
        _engine.pop_scope()


@public("control_dependencies")
@contextlib.contextmanager
def control_dependencies(control_inputs):
    """In a tf.Graph, has what is made inside run behind these operations and tensors. Elsewhere ops run in the order in which Python
    reaches them, and it does nothing but call the functions in the list.

    control_inputs: a list; None for none, in a graph not even those around. Errors: TypeError for a value that is not a list, and in a
    graph for what is no tensor or operation.
    """
    if control_inputs is not None and not hasattr(control_inputs, "__iter__"):
        raise TypeError(f"control_dependencies: control_inputs is {control_inputs!r}; needs a list")
    for each in control_inputs or ():
        if callable(each):
            each()
    graph = program_graph.current()
    if graph is None:
        yield
        return
    with graph._controls.entered(control_inputs):
        yield


@public("init_scope")
@contextlib.contextmanager
def init_scope():
    """Ops inside run at once, also in a function that is being traced, and no tape records them there. Elsewhere it does nothing."""
    with _engine.Untraced():
        yield


@public("no_op")
def no_op(name=None):
    """Does nothing. Returns: in a tf.Graph an operation, which runs those of tf.control_dependencies around it; elsewhere None."""
    graph = program_graph.current()
    return None if graph is None else graph._new_operation("NoOp", [], name or "NoOp")


@public("group")
def group(*inputs, **kwargs):
    """In a tf.Graph the operation that runs all of inputs, operations and tensors. Returns: None where ops run at once: they have run.

    Errors: ValueError for inputs of another graph; TypeError for other values.
    """
    graph = program_graph.current()
    if graph is None:
        return None
    flat = [each for value in inputs for each in (value if isinstance(value, (list, tuple)) else [value])]
    return graph._new_operation("NoOp", graph._nodes_of(flat), kwargs.get("name") or "group_deps")
