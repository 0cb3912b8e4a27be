"""tf.layers' base: TensorFlow 1's layers are Keras' with the variables of the open tf.variable_scope."""
import copy
import inspect

from tapedeck._core import dtypes, program_graph
from tapedeck._core.public import public
from tapedeck._graph.collections import add_to_collection, GraphKeys
from tapedeck._initializers import get as get_initializer
from tapedeck._variables.scopes import get_variable, variable_scope, VariableScope
from tapedeck.keras import backend, constraints, regularizers
from tapedeck.keras.layers import base as keras_base
from tapedeck.keras.layers.weights import snake_case

_KNOWN = {"_scope", "_reuse", "input_shape", "batch_size", "autocast"}


@public("layers.Layer")
class Layer(keras_base.Layer):
    """TensorFlow 1's base of layers: tf.keras.layers.Layer, but its variables come from tf.get_variable in a scope of the layer's
    own, which is opened at the first call; inside of a tfe.EagerVariableStore or a template they may be shared.

    trainable, activity_regularizer: as there; name: a text, or a VariableScope; None for the class' with a number: "dense_1", while
    the scope is "dense" where that is free. dtype: None for that of the first input.
    Errors: TypeError for other arguments.
    """

    _dtype_of_first_input, _averages_activity = True, False
    _opens_scope = True  # a class of the package asks for no variables in call()
    stateful = False

    def __init__(self, trainable=True, name=None, dtype=None, activity_regularizer=None, **kwargs):
        for argument in kwargs:
            if argument not in _KNOWN:
                raise TypeError("Keyword argument not understood:", argument)
        own = vars(self)
        own["_reuse"], own["_scope"] = kwargs.pop("_reuse", None), None
        scope = kwargs.pop("_scope", None)
        if isinstance(name, VariableScope):
            own["_base_name"], name = name.name, name.name
        else:
            own["_base_name"] = name or snake_case(type(self).__name__)
        super().__init__(trainable=trainable, name=name, dtype=dtype, activity_regularizer=activity_regularizer, **kwargs)
        if scope:
            self._set_scope(scope)

    def _set_name(self, name):
        if not name:
            name = f"{self._base_name}_{backend.get_uid(f'tf.layers {self._base_name}')}"
        super()._set_name(name)

    def _set_scope(self, scope=None):
        """Opens the layer's scope for the first time, and keeps it."""
        if self._scope is not None:
            return
        if scope is not None or self._reuse:
            opened = variable_scope(self._base_name if scope is None else scope)
        else:
            opened = variable_scope(None, default_name=self._base_name)
        with opened as captured:
            vars(self)["_scope"] = captured
        if captured.original_name_scope:
            vars(self)["_scope_text"] = captured.original_name_scope

    @property
    def scope_name(self):
        """The name of the layer's tf.variable_scope. ValueError before the first call."""
        if self._scope is None:
            raise ValueError(f'No name available for layer scope because the layer "{self._name}" has not been used yet. The scope '
                             f'name '
                             "is determined the first time the layer instance is called. You must therefore call the layer before "
                             "querying `scope_name`.")
        return self._scope.name

    @property
    def dtype(self):
        """The dtype of its variables, as a text; None where it is that of the first input, which has not come."""
        return self._dtype and self._dtype.name

    def call(self, inputs, **kwargs):
        """What the layer computes: the inputs, where a subclass says nothing else."""
        return inputs

    def __call__(self, inputs, *args, **kwargs):
        """Calls the layer, which makes its variables at the first call. scope: the variable scope of a layer that has none yet."""
        scope = kwargs.pop("scope", None) if kwargs else None
        if self._scope is None:
            self._set_scope(scope)
        if not self._opens_scope and self._built:
            return super().__call__(inputs, *args, **kwargs)
        with variable_scope(self._scope, reuse=self._built or self._reuse, auxiliary_name_scope=False):
            outputs = super().__call__(inputs, *args, **kwargs)
        if outputs is None:
            raise ValueError("A layer's `call` method should return a Tensor or a list of Tensors, not None.")
        return outputs

    def apply(self, inputs, *args, **kwargs):
        """The same as calling the layer."""
        return self(inputs, *args, **kwargs)

    def _add_variable(self, name, shape, dtype, initializer, regularizer, trainable, constraint):
        self._set_scope()
        dtype = dtypes.as_dtype(dtype) if dtype is not None else self._dtype or dtypes.float32
        restored = self._restored_value(name, shape, dtype)
        if restored is not None:
            def initializer(shape, dtype=None, partition_info=None):
                return restored
        trainable = trainable is None or bool(trainable)
        graph = program_graph.current()
        made_before = graph and len(graph._variables)
        with variable_scope(self._scope, reuse=self._built or self._reuse, auxiliary_name_scope=False):
            variable = get_variable(name, shape=shape, dtype=dtype, initializer=get_initializer(initializer),
                                    trainable=trainable and self._trainable, constraint=constraints.get(constraint))
        regularizer = regularizers.get(regularizer)
        if regularizer is not None:
            self._regularized.append((variable, regularizer))
            if graph is not None and len(graph._variables) > made_before:  # a shared variable has it already
                add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(variable))
        self._trainable_when_made[id(variable)] = trainable
        return self._track(name, variable)

    @property
    def _trainable_when_made(self):
        return vars(self).setdefault("_made_trainable", {})

    @property
    def weights(self):
        """All variables, those that training changes first: a list."""
        return self.trainable_weights + self.non_trainable_weights

    def add_update(self, updates, inputs=None):
        """Does nothing: updates are done as they come."""

    def __deepcopy__(self, memo):
        return _copied(self, memo)


def _copied(layer, memo):
    """A copy with variables of its own, which are in the same scope."""
    made = memo[id(layer)] = type(layer).__new__(type(layer))
    for name, value in vars(layer).items():
        vars(made)[name] = copy.copy(value) if name == "_scope" else copy.deepcopy(value, memo)
    return made


def _in_graphs_alone(name, kind):
    text = f"Layer.{name} not supported in Eager mode."

    def refused(self, *args, **kwargs):
        raise RuntimeError(text)

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "Not here: TensorFlow's graphs have it. RuntimeError."
    setattr(Layer, name, property(refused) if kind == "property" else refused)


for _name in ("graph", "updates", "input", "output", "input_shape", "output_shape"):
    _in_graphs_alone(_name, "property")
for _name in ("get_updates_for", "get_losses_for", "get_input_shape_at", "get_output_shape_at", "get_input_at", "get_output_at"):
    _in_graphs_alone(_name, "method")


def first_generation(without=(), **defaults):
    """Decorates a class that is one of Keras' and a Layer: its constructor takes the arguments of Keras' class, but those in
    `without`, with these defaults, and after them `trainable` and `name`."""
    def decorate(cls):
        keras = cls.__mro__[1]
        taken = [each.replace(default=defaults.get(each.name, each.default))
                 for each in inspect.signature(keras.__init__).parameters.values()
                 if each.name not in (*without, "trainable", "name") and each.kind is each.POSITIONAL_OR_KEYWORD]
        added = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
                 for name, default in (("trainable", True), ("name", None)) if name != "trainable"
                 or "use_bias" in [p.name for p in taken]]
        signature = inspect.Signature([*taken, *added, inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])

        def __init__(self, *args, **kwargs):
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            _, *given = bound.arguments.items()
            named = dict(given)
            keras.__init__(self, **named.pop("kwargs"), **named)
            if "activation" in named:
                self.activation = named["activation"]

        __init__.__signature__ = signature
        cls.__init__ = __init__
        cls._opens_scope = False
        return cls

    return decorate


def functional(cls, name, *call_arguments, behind=()):
    """A function of inputs and of what the class takes, which makes a layer and calls it. call_arguments: what goes to the call: a
    name, a default, and the argument that follows it. Layers with variables take `reuse`, after `name`; arguments in
    `behind` follow."""
    own = [each for each in list(inspect.signature(cls.__init__).parameters.values())[1:]
           if each.kind is each.POSITIONAL_OR_KEYWORD]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    taken = [inspect.Parameter("inputs", kind)]
    for each in own:
        taken += [inspect.Parameter(argument, kind, default=default) for argument, default, before in call_arguments
                  if before == each.name]
        taken.append(each)
    taken.sort(key=lambda each: each.name in behind)  # the others stay in order
    if "trainable" in [each.name for each in own]:
        place = [each.name for each in taken].index("name") + 1
        taken.insert(place, inspect.Parameter("reuse", kind, default=None))
    signature = inspect.Signature(taken)
    to_call = [argument for argument, _, _ in call_arguments]

    def function(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        inputs, reuse = given.pop("inputs"), given.pop("reuse", None)
        call = {argument: given.pop(argument) for argument in to_call}
        dtype = getattr(inputs, "dtype", None)
        layer = cls(**given, dtype=dtype, _reuse=reuse, _scope=given["name"])
        return layer(inputs, **call)

    function.__signature__ = signature
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"The layer tf.layers.{cls.__name__}, made and called: its docstring describes the arguments.\n\n"
                        "Variables come from tf.get_variable: inside of a tfe.EagerVariableStore, a template or a graph_callable "
                        "the same `name` and scope have the\nsame variables; elsewhere each call makes new ones.\n"
                        "Returns: a tensor. Errors: those of the layer.")
    return public(f"layers.{name}")(function)
