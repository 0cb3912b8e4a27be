"""tf.keras.utils."""
from tapedeck.keras.utils import arrays, objects  # noqa: F401
