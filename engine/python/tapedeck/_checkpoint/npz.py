"""NumPy's .npz archives, read without running what they hold, and without more memory than their bytes need.

Sources: "Format version numbering" in the documentation of numpy.lib.format; deflate's ratio: zlib's FAQ.
"""
import contextlib
import math
import os
import re
import struct
import sys
import zipfile
import zlib

import numpy as np

from tapedeck._checkpoint.pickled_lists import rows_of

MOST_BYTES = 1 << 31  # of an array of a data set
_MOST_PICKLED = 1 << 26  # bytes of an array of lists; Keras' largest has 16 million
_LONGEST_HEADER = 10_000  # bytes, as NumPy has it
_RATIO = 1032  # the most bytes that a byte of deflate can become
_PART = 1 << 20  # bytes that are read at once
_MOST_AXES = 32
_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    r"\{\s*'descr'\s*:\s*'(?P<dtype>[<>|=]?(?:[biufcSU?]\d{0,9}|O\d?))'\s*,"
    r"\s*'fortran_order'\s*:\s*(?P<fortran>True|False)\s*,"
    r"\s*'shape'\s*:\s*\((?P<shape>(?:\s*\d{1,19}L?\s*,)*(?:\s*\d{1,19}L?)?)\s*\)\s*,?\s*\}\s*")


def array_of_lists(rows):
    """An array of objects, each element of which is one of the lists, also where all have the same length."""
    array = np.empty(len(rows), object)
    for place, row in enumerate(rows):
        array[place] = row
    return array


class Archive:
    """An open archive. path: for messages. most_bytes: of an array that is read. lists: whether arrays of lists are read."""

    def __init__(self, path, most_bytes=MOST_BYTES, lists=True):
        self.path, self._most_bytes, self._lists = path, most_bytes, lists
        if os.path.exists(path) and not os.path.isfile(path):
            raise ValueError(f"{path}: is not a file")
        with self._errors():
            try:
                self._file = zipfile.ZipFile(path)
            except (ValueError, struct.error) as error:  # offsets before the file's start, extra fields that are cut off
                raise zipfile.BadZipFile(str(error)) from error
        self._members = {info.filename: info for info in self._file.infolist()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    @property
    def names(self):
        """The arrays' names, in the file's order."""
        return [name.removesuffix(".npy") for name in self._members if name.endswith(".npy")]

    def read(self, name):
        """The array of that name. ValueError naming the file and what is wrong with it."""
        info = self._members.get(f"{name}.npy")
        if info is None:
            raise ValueError(f"{self.path}: has no array {name!r}; it has {sorted(self._members)[:20]}")
        with self._errors():
            try:
                return self._array(info)
            except (ValueError, MemoryError) as error:
                raise ValueError(f"{self.path}: {info.filename}: {str(error) or 'there is not enough memory for it'}") from error

    def _array(self, info):
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"it is compressed by method {info.compress_type}; NumPy deflates")
        if info.file_size > (info.compress_size + 1) * _RATIO:
            raise ValueError(f"{info.file_size} bytes cannot be packed into {info.compress_size}")
        if info.file_size > self._most_bytes:
            raise ValueError(f"it would have {info.file_size} bytes; at most {self._most_bytes} are read")
        with self._file.open(info) as stream:
            dtype, shape, order = _header(stream)
            begin = stream.tell()
            left = info.file_size - begin
            if dtype.hasobject:
                if not self._lists:
                    raise ValueError("it holds lists, where numbers are needed")
                if len(shape) != 1:
                    raise ValueError(f"its lists have shape {shape}; they have one axis")
                if left > _MOST_PICKLED:
                    raise ValueError(f"its lists have {left} bytes; at most {_MOST_PICKLED} are read")
                return array_of_lists(rows_of(_values(stream, left, np.dtype(np.uint8)).tobytes(), shape[0]))
            count = math.prod(shape)
            if count * dtype.itemsize != left:
                raise ValueError(f"shape {shape} of {dtype} needs {count * dtype.itemsize} bytes; {left} are there")
            return _checked(_values(stream, left, dtype)).reshape(shape, order=order)

    @contextlib.contextmanager
    def _errors(self):
        try:
            yield
        except FileNotFoundError:
            raise
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, OverflowError) as error:
            raise ValueError(f"{self.path}: not a whole .npz file: {error}") from error


def _values(stream, count, dtype):
    """What the next `count` bytes are as that dtype. Their memory is touched as they come."""
    data = np.empty(count, np.uint8)
    view, done = memoryview(data), 0
    while done < count:
        got = stream.readinto(view[done:done + _PART])
        if not got:
            raise ValueError(f"it ends after {done} of {count} bytes")
        done += got
    if stream.read(1):  # also makes the archive compare the checksum
        raise ValueError(f"more than {count} bytes are there")
    return data.view(dtype)


def _checked(array):
    """The array. ValueError where its bytes are none of the dtype's values."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ValueError("a bool is neither 0 nor 1")
    if array.dtype.kind == "U" and array.size and array.view(array.dtype.byteorder + "u4").max() > sys.maxunicode:
        raise ValueError("a string holds an invalid code point")
    return array


def _header(stream):
    """(dtype, shape, order) of an array's header; the stream is after it."""
    magic = stream.read(8)
    if magic[:6] != _MAGIC or magic[6:] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise ValueError(f"it begins with {magic.hex() or 'nothing'}, as no array does")
    size = 2 if magic[6] == 1 else 4
    length = int.from_bytes(stream.read(size), "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header would have {length} bytes; at most {_LONGEST_HEADER} are read")
    text = stream.read(length).decode("latin1")
    found = _HEADER.fullmatch(text)
    if len(text) != length or not found:
        raise ValueError(f"its header is none of an array of numbers, texts or lists: {text.strip()!r:.200}")
    shape = tuple(int(extent.strip().rstrip("L")) for extent in found["shape"].split(",") if extent.strip())
    if len(shape) > _MOST_AXES or any(extent >= 1 << 63 for extent in shape):
        raise ValueError(f"its header's shape is none of an array: {shape!r:.200}")
    try:
        dtype = np.dtype(found["dtype"])
    except TypeError:
        raise ValueError(f"its header names the dtype {found['dtype']!r}, which NumPy does not have") from None
    if not dtype.itemsize:
        raise ValueError(f"its header names the dtype {found['dtype']!r} of no bytes")
    return dtype, shape, "F" if found["fortran"] == "True" else "C"
