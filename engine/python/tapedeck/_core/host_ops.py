"""Functions of tf. that read their tensors' values in Python: files, images in files, records. In a function that is traced each run calls
them."""
import functools
import inspect

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.shapes import TensorShape


class Known:
    """What is known of a tensor before a graph runs: its dtype, and its shape, None where not even the number of axes is known."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, None if shape is None else TensorShape(shape)


def _is_tensor(leaf):
    return isinstance(leaf, (_engine.Tensor, _engine.Variable))


def shape_of(value):
    """The shape of an argument, a TensorShape, or None."""
    if not _is_tensor(value):
        value = _engine.convert_to_tensor(value)
    return value.shape if value.shape.rank is not None else None


def host_op(known):
    """Decorates such a function. known(its arguments): a structure of Known like the one that it returns; None where it returns nothing.
    Gradients flow through the ops that it calls."""
    def decorate(function):
        signature = inspect.signature(function)

        def by_graph(args, kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            form = known(**bound.arguments)
            structure = [list(args), dict(kwargs)]
            leaves = nest.flatten(structure)
            places = [place for place, leaf in enumerate(leaves) if _is_tensor(leaf)]

            def called(tensors):
                values = list(leaves)
                for place, value in zip(places, tensors):
                    values[place] = value
                positional, named = nest.pack_sequence_as(structure, values)
                returned = function(*positional, **named)
                return [] if form is None else nest.flatten(returned)

            specs = [] if form is None else [(each.dtype, each.shape) for each in nest.flatten(form)]
            found = _engine.graph_host_call(function.__name__, called, [leaves[place] for place in places], specs, True)
            return None if form is None else nest.pack_sequence_as(form, found)

        @functools.wraps(function)
        def called_or_traced(*args, **kwargs):
            return by_graph(args, kwargs) if _engine.is_tracing() else function(*args, **kwargs)

        return called_or_traced

    return decorate
