"""L-BFGS, on small problems and on the autoencoder whose losses are known."""
import json
import os
import subprocess
import sys
import unittest

import numpy as np

import tapedeck as tf

bench = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "autoencoder_lbfgs.py")

# Losses of the autoencoder on MNIST's first N images in float64, history 100, 51 iterations, by evaluation.
known_losses = {
    100: {0: 0.2347165057, 1: 0.2345722756, 2: 0.08040235411, 5: 0.05650289382, 10: 0.02502388044, 20: 0.005798322926,
          35: 0.001831804658, 50: 0.00112517889},
    200: {0: 0.2349016407, 1: 0.2347579494, 2: 0.08196414881, 5: 0.05964358469, 10: 0.02820245101, 20: 0.009685739331,
          35: 0.002994517677, 50: 0.001721284},
}


class Minimize(unittest.TestCase):
    def test_a_quadratic_in_several_variables_is_solved(self):
        generator = np.random.RandomState(0)
        factor = generator.randn(8, 8)
        matrix, target = factor @ factor.T + np.eye(8), generator.randn(8)
        x, y = tf.Variable(np.zeros((2, 2))), tf.Variable(np.zeros(4))

        def loss():
            joined = tf.concat([tf.reshape(x, [-1]), y], 0)
            return tf.reduce_sum(joined * tf.reshape(matrix @ tf.reshape(joined, [8, 1]), [8])) / 2. - tf.reduce_sum(joined * target)

        optimizer = tf.train.LBFGS(history_size=8, learning_rate=.5, gradient_tolerance=1e-9, change_tolerance=1e-14)
        losses = optimizer.minimize(loss, [x, y], iterations=300)
        solution = np.concatenate([x.numpy().ravel(), y.numpy()])
        np.testing.assert_allclose(solution, np.linalg.solve(matrix, target), rtol=1e-5, atol=1e-6)
        self.assertLess(losses[-1], losses[0])

    def test_the_callback_sees_every_evaluation_and_can_end_it(self):
        x = tf.Variable([10., -10.])
        seen = []

        def callback(iteration, loss):
            seen.append((iteration, loss))
            return iteration < 3

        losses = tf.train.LBFGS(learning_rate=.1).minimize(lambda: tf.reduce_sum(tf.square(x)), [x], 100, callback)
        self.assertEqual(seen, list(enumerate(losses)))
        self.assertEqual(len(losses), 4)

    def test_it_stops_at_a_minimum_and_refuses_no_history(self):
        x = tf.Variable([0.])
        self.assertEqual(tf.train.LBFGS().minimize(lambda: tf.reduce_sum(tf.square(x)), [x], 10), [0.])
        with self.assertRaisesRegex(ValueError, "history_size is 0"):
            tf.train.LBFGS(history_size=0)


class Autoencoder(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("TAPEDECK_MNIST"), "needs TAPEDECK_MNIST, a folder with MNIST's four files")
    def test_losses_agree_with_the_known_ones_to_eight_digits(self):
        for batch, wanted in known_losses.items():
            done = subprocess.run([sys.executable, "-B", bench, "--batch", str(batch), "--history", "100", "--iterations", "51", "--double"],
                                  capture_output=True, text=True, timeout=280, check=True)
            losses = json.loads(done.stdout)["losses"]
            self.assertEqual(len(losses), 51)
            for evaluation, loss in wanted.items():
                self.assertLess(abs(losses[evaluation] - loss), 5e-9 * loss, (batch, evaluation, losses[evaluation]))


if __name__ == "__main__":
    unittest.main()
