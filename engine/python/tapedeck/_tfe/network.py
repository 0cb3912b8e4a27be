"""tfe.Network and tfe.Sequential: TensorFlow 1's eager models, whose variables are named by the networks that they are in."""
import inspect
import weakref

from tapedeck._core.public import public
from tapedeck._variables.scopes import get_variable_scope, variable_scope, VariableScope
from tapedeck._variables.stores import scope_counts
from tapedeck.keras import backend
from tapedeck.keras.layers.base import Layer as KerasLayer
from tapedeck.keras.layers.weights import once, snake_case
from tapedeck.layers.base import Layer


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


@public("tfe.Network")
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
        own["_others"] = []  # layers that are not networks, whose scopes are inside this one's
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
        """Gives a layer that is not a network its scope, in that of the network that it was first added to."""
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

        Errors: RuntimeError before Network.__init__ was called; TypeError for a value that is not a layer; ValueError for a second layer of
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
        if self._scope is not None and vars(layer).get("_scope") is None:
            self._set_scope_of(layer)  # by its name, which is its own here: scopes that were closed count no longer

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


@public("tfe.Sequential")
class Sequential(Network):
    """A network of layers and functions, called one after another.

    layers_funcs: a list of layers and of functions of a tensor; those that take an argument `training` are given that of the call.
    Errors: TypeError for any other value.
    """

    def __init__(self, layers_funcs=None, name=None):
        super().__init__(name=name)
        vars(self)["_layers_funcs"] = []
        for each in layers_funcs or ():
            self.add(each)

    def add(self, layer_func):
        """Appends a layer or a function. TypeError for any other value."""
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
