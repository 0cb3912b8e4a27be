"""What programs of TensorFlow 1 take from tf.contrib."""
from tapedeck.contrib import framework, layers, rnn  # noqa: F401
