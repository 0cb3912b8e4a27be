"""Writes the package's type stubs: one .pyi beside each public module, from the registry and from the package itself.

    python make_stubs.py BUILD_FOLDER/python/tapedeck
"""
import inspect
import os
import pathlib
import re
import sys
import types

import tapedeck
from tapedeck import _engine
from tapedeck._core import namespaces, signatures

HEADER = '''# Made from the op registry by make_stubs.py while building.
from builtins import bool as _bool, tuple as _tuple  # tf.bool is a DType, tf.tuple a function
from typing import Any, Iterator, Literal, NamedTuple, Sequence, Union, overload

import numpy as np

'''
ALIASES = '''
Number = Union[_bool, int, float, np.generic]
TensorLike = Union[Tensor, Variable, Number, np.ndarray, Sequence[Any]]
DTypeLike = Union[DType, str, type, np.dtype]
ShapeLike = Union[int, Sequence[int], Tensor]
'''


def docstring(text, indent="    "):
    """The text as the docstring of a stub."""
    escaped = inspect.cleandoc(text or "").replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped += " "
    return f'{indent}"""' + escaped.replace("\n", "\n" + indent) + '"""\n'


def op_stub(name, function):
    """One op function; of one whose first result comes alone without an argument, a signature for either value of it."""
    flag = function.__self__.alone_without
    if not flag:
        return one_op_stub(name, function)
    signature = one_op_stub(name, function).partition("\n")[0]
    *_, default = (part for part in signature.split(", ") if part.startswith(f"{flag}:"))
    alone = signature[:signature.rindex(" -> ")] + " -> Tensor:"
    return (f"@overload\n{signature.replace(default, f'{flag}: Literal[True] = True')} ...\n"
            f"@overload\n{alone.replace(default, f'*, {flag}: Literal[False]')} ...\n"
            f"@overload\n{alone.replace(default, f'{flag}: Literal[False]').replace(' = False', '', 1)} ...\n"
            f"@overload\n" + one_op_stub(name, function).replace(" -> ", " -> Tensor | ", 1))


def one_op_stub(name, function):
    parts = []
    row = function.__self__
    for parameter, kind, default in row.parameters:
        part = f"{parameter}: {signatures.annotation(kind, default)}"
        parts.append(part if default is ... else f"{part} = {default!r}".replace("tf.", "dtypes."))
    if not any(part.startswith("name:") for part in parts):
        parts.append("name: str | None = None")
    result = "list[Tensor]" if row.returns_list else "Tensor"
    if row.tuple_class:
        result = f"_engine.{row.tuple_class.__name__}"
    elif row.result_fields:
        result = f"_tuple[{', '.join(['Tensor'] * len(row.result_fields))}]"
    return f"def {name}({', '.join(parts)}) -> {result}:\n{docstring(function.__doc__)}    ...\n"


def function_stub(name, function):
    """A function of the package's Python files."""
    return f"def {name}{default_free(function)}:\n{docstring(function.__doc__)}    ...\n"


def result_of(member):
    """What the last line of a member's documentation says that it returns, `Returns: TensorShape.`; Any where it says nothing."""
    found = re.search(r"^Returns: (.+)\.$", member.__doc__ or "", re.MULTILINE)
    return re.sub(r"\b(bool|tuple)\b", r"_\1", found[1]) if found else "Any"


def operator_result(cls, name):
    """What a special method returns that the interpreter calls by a slot of the class."""
    if name in PROTOCOL or cls not in (_engine.Tensor, _engine.Variable):
        return PROTOCOL.get(name, "Any")
    if name in ("__divmod__", "__rdivmod__"):
        return "_tuple[Tensor, Tensor]"
    return "VariablePart" if cls is _engine.Variable and name == "__getitem__" else "Tensor"


def method_stub(name, method):
    text = method.__text_signature__ or "($self, /, *args, **kwargs)"
    return f"    def {name}{text.replace('$', '')} -> {result_of(method)}:\n{docstring(method.__doc__, ' ' * 8)}        ...\n"


def tuple_stub(cls):
    """A named tuple of an op's results."""
    return f"class {cls.__name__}(NamedTuple):\n" + "".join(f"    {field}: Tensor\n" for field in cls._fields)


def class_stub(cls):
    """A class of the extension module."""
    if hasattr(cls, "_fields"):
        return tuple_stub(cls)
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    lines = [f"class {cls.__name__}{f'({bases})' if bases else ''}:\n", docstring(cls.__doc__)]
    for name, member in sorted(vars(cls).items()):
        if isinstance(member, (types.GetSetDescriptorType, property)) and not name.startswith("_"):
            lines.append(f"    @property\n    def {name}(self) -> {result_of(member)}:\n{docstring(member.__doc__, ' ' * 8)}        ...\n")
        elif isinstance(member, types.MethodDescriptorType) and (not name.startswith("_") or member.__doc__):
            lines.append(method_stub(name, member))
        elif inspect.isfunction(member):  # a method written in Python
            lines.append(f"    def {name}{default_free(member)}:\n{docstring(member.__doc__, ' ' * 8)}        ...\n")
        elif isinstance(member, types.WrapperDescriptorType) and name not in OBJECT_MEMBERS:
            text = member.__text_signature__ or "($self, /, *args)"
            lines.append(f"    def {name}{text.replace('$', '')} -> {operator_result(cls, name)}: ...\n")
    return "".join(lines)


# What Python's data model has these return, whatever the class. Other special methods are operators.
PROTOCOL = {
    "__bool__": "_bool", "__float__": "float", "__hash__": "int", "__index__": "int", "__init__": "None", "__int__": "int",
    "__iter__": "Iterator[Tensor]", "__len__": "int", "__repr__": "str", "__str__": "str",
}
OBJECT_MEMBERS = {"__getattribute__", "__setattr__", "__delattr__", "__delitem__", "__setitem__"}


def python_class_stub(cls):
    """A class of the package's Python files, in the stub of the module that defines it."""
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    lines = [f"class {cls.__name__}{f'({bases})' if bases else ''}:\n", docstring(cls.__doc__)]
    for name, member in vars(cls).items():
        if isinstance(member, property):
            lines.append(f"    @property\n    def {name}(self) -> Any:\n{docstring(member.__doc__, ' ' * 8)}        ...\n")
        elif inspect.isfunction(member) and (not name.startswith("_") or name in ("__init__", "__call__")):
            body = f"\n{docstring(member.__doc__, ' ' * 8)}        ...\n" if member.__doc__ else " ...\n"
            lines.append(f"    def {name}{default_free(member)}:{body}")
    return "".join(lines)


def default_free(function):
    """The signature with `...` for the defaults, whose text need not be Python."""
    signature = inspect.signature(function)
    parameters = [parameter if parameter.default is inspect.Parameter.empty else parameter.replace(default=...)
                  for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=parameters)).replace("Ellipsis", "...").replace("tapedeck.Tensor", "Tensor").replace(
        "tapedeck.Variable", "Variable")


def module_stub(module):
    """A public namespace of the package."""
    lines = [f'"""{(module.__doc__ or "").strip()}"""\n', HEADER]
    lines.append("from tapedeck import _engine, dtypes\nfrom tapedeck._engine import Tensor, Variable\n")
    if module is not tapedeck.dtypes:
        lines.append("from tapedeck.dtypes import DType\n")
    lines.append(ALIASES + "\n")
    aliases = []
    for name, value in public_members(module):
        if isinstance(value, types.ModuleType):
            if value.__name__ == f"{module.__name__}.{name}":
                lines.append(f"from {module.__name__} import {name} as {name}\n")
        elif isinstance(getattr(value, "__self__", None), _engine._Op):
            lines.append("\n" + op_stub(name, value))
        elif inspect.isfunction(value):
            lines.append("\n" + function_stub(name, value))
        elif inspect.isclass(value) and value.__module__ == module.__name__ and value.__name__ == name:
            lines.append("\n" + python_class_stub(value))
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            aliases.append(f"{name} = {value.__name__}\n")
        elif inspect.isclass(value):
            origin = "tapedeck._engine" if hasattr(_engine, value.__name__) else value.__module__
            lines.append(f"from {origin} import {value.__name__} as {name}\n")
        elif isinstance(value, tapedeck.DType):
            lines.append(f"{name}: DType\n")
        else:
            lines.append(f"{name}: {type(value).__name__ if value is not None else 'None'}\n")
    return "".join(lines + aliases)


def public_members(module):
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return [(name, getattr(module, name)) for name in sorted(names)]


def engine_stub():
    """The extension module."""
    lines = [f'"""{_engine.__doc__}"""\n', HEADER, "from tapedeck.dtypes import DType\nfrom tapedeck import TensorShape\n"]
    classes = [value for _, value in public_members(_engine) if inspect.isclass(value)]
    # An exception's base comes before it.
    for cls in sorted(classes, key=lambda cls: (len(cls.__mro__), cls.__name__)):
        lines.append("\n" + class_stub(cls))
    for name, value in public_members(_engine):
        if isinstance(value, types.BuiltinFunctionType):
            lines.append(f"def {name}(*args: Any, **kwargs: Any) -> Any: ...\n")
    lines.append("op_functions: dict[str, Any]\n")
    return "".join(lines)


def write(path, text):
    """Writes only what changed, so that nothing is rebuilt for nothing."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(folder):
    stubs = {pathlib.Path(folder, "_engine.pyi"): engine_stub()}
    for module in namespaces.public_modules():
        parts = module.__name__.split(".")[1:]
        is_package = hasattr(module, "__path__")
        path = pathlib.Path(folder, *parts, "__init__.pyi") if is_package else pathlib.Path(folder, *parts).with_suffix(".pyi")
        stubs[path] = module_stub(module)
    for path, text in stubs.items():
        write(path, text)
    for path in pathlib.Path(folder).rglob("*.pyi"):
        if path not in stubs:  # of a namespace that is gone, or has become a folder
            path.unlink()


if __name__ == "__main__":
    main(sys.argv[1])
