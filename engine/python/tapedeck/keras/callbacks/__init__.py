"""tf.keras.callbacks: what is told how training goes, and may change it."""
from tapedeck.keras.callbacks import base, files, watching  # noqa: F401
