"""if, while and for of tensors in a tf.function are branches and loops of its graph."""
import unittest

import numpy as np

import tapedeck as tf
from collatz import collatz
from graph_mode import GraphCase


class Converted(GraphCase):
    def assertFollows(self, f, *calls):
        """One trace gives what the function gives for each call's arguments, and its gradients."""
        made = tf.function(f)
        for arguments in calls:
            arguments = [tf.constant(value) for value in arguments]
            self.assertSame(f(*arguments), made(*arguments))
        self.assertEqual(made.experimental_get_tracing_count(), 1)
        return made

    def test_collatz(self):
        made = self.assertFollows(collatz, (12,), (27,), (1,))
        self.assertEqual(int(made(tf.constant(97))), 118)

    def test_loops_with_exits(self):
        def f(x, n):
            total = tf.zeros_like(x)
            for i in tf.range(n):
                if i % 2 == 0:
                    continue
                if total[0] > 50.:
                    break
                total += x * tf.cast(i, tf.float32)
            return total

        made = self.assertFollows(f, ([1., 2.], 0), ([1., 2.], 9), ([3., -1.], 99))
        x, n = tf.constant([1., 2.]), tf.constant(9)
        found = []
        for function in (f, made):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(function(x, n)**2)
            found.append(tape.gradient(y, x))
        self.assertSame(*found)

    def test_rows_of_a_tensor(self):
        def f(rows):
            best, total = tf.constant(-1.), tf.constant(0.)
            for row in rows:
                if tf.reduce_sum(row) > best:
                    best = tf.reduce_sum(row)
                total += row[0]
            return best, total

        self.assertFollows(f, (np.float32([[1, 2], [5, -1], [0, 3]]),), (np.float32([[-1, -2], [-5, -1], [0, -3]]),))

    def test_functions_that_are_called(self):
        def relu(x):
            if tf.reduce_max(x) > 0.:
                return x
            return x * 0.1

        class Model:
            def __init__(self):
                self.w = tf.Variable(2.)

            def step(self, x):
                y = relu(x * self.w)
                while tf.reduce_sum(y) > 10.:
                    y = y / 2.
                    self.w.assign_sub(0.25)
                return y

        models = Model(), Model()
        made = tf.function(models[1].step)
        for value in ([1., 2.], [-1., -2.], [30., 30.]):
            self.assertSame(models[0].step(tf.constant(value)), made(tf.constant(value)))
            self.assertSame(tf.convert_to_tensor(models[0].w), tf.convert_to_tensor(models[1].w))

    def test_without_conversion_python_asks_for_a_value(self):
        def f(x):
            return 1. if x > 0. else 2.

        with self.assertRaisesRegex(tf.errors.OperatorNotAllowedInGraphError, r"bool\(\) needs a value"):
            tf.function(f, autograph=False)(tf.constant(1.))
        self.assertEqual(float(tf.function(f)(tf.constant(-1.))), 2.)


if __name__ == "__main__":
    unittest.main()
