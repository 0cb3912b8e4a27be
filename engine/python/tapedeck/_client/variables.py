"""Variables of a graph: made without a value, which each session gives them by their initializers."""
import inspect
import weakref

from tapedeck import _engine
from tapedeck._client.default_session import running
from tapedeck._client.operation import Operation
from tapedeck._client.values import fresh_value
from tapedeck._core import program_graph
from tapedeck._core.composites import op, tensor
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._graph.collections import GraphKeys

_states = weakref.WeakValueDictionary()  # id(variable) → VariableState, which the graph keeps

_SIGNATURE = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in (
    "initial_value", "trainable", "validate_shape", "caching_device", "name", "variable_def", "dtype", "import_scope", "constraint",
    "synchronization", "aggregation", "shape", "collections", "use_resource", "expected_shape")])


class VariableState:
    """What a graph knows of a variable."""

    def __init__(self, graph, variable, initial_value, initializer, operation):
        self.graph, self.variable, self.initial_value = graph, variable, initial_value
        self.initializer, self.operation = initializer, operation


def state_of(variable):
    """The VariableState; None for a variable of no graph."""
    found = _states.get(id(variable))
    return found if found is not None and found.variable is variable else None


def _full_name(graph, name, import_scope):
    own = "Variable" if name is None else str(name)
    scope = _engine.current_scope() if import_scope is None else import_scope
    return graph.unique_name(f"{scope}/{own}" if scope else own)


def make(kind, args, kwargs):
    """tf.Variable(*args, **kwargs) where a graph is built: the engine calls this. kind: the class."""
    given = _SIGNATURE.bind(*args, **kwargs).arguments
    graph, initial = program_graph.current(), given.get("initial_value")
    if initial is None:
        raise ValueError("initial_value must be specified.")
    name = _full_name(graph, given.get("name"), given.get("import_scope"))
    with graph._outermost(), graph._controls.entered(None):
        if callable(initial) and not isinstance(initial, (_engine.Tensor, _engine.Variable)):
            initial = initial()
        value = _engine.convert_to_tensor(initial, given.get("dtype"), None)
        shape = value.shape if given.get("shape") is None else TensorShape(given["shape"])
        if given.get("validate_shape") is False:
            shape = TensorShape(None)
        elif not shape.is_fully_defined() and given.get("shape") is None:
            raise ValueError(f"initial_value must have a shape specified: {value}")
        known = value.shape.is_fully_defined()
        sample = [extent or 0 for extent in value.shape] if value.shape.rank is not None else []
        with _engine.Untraced():
            zeros = op("broadcast_to")(tensor("" if value.dtype.name == "string" else 0, value.dtype), sample)
            more = {} if known and given.get("shape") is None and shape.is_fully_defined() else {"shape": shape}
            variable = kind.__new__(kind, zeros, trainable=given.get("trainable"), name=name, dtype=value.dtype, import_scope="",
                                    constraint=given.get("constraint"), **more)
        if not _engine.is_symbolic(value):
            value = op("identity")(value)
            graph._given[graph._engine.size - 1] = f"{name}/initial_value/", True
        graph._given[graph._engine.size] = f"{name}/Assign/", True
        initializer = variable.assign(value).op
    operation = Operation(graph, name, "VariableV2", [])
    graph._others[name] = operation
    state = VariableState(graph, variable, value, initializer, operation)
    graph._variables[id(variable)] = _states[id(variable)] = state
    _collect(graph, variable, given.get("collections"))
    return variable


def _collect(graph, variable, collections):
    wanted = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    if variable.trainable and GraphKeys.TRAINABLE_VARIABLES not in wanted:
        wanted.append(GraphKeys.TRAINABLE_VARIABLES)
    graph.add_to_collections(wanted, variable)


_engine._set_graph_hooks(make, fresh_value)


# ---- initializers

@program_graph.provides("initializers")
def initializers(variables, name):
    """The Operation that gives these variables of the current graph their first values; None where ops run at once."""
    graph = program_graph.current()
    if graph is None:
        return None
    nodes = []
    for variable in variables:
        state = state_of(variable)
        if state is not None and state.graph is graph:
            nodes += state.initializer._nodes
    return graph._new_operation("NoOp", nodes, name)


@program_graph.provides("is_initialized")
def is_initialized(variable):
    """Whether each run's session has given the variable a value: a scalar bool tensor of the current graph."""

    def called(_):
        return [tensor(running().is_initialized(variable))]

    return _engine.graph_host_call("IsVariableInitialized", called, [], [("bool", ())])[0]


def initialized_value(variable):
    """The variable's value where its session has one, else its initial value: a tensor of the current graph."""
    state = state_of(variable)

    def called(tensors):
        return [variable.read_value() if running().is_initialized(variable) else tensors[0]]

    return _engine.graph_host_call("initialized_value", called, [state.initial_value], [(variable.dtype, variable.shape)])[0]


@public("report_uninitialized_variables")
def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """The names of variables that have no value yet, a vector of strings. var_list: None for global and local ones.

    Where ops run at once there is none.
    """
    graph = program_graph.current()
    if graph is None:
        return _engine.constant([], "string", None)
    if var_list is None:
        var_list = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(GraphKeys.LOCAL_VARIABLES)
    wanted = list(var_list)

    def called(_):
        missing = [each.name.removesuffix(":0") for each in wanted if not running().is_initialized(each)]
        return [_engine.constant(missing, "string", None)]

    return _engine.graph_host_call(name, called, [], [("string", (None,))])[0]
