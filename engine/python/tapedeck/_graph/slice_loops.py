"""tf.map_fn, tf.scan and their siblings in functions that are traced: loops of the graph over the slices of the first axis."""
from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core import nest
from tapedeck._core.composites import op, tensor
from tapedeck._core.public import NAMES
from tapedeck._functions import control
from tapedeck._graph.tensor_array import TensorArray
from tapedeck.data.specs import TensorSpec


class Elems:
    """The slices of a structure of tensors. count: how many, a number or a scalar int32 tensor; at(index): the structure of slices."""

    def __init__(self, function, elems, broadcasts=False):
        """broadcasts: whether extents of 1 are repeated."""
        # Of variables another tensor: gradients of theirs would be those of rows, while eager code's are whole.
        self._elems, self._leaves = elems, [op("identity")(leaf) if isinstance(leaf, _engine.Variable) else tensor(leaf)
                                            for leaf in nest.flatten(elems)]
        if not self._leaves or any(leaf.shape.rank == 0 for leaf in self._leaves):
            raise InvalidArgumentError(f"{function}: elems has {'a scalar' if self._leaves else 'no tensor'}; needs at least one axis")
        extents = [None if leaf.shape.rank is None else leaf.shape[0] for leaf in self._leaves]
        known = {each for each in extents if each is not None and not (broadcasts and each == 1)}
        if len(known) > 1:
            raise InvalidArgumentError(f"{function}: the first axes of elems have the extents {extents}; needs equal ones")
        self._repeats = [broadcasts and each == 1 for each in extents]
        if known or all(self._repeats):
            self.count = known.pop() if known else 1
        else:
            self.count = op("cast")(op("shape")(self._leaves[extents.index(None)])[0], "int32")
        counts = [op("shape")(leaf)[0] for leaf, each in zip(self._leaves, extents) if each is None]
        for other in counts[(0 if isinstance(self.count, int) else 1):]:
            NAMES["debugging.assert_equal"](other, tensor(self.count), message=f"{function}: the first axes of elems differ")

        # The slices are there once, as in eager code: gradients are then what it has, to the bit.
        self._arrays = [TensorArray(leaf.dtype, 0, dynamic_size=True, clear_after_read=False).unstack(leaf) for leaf in self._leaves]

    def at(self, index):
        return nest.pack_sequence_as(self._elems, [array.read(tensor(0) if repeats else index)
                                                   for array, repeats in zip(self._arrays, self._repeats)])

    def spec(self):
        """What is known of a slice: a structure of TensorSpecs."""
        return nest.pack_sequence_as(self._elems, [TensorSpec(None if leaf.shape.rank is None else leaf.shape[1:], leaf.dtype)
                                                   for leaf in self._leaves])


def _results(fn, arguments):
    """The leaves' structure that fn returns, with tensors that show dtypes and shapes. What fn does is not part of the graph. arguments:
    structures of tensors or TensorSpecs."""
    seen = []

    def called(tensors):
        seen.append(nest.map_structure(tensor, fn(*nest.pack_sequence_as(arguments, tensors))))
        return []

    leaves = nest.flatten(arguments)
    _engine.trace_graph("discarded", [(f"x{number}", each.dtype, each.shape) for number, each in enumerate(leaves)], called)
    return seen[0]


def mapped(function, fn, elems, check, broadcasts=False):
    """map_fn. check(the structure that fn returns): refuses what is not its signature."""
    slices = Elems(function, elems, broadcasts)
    form = _results(fn, [slices.spec()])
    check(form)
    arrays = [TensorArray(each.dtype, slices.count, element_shape=each.shape) for each in nest.flatten(form)]

    def body(index, *arrays):
        found = nest.flatten(fn(slices.at(index)))
        return [index + 1, *(array.write(index, value) for array, value in zip(arrays, found))]

    _, *arrays = control.loop(function, lambda index, *_: op("less")(index, slices.count), body, [tensor(0), *arrays])
    return nest.pack_sequence_as(form, [array.stack() for array in arrays])


def _folded(function, fn, elems, initializer, backwards, check, outputs):
    """The last accumulated value, and arrays of all of them where outputs is True."""
    slices = Elems(function, elems)
    last = op("subtract")(tensor(slices.count), 1)

    def number(index):
        return op("subtract")(last, index) if backwards else index

    first = 0 if initializer is not None else 1
    if initializer is None:
        if isinstance(slices.count, int) and slices.count == 0:
            raise InvalidArgumentError(f"{function}: elems is empty, and there is no initializer")
        start = slices.at(number(tensor(0)))
    else:
        start = nest.map_structure(tensor, initializer)
    leaves = nest.flatten(start)
    arrays = [TensorArray(leaf.dtype, slices.count, element_shape=leaf.shape) for leaf in leaves] if outputs else []
    if first and outputs:
        arrays = [array.write(number(tensor(0)), leaf) for array, leaf in zip(arrays, leaves)]

    def body(index, *values):
        result = fn(nest.pack_sequence_as(start, values[:len(leaves)]), slices.at(number(index)))
        check(start, result)
        found = [tensor(leaf) for leaf in nest.flatten(result)]
        return [index + 1, *found, *(array.write(number(index), leaf) for array, leaf in zip(values[len(leaves):], found))]

    _, *values = control.loop(function, lambda index, *_: op("less")(index, slices.count), body, [tensor(first), *leaves, *arrays])
    return nest.pack_sequence_as(start, values[:len(leaves)]), start, values[len(leaves):]


def scanned(fn, elems, initializer, reverse, check):
    """scan. check(the accumulated value, what fn returns)."""
    _, start, arrays = _folded("scan", fn, elems, initializer, reverse, check, True)
    return nest.pack_sequence_as(start, [array.stack() for array in arrays])


def folded(function, fn, elems, initializer, backwards, check):
    """foldl and foldr."""
    return _folded(function, fn, elems, initializer, backwards, check, False)[0]
