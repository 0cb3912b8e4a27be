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


class _ErrorText:
    """The text of an error without the calls' arguments, and the op or function that it begins with."""

    def __init__(self, error):
        self.text, self.function = str(error), error.op_name
        if (error.op_name, error.argument) == ("convert_to_tensor", "value"):  # what the package was given, and converts
            self.text, self.function = self.text.removeprefix("convert_to_tensor: value: "), ""

    def begins_with(self, name):
        """Whether the text has the function's name already: functions of the package may add it themselves."""
        return self.function == name or self.function is None and self.text.startswith((f"{name}: ", f"{name}() "))


def _add_call(error, function, args, kwargs):
    """Prepends the function's name to the error's text, and appends the call's arguments."""
    error_text = getattr(error, "_error_text", None) or _ErrorText(error)
    if error_text is not _complete and not error_text.begins_with(function.__name__):
        error_text.text = f"{function.__name__}: {error_text.text}"
        error.args = (f"{error_text.text}; called with {_called_with(function, args, kwargs)}",)
    if error_text is not _complete:
        error_text.function = function.__name__
    error._error_text = error_text


def of_argument(error):
    """Marks an error whose text begins with an argument's name, not with a function's."""
    error._error_text = _ErrorText(error)
    error._error_text.function = ""
    return error


def whole(error):
    """Marks an error as complete: functions add nothing to it."""
    error._error_text = _complete
    return error


def naming(function):
    """Wraps a function: errors that the engine raises in it get its name and its arguments."""

    @functools.wraps(function)
    def refusing(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except _engine.OpError as error:
            _add_call(error, function, args, kwargs)
            raise
        except MemoryError as error:  # of NumPy or Python
            translated = _engine.ResourceExhaustedError(str(error))
            _add_call(translated, function, args, kwargs)
            raise translated from error

    refusing.in_errors = True
    return refusing
