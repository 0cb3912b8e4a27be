"""tf.io.gfile: files of this machine under TensorFlow's names."""
import functools as _functools
import os as _os
import types as _types

from tapedeck import errors as _errors
from tapedeck.io.files import as_error as _as_error, path_of as _path_of


def _translating(function):
    @_functools.wraps(function)
    def translated(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except OSError as error:
            raise _as_error(error) from error
    return translated


@_translating
def GFile(name, mode="r"):
    """The file, opened: open(name, mode). NotFoundError where there is none."""
    return open(_path_of(name), mode)


def exists(path):
    """Whether there is a file or a folder."""
    return _os.path.exists(_path_of(path))


def isdir(path):
    """Whether it is a folder."""
    return _os.path.isdir(_path_of(path))


def glob(pattern):
    """The paths that match a pattern, or any of several."""
    import glob as plain
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [found for each in patterns for found in sorted(plain.glob(_path_of(each)))]


@_translating
def listdir(path):
    """The names in a folder."""
    return _os.listdir(_path_of(path))


@_translating
def mkdir(path):
    """Makes a folder in one that exists."""
    _os.mkdir(_path_of(path))


@_translating
def makedirs(path):
    """Makes a folder, and those around it."""
    _os.makedirs(_path_of(path), exist_ok=True)


@_translating
def remove(path):
    """Removes a file."""
    _os.remove(_path_of(path))


@_translating
def rmtree(path):
    """Removes a folder with all that is in it."""
    import shutil
    shutil.rmtree(_path_of(path))


@_translating
def copy(src, dst, overwrite=False):
    """Copies a file. AlreadyExistsError where the other one exists and overwrite is False."""
    if not overwrite and exists(dst):
        raise _errors.AlreadyExistsError(f"{_path_of(dst)}: file already exists")
    import shutil
    shutil.copyfile(_path_of(src), _path_of(dst))


@_translating
def rename(src, dst, overwrite=False):
    """Gives a file another name. AlreadyExistsError where that exists and overwrite is False."""
    if not overwrite and exists(dst):
        raise _errors.AlreadyExistsError(f"{_path_of(dst)}: file already exists")
    _os.replace(_path_of(src), _path_of(dst))


@_translating
def stat(path):
    """os.stat(path), whose st_size is `length`, too."""
    found = _os.stat(_path_of(path))
    return _types.SimpleNamespace(length=found.st_size, mtime_nsec=found.st_mtime_ns, is_directory=isdir(path))


def join(path, *paths):
    """The parts of a path with separators between them."""
    return _os.path.join(path, *paths)


@_translating
def walk(top, topdown=True, onerror=None):
    """(folder, folders in it, files in it) of a folder and those inside."""
    return list(_os.walk(_path_of(top), topdown, onerror))


__all__ = ["GFile", "copy", "exists", "glob", "isdir", "join", "listdir", "makedirs", "mkdir", "remove", "rename", "rmtree", "stat",
           "walk"]
