"""Data sets in the folder that TAPEDECK_DATASETS names, or ~/.keras/datasets: Keras' .npz files, read without running what they
hold."""
import io
import json
import os
import pickle
import zipfile
import zlib

import numpy as np

# What an array of lists, which NumPy pickles, is made of.
_HARMLESS = {("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"), ("numpy", "ndarray"),
             ("numpy", "dtype"), ("_codecs", "encode")}


def _unpickled(file):
    """What lists and numbers were pickled into the file. ValueError for anything else."""
    class Lists(pickle.Unpickler):
        def find_class(self, module, name):
            if (module, name) not in _HARMLESS:
                raise ValueError(f"it holds {module}.{name}, and may hold lists and numbers only")
            return super().find_class(module, name)

    try:
        return Lists(file).load()
    except (pickle.UnpicklingError, EOFError, KeyError, IndexError, AttributeError, TypeError, OverflowError, MemoryError) as error:
        raise ValueError(f"it is no list of numbers: {error}") from error


def folder():
    """Where data sets are looked for."""
    return os.environ.get("TAPEDECK_DATASETS") or os.path.join(os.path.expanduser("~"), ".keras", "datasets")


def path_of(name, path):
    """The file's path: `path` where that is one, else the file of that name in the folder. FileNotFoundError saying what to do."""
    for candidate in (path, os.path.join(folder(), path)):
        if os.path.isfile(candidate):
            return candidate
    raise FileNotFoundError(
        f"the data set {name} is not here: put its file {os.path.basename(path)}, as Keras stores it, into {folder()}, "
        "or name the folder that has it in the environment variable TAPEDECK_DATASETS")


def _array(path, archive, member):
    with archive.open(member) as stream:
        file = io.BytesIO(stream.read())
    try:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
        if not dtype.hasobject:
            file.seek(0)
            return np.load(file, allow_pickle=False)
        array = _unpickled(file)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: {member}: {error}") from error
    if not isinstance(array, np.ndarray) or array.shape != shape:
        raise ValueError(f"{path}: {member}: no array of shape {shape}")
    return array


def arrays(path, *names):
    """The arrays of these names in an .npz file. ValueError naming the file and what is wrong."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
            missing = [name for name in names if f"{name}.npy" not in members]
            if missing:
                raise ValueError(f"{path}: has no array {missing[0]!r}; it has {sorted(members)}")
            return [_array(path, archive, f"{name}.npy") for name in names]
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path}: not a whole .npz file: {error}") from error


def pairs(name, path):
    """((x_train, y_train), (x_test, y_test)) of an .npz file with arrays of these names."""
    x_train, y_train, x_test, y_test = arrays(path_of(name, path), "x_train", "y_train", "x_test", "y_test")
    return (x_train, y_train), (x_test, y_test)


def sequences(name, path, num_words, skip_top, maxlen, seed, start_char, oov_char, index_from, test_split=None):
    """Sequences of word numbers with labels, as imdb and reuters have them: shuffled, shifted and cut as asked for."""
    found = path_of(name, path)
    generator = np.random.RandomState(seed)
    if test_split is None:
        parts = arrays(found, "x_train", "y_train", "x_test", "y_test")
        parts = [part for x, y in (parts[:2], parts[2:]) for part in _shuffled(x, y, generator)]
        x, y, count = np.concatenate(parts[::2]), np.concatenate(parts[1::2]), len(parts[0])
    else:
        x, y = _shuffled(*arrays(found, "x", "y"), generator)
        count = int(len(x) * (1 - test_split))
    prepared = [[start_char, *(word + index_from for word in words)] if start_char is not None
                else [word + index_from for word in words]
                for words in x]
    train = _chosen(prepared[:count], y[:count], num_words, skip_top, maxlen, oov_char)
    return train, _chosen(prepared[count:], y[count:], num_words, skip_top, maxlen, oov_char)


def _shuffled(x, y, generator):
    order = np.arange(len(x))
    generator.shuffle(order)
    return x[order], y[order]


def _chosen(rows, labels, num_words, skip_top, maxlen, oov_char):
    if maxlen is not None:
        kept = [place for place, row in enumerate(rows) if len(row) < maxlen]
        rows, labels = [rows[place] for place in kept], labels[kept]
    limit = max((max(row) for row in rows if row), default=0) + 1 if num_words is None else num_words

    def known(word):
        return skip_top <= word < limit

    if oov_char is None:
        rows = [[word for word in row if known(word)] for row in rows]
    else:
        rows = [[word if known(word) else oov_char for word in row] for row in rows]
    out = np.empty(len(rows), object)
    out[:] = rows
    return out, labels


def word_index(name, path):
    """A dict of words to numbers, from a JSON file."""
    with open(path_of(name, path), encoding="utf-8") as file:
        return json.load(file)
