"""What loops of a graph run over: tensors, ranges of tensors, and several of them side by side."""
import builtins
import weakref

from tapedeck import _engine
from tapedeck._autograph.backend import is_symbolic
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


_steps = {}  # by a tensor's address: a weak reference to it, and the Items that it has the values of


def remember(values, steps):
    """Has items_of(values) give these Items: a loop that counts needs no tensor of all numbers."""
    address = id(values)
    _steps[address] = weakref.ref(values, lambda _: _steps.pop(address, None)), steps


def items_of(iterable):
    """The items of what is symbolic; None of Python's iterables."""
    if isinstance(iterable, Items):
        return iterable
    known = _steps.get(id(iterable))
    if known is not None and known[0]() is iterable:
        return known[1]
    if not is_symbolic(iterable):
        return None
    if iterable.shape.rank == 0:
        raise _engine.TypeMismatchError("a scalar cannot be iterated over: it is " + f"{iterable.dtype.name} ()")
    extent = None if iterable.shape.rank is None else iterable.shape[0]
    if extent is None:  # known when the graph runs
        return Items(op("shape")(iterable)[0], lambda index: op("gather")(iterable, index))
    return Items(tensor(extent), lambda index: op("gather")(iterable, index), extent)


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


def enumerate_(iterable, start=0):
    """enumerate(iterable, start), of tensors too."""
    items = items_of(iterable)
    if items is None:
        return enumerate(iterable, start)
    return Items(items.count, lambda index: (index + start, items.at(index)), items.known_count, items.dtype)


def zip_(*iterables, **options):
    """zip(…), of tensors too. Beside Python's iterables a tensor is a list of its slices."""
    found = list(map(items_of, iterables))
    if not found or any(each is None for each in found):
        listed = [iterable if each is None else each for iterable, each in builtins.zip(iterables, found)]
        return zip(*listed, **options)
    count = found[0].count
    for each in found[1:]:
        count = op("minimum")(count, op("cast")(each.count, count.dtype))
    known = None if any(each.known_count is None for each in found) else min(each.known_count for each in found)
    return Items(count, lambda index: tuple(each.at(index) for each in found), known, found[0].dtype)
