"""L-BFGS, on small problems and on the autoencoder whose losses are known."""
import json
import os
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np

import tapedeck as tf

bench = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "autoencoder_lbfgs.py")

# Losses of the autoencoder on the first N images in float64, history 100, at each of 51 evaluations: PyTorch finds the same.
MNIST = {
    100: [
        0.2347165057, 0.2345722756, 0.08040235411, 0.07305315701, 0.06916369209, 0.05650289382, 0.04137778742,
        0.03543106923, 0.03190329046, 0.02862706158, 0.02502388044, 0.02176181353, 0.01939946398, 0.01591971451,
        0.01382258131, 0.01184080794, 0.01041719467, 0.008825448251, 0.007581372021, 0.006616386753, 0.005798322926,
        0.005042687248, 0.004483415212, 0.004103678875, 0.003662339919, 0.003347867624, 0.003059915099, 0.002842490305,
        0.002613640875, 0.002476208527, 0.002349663373, 0.002209631394, 0.002107503384, 0.001997644398, 0.00188583209,
        0.001831804658, 0.001726045759, 0.001675100955, 0.001601142103, 0.00154670569, 0.001488218418, 0.001444413123,
        0.00138311311, 0.001351851518, 0.001315829675, 0.001282488067, 0.001241904867, 0.001208383381, 0.001179227885,
        0.001159604865, 0.00112517889],
    200: [
        0.2349016407, 0.2347579494, 0.08196414881, 0.07484271336, 0.07068542657, 0.05964358469, 0.04241423675,
        0.03815941701, 0.03422619506, 0.03142683676, 0.02820245101, 0.02485112245, 0.02237315228, 0.02075917498,
        0.01791267152, 0.01634199573, 0.01501006674, 0.01338934747, 0.01220659397, 0.01089769414, 0.009685739331,
        0.008976595872, 0.007843431755, 0.007347145218, 0.006584949802, 0.006102850436, 0.005653821961, 0.005029960227,
        0.004836132632, 0.004324090935, 0.004115121628, 0.00384761819, 0.003600529369, 0.003364704081, 0.00320247899,
        0.002994517677, 0.002886481458, 0.002739346976, 0.002616952767, 0.002525103132, 0.002437795704, 0.002285458489,
        0.002225285175, 0.002128219065, 0.00205335201, 0.001983158062, 0.001926175349, 0.001873818467, 0.001810779954,
        0.00175965744, 0.001721284],
}
FASHION = {
    100: [
        0.176375959, 0.1762556947, 0.08703157347, 0.08132813533, 0.07490018231, 0.05760528964, 0.05424128471, 0.05031283691,
        0.04799503451, 0.04494783497, 0.04064640354, 0.03822407818, 0.03614747848, 0.03449307511, 0.03223687533,
        0.03087768516, 0.02945773289, 0.02813693808, 0.02676398547, 0.02530930303, 0.02384378079, 0.02305558975,
        0.02137594354, 0.02046928437, 0.01937687299, 0.01857511217, 0.01771279848, 0.01677179741, 0.01591994102,
        0.01527051545, 0.01443912735, 0.01378132537, 0.0131304151, 0.01247112612, 0.01196051445, 0.01146051406,
        0.01100654462, 0.0105453086, 0.01012624372, 0.009726610666, 0.009341772298, 0.009025437542, 0.008748620545,
        0.008454002282, 0.008197811686, 0.008001480966, 0.007715926517, 0.007513497078, 0.007294778628, 0.007071578755,
        0.006932727098],
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
    def check(self, known):
        for batch, wanted in known.items():
            done = subprocess.run([sys.executable, "-B", bench, "--batch", str(batch), "--history", "100", "--iterations", "51",
                                   "--double"],
                                  capture_output=True, text=True, timeout=280, check=True)
            losses = json.loads(done.stdout)["losses"]
            self.assertEqual((len(losses), len(wanted)), (51, 51))
            for evaluation, (loss, right) in enumerate(zip(losses, wanted)):
                self.assertLess(abs(loss - right), 5e-9 * right, (batch, evaluation, loss))

    @unittest.skipUnless(os.environ.get("TAPEDECK_MNIST"), "needs TAPEDECK_MNIST, a folder with MNIST's four files")
    def test_losses_agree_with_the_known_ones_to_eight_digits(self):
        self.check(MNIST)

    def test_losses_on_fashion_mnist_do_too(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("TAPEDECK_MNIST", None)
            self.check(FASHION)


if __name__ == "__main__":
    unittest.main()
