"""tf.contrib.graph_editor.reroute: changes of what runs before an operation."""
from tapedeck import _engine


def add_control_inputs(op, cops):
    """Has the operation run behind others. cops: an operation, or a list of them, of the same graph.

    Errors: InvalidArgumentError where one of them is newer: a graph runs in the order in which it was built.
    """
    graph = op.graph
    before = graph._nodes_of(cops if isinstance(cops, (list, tuple)) else [cops])
    for node in op._nodes:
        newer = [each for each in before if each >= node]
        if newer:
            raise _engine.InvalidArgumentError(f"add_control_inputs: {graph._operation_of(newer[0]).name} was built behind {op.name}, and "
                                               "runs behind it")
        graph._controls.depend(node, before)
    graph._parts.clear()
