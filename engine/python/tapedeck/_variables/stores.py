"""Variables by name: the stores from which tf.get_variable takes them, and the scopes that are open."""
import contextlib
import inspect
import threading

from tapedeck import _engine, _initializers as initializers
from tapedeck._core import dtypes, program_graph
from tapedeck._core.context import init_scope
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._graph.collections import add_to_collection, GraphKeys


class ScopeCounts:
    """How often scopes were opened, by full name, so that default names become unique."""

    def __init__(self):
        self.opened = {}

    def open_scope(self, name):
        self.opened[name] = self.opened.get(name, 0) + 1

    def close_subscopes(self, name):
        """What was opened inside the scope is forgotten: names inside begin anew at the scope's next opening."""
        for each in self.opened:
            if not name or each.startswith(name + "/"):
                self.opened[each] = 0

    def unique_scope(self, outer, name):
        """The name, or the first of name_1, name_2, … under which no scope was opened in the outer one."""
        prefix, number, unique = f"{outer}/" if outer else "", 0, name
        while self.opened.get(prefix + unique):
            number += 1
            unique = f"{name}_{number}"
        return unique


def _require_reuse(name, reuse, exists):
    """As TensorFlow's graphs: ValueError for a variable that may not be shared, and for one that must be and is not there."""
    if exists and reuse is False:
        raise ValueError(f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?")
    if not exists and reuse is True:
        raise ValueError(f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                         "reuse=tf.AUTO_REUSE in VarScope?")


class Store:
    """Makes variables by name, and keeps them where it shares them."""

    def __init__(self, shares):
        self.shares = shares
        self.variables = {}  # by full name

    def get(self, name, shape=None, dtype=None, initializer=None, regularizer=None, reuse=None, trainable=True, collections=None,
            caching_device=None, partitioner=None, validate_shape=True, use_resource=None, constraint=None, synchronization=None,
            aggregation=None):
        """The variable of that full name where it is kept, else a new one. Custom getters call it; see tf.get_variable."""
        if partitioner is not None:
            raise NotImplementedError("get_variable: partitioner is given; variables are not partitioned where execution is eager")
        if caching_device is not None:
            raise NotImplementedError("get_variable: caching_device is given; variables are not cached where execution is eager")
        constant = initializer is not None and not callable(initializer)
        if program_graph.current() is not None:
            _require_reuse(name, reuse, name in self.variables)
        if name in self.variables:
            return self._shared(name, shape, dtype, initializer if constant else None)
        value, dtype = _first_value(name, shape, dtype, initializer)
        arguments = {} if constraint is None else {"constraint": constraint}
        if program_graph.current() is not None:
            arguments.update(collections=collections, validate_shape=validate_shape)
        variable = _engine.Variable(value, trainable=trainable, name=name, dtype=dtype, import_scope="", **arguments)
        if self.shares:
            self.variables[name] = variable
        if regularizer is not None:
            with contextlib.nullcontext() if program_graph.current() is not None else init_scope():  # a trace would end with it
                loss = regularizer(variable)
            if loss is not None:
                add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return variable

    def _shared(self, name, shape, dtype, value):
        found = self.variables[name]
        if shape is None and value is not None:
            shape = _engine.convert_to_tensor(value).shape
        if shape is not None and not TensorShape(shape).is_compatible_with(found.shape):
            raise ValueError(f"Trying to share variable {name}, but specified shape {TensorShape(shape)} and found shape "
                             f"{found.shape}.")
        if dtype is not None and dtypes.as_dtype(dtype) != found.dtype:
            raise ValueError(f"Trying to share variable {name}, but specified dtype {dtypes.as_dtype(dtype).name} and found dtype "
                             f"{found.dtype.name}.")
        return found


def _default_initializer(name, dtype):
    if dtype.is_floating:
        return initializers.GlorotUniform()
    if dtype.is_integer or dtype == dtypes.bool:
        return initializers.Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.name} is required")


def _takes_no_argument(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(each.default is not each.empty or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters)


def _first_value(name, shape, dtype, initializer):
    """(what tf.Variable takes as its first value, the variable's dtype or None for the value's)"""
    if initializer is not None and not callable(initializer):
        value = _engine.convert_to_tensor(initializer)
        if shape is not None and tuple(TensorShape(shape)) != tuple(value.shape):
            raise ValueError(f"If initializer is a constant, do not specify shape. Variable {name}: the initializer has shape "
                             f"{value.shape}, shape is {TensorShape(shape)}")
        return value, None
    dtype = dtypes.as_dtype(dtypes.float32 if dtype is None else dtype)
    if isinstance(initializer, type):
        initializer = initializer()
    if shape is None and initializer is not None and _takes_no_argument(initializer):
        return initializer(), None
    if shape is None or not TensorShape(shape).is_fully_defined():
        shown = "<unknown>" if shape is None else TensorShape(shape)
        raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was {shown}.")
    initializer = initializer or _default_initializer(name, dtype)
    return initializer(TensorShape(shape).as_list(), dtype=dtype), dtype


class _Open(threading.local):
    """What is open in a thread: the scope, None for the outermost, and the store; and what was."""

    def __init__(self):
        self.scope = None
        self.store = _outermost
        self.counts = ScopeCounts()
        self.without_graph = None  # the three, while a graph is the default one


_outermost = Store(shares=False)
_open = _Open()


def current_store():
    """The store that tf.get_variable takes variables from; `shares` says whether it keeps them."""
    return _open.store


def set_current_store(store):
    """Makes it the thread's store; returns the one before."""
    before, _open.store = _open.store, store
    return before


def current_scope():
    return _open.scope


def set_current_scope(scope):
    before, _open.scope = _open.scope, scope
    return before


def scope_counts():
    return _open.counts


def change_graph(before, after):
    """Another graph is the default one; None: of this thread none is. Each has its own scope, store and counts."""
    state = _open.scope, _open.store, _open.counts
    if before is None:
        _open.without_graph = state
    else:
        before._variable_scopes = state
    _open.scope, _open.store, _open.counts = _open.without_graph if after is None else after._variable_scopes


def scopes_of_graph():
    """What a new graph begins with."""
    return None, Store(shares=True), ScopeCounts()


def forget_scopes():
    """Scopes that were opened count no more: default names begin anew (tf.keras.backend.clear_session)."""
    _open.counts.opened.clear()


@public("tfe.EagerVariableStore")
class EagerVariableStore:
    """Keeps the variables that tf.get_variable and the functions of tf.layers make inside of its `as_default()`, by name: another
    call with the same name and scope takes the same variable. tfe.EagerVariableStore.

        container = tfe.EagerVariableStore()
        for batch in data:
            with container.as_default():
                x = tf.layers.dense(batch, 10, name="l1")
        print(container.variables())
    """

    def __init__(self, store=None):
        if store is not None and not (isinstance(store, Store) and store.shares):
            raise ValueError(f"EagerVariableStore: store is {store!r}; cannot construct a store from it")
        self._store = store or Store(shares=True)

    @contextlib.contextmanager
    def as_default(self):
        """A context in which variables are taken from this store."""
        before = set_current_store(self._store)
        try:
            yield
        finally:
            set_current_store(before)

    def variables(self):
        """All variables, by their names' order."""
        return sorted(self._store.variables.values(), key=lambda variable: variable.name)

    def trainable_variables(self):
        """Those that are trainable, by their names' order."""
        return [variable for variable in self.variables() if variable.trainable]

    def non_trainable_variables(self):
        """Those that are not trainable, by their names' order."""
        return [variable for variable in self.variables() if not variable.trainable]

    def copy(self):
        """A new store with new variables, which have the names and the present values of this one's."""
        copied = EagerVariableStore()
        for name, variable in self._store.variables.items():
            copied._store.variables[name] = _engine.Variable(variable.read_value(), trainable=variable.trainable, name=name,
                                                             import_scope="")
        return copied
