"""The objects of a saved model: from a program's to JSON, and back."""
import warnings

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.trackable import Trackable, tracked, TrackedDict, TrackedList
from tapedeck._functions.concrete import ConcreteFunction
from tapedeck._functions.function import Function, Method
from tapedeck._functions.structures import Shown
from tapedeck._saved_model import keras_models
from tapedeck._saved_model.functions import LoadedFunction, signature_of, signature_parts, SignatureMap
from tapedeck._saved_model.structures import decoded, encoded, NotSavedError, results_decoded, results_encoded
from tapedeck.data.specs import TensorSpec

_FUNCTIONS = (Function, Method, LoadedFunction)
_ITEMS = {"list": list, "tuple": tuple, "dict": dict}
_MOST_NESTED = 100  # objects in objects: who reads them calls itself


class LoadedObject(Trackable):
    """An object of a saved model: its variables, functions and other objects are its attributes."""

    def __getattr__(self, name):
        if name in ("variables", "trainable_variables"):  # where it has no such attribute of its own
            found = _variables_below(self)
            return tuple(each for each in found if each.trainable or name == "variables")
        if name == "__call__":
            raise AttributeError(name)
        raise AttributeError(f"a loaded object has no attribute {name!r}; it has {', '.join(sorted(_public(self))) or 'none'}")

    def __repr__(self):
        return f"<tapedeck.saved_model object with {', '.join(sorted(_public(self))) or 'nothing in it'}>"


class CallableObject(LoadedObject):
    """One whose class had a traced __call__."""

    def __call__(self, *args, **kwargs):
        return vars(self)["__call__"](*args, **kwargs)


def _public(thing):
    return [name for name in vars(thing) if not name.startswith("_")]


def _variables_below(thing):
    found, waiting, seen = [], [thing], set()
    for each in waiting:
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, _engine.Variable):
            found.append(each)
        elif isinstance(each, Trackable):
            waiting += each._children().values()
    return found


def is_function(value):
    return isinstance(value, (*_FUNCTIONS, ConcreteFunction))


def functions_of(thing):
    """{name: function} of the traced functions among an object's attributes, and of its class's methods."""
    found = {}
    for owner in type(thing).__mro__:
        for name, value in vars(owner).items():
            if isinstance(value.__func__ if isinstance(value, staticmethod) else value, Function) and name not in found:
                found[name] = getattr(thing, name)
    for name, value in getattr(thing, "__dict__", {}).items():
        if is_function(value):
            found[name] = value
    return {name: function for name, function in found.items() if is_function(function)}


def _key(thing):
    """The same for the same object; a method's function is made anew at each look."""
    return (id(thing._function), id(thing.__self__)) if isinstance(thing, Method) else id(thing)


def _is_saved(value):
    return isinstance(value, (_engine.Variable, Trackable)) or is_function(value)


class Saved:
    """The objects below a root as JSON, their variables and the graphs of their functions."""

    def __init__(self, root):
        self.variables, self.graphs, self.nodes = [], [], []
        self._numbers, self._graph_numbers, self._kept = {}, {}, []
        self.paths = []  # of the graphs: whose they are
        self._root, self._of_keras = root, {}
        self._open = []  # keys of the objects whose nodes are being made
        self._trace_all(root)
        self.number_of(root, "the root")

    def _children(self, thing):
        """{name: object} of what is saved below an object that has attributes."""
        children = {name: child for name, child in thing._children().items() if not isinstance(child, SignatureMap)}
        if keras_models.is_keras(thing):
            children.update(self.keras_functions(thing))
        children.update(functions_of(thing))
        return children

    def keras_functions(self, layer):
        """What keras_models.functions_of makes of the layer, once."""
        if id(layer) not in self._of_keras:
            self._of_keras[id(layer)] = keras_models.functions_of(layer, layer is self._root)
        return self._of_keras[id(layer)]

    def _trace_all(self, root):
        """Has all functions their traces. To trace one may make variables, and objects with other functions."""
        known = set()
        while True:
            waiting, seen, new = [root], set(), []
            for each in waiting:
                if _key(each) in seen:
                    continue
                seen.add(_key(each))
                if is_function(each):
                    new += [each] if _key(each) not in known else []
                elif isinstance(each, (list, tuple)):
                    waiting += filter(_is_saved, each)
                elif isinstance(each, dict):
                    waiting += filter(_is_saved, each.values())
                elif isinstance(each, Trackable):
                    waiting += self._children(each).values()
            if not new:
                return
            self._kept += new
            known.update(map(_key, new))
            for each in new:
                concrete_functions(each)

    def number_of(self, thing, path):
        """The number of the object's node."""
        key = _key(thing)
        if key in self._numbers:
            if key in self._open and isinstance(thing, tuple(_ITEMS.values())):
                raise ValueError(f"{path} cannot be saved: it is a {type(thing).__name__} that is in itself")
            return self._numbers[key]
        if len(self._open) >= _MOST_NESTED:
            raise ValueError(f"{path:.80} cannot be saved: its objects nest deeper than {_MOST_NESTED}")
        number = self._numbers[key] = len(self.nodes)
        self._kept.append(thing)
        self.nodes.append({})
        self._open.append(key)
        self.nodes[number] = self._node(thing, path)
        self._open.pop()
        return number

    def _node(self, thing, path):
        if isinstance(thing, _engine.Variable):
            self.variables.append(thing)
            return {"kind": "variable", "variable": len(self.variables) - 1}
        if isinstance(thing, _FUNCTIONS):
            return self._function(thing, path)
        if isinstance(thing, ConcreteFunction):
            return {"kind": "concrete", **self._trace(thing, path)}
        for name, kind in _ITEMS.items():
            if isinstance(thing, kind):
                return self._container(thing, name, path)
        children = self._children(thing).items()
        return {"kind": "object", "children": {name: self.number_of(child, f"{path}.{name}") for name, child in children}}

    def _container(self, thing, kind, path):
        keys = list(thing) if kind == "dict" else range(len(thing))
        items = []
        for key in keys:
            value, place = thing[key], f"{path}[{key!r}]"
            if _is_saved(value):
                items.append({"node": self.number_of(value, place)})
            else:
                try:
                    items.append({"value": encoded(value)})
                except NotSavedError as error:
                    warnings.warn(f"saved_model.save: {place} is left out: it is {error}", stacklevel=2)
                    items.append({"value": {"shown": repr(value)}})
        return {"kind": kind, "items": items} if kind != "dict" else {"kind": kind, "keys": [encoded(key) for key in keys], "items": items}

    def _trace(self, concrete, path):
        return {"name": concrete.name, "parameters": list(concrete._parameters), "graph": self.graph_number(concrete, path),
                "structure": encoded(concrete._structure), "results": results_encoded(concrete)}

    def graph_number(self, concrete, path):
        """The number of a ConcreteFunction's graph."""
        key = id(concrete._graph)
        if key not in self._graph_numbers:
            self._graph_numbers[key] = len(self.graphs)
            self.graphs.append(concrete._graph)
            self._kept.append(concrete)
            self.paths.append(path)
        return self._graph_numbers[key]

    def _function(self, function, path):
        traces = []
        for concrete in concrete_functions(function):
            objects = [leaf for leaf in nest.flatten(concrete._structure) if isinstance(leaf, Shown)]
            if objects:
                _warn_of_trace(path, f"it takes {objects[0]!r}")
                continue
            try:
                traces.append(self._trace(concrete, path))
            except NotSavedError as error:
                _warn_of_trace(path, f"it takes or returns {error}")
        if isinstance(function, LoadedFunction):
            signature, own = function.signature, function.input_signature
        else:
            signature, own = function._signature, function.input_signature
        return {"kind": "function", "name": function.__name__, "traces": traces, "signature": _signature_encoded(signature),
                "input_signature": None if own is None else encoded(own)}


def _signature_encoded(signature):
    parts = signature_parts(signature)
    for part in parts or ():
        try:
            part[3] = encoded(part[3]) if part[2] else None
        except NotSavedError:
            part[2:] = True, {"shown": repr(part[3])}
    return parts


def _warn_of_trace(path, why):
    warnings.warn(f"saved_model.save: a trace of {path} is left out: {why}, which saved models lack", stacklevel=2)


def concrete_functions(function):
    """The traces of a function; of one with an input_signature that was never called, it is traced now."""
    if isinstance(function, LoadedFunction):
        return function.concrete_functions
    if isinstance(function, ConcreteFunction):
        return [function]
    if function.input_signature is not None:
        return [function.get_concrete_function()]
    if function._beyond_graphs:
        warnings.warn(f"saved_model.save: calls of {function.__name__} that run eagerly are left out: they cannot be traced", stacklevel=2)
    return list(function._concrete.values())


# ---- reading


class Loaded:
    """The objects of a saved model. Everything in its JSON is checked: ValueError, TypeError, KeyError, IndexError for other JSON."""

    def __init__(self, described, variables, graphs):
        self._nodes, self._variables, self._graphs = described["nodes"], variables, graphs
        self._made, self._open = {}, set()
        self.root = self._object(described["root"])

    def _object(self, number):
        if type(number) is not int or not 0 <= number < len(self._nodes):
            raise ValueError(f"there is no object {number!r:.40}")
        if number in self._made:
            return self._made[number]
        if number in self._open:
            raise ValueError(f"object {number} is a list that is in itself")
        if len(self._open) >= _MOST_NESTED:
            raise ValueError(f"its objects nest deeper than {_MOST_NESTED}")
        self._open.add(number)
        node = self._nodes[number]
        self._made[number] = made = self._READERS[node["kind"]](self, number, node)
        self._open.discard(number)
        return made

    def _number(self, things, number, what):
        if type(number) is not int or not 0 <= number < len(things):
            raise ValueError(f"there is no {what} {number!r:.40}")
        return things[number]

    def _variable(self, number, node):
        return self._number(self._variables, node["variable"], "variable")

    def _with_children(self, number, node):
        children = node["children"]
        made = self._made[number] = CallableObject() if "__call__" in children else LoadedObject()
        for name, child in children.items():
            value = self._object(child)
            if is_function(value):
                object.__setattr__(made, name, value)
            else:
                setattr(made, name, value)
        return made

    def _item(self, item):
        return self._object(item["node"]) if "node" in item else decoded(item["value"])

    def _list(self, number, node):
        return TrackedList([self._item(item) for item in node["items"]])

    def _tuple(self, number, node):
        return tracked(tuple(self._item(item) for item in node["items"]))

    def _dict(self, number, node):
        if len(node["keys"]) != len(node["items"]):
            raise ValueError(f"object {number} has {len(node['keys'])} keys and {len(node['items'])} items")
        return TrackedDict({decoded(key): self._item(item) for key, item in zip(node["keys"], node["items"])})

    def _trace(self, node):
        graph = self._number(self._graphs, node["graph"], "graph")
        structure = decoded(node["structure"])
        if type(structure) is not list or len(structure) != 2 or type(structure[0]) is not list or type(structure[1]) is not dict:
            raise ValueError(f"{node['structure']!r:.60} are not arguments")
        made = ConcreteFunction.restored(str(node["name"]), list(map(str, node["parameters"])), structure, graph,
                                         results_decoded(node["results"], len(graph.outputs)))
        wanted = [(dtype, shape) for dtype, shape in graph.inputs]
        if [(spec.dtype, TensorSpec(spec.shape)) for spec in made._specs] != [(dtype, TensorSpec(shape)) for dtype, shape in wanted]:
            raise ValueError(f"the arguments are {made._specs!r:.100}; the graph's are {wanted!r:.100}")
        return made

    def _concrete(self, number, node):
        return self._trace(node)

    def _function(self, number, node):
        parts = node["signature"]
        if parts is not None:
            parts = [[name, kind, has_default, decoded(default)] for name, kind, has_default, default in parts]
        own = decoded(node["input_signature"])
        return LoadedFunction(str(node["name"]), signature_of(parts), [self._trace(trace) for trace in node["traces"]], own)

    _READERS = {"variable": _variable, "object": _with_children, "list": _list, "tuple": _tuple, "dict": _dict, "concrete": _concrete,
                "function": _function}
