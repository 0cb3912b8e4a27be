"""Converts arguments to what a function needs. Each error is one of the engine's and begins with the argument's name; the public
function adds its own name."""
import os
from operator import index

import numpy as np

from tapedeck import _engine
from tapedeck._core.refusals import of_argument, shown


def _refused(name, value, needs, error):
    kind = _engine.TypeMismatchError if isinstance(error, TypeError) else _engine.InvalidArgumentError
    return of_argument(kind(f"{name}: {shown(value)} is {needs}"))


def integer(value, name):
    """An integer as a Python int."""
    try:
        return index(value)
    except TypeError as error:
        raise _refused(name, value, "not an integer", error) from error


def number(value, name):
    """A real number as a Python float."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refused(name, value, "not a number", error) from error


def flag(value, name):
    """The truth value of the argument, as bool() gives it."""
    try:
        return bool(value)
    except (TypeError, ValueError) as error:
        raise _refused(name, value, "neither true nor false", error) from error


def sequence(value, name):
    """The elements as a list."""
    try:
        return list(value)
    except TypeError as error:
        raise _refused(name, value, "not a list", error) from error


def array(value, name, dtype=None):
    """What NumPy makes of the value; dtype: NumPy's, None for the value's own."""
    try:
        return np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refused(name, value, "not an array" if dtype is None else f"not an array of {np.dtype(dtype).name}", error) from error


def extents(value, name):
    """The shape of a tensor or of what one can be made of."""
    try:
        return np.shape(value)
    except (TypeError, ValueError) as error:
        raise _refused(name, value, "not an array", error) from error


def integers(value, name):
    """An integer, or a list or an array of them, as a flat list of Python ints."""
    return [integer(each, name) for each in array(value, name).reshape(-1)]


def one_integer(value, name):
    """An integer, also as an array or tensor of one."""
    found = integers(value, name)
    if len(found) != 1:
        raise of_argument(_engine.InvalidArgumentError(f"{name}: {shown(value)} is not a single integer"))
    return found[0]


def having(value, name, attribute, kind):
    """The value, which is taken by what it can do: it must have that attribute. kind: what such a thing is called."""
    if not hasattr(value, attribute):
        raise of_argument(_engine.TypeMismatchError(f"{name}: {shown(value)} is not {'an' if kind[0] in 'aeio' else 'a'} {kind}"))
    return value


def text(value, name):
    """A str: of a str, of UTF-8 bytes, or of a string tensor with one element."""
    plain = value.numpy() if isinstance(value, _engine.Tensor) and value.dtype.name == "string" and not value.ndim else value
    plain = plain.decode("utf-8", "replace") if isinstance(plain, bytes) else plain
    if not isinstance(plain, str):
        raise of_argument(_engine.TypeMismatchError(f"{name}: {shown(value)} is not a string"))
    return plain


def path_text(value, name):
    """A path as text, or as bytes."""
    try:
        return os.fspath(value)
    except TypeError as error:
        raise _refused(name, value, "not a path", error) from error


def one_of(value, name, choices):
    """The value, which must be one of these."""
    for choice in choices:
        if value is choice or type(value) is type(choice) and value == choice:
            return value
    known = ", ".join(map(repr, choices))
    raise of_argument(_engine.InvalidArgumentError(f"{name} is {shown(value)}; must be one of {known}"))
