"""TensorFlow's tf.train.experimental."""
from tapedeck.checkpoint import PythonState  # noqa: F401
