"""Tensors that a session's caller gives: tf.placeholder."""
from tapedeck import _engine
from tapedeck._client import graph as graphs, names
from tapedeck._core import dtypes, program_graph
from tapedeck._core.composites import op
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._sparse.tensors import SparseTensor
from tapedeck.train.steps import reset_global_step


def _graph_for(function):
    graph = program_graph.current()
    if graph is None:
        raise RuntimeError(f"{function}() is not compatible with eager execution.")
    return graph


def _named(graph, name, default):
    own = default if name is None else name
    names.require_valid(own)
    scope = _engine.current_scope()
    return graph.unique_name(f"{scope}/{own}" if scope else own)


@public("placeholder")
def placeholder(dtype, shape=None, name=None):
    """A tensor of a graph whose value each run is given by its feed_dict.

    shape: None for any; extents that are None may be any. Errors: RuntimeError where ops run at once.
    """
    graph = _graph_for("tf.placeholder")
    dtype = dtypes.as_dtype(dtype)
    with graph._outermost():
        return graph._engine.placeholder(_named(graph, name, "Placeholder"), dtype, TensorShape(shape))


@public("placeholder_with_default")
def placeholder_with_default(input, shape, name=None):
    """A tensor of a graph that is `input` where the feed_dict gives no other value of a shape like that.

    Where ops run at once it is input.
    """
    value = _engine.convert_to_tensor(input)
    shape = TensorShape(shape)
    if not shape.is_compatible_with(value.shape):
        raise ValueError(f"placeholder_with_default: input has shape {value.shape}; shape is {shape}")
    graph = program_graph.current()
    if graph is None:
        return value
    first = graph._engine.size
    if shape.is_fully_defined():
        result = op("identity")(value)
    else:  # what reads it may not count on the input's shape
        result = _engine.graph_host_call("PlaceholderWithDefault", lambda tensors: [op("identity")(tensors[0])], [value],
                                         [(value.dtype, shape)], True)[0]
    graph._name_results(first, result, name or "PlaceholderWithDefault", True)
    return result


@public("sparse_placeholder")
def sparse_placeholder(dtype, shape=None, name=None):
    """A tf.SparseTensor of a graph, of three placeholders: a feed_dict gives it a tf.SparseTensorValue or (indices, values, shape).

    Errors: RuntimeError where ops run at once.
    """
    _graph_for("tf.sparse_placeholder")
    rank = None if shape is None else TensorShape(shape).rank
    own = "Placeholder" if name is None else name
    return SparseTensor(placeholder(dtypes.int64, [None, rank], f"{own}/indices"), placeholder(dtype, [None], f"{own}/values"),
                        placeholder(dtypes.int64, [rank], f"{own}/shape"))


@public("get_default_graph")
def get_default_graph():
    """The tf.Graph that ops become part of; where they run at once, the process's own, which is empty at first."""
    return program_graph.innermost() or default_of_process()


_of_process = []


def default_of_process():
    """The graph of programs that open none."""
    if not _of_process:
        _of_process.append(graphs.Graph())
    return _of_process[0]


@public("reset_default_graph")
def reset_default_graph():
    """Makes the process's default graph an empty one. Errors: AssertionError inside of another graph's as_default()."""
    opened = program_graph.innermost()
    if opened is not None and (opened is not default_of_process() or program_graph.depth() > 1):
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting "
                             "and create a new graph.")
    _of_process.clear()
    reset_global_step()
    if opened is not None:
        opened._leave()
        default_of_process()._enter()
