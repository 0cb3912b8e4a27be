"""tf.io.gfile and tf.gfile: files and folders of this machine, by TensorFlow's names.

Errors: tf.errors.NotFoundError for what is not there, AlreadyExistsError, PermissionDeniedError and FailedPreconditionError as in
TensorFlow, each with the path.
"""
import contextlib
import errno
import functools
import glob as _glob
import os
import shutil
import typing

from tapedeck._core import errors
from tapedeck._core.public import public
from tapedeck._core.refusals import shown

_KINDS = {errno.ENOENT: "NotFoundError", errno.EEXIST: "AlreadyExistsError", errno.EACCES: "PermissionDeniedError",
          errno.EPERM: "PermissionDeniedError", errno.ENOSPC: "ResourceExhaustedError"}


def _path(what, value):
    """A path, of text, bytes, a path object or a string tensor. TypeMismatchError for others: the system takes integers for open
    files, and would close them."""
    if hasattr(value, "numpy"):
        value = value.numpy()
    try:
        return os.fspath(value)
    except TypeError:
        raise errors.TypeMismatchError(f"{what}: {shown(value)} is not a path") from None


@contextlib.contextmanager
def _named(what, path):
    """What the system refuses becomes TensorFlow's error with the path in it."""
    try:
        yield
    except OSError as error:
        kind = getattr(errors, _KINDS.get(error.errno, "FailedPreconditionError"))
        raise kind(f"{what}: {os.fspath(path)}; {error.strerror}") from error


@public("gfile.GFile", "gfile.FastGFile", "gfile.Open")
class GFile:
    """A file, opened at the first reading or writing. mode: "r", "w", "a", each with "b" for bytes, else UTF-8 text, or with "+".
    InvalidArgumentError for another mode, PermissionDeniedError where a file is not open for what is asked of it."""

    def __init__(self, name, mode="r"):
        if not isinstance(mode, str) or mode.replace("b", "").replace("+", "", 1) not in ("r", "w", "a"):
            raise errors.InvalidArgumentError(f"GFile: mode is {mode!r}; needs 'r', 'w' or 'a', with 'b' or '+' where wanted")
        self._name, self._mode, self._file = _path("GFile", name), mode, None

    def _open(self):
        if self._file is None:
            with _named("GFile", self._name):
                encoding = None if "b" in self._mode else "utf-8"
                self._file = open(self._name, self._mode, encoding=encoding)  # close() closes it
        return self._file

    def _opened_for(self, letters, what):
        if not set(letters) & set(self._mode):
            raise errors.PermissionDeniedError(f"GFile: {self._name} is not open for {what}; its mode is {self._mode!r}")
        return self._open()

    @property
    def name(self):
        """The path."""
        return self._name

    @property
    def mode(self):
        """The mode that it was opened with."""
        return self._mode

    def read(self, n=-1):
        """Reads n characters, or bytes in a binary mode; the rest of the file for −1."""
        return self._opened_for("r+", "reading").read(n)

    def readline(self):
        """Reads the next line, including its line end; empty at the end of the file."""
        return self._opened_for("r+", "reading").readline()

    def readlines(self):
        """Reads the remaining lines, as a list."""
        return self._opened_for("r+", "reading").readlines()

    def write(self, file_content):
        """Appends text or bytes."""
        self._opened_for("wa+", "writing").write(file_content)

    def seek(self, offset=None, whence=0, position=None):
        """Moves to the offset from the file's start (0), from here (1) or from its end (2)."""
        self._open().seek(position if offset is None else offset, whence)

    def tell(self):
        """Where the next reading or writing begins."""
        return self._open().tell()

    def size(self):
        """The file's size in bytes."""
        self.flush()
        return stat(self._name).length

    def flush(self):
        """Flushes buffered data to the operating system."""
        if self._file is not None:
            self._file.flush()

    def close(self):
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self):
        if "r" not in self._mode:
            self._open()
        return self

    def __exit__(self, *error):
        self.close()

    def __iter__(self):
        return iter(self._opened_for("r+", "reading"))

    def __next__(self):
        return next(self._opened_for("r+", "reading"))


@public("gfile.exists")
def exists(path):
    """True if a file or a folder of that path exists."""
    return os.path.exists(_path("exists", path))


@public("gfile.isdir")
def isdir(path):
    """Whether the path is a folder."""
    return os.path.isdir(_path("isdir", path))


@public("gfile.join")
def join(path, *paths):
    """Joins path components."""
    return os.path.join(*(_path("join", each) for each in (path, *paths)))


@public("gfile.listdir")
def listdir(path):
    """The names of the folder's entries, as a list."""
    path = _path("listdir", path)
    with _named("listdir", path):
        return os.listdir(path)


@public("gfile.glob")
def glob(pattern):
    """The paths that match the pattern, or any of a list of patterns, sorted."""
    one = isinstance(pattern, (str, bytes, os.PathLike)) or getattr(pattern, "ndim", 1) == 0 or not hasattr(pattern, "__iter__")
    patterns = [pattern] if one else pattern
    return [path for each in patterns for path in sorted(_glob.glob(_path("glob", each)))]


@public("gfile.mkdir")
def mkdir(path):
    """Creates the folder unless it exists. Its parent must exist."""
    path = _path("mkdir", path)
    with _named("mkdir", path), contextlib.suppress(FileExistsError):
        os.mkdir(path)


@public("gfile.makedirs")
def makedirs(path):
    """Creates the folder and its missing parents."""
    path = _path("makedirs", path)
    with _named("makedirs", path):
        os.makedirs(path, exist_ok=True)


@public("gfile.remove")
def remove(path):
    """Removes the file."""
    path = _path("remove", path)
    with _named("remove", path):
        os.remove(path)


@public("gfile.rmtree")
def rmtree(path):
    """Removes the folder and its contents."""
    path = _path("rmtree", path)
    with _named("rmtree", path):
        shutil.rmtree(path)


@public("gfile.copy")
def copy(src, dst, overwrite=False):
    """Copies the file src to dst. AlreadyExistsError if dst exists and overwrite is False."""
    src, dst = _path("copy", src), _path("copy", dst)
    if not overwrite and os.path.exists(dst):
        raise errors.AlreadyExistsError(f"copy: {os.fspath(dst)} exists; overwrite is False")
    with _named("copy", src):
        shutil.copyfile(src, dst)


@public("gfile.rename")
def rename(src, dst, overwrite=False):
    """Renames src to dst. AlreadyExistsError if dst exists and overwrite is False."""
    src, dst = _path("rename", src), _path("rename", dst)
    if not overwrite and os.path.exists(dst):
        raise errors.AlreadyExistsError(f"rename: {os.fspath(dst)} exists; overwrite is False")
    with _named("rename", src):
        os.replace(src, dst)


@public("gfile.stat")
def stat(path):
    """The FileStatistics of the file or folder. NotFoundError if it does not exist."""
    path = _path("stat", path)
    with _named("stat", path):
        found = os.stat(path)
    return FileStatistics(found.st_size, found.st_mtime_ns, isdir(path))


@public("gfile.FileStatistics")
class FileStatistics(typing.NamedTuple):
    """length: the bytes; mtime_nsec: when it was changed last, in nanoseconds since 1970; is_directory: whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


@public("gfile.walk")
def walk(top, topdown=True, onerror=None):
    """(folder, names of folders, names of files) for top and each folder below it, as os.walk."""
    return os.walk(_path("walk", top), topdown, onerror)


def _older(called, function, **names):
    """The function under TensorFlow 1's name, with its names of arguments."""
    @functools.wraps(function)
    def older(*args, **kwargs):
        return function(*args, **{names.get(name, name): value for name, value in kwargs.items()})

    public(f"gfile.{called}")(older)


_older("Copy", copy, oldpath="src", newpath="dst")
_older("Rename", rename, oldname="src", newname="dst")
for _called, _function in {"DeleteRecursively": rmtree, "IsDirectory": isdir, "ListDirectory": listdir, "MakeDirs": makedirs,
                           "MkDir": mkdir}.items():
    _older(_called, _function, dirname="path")
for _called, _function in {"Exists": exists, "Remove": remove, "Stat": stat}.items():
    _older(_called, _function, filename="path")
_older("Glob", glob, filename="pattern")
_older("Walk", walk, in_order="topdown")
