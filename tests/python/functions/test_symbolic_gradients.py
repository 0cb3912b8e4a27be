"""tf.gradients: in functions that are traced, without a tape."""
import unittest

import numpy as np

import tapedeck as tf
from graph_mode import GraphCase


def floats(tensors):
    return [None if each is None else float(each) for each in tensors]


class Gradients(GraphCase):
    def test_of_several_with_weights_and_constants(self):
        @tf.function
        def f(x, w):
            a = x * w
            b = a * x
            return (tf.gradients([a, b], [x, w]), tf.gradients([a, b], [x, w], grad_ys=[tf.constant(2.), tf.constant(10.)]),
                    tf.gradients(b, [x, w], stop_gradients=[a]), tf.gradients([a, b], x, grad_ys=[None, tf.constant(10.)]))

        found = f(tf.constant(3.), tf.constant(2.))
        self.assertEqual([floats(each) for each in found], [[14., 12.], [124., 96.], [6., None], [122.]])

    def test_sources_that_depend_on_each_other_and_are_targets(self):
        @tf.function
        def f(x):
            y = x * x
            z = y * x
            return tf.gradients(z, [x, y, z]), tf.gradients(x, x)

        through, itself = f(tf.constant(3.))
        self.assertEqual((floats(through), floats(itself)), ([27., 3., 1.], [1.]))

    def test_variables_before_and_after_an_assignment(self):
        variable = tf.Variable(2.)

        @tf.function
        def f(x):
            a = variable * x
            variable.assign_add(1.)
            b = variable * variable * x
            return tf.gradients([a, b], [variable, x])

        self.assertEqual(floats(f(tf.constant(5.))), [35., 11.])
        self.assertEqual(variable.numpy(), 3.)

    def test_of_gradients_through_loops_and_variables_inside(self):
        variable = tf.Variable(2.)

        @tf.function
        def power(x, count):
            y = x
            for _ in tf.range(count):
                y = y * x
            first, = tf.gradients(y, x)
            second, = tf.gradients(first, x)
            third, = tf.gradients(second, x)
            return y, first, second, third

        @tf.function
        def scaled(x, count):
            y = x * variable
            for _ in tf.range(count):
                y = y * variable
            first, = tf.gradients(y, variable)
            return first, tf.gradients(first, variable)[0], tf.gradients(y, x)[0]

        self.assertEqual(floats(power(tf.constant(2.), tf.constant(4))), [32., 80., 160., 240.])
        self.assertEqual(floats(scaled(tf.constant(5.), tf.constant(3))), [160., 240., 16.])

    def test_branches_calls_and_gradients_of_ones_own(self):
        @tf.custom_gradient
        def odd(x):
            return x * 1., lambda upstream: upstream * 100.

        sine = tf.function(lambda x: tf.sin(x))

        @tf.function
        def f(x):
            y = tf.cond(x > 0., lambda: x * x, lambda: -x)
            return tf.gradients([y], x) + tf.gradients(odd(x * 2.), x) + tf.gradients(sine(x), x)

        for value, slope in ((3., 6.), (-3., -1.)):
            self.assertEqual(floats(f(tf.constant(value))), [slope, 200., float(tf.cos(value))])

    def test_what_was_random_has_the_same_values(self):
        @tf.function
        def f(x):
            y = tf.nn.dropout(x, rate=.5)
            return y, tf.gradients(y * y, x)[0]

        for _ in range(3):
            y, slope = f(tf.ones([40]))
            self.assertEqual(slope.numpy().tolist(), (y * 4.).numpy().tolist())
        self.assertGreater(np.count_nonzero(y), 0)
        self.assertLess(np.count_nonzero(y), 40)

    def test_tapes_around_and_inside(self):
        def cube_slope(x):
            return tf.gradients(x * x * x, x)[0]

        @tf.function
        def inside(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                slope = cube_slope(x)
            return slope, tape.gradient(slope, x)

        @tf.function
        def of_tape(x, count):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in tf.range(count):
                    y = y * x
            slope = tape.gradient(y, x)
            return slope, tf.gradients(slope, x)[0]

        x = tf.constant(2.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            slope = tf.function(cube_slope)(x)
        self.assertEqual(floats([slope, tape.gradient(slope, x)]), [12., 12.])
        self.assertEqual(floats(inside(x)), [12., 12.])
        self.assertEqual(floats(of_tape(x, tf.constant(3))), [32., 48.])

    def test_rows_of_a_variable(self):
        variable = tf.Variable(tf.ones([4, 2]))
        found, = tf.function(lambda rows: tf.gradients(tf.gather(variable, rows) * 3., variable))(tf.constant([1, 1]))
        self.assertEqual(tf.convert_to_tensor(found).numpy().tolist(), [[0., 0.], [6., 6.], [0., 0.], [0., 0.]])

    def test_a_penalty_on_a_gradient_trains_a_layer(self):
        dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
        dense.build([2, 3])

        def penalty(x):
            slope, = tf.gradients(tf.square(dense(x)), x)
            return tf.gradients(tf.reduce_sum(slope * slope), dense.kernel)[0]

        def by_tapes(x):
            with tf.GradientTape() as outer:
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = tf.square(dense(x))
                slope = inner.gradient(y, x)
                total = tf.reduce_sum(slope * slope)
            return outer.gradient(total, dense.kernel)

        x = tf.constant([[1., 2., 3.], [4., 5., 6.]])
        self.assertEqual(tf.function(penalty)(x).numpy().tolist(), by_tapes(x).numpy().tolist())

    def test_what_is_not_connected(self):
        @tf.function
        def f(x, count):
            return (tf.gradients(tf.constant(2.), x), tf.gradients(tf.constant(2.), [x], unconnected_gradients="zero"),
                    tf.gradients(count * 2, count), tf.gradients(tf.stop_gradient(x) * 2., x))

        self.assertEqual([floats(each) for each in f(tf.constant(3.), tf.constant(3))], [[None], [0.], [None], [None]])

    def test_in_a_loop_s_body(self):
        variable = tf.Variable(5.)

        @tf.function
        def f(x, count):
            weight, square = variable.read_value(), x * x
            total = tf.zeros([3])
            for _ in tf.range(count):
                total += [tf.gradients(x * x * x, x)[0], tf.gradients(weight * weight * x, variable)[0],
                          tf.gradients(square * x, x, stop_gradients=square)[0]]
            return total

        self.assertEqual(f(tf.constant(2.), tf.constant(2)).numpy().tolist(), [24., 40., 8.])

    def test_refusals(self):
        variable = tf.Variable(2.)
        with self.assertRaisesRegex(RuntimeError, "not supported when eager execution is enabled. Use tf.GradientTape"):
            tf.gradients(tf.constant(1.), tf.constant(1.))
        with self.assertRaisesRegex(ValueError, "2 grad_ys for 1 ys"):
            tf.function(lambda x: tf.gradients(x, x, grad_ys=[x, x]))(tf.constant(1.))

        @tf.function
        def assigns(x):
            for _ in tf.range(3):
                variable.assign_add(1.)
                x = x * variable
            return tf.gradients(x, variable)

        @tf.function
        def of_outside(x):
            y = x * x
            return tf.cond(x > 0., lambda: tf.gradients(y, x)[0], lambda: x)

        @tf.function
        def through_outside(x, of_variable):
            y = x * variable
            total = 0.
            for _ in tf.range(3):
                total += tf.gradients(y * 2., variable if of_variable else x)[0]
            return total

        outside = through_outside.python_function.__code__.co_firstlineno + 2
        for of_variable in (False, True):
            with self.assertRaisesRegex(tf.errors.UnimplementedError, f"xs through what line {outside} computes in the function around"):
                through_outside(tf.constant(1.), of_variable)
        line = assigns.python_function.__code__.co_firstlineno + 2
        with self.assertRaisesRegex(tf.errors.UnimplementedError, f"the loop at line {line} assigns to a variable"):
            assigns(tf.constant(1.))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "belongs to the function around this one"):
            of_outside(tf.constant(1.))
        self.assertEqual(variable.numpy(), 2.)


if __name__ == "__main__":
    unittest.main()
