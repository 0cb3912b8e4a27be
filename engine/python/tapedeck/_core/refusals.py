"""An error of the engine names the op that raised it, or only the argument: this module adds the public function that was called, and its
arguments. Other exceptions are not caused by an argument and pass unchanged."""
import functools
import inspect

import numpy as np

from tapedeck import _engine


def shown(value):
    """A short text of a value. A class of the package can define it in a method _shown_in_errors."""
    if isinstance(value, (_engine.Tensor, _engine.Variable, np.ndarray)):
        named = f"{value.name} " if isinstance(value, _engine.Variable) else ""
        return f"{named}{value.dtype.name} {tuple(value.shape)}"
    own = getattr(type(value), "_shown_in_errors", None)
    if own is not None:
        return own(value)
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _called_with(function, args, kwargs):
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[:code.co_argcount]
    given = dict(zip(names, args), **kwargs)
    if not isinstance(given.get("self"), _engine.Variable):  # another object of a method shows nothing but its address
        given.pop("self", None)
    given.pop("cls", None)
    return ", ".join(f"{name}: {shown(value)}" for name, value in given.items() if name != "name")


_complete = object()


class _Told:
    """What an error says without the arguments of the calls that it passed, and which op or function it begins with."""

    def __init__(self, error):
        self.text, self.function = str(error), error.op_name
        if (error.op_name, error.argument) == ("convert_to_tensor", "value"):  # what the package was given, and converts
            self.text, self.function = self.text.removeprefix("convert_to_tensor: value: "), ""

    def begins_with(self, name):
        """Whether nothing need be put in front: a function of the package may say its own name."""
        return self.function == name or self.function is None and self.text.startswith((f"{name}: ", f"{name}() "))


def _tell(error, function, args, kwargs):
    """Puts the function in front of what the error says, and the call's arguments behind it."""
    told = getattr(error, "_told", None) or _Told(error)
    if told is not _complete and not told.begins_with(function.__name__):
        told.text = f"{function.__name__}: {told.text}"
        error.args = (f"{told.text}; called with {_called_with(function, args, kwargs)}",)
    if told is not _complete:
        told.function = function.__name__
    error._told = told


def of_argument(error):
    """The error, which begins with an argument's name, not with a function's."""
    error._told = _Told(error)
    error._told.function = ""
    return error


def whole(error):
    """The error, to which functions add nothing: it says all of it."""
    error._told = _complete
    return error


def naming(function):
    """The function; what the engine refuses inside of it tells its name and its arguments."""

    @functools.wraps(function)
    def refusing(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except _engine.OpError as error:
            _tell(error, function, args, kwargs)
            raise
        except MemoryError as error:  # of NumPy or Python
            translated = _engine.ResourceExhaustedError(str(error))
            _tell(translated, function, args, kwargs)
            raise translated from error

    refusing.in_errors = True
    return refusing
