"""tf.keras.layers."""
from tapedeck._core.public import public
from tapedeck.keras.layers import (  # noqa: F401
    activation, attention, base, convolution, core, input_spec, merging, normalization, pooling, preprocessing, random_images,
    recurrent, recurrent_cells, regularization, reshaping, wrappers)


@public("keras.layers.serialize")
def serialize(layer):
    """{"class_name", "config"} of a layer, of which deserialize makes the same layer."""
    from tapedeck.keras.models.graph_config import layer_config
    return layer_config(layer)


@public("keras.layers.deserialize")
def deserialize(config, custom_objects=None):
    """The layer of what serialize returned, with variables of its own. custom_objects: classes by name, beside those of tf.keras.
    Errors: ValueError for a class that nobody knows."""
    from tapedeck.keras.models.graph_config import layer_of
    return layer_of(config, custom_objects)
