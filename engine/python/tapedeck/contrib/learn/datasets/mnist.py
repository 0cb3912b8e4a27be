"""MNIST in batches, as TensorFlow 1's tutorials read it: `from tensorflow.examples.tutorials.mnist import input_data`."""
import os

import numpy as np

from tapedeck._core import dtypes
from tapedeck._core.public import public
from tapedeck.contrib.learn.datasets.base import Datasets
from tapedeck.keras._datasets import idx, mnist

public("contrib.learn.datasets.mnist.Datasets")(Datasets)


@public("contrib.learn.datasets.mnist.dense_to_one_hot")
def dense_to_one_hot(labels_dense, num_classes):
    """Labels as rows with a 1 at each one's place: float64, (count, num_classes)."""
    return np.eye(num_classes)[labels_dense]


@public("contrib.learn.datasets.mnist.DataSet")
class DataSet:
    """Images and labels, which next_batch() gives out again and again.

    images: (count, rows, columns, 1), bytes; labels: (count,) or (count, classes); one_hot: how labels of fake_data look; dtype:
    tf.float32 scales the images to 0 … 1, tf.uint8 leaves them; reshape: whether images become rows; seed: of the order.
    Errors: TypeError for another dtype; ValueError for another number of labels than of images.
    """

    def __init__(self, images, labels, fake_data=False, one_hot=False, dtype=dtypes.float32, reshape=True, seed=None):
        dtype = dtypes.as_dtype(dtype)
        if dtype.name not in ("uint8", "float32"):
            raise TypeError(f"DataSet: dtype is {dtype.name}; needs uint8 or float32")
        self._fake, self._one_hot = fake_data, one_hot
        self._random = np.random.default_rng(seed)
        if fake_data:
            images = np.ones([10000, 784], np.float32)
            labels = np.tile(np.eye(10)[:1], [10000, 1]) if one_hot else np.zeros(10000, np.int64)
        else:
            if len(images) != len(labels):
                raise ValueError(f"DataSet: there are {len(images)} images and {len(labels)} labels")
            if reshape:
                images = np.reshape(images, [len(images), -1])
            if dtype == dtypes.float32:
                images = np.multiply(images, np.float32(1 / 255), dtype=np.float32)
        self._images, self._labels = images, labels
        self._done, self._place = 0, None

    @property
    def images(self):
        """The images, an array."""
        return self._images

    @property
    def labels(self):
        """The labels, an array."""
        return self._labels

    @property
    def num_examples(self):
        """How many there are."""
        return len(self._images)

    @property
    def epochs_completed(self):
        """How often next_batch() came to the end."""
        return self._done

    def _order(self, shuffle):
        order = np.arange(self.num_examples)
        if shuffle:
            self._random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """(images, labels) of the next examples, in a new order after each whole round with shuffle; the rest of a round and the
        beginning of the next make one batch. ValueError for more than there are."""
        if batch_size > self.num_examples:
            raise ValueError(f"next_batch: batch_size is {batch_size}; there are {self.num_examples} examples")
        if self._place is None:
            self._place = 0
            self._order(shuffle)
        start, self._place = self._place, self._place + batch_size
        images, labels = self._images[start:self._place], self._labels[start:self._place]
        missing = batch_size - len(images)
        if missing:
            self._done += 1
            self._order(shuffle)
            self._place = missing
            images, labels = (np.concatenate(pair) for pair in ((images, self._images[:missing]), (labels, self._labels[:missing])))
        return images, labels


def _files(folder):
    """The four arrays of a folder that has them, else those that tf.keras.datasets.mnist finds."""
    if os.path.isfile(os.path.join(os.fspath(folder), "train-images-idx3-ubyte.gz")):
        return idx.load_pairs(folder)
    return mnist.load_data()


@public("contrib.learn.datasets.mnist.read_data_sets")
def read_data_sets(train_dir, fake_data=False, one_hot=False, dtype=dtypes.float32, reshape=True, validation_size=5000, seed=None,
                   source_url=None):
    """Datasets(train, validation, test) of MNIST's four files in the folder train_dir; where they are not there, of what
    tf.keras.datasets.mnist.load_data() finds. Nothing is downloaded.

    fake_data: made-up examples instead; one_hot: labels as rows of 0 and 1; validation_size: how many of the first training
    examples are for validation; dtype, reshape, seed: as those of DataSet.
    Errors: FileNotFoundError naming the package that has the files; ValueError for a validation_size beyond the examples.
    """
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        return Datasets(*(DataSet([], [], True, one_hot, **options) for _ in range(3)))
    (images, labels), (test_images, test_labels) = _files(train_dir)
    if not 0 <= validation_size <= len(images):
        raise ValueError(f"Validation size should be between 0 and {len(images)}. Received: {validation_size}.")
    if one_hot:
        labels, test_labels = dense_to_one_hot(labels, 10), dense_to_one_hot(test_labels, 10)
    parts = ((images[validation_size:], labels[validation_size:]), (images[:validation_size], labels[:validation_size]),
             (test_images, test_labels))
    return Datasets(*(DataSet(each[..., None], names, **options) for each, names in parts))


@public("contrib.learn.datasets.mnist.load_mnist")
def load_mnist(train_dir="MNIST-data"):
    """read_data_sets(train_dir)."""
    return read_data_sets(train_dir)
