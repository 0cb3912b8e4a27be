"""Settings of the engine."""
import collections

from tapedeck import _engine
from tapedeck.config import threading  # noqa: F401


PhysicalDevice = collections.namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = collections.namedtuple("LogicalDevice", ["name", "device_type"])


def _devices(kind, prefix, device_type):
    found = [("CPU", 0)] + [("GPU", number) for number in range(_engine.gpu_count())]
    return [kind(f"/{prefix}:{name}:{number}", name) for name, number in found if device_type in (None, name)]


def list_physical_devices(device_type=None):
    """The devices of this machine that this build can use: a list of named tuples (name, device_type).

    device_type: 'CPU', 'GPU' or another; None for all. Returns: an empty list where there is none.
    """
    return _devices(PhysicalDevice, "physical_device", device_type)


def list_logical_devices(device_type=None):
    """The devices that ops can run on. The argument and the result are those of config.list_physical_devices."""
    return _devices(LogicalDevice, "device", device_type)


def set_num_threads(count):
    """How many threads kernels may use, the calling one included. ValueError for less than 1."""
    _engine.set_thread_count(count)


def get_num_threads():
    """How many threads kernels may use."""
    return _engine.thread_count()
