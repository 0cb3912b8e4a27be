"""Objects that know what they are made of: the graph of objects that a checkpoint saves and restores.

Layers, models, optimisers, metrics, iterators and tf.Module are Trackable. What is set as an attribute and is a variable or
trackable becomes a child under the attribute's name; lists, tuples and dicts hold their elements as children "0", "1", … or under
their keys. A restoration (_checkpoint/restoration.py) binds objects to the nodes of a saved graph. Objects that come later are
bound as they come, so a checkpoint may be restored before the variables that it fills exist.
"""
import collections
import copy

from tapedeck import _engine
from tapedeck._core.public import public

_PLAIN = frozenset({type(None), bool, int, float, str, _engine.Tensor})  # attributes of such types are never children


@public("tfe.Checkpointable")
class Trackable:
    """A base of objects with children. Attributes make them; `_track` adds others, as a layer's weights.

    What follows is for classes of the package:
    _restored_value(name, shape, dtype): what a restoration holds for the variable `name` that is about to be made, as a tensor, or
    None; a layer takes it instead of calling the initializer. Where shape and dtype are given, others are an InvalidArgumentError.
    _own_state(): what is to be saved besides variables, a dict of names to tensors and to what JSON can hold; _set_own_state(state)
    gets it back, and raises where it cannot take it, changing nothing then. _slots(): (variable, slot name, the slot's variable) of
    each slot; _restored_slot(variable, slot name): what a restoration holds for a slot that is about to be made, or None.
    _of_any_width: names of variables whose floating dtype may be another one than in the file.
    """

    def __setattr__(self, name, value):
        if type(value) is NoDependency:
            object.__setattr__(self, name, value.value)
        elif type(value) not in _PLAIN:
            value = tracked(value)
            object.__setattr__(self, name, value)
            if is_trackable(value):
                self._track(name, value)
                return
        else:
            object.__setattr__(self, name, value)
        state = self.__dict__.get("_trackable_state")
        if state is not None:
            state.children.pop(name, None)

    def __delattr__(self, name):
        object.__delattr__(self, name)
        _state(self).children.pop(name, None)

    def __getstate__(self):
        """For copy and pickle: a copy has children of its own, and waits for no restoration."""
        state = dict(self.__dict__)
        if "_trackable_state" in state:
            state["_trackable_state"] = _State(self._children())
        return state

    def _track(self, name, child):
        """Makes the child known under the name, in place of what was known under it; returns it."""
        state = _state(self)
        state.children[name] = child
        for restoration, node in tuple(state.bindings):
            restoration.bind_child(node, name, child)
        return child

    def _children(self):
        """The children by name, in the order in which they came."""
        return dict(_state(self).children)

    def _restored_value(self, name, shape=None, dtype=None):
        for restoration, node in reversed(_state(self).bindings):
            value = restoration.value_of_child(node, name, shape, dtype)
            if value is not None:
                return value
        return None

    def _own_state(self):
        return {}

    def _set_own_state(self, state):
        pass

    def _slots(self):
        return ()

    def _restored_slot(self, variable, slot_name):
        for restoration, node in reversed(_state(self).bindings):
            value = restoration.value_of_slot(node, variable, slot_name)
            if value is not None:
                return value
        return None

    def _bindings(self):
        """[(restoration, node)] of each restoration that this object was bound to and that may still have something for it, the
        newest last."""
        return _state(self).bindings


class _State:
    """What a trackable object knows of itself."""

    __slots__ = ("children", "bindings")

    def __init__(self, children=None):
        self.children = {} if children is None else children
        self.bindings = []

    def __reduce__(self):
        return _State, (), (None, {"children": self.children})


def _state(trackable):
    """Made at first use: a subclass may set attributes before it calls the base's __init__, or not call it."""
    state = trackable.__dict__.get("_trackable_state")
    if state is None:
        state = trackable.__dict__["_trackable_state"] = _State()
    return state


class NoDependency:
    """An attribute's value that is to be set as it is: neither a child nor, where it is a list or a dict, one that tracks."""

    def __init__(self, value):
        self.value = value


def is_trackable(value):
    """Whether the value can be a child."""
    return isinstance(value, (_engine.Variable, Trackable))


def tracked(value, seen=None):
    """A list or a dict as one that tracks what is in it; a tuple that holds trackable values likewise. Others stay as they are.

    seen: the lists and dicts around, by id, and what became of them.
    """
    kind = type(value)
    if kind in _CONTAINERS:
        seen = {} if seen is None else seen
        if id(value) not in seen:
            seen[id(value)] = made = _CONTAINERS[kind]()
            made._fill(value, seen)
        return seen[id(value)]
    if isinstance(value, tuple) and (kind is tuple or hasattr(kind, "_fields")):
        elements = [tracked(each, {} if seen is None else seen) for each in value]
        return _tracked_tuple(kind, elements) if any(map(is_trackable, elements)) else value
    return value.value if kind is NoDependency else value


class _Container(Trackable):
    """A list or a dict. Its children are known anew from what it holds."""

    def __getstate__(self):
        return None  # what is put into a copy makes its children

    def _retrack(self):
        _state(self).children.clear()
        for name, value in self._named():
            if is_trackable(value):
                self._track(name, value)


class TrackedList(_Container, list):
    """A list whose elements are children "0", "1", …; equal to a plain list of the same elements."""

    _plain = list  # what nest takes it for

    def __init__(self, values=()):
        list.__init__(self)
        self.extend(values)

    def _named(self):
        return ((str(index), value) for index, value in enumerate(self))

    def _fill(self, values, seen):
        self._add([tracked(value, seen) for value in values])

    def _add(self, values):
        for value in values:
            list.append(self, value)
            if is_trackable(value):
                self._track(str(len(self) - 1), value)

    def append(self, value):
        self._add([tracked(value)])

    def extend(self, values):
        self._add([tracked(value) for value in values])

    def __iadd__(self, values):
        self.extend(values)
        return self

    def insert(self, index, value):
        list.insert(self, index, tracked(value))
        self._retrack()

    def __setitem__(self, place, value):
        list.__setitem__(self, place, [tracked(each) for each in value] if isinstance(place, slice) else tracked(value))
        self._retrack()


class TrackedDict(_Container, dict):
    """A dict whose values are children under their keys, as text."""

    _plain = dict

    def __init__(self, *args, **kwargs):
        super().__init__()
        self.update(*args, **kwargs)

    def _named(self):
        return ((str(key), value) for key, value in self.items())

    def _children(self):
        """The children by name. ValueError where two keys have the same text, as 1 and "1"."""
        found = {}
        for key, value in self.items():
            if is_trackable(value) and found.setdefault(str(key), value) is not value:
                raise ValueError(f"a dict has two keys whose text is {str(key)!r}: values of both cannot be saved by that name")
        return found

    def _fill(self, values, seen):
        for key, value in values.items():
            self[key] = tracked(value, seen)

    def __setitem__(self, key, value):
        value = tracked(value)
        super().__setitem__(key, value)
        if is_trackable(value):
            self._track(str(key), value)
        else:
            _state(self).children.pop(str(key), None)

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def __ior__(self, other):
        self.update(other)
        return self


class TrackedOrderedDict(TrackedDict, collections.OrderedDict):
    """An OrderedDict whose values are children under their keys, as text."""

    _plain = collections.OrderedDict


class _TupleMethods(Trackable):
    """A tuple whose elements are children "0", "1", …"""

    def __deepcopy__(self, memo):
        elements = [copy.deepcopy(each, memo) for each in self]
        return memo[id(self)] if id(self) in memo else _tracked_tuple(self._plain, elements)

    def __copy__(self):
        return self

    def __reduce__(self):
        return _tracked_tuple, (self._plain, list(self))


_tuple_kinds = {}


def _tracked_tuple(kind, elements):
    """A tuple or a named tuple, of a class below its own."""
    if kind not in _tuple_kinds:
        _tuple_kinds[kind] = type(kind.__name__, (_TupleMethods, kind), {"_plain": kind, "__doc__": _TupleMethods.__doc__})
    made = tuple.__new__(_tuple_kinds[kind], elements)
    for index, value in enumerate(made):
        if is_trackable(value):
            made._track(str(index), value)
    return made


TrackedTuple = type("TrackedTuple", (_TupleMethods, tuple), {"_plain": tuple, "__doc__": _TupleMethods.__doc__})
_tuple_kinds[tuple] = TrackedTuple
_CONTAINERS = {list: TrackedList, dict: TrackedDict, collections.OrderedDict: TrackedOrderedDict}


def _tracking(plain):
    """A method that may move or remove elements, after which the children are known anew."""

    def method(self, *args, **kwargs):
        result = plain(self, *args, **kwargs)
        self._retrack()
        return result

    method.__name__ = plain.__name__
    return method


for _kind, _names in ((TrackedList, ("pop", "remove", "clear", "sort", "reverse", "__delitem__", "__imul__")),
                      (TrackedDict, ("pop", "popitem", "clear", "__delitem__")),
                      (TrackedOrderedDict, ("pop", "popitem", "clear", "__delitem__", "move_to_end"))):
    for _name in _names:
        setattr(_kind, _name, _tracking(getattr(_kind._plain, _name)))
