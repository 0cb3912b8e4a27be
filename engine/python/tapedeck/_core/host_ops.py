"""Functions of tf. that read their tensors' values in Python: files, images in files, records. In a function that is traced each run calls
them. Functions that need what a trace may not know, extents or values, are traced where it does, and called by each run where not."""
import functools
import inspect

import numpy as np

from tapedeck import _engine
from tapedeck._core import nest, samples
from tapedeck._core.samples import is_tensor, Known, tensors_of, with_tensors  # noqa: F401 - Known is for those who decorate


def _parts(known):
    """What is known of the tensors of a result, which may be an object made of several: then it has `parts`, and `made` of tensors."""
    return getattr(known, "parts", [known])


def _result(known, remaining):
    tensors = [next(remaining) for _ in _parts(known)]
    return known.made(tensors) if hasattr(known, "made") else tensors[0]


def shape_of(value):
    """The shape of an argument, a TensorShape, or None."""
    if not is_tensor(value):
        value = _engine.convert_to_tensor(value)
    return value.shape if value.shape.rank is not None else None


def known_extents(shape):
    """What is known of a shape that is an argument: a list of integers and None; None where it is not even known how many."""
    if isinstance(shape, (list, tuple)):
        return [int(each) if isinstance(each, (int, np.integer)) else None for each in shape]
    shape = _engine.convert_to_tensor(shape)
    value = _engine.known_value(shape)
    if value is not None:
        return value.numpy().reshape(-1).tolist()
    return [None] * shape.shape[0] if shape.shape.rank == 1 and shape.shape[0] is not None else None


def host_op(known):
    """Decorates such a function. known(its arguments): a structure of Known like the one that it returns; None where it returns nothing.
    Gradients flow through the ops that it calls."""
    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def called_or_traced(*args, **kwargs):
            if not _engine.is_tracing():
                return function(*args, **kwargs)
            return _called_by_runs(function, known(**_bound(signature, args, kwargs)), args, kwargs)

        return called_or_traced

    return decorate


def _bound(signature, args, kwargs):
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def _called_by_runs(function, form, args, kwargs):
    """What the function returns when the graph runs that is being traced: of this form."""
    structure = [list(args), dict(kwargs)]
    leaves = nest.flatten(structure)

    def called(tensors):
        remaining = iter(tensors)
        positional, named = nest.pack_sequence_as(structure, [with_tensors(leaf, remaining) for leaf in leaves])
        returned = function(*positional, **named)
        return [] if form is None else [tensor for leaf in nest.flatten(returned) for tensor in tensors_of(leaf) or [leaf]]

    results = [] if form is None else nest.flatten(form)
    specs = [(part.dtype, part.shape) for each in results for part in _parts(each)]
    tensors = [tensor for leaf in leaves for tensor in tensors_of(leaf)]
    is_method = next(iter(inspect.signature(function).parameters), "") == "self"
    name = type(args[0]).__name__ if is_method else function.__name__
    found = iter(_engine.graph_host_call(name, called, tensors, specs, True))
    return None if form is None else nest.pack_sequence_as(form, [_result(each, found) for each in results])


# ---- functions that are traced as far as a trace knows what they need

_UNFIT = (_engine.OpError, _engine.OperatorNotAllowedInGraphError, TypeError, ValueError)  # what unknown extents lead to


def _where_needed(function, reads_late, form):
    """reads_late(args, kwargs): whether the function would read values that only a run knows. form(args, kwargs): of its results."""
    @functools.wraps(function)
    def traced_or_called(*args, **kwargs):
        if not _engine.is_tracing():
            return function(*args, **kwargs)
        if reads_late(args, kwargs):
            return _called_by_runs(function, form(args, kwargs), args, kwargs)
        try:
            return function(*args, **kwargs)
        except _UNFIT:
            found = form(args, kwargs) if _is_open(args, kwargs) else None
            if found is None:
                raise
        return _called_by_runs(function, found, args, kwargs)

    return traced_or_called


def needs_extents(function=None, *, known=None):
    """Decorates a function made of ops that needs extents of its tensors, and its numbers. Where a trace does not know them, each run
    calls the function. known: as host_op's; without it, the extents of results are known that are the same for several that might
    come."""
    if function is None:
        return lambda function: needs_extents(function, known=known)
    signature = inspect.signature(function)
    return _where_needed(function, lambda *_: False, lambda args, kwargs: samples.form_of(function, args, kwargs) if known is None
                         else known(**_bound(signature, args, kwargs)))


def needs_values(*names, known):
    """Decorates a function that reads values of the arguments `names`, and needs extents of its tensors. Where a trace does not know
    them, each run calls the function. known: as host_op's."""
    def decorate(function):
        signature = inspect.signature(function)

        def reads_late(args, kwargs):
            given = _bound(signature, args, kwargs)
            return any(_has_late_values(given.get(name)) for name in names)

        return _where_needed(function, reads_late, lambda args, kwargs: known(**_bound(signature, args, kwargs)))

    return decorate


def _has_late_values(value):
    return any(_engine.is_symbolic(tensor) and _engine.known_value(tensor) is None
               for leaf in nest.flatten(value) for tensor in tensors_of(leaf))


def _is_open(args, kwargs):
    """Whether an extent is not known, or a number of a list of them."""
    if any(not tensor.shape.is_fully_defined() for leaf in nest.flatten([list(args), dict(kwargs)]) for tensor in tensors_of(leaf)):
        return True
    return any(samples.is_late_list(each if isinstance(each, (list, tuple)) else [each]) for each in (*args, *kwargs.values()))
