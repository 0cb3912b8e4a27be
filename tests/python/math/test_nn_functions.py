"""Dropout, embeddings, and the smaller functions of tf.nn."""
import unittest

import numpy as np

import tapedeck as tf

rng = np.random.default_rng(7)


class SmallerOnes(unittest.TestCase):
    def test_leaky_relu_of_whole_numbers_is_real(self):
        y = tf.nn.leaky_relu([-5, 5])
        self.assertEqual(y.dtype, tf.float32)
        np.testing.assert_allclose(y.numpy(), [-1, 5])
        with self.assertRaisesRegex(TypeError, "leaky_relu: features is bool"):
            tf.nn.leaky_relu([True])

    def test_poissons_loss(self):
        z, c = np.array([0., 1., 3.]), np.array([.5, -.5, 1.])
        loss = np.exp(c) - z * c
        np.testing.assert_allclose(tf.nn.log_poisson_loss(z, c).numpy(), loss)
        stirling = [0, 0, 3 * np.log(3) - 3 + .5 * np.log(6 * np.pi)]
        targets = tf.constant(z)
        with tf.GradientTape() as tape:
            tape.watch(targets)
            full = tf.nn.log_poisson_loss(targets, c, compute_full_loss=True)
        np.testing.assert_allclose(full.numpy(), loss + stirling)
        np.testing.assert_allclose(tape.gradient(full, targets).numpy(), -c + [0, 0, np.log(3) + 1 / 6])
        with self.assertRaisesRegex(ValueError, r"log_poisson_loss: targets \(3,\) and log_input \(1,\)"):
            tf.nn.log_poisson_loss(z, c[:1])

    def test_normalisation_across_channels(self):
        x = np.random.RandomState(0).randn(2, 2, 3, 7)
        wanted = np.empty_like(x)
        for channel in range(7):
            near = x[..., max(0, channel - 2):channel + 3]
            wanted[..., channel] = x[..., channel] / (2 + .5 * (near**2).sum(-1)) ** .75
        np.testing.assert_allclose(tf.nn.local_response_normalization(x, 2, 2., .5, .75).numpy(), wanted)
        self.assertEqual(tf.nn.lrn(tf.zeros([2, 0, 3, 0])).shape, (2, 0, 3, 0))
        with self.assertRaisesRegex(ValueError, r"local_response_normalization: input has shape \(2,\)"):
            tf.nn.lrn([1., 2.])

    def test_a_layer_in_one_call(self):
        weights = [[1., -1.], [1., -1.]]
        self.assertEqual(tf.nn.xw_plus_b([[1., 2.]], weights, [1., 1.]).numpy().tolist(), [[4, -2]])
        self.assertEqual(tf.nn.relu_layer([[1., 2.]], weights, [1., 1.]).numpy().tolist(), [[4, 0]])


class Dropout(unittest.TestCase):
    def test_kept_ones_are_scaled_and_gradients_follow(self):
        x = tf.ones([200, 200])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.dropout(x, rate=.25, seed=3)
        values = y.numpy()
        self.assertEqual(set(np.unique(values)), {np.float32(0), np.float32(1 / .75)})
        self.assertAlmostEqual((values == 0).mean(), .25, delta=.02)
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), values)

    def test_shapes_of_the_choice_and_seeds(self):
        y = tf.nn.dropout(tf.ones([50, 6, 4]), .5, noise_shape=[None, 1, 4]).numpy()
        np.testing.assert_array_equal(y, np.broadcast_to(y[:, :1], y.shape))
        self.assertTrue((y == 0).any() and (y != 0).any())
        tf.set_random_seed(5)
        a = tf.nn.dropout(tf.ones([40]), keep_prob=.5, seed=2).numpy()
        tf.set_random_seed(5)
        np.testing.assert_array_equal(a, tf.nn.dropout(tf.ones([40]), keep_prob=.5, seed=2).numpy())
        self.assertTrue(np.isnan(tf.nn.dropout(tf.fill([40], np.nan), .5).numpy()).any())
        x = tf.ones([3])
        np.testing.assert_array_equal(tf.nn.dropout(x, 0.).numpy(), x.numpy())

    def test_errors(self):
        for action in (lambda: tf.nn.dropout([1.], 1.), lambda: tf.nn.dropout([1.], -.1), lambda: tf.nn.dropout([1.], keep_prob=0.),
                       lambda: tf.nn.dropout([1.]), lambda: tf.nn.dropout([1.], rate=.1, keep_prob=.9)):
            with self.assertRaisesRegex(ValueError, "dropout: .*(rate|keep_prob)"):
                action()
        with self.assertRaisesRegex(TypeError, "dropout: x is int32"):
            tf.nn.dropout([1, 2], .5)


class Embeddings(unittest.TestCase):
    def test_one_table_several_and_norms(self):
        table = rng.standard_normal((7, 3)).astype(np.float32)
        ids = np.array([[6, 0], [3, 3]])
        np.testing.assert_array_equal(tf.nn.embedding_lookup(table, ids).numpy(), table[ids])
        np.testing.assert_array_equal(tf.nn.embedding_lookup([table[i::3] for i in range(3)], ids).numpy(), table[ids])
        np.testing.assert_array_equal(tf.nn.embedding_lookup([table[:4], table[4:]], ids, "div").numpy(), table[ids])
        norms = np.linalg.norm(tf.nn.embedding_lookup(table * 10, ids, max_norm=1.).numpy(), axis=-1)
        np.testing.assert_allclose(norms, 1, rtol=1e-6)
        variable = tf.Variable(table)
        with tf.GradientTape() as tape:
            y = tf.nn.embedding_lookup(variable, ids)
        np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(y, variable)).numpy()[:, 0], [1, 0, 0, 2, 0, 0, 1])
        with self.assertRaisesRegex(IndexError, "indices.* is 7"):
            tf.nn.embedding_lookup(table, [7])

    def test_a_row_of_zeros_has_a_gradient_under_max_norm(self):
        rows = tf.Variable([[0., 0.], [3., 4.]])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.nn.embedding_lookup(rows, [0], max_norm=1.))
        self.assertEqual(tf.convert_to_tensor(tape.gradient(y, rows)).numpy().tolist(), [[1, 1], [0, 0]])

    def test_parts_without_rows_are_refused(self):
        with self.assertRaisesRegex(ValueError, "embedding_lookup: params is a list of 2 parts, of which one is a scalar"):
            tf.nn.embedding_lookup([1., 2.], [0])


if __name__ == "__main__":
    unittest.main()
