"""Every layer of tf.keras.layers against NumPy, its gradients against finite differences, its config, weights and shapes."""
import unittest

import numpy as np

import tapedeck as tf
from layer_references import CASES
from tapedeck.keras.layers import promotion

L = tf.keras.layers
# Of layers that compute in whole numbers, or whose outputs have steps.
_NO_GRADIENT = {"Embedding", "CategoryEncoding", "Discretization"}


def inputs_of(case, number, batch=None):
    rng = np.random.RandomState(number)
    shapes = [shape if batch is None else (batch, *shape[1:]) for shape in case.shapes]
    return [rng.randint(0, case.ints, shape) if case.ints else rng.randn(*shape) for shape in shapes]


def made(case):
    return getattr(L, case.layer)(dtype="float64", **case.arguments)


def call(layer, inputs, case):
    inputs = [tf.convert_to_tensor(each) for each in inputs]
    training = {} if case.training is None else {"training": case.training}
    return layer(inputs if len(inputs) > 1 else inputs[0], **training)


def with_random_weights(layer, number):
    rng = np.random.RandomState(number + 1000)
    layer.set_weights([rng.uniform(.5, 1.5, each.shape).astype(each.dtype) for each in layer.get_weights()])
    return layer.get_weights()


def each_case(test):
    def run(self):
        for number, case in enumerate(CASES):
            with self.subTest(layer=case.layer, arguments=case.arguments, training=case.training):
                test(self, number, case)

    return run


class EveryLayer(unittest.TestCase):
    def test_all_layers_have_a_case(self):
        named = {name for name in L.__all__ if isinstance(getattr(L, name), type) and getattr(L, name).__name__ == name}
        elsewhere = {"Layer", "InputSpec", "Resizing", "RandomFlip", "RandomCrop", "RandomContrast", "RandomBrightness",
                     "SpatialDropout2D", "SpatialDropout3D"}
        own = {name for name in named if getattr(L, name).__module__.rpartition(".")[2] in (
            "activation", "base", "convolution", "core", "input_spec", "merging", "normalization", "pooling", "preprocessing",
            "regularization", "reshaping")}
        self.assertEqual(own - elsewhere - {case.layer for case in CASES}, set())

    @each_case
    def test_outputs_are_those_of_numpy(self, number, case):
        layer, inputs = made(case), inputs_of(case, number)
        call(layer, inputs, case)
        weights = with_random_weights(layer, number)
        np.testing.assert_allclose(call(layer, inputs, case), case.reference(*inputs, *weights), rtol=1e-9, atol=1e-9)

    @each_case
    def test_one_example_and_none_have_the_same_form(self, number, case):
        layer, inputs = made(case), inputs_of(case, number)
        whole = call(layer, inputs, case)
        before = layer.get_weights()
        for batch in (1, 0):
            self.assertEqual(call(layer, inputs_of(case, number, batch), case).shape, (batch, *whole.shape[1:]))
        if case.layer != "BatchNormalization":
            return
        call(layer, inputs_of(case, number, 0), case)
        self.assertTrue(all(np.isfinite(each).all() for each in layer.get_weights()), before)

    @each_case
    def test_shapes_are_known_before_the_call(self, number, case):
        layer, inputs = made(case), inputs_of(case, number)
        shapes = [(None, *each.shape[1:]) for each in inputs]
        known = layer.compute_output_shape(shapes if len(shapes) > 1 else shapes[0])
        self.assertEqual(tuple(known), (None, *call(layer, inputs, case).shape[1:]))

    @each_case
    def test_the_config_and_the_weights_make_the_layer_again(self, number, case):
        layer, inputs = made(case), inputs_of(case, number)
        call(layer, inputs, case)
        with_random_weights(layer, number)
        again = type(layer).from_config(layer.get_config())
        self.assertEqual(again.get_config(), layer.get_config())
        call(again, inputs, case)
        again.set_weights(layer.get_weights())
        np.testing.assert_array_equal(call(again, inputs, case), call(layer, inputs, case))
        self.assertEqual([each.name.rpartition("/")[2] for each in again.weights],
                         [each.name.rpartition("/")[2] for each in layer.weights])

    @each_case
    def test_gradients_are_those_of_finite_differences(self, number, case):
        if case.layer in _NO_GRADIENT:
            return
        layer, inputs = made(case), [tf.constant(each) for each in inputs_of(case, number)]
        call(layer, inputs, case)
        with_random_weights(layer, number)
        rng = np.random.RandomState(number)

        def loss(values):
            y = call(layer, values, case)
            return tf.reduce_sum(y * np.cos(np.arange(y.shape.num_elements())).reshape(y.shape))

        variables = layer.trainable_variables
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = loss(inputs)
        gradients = tape.gradient(value, inputs + variables)
        step = 1e-6
        for place, gradient in enumerate(gradients):
            variable = variables[place - len(inputs)] if place >= len(inputs) else None
            start = (inputs[place] if variable is None else variable).numpy()
            way, found = rng.randn(*start.shape), []
            for sign in (1, -1):
                moved = start + sign * step * way
                if variable is None:
                    found.append(float(loss([tf.constant(moved) if i == place else each for i, each in enumerate(inputs)])))
                else:
                    variable.assign(moved)
                    found.append(float(loss(inputs)))
                    variable.assign(start)
            wanted = (found[0] - found[1]) / (2 * step)
            self.assertAlmostEqual(float(np.sum(gradient.numpy() * way)), wanted, delta=1e-5 * max(1, abs(wanted)))


class Training(unittest.TestCase):
    def test_moving_moments_follow_the_batches(self):
        layer, rng = L.BatchNormalization(momentum=0.75, dtype="float64"), np.random.RandomState(0)
        mean, variance = np.zeros(3), np.ones(3)
        for _ in range(3):
            x = rng.randn(8, 3) * 3 + 2
            layer(x, training=True)
            mean, variance = mean * .75 + x.mean(0) * .25, variance * .75 + x.var(0) * .25
        np.testing.assert_allclose(layer.moving_mean, mean)
        np.testing.assert_allclose(layer.moving_variance, variance)
        layer.trainable = False
        layer(x, training=True)
        np.testing.assert_allclose(layer.moving_mean, mean)

    def test_masked_steps_do_not_count_for_the_moments(self):
        layer = L.BatchNormalization(epsilon=0., dtype="float64")
        x = np.array([[[1.], [3.], [99.]]])
        y = layer(x, training=True, mask=tf.constant([[True, True, False]]))
        np.testing.assert_allclose(y[0, :2, 0], [-1, 1], rtol=1e-6)

    def test_dropout_keeps_the_mean_and_drops_its_share(self):
        x = tf.ones([400, 50])
        for layer in (L.Dropout(.3, seed=1), L.GaussianDropout(.3, seed=1)):
            y = layer(x, training=True).numpy()
            self.assertAlmostEqual(y.mean(), 1, delta=0.02)
        y = L.Dropout(.3, seed=2)(x, training=True).numpy()
        self.assertAlmostEqual((y == 0).mean(), .3, delta=0.02)
        np.testing.assert_allclose(y[y != 0], 1 / .7, rtol=1e-6)
        np.testing.assert_array_equal(L.Dropout(1.)(x, training=True), np.zeros((400, 50)))

    def test_gradients_of_dropout_are_those_of_the_kept(self):
        x = tf.ones([20, 5])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = L.Dropout(.5)(x, training=True)
        np.testing.assert_array_equal(tape.gradient(y, x), y)

    def test_channels_drop_whole(self):
        for layer, shape, axes in ((L.SpatialDropout1D(.5, seed=1), (6, 4, 8), 1),
                                   (L.SpatialDropout2D(.5, seed=1), (6, 4, 3, 8), (1, 2)),
                                   (L.SpatialDropout3D(.5, "channels_first", seed=1), (6, 8, 2, 3, 2), (2, 3, 4))):
            y = layer(np.ones(shape), training=True).numpy()
            self.assertTrue((np.ptp(y, axis=axes) == 0).all())
            self.assertEqual(set(np.unique(y)), {0., 2.})

    def test_alpha_dropout_keeps_mean_and_variance(self):
        y = L.AlphaDropout(.3, seed=1)(np.random.RandomState(0).randn(400, 100), training=True).numpy()
        self.assertAlmostEqual(y.mean(), 0, delta=0.03)
        self.assertAlmostEqual(y.std(), 1, delta=0.03)

    def test_noise_has_its_deviation(self):
        y = L.GaussianNoise(2., seed=1)(tf.zeros([400, 100]), training=True).numpy()
        self.assertAlmostEqual(y.std(), 2, delta=0.03)

    def test_activity_regularization_adds_a_loss_for_each_example(self):
        layer = L.ActivityRegularization(l1=1., l2=.5)
        layer(tf.constant([[1., -2.], [0., 2.]]))
        self.assertEqual([float(each) for each in layer.losses], [(5 + .5 * 9) / 2])

    def test_images_change_in_training_alone(self):
        x = np.random.RandomState(0).uniform(0, 255, (8, 6, 5, 3)).astype("float32")
        flipped = L.RandomFlip("horizontal", seed=1)(x, training=True).numpy()
        kinds = {tuple(np.array_equal(image, other) for other in (x[i], x[i, :, ::-1])) for i, image in enumerate(flipped)}
        self.assertEqual(kinds, {(True, False), (False, True)})
        np.testing.assert_array_equal(L.RandomFlip()(x, training=False), x)
        np.testing.assert_array_equal(L.RandomCrop(4, 3)(x, training=False), x[:, 1:5, 1:4])
        self.assertEqual(L.RandomCrop(4, 3, seed=1)(x, training=True).shape, (8, 4, 3, 3))
        brighter = L.RandomBrightness([.1, .1])(x, training=True)
        np.testing.assert_allclose(brighter, np.clip(x + 25.5, 0, 255), rtol=1e-5)
        contrast = L.RandomContrast([.5, .5], seed=1)(x, training=True).numpy()
        self.assertTrue(0 <= contrast.min() and contrast.max() <= 255 and not np.array_equal(contrast, x))


    def test_images_are_turned_moved_and_enlarged(self):
        x = np.random.RandomState(0).rand(2, 5, 5, 2).astype("float32")
        np.testing.assert_allclose(L.RandomRotation((.25, .25))(x, training=True), np.rot90(x, axes=(1, 2)), atol=1e-5)
        moved = L.RandomTranslation((.2, .2), (-.4, -.4), fill_mode="constant", fill_value=7.)(x, training=True).numpy()
        wanted = np.full_like(x, 7.)
        wanted[:, 1:, :3] = x[:, :4, 2:]
        np.testing.assert_allclose(moved, wanted, atol=1e-5)
        reflected = L.RandomTranslation((.4, .4), (0., 0.))(x, training=True).numpy()
        np.testing.assert_allclose(reflected, x[:, [1, 0, 0, 1, 2]], atol=1e-5)
        wrapped = L.RandomTranslation((.4, .4), (0., 0.), fill_mode="wrap")(x, training=True).numpy()
        np.testing.assert_allclose(wrapped[:, :2], x[:, 3:], atol=1e-5)
        halves = L.RandomZoom((-.5, -.5))(x, training=True).numpy()
        np.testing.assert_allclose(halves[:, 2, ::2], x[:, 2, 1:4], atol=1e-5)
        np.testing.assert_allclose(halves[:, 2, 1], x[:, 2, 1:3].mean(1), atol=1e-5)
        self.assertFalse(np.allclose(*L.RandomRotation(.5, seed=1)(np.stack([x[0]] * 2), training=True)))
        np.testing.assert_array_equal(L.RandomZoom(.5)(x, training=False), x)
        with self.assertRaisesRegex(ValueError, r"range \[-1.0, 1.0\]. Received: factor=2"):
            L.RandomRotation(2)
        for layer in (L.RandomRotation(.1, seed=3), L.RandomTranslation(.1, (.1, .2)), L.RandomZoom(.2, fill_mode="nearest")):
            self.assertEqual(type(layer).from_config(layer.get_config()).get_config(), layer.get_config())


class Behaviour(unittest.TestCase):
    def test_embedding_masks_zero(self):
        layer = L.Embedding(4, 2, mask_zero=True)
        self.assertEqual(layer.compute_mask(tf.constant([[1, 0]])).numpy().tolist(), [[True, False]])
        mean = L.GlobalAveragePooling1D()(layer(tf.constant([[1, 3, 0]])))
        np.testing.assert_allclose(mean[0], layer.embeddings.numpy()[[1, 3]].mean(0), rtol=1e-6)

    def test_masking_hides_steps_of_the_value_alone(self):
        layer = L.Masking(mask_value=-1.)
        x = np.array([[[1., -1.], [-1., -1.]]])
        self.assertEqual(layer(x).numpy().tolist(), [[[1., -1.], [-0., -0.]]])
        self.assertEqual(layer.compute_mask(tf.constant(x)).numpy().tolist(), [[True, False]])

    def test_softmax_leaves_out_what_is_masked(self):
        y = L.Softmax()(tf.constant([[1., 2., 3.]]), mask=tf.constant([[True, True, False]]))
        np.testing.assert_allclose(y, [[1 / (1 + np.e), np.e / (1 + np.e), 0]], rtol=1e-6)

    def test_merging_brings_dtypes_together(self):
        def tensor(dtype):
            return tf.cast([[1, 0]], dtype)

        # What Keras 3 and JAX say: the first, the second, the result.
        pairs = """int32 float32 float32, int64 float16 float16, bool int32 int32, bool float32 float32, uint8 int8 int16,
                   uint8 int32 int32, int8 int16 int16, int32 int64 int64, int64 bfloat16 bfloat16, uint64 int64 float32"""
        for pair in pairs.split(","):
            one, other, wanted = pair.split()
            for kinds in ((one, other), (other, one), (one, other, one)):
                values = [tensor(kind) for kind in kinds]
                with self.subTest(kinds):
                    # floating inputs take the layer's dtype before they are merged
                    make = {"dtype": wanted} if tf.as_dtype(wanted).is_floating else {}
                    found = L.Concatenate(axis=0, **make)(values)
                    self.assertEqual(found.dtype.name, wanted)
                    self.assertEqual(np.asarray(tf.cast(found, tf.float64)).tolist(), [[1., 0.]] * len(kinds))
                    if wanted != "int16":
                        self.assertEqual(L.Maximum(**make)(values).dtype.name, wanted)
        for kinds, wanted in (("float16 bfloat16", "float32"), ("float32 float64", "float64"), ("float64 complex64", "complex128"),
                              ("uint32 int32", "int64"), ("uint16 bfloat16", "bfloat16"), ("float16 float32 int64", "float32")):
            self.assertEqual(promotion.common_dtype([tf.as_dtype(kind) for kind in kinds.split()]).name, wanted, kinds)
        ones, halves = tf.constant([[1, 2]]), tf.constant([[.5, .5]])
        for layer, wanted in ((L.Add(), [1.5, 2.5]), (L.Subtract(), [.5, 1.5]), (L.Multiply(), [.5, 1.]), (L.Average(), [.75, 1.25]),
                              (L.Minimum(), [.5, .5]), (L.Maximum(), [1., 2.])):
            self.assertEqual(layer([ones, halves]).numpy().tolist(), [wanted])
        self.assertEqual(L.Dot(1)([ones, halves]).numpy().tolist(), [[1.5]])
        self.assertEqual(L.concatenate([np.array([[1]]), np.array([[2.5]])]).numpy().tolist(), [[1., 2.5]])
        integers, reals = tf.keras.Input((1,), dtype=tf.int32), tf.keras.Input((1,))
        model = tf.keras.Model([integers, reals], L.Concatenate()([integers, reals]))
        self.assertEqual(model([np.array([[1]]), np.array([[2.5]])]).numpy().tolist(), [[1., 2.5]])
        with self.assertRaisesRegex(TypeError, "inputs of int32, string have no dtype in common: string is none of numbers"):
            L.Concatenate()([tf.constant([[1]]), tf.constant([["a"]])])

    def test_concatenation_puts_masks_behind_one_another(self):
        mask = L.Concatenate(axis=1).compute_mask([tf.ones([1, 2, 3]), tf.ones([1, 1, 3])], [tf.constant([[True, False]]), None])
        self.assertEqual(mask.numpy().tolist(), [[True, False, True]])

    def test_normalization_learns_mean_and_variance_of_batches(self):
        data = np.random.RandomState(0).randn(12, 3) * 2 + 5
        layer = L.Normalization(dtype="float64")
        layer.adapt([data[:5], data[5:]][0])
        layer = L.Normalization(dtype="float64")
        layer.adapt(iter([data[:5], data[5:]]))
        np.testing.assert_allclose(layer(data), (data - data.mean(0)) / data.std(0), rtol=1e-9)
        back = L.Normalization(mean=data.mean(0), variance=data.var(0), invert=True, dtype="float64")
        np.testing.assert_allclose(back(layer(data)), data, rtol=1e-9)
        with self.assertRaisesRegex(ValueError, "both `mean` and `variance` must be set"):
            L.Normalization(mean=1.)

    def test_resizing_can_keep_proportions(self):
        x = np.arange(24, dtype="float32").reshape(1, 4, 6, 1)
        np.testing.assert_array_equal(L.Resizing(4, 4, crop_to_aspect_ratio=True)(x), x[:, :, 1:5])
        self.assertEqual(L.Resizing(6, 6, pad_to_aspect_ratio=True)(x)[0, :, 0, 0].numpy().tolist(), [0, 0, 6, 12, 18, 0])
        np.testing.assert_array_equal(L.Resizing(2, 3, "nearest")(x), x[:, 1::2, 1::2])

    def test_merging_functions_are_their_layers(self):
        x, y = tf.constant([[1., 2.]]), tf.constant([[3., 5.]])
        self.assertEqual(L.add([x, y]).numpy().tolist(), [[4., 7.]])
        self.assertEqual(L.concatenate([x, y]).numpy().tolist(), [[1., 2., 3., 5.]])
        self.assertEqual(L.dot([x, y], axes=1).numpy().tolist(), [[13.]])

    def test_errors_say_what_is_wrong(self):
        for error, text, function in (
                (ValueError, "units`, expected a positive integer. Received: units=-1", lambda: L.Dense(-1)),
                (ValueError, "`kernel_size` argument must be a tuple of 2 integers.*Received: kernel_size=\\(3,\\)",
                 lambda: L.Conv2D(2, (3,))),
                (ValueError, "`padding` argument must be one of 'valid', 'same'. Received: padding=full",
                 lambda: L.Conv2D(2, 3, padding="full")),
                (ValueError, "divisible by the number of groups. Received: groups=2, filters=3", lambda: L.Conv2D(3, 3, groups=2)),
                (ValueError, "expected min_ndim=4, found ndim=2", lambda: L.Conv2D(3, 3)(tf.ones([2, 3]))),
                (ValueError, "`strides > 1` not supported in conjunction with `dilation_rate > 1`",
                 lambda: L.Conv2D(3, 3, strides=2, dilation_rate=2)),
                (ValueError, "Received: rate=1.5", lambda: L.Dropout(1.5)),
                (ValueError, "total size of the tensor must be unchanged", lambda: L.Reshape((5,))(tf.ones([2, 3]))),
                (ValueError, "called on a list of inputs", lambda: L.Add()(tf.ones([2, 3]))),
                (ValueError, "incompatible shapes", lambda: L.Add()([tf.ones([2, 3]), tf.ones([2, 4])])),
                (ValueError, "matching shapes except for the concatenation axis",
                 lambda: L.Concatenate()([tf.ones([2, 3, 4]), tf.ones([2, 5, 4])])),
                (ValueError, r"axis values 3 \(at axis 1\) != 4 \(at axis 1\)",
                 lambda: L.Dot(axes=1)([tf.ones([2, 3]), tf.ones([2, 4])])),
                (ValueError, "Unknown activation function: 'nonsense'", lambda: L.Dense(1, activation="nonsense")),
                (ValueError, "Unknown regularizer: 'l3'", lambda: L.Dense(1, kernel_regularizer="l3")),
                (ValueError, r"Number of groups \(4\) must be a divisor of the number of channels \(6\)",
                 lambda: L.GroupNormalization(4)(tf.ones([2, 6]))),
                (ValueError, "Invalid axis 5 of LayerNormalization", lambda: L.LayerNormalization(5)(tf.ones([2, 3]))),
                (ValueError, "0 <= values < num_tokens with num_tokens=3", lambda: L.CategoryEncoding(3)(tf.constant([5]))),
                (ValueError, "must be smaller than the input extents", lambda: L.Cropping1D(2)(tf.ones([1, 3, 1])))):
            with self.subTest(text=text), self.assertRaisesRegex(error, text):
                function()

    def test_constraints_and_regularizers_come_with_the_variables(self):
        layer = L.Dense(2, kernel_regularizer=tf.keras.regularizers.L1(0.5), kernel_initializer="ones")
        layer(tf.ones([1, 3]))
        self.assertEqual([float(each) for each in layer.losses], [3.])
        layer = L.Dense(2, kernel_constraint="non_neg", kernel_initializer="ones")
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(tf.ones([1, 3])))
        tf.keras.optimizers.SGD(5.).apply_gradients([(tape.gradient(loss, layer.kernel), layer.kernel)])
        np.testing.assert_array_equal(layer.kernel, np.zeros((3, 2)))

    def test_only_the_rows_that_were_looked_up_have_a_gradient(self):
        layer = L.Embedding(5, 3)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(tf.constant([[1, 3, 1]])))
        gradient = tape.gradient(loss, layer.embeddings)
        self.assertIsInstance(gradient, tf.IndexedSlices)
        np.testing.assert_array_equal(tf.convert_to_tensor(gradient)[:, 0], [0, 2, 0, 1, 0])


if __name__ == "__main__":
    unittest.main()
