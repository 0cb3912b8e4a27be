"""tfe.Network and tfe.Sequential: TensorFlow 1's eager models, whose variables are named by the networks that they are in."""
import inspect
import os
import weakref

from tapedeck import _engine
from tapedeck.keras import backend
from tapedeck.keras.layers.base import Layer as KerasLayer
from tapedeck.keras.layers.weights import once, snake_case
from tapedeck.layers.base import Layer
from tapedeck.variable_scopes import VariableScope, get_variable_scope, variable_scope
from tapedeck.variable_stores import scope_counts


def _unique(base, next_number, avoided):
    """The base, or base_1, base_2 …: the first that is not avoided, from next_number(base) on."""
    while True:
        number = next_number(base)
        name = f"{base}_{number}" if number else base
        if name not in avoided:
            return name


def _is_anonymous(layer):
    """Whether the layer was made without a name."""
    if isinstance(layer, Layer):
        return layer._name != layer._base_name
    return layer._made_with[1].get("name") is None


class Network(Layer):
    """A layer made of others, and a base of models.

        class MNISTModel(tfe.Network):
            def __init__(self):
                super().__init__()
                self.layer1 = self.track_layer(tf.layers.Dense(units=10))
                self.layer2 = self.track_layer(tf.layers.Dense(units=10))

            def call(self, input):
                return self.layer2(self.layer1(input))

    Variables are made at the first call, and are named by the networks that the layer was first added to:
    "mnist_model/dense/kernel".
    name: without "/"; None for the class' name, made unique when the network is added to another one, or called.
    Errors: ValueError for other names, RuntimeError where a subclass' __init__ did not call the base's.
    """

    def __init__(self, name=None):
        if isinstance(name, VariableScope):
            raise ValueError("VariableScopes are not valid Network names.")
        if name is not None and "/" in name:
            raise ValueError("Forward slashes ('/') are not allowed in Network names.")
        super().__init__(name=name)
        own = vars(self)
        own["_autocast"] = False
        own["_tracked_layers"], own["_owned_layers"], own["_numbers"] = [], {}, {}
        own["_others"] = []  # layers that are no networks, whose scopes stand in this one's
        own["_first_parent"] = None  # a weak reference; False for a network that was called before it had one
        own["_outer_scope"], own["_scopes_opened"] = get_variable_scope(), scope_counts().opened

    def _set_name(self, name):
        vars(self)["_name"] = name or None  # an anonymous network gets its name later

    @property
    def name(self):
        """The name. ValueError before an anonymous network was called, or added to another one."""
        if self._name is None:
            raise ValueError("The network does not yet have a final name, but a name was requested for it. Networks get a name "
                             "when they are added to another Network via track_layer, or when they are first called/built.")
        return self._name

    def _next_number(self, base):
        number = self._numbers.get(base, 0)
        self._numbers[base] = number + 1
        return number

    # ---- names and scopes ----

    def _finalize_name(self, parent):
        """Gives an anonymous network its name: in its parent, or, for None, outside of networks."""
        if self._name is None:
            base = snake_case(type(self).__name__)
            if parent is not None:
                vars(self)["_name"] = _unique(base, parent._next_number, parent._owned_layers)
            else:
                outer = self._outer_scope.name
                prefix = f"{outer}/" if outer else ""
                avoided = {name[len(prefix):] for name in self._scopes_opened if name.startswith(prefix)}
                vars(self)["_name"] = _unique(base, lambda each: backend.get_uid(f"tfe.Network {prefix}{each}") - 1, avoided)
        if self._first_parent is None or self._first_parent and self._first_parent() is None:
            vars(self)["_first_parent"] = False if parent is None else weakref.ref(parent)

    def _parent(self):
        return self._first_parent() if self._first_parent else None

    def _set_scope(self, scope=None):
        """Opens the network's scope for the first time, in its parent's, and that of its layers."""
        if self._scope is not None:
            return
        parent = self._parent()
        if parent is None:
            self._finalize_name(None)
        if scope is not None:
            raise ValueError("Networks may not be created with explicit scopes.")
        if parent is not None:
            parent._set_scope()
        outer = parent._scope if parent is not None else self._outer_scope
        with variable_scope(outer, auxiliary_name_scope=False) as opened:
            if f"{opened.name}/{self._name}" in self._scopes_opened:
                self._refuse_name()
            with variable_scope(None, default_name=self._name, auxiliary_name_scope=False) as own:
                prefix, _, last = own.name.rpartition("/")
                if last != self._name:
                    self._refuse_name()
                if parent is not None and prefix != parent.scope_name:
                    raise ValueError("Network variable names must match a nesting of sub-Network names. Expected prefix "
                                     f"'{parent.scope_name}' from parent network, but got '{prefix}' when attempting to create a "
                                     f"variable_scope for Network '{self._name}'. Likely an explicit variable_scope was inserted "
                                     "into the nesting.")
                vars(self)["_scope"], vars(self)["_scope_text"] = own, own.name + "/"
        if parent is None:
            vars(self)["_name"] = own.name
        for layer in self._others:
            self._set_scope_of(layer)

    def _refuse_name(self):
        raise ValueError(f"A Network named '{self._name}' already exists (or a variable_scope was created with this name). Names "
                         "must be unique.")

    def _set_scope_of(self, layer):
        """Gives a layer that is no network its scope, in that of the network that it was first added to."""
        if vars(layer).get("_scope") is not None:
            return
        parent = vars(layer)["_first_parent"]()
        if parent is None:
            self._finalize_name(None)
            raise ValueError(f"The parent of a Layer added to Network {self.name} was garbage collected before the Layer was "
                             "built. If this limitation bothers you please file a feature request.")
        parent._set_scope()
        if vars(layer).get("_scope") is not None:
            return
        with variable_scope(parent._scope, auxiliary_name_scope=False):
            with variable_scope(None, default_name=layer.name, auxiliary_name_scope=False) as own:
                vars(layer)["_scope"], vars(layer)["_scope_text"] = own, own.name + "/"

    # ---- layers ----

    def track_layer(self, layer):
        """Adds a layer, so that its variables are this network's. Returns the layer.

        Errors: RuntimeError before Network.__init__ was called; TypeError for what is no layer; ValueError for a second layer of
        one name.
        """
        if "_tracked_layers" not in vars(self):
            raise RuntimeError("Need to call Network.__init__ before adding layers")
        if not isinstance(layer, KerasLayer):
            raise TypeError(f"Network.track_layer() passed type {type(layer)}, not a tf.layers.Layer")
        if isinstance(layer, Network):
            layer._finalize_name(self)
        elif not layer.built:
            self._adopt(layer)
        first_parent = vars(layer).get("_first_parent")
        if not layer.built and first_parent and first_parent() is self:
            known = self._owned_layers.setdefault(layer.name, layer)
            if known is not layer:
                raise ValueError(f"Attempt to add two Layers with the name '{layer.name}' to the same Network.")
            if any(each is layer for each in self._tracked_layers):
                return layer
        self._tracked_layers.append(layer)
        self._track(f"layer-{len(self._tracked_layers) - 1}", layer)
        return layer

    def _adopt(self, layer):
        """Names a layer that has no variables yet as networks name layers: by their place in it, whatever was made elsewhere."""
        first_parent = vars(layer).get("_first_parent")
        if first_parent is None:
            if _is_anonymous(layer):
                base = getattr(layer, "_base_name", None) or snake_case(type(layer).__name__)
                KerasLayer._set_name(layer, _unique(base, self._next_number, self._owned_layers))
            vars(layer)["_first_parent"] = weakref.ref(self)
        self._others.append(layer)

    @property
    def _layers(self):
        return list(vars(self).get("_tracked_layers", ()))

    @property
    def layers(self):
        """The layers that were added, in their order: a list."""
        return self._layers

    def get_layer(self, name=None, index=None):
        """A layer by its name, the first of that name, or by its place. ValueError where there is none, and for neither or both."""
        if index is not None:
            if name is not None:
                raise ValueError("Exactly one of 'index' or 'name' must be provided")
            if len(self._layers) <= index:
                raise ValueError(f"Was asked to retrieve layer at index {index} but model only has {len(self._layers)} layers.")
            return self._layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self._layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    # ---- what a layer has ----

    @property
    def weights(self):
        """The variables of the layers, in their order: a list."""
        return once([variable for layer in self._layers for variable in layer.weights])

    @property
    def trainable_weights(self):
        """Those that training changes."""
        return once([variable for layer in self._layers for variable in layer.trainable_weights])

    @property
    def non_trainable_weights(self):
        """Those that training leaves alone."""
        return once([variable for layer in self._layers for variable in layer.non_trainable_weights])

    @property
    def trainable(self):
        """True. Its layers may be set not to be trained. Setting it to False: AttributeError."""
        return True

    @trainable.setter
    def trainable(self, value):
        if not value:
            raise AttributeError("cannot mark Network as not trainable")

    def add_variable(self, name, shape, dtype=None, initializer=None, regularizer=None, trainable=True, constraint=None):
        """Refused: layers have variables. RuntimeError."""
        raise RuntimeError("add_variable not supported in Network class yet: make a layer of the variable, and track it.")

    def call(self, inputs, *args, **kwargs):
        """What the network computes. To be defined by the subclass."""
        raise NotImplementedError(f"Network {type(self).__name__} does not define call()")


class Sequential(Network):
    """A network of layers and functions, called one after another.

    layers_funcs: a list of layers and of functions of a tensor; those that take an argument `training` are given that of the call.
    Errors: TypeError for what is neither.
    """

    def __init__(self, layers_funcs=None, name=None):
        super().__init__(name=name)
        vars(self)["_layers_funcs"] = []
        for each in layers_funcs or ():
            self.add(each)

    def add(self, layer_func):
        """Appends a layer or a function. TypeError for what is neither."""
        if isinstance(layer_func, KerasLayer):
            called = layer_func.call
            self.track_layer(layer_func)
        elif callable(layer_func):
            called = layer_func
        else:
            raise TypeError(f"Sequential.add() takes only tf.layers.Layer objects or callables; not '{layer_func}' of type "
                            f"'{type(layer_func)}'.")
        self._layers_funcs.append((_takes_training(called), layer_func))

    def call(self, inputs, training=None):
        """Calls all, each with what the one before gave."""
        for takes_training, each in self._layers_funcs:
            inputs = each(inputs, training=training) if takes_training and training is not None else each(inputs)
        return inputs


def _takes_training(function):
    try:
        return "training" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


# ---- checkpoints ----

def _conflict(network, variables, mapped):
    first, second = (variable.name.removesuffix(":0") for variable in variables)
    return (f"The default checkpoint variable name mapping strategy for Network '{network.name}' resulted in a naming conflict. "
            f"The variable prefix of the Network ('{network.scope_name}') was stripped off, but this gave two variables named "
            f"'{mapped}' (originally '{first}' and '{second}'). This happens with layers that were first added to another Network "
            "and have that Network's prefix. Pass `map_func=lambda n: n` to save and restore to use whole names, or another "
            "mapping")


def _restore_conflict(network, variables, mapped, by_user):
    if not by_user:
        return _conflict(network, variables, mapped)
    first, second = (variable.name.removesuffix(":0") for variable in variables)
    return (f"The map_func passed to restore_network_checkpoint for the Network '{network.name}' resulted in two variables named "
            f"'{mapped}' (originally '{first}' and '{second}'). It maps whole names of variables to names in the checkpoint, when "
            f"saving and when restoring. Names of this Network's variables begin with '{network.scope_name}'")


def _without_prefix(network):
    prefix = network.scope_name + "/"
    return lambda name: name.removeprefix(prefix)


def _place(network, save_path):
    """A folder stands for the file in it that is called as the network is."""
    if not os.path.isdir(save_path):
        return os.fspath(save_path)
    return os.path.join(save_path, network.name.replace("/", "_"))


def save_network_checkpoint(network, save_path, global_step=None, map_func=None):
    """Saves the network's variables by their names.

    save_path: a file's path, or a folder, in which the file is called as the network is. global_step: "-STEP" in the file's name;
    None for the default global step where there is one. map_func: a function of a variable's whole name, "my_network/dense/kernel",
    that gives its name in the file; None takes the network's prefix off: "dense/kernel".
    Returns: what restore_network_checkpoint takes.
    Errors: ValueError before the network was first called, and where two variables get one name.
    """
    from tapedeck.train import Saver, get_global_step
    if not network.built:
        raise ValueError("Attempt to save the Network before it was first called. This means variables have not yet been created, "
                         "so there is nothing to save.")
    network._set_scope()
    mapping = map_func or _without_prefix(network)
    named = {}
    for variable in network.variables:
        mapped = mapping(variable.name.removesuffix(":0"))
        known = named.setdefault(mapped, variable)
        if known is not variable:
            if map_func is None:
                raise ValueError(_conflict(network, (known, variable), mapped))
            raise ValueError(f"The map_func passed to save_network_checkpoint for the Network '{network.name}' resulted in two "
                             f"variables named '{mapped}' ('{known.name.removesuffix(':0')}' and "
                             f"'{variable.name.removesuffix(':0')}'). Strip less from the variables' names, or rename parts of the "
                             "Network")
    step = get_global_step() if global_step is None else global_step
    return Saver(named).save(save_path=_place(network, save_path), global_step=step)


class _Deferred:
    """Values of a checkpoint for variables that are not made yet."""

    def __init__(self, network, map_func, by_user, values):
        self._network, self._map_func, self._by_user = weakref.ref(network), map_func, by_user
        self._names = network.name, network.scope_name
        self.values, self._restored = values, {}

    def value(self, name):
        """(whether the checkpoint has a value for the variable of that whole name, the value; None where it was handed out)"""
        mapped = self._map_func(name)
        return mapped in self.values, self.values.get(mapped)

    def made(self, name, variable):
        """The variable of that name was made. ValueError where another one got its value."""
        mapped = self._map_func(name)
        self.values[mapped] = None
        known = self._restored.setdefault(mapped, variable)
        if known is not variable:
            network = self._network() or _Named(*self._names)
            raise ValueError(_restore_conflict(network, (known, variable), mapped, self._by_user))


class _Named:
    def __init__(self, name, scope_name):
        self.name, self.scope_name = name, scope_name


def _deferring_getter(deferred):
    """A custom getter that gives variables the values of a list of _Deferred, the last first."""
    def custom_getter(getter, name, *args, **kwargs):
        for each in reversed(deferred):
            found, value = each.value(name)
            if found:
                if value is not None:
                    kwargs.update(initializer=value, shape=None, dtype=None)
                variable = getter(name, *args, **kwargs)
                each.made(name, variable)
                return variable
        return getter(name, *args, **kwargs)

    return custom_getter


def _defer(layer, deferred):
    """Gives the layer, and those in it, values for variables that come later; what is deferred last counts first."""
    if isinstance(layer, Network):
        layer._set_scope()
    waiting = vars(layer).setdefault("_deferred", [])
    waiting.append(deferred)
    if isinstance(layer, Layer):
        layer._scope.set_custom_getter(_deferring_getter(waiting))
    else:
        prefix = vars(layer)["_scope_text"]
        vars(layer)["_restored_value"] = lambda name, *_, **__: next(
            (value for found, value in (each.value(prefix + name) for each in reversed(waiting)) if found), None)
    for inner in layer._layers if isinstance(layer, Network) else ():
        if not isinstance(inner, Network):
            if inner.built:
                continue
            layer._set_scope_of(inner)
        _defer(inner, deferred)


def restore_network_checkpoint(network, save_path, map_func=None):
    """Restores the network's variables from a checkpoint that save_network_checkpoint wrote: those that there are at once, others
    when they are made. What is restored later counts.

    save_path: what save_network_checkpoint returned, or a folder. map_func: as when saving.
    Errors: ValueError where there is no checkpoint, and where two variables get one name; NotFoundError for a variable that is not
    in it; InvalidArgumentError for another shape.
    """
    from tapedeck.train import Saver, list_variables, load_checkpoint
    network._finalize_name(None)
    network._set_scope()
    save_path = _place(network, save_path)
    mapping = map_func or _without_prefix(network)
    existing = {}
    for variable in network.variables:
        mapped = mapping(variable.name.removesuffix(":0"))
        known = existing.setdefault(mapped, variable)
        if known is not variable:
            raise ValueError(_restore_conflict(network, (known, variable), mapped, map_func is not None))
    if existing:
        Saver(existing).restore(save_path=save_path)
    reader = load_checkpoint(save_path)
    wanted = [name for name, _ in list_variables(save_path) if name not in existing]
    values = {name: _engine.convert_to_tensor(reader.get_tensor(name)) for name in wanted}
    if values:
        _defer(network, _Deferred(network, mapping, map_func is not None, values))
