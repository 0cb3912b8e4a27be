"""TensorFlow 1's collections: lists under names, which programs put things into; and what initializes variables in its sessions."""
import contextlib
import re

from tapedeck import _engine
from tapedeck._core import program_graph
from tapedeck._core.composites import tensor
from tapedeck._core.public import public

_collections = {}


def _here():
    """The collections of the graph that is being built; where ops run at once, the process's."""
    graph = program_graph.current()
    return _collections if graph is None else graph._collections


@public("GraphKeys", "contrib.framework.GraphKeys")
class GraphKeys:
    """The names of TensorFlow 1's collections."""

    GLOBAL_VARIABLES = VARIABLES = "variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    METRIC_VARIABLES = "metric_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    CONCATENATED_VARIABLES = "concatenated_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    LOSSES = "losses"
    ACTIVATIONS = "activations"
    WEIGHTS = "weights"
    BIASES = "biases"
    UPDATE_OPS = "update_ops"
    SUMMARIES = "summaries"
    GLOBAL_STEP = "global_step"
    INIT_OP = "init_op"
    QUEUE_RUNNERS = "queue_runners"
    SAVERS = "savers"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    SUMMARY_OP = "summary_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    EVAL_STEP = "eval_step"


@public("add_to_collection", "contrib.framework.add_to_collection")
def add_to_collection(name, value):
    """Puts the value at the end of the collection of that name.

    New variables are added to no collection, as in TensorFlow's eager execution: they live as long as the program references
    them.
    """
    _here().setdefault(name, []).append(value)


@public("add_to_collections")
def add_to_collections(names, value):
    """Puts the value into each of the collections; names: one name or a list of them."""
    for name in dict.fromkeys([names] if isinstance(names, str) else names):
        add_to_collection(name, value)


@public("get_collection", "contrib.framework.get_collection")
def get_collection(key, scope=None):
    """The items of the collection, as a new list; [] if there are none.

    scope: a regular expression; then only what has a name that begins with it.
    """
    found = list(_here().get(key, ()))
    if scope is None:
        return found
    begins = re.compile(scope).match
    return [value for value in found if begins(getattr(value, "name", None) or "")]


@public("get_collection_ref")
def get_collection_ref(key):
    """The collection itself: what is done to the list is done to it."""
    return _here().setdefault(key, [])


@contextlib.contextmanager
def collected_updates(name):
    """In a tf.Graph, assignments that are made inside run with the collection 'update_ops'; elsewhere they have run."""
    graph = program_graph.current()
    first = graph and graph._engine.size
    yield
    nodes = graph._effects_since(first) if graph is not None else []
    if nodes:
        graph.add_to_collection(GraphKeys.UPDATE_OPS, graph._new_operation("AssignSub", nodes, name))


def _variables_of(key, what):
    def function(scope=None):
        return get_collection(key, scope)

    function.__name__ = function.__qualname__ = f"{what}_variables"
    function.__doc__ = f"""The {what} variables that were put into the collection {key!r}; as in TensorFlow, where it executes
    eagerly, none is put there by itself: models, stores and templates have their own lists. In a tf.Graph variables are. scope: as
    in tf.get_collection."""
    return public(function.__name__)(function)


for _what, _key in {"global": GraphKeys.GLOBAL_VARIABLES, "trainable": GraphKeys.TRAINABLE_VARIABLES,
                    "local": GraphKeys.LOCAL_VARIABLES, "model": GraphKeys.MODEL_VARIABLES,
                    "moving_average": GraphKeys.MOVING_AVERAGE_VARIABLES}.items():
    _variables_of(_key, _what)


def _initializers(variables, name):
    return program_graph.service("initializers")(variables, name)


_RETURNS = """In a tf.Graph the operation that does it; None where ops run at once: there variables have their first value when they are
    made."""


@public("global_variables_initializer", "initialize_all_variables", "initializers.global_variables")
def global_variables_initializer(name="init"):
    """Gives all global variables of the graph their first values in a session."""
    return _initializers(get_collection(GraphKeys.GLOBAL_VARIABLES), name)


@public("local_variables_initializer", "initialize_local_variables", "initializers.local_variables")
def local_variables_initializer(name="init_local"):
    """Gives all local variables of the graph their first values in a session."""
    return _initializers(get_collection(GraphKeys.LOCAL_VARIABLES), name)


@public("variables_initializer", "initialize_variables", "initializers.variables")
def variables_initializer(var_list, name="init"):
    """Gives these variables their first values in a session."""
    return _initializers(var_list, name)


@public("tables_initializer", "initializers.tables_initializer")
def tables_initializer(name="init_all_tables"):
    """Does nothing: tables are there as soon as they are made."""
    return _initializers([], name)


for _function in (global_variables_initializer, local_variables_initializer, variables_initializer, tables_initializer):
    _function.__doc__ += "\n\n    Returns: " + _RETURNS


@public("is_variable_initialized")
def is_variable_initialized(variable):
    """Whether a session has given the variable a value, as a tensor of the graph; where ops run at once, True. Errors: TypeError for
    a value that is not a variable."""
    if not isinstance(variable, _engine.Variable):
        raise TypeError(f"is_variable_initialized: variable is {variable!r}; needs a tf.Variable")
    if program_graph.current() is not None:
        return program_graph.service("is_initialized")(variable)
    return tensor(True)
