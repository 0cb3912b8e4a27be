"""A checkpoint on its way into objects: those that are there, and those that come later."""
import weakref

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core import dtypes
from tapedeck._core.composites import in_dtype
from tapedeck._core.shapes import TensorShape
from tapedeck._core.trackable import _Container, _TupleMethods


class Restoration:
    """Binds objects to the nodes of a saved graph. An object gets its node's values when it is bound, once.

    Before anything is changed, everything that would be is checked and read: where a shape does not fit, or the file cannot be
    read, all objects keep what they have.
    """

    def __init__(self, file, graph):
        self._file, self.graph = file, graph
        self.path = file.path
        self._owners = {}    # node: what gives the object that was bound to it
        self._numbers = {}   # id of an object: its node
        self._handed = {}    # node: the tensor that a new variable is being made of
        self._pending = {number for number in range(len(graph.nodes)) if graph.has_values(number)}
        self._of_any_width = set()  # nodes of numbers that may be restored from another floating dtype
        self._of_variable = {}  # node of a variable: the optimisers' nodes that have slots for it
        for number in range(len(graph.nodes)):
            for of, _ in graph.slots(number):
                self._of_variable.setdefault(of, set()).add(number)
        self.unrestored_warning = _UnrestoredWarning(graph, self._pending)

    # ---- what Trackable calls ----

    def bind_child(self, node, name, child):
        """The object of that node has a new child: it gets its values, and so does what is below it."""
        if self._pending:
            number = self.graph.children(node).get(name)
            if number is not None:
                self.restore([(number, child)])

    def value_of_child(self, node, name, shape=None, dtype=None):
        """The value of a variable that is about to be made, or None. InvalidArgumentError for another shape or dtype."""
        number = self.graph.children(node).get(name)
        value = self._hand_out(number)
        if value is not None and shape is not None:
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            self._check_one(number, name, getattr(dtype, "name", dtype) or value.dtype.name, shape)
        return value

    def value_of_slot(self, node, variable, slot_name):
        """The value of a slot that is about to be made, or None. It counts as restored."""
        number = self.graph.slots(node).get((self.number_of(variable), slot_name))
        value = self._hand_out(number)
        if value is not None:
            self._consume(number)
        return value

    # ---- what statuses ask ----

    def number_of(self, thing):
        """The node to which the object was bound, or None."""
        number = self._numbers.get(id(thing))
        return number if number is not None and self._owner(number) is thing else None

    def _owner(self, number):
        return self._owners[number]() if number in self._owners else None

    def adopt_slots(self):
        """Binds the slots that were made of a value that value_of_slot gave."""
        for number in {number for numbers in self._of_variable.values() for number in numbers}:
            optimizer, slots = self._owner(number), self.graph.slots(number)
            for variable, slot_name, slot in () if optimizer is None else optimizer._slots():
                wanted = slots.get((self.number_of(variable), slot_name))
                made_of_it = wanted is not None and wanted not in self._pending and wanted not in self._owners
                if made_of_it and self.number_of(slot) is None:
                    self._bind(wanted, slot)

    def pending(self):
        """The nodes whose values no object has got yet, in the file's order."""
        return sorted(self._pending)

    def bound(self):
        """How many living objects were bound."""
        return sum(owner() is not None for owner in self._owners.values())

    # ---- the work ----

    def restore(self, pairs):
        """Binds (node, object) and what is below them. InvalidArgumentError where shapes or dtypes differ, with nothing changed."""
        found = self._found_below(pairs)
        self._add_slots(found)
        self._check(found)
        values = {number: self._value(number) for number, thing in found.items() if isinstance(thing, _engine.Variable)}
        states = [(thing, self._state(number)) for number, thing in found.items()
                  if number not in values and self.graph.has_values(number)]
        _set_states(states)
        for number, value in values.items():
            found[number].assign(in_dtype(value, found[number].dtype))
        for number, thing in found.items():
            self._bind(number, thing)

    def _found_below(self, pairs):
        """{node: object} of those that are not bound yet."""
        found, taken, waiting = {}, {}, list(pairs)
        for number, thing in waiting:
            if number in found or taken.get(id(thing), number) != number or not self._may_bind(number, thing):
                continue
            found[number], taken[id(thing)] = thing, number
            if not isinstance(thing, _engine.Variable):
                children = self.graph.children(number)
                self._of_any_width |= {children[name] for name in getattr(thing, "_of_any_width", ()) if name in children}
                waiting += [(children[name], child) for name, child in thing._children().items() if name in children]
        return found

    def _may_bind(self, number, thing):
        if isinstance(thing, _engine.Variable) != (self.graph.variable(number) is not None):
            return False
        if self.number_of(thing) is not None:
            return False  # bound already; where two objects of the file are one here, to the first of them
        if self.graph.has_values(number):
            return number in self._pending
        # What takes the place of an object that is gone, or of a list, may hold what is still to come.
        owner = self._owners.get(number)
        return owner is None or owner() is None or isinstance(thing, (_Container, _TupleMethods))

    def _add_slots(self, found):
        numbers = {id(thing): number for number, thing in found.items()}
        optimizers = {number for number in found if self.graph.nodes[number].get("slots")}
        for number in found:
            optimizers |= self._of_variable.get(number, set())
        for number in sorted(optimizers):
            optimizer = found[number] if number in found else self._owner(number)
            if optimizer is None:
                continue
            slots = self.graph.slots(number)
            for variable, slot_name, slot in optimizer._slots():
                of = numbers.get(id(variable), self.number_of(variable))
                wanted = slots.get((of, slot_name))
                if wanted is not None and wanted not in found and self._may_bind(wanted, slot):
                    found[wanted] = slot

    def _check(self, found):
        for number, thing in found.items():
            if isinstance(thing, _engine.Variable):
                self._check_one(number, thing.name, thing.dtype.name, thing.shape)

    def _check_one(self, number, name, dtype, shape):
        saved = self._file.tensors[self.graph.variable(number)]
        narrows = number in self._of_any_width and dtypes.as_dtype(dtype).is_floating and dtypes.as_dtype(saved[0]).is_floating
        if dtype != saved[0] and not narrows or not TensorShape(shape).is_compatible_with(saved[1]):
            raise InvalidArgumentError(f"{self.path}: {self.graph.name_of(number)} has shape {saved[1]} and dtype {saved[0]} in "
                                       f"the checkpoint; the variable {name} has shape {shape} and dtype {dtype}. Nothing was "
                                       "restored")

    def _value(self, number):
        handed = self._handed.get(number)
        return self._file.read(self.graph.variable(number)) if handed is None else handed

    def _state(self, number):
        node = self.graph.nodes[number]
        return {**node.get("state", {}), **{name: self._file.read(key) for name, key in node.get("tensors", {}).items()}}

    def _hand_out(self, number):
        if number is None or number not in self._pending or self.graph.variable(number) is None:
            return None
        if number not in self._handed:
            self._handed[number] = self._file.read(self.graph.variable(number))
        return self._handed[number]

    def _bind(self, number, thing):
        try:
            self._owners[number] = weakref.ref(thing)
        except TypeError:  # a tuple
            self._owners[number] = lambda: thing
        self._numbers[id(thing)] = number
        if not isinstance(thing, _engine.Variable):
            _add_binding(thing, self, number)
        self._consume(number)

    def _consume(self, number):
        self._pending.discard(number)
        self._handed.pop(number, None)
        if not self._pending:
            self._file = None  # closes it

    def covers(self, number, older, older_number):
        """Whether this restoration has all children of its node that the older one may still bring."""
        if not older._pending:
            return True
        mine, theirs = self.graph.nodes[number], older.graph.nodes[older_number]
        return theirs.get("children", {}).keys() <= mine.get("children", {}).keys() and ("slots" in mine or "slots" not in theirs)


def _add_binding(thing, restoration, number):
    """The object waits for what the restoration still has; older ones that can bring nothing else are released, and their files closed."""
    bindings = thing._bindings()
    bindings[:] = [(each, place) for each, place in bindings
                   if each is not restoration and not restoration.covers(number, each, place)]
    if restoration._pending:
        bindings.append((restoration, number))


def _set_states(states):
    """Restores the objects' own state. If one raises, those before it get back their former state."""
    before = []
    try:
        for thing, state in states:
            before.append((thing, thing._own_state()))
            thing._set_own_state(state)
    except BaseException:
        for thing, state in reversed(before[:-1]):
            thing._set_own_state(state)
        raise


class _UnrestoredWarning:
    """Warns of values that were never restored when the restoration is released, as TensorFlow does."""

    SHOWN = 10

    def __init__(self, graph, pending):
        self.expect_partial = False
        self._graph, self._pending = graph, pending
        if pending:
            import logging  # 5 ms, which few restorations need; not in __del__, when imports may be over
            self._warn = logging.getLogger("tapedeck").warning

    def __del__(self):
        if self.expect_partial or not self._pending:
            return
        self._warn("A tf.train.Checkpoint or an object that was restored is deleted with values that were never restored. "
                   "`status.expect_partial()` says that this is meant, where status is what restore() returned.")
        for number in sorted(self._pending)[:self.SHOWN]:
            self._warn("Value in checkpoint could not be found in the restored object: %s", self._graph.name_of(number))
        if len(self._pending) > self.SHOWN:
            self._warn("… and %d others", len(self._pending) - self.SHOWN)
