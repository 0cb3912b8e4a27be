"""When tf.function traces, what belongs to a signature, and what comes in and out."""
import collections
import copy
import gc
import pickle
import unittest
import weakref

import numpy as np

import tapedeck as tf
from graph_mode import GraphCase

Pair = collections.namedtuple("Pair", "first second")


@tf.function
def doubled(x):
    return x * 2.


class Defaults(unittest.TestCase):
    def test_functions_are_traced_until_they_shall_run_eagerly(self):
        self.assertFalse(tf.config.functions_run_eagerly())
        calls = []
        called = tf.function(lambda x: calls.append(tf.executing_eagerly()) or x)
        for value in (1., 2.):
            called(tf.constant(value))
        self.assertEqual((calls, called.experimental_get_tracing_count()), ([False], 1))
        tf.config.run_functions_eagerly(True)
        self.addCleanup(tf.config.run_functions_eagerly, False)
        self.assertTrue(tf.config.functions_run_eagerly())
        for value in (1., 2.):
            called(tf.constant(value))
        self.assertEqual((calls, called.experimental_get_tracing_count()), ([False, True, True], 1))

    def test_a_concrete_function_is_a_graph_anyway(self):
        calls = []

        @tf.function
        def square(x):
            calls.append(tf.executing_eagerly())
            return x * x

        concrete = square.get_concrete_function(tf.TensorSpec([2], tf.float32))
        self.assertEqual(concrete(tf.constant([2., 3.])).numpy().tolist(), [4., 9.])
        self.assertEqual(calls, [False])


class Signatures(GraphCase):
    def count(self, calls, **options):
        """How often a function is traced that is called with these arguments, (args, kwargs) each."""
        made = tf.function(lambda *args, **kwargs: tf.constant(0), **options)
        for args, kwargs in calls:
            made(*args, **kwargs)
        return made.experimental_get_tracing_count()

    def test_tensors_count_by_dtype_and_shape(self):
        of_one = [tf.constant(1.), tf.constant(2.), np.float32(3.), np.array(4., np.float32)]
        self.assertEqual(self.count([((x,), {}) for x in of_one]), 1)
        self.assertEqual(self.count([((x,), {}) for x in (*of_one, tf.constant(1), tf.constant([1.]), tf.constant([1., 2.]))]), 4)

    def test_python_values_count_by_type_and_value(self):
        values = [1, 1, 1., True, "1", b"1", None, 0., -0., float("nan"), float("nan"), 1j, tf.float32, (1, 2), [1, 2], (1, 2), {"a": 1},
                  {"a": 2}, {"b": 1}, Pair(1, 2), range(3), range(3), slice(1, 2), ...]
        self.assertEqual(self.count([((x,), {}) for x in values]), 20)

    def test_objects_count_by_identity_and_are_not_kept(self):
        class Thing:
            pass

        one, other = Thing(), Thing()
        made = tf.function(lambda thing: tf.constant(1))
        for each in (one, other, one, other):
            made(each)
        self.assertEqual(made.experimental_get_tracing_count(), 2)
        gone = weakref.ref(one)
        del one, each
        gc.collect()
        self.assertIsNone(gone())
        made(Thing())
        self.assertEqual(made.experimental_get_tracing_count(), 3)

    def test_arguments_are_bound_as_python_binds_them(self):
        traces = []

        @tf.function
        def f(x, k=2, *, flag=False):
            traces.append((k, flag))
            return x * k

        x = tf.constant(3.)
        for found in (f(x), f(x, 2), f(x=x), f(k=2, x=x), f(x, flag=False)):
            self.assertEqual(float(found), 6.)
        self.assertEqual(traces, [(2, False)])
        f(x, 3, flag=True)
        self.assertEqual(traces, [(2, False), (3, True)])
        with self.assertRaisesRegex(TypeError, r"f\(\) missing a required argument: 'x'"):
            f()
        with self.assertRaisesRegex(TypeError, r"f\(\) got an unexpected keyword argument 'y'"):
            f(x, y=1)

    def test_input_signature(self):
        shapes = []

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
        def rows(x):
            shapes.append(x.shape.as_list())
            return tf.reduce_sum(x, axis=1)

        for count in (1, 3, 3):
            self.assertEqual(rows(np.ones([count, 2])).numpy().tolist(), [2.] * count)
        self.assertEqual(shapes, [[None, 2]])
        with self.assertRaisesRegex(TypeError, "rows: input_signature wants TensorSpec"):
            rows(tf.ones([3, 4]))
        concrete = rows.get_concrete_function()
        self.assertEqual(tuple(concrete(tf.ones([4, 2])).shape), (4,))
        self.assertIn("rows(x: float32 (None, 2))", concrete.graph.text)
        self.assertEqual(rows.input_signature, (tf.TensorSpec([None, 2], tf.float32),))

    def test_methods_have_traces_of_their_own_and_keep_no_object(self):
        traces = []

        class Scale:
            def __init__(self, factor):
                self.factor = tf.Variable(factor)

            @tf.function
            def __call__(self, x):
                traces.append(self)
                return x * self.factor

        one, other = Scale(2.), Scale(3.)
        for _ in range(2):
            self.assertEqual((float(one(tf.constant(1.))), float(other(tf.constant(1.)))), (2., 3.))
        self.assertEqual(len(traces), 2)
        self.assertEqual(one.__call__, one.__call__)
        self.assertNotEqual(one.__call__, other.__call__)
        concrete = one.__call__.get_concrete_function(tf.constant(1.))
        self.assertEqual(float(Scale(5.).__call__(tf.constant(1.))), 5.)
        gone = weakref.ref(one)
        traces.clear()
        del one
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual(float(concrete(tf.constant(4.))), 8.)

    def test_copies_and_pickles_are_the_function(self):
        self.assertIs(copy.deepcopy(doubled), doubled)
        self.assertIs(pickle.loads(pickle.dumps(doubled)), doubled)


class Results(GraphCase):
    def test_results_have_the_form_that_the_function_returns(self):
        variable = tf.Variable(3.)

        @tf.function
        def f(x):
            return {"a": [x, (variable, 7)], "b": Pair(None, 2.5), "c": "text", "d": np.array([1, 2]), "e": []}

        for value in (1., 2.):
            found = f(tf.constant(value))
            variable.assign_add(1.)
            self.assertEqual((float(found["a"][0]), float(found["a"][1][0]), int(found["a"][1][1])), (value, 2. + value, 7))
            self.assertEqual((type(found["b"]), found["b"].first, float(found["b"].second)), (Pair, None, 2.5))
            self.assertEqual((found["c"].numpy(), found["d"].numpy().tolist(), found["e"]), (b"text", [1, 2], []))
            for leaf in tf.nest.flatten(found):
                self.assertIn(type(leaf), (tf.Tensor, type(None)))
        self.assertIsNone(tf.function(lambda: None)())

    def test_other_objects_are_refused(self):
        with self.assertRaisesRegex(TypeError, "Python functions must return zero or more Tensors .*found return value of type object"):
            tf.function(lambda: [object()])()

    def test_indexed_slices_come_in_and_out(self):
        @tf.function
        def f(slices):
            return tf.IndexedSlices(slices.values * 2., slices.indices)

        found = f(tf.IndexedSlices(tf.constant([1., 2.]), tf.constant([0, 3])))
        self.assertEqual((found.values.numpy().tolist(), found.indices.numpy().tolist()), ([2., 4.], [0, 3]))

    def test_concrete_functions_say_what_they_are(self):
        weight = tf.Variable(2., name="weight")
        outside = tf.constant([3.])

        @tf.function
        def f(x, power, scale=1.):
            return {"y": x * weight * outside * scale, "n": power}

        concrete = f.get_concrete_function(tf.TensorSpec([1], tf.float32), 2)
        self.assertEqual(concrete(tf.constant([5.]))["y"].numpy().tolist(), [30.])
        self.assertEqual(concrete(x=tf.constant([5.]))["n"].numpy(), 2)
        self.assertEqual([each.name for each in concrete.variables], ["weight:0"])
        self.assertIs(concrete.captured_inputs[1], weight)
        self.assertEqual(concrete.captured_inputs[0].numpy().tolist(), [3.])
        self.assertEqual(concrete.structured_input_signature, ((tf.TensorSpec([1], tf.float32, "x"), 2, 1.), {}))
        self.assertEqual(concrete.structured_outputs["y"], tf.TensorSpec([1], tf.float32))
        self.assertIn("x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(1,)", f.pretty_printed_concrete_signatures())
        self.assertIn("power (POSITIONAL_OR_KEYWORD): Literal[2]", f.pretty_printed_concrete_signatures())
        with self.assertRaisesRegex(TypeError, "the argument 'x' is missing"):
            concrete()
        with self.assertRaisesRegex(TypeError, "unexpected argument 'z'"):
            concrete(tf.constant([1.]), z=1)
        with self.assertRaisesRegex(ValueError, "x is float32 \\(2,\\); it was traced for float32 \\(1,\\)"):
            concrete(tf.constant([1., 2.]))
        kinds = [node["kind"] for node in concrete.graph.nodes]
        self.assertEqual((kinds.count("read"), kinds.count("constant") > 0), (1, True))
        lines = {node["line"] for node in concrete.graph.nodes if node["op"] == "multiply"}
        self.assertEqual(lines, {f.python_function.__code__.co_firstlineno + 2})


class State(GraphCase):
    def test_variables_are_captured_by_reference_and_tensors_by_value(self):
        variable, tensor = tf.Variable(1.), tf.constant(10.)
        read = tf.function(lambda: variable + tensor)
        found = [float(read())]
        variable.assign(2.)
        tensor = tf.constant(20.)
        found.append(float(read()))
        self.assertEqual(found, [11., 12.])

    def test_assignments_happen_at_each_call_in_the_programs_order(self):
        variable = tf.Variable(1.)

        @tf.function
        def step(x):
            before = variable.read_value()
            variable.assign_add(x)
            middle = variable * 1.
            variable.assign(variable * 2.)
            return before, middle, variable

        self.assertEqual([float(each) for each in step(tf.constant(3.))], [1., 4., 8.])
        self.assertEqual([float(each) for each in step(tf.constant(1.))], [8., 9., 18.])
        self.assertEqual(variable.numpy(), 18.)

    def test_variables_are_made_in_the_first_call_alone(self):
        made = []

        @tf.function
        def f(x):
            if not made:
                made.append(tf.Variable(tf.ones([2]) * 3.))
                made.append(tf.Variable(lambda: tf.zeros([2])))
            made[1].assign_add(x)
            return made[0] * x + made[1]

        for total in (1., 2.):
            self.assertEqual(f(tf.constant([1., 1.])).numpy().tolist(), [3. + total] * 2)
        self.assertEqual((len(made), made[0].numpy().tolist(), made[1].numpy().tolist()), (2, [3., 3.], [2., 2.]))
        self.assertEqual(f.experimental_get_tracing_count(), 2)

        @tf.function
        def bad():
            return tf.Variable(1.)

        for _ in range(2):
            with self.assertRaisesRegex(ValueError, r"only supports singleton tf.Variables created on the first call.*\(line \d+\)"):
                bad()
        with self.assertRaisesRegex(ValueError, "depends on an argument of the function"):
            tf.function(lambda x: tf.Variable(x * 2.)).get_concrete_function(tf.TensorSpec([]))
        self.assertFalse(tf.executing_eagerly() is False)

    def test_a_variable_as_an_argument_is_itself(self):
        variable, other = tf.Variable(1.), tf.Variable(5.)
        raised = tf.function(lambda v: v.assign_add(1.))
        self.assertEqual([float(raised(each)) for each in (variable, variable, other)], [2., 3., 6.])
        self.assertEqual(raised.experimental_get_tracing_count(), 2)

    def test_an_error_ends_the_trace(self):
        class Odd(Exception):
            pass

        odd = Odd("as it was")
        attempts = []

        @tf.function
        def f(x):
            attempts.append(x)
            if len(attempts) == 1:
                raise odd
            return x + 1.

        with self.assertRaises(Odd) as caught:
            f(tf.constant(1.))
        self.assertIs(caught.exception, odd)
        self.assertTrue(tf.executing_eagerly())
        self.assertEqual(float(tf.constant(1.) + 1.), 2.)
        self.assertEqual(float(f(tf.constant(1.))), 2.)
        with self.assertRaisesRegex(ValueError, "belongs to the trace of a graph function, which has ended"):
            attempts[0] + 1.

    def test_init_scope_runs_at_once(self):
        seen = []

        @tf.function
        def f(x):
            with tf.init_scope():
                seen.append(float(tf.constant(2.) * 3.))
            return x

        f(tf.constant(1.))
        self.assertEqual(seen, [6.])

    def test_python_reads_no_data_set_while_a_function_is_traced(self):
        data = tf.data.Dataset.range(3)
        iterator = iter(data)
        for read in (lambda: list(data), lambda: [x + 1 for x in data], lambda: list(iterator), lambda: tf.data.Iterator(data)):
            with self.assertRaisesRegex(tf.errors.UnimplementedError, "data set: its elements are known only when the graph runs"):
                tf.function(read)()
        self.assertEqual(int(next(iterator)), 0)

    def test_random_ops_draw_at_each_call(self):
        draw = tf.function(lambda: tf.random.normal([2]))
        tf.random.set_seed(5)
        eager = [tf.random.normal([2]).numpy().tolist() for _ in range(3)]
        tf.random.set_seed(5)
        self.assertEqual([draw().numpy().tolist() for _ in range(3)], eager)


if __name__ == "__main__":
    unittest.main()
