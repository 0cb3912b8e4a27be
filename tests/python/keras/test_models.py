"""Models by subclassing and Sequential: what they are made of, their names, and tables of models of all kinds."""
import io
import unittest
from contextlib import redirect_stdout

import numpy as np
import tapedeck as tf
from small_models import rows, Small

layers = tf.keras.layers


class Subclassed(unittest.TestCase):
    def test_variables_are_made_at_the_first_call_and_named_by_the_model(self):
        tf.keras.backend.clear_session()
        model = Small()
        self.assertEqual((model.weights, model.built), ([], False))
        model(rows(1, 5))
        self.assertEqual([variable.name for variable in model.weights],
                         ["small/dense/kernel:0", "small/dense/bias:0", "small/dense_1/kernel:0", "small/dense_1/bias:0"])
        self.assertEqual([layer.name for layer in model.layers], ["dense", "dense_1"])

    def test_build_makes_them_without_data(self):
        model = Small()
        model.build((None, 5))
        self.assertEqual([tuple(variable.shape) for variable in model.weights], [(5, 4), (4,), (4, 3), (3,)])

    def test_layers_in_lists_and_dicts_are_found(self):
        class Many(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.blocks = [layers.Dense(2) for _ in range(3)]
                self.named = {"last": layers.Dense(1)}

            def call(self, x):
                for block in self.blocks:
                    x = block(x)
                return self.named["last"](x)

        model = Many()
        model(rows(1, 2))
        self.assertEqual((len(model.layers), len(model.weights)), (4, 8))

    def test_trainable_reaches_the_layers(self):
        model = Small()
        model(rows(1, 5))
        model.hidden.trainable = False
        self.assertEqual([variable is model.top.kernel or variable is model.top.bias for variable in model.trainable_variables],
                         [True, True])
        model.trainable = False
        self.assertEqual((model.trainable_variables, len(model.non_trainable_variables)), ([], 4))

    def test_a_missing_init_and_a_missing_call_are_told(self):
        class NoInit(tf.keras.Model):
            def __init__(self):
                self.a = 1

        class NoCall(tf.keras.Model):
            pass

        with self.assertRaisesRegex(RuntimeError, r"super\(\).__init__\(\)"):
            NoInit()(rows(1, 2))
        with self.assertRaisesRegex(NotImplementedError, r"`call\(\)`"):
            NoCall()(rows(1, 2))
        with self.assertRaises(AttributeError):
            Small().input

    def test_losses_of_layers_and_regularizers_are_found(self):
        class Losing(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = layers.Dense(2, kernel_regularizer=tf.keras.regularizers.L2(.5))

            def call(self, x):
                self.add_loss(tf.reduce_sum(x))
                return self.dense(x)

        model = Losing()
        model(np.ones((1, 3), np.float32))
        found = sorted(float(loss) for loss in model.losses)
        np.testing.assert_allclose(found, sorted([3., .5 * np.square(model.dense.kernel.numpy()).sum()]), rtol=1e-6)


class Sequential(unittest.TestCase):
    def test_layers_are_added_and_taken_away(self):
        model = tf.keras.Sequential([layers.Dense(4)])
        model.add(layers.Dense(2))
        x = rows(3, 5)
        self.assertEqual(model(x).shape, (3, 2))
        last = model.pop()
        self.assertEqual((last.units, model(x).shape, len(model.weights)), (2, (3, 4), 2))
        model.add(layers.Dense(7))
        self.assertEqual(model(x).shape, (3, 7))

    def test_with_an_input_it_is_built_at_once(self):
        for first in (tf.keras.Input((5,)), layers.InputLayer((5,)), None):
            made = [first] if first is not None else []
            model = tf.keras.Sequential(made + [layers.Dense(4, **({} if made else {"input_shape": (5,)})), layers.Dense(3)])
            self.assertEqual((len(model.weights), len(model.layers)), (4, 2))
            self.assertEqual((model.input_shape, model.output_shape), ((None, 5), (None, 3)))
        model.add(layers.Dense(2))
        self.assertEqual((model.output_shape, len(model.weights)), ((None, 2), 6))
        model.pop()
        self.assertEqual(model.output_shape, (None, 3))

    def test_build_takes_a_shape(self):
        model = tf.keras.Sequential([layers.Dense(4), layers.Dense(3)])
        model.build((None, 6))
        self.assertEqual(tuple(model.weights[0].shape), (6, 4))

    def test_after_a_call_it_has_inputs_and_outputs(self):
        model = tf.keras.Sequential([layers.Dense(4), layers.Dense(3)])
        with self.assertRaises(AttributeError):
            model.input
        x = rows(2, 5)
        result = model(x)
        features = tf.keras.Model(model.input, model.layers[0].output)
        self.assertEqual(tuple(model.input.shape), (None, 5))
        np.testing.assert_array_equal(model.layers[1](features(x)), result)

    def test_refusals(self):
        with self.assertRaisesRegex(TypeError, "Only instances of `keras.Layer` can be added"):
            tf.keras.Sequential([3])
        with self.assertRaisesRegex(ValueError, 'unique names. Name "a"'):
            tf.keras.Sequential([layers.Dense(1, name="a"), layers.Dense(1, name="a")])
        with self.assertRaisesRegex(TypeError, "There are no layers in the model"):
            tf.keras.Sequential().pop()
        with self.assertRaisesRegex(ValueError, "`input_shape` argument"):
            tf.keras.Sequential([layers.Dense(1)]).build()

    def test_it_is_a_layer_of_others(self):
        inner = tf.keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(3)])
        model = tf.keras.Sequential([layers.Flatten(), inner])
        self.assertEqual((model(rows(2, 3, 2)).shape, len(model.weights)), ((2, 3), 4))


class GetLayer(unittest.TestCase):
    def test_by_name_and_index(self):
        model = tf.keras.Sequential([layers.Dense(1, name="first"), layers.Dense(2, name="second")])
        self.assertIs(model.get_layer("second"), model.layers[1])
        self.assertIs(model.get_layer(index=0), model.layers[0])
        for arguments, text in (({"name": "third"}, r"No such layer: third. Existing layers are: \['first', 'second'\]"),
                                ({"index": 2}, "only has 2 layers"), ({}, "Provide only a layer name or a layer index"),
                                ({"name": "first", "index": 0}, "Provide only a layer name or a layer index")):
            with self.assertRaisesRegex(ValueError, text):
                model.get_layer(**arguments)


def table_of(model, **arguments):
    lines = []
    model.summary(print_fn=lines.append, **arguments)
    return lines


class Summary(unittest.TestCase):
    def test_it_says_layers_shapes_and_parameters(self):
        tf.keras.backend.clear_session()
        model = tf.keras.Sequential([tf.keras.Input((784,)), layers.Dense(10, name="hidden"),
                                     layers.BatchNormalization(name="norm")],
                                    name="net")
        self.assertEqual(table_of(model), [
            'Model: "net"',
            "┏━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┓",
            "┃ Layer (type)              ┃ Output Shape ┃ Param # ┃",
            "┡━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━┩",
            "│ hidden (Dense)            │ (None, 10)   │   7,850 │",
            "├───────────────────────────┼──────────────┼─────────┤",
            "│ norm (BatchNormalization) │ (None, 10)   │      40 │",
            "└───────────────────────────┴──────────────┴─────────┘",
            " Total params: 7,890 (30.82 KB)",
            " Trainable params: 7,870 (30.74 KB)",
            " Non-trainable params: 20 (80.00 B)"])

    def test_shapes_in_a_model_by_subclassing_are_found(self):
        model = Small(name="small_one")
        model(rows(2, 5))
        text = "\n".join(table_of(model))
        self.assertIn("(None, 4)", text)
        self.assertIn("(None, 3)", text)

    def test_it_prints_in_one_piece(self):
        model = tf.keras.Sequential([layers.Dense(2, input_shape=(3,))])
        with redirect_stdout(io.StringIO()) as out:
            model.summary()
        self.assertEqual(out.getvalue().splitlines(), table_of(model))

    def test_long_names_are_broken_within_the_line_length(self):
        model = tf.keras.Sequential([layers.Dense(2, input_shape=(3,), name="a_very_long_name_of_a_layer_that_does_not_fit")])
        for length in (60, 50):
            lines = table_of(model, line_length=length)
            self.assertLessEqual(max(map(len, lines[1:-3])), length)
            self.assertEqual(len({len(line) for line in lines[1:-3]}), 1)  # the right edge is straight

    def test_options_add_columns_and_rows(self):
        inner = tf.keras.Sequential([layers.Dense(2, name="deep")], name="inner")
        a, b = tf.keras.Input((3,), name="a"), tf.keras.Input((3,), name="b")
        model = tf.keras.Model([a, b], inner(layers.Add(name="both")([a, b])))
        plain, nested = "\n".join(table_of(model)), "\n".join(table_of(model, expand_nested=True))
        self.assertIn("a[0][0],", plain)
        self.assertNotIn("deep", plain)
        self.assertIn("└ deep (Dense)", nested)
        self.assertIn("│ Y", "\n".join(table_of(model, show_trainable=True)))
        ranged = "\n".join(table_of(model, layer_range=("both", "inner")))
        self.assertNotIn("InputLayer", ranged)
        with self.assertRaisesRegex(ValueError, "layer_range"):
            table_of(model, layer_range=("both", "nobody"))

    def test_before_the_variables_are_made_it_says_so(self):
        for model in (tf.keras.Sequential([layers.Dense(2, name="hidden"), layers.Dense(1)], name="net"), Small(2)):
            lines = table_of(model)
            self.assertRegex(lines[4], r"│ \w+ \(Dense\) +│ \? +│ 0 \(unbuilt\) │")
            self.assertEqual(lines[-3], " Total params: 0 (0.00 B)")
            self.assertFalse(model.built)


if __name__ == "__main__":
    unittest.main()
