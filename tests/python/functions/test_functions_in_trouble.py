"""What functions do with sources that are not there or not theirs, and with what they should not do."""
import importlib
import linecache
import os
import sys
import tempfile
import textwrap
import traceback
import unittest

import tapedeck as tf
from graph_mode import GraphCase

SIGNS = "def f(x):\n    if x > 0.:\n        return x\n    return -x\n"


class Tracebacks(GraphCase):
    def frames(self):
        """The files of the frames, this test's as "here"."""
        @tf.function
        def inner(x):
            for _ in tf.range(3):
                x = tf.reshape(x, [7, 2])
            return x

        @tf.function
        def outer(x):
            return inner(x)

        try:
            outer(tf.ones([3]))
        except tf.errors.InvalidArgumentError as error:
            return ["here" if frame.filename == __file__ else "package" for frame in traceback.extract_tb(error.__traceback__)]
        self.fail("it runs")

    def test_errors_while_tracing_show_the_users_frames(self):
        self.assertTrue(tf.debugging.is_traceback_filtering_enabled())
        found = self.frames()
        self.assertEqual((found.count("package"), found[-1]), (1, "here"))  # the call of the function
        self.assertGreaterEqual(found.count("here"), 3)

    def test_all_frames_are_there_where_that_is_wanted(self):
        tf.debugging.disable_traceback_filtering()
        self.addCleanup(tf.debugging.enable_traceback_filtering)
        self.assertGreater(self.frames().count("package"), 5)


class BeyondGraphs(GraphCase):
    """What reads values in Python inside the package runs eagerly."""

    def test_a_function_that_calls_it_runs_as_it_is(self):
        calls = []

        @tf.function
        def shared(x):
            calls.append(1)
            return tf.experimental.dlpack.from_dlpack(x) * 2

        with self.assertLogs("tensorflow", "WARNING") as logged:
            first = shared(tf.constant([1, 2, 2]))
        self.assertRegex("\n".join(logged.output), "shared runs eagerly.*DLPack needs a value")
        self.assertEqual(first.numpy().tolist(), [2, 4, 4])
        before = len(calls)
        self.assertEqual(shared(tf.constant([0, 0, 3])).numpy().tolist(), [0, 0, 6])
        self.assertEqual(len(calls), before + 1)

    def test_a_function_of_a_data_set_does(self):
        numbers = tf.data.Dataset.range(5).batch(2)
        with self.assertLogs("tensorflow", "WARNING") as logged:
            doubled = numbers.map(lambda x: tf.experimental.dlpack.from_dlpack(x) * 2)
        self.assertRegex("\n".join(logged.output), "the function of map runs eagerly")
        self.assertEqual([x.numpy().tolist() for x in doubled], [[0, 2], [4, 6], [8]])

    def test_augmentation_in_a_function_of_a_data_set_does_not(self):
        layer = tf.keras.layers.RandomRotation(0.1)
        images = tf.data.Dataset.from_tensor_slices(tf.ones([5, 4, 4, 1])).batch(2)
        with self.assertNoLogs("tensorflow", "WARNING"):
            turned = images.map(lambda x: layer(x, training=True))
        self.assertEqual([tuple(x.shape) for x in turned], [(2, 4, 4, 1), (2, 4, 4, 1), (1, 4, 4, 1)])

    def test_a_function_that_reads_values_itself_is_refused(self):
        with self.assertRaises(tf.errors.OperatorNotAllowedInGraphError):
            tf.function(lambda x: x.numpy())(tf.constant(2.))
        with self.assertRaises(tf.errors.OperatorNotAllowedInGraphError):
            tf.data.Dataset.range(3).map(lambda x: x.numpy())


class Sources(GraphCase):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        sys.path.insert(0, self.folder.name)
        self.addCleanup(sys.path.remove, self.folder.name)

    def module(self, name, text):
        """A module of that text, and its file."""
        path = os.path.join(self.folder.name, name + ".py")
        self.write(path, text)
        importlib.invalidate_caches()
        self.addCleanup(sys.modules.pop, name, None)
        return importlib.import_module(name), path

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def refused(self, function, reason):
        with self.assertLogs("tensorflow", "WARNING") as logged:
            try:
                tf.function(function)(tf.constant(5.))
                self.fail("it runs")
            except tf.errors.OperatorNotAllowedInGraphError as error:
                self.assertEqual(traceback.extract_tb(error.__traceback__)[-1].lineno, 2)
        self.assertRegex("\n".join(logged.output), reason)

    def test_a_file_that_changed_since_it_was_imported_is_not_what_runs(self):
        module, path = self.module("changed_since", SIGNS)
        self.write(path, SIGNS.replace("return x", "return x * 100."))
        self.refused(module.f, "changed_since.py is not what runs: it was changed since")

    def test_a_file_whose_lines_moved_and_one_that_is_gone(self):
        module, path = self.module("moved_since", SIGNS)
        self.write(path, "import os\n\n\n" + SIGNS)
        self.refused(module.f, "has no function f as it was when it ran")
        module, path = self.module("gone_since", SIGNS)
        os.remove(path)
        self.refused(module.f, "the source of .*gone_since.py is not there")

    def test_code_without_source(self):
        space = {}
        exec(SIGNS, space)
        self.refused(space["f"], "the source of <string> is not there")

    def test_a_change_of_a_comment_or_of_another_function_is_none(self):
        module, path = self.module("changed_elsewhere", SIGNS + "def g():\n    return 1\n")
        self.write(path, SIGNS.replace("return -x", "return -x  # else") + "def g():\n    return 2\n")
        self.assertEqual(float(tf.function(module.f)(tf.constant(-5.))), 5.)

    def test_long_functions(self):
        lines = "".join(f"    x = x + {number}.\n" for number in range(3_000))
        branches = "".join(f"    if x > {number}.:\n        x = x + 1.\n" for number in range(200))
        module, _ = self.module("long_functions", f"def f(x):\n{lines}    return x\ndef g(x):\n{branches}    return x\n")
        self.assertEqual(float(tf.function(module.f)(tf.constant(0.))), float(module.f(tf.constant(0.))))
        self.assertEqual(float(tf.function(module.g)(tf.constant(1.))), float(module.g(tf.constant(1.))))

    def test_cells_that_are_run_again_under_one_name(self):
        made = []
        for number, body in enumerate(("x * 2.", "x * 3.")):
            text = textwrap.dedent(f"""\
                def f(x):
                    if x > 0.:
                        return {body}
                    return x
                """)
            name = f"<cell {number}>"
            linecache.cache[name] = len(text), None, text.splitlines(True), name
            self.addCleanup(linecache.cache.pop, name)
            space = {}
            exec(compile(text, name, "exec"), space)
            made.append(tf.function(space["f"]))
        self.assertEqual([float(f(tf.constant(1.))) for f in made + made], [2., 3., 2., 3.])


class Arguments(GraphCase):
    def test_a_function_may_not_change_what_it_is_given(self):
        def grows(items):
            items.append(tf.constant(1.))
            return items[0]

        def replaces(table):
            table["x"] = table["x"] * 2.
            return table["x"]

        def pops(outer):
            outer["inner"].pop()
            return outer["x"]

        x = tf.constant(2.)
        for function, argument in ((grows, [x]), (replaces, {"x": x}), (pops, {"x": x, "inner": [x, x]})):
            with self.assertRaisesRegex(ValueError, f"{function.__name__}: it changes a list or dict that it is given"):
                tf.function(function)(argument)

        def copies(table):
            table = dict(table, y=table["x"] * 3.)
            return table["y"]

        self.assertEqual(float(tf.function(copies)({"x": x})), 6.)

    def test_forms_of_results(self):
        concrete = tf.function(lambda x: {"a": x, "b": (tf.cast(x, tf.int32), None)}).get_concrete_function(tf.TensorSpec([2], tf.float32))
        self.assertEqual(concrete.output_dtypes, {"a": tf.float32, "b": (tf.int32, None)})
        self.assertEqual(concrete.output_shapes, {"a": (2,), "b": ((2,), None)})


class Names(GraphCase):
    """Of names that functions inside bind, and of variables."""

    def test_a_call_in_a_branch_may_bind_a_name_of_the_function(self):
        def f(x):
            total = x

            def add(amount):
                nonlocal total
                total = total + amount

            if x > 1.:
                add(10.)
            for step in tf.range(3):
                add(tf.cast(step, tf.float32))
            while total < 30.:
                add(total)
            return total

        made = tf.function(f)
        for value in (.5, 2.):
            self.assertEqual(float(made(tf.constant(value))), float(f(tf.constant(value))))

    def test_a_variable_beside_a_tensor_counts_as_its_value(self):
        v = tf.Variable(3.)

        def chosen(x):
            result = x
            if x > 0.:
                result = v
            return result * 2.

        def swapped(x):
            if x > 0.:
                result = v
            else:
                result = x
            return result

        def summed(x):
            total = v
            for _ in tf.range(3):
                total = total + x
            return total

        for function in (chosen, swapped, summed):
            made = tf.function(function)
            for value in (-1., 1.):
                self.assertEqual(float(made(tf.constant(value))), float(function(tf.constant(value))))

    def test_a_variable_in_both_branches_stays_one(self):
        v = tf.Variable(3.)

        @tf.function
        def f(x):
            w = v
            if x > 0.:
                w = v
                w.assign_add(1.)
            else:
                w = v
            w.assign_add(x)
            return w

        self.assertEqual([float(f(tf.constant(value))) for value in (1., -1.)], [5., 4.])

    def test_a_name_that_finally_binds_first_is_not_read_before(self):
        def f(x):
            y = x
            for _ in tf.range(2):
                if x > 0.:
                    y = y + 1.
                else:
                    try:
                        y = y * 2.
                    finally:
                        for each in [x, y]:
                            y = y - each
            return y

        made = tf.function(f)
        for value in (-1., 1.):
            self.assertEqual(float(made(tf.constant(value))), float(f(tf.constant(value))))


class Gradients(GraphCase):
    """Of variables that only a branch or a loop reads, for tapes that the function makes."""

    def test_variables_read_in_loops_and_branches_have_gradients(self):
        v = tf.Variable([.5, -.5, .25])

        def rows(_):
            total = tf.constant(0.)
            for each in v:
                total = total * .5 + each * each
            return total

        def elements(x):
            total = x
            for index in tf.range(3):
                total = total * .5 + v[index] * x
            return total

        def branches(x):
            if x > 0.:
                result = tf.reduce_sum(v * v) * x
            else:
                result = x
            return result

        def nested(x):
            total = x
            for _ in tf.range(2):
                if total > -100.:
                    total = total + tf.reduce_sum(tf.sin(v)) * x
            return total

        for function in (rows, elements, branches, nested):
            def first(x, function=function):
                with tf.GradientTape() as tape:
                    y = function(x)
                return tape.gradient(y, v, unconnected_gradients="zero")

            def second(x, first=first):
                with tf.GradientTape() as tape:
                    y = tf.reduce_sum(first(x) ** 2)
                return tape.gradient(y, v, unconnected_gradients="zero")

            for gradient in (first, second):
                for value in (-2., 2.):
                    x = tf.constant(value)
                    wanted, given = tf.convert_to_tensor(gradient(x)), tf.convert_to_tensor(tf.function(gradient)(x))
                    self.assertSame(wanted + 0., given + 0.)

    def test_gradients_of_a_call_repeated_in_a_function_have_the_bits_of_eager_code(self):
        def f(u):
            return tf.stack([tf.reduce_prod(tf.tanh(u)) * weight for weight in (1., 2., 3.)])

        def gradient(function):
            with tf.GradientTape() as tape:
                tape.watch(u)
                y = function(u) * [1., 3., .7]
            return tape.gradient(y, u)

        u = tf.constant([.3, -.7, 1.2])
        made = tf.function(f)
        self.assertIn("common subexpressions", [name for name, *_ in made.get_concrete_function(u).graph.passes])
        self.assertSame(gradient(f), gradient(made))
        self.assertSame(f(u), made(u))


if __name__ == "__main__":
    unittest.main()
