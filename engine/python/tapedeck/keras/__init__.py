"""The part of tf.keras that programs take data sets from."""
from tapedeck.keras import datasets  # noqa: F401
