"""Data sets."""
from tapedeck.keras.datasets import boston_housing, california_housing, cifar10, cifar100, idx, imdb, mnist, reuters  # noqa: F401
