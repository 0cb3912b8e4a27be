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
    random,
    regularizers,
    utils,
)
from tapedeck.keras import callbacks  # noqa: F401  (after models, which it is told by)
from tapedeck.keras.models import Input, Model, Sequential  # noqa: F401

layers.Input, layers.InputLayer = models.Input, models.InputLayer  # models are made of layers, so layers cannot import them
utils.Progbar = callbacks.base.Progbar
utils.Sequence = utils.PyDataset = models.data_feed.Sequence
__all__ = [_name for _name in vars() if not _name.startswith("_") and _name not in ("backend_functions", "named_objects", "progress_bar")]
from tapedeck.keras.losses import Loss  # noqa: F401
from tapedeck.keras.metrics import Metric  # noqa: F401
