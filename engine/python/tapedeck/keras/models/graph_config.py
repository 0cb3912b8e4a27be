"""Layers and models as what JSON holds, and back."""
import json

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.arguments import having
from tapedeck._core.public import below, public
from tapedeck._core.shapes import TensorShape
from tapedeck.keras import named_objects
from tapedeck.keras.models.symbolic import InputLayer, KerasTensor, OpLayer, symbols_in


def _known():
    """The classes that a config may name without registration."""
    found = {name: value for name, value in below("keras.layers").items() if isinstance(value, type)}
    models = below("keras.models")
    return {**found, "InputLayer": InputLayer, "OpLayer": OpLayer, "Model": models["Model"], "Functional": models["Model"],
            "Sequential": models["Sequential"]}


def layer_config(layer):
    """{"class_name", "config"} of a layer."""
    config = having(layer, "serialize: layer", "get_config", "layer").get_config()
    return {"class_name": named_objects.get_registered_name(type(layer)), "config": config}


def layer_of(config, custom_objects=None):
    """The layer of what layer_config returned. ValueError for an unknown class."""
    with named_objects.custom_object_scope(custom_objects or {}):
        return named_objects.found(config, _known(), "layer")


@public("keras.layers.serialize")
def serialize(layer):
    """{"class_name", "config"} of a layer, of which deserialize makes the same layer."""
    return layer_config(layer)


@public("keras.layers.deserialize")
def deserialize(config, custom_objects=None):
    """The layer of what serialize returned, with variables of its own. custom_objects: classes by name, beside those of tf.keras.
    Errors: ValueError for an unknown class."""
    return layer_of(config, custom_objects)


# ---- arguments of calls ----

def _argument_config(value, place_of):
    """An argument of a call as what JSON holds; place_of gives [layer, node, place] of a KerasTensor."""
    if isinstance(value, KerasTensor):
        return {"class_name": "__keras_tensor__", "config": {"keras_history": place_of(value)}}
    if isinstance(value, (list, tuple)) and not isinstance(value, TensorShape):
        kind = "__tuple__" if isinstance(value, tuple) else None
        items = [_argument_config(each, place_of) for each in value]
        return {"class_name": kind, "items": items} if kind else items
    if isinstance(value, TensorShape):
        return [*value]
    if isinstance(value, dict):
        return {"class_name": "__dict__", "items": {name: _argument_config(each, place_of) for name, each in value.items()}}
    if isinstance(value, slice):
        return {"class_name": "__slice__", "items": [_argument_config(each, place_of) for each in (value.start, value.stop,
                                                                                                   value.step)]}
    if value is Ellipsis:
        return {"class_name": "__ellipsis__"}
    if isinstance(value, dtypes.DType):
        return {"class_name": "__dtype__", "name": value.name}
    if isinstance(value, (_engine.Tensor, _engine.Variable, np.ndarray, np.generic)):
        array = np.asarray(value)
        return {"class_name": "__tensor__", "dtype": str(array.dtype), "value": array.tolist()}
    return value


def _argument_of(config, symbol_of):
    if isinstance(config, list):
        return [_argument_of(each, symbol_of) for each in config]
    if not isinstance(config, dict):
        return config
    kind, items = config["class_name"], config.get("items", ())
    if kind == "__keras_tensor__":
        return symbol_of(config["config"]["keras_history"])
    if kind == "__dict__":
        return {name: _argument_of(each, symbol_of) for name, each in items.items()}
    if kind == "__tensor__":
        return _engine.constant(np.array(config["value"], config["dtype"]), None, None)
    if kind == "__dtype__":
        return dtypes.as_dtype(config["name"])
    if kind == "__ellipsis__":
        return Ellipsis
    values = [_argument_of(each, symbol_of) for each in items]
    return slice(*values) if kind == "__slice__" else tuple(values)


# ---- functional models ----

def config_of(model):
    """The config of a functional model: its layers with their calls, and which of these are inputs and outputs."""
    graph = model._graph
    numbers, counts = {}, {}
    for node in graph.nodes:
        numbers[id(node)] = counts.get(id(node.layer), 0)
        counts[id(node.layer)] = numbers[id(node)] + 1

    def place_of(symbol):
        return [symbol.node.layer.name, numbers[id(symbol.node)], symbol._place]

    for symbol in graph.flat_inputs:
        if not isinstance(symbol.node.layer, InputLayer):
            raise NotImplementedError(f"Model {model.name} begins with {symbol}, which another model computes; such a model has no "
                                      "config")
    layers = []
    for layer in graph.layers:
        calls = [] if isinstance(layer, InputLayer) else [
            {"args": [_argument_config(each, place_of) for each in node.args],
             "kwargs": {name: _argument_config(each, place_of) for name, each in node.kwargs.items()}}
            for node in graph.nodes if node.layer is layer]
        layers.append({**layer_config(layer), "name": layer.name, "inbound_nodes": calls})
    return {"name": model.name, "trainable": model.trainable, "layers": layers,
            "input_layers": _argument_config(graph.inputs, place_of), "output_layers": _argument_config(graph.outputs, place_of)}


def model_of(cls, config, custom_objects=None):
    """The functional model of what config_of returned."""
    layers = {each["name"]: layer_of(each, custom_objects) for each in config["layers"]}
    made = {}

    def symbol_of(history):
        name, node, place = history
        if isinstance(layers[name], InputLayer):
            return layers[name].output
        return symbols_in(made[name, node])[place]

    waiting = [(each["name"], number, call) for each in config["layers"] for number, call in enumerate(each["inbound_nodes"])]
    while waiting:
        later = []
        for name, number, call in waiting:
            try:
                args = [_argument_of(each, symbol_of) for each in call["args"]]
                kwargs = {key: _argument_of(each, symbol_of) for key, each in call["kwargs"].items()}
            except KeyError:  # of a call that comes later
                later.append((name, number, call))
                continue
            made[name, number] = layers[name](*args, **kwargs)
        if len(later) == len(waiting):
            raise ValueError(f"from_config: the calls of {sorted({name for name, _, _ in later})} read from each other in a circle")
        waiting = later
    arguments = {"trainable": config.get("trainable", True), "name": config.get("name")}
    return cls(inputs=_argument_of(config["input_layers"], symbol_of), outputs=_argument_of(config["output_layers"], symbol_of),
               **arguments)


# ---- text ----

def to_json(model, **arguments):
    """The model's class and config as a text."""
    return json.dumps(layer_config(model), default=_plain, **arguments)


def _plain(value):
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, dtypes.DType):
        return value.name
    raise TypeError(f"to_json: {value!r} is nothing that JSON holds; get_config() of its layer must say it in numbers, texts, "
                    "lists and dicts")


@public("keras.models.model_from_json")
def model_from_json(json_string, custom_objects=None):
    """A new model of what Model.to_json() returned, with new variables. ValueError for an unknown class."""
    return model_from_config(json.loads(json_string), custom_objects)


@public("keras.models.model_from_config")
def model_from_config(config, custom_objects=None):
    """A new model of {"class_name", "config"}."""
    if not isinstance(config, dict) or "class_name" not in config:
        raise ValueError(f"model_from_config: config is {config!r}; needs a dict of class_name and config")
    return layer_of(config, custom_objects)
