"""Puts the registry's op functions and the package's table of names in place: tf.matmul, tf.linalg.matmul, tf.keras.Model …"""
import importlib.util
import sys
import types

from tapedeck import _engine
from tapedeck._core import missing, public

_public_paths = {}  # every public namespace's names, by its path under `tf.`


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
    """tapedeck.<path>: the package's own file where it has one, else a module made here."""
    if not path:
        return sys.modules["tapedeck"]
    full_name = f"tapedeck.{path}"
    if full_name not in sys.modules:
        parent, _, name = path.rpartition(".")
        parent = _submodule(parent)
        if not hasattr(parent, "__path__"):
            parent.__path__ = []  # it is a package now
        spec = importlib.util.find_spec(full_name)
        if spec and spec.origin:  # not so for a folder that holds stubs alone
            importlib.import_module(full_name)
        else:
            sys.modules[full_name] = _made(full_name)
        setattr(parent, name, sys.modules[full_name])
    return sys.modules[full_name]


def _namespace(path):
    """The namespace of that path, among the public ones from now on."""
    if path not in _public_paths:
        _public_paths[path] = []
        module = _submodule(path)
        module.__all__ = _public_paths[path]
        if path:
            parent, _, name = path.rpartition(".")
            _namespace(parent)
            _list(parent, name)
        missing.watch(module)
    return _submodule(path)


def _list(path, name):
    if name not in _public_paths[path]:
        _public_paths[path].append(name)


def _put(full_name, thing):
    path, _, name = full_name.rpartition(".")
    module = _namespace(path)
    if isinstance(thing, public.Namespace):
        thing = _namespace(thing)
        sys.modules[f"tapedeck.{full_name}"] = thing
    setattr(module, name, thing)
    _list(path, name)


def install():
    """Called once, at the end of the package's import. What a Python file defines stands in front of an op's function."""
    for full_name, thing in {**_engine.op_functions, **public.NAMES}.items():
        _put(full_name, thing)
    public.listen(_put)
    for full_name, file in public.LATER.items():
        if file != f"tapedeck.{full_name}":  # namespaces are not listed before somebody asks for them
            path, _, name = full_name.rpartition(".")
            _list(path, name)
    _home(_submodule(""))


def public_modules():
    """The package and its public namespaces: those that a user reaches from `tf`."""
    return [_submodule(path) for path in _public_paths]
