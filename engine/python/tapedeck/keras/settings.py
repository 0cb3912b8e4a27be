"""The defaults that layers, metrics, losses, initializers and optimisers take: set once, for the process."""
import numpy as np

from tapedeck._core import dtypes
from tapedeck._core.public import public

_settings = {"floatx": "float32", "epsilon": 1e-7, "image_data_format": "channels_last"}


@public("keras.backend.floatx", "keras.config.floatx")
def floatx():
    """The dtype, by its name, of inputs, layers, metrics, initializers and learning rates that are made without one, and of losses
    of integers: "float32" by default."""
    return _settings["floatx"]


def numpy_floatx():
    """NumPy's dtype for floatx(): float32 for bfloat16, which NumPy does not have."""
    return np.dtype(dtypes.as_dtype(floatx()).as_numpy_dtype)


@public("keras.backend.set_floatx", "keras.config.set_floatx")
def set_floatx(value):
    """Sets what floatx() returns. ValueError for anything but "float16", "bfloat16", "float32" and "float64"."""
    name = value if isinstance(value, str) else getattr(value, "name", value)
    if name not in ("float16", "bfloat16", "float32", "float64"):
        raise ValueError(f"set_floatx: value is {value!r}; must be 'float16', 'bfloat16', 'float32' or 'float64'")
    _settings["floatx"] = name


@public("keras.backend.epsilon", "keras.config.epsilon")
def epsilon():
    """The small constant that keeps divisors above 0: 1e-7 by default."""
    return _settings["epsilon"]


@public("keras.backend.set_epsilon", "keras.config.set_epsilon")
def set_epsilon(value):
    """Sets what epsilon() returns. ValueError for a value that is not a number."""
    _settings["epsilon"] = float(value)


@public("keras.backend.image_data_format", "keras.config.image_data_format")
def image_data_format():
    """Where layers expect images' channels: "channels_last" by default."""
    return _settings["image_data_format"]


@public("keras.backend.set_image_data_format", "keras.config.set_image_data_format")
def set_image_data_format(data_format):
    """Sets where layers expect images' channels. ValueError for anything but "channels_last" and "channels_first"."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"set_image_data_format: data_format is {data_format!r}; must be 'channels_last' or 'channels_first'")
    _settings["image_data_format"] = data_format
