"""Copies of models, with variables of their own."""
from tapedeck._core.public import public
from tapedeck.keras.models.sequential import Sequential
from tapedeck.keras.models.symbolic import InputLayer, map_symbols, symbols_in


@public("keras.models.clone_model")
def clone_model(model, input_tensors=None, clone_function=None):
    """A model of the same layers, with new variables: those of a functional model or a Sequential.

    input_tensors: KerasTensors that the copy begins with, in place of inputs of its own; clone_function: makes the copy of a layer;
    None for that of its config. Errors: ValueError for a model by subclassing.
    """
    copied = clone_function or (lambda layer: type(layer).from_config(layer.get_config()))
    if isinstance(model, Sequential):
        layers = [copied(layer) for layer in model.layers]
        first = vars(model)["_sequence"][:1]
        if input_tensors is not None:
            layers = [input_tensors[0] if isinstance(input_tensors, (list, tuple)) else input_tensors, *layers]
        elif first and isinstance(first[0], InputLayer):
            layers = [InputLayer.from_config(first[0].get_config()), *layers]
        return Sequential(layers, name=model.name)
    graph = getattr(model, "_graph", None)
    if graph is None:
        raise ValueError("Expected `model` argument to be a functional `Model` instance or a `Sequential` model, got a subclassed "
                         f"model instead: {model!r}")
    given = None if input_tensors is None else symbols_in(input_tensors)
    layers, symbols = {}, {}
    for place, symbol in enumerate(graph.flat_inputs):
        new = given[place] if given else InputLayer(batch_input_shape=tuple(symbol.shape), dtype=symbol.dtype.name,
                                                    name=symbol.node.layer.name).output
        symbols[id(symbol)] = new
    for node in graph.nodes:
        if isinstance(node.layer, InputLayer):
            continue
        layer = layers.setdefault(id(node.layer), None) or copied(node.layer)
        layers[id(node.layer)] = layer

        def new_of(symbol):
            return symbols[id(symbol)]

        outputs = layer(*map_symbols(new_of, node.args), **map_symbols(new_of, node.kwargs))
        symbols.update({id(old): new for old, new in zip(symbols_in(node.outputs), symbols_in(outputs))})
    return type(model)(inputs=map_symbols(lambda each: symbols[id(each)], graph.inputs),
                       outputs=map_symbols(lambda each: symbols[id(each)], graph.outputs), name=model.name)
