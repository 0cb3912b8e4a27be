"""tf.keras.utils."""
from tapedeck.keras.named_objects import (  # noqa: F401
    CustomObjectScope, custom_object_scope, get_custom_objects, get_registered_name, get_registered_object,
    register_keras_serializable)
from tapedeck.keras.utils.arrays import normalize, set_random_seed, to_categorical  # noqa: F401
from tapedeck.keras.utils.objects import deserialize_keras_object, serialize_keras_object  # noqa: F401
