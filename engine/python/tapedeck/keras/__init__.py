"""TensorFlow's tf.keras."""
from tapedeck.keras import (  # noqa: F401
    activations,
    backend,
    constraints,
    datasets,
    initializers,
    layers,
    mixed_precision,
    optimizers,
    regularizers,
    utils,
)
