"""Models made again: from configs, by cloning, copying and pickling, and from files of weights and of whole models."""
import copy
import os
import pickle
import tempfile
import unittest

import numpy as np
import tapedeck as tf
from small_models import functional, rows, Small

layers = tf.keras.layers


class Configs(unittest.TestCase):
    def check_same(self, model, copied, *inputs):
        copied.set_weights(model.get_weights())
        one, two = model(*inputs), copied(*inputs)
        for left, right in zip(tf.nest.flatten(one), tf.nest.flatten(two)):
            np.testing.assert_array_equal(left, right)
        self.assertFalse({id(each) for each in model.weights} & {id(each) for each in copied.weights})

    def many(self):
        a, b = tf.keras.Input((4,), name="a"), tf.keras.Input((4,), name="b")
        shared = layers.Dense(3, activation="relu", name="shared")
        x = layers.concatenate([shared(a), shared(b)])
        x = tf.nn.softmax(x * 2. - tf.reduce_mean(x, axis=-1, keepdims=True))[:, 1:]
        inner = tf.keras.Sequential([layers.Dense(2, input_shape=(5,))], name="inner")
        return tf.keras.Model({"a": a, "b": b}, [inner(x), x], name="many")

    def test_functional_models_go_through_json(self):
        model = self.many()
        copied = tf.keras.models.model_from_json(model.to_json())
        self.assertEqual([layer.name for layer in copied.layers], [layer.name for layer in model.layers])
        self.assertEqual(copied.name, "many")
        self.check_same(model, copied, {"a": rows(2, 4), "b": rows(2, 4)})

    def test_sequential_goes_through_its_config(self):
        for first in ([tf.keras.Input((3,))], []):
            model = tf.keras.Sequential(first + [layers.Dense(4, activation="relu", kernel_initializer="he_normal"),
                                                 layers.Dropout(.2)])
            model(rows(1, 3))
            copied = tf.keras.Sequential.from_config(model.get_config())
            copied(rows(1, 3))
            self.check_same(model, copied, rows(2, 3))
            self.assertEqual(copied.layers[1].rate, .2)

    def test_clones_have_variables_of_their_own(self):
        for model in (self.many(), tf.keras.Sequential([layers.Dense(4, input_shape=(3,))])):
            copied = tf.keras.models.clone_model(model)
            inputs = {"a": rows(2, 4), "b": rows(2, 4)} if model.name == "many" else rows(2, 3)
            self.check_same(model, copied, inputs)
        halved = tf.keras.models.clone_model(functional(), clone_function=lambda layer: layers.Dense(2, name=layer.name))
        self.assertEqual(halved(rows(1, 5)).shape, (1, 2))
        with self.assertRaisesRegex(ValueError, "subclassed model"):
            tf.keras.models.clone_model(Small())

    def test_copies_and_pickles_have_variables_of_their_own(self):
        x = rows(2, 5)
        deep = tf.keras.Input((5,))
        chain = deep
        for _ in range(120):
            chain = layers.Activation("tanh")(chain)
        for model in (functional(), Small(), tf.keras.Sequential([layers.Dense(3, input_shape=(5,))]), tf.keras.Model(deep, chain)):
            result = model(x).numpy()
            copied = copy.deepcopy(model)
            np.testing.assert_array_equal(copied(x), result)
            for variable in copied.weights:
                variable.assign(variable + 1.)
            np.testing.assert_array_equal(model(x), result)
        model = functional()
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(x), model(x))

    def test_custom_layers_are_named_by_who_reads(self):
        class Doubling(layers.Layer):
            def call(self, x):
                return x * 2

        x = tf.keras.Input((2,))
        text = tf.keras.Model(x, Doubling()(x)).to_json()
        with self.assertRaisesRegex(ValueError, "Unknown layer: 'Doubling'"):
            tf.keras.models.model_from_json(text)
        copied = tf.keras.models.model_from_json(text, custom_objects={"Doubling": Doubling})
        np.testing.assert_array_equal(copied([[1., 2.]]), [[2., 4.]])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_weights_are_restored_also_before_they_are_made(self):
        for name in ("plain", "a.weights.h5", "b.safetensors"):
            path, x = os.path.join(self.folder, name), rows(2, 5)
            for make in (Small, functional, lambda: tf.keras.Sequential([layers.Dense(4), layers.Dense(3)])):
                model, later = make(), make()
                result = model(x)
                model.save_weights(path)
                status = later.load_weights(path)
                np.testing.assert_array_equal(later(x), result)
                status.expect_partial().assert_consumed()
            self.assertTrue(os.path.exists(path if path.endswith(".safetensors") else path + ".safetensors"))

    def test_a_file_that_does_not_fit_changes_nothing(self):
        path = os.path.join(self.folder, "w")
        model, other = Small(3), Small(4)
        model(rows(1, 5)), other(rows(1, 5))
        model.save_weights(path)
        before = other.get_weights()
        with self.assertRaisesRegex(ValueError, r"shape \(4, 3\)"):
            other.load_weights(path)
        for one, two in zip(before, other.get_weights()):
            np.testing.assert_array_equal(one, two)
        other.load_weights(path, skip_mismatch=True)
        np.testing.assert_array_equal(other.hidden.kernel, model.hidden.kernel)
        with self.assertRaisesRegex(ValueError, "has no weights yet"):
            Small().save_weights(path)
        with self.assertRaises(FileExistsError):
            model.save_weights(path, overwrite=False)

    def test_numpys_archives_are_read_by_the_variables_names(self):
        tf.keras.backend.clear_session()
        model = tf.keras.Sequential([tf.keras.Input((2,)), layers.Dense(3, name="only")])
        kernel = rows(2, 3)
        np.savez(os.path.join(self.folder, "w.npz"), **{"only/kernel": kernel, "only/bias": np.ones(3, np.float32)})
        model.load_weights(os.path.join(self.folder, "w.npz"))
        np.testing.assert_array_equal(model.layers[0].kernel, kernel)

    def test_a_whole_model_comes_back(self):
        x = rows(2, 5)
        for place, make in enumerate((functional, lambda: tf.keras.Sequential([layers.Dense(4), layers.Dense(3)]))):
            model = make()
            result = model(x)
            path = os.path.join(self.folder, f"model{place}.keras")
            model.save(path)
            loaded = tf.keras.models.load_model(path)
            np.testing.assert_array_equal(loaded(x), result)
            self.assertEqual(type(loaded), type(model))

    def test_weights_without_an_extension_are_the_folders_latest_checkpoint(self):
        model = functional()
        for name in ("cp-0001.ckpt", "cp-0002.ckpt"):
            model.save_weights(os.path.join(self.folder, name))
        for name in ("a.weights.h5", "b.safetensors", "checkpoint"):
            model.save_weights(os.path.join(self.folder, name))
        latest = tf.train.latest_checkpoint(self.folder)
        self.assertEqual(latest, os.path.join(self.folder, "cp-0002.ckpt"))
        loaded = functional()
        loaded.load_weights(latest)
        for one, other in zip(model.get_weights(), loaded.get_weights()):
            np.testing.assert_array_equal(one, other)

    def test_a_model_by_subclassing_comes_back_where_its_class_is_known(self):
        model, x = Small(2), rows(2, 5)
        result = model(x)
        path = os.path.join(self.folder, "small")
        model.save(path)
        with self.assertRaisesRegex(ValueError, "Unknown layer: 'Small'"):
            tf.keras.models.load_model(path)
        np.testing.assert_array_equal(tf.keras.models.load_model(path, custom_objects={"Small": Small})(x), result)

    def test_other_files_are_refused(self):
        for kind in (tf.errors.NotFoundError, OSError, ValueError):  # which one programs expect is a matter of TensorFlow's release
            with self.assertRaisesRegex(kind, "File not found: .*no file"):
                tf.keras.models.load_model(os.path.join(self.folder, "nothing.keras"))
        with self.assertRaises(tf.errors.NotFoundError):
            tf.keras.models.load_model(os.path.join(self.folder, "nothing"))
        model = functional()
        model.save_weights(os.path.join(self.folder, "weights"))
        with self.assertRaisesRegex(ValueError, "holds tensors but no model"):
            tf.keras.models.load_model(os.path.join(self.folder, "weights"))
        with open(os.path.join(self.folder, "other.keras"), "wb") as file:
            file.write(b"PK")
        with self.assertRaisesRegex(ValueError, "was not written by Tapedeck"):
            tf.keras.models.load_model(os.path.join(self.folder, "other.keras"))


if __name__ == "__main__":
    unittest.main()
