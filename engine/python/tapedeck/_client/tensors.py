"""What tensors and variables of a graph have beyond those that eager programs use: op, graph, name, eval()."""
from tapedeck import _engine
from tapedeck._client.graph import graph_of
from tapedeck._client.variables import initialized_value, state_of
from tapedeck._core import program_graph


def _graph_of(tensor, attribute):
    graph = graph_of(tensor)
    if graph is None:
        raise AttributeError(f"Tensor.{attribute} is undefined when eager execution is enabled.")
    return graph


def _op(self):
    """The tf.Operation that gives it, in a tf.Graph. Errors: AttributeError for a tensor of no graph."""
    graph = _graph_of(self, "op")
    return graph._operation_of(graph._place_of(self)[0])


def _graph(self):
    """Its tf.Graph. Errors: AttributeError for a tensor of no graph."""
    return _graph_of(self, "graph")


def _name(self):
    """Its name in its tf.Graph: "x:0". Errors: AttributeError for a tensor of no graph."""
    graph = _graph_of(self, "name")
    node, result = graph._place_of(self)
    graph._name_nodes()
    return f"{graph._node_names[node]}:{result}"


def _value_index(self):
    """Which of its operation's outputs it is. Errors: AttributeError for a tensor of no graph."""
    graph = _graph_of(self, "value_index")
    return graph._place_of(self)[1]


def _consumers(self):
    """The operations of its tf.Graph that read it, as a list. Errors: AttributeError for a tensor of no graph."""
    graph = _graph_of(self, "consumers")
    place = graph._place_of(self)
    return [graph._operation_of(node) for node in range(place[0] + 1, graph._engine.size) if place in graph._engine.described(node)[4]]


def _eval(self, feed_dict=None, session=None):
    """Its value, a NumPy array: Session.run in the session given, None for the default one.

    Errors: NotImplementedError for a tensor of no graph; ValueError without a session, and for one of another graph.
    """
    graph = graph_of(self) or program_graph.innermost()
    if graph is None:
        raise NotImplementedError("eval is not supported when eager execution is enabled, is .numpy() what you're looking for?")
    return graph._session_for(session, self, "evaluate tensor", "eval").run(self, feed_dict)


def _state(variable, attribute):
    state = state_of(variable)
    if state is None:
        raise AttributeError(f"tf.Variable.{attribute} is undefined when eager execution is enabled.")
    return state


def _variable_op(self):
    """The tf.Operation of its name, in a tf.Graph. Errors: AttributeError for a variable of no graph."""
    return _state(self, "op").operation


def _variable_graph(self):
    """Its tf.Graph. Errors: AttributeError for a variable of no graph."""
    return _state(self, "graph").graph


def _initial_value(self):
    """The tensor that it begins as, in a tf.Graph. Errors: AttributeError for a variable of no graph."""
    return _state(self, "initial_value").initial_value


def _initializer(self):
    """The tf.Operation that gives it its first value in a session; None for a variable of no graph."""
    state = state_of(self)
    return state and state.initializer


def _variable_eval(self, session=None):
    """Its value in a session, a NumPy array. session: None for the default one.

    Errors: NotImplementedError for a variable of no graph; ValueError without a session, and for one of another graph.
    """
    state = state_of(self)
    if state is None:
        raise NotImplementedError("eval is not supported when eager execution is enabled, is .numpy() what you're looking for?")
    return state.graph._session_for(session, self, "evaluate tensor", "eval").run(self)


def _load(self, value, session=None):
    """Gives the variable a value: in a session, None for the default one, where it is of a tf.Graph.

    Errors: ValueError without a session; those of assign().
    """
    state = state_of(self)
    if state is None:
        self.assign(value)
        return
    session = state.graph._session_for(session, self, "evaluate tensor", "eval")
    with session._loaded():
        self.assign(value)
        session._initialized.add(id(self))


def _initialized_value(self):
    """The value; in a tf.Graph what it begins as, where the session has given it none yet: for variables that begin as another does."""
    return self.read_value() if state_of(self) is None or program_graph.current() is None else initialized_value(self)


def _named(function, name):
    function.__name__ = function.__qualname__ = name
    return function


def _property(function):
    return property(function, doc=function.__doc__)


_engine._add_tensor_methods({
    "op": _property(_op), "graph": _property(_graph), "name": _property(_name), "value_index": _property(_value_index),
    "consumers": _named(_consumers, "consumers"), "eval": _named(_eval, "eval")})
_engine._add_variable_methods({
    "op": _property(_variable_op), "graph": _property(_variable_graph), "initial_value": _property(_initial_value),
    "initializer": _property(_initializer), "eval": _named(_variable_eval, "eval"), "load": _named(_load, "load"),
    "initialized_value": _named(_initialized_value, "initialized_value")})
