"""Puts the registry's op functions under their names: tf.matmul, tf.linalg.matmul, tf.math.log …"""
import importlib
import sys
import types

from tapedeck import _engine

# Files of the package that hold code, but are no namespace that TensorFlow has.
_INTERNAL = {"context", "creation", "custom", "functional", "idx", "lbfgs", "namespaces", "shapes", "shaping",
             "signatures", "tape"}


def op_function(name):
    """The function of the op of that name: "matmul". For pickle."""
    return _engine.op_function(name)


def _submodule(path):
    """tapedeck.<path>: the package's own file where it has one, else a module made here."""
    full_name = f"tapedeck.{path}"
    if full_name not in sys.modules:
        try:
            importlib.import_module(full_name)
        except ModuleNotFoundError as error:
            if error.name != full_name:
                raise
            module = types.ModuleType(full_name, f"TensorFlow's tf.{path}.")
            sys.modules[full_name] = module
            parent, _, name = full_name.rpartition(".")
            setattr(sys.modules[parent], name, module)
    return sys.modules[full_name]


def install(*python_functions):
    """Called once, at the end of the package's import, with the functions that the package's Python files add, by name.
    What a Python file defines stays."""
    root = sys.modules["tapedeck"]
    everything = {**_engine.op_functions}
    for functions in python_functions:
        everything.update(functions)
    for python_name, function in everything.items():
        path, _, name = python_name.rpartition(".")
        module = _submodule(path) if path else root
        if not hasattr(module, name):
            setattr(module, name, function)
    root.__all__ = [name for name in vars(root) if not name.startswith("_") and name not in _INTERNAL]


def public_modules():
    """The package and its public namespaces: those that a user reaches from `tf`."""
    found, waiting = [], [sys.modules["tapedeck"]]
    while waiting:
        module = waiting.pop(0)
        found.append(module)
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            child = getattr(module, name)
            if isinstance(child, types.ModuleType) and child.__name__ == f"{module.__name__}.{name}":
                waiting.append(child)
    return found
