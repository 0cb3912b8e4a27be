"""What all optimisers are made of: slots beside variables, and update ops that change both in one pass.

The ops (engine/optim) have the formulas; optimisers say which op, which slots, and the step's numbers.
"""
import contextlib

import numpy as np

from tapedeck import _engine
from tapedeck._core import context
from tapedeck._core.composites import op
from tapedeck._core.indexed_slices import IndexedSlices
from tapedeck._core.trackable import Trackable


_substitutes = {}  # id of a graph's tensor → its value in the run whose update is computed


@contextlib.contextmanager
def substituted(values):
    """Hyperparameters that are tensors of a graph have these values inside, by their ids. With Python's lock held."""
    before = dict(_substitutes)
    _substitutes.update(values)
    try:
        yield
    finally:
        _substitutes.clear()
        _substitutes.update(before)


_MOST_KNOWN = 64
_known = {}  # number of a value on a GPU → what it is


def value_of(number):
    """A hyperparameter: a number or a scalar tensor or variable, or a function of no arguments that gives one. What is on a GPU is
    read, once for each value: it is the same in many steps."""
    if isinstance(number, (int, float)):
        return number
    if callable(number) and not isinstance(number, (_engine.Tensor, _engine.Variable)):
        number = number()
    if _substitutes and isinstance(number, _engine.Tensor):
        number = _substitutes.get(number._id, number)
    if not isinstance(number, (_engine.Tensor, _engine.Variable)) or number._place == "/cpu:0":
        return number
    value = number.read_value() if isinstance(number, _engine.Variable) else number
    if value.ndim:
        return value  # several
    if value._id not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[value._id] = float(value)
    return _known[value._id]


def as_float(number):
    """The same as Python's float."""
    return float(value_of(number))


def of_each(function, number):
    """The function, of a Python float, for the number; for an array or a tensor with axes an array of what it gives for each."""
    number = value_of(number)
    if isinstance(number, (int, float)):
        return function(float(number))
    numbers = np.asarray(number, np.float64)
    if not numbers.ndim:
        return function(float(numbers))
    return np.array([function(each) for each in numbers.reshape(-1).tolist()], np.float64).reshape(numbers.shape)


def number_variable(value, dtype, name, import_scope):
    """A variable of few numbers that Python reads in each step: on the CPU, where that waits for nothing."""
    with context.device("/cpu:0"):
        return _engine.Variable(value, dtype=dtype, trainable=False, name=name, import_scope=import_scope)


def dense(gradient, variable):
    """An IndexedSlices as a tensor of the variable's shape; others as they are."""
    if not isinstance(gradient, IndexedSlices):
        return gradient
    return op("scatter_nd")(op("expand_dims")(gradient.indices, -1), gradient.values, list(variable.shape))


def with_values(gradient, values):
    """The gradient with these values: of the same rows where it is an IndexedSlices."""
    return IndexedSlices(values, gradient.indices, gradient.dense_shape) if isinstance(gradient, IndexedSlices) else values


def values_of(gradient):
    """The numbers of a gradient: the rows of an IndexedSlices."""
    return gradient.values if isinstance(gradient, IndexedSlices) else gradient


class SlotUpdater(Trackable):
    """Slots: variables that belong to other variables, and the ops that update both.

    _slot_name(variable, slot_name) names a new one; _slots() and _restored_slot() are Trackable's.
    """

    def __init__(self):
        object.__setattr__(self, "_slot_table", {})  # slot name → id(variable) → (variable, slot); no children
        object.__setattr__(self, "_target_table", {})  # (slot names) → id(variable) → (variable, *slots)
        object.__setattr__(self, "_wanted_slots", None)  # a list: no update runs, they are noted

    def _slots_of_update(self, pairs):
        """[(variable, (name, initial value) of each slot)] that an update of (gradient, variable) pairs would make."""
        object.__setattr__(self, "_wanted_slots", [])
        try:
            self._apply_all(pairs)
            return self._wanted_slots
        finally:
            object.__setattr__(self, "_wanted_slots", None)

    def _slots(self):
        return [(variable, name, slot) for name, slots in self._slot_table.items() for variable, slot in slots.values()]

    def _slot_of(self, variable, name):
        found = self._slot_table.get(name, {}).get(id(variable))
        return None if found is None else found[1]

    def _forget_slots(self):
        self._slot_table.clear()
        self._target_table.clear()

    def _slot(self, variable, name, initial=0.0):
        """The variable's slot of that name, beside it; made at the first call, of what a restoration holds, else of `initial`: a number
        for all elements, or a tensor."""
        slots = self._slot_table.setdefault(name, {})
        found = slots.get(id(variable))
        if found is None:
            value = self._restored_slot(variable, name)
            with context.device(variable.device):
                if value is None:
                    value = initial
                    if isinstance(initial, (int, float)):
                        value = op("fill")(list(variable.shape), _engine.constant(initial, variable.dtype, None))
                slot = _engine.Variable(value, trainable=False, name=self._slot_name(variable, name), dtype=variable.dtype,
                                        import_scope="")
            found = slots[id(variable)] = variable, slot
        return found[1]

    def _targets(self, variable, slots):
        """(variable, its slots). slots: (name, initial value) of each."""
        table = self._target_table.setdefault(slots, {})
        found = table.get(id(variable))
        if found is None:
            found = table[id(variable)] = (variable, *(self._slot(variable, name, initial) for name, initial in slots))
        return found

    def _run(self, name, pairs, slots, numbers, attributes=(), rows=True):
        """One run of the op for each (gradient, variable), and for rows alone where the gradient is an IndexedSlices; rows=False:
        for all elements then, whose slots decay without a gradient too."""
        if self._wanted_slots is not None:
            self._wanted_slots += [(variable, slots) for _, variable in pairs]
            return
        targets, gradients, sparse_targets, sparse_gradients = [], [], [], []
        for gradient, variable in pairs:
            if rows and isinstance(gradient, IndexedSlices):
                sparse_targets.append(self._targets(variable, slots))
                sparse_gradients.append((gradient.values, gradient.indices))
            else:
                targets.append(self._targets(variable, slots))
                gradients.append(dense(gradient, variable))
        if targets:
            _engine._apply_updates(name, targets, gradients, numbers, attributes)
        if sparse_targets:
            _engine._apply_updates("sparse_" + name, sparse_targets, sparse_gradients, numbers, attributes)
