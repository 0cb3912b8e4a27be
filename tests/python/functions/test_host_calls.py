"""Python that a graph calls when it runs: py_function and numpy_function, generators, the time; and that graphs keep no function alive."""
import contextlib
import copy
import gc
import io
import os
import pickle
import tempfile
import unittest
import weakref

import numpy as np

import tapedeck as tf
from tapedeck import tfe
from graph_mode import GraphCase, graphs


class PythonFunctions(GraphCase):
    def test_each_run_calls_the_function(self):
        calls = []

        def halved(x):
            calls.append(x.numpy().tolist())
            return x.numpy() / 2

        made = self.assertAsEager(lambda x: tf.py_function(halved, [x + 1], tf.float32), tf.constant([1., 3.]))
        self.assertEqual(calls, [[2., 4.]] * 4)
        text = made.get_concrete_function(tf.constant([1., 3.])).graph.text
        self.assertIn("= call py_function(halved)(", text)

    def test_all_names_of_it(self):
        x = tf.constant([1., 2.])
        for call in (tf.py_function, tfe.py_func, tf.contrib.eager.py_func):
            made = tf.function(lambda x: call(lambda a: a.numpy() + 1, [x], tf.float32))
            self.assertEqual(made(x).numpy().tolist(), [2., 3.])
        for call in (tf.numpy_function, tf.compat.v1.py_func):
            made = tf.function(lambda x: call(lambda a: np.flip(a), [x], tf.float32))
            self.assertEqual(made(x).numpy().tolist(), [2., 1.])

    def test_as_decorators(self):
        @tf.py_function(Tout=tf.float32)
        def doubled(x):
            return x.numpy() * 2

        @tf.numpy_function(Tout=tf.int64)
        def order(x):
            return np.argsort(x)

        made = tf.function(lambda x: (doubled(x), order(x)))
        values, places = made(tf.constant([3., 1.]))
        self.assertEqual((values.numpy().tolist(), places.numpy().tolist()), ([6., 2.], [1, 0]))

    def test_lists_of_results_and_none(self):
        seen = []
        x = tf.constant([1., 2.])
        self.assertAsEager(lambda x: tf.py_function(lambda a: (a + 1, tf.size(a)), [x], [tf.float32, tf.int32]), x)
        self.assertAsEager(lambda x: tf.numpy_function(lambda a: a.sum(), [x], [tf.float32]), x)
        self.assertAsEager(lambda x: tf.py_function(lambda a: b"text", [x], tf.string), x)
        made = tf.function(lambda x: (tf.py_function(lambda a: seen.append(a.numpy().tolist()), [x], None), x)[1])
        made(x)
        made(x + 1)
        self.assertEqual(seen, [[1., 2.], [2., 3.]])

    def test_shapes_are_known_when_it_runs(self):
        shapes = []

        @tf.function
        def repeated(x, n):
            found = tf.numpy_function(lambda a, n: np.repeat(a, n), [x, n], tf.float32)
            shapes.append(found.shape.rank)
            return tf.reduce_sum(found), tf.shape(found)

        for n in (0, 1, 3):
            total, shape = repeated(tf.constant([1., 2.]), tf.constant(n))
            self.assertEqual((float(total), shape.numpy().tolist()), (3. * n, [2 * n]))
        self.assertEqual(shapes, [None])

        @tf.function
        def declared(x):
            found = tf.numpy_function(lambda a: a[:2], [x], tf.float32)
            found.set_shape([2])
            return found * tf.ones([2])

        self.assertEqual(declared(tf.constant([1., 2., 3.])).numpy().tolist(), [1., 2.])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"\(2,\)"):
            declared(tf.constant([1.]))

    def test_results_of_another_dtype_name_function_and_line(self):
        @tf.function
        def wrong(x):
            return tf.py_function(named, [x], tf.int32)

        def named(x):
            return "text"

        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"py_function\(named\): the result of func cannot be converted to int32"
                                    ) as caught:
            wrong(tf.constant(1.))
        line = wrong.python_function.__code__.co_firstlineno + 2
        self.assertRegex(caught.exception.__notes__[-1], f"In the graph of wrong: .*, line {line}")
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "func returned 1 values; Tout has 2"):
            tf.function(lambda x: tf.py_function(lambda a: [a], [x], [tf.float32, tf.float32]))(tf.constant(1.))

    def test_what_the_function_raises(self):
        for raised, kind in ((ValueError, tf.errors.InvalidArgumentError), (KeyError, tf.errors.UnknownError),
                             (NotImplementedError, tf.errors.UnimplementedError)):
            def failing(x):
                raise raised("no")

            with self.assertRaises(kind) as caught:
                tf.function(lambda x: tf.py_function(failing, [x], tf.float32))(tf.constant(1.))
            self.assertIsInstance(caught.exception.__cause__, raised)

    def test_in_branches_and_loops(self):
        calls = []

        def counted(x):
            calls.append(float(x))
            return x * 2

        def doubling(x, n):
            for _ in tf.range(n):
                if x < 20.:
                    x = tf.py_function(counted, [x], tf.float32)
                    x.set_shape([])
            return x

        made = tf.function(doubling)
        self.assertEqual(float(made(tf.constant(3.), tf.constant(10))), 24.)
        self.assertEqual(calls, [3., 6., 12.])

    def test_functions_in_functions(self):
        calls = []
        inner = tf.function(lambda x: tf.py_function(lambda a: calls.append(1) or a * 3, [x], tf.float32))
        outer = tf.function(lambda x: inner(x) + inner(x + 1))
        self.assertEqual(float(outer(tf.constant(1.))), 9.)
        self.assertEqual(len(calls), 2)


class Gradients(GraphCase):
    def gradients(self, function, x, order):
        """Of the sum of function(x), in graph mode outside, inside and eagerly."""
        def derivative(x, left):
            if left == 0:
                return tf.reduce_sum(function(x))
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = derivative(x, left - 1)
            return tf.reduce_sum(tape.gradient(y, x)) if left < order else tape.gradient(y, x)

        eager = derivative(x, order)
        inside = tf.function(lambda x: derivative(x, order))(x)
        np.testing.assert_allclose(inside, eager, 1e-6)
        traced = tf.function(function)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(traced(x)) if order == 1 else derivative_of(traced, x)
        outside = tape.gradient(y, x)
        if order <= 2:
            np.testing.assert_allclose(outside, eager, 1e-6)
        return eager

    def test_py_function_has_those_of_its_ops(self):
        x = tf.constant([1., 2.])
        for order, expected in ((1, [3., 12.]), (2, [6., 12.]), (3, [6., 6.])):
            found = self.gradients(lambda x: tf.py_function(lambda a: a * a * a, [x], tf.float32), x, order)
            self.assertEqual(found.numpy().tolist(), expected)

    def test_of_variables_in_it(self):
        v = tf.Variable(3.)

        # As in TensorFlow, gradients flow to what is in inp, not to what the function finds itself.
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = tf.function(lambda x, w: tf.py_function(lambda a, b: a * b * b, [x, w], tf.float32))(tf.constant(2.), v)
        self.assertEqual(float(tape.gradient(y, v)), 12.)

    def test_numpy_function_has_none(self):
        def through(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.numpy_function(lambda a: a * 2, [x], tf.float32)
            return tape.gradient(y, x)

        x = tf.constant([1.])
        self.assertIsNone(through(x))
        self.assertIsNone(tf.function(through)(x))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.function(lambda x: tf.numpy_function(lambda a: a * 2, [x], tf.float32))(x)
        self.assertIsNone(tape.gradient(y, x))


def derivative_of(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(function(x))
    return tf.reduce_sum(tape.gradient(y, x))


class Generators(GraphCase):
    def test_each_run_draws_on(self):
        def drawn(generator):
            return (generator.normal([3]), generator.uniform([2, 2], 1., 2.), generator.uniform_full_int([2]),
                    generator.binomial([2], 5., 0.5), generator.truncated_normal([2]), generator.make_seeds(2))

        eager, traced = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
        made = tf.function(lambda: drawn(traced))
        for _ in range(3):
            self.assertSame(drawn(eager), made())
        self.assertEqual(eager.state.numpy().tolist(), traced.state.numpy().tolist())
        self.assertEqual(made.experimental_get_tracing_count(), 1)

    def test_arguments_and_gradients(self):
        generator = tf.random.Generator.from_seed(3)
        expected = tf.random.Generator.from_seed(3).normal([2, 3])

        @tf.function
        def scaled(n, mean):
            with tf.GradientTape() as tape:
                tape.watch(mean)
                values = generator.normal([n, 3], mean)
            return values, tape.gradient(values, mean)

        values, gradient = scaled(tf.constant(2), tf.constant(10.))
        np.testing.assert_array_equal(values, expected + 10.)
        self.assertEqual(float(gradient), 6.)

    def test_state(self):
        generator = tf.random.Generator.from_seed(5)

        @tf.function
        def again(delta):
            before = generator.state
            first = generator.uniform([2])
            generator.reset(before)
            second = generator.uniform([2])
            generator.skip(delta)
            return first, second, before, generator.state

        first, second, before, after = again(tf.constant(10))
        self.assertSame(first, second)
        self.assertEqual(int(after[1] - before[1]), 3 + 10)
        self.assertEqual(generator.state.numpy().tolist(), after.numpy().tolist())
        reset = tf.function(lambda seed: (generator.reset_from_seed(seed), generator.uniform([2]))[1])
        self.assertSame(reset(tf.constant(7)), tf.random.Generator.from_seed(7).uniform([2]))

    def test_creation(self):
        with self.assertRaisesRegex(tf.errors.UnimplementedError, "from_non_deterministic_state in a function that is traced"):
            tf.function(lambda: tf.random.Generator.from_non_deterministic_state().normal([1]))()
        with self.assertRaisesRegex(ValueError, "only supports singleton"):
            tf.function(lambda: tf.random.Generator.from_seed(1).normal([1]))()

        kept = []

        @tf.function
        def once():
            if not kept:
                kept.append(tf.random.Generator.from_seed(2))
            return kept[0].normal([2])

        other = tf.random.Generator.from_seed(2)
        for _ in range(2):
            self.assertSame(once(), other.normal([2]))


class Others(GraphCase):
    def test_timestamp(self):
        now = tf.function(lambda: tf.timestamp())
        first, second = now(), now()
        self.assertEqual((first.dtype, first.shape.rank), (tf.float64, 0))
        self.assertLess(1.6e9, float(first))
        self.assertLessEqual(float(first), float(second))
        self.assertEqual(tf.timestamp().dtype, tf.float64)

    def test_print_to_streams(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log.txt")

            @tf.function
            def told(x):
                tf.print("x:", x, output_stream="file://" + path)
                return x

            told(tf.constant(1))
            told(tf.constant(2))
            with open(path) as file:
                self.assertEqual(file.read(), "x: 1\nx: 2\n")
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            tf.function(lambda x: tf.print("y:", x))(tf.constant(3))
            for _ in range(2):
                tf.function(lambda x: tf.compat.v1.Print(x, [x], "z: "))(tf.constant(4))
        self.assertEqual(out.getvalue(), "y: 3\nz: [4]\nz: [4]\n")

    def test_assert(self):
        @tf.function
        def checked(x):
            tf.debugging.Assert(x > 0, ["x is", x])
            return x * 2

        self.assertEqual(int(checked(tf.constant(2))), 4)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "x is"):
            checked(tf.constant(-1))


class Lifetime(unittest.TestCase):
    """Functions whose graphs call Python functions that refer to them."""

    class Model:
        def __init__(self, call):
            self.call, self.weight = tf.function(lambda x: call(self, x)), tf.Variable([2.])

    def assertCollected(self, call, x=tf.constant([1.])):
        with graphs(), contextlib.redirect_stderr(io.StringIO()):
            model = self.Model(call)
            model.call(x)
            gone = [weakref.ref(model), weakref.ref(model.call), weakref.ref(model.weight)]
            model.call(x)
            del model
            gc.collect()
        self.assertEqual([each() for each in gone], [None] * 3)

    def test_functions_that_print(self):
        self.assertCollected(lambda model, x: tf.print("weight", model.weight) or x)

    def test_functions_with_python_functions(self):
        self.assertCollected(lambda model, x: tf.py_function(lambda a: a * model.weight, [x], tf.float32))
        self.assertCollected(lambda model, x: tf.numpy_function(lambda a: a * model.weight.numpy(), [x], tf.float32))

    def test_functions_with_checks_in_branches_and_loops(self):
        def call(model, x):
            for _ in tf.range(2):
                tf.cond(x[0] > 0., lambda: tf.print("positive", model.weight), lambda: tf.print("negative"))
            tf.debugging.Assert(x[0] > 0., [model.weight])
            return x

        self.assertCollected(call)

    def test_functions_with_data_sets(self):
        def call(model, x):
            for value in tf.data.Dataset.range(3).map(lambda i: tf.cast(i, tf.float32) * model.weight[0]):
                x += value
            return x

        self.assertCollected(call)

    def test_functions_of_functions(self):
        def call(model, x):
            inner = tf.function(lambda y: tf.py_function(lambda a: a * model.weight, [y], tf.float32))
            return inner(x)

        self.assertCollected(call)

    def test_a_function_outlives_one_that_it_called(self):
        calls = []
        with graphs():
            inner = tf.function(lambda x: tf.py_function(lambda a: calls.append(1) or a * 2, [x], tf.float32))
            outer = tf.function(lambda x: inner(x) + 1)
            outer(tf.constant(1.))
            gone = weakref.ref(inner)
            concrete = outer.get_concrete_function(tf.constant(1.))
            outer = inner = None
            gc.collect()
            self.assertIsNone(gone())
            self.assertEqual(float(concrete(tf.constant(3.))), 7.)
        self.assertEqual(len(calls), 2)

    def test_a_tape_outlives_the_function(self):
        seen = []

        @tf.custom_gradient
        def watched(x):
            def gradient(d):
                tf.py_function(lambda a: seen.append(float(a)), [d], None)
                return d * 5.

            return x * 2., gradient

        with graphs():
            made = tf.function(watched)
            x = tf.constant(1.)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = made(x)
            gone = weakref.ref(made)
            del made
            gc.collect()
            self.assertIsNone(gone())
            self.assertEqual(float(tape.gradient(y, x)), 5.)
        self.assertEqual(seen, [1.])


class Freed(GraphCase):
    def test_an_object_goes_with_what_its_methods_graphs_call(self):
        class Scaled:
            def __init__(self):
                self.scale = 2.

            @tf.function
            def by_lambda(self, x):
                return tf.py_function(lambda value: value * self.scale, [x], tf.float32)

            @tf.function
            def by_method(self, x):
                if x > 0.:
                    x = tf.py_function(self.scaled, [x], tf.float32)
                return x

            def scaled(self, value):
                return value * self.scale

        for name in ("by_lambda", "by_method"):
            one, other = Scaled(), Scaled()
            other.scale = 3.
            copied = copy.copy(one)
            copied.scale = 4.
            self.assertEqual([float(getattr(each, name)(tf.constant(3.))) for each in (one, other, copied, one)], [6., 9., 12., 6.])
            gone = [weakref.ref(each) for each in (one, other, copied)]
            del one, other, copied
            gc.collect()
            self.assertEqual([each() for each in gone], [None] * 3)

    def test_an_object_whose_methods_are_functions_can_be_pickled(self):
        one = PickledScale()
        self.assertEqual(float(one.scaled(tf.constant(3.))), 6.)
        other = pickle.loads(pickle.dumps(one))
        other.scale = 5.
        self.assertEqual((float(other.scaled(tf.constant(3.))), float(one.scaled(tf.constant(3.)))), (15., 6.))


class PickledScale:
    def __init__(self):
        self.scale = 2.

    @tf.function
    def scaled(self, x):
        return x * self.scale


if __name__ == "__main__":
    unittest.main()
