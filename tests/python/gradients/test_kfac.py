"""K-FAC: factors against NumPy, exact natural gradients where they are known, and training."""
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import tfe
from tapedeck.keras import layers
from tapedeck.train.kfac_layers import watching


def rng(seed=0):
    return np.random.default_rng(seed)


def with_ones(rows):
    return np.concatenate([rows, np.ones((len(rows), 1))], 1)


class Factors(unittest.TestCase):
    def test_those_of_dense_layers_are_means_of_products(self):
        tf.keras.backend.set_floatx("float64")
        self.addCleanup(tf.keras.backend.set_floatx, "float32")
        first, second = layers.Dense(4, activation="tanh"), layers.Dense(2, use_bias=False)
        x, y = rng().normal(size=(7, 3)), rng(1).normal(size=(7, 2))
        optimizer = tf.train.KFACOptimizer([first, second], damping=0.1, cov_ema_decay=0.75)
        pairs = optimizer.compute_gradients(lambda: tf.reduce_sum((second(first(x)) - y) ** 2) / 7.0)
        hidden = np.tanh(x @ first.kernel.numpy() + first.bias.numpy())
        at_outputs = 2 * (hidden @ second.kernel.numpy() - y)  # of each example's own loss
        before_tanh = at_outputs @ second.kernel.numpy().T * (1 - hidden ** 2)
        wanted = {(first.kernel, "input_factor"): with_ones(x).T @ with_ones(x) / 7,
                  (first.kernel, "output_factor"): before_tanh.T @ before_tanh / 7,
                  (second.kernel, "input_factor"): hidden.T @ hidden / 7,
                  (second.kernel, "output_factor"): at_outputs.T @ at_outputs / 7}
        for (kernel, name), factor in wanted.items():
            np.testing.assert_allclose(optimizer.get_slot(kernel, name).numpy(), factor, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose({id(v): g for g, v in pairs}[id(first.kernel)].numpy(), x.T @ before_tanh / 7, atol=1e-12)

        optimizer.compute_gradients(lambda: tf.reduce_sum((second(first(2 * x)) - y) ** 2) / 7.0)
        doubled = with_ones(2 * x).T @ with_ones(2 * x) / 7  # the second estimate weighs 1/2, as 1 − 1/2 is below the decay
        np.testing.assert_allclose(optimizer.get_slot(first.kernel, "input_factor").numpy(),
                                   (wanted[first.kernel, "input_factor"] + doubled) / 2, rtol=1e-10)

    def test_those_of_convolutions_are_sums_over_places(self):
        tf.keras.backend.set_floatx("float64")
        self.addCleanup(tf.keras.backend.set_floatx, "float32")
        conv = layers.Conv2D(3, 2, padding="valid")
        x = rng().normal(size=(5, 4, 4, 2))
        weights = rng(1).normal(size=(5, 3, 3, 3))
        optimizer = tf.train.KFACOptimizer([conv], damping=0.1)
        optimizer.compute_gradients(lambda: tf.reduce_sum(conv(x) * weights) / 5.0)
        patches = np.stack([x[:, i:i + 2, j:j + 2].reshape(5, -1) for i in range(3) for j in range(3)], 1).reshape(45, -1)
        gradients = weights.reshape(45, 3)
        np.testing.assert_allclose(optimizer.get_slot(conv.kernel, "input_factor").numpy(),
                                   with_ones(patches).T @ with_ones(patches) / 5, rtol=1e-10)
        np.testing.assert_allclose(optimizer.get_slot(conv.kernel, "output_factor").numpy(), gradients.T @ gradients / 45, rtol=1e-10)


    def test_rows_of_inputs_and_gradients_make_the_layers_gradient(self):
        tf.keras.backend.set_floatx("float64")
        self.addCleanup(tf.keras.backend.set_floatx, "float32")
        for layer, shape in [(layers.Conv2D(3, (2, 3), strides=2, padding="same"), (4, 7, 6, 2)),
                             (layers.Conv2D(3, 2, dilation_rate=2, use_bias=False, activation="tanh"), (4, 5, 6, 2)),
                             (layers.Conv2D(2, 3, data_format="channels_first", padding="same"), (2, 3, 5, 4)),
                             (tf.layers.Conv2D(3, 2, activation=tf.nn.relu), (4, 5, 5, 1)),
                             (tf.layers.Dense(3, activation=tf.sigmoid), (6, 4)), (layers.Dense(2), (3, 5, 4))]:
            with self.subTest(type(layer).__module__, shape=shape):
                x = tf.constant(rng().normal(size=shape))
                with watching([layer]) as (seen,), tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.sin(layer(x)) + layer(2.0 * x) ** 2)
                found = tape.gradient(loss, [*seen.variables, *seen.outputs])
                count = len(seen.variables)
                product = tf.matmul(seen.input_rows(), seen.gradient_rows(found[count:]), transpose_a=True)
                np.testing.assert_allclose(product.numpy(), seen.as_matrix(found[:count]).numpy(), rtol=1e-9, atol=1e-9)
                for _, gradient, again in zip(seen.variables, found, seen.as_gradients(product)):
                    np.testing.assert_allclose(again.numpy(), gradient.numpy(), rtol=1e-9, atol=1e-9)


class Steps(unittest.TestCase):
    def linear(self, **kwargs):
        """A layer whose outputs are means of normal numbers: its Fisher matrix is that of least squares."""
        tf.keras.backend.set_floatx("float64")
        self.addCleanup(tf.keras.backend.set_floatx, "float32")
        tf.random.set_seed(5)
        layer = layers.Dense(2)
        x = rng().normal(size=(50, 3)) * [1.0, 10.0, 0.1]
        y = x @ rng(1).normal(size=(3, 2)) + [1.0, -2.0]
        optimizer = tf.train.KFACOptimizer(layer, learning_rate=1.0, damping=1e-22, momentum=0.0, estimation_mode="exact",
                                           predictive="normal", **kwargs)

        def loss():
            outputs = layer(tf.constant(x))
            return tf.reduce_sum((outputs - y) ** 2) / 100.0, outputs
        return layer, loss, optimizer, x, y

    def test_one_natural_step_solves_a_linear_problem(self):
        layer, loss, optimizer, x, y = self.linear()
        optimizer.minimize(loss)
        np.testing.assert_allclose(layer(tf.constant(x)).numpy(), y, atol=1e-6)

    def test_the_step_is_the_gradient_by_the_inverse_fisher_matrix(self):
        layer, loss, optimizer, x, _ = self.linear()
        loss()
        before, weights = with_ones(x), [layer.kernel.numpy(), layer.bias.numpy()]
        with tf.GradientTape() as tape:
            value = loss()[0]
        gradient = np.concatenate([tape.gradient(value, layer.kernel).numpy(), tape_bias(loss, layer)[None]])
        fisher = np.kron(before.T @ before / 50, np.eye(2))
        wanted = np.linalg.solve(fisher, gradient.reshape(-1)).reshape(4, 2)
        optimizer.minimize(loss)
        np.testing.assert_allclose(weights[0] - layer.kernel.numpy(), wanted[:3], rtol=1e-5)
        np.testing.assert_allclose(weights[1] - layer.bias.numpy(), wanted[3], rtol=1e-5)

    def test_damping_is_shared_by_the_traces(self):
        layer, loss, optimizer, _, _ = self.linear()
        optimizer._damping = 0.25
        loss()
        weights = layer.kernel.numpy()
        pairs = optimizer.compute_gradients(loss)
        a, g = (optimizer.get_slot(layer.kernel, name).numpy() for name in ("input_factor", "output_factor"))
        ratio = np.sqrt(np.trace(a) / 4 / (np.trace(g) / 2))
        matrix = np.concatenate([pairs[0][0].numpy(), pairs[1][0].numpy()[None]])
        step = np.linalg.inv(a + 0.5 * ratio * np.eye(4)) @ matrix @ np.linalg.inv(g + 0.5 / ratio * np.eye(2))
        optimizer.apply_gradients(pairs)
        np.testing.assert_allclose(weights - layer.kernel.numpy(), step[:3], rtol=1e-8)

    def test_the_divergence_of_a_step_is_limited(self):
        layer, loss, free, _, _ = self.linear()
        _, _, limited, _, _ = self.linear()
        loss()
        start = [v.numpy() for v in (layer.kernel, layer.bias)]
        steps = []
        for optimizer in free, tf.train.KFACOptimizer(layer, 1.0, 1e-22, momentum=0.0, norm_constraint=1e-4, estimation_mode="exact",
                                                      predictive="normal"):
            for v, value in zip((layer.kernel, layer.bias), start):
                v.assign(value)
            pairs = optimizer.compute_gradients(loss)
            gradients = [g.numpy() for g, _ in pairs]
            optimizer.apply_gradients(pairs)
            steps.append([value - v.numpy() for v, value in zip((layer.kernel, layer.bias), start)])
        whole = sum((step * g).sum() for step, g in zip(steps[0], gradients))
        scale = np.sqrt(1e-4 / whole)
        self.assertLess(scale, 1.0)
        np.testing.assert_allclose(steps[1][0], scale * steps[0][0], rtol=1e-8)

    def test_sampled_factors_come_near_the_exact_ones(self):
        tf.random.set_seed(0)
        x = rng().normal(size=(2000, 3)).astype(np.float32)
        layer = layers.Dense(3)

        def loss():
            logits = layer(tf.constant(x))
            return tf.reduce_mean(tf.reduce_sum(logits, 1)), logits

        factors = []
        for mode in "exact", "sampled":
            optimizer = tf.train.KFACOptimizer(layer, estimation_mode=mode, predictive="categorical")
            optimizer.compute_gradients(loss)
            factors.append(optimizer.get_slot(layer.kernel, "output_factor").numpy())
        p = tf.nn.softmax(layer(tf.constant(x))).numpy()
        np.testing.assert_allclose(factors[0], np.diag(p.mean(0)) - p.T @ p / 2000, atol=1e-5)
        np.testing.assert_allclose(factors[1], factors[0], atol=0.03)

    def test_a_convolutional_network_trains_and_other_variables_take_the_gradient(self):
        tf.random.set_seed(1)
        images = rng().normal(size=(32, 6, 6, 1)).astype(np.float32)
        labels = (images.mean((1, 2, 3)) > 0).astype(np.int32)
        conv, dense, scale = layers.Conv2D(4, 3, activation="relu", padding="same"), layers.Dense(2), tf.Variable(1.0)

        def loss():
            features = tf.reduce_mean(conv(tf.constant(images)), axis=[1, 2]) * scale
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=dense(features)))

        optimizer = tf.train.KFACOptimizer([conv, dense], learning_rate=0.1, damping=1e-2, norm_constraint=1e-2,
                                           inverse_update_interval=5)
        step = tf.Variable(0, dtype=tf.int64)
        first = float(loss())
        for _ in range(40):
            optimizer.minimize(loss, global_step=step)
        self.assertLess(float(loss()), 0.5 * first)
        self.assertNotEqual(float(scale), 1.0)
        self.assertEqual(int(step), 40)
        self.assertNotIn("call", vars(conv))

    def test_layers_are_left_as_they_were_where_the_loss_raises(self):
        layer = layers.Dense(2, activation="relu")

        def loss():
            layer(tf.ones([1, 3]))
            raise KeyError("mine")
        with self.assertRaises(KeyError):
            tf.train.KFACOptimizer(layer).minimize(loss)
        self.assertNotIn("call", vars(layer))
        self.assertEqual(layer(-tf.ones([1, 3])).shape, (1, 2))

    def test_bad_arguments_are_named(self):
        layer = layers.Dense(2)
        for error, text, call in [
                (ValueError, "estimation_mode is 'guessed'", lambda: tf.train.KFACOptimizer(layer, estimation_mode="guessed")),
                (ValueError, "estimation_mode 'exact' needs one of", lambda: tf.train.KFACOptimizer(layer, estimation_mode="exact")),
                (TypeError, "model is 3; needs a model", lambda: tf.train.KFACOptimizer(3)),
                (ValueError, "the loss called no Dense and no Conv2D layer",
                 lambda: tf.train.KFACOptimizer(layer).minimize(lambda: tf.constant(1.0))),
                (ValueError, r"needs a loss function that returns \(loss, outputs\)", lambda: tf.train.KFACOptimizer(
                    layer, estimation_mode="sampled", predictive="normal").minimize(lambda: tf.reduce_sum(layer(tf.ones([1, 1])))))]:
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()


class Networks(unittest.TestCase):
    """A model is more than a list of layers: tf.keras' and TensorFlow 1's eager ones."""

    class Inner(tfe.Network):
        def __init__(self):
            super().__init__()
            self.output_layer = self.track_layer(tf.layers.Dense(2))

        def call(self, x):
            return self.output_layer(x)

    class Outer(tfe.Network):
        def __init__(self):
            super().__init__()
            self.hidden = self.track_layer(tf.layers.Dense(6, activation=tf.nn.tanh))
            self.inner = self.track_layer(Networks.Inner())

        def call(self, x):
            return self.inner(self.hidden(x))

    def models(self):
        """Models of 3 inputs, 6 hidden units and 2 outputs."""
        inputs = tf.keras.Input([3])
        functional = layers.Dense(2)(layers.Dense(6, activation="tanh")(inputs))
        return {"tfe.Network in another": Networks.Outer(),
                "tfe.Sequential": tfe.Sequential([tf.layers.Dense(6, activation=tf.nn.tanh), tf.layers.Dense(2)]),
                "Sequential in another": tf.keras.Sequential([layers.Dense(6, activation="tanh"),
                                                              tf.keras.Sequential([layers.Dense(2)])]),
                "functional model": tf.keras.Model(inputs, functional)}

    def test_networks_and_models_take_the_steps_of_their_layers(self):
        plain = [layers.Dense(6, activation="tanh"), layers.Dense(2)]
        x, y = (tf.constant(rng(seed).normal(size=size).astype(np.float32)) for seed, size in [(0, (20, 3)), (1, (20, 2))])
        start = [0.5 * rng(2 + k).normal(size=size) for k, size in enumerate([(3, 6), (6,), (6, 2), (2,)])]

        def trained(model, call, variables):
            call(x)
            for variable, value in zip(variables(), start):
                variable.assign(value)
            optimizer = tf.train.KFACOptimizer(model, learning_rate=0.1, damping=1e-2, inverse_update_interval=3)
            for _ in range(8):
                optimizer.minimize(lambda: tf.reduce_mean((call(x) - y) ** 2))
            return [variable.numpy() for variable in variables()]

        wanted = trained(plain, lambda x: plain[1](plain[0](x)), lambda: plain[0].variables + plain[1].variables)
        self.assertGreater(np.abs(wanted[0] - start[0]).max(), 0.01)
        for name, model in self.models().items():
            with self.subTest(name):
                found = trained(model, model, lambda: model.trainable_variables)
                self.assertEqual(len(found), 4)
                for value, of_layers in zip(found, wanted):
                    np.testing.assert_allclose(value, of_layers, rtol=1e-5, atol=1e-6)


class OfKeras(unittest.TestCase):
    def model(self):
        tf.random.set_seed(1)
        model = tf.keras.Sequential([layers.Dense(8, activation="tanh"), layers.Dense(3)])
        x = rng().normal(size=(64, 5)).astype(np.float32)
        y = (x @ rng(1).normal(size=(5, 3))).argmax(1)
        return model, x, y, lambda: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=model(x)))

    def test_its_steps_are_those_of_the_first_form(self):
        found = []
        options = {"norm_constraint": 1e-3, "inverse_update_interval": 2}
        for make in (lambda model: tf.train.KFACOptimizer(model, 0.1, 1e-2, **options),
                     lambda model: tf.keras.optimizers.KFAC(0.1, 1e-2, model=model, **options)):
            model, _, _, loss = self.model()
            loss()
            optimizer = make(model)
            for _ in range(3):
                optimizer.minimize(loss, var_list=model.trainable_variables)
            found.append([variable.numpy() for variable in model.variables])
        for one, other in zip(*found):
            np.testing.assert_allclose(one, other, rtol=1e-6)

    def test_a_compiled_model_is_its_own_and_trains(self):
        for mode in ({}, {"estimation_mode": "exact", "predictive": "categorical"}):
            model, x, y, _ = self.model()
            model.compile(tf.keras.optimizers.KFAC(0.1, norm_constraint=1e-2, **mode),
                          tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), ["accuracy"])
            history = model.fit(x, y, epochs=8, batch_size=32, verbose=0).history
            self.assertLess(history["loss"][-1], 0.3 * history["loss"][0])
            self.assertGreater(history["accuracy"][-1], 0.9)
            self.assertEqual(int(model.optimizer.iterations), 16)
            self.assertEqual(sum("_factor" in variable.name for variable in model.optimizer.variables), 4)

    def test_the_first_form_trains_a_compiled_model_too(self):
        model, x, y, _ = self.model()
        model.compile(tf.train.KFACOptimizer(model, 0.1, norm_constraint=1e-2),
                      tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        losses = model.fit(x, y, epochs=8, batch_size=32, verbose=0).history["loss"]
        self.assertLess(losses[-1], 0.3 * losses[0])
        self.assertIsNotNone(model.optimizer.get_slot(model.layers[0].kernel, "input_factor"))

    def test_it_is_found_by_name_and_config(self):
        made = tf.keras.optimizers.get("kfac")
        self.assertIs(type(made), tf.keras.optimizers.KFAC)
        again = tf.keras.optimizers.KFAC.from_config(tf.keras.optimizers.KFAC(0.5, damping=0.25, momentum=0.5).get_config())
        self.assertEqual((float(again.learning_rate), again.damping, again.momentum), (0.5, 0.25, 0.5))

    def test_without_a_model_or_a_function_it_says_so(self):
        v = tf.Variable(1.0)
        with self.assertRaisesRegex(ValueError, "KFAC: there is no model"):
            tf.keras.optimizers.KFAC().minimize(lambda: v * v, [v])
        with self.assertRaisesRegex(ValueError, "needs a function"):
            tf.keras.optimizers.KFAC().minimize(v * v, [v])


def tape_bias(loss, layer):
    with tf.GradientTape() as tape:
        value = loss()[0]
    return tape.gradient(value, layer.bias).numpy()


if __name__ == "__main__":
    unittest.main()
