"""Generators of random numbers that the program made itself, NumPy's and Python's: where they are in their sequences."""
import collections
import gc
import random
import types

import numpy as np

_KINDS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator, random.Random)
_DEPTH = 4


def _state(generator):
    """None: it has none, as the system's."""
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.BitGenerator):
        return generator.state
    try:
        return generator.getstate()
    except NotImplementedError:
        return None


def _set_state(generator, state):
    if isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    elif isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.BitGenerator):
        generator.state = state
    else:
        generator.setstate(state)


def _is_same(one, other):
    if isinstance(one, dict):
        return all(_is_same(value, other[key]) for key, value in one.items())
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other


def _inside(value):
    """What a container, a function or an object of the program's holds."""
    if isinstance(value, dict):
        return list(value.values())  # at once: other threads may change it
    if isinstance(value, (list, tuple, set, collections.deque)):
        return list(value)
    if isinstance(value, types.MethodType):
        return (value.__self__, value.__func__)
    if isinstance(value, types.FunctionType):
        cells = []
        for cell in value.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:  # not assigned yet
                pass
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if isinstance(value, (type, types.ModuleType)):
        return ()
    own = getattr(value, "__dict__", None)
    return list(own.values()) if isinstance(own, dict) else ()


class NumberGenerators:
    """As they were when they were added; put_back() brings them back."""

    def __init__(self):
        self._held = {}

    def _add(self, generator):
        if id(generator) not in self._held:
            self._held[id(generator)] = (generator, _state(generator))

    def add_all(self):
        for each in gc.get_objects():
            if isinstance(each, _KINDS):
                self._add(each)

    def add_reachable(self, values, most):
        """Those that these values lead to, over at most that many others."""
        seen, row = set(), list(values)
        for _ in range(_DEPTH):
            inner = []
            for value in row:
                if isinstance(value, _KINDS):
                    self._add(value)
                elif id(value) not in seen:
                    seen.add(id(value))
                    contents = _inside(value)
                    if len(inner) + len(contents) <= most:
                        inner.extend(contents)
            row = inner

    def put_back(self):
        for generator, state in self._held.values():
            if state is not None and not _is_same(state, _state(generator)):
                _set_state(generator, state)
