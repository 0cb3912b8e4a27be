"""TensorFlow's tf.keras."""
from tapedeck.keras import (  # noqa: F401
    activations,
    backend,
    config,
    constraints,
    datasets,
    initializers,
    layers,
    losses,
    metrics,
    mixed_precision,
    models,
    optimizers,
    preprocessing,
    random,
    regularizers,
    utils,
)
from tapedeck.keras import callbacks  # noqa: F401  (after models, which it is told by)
from tapedeck.initializers import Initializer  # noqa: F401
from tapedeck.keras.layers import InputSpec, Layer  # noqa: F401
from tapedeck.keras.models import Input, Model, Sequential  # noqa: F401
from tapedeck.keras.models.symbolic import KerasTensor  # noqa: F401
from tapedeck.keras.optimizers import Optimizer  # noqa: F401
from tapedeck.keras.regularizers import Regularizer  # noqa: F401

layers.Input, layers.InputLayer = models.Input, models.InputLayer  # models are made of layers, so layers cannot import them
optimizers.LossScaleOptimizer = mixed_precision.LossScaleOptimizer  # which is made of optimizers
utils.clear_session, utils.is_keras_tensor = backend.clear_session, backend.is_keras_tensor
utils.pack_x_y_sample_weight, utils.unpack_x_y_sample_weight = models.data_feed.pack, models.data_feed.unpack
utils.Progbar = callbacks.base.Progbar
utils.Sequence = utils.PyDataset = models.data_feed.Sequence
_INTERNAL = "backend_functions", "named_objects", "progress_bar"
__all__ = [_name for _name in vars() if not _name.startswith("_") and _name not in _INTERNAL]
from tapedeck.keras.losses import Loss  # noqa: F401
from tapedeck.keras.metrics import Metric  # noqa: F401
