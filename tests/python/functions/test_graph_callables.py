"""tfe.graph_callable and templates that are graph functions."""
import unittest

import numpy as np

import tapedeck as tf
from graph_mode import GraphCase, graphs
from tapedeck import tfe


def scalars(count):
    return [tfe.ShapeAndDtype((), tf.float32)] * count


class GraphCallables(GraphCase):
    def test_it_is_traced_where_it_is_decorated(self):
        traces = []

        @tfe.graph_callable(scalars(1))
        def scaled(x):
            traces.append(tf.executing_eagerly())
            return x * tf.get_variable("factor", [], initializer=tf.ones_initializer())

        self.assertEqual(traces, [False, False])  # once to make the variable, once with it made
        self.assertEqual([each.name for each in scaled.variables], ["factor:0"])
        for value in (2., 3):
            self.assertEqual(float(scaled(value)), value)
        scaled.variables[0].assign(5.)
        self.assertEqual(float(scaled(2.)), 10.)
        self.assertEqual(len(traces), 2)

    def test_variables_have_their_first_values_once(self):
        drawn = tfe.graph_callable([])(lambda: tf.get_variable("v", [3]))
        first = drawn.variables[0].numpy().tolist()
        self.assertEqual([drawn().numpy().tolist() for _ in range(2)], [first, first])

    def test_scopes_share_as_they_do_eagerly(self):
        def function(x):
            with tf.variable_scope("a"):
                first = tf.get_variable("v", [], initializer=tf.constant_initializer(3.))
            with tf.variable_scope("a", reuse=True):
                again = tf.get_variable("v")
            hidden = tf.layers.dense(tf.reshape(x * first * again, [1, 1]), 2)
            return tf.layers.dense(hidden, 1)

        graph = tfe.graph_callable(scalars(1))(function)
        names = [each.name for each in graph.variables]
        self.assertEqual(names, ["a/v:0", "dense/bias:0", "dense/kernel:0", "dense_1/bias:0", "dense_1/kernel:0"])
        tf.config.run_functions_eagerly(True)
        eager = tfe.graph_callable(scalars(1))(function)
        eager(1.)
        self.assertEqual([each.name for each in eager.variables], names)
        for one, other in zip(graph.variables, eager.variables):
            other.assign(one)
        wanted = eager(2.)
        tf.config.run_functions_eagerly(False)
        self.assertSame(graph(2.), wanted)

    def test_gradients_by_every_function_of_tfe(self):
        graph = tfe.graph_callable(scalars(1))(lambda x: x * x * tf.get_variable("v", [], initializer=tf.constant_initializer(2.)))
        variable, = graph.trainable_variables
        x = tf.constant(3.)
        self.assertEqual([(float(slope), of) for slope, of in tfe.implicit_gradients(graph)(x)], [(9., variable)])
        value, ((slope, of),) = tfe.implicit_value_and_gradients(graph)(x)
        self.assertEqual((float(value), float(slope), of), (18., 9., variable))
        self.assertEqual(float(tfe.gradients_function(graph)(x)[0]), 12.)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = graph(x)
            slope = tape.gradient(y, x)
        self.assertEqual([float(each) for each in outer.gradient(slope, [x, variable])], [4., 6.])

    def test_it_owns_the_variables_of_layers_of_every_kind(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        before = tf.Variable(3.)

        @tfe.graph_callable([tfe.ShapeAndDtype((1, 2), tf.float32)])
        def function(x):
            return tf.layers.dense(model(x) * before, 3, name="last")

        names = ["last/bias:0", "last/kernel:0", *sorted(each.name for each in model.variables)]
        self.assertEqual([each.name for each in function.variables], names)
        self.assertEqual([each.name for each in function.trainable_variables], names)

    def test_the_loss_of_a_regularizer_outlives_the_trace(self):
        tfe.graph_callable([])(lambda: tf.get_variable("v", initializer=3., regularizer=lambda v: v * v))
        self.assertEqual(float(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)[-1]), 9.)

    def test_it_may_be_called_in_functions(self):
        graph = tfe.graph_callable(scalars(1))(lambda x: x * tf.get_variable("v", [], initializer=tf.constant_initializer(2.)))
        outer = tf.function(lambda x: graph(x) + 1.)
        self.assertEqual([float(outer(tf.constant(value))) for value in (1., 2.)], [3., 5.])

    def test_nested_arguments_and_results(self):
        @tfe.graph_callable([{"a": tfe.ShapeAndDtype((2,), tf.float32), "b": [tfe.ShapeAndDtype((), tf.int32)]}])
        def function(given):
            return {"sum": tf.reduce_sum(given["a"]) + tf.cast(given["b"][0], tf.float32), "none": None, "one": 1}

        found = function({"a": tf.constant([1., 2.]), "b": [3]})
        self.assertEqual((float(found["sum"]), found["none"], int(found["one"])), (6., None, 1))

    def test_unknown_extents_take_any(self):
        graph = tfe.graph_callable([tfe.ShapeAndDtype((None, 2), tf.float32)])(lambda x: tf.layers.dense(x, 3))
        for count in (1, 4):
            self.assertEqual(tuple(graph(tf.ones([count, 2])).shape), (count, 3))
        self.assertEqual([each.name for each in graph.variables], ["dense/bias:0", "dense/kernel:0"])

    def test_a_variable_of_each_call_is_refused(self):
        with self.assertRaisesRegex(ValueError, "singleton tf.Variables created on the first call"):
            tfe.graph_callable([])(lambda: tf.Variable(1.))

    def test_run_eagerly_it_makes_variables_when_they_are_asked_for(self):
        tf.config.run_functions_eagerly(True)
        calls = []

        @tfe.graph_callable(scalars(1))
        def scaled(x):
            calls.append(tf.executing_eagerly())
            return x * tf.get_variable("v", [], initializer=tf.ones_initializer())

        self.assertEqual(calls, [])
        self.assertEqual([each.name for each in scaled.variables], ["v:0"])
        self.assertEqual(float(scaled(3.)), 3.)
        self.assertEqual(calls[-1], True)


class Templates(GraphCase):
    def test_one_that_is_a_graph_function(self):
        for make in (tf.make_template, tfe.make_template):
            traces = []

            def layers(x, units):
                traces.append(tf.inside_function())
                return tf.layers.dense(tf.layers.dense(x, units), 1)

            template = make("net", layers, create_graph_function_=True, units=3)
            x = tf.ones([2, 4])
            self.assertSame(template(x), template(x))
            self.assertEqual(traces, [True, True])
            scope = template.variable_scope.name
            self.assertEqual([each.name for each in template.variables],
                             [f"{scope}/{name}:0" for name in ("dense/bias", "dense/kernel", "dense_1/bias", "dense_1/kernel")])
            template(tf.ones([3, 4]))  # a trace of its own, with the same variables
            self.assertEqual((len(traces), len(template.variables)), (3, 4))
            with tf.GradientTape() as tape:
                y = template(x)
            self.assertNotIn(None, tape.gradient(y, template.trainable_variables))

    def test_one_in_a_function(self):
        template = tf.make_template("net", lambda x: tf.layers.dense(x, 3))
        made = tf.function(lambda x: template(x))
        x = tf.ones([2, 4])
        self.assertSame(made(x), template(x))
        self.assertEqual(len(template.variables), 2)

    def test_a_variable_of_a_later_call_is_refused(self):
        calls = []

        def grows(x):
            calls.append(1)
            return x * tf.get_variable(f"v{len(calls)}", [], initializer=tf.ones_initializer())

        with self.assertRaisesRegex(ValueError, "singleton tf.Variables created on the first call"):
            tf.make_template("grows", grows, create_graph_function_=True)(tf.constant(1.))


def convolution(x, width, kernel, stride=1):
    x = tf.layers.conv2d(x, width, kernel, stride, padding="same", use_bias=False)
    return tf.layers.batch_normalization(x, training=True)


def block(x, width, stride, changes):
    y = tf.nn.relu(convolution(x, width, 1))
    y = tf.nn.relu(convolution(y, width, 3, stride))
    y = convolution(y, 4 * width, 1)
    return tf.nn.relu(y + (convolution(x, 4 * width, 1, stride) if changes else x))


def resnet_50(x, classes):
    x = tf.layers.max_pooling2d(tf.nn.relu(convolution(x, 64, 7, 2)), 3, 2, padding="same")
    for width, blocks, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for number in range(blocks):
            x = block(x, width, stride if number == 0 else 1, changes=number == 0)
    return tf.layers.dense(tf.reduce_mean(x, [1, 2]), classes)


class ResNet50(unittest.TestCase):
    """Called and trained on a random batch, of small pictures."""

    def test_it_trains_in_a_graph_as_it_does_eagerly(self):
        tf.set_random_seed(1)
        pictures, labels = tf.random_normal([2, 32, 32, 3]), tf.constant([3, 700])
        with graphs():
            @tfe.graph_callable([tfe.ShapeAndDtype((2, 32, 32, 3), tf.float32), tfe.ShapeAndDtype((2,), tf.int32)])
            def loss_of(x, y):
                return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=resnet_50(x, 1000)))

        self.assertEqual((len(loss_of.trainable_variables), len(loss_of.variables)), (161, 267))
        self.assertEqual(sum(int(np.prod(each.shape)) for each in loss_of.trainable_variables), 25_557_032)
        first = [each.numpy() for each in loss_of.variables]
        losses, gradients, variables = [], [], []
        for runs_eagerly in (False, True):
            for variable, value in zip(loss_of.variables, first):
                variable.assign(value)
            optimizer = tf.train.MomentumOptimizer(.003, .9)
            before = tf.config.functions_run_eagerly()
            tf.config.run_functions_eagerly(runs_eagerly)
            try:
                for _ in range(3):
                    loss, pairs = tfe.implicit_value_and_gradients(loss_of)(pictures, labels)
                    optimizer.apply_gradients(pairs)
                    losses.append(float(loss))
            finally:
                tf.config.run_functions_eagerly(before)
            gradients.append({variable.name: gradient.numpy() for gradient, variable in pairs})
            variables.append([each.numpy() for each in loss_of.variables])
        self.assertEqual(losses[:3], losses[3:])
        self.assertLess(losses[2], losses[0])
        self.assertEqual(len(gradients[0]), 161)
        for name, gradient in gradients[0].items():
            self.assertEqual(gradient.tobytes(), gradients[1][name].tobytes(), name)
        for one, other in zip(*variables):  # the moving averages, too
            self.assertEqual(one.tobytes(), other.tobytes())


if __name__ == "__main__":
    unittest.main()
