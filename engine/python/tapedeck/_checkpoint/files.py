"""Files of named tensors: safetensors, which other tools read, with strings and complex128 packed into what the format has."""
import json
import os

import numpy as np

from tapedeck import _engine
from tapedeck._engine import DataLossError, NotFoundError, UnimplementedError

EXTENSION = ".safetensors"
# Keys of a file's metadata. Strings: {name: shape}; complex numbers: a list of names.
_STRINGS = "tapedeck.strings"
_COMPLEX = "tapedeck.complex128"
_OTHER_FORMATS = {".h5": "HDF5", ".hdf5": "HDF5", ".keras": "Keras' archives"}


def path_text(path):
    """A path as text. TypeError naming the value otherwise."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise TypeError(f"a checkpoint's path is {path!r}; needs a str, bytes or a pathlib.Path") from None


def file_path(path):
    """Where a checkpoint of that name is written: with the extension. UnimplementedError for a name of another format."""
    path = path_text(path)
    other = _OTHER_FORMATS.get(os.path.splitext(path)[1].lower())
    if other:
        raise UnimplementedError(f"{path}: Tapedeck does not read or write {other}; checkpoints are safetensors files. Leave the "
                                 f"extension out, or end the name with {EXTENSION}")
    return path if path.endswith(EXTENSION) else path + EXTENSION


def existing_file(path):
    """The file that a checkpoint's path means, with the extension or without. NotFoundError where there is none;
    UnimplementedError for a checkpoint of TensorFlow's own format."""
    wanted = file_path(path)
    if os.path.isfile(wanted):
        return wanted
    bare = path_text(path)
    if os.path.exists(bare + ".index") or bare.endswith(".index"):
        raise UnimplementedError(f"{bare}: this is a checkpoint of TensorFlow's own format (.index and .data files), which "
                                 "Tapedeck does not read. Write it as safetensors with TensorFlow, or train again")
    if os.path.isfile(bare):
        return bare
    raise NotFoundError(f"there is no checkpoint {bare}: no file {wanted}")


def write_tensors(path, tensors, metadata=None):
    """Writes {name: tensor or variable} to one file, which appears when it is whole; missing folders are made.

    path: with the extension ".safetensors" or without. metadata: {text: text}, kept beside the tensors.
    Returns: the file's path.
    Errors: TypeError for values that are not tensors; InvalidArgumentError for names that are not text; ResourceExhaustedError
    where the disk is full, PermissionDeniedError, FailedPreconditionError. Then the file is what it was.
    """
    path = file_path(path)
    packed, strings, complexes = {}, {}, []
    for name, value in tensors.items():
        kind = value.dtype.name if isinstance(value, (_engine.Tensor, _engine.Variable)) else None
        if kind == "string":
            strings[name] = list(value.shape)
            value = _packed_strings(value)
        elif kind == "complex128":
            complexes.append(name)
            array = np.ascontiguousarray(value.numpy()).reshape(tuple(value.shape))
            value = _engine.constant(np.stack([array.real, array.imag], -1), None, None)
        packed[name] = value
    metadata = dict(metadata or {})
    if strings:
        metadata[_STRINGS] = json.dumps(strings)
    if complexes:
        metadata[_COMPLEX] = json.dumps(complexes)
    _engine.write_safetensors(path, packed, metadata)
    return path


def read_tensors(path):
    """{name: tensor} of a file that write_tensors or another tool wrote, in the file's order.

    Errors: NotFoundError where there is no file; DataLossError where it is not whole, saying what is wrong.
    """
    file = TensorFile(path)
    return {name: file.read(name) for name in file.tensors}


def read_metadata(path):
    """{text: text}: the metadata beside the tensors of a file. Errors: those of read_tensors."""
    return TensorFile(path).metadata


class TensorFile:
    """An open file. tensors: {name: (dtype's name, shape)}; metadata: {text: text}. The file stays readable where it is removed."""

    def __init__(self, path):
        self.path = existing_file(path)
        self._file = _engine.SafetensorsFile(self.path)
        self.metadata = self._file.metadata
        self.tensors = self._file.tensors
        strings = self._packed(_STRINGS, dict)
        complexes = self._packed(_COMPLEX, list)
        self._strings = {name: _checked_shape(self.path, name, shape) for name, shape in strings.items()}
        self._complex = set()
        for name, shape in self._strings.items():
            if self.tensors[name][0] != "uint8" or len(self.tensors[name][1]) != 1:
                raise DataLossError(f"{self.path}: tensor {name!r}: strings are packed as one axis of uint8; it is "
                                    f"{self.tensors[name]}")
            self.tensors[name] = ("string", shape)
        for name in complexes:
            dtype, shape = self.tensors[name]
            if dtype != "float64" or shape[-1:] != (2,):
                raise DataLossError(f"{self.path}: tensor {name!r}: complex numbers are packed as pairs of float64; it is {dtype} "
                                    f"{shape}")
            self._complex.add(name)
            self.tensors[name] = ("complex128", shape[:-1])

    def _packed(self, key, kind):
        found = parsed(self.metadata.get(key, "{}" if kind is dict else "[]"), f"{self.path}: metadata {key}")
        if type(found) is not kind:
            raise DataLossError(f"{self.path}: metadata {key} is a {type(found).__name__}; must be a {kind.__name__}")
        for name in found:
            if not isinstance(name, str) or name not in self.tensors:
                raise DataLossError(f"{self.path}: metadata {key} names {name!r:.60}, which is not a tensor of the file")
        return found

    def read(self, name):
        """The tensor of that name. Errors: NotFoundError for another name, DataLossError where its bytes are damaged."""
        if name in self._strings:
            return self._unpacked_strings(name)
        value = self._file.read(name)
        if name in self._complex:
            array = value.numpy()
            return _engine.constant(np.ascontiguousarray(array).view(np.complex128).reshape(array.shape[:-1]), None, None)
        return value

    def _unpacked_strings(self, name):
        raw = self._file.read(name).numpy().tobytes()
        shape = self._strings[name]
        count = _product(shape)
        where = f"{self.path}: tensor {name!r}"
        if count * 8 > len(raw):
            raise DataLossError(f"{where}: {count} strings of shape {shape} need more than its {len(raw)} bytes")
        lengths = [int(length) for length in np.frombuffer(raw, "<u8", count)]
        if sum(lengths) != len(raw) - count * 8:
            raise DataLossError(f"{where}: the strings' lengths add up to {sum(lengths)}; it has {len(raw) - count * 8} bytes of "
                                "them")
        values, place = np.empty(count, object), count * 8
        for index, length in enumerate(lengths):
            values[index] = raw[place:place + length]
            place += length
        return _engine.constant(values.reshape(shape), None, None)


def parsed(text, where):
    """What JSON holds. DataLossError for any other value, with `where` in front."""
    try:
        return json.loads(text)
    except RecursionError:
        raise DataLossError(f"{where}: is nested too deeply") from None
    except ValueError as error:
        raise DataLossError(f"{where}: is not JSON: {error}") from None


def _packed_strings(value):
    # Lengths first, 8 bytes each, then all letters.
    array = np.asarray(value.numpy(), object).reshape(-1)
    strings = [each if isinstance(each, bytes) else str(each).encode() for each in array]
    lengths = np.array([len(each) for each in strings], "<u8")
    return _engine.constant(np.frombuffer(lengths.tobytes() + b"".join(strings), np.uint8), "uint8", None)


def _checked_shape(path, name, shape):
    if type(shape) is not list or len(shape) > 32 or any(type(extent) is not int or not 0 <= extent < 2**62 for extent in shape):
        raise DataLossError(f"{path}: tensor {name!r}: {str(shape)[:60]} is not a shape")
    return tuple(shape)


def _product(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product
