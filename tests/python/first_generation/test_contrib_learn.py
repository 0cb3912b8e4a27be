"""tf.contrib.learn's data sets, tf.contrib.cudnn_rnn, and the files of TensorFlow from which programs take public functions."""
import gzip
import os
import struct
import tempfile
import unittest

import numpy as np
import tapedeck as tf
from tapedeck.contrib import cudnn_rnn
from tensorflow_programs import started


def write_idx(folder, prefix, count):
    """Images whose pixels are their number, with labels 0, 1, … 9, 0 …"""
    images = np.repeat(np.arange(count, dtype=np.uint8), 28 * 28)
    labels = (np.arange(count) % 10).astype(np.uint8)
    for name, header, data in ((f"{prefix}-images-idx3-ubyte.gz", struct.pack(">IIII", 0x803, count, 28, 28), images),
                               (f"{prefix}-labels-idx1-ubyte.gz", struct.pack(">II", 0x801, count), labels)):
        with gzip.open(os.path.join(folder, name), "wb") as file:
            file.write(header + data.tobytes())


class Mnist(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        write_idx(self.folder, "train", 20)
        write_idx(self.folder, "t10k", 5)

    def read(self, **options):
        return tf.contrib.learn.datasets.mnist.read_data_sets(self.folder, **{"validation_size": 4, "seed": 1, **options})

    def test_parts_hold_the_files_images_as_rows_from_0_to_1(self):
        data = self.read(one_hot=True)
        self.assertEqual([part.num_examples for part in data], [16, 4, 5])
        images, labels = data.train.images, data.train.labels
        self.assertEqual((images.shape, images.dtype, labels.shape), ((16, 784), np.float32, (16, 10)))
        np.testing.assert_allclose(data.train.images[:, 0], np.arange(4, 20) / 255, rtol=1e-6)
        np.testing.assert_array_equal(data.validation.labels.argmax(1), [0, 1, 2, 3])
        plain = self.read(dtype=tf.uint8, reshape=False)
        self.assertEqual((plain.test.images.shape, plain.test.images.dtype), ((5, 28, 28, 1), np.uint8))

    def test_batches_give_every_example_once_a_round(self):
        train = self.read(dtype=tf.uint8).train
        seen = [train.next_batch(6) for _ in range(8)]
        self.assertEqual([len(images) for images, _ in seen], [6] * 8)
        pixels = np.concatenate([images[:, 0] for images, _ in seen])
        for begin in (0, 16, 32):
            np.testing.assert_array_equal(np.sort(pixels[begin:begin + 16]), np.arange(4, 20))
        self.assertEqual(train.epochs_completed, 2)
        self.assertFalse((pixels[:16] == pixels[16:32]).all())
        for images, labels in seen:
            np.testing.assert_array_equal(images[:, 0] % 10, labels)
        with self.assertRaisesRegex(ValueError, "batch_size is 17; there are 16"):
            train.next_batch(17)

    def test_arguments_that_cannot_be_are_refused(self):
        with self.assertRaisesRegex(ValueError, "between 0 and 20. Received: 21"):
            self.read(validation_size=21)
        with self.assertRaisesRegex(TypeError, "dtype is int32; needs uint8 or float32"):
            self.read(dtype=tf.int32)
        self.assertEqual(self.read(fake_data=True, one_hot=True).train.labels.shape, (10000, 10))

    def test_nothing_is_downloaded(self):
        base = tf.contrib.learn.datasets.base
        name = "train-images-idx3-ubyte.gz"
        self.assertEqual(base.maybe_download(name, self.folder, "https://example.org/x"), os.path.join(self.folder, name))
        with self.assertRaisesRegex(FileNotFoundError, "there is no .*colors.csv; put https://example.org/colors.csv there"):
            base.maybe_download("colors.csv", self.folder, "https://example.org/colors.csv")


class CudnnLayers(unittest.TestCase):
    def test_one_layer_is_keras_own(self):
        x = tf.random.normal([5, 3, 2], seed=1)
        whole = {"return_sequences": True, "return_state": True, "time_major": True}
        for kind, kera in ((cudnn_rnn.CudnnLSTM, tf.keras.layers.LSTM(4, **whole)),
                           (cudnn_rnn.CudnnGRU, tf.keras.layers.GRU(4, **whole)),
                           (cudnn_rnn.CudnnRNNRelu, tf.keras.layers.SimpleRNN(4, "relu", **whole))):
            layer = kind(1, 4)
            outputs, states = layer(x)
            wanted, *_ = kera(x)
            kera.set_weights([variable.numpy() for variable in layer.variables])
            wanted, *wanted_states = kera(x)
            np.testing.assert_array_equal(outputs, wanted)
            for state, other in zip(states, wanted_states, strict=True):
                np.testing.assert_array_equal(state[0], other)

    def test_layers_stand_on_one_another_in_both_directions(self):
        x = tf.random.normal([5, 3, 2], seed=1)
        layer = cudnn_rnn.CudnnLSTM(2, 4, direction="bidirectional")
        outputs, (h, c) = layer(x)
        self.assertEqual((outputs.shape, h.shape, c.shape, len(layer.trainable_variables)), ((5, 3, 8), (4, 3, 4), (4, 3, 4), 12))
        np.testing.assert_array_equal(outputs[-1, :, :4], h[2])  # forwards ends at the last step
        np.testing.assert_array_equal(outputs[0, :, 4:], h[3])  # backwards at the first
        halves, state = [], None
        one_way = cudnn_rnn.CudnnLSTM(2, 4)
        for part in (x[:2], x[2:]):
            output, state = one_way(part, state)
            halves.append(output)
        np.testing.assert_allclose(tf.concat(halves, 0), one_way(x)[0], rtol=1e-5, atol=1e-6)

    def test_dropout_is_between_layers_and_in_training_alone(self):
        x = tf.random.normal([5, 3, 2], seed=1)
        layer = cudnn_rnn.CudnnGRU(2, 4, dropout=.5)
        np.testing.assert_array_equal(layer(x, training=False)[0], layer(x, training=False)[0])
        self.assertGreater(float(tf.reduce_max(tf.abs(layer(x)[0] - layer(x)[0]))), 0)

    def test_what_does_not_fit_is_named(self):
        with self.assertRaisesRegex(ValueError, "direction is 'up'; must be 'unidirectional' or 'bidirectional'"):
            cudnn_rnn.CudnnLSTM(1, 4, direction="up")
        with self.assertRaisesRegex(ValueError, "dropout is 1"):
            cudnn_rnn.CudnnRNNTanh(1, 4, dropout=1)
        with self.assertRaisesRegex(ValueError, r"shapes \[\(1, 3, 4\)\]; needs 2 of \(1, 3, 4\)"):
            cudnn_rnn.CudnnLSTM(1, 4)(tf.zeros([5, 3, 2]), (tf.zeros([1, 3, 4]),))


class Files(unittest.TestCase):
    def test_public_functions_are_found_in_tensorflows_own_files(self):
        done = started("""
            from tensorflow.python.framework import ops, constant_op, dtypes
            from tensorflow.python.ops import math_ops, variable_scope, nn_ops, rnn_cell
            from tensorflow.python.eager import backprop, context
            from tensorflow.python.platform import test, app
            from tensorflow.python.training import adam
            from tensorflow.python.keras.layers import Dense
            from tensorflow.examples.tutorials.mnist import input_data
            from tensorflow.contrib.cudnn_rnn.python.layers import cudnn_rnn
            import tensorflow as tf

            assert math_ops.matmul is tf.matmul and nn_ops.softmax is tf.nn.softmax and dtypes.int32 is tf.int32
            assert variable_scope.get_variable is tf.get_variable and rnn_cell.GRUCell is tf.nn.rnn_cell.GRUCell
            assert backprop.GradientTape is tf.GradientTape and context.executing_eagerly() and adam.AdamOptimizer
            assert Dense is tf.keras.layers.Dense and input_data.read_data_sets is tf.contrib.learn.datasets.mnist.read_data_sets
            assert cudnn_rnn is tf.contrib.cudnn_rnn
            print("ran")
        """)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
