"""Programs without a fault, of many kinds: Health says nothing of any."""
import unittest

import numpy as np
from health_programs import HealthOfPrograms, Program, descend

import tapedeck as tf

layers = tf.keras.layers


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def two_classes(count=64, features=6, seed=0):
    x = numbers(count, features, seed=seed)
    return x, (x[:, 0] + .5 * x[:, 1] > 0).astype(np.int64)


def sparse_loss(labels, logits):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def glorot(*shape, seed=0, name=None):
    return tf.Variable(numbers(*shape, seed=seed) * np.float32(np.sqrt(2. / sum(shape))), name=name)


class HealthyTest(HealthOfPrograms):
    def nothing(self):
        found = self.findings(24)
        self.assertEqual([(each["rule"], each["sentence"]) for each in found], [])

    def fitted(self, outputs, activation, loss, x, y, optimizer="adam", *hidden):
        model = tf.keras.Sequential([*(hidden or [layers.Dense(8, "tanh")]), layers.Dense(outputs, activation)])
        model.compile(tf.keras.optimizers.Adam(.02) if optimizer == "adam" else optimizer, loss)
        model.fit(x, y, batch_size=32, epochs=12, verbose=0)
        model.evaluate(x, y, verbose=0)
        return model

    def test_01_classes_by_hand(self):
        Program().train(40)
        self.nothing()

    def test_02_keras_logits(self):
        x, y = two_classes()
        self.fitted(2, None, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), x, y)
        self.nothing()

    def test_03_keras_probabilities(self):
        x, y = two_classes()
        self.fitted(2, "softmax", "sparse_categorical_crossentropy", x, y)
        self.nothing()

    def test_04_keras_one_hot_probabilities(self):
        x, y = two_classes()
        self.fitted(2, "softmax", "categorical_crossentropy", x, np.eye(2, dtype=np.float32)[y])
        self.nothing()

    def test_05_keras_yes_or_no_both_ways(self):
        x, y = two_classes()
        y = y[:, None].astype(np.float32)
        self.fitted(1, "sigmoid", "binary_crossentropy", x, y)
        self.fitted(1, None, tf.keras.losses.BinaryCrossentropy(from_logits=True), x, y)
        self.nothing()

    def test_06_regression_with_a_column_of_targets(self):
        x = numbers(48, 4)
        w, b = glorot(4, 1, name="w"), tf.Variable(tf.zeros([1]), name="b")
        y = x @ numbers(4, 1, seed=1) + .1 * numbers(48, 1, seed=2)
        descend(lambda step: tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y)), [w, b])
        self.nothing()

    def test_07_regression_with_a_row_of_targets(self):
        x = numbers(48, 4)
        w = glorot(4, 1, name="w")
        y = (x @ numbers(4, 1, seed=1))[:, 0] + .1 * numbers(48, seed=2)
        descend(lambda step: tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, w), -1) - y)), [w])
        self.nothing()

    def test_08_all_pairs_on_purpose(self):
        x, target = numbers(24, 3), numbers(24, 24, seed=1) ** 2 + 1.
        w = glorot(3, 2, name="w")

        def loss(step):
            z = tf.matmul(x, w)
            far = tf.reduce_sum(tf.square(z[:, None] - z[None, :]), -1)
            return tf.reduce_mean(tf.square(far - target)) * .01
        descend(loss, [w])
        self.nothing()

    def test_09_radial_functions(self):
        x = np.linspace(-2, 2, 24, dtype=np.float32)[:, None]
        centres = np.linspace(-2, 2, 24, dtype=np.float32)  # (24,) beside (24, 1), before the weights
        w = glorot(24, 1, name="w")
        y = np.sin(2 * x)
        descend(lambda step: tf.reduce_mean(tf.square(tf.matmul(tf.exp(-tf.square(tf.constant(x) - centres)), w) - y)), [w], rate=.05)
        self.nothing()

    def test_10_adversaries(self):
        random = np.random.RandomState(0)
        g1, g2 = glorot(2, 8, seed=1, name="g1"), glorot(8, 2, seed=2, name="g2")
        d1, d2 = glorot(2, 8, seed=3, name="d1"), glorot(8, 1, seed=4, name="d2")

        def made():
            z = tf.constant(random.randn(32, 2).astype(np.float32))
            return tf.matmul(tf.nn.tanh(tf.matmul(z, g1)), g2)

        def judged(x):
            return tf.matmul(tf.nn.leaky_relu(tf.matmul(x, d1)), d2)

        def loss_of(logits, label):
            return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label * tf.ones_like(logits), logits=logits))
        critic, maker = tf.keras.optimizers.Adam(.01), tf.keras.optimizers.Adam(.01)
        for _ in range(25):
            real, fakes = tf.constant(1. + .5 * random.randn(32, 2).astype(np.float32)), made()
            descend(lambda step: loss_of(judged(real), 1.) + loss_of(judged(fakes), 0.), [d1, d2], 1, optimizer=critic)
            descend(lambda step: loss_of(judged(made()), 1.), [g1, g2], 1, optimizer=maker)
        self.nothing()

    def test_11_variational_autoencoder(self):
        random = np.random.RandomState(0)
        x = (random.rand(48, 12) < np.linspace(.05, .95, 12)).astype(np.float32)
        x[:24, :6] = x[:24, :1]
        encoder, decoder = glorot(12, 4, name="encoder"), glorot(2, 12, seed=1, name="decoder")

        def loss(step):
            code = tf.matmul(x, encoder)
            mean, log_variance = code[:, :2], code[:, 2:]
            z = mean + tf.exp(.5 * log_variance) * tf.random.normal([48, 2])
            logits = tf.matmul(z, decoder)
            parts = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), -1)
            kl = -.5 * tf.reduce_sum(1. + log_variance - tf.square(mean) - tf.exp(log_variance), -1)
            return tf.reduce_mean(parts + .1 * kl)
        descend(loss, [encoder, decoder], optimizer=tf.keras.optimizers.Adam(.02))
        self.nothing()

    def test_12_recurrent_network(self):
        x = numbers(32, 6, 3)
        y = x[:, -1, :1] + .5 * x[:, -2, :1]
        model = tf.keras.Sequential([layers.LSTM(8), layers.Dense(1)])
        model.compile(tf.keras.optimizers.Adam(.02), "mse")
        model.fit(x, y, batch_size=32, epochs=24, verbose=0)
        self.nothing()

    def test_13_recurrence_by_hand(self):
        x = numbers(6, 16, 3)
        w, u = tf.Variable(.5 * np.eye(8, dtype=np.float32), name="w"), glorot(3, 8, name="u")
        y = tf.constant(.5 * np.tanh(x[-1] @ numbers(3, 8, seed=1)))

        def loss(step):
            h = tf.zeros([16, 8])
            for t in range(6):
                h = tf.nn.tanh(tf.matmul(h, w) + tf.matmul(x[t], u))
            return tf.reduce_mean(tf.square(h - y))
        descend(loss, [w, u])
        self.nothing()

    def test_14_frozen_layer(self):
        x, y = two_classes()
        model = tf.keras.Sequential([layers.Dense(8, "tanh", trainable=False), layers.Dense(2)])
        model.compile(tf.keras.optimizers.Adam(.05), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(x, y, batch_size=32, epochs=12, verbose=0)
        self.nothing()

    def test_15_transfer(self):
        x, y = two_classes()
        base = tf.keras.Sequential([layers.Dense(8, "tanh"), layers.BatchNormalization(), layers.Dense(8, "tanh")])
        first = tf.keras.Sequential([base, layers.Dense(1)])
        first.compile(tf.keras.optimizers.Adam(.02), "mse")
        first.fit(x, x[:, :1], batch_size=32, epochs=12, verbose=0)
        base.trainable = False
        head = layers.Dense(2)
        optimizer = tf.keras.optimizers.Adam(.05)
        for _ in range(24):
            with tf.GradientTape() as tape:
                loss = sparse_loss(y, head(base(x, training=False)))
            optimizer.apply_gradients(zip(tape.gradient(loss, head.trainable_variables), head.trainable_variables))
        self.nothing()

    def test_16_dropout_and_batch_normalisation(self):
        x, y = two_classes()
        self.fitted(2, None, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), x, y, "adam",
                    layers.Dense(16, "relu"), layers.BatchNormalization(), layers.Dropout(.2))
        self.nothing()

    def test_17_convolution(self):
        x = np.random.RandomState(0).rand(24, 6, 6, 1).astype(np.float32)
        y = (x[:, :3].mean((1, 2, 3)) > x[:, 3:].mean((1, 2, 3))).astype(np.int64)
        self.fitted(2, None, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), x - .5, y, "adam",
                    layers.Conv2D(4, 3, activation="tanh"), layers.Flatten())
        self.nothing()

    def test_18_attention(self):
        x = numbers(16, 5, 4)
        y = x.mean(1)
        q, k, v = (glorot(4, 4, seed=seed, name=name) for seed, name in enumerate("qkv"))

        def loss(step):
            queries, keys, values = (tf.reshape(tf.matmul(tf.reshape(x, [-1, 4]), w), [16, 5, 4]) for w in (q, k, v))
            weights = tf.nn.softmax(tf.matmul(queries, keys, transpose_b=True) / 2.)
            return tf.reduce_mean(tf.square(tf.reduce_mean(tf.matmul(weights, values), 1) - y))
        descend(loss, [q, k, v], optimizer=tf.keras.optimizers.Adam(.02))
        self.nothing()

    def test_19_embedding(self):
        ids = np.random.RandomState(0).randint(0, 500, (32, 4))
        y = (ids[:, 0] > 250).astype(np.int64)
        model = tf.keras.Sequential([layers.Embedding(500, 8), layers.Flatten(), layers.Dense(2)])
        model.compile(tf.keras.optimizers.Adam(.02), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(ids, y, batch_size=32, epochs=24, verbose=0)
        self.nothing()

    def test_20_pixels_that_the_program_scales(self):
        pixels = np.random.RandomState(0).randint(0, 256, (32, 16)).astype(np.float32)
        y = (pixels[:, :8].mean(1) > pixels[:, 8:].mean(1)).astype(np.int64)
        w = glorot(16, 2, name="w")
        descend(lambda step: sparse_loss(y, tf.matmul(tf.constant(pixels) / 255. - .5, w)), [w], rate=.5)
        self.nothing()

    def test_21_values_assigned_by_hand(self):
        x = numbers(32, 4)
        y = x @ numbers(4, 1, seed=1)
        w, mean = glorot(4, 1, name="w"), tf.Variable(tf.zeros([4, 1]), name="mean")
        for _ in range(40):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
            w.assign(w - .1 * tape.gradient(loss, w))
            mean.assign(.9 * mean + .1 * w)
        self.nothing()

    def test_22_a_rate_that_warms_up(self):
        program = Program()
        program.train(60, rate=lambda step: .2 * min(1., (step + 1) / 20))
        self.nothing()

    def test_23_momentum(self):
        x = numbers(32, 4)
        y = x @ numbers(4, 1, seed=1)
        w = glorot(4, 1, name="w")
        descend(lambda step: tf.reduce_mean(tf.square(tf.matmul(x, w) - y)), [w], optimizer=tf.keras.optimizers.SGD(.02, momentum=.9))
        self.nothing()

    def test_24_several_models_in_turn(self):
        x, y = two_classes(32)
        for seed in range(4):
            w = glorot(6, 2, seed=seed, name="w")
            descend(lambda step: sparse_loss(y, tf.matmul(x, w)), [w], 12, rate=.5)
        self.nothing()

    def test_25_attention_that_adds_scores_of_rows_and_columns(self):
        x = numbers(24, 4)
        w, rows, columns = glorot(4, 4, name="w"), glorot(4, 1, seed=1, name="rows"), glorot(4, 1, seed=2, name="columns")
        y = x[::-1].copy() * .5

        def loss(step):
            h = tf.matmul(x, w)
            scores = tf.matmul(h, rows) + tf.squeeze(tf.matmul(h, columns), -1)  # (24, 1) and (24,)
            return tf.reduce_mean(tf.square(tf.matmul(tf.nn.softmax(tf.nn.leaky_relu(scores)), h) - y))
        descend(loss, [w, rows, columns], optimizer=tf.keras.optimizers.Adam(.02))
        self.nothing()

    def test_26_pictures_in_black_and_white_that_another_network_judges(self):
        g1, g2 = glorot(4, 16, seed=1, name="g1"), tf.Variable(4. * numbers(16, 8, seed=2), name="g2")
        d1, d2 = glorot(8, 8, seed=3, name="d1"), glorot(8, 1, seed=4, name="d2")
        z = numbers(32, 4, seed=5)
        real = np.sign(numbers(32, 8, seed=6))

        def made():
            return tf.nn.tanh(tf.matmul(tf.nn.leaky_relu(tf.matmul(z, g1)), g2))  # near -1 and 1, as what is real

        def judged(x):
            return tf.matmul(tf.nn.leaky_relu(tf.matmul(x, d1)), d2)

        def loss_of(logits, label):
            return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label * tf.ones_like(logits), logits=logits))
        critic, maker = tf.keras.optimizers.Adam(.01), tf.keras.optimizers.Adam(.01)
        for _ in range(25):
            descend(lambda step: loss_of(judged(real), 1.) + loss_of(judged(made()), 0.), [d1, d2], 1, optimizer=critic)
            descend(lambda step: loss_of(judged(made()), 1.), [g1, g2], 1, optimizer=maker)
        self.nothing()

    def test_27_a_mean_that_forgets_and_sums_of_batches(self):
        x = numbers(64, 4)
        y = x @ numbers(4, 1, seed=1)
        w, best = glorot(4, 1, name="w"), tf.zeros([4, 1])
        for _ in range(30):
            total = tf.zeros([4, 1])
            for begin in range(0, 64, 16):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(tf.matmul(x[begin:begin + 16], w) - y[begin:begin + 16]))
                total += tape.gradient(loss, w) / 4.
            w.assign_sub(.1 * total)
            best = .9 * best + .1 * w
        self.nothing()

    def test_28_attention_to_what_comes_before(self):
        x = numbers(16, 6, 4)
        y = np.cumsum(x, 1) / np.arange(1, 7)[None, :, None].astype(np.float32)
        q, k, v = (glorot(4, 4, seed=seed, name=name) for seed, name in enumerate("qkv"))
        seen = np.tril(np.ones([6, 6], bool))

        def loss(step):
            scores = tf.matmul(tf.matmul(x, q), tf.matmul(x, k), transpose_b=True) / 2.
            weights = tf.nn.softmax(tf.where(seen, scores, -1e9 * tf.ones_like(scores)))
            return tf.reduce_mean(tf.square(tf.matmul(weights, tf.matmul(x, v)) - y))
        descend(loss, [q, k, v], optimizer=tf.keras.optimizers.Adam(.02))
        self.nothing()

    def test_29_shares_over_places_beside_shares_over_classes(self):
        x = numbers(40, 6)
        targets = tf.constant(np.eye(3, dtype=np.float32)[np.argmax(x[:, :3], 1)])
        w, place = glorot(6, 3, name="w"), glorot(6, 1, seed=1, name="place")

        def loss(step):
            weights = tf.nn.softmax(tf.matmul(tf.constant(x), place), axis=0)  # over the examples, on purpose
            logs = tf.math.log(tf.nn.softmax(tf.matmul(tf.constant(x), w)))
            return -tf.reduce_sum(weights * tf.reduce_sum(targets * logs, -1, keepdims=True))
        descend(loss, [w, place], rate=.2)
        self.nothing()

    def test_30_going_up_what_is_to_grow(self):
        x = numbers(48, 4)
        y = x @ numbers(4, 1, seed=1)
        w = glorot(4, 1, name="w")
        for _ in range(30):
            with tf.GradientTape() as tape:
                likelihood = -tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
            w.assign_add(.05 * tape.gradient(likelihood, w))
        self.nothing()

    def test_31_a_bias_of_keys_whose_gradient_is_zero_by_itself(self):
        x = numbers(16, 5, 4)
        y = x.mean(1)
        q, k, v = (glorot(4, 4, seed=seed, name=name) for seed, name in enumerate("qkv"))
        bias = tf.Variable(np.zeros([1, 4], np.float32), name="bias")

        def loss(step):
            queries, keys, values = (tf.reshape(tf.matmul(tf.reshape(x, [-1, 4]), w), [16, 5, 4]) for w in (q, k, v))
            weights = tf.nn.softmax(tf.matmul(queries, keys + bias, transpose_b=True) / 2.)
            return tf.reduce_mean(tf.square(tf.reduce_mean(tf.matmul(weights, values), 1) - y))
        descend(loss, [q, k, v, bias], rate=.5)
        self.nothing()


if __name__ == "__main__":
    unittest.main()
