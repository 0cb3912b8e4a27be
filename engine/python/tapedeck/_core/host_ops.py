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


def _tensors_of(leaf):
    """The tensors of an argument, which may be an object made of several; nothing of other objects."""
    return [leaf] if _is_tensor(leaf) else leaf._carried() if hasattr(type(leaf), "_carried") else []


def _with_tensors(leaf, remaining):
    if _is_tensor(leaf):
        return next(remaining)
    tensors = [next(remaining) for _ in _tensors_of(leaf)]
    return leaf._with(tensors) if tensors else leaf


def _parts(known):
    """What is known of the tensors of a result, which may be an object made of several: then it has `parts`, and `made` of tensors."""
    return getattr(known, "parts", [known])


def _result(known, remaining):
    tensors = [next(remaining) for _ in _parts(known)]
    return known.made(tensors) if hasattr(known, "made") else tensors[0]


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

            def called(tensors):
                remaining = iter(tensors)
                positional, named = nest.pack_sequence_as(structure, [_with_tensors(leaf, remaining) for leaf in leaves])
                returned = function(*positional, **named)
                return [] if form is None else [tensor for leaf in nest.flatten(returned) for tensor in _tensors_of(leaf) or [leaf]]

            results = [] if form is None else nest.flatten(form)
            specs = [(part.dtype, part.shape) for each in results for part in _parts(each)]
            tensors = [tensor for leaf in leaves for tensor in _tensors_of(leaf)]
            found = iter(_engine.graph_host_call(function.__name__, called, tensors, specs, True))
            return None if form is None else nest.pack_sequence_as(form, [_result(each, found) for each in results])

        @functools.wraps(function)
        def called_or_traced(*args, **kwargs):
            return by_graph(args, kwargs) if _engine.is_tracing() else function(*args, **kwargs)

        return called_or_traced

    return decorate
