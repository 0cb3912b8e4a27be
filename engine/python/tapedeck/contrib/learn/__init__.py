"""TensorFlow 1's tf.contrib.learn, of which there are the data sets alone."""
from tapedeck.contrib.learn import datasets  # noqa: F401
