"""The variables of a layer: made, found in its attributes, read and set."""
import inspect
import re

import numpy as np

from tapedeck import _engine, _initializers as initializers
from tapedeck._core import dtypes
from tapedeck._graph import modules
from tapedeck.keras import activations, backend, constraints, regularizers
from tapedeck.keras.layers import calls
from tapedeck.keras.utils.objects import serialize_keras_object


def snake_case(name):
    """A class' name as layers are called after it: "Conv2DTranspose" as "conv2d_transpose"."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", re.sub(r"\W+", "", name)))
    return spaced.lower() if not spaced.startswith("_") else "private" + spaced.lower()


def once(values):
    """Each object once, in the order of their first."""
    return list({id(each): each for each in values}.values())


def _sort_children(values, parts, seen):
    """Puts what is among the values, in lists and dicts too, into parts: variables, layers, metrics; each once."""
    for value in values:
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, _engine.Variable):
            parts[0].append(value)
        elif isinstance(value, Weights):
            parts[1].append(value)
        elif hasattr(value, "update_state") and hasattr(value, "reset_state"):
            parts[2].append(value)
        elif isinstance(value, dict):
            _sort_children(list(value.values()), parts, seen)
        elif isinstance(value, (list, tuple)):
            _sort_children(value, parts, seen)
        elif isinstance(value, modules.Module):
            _sort_children(value.variables, parts, seen)


def _collect_weights(layer, changes, found, seen):
    """Adds the layer's variables to found, by id: each with whether training changes it, in this layer or in another that has
    it."""
    changes = changes and layer._trainable
    if (id(layer), changes) in seen:
        return
    seen.add((id(layer), changes))
    variables, layers, _ = layer._parts()
    for trainable in (True, False):
        for variable in variables:
            if variable.trainable is trainable and (id(variable) not in found or changes and trainable):
                found[id(variable)] = variable, changes and trainable
    for inner in layers:
        _collect_weights(inner, changes, found, seen)


_ARGUMENTS = ("shape", "initializer", "dtype", "trainable", "autocast", "regularizer", "constraint", "aggregation", "name")
_OLDER_ARGUMENTS = ("name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint")


class Weights:
    """What a layer knows of its variables."""

    def add_weight(self, *args, **kwargs):
        """A new variable of the layer: add_weight(shape=None, initializer=None, dtype=None, trainable=True, autocast=True,
        regularizer=None, constraint=None, aggregation=None, name=None), or, where the first is a text or None, in TensorFlow's
        older order add_weight(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, constraint=None).

        shape: () where there is none; initializer: a name, a function of shape and dtype, or None for glorot_uniform of floating
        dtypes, else zeros; dtype: None for the layer's; regularizer: a function of the variable that gives a loss; constraint: a
        function of the value that optimisers apply after each update. A restoration's value comes before the initializer's.
        Errors: ValueError for a shape with None in it; TypeError for a dtype that the initializer cannot give, for too many
        arguments and for one that is given twice.
        """
        order = _ARGUMENTS if not args or args[0] is not None and not isinstance(args[0], str) else _OLDER_ARGUMENTS
        if len(args) > len(order):
            raise TypeError(f"add_weight takes at most {len(order)} positional arguments, {', '.join(order)}; it got {len(args)}")
        twice = [name for name in order[:len(args)] if name in kwargs]
        if twice:
            raise TypeError(f"add_weight got {twice[0]} twice: {args[order.index(twice[0])]!r} and {kwargs[twice[0]]!r}")
        given = {"trainable": True, **dict(zip(order, args)), **kwargs}
        shape = given.get("shape")
        return self._add_variable(given.get("name") or "variable", () if shape is None else shape,
                                  *map(given.get, ("dtype", "initializer", "regularizer", "trainable", "constraint")))

    def _add_variable(self, name, shape, dtype, initializer, regularizer, trainable, constraint):
        dtype = dtypes.as_dtype(dtype) if dtype is not None else self._dtype or dtypes.as_dtype(backend.floatx())
        shape = _extents(self, name, shape)
        first = self._first_value(name, shape, dtype, initializer)
        scoped = calls.current.layer is not self
        if scoped:
            _engine.push_scope(self._scope_text)
        try:
            variable = self._new_variable(first, name, dtype, bool(trainable) if trainable is not None else True,
                                          constraints.get(constraint))
        finally:
            if scoped:
                _engine.pop_scope()
        regularizer = regularizers.get(regularizer)
        if regularizer is not None:
            self._regularized.append((variable, regularizer))
        known, number = self._children(), 1
        place = name
        while place in known:
            place, number = f"{name}_{number}", number + 1
        return self._track(place, variable)

    def _first_value(self, name, shape, dtype, initializer):
        restored = self._restored_value(name, shape, dtype)
        if restored is not None:
            return restored
        if isinstance(initializer, (_engine.Tensor, np.ndarray)):
            return _engine.constant(initializer, dtype, shape)
        if initializer is None:
            initializer = "glorot_uniform" if dtype.is_floating else "zeros"
        return initializers.get(initializer)(shape, dtype=dtype)

    def _new_variable(self, value, name, dtype, trainable, constraint):
        if constraint is None:
            return _engine.Variable(value, trainable=trainable, name=name, dtype=dtype)
        return _engine.Variable(value, trainable=trainable, name=name, dtype=dtype, constraint=constraint)

    def add_variable(self, name, shape, dtype=None, initializer=None, regularizer=None, trainable=True, constraint=None, **kwargs):
        """TensorFlow 1's name and order of add_weight's arguments."""
        return self.add_weight(name=name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                               trainable=trainable, constraint=constraint)

    def _parts(self):
        """(variables, layers, metrics) in its attributes, in the order in which they came; not those of layers inside."""
        parts = [], [], []
        _sort_children(self._children().values(), parts, {id(self)})
        return parts

    @property
    def _layers(self):
        """The layers in its attributes, in order."""
        return self._parts()[1]

    def _flatten_layers(self, seen=None):
        """This layer and all inside it, each once, the outer first."""
        seen = set() if seen is None else seen
        if id(self) in seen:
            return
        seen.add(id(self))
        yield self
        for layer in self._layers:
            yield from layer._flatten_layers(seen)

    @property
    def submodules(self):
        """The layers and modules inside, and those inside them, as a tuple."""
        return tuple(each for each in self._flatten_layers() if each is not self)

    def _all_weights(self):
        """{id: (variable, whether training may change it)}: its own, those that are trainable first, then those of the layers
        inside."""
        found = {}
        _collect_weights(self, True, found, set())
        return found

    @property
    def weights(self):
        """All variables: its own, those that are trainable first, then those of the layers inside: a list."""
        return [variable for variable, _ in self._all_weights().values()]

    @property
    def variables(self):
        """The same as weights."""
        return self.weights

    @property
    def trainable_weights(self):
        """The variables that training changes; none where the layer is not trainable."""
        return [variable for variable, changes in self._all_weights().values() if changes]

    @property
    def non_trainable_weights(self):
        """The variables that training leaves alone."""
        return [variable for variable, changes in self._all_weights().values() if not changes]

    @property
    def trainable_variables(self):
        """The same as trainable_weights."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self):
        """The same as non_trainable_weights."""
        return self.non_trainable_weights

    @property
    def trainable(self):
        """Whether training changes its variables. Set, it reaches the layers inside."""
        return self._trainable

    @trainable.setter
    def trainable(self, value):
        vars(self)["_trainable"] = bool(value)
        for layer in self._layers:
            layer.trainable = value

    def get_weights(self):
        """The variables' values as NumPy arrays, in the order of `weights`."""
        return [variable.numpy() for variable in self.weights]

    def set_weights(self, weights):
        """Sets the variables. ValueError for another number of arrays, or another shape; then none is changed."""
        variables, values = self.weights, [np.asarray(each) for each in weights]
        if len(values) != len(variables):
            raise ValueError(f"You called `set_weights(weights)` on layer '{self.name}' with a weight list of length "
                             f"{len(values)}, but the layer was expecting {len(variables)} weights.")
        for variable, value in zip(variables, values):
            if tuple(variable.shape) != value.shape:
                raise ValueError(f"Layer {self.name} weight shape {tuple(variable.shape)} is not compatible with provided weight "
                                 f"shape {value.shape}, of {variable.name}")
        for variable, value in zip(variables, values):
            variable.assign(_engine.constant(value, variable.dtype, None))

    def count_params(self):
        """How many numbers the variables hold. ValueError before they are made."""
        if not self._built and not self.weights:
            raise ValueError(f"You tried to call `count_params` on layer '{self.name}', but the layer isn't built. You can build "
                             f"it manually via: `layer.build(input_shape)`.")
        return sum(int(np.prod(variable.shape)) for variable in self.weights)


def _extents(layer, name, shape):
    extents = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
    if None in extents:
        raise ValueError(f"{layer.name}: the shape of '{name}' is {tuple(extents)}; the extents of a variable must be known")
    return [int(extent) for extent in extents]


def own_arguments(layer, config):
    """config with the arguments that the layer was made with, for a class whose get_config says nothing of them; only what __init__
    takes."""
    args, kwargs = layer._made_with
    signature = inspect.signature(type(layer).__init__)
    takes_all = any(each.kind == each.VAR_KEYWORD for each in signature.parameters.values())
    config = {name: value for name, value in config.items() if takes_all or name in signature.parameters}
    bound = signature.bind(layer, *args, **kwargs).arguments
    for name, value in list(bound.items())[1:]:
        kind = signature.parameters[name].kind
        if kind == inspect.Parameter.VAR_POSITIONAL:
            raise NotImplementedError(f"Layer {type(layer).__name__} was made with positional arguments {value!r} without names; "
                                      f"it must override `get_config`.")
        given = value if kind == inspect.Parameter.VAR_KEYWORD else {name: value}
        config.update({key: serialize_keras_object(each) for key, each in given.items()})
    return config


def described(layer, *names):
    """The part of a config that holds these attributes of the layer, under their names, as what JSON holds."""
    found = {}
    for name in names:
        value = getattr(layer, name)
        if "activation" in name and callable(value):
            found[name] = activations.serialize(value)
        else:
            found[name] = tuple(value) if isinstance(value, tuple) else serialize_keras_object(value)
    return found


def keep_weight_arguments(layer, arguments):
    """Sets kernel_initializer and their kind as attributes, made of what names them."""
    kinds = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}
    for name, value in arguments.items():
        setattr(layer, name, kinds[name.rpartition("_")[2]].get(value))
