"""tf.keras.datasets of files in a folder, and tf.keras.utils' data sets of folders and arrays."""
import os
import random
import tempfile
import unittest
from unittest import mock

import numpy as np

import tapedeck as tf
from tapedeck import _engine

datasets = tf.keras.datasets


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        environment = mock.patch.dict(os.environ, {"TAPEDECK_DATASETS": self.folder, "TAPEDECK_MNIST": ""})
        environment.start()
        self.addCleanup(environment.stop)

    def path(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path


def lists(*rows):
    array = np.empty(len(rows), object)
    array[:] = [list(row) for row in rows]
    return array


class Files(Folder):
    def test_what_is_missing_gets_a_sentence_that_names_the_file_and_the_folder(self):
        for load, file in [(datasets.imdb.load_data, "imdb.npz"), (datasets.reuters.load_data, "reuters.npz"),
                           (datasets.boston_housing.load_data, "boston_housing.npz"),
                           (datasets.cifar10.load_data, "cifar-10-batches-bin"),
                           (datasets.cifar100.load_data, "cifar-100-binary"),
                           (datasets.california_housing.load_data, "california_housing.npz")]:
            with self.assertRaisesRegex(FileNotFoundError, f"{file}.*{self.folder}.*TAPEDECK_DATASETS"):
                load()

    def test_sequences_are_shifted_cut_and_limited_as_keras_does(self):
        rows = lists([1, 2], [3, 4, 5], [6])
        np.savez(self.path("imdb.npz"), x_train=rows, y_train=np.array([0, 1, 1]), x_test=lists([7, 8]), y_test=np.array([1]))
        (x, y), (x_test, y_test) = datasets.imdb.load_data()
        self.assertEqual(sorted(zip(x.tolist(), y.tolist())), [([1, 4, 5], 0), ([1, 6, 7, 8], 1), ([1, 9], 1)])
        self.assertEqual((x_test.tolist(), y_test.tolist()), ([[1, 10, 11]], [1]))
        (x, y), _ = datasets.imdb.load_data(num_words=7, maxlen=4, start_char=None, index_from=1)
        self.assertEqual(sorted(zip(x.tolist(), y.tolist())), [([2], 1), ([2, 3], 0), ([4, 5, 6], 1)])
        (x, _), _ = datasets.imdb.load_data(num_words=7, start_char=None, index_from=1, oov_char=None)
        self.assertEqual(sorted(x.tolist()), [[], [2, 3], [4, 5, 6]])

    def test_a_file_that_would_run_something_is_refused(self):
        class Evil:
            def __reduce__(self):
                return os.mkdir, (self.path,)
        evil = Evil()
        evil.path = self.path("made")
        rows = np.empty(1, object)
        rows[0] = evil
        np.savez(self.path("imdb.npz"), x_train=rows, y_train=rows, x_test=rows, y_test=rows)
        with self.assertRaisesRegex(ValueError, r"x_train.npy: it holds posix.mkdir, and may hold lists"):
            datasets.imdb.load_data()
        self.assertFalse(os.path.exists(evil.path))

    def test_changed_files_are_refused_or_read(self):
        draw = random.Random(2)
        np.savez_compressed(self.path("good.npz"), x=np.arange(40.).reshape(10, 4), y=np.arange(10.))
        with open(self.path("good.npz"), "rb") as file:
            good = file.read()
        for _ in range(300):
            data = bytearray(good)
            for _ in range(draw.randint(1, 3)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            with open(self.path("boston_housing.npz"), "wb") as file:
                file.write(data[:draw.choice([len(data), draw.randrange(len(data))])])
            try:
                datasets.boston_housing.load_data()
            except (ValueError, IndexError):
                pass

    def test_a_table_is_shuffled_and_split(self):
        np.savez(self.path("boston_housing.npz"), x=np.arange(20).reshape(10, 2), y=np.arange(10))
        (x, y), (x_test, y_test) = datasets.boston_housing.load_data()
        self.assertEqual((x.shape, x_test.shape), ((8, 2), (2, 2)))
        np.testing.assert_array_equal(np.concatenate([x, x_test])[:, 0] // 2, np.concatenate([y, y_test]))
        self.assertEqual(sorted(np.concatenate([y, y_test]).tolist()), list(range(10)))

    def test_cifars_binary_rows_become_images(self):
        rows = np.random.default_rng(0).integers(0, 256, (3, 3073)).astype(np.uint8)
        for name in [f"data_batch_{number}.bin" for number in range(1, 6)] + ["test_batch.bin"]:
            rows.tofile(self.path(f"cifar-10-batches-bin/{name}"))
        (x, y), (x_test, _) = datasets.cifar10.load_data()
        self.assertEqual((x.shape, y.shape, x_test.shape), ((15, 32, 32, 3), (15, 1), (3, 32, 32, 3)))
        np.testing.assert_array_equal(x[1, 0, :, 2], rows[1, 1 + 2048:1 + 2048 + 32])
        rows[:, :50].tofile(self.path("cifar-10-batches-bin/test_batch.bin"))
        self.assertRaisesRegex(ValueError, "150 bytes are not a whole number of rows of 3073", datasets.cifar10.load_data)

    def test_mnist_takes_keras_file(self):
        x = np.zeros((2, 28, 28), np.uint8)
        np.savez(self.path("mnist.npz"), x_train=x, y_train=np.arange(2), x_test=x[:1], y_test=np.arange(1))
        (images, labels), (test, _) = datasets.mnist.load_data()
        self.assertEqual((images.shape, labels.tolist(), test.shape), ((2, 28, 28), [0, 1], (1, 28, 28)))


class Utils(Folder):
    def images(self):
        for number in range(6):
            image = tf.constant(np.full((4, 5, 3), 40 * number, np.uint8))
            with open(self.path(f"{'cats' if number % 2 else 'dogs'}/{number}.png"), "wb") as file:
                file.write(_engine.encode_png(image, -1))

    def test_a_folder_of_images_becomes_batches_of_them_with_their_classes(self):
        self.images()
        make = tf.keras.utils.image_dataset_from_directory
        dataset = make(self.folder, image_size=(2, 3), batch_size=4, shuffle=False, verbose=False)
        batches = list(dataset)
        self.assertEqual(dataset.class_names, ["cats", "dogs"])
        self.assertEqual([tuple(x.shape) for x, _ in batches], [(4, 2, 3, 3), (2, 2, 3, 3)])
        np.testing.assert_array_equal(np.concatenate([x.numpy()[:, 0, 0, 0] for x, _ in batches]), [40, 120, 200, 0, 80, 160])
        np.testing.assert_array_equal(np.concatenate([y for _, y in batches]), [0, 0, 0, 1, 1, 1])
        parts = [make(self.folder, seed=1, validation_split=0.34, subset=subset, batch_size=None, image_size=(1, 1), verbose=False,
                      label_mode="categorical") for subset in ("training", "validation")]
        seen = [sorted(x.numpy()[0, 0, 0] for x, _ in part) for part in parts]
        self.assertEqual(sorted(seen[0] + seen[1]), [0, 40, 80, 120, 160, 200])
        self.assertEqual(len(seen[1]), 2)
        self.assertRaisesRegex(ValueError, "color_mode is 'blue'", make, self.folder, color_mode="blue")
        self.assertRaises(tf.errors.NotFoundError, make, os.path.join(self.folder, "nowhere"))
        self.assertRaisesRegex(ValueError, "class_names is .*the folders", make, self.folder, class_names=["birds"])

    def test_a_series_becomes_sequences_and_their_targets(self):
        data = np.arange(10)
        dataset = tf.keras.utils.timeseries_dataset_from_array(data, data * 10, 3, sequence_stride=2, batch_size=3)
        batches = [(x.numpy().tolist(), y.numpy().tolist()) for x, y in dataset]
        self.assertEqual(batches, [([[0, 1, 2], [2, 3, 4], [4, 5, 6]], [0, 20, 40]), ([[6, 7, 8]], [60])])
        alone = tf.keras.utils.timeseries_dataset_from_array(data, None, 3, sampling_rate=3, batch_size=None)
        self.assertEqual([x.numpy().tolist() for x in alone], [[0, 3, 6], [1, 4, 7], [2, 5, 8], [3, 6, 9]])
        self.assertRaisesRegex(ValueError, "sequence_length is 0", tf.keras.utils.timeseries_dataset_from_array, data, None, 0)

    def test_sequences_are_filled_up_and_cut_at_either_end(self):
        pad = tf.keras.utils.pad_sequences
        rows = [[1], [2, 3], [4, 5, 6]]
        self.assertEqual(pad(rows).tolist(), [[0, 0, 1], [0, 2, 3], [4, 5, 6]])
        self.assertEqual(pad(rows, padding="post", value=-1).tolist(), [[1, -1, -1], [2, 3, -1], [4, 5, 6]])
        self.assertEqual(pad(rows, 2).tolist(), [[0, 1], [2, 3], [5, 6]])
        self.assertEqual(pad(rows, 2, truncating="post", dtype="float32").tolist(), [[0, 1], [2, 3], [4, 5]])
        self.assertIs(tf.keras.preprocessing.sequence.pad_sequences, pad)
        self.assertRaisesRegex(ValueError, "padding is 'left'", pad, rows, padding="left")


if __name__ == "__main__":
    unittest.main()
