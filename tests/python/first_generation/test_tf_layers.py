"""TensorFlow 1's tf.layers: names and scopes, variables that scopes and stores share, defaults, renormalization."""
import copy
import inspect
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import tfe


class Weighted(tf.layers.Layer):
    def build(self, input_shape):
        self.factor = self.add_variable("factor", [input_shape[-1]], initializer=tf.ones_initializer(),
                                        regularizer=lambda v: 3 * tf.reduce_sum(v))
        self.steps = self.add_variable("steps", [], tf.int64, tf.zeros_initializer(), trainable=False)

    def call(self, inputs):
        return tf.layers.dense(inputs * self.factor, 2, name="inner")


class Classes(unittest.TestCase):
    def test_names_have_numbers_and_scopes_only_where_they_need_them(self):
        with tf.variable_scope("names_alone"):
            first, second = tf.layers.Dense(1), tf.layers.Dense(1)
            first(tf.ones([1, 2]))
            second(tf.ones([1, 2]))
        self.assertEqual(second.name.rpartition("_")[0], "dense")
        self.assertEqual((first.scope_name, second.scope_name), ("names_alone/dense", "names_alone/dense_1"))
        self.assertEqual([each.name for each in second.variables], ["names_alone/dense_1/kernel:0", "names_alone/dense_1/bias:0"])
        with self.assertRaisesRegex(ValueError, "No name available for layer scope because the layer"):
            tf.layers.Dense(1).scope_name

    def test_a_given_name_is_the_scope(self):
        layer = tf.layers.Dense(2, activation=tf.nn.relu, name="a_dense_of_its_own")
        layer(tf.ones([5, 4]))
        self.assertEqual(layer.kernel.name, "a_dense_of_its_own/kernel:0")
        self.assertEqual(layer.activation, tf.nn.relu)
        self.assertIsNone(tf.layers.Dense(2).activation)

    def test_the_first_inputs_give_the_dtype(self):
        layer = tf.layers.Dense(2)
        self.assertIsNone(layer.dtype)
        self.assertEqual(layer(tf.ones([1, 3], tf.float64)).dtype, tf.float64)
        self.assertEqual((layer.dtype, layer.kernel.dtype), ("float64", tf.float64))

    def test_own_layers_have_scopes_losses_and_order(self):
        with tf.variable_scope("own"):
            layer = Weighted(name="weighted")
            result = layer.apply(tf.ones([1, 2]))
        self.assertEqual(result.shape, (1, 2))
        self.assertEqual([each.name for each in layer.weights], ["own/weighted/factor:0", "own/weighted/steps:0"])
        self.assertEqual([float(each) for each in layer.losses], [6.])
        self.assertEqual(layer.count_params(), 3)
        self.assertEqual(len(layer.trainable_weights), 1)

    def test_weights_that_training_changes_come_first(self):
        layer = tf.layers.BatchNormalization()
        layer.add_variable("early", [], trainable=False)
        layer(tf.ones([2, 3]))
        self.assertEqual([each.name.rpartition("/")[2] for each in layer.weights],
                         ["gamma:0", "beta:0", "early:0", "moving_mean:0", "moving_variance:0"])

    def test_copies_keep_the_scope_and_have_variables_of_their_own(self):
        layer = tf.layers.Dense(2, name="to_copy")
        layer(tf.ones([1, 3]))
        other = copy.deepcopy(layer)
        other.kernel.assign(other.kernel * 2)
        self.assertEqual(other.scope_name, layer.scope_name)
        np.testing.assert_array_equal(other.kernel, layer.kernel * 2)

    def test_what_graphs_alone_have_is_refused(self):
        layer = tf.layers.Dense(1)
        for name in ("graph", "updates", "input", "output_shape"):
            with self.assertRaisesRegex(RuntimeError, f"Layer.{name} not supported in Eager mode"):
                getattr(layer, name)
        with self.assertRaises(TypeError):
            tf.layers.Layer(units=3)

    def test_untrainable_layers_make_untrainable_variables(self):
        layer = tf.layers.Dense(2, trainable=False)
        layer(tf.ones([1, 2]))
        self.assertEqual((layer.trainable_variables, len(layer.non_trainable_variables)), ([], 2))
        self.assertFalse(layer.kernel.trainable)


class Functions(unittest.TestCase):
    def test_a_store_shares_variables_by_name(self):
        store = tfe.EagerVariableStore()
        for _ in range(2):
            with store.as_default(), tf.variable_scope("net"):
                x = tf.layers.conv2d(tf.ones([2, 8, 8, 3]), 4, 3, name="c", activation=tf.nn.relu)
                x = tf.layers.batch_normalization(x, training=True)
                x = tf.layers.flatten(tf.layers.max_pooling2d(x, 2, 2))
                x = tf.layers.dense(tf.layers.dropout(x, 0.5, training=True), 3)
        self.assertEqual(x.shape, (2, 3))
        self.assertEqual([each.name for each in store.variables()], [
            "net/batch_normalization/beta:0", "net/batch_normalization/gamma:0", "net/batch_normalization/moving_mean:0",
            "net/batch_normalization/moving_variance:0", "net/c/bias:0", "net/c/kernel:0", "net/dense/bias:0",
            "net/dense/kernel:0"])

    def test_a_template_owns_what_its_layers_make(self):
        template = tf.make_template("owner_of_layers", lambda x: tf.layers.dense(x, 3, kernel_initializer=tf.ones_initializer()))
        self.assertEqual(template(tf.ones([1, 2])).numpy().tolist(), [[2., 2., 2.]])
        template.trainable_variables[1].assign(tf.zeros([2, 3]))
        self.assertEqual(template(tf.ones([1, 2])).numpy().tolist(), [[0., 0., 0.]])

    def test_the_scope_has_the_last_word_on_initializers_and_getters(self):
        seen = []

        def getter(inner, *args, **kwargs):
            seen.append(kwargs["name"])
            return inner(*args, **kwargs)

        with tf.variable_scope("with_getter", initializer=tf.ones_initializer(), custom_getter=getter):
            self.assertEqual(tf.layers.dense(tf.ones([1, 3]), 1).numpy().tolist(), [[3.]])
        self.assertEqual(seen, ["with_getter/dense/kernel", "with_getter/dense/bias"])

    def test_arguments_are_those_of_tensorflow_1(self):
        def names(function):
            return list(inspect.signature(function).parameters)

        self.assertEqual(names(tf.layers.dense), [
            "inputs", "units", "activation", "use_bias", "kernel_initializer", "bias_initializer", "kernel_regularizer",
            "bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint", "trainable", "name", "reuse"])
        self.assertEqual(names(tf.layers.conv2d)[:9], ["inputs", "filters", "kernel_size", "strides", "padding", "data_format",
                                                       "dilation_rate", "activation", "use_bias"])
        self.assertEqual(names(tf.layers.batch_normalization)[14:], [
            "training", "trainable", "name", "reuse", "renorm", "renorm_clipping", "renorm_momentum", "fused", "virtual_batch_size",
            "adjustment"])
        self.assertEqual(names(tf.layers.dropout), ["inputs", "rate", "noise_shape", "seed", "training", "name"])
        with self.assertRaisesRegex(TypeError, "missing a required argument: 'units'"):
            tf.layers.dense(tf.ones([1, 2]))

    def test_every_function_gives_what_its_layer_gives(self):
        rows, images, volumes = tf.ones([2, 6, 3]), tf.ones([2, 6, 6, 3]), tf.ones([2, 6, 6, 6, 3])
        self.assertEqual(tf.layers.conv1d(rows, 4, 3).shape, (2, 4, 4))
        self.assertEqual(tf.layers.separable_conv1d(rows, 4, 3).shape, (2, 4, 4))
        self.assertEqual(tf.layers.separable_conv2d(images, 4, 3, padding="same").shape, (2, 6, 6, 4))
        self.assertEqual(tf.layers.conv2d_transpose(images, 4, 3, strides=2, padding="same").shape, (2, 12, 12, 4))
        self.assertEqual(tf.layers.conv3d(volumes, 4, 3).shape, (2, 4, 4, 4, 4))
        self.assertEqual(tf.layers.conv3d_transpose(volumes, 2, 2, strides=2).shape, (2, 12, 12, 12, 2))
        for kind in ("max", "average"):
            for rank, value in ((1, rows), (2, images), (3, volumes)):
                result = getattr(tf.layers, f"{kind}_pooling{rank}d")(value, 2, 2)
                self.assertEqual(result.shape, (2, *[3] * rank, 3))
        self.assertIs(tf.layers.dropout(rows), rows)


class Normalization(unittest.TestCase):
    def test_the_moving_variance_of_images_has_n_minus_1_below(self):
        x = np.random.RandomState(0).randn(2, 3, 3, 2).astype("float32")
        for fused, divisor in ((None, 17), (False, 18)):
            layer = tf.layers.BatchNormalization(momentum=0., fused=fused)
            layer(x, training=True)
            wanted = np.square(x - x.mean((0, 1, 2))).sum((0, 1, 2)) / divisor
            np.testing.assert_allclose(layer.moving_variance, wanted, rtol=1e-5)

    def test_renormalization_follows_the_paper(self):
        rng = np.random.RandomState(1)
        layer = tf.layers.BatchNormalization(renorm=True, renorm_clipping={"rmin": 0.9, "rmax": 1.1, "dmax": 0.2},
                                             renorm_momentum=0.5, momentum=0.5, epsilon=1e-3, dtype="float64")
        mean, mean_weight, deviation, deviation_weight, moving = np.zeros(3), 0., np.zeros(3), 0., np.zeros(3)
        for _ in range(3):
            x = rng.randn(6, 3) * 2 + 1
            own_mean, own_deviation = x.mean(0), np.sqrt(x.var(0) + 1e-3)
            mixed = deviation + (1 - deviation_weight) * own_deviation
            r = np.clip(own_deviation / mixed, 0.9, 1.1)
            d = np.clip((own_mean - mean - (1 - mean_weight) * own_mean) / mixed, -0.2, 0.2)
            np.testing.assert_allclose(layer(x, training=True), (x - own_mean) / own_deviation * r + d, rtol=1e-9, atol=1e-9)
            mean, mean_weight = (mean + own_mean) / 2, (mean_weight + 1) / 2
            deviation, deviation_weight = (deviation + own_deviation) / 2, (deviation_weight + 1) / 2
            moving = (moving + mean / mean_weight) / 2
            np.testing.assert_allclose(layer.moving_mean, moving, rtol=1e-9)
        with self.assertRaisesRegex(ValueError, "contains keys not in"):
            tf.layers.BatchNormalization(renorm=True, renorm_clipping={"most": 1.})

    def test_an_adjustment_changes_training_alone(self):
        layer = tf.layers.BatchNormalization(adjustment=lambda shape: (tf.fill([2], 3.), tf.fill([2], 1.)), epsilon=0.)
        x = tf.constant([[1., 2.], [3., 6.]])
        np.testing.assert_allclose(layer(x, training=True), [[-2., -2.], [4., 4.]], rtol=1e-5)
        self.assertNotAlmostEqual(float(layer(x)[0, 0]), -2.)

    def test_untrainable_layers_leave_their_averages(self):
        layer = tf.layers.BatchNormalization(trainable=False)
        y = layer(tf.constant([[1.], [3.]]), training=True)
        np.testing.assert_allclose(y, [[-1.], [1.]], atol=1e-3)
        self.assertEqual(layer.moving_mean.numpy().tolist(), [0.])


if __name__ == "__main__":
    unittest.main()
