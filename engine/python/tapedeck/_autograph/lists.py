"""Lists that loops of a graph make longer: how many items they have is known only when the graph runs."""
import contextlib
import sys
import threading

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.composites import op, tensor
from tapedeck._core.public import NAMES


class Grows(Exception):
    """A list became longer in a loop of a graph, which is to be traced again with a GrowingList in its place."""

    def __init__(self, name, item, error=None):
        """item: one that was added; error: what is wrong where no loop around has the list."""
        super().__init__(name)
        self.name, self.item, self.error = name, item, error


_loops = threading.local()  # depth: of loops that this thread traces


@contextlib.contextmanager
def in_loop():
    """A loop of a graph is traced inside. The outermost one raises the error of a Grows that no loop took."""
    _loops.depth = getattr(_loops, "depth", 0) + 1
    try:
        yield
    except Grows as grows:
        if _loops.depth == 1 and grows.error is not None:
            raise grows.error from None
        raise
    finally:
        _loops.depth -= 1


def is_in_loop():
    """Whether this thread traces a loop of a graph."""
    return getattr(_loops, "depth", 0) > 0


def added_item(before, after):
    """An item that `after` has and `before`, a list, has not; None where it has not grown, in a tuple else."""
    if type(before) is not list:
        return None
    if isinstance(after, GrowingList):
        return (after.sample(),)
    return (after[len(before)],) if type(after) is list and len(after) > len(before) else None


class GrowingList:
    """A list in a graph: an array for each leaf of its items, which are all nested alike and have the same dtypes and shapes. In a loop and
    in a branch it is a variable; where a function returns it, a run makes a list of it."""

    def __init__(self, form, arrays):
        self._form, self._arrays = form, arrays

    @staticmethod
    def of(items, sample):
        """The list of these items, to which items like the sample may be added."""
        leaves = [tensor(leaf) for leaf in nest.flatten(sample)]
        shapes = [leaf.shape for leaf in leaves]
        for item in items:
            shapes = [shape if shape == tensor(leaf).shape else None for shape, leaf in zip(shapes, nest.flatten(item))]
        arrays = [NAMES["TensorArray"](leaf.dtype, 0, dynamic_size=True, clear_after_read=False, infer_shape=False,
                                       element_shape=leaf.shape if shape is None else shape)
                  for leaf, shape in zip(leaves, shapes)]
        made = GrowingList(nest.map_structure(lambda _: None, sample), arrays)
        made.extend(items)
        return made

    def sample(self):
        """An item's form, with tensors that show dtypes and shapes."""
        return nest.pack_sequence_as(self._form, [array.read(tensor(0)) for array in self._arrays])

    # ---- what lists have

    def append(self, item):
        """Adds an item."""
        form = nest.map_structure(lambda _: None, item)
        if nest._shape_of(form) != nest._shape_of(self._form):
            raise _engine.TypeMismatchError(f"a list that a loop of a graph makes longer has items of the form {self._form!r}; {item!r} "
                                            "has another one")
        count = self._arrays[0].size()
        self._arrays = [array.write(count, tensor(leaf)) for array, leaf in zip(self._arrays, nest.flatten(item))]

    def extend(self, items):
        """Adds items."""
        for item in items:
            self.append(item)

    def __add__(self, items):
        made = self._with(None)
        made.extend(items)
        return made

    __iadd__ = __add__

    def count(self):
        """How many items there are: a scalar int32 tensor."""
        return self._arrays[0].size()

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise _engine.UnimplementedError("a slice of a list that a loop of a graph makes longer; tf.stack(it) is a tensor, which has "
                                             "slices")
        if isinstance(index, int) and index < 0:
            index = self.count() + index
        return nest.pack_sequence_as(self._form, [array.read(tensor(index)) for array in self._arrays])

    def __len__(self):
        raise _engine.TypeMismatchError("the length of a list that a loop of a graph makes longer is known only when the graph runs")

    def __iter__(self):
        raise _engine.TypeMismatchError("the length of a list that a loop of a graph makes longer is known only when the graph runs: a for "
                                        "loop runs over it, tf.stack and tf.concat make one tensor of it, nothing else does")

    def _alone(self, function):
        if nest.is_nested(self._form):
            raise _engine.InvalidArgumentError(f"{function}: the list's items are {self._form!r}; needs tensors")
        return self._arrays[0]

    def stacked(self, axis=0):
        """As tf.stack."""
        values = self._alone("stack").stack()
        return values if axis == 0 else _moved(values, axis)

    def concatenated(self, axis):
        """As tf.concat. The items have equal extents."""
        values = self._alone("concat").stack()
        if axis == 0:
            return self._alone("concat").concat()
        axis = axis if axis > 0 else values.shape.rank - 1 + axis
        shape, moved = op("shape")(values), _moved(values, axis)
        extents = [shape[place + 1] if place != axis else shape[0] * shape[place + 1] for place in range(values.shape.rank - 1)]
        return op("reshape")(moved, extents)

    # ---- in graphs (state.py)

    def _is_formed(self):
        return True

    def _carried(self):
        return [part for array in self._arrays for part in array._carried()]

    def _carried_shapes(self):
        return [shape for array in self._arrays for shape in array._carried_shapes()]

    def _with(self, tensors):
        if tensors is None:
            return GrowingList(self._form, [array._with(None) for array in self._arrays])
        remaining = iter(tensors)
        return GrowingList(self._form, [array._with([next(remaining) for _ in array._carried()]) for array in self._arrays])

    def _maker(self):
        makers, counts, form = [array._maker() for array in self._arrays], [len(array._carried()) for array in self._arrays], self._form

        def made(tensors):
            remaining = iter(tensors)
            arrays = [make([next(remaining) for _ in range(count)]) for make, count in zip(makers, counts)]
            if any(map(_engine.is_symbolic, tensors)):
                return GrowingList(form, arrays)
            columns = [op("unstack")(array.stack(), axis=0) for array in arrays]
            return [nest.pack_sequence_as(form, leaves) for leaves in zip(*columns)]

        return made

    def __repr__(self):
        return f"<a list that a loop of a graph makes longer: {self._arrays!r}>"


def _moved(values, axis):
    """The first axis behind so many others."""
    rank = values.shape.rank
    axis = axis % rank
    order = list(range(1, rank))
    order.insert(axis, 0)
    return op("transpose")(values, order)


def taking(function):
    """tf.stack, tf.concat and tf.convert_to_tensor, for a GrowingList, too; None for other functions."""
    public = sys.modules["tapedeck"]
    name = next((name for name in ("stack", "concat", "convert_to_tensor") if function is getattr(public, name)), None)
    if name is None:
        return None

    def called(*args, **kwargs):
        if not args or not isinstance(args[0], GrowingList):
            return function(*args, **kwargs)
        kwargs.pop("name", None)
        if name == "concat":
            return args[0].concatenated(*args[1:], **kwargs)
        return args[0].stacked(*args[1:], **kwargs) if name == "stack" else args[0].stacked()

    return called
