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
    optimizers,
    regularizers,
    utils,
)
from tapedeck.keras.losses import Loss  # noqa: F401
from tapedeck.keras.metrics import Metric  # noqa: F401
