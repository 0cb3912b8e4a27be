"""Handwritten digits: 60,000 images to train and 10,000 to test, from the folder TAPEDECK_MNIST, or Keras' file mnist.npz; without
them the images of Fashion-MNIST, which have the same form."""
import os as _os

from tapedeck._core.public import public
from tapedeck.keras._datasets import idx as _idx
from tapedeck.keras._datasets import archives as _archives


@public("keras.datasets.mnist.load_data")
def load_data(path="mnist.npz"):
    """((train images, train labels), (test images, test labels)) as arrays of bytes; images are (count, 28, 28).

    From the folder that TAPEDECK_MNIST names; else from Keras' file `path`, in the folder that TAPEDECK_DATASETS names or in
    ~/.keras/datasets; else from Debian's package dataset-fashion-mnist, whose format is the same. FileNotFoundError naming the
    package where none is there; ValueError for a damaged file.
    """
    if not _os.environ.get("TAPEDECK_MNIST") and any(_os.path.isfile(each)
                                                     for each in (path, _os.path.join(_archives.folder(), path))):
        return _archives.pairs("mnist", path)
    return _idx.load_data()
