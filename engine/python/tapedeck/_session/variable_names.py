"""What records call variables whose own names do not tell them apart: the way to them in Python, "model.layers[0].kernel".

Looked for where a cell begins, so that a model that an earlier cell built has its names from the first step on. A name
that was given, and that no other variable has, stays.
"""
import time
import types
from collections import Counter, deque

import numpy as np

from tapedeck import _engine
from tapedeck._session.frames import Place
from tapedeck._session.values import guarded, is_a, Items

MOST_SECONDS = 0.05
MOST_VALUES = 50_000
MOST_DEPTH = 8
MOST_TEXT = 120  # characters of a path
MANY = 1000  # what has more items is looked into last: rows of data, most often

# What has no way through that one could type, or nothing that is the user's.
_ENDS = (int, float, complex, bool, str, bytes, bytearray, type(None), type, types.ModuleType, types.BuiltinFunctionType,
         types.FunctionType, types.MethodType, types.GeneratorType, np.generic, np.ndarray, np.dtype, range, slice, set, frozenset,
         _engine.Tensor, _engine.Tape)


def _unclear():
    """{id of the variable: (it, whether it was given a name)} of those that their names do not tell apart."""
    living = [(variable, _engine.Variable.name.__get__(variable)) for variable, _ in _engine._living_variables()]
    counts = Counter(name for _, name in living)
    found = {}
    for variable, name in living:
        given = name.rsplit("/", 1)[-1] != "Variable:0"
        if not given or counts[name] > 1:
            found[id(variable)] = variable, given
    return found


def _paths(wanted, variables):
    """{id: (whether a part of the path is private, the path)}, the best that the time allows. `variables`: (name, value)."""
    best = {}
    seen = set()
    queue, late = deque(), deque()  # (value, path, whether it is private, depth)
    settled = set()  # no path that comes later is better
    until = time.monotonic() + MOST_SECONDS

    def put(value, path, private, depth):
        if is_a(value, _engine.Variable):
            if id(value) in wanted and len(path) <= MOST_TEXT:
                # An attribute of its owner says more than a place in some list of all variables.
                rank = private, path.endswith("]"), depth
                if id(value) not in best or rank < best[id(value)][0]:
                    best[id(value)] = rank, path
                if rank[:2] == (False, False):
                    settled.add(id(value))
        elif not is_a(value, _ENDS) and depth < MOST_DEPTH and id(value) not in seen:
            seen.add(id(value))
            queue.append((value, path, private, depth))

    for name, value in variables:
        put(value, name, name.startswith("_"), 0)
    looked = 0
    while (queue or late) and len(settled) < len(wanted) and looked < MOST_VALUES and time.monotonic() < until:
        is_late = not queue
        value, path, private, depth = one = (late if is_late else queue).popleft()
        items, problem = guarded(Items, value)
        if problem:
            continue
        if items.total > MANY and not is_late:
            late.append(one)
            continue
        for name, item in guarded(items.page, 0, min(items.total, MOST_VALUES - looked))[0] or []:
            looked += 1
            put(item, path + name, private or name.startswith("._"), depth + 1)
    return {number: (rank[0], path) for number, (rank, path) in best.items()}


def name_variables():
    """Tells the recorder; runs nothing of the user's."""
    wanted = _unclear()
    if not wanted:
        return
    for number, (private, path) in _paths(wanted, Place(0, 0, 0, "globals", "", ())._variables()).items():
        variable, given = wanted[number]
        if not (given and private):
            _engine._show_variable_as(variable, path)
