"""What assignments in a graph give: the variable's value behind them."""
from tapedeck._core import program_graph
from tapedeck._core.composites import op


def fresh_value(variable):
    """What an assignment to a variable of the current graph returns: its value behind the assignment, whose op is that."""
    graph = program_graph.current()
    node = graph._engine.size - 1
    assignment = graph._operation_of(node)
    value = value_behind(variable, [node])
    place = graph._place_of(value)[0]
    graph._operations[place] = assignment
    graph._by_name[assignment.name] = place
    return value


def value_behind(variable, nodes):
    """The variable's value behind these nodes of the current graph."""
    graph = program_graph.current()
    value = op("identity")(variable.read_value())
    graph._controls.depend(graph._place_of(value)[0], nodes)
    return value
