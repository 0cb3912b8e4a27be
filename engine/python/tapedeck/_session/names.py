"""Which names of the user's program lead to a tensor or a tape: a walk from the variables, bounded in time."""
import time
import types
from collections import deque

import numpy as np

from tapedeck import _engine
from tapedeck._session.frames import frames_of, Place
from tapedeck._session.traced_frames import traced_count
from tapedeck._session.values import guarded, is_a, Items

MOST_SECONDS = 2.0
MOST_VALUES = 500_000
MOST_PATHS = 3  # for each tensor or tape
MOST_DEPTH = 12

_ENDS = (int, float, complex, bool, str, bytes, bytearray, type(None), type, types.ModuleType, types.BuiltinFunctionType,
         np.generic, np.dtype, range, slice)


class _Walk:
    def __init__(self, tensors, tapes):
        self.tensors = dict.fromkeys(tensors, 0)  # how many paths there are
        self.tapes = dict.fromkeys(tapes, 0)
        self.found = []
        self.seen = set()
        self.queue = deque()  # (value, path, root name, items of the root, depth)
        self.values = 0
        self.until = time.monotonic() + MOST_SECONDS
        self.complete = True

    def start(self, name, value):
        self.put(value, name, (name, _length(value)), 0)

    def put(self, value, path, root, depth):
        """Tensors and tapes are counted for each path, all else is walked through once."""
        self.values += 1
        if is_a(value, _engine.Variable):
            return  # a holder of its own
        if is_a(value, _engine.Tensor):
            self.note(self.tensors, _engine.debug._storage_of(value), path, root, True)
            return
        if is_a(value, _engine.Tape):
            self.note(self.tapes, value._id, path, root, False)
        elif is_a(value, np.ndarray):
            base = _engine.debug._storage_of(value)
            if base:
                self.note(self.tensors, base, path, root, True)
            if np.ndarray.dtype.__get__(value).kind != "O":
                return
        elif is_a(value, _ENDS):
            return
        if depth < MOST_DEPTH and id(value) not in self.seen:
            self.seen.add(id(value))
            self.queue.append((value, path, root, depth))

    def note(self, wanted, number, path, root, is_tensor):
        count = wanted.get(number)
        if count is None or count >= MOST_PATHS:
            return
        wanted[number] = count + 1
        self.found.append((number if is_tensor else 0, 0 if is_tensor else number, path, *root))

    def run(self):
        while self.queue:
            if self.values > MOST_VALUES or time.monotonic() > self.until:
                self.complete = False
                return
            value, path, root, depth = self.queue.popleft()
            for name, item in _inside(value):
                self.put(item, path + name, root, depth + 1)


def _length(value):
    for kind in (list, tuple, dict, set, frozenset, deque):
        if is_a(value, kind):
            return kind.__len__(value)
    return 0


def _inside(value):
    if is_a(value, types.FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or ())
        return [(f".{name}", _content(cell)) for name, cell in cells]
    if is_a(value, types.MethodType):
        return [(".__self__", value.__self__)]
    if is_a(value, types.GeneratorType):
        frame = value.gi_frame
        return [(f".{name}", item) for name, item in _engine.debug._frame_locals(frame).items()] if frame else []
    items, problem = guarded(Items, value)
    if problem:
        return []
    return guarded(items.page, 0, min(items.total, MOST_VALUES))[0] or []


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # nothing was put into it yet
        return None


def find_names(stop, thread, tensors, tapes):
    """([(tensor, tape, path, the name that it begins with, how many items that has)], whether all was looked through)."""
    walk = _Walk(tensors, tapes)
    if thread:
        skipped = traced_count(stop)
        for index in range(skipped, skipped + len(frames_of(thread))):
            for name, value in Place(stop, thread, index, "locals", "", ())._variables():
                walk.start(name, value)
    for name, value in Place(stop, thread, 0, "globals", "", ())._variables():
        walk.start(name, value)
    walk.run()
    return walk.found, walk.complete
