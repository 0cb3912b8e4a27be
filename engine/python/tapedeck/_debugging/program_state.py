"""The state of a program that its functions change, to be put back: what tf.debugging.lockstep begins both runs with."""
import collections
import gc
import random

import numpy as np

from tapedeck import _engine
from tapedeck._core.trackable import Trackable
from tapedeck._debugging.number_generators import NumberGenerators

# Classes of these modules hold state in attributes, and are not all trackable.
_STATEFUL = ("tapedeck.train", "tapedeck.keras", "tapedeck.layers", "tapedeck.tfe", "tapedeck._tfe", "tapedeck._variables",
             "tapedeck.nn.rnn_cell", "tapedeck._nn.rnn_cells", "tapedeck.initializers", "tapedeck._initializers")
_CONTAINERS = (list, dict, set, collections.deque)
_DEPTH = 4


def _is_stateful(value):
    cls = type(value)
    if issubclass(cls, Trackable):
        return True
    module = cls.__dict__.get("__module__")
    return isinstance(module, str) and module.startswith(_STATEFUL) and isinstance(getattr(value, "__dict__", None), dict)


def _contents(container):
    return dict(container) if isinstance(container, dict) else list(container)


def _refill(container, contents):
    """Without what subclasses make of changes."""
    if isinstance(container, dict):
        dict.clear(container)
        dict.update(container, contents)
    elif isinstance(container, list):
        list.__setitem__(container, slice(None), contents)
    elif isinstance(container, set):
        set.clear(container)
        set.update(container, contents)
    else:
        container.clear()
        container.extend(contents)


def _is_same(one, other):
    """Of two states as _own_state() gives them."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return isinstance(other, (list, tuple)) and len(one) == len(other) and all(map(_is_same, one, other))
    return np.array_equal(np.asarray(one), np.asarray(other))


def _is_as_it_was(container, contents):
    if isinstance(container, dict):
        return len(container) == len(contents) and all(
            key is was and container[key] is value for key, (was, value) in zip(container, contents.items()))
    return list(map(id, container)) == list(map(id, contents))


class Containers:
    """Containers with what they held, each once. most: longer ones are left out."""

    def __init__(self, most=None):
        self._held, self._most = {}, most

    def add(self, container, depth=_DEPTH):
        if id(container) in self._held or (self._most is not None and len(container) > self._most):
            return
        contents = _contents(container)
        self._held[id(container)] = (container, contents)
        if depth:
            for each in contents.values() if isinstance(contents, dict) else contents:
                self.add_value(each, depth - 1)

    def add_value(self, value, depth=_DEPTH):
        if isinstance(value, _CONTAINERS):
            self.add(value, depth)
        elif isinstance(value, tuple) and depth:
            for each in value:
                self.add_value(each, depth - 1)

    def put_back(self):
        for container, contents in self._held.values():
            if not _is_as_it_was(container, contents):
                _refill(container, contents)


class ObjectsState:
    """What layers, optimizers, metrics, iterators and other objects that hold state had when this was made."""

    def __init__(self):
        self._containers, self._own = Containers(), []
        for each in gc.get_objects():
            if not isinstance(each, type) and _is_stateful(each):
                self._add(each)

    def _add(self, each):
        if isinstance(getattr(each, "__dict__", None), dict):
            self._containers.add(vars(each))
            tracked = vars(each).get("_trackable_state")
            if tracked is not None:
                self._containers.add_value(getattr(tracked, "children", None))
        if isinstance(each, Trackable) and type(each)._own_state is not Trackable._own_state:
            try:
                self._own.append((each, each._own_state()))
            except Exception:  # an iterator that cannot be saved goes on where it is
                pass

    def put_back(self):
        self._containers.put_back()
        for each, state in self._own:
            if not _is_same(each._own_state(), state):
                each._set_own_state(state)


class ProgramState:
    """As it is when this is made. put_back() may be called often; close() does it a last time."""

    def __init__(self):
        self._random = _engine.random_state(), random.getstate(), np.random.get_state()
        self._variables = _engine._living_variables()
        self._ids = [value._id for _, value in self._variables]
        gc.unfreeze()  # get_objects leaves out what a session's start froze
        self._objects, self._generators = ObjectsState(), NumberGenerators()
        self._generators.add_all()
        self._made = []  # (weak reference, first value) of variables since then
        _engine._log_creations(self._made)

    def assign_floating(self):
        """Lets the variables take the dtype that things are computed in from now on."""
        for variable, value in [*self._variables, *((variable, first) for variable, first in self._living())]:
            if value.dtype.is_floating or value.dtype.is_complex:
                _engine.Variable.assign(variable, value)
        self._ids = [None] * len(self._variables)

    def _living(self):
        found = [(reference(), value) for reference, value in self._made]
        return [(variable, value) for variable, value in found if variable is not None]

    def lasting(self):
        """The variables that were made since then and are still referenced."""
        if any(reference() is not None for reference, _ in self._made):
            gc.collect()
        return [variable for variable, _ in self._living()]

    def put_back(self):
        _engine.set_random_state(self._random[0])
        random.setstate(self._random[1])
        np.random.set_state(self._random[2])
        self._generators.put_back()
        self._objects.put_back()
        for place, (variable, value) in enumerate(self._variables):
            if variable._id != self._ids[place]:
                _engine.Variable.assign(variable, value)
                self._ids[place] = variable._id
        for variable, value in self._living():
            _engine.Variable.assign(variable, value)

    def close(self):
        _engine._log_creations(None)
        self.put_back()
