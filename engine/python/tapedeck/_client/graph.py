"""tf.Graph: what a program of TensorFlow 1 builds, call by call, and its sessions run."""
import contextlib
import re
import threading
import weakref

from tapedeck import _engine
from tapedeck._client import names, naming
from tapedeck._client.control import Controls
from tapedeck._client.default_session import get_default_session
from tapedeck._client.operation import Operation
from tapedeck._core import context, program_graph
from tapedeck._core.indexed_slices import IndexedSlices
from tapedeck._core.public import public
from tapedeck._variables import stores

_graphs = weakref.WeakSet()


@public("Graph")
class Graph:
    """A graph of operations, which a tf.Session runs.

        graph = tf.Graph()
        with graph.as_default():
            x = tf.placeholder(tf.float32, [None, 3])
            y = tf.reduce_sum(x)
        with tf.Session(graph=graph) as session:
            print(session.run(y, {x: [[1, 2, 3]]}))

    What is called in `as_default()` does not run: it becomes part of the graph.
    """

    def __init__(self):
        self._engine = _engine.ProgramGraph()
        self._names, self._controls = names.NameTable(), Controls(self)
        self._node_names = []  # of the nodes so far that have been looked at
        self._given = {}  # node → (name, or None; whether a function of that name was called)
        self._operations = {}  # node → Operation
        self._others = {}  # operations without outputs, by name
        self._by_name = {}  # name → node
        self._collections = {}
        self._variables = {}  # id(variable) → VariableState, in the order of their construction
        self._host_variables = {}  # node of a host call → variables that it changes
        self._iterator_initializers = {}  # id(iterator) → Operation; the graph's calls keep the iterator
        self._runs = None  # for the debugger, from the first run on
        self._parts, self._loaded, self._lock = {}, None, threading.RLock()
        self._variable_scopes = stores.scopes_of_graph()
        self._seed, self._finalized, self._global_step = None, False, None
        _graphs.add(self)

    # ---- the default graph

    @contextlib.contextmanager
    def as_default(self):
        """A context in which ops become part of this graph."""
        self._enter()
        try:
            yield self
        finally:
            self._leave()

    def _enter(self):
        naming.install()
        stores.change_graph(program_graph.innermost(), self)
        program_graph.push(self)
        self._engine.enter()

    def _leave(self):
        self._engine.leave()
        program_graph.pop()
        stores.change_graph(self, program_graph.innermost())

    @contextlib.contextmanager
    def _outermost(self):
        """What is called inside becomes part of the graph itself, though a branch or a loop of it is traced."""
        self._engine.enter()
        try:
            yield
        finally:
            self._engine.leave()

    # ---- names

    def unique_name(self, name, mark_as_used=True):
        """A name that no operation or scope has: name, name_1, …"""
        self._name_nodes()
        return self._names.unique(name, mark_as_used)

    def _name_results(self, first, result, name, called):
        """A function was called, which added nodes from `first` on: what its result is called."""
        tensors = result if isinstance(result, (list, tuple)) else [result]
        places = [self._engine.place(each) for each in tensors if isinstance(each, _engine.Tensor)]
        nodes = {place[0] for place in places if place}
        if len(nodes) == 1:
            [node] = nodes
            if node >= first and node >= len(self._node_names) and self._engine.described(node)[3] == _engine.current_scope():
                self._given.setdefault(node, (name, called))

    def _name_nodes(self):
        """Gives the nodes that came since the last time their names."""
        for node in range(len(self._node_names), self._engine.size):
            kind, row, own, scope, *_ = self._engine.described(node)
            given, called = self._given.pop(node, (None, False))
            if node in self._operations:  # the value behind an assignment is its output
                name = self._operations[node].name
            elif kind == "parameter":
                name = own
            elif kind == "constant":
                name = f"Const/{node}"  # the program gave no tensor: TensorFlow names these after their readers
            elif kind.startswith("tape_"):
                name = f"gradients/{kind}/{node}"
            else:
                prefix = "" if kind == "read" or given and given.endswith("/") else scope
                text = (given or names.default_name(kind, row, own, not called)).rstrip("/")
                name = self._names.unique(f"{prefix}/{text}" if prefix else text)
            self._node_names.append(name)
            self._by_name.setdefault(name, node)

    def name_scope(self, name):
        """As tf.name_scope."""
        return context.name_scope(name)

    # ---- operations

    def _operation_of(self, node):
        found = self._operations.get(node)
        if found is None:
            self._name_nodes()
            kind, row, own, *_ = self._engine.described(node)
            found = Operation(self, self._node_names[node], names.type_of(kind, row, own), [node], node,
                              self._controls.before.get(node, ()))
            self._operations[node] = found
        return found

    def _inputs_of(self, node):
        return tuple(self._engine.tensor(*place) for place in self._engine.described(node)[4])

    def _outputs_of(self, node):
        found = [self._engine.tensor(node, result) for result in range(self._engine.described(node)[5])]
        return [each for each in found if each is not None]

    def _new_operation(self, type, nodes, name, node=None):
        """One that runs these nodes, and those of the open tf.control_dependencies."""
        names.require_valid(name.rstrip("/"))
        scope = _engine.current_scope()
        full = self.unique_name(f"{scope}/{name}" if scope and not name.endswith("/") else name.rstrip("/"))
        made = Operation(self, full, type, dict.fromkeys([*nodes, *self._controls.open_nodes()]), node)
        self._others[full] = made
        return made

    def _effects_since(self, first):
        """Numbers of the nodes that assign, print or call Python, from `first` on, without variables' initializers."""
        found = self._engine.effects(first, self._engine.size)
        initial = {node for state in self._variables.values() for node in state.initializer._nodes} if found else ()
        return [node for node in found if node not in initial]

    def _place_of(self, tensor):
        """(node, result) of a tensor; None where it is no tensor of this graph."""
        return self._engine.place(tensor)

    def _nodes_of(self, values):
        """Numbers of the nodes that operations, tensors and variables are."""
        nodes = []
        for value in values:
            if isinstance(value, Operation):
                if value.graph is not self:
                    raise ValueError(f"Operation {value!r} is not an element of this graph.")
                nodes += value._nodes
            elif isinstance(value, IndexedSlices):
                nodes += self._nodes_of([value.values, value.indices])
            elif isinstance(value, _engine.Tensor):
                place = self._place_of(value)
                if place is None and _engine.is_symbolic(value):
                    raise ValueError(f"Tensor {value} is not an element of this graph.")
                nodes += [place[0]] if place else []
            elif value is not None and not isinstance(value, _engine.Variable):
                raise TypeError(f"Can not convert a {type(value).__name__} into a Tensor or Operation.")
        return nodes

    def get_operations(self):
        """All operations, as a list."""
        self._name_nodes()
        nodes = [node for node, name in enumerate(self._node_names) if not name.startswith("gradients/tape_")]
        return list(dict.fromkeys([*map(self._operation_of, nodes), *self._others.values()]))

    def get_operation_by_name(self, name):
        """The operation of that name. Errors: KeyError where there is none; TypeError for a name that is not a text."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name):
        """The tensor of that name: "x:0". Errors: KeyError where there is none; ValueError for an operation's name."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        """The tensor or operation of that name, or the object itself where it is of this graph.

        Errors: KeyError for a name that is not there; ValueError for what is of another graph; TypeError for other objects.
        """
        if isinstance(obj, str):
            return self._named(obj, allow_tensor, allow_operation)
        if isinstance(obj, _engine.Variable) and allow_tensor:
            if id(obj) not in self._variables:
                raise ValueError(f"Tensor {obj} is not an element of this graph.")
            return obj
        if isinstance(obj, _engine.Tensor) and allow_tensor:
            if self._place_of(obj) is None and _engine.is_symbolic(obj):
                raise ValueError(f"Tensor {obj} is not an element of this graph.")
            return obj
        if isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"Operation {obj!r} is not an element of this graph.")
            return obj
        kinds = " or ".join(kind for kind, allowed in (("Tensor", allow_tensor), ("Operation", allow_operation)) if allowed)
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")

    def _named(self, name, allow_tensor, allow_operation):
        self._name_nodes()
        own, colon, number = name.rpartition(":")
        if colon and allow_tensor:
            if not number.isdigit():
                raise ValueError(f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names must be of the "
                                 'form "<op_name>:<output_index>".')
            variable = next((state.variable for state in self._variables.values() if state.variable.name == name), None)
            if variable is not None:
                return variable
            if own not in self._by_name:
                raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {own!r}, does not exist in "
                               "the graph.")
            outputs = self._outputs_of(self._by_name[own])
            if int(number) >= len(outputs):
                raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {own!r}, exists but only has "
                               f"{len(outputs)} outputs.")
            return outputs[int(number)]
        if colon:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        if not allow_operation:
            there = name in self._by_name or name in self._others
            raise ValueError(f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
                             '"<op_name>:<output_index>".' if there else f"The name {name!r} looks like an (invalid) Operation name, "
                             'not a Tensor. Tensor names must be of the form "<op_name>:<output_index>".')
        if name in self._others:
            return self._others[name]
        if name not in self._by_name:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return self._operation_of(self._by_name[name])

    # ---- what TensorFlow's have

    def control_dependencies(self, control_inputs):
        """As tf.control_dependencies."""
        return self._controls.entered(control_inputs)

    def get_collection(self, name, scope=None):
        """As tf.get_collection, of this graph."""
        found = list(self._collections.get(name, ()))
        if scope is None:
            return found
        begins = re.compile(scope).match
        return [value for value in found if begins(getattr(value, "name", None) or "")]

    def get_collection_ref(self, name):
        """As tf.get_collection_ref, of this graph."""
        return self._collections.setdefault(name, [])

    def add_to_collection(self, name, value):
        """As tf.add_to_collection, of this graph."""
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        """As tf.add_to_collections, of this graph."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_all_collection_keys(self):
        """The names of the collections that have been used."""
        return list(self._collections)

    def device(self, device_name_or_function):
        """As tf.device."""
        return context.device(device_name_or_function)

    def finalize(self):
        """Makes the graph read-only. What is added all the same is a RuntimeError, at the latest in the next run."""
        self._finalized = self._engine.size

    def _require_unchanged(self):
        """RuntimeError where the graph was finalized, and has grown since."""
        if self._finalized is not False and self._engine.size > self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    @property
    def finalized(self):
        """Whether finalize() was called."""
        return self._finalized is not False

    def as_graph_def(self, from_version=None, add_shapes=False):
        """The operations as text, one after another."""
        return "\n".join(f"node {{\n{each}}}" for each in self.get_operations())

    seed = property(lambda self: self._seed, doc="What tf.set_random_seed said, or None.")
    version = property(lambda self: self._engine.size, doc="How many nodes it has: it grows with each op.")
    building_function = property(lambda self: False, doc="False: it is no function's graph.")

    def _list_of_runs(self):
        """Where the debugger lists what sessions have run of it."""
        if self._runs is None:
            self._runs = _engine.debug.TracedFunction("session", *_engine_place(self._engine), [])
        return self._runs

    def _session_for(self, session, thing, verb, method):
        """The session given, or the default one."""
        noun, does = ("tensor", "evaluate tensor") if method == "eval" else ("operation", verb)
        found = session
        if found is None:
            found = get_default_session()
            if found is None:
                raise ValueError(f"Cannot {does} using `{method}()`: No default session is registered. Use `with sess.as_default()` or "
                                 f"pass an explicit session to `{method}(session=sess)`")
            if found.graph is not self:
                raise ValueError(f"Cannot use the default session to {does}: the {noun}'s graph is different from the session's graph. "
                                 f"Pass an explicit session to `{method}(session=sess)`.")
        elif found.graph is not self:
            raise ValueError(f"Cannot use the given session to {does}: the {noun}'s graph is different from the session's graph.")
        return found


def _engine_place(engine):
    """(file, line) of a graph's first node."""
    *_, file, line = engine.described(0)
    return file, line


def graph_of(tensor):
    """The Graph that a tensor belongs to; None for another tensor."""
    innermost = program_graph.innermost()
    if innermost is not None and innermost._place_of(tensor) is not None:
        return innermost
    return next((graph for graph in list(_graphs) if graph._place_of(tensor) is not None), None)
