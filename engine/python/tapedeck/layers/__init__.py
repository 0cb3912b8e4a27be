"""TensorFlow 1's tf.layers: classes and functions."""
from tapedeck.layers import base, core, normalization  # noqa: F401
