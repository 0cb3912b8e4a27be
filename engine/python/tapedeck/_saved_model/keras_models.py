"""Keras models in saved models: their calls as traced functions, and the signature that serves them."""
from tapedeck._core import nest
from tapedeck._core.shapes import TensorShape
from tapedeck._core.trackable import TrackedList
from tapedeck._functions.function import Function
from tapedeck.data.specs import TensorSpec
from tapedeck.keras.layers.base import Layer
from tapedeck.keras.models.model import _takes_training, Model


def is_keras(thing):
    return isinstance(thing, Layer)


def _input_specs(model):
    """TensorSpecs in the form of the model's inputs. ValueError where nothing is known of them."""
    graph = model._graph_or_none()
    if graph is not None:
        names = iter(model.input_names)
        specs = [TensorSpec(each.shape, each.dtype, next(names, None)) for each in graph.flat_inputs]
        if isinstance(graph.inputs, dict):  # whose order is the program's, while nest goes by the sorted keys
            return dict(zip(graph.inputs, specs))
        return nest.pack_sequence_as(graph.inputs, specs) if nest.is_nested(graph.inputs) else specs[0]
    if "_seen" not in vars(model):
        raise ValueError(f"Model {model!r} cannot be saved because the input shape is not available: the model has not been called. "
                         "Usually, input shapes are automatically determined from calling `.fit()` or `.predict()`. To manually set "
                         "the shapes, call `model.build(input_shape)`.")
    shapes, kinds = vars(model)["_seen"]
    count = [0]

    def spec(shape, dtype):
        count[0] += 1
        return TensorSpec([None, *TensorShape(shape)[1:]] if len(shape) else shape, dtype, f"input_{count[0]}")

    return nest.map_structure(spec, shapes, kinds) if nest.is_nested(shapes) else spec(shapes, kinds)


def _call_of(model):
    takes = _takes_training(model)

    def call(inputs, training=False):
        return model(inputs, training=training) if takes else model(inputs)

    call.__name__ = call.__qualname__ = model.name
    specs = _input_specs(model)
    function = Function(call, autograph=False)
    for training in (False, True):
        function.get_concrete_function(specs, training)
    return function


def functions_of(layer, is_root):
    """{name: object} of what is saved of a layer besides its children: its variables and, of a model, its call, traced with and without
    training. A model inside of another object that was never called has none."""
    found = {"variables": TrackedList(layer.weights), "trainable_variables": TrackedList(layer.trainable_weights)}
    if isinstance(layer, Model) and (is_root or layer._graph_or_none() is not None or "_seen" in vars(layer)):
        found["__call__"] = _call_of(layer)
    return found


def serving(model, function):
    """(ConcreteFunction, names of outputs) of the signature that serves a model."""
    concrete = function.get_concrete_function(_input_specs(model), False)
    outputs = concrete.structured_outputs
    count = len(nest.flatten(outputs))
    # The results of a trace go by the sorted keys.
    names = sorted(outputs) if isinstance(outputs, dict) else list(model.output_names)
    if len(names) != count or len(set(names)) != count:
        names = [f"output_{place + 1}" for place in range(count)]
    return concrete, names
