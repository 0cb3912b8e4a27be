"""tf.keras.models."""
from tapedeck.keras.models.graph_config import clone_model, model_from_config, model_from_json  # noqa: F401
from tapedeck.keras.models.model import Model  # noqa: F401
from tapedeck.keras.models.saving import load_model, save_model  # noqa: F401
from tapedeck.keras.models.sequential import Sequential  # noqa: F401
from tapedeck.keras.models.symbolic import Input, InputLayer, KerasTensor  # noqa: F401

__all__ = ["Input", "InputLayer", "KerasTensor", "Model", "Sequential", "clone_model", "load_model", "model_from_config",
           "model_from_json", "save_model"]
