"""Branches: Python's where the condition is known, else a branch of the graph."""
import functools
import operator
import sys

import numpy as np

from tapedeck import _engine
from tapedeck._autograph import state
from tapedeck._autograph.backend import backend, is_symbolic
from tapedeck._autograph.exits import RETURN, VALUE
from tapedeck._autograph.lists import added_items, Grows, is_in_loop
from tapedeck._autograph.state import Undefined, run
from tapedeck._core.composites import op, tensor

_SIDES = ("main", "else")  # what TensorFlow calls the branches


def if_stmt(test, body, orelse, get, set_, names, lines):
    """if test: body() else: orelse().

    get, set_: for the values of the function's names: those that count behind the branch, then those that do not. names: their
    names, and of the first those that are read; lines: the statement's line, and where each branch gives a name its value.
    """
    if is_symbolic(test):
        symbolic_if(test, body, orelse, get, set_, names, lines)
    elif test:
        run(body)
    elif orelse is not None:
        run(orelse)


def symbolic_if(test, body, orelse, get, set_, names, lines):
    """if_stmt in a graph."""
    kept, dead, _ = names
    line, places = lines
    before = get()
    was = dict(zip((*kept, *dead), before))

    def side(part):
        set_(list(map(state.copied, before)))
        if part is not None:
            run(part)
        values = dict(zip((*kept, *dead), get()))
        returns = values.get(RETURN) is True and was.get(RETURN) is not True
        # Behind a return nothing is read: what has no value there has the other side's form.
        return [Undefined(VALUE) if returns and isinstance(values[name], Undefined) else values[name] for name in kept]

    lines_of = {name: (main, other) for name, main, other in places}
    results = chosen(state.scalar_bool(test, "the condition of if", line), lambda: side(body), lambda: side(orelse), kept, line, lines_of)
    set_([*results, *map(Undefined, dead)])


def chosen(predicate, true_side, false_side, names, line, lines_of):
    """The values, a list, that one of the functions returns when the graph runs."""
    sides = [None, None]

    def true_fn():
        sides[0] = true_side()
        if any(state.lacks(value) or state.has_variable(value) for value in sides[0]):
            other = []
            backend().discarded(lambda: other.extend(false_side()), [])
            sides[0] = list(map(state.read, map(state.completed, sides[0], other), other))
        return state.tensors_of(sides[0])

    def false_fn():
        sides[1] = list(map(state.completed, false_side(), sides[0]))
        sides[1] = list(map(state.read, sides[1], sides[0]))
        for name, one, other in zip(names, *sides):
            _require_alike(name, one, other, line, lines_of.get(name, (0, 0)))
        return state.tensors_of(sides[1])

    remaining = iter(backend().branch(predicate, true_fn, false_fn))
    results = []
    for one, other in zip(*sides):
        count = len(state.tensors_of([one]))
        results.append(state.merged(one, other, [next(remaining) for _ in range(count)]))
    return results


def _require_alike(name, one, other, line, lines):
    missing = [isinstance(each, Undefined) for each in (one, other)]
    if all(missing):
        return
    called = "the returned value" if name == VALUE else f"'{name}'"
    if any(missing):
        lacks = 0 if missing[0] else 1
        raise _engine.InvalidArgumentError(
            f"{called} must also be initialized in the {_SIDES[lacks]} branch of the if in line {line}: the {_SIDES[1 - lacks]} branch "
            f"gives it a value{_in(lines[1 - lacks])}")
    kind = state.difference(one, other)
    if kind and kind != "shape":  # of shapes that differ the branch keeps what is the same
        same = "value, or be a tensor," if kind == "kind" else kind
        error = _engine.TypeMismatchError(
            f"{called} must have the same {same} in both branches of the if in line {line}: it is {state.shown(_as_tensor(one, other))} in "
            f"the main branch{_in(lines[0])}, {state.shown(_as_tensor(other, one))} in the else branch{_in(lines[1])}")
        added = is_in_loop() and (added_items(one, other) or added_items(other, one))
        raise Grows(name, added, error) if added else error


def _as_tensor(value, other):
    """A number beside a tensor as the tensor that it becomes."""
    both = state.is_carried(value) and state.is_carried(other)
    return tensor(value) if both and not state.is_composite(value) else value


def _in(line):
    return f" in line {line}" if line else ", from before"


def if_exp(test, if_true, if_false, line):
    """if_true() if test else if_false()."""
    return _one_of("the value of the conditional expression", "the condition of if", test, if_true, if_false, line)


def _one_of(name, what, test, if_true, if_false, line):
    if not is_symbolic(test):
        return run(if_true) if test else run(if_false)
    predicate = state.scalar_bool(test, what, line)
    return chosen(predicate, lambda: [run(if_true)], lambda: [run(if_false)], (name,), line, {name: (line, line)})[0]


def extreme(name, *values):
    """max(*values) or min(*values), of scalars, one of them of a graph. It chooses as Python does: so zeros, NaN and gradients are those of
    eager code."""
    best, *others = values
    beats = operator.gt if name == "max" else operator.lt
    line = _line()
    for value in others:
        one, other = _beside(best, value), _beside(value, best)
        best = _one_of(f"{name}()", f"a comparison of {name}()", beats(other, one), lambda: other, lambda: one, line)
    return best


def _beside(value, other):
    """A number as the tensor that it becomes beside one."""
    is_number = isinstance(value, (bool, int, float, np.generic)) and is_symbolic(other)
    return tensor(value, other.dtype) if is_number else value


def returned(flag, value, line):
    """What a function returns whose end may be reached without a return: value where the flag is set, else None."""
    if not is_symbolic(flag):
        return value if flag else None
    if value is None:
        return None
    raise _engine.InvalidArgumentError(f"line {line}: a value is returned from one branch of a conditional; a value must be returned from "
                                       "all branches, also where the function ends without return")


def and_(first, *others):
    """first and others[0]() and …"""
    for number, other in enumerate(others):
        if is_symbolic(first):
            return _decided(first, True, lambda number=number: and_(run(others[number]), *others[number + 1:]))
        if not first:
            return first
        first = run(other)
    return first


def or_(first, *others):
    """first or others[0]() or …"""
    for number, other in enumerate(others):
        if is_symbolic(first):
            return _decided(first, False, lambda number=number: or_(run(others[number]), *others[number + 1:]))
        if first:
            return first
        first = run(other)
    return first


def _decided(first, asks, rest):
    """`rest()` where `first` is `asks`, else `first`: a scalar bool of the graph."""
    what = f"an operand of {'and' if asks else 'or'}"
    line = _line()
    predicate = state.scalar_bool(first, what, line)

    def other():
        return [state.scalar_bool(rest(), what, line)]

    def same():
        return [tensor(not asks)]

    return backend().branch(predicate, *((other, same) if asks else (same, other)))[0]


def _line():
    """The line of the user's that called an operator."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
    return frame.f_lineno


def either(*flags):
    """Whether one of the flags is set that break, continue and return set."""
    symbolic = [flag for flag in flags if is_symbolic(flag)]
    if len(symbolic) < len(flags) and any(flag for flag in flags if not is_symbolic(flag)):
        return True
    return functools.reduce(op("logical_or"), symbolic) if symbolic else False


def not_(value):
    """not value."""
    return op("logical_not")(value) if is_symbolic(value) else not value


_COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
                "is": operator.is_, "is not": operator.is_not, "in": lambda one, other: one in other,
                "not in": lambda one, other: one not in other}


def compare(left, comparison, right, *others):
    """A chain: left < right() <= others[1]() …; comparisons are texts."""
    right = run(right)
    result = _COMPARISONS[comparison](left, right)
    return and_(result, lambda: compare(right, *others)) if others else result
