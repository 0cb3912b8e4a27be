"""What is known of a function's results before a graph runs, where extents or numbers are not known that it needs: the function is traced
for several that might come, and what these have in common is known."""
import numpy as np

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.shapes import TensorShape

_EXTENTS = (24, 36, 60, 2, 1)  # divisible by what windows and blocks mostly are, or short
_NUMBERS = (5, 7, 9)  # as integers that only a run knows
_CHANNELS = (3, 1, 2, 4)


class Known:
    """What is known of a tensor before a graph runs: its dtype, and its shape, None where not even the number of axes is known."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, None if shape is None else TensorShape(shape)


def is_tensor(leaf):
    return isinstance(leaf, (_engine.Tensor, _engine.Variable))


def tensors_of(leaf):
    """The tensors of an argument, which may be an object made of several; nothing of other objects."""
    return [leaf] if is_tensor(leaf) else leaf._carried() if hasattr(type(leaf), "_carried") else []


def with_tensors(leaf, remaining):
    """The argument with the next tensors in place of its own."""
    if is_tensor(leaf):
        return next(remaining)
    tensors = [next(remaining) for _ in tensors_of(leaf)]
    return leaf._with(tensors) if tensors else leaf


def _is_late(tensor):
    return _engine.is_symbolic(tensor) and _engine.known_value(tensor) is None


def is_late_list(values):
    """Whether an integer of a list, or a list of integers, is one that only a run knows."""
    return any(is_tensor(each) and each.shape.is_fully_defined() and _is_number(each) and _is_late(each) for each in values)


def _is_number(tensor):
    """Whether it may be a list of extents, or one."""
    return tensor.dtype.is_integer and tensor.shape.is_fully_defined() and tensor.shape.rank < 2 and tensor.shape.num_elements() <= 8


def _ways(ranks, shapes):
    """For tensors of these numbers of axes: functions of (tensor, axis) that give an unknown extent. In some all are alike; in others
    each is another one, or the last axes are as short as colours or coordinates are, or the first tensor slides over the next one, or
    they are those of the `shapes` of other arguments."""
    for extent in _EXTENTS:
        yield lambda tensor, axis, extent=extent: extent
    yield lambda tensor, axis: 24 + 12 * tensor + 4 * axis
    for last in _CHANNELS:
        for extent in (24, 16):
            yield lambda tensor, axis, last=last, extent=extent: last if axis == ranks[tensor] - 1 else extent
    for last in _CHANNELS:  # of the first tensor alone; others lack its last axis
        yield lambda tensor, axis, last=last: last if tensor == 0 and axis == ranks[0] - 1 else 24
    for window in (2, 3):
        yield lambda tensor, axis, window=window: window + axis if tensor and axis < ranks[tensor] - 2 else 24
    for shape in shapes:
        for other in (24, 5):
            yield lambda tensor, axis, shape=shape, other=other: shape[axis] if axis < len(shape) else other


def _sample(tensors, ranks, way):
    """The shapes of the tensors in one way."""
    shapes = []
    for number, tensor in enumerate(tensors):
        known = tensor.shape.as_list() if tensor.shape.rank is not None else [None] * ranks[number]
        shapes.append([way(number, axis) if extent is None else extent for axis, extent in enumerate(known)])
    return shapes


def _traced(function, args, kwargs, opened, shapes, number):
    """The structure of Known that the function's results have for these shapes, `number` in place of what integers only a run knows;
    None where they do not fit."""
    structure = [list(args), dict(kwargs)]
    leaves, found = nest.flatten(structure), None

    def body(given):
        nonlocal found
        of = dict(zip(map(id, opened), given))

        def put(tensor):
            if id(tensor) in of:
                return of[id(tensor)]
            if number is not None and _is_number(tensor) and _is_late(tensor):
                return _engine.constant(number, tensor.dtype, tensor.shape.as_list())
            return tensor

        new = [with_tensors(leaf, iter([put(tensor) for tensor in tensors_of(leaf)])) for leaf in leaves]
        positional, named = nest.pack_sequence_as(structure, new)
        returned = function(*positional, **named)
        found = nest.map_structure(lambda leaf: Known(leaf.dtype, leaf.shape if leaf.shape.rank is not None else None), returned)
        return []

    try:
        _engine.trace_graph("discarded", [(f"x{place}", tensor.dtype, shape) for place, (tensor, shape) in enumerate(zip(opened, shapes))],
                            body)
    except (_engine.OpError, _engine.OperatorNotAllowedInGraphError, TypeError, ValueError):  # these extents do not fit each other
        return None
    return found


def _merged(forms):
    """What structures of Known have in common; the number of axes is not known where it differs."""
    parts = [nest.flatten(form) for form in forms]
    if any(len(each) != len(parts[0]) or [one.dtype for one in each] != [one.dtype for one in parts[0]] for each in parts):
        return None
    merged = []
    for same in zip(*parts):
        shapes = [each.shape.as_list() if each.shape is not None and each.shape.rank is not None else None for each in same]
        if any(shape is None or len(shape) != len(shapes[0]) for shape in shapes):
            merged.append(Known(same[0].dtype, None))
        else:
            merged.append(Known(same[0].dtype, [axis[0] if len(set(axis)) == 1 else None for axis in zip(*shapes)]))
    return nest.pack_sequence_as(forms[0], merged)


def _known_shapes(arguments):
    """Those of tensors, arrays and lists of numbers."""
    shapes = []
    for each in arguments:
        try:
            shape = tuple(each.shape) if hasattr(each, "shape") else np.shape(each)
        except (TypeError, ValueError):
            continue
        if shape and None not in shape and shape not in shapes:
            shapes.append(shape)
    return shapes


def form_of(function, args, kwargs):
    """The structure of Known of the function's results; None where no extents fit."""
    all_tensors = [tensor for leaf in nest.flatten([list(args), dict(kwargs)]) for tensor in tensors_of(leaf)]
    opened = list({id(tensor): tensor for tensor in all_tensors if not tensor.shape.is_fully_defined()}.values())
    shapes = _known_shapes([*args, *kwargs.values()])
    forms = []
    for rank in ((4, 3, 2, 1) if any(tensor.shape.rank is None for tensor in opened) else (0,)):
        ranks = [rank if tensor.shape.rank is None else tensor.shape.rank for tensor in opened]
        for way in _ways(ranks, shapes):
            for number in _NUMBERS if not opened else (_NUMBERS[len(forms) % len(_NUMBERS)],):
                forms.append(_traced(function, args, kwargs, opened, _sample(opened, ranks, way), number))
            if not opened:
                break
    forms = [form for form in forms if form is not None]
    return _merged(forms) if forms else None
