"""TensorFlow's tf.keras."""
from tapedeck.keras import (  # noqa: F401
    activations, backend, backend_functions, constraints, layers, losses, metrics, mixed_precision, models,
    named_objects, optimizers, preprocessing, progress_bar, random, regularizers, utils)
from tapedeck.keras import callbacks  # noqa: F401  (after models, which it is told by)
