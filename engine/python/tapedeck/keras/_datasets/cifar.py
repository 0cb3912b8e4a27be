"""CIFAR's files in their binary version, or as .npz.

Source: A. Krizhevsky, "The CIFAR-10 dataset", section "Binary version": rows of label bytes and 3072 bytes, 32 × 32 red, green and
blue ones.
"""
import os

import numpy as np

from tapedeck.keras._datasets import archives

_PIXELS = 3 * 32 * 32


def _rows(path, labels):
    data = np.fromfile(path, np.uint8)
    if len(data) == 0 or len(data) % (labels + _PIXELS):
        raise ValueError(f"{path}: {len(data)} bytes are not a whole number of rows of {labels + _PIXELS}")
    rows = data.reshape(-1, labels + _PIXELS)
    return rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, :labels]


def load(name, binary, train, test, labels, column):
    """((x_train, y_train), (x_test, y_test)): images of bytes (count, 32, 32, 3), labels (count, 1). binary: the folder of the
    binary version, with the files train and test, each row of which begins with so many labels, of which one column is taken."""
    where = os.path.join(archives.folder(), binary)
    if not os.path.isdir(where):
        try:
            return archives.pairs(name, f"{name}.npz")
        except FileNotFoundError:
            raise FileNotFoundError(
                f"the data set {name} was not found: put its binary version, the folder {binary}, or an {name}.npz with the arrays "
                f"x_train, "
                f"y_train, x_test and y_test into {archives.folder()}, or name the folder that has it in the environment variable "
                "TAPEDECK_DATASETS") from None
    parts = [[_rows(os.path.join(where, file), labels) for file in files] for files in (train, test)]
    return tuple((np.ascontiguousarray(np.concatenate([x for x, _ in part])),
                  np.concatenate([y for _, y in part])[:, column:column + 1])
                 for part in parts)
