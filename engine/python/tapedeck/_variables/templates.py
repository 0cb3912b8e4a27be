"""Functions that own the variables which tf.get_variable makes in them: tf.make_template and tfe.graph_callable."""
import collections
import functools
import inspect
import traceback

from tapedeck import _engine
from tapedeck._core import dtypes, nest
from tapedeck._core.composites import require_callable
from tapedeck._core.context import init_scope
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._core.trackable import Trackable
from tapedeck._functions import control
from tapedeck._functions.function import Function, functions_run_eagerly, result_as_tensor
from tapedeck._variables.scopes import AUTO_REUSE, variable_scope, VariableScope
from tapedeck._variables.stores import EagerVariableStore
from tapedeck.data.specs import TensorSpec


def called_here(function):
    """What is called in place of a user's function: while a function is traced, control flow of it becomes part of the graph."""
    return control.converted(function) if _engine.is_tracing() else function


class EagerTemplate(Trackable):
    """What tf.make_template returns: the function with its scope and its variables."""

    def __init__(self, name, func, create_scope_now=False, custom_getter=None):
        self._func, self._name, self._custom_getter = func, name, custom_getter
        self._store = EagerVariableStore()
        self._variable_scope, self._called = None, False
        self._made_at = "".join(traceback.format_list(traceback.extract_stack(limit=6)[:-2]))
        if create_scope_now:
            with self._store.as_default(), variable_scope(None, name, custom_getter=custom_getter) as scope:
                object.__setattr__(self, "_variable_scope", scope)

    def __call__(self, *args, **kwargs):
        if self._variable_scope is not None:
            with variable_scope(self._variable_scope, reuse=AUTO_REUSE), self._store.as_default():
                return self._call(args, kwargs)
        with variable_scope(None, self._name, custom_getter=self._custom_getter) as scope, self._store.as_default():
            result = self._call(args, kwargs)
        self._variable_scope = scope
        return result

    def _call(self, args, kwargs):
        before = {id(variable) for variable in self.trainable_variables} if self._called else None
        try:
            result = called_here(self._func)(*args, **kwargs)
        except Exception as error:
            if hasattr(error, "add_note"):  # from Python 3.11 on
                error.add_note(f"The template {self._name!r} was made at:\n{self._made_at}")
            raise
        self._track_new()
        if before is not None:
            new = [variable.name for variable in self.trainable_variables if id(variable) not in before]
            if new:
                raise ValueError("New trainable variable created when calling a template after the first time, perhaps you used "
                                 f"tf.Variable when you meant tf.get_variable: {', '.join(new)}")
        self._called = True
        return result

    def _track_new(self):
        """The variables are children by their names within the scope."""
        known = self._children()
        for name, variable in self._store._store.variables.items():
            if known.get(name) is not variable:
                self._track(name, variable)

    @property
    def name(self):
        """The name that it was given."""
        return self._name

    @property
    def func(self):
        """The function."""
        return self._func

    @property
    def variable_scope(self):
        """The scope that its variables are in; None before the first call, unless it was made with create_scope_now_."""
        return self._variable_scope

    var_scope = variable_scope

    @property
    def variables(self):
        """The variables that calls have made."""
        return self._store.variables()

    @property
    def trainable_variables(self):
        """Those that are trainable."""
        return self._store.trainable_variables()

    @property
    def non_trainable_variables(self):
        """Those that are not trainable."""
        return self._store.non_trainable_variables()

    weights = global_variables = variables
    trainable_weights, non_trainable_weights = trainable_variables, non_trainable_variables
    local_variables = property(lambda self: [], doc="None: they are in `variables`.")


@public("make_template", "tfe.make_template")
def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, create_graph_function_=False,
                  **kwargs):
    """A function that makes its variables at the first call, and takes the same ones at every other.

        scale = tf.make_template("scale", lambda x: x * tf.get_variable("factor", [], initializer=tf.ones_initializer()))

    name_: the scope of the variables; it becomes unique at the first call, or at once with create_scope_now_. func_: takes its
    variables from tf.get_variable and the functions of tf.layers. kwargs: arguments that func_ always gets. custom_getter_: as
    tf.variable_scope has it. create_graph_function_: func_ becomes a tf.function.
    Returns: an object to be called, with variables, trainable_variables and non_trainable_variables.
    Errors: ValueError for unique_name_, which TensorFlow refuses where it executes eagerly, and for a trainable variable that a
    later call makes; TypeError for an argument that is not callable.
    """
    require_callable("make_template", "func_", func_)
    if name_ is None:
        raise ValueError("make_template: name cannot be None.")
    if unique_name_ is not None:
        raise ValueError(f"make_template: unique_name_ is {unique_name_!r}; unique_name cannot be used in eager mode.")
    function = functools.partial(func_, **kwargs) if kwargs else func_
    function = Function(function) if create_graph_function_ else function
    return EagerTemplate(name_, function, create_scope_now=create_scope_now_, custom_getter=custom_getter_)


ShapeAndDtype = collections.namedtuple("ShapeAndDtype", ["shape", "dtype"])
ShapeAndDtype.__doc__ = "What tfe.graph_callable says of an argument: its shape, None in it for any extent, and its dtype."
public("tfe.ShapeAndDtype")(ShapeAndDtype)


class _GraphCallable:
    """A graph function with the variables that tf.get_variable made in it."""

    def __init__(self, function, shape_and_dtypes):
        self._function, self._specs = function, shape_and_dtypes
        self._store, self._scope = EagerVariableStore(), VariableScope()
        self._graph = Function(self._with_variables)
        self._called, self._in_graph = False, ()
        with init_scope():
            self._first_id = _engine.Variable(0., trainable=False)._id
        functools.update_wrapper(self, function)
        self._graph.__name__ = self.__name__ = getattr(function, "__name__", type(function).__name__)
        if not functions_run_eagerly():
            self._make_variables()

    def _with_variables(self, *args):
        with self._store.as_default(), variable_scope(self._scope):
            return called_here(self._function)(*args)

    def _make_variables(self):
        """Traces the function, if no call has made its variables. Where extents are unknown, a call does."""
        if not self._called:
            concrete = self._graph.get_concrete_function(*map(_as_tensor_specs, self._specs))
            self._in_graph = [each for each in getattr(concrete, "variables", ()) if each._id > self._first_id]
            self._called = True

    def _argument(self, place, value, spec):
        value = _engine.convert_to_tensor(value, dtypes.as_dtype(spec.dtype), None)
        if not TensorShape(spec.shape).is_compatible_with(value.shape):
            raise ValueError(f"{self.__name__}: argument {place} has shape {value.shape}; graph_callable expects "
                             f"{TensorShape(spec.shape)}")
        return value

    def __call__(self, *args):
        if len(args) != len(self._specs):
            raise TypeError(f"{self.__name__}: {len(args)} arguments were given; graph_callable expects {len(self._specs)}")
        converted = []
        for place, (arg, spec) in enumerate(zip(args, self._specs)):
            if isinstance(spec, ShapeAndDtype):
                converted.append(self._argument(place, arg, spec))
                continue
            values, specs = nest.flatten(arg), _flat_specs(spec)
            if len(values) != len(specs):
                raise ValueError(f"{self.__name__}: argument {place} holds {len(values)} values; graph_callable expects "
                                 f"{len(specs)}")
            converted.append(nest.pack_sequence_as(arg, [self._argument(place, *pair) for pair in zip(values, specs)]))
        self._called = True
        if not functions_run_eagerly():
            return self._graph(*converted)
        return nest.map_structure(result_as_tensor, self._with_variables(*converted))

    @property
    def variables(self):
        """The variables that tf.get_variable and layers made in it, by their names' order."""
        self._make_variables()
        own = {id(each): each for each in [*self._store.variables(), *self._in_graph]}  # those of Keras are in no store
        return sorted(own.values(), key=lambda variable: variable.name)

    @property
    def trainable_variables(self):
        """Those that are trainable."""
        return [variable for variable in self.variables if variable.trainable]


def _as_tensor_specs(spec):
    if isinstance(spec, ShapeAndDtype):
        return TensorSpec(spec.shape, dtypes.as_dtype(spec.dtype))
    if isinstance(spec, dict):
        return {key: _as_tensor_specs(each) for key, each in spec.items()}
    return type(spec)(map(_as_tensor_specs, spec))


def _flat_specs(spec):
    if isinstance(spec, ShapeAndDtype):
        return [spec]
    inside = [spec[key] for key in sorted(spec)] if isinstance(spec, dict) else spec
    return [leaf for each in inside for leaf in _flat_specs(each)]


@public("tfe.graph_callable")
def graph_callable(shape_and_dtypes):
    """Decorates a function of tensors that takes its variables from tf.get_variable or layers: it is traced now, which makes them.

        @tfe.graph_callable([tfe.ShapeAndDtype(shape=(), dtype=tf.float32)])
        def scaled(x):
            return tf.get_variable("factor", shape=(), initializer=tf.ones_initializer()) * x

    shape_and_dtypes: a ShapeAndDtype for each argument, or lists, tuples and dicts of them; the arguments become tensors of these.
    Where functions run eagerly, it runs as it is, and the first call makes the variables; None in a shape leaves them to the first
    call, too.
    Returns: a graph function with `variables` and `trainable_variables`.
    Errors: TypeError where the function takes another number of arguments; what tracing it raises; at a call, ValueError for another shape.
    """
    def decorate(function):
        require_callable("graph_callable", "function", function)
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            parameters = None
        if parameters is not None and all(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters) \
                and len(parameters) != len(shape_and_dtypes):
            raise TypeError(f"The number of arguments accepted by the decorated function `{function.__name__}` ({len(parameters)}) "
                            f"must match the number of ShapeAndDtype objects passed to the graph_callable() decorator "
                            f"({len(shape_and_dtypes)}).")
        return _GraphCallable(function, list(shape_and_dtypes))

    return decorate
