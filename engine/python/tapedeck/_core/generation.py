"""Which of TensorFlow's generations a program is written for, where both read the same call in their own way."""
from tapedeck import _engine
from tapedeck._core import shapes

_first = False


def is_first():
    """Whether it is TensorFlow 1's: tf.compat.v1_behavior() says so."""
    return _first


def set_first(first):
    """Says it, to the engine too."""
    global _first
    _first = bool(first)
    _engine.set_v1_behavior(_first)
    shapes.set_dimensions(_first)
