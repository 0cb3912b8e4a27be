"""What loops of a graph run over: tensors, ranges of tensors, and several of them side by side."""
import builtins
import functools
import weakref

from tapedeck import _engine
from tapedeck._autograph.backend import is_symbolic
from tapedeck._autograph.branches import and_
from tapedeck._autograph.lists import GrowingList
from tapedeck._core.composites import op, tensor


class Items:
    """A number of items by their index. count: a tensor; known_count: where it is known now, else None."""

    def __init__(self, count, at, known_count=None, dtype="int32"):
        self.count, self.at, self.known_count, self.dtype = count, at, known_count, dtype

    def __iter__(self):
        """For comprehensions and functions of Python's, which a graph does not run."""
        if self.known_count is None:
            raise _engine.TypeMismatchError("the length of a range of tensors is known only when the graph runs: a for loop runs over it, "
                                            "nothing else does")
        return map(self.at, range(self.known_count))


class Stream:
    """Items that come one after the other, until there is none. more(index): a scalar bool tensor, whether there is an item of that
    index, a scalar int64 tensor; take(index): the item. Called in turn, for one index after another."""

    def __init__(self, more, take):
        self.more, self.take = more, take

    def __iter__(self):
        raise _engine.TypeMismatchError("how many elements a data set has is known only when the graph runs: a for loop runs over it, "
                                        "nothing else does")


_steps = {}  # by a tensor's address: a weak reference to it, and the Items that it has the values of


def remember(values, steps):
    """Has items_of(values) give these Items: a loop that counts needs no tensor of all numbers."""
    address = id(values)
    _steps[address] = weakref.ref(values, lambda _: _steps.pop(address, None)), steps


def items_of(iterable):
    """The items of what is symbolic, and a Stream of data sets and their iterators; None of Python's iterables."""
    if isinstance(iterable, (Items, Stream)):
        return iterable
    if isinstance(iterable, GrowingList):
        return Items(iterable.count(), iterable.__getitem__)
    if hasattr(type(iterable), "_stream") and _engine.is_tracing():
        more, take = iterable._stream()
        return Stream(lambda index: more(), lambda index: take())
    known = _steps.get(id(iterable))
    if known is not None and known[0]() is iterable:
        return known[1]
    if not is_symbolic(iterable):
        return None
    if iterable.shape.rank == 0:
        raise _engine.TypeMismatchError("a scalar cannot be iterated over: it is " + f"{iterable.dtype.name} ()")
    extent = None if iterable.shape.rank is None else iterable.shape[0]
    if extent is None:  # known when the graph runs
        return Items(op("shape")(iterable)[0], lambda index: _item(iterable, index))
    return Items(tensor(extent), lambda index: _item(iterable, index), extent)


def _item(iterable, index):
    """What an iteration begins with: of a variable the value that it has then, whose gradient is whole, as in eager code."""
    return op("gather")(op("identity")(iterable) if isinstance(iterable, _engine.Variable) else iterable, index)


def range_(*arguments):
    """range(start, stop, step), of tensors too."""
    if not any(map(is_symbolic, arguments)) or len(arguments) > 3:
        return range(*arguments)
    start, stop, step = (0, arguments[0], 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    dtype = next(each.dtype for each in arguments if is_symbolic(each))
    for each in arguments:
        if is_symbolic(each) and (not each.dtype.is_integer or len(each.shape)):
            raise _engine.TypeMismatchError(f"range: {each.dtype.name} {tuple(each.shape)}; needs whole numbers")
    start, stop, step = (each if is_symbolic(each) else tensor(each, dtype) for each in (start, stop, step))
    # The quotient rounded up: floor division of the distance, with all but one of a step more.
    count = op("maximum")((stop - start + step - op("sign")(step)) // step, tensor(0, dtype))
    return Items(count, lambda index: start + index * step, None, dtype)


def iter_(*arguments):
    """iter(…); of a data set one that begins when the graph runs."""
    if len(arguments) == 1 and _engine.is_tracing() and hasattr(type(arguments[0]), "_begun"):
        return arguments[0]._begun()
    return iter(*arguments)


def enumerate_(iterable, start=0):
    """enumerate(iterable, start), of tensors too."""
    items = items_of(iterable)
    if items is None:
        return enumerate(iterable, start)
    if isinstance(items, Stream):
        first = tensor(start, "int64")  # as Dataset.enumerate has it
        return Stream(items.more, lambda index: (index + first, items.take(index)))
    return Items(items.count, lambda index: (index + start, items.at(index)), items.known_count, items.dtype)


def _beside_stream(iterable, items):
    """What zip has beside a data set, as a Stream."""
    if isinstance(items, Stream):
        return items
    if items is None:
        if not isinstance(iterable, (range, list, tuple)):
            raise _engine.TypeMismatchError(f"zip: {iterable!r} beside a data set, in a function that is traced; needs data sets, tensors, "
                                            "ranges or lists of numbers")
        listed = tensor(list(iterable))
        items = Items(tensor(len(listed)), lambda index: op("gather")(listed, index))
    return Stream(lambda index: index < op("cast")(items.count, "int64"), lambda index: items.at(op("cast")(index, items.dtype)))


def _zipped_streams(streams):
    def more(index):
        first, *others = streams
        return functools.reduce(lambda holds, each: and_(holds, lambda: each.more(index)), others, first.more(index))

    return Stream(more, lambda index: tuple(each.take(index) for each in streams))


def zip_(*iterables, **options):
    """zip(…), of tensors too. Beside Python's iterables a tensor is a list of its slices."""
    found = list(map(items_of, iterables))
    if any(isinstance(each, Stream) for each in found):
        return _zipped_streams(list(builtins.map(_beside_stream, iterables, found)))
    if not found or any(each is None for each in found):
        listed = [iterable if each is None else each for iterable, each in builtins.zip(iterables, found)]
        return zip(*listed, **options)
    count = found[0].count
    for each in found[1:]:
        count = op("minimum")(count, op("cast")(each.count, count.dtype))
    known = None if any(each.known_count is None for each in found) else min(each.known_count for each in found)
    return Items(count, lambda index: tuple(each.at(index) for each in found), known, found[0].dtype)
