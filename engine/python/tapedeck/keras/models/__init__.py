"""tf.keras.models."""
from tapedeck.keras.models import data_feed, graph_config, model, saving, sequential, symbolic  # noqa: F401
