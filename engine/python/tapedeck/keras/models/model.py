"""tf.keras.Model: a layer of layers that can be trained, looked at and saved."""
import copy
import itertools

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.composites import op
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck.keras import backend
from tapedeck.keras.layers.base import as_shape, call_form, Layer, shapes_of
from tapedeck.keras.layers.weights import own_arguments
from tapedeck.keras.models import saving
from tapedeck.keras.models.graph import Graph
from tapedeck.keras.models.graph_config import config_of, model_of
from tapedeck.keras.models.summary_table import summary_lines
from tapedeck.keras.models.symbolic import (
    Described, InputLayer, KerasTensor, map_symbols, outputs_of, symbols_in, trial, variables_kept)
from tapedeck.keras.models.training import Trainer


@public("keras.Model", "keras.models.Model")
class Model(saving.Saved, Trainer, Layer):
    """A model: a layer made of layers, with fit(), evaluate() and predict().

    By subclassing: make layers in __init__, after super().__init__(), and use them in call(inputs).

        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.hidden = tf.keras.layers.Dense(32, activation="relu")
                self.top = tf.keras.layers.Dense(10)

            def call(self, inputs):
                return self.top(self.hidden(inputs))

    The functional way: Model(inputs, outputs), of what tf.keras.Input and calls of layers on it returned, alone, in lists or dicts.
    Errors: ValueError for outputs that do not come from the inputs, and layers of one name; TypeError for other arguments.
    """

    _graph = None

    def __init__(self, *args, **kwargs):
        inputs, outputs, rest, kwargs = _functional_arguments(args, kwargs)
        if inputs is None and rest:
            raise TypeError(f"{type(self).__name__}.__init__() takes keyword arguments, or the inputs and outputs of a functional "
                            f"model; it got {rest[0]!r}")
        if rest:
            kwargs.setdefault("name", rest[0])
        trainable = kwargs.pop("trainable", True)
        if kwargs.get("name") is None and type(self) is Model and inputs is not None:
            kwargs["name"] = backend.unique_name("functional")
        super().__init__(**kwargs)
        self._init_training()
        if inputs is not None:
            self._set_graph(Graph(inputs, outputs))
        if not trainable:
            self.trainable = False

    def _set_graph(self, graph):
        own = vars(self)
        own["_graph"] = graph
        for number, layer in enumerate(layer for layer in graph.layers if not isinstance(layer, InputLayer)):
            self._track(f"layer-{number}", layer)
        own["_built"] = True

    def __deepcopy__(self, memo):
        for node in self._graph.nodes if self._graph is not None else ():
            copy.deepcopy(node, memo)  # in their order: from the outputs on, a deep model would be a deep recursion
        made = memo[id(self)] = type(self).__new__(type(self))
        vars(made).clear()
        vars(made).update(copy.deepcopy(vars(self), memo))
        return made

    # ---- calls ----

    def call(self, inputs, training=None, mask=None):
        """What the model computes; `training` says to its layers whether they are being trained."""
        if self._graph is None:
            raise NotImplementedError(f"Model {self.name} does not have a `call()` method implemented.")
        return self._graph.run(inputs, self.name)

    def build(self, input_shape):
        """Makes the variables, by a call on zeros that is not recorded. input_shape: with the batch's extent, which may be None; a
        list or a dict of shapes for several inputs. The inputs have the dtype floatx(). A functional model is built."""
        if self._built:
            return
        shapes = _as_shapes(input_shape)
        dtype = backend.floatx()
        vars(self)["_seen"] = shapes, nest.map_structure(lambda each: dtype, shapes) if nest.is_nested(shapes) else dtype
        vars(self)["_built"] = True
        try:
            with trial():
                self._call_on_zeros(1, 64)
        except NotImplementedError:
            raise
        except (TypeError, ValueError, _engine.OpError) as error:
            vars(self)["_built"] = False
            raise ValueError(f"Model {self.name} cannot be built for inputs of shape {input_shape} by a call on zeros of {dtype}. "
                             "If its inputs are of another dtype, or call() takes more than inputs, call it on data instead. The "
                             f"call said: {error}") from error

    def _build_for(self, inputs):
        if type(self).build is not Model.build:
            super()._build_for(inputs)
        vars(self)["_seen"] = shapes_of(inputs), nest.map_structure(lambda each: getattr(each, "dtype", None), inputs) \
            if nest.is_nested(inputs) else getattr(inputs, "dtype", None)
        vars(self)["_built"] = True

    def _call_on_zeros(self, first, other):
        """Calls the model on zeros of the shapes that it was built for, with these extents in place of unknown ones."""
        shapes, kinds = vars(self)["_seen"]

        def zeros(shape, dtype):
            extents = [extent if extent is not None else first if axis == 0 else other for axis, extent in enumerate(shape)]
            return op("zeros")(extents, dtype)

        inputs = nest.map_structure(zeros, shapes, kinds) if nest.is_nested(shapes) else zeros(shapes, kinds)
        return self(inputs, training=False) if _takes_training(self) else self(inputs)

    def add_loss(self, loss=None, inputs=None, *, losses=None):
        """As tf.keras.layers.Layer.add_loss. ValueError for a KerasTensor, which has no value: a layer that calls add_loss in its
        call() can make it one."""
        if symbols_in(loss):
            raise ValueError(f"add_loss: {loss} has no value yet. Call add_loss in the call() of a layer, or compute the loss in "
                             "train_step")
        super().add_loss(loss, inputs, losses=losses)

    def compute_output_shape(self, input_shape):
        if self._graph is not None:
            shapes = nest.flatten(_as_shapes(input_shape))
            symbols = [KerasTensor(shape, each.dtype) for shape, each in zip(shapes, self._graph.flat_inputs)]
            given = nest.pack_sequence_as(self._graph.inputs, symbols) if nest.is_nested(self._graph.inputs) else symbols[0]
            return map_symbols(lambda each: each.shape, outputs_of(self, (given,), {}))
        return super().compute_output_shape(input_shape)

    # ---- what it is made of ----

    @property
    def layers(self):
        """The layers, in a functional model those of inputs first: a list."""
        return list(self._graph.layers) if self._graph is not None else list(self._layers)

    def get_layer(self, name=None, index=None):
        """A layer by its name or its place. ValueError where there is none, and for neither or both of the arguments."""
        if (name is None) == (index is None):
            raise ValueError(f"Provide only a layer name or a layer index. Received: index={index}, name={name}.")
        layers = self.layers
        if index is not None:
            if not -len(layers) <= index < len(layers):
                raise ValueError(f"Was asked to retrieve layer at index {index} but model only has {len(layers)} layers.")
            return layers[index]
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}. Existing layers are: {[layer.name for layer in layers]}.")

    def _graph_or_none(self):
        return self._graph

    def _require_graph(self, what):
        if self._graph_or_none() is None:
            raise AttributeError(f"The model {self.name} has no {what}: it was made by subclassing, and has never been called on "
                                 "what tf.keras.Input returns")
        return self._graph

    @Described
    def inputs(self):
        """The KerasTensors that a functional model begins with, as a list; None for another model."""
        graph = self._graph_or_none()
        return graph.flat_inputs if graph is not None else None

    @Described
    def outputs(self):
        """The KerasTensors that a functional model ends with, as a list; None for another model."""
        graph = self._graph_or_none()
        return graph.flat_outputs if graph is not None else None

    @Described
    def input(self):
        """What a functional model was made of, as it was given. AttributeError for another model."""
        return self._require_graph("input").inputs

    @Described
    def output(self):
        """What a functional model returns, as it was given. AttributeError for another model."""
        return self._require_graph("output").outputs

    @Described
    def input_names(self):
        """The names of a functional model's inputs; [] for another model."""
        return self._graph.input_names if self._graph is not None else []

    @Described
    def output_names(self):
        """The names of the outputs: of a functional model's layers, of a dict's keys, else output_1, …; [] before the first
        call."""
        return self._graph.output_names if self._graph is not None else vars(self).get("_output_names", [])

    @Described
    def input_shape(self):
        """The shape of the input, or of the inputs, as tuples."""
        return _tuples(self._require_graph("input_shape").inputs)

    @Described
    def output_shape(self):
        """The shape of the output, or of the outputs, as tuples."""
        return _tuples(self._require_graph("output_shape").outputs)

    # ---- the summary ----

    def _output_shapes(self):
        """The shapes that layers give, by the layers' ids: of a graph's nodes, else found by two calls on zeros."""
        if self._graph is not None:
            found = {}
            for node in self._graph.nodes:
                found.setdefault(id(node.layer), []).append(node.output_shapes)
            return {key: shapes[0] if len(shapes) == 1 else shapes for key, shapes in found.items()}
        if "_seen" not in vars(self):
            return {}
        with trial(), variables_kept(self):
            runs = [self._shapes_in_a_call(batch) for batch in (None, 7)]
        return {key: _common(runs[0][key], runs[1].get(key)) for key in runs[0]}

    def _shapes_in_a_call(self, batch):
        """The layers' output shapes in a call on zeros, with another batch than it was built for where one is given."""
        shapes, kinds = vars(self)["_seen"]
        found, wrapped = {}, []
        for layer in self._flatten_layers():
            if layer is not self:
                own, vars(layer)["call"] = layer.call, None
                vars(layer)["call"] = _noting(layer, own, found)
                wrapped.append(layer)
        try:
            def other(shape):
                return TensorShape([batch if batch and axis == 0 else extent for axis, extent in enumerate(shape)])

            vars(self)["_seen"] = (nest.map_structure(other, shapes) if nest.is_nested(shapes) else other(shapes)), kinds
            self._call_on_zeros(1, 64)
        except (ValueError, TypeError, _engine.OpError):
            pass  # a call that takes only the batch it was built for: what was found by then
        finally:
            vars(self)["_seen"] = shapes, kinds
            for layer in wrapped:
                del vars(layer)["call"]
        return found

    def summary(self, line_length=None, positions=None, print_fn=None, expand_nested=False, show_trainable=False, layer_range=None):
        """Prints the layers with the shapes that they give and the number of their parameters.

        line_length: letters of a line, None for what the terminal has, at most 100; positions: where columns end, as parts of it or
        letters; print_fn: called with each line in place of print; expand_nested: layers of models inside too; show_trainable: a
        column that says whether training changes the layer; layer_range: the names of the first and the last layer to be shown.
        A layer without variables yet has "?" for its shape and "0 (unbuilt)" for its parameters.
        """
        lines = list(summary_lines(self, line_length, positions, expand_nested, show_trainable, layer_range))
        if print_fn is None:
            print("\n".join(lines))
        else:
            for line in lines:
                print_fn(line)

    # ---- saving ----

    def get_config(self):
        """What from_config makes the model of: a functional model's layers and calls; else the arguments it was made with."""
        if self._graph is not None and _made_functionally(self):
            return config_of(self)
        config = super().get_config()
        return own_arguments(self, config) if type(self).get_config is Model.get_config else config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The model of what get_config returned. custom_objects: classes of layers by name, beside those of tf.keras."""
        if "input_layers" in config and "layers" in config:
            return model_of(cls, config, custom_objects)
        return cls(**config)


def _made_functionally(model):
    args, kwargs = model._made_with
    return type(model).__init__ is Model.__init__ or bool(symbols_in([*args, *kwargs.values()]))


def _functional_arguments(args, kwargs):
    """(inputs, outputs, other positional arguments, other keywords); inputs None for a model by subclassing."""
    kwargs = dict(kwargs)
    if "inputs" in kwargs or "outputs" in kwargs:
        given = list(args)
        inputs = kwargs.pop("inputs") if "inputs" in kwargs else given.pop(0) if given else None
        if "outputs" not in kwargs and not given:
            raise ValueError("Model: inputs are given, outputs are not")
        outputs = kwargs.pop("outputs") if "outputs" in kwargs else given.pop(0)
        if inputs is None:
            raise ValueError("Model: outputs are given, inputs are not")
        return inputs, outputs, given, kwargs
    if len(args) >= 2 and symbols_in(args[0]):
        return args[0], args[1], list(args[2:]), kwargs
    return None, None, list(args), kwargs


def _takes_training(model):
    return call_form(type(model)).takes_training


def _as_shapes(shape):
    return as_shape(shape)


def _tuples(structure):
    if isinstance(structure, KerasTensor):
        return tuple(structure.shape)
    if isinstance(structure, dict):
        return {name: _tuples(each) for name, each in structure.items()}
    return [_tuples(each) for each in structure]


def _noting(layer, own, found):
    def call(*args, **kwargs):
        result = own(*args, **kwargs)
        leaves = [each.shape for each in nest.flatten(result) if hasattr(each, "shape")]
        found[id(layer)] = leaves[0] if len(leaves) == 1 else leaves
        return result

    return call


def _common(one, two):
    """The extents that two shapes, or lists of them, have in common; the others are None."""
    if two is None:
        return one
    if isinstance(one, list):
        return [_common(*pair) for pair in zip(one, two)]
    return TensorShape([own if own == other else None for own, other in itertools.zip_longest(one, two)])
