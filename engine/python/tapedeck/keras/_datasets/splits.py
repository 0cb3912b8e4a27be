"""Data sets of one table, of which a part is for testing."""
import numpy as np

from tapedeck.keras._datasets import archives


def load(name, path, test_split, seed, most=None):
    """((x_train, y_train), (x_test, y_test)) of an .npz file with arrays x and y. ValueError for a test_split outside of [0, 1)."""
    if not 0 <= test_split < 1:
        raise ValueError(f"{name}: test_split is {test_split}; must be at least 0 and below 1")
    x, y = (array[:most] for array in archives.arrays(archives.path_of(name, path), "x", "y"))
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    count = int(len(x) * (1 - test_split))
    return (x[:count], y[:count]), (x[count:], y[count:])
