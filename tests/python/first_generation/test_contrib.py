"""tf.contrib's functions make the variables that TensorFlow 1's make, and compute what NumPy does; tfe's names are there."""
import collections
import unittest

import numpy as np
from device_names import CPU
import tapedeck as tf
from tapedeck import tfe

contrib = tf.contrib
RNG = np.random.default_rng(3)


def rows(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def in_store(function, *args, **kwargs):
    """(what the function gives, its variables by name)"""
    store = tfe.EagerVariableStore()
    with store.as_default():
        result = function(*args, **kwargs)
    return result, {variable.name: variable for variable in store.variables()}


class Eager(unittest.TestCase):
    def test_contrib_eager_is_tfe(self):
        import tapedeck.contrib.eager as imported
        self.assertIs(imported, tfe)
        self.assertIs(contrib.eager, tfe)

    def test_all_is_eager(self):
        self.assertTrue(tfe.in_eager_mode())
        self.assertFalse(tfe.in_graph_mode())
        self.assertEqual(tfe.list_devices()[0], CPU)
        with tf.device(tfe.list_devices()[0]), tfe.execution_mode(tfe.SYNC):
            self.assertIsNone(tfe.async_wait())
        with self.assertRaisesRegex(ValueError, "SYNC/ASYNC. Got 7"), tfe.execution_mode(7):
            pass

    def test_defun_calls_the_function(self):
        @tfe.defun
        def double(x):
            "twice"
            return x * 2

        self.assertEqual((float(double(3.)), double.__doc__, double.python_function(4)), (6., "twice", 8))
        self.assertEqual(tfe.defun(input_signature=[])(lambda: 3)(), 3)
        with self.assertRaisesRegex(TypeError, "func is 3"):
            tfe.defun(3)

    def test_function_calls_the_function_with_tensors(self):
        calls = []

        @tf.function(jit_compile=True)
        def scaled(x, factor=2, *, flags=()):
            "times factor"
            calls.append((type(x), factor, flags))
            return {"x": x * factor, "n": factor, "none": None}

        found = scaled(np.array([1., 2.], np.float32), factor=3, flags=("a",))
        self.assertEqual((found["x"].numpy().tolist(), found["n"].numpy(), found["none"]), ([3., 6.], 3, None))
        self.assertEqual((calls, scaled.__doc__), ([(tf.Tensor, 3, ("a",))], "times factor"))
        with tf.GradientTape() as tape:
            variable = tf.Variable(3.)
            loss = tf.function(lambda v: v * v)(variable)
        self.assertEqual(float(tape.gradient(loss, variable)), 6.)

        class Counter:
            @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
            def total(self, values):
                return tf.reduce_sum(values), values.dtype.name

        total, dtype = Counter().total([1, 2])
        self.assertEqual((float(total), dtype.numpy()), (3., b"float32"))
        for wrong in (tf.constant(1.), tf.constant([1])):
            with self.assertRaisesRegex(TypeError, "total: input_signature wants TensorSpec"):
                Counter().total(wrong)
        with self.assertRaisesRegex(TypeError, "func is 3"):
            tf.function(3)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'jit'"):
            tf.function(jit=True)

    def test_a_variable_that_a_function_returns_is_read_when_it_returns(self):
        one_of_a_list = tfe.graph_callable([])(lambda: tf.get_variable("count", initializer=1.).assign_add(1.))
        for decorate in (tf.function, tfe.defun):
            count = tf.Variable(0)
            step = decorate(lambda: count.assign_add(1))
            self.assertEqual([int(found) for found in [step() for _ in range(3)]], [1, 2, 3])
            self.assertIs(type(step()), tf.Tensor)
            pair = collections.namedtuple("pair", "first second")
            nested = decorate(lambda given: {"a": [given, (count, 7)], "b": pair(count, None), "c": "text"})(count)
            count.assign(-1)
            self.assertEqual((int(nested["a"][0]), int(nested["a"][1][0]), int(nested["b"].first)), (4, 4, 4))
            self.assertEqual((type(nested["a"][1]), type(nested["b"]), nested["b"].second), (tuple, pair, None))
            self.assertEqual((int(nested["a"][1][1]), nested["c"].numpy()), (7, b"text"))
            for place in (nested["a"][0], nested["a"][1][0], nested["b"].first):
                self.assertIs(type(place), tf.Tensor)
        self.assertEqual([float(found) for found in [one_of_a_list() for _ in range(2)]], [2., 3.])

    def test_gradients_reach_a_variable_that_a_function_returns(self):
        weight = tf.Variable(2.)
        with tf.GradientTape() as tape:
            loss = tf.square(tf.function(lambda: weight)())
        self.assertEqual(float(tape.gradient(loss, weight)), 4.)

    def test_tests_run_once(self):
        calls = []

        @tfe.run_test_in_graph_and_eager_modes()
        def method(self):
            calls.append(self)

        method("self")
        self.assertEqual(calls, ["self"])
        with self.assertRaisesRegex(ValueError, r"Add \(\)"):
            tfe.run_test_in_graph_and_eager_modes(method)

    def test_run_ends_with_what_main_returns(self):
        with self.assertRaises(SystemExit) as ended:
            tfe.run(lambda argv: len(argv), ["a", "b"])
        self.assertEqual(ended.exception.code, 2)

    def test_py_func_takes_tensors_and_keeps_gradients(self):
        x = tf.constant(3.)
        self.assertEqual(float(tfe.gradients_function(lambda x: tfe.py_func(lambda t: t * t, [x], tf.float32))(x)[0]), 6.)
        self.assertEqual(tf.py_func(lambda array: array.astype(np.int64) + 1, [[1., 2.]], tf.int64).numpy().tolist(), [2, 3])


class Layers(unittest.TestCase):
    def test_fully_connected(self):
        for shape in ((4, 5), (2, 3, 5)):
            x = rows(*shape)
            result, made = in_store(contrib.layers.fully_connected, x, 3, scope="fc")
            self.assertEqual(list(made), ["fc/biases:0", "fc/weights:0"])
            np.testing.assert_allclose(result, np.maximum(x @ made["fc/weights:0"].numpy(), 0), rtol=1e-4, atol=1e-5)
        with tf.variable_scope("around"):
            _, made = in_store(contrib.layers.fully_connected, x, 3)
        self.assertEqual(list(made), ["around/fully_connected/biases:0", "around/fully_connected/weights:0"])

    def test_conv2d(self):
        x = rows(2, 6, 6, 3)
        result, made = in_store(contrib.layers.conv2d, x, 4, 3, stride=2, activation_fn=None, scope="c")
        self.assertEqual(list(made), ["c/biases:0", "c/weights:0"])
        np.testing.assert_allclose(result, tf.nn.conv2d(x, made["c/weights:0"], 2, "SAME"), rtol=1e-5)
        result, made = in_store(contrib.layers.conv2d, x, 4, [3, 1], padding="VALID", normalizer_fn=contrib.layers.batch_norm)
        self.assertEqual(result.shape, (2, 4, 6, 4))
        self.assertIn("Conv/BatchNorm/beta:0", made)
        self.assertNotIn("Conv/biases:0", made)

    def test_pools_flatten_one_hot_and_dropout(self):
        x = rows(2, 4, 4, 1)
        np.testing.assert_array_equal(contrib.layers.max_pool2d(x, 2), x.reshape(2, 2, 2, 2, 2, 1).max((2, 4)))
        np.testing.assert_allclose(contrib.layers.avg_pool2d(x, 2), x.reshape(2, 2, 2, 2, 2, 1).mean((2, 4)), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(contrib.layers.flatten(x), x.reshape(2, 16))
        np.testing.assert_array_equal(contrib.layers.one_hot_encoding([1, 0], 2), [[0, 1], [1, 0]])
        np.testing.assert_array_equal(contrib.layers.dropout(x, is_training=False), x)
        self.assertEqual(set(np.unique(contrib.layers.dropout(np.ones(99, np.float32), .25))), {0., 4.})

    def test_batch_norm_normalizes_and_keeps_averages(self):
        x = rows(8, 3) * 4 + 2
        result, made = in_store(contrib.layers.batch_norm, x, decay=.5, scale=True)
        self.assertEqual(list(made), [f"BatchNorm/{name}:0" for name in ("beta", "gamma", "moving_mean", "moving_variance")])
        np.testing.assert_allclose(result, (x - x.mean(0)) / np.sqrt(x.var(0) + .001), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(made["BatchNorm/moving_mean:0"], x.mean(0) / 2, rtol=1e-5)

    def test_layer_norm_normalizes_each_example(self):
        x = rows(4, 6)
        result, _ = in_store(contrib.layers.layer_norm, x)
        np.testing.assert_allclose(result, (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), rtol=1e-3, atol=1e-4)

    def test_layers_are_repeated_and_stacked(self):
        _, made = in_store(contrib.layers.stack, rows(2, 3), contrib.layers.fully_connected, [4, 5], scope="s")
        self.assertEqual({name: tuple(variable.shape) for name, variable in made.items() if "weights" in name},
                         {"s/s_1/weights:0": (3, 4), "s/s_2/weights:0": (4, 5)})
        _, made = in_store(contrib.layers.repeat, rows(2, 3), 2, contrib.layers.linear, 3, scope="r")
        self.assertEqual(len(made), 4)

    def test_the_same_scope_has_the_same_variables_in_a_template(self):
        template = tf.make_template("t", lambda x: contrib.layers.fully_connected(x, 2))
        x = rows(2, 3)
        np.testing.assert_array_equal(template(x), template(x))
        self.assertEqual(len(template.variables), 2)


class Initializers(unittest.TestCase):
    def test_xaviers_variance(self):
        for uniform, variance in ((True, 2 / 500), (False, 2 / 500)):
            drawn = contrib.layers.xavier_initializer(uniform, seed=1)([200, 300]).numpy()
            self.assertAlmostEqual(drawn.var() / variance, 1, delta=.03)
        self.assertAlmostEqual(contrib.layers.variance_scaling_initializer(seed=2)([3, 3, 20, 50]).numpy().var() * 180 / 2, 1,
                               delta=.05)
        with self.assertRaisesRegex(TypeError, "Unknown mode ALL"):
            contrib.layers.variance_scaling_initializer(mode="ALL")
        with self.assertRaisesRegex(TypeError, "non-floating"):
            contrib.layers.xavier_initializer(dtype=tf.int32)

    def test_regularizers(self):
        w = rows(4)
        l1, l2 = np.abs(w).sum(), np.square(w).sum() / 2
        self.assertAlmostEqual(float(contrib.layers.l1_regularizer(.5)(w)), .5 * l1, places=5)
        self.assertAlmostEqual(float(contrib.layers.l2_regularizer(.5)(w)), .5 * l2, places=5)
        self.assertAlmostEqual(float(contrib.layers.l1_l2_regularizer(.5, 2.)(w)), .5 * l1 + 2 * l2, places=4)
        self.assertIsNone(contrib.layers.l2_regularizer(0.)(w))
        self.assertIsNone(contrib.layers.sum_regularizer([None]))
        self.assertAlmostEqual(float(contrib.layers.apply_regularization(contrib.layers.l2_regularizer(1.), [w, w])), 2 * l2,
                               places=5)
        for scale, text in ((-1., "less than 0"), (1, "cannot be an integer")):
            with self.assertRaisesRegex(ValueError, text):
                contrib.layers.l2_regularizer(scale)


class Framework(unittest.TestCase):
    def test_arg_scope_gives_defaults_that_nest(self):
        @contrib.framework.add_arg_scope
        def function(a, b=1, c=2):
            return a, b, c

        arg_scope = contrib.framework.arg_scope
        with arg_scope([function], b=5) as scope:
            self.assertEqual((function(0), function(0, c=7), function(0, b=6)), ((0, 5, 2), (0, 5, 7), (0, 6, 2)))
            with arg_scope([function], c=8):
                self.assertEqual(function(0), (0, 5, 8))
        self.assertEqual(function(0), (0, 1, 2))
        with arg_scope(scope):
            self.assertEqual(function(0), (0, 5, 2))
        with self.assertRaisesRegex(ValueError, "len is not decorated"), arg_scope([len], b=1):
            pass
        with self.assertRaisesRegex(TypeError, "list_ops_or_scope"), arg_scope(3):
            pass
        with arg_scope([contrib.layers.fully_connected], activation_fn=None):
            result, _ = in_store(contrib.layers.fully_connected, -np.ones((1, 2), np.float32), 50)
        self.assertLess(result.numpy().min(), 0)

    def test_variables_are_put_into_collections(self):
        contrib.framework.model_variable("in_collections", [2], initializer=tf.ones_initializer())
        self.assertEqual([each.name for each in contrib.framework.get_model_variables("in_coll")], ["in_collections:0"])
        self.assertIs(contrib.framework.get_or_create_global_step(), tf.train.get_global_step())


if __name__ == "__main__":
    unittest.main()
