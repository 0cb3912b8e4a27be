"""Whole files, and patterns of their names."""
import glob
import os

from tapedeck import _engine
from tapedeck._core import dtypes, errors
from tapedeck._core.host_ops import host_op, Known
from tapedeck._core.public import public
from tapedeck._core.refusals import shown


def path_of(value):
    """A path as text: of text, bytes, a path object, or a string tensor. TypeMismatchError for others."""
    plain = value.numpy() if isinstance(value, _engine.Tensor) else value
    try:
        return os.fsdecode(plain)
    except TypeError:
        raise _engine.TypeMismatchError(f"{shown(value)} is not a path") from None


def as_error(error):
    """The engine's exception for an OSError."""
    kind = (errors.NotFoundError if isinstance(error, (FileNotFoundError, NotADirectoryError)) else
            errors.AlreadyExistsError if isinstance(error, FileExistsError) else
            errors.PermissionDeniedError if isinstance(error, PermissionError) else errors.FailedPreconditionError)
    named = f"{error.filename}: " if error.filename is not None else ""
    return kind(f"{named}{error.strerror or error}")


def bytes_of(value, function):
    """Bytes of bytes, of text as UTF-8, or of a scalar string tensor."""
    if isinstance(value, _engine.Tensor):
        value = value.numpy()
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{function}: {value!r}; needs bytes, or a scalar string tensor")
    return bytes(value)


@public("read_file", "io.read_file")
@host_op(lambda **_: Known("string", ()))
def read_file(filename, name=None):
    """A file's bytes as a scalar string tensor. NotFoundError where there is none."""
    try:
        with open(path_of(filename), "rb") as file:
            return _engine.convert_to_tensor(file.read())
    except OSError as error:
        raise as_error(error) from error


@public("write_file", "io.write_file")
@host_op(lambda **_: None)
def write_file(filename, contents, name=None):
    """Writes bytes into a file, whose folders are made where they are missing."""
    path = path_of(filename)
    try:
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(bytes_of(contents, "write_file"))
    except OSError as error:
        raise as_error(error) from error


def matching(pattern):
    """The paths that match a pattern, or any of several, sorted."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else pattern
    if isinstance(pattern, _engine.Tensor):
        values = pattern.numpy()
        patterns = [values] if isinstance(values, bytes) else values.reshape(-1).tolist()
    return sorted({found for each in patterns for found in glob.glob(path_of(each))})


@public("matching_files", "io.matching_files")
@host_op(lambda **_: Known("string", (None,)))
def matching_files(pattern, name=None):
    """The paths that match a shell pattern, or any of several: a string tensor, sorted."""
    return _engine.convert_to_tensor([path.encode() for path in matching(pattern)], dtypes.string)
