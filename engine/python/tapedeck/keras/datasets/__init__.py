"""Data sets."""
from tapedeck.keras.datasets import fashion_mnist, mnist  # noqa: F401
