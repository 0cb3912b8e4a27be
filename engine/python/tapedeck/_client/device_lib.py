"""TensorFlow's module of that name: the devices of this machine."""
import collections

from tapedeck import _engine

Device = collections.namedtuple("Device", ["name", "device_type", "memory_limit", "physical_device_desc"])


def list_local_devices(session_config=None):
    """A Device for each: its name "/device:CPU:0" and its device_type, "CPU" or "GPU". Memory is not limited: 0."""
    names = ["/device:CPU:0", *(f"/device:GPU:{number}" for number in range(_engine.gpu_count()))]
    return [Device(name, name.split(":")[1], 0, "") for name in names]
