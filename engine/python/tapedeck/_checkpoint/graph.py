"""The graph of objects in a checkpoint's metadata: how it is made from objects, and how it is read.

In JSON: {"version": 1, "nodes": […]}; node 0 is the root. A node may have
children: {name: node}; variable: the key of its tensor, and name: the variable's; tensors: {name: key} and state: {name: value},
the object's own state; slots: [[node of a variable, slot name, node of the slot's variable]], of an optimiser.
"""
import json

from tapedeck import _engine
from tapedeck._engine import DataLossError
from tapedeck._checkpoint.files import parsed

METADATA_KEY = "tapedeck.object_graph"
_VERSION = 1
_KINDS = {"children": dict, "tensors": dict, "state": dict, "slots": list, "variable": str, "name": str}
_OF_STATE = ".ATTRIBUTES"  # parts of keys that no name becomes, as names' points and slashes are written otherwise
_OF_SLOT = ".OPTIMIZER_SLOT"


def part_of_key(name):
    """An attribute's name as a part of a tensor's key: without a slash."""
    return str(name).replace(".", "..").replace("/", ".S")


def join(*parts):
    """Parts of a key, of which some may be empty."""
    return "/".join(part for part in parts if part)


class Collected:
    """All objects below a root: objects, a list; nodes, the JSON of each; tensors, {key: variable or tensor}."""

    def __init__(self, root, attached=()):
        """attached: (name, object), children of the root that it does not have itself."""
        self.objects, self.paths, self.nodes, self._numbers = [], [], [], {}
        self._add(root, "")
        place = 0
        while place < len(self.objects):
            self._add_children(place, attached if place == 0 else ())
            place += 1
        for number in range(len(self.objects)):
            self._add_slots(number)

    def number_of(self, thing):
        """The object's place in `objects`, or None."""
        return self._numbers.get(id(thing))

    def _add(self, thing, path):
        self._numbers[id(thing)] = len(self.objects)
        self.objects.append(thing)
        self.paths.append(path)
        self.nodes.append({})
        return len(self.objects) - 1

    def _add_children(self, number, attached):
        thing = self.objects[number]
        if isinstance(thing, _engine.Variable):
            return
        children = {}
        for name, child in (*thing._children().items(), *attached):
            known = self.number_of(child)
            children[name] = self._add(child, join(self.paths[number], part_of_key(name))) if known is None else known
        if children:
            self.nodes[number]["children"] = children

    def _add_slots(self, number):
        optimizer = self.objects[number]
        if isinstance(optimizer, _engine.Variable):
            return
        slots = []
        for variable, slot_name, slot in optimizer._slots():
            of = self.number_of(variable)
            if of is None:  # of a variable that is not saved
                continue
            known = self.number_of(slot)
            path = join(self.paths[of], _OF_SLOT, self.paths[number], part_of_key(slot_name))
            slots.append([of, slot_name, self._add(slot, path) if known is None else known])
        if slots:
            self.nodes[number]["slots"] = slots

    def values(self):
        """{key: variable or tensor} of everything, and fills in the nodes' values. TypeError for state that JSON cannot hold."""
        found = {}
        for thing, path, node in zip(self.objects, self.paths, self.nodes):
            if isinstance(thing, _engine.Variable):
                key = path or "variable"
                node.update(variable=key, name=thing.name.removesuffix(":0"))
                found[key] = thing
                continue
            for name, value in thing._own_state().items():
                if isinstance(value, (_engine.Tensor, _engine.Variable)):
                    key = join(path, _OF_STATE, part_of_key(name))
                    node.setdefault("tensors", {})[name] = key
                    found[key] = value
                else:
                    node.setdefault("state", {})[name] = _checked_state(value, name, path, thing)
        return found

    def to_json(self):
        return json.dumps({"version": _VERSION, "nodes": self.nodes})


def _checked_state(value, name, path, thing):
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the state {name!r} of {path or 'the root'}, a {type(thing).__name__}, cannot be saved: {error}") from None
    return value


class SavedGraph:
    """The graph of a file. Everything is checked here: nodes that are named exist, and so do tensors."""

    def __init__(self, text, file):
        self._where = f"{file.path}: the object graph"
        found = parsed(text, self._where)
        version, nodes = (found.get("version"), found.get("nodes")) if isinstance(found, dict) else (None, None)
        if version != _VERSION or not isinstance(nodes, list) or not nodes:
            raise DataLossError(f"{self._where}: needs version {_VERSION} and a list of nodes; its version is {version!r:.40}")
        self.nodes = nodes
        self._tensors = file.tensors
        for number, node in enumerate(self.nodes):
            self._check(number, node)
        self._names = None

    def children(self, number):
        return self.nodes[number].get("children", {})

    def variable(self, number):
        """The key of the node's tensor, or None."""
        return self.nodes[number].get("variable")

    def slots(self, number):
        """{(variable's node, slot name): slot's node} of an optimiser's node."""
        return {(of, name): slot for of, name, slot in self.nodes[number].get("slots", ())}

    def has_values(self, number):
        node = self.nodes[number]
        return "variable" in node or "tensors" in node or "state" in node

    def name_of(self, number):
        """The shortest way to the node: "(root).generator.kernel"."""
        if self._names is None:
            names, waiting = {0: "(root)"}, [0]
            for each in waiting:
                for name, child in self.children(each).items():
                    if child not in names:
                        names[child] = f"{names[each]}.{name}"
                        waiting.append(child)
            for each in list(names):
                for (of, slot_name), slot in self.slots(each).items():
                    names.setdefault(slot, f"{names[each]}'s state '{slot_name}' for {names.get(of, of)}")
            self._names = names
        return self._names.get(number, f"node {number}")

    def _refuse(self, number, what):
        raise DataLossError(f"{self._where}: node {number}: {what}")

    def _check(self, number, node):
        if not isinstance(node, dict):
            self._refuse(number, f"is a {type(node).__name__}; must be an object")
        for key, kind in _KINDS.items():
            if key in node and not isinstance(node[key], kind):
                self._refuse(number, f"{key} is a {type(node[key]).__name__}; must be a {kind.__name__}")
        for name, child in node.get("children", {}).items():
            self._check_node(number, f"child {name!r:.60}", child)
        for key in (*([node["variable"]] if "variable" in node else ()), *node.get("tensors", {}).values()):
            if not isinstance(key, str) or key not in self._tensors:
                self._refuse(number, f"names the tensor {key!r:.60}, which the file does not have")
        for slot in node.get("slots", ()):
            if not isinstance(slot, list) or len(slot) != 3 or not isinstance(slot[1], str):
                self._refuse(number, "a slot must be a variable's node, a name, and the slot's node")
            self._check_node(number, "a slot's variable", slot[0])
            self._check_node(number, f"the slot {slot[1]!r:.60}", slot[2])

    def _check_node(self, number, what, child):
        if type(child) is not int or not 0 <= child < len(self.nodes):
            self._refuse(number, f"{what} is node {child!r:.40}; there are {len(self.nodes)}")
