"""Prices in 20,640 blocks of California and 8 features of each: Keras' file california_housing.npz."""
from tapedeck._core.public import public
from tapedeck.keras._datasets import splits as _splits


@public("keras.datasets.california_housing.load_data")
def load_data(version="large", path="california_housing.npz", test_split=0.2, seed=113):
    """((x_train, y_train), (x_test, y_test)), shuffled by the seed. version: "large", or "small", the first 600 blocks. The other
    arguments and the errors are boston_housing.load_data's."""
    if version not in ("large", "small"):
        raise ValueError(f"california_housing: version is {version!r}; must be 'large' or 'small'")
    return _splits.load("california_housing", path, test_split, seed, 600 if version == "small" else None)
