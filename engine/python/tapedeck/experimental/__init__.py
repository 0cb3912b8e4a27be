"""What TensorFlow keeps under tf.experimental."""
from tapedeck.experimental import dlpack  # noqa: F401
