"""Puts the registry's op functions and the package's table of names in place: tf.matmul, tf.linalg.matmul, tf.keras.Model …"""
import sys
import types

from tapedeck import _engine
from tapedeck._core import missing, public


def _home(root):
    """Says of every op's function where it is found: pickle asks, and profilers show it. Those that a Python function hides, or
    that are not public, are found in tapedeck.ops_by_name."""
    hidden = types.ModuleType("tapedeck.ops_by_name", "Functions of ops that have no name of their own under `tf.`.")
    places = {}
    for python_name, function in _engine.op_functions.items():
        path, _, name = python_name.rpartition(".")
        module = _submodule(path)
        if name == function.__name__ and getattr(module, name, None) is function:
            best = places.get(function)
            if best is None or module is root:
                places[function] = module
    for function in _engine._functions_by_op.values():
        function.__module__ = places.get(function, hidden).__name__
        if function not in places:
            if hasattr(hidden, function.__name__):
                raise AssertionError(f"two hidden ops have the Python name {function.__name__}")
            setattr(hidden, function.__name__, function)
    sys.modules[hidden.__name__] = hidden


def _made(full_name):
    """A namespace without a file of its own speaks as its private folder or file does: of nn, tapedeck/_nn."""
    private = sys.modules.get(full_name.replace("tapedeck.", "tapedeck._", 1))
    module = types.ModuleType(full_name, getattr(private, "__doc__", None) or f"TensorFlow's tf.{full_name.partition('.')[2]}.")
    if hasattr(private, "__getattr__"):
        module.__getattr__ = private.__getattr__
    return module


def _submodule(path):
    """tapedeck.<path>: a file that was loaded already, else a module made here."""
    if not path:
        return sys.modules["tapedeck"]
    full_name = f"tapedeck.{path}"
    if full_name not in sys.modules:
        parent, _, name = path.rpartition(".")
        parent = _submodule(parent)
        if not hasattr(parent, "__path__"):
            parent.__path__ = []  # it is a package now
        sys.modules[full_name] = _made(full_name)
        setattr(parent, name, sys.modules[full_name])
    return sys.modules[full_name]


def _namespace(path):
    """The namespace of that path, among the public ones from now on."""
    module = _submodule(path)
    if path not in public.NAMESPACES:
        public.NAMESPACES[path] = module
        module.__all__ = []
        if path:
            parent, _, name = path.rpartition(".")
            _fill(parent, {name: module})
        missing.watch(module)
    return module


def _fill(path, things):
    """Puts things into a namespace, by name."""
    module = _namespace(path)
    for name, thing in things.items():
        if isinstance(thing, public.Namespace):
            things[name] = sys.modules[f"{module.__name__}.{name}"] = _namespace(thing)
    vars(module).update(things)
    module.__all__ = list(dict.fromkeys((*module.__all__, *things)))


def _put(full_name, thing):
    path, _, name = full_name.rpartition(".")
    _fill(path, {name: thing})


def install():
    """Called once, at the end of the package's import. What a Python file defines takes precedence over an op's function."""
    by_path = {}
    for full_name, thing in {**_engine.op_functions, **public.NAMES}.items():
        path, _, name = full_name.rpartition(".")
        by_path.setdefault(path, {})[name] = thing
    for full_name, file in public.LATER.items():
        if file != f"tapedeck.{full_name}":  # namespaces are not listed before they are first used
            path, _, name = full_name.rpartition(".")
            _namespace(path).__all__.append(name)
    for path, things in by_path.items():
        _fill(path, things)
    public.listen(_put)
    _home(_submodule(""))


def public_modules():
    """The package and its public namespaces: those that a user reaches from `tf`."""
    return list(public.NAMESPACES.values())
