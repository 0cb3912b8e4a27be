"""The part of tf.keras that programs take data sets and initializers from."""
from tapedeck.keras import datasets, initializers, losses, metrics  # noqa: F401
