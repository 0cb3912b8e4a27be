"""tf.contrib: what TensorFlow 1 kept beside its core."""
from tapedeck import tfe as eager  # noqa: F401
from tapedeck.contrib import rnn  # noqa: F401
