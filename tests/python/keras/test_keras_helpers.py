"""tf.keras' regularizers, constraints, initializers, backend and utils: what layers are given by name, and small helpers."""
import unittest

import numpy as np

import tapedeck as tf

K = tf.keras.backend


class Regularizers(unittest.TestCase):
    def test_losses_are_those_of_their_formulas(self):
        x = np.array([[1., -2.], [3., .5], [-1., 4.]])
        R = tf.keras.regularizers
        self.assertAlmostEqual(float(R.L1(.5)(x)), .5 * np.abs(x).sum())
        self.assertAlmostEqual(float(R.L2(.5)(x)), .5 * np.square(x).sum())
        self.assertAlmostEqual(float(R.L1L2(.5, .25)(x)), .5 * np.abs(x).sum() + .25 * np.square(x).sum())
        self.assertEqual(float(R.L1L2()(x)), 0.)
        for mode, rows in (("rows", x), ("columns", x.T)):
            unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            cosines = np.abs(unit @ unit.T)[np.triu_indices(len(rows), 1)]
            self.assertAlmostEqual(float(R.OrthogonalRegularizer(.1, mode)(x)), .1 * cosines.mean())

    def test_they_are_found_by_name_and_config(self):
        R = tf.keras.regularizers
        self.assertIsNone(R.get(None))
        self.assertIsInstance(R.get("l2"), R.L2)
        self.assertEqual(R.get(R.serialize(R.L1L2(.1, .2))).get_config(), {"l1": .1, "l2": .2})
        self.assertEqual(R.l1_l2().get_config(), {"l1": .01, "l2": .01})
        with self.assertRaisesRegex(ValueError, "expected a non-negative float. Received: l2=-1"):
            R.L2(-1)
        with self.assertRaisesRegex(ValueError, "inputs.shape=\\(3,\\)"):
            R.OrthogonalRegularizer()(tf.ones([3]))


class Constraints(unittest.TestCase):
    def test_values_keep_to_them(self):
        C, w = tf.keras.constraints, np.array([[3., .1, -1.], [4., .2, 0.]])
        lengths = np.linalg.norm(w, axis=0)
        np.testing.assert_allclose(C.MaxNorm(1.)(w), w * np.minimum(lengths, 1) / lengths, rtol=1e-5)
        np.testing.assert_allclose(C.UnitNorm()(w), w / lengths, rtol=1e-5)
        np.testing.assert_array_equal(C.NonNeg()(w), np.maximum(w, 0))
        wanted = .5 * np.clip(lengths, .5, 2) + .5 * lengths
        np.testing.assert_allclose(C.MinMaxNorm(.5, 2., rate=.5)(w), w * wanted / lengths, rtol=1e-5)
        np.testing.assert_allclose(C.MaxNorm(1., axis=[0, 1])(w), w / np.linalg.norm(w), rtol=1e-5)

    def test_they_are_found_by_name_and_config(self):
        C = tf.keras.constraints
        self.assertIsInstance(C.get("non_neg"), C.NonNeg)
        self.assertEqual(C.get(C.serialize(C.MinMaxNorm(.1, .2, .3, 1))).get_config(),
                         {"min_value": .1, "max_value": .2, "rate": .3, "axis": 1})
        with self.assertRaisesRegex(ValueError, "Unknown constraint: 'nonsense'"):
            C.get("nonsense")


class Names(unittest.TestCase):
    def test_registered_objects_come_back_from_configs(self):
        @tf.keras.utils.register_keras_serializable("mine")
        class Twice(tf.keras.layers.Layer):
            def __init__(self, times=2, **kwargs):
                super().__init__(**kwargs)
                self.times = times

            def call(self, inputs):
                return inputs * self.times

            def get_config(self):
                return {**super().get_config(), "times": self.times}

        @tf.keras.utils.register_keras_serializable("mine")
        def halved(x):
            return x / 2

        layer = tf.keras.layers.Dense(2, activation=halved)
        self.assertIs(tf.keras.layers.Dense.from_config(layer.get_config()).activation, halved)
        config = tf.keras.utils.serialize_keras_object(Twice(3))
        self.assertEqual(config["class_name"], "mine>Twice")
        self.assertEqual(tf.keras.utils.deserialize_keras_object(config).times, 3)
        again = tf.keras.utils.deserialize_keras_object(tf.keras.utils.serialize_keras_object(tf.keras.layers.Dense(7)))
        self.assertEqual(again.units, 7)

    def test_scopes_name_objects_while_they_are_open(self):
        def cubed(x):
            return x**3

        with tf.keras.utils.custom_object_scope({"cubed": cubed}):
            self.assertIs(tf.keras.activations.get("cubed"), cubed)
        with self.assertRaisesRegex(ValueError, "Unknown activation function: 'cubed'"):
            tf.keras.activations.get("cubed")

    def test_activations_are_functions_names_and_ops(self):
        A = tf.keras.activations
        self.assertIs(A.get(None), A.linear)
        self.assertEqual(A.serialize(A.get("relu")), "relu")
        self.assertEqual(A.serialize(tf.nn.relu), "relu")
        self.assertIs(A.get("swish"), A.silu)
        with self.assertRaisesRegex(ValueError, "softmax to a tensor that is 1D"):
            A.softmax(tf.ones([3]))

    def test_initializers_go_through_configs(self):
        initializer = tf.keras.initializers.VarianceScaling(2., "fan_out", "uniform", seed=3)
        again = tf.keras.initializers.get(tf.keras.initializers.serialize(initializer))
        np.testing.assert_array_equal(again((3, 4)), initializer((3, 4)))
        for name in ("Identity", "orthogonal", "LecunNormal", "he_uniform", "zeros", "glorot_normal", "truncated_normal"):
            self.assertEqual(tf.keras.initializers.get(name)((4, 4)).shape, (4, 4))


class Backend(unittest.TestCase):
    def test_the_default_dtype_is_that_of_new_layers(self):
        K.set_floatx("float64")
        try:
            self.assertEqual(tf.keras.layers.Dense(1)(np.ones([1, 2], "float32")).dtype, tf.float64)
        finally:
            K.set_floatx("float32")
        with self.assertRaisesRegex(ValueError, "value is 'int8'; must be 'float16'"):
            K.set_floatx("int8")

    def test_the_default_data_format_is_that_of_new_layers(self):
        K.set_image_data_format("channels_first")
        try:
            self.assertEqual(tf.keras.layers.GlobalMaxPooling2D()(tf.ones([2, 3, 4, 5])).shape, (2, 3))
        finally:
            K.set_image_data_format("channels_last")

    def test_functions_are_those_of_numpy(self):
        x = np.array([[1., -2., 3.], [4., 5., -6.]])
        for name in ("sum", "mean", "prod", "std", "var", "max", "min"):
            np.testing.assert_allclose(getattr(K, name)(x, axis=1), getattr(np, name)(x, axis=1))
        np.testing.assert_array_equal(K.clip(x, -1, 2), np.clip(x, -1, 2))
        np.testing.assert_allclose(K.dot(x, x.T), x @ x.T)
        self.assertEqual(K.batch_flatten(tf.ones([2, 3, 4])).shape, (2, 12))
        self.assertEqual(K.int_shape(tf.ones([2, 3])), (2, 3))
        np.testing.assert_array_equal(K.repeat_elements(x, 2, 0), np.repeat(x, 2, 0))
        variable = K.variable([1., 2.])
        K.set_value(variable, [3., 4.])
        self.assertEqual(K.get_value(variable).tolist(), [3., 4.])
        self.assertEqual(float(K.switch(True, lambda: 1., 2.)), 1.)


class OtherNames(unittest.TestCase):
    def test_what_stands_in_two_namespaces_is_one_thing(self):
        keras = tf.keras
        for one, other in ((keras.Layer, keras.layers.Layer), (keras.Optimizer, keras.optimizers.Optimizer),
                           (keras.optimizers.legacy.Adam, keras.optimizers.Adam),
                           (keras.optimizers.LossScaleOptimizer, keras.mixed_precision.LossScaleOptimizer),
                           (keras.config.set_floatx, K.set_floatx), (keras.utils.clear_session, K.clear_session)):
            self.assertIs(one, other)
        self.assertIsInstance(keras.Input((2,)), keras.KerasTensor)
        self.assertIsInstance(keras.initializers.get("zeros"), keras.Initializer)
        self.assertIsInstance(keras.regularizers.get("l2"), keras.Regularizer)
        self.assertEqual(keras.utils.unpack_x_y_sample_weight(keras.utils.pack_x_y_sample_weight(1, 2)), (1, 2, None))


class Utils(unittest.TestCase):
    def test_classes_become_rows(self):
        np.testing.assert_array_equal(tf.keras.utils.to_categorical([0, 2]), [[1, 0, 0], [0, 0, 1]])
        self.assertEqual(tf.keras.utils.to_categorical([[1], [0]], 4).shape, (2, 4))
        self.assertIsInstance(tf.keras.utils.to_categorical(tf.constant([1, 0])), tf.Tensor)

    def test_rows_get_length_1(self):
        np.testing.assert_allclose(tf.keras.utils.normalize(np.array([[3., 4.], [0., 0.]])), [[.6, .8], [0., 0.]])
        np.testing.assert_allclose(tf.keras.utils.normalize(tf.constant([[3., 4.]]), order=1), [[3 / 7, 4 / 7]])

    def test_one_seed_for_all_generators(self):
        def draw():
            tf.keras.utils.set_random_seed(3)
            return np.random.rand(), float(tf.random.uniform([]))

        self.assertEqual(draw(), draw())


class BackendFunctions(unittest.TestCase):
    def test_cross_entropies_are_the_formulas(self):
        rng = np.random.default_rng(3)
        logits, target = rng.normal(size=(3, 4)), np.eye(4)[[0, 2, 1]]
        sigmoid, soft = 1 / (1 + np.exp(-logits)), np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        wanted = -(target * np.log(sigmoid) + (1 - target) * np.log(1 - sigmoid))
        np.testing.assert_allclose(K.binary_crossentropy(target, sigmoid), wanted, rtol=1e-9)
        np.testing.assert_allclose(K.binary_crossentropy(target, logits, from_logits=True), wanted, rtol=1e-9)
        for found in (K.categorical_crossentropy(target, soft), K.categorical_crossentropy(target, logits, from_logits=True),
                      K.sparse_categorical_crossentropy([0, 2, 1], soft)):
            np.testing.assert_allclose(found, -np.log(soft[range(3), [0, 2, 1]]), rtol=1e-6)

    def test_functions_arrange_and_count(self):
        x = tf.constant([[1., 2.], [3., 4.]])
        for found, wanted in ((K.transpose(x), [[1, 3], [2, 4]]), (K.reverse(x, 1), [[2, 1], [4, 3]]),
                              (K.reverse(x, [0, 1]), [[4, 3], [2, 1]]), (K.repeat(x, 2), [[[1, 2], [1, 2]], [[3, 4], [3, 4]]]),
                              (K.cumsum(x, 1), [[1, 3], [3, 7]]), (K.cumprod(x), [[1, 2], [3, 8]]), (K.arange(3), [0, 1, 2]),
                              (K.arange(1, 6, 2), [1, 3, 5]), (K.bias_add(x, [10., 20.]), [[11, 22], [13, 24]]),
                              (K.hard_sigmoid([-3., 0., 1., 3.]), np.float32([0, .5, .7, 1])), (K.map_fn(lambda row: -row, x), -x),
                              (K.in_top_k(x, [0, 1], 1), [False, True]), (K.eye(2), np.eye(2))):
            np.testing.assert_array_equal(np.asarray(found), wanted)
        channels_first = K.bias_add(tf.zeros((1, 2, 2, 2)), [1., 2.], "channels_first").numpy()
        self.assertEqual(channels_first[0].tolist(), [[[1., 1.], [1., 1.]], [[2., 2.], [2., 2.]]])
        np.testing.assert_allclose(K.l2_normalize(x, 1), x / np.sqrt([[5.], [25.]]), rtol=1e-6)
        self.assertEqual((K.count_params(x), K.arange(2, dtype="float32").dtype), (4, tf.float32))
        with self.assertRaisesRegex(ValueError, r"repeat: x has shape \(2,\)"):
            K.repeat(x[0], 2)
        variable = tf.Variable(1.)
        K.update(variable, 3.)
        K.update_add(variable, 2.)
        K.update_sub(variable, 1.)
        self.assertEqual(float(variable), 4.)

    def test_draws_have_their_parameters(self):
        tf.random.set_seed(4)
        drawn = K.random_normal((20000,), 3., 2.).numpy()
        self.assertEqual(drawn.dtype, np.float32)
        self.assertLess(abs(drawn.mean() - 3.), .1)
        self.assertLess(abs(drawn.std() - 2.), .1)
        self.assertLess(np.abs(K.truncated_normal((1000,)).numpy()).max(), 2.)
        uniform = K.random_uniform((1000,), 1., 2., dtype="float64").numpy()
        self.assertTrue(uniform.dtype == np.float64 and uniform.min() >= 1. and uniform.max() < 2.)
        self.assertLess(abs(K.random_bernoulli((20000,), .25).numpy().mean() - .25), .02)
        self.assertEqual(set(K.dropout(tf.ones(100), .5).numpy()), {0., 2.})


class Draws(unittest.TestCase):
    def test_a_number_gives_the_same_values_again_and_a_generator_goes_on(self):
        draw = tf.keras.random
        for function in (draw.normal, draw.uniform, draw.truncated_normal,
                         lambda shape, seed: draw.randint(shape, 0, 1000, seed=seed),
                         lambda shape, seed: draw.categorical(tf.zeros((2, 50)), 4, seed=seed),
                         lambda shape, seed: draw.dropout(tf.ones(64), .5, seed=seed)):
            np.testing.assert_array_equal(function((8,), seed=3), function((8,), seed=3))
            one, other = draw.SeedGenerator(3), draw.SeedGenerator(3)
            first = [function((8,), seed=one).numpy() for _ in range(2)]
            np.testing.assert_array_equal(first, [function((8,), seed=other).numpy() for _ in range(2)])
            self.assertTrue((first[0] != first[1]).any())
            free = [function((8,), seed=None).numpy() for _ in range(2)]
            self.assertTrue((free[0] != free[1]).any())

    def test_a_generator_is_restored_with_its_place(self):
        generator = tf.keras.random.SeedGenerator(5)
        tf.keras.random.normal((2,), seed=generator)
        copied = tf.keras.random.SeedGenerator.from_config(generator.get_config())
        copied.state.assign(generator.state)
        np.testing.assert_array_equal(tf.keras.random.normal((2,), seed=copied), tf.keras.random.normal((2,), seed=generator))
        with self.assertRaisesRegex(ValueError, "must be an integer. Received: seed='a'"):
            tf.keras.random.SeedGenerator("a")
        with self.assertRaisesRegex(ValueError, "dropout: rate is 1"):
            tf.keras.random.dropout(tf.ones(2), 1)


if __name__ == "__main__":
    unittest.main()
