"""tf.compat: the names and the behaviour of TensorFlow's generations.

tf.compat.v1 and tf.compat.v2 are the package itself, which has the names of both; `import tapedeck.compat.v1 as tf` works, too.
"""
import numpy as _np

from tapedeck import _engine
from tapedeck._core import generation as _generation
from tapedeck._core.public import public

bytes_or_text_types = public("compat.bytes_or_text_types")((bytes, str))
complex_types = public("compat.complex_types")((complex, _np.complexfloating))
integral_types = public("compat.integral_types")((int, _np.integer))
real_types = public("compat.real_types")((int, float, _np.integer, _np.floating))


@public("compat.v1_behavior")
def v1_behavior():
    """From now on tensors behave as in TensorFlow 1.5 where that differs: == and != compare identity, repr tells the id, and
    integers have gradients; tf.nn.dropout's second argument is keep_prob, tf.cond and tf.while_loop return a list's only value,
    tf.constant cuts floats where an integer's dtype is asked for, and shape[0] is a tf.Dimension. `import
    tensorflow.contrib.eager` does the same."""
    _generation.set_first(True)


@public("compat.v2_behavior")
def v2_behavior():
    """From now on tensors behave as in TensorFlow 2, as they do from the start."""
    _generation.set_first(False)


@public("compat.as_bytes")
def as_bytes(bytes_or_text, encoding="utf-8"):
    """The text as bytes; bytes stay. TypeError for any other value."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if not isinstance(bytes_or_text, (bytes, str)):
        raise TypeError(f"as_bytes: {bytes_or_text!r} is {type(bytes_or_text).__name__}; needs a str or bytes")
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes_or_text


@public("compat.as_text", "compat.as_str")
def as_text(bytes_or_text, encoding="utf-8"):
    """The bytes as text; text stays. TypeError for any other value."""
    if not isinstance(bytes_or_text, (bytes, str)):
        raise TypeError(f"as_text: {bytes_or_text!r} is {type(bytes_or_text).__name__}; needs a str or bytes")
    return bytes_or_text.decode(encoding) if isinstance(bytes_or_text, bytes) else bytes_or_text


as_str = as_text


@public("compat.as_str_any")
def as_str_any(value, encoding="utf-8"):
    """Bytes as text, other values as str() makes them."""
    return as_text(value, encoding) if isinstance(value, (bytes, str)) else str(value)


@public("compat.path_to_str")
def path_to_str(path):
    """The path as text."""
    return path.__fspath__() if hasattr(path, "__fspath__") else path


@public("compat.enable_tensor_equality", "enable_tensor_equality")
def enable_tensor_equality():
    """From now on == and != of tensors compare their elements, as they do from the start."""
    _engine.set_tensor_equality(True)


@public("compat.disable_tensor_equality", "disable_tensor_equality")
def disable_tensor_equality():
    """From now on == and != of tensors and variables tell whether both are one object, as in TensorFlow 1."""
    _engine.set_tensor_equality(False)
