"""Models: functional, by subclassing and Sequential; what they are made of, their names, tables, configs and files."""
import copy
import io
import os
import pickle
import tempfile
import unittest
from contextlib import redirect_stdout

import numpy as np
import tapedeck as tf

layers = tf.keras.layers
RNG = np.random.default_rng(11)


def rows(*shape):
    return RNG.normal(size=shape).astype(np.float32)


class Small(tf.keras.Model):
    def __init__(self, units=3, **kwargs):
        super().__init__(**kwargs)
        self.hidden = layers.Dense(4, activation="tanh")
        self.top = layers.Dense(units)

    def call(self, inputs):
        return self.top(self.hidden(inputs))


def functional():
    inputs = tf.keras.Input((5,))
    return tf.keras.Model(inputs, layers.Dense(3)(layers.Dense(4, activation="tanh")(inputs)))


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
