"""tf.saved_model with Keras models: what is loaded computes, trains and normalises as the model did."""
import unittest

import numpy as np

import tapedeck as tf
from test_saved_models import SavedTest

X = np.random.RandomState(1).rand(6, 4).astype(np.float32)


def sequential():
    layers = tf.keras.layers
    return tf.keras.Sequential([layers.Dense(5, activation="tanh", input_shape=(4,)), layers.BatchNormalization(momentum=.5),
                                layers.Dropout(.5), layers.Dense(2)])


class Subclassed(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.more = tf.keras.layers.Dense(3), [tf.keras.layers.Dense(2, name="inner")]

    def call(self, inputs, training=None):
        y = self.one(inputs)
        if training:
            y *= 10.
        return {"y": self.more[0](y), "hidden": y}


class Keras(SavedTest):
    def setUp(self):
        super().setUp()
        tf.keras.utils.set_random_seed(3)

    def test_a_sequential_model(self):
        model = sequential()
        again = self.saved(model)
        self.assert_same(model(X), again(X))
        self.assert_same(model(X, training=False), again(tf.constant(X), training=False))
        self.assertEqual([each.name for each in again.variables], [each.name for each in model.variables])
        self.assertEqual([each.name for each in again.trainable_variables], [each.name for each in model.trainable_variables])

    def test_training_normalises_drops_and_has_gradients(self):
        model = sequential()
        again = self.saved(model)

        def step(run, variables, keep):
            tf.random.set_seed(5)
            with tf.GradientTape() as tape:
                y = run(tf.constant(X), training=True)
                loss = tf.reduce_sum(y ** 2)
            return [y, *tape.gradient(loss, list(variables)), *[each.read_value() for each in keep]]

        expected = step(model, model.trainable_variables, model.variables)
        got = step(again, again.trainable_variables, again.variables)
        self.assertEqual([each.shape for each in expected], [each.shape for each in got])
        moved = [number for number, each in enumerate(model.variables) if "moving_mean" in each.name][0]
        self.assertFalse(np.array_equal(again.variables[moved].numpy(), np.zeros(5)))
        self.assert_same(model.variables[moved].read_value(), again.variables[moved].read_value())
        with self.assertRaisesRegex(ValueError, "Could not find matching concrete function"):
            again(X[:, :3])

    def test_the_signature_that_serves_a_model(self):
        model = sequential()
        serve = self.saved(model).signatures["serving_default"]
        (name,) = model.input_names
        self.assertEqual(list(serve.structured_outputs), list(model.output_names))
        self.assert_same(serve(**{name: tf.constant(X)})[model.output_names[0]], model(X))

    def test_a_functional_model_of_several_inputs(self):
        a, b = tf.keras.Input((4,), name="a"), tf.keras.Input((2,), name="b", dtype="int32")
        y = tf.keras.layers.Concatenate()([tf.keras.layers.Dense(3)(a), tf.cast(b, "float32")])
        model = tf.keras.Model([a, b], [tf.keras.layers.Dense(1, name="left")(y), tf.keras.layers.Dense(2, name="right")(y)])
        given = [tf.constant(X), tf.ones([6, 2], tf.int32)]
        again = self.saved(model)
        self.assert_same(model(given), again(given))
        served = again.signatures["serving_default"](a=given[0], b=given[1])
        self.assertEqual(sorted(served), ["left", "right"])
        self.assert_same([served["left"], served["right"]], model(given))

    def test_dicts_keep_their_names_in_any_order(self):
        a = tf.keras.Input([1], name="a")
        model = tf.keras.Model(a, {"z": tf.keras.layers.Rescaling(2.)(a), "c": tf.keras.layers.Rescaling(3.)(a)})
        served = self.saved(model).signatures["serving_default"](a=tf.constant([[1.]]))
        self.assertEqual({name: value.numpy().tolist() for name, value in served.items()}, {"z": [[2.]], "c": [[3.]]})
        b, a = tf.keras.Input([2], name="b"), tf.keras.Input([3], name="a")
        model = tf.keras.Model({"b": b, "a": a}, tf.reduce_sum(b, 1) - tf.reduce_sum(a, 1))
        given = {"a": tf.constant([[1., 2., 2.]]), "b": tf.constant([[1., 1.]])}
        again = self.saved(model)
        self.assertEqual(model(given).numpy().tolist(), [-3.])
        self.assertEqual(again(given).numpy().tolist(), [-3.])
        (result,) = again.signatures["serving_default"](**given).values()
        self.assertEqual(result.numpy().tolist(), [-3.])

    def test_layers_without_variables(self):
        model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.ReLU()])
        with self.assertRaisesRegex(ValueError, "the model has not been called"):
            self.saved(model)
        expected = model(X)
        self.assert_same(expected, self.saved(model)(X))

    def test_a_subclassed_model(self):
        model = Subclassed()
        with self.assertRaisesRegex(ValueError, "cannot be saved because the input shape is not available"):
            self.saved(model)
        expected = model(X), model(X, training=True)
        again = self.saved(model)
        self.assert_same(expected, (again(X), again(X, training=True)))
        self.assert_same(again.one.kernel.read_value(), model.one.kernel.read_value())
        self.assertEqual(again.more[0].bias.name, model.more[0].bias.name)
        served = again.signatures["serving_default"](input_1=tf.constant(X[:2]))
        self.assert_same(served["y"], model(X[:2])["y"])

    def test_recurrent_layers(self):
        for layer in (tf.keras.layers.LSTM(3, return_sequences=True), tf.keras.layers.GRU(3), tf.keras.layers.SimpleRNN(2)):
            with self.subTest(layer=type(layer).__name__):
                model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1)])
                x = np.random.RandomState(2).rand(2, 5, 3).astype(np.float32)
                model(x)
                again = self.saved(model)
                self.assert_same(model(x), again(x))

                def gradients(run, variables, x=x):
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_sum(run(tf.constant(x)) ** 2)
                    return tape.gradient(loss, list(variables))

                self.assert_same(gradients(tf.function(model), model.trainable_variables), gradients(again, again.trainable_variables))

    def test_a_model_in_a_module(self):
        module = tf.Module()
        module.net, module.idle = sequential(), Subclassed()
        module.f = tf.function(lambda x: module.net(x) * 2., input_signature=[tf.TensorSpec([None, 4])])
        again = self.saved(module)
        self.assert_same(module.f(X), again.f(X))
        self.assert_same(module.net(X), again.net(X))
        self.assertIs(again.net.variables[0], again.net.variables[0])
        self.assertFalse(callable(again.idle))

    def test_a_trained_model_with_its_optimizer(self):
        model = sequential()
        model.compile("adam", "mse", metrics=["mae"])
        model.fit(X, X[:, :2], epochs=2, verbose=0)
        again = self.saved(model)
        self.assert_same(tf.constant(model.predict(X, verbose=0)), again(X))
        once_more = self.saved(again)
        self.assert_same(once_more(X), again(X))
        self.assertEqual(list(once_more.signatures), ["serving_default"])

    def test_a_folder_is_not_a_models_file(self):
        self.saved(sequential())
        with self.assertRaisesRegex(ValueError, r"load_model: .*/model is a folder; tf\.saved_model\.load reads those of tf\.saved_model"):
            tf.keras.models.load_model(self.folder + "/model")

    def test_attention_and_convolutions(self):
        layers = tf.keras.layers
        picture = tf.keras.Input((8, 8, 2))
        y = layers.MaxPooling2D()(layers.Conv2D(4, 3, padding="same", activation="relu")(picture))
        y = layers.Reshape((16, 4))(y)
        y = layers.LayerNormalization()(y + layers.MultiHeadAttention(2, 3)(y, y))
        model = tf.keras.Model(picture, layers.Dense(3, activation="softmax")(layers.GlobalAveragePooling1D()(y)))
        x = np.random.RandomState(2).rand(3, 8, 8, 2).astype(np.float32)
        self.assert_same(model(x), self.saved(model)(x))


if __name__ == "__main__":
    unittest.main()
