"""Objects that know what they are made of: the graph of objects that a checkpoint saves and restores.

Layers, models, optimisers, metrics, iterators and tf.Module are Trackable. What is set as an attribute and is a variable or trackable
becomes a child under the attribute's name; lists, tuples and dicts hold their elements as children "0", "1", … or under their keys.
A restoration (checkpoints.py) binds objects to the nodes of a saved graph. Objects that come later are bound as they come, so a
checkpoint may be restored before the variables that it fills exist.
"""
from tapedeck import _engine


class Trackable:
    """A base of objects with children. Attributes make them; `_track` adds others, as a layer's weights.

    What follows is for classes of the package:
    _restored_value(name): what a restoration holds for the variable `name` that is about to be made, as a tensor, or None; a layer
    takes it instead of calling the initializer.
    _own_state(): what is to be saved besides variables, a dict of names to tensors and to what JSON can hold; _set_own_state(state)
    gets it back. _slots(): (variable, slot name, the slot's variable) of each slot; _restored_slot(variable, slot name): what a
    restoration holds for a slot that is about to be made, or None.
    """

    def __setattr__(self, name, value):
        value = tracked(value)
        object.__setattr__(self, name, value)
        if is_trackable(value):
            self._track(name, value)
        elif name in _state(self).children:
            del _state(self).children[name]

    def __delattr__(self, name):
        object.__delattr__(self, name)
        _state(self).children.pop(name, None)

    def _track(self, name, child):
        """Makes the child known under the name, in place of what was known under it; returns it."""
        state = _state(self)
        state.children[name] = child
        for restoration, node in state.bindings:
            restoration.bind_child(node, name, child)
        return child

    def _children(self):
        """The children by name, in the order in which they came."""
        return dict(_state(self).children)

    def _restored_value(self, name):
        for restoration, node in reversed(_state(self).bindings):
            value = restoration.value_of_child(node, name)
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
        """(restoration, node) of each restoration that this object was bound to, the newest last."""
        return _state(self).bindings


class _State:
    """What a trackable object knows of itself."""

    def __init__(self):
        self.children = {}
        self.bindings = []


def _state(trackable):
    """Made at first use: a subclass may set attributes before it calls the base's __init__, or not call it."""
    state = trackable.__dict__.get("_trackable_state")
    if state is None:
        state = trackable.__dict__["_trackable_state"] = _State()
    return state


def is_trackable(value):
    """Whether the value can be a child."""
    return isinstance(value, (_engine.Variable, Trackable))


def tracked(value):
    """A list or a dict as one that tracks what is in it; a tuple that holds trackable values likewise. Others stay as they are."""
    kind = type(value)
    if kind is list:
        return TrackedList(value)
    if kind is dict:
        return TrackedDict(value)
    if kind is tuple and any(is_trackable(each) or type(each) in (list, dict, tuple) for each in value):
        return TrackedTuple(value)
    return value


class TrackedList(Trackable, list):
    """A list whose elements are children "0", "1", …; equal to a plain list of the same elements."""

    def __init__(self, values=()):
        list.__init__(self, map(tracked, values))
        self._retrack()

    def _retrack(self):
        _state(self).children.clear()
        for index, value in enumerate(self):
            if is_trackable(value):
                self._track(str(index), value)

    def __reduce__(self):
        return list, (list(self),)


class TrackedTuple(Trackable, tuple):
    """A tuple whose elements are children "0", "1", …"""

    def __new__(cls, values=()):
        made = tuple.__new__(cls, map(tracked, values))
        for index, value in enumerate(made):
            if is_trackable(value):
                made._track(str(index), value)
        return made

    def __reduce__(self):
        return tuple, (list(self),)


class TrackedDict(Trackable, dict):
    """A dict whose values are children under their keys, as text."""

    def __init__(self, *args, **kwargs):
        dict.__init__(self)
        self.update(*args, **kwargs)

    def _retrack(self):
        _state(self).children.clear()
        for key, value in self.items():
            if is_trackable(value):
                self._track(str(key), value)

    def __setitem__(self, key, value):
        dict.__setitem__(self, key, tracked(value))
        self._retrack()

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            dict.__setitem__(self, key, tracked(value))
        self._retrack()

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def __ior__(self, other):
        self.update(other)
        return self

    def __reduce__(self):
        return dict, (dict(self),)


def _tracking(kind, name, takes_values):
    """kind's method of that name, after which the children are known anew."""
    plain = getattr(kind.__mro__[2], name)

    def method(self, *args):
        if takes_values == "one" and args:
            args = (*args[:-1], tracked(args[-1]))
        elif takes_values == "many" and args and not isinstance(args[-1], (list, dict)):
            args = (*args[:-1], list(args[-1]) if hasattr(args[-1], "__iter__") else args[-1])
        result = plain(self, *args)
        self._retrack()
        return result

    method.__name__ = name
    return method


for _name, _takes in {"append": "one", "insert": "one", "__setitem__": "one", "extend": "many", "__iadd__": "many", "pop": "",
                      "remove": "", "clear": "", "sort": "", "reverse": "", "__delitem__": "", "__imul__": ""}.items():
    setattr(TrackedList, _name, _tracking(TrackedList, _name, _takes))
for _name in ("pop", "popitem", "clear", "__delitem__"):
    setattr(TrackedDict, _name, _tracking(TrackedDict, _name, ""))
