"""Lists that loops of a graph make longer: how many items they have is known only when the graph runs."""
import contextlib
import sys
import threading

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.composites import tensor
from tapedeck._core.public import NAMES


class Grows(Exception):
    """A list became longer in a loop of a graph, which is to be traced again with a GrowingList in its place."""

    def __init__(self, name, items, error=None):
        """items: those that were added; error: what is wrong where no loop around has the list."""
        super().__init__(name)
        self.name, self.items, self.error = name, items, error


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


def added_items(before, after):
    """Items that `after` has and `before`, a list, has not; of a GrowingList one that shows what its items are, where `before` says less.
    None where it has not grown."""
    if isinstance(after, GrowingList):
        return [after.sample()] if type(before) is list or isinstance(before, GrowingList) and before._conflict(after) else None
    return after[len(before):] if type(before) is list and type(after) is list and len(after) > len(before) else None


class GrowingList:
    """A list in a graph: an array for each leaf of its items, which are all nested alike and have the same dtypes. In a loop and in a
    branch it is a variable; where a function returns it, a run makes a list of it."""

    def __init__(self, form, arrays):
        self._form, self._arrays = form, arrays

    @staticmethod
    def of(items, samples):
        """The list of these items, a list or a GrowingList, to which items like the samples may be added."""
        made = items._with(None) if isinstance(items, GrowingList) else None
        if made is None:
            arrays = [NAMES["TensorArray"](tensor(leaf).dtype, 0, dynamic_size=True, clear_after_read=False, infer_shape=False)
                      for leaf in nest.flatten(samples[0])]
            made = GrowingList(nest.map_structure(lambda _: None, samples[0]), arrays)
        for sample in samples:
            made._saw([tensor(leaf) for leaf in nest.flatten(sample)])
        if type(items) is list:
            made.extend(items)
        return made

    def _saw(self, leaves):
        """Items have such leaves, too."""
        for array, leaf in zip(self._arrays, leaves):
            array._saw(leaf.shape)

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
        leaves = [tensor(leaf) for leaf in nest.flatten(item)]
        self._arrays = [array._appended(leaf) for array, leaf in zip(self._arrays, leaves)]
        self._saw(leaves)

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
        return self._alone("stack")._stacked(axis)

    def concatenated(self, axis):
        """As tf.concat."""
        return self._alone("concat")._concatenated(axis)

    # ---- in graphs (state.py)

    def _is_formed(self):
        return True

    def _carried(self):
        return [part for array in self._arrays for part in array._carried()]

    def _carried_shapes(self):
        return [shape for array in self._arrays for shape in array._carried_shapes()]

    def _zeros(self):
        return [part for array in self._arrays for part in array._zeros()]

    def _agreeing(self, other):
        return GrowingList(self._form, [one._agreeing(another) for one, another in zip(self._arrays, other._arrays)])

    def _conflict(self, after):
        return any(one._conflict(another) for one, another in zip(self._arrays, after._arrays))

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
            return [nest.pack_sequence_as(form, leaves) for leaves in zip(*(array._elements for array in arrays))]

        return made

    def __repr__(self):
        return f"<a list that a loop of a graph makes longer: {self._arrays!r}>"


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
