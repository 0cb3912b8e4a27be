"""Data sets as TensorFlow 1's tutorials read them."""
from tapedeck.contrib.learn.datasets import base, mnist  # noqa: F401
