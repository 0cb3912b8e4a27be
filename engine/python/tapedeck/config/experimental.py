"""The memory of tensors."""
from tapedeck import _engine
from tapedeck._core.public import public


@public("config.experimental.get_memory_info")
def get_memory_info(device="CPU:0"):
    """A dict of bytes: 'current' that tensors use, the 'peak' so far, and 'pooled', free and kept for the next tensors.

    device: a name as tf.device takes. NotFoundError where it is not there.
    """
    _engine.check_device(device)
    return _engine.memory_info()


@public("config.experimental.trim_pool")
def trim_pool():
    """Gives the memory that freed tensors left in the engine's pool back to the system now.

    What nobody used for about a second goes back by itself; this is for whoever needs it at once.
    """
    _engine.trim_pool()
