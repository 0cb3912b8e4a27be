"""tf.keras.layers."""
from tapedeck.keras.layers.base import Layer  # noqa: F401
from tapedeck.keras.layers.core import Dense  # noqa: F401
from tapedeck.keras.layers.input_spec import InputSpec  # noqa: F401

__all__ = [name for name, value in list(vars().items()) if not name.startswith("_") and callable(value)]
