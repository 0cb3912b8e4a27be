"""Devices: their memory, what they are, and what happens to inputs on others."""
import re

from tapedeck import _engine
from tapedeck._core.public import public


@public("config.experimental.get_memory_info")
def get_memory_info(device="CPU:0"):
    """A dict of bytes: 'current' that tensors use, the 'peak' so far, and 'pooled', free and kept for the next tensors.

    device: a name as tf.device takes. NotFoundError where it is not there.
    """
    return _engine.memory_info(device)


@public("config.experimental.get_memory_usage")
def get_memory_usage(device="CPU:0"):
    """get_memory_info(device)["current"]."""
    return get_memory_info(device)["current"]


@public("config.experimental.reset_memory_stats")
def reset_memory_stats(device="CPU:0"):
    """Resets the peak that get_memory_info reports to the current value. NotFoundError where the device is not there."""
    _engine.reset_memory_peak(device)


@public("config.experimental.get_memory_growth")
def get_memory_growth(device):
    """True: GPU memory is always allocated on demand."""
    return True


@public("config.experimental.set_memory_growth")
def set_memory_growth(device, enable):
    """Does nothing: GPU memory is always allocated on demand."""


def _name_of(device):
    name = getattr(device, "name", device)
    if not isinstance(name, str):
        raise TypeError(f"device is {device!r}; it needs a PhysicalDevice or a name")
    return name.replace("/physical_device:", "/device:")


@public("config.experimental.get_device_details")
def get_device_details(device):
    """Details of a PhysicalDevice: {'device_name': 'NVIDIA H100 …', 'compute_capability': (9, 0)}; of the CPU {}.

    NotFoundError where it is not there.
    """
    text = _engine.device_description(_name_of(device))
    if not text:
        return {}
    name, _, capability = text.partition(", compute capability ")
    numbers = re.fullmatch(r"(\d+)\.(\d+)", capability)
    return {"device_name": name, **({"compute_capability": tuple(map(int, numbers.groups()))} if numbers else {})}


_POLICIES = ("explicit", "warn", "silent", "silent_for_int32")  # by tfe.DEVICE_PLACEMENT_…


@public("config.experimental.set_device_policy")
def set_device_policy(device_policy):
    """What happens in this thread to inputs of an op that are on another device than it, and to tensors that a variable on another
    device is given: 'silent', they are copied (the default, None); 'warn', with a line of output; 'explicit', they are refused;
    'silent_for_int32', all but those of int32 are. Python's numbers go everywhere. ValueError for another.
    """
    if device_policy is not None and device_policy not in _POLICIES:
        raise ValueError(f"{device_policy!r} is not a device policy; must be one of {', '.join(map(repr, _POLICIES))}")
    _engine.set_device_policy(_POLICIES.index("silent" if device_policy is None else device_policy))


@public("config.experimental.get_device_policy")
def get_device_policy():
    """What set_device_policy takes, as it is in this thread."""
    return _POLICIES[_engine.device_policy()]


@public("config.experimental.trim_pool")
def trim_pool():
    """Gives the memory that freed tensors left in the engine's pools back to the system and the GPUs now.

    Memory that has been unused for about a second is returned automatically; call this to return it at once.
    """
    _engine.trim_pool()


@public("config.experimental.enable_tensor_float_32_execution")
def enable_tensor_float_32_execution(enabled):
    """Lets GPUs round the operands of float32 matrix products and convolutions to TF32 (10 bits of fraction instead of 23; sums stay
    float32), which their tensor cores multiply several times faster. Off by default, unlike in TensorFlow; applies to all
    threads. Results then differ from the CPU's by about 1e-3. A later replay uses the setting of that moment.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"enable_tensor_float_32_execution: enabled is {enabled!r}; it needs a bool")
    _engine.allow_tensor_float_32(enabled)


@public("config.experimental.tensor_float_32_execution_enabled")
def tensor_float_32_execution_enabled():
    """What enable_tensor_float_32_execution said last; False at the start."""
    return _engine.tensor_float_32_allowed()
