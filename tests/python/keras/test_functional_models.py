"""Functional models: symbols in place of values, and the models that are made from what symbols went through."""
import unittest

import numpy as np
import tapedeck as tf
from small_models import functional, rows, Small

layers = tf.keras.layers


class Symbols(unittest.TestCase):
    def test_shapes_and_dtypes_are_found_without_values(self):
        images = tf.keras.Input((28, 28, 1))
        self.assertEqual(tuple(layers.Conv2D(8, 3, strides=2)(images).shape), (None, 13, 13, 8))
        words = tf.keras.Input((None,), dtype=tf.int32)
        looked_up = layers.Embedding(10, 4)(words)
        self.assertEqual((tuple(looked_up.shape), looked_up.dtype), ((None, None, 4), tf.float32))
        self.assertEqual(tuple(layers.GlobalAveragePooling1D()(looked_up).shape), (None, 4))
        self.assertEqual(tuple(tf.keras.Input((3,), batch_size=7).shape), (7, 3))
        self.assertEqual(tuple(tf.keras.Input(batch_shape=(2, None)).shape), (2, None))

    def test_operators_and_functions_of_tf_are_layers_of_the_model(self):
        x, y = tf.keras.Input((4,)), tf.keras.Input((4,))
        values = [x + y, 2. - x, x * 3., x / 2., x ** 2., -x, abs(x), tf.nn.relu(x - y), tf.concat([x, y], -1)[:, 1:5],
                  tf.reduce_sum(x, axis=-1, keepdims=True) * tf.ones([4]), tf.stack([x, y], 1)[:, 0], tf.where(x > 0., x, y),
                  tf.cast(x, tf.int32), x @ tf.eye(4)]
        a, b = rows(3, 4), rows(3, 4)
        wanted = [a + b, 2 - a, a * 3, a / 2, a ** 2, -a, abs(a), np.maximum(a - b, 0), np.concatenate([a, b], -1)[:, 1:5],
                  a.sum(-1, keepdims=True) * np.ones(4), a, np.where(a > 0, a, b), a.astype(np.int32), a]
        for symbol, value in zip(tf.keras.Model([x, y], values)([a, b]), wanted):
            np.testing.assert_allclose(symbol, value, rtol=1e-6)
        for symbol, value in zip(values, wanted):
            self.assertEqual(tuple(symbol.shape), (None, *value.shape[1:]))

    def test_a_gradient_flows_through_ops(self):
        x = tf.keras.Input((2,))
        model = tf.keras.Model(x, tf.square(x) * 3.)
        value = tf.constant([[1., 2.]])
        with tf.GradientTape() as tape:
            tape.watch(value)
            result = model(value)
        np.testing.assert_allclose(tape.gradient(result, value), [[6., 12.]])

    def test_building_neither_draws_random_numbers_nor_changes_variables_nor_tapes(self):
        tf.random.set_seed(3)
        layers.BatchNormalization()(layers.Dropout(.5)(tf.keras.Input((4,)), training=True), training=True)
        drawn = tf.random.uniform([3]).numpy()
        tf.random.set_seed(3)
        np.testing.assert_array_equal(tf.random.uniform([3]), drawn)
        layer = layers.BatchNormalization()
        layer(tf.keras.Input((4,)), training=True)
        np.testing.assert_array_equal(layer.moving_mean, np.zeros(4))
        np.testing.assert_array_equal(layer.moving_variance, np.ones(4))
        with tf.GradientTape() as tape:
            layers.Dense(2)(tf.keras.Input((3,)))
        self.assertEqual(tape.watched_variables(), ())

    def test_they_have_no_values(self):
        x = tf.keras.Input((3,))
        for use in (bool, float, len, np.asarray, iter, lambda value: value.numpy()):
            with self.assertRaisesRegex(TypeError, "KerasTensor"):
                use(x)
        self.assertIn("shape=(None, 3), dtype=float32", repr(x))

    def test_a_layers_refusal_comes_at_once(self):
        with self.assertRaisesRegex(ValueError, "expected axis -1 of input shape to have value 3"):
            dense = layers.Dense(2)
            dense(tf.keras.Input((3,)))
            dense(tf.keras.Input((4,)))
        with self.assertRaisesRegex(ValueError, "expected min_ndim=4, found ndim=2"):
            layers.Conv2D(2, 3)(tf.keras.Input((3,)))
        with self.assertRaisesRegex(ValueError, "must pass a `shape`"):
            tf.keras.Input()

    def test_layers_know_what_they_were_called_on(self):
        x, dense = tf.keras.Input((3,)), layers.Dense(2)
        with self.assertRaisesRegex(AttributeError, "has never been called"):
            dense.output
        y = dense(x)
        self.assertIs(dense.output, y)
        self.assertIs(dense.input, x)
        dense(tf.keras.Input((3,)))
        with self.assertRaisesRegex(AttributeError, "multiple inbound nodes"):
            dense.output


class Records(unittest.TestCase):
    def tearDown(self):
        tf._engine.debug.stop()

    def test_building_is_not_recorded_and_calls_carry_the_layers_scope(self):
        import json
        debug = tf._engine.debug
        debug.attach()
        x = tf.keras.Input((3,))
        model = tf.keras.Model(x, tf.nn.relu(layers.Dense(2, name="first")(x)), name="whole")
        built = json.loads(debug.records_json())
        self.assertFalse([record["op"] for record in built if record["op"] in ("matmul", "relu", "bias_add", "dense")])
        model(rows(1, 3))
        scopes = {record["scope"] for record in json.loads(debug.records_json())[len(built):]}
        self.assertIn("whole/first", scopes)
        self.assertTrue(all(scope.startswith("whole") for scope in scopes if scope), scopes)


class Functional(unittest.TestCase):
    def test_it_computes_what_the_same_model_by_subclassing_does(self):
        first, second, x = functional(), Small(), rows(6, 5)
        second(x)
        second.set_weights(first.get_weights())
        np.testing.assert_array_equal(first(x), second(x))
        with tf.GradientTape(persistent=True) as tape:
            losses = [tf.reduce_sum(tf.square(model(x))) for model in (first, second)]
        for one, two in zip(tape.gradient(losses[0], first.trainable_variables),
                            tape.gradient(losses[1], second.trainable_variables)):
            np.testing.assert_array_equal(one, two)

    def test_layers_and_variables_are_named_as_keras_names_them(self):
        tf.keras.backend.clear_session()
        model = functional()
        self.assertEqual([layer.name for layer in model.layers], ["input_layer", "dense_1", "dense"])  # made from the outside in
        self.assertEqual([variable.name for variable in model.weights],
                         ["dense_1/kernel:0", "dense_1/bias:0", "dense/kernel:0", "dense/bias:0"])

    def test_shared_layers_have_one_set_of_variables(self):
        a, b, shared = tf.keras.Input((4,)), tf.keras.Input((4,)), layers.Dense(3)
        model = tf.keras.Model([a, b], layers.subtract([shared(a), shared(b)]))
        self.assertEqual(len(model.weights), 2)
        x, y = rows(2, 4), rows(2, 4)
        np.testing.assert_allclose(model([x, y]), (x - y) @ shared.kernel.numpy(), rtol=1e-5, atol=1e-6)

    def test_inputs_and_outputs_may_be_lists_and_dicts(self):
        a, b = tf.keras.Input((2,), name="a"), tf.keras.Input((3,), name="b")
        model = tf.keras.Model({"a": a, "b": b}, {"sum": layers.Dense(1, name="top")(layers.concatenate([a, b])), "double": a * 2.})
        values = {"b": rows(4, 3), "a": rows(4, 2)}
        result = model(values)
        self.assertEqual(set(result), {"sum", "double"})
        np.testing.assert_array_equal(result["double"], values["a"] * 2)
        listed = tf.keras.Model([a, b], [a * 2., b])
        np.testing.assert_array_equal(listed([values["a"], values["b"]])[1], values["b"])
        np.testing.assert_array_equal(listed({"a": values["a"], "b": values["b"]})[0], values["a"] * 2)  # by the inputs' names
        with self.assertRaisesRegex(ValueError, "Missing data for input"):
            listed({"a": values["a"]})

    def test_models_are_layers_of_models(self):
        inner = functional()
        x = tf.keras.Input((5,))
        outer = tf.keras.Model(x, layers.Dense(2)(inner(x) + Small()(x)))
        self.assertEqual(len(outer.weights), 10)
        self.assertEqual(tuple(outer.output_shape), (None, 2))
        self.assertEqual(outer(rows(3, 5)).shape, (3, 2))
        self.assertIs(outer.get_layer(inner.name), inner)

    def test_part_of_a_model_is_a_model(self):
        model = functional()
        features = tf.keras.Model(model.input, model.layers[1].output)
        x = rows(2, 5)
        np.testing.assert_array_equal(features(x), model.layers[1](x))
        head = tf.keras.Model(model.layers[1].output, model.output)
        np.testing.assert_array_equal(head(features(x)), model(x))

    def test_inputs_become_the_dtype_and_rank_that_was_said(self):
        x = tf.keras.Input((1,))
        model = tf.keras.Model(x, x * 2.)
        self.assertEqual(model(np.arange(3)).shape, (3, 1))
        self.assertEqual(model(np.arange(3)).dtype, tf.float32)

    def test_a_last_axis_of_one_may_be_missing_or_too_many(self):
        whole = np.arange(24, dtype=np.float32).reshape(2, 3, 4, 1)
        for shape, given in (((3, 4), whole), ((3, 4, 1), whole[..., 0]), ((3, 4), whole[..., 0]), ((3, 4, 1), whole)):
            inputs = tf.keras.Input(shape)
            models = [tf.keras.Model(inputs, tf.keras.layers.Flatten()(inputs)),
                      tf.keras.Sequential([tf.keras.Input(shape), tf.keras.layers.Flatten()]),
                      tf.keras.Sequential([tf.keras.layers.Flatten(input_shape=shape)])]
            for model in models:
                with self.subTest(shape=shape, given=given.shape):
                    np.testing.assert_array_equal(model(given), whole.reshape(2, 12))
                    np.testing.assert_array_equal(model.predict(given, verbose=0), whole.reshape(2, 12))
                    around = tf.keras.Input(given.shape[1:])
                    self.assertEqual(tf.keras.Model(around, model(around))(given).shape, (2, 12))
            for wrong in (np.ones((2, 3, 4, 2)), np.ones((2, 3)), np.ones((2, *shape, 2)), np.ones((2, 3, 5, 1)), np.ones((2, 3, 5))):
                with self.assertRaisesRegex(ValueError, "is incompatible with the layer: expected"):
                    models[0](wrong)

    def test_it_refuses_what_is_no_graph(self):
        x, y = tf.keras.Input((3,), name="left"), tf.keras.Input((3,), name="right")
        with self.assertRaisesRegex(ValueError, 'Graph disconnected: .* at layer "right"'):
            tf.keras.Model(x, x + y)
        with self.assertRaisesRegex(ValueError, "must be KerasTensors"):
            tf.keras.Model(inputs=x, outputs=rows(2, 3))
        same = layers.Dense(3, name="same")
        with self.assertRaisesRegex(ValueError, 'The name "same" is used 2 times'):
            tf.keras.Model(x, layers.Dense(3, name="same")(same(x)))
        with self.assertRaisesRegex(ValueError, "same input multiple times"):
            tf.keras.Model([x, x], x)
        with self.assertRaisesRegex(ValueError, r'Input 0 of layer ".*" is incompatible .*found shape=\(2, 4\)'):
            functional()(rows(2, 4))
        with self.assertRaisesRegex(ValueError, "expects 2 input"):
            tf.keras.Model([x, y], x + y)(rows(2, 3))

    def test_a_loss_without_a_value_is_refused(self):
        model = functional()
        with self.assertRaisesRegex(ValueError, "has no value yet"):
            model.add_loss(tf.reduce_sum(model.output))

    def test_training_reaches_the_layers(self):
        x = tf.keras.Input((200,))
        model = tf.keras.Model(x, layers.Dropout(.5)(x))
        ones = np.ones((1, 200), np.float32)
        self.assertEqual(set(np.unique(model(ones, training=True))), {0., 2.})
        np.testing.assert_array_equal(model(ones), ones)

    def test_masks_reach_the_layers(self):
        words = tf.keras.Input((None,), dtype=tf.int32)
        embedding = layers.Embedding(5, 2, mask_zero=True)
        model = tf.keras.Model(words, layers.GlobalAveragePooling1D()(embedding(words)))
        table = embedding.embeddings.numpy()
        np.testing.assert_allclose(model([[1, 2, 0, 0]])[0], (table[1] + table[2]) / 2, rtol=1e-6)

    def test_a_subclass_may_be_functional(self):
        class Named(tf.keras.Model):
            def __init__(self):
                x = tf.keras.Input((3,))
                super().__init__(inputs=x, outputs=layers.Dense(2)(x), name="named")

            def doubled(self, x):
                return self(x) * 2

        model, x = Named(), rows(2, 3)
        np.testing.assert_array_equal(model.doubled(x), model(x) * 2)
        self.assertEqual((model.name, len(model.weights)), ("named", 2))


if __name__ == "__main__":
    unittest.main()
