"""tf.keras.optimizers.legacy: where some releases of TensorFlow 2 keep their older optimisers; the same classes here."""
from tapedeck.keras.optimizers.base import Optimizer  # noqa: F401
from tapedeck.keras.optimizers.standard import SGD, Adadelta, Adagrad, Adam, Adamax, Ftrl, Nadam, RMSprop  # noqa: F401
