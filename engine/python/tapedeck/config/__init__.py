"""Settings of the engine, and the devices that it finds."""
import collections

from tapedeck import _engine
from tapedeck._core import context
from tapedeck._core.public import public
from tapedeck.config import experimental, threading  # noqa: F401


@public("config.set_num_threads")
def set_num_threads(count):
    """Sets the number of threads that kernels may use, the calling one included. ValueError for less than 1."""
    _engine.set_thread_count(count)


@public("config.get_num_threads")
def get_num_threads():
    """The number of threads that kernels may use."""
    return _engine.thread_count()


@public("config.set_flush_denormal", "set_flush_denormal")
def set_flush_denormal(mode):
    """Whether ops take subnormal numbers for 0 and give 0 instead of them, on all of the engine's threads.

    Subnormal numbers are those below 2⁻¹²⁶ in float32 and 2⁻¹⁰²² in float64; processors compute with them some forty
    times slower than with others, and vanishing gradients are full of them. NumPy and Python's own numbers in this process
    stay as they are. Also tf.set_flush_denormal, PyTorch's name.

    mode: True or False, which it is at the start unless the environment's TAPEDECK_FLUSH_DENORMAL is 1.
    Returns: True; False, and nothing changes, where this processor cannot. Errors: TypeError for a value that is not a bool.
    """
    if not isinstance(mode, bool):
        raise TypeError(f"set_flush_denormal: mode is {mode!r}; it needs True or False")
    return _engine.set_flush_denormal(mode)


@public("config.get_flush_denormal", "get_flush_denormal")
def get_flush_denormal():
    """Whether ops take subnormal numbers for 0."""
    return _engine.flush_denormal()


PhysicalDevice = public("config.PhysicalDevice")(collections.namedtuple("PhysicalDevice", ["name", "device_type"]))
LogicalDevice = public("config.LogicalDevice")(collections.namedtuple("LogicalDevice", ["name", "device_type"]))


def _devices(made_of, prefix, device_type):
    if device_type is not None and not isinstance(device_type, str):
        raise TypeError(f"device_type is {type(device_type).__name__}; it needs 'CPU', 'GPU' or None")
    names = ["CPU:0"] + [f"GPU:{number}" for number in range(_engine.gpu_count())]
    found = [made_of(prefix + name, name[:3]) for name in names]
    return [device for device in found if device_type in (None, device.device_type)]


@public("config.list_physical_devices", "config.experimental.list_physical_devices")
def list_physical_devices(device_type=None):
    """The devices that this build can use on this machine: PhysicalDevice(name="/physical_device:CPU:0", device_type="CPU").

    device_type: 'CPU' or 'GPU' for those alone; an empty list where there is none.
    """
    return _devices(PhysicalDevice, "/physical_device:", device_type)


@public("config.list_logical_devices", "config.experimental.list_logical_devices")
def list_logical_devices(device_type=None):
    """The devices under the names that tf.device takes: LogicalDevice(name="/device:CPU:0", device_type="CPU")."""
    return _devices(LogicalDevice, "/device:", device_type)


@public("config.get_visible_devices", "config.experimental.get_visible_devices")
def get_visible_devices(device_type=None):
    """The same as tf.config.list_physical_devices: all of them are used."""
    return list_physical_devices(device_type)


@public("config.set_soft_device_placement")
def set_soft_device_placement(enabled):
    """Whether tf.device replaces a missing device by the first GPU, or by the CPU on a machine without GPUs. True by default, as in
    TensorFlow; with False a missing device is an error.

    An op without a kernel for GPUs runs on the CPU anyway.
    """
    context.soft_placement[0] = bool(enabled)


@public("config.get_soft_device_placement")
def get_soft_device_placement():
    """Whether tf.device replaces a missing device."""
    return context.soft_placement[0]
