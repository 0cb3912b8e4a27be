"""tf.keras.Sequential: layers one after another."""
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._core.trackable import _state
from tapedeck.keras import backend
from tapedeck.keras.layers.base import Layer
from tapedeck.keras.models.graph import Graph
from tapedeck.keras.models.graph_config import layer_config, layer_of
from tapedeck.keras.models.model import Model
from tapedeck.keras.models.symbolic import Input, InputLayer, KerasTensor


@public("keras.Sequential", "keras.models.Sequential")
class Sequential(Model):
    """Layers that are called one after another.

        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(10)])

    layers: a list of layers. Where the first is an InputLayer or what tf.keras.Input returns, or has input_shape, the variables are
    made at once; else at the first call.
    Errors: TypeError for a value that is not a layer, ValueError for two layers of one name.
    """

    def __init__(self, layers=None, trainable=True, name=None):
        super().__init__(name=name)
        vars(self)["_sequence"] = []  # the layers, with the InputLayer
        if layers is not None and not isinstance(layers, (list, tuple)):
            layers = [layers]
        for layer in layers or ():
            self._append(layer)
        self._rebuild()
        if not trainable:
            self.trainable = False

    @property
    def layers(self):
        """The layers, without that of the input: a list."""
        sequence = vars(self).get("_sequence", [])
        return sequence[1:] if sequence and isinstance(sequence[0], InputLayer) else list(sequence)

    def add(self, layer):
        """Appends a layer. TypeError for any other value, ValueError for a name that another one has."""
        self._append(layer)
        self._rebuild()

    def _append(self, layer):
        if isinstance(layer, KerasTensor) and isinstance(layer.node.layer, InputLayer):
            layer = layer.node.layer
        if not isinstance(layer, Layer):
            raise TypeError("Only instances of `keras.Layer` can be added to a Sequential model. Received: "
                            f"{layer!r} (of type {type(layer)})")
        sequence = vars(self)["_sequence"]
        if any(each.name == layer.name for each in sequence):
            raise ValueError(f"All layers added to a Sequential model should have unique names. Name \"{layer.name}\" is already "
                             "the name of a layer in this model. Update the `name` argument to pass a unique name.")
        if isinstance(layer, InputLayer) and sequence:
            raise ValueError(f"Sequential model '{self.name}' has already layers, so that the input {layer.name} cannot be added")
        if not sequence and not isinstance(layer, InputLayer):
            shape = vars(layer).get("_batch_input_shape")
            inner = getattr(layer, "_graph", None)
            if shape is not None:
                sequence.append(Input(batch_shape=shape, dtype=_input_dtype(layer), name=f"{layer.name}_input").node.layer)
            elif inner is not None and len(inner.flat_inputs) == 1:
                symbol = inner.flat_inputs[0]
                sequence.append(Input(batch_shape=symbol.shape, dtype=symbol.dtype, name=f"{layer.name}_input").node.layer)
        sequence.append(layer)
        if not isinstance(layer, InputLayer):
            self._track(f"layer-{len(self.layers) - 1}", layer)

    def pop(self, rebuild=True):
        """Takes the last layer away and returns it. TypeError where there is none."""
        sequence = vars(self)["_sequence"]
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        layer = sequence.pop()
        _state(self).children.pop(f"layer-{len(self.layers)}", None)
        vars(self)["_graph"] = None
        self._rebuild()
        return layer

    def _rebuild(self):
        """Calls layers that were added on the symbolic outputs of those before, where the input is known."""
        sequence, own = vars(self)["_sequence"], vars(self)
        if not sequence or not isinstance(sequence[0], InputLayer):
            own["_built"] = bool(sequence) and all(layer.built for layer in sequence)
            return
        if len(sequence) == 1:
            own["_graph"], own["_symbols"], own["_built"] = None, [sequence[0].output], False
            return
        symbols = own.setdefault("_symbols", [sequence[0].output])
        del symbols[len(sequence):]
        for layer in sequence[len(symbols):]:
            symbols.append(layer(symbols[-1]))
        graph = Graph(symbols[0], symbols[-1])
        own["_graph"], own["_built"] = graph, True

    def build(self, input_shape=None):
        """Makes the variables. input_shape: with the batch's extent, which may be None."""
        if self._built and self._graph is not None:
            return
        if input_shape is None:
            raise ValueError("You must provide an `input_shape` argument.")
        if not self.layers:
            raise ValueError(f"Sequential model {self.name} cannot be built because it has no layers. Call `model.add(layer)`.")
        vars(self)["_sequence"] = [Input(batch_shape=input_shape, name=f"{self.layers[0].name}_input",
                                         dtype=_input_dtype(self.layers[0])).node.layer, *self.layers]
        vars(self)["_symbols"] = [vars(self)["_sequence"][0].output]
        self._rebuild()

    def _build_for(self, inputs):
        vars(self)["_seen"], vars(self)["_built"] = (TensorShape(inputs.shape), inputs.dtype), True

    def _graph_or_none(self):
        """The calls of its layers on the symbolic input, found on first use for a model that was first called on data."""
        if self._graph is None and "_seen" in vars(self) and self.layers:
            shape, dtype = vars(self)["_seen"]
            symbol = Input(batch_shape=(None, *shape[1:]), dtype=dtype, name=f"{self.layers[0].name}_input")
            vars(self)["_sequence"] = [symbol.node.layer, *self.layers]
            vars(self)["_symbols"] = [symbol]
            self._rebuild()
        return self._graph

    def call(self, inputs, training=None, mask=None):
        if not self.layers:
            return inputs
        if self._graph is not None:
            return self._graph.run(inputs, self.name)
        if "_seen" not in vars(self):  # layers without variables are built from the start
            self._build_for(inputs)
        for layer in self.layers:
            inputs = layer(inputs)
        return inputs

    def get_config(self):
        return {"name": self.name, "layers": [layer_config(layer) for layer in vars(self)["_sequence"]]}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        layers = config["layers"] if isinstance(config, dict) else config
        name = config.get("name") if isinstance(config, dict) else None
        return cls([layer_of(each, custom_objects) for each in layers], name=name)


def _input_dtype(layer):
    """The dtype of the input where the first layer says it: integers for what looks rows up."""
    return getattr(layer, "_input_dtype", None) or layer.dtype or backend.floatx()
