"""Loops: Python's where iterations are known, else a loop of the graph."""
from tapedeck import _engine
from tapedeck._autograph import state
from tapedeck._autograph.backend import backend, is_symbolic
from tapedeck._autograph.branches import and_, not_, symbolic_if
from tapedeck._autograph.exits import VALUE
from tapedeck._autograph.items import items_of, Stream
from tapedeck._autograph.lists import added_items, GrowingList, Grows, in_loop
from tapedeck._autograph.state import Undefined, run
from tapedeck._core.composites import op, tensor
from tapedeck._core.public import NAMES
from tapedeck._core.shapes import TensorShape


def while_stmt(test, body, stop, get, set_, names, lines, options):
    """while test(): body(). stop: whether break or return has left the loop; None where neither is in it. Other arguments: as in
    if_stmt; options: gives what set_loop_options was called with."""
    while True:
        stopped = False if stop is None else run(stop)
        if not is_symbolic(stopped) and stopped:
            return
        holds = and_(not_(stopped), test) if is_symbolic(stopped) else run(test)
        if is_symbolic(holds):
            _Loop(get, set_, names, lines, options).run(holds, lambda _: run(body),
                                                        lambda _: run(test) if stop is None else and_(not_(run(stop)), test))
            return
        if not holds:
            return
        run(body)


def for_stmt(iterable, body, stop, get, set_, names, lines, options, appends):
    """for item in iterable: body(item). appends: whether lists grow in it, so that a loop over a tensor makes all its iterations one
    by one. Other arguments: as in while_stmt."""
    items = items_of(iterable)
    if isinstance(items, Stream):
        _stream_for(items, body, stop, _Loop(get, set_, names, lines, options))
        return
    if items is not None and items.known_count == 0:
        return
    if items is not None and not (appends and items.known_count is not None):
        _symbolic_for(items, body, stop, _Loop(get, set_, names, lines, options, items.known_count is not None))
        return
    iterator = iter(iterable if items is None else items)
    for item in iterator:
        run(body, item)
        if stop is not None:
            stopped = run(stop)
            if is_symbolic(stopped):
                _guarded(iterator, stopped, body, stop, get, set_, names, lines)
                return
            if stopped:
                return


def _guarded(iterator, stopped, body, stop, get, set_, names, lines):
    """The rest of a loop of Python's that a graph may have left: each iteration is a branch."""
    for item in iterator:
        def rest(item=item):
            run(body, item)

        symbolic_if(not_(stopped), rest, None, get, set_, names, lines)
        stopped = run(stop)
        if not is_symbolic(stopped) and stopped:
            return


def _symbolic_for(items, body, stop, loop):
    def more(index):
        return _both(index < items.count, True if stop is None else not_(run(stop)))

    start = tensor(0, items.dtype)
    loop.run(tensor(0, items.dtype) < items.count, lambda index: run(body, items.at(index)), more, start)


def _stream_for(items, body, stop, loop):
    def more(index):
        return items.more(index) if stop is None else and_(not_(run(stop)), lambda: items.more(index))

    start = tensor(0, "int64")
    loop.run(items.more(start), lambda index: run(body, items.take(index)), more, start)


def _both(one, other):
    """Whether both hold, neither of which needs the other to."""
    return op("logical_and")(tensor(one), tensor(other))


class _Loop:
    """A loop of the graph. Its variables: whether it goes on, the number of the iteration where one is needed, how many iterations
    there were where they are limited, and the tensors of the function's names."""

    def __init__(self, get, set_, names, lines, options, runs=False):
        """runs: whether it is known to have an iteration."""
        self._get, self._set, self._runs = get, set_, runs
        self._kept, self._dead, self._after = names
        self._line, places = lines
        self._lines = {name: line for name, line, _ in places}
        given = {} if options is None else options()
        self._limit = given.get("maximum_iterations")
        self._invariants = list(given.get("shape_invariants") or ())

    def run(self, holds, body, test, index=None):
        """body(index) and then test(index) as long as what test returned holds; `holds` says it of the first."""
        counters = [] if index is None else [index]
        if self._limit is not None:
            counters.append(tensor(0))
            holds = _both(holds, tensor(0) < self._limit)
        before = list(self._get())
        with in_loop():
            while True:
                try:
                    return self._traced(holds, counters, body, test, index)
                except Grows as grows:
                    place = self._kept.index(grows.name) if grows.name in self._kept else None
                    if place is None or not isinstance(before[place], (list, GrowingList)):
                        raise
                    before[place] = GrowingList.of(before[place], grows.items)
                    self._set(before)

    def _traced(self, holds, counters, body, test, index):
        self._start = self._started(counters, body, holds)
        first = [state.scalar_bool(holds, "the condition of the loop", self._line), *counters, *state.tensors_of(self._start)]

        def following(*variables):
            counts = self._enter(variables, len(counters))
            body(counts[0] if index is not None else None)
            counts = [count + 1 for count in counts]
            goes_on = test(counts[0] if index is not None else None)
            if self._limit is not None:
                goes_on = _both(goes_on, counts[-1] < self._limit)
            end = self._ended()
            return [state.scalar_bool(goes_on, "the condition of the loop", self._line), *counts, *state.tensors_of(end)]

        shapes = [None] * (len(first) - len(state.tensors_of(self._start))) + state.shapes_in_loop(self._start, self._invariant)
        last = backend().loop(first, lambda goes_on, *others: goes_on, following, shapes)
        self._enter(last, len(counters))

    def _invariant(self, leaf):
        """The shape that set_loop_options gave a tensor of the loop, or None."""
        shape = next((shape for variable, shape in self._invariants if variable is leaf), None)
        return shape if shape is None else TensorShape(shape.shape if hasattr(shape, "dtype") else shape)

    def _may_change(self, before, after):
        """Whether shape_invariants let the value's shape change so."""
        if any(map(state.conflict, state.leaves_of(before), state.leaves_of(after))):
            return False
        old, new = state.tensors_of([before]), state.tensors_of([after])
        shapes = state.shapes_in_loop([before], self._invariant)
        return all(one.shape == other.shape if shape is None else shape.is_compatible_with(other.shape)
                   for one, other, shape in zip(old, new, shapes))

    def _enter(self, variables, counters):
        """Gives the names their values of this iteration; returns the counters."""
        values = state.with_tensors(self._start, variables[1 + counters:])
        self._set([*values, *map(Undefined, self._dead)])
        return list(variables[1:1 + counters])

    def _started(self, counters, body, holds):
        """The values of the names before the loop, with the forms that some of them have only in it."""
        values = list(self._get()[:len(self._kept)])
        late = [name for name, value in zip(self._kept, values) if isinstance(value, Undefined) and name in self._after and name != VALUE]
        values = [Undefined(VALUE) if name in late else value for name, value in zip(self._kept, values)]
        if not any(state.lacks(value) or state.has_variable(value) for value in values):
            return values
        seen = []

        def probe(*variables):
            self._start = list(values)
            counts = self._enter(variables, len(counters))
            body(counts[0] if counts else None)
            seen.extend(self._get()[:len(self._kept)])

        backend().discarded(probe, [tensor(holds), *counters, *state.tensors_of(values)])
        values = list(map(state.read, map(state.completed, values, seen), seen))
        for name, value in zip(self._kept, values):
            if name in late and isinstance(value, Undefined):
                raise _engine.InvalidArgumentError(
                    f"'{name}' must be defined before the loop in line {self._line}: it is read behind it, and an iteration may leave "
                    f"it without a value (line {self._lines.get(name, self._line)})")
        if late and not self._runs:
            NAMES["debugging.Assert"](tensor(holds), [f"line {self._line}: the loop must iterate at least once to initialize "
                                                      + ", ".join(map(repr, late))])
        return values

    def _ended(self):
        """The values behind an iteration, checked against those before the loop."""
        values = list(self._get()[:len(self._kept)])
        for number, (name, before) in enumerate(zip(self._kept, self._start)):
            after = values[number] = state.read(values[number], before)
            if state.hidden(before) and not isinstance(after, Undefined):
                raise _engine.InvalidArgumentError(f"the value returned in line {self._lines.get(VALUE, self._line)} has no form that is "
                                                   f"known before the loop in line {self._line}")
            if isinstance(before, Undefined):
                values[number] = before  # each iteration has its own
                continue
            added = added_items(before, after)
            if added:
                raise Grows(name, added)
            kind = "value" if isinstance(after, Undefined) else state.difference(_tensors(before), _tensors(after))
            if kind and not (kind == "shape" and self._may_change(before, after)):
                self._refuse(name, before, after, kind)
        return values

    def _refuse(self, name, before, after, kind):
        grows = kind == "structure" and isinstance(before, list)
        called = "the returned value" if name == VALUE else f"'{name}'"
        hint = "; a list cannot grow in a loop whose iterations are counted when the graph runs: use a tf.TensorArray" if grows else ""
        error = _engine.InvalidArgumentError if kind == "shape" else _engine.TypeMismatchError
        if kind == "shape":
            hint = "; set_loop_options(shape_invariants=[(variable, shape)]) with None in the shape lets it change"
        kept = "value, or be a tensor," if kind == "kind" else kind
        raise error(f"{called} must keep its {kept} in the loop in line {self._line}: it is {state.shown(_tensors(before))} before the "
                    f"loop, {state.shown(_tensors(after))} after an iteration (line {self._lines.get(name, self._line)}){hint}")


def _tensors(value):
    """The value with tensors for its numbers: what a loop carries."""
    if isinstance(value, Undefined):
        return value
    (made,) = state.with_tensors([value], state.tensors_of([value]))
    return made


def set_loop_options(parallel_iterations=None, swap_memory=None, maximum_iterations=None, shape_invariants=None):
    """Steers the loop around, in whose body it is called with keywords.

    maximum_iterations: after how many a loop of a graph ends at the latest; shape_invariants: pairs of a variable and the shape that it
    has in all iterations, with None where that changes; without it a variable keeps its shape. The others change nothing.
    """
