"""Gradients of functions that are called under a tape: the same to the last bit as without tf.function. And threads."""
import threading
import unittest

import numpy as np

import tapedeck as tf
from graph_mode import GraphCase


def normal(seed, *shape):
    return tf.constant(np.random.default_rng(seed).normal(size=shape), tf.float32)


def train(model, inputs, as_function, steps=3):
    """Losses, gradients and variables of some steps whose forward pass alone is a function."""
    tf.random.set_seed(3)
    model(inputs)

    def forward(x):
        outputs = model(x, training=True)
        return tf.reduce_mean(tf.square(outputs)) + 0.1 * tf.reduce_sum(outputs[0]), outputs

    function = tf.function(forward) if as_function else forward
    optimizer = tf.keras.optimizers.Adam(0.01)
    results = []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss, outputs = function(inputs)
            loss = loss + tf.reduce_sum(outputs) * 1e-3
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        results += [loss, *gradients]
    return results + [variable.read_value() for variable in model.variables]


class Training(GraphCase):
    def assertTrainsAsEager(self, make, inputs):
        def run(as_function):
            tf.random.set_seed(1)
            return train(make(), inputs, as_function)

        eager = run(False)
        self.assertTrue(all(each is not None for each in eager))
        self.assertSame(eager, run(True))

    def test_dense_layers_with_dropout_and_batch_normalization(self):
        layers = tf.keras.layers
        self.assertTrainsAsEager(lambda: tf.keras.Sequential([
            layers.Dense(8, "gelu"), layers.BatchNormalization(), layers.Dropout(0.3), layers.Dense(3, "softmax")]), normal(0, 16, 5))

    def test_convolutions(self):
        layers = tf.keras.layers
        self.assertTrainsAsEager(lambda: tf.keras.Sequential([
            layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(3)]), normal(1, 4, 8, 8, 2))

    def test_recurrent_layers(self):
        layers = tf.keras.layers
        self.assertTrainsAsEager(lambda: tf.keras.Sequential([
            layers.LSTM(6, return_sequences=True), layers.GRU(5)]), normal(2, 3, 7, 4))

    def test_attention(self):
        layers = tf.keras.layers

        class Block(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.attention, self.norm = layers.MultiHeadAttention(2, 3, dropout=0.2), layers.LayerNormalization()

            def call(self, x, training=False):
                normed = self.norm(x)
                return x + self.attention(normed, normed, training=training)

        self.assertTrainsAsEager(Block, normal(3, 2, 5, 6))

    def test_embeddings_keep_their_gradient_of_rows(self):
        table = tf.Variable(normal(4, 6, 3))
        function = tf.function(lambda ids: tf.reduce_sum(tf.tanh(tf.gather(table, ids)) * 2.))
        with tf.GradientTape() as tape:
            y = function(tf.constant([1, 1, 4]))
        self.assertIsInstance(tape.gradient(y, table), tf.IndexedSlices)


class Sources(GraphCase):
    def test_a_result_on_which_another_depends(self):
        x = normal(0, 4)

        def f(x):
            h = tf.exp(x) * x
            return h, tf.reduce_sum(tf.tanh(h) * h)

        def run(function):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                h, y = function(x)
                z = y + tf.reduce_sum(h * x)
            return [tape.gradient(z, source) for source in (x, h, y, [x, h], [h, y, x])]

        made = tf.function(f)
        self.assertSame([run(f), run(f)], [run(made), run(made)])

    def test_the_third_derivative_and_a_jacobian(self):
        x = normal(1, 3)

        def f(x):
            return tf.sin(x) * tf.exp(x * x) + x

        def run(function):
            with tf.GradientTape() as a:
                a.watch(x)
                with tf.GradientTape() as b:
                    b.watch(x)
                    with tf.GradientTape(persistent=True) as c:
                        c.watch(x)
                        y = function(x)
                    first = c.gradient(y, x)
                second = b.gradient(first, x)
            return [c.jacobian(y, x), first, second, a.gradient(second, x)]

        made = tf.function(f)
        for _ in range(2):
            self.assertSame(run(f), run(made))


class Threads(GraphCase):
    def test_threads_differentiate_one_function(self):
        w = tf.Variable(normal(2, 5, 5))
        function = tf.function(lambda x: tf.reduce_sum(tf.tanh(x @ w) @ w))
        expected, wrong = {}, []

        def gradient_of(f, seed):
            x = normal(seed, 3, 5)
            with tf.GradientTape() as tape:
                y = f(x)
            return tape.gradient(y, w).numpy().tobytes()

        for seed in range(4):
            expected[seed] = gradient_of(function.python_function, seed)

        def check(seed):
            wrong.extend(seed for _ in range(30) if gradient_of(function, seed) != expected[seed])

        threads = [threading.Thread(target=check, args=(seed,)) for seed in expected]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_other_threads_run_while_a_loop_of_small_ops_runs(self):
        stop = tf.Variable(0, trainable=False)

        @tf.function
        def until_stopped(x):
            turns = tf.constant(0)
            while stop < 1:
                x = tf.tanh(x) + 0.1
                turns += 1
            return turns

        # Without this thread the function never ends.
        thread = threading.Timer(0.05, lambda: stop.assign(1))
        thread.start()
        self.assertGreater(int(until_stopped(tf.ones([4]))), 0)
        thread.join()


if __name__ == "__main__":
    unittest.main()
