"""What the package has runs in graphs, and gives eager code's bits there: with the shapes of a call's tensors, and with extents that are
not known while a function is traced."""
import inspect
import os
import unittest

import numpy as np

import tapedeck as tf
from calls_in_functions import both_ways, outcome, reals
from campaign import Campaign
from graph_mode import GraphCase
from layer_references import CASES

_CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "function_calls.txt")
with open(_CALLS, encoding="utf-8") as _file:
    CALLS = [line for line in _file.read().splitlines() if line and not line.startswith("#")]

# Calls that do not give eager code's results in a function: the beginning of what happens with known and with unknown extents ("same"
# where that gives the same), and why.
_VARIABLES = "each call makes variables; their shapes must be known"
OTHERWISE = {
    "experimental.dlpack.from_dlpack(reals([3, 4]))": ("called runs eagerly", "called runs eagerly", "other packages read the memory"),
    "unstack(reals([5, 3, 2]))": ("same", "InvalidArgumentError: unstack: has", "how many tensors there are must be known"),
    "image.resize_images(tf.cast(reals([2, 2, 1]), 'uint8'), [2, 2])": (
        "same", "gives", "TensorFlow 1 leaves images alone whose extents are known to be the wanted ones; others become float32"),
    "layers.dense(reals([2, 4]), 3)": (
        "InvalidArgumentError: tf.function only supports singleton", "called runs eagerly", _VARIABLES),
    "contrib.layers.batch_norm(reals([8, 3]))": (
        "InvalidArgumentError: tf.function only supports singleton", "called runs eagerly", _VARIABLES),
    "zeros(tf.constant([2, 3], 'int8'))": (
        "OperatorNotAllowedInGraphError", "OperatorNotAllowedInGraphError", "shapes are int32 or int64 in a graph, as in TensorFlow"),
}

calls = Campaign("library_in_functions", "calls of the package", 250, 769, "further calls")


class Library(GraphCase):
    def test_gives_in_functions_what_it_gives_eagerly(self):
        for text in calls.some(CALLS):
            for is_open in (False, True):
                with self.subTest(call=text, unknown_extents=is_open):
                    self.assertEqual(outcome(text, is_open), "same")

    def test_what_does_not_is_known(self):
        for text, (known, unknown, reason) in OTHERWISE.items():
            for is_open, wanted in ((False, known), (True, unknown)):
                with self.subTest(call=text, unknown_extents=is_open, reason=reason):
                    self.assertEqual(outcome(text, is_open)[:len(wanted)], wanted)

    def test_the_calls_are_of_most_functions(self):
        self.assertGreater(len({text.partition("(")[0] for text in CALLS}), 400)


# Layers that are called beside those of layer_references, and their inputs' shapes.
_IMAGES = [(2, 8, 9, 3)]
OTHER_LAYERS = [
    ("RandomRotation", (.2,), _IMAGES), ("RandomZoom", (.2,), _IMAGES), ("RandomTranslation", (.2, .1), _IMAGES),
    ("RandomFlip", (), _IMAGES), ("RandomContrast", (.2,), _IMAGES), ("RandomBrightness", (.2,), _IMAGES),
    ("RandomCrop", (4, 5), _IMAGES), ("Resizing", (4, 5), _IMAGES), ("CenterCrop", (4, 5), _IMAGES),
    ("SpatialDropout2D", (.5,), _IMAGES), ("GaussianNoise", (.5,), _IMAGES), ("GaussianDropout", (.5,), _IMAGES),
    ("AlphaDropout", (.5,), _IMAGES), ("Dropout", (.5,), _IMAGES), ("LSTM", (3,), [(2, 4, 3)]), ("GRU", (3,), [(2, 4, 3)]),
    ("SimpleRNN", (3,), [(2, 4, 3)]), ("Attention", (), [(2, 4, 3), (2, 5, 3)])]


class Layers(GraphCase):
    def check(self, name, layer, inputs, training):
        keywords = {} if training is None else {"training": training}

        def called(*tensors):
            return layer(list(tensors) if len(tensors) > 1 else tensors[0], **keywords)

        called(*inputs)  # makes the variables
        for kind, shapes in (("known", [each.shape for each in inputs]), ("batch", [[None, *each.shape[1:]] for each in inputs])):
            with self.subTest(layer=name, extents=kind):
                self.assertEqual(both_ways(called, inputs, shapes), "same")

    def test_those_with_references(self):
        for case in CASES:
            inputs = [tf.constant(np.random.default_rng(1).integers(0, case.ints, shape)) if case.ints else reals(shape)
                      for shape in case.shapes]
            self.check(case.layer, getattr(tf.keras.layers, case.layer)(**case.arguments), inputs, case.training)

    def test_others_in_training(self):
        for name, arguments, shapes in OTHER_LAYERS:
            layer = getattr(tf.keras.layers, name)(*arguments)
            takes = "training" in inspect.signature(layer.call).parameters
            self.check(name, layer, list(map(reals, shapes)), True if takes else None)

    def test_images_whose_extents_are_not_known(self):
        for name, arguments, shapes in OTHER_LAYERS:
            if shapes is _IMAGES:
                layer, images = getattr(tf.keras.layers, name)(*arguments), reals(shapes[0])
                takes = {"training": True} if "training" in inspect.signature(layer.call).parameters else {}
                with self.subTest(layer=name):
                    self.assertEqual(both_ways(lambda x: layer(x, **takes), [images], [[None, None, None, 3]]), "same")


class WhatIsKnown(GraphCase):
    """Of results where each run calls the function."""

    def shape_of(self, function, *specs):
        shape = tf.function(function, autograph=False).get_concrete_function(*specs).outputs[0].shape
        return None if shape.rank is None else shape.as_list()

    def test_extents_that_are_given_or_do_not_change(self):
        images = tf.TensorSpec([None, None, None, 3])
        numbers = tf.TensorSpec([None], tf.int32)
        for function, specs, wanted in (
                (lambda x: tf.image.resize(x, [4, 5]), [images], [None, 4, 5, 3]),
                (lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 40, 50), [images], [None, 40, 50, 3]),
                (lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 4, 5), [images], [None, 4, 5, 3]),
                (lambda x: tf.image.central_crop(x, .5), [images], [None, None, None, 3]),
                (lambda x: tf.image.rgb_to_grayscale(x), [tf.TensorSpec([None] * 4)], [None, None, None, 1]),
                (lambda x: tf.image.random_crop(x, [2, 4, 4, 3]), [images], [2, 4, 4, 3]),
                (lambda x: tf.math.bincount(x), [numbers], [None]),
                (lambda x: tf.math.confusion_matrix(x, x, 4), [numbers], [4, 4]),
                (lambda x: tf.repeat(tf.ones([2, 3]), x, axis=0), [tf.TensorSpec([2], tf.int32)], [None, 3]),
                (lambda x: tf.math.segment_sum(tf.ones([4, 3]), x), [tf.TensorSpec([4], tf.int32)], [None, 3]),
                (lambda x: tf.signal.dct(x), [tf.TensorSpec([None, None])], [None, None]),
                (lambda x: tf.nn.max_pool3d(x, 2, 2, "VALID"), [tf.TensorSpec([None, 4, 4, 4, 2])], [None, 2, 2, 2, 2]),
                (lambda x: tf.strings.format("{}", x), [numbers], [])):
            with self.subTest(wanted=wanted):
                self.assertEqual(self.shape_of(function, *specs), wanted)

    def test_a_product_with_a_sparse_matrix(self):
        sparse = tf.sparse.from_dense([[1., 0.], [0., 2.]])
        self.assertEqual(self.shape_of(lambda x: tf.sparse.sparse_dense_matmul(sparse, x), tf.TensorSpec([2, 3])), [2, 3])

    def test_gradients_pass_through(self):
        images = tf.constant(np.random.default_rng(1).random((2, 6, 7, 3), np.float32))

        def loss(x):
            return tf.reduce_sum(tf.square(tf.image.resize(tf.image.central_crop(x, .5), [5, 4])))

        def gradient(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = loss(x)
            return tape.gradient(y, x)

        traced = tf.function(gradient, input_signature=[tf.TensorSpec([None, None, None, 3])])
        self.assertEqual(traced(images).numpy().tobytes(), gradient(images).numpy().tobytes())
        with tf.GradientTape() as tape:
            tape.watch(images)
            y = tf.function(loss, input_signature=[tf.TensorSpec([None, None, None, 3])])(images)
        self.assertEqual(tape.gradient(y, images).numpy().tobytes(), gradient(images).numpy().tobytes())

    def test_errors_are_those_of_eager_code(self):
        counted = tf.function(lambda x: tf.math.bincount(x))
        self.assertEqual(counted(tf.constant([1, 1])).numpy().tolist(), [0, 2])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "bincount: arr holds -1; none may be below 0"):
            counted(tf.constant([-1, 1]))
        cropped = tf.function(lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 4, 4), input_signature=[tf.TensorSpec([None, None, 3])])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "4 × 4 pixels from .0, 0. on are not in an image of 3 × 5"):
            cropped(tf.ones([3, 5, 3]))


if __name__ == "__main__":
    unittest.main()
