"""Prices of 506 houses in Boston and 13 features of each: Keras' file boston_housing.npz."""
from tapedeck._core.public import public
from tapedeck.keras._datasets import splits as _splits


@public("keras.datasets.boston_housing.load_data")
def load_data(path="boston_housing.npz", test_split=0.2, seed=113):
    """((x_train, y_train), (x_test, y_test)), shuffled by the seed. test_split: the part that is for testing. FileNotFoundError
    saying where the file is looked for; ValueError for a damaged one."""
    return _splits.load("boston_housing", path, test_split, seed)
