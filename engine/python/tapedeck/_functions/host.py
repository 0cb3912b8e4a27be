"""Python functions that a graph calls when it runs: optimisers, whose updates depend on numbers that Python reads."""
from tapedeck import _engine
from tapedeck._functions.structures import leaf_of


def called_by_graph(name, function, values):
    """In a function that is traced, has each run call function(values as they are then). values: a list of tensors, IndexedSlices and
    None. Returns: whether it has; False elsewhere, where the caller goes on."""
    if not _engine.is_tracing():
        return False
    leaves = [None if value is None else leaf_of(value) for value in values]

    def called(tensors):
        remaining = iter(tensors)
        function([leaf and leaf.made_of([next(remaining) for _ in leaf.specs]) for leaf in leaves])

    _engine.graph_host_call(name, called, [tensor for leaf in leaves if leaf for tensor in leaf.tensors])
    for leaf in leaves:
        if leaf:
            leaf.tensors = ()
    return True
