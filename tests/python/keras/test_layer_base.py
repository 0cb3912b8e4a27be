"""The base of layers: variables made at the first call, found in attributes, named, saved; losses, masks and `training`."""
import copy
import pickle
import unittest

import numpy as np

import tapedeck as tf

L = tf.keras.layers


class Scale(L.Layer):
    """x times one variable."""

    def __init__(self, start=2., **kwargs):
        super().__init__(**kwargs)
        self.start = start

    def build(self, input_shape):
        self.factor = self.add_weight(name="factor", shape=(), initializer=tf.keras.initializers.Constant(self.start))
        self.count = self.add_weight(name="count", shape=(), dtype="int64", initializer="zeros", trainable=False)

    def call(self, inputs, training=None):
        self.seen = training
        return inputs * self.factor


class Outer(L.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.inner = [Scale(2.), Scale(3.)]
        self.named = {"last": Scale(5.)}
        self.own = tf.Variable(1., name="own")

    def call(self, inputs):
        for layer in self.inner:
            inputs = layer(inputs)
        return self.named["last"](inputs) * self.own


class Base(unittest.TestCase):
    def setUp(self):
        tf.keras.backend.clear_session()

    def test_names_are_unique_until_the_session_is_cleared(self):
        self.assertEqual([L.Dense(1).name, L.Dense(1).name, Scale().name, L.Dense(1, name="mine").name, L.Dense(1).name],
                         ["dense", "dense_1", "scale", "mine", "dense_2"])
        tf.keras.backend.clear_session()
        self.assertEqual(L.Dense(1).name, "dense")

    def test_variables_are_made_at_the_first_call_and_named_by_the_scopes(self):
        outer = Outer(name="model")
        self.assertEqual(len(outer.weights), 1)
        self.assertEqual(outer(tf.ones([2])).numpy().tolist(), [30., 30.])
        self.assertEqual([each.name for each in outer.weights], [
            "own:0", "model/scale/factor:0", "model/scale/count:0", "model/scale_1/factor:0", "model/scale_1/count:0",
            "model/scale_2/factor:0", "model/scale_2/count:0"])
        self.assertEqual([each.name for each in outer.submodules], ["scale", "scale_1", "scale_2"])
        self.assertEqual(len(outer.trainable_variables), 4)
        self.assertEqual(len(outer.non_trainable_variables), 3)

    def test_building_by_hand_names_variables_like_a_call(self):
        layer = L.Dense(2)
        layer.build((None, 3))
        self.assertEqual([each.name for each in layer.weights], ["dense/kernel:0", "dense/bias:0"])

    def test_add_weight_takes_either_order_of_arguments(self):
        layer = L.Layer(name="own")
        made = [layer.add_weight("a", shape=[2]), layer.add_weight("b", (3,), tf.float64, "ones"), layer.add_weight((4,), "ones"),
                layer.add_weight(name="d", shape=(5,), trainable=False), layer.add_weight("e", (6,), None, None, None, False)]
        self.assertEqual([(each.name, tuple(each.shape), each.dtype, each.trainable) for each in made],
                         [("own/a:0", (2,), tf.float32, True), ("own/b:0", (3,), tf.float64, True),
                          ("own/variable:0", (4,), tf.float32, True), ("own/d:0", (5,), tf.float32, False),
                          ("own/e:0", (6,), tf.float32, False)])
        with self.assertRaisesRegex(TypeError, "add_weight got name twice: 'a' and 'b'"):
            layer.add_weight("a", name="b")
        with self.assertRaisesRegex(TypeError, "at most 7 positional arguments, name, shape"):
            layer.add_weight("a", (), None, None, None, True, None, 0)

    def test_metrics_of_the_attributes_are_found(self):
        class Measured(L.Layer):
            def __init__(self):
                super().__init__()
                self.mean, self.others = tf.keras.metrics.Mean(), [tf.keras.metrics.Sum()]

        outer = L.Layer()
        outer.inner = inner = Measured()
        self.assertEqual(inner.metrics, [inner.mean, inner.others[0]])
        self.assertEqual(outer.metrics, inner.metrics)

    def test_trainable_reaches_the_layers_inside(self):
        outer = Outer()
        outer(1.)
        outer.trainable = False
        self.assertEqual(outer.trainable_weights, [])
        self.assertFalse(outer.named["last"].trainable)
        self.assertEqual(len(outer.non_trainable_weights), 7)
        outer.trainable = True
        outer.inner[0].trainable = False
        self.assertEqual(len(outer.trainable_weights), 3)

    def test_training_reaches_inner_layers_and_ends_with_the_call(self):
        outer = Outer()
        outer(tf.ones([1]), training=True)
        self.assertEqual([each.seen for each in outer.inner], [True, True])
        outer(tf.ones([1]))
        self.assertEqual(outer.inner[0].seen, None)
        outer.inner[1](tf.ones([1]), training=False)
        self.assertEqual(outer.inner[1].seen, False)

    def test_a_shared_layer_counts_once(self):
        outer = Outer()
        outer.again = outer.inner[0]
        outer(1.)
        self.assertEqual(len(outer.weights), 7)

    def test_losses_of_one_call_replace_those_of_the_last(self):
        class Penalty(L.Layer):
            def call(self, inputs):
                self.add_loss(tf.reduce_sum(inputs))
                return inputs

        class Two(L.Layer):
            def __init__(self):
                super().__init__()
                self.penalty = Penalty()
                self.dense = L.Dense(1, kernel_regularizer=tf.keras.regularizers.L2(0.5), kernel_initializer="ones",
                                     activity_regularizer=tf.keras.regularizers.L1(1.))

            def call(self, inputs):
                return self.dense(self.penalty(self.penalty(inputs)))

        layer = Two()
        for _ in range(2):
            layer(tf.ones([2, 3]))
            self.assertEqual(sorted(float(each) for each in layer.losses), [1.5, 3., 6., 6.])

    def test_weights_are_set_whole_or_not_at_all(self):
        layer = L.Dense(2)
        layer(tf.zeros([1, 3]))
        kernel, bias = np.arange(6, dtype="float32").reshape(3, 2), np.ones(2, "float32")
        layer.set_weights([kernel, bias])
        np.testing.assert_array_equal(layer.get_weights()[0], kernel)
        with self.assertRaisesRegex(ValueError, "weight list of length 1, but the layer was expecting 2 weights"):
            layer.set_weights([kernel])
        with self.assertRaisesRegex(ValueError, r"dense weight shape \(2,\) is not compatible .* \(3,\), of dense/bias:0"):
            layer.set_weights([kernel * 2, np.ones(3)])
        np.testing.assert_array_equal(layer.get_weights()[0], kernel)

    def test_copies_have_variables_of_their_own(self):
        layer = L.Dense(2, kernel_regularizer="l2")
        x = tf.ones([1, 3])
        before = layer(x).numpy()
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            other.kernel.assign(other.kernel + 1)
            self.assertEqual(len(other.weights), 2)
            self.assertNotEqual(float(other.losses[0]), float(layer.losses[0]))
        np.testing.assert_array_equal(layer(x), before)

    def test_config_makes_the_layer_again(self):
        first = Scale(4., name="four")
        again = Scale.from_config(first.get_config())
        self.assertEqual((again.start, again.name), (4., "four"))
        dense = L.Dense(3, "relu", kernel_regularizer=tf.keras.regularizers.L1L2(1., 2.), bias_constraint="non_neg",
                        dtype="float64")
        other = L.Dense.from_config(dense.get_config())
        self.assertEqual(other.get_config(), dense.get_config())

    def test_serialize_and_deserialize_name_the_class(self):
        described = L.serialize(L.Dense(3, activation="relu", name="top"))
        self.assertEqual((described["class_name"], described["config"]["units"]), ("Dense", 3))
        copied = L.deserialize(described)
        self.assertEqual((type(copied), copied.name, copied.units), (L.Dense, "top", 3))
        with self.assertRaisesRegex(ValueError, "Unknown layer: 'Scale'"):
            L.deserialize({"class_name": "Scale", "config": {}})
        self.assertIsInstance(L.deserialize({"class_name": "Scale", "config": {}}, {"Scale": Scale}), Scale)

    def test_floating_inputs_take_the_layers_dtype(self):
        self.assertEqual(L.Dense(2)(tf.ones([1, 2], tf.float64)).dtype, tf.float32)
        self.assertEqual(L.Dense(2, dtype="float64")(np.ones([1, 2], np.float32)).dtype, tf.float64)
        self.assertEqual(L.Dense(2)([[1, 2.]]).shape, (1, 2))

    def test_layers_with_products_take_whole_numbers(self):
        pixels = np.full([1, 4, 4, 3], 255, "uint8")
        self.assertEqual(L.Conv2D(2, 3)(pixels).dtype, tf.float32)
        self.assertEqual(L.Dense(2)(tf.constant([[1, 2]])).dtype, tf.float32)
        self.assertEqual(L.BatchNormalization()(pixels).dtype, tf.float32)
        self.assertEqual(L.Flatten()(pixels).dtype, tf.uint8)

    def test_input_spec_says_what_is_wrong(self):
        layer = L.Dense(2)
        with self.assertRaisesRegex(ValueError, r'Input 0 of layer "dense" is incompatible with the layer: expected min_ndim=2, '
                                                r'found ndim=1. Full shape received: \(3,\)'):
            layer(tf.ones([3]))
        layer(tf.ones([1, 3]))
        with self.assertRaisesRegex(ValueError, r"expected axis -1 of input shape to have value 3, but received input with shape "
                                                r"\(1, 4\)"):
            layer(tf.ones([1, 4]))

    def test_a_forgotten_base_is_named(self):
        class Forgetful(L.Layer):
            def __init__(self):
                self.factor = 2

            def call(self, inputs):
                return inputs * self.factor

        with self.assertRaisesRegex(RuntimeError, r"In layer 'Forgetful', you forgot to call `super\(\).__init__\(\)`"):
            Forgetful()(tf.ones([1]))
        with self.assertRaisesRegex(ValueError, "Unrecognized keyword arguments passed to Dense: {'unit': 3}"):
            L.Dense(2, unit=3)

    def test_an_error_inside_tells_of_the_innermost_layer(self):
        class Wrong(L.Layer):
            def call(self, inputs):
                return tf.matmul(inputs, tf.ones([7, 7]))

        class Around(L.Layer):
            def __init__(self):
                super().__init__()
                self.wrong = Wrong(name="culprit")

            def call(self, inputs):
                return self.wrong(inputs)

        with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
            Around()(tf.ones([2, 3]))
        self.assertEqual(caught.exception.__notes__, ["In the call of layer 'culprit' (Wrong) with inputs float32 (2, 3)"])

    def test_the_shape_of_outputs_is_found_without_a_formula(self):
        self.assertEqual(Outer().compute_output_shape((None, 4)), (None, 4))
        self.assertEqual(L.Dense(3).compute_output_shape((None, 7, 4)), (None, 7, 3))

    def test_masks_go_with_tensors(self):
        class Where(L.Layer):
            def compute_mask(self, inputs, mask=None):
                return inputs > 0

            def call(self, inputs):
                return inputs * 1

        class Keeps(L.Layer):
            def __init__(self):
                super().__init__()
                self.supports_masking = True

            def call(self, inputs, mask=None):
                self.seen = mask
                return inputs + 1

        keeps, after = Keeps(), Keeps()
        after(keeps(Where()(tf.constant([1., -1.]))))
        self.assertEqual(after.seen.numpy().tolist(), [True, False])
        keeps(tf.constant([1.]))
        self.assertIsNone(keeps.seen)


if __name__ == "__main__":
    unittest.main()
