"""What Python itself says of a bad argument ("int() argument must be …"), and what bool() and int() of a tensor say, names neither
the function nor its arguments: this adds them."""
import functools
import inspect
import re
import types

import numpy as np

from tapedeck import _engine
from tapedeck.indexed_slices import IndexedSlices

_NAMED = re.compile(r"([a-z_0-9]+)(: |\(\) )")
_PYTHONS = (TypeError, ValueError, ArithmeticError, AttributeError, IndexError, MemoryError)


def _shown(value):
    """A value in few letters."""
    if isinstance(value, (_engine.Tensor, _engine.Variable, np.ndarray)):
        named = f"{value.name} " if isinstance(value, _engine.Variable) else ""
        return f"{named}{value.dtype.name} {tuple(value.shape)}"
    if isinstance(value, IndexedSlices):
        return f"IndexedSlices(values: {_shown(value.values)}, indices: {_shown(value.indices)})"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _called_with(function, args, kwargs):
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[:code.co_argcount]
    given = dict(zip(names, args), **kwargs)
    if not isinstance(given.get("self"), _engine.Variable):  # another object of a method shows nothing but its address
        given.pop("self", None)
    given.pop("cls", None)
    return ", ".join(f"{name}: {_shown(value)}" for name, value in given.items() if name != "name")


def _inner(text):
    """What an op inside the function said: the call's arguments follow once, behind it."""
    return text.removeprefix("convert_to_tensor: value: ").partition("; called with ")[0]


def naming(function):
    """The function; where Python refuses an argument, the error is the engine's, with function, arguments and values."""
    name = function.__name__
    says_itself = function.__module__ == "tapedeck.debugging"  # what did not hold

    @functools.wraps(function)
    def refusing(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except _engine.OpError as error:
            text = str(error)
            found = _NAMED.match(text)
            if says_itself or (found and (found[1] in name or name in found[1])):  # max_pool is the op of max_pool2d
                raise
            raise type(error)(f"{name}: {_inner(text)}; called with {_called_with(function, args, kwargs)}") from error
        except _PYTHONS as error:
            text = str(error)
            if text.startswith((f"{name}:", f"{name}()")):  # it is named already
                raise
            kind = (_engine.TypeMismatchError if isinstance(error, TypeError) else
                    _engine.ResourceExhaustedError if isinstance(error, MemoryError) else _engine.InvalidArgumentError)
            raise kind(f"{name}: {text}; called with {_called_with(function, args, kwargs)}") from error

    return refusing


def name_functions(modules):
    """Makes every public function that these modules define a `naming` one, wherever in them it stands. Returns which became
    what."""
    changed = {}
    for module in modules:
        for name, function in vars(module).items():
            if not name.startswith("_") and isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
                changed[function] = naming(function)
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType) and value in changed:
                setattr(module, name, changed[value])
    return changed
