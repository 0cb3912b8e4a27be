"""set_floatx reaches whatever is made without a dtype: inputs, layers, metrics, losses, initializers, rates."""
import inspect
import os
import tempfile
import unittest

import numpy as np

import tapedeck as tf
from layer_references import CASES
from loss_references import CLASSES
from tapedeck.keras import optimizers

L, K = tf.keras.layers, tf.keras.backend
# Layers without a case in layer_references: their inputs' shapes and arguments.
OTHERS = [
    ("Resizing", {"height": 5, "width": 3}, [(2, 4, 4, 2)]),
    ("Resizing", {"height": 2, "width": 3, "interpolation": "area"}, [(2, 5, 4, 2)]),
    *(("UpSampling2D", {"size": 3, "interpolation": method, "data_format": form}, [(2, 2, 3, 2)])
      for method in ("bilinear", "bicubic", "lanczos3") for form in ("channels_last", "channels_first")),
    ("SimpleRNN", {"units": 3}, [(2, 4, 3)]), ("LSTM", {"units": 3}, [(2, 4, 3)]), ("GRU", {"units": 3}, [(2, 4, 3)]),
    ("Bidirectional", {"layer": lambda: L.LSTM(2)}, [(2, 4, 3)]), ("TimeDistributed", {"layer": lambda: L.Dense(2)}, [(2, 4, 3)]),
    ("ConvLSTM2D", {"filters": 2, "kernel_size": 2}, [(1, 3, 4, 4, 2)]),
    ("MultiHeadAttention", {"num_heads": 2, "key_dim": 2}, [(2, 4, 3), (2, 5, 3)]),
    ("Attention", {"use_scale": True}, [(2, 4, 3), (2, 5, 3)]), ("AdditiveAttention", {}, [(2, 4, 3), (2, 5, 3)]),
    ("Normalization", {"mean": 1 / 3, "variance": 1 / 7}, [(3, 2)]), ("Lambda", {"function": lambda x: x / 3}, [(3, 2)]),
]
_WHOLE = {"CategoryEncoding", "Discretization"}  # of whole numbers, or whole numbers themselves


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).uniform(.1, .9, shape)


class Float64(unittest.TestCase):
    def setUp(self):
        self.addCleanup(K.set_floatx, K.floatx())
        K.set_floatx("float64")

    def unrounded(self, value, what):
        """Checks that these are float64 numbers that never were float32."""
        array = np.asarray(value)
        self.assertEqual(array.dtype, np.float64, what)
        fractions = array[np.isfinite(array) & (array != np.round(array))]
        if fractions.size:
            self.assertTrue((fractions != fractions.astype(np.float32)).any(), f"{what}: {array}")

    def test_every_layer_computes_in_it(self):
        cases = [(case.layer, case.arguments, case.shapes, case.ints, case.training) for case in CASES if not case.ints]
        for name, arguments, shapes, _, training in cases + [(*other, None, None) for other in OTHERS]:
            if not hasattr(L, name):
                continue
            with self.subTest(layer=name, arguments=arguments):
                arguments = {key: value() if key == "layer" else value for key, value in arguments.items()}
                layer = getattr(L, name)(**arguments)
                values = [tf.constant(numbers(*shape, seed=number)) for number, shape in enumerate(shapes)]
                keywords = {} if training is None else {"training": training}
                call = (lambda parts: layer(*parts, **keywords)) if "Attention" in name and name.startswith("Multi") else (
                    lambda parts: layer(parts if len(parts) > 1 else parts[0], **keywords))
                found = call(values)
                if name not in _WHOLE:
                    self.unrounded(found, name)
                self.assertTrue(all(weight.dtype in (tf.float64, tf.int64, tf.int32) for weight in layer.weights), layer.weights)
                symbols = [tf.keras.Input(shape[1:]) for shape in shapes]
                self.assertEqual({symbol.dtype for symbol in symbols}, {tf.float64})
                outputs = call(symbols)
                self.assertEqual(outputs.dtype, found.dtype)

    def test_models_do_not_round_their_inputs(self):
        x = tf.constant([[1 / 3]], tf.float64)
        ones = {"use_bias": False, "kernel_initializer": "ones"}
        inputs = tf.keras.Input((1,))
        deferred, built = tf.keras.Sequential([L.Dense(1, **ones)]), tf.keras.Sequential([L.Dense(1, **ones)])
        built.build((None, 1))
        for model in (tf.keras.Sequential([tf.keras.Input((1,)), L.Dense(1, **ones)]),
                      tf.keras.Sequential([L.InputLayer((1,)), L.Dense(1, **ones)]),
                      tf.keras.Sequential([L.Dense(1, input_shape=(1,), **ones)]), deferred, built,
                      tf.keras.Model(inputs, L.Dense(1, **ones)(inputs)),
                      tf.keras.Model(inputs, (inputs * 3.) / 3.)):
            self.assertEqual(float(model(x)[0, 0]), 1 / 3)
            self.assertEqual(model.predict(x.numpy(), verbose=0)[0, 0], 1 / 3)

    def test_a_model_of_ones_own_is_built_for_it(self):
        class Own(tf.keras.Model):
            def call(self, inputs):
                self.seen = inputs.dtype
                return inputs

        model = Own()
        model.build((None, 2))
        self.assertEqual(model.seen, tf.float64)

        class Strict(tf.keras.Model):
            def call(self, inputs):
                return inputs + tf.constant(1, tf.int32)

        with self.assertRaisesRegex(ValueError, "by a call on zeros of float64"):
            Strict().build((None, 2))

    def test_metrics_and_losses(self):
        y_true, y_pred, classes = numbers(4, 3), numbers(4, 3, seed=1), np.array([0, 2, 1, 1])
        for name, kind in CLASSES.items():
            self.unrounded(getattr(tf.keras.losses, kind)()(y_true, y_pred), name)
            whole = getattr(tf.keras.losses, kind)()(np.array([[1, 0]]), np.array([[1, 3]]))
            self.assertEqual(whole.dtype, tf.float64, name)
            self.assertEqual(getattr(tf.keras.losses, kind)().dtype, tf.float64)
        for name in sorted(tf.keras.metrics.__all__):
            kind = getattr(tf.keras.metrics, name)
            if not isinstance(kind, type) or name in ("Metric",):
                continue
            needed = {parameter: {"num_classes": 3, "target_class_ids": [0, 1], "precision": .4, "recall": .4, "sensitivity": .4,
                                  "specificity": .4, "fn": lambda y, p: tf.abs(y - p) / 3, "normalizer": [.5, 1., 2.],
                                  "reduction": "sum"}[parameter]
                      for parameter, what in inspect.signature(kind).parameters.items()
                      if what.default is what.empty and what.kind is what.POSITIONAL_OR_KEYWORD}
            metric = kind(**needed)
            arguments = (y_pred,) if name in ("Mean", "Sum") else (classes, y_pred) if "parse" in name else (
                (classes, classes[::-1]) if "IoU" in name and "inary" not in name and "OneHot" not in name else
                (np.round(y_true), y_pred))
            metric.update_state(*arguments)
            result = metric.result()
            with self.subTest(metric=name):
                self.assertEqual(result.dtype, tf.float64)
                if name in ("Mean", "Sum", "MeanSquaredError", "MeanAbsoluteError", "CosineSimilarity", "MeanMetricWrapper"):
                    self.unrounded(result, name)
        for function in (tf.keras.metrics.binary_accuracy, tf.keras.metrics.categorical_accuracy):
            self.assertEqual(function(y_true, y_pred).dtype, tf.float64)

    def test_a_threshold_is_not_rounded(self):
        metric = tf.keras.metrics.BinaryIoU(threshold=.7)
        metric.update_state([1, 0], np.array([.7, .7 - 1e-12]))
        self.assertEqual(float(metric.result()), 1.)
        layer = L.Discretization(bin_boundaries=[.7, 2**24 + 1])
        self.assertEqual(layer(np.array([.7, .7 - 1e-12])).numpy().tolist(), [1, 0])
        K.set_floatx("float32")
        self.assertEqual(L.Discretization(bin_boundaries=[.7])(np.float32([.7])).numpy().tolist(), [1])
        self.assertEqual(L.Discretization(bin_boundaries=[2**24 + 1])(np.array([2**24, 2**24 + 1])).numpy().tolist(), [0, 1])

    def test_initializers(self):
        for name in sorted(tf.keras.initializers.__all__):
            kind = getattr(tf.keras.initializers, name)
            if isinstance(kind, type) and name not in ("Initializer", "truncated_normal_initializer"):  # that is TensorFlow 1's
                made = kind()
                self.assertEqual(made([3, 3]).dtype, tf.float64, name)
                self.assertEqual(made([3, 3], tf.float32).dtype, tf.float32)
                self.assertEqual(kind(dtype=tf.float32)([3, 3]).dtype, tf.float32)
        K.set_floatx("float32")
        self.assertEqual(tf.keras.initializers.Ones()([3]).dtype, tf.float32)

    def test_rates_and_what_optimisers_keep(self):
        optimizer = optimizers.SGD(.1)
        self.assertEqual(float(optimizer.learning_rate), .1)
        optimizer.learning_rate = .3
        self.assertEqual(float(optimizer.learning_rate), .3)
        self.assertEqual(optimizer.add_variable([2], name="slot").dtype, tf.float64)
        self.unrounded(optimizers.schedules.ExponentialDecay(.1, 10, .9)(3), "ExponentialDecay")
        for kind in (optimizers.SGD, optimizers.Adam, optimizers.RMSprop, optimizers.Adagrad, optimizers.Nadam, optimizers.Lion):
            variable = tf.Variable(1 / 3, dtype=tf.float64)
            kind(optimizers.schedules.ExponentialDecay(.1, 10, .9)).apply_gradients([(tf.constant(1 / 7, tf.float64), variable)])
            self.unrounded(variable, kind.__name__)

    def test_narrow_models_train(self):
        for floatx in ("float16", "bfloat16"):
            K.set_floatx(floatx)
            model = tf.keras.Sequential([tf.keras.Input((2,)), L.Dense(2, "softmax")])
            model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
            history = model.fit(np.ones((4, 2)), np.array([0, 1, 0, 1]), class_weight={0: 1., 1: 2.}, verbose=0).history
            self.assertTrue(np.isfinite(history["loss"]).all())
            self.assertEqual(model.layers[0].kernel.dtype.name, floatx)
            self.assertEqual(K.cast_to_floatx([1, 2]).dtype, "float16" if floatx == "float16" else "float32")

    def test_files_of_another_floatx_are_read(self):
        for written, read in (("float64", "float32"), ("float32", "float64")):
            K.set_floatx(written)
            model = tf.keras.Sequential([tf.keras.Input((2,)), L.Dense(1)])
            model.compile(optimizers.Adam(.25), "mse")
            model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
            with tempfile.TemporaryDirectory() as folder:
                model.save(os.path.join(folder, "m"))
                K.set_floatx(read)
                again = tf.keras.models.load_model(os.path.join(folder, "m"))
            self.assertEqual((again.layers[0].dtype, float(again.optimizer.learning_rate)), (written, .25))
            self.assertEqual(again.optimizer.learning_rate.dtype.name, read)
            self.assertEqual(int(again.optimizer.iterations), 1)
            np.testing.assert_array_equal(again(np.ones((1, 2), written)), model(np.ones((1, 2), written)))

    def test_a_plateau_ends_at_the_least_rate(self):
        for floatx, least in (("float64", .7), ("float32", .7), ("float64", .1), ("float32", .1)):
            K.set_floatx(floatx)
            model = tf.keras.Sequential([L.Dense(1)])
            model.compile(optimizers.SGD(least), "mse")
            callback = tf.keras.callbacks.ReduceLROnPlateau("loss", min_lr=least, patience=1)
            callback.set_model(model)
            for epoch in range(3):
                callback.on_epoch_end(epoch, {"loss": 1.})
            self.assertEqual(callback.wait, 2, (floatx, least))

    def test_pictures(self):
        self.assertEqual(tf.keras.utils.img_to_array(np.ones((2, 2, 3))).dtype, np.float64)
        K.set_floatx("float16")
        self.assertEqual(tf.keras.utils.img_to_array(np.ones((2, 2, 3))).dtype, np.float16)
        K.set_floatx("bfloat16")  # which NumPy does not have
        self.assertEqual(tf.keras.utils.img_to_array(np.ones((2, 2, 3))).dtype, np.float32)

    def test_images_keep_narrow_dtypes(self):
        for dtype in (tf.float16, tf.bfloat16):
            images = tf.cast(numbers(1, 2, 3, 1), dtype)
            found = L.UpSampling2D(2, interpolation="bilinear", dtype=dtype.name)(images)
            self.assertEqual(found.dtype, dtype)
            wanted = tf.cast(tf.image.resize(images, [4, 6]), dtype)
            np.testing.assert_array_equal(tf.cast(found, tf.float32), tf.cast(wanted, tf.float32))
        self.assertEqual(tf.image.resize(tf.ones([1, 2, 2, 1], tf.float64), [3, 3]).dtype, tf.float32)  # as TensorFlow


if __name__ == "__main__":
    unittest.main()
