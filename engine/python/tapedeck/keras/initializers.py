"""tf.initializers under Keras' name."""
from tapedeck.initializers import *  # noqa: F401,F403
