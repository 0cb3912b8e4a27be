"""tf.keras.config: the defaults that layers take, which tf.keras.backend has, too."""
from tapedeck.keras.backend import (  # noqa: F401
    epsilon, floatx, image_data_format, set_epsilon, set_floatx, set_image_data_format)
