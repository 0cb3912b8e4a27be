"""tf.map_fn, tf.scan and tf.foldl where the number of slices is known when the graph runs: loops of the graph."""
from tapedeck import _engine
from tapedeck._autograph.backend import backend
from tapedeck._core import nest
from tapedeck._core.composites import op, tensor
from tapedeck._functions import control


def is_counted(elems):
    """Whether elems are tensors whose first extent is not known while a function is traced."""
    if not _engine.is_tracing():
        return False
    leaves = [leaf for leaf in nest.flatten(elems) if isinstance(leaf, (_engine.Tensor, _engine.Variable))]
    return any(leaf.shape.rank != 0 and (leaf.shape.rank is None or leaf.shape[0] is None) for leaf in leaves)


class _Slices:
    def __init__(self, elems):
        self._elems, self._leaves = elems, list(map(tensor, nest.flatten(elems)))
        self.count = op("shape")(self._leaves[0])[0]

    def at(self, index):
        return nest.pack_sequence_as(self._elems, [op("gather")(leaf, index) for leaf in self._leaves])


def _form(function, fn, *arguments):
    """What fn(*arguments) returns in a trace that is thrown away, as tensors."""
    seen = []
    backend().discarded(lambda: seen.append(nest.map_structure(tensor, fn(*arguments))), [])
    for leaf in nest.flatten(seen[0]):
        if leaf.shape.rank is None or not leaf.shape.is_fully_defined():
            raise _engine.InvalidArgumentError(f"{function}: fn returns {leaf.dtype.name} {leaf.shape}; where the number of slices is "
                                               "known when the graph runs, its extents must be known")
    return seen[0]


def _room(count, leaf):
    shape = [count, *leaf.shape]
    return op("fill")(shape, "") if leaf.dtype.name == "string" else op("zeros")(shape, leaf.dtype)


def _put(all_values, index, value):
    place = op("reshape")(index, [1, 1])
    return op("tensor_scatter_nd_update")(all_values, place, op("expand_dims")(tensor(value), 0))


def mapped(function, fn, elems):
    """The results of fn for all slices, stacked."""
    slices = _Slices(elems)
    form = _form(function, lambda: fn(slices.at(0)))
    room = [_room(slices.count, leaf) for leaf in nest.flatten(form)]

    def body(index, *values):
        results = nest.flatten(fn(slices.at(index)))
        return [index + 1, *(_put(all_values, index, value) for all_values, value in zip(values, results))]

    _, *values = control.loop(function, lambda index, *_: index < slices.count, body, [tensor(0), *room])
    return nest.pack_sequence_as(form, values)


def accumulated(function, fn, elems, initializer, backwards, stacks):
    """The last value of accumulated = fn(accumulated, slice); all of them, stacked in the slices' order, where `stacks`."""
    slices = _Slices(elems)

    def at(step):
        return slices.at(slices.count - 1 - step if backwards else step)

    start = at(0) if initializer is None else nest.map_structure(tensor, initializer)
    first = 0 if initializer is not None else 1
    leaves = nest.flatten(start)
    room = []
    if stacks:
        _form(function, lambda: start)
        room = [_room(slices.count, leaf) for leaf in leaves]
        if first:
            room = [_put(all_values, slices.count - 1 if backwards else tensor(0), leaf) for all_values, leaf in zip(room, leaves)]

    def body(step, *values):
        now = nest.pack_sequence_as(start, list(values[:len(leaves)]))
        results = [tensor(leaf) for leaf in nest.flatten(fn(now, at(step)))]
        place = slices.count - 1 - step if backwards else step
        return [step + 1, *results, *(_put(all_values, place, value) for all_values, value in zip(values[len(leaves):], results))]

    _, *values = control.loop(function, lambda step, *_: step < slices.count, body, [tensor(first), *leaves, *room])
    return nest.pack_sequence_as(start, values[len(leaves):] if stacks else values[:len(leaves)])
