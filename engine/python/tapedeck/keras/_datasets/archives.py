"""Data sets in the folder that TAPEDECK_DATASETS names, or ~/.keras/datasets: Keras' .npz files, read without running what they
hold."""
import json
import os

import numpy as np

from tapedeck._checkpoint.npz import Archive, array_of_lists


def folder():
    """Where data sets are looked for."""
    return os.environ.get("TAPEDECK_DATASETS") or os.path.join(os.path.expanduser("~"), ".keras", "datasets")


def path_of(name, path):
    """The file's path: `path` where that is one, else the file of that name in the folder. FileNotFoundError saying what to do."""
    for candidate in (path, os.path.join(folder(), path)):
        if os.path.isfile(candidate):
            return candidate
    raise FileNotFoundError(
        f"the data set {name} was not found: put its file {os.path.basename(path)}, as Keras stores it, into {folder()}, "
        "or name the folder that has it in the environment variable TAPEDECK_DATASETS")


def arrays(path, *names):
    """The arrays of these names, inputs and targets in turn, in an .npz file. ValueError naming the file and what is wrong, also
    where there is not a target for each input."""
    with Archive(path) as archive:
        found = [archive.read(name) for name in names]
    for x, y in zip(found[::2], found[1::2]):
        if x.ndim < 1 or y.ndim < 1 or len(x) != len(y):
            raise ValueError(f"{path}: has inputs of shape {x.shape} and targets of shape {y.shape}; needs a target for each input")
    return found


def pairs(name, path):
    """((x_train, y_train), (x_test, y_test)) of an .npz file with arrays of these names."""
    x_train, y_train, x_test, y_test = arrays(path_of(name, path), "x_train", "y_train", "x_test", "y_test")
    return (x_train, y_train), (x_test, y_test)


def sequences(name, path, num_words, skip_top, maxlen, seed, start_char, oov_char, index_from, test_split=None):
    """Sequences of word numbers with labels, as imdb and reuters have them: shuffled, shifted and cut as asked for."""
    found = path_of(name, path)
    generator = np.random.RandomState(seed)
    if test_split is None:
        parts = _lists(found, arrays(found, "x_train", "y_train", "x_test", "y_test"))
        parts = [part for x, y in (parts[:2], parts[2:]) for part in _shuffled(x, y, generator)]
        x, y, count = np.concatenate(parts[::2]), np.concatenate(parts[1::2]), len(parts[0])
    else:
        x, y = _shuffled(*_lists(found, arrays(found, "x", "y")), generator)
        count = int(len(x) * (1 - test_split))
    prepared = [[start_char, *(word + index_from for word in words)] if start_char is not None
                else [word + index_from for word in words]
                for words in x]
    train = _chosen(prepared[:count], y[:count], num_words, skip_top, maxlen, oov_char)
    return train, _chosen(prepared[count:], y[count:], num_words, skip_top, maxlen, oov_char)


def _lists(path, parts):
    """The parts, whose inputs are lists of numbers. ValueError naming the file for others."""
    for x in parts[::2]:
        if not (x.dtype == object or x.ndim == 2 and x.dtype.kind in "iu"):
            raise ValueError(f"{path}: has inputs of shape {x.shape} of {x.dtype}; needs lists of word numbers")
    return parts


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
    return array_of_lists(rows), labels


def word_index(name, path):
    """A dict of words to numbers, from a JSON file. ValueError naming the file where it holds something else."""
    found = path_of(name, path)
    try:
        with open(found, encoding="utf-8") as file:
            words = json.load(file)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{found}: no JSON: {error}") from error
    if type(words) is not dict or not all(type(number) is int for number in words.values()):
        raise ValueError(f"{found}: holds no object of words and integers")
    return words
