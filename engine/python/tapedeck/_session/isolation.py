"""What code that the debugger runs at a stop leaves as it was.

Of every evaluation: Python's and NumPy's random state (Tapedeck's own sequences are copied for its thread), generators (Tapedeck's;
Python's and NumPy's that the program's names lead to), the global step, the numbers that make names unique, collections, and which
curves were written. Of a watch, which must not change anything, also variables, settings and names; and, where it calls what
may change more than that (a model, a function of the user's), the lists and dicts that the program's names lead to, and what layers,
optimizers, metrics and iterators hold. What is in files, in arrays and in objects of the user's own classes stays as the code left it.
"""
import ast
import builtins
import random
import sys
import types

import numpy as np

from tapedeck import _engine
from tapedeck._debugging.number_generators import NumberGenerators
from tapedeck._debugging.program_state import Containers, ObjectsState
from tapedeck._random import streams
from tapedeck._session.frames import frames_of, has_locals, locals_of, scope_at, session_globals

MOST_ITEMS = 10_000  # of a list or dict that is put back
DEPTH = 3

# Dicts of numbers and names, by the module that has them.
_COUNTS = {"tapedeck.keras.backend": ["_uses"], "tapedeck._tfe.metrics": ["_used_scopes"], "tapedeck.logging": ["_counts"],
           "tapedeck._graph.collections": ["_collections"], "tapedeck.summary.curves": ["_written", "_first_writers"]}
_SETTINGS = {"tapedeck.keras.settings": ["_settings"]}
_NAMES = {"tapedeck.train.steps": "_global_step", "tapedeck._random.streams": "_global_generator"}
_HARMLESS = frozenset(getattr(builtins, name) for name in (
    "abs all any ascii bin bool bytes chr complex dict divmod enumerate float format frozenset hash hex id int isinstance issubclass "
    "len list max min oct ord pow range repr reversed round set slice sorted str sum tuple type zip").split())
_MAKERS = ("tapedeck.keras", "tapedeck.layers", "tapedeck.contrib", "tapedeck.train", "tapedeck._variables", "tapedeck._tfe",
           "tapedeck.data", "tapedeck._nn.rnn_cells")  # what calls of these modules may change more than variables


class Kept:
    """As it was when this was made; put_back() brings it back."""

    def __init__(self, place, watch):
        self._random, self._numpy = random.getstate(), np.random.get_state()
        self._generators = [(one, one._key, one._counter) for one in list(streams.living)]
        self._names = [(module, name, getattr(module, name)) for module, name in _loaded(_NAMES)]
        self._containers = Containers(MOST_ITEMS)
        for module, names in _loaded(_COUNTS):
            for name in names:
                self._containers.add(getattr(module, name), 1)
        self._variables, self._objects, self._namespace = [], None, None
        self._own_generators = NumberGenerators()
        stop, thread, frame = place
        try:
            scope = scope_at(stop, thread, frame)
            names, namespace = scope.names(), scope.globals
        except LookupError:  # a frame of the past, or the program went on: the evaluation reports it
            names = namespace = session_globals()
        if watch:
            self._keep_all(thread, watch, names, namespace)
        else:
            self._keep_generators(thread, namespace)

    def _keep_generators(self, thread, namespace):
        values = list(namespace.values())
        for each in frames_of(thread) if thread else ():
            if has_locals(each):
                values.extend(locals_of(each).values())
        self._own_generators.add_reachable(values, MOST_ITEMS)

    def _keep_all(self, thread, watch, names, namespace):
        self._variables = [(variable, value, value._id) for variable, value in _engine._living_variables()]
        for module, settings in _loaded(_SETTINGS):
            for name in settings:
                self._containers.add(getattr(module, name), 0)
        changes_more = calls_what_may_change(watch, names)
        self._namespace = namespace, dict(namespace)
        if not changes_more:
            return
        self._keep_generators(thread, namespace)
        self._containers.add(self._namespace[1], DEPTH)
        self._objects = ObjectsState()
        for each in frames_of(thread) if thread else ():
            if has_locals(each):
                self._containers.add(locals_of(each), DEPTH)

    def put_back(self):
        if random.getstate() != self._random:
            random.setstate(self._random)
        np.random.set_state(self._numpy)
        self._own_generators.put_back()
        for one, key, counter in self._generators:
            if (one._key, one._counter) != (key, counter):
                one._key, one._counter = key, counter
        for module, name, value in self._names:
            setattr(module, name, value)
        if self._objects is not None:
            self._objects.put_back()
        self._containers.put_back()
        if self._namespace is not None:  # name by name: other threads look names up meanwhile
            now, before = self._namespace
            for name in [name for name in list(now) if name not in before]:
                now.pop(name, None)
            for name, value in before.items():
                if name not in now or now[name] is not value:
                    now[name] = value
        for variable, value, number in self._variables:
            if variable._id != number:
                _engine._put_back(variable, value)


def keep(place, watch):
    """place: (stop, thread, frame) as everywhere in the session; watch: the expression, empty for what may change the program."""
    return Kept(place, watch)


def _loaded(table):
    return [(sys.modules[name], what) for name, what in table.items() if name in sys.modules]


def calls_what_may_change(code, names):
    """Whether the expression calls something that may change more of the program than its variables."""
    try:
        tree = ast.parse(code.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False  # it will not run
    return any(not _is_harmless(node.func, names) for node in ast.walk(tree) if isinstance(node, ast.Call))


def _is_harmless(function, names):
    """Of what a call names: Python's own functions of values, tapedeck's and NumPy's, and methods of tensors and arrays."""
    found = _value_of(function, names)
    if found is not None:
        if isinstance(found, type):
            return found in _HARMLESS
        if isinstance(found, (types.FunctionType, types.BuiltinFunctionType, np.ufunc)):
            module = getattr(found, "__module__", None) or ""
            return found in _HARMLESS or isinstance(found, np.ufunc) or module.split(".")[0] == "numpy" or (
                module.split(".")[0] == "tapedeck" and not module.startswith(_MAKERS))
        return False
    # A method of what is computed: only what holds no state of the program's has those.
    return isinstance(function, ast.Attribute) and _is_value(_value_of(function.value, names))


def _is_value(owner):
    return isinstance(owner, (_engine.Tensor, _engine.Variable, np.ndarray, np.generic, str, bytes, int, float, complex, tuple))


def _value_of(node, names):
    """What a name, or an attribute of a module, is; None where it would have to be computed."""
    if isinstance(node, ast.Name):
        return names.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        owner = _value_of(node.value, names)
        if isinstance(owner, types.ModuleType):
            return getattr(owner, node.attr, None)
    return None
