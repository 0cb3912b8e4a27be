"""tf.keras.datasets: MNIST's files, whole and damaged."""
import gzip
import os
import struct
import tempfile
import unittest
from unittest import mock

import numpy as np

import tapedeck as tf
from tapedeck.keras._datasets import idx


def idx_bytes(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


images = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(3, 28, 28)
labels = np.array([7, 0, 9], np.uint8)


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        environment = mock.patch.dict(os.environ, {"TAPEDECK_MNIST": self.folder})
        environment.start()
        self.addCleanup(environment.stop)
        for prefix in ("train", "t10k"):
            self.write(f"{prefix}-images-idx3-ubyte.gz", idx_bytes(images))
            self.write(f"{prefix}-labels-idx1-ubyte.gz", idx_bytes(labels))

    def write(self, name, data):
        with gzip.open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    def check(self, pattern, error=ValueError):
        with self.assertRaisesRegex(error, pattern):
            tf.keras.datasets.mnist.load_data()

    def test_load_data_gives_images_and_labels(self):
        for module in (tf.keras.datasets.mnist, tf.keras.datasets.fashion_mnist):
            (x, y), (test_x, test_y) = module.load_data()
            np.testing.assert_array_equal(x, images)
            np.testing.assert_array_equal(y, labels)
            self.assertEqual((test_x.shape, test_y.shape, x.dtype), ((3, 28, 28), (3,), np.uint8))

    def test_damaged_headers(self):
        name = "train-images-idx3-ubyte.gz"
        whole = idx_bytes(images)
        for data, pattern in (
                (b"", f"{name}: not an IDX file: it starts with nothing"),
                (b"\x89PNG\r\n", "not an IDX file: it starts with 89504e47, not 0000"),
                (whole[:2] + b"\x0d" + whole[3:], "elements of type 0x0d; only unsigned bytes"),
                (idx_bytes(labels), "1 axes; 3 are expected"),
                (whole[:9], "header is cut off after 9 bytes"),
                (whole[:-1], r"says 2352 values in shape \(3, 28, 28\), but only 2351 are there"),
                (whole + b"x", "but more are there"),
                (whole[:4] + struct.pack(">3I", 10**6, 28, 28), r"784000000 values in shape \(1000000, 28, 28\), more than \d+ bytes of "
                 "gzip can become"),
                (whole[:4] + b"\xff" * 12, "more than 2147483648 values")):
            self.write(name, data)
            self.check(pattern)

    def test_images_without_labels(self):
        self.write("train-labels-idx1-ubyte.gz", idx_bytes(labels[:2]))
        self.check(r"3 images but 2 labels in the files train-\*")

    def test_every_truncated_and_mutated_file_is_an_error_or_whole(self):
        name = os.path.join(self.folder, "train-labels-idx1-ubyte.gz")
        with open(name, "rb") as file:
            whole = file.read()
        for length in range(len(whole)):
            with open(name, "wb") as file:
                file.write(whole[:length])
            with self.assertRaises(ValueError, msg=length):
                idx.read(name, 1)
        generator = np.random.default_rng(0)
        for _ in range(300):
            damaged = bytearray(whole)
            damaged[generator.integers(len(whole))] ^= 1 << generator.integers(8)
            with open(name, "wb") as file:
                file.write(damaged)
            try:
                np.testing.assert_array_equal(idx.read(name, 1), labels)  # the name or time in gzip's header
            except ValueError as error:
                self.assertIn(name, str(error))

    def test_missing_files_and_folders(self):
        os.remove(os.path.join(self.folder, "t10k-images-idx3-ubyte.gz"))
        self.check("t10k-images-idx3-ubyte.gz", FileNotFoundError)
        with mock.patch.dict(os.environ, {"TAPEDECK_MNIST": "/no/such/folder"}):
            self.check("TAPEDECK_MNIST names /no/such/folder, which is not a folder", FileNotFoundError)
        with mock.patch.dict(os.environ), mock.patch.object(idx, "DEBIAN_FOLDER", "/no/such/place"):
            del os.environ["TAPEDECK_MNIST"]
            self.check("install the Debian package dataset-fashion-mnist", FileNotFoundError)


class Debian(unittest.TestCase):
    @unittest.skipUnless(os.path.isdir(idx.DEBIAN_FOLDER), "needs the Debian package dataset-fashion-mnist")
    def test_fashion_mnist_is_whole(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("TAPEDECK_MNIST", None)
            (x, y), (test_x, test_y) = tf.keras.datasets.fashion_mnist.load_data()
        self.assertEqual((x.shape, y.shape, test_x.shape, test_y.shape), ((60000, 28, 28), (60000,), (10000, 28, 28), (10000,)))
        self.assertEqual(np.bincount(y).tolist(), [6000] * 10)


if __name__ == "__main__":
    unittest.main()
