"""tf.variable_scope and tf.get_variable: names, initializers and sharing of variables for functions that hold none themselves."""
import enum
import functools

from tapedeck import _engine
from tapedeck._core import dtypes, program_graph
from tapedeck._core.context import open_scope
from tapedeck._core.public import public
from tapedeck._graph import collections as graph_collections
from tapedeck._variables.stores import current_scope, current_store, scope_counts, set_current_scope


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = public("AUTO_REUSE")(_ReuseMode.AUTO_REUSE)


@public("no_regularizer")
def no_regularizer(_):
    """Switches a scope's regularizer off for a variable. Returns: None."""


def _not_supported(argument, value):
    if value is not None:
        raise NotImplementedError(f"variable_scope: {argument} is {value!r}; not supported where execution is eager")


@public("VariableScope")
class VariableScope:
    """The defaults of tf.get_variable, and the name in front of its variables' names. tf.get_variable_scope() returns the open one.

    reuse says tf.AUTO_REUSE always, as in TensorFlow where it executes eagerly: whether variables are shared is the store's
    business (see tfe.EagerVariableStore).
    """

    def __init__(self, reuse=None, name="", initializer=None, regularizer=None, caching_device=None, partitioner=None,
                 custom_getter=None, name_scope="", dtype=dtypes.float32, use_resource=None, constraint=None):
        _not_supported("caching_device", caching_device)
        _not_supported("partitioner", partitioner)
        self._name, self._name_scope, self._reuse = name, name_scope, reuse or False
        self._initializer, self._regularizer, self._dtype = initializer, regularizer, dtype
        self._custom_getter, self._constraint = custom_getter, constraint

    reuse = property(lambda self: AUTO_REUSE if program_graph.current() is None else self._reuse,
                     doc="Whether variables are shared; tf.AUTO_REUSE where ops run at once.")
    use_resource = property(lambda self: True, doc="True.")
    caching_device = property(lambda self: None, doc="None.")
    partitioner = property(lambda self: None, doc="None.")
    name = property(lambda self: self._name, doc="The names of the scopes around and its own: 'outer/inner'.")
    original_name_scope = property(lambda self: self._name_scope, doc="The name scope in which it was opened first: "
                                                                      "'outer/inner/'.")
    initializer = property(lambda self: self._initializer, doc="The default initializer, or None.")
    regularizer = property(lambda self: self._regularizer, doc="The default regularizer, or None.")
    dtype = property(lambda self: self._dtype, doc="The default dtype.")
    custom_getter = property(lambda self: self._custom_getter, doc="The function that getting a variable goes through, or None.")
    constraint = property(lambda self: self._constraint, doc="The default constraint, or None.")

    def reuse_variables(self):
        """From now on variables of a tf.Graph are shared in the scope. Where ops run at once the store says what is shared."""
        self._reuse = True

    def set_initializer(self, initializer):
        """Sets the default initializer."""
        self._initializer = initializer

    def set_regularizer(self, regularizer):
        """Sets the default regularizer."""
        self._regularizer = regularizer

    def set_dtype(self, dtype):
        """Sets the default dtype."""
        self._dtype = dtype

    def set_custom_getter(self, custom_getter):
        """Sets the function that getting a variable goes through."""
        self._custom_getter = custom_getter

    def set_use_resource(self, use_resource):
        """Refuses False, as TensorFlow where it executes eagerly. Errors: ValueError."""
        if not use_resource:
            raise ValueError("When eager execution is enabled, use_resource cannot be set to false.")

    def set_caching_device(self, caching_device):
        """Refuses all but None. Errors: NotImplementedError."""
        _not_supported("caching_device", caching_device)

    def set_partitioner(self, partitioner):
        """Refuses all but None. Errors: NotImplementedError."""
        _not_supported("partitioner", partitioner)

    def get_collection(self, name):
        """The items of the collection whose names begin with the scope's."""
        return graph_collections.get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self):
        """Those of this scope in the collection of trainable variables."""
        return self.get_collection(graph_collections.GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self):
        """Those of this scope in the collection of global variables."""
        return self.get_collection(graph_collections.GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self):
        """Those of this scope in the collection of local variables."""
        return self.get_collection(graph_collections.GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, var_store, name, shape=None, dtype=None, initializer=None, regularizer=None, reuse=None, trainable=True,
                     collections=None, caching_device=None, partitioner=None, validate_shape=True, use_resource=None,
                     custom_getter=None, constraint=None, synchronization=None, aggregation=None):
        """As tf.get_variable, from that store; None for the open one."""
        if not isinstance(name, str) or not name:
            raise ValueError(f"get_variable: name is {name!r}; needs a non-empty string")
        if dtype is not None and initializer is not None and not callable(initializer):
            own = _engine.convert_to_tensor(initializer).dtype
            if own != dtypes.as_dtype(dtype):
                raise ValueError(f"Initializer type '{own.name}' and explicit dtype '{dtypes.as_dtype(dtype).name}' don't match.")
        initializer = self._initializer if initializer is None else initializer
        explicit = dtype is not None or not (initializer is not None and not callable(initializer))
        arguments = dict(
            shape=shape, dtype=(self._dtype if dtype is None else dtype) if explicit else None, initializer=initializer,
            regularizer=self._regularizer if regularizer is None else regularizer, reuse=reuse, trainable=trainable,
            collections=collections, caching_device=caching_device, partitioner=partitioner, validate_shape=validate_shape,
            use_resource=True, constraint=self._constraint if constraint is None else constraint, synchronization=synchronization,
            aggregation=aggregation)
        if program_graph.current() is not None and reuse is None:
            arguments["reuse"] = self._reuse
        getter = (var_store or current_store()).get
        custom = self._custom_getter if custom_getter is None else custom_getter
        full_name = f"{self._name}/{name}" if self._name else name
        if custom is None:
            return getter(full_name, **arguments)
        if not callable(custom):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom!r}")
        return custom(getter, name=full_name, **arguments)

    def _inner(self, name, name_scope):
        """A scope with the same defaults."""
        return VariableScope(name=name, initializer=self._initializer, regularizer=self._regularizer,
                             custom_getter=self._custom_getter, name_scope=name_scope, dtype=self._dtype,
                             constraint=self._constraint, reuse=self._reuse)


@public("get_variable_scope")
def get_variable_scope():
    """The open scope of this thread, a VariableScope."""
    if current_scope() is None:
        set_current_scope(VariableScope())
    return current_scope()


@public("get_variable", "contrib.framework.get_variable")
def get_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
                 caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None, constraint=None,
                 synchronization=None, aggregation=None):
    """A variable of that name in the open tf.variable_scope: "scope/name:0".

    Inside of a tfe.EagerVariableStore, a template or a graph_callable it is the one that an earlier call made, where there is one;
    elsewhere each call makes a new one, as TensorFlow does where it executes eagerly.
    initializer: a function of a shape, a tensor, or None: the scope's, or glorot_uniform (zeros for integers and bool). shape:
    what a tensor as initializer has, or None. dtype: None for the scope's, or that of the tensor. regularizer: a function whose
    result at the variable goes into the collection 'regularization_losses'. custom_getter(getter, name, …) is called in place of
    the getter. collections, validate_shape, use_resource, synchronization and aggregation change nothing.
    Errors: ValueError for a shape that is not known, and one or a dtype that another variable of the name does not have;
    NotImplementedError for caching_device and partitioner.
    """
    return get_variable_scope().get_variable(
        None, name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
        collections=collections, caching_device=caching_device, partitioner=partitioner, validate_shape=validate_shape,
        custom_getter=custom_getter, constraint=constraint, synchronization=synchronization, aggregation=aggregation)


@public("get_local_variable")
def get_local_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=False, collections=None,
                       caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None,
                       constraint=None, synchronization=None, aggregation=None):
    """tf.get_variable of a variable that is not trainable; in a tf.Graph one of its local variables."""
    if collections is None:
        collections = [graph_collections.GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, False, collections, caching_device, partitioner,
                        validate_shape, use_resource, custom_getter, constraint, synchronization, aggregation)


def _through(outer, inner):
    """The getter of a scope inside of one that has another: the inner one is asked first."""
    if outer is None or inner is None:
        return inner or outer

    def custom_getter(getter, *args, **kwargs):
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return custom_getter


@public("variable_scope")
class variable_scope:
    """A context in which tf.get_variable has other defaults and puts the scope's name in front; it is a tf.name_scope as well.

        with tf.variable_scope("layer", initializer=tf.zeros_initializer()) as scope:
            w = tf.get_variable("w", [3, 2])        # "layer/w:0"

    name_or_scope: a name, or a VariableScope to be opened again, wherever that is; None for default_name, which becomes unique in
    the scope around: "dense", "dense_1". initializer, regularizer, dtype, constraint: defaults of tf.get_variable; custom_getter:
    see there, it may call the one of the scope around. reuse: True, False, None or tf.AUTO_REUSE, which change nothing: see
    tf.get_variable. auxiliary_name_scope False: no tf.name_scope. values and use_resource change nothing.
    Yields: the VariableScope. Errors: ValueError where neither a name nor default_name is given, TypeError for a value that is not a name;
    NotImplementedError for caching_device and partitioner.
    """

    def __init__(self, name_or_scope, default_name=None, values=None, initializer=None, regularizer=None, caching_device=None,
                 partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource=None, constraint=None,
                 auxiliary_name_scope=True):
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if not isinstance(name_or_scope, (str, VariableScope, type(None))):
            raise _engine.TypeMismatchError(
                f"VariableScope: name_or_scope must be a string or VariableScope; it is {name_or_scope!r}")
        if reuse not in (None, True, False, AUTO_REUSE):
            raise ValueError(f"The reuse parameter must be True or False or None; it is {reuse!r}")
        if use_resource is False and program_graph.current() is None:
            raise ValueError("When eager execution is enabled, use_resource cannot be set to false.")
        _not_supported("caching_device", caching_device)
        _not_supported("partitioner", partitioner)
        self._name_or_scope, self._default_name = name_or_scope, default_name
        self._initializer, self._regularizer, self._dtype = initializer, regularizer, dtype
        self._custom_getter, self._constraint, self._auxiliary = custom_getter, constraint, auxiliary_name_scope
        self._reuse, self._entered = reuse, []

    def _opened(self, outer, counts):
        """(the scope to be entered, the name scope to be opened or None)"""
        given = self._name_or_scope
        if isinstance(given, VariableScope):
            return given._inner(given.name, given.original_name_scope), given.name.rpartition("/")[2]
        own = given if given is not None else counts.unique_scope(outer.name, self._default_name)
        name = f"{outer.name}/{own}" if outer.name and own else own or outer.name
        return outer._inner(name, ""), own

    def __enter__(self):
        outer, counts = get_variable_scope(), scope_counts()
        scope, name_scope = self._opened(outer, counts)
        counts.open_scope(scope.name)
        opened = dict(counts.opened) if isinstance(self._name_or_scope, VariableScope) else None
        for argument in ("initializer", "regularizer", "dtype", "constraint"):
            if getattr(self, f"_{argument}") is not None:
                setattr(scope, f"_{argument}", getattr(self, f"_{argument}"))
        scope._custom_getter = _through(scope._custom_getter, self._custom_getter)
        if self._reuse is not None and not (self._reuse is False and scope._reuse is True):
            scope._reuse = self._reuse  # TensorFlow's False does not undo what is around
        named = bool(name_scope) and self._auxiliary
        if named:
            whole = open_scope(name_scope)
            scope._name_scope = scope._name_scope or whole + "/"
        set_current_scope(scope)
        self._entered.append((outer, scope, opened, named))
        return scope

    def __exit__(self, *_):
        outer, scope, opened, named = self._entered.pop()
        counts = scope_counts()
        set_current_scope(outer)
        counts.close_subscopes(scope.name)
        if opened is not None:
            counts.opened = opened
        if named:
            _engine.pop_scope()
