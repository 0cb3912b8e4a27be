"""TensorFlow's tf.keras."""
from tapedeck.keras import (  # noqa: F401
    activations,
    backend,
    constraints,
    datasets,
    initializers,
    layers,
    losses,
    metrics,
    mixed_precision,
    models,
    optimizers,
    regularizers,
    utils,
)
from tapedeck.keras import callbacks  # noqa: F401  (after models, which it is told by)
from tapedeck.keras.models import Input, Model, Sequential  # noqa: F401
