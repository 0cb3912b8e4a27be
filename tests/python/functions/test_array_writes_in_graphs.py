"""What tf.TensorArray and lists that loops make longer do in functions as in eager code: elements of different sizes, gradients to the
bit, errors on the user's line, arrays as arguments and results, and what the debugger sees of writes. Optionals as variables of loops."""
import json
import unittest

import numpy as np

import tapedeck as tf
from cell_thread import CellThread
from graph_mode import GraphCase, graphs
from tapedeck import _engine

debug = _engine.debug
ROWS = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3) / 7 - 0.6)
VECTOR = tf.constant([1.5, -2., 3., 0.25])


def gradients(function, x, order):
    """The derivative of that order of the sum of function's results, squared and more."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x) if order == 1 else gradients(function, x, order - 1)
        y = tf.reduce_sum(y * y * 0.3)
    return tape.gradient(y, x)


class ArrayCase(GraphCase):
    def setUp(self):
        super().setUp()
        self.enterContext(self.assertNoLogs("tensorflow", "WARNING"))  # that a function cannot be traced, and runs eagerly

    def check(self, function, *arguments):
        """As eager code, with shapes that are known while it is traced and with shapes that are not."""
        expected = function(*arguments)
        self.assertSame(tf.function(function)(*arguments), expected)
        signature = [tf.TensorSpec([None] * x.shape.rank, x.dtype) for x in arguments]
        self.assertSame(tf.function(function, input_signature=signature)(*arguments), expected)

    def checkGradients(self, function, x):
        """Of three orders: tapes in the function, tapes around it, and tf.gradients."""
        for order in (1, 2, 3):
            expected = gradients(function, x, order)
            self.assertTrue(np.any(expected.numpy()))
            for options in ({}, {"input_signature": [tf.TensorSpec([None] * x.shape.rank, x.dtype)]}):
                self.assertSame(tf.function(lambda x: gradients(function, x, order), **options)(x), expected)
                self.assertSame(gradients(tf.function(function, **options), x, order), expected)
        found = tf.function(lambda x: tf.gradients(tf.reduce_sum(tf.square(function(x)) * 0.3), x)[0])(x)
        np.testing.assert_allclose(found, gradients(function, x, 1), 1e-5, 1e-6)

    def assertFails(self, function, arguments, kind, pattern, line):
        """Both eager code and the graph fail so, the graph with that line of the function."""
        with self.assertRaisesRegex(kind, pattern):
            function(*arguments)
        with self.assertRaisesRegex(kind, pattern) as caught:
            tf.function(function)(*arguments)
        place = function.__code__.co_firstlineno + line
        self.assertIn(f"In the graph of {function.__name__}: {__file__}, line {place}", getattr(caught.exception, "__notes__", []))


class DifferentSizes(ArrayCase):
    def test_rows_of_growing_length(self):
        def triangle(a):
            rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True, infer_shape=False, clear_after_read=False)
            for i in tf.range(tf.size(a)):
                rows = rows.write(i, a[:i + 1] * 2.)
            return rows.concat(), rows.read(2), rows.size(), tf.shape(rows.read(1))

        self.check(triangle, VECTOR)
        self.checkGradients(lambda a: triangle(a)[0], VECTOR)

    def test_known_last_axis(self):
        def repeated(a):
            rows = tf.TensorArray(tf.float32, size=tf.shape(a)[0], infer_shape=False, element_shape=[None, 3])
            for i in tf.range(tf.shape(a)[0]):
                rows = rows.write(i, tf.tile(a[i:i + 1], [i + 1, 1]))
            return rows.concat()

        self.check(repeated, ROWS)
        made = tf.function(repeated).get_concrete_function(tf.TensorSpec([4, 3]))
        self.assertEqual(made.output_shapes.as_list(), [None, 3])
        self.checkGradients(repeated, ROWS)

    def test_list_items_of_different_sizes(self):
        def parts(a):
            items = []
            for i in tf.range(tf.size(a)):
                if a[i] > 0.:
                    items.append(a[i:i + 1])
                else:
                    items.append(a[:2] * 3.)
            return tf.concat(items, 0), items[1], items

        expected = parts(VECTOR)
        self.assertSame(tf.function(parts)(VECTOR), expected)
        self.checkGradients(lambda a: parts(a)[0], VECTOR)

    def test_one_loop_appends_two_sizes(self):
        def both(a):
            items = [a]
            i = 0
            while i < tf.cast(a[2], tf.int32):
                items.append(a[:1] * tf.cast(i, tf.float32))
                items.append(tf.concat([a, a], 0))
                i += 1
            total = tf.constant(0.)
            for item in items:
                total = total * 0.5 + tf.reduce_sum(item)
            return tf.concat(items, 0), total

        self.check(both, VECTOR)

    def test_stack_refuses_what_differs_with_the_line(self):
        def stacked(n):
            rows = tf.TensorArray(tf.float32, size=3, infer_shape=False)
            for i in tf.range(n):
                rows = rows.write(i, tf.ones([i + 1]))
            return rows.stack()

        self.assertFails(stacked, [tf.constant(3)], tf.errors.InvalidArgumentError, "stack: values.1. .* differ in shape", 4)

    def test_split(self):
        def parts(a, lengths):
            array = tf.TensorArray(tf.float32, size=3, clear_after_read=False).split(a, lengths)
            total = tf.constant(0.)
            for i in tf.range(3):
                total = total * 2. + tf.reduce_sum(array.read(i))
            return total, array.concat()

        self.check(parts, ROWS, tf.constant([1, 2, 1]))
        self.checkGradients(lambda a: parts(a, tf.constant([2, 1, 1]))[1], ROWS)


class Gradients(ArrayCase):
    def test_rows_written_and_read_many_times(self):
        def mixed(a):
            rows = tf.TensorArray(tf.float32, size=4, clear_after_read=False).unstack(a * 1.1)
            for i in tf.range(1, 4):
                rows = rows.write(i, tf.tanh(rows.read(i)) * rows.read(i - 1) + rows.read(0) / 3.)
            return rows.stack() + rows.gather([3, 0, 0, 1]) * 0.7

        self.checkGradients(mixed, ROWS)

    def test_scatter_gather_concat(self):
        def moved(a):
            rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
            rows = rows.scatter(tf.argsort(a[:, 0], direction="DESCENDING"), a * a[0])
            for i in tf.range(2):
                rows = rows.scatter([i + 4, i], rows.gather([i, i + 1]) * 0.3)
            return tf.reshape(rows.concat(), [-1, 3])

        self.check(moved, ROWS)
        self.checkGradients(moved, ROWS)

    def test_branches_and_inner_loops(self):
        def nested(a):
            rows = tf.TensorArray(tf.float32, size=4, element_shape=[3], clear_after_read=False)
            for i in tf.range(4):
                row = a[i]
                for j in tf.range(i):
                    if a[j, 0] < a[i, 1]:
                        row = row * 0.9 + rows.read(j) * a[j]
                rows = rows.write(i, row)
            return rows.stack()

        self.check(nested, ROWS)
        self.checkGradients(nested, ROWS)

    def test_a_loop_inside_reads_and_the_body_only_multiplies(self):
        def summed(a):
            rows = tf.TensorArray(tf.float32, size=4, clear_after_read=False).unstack(a * a)
            total = a[0]
            for _ in tf.range(3):
                inner = tf.zeros_like(a[0])
                for j in tf.range(4):
                    inner = inner + rows.read(j)
                total = tf.sin(total * inner) + inner
            return total

        self.checkGradients(summed, ROWS)

    def test_variables(self):
        w = tf.Variable([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6], [0.7, 0.2, 0.1]])

        def recurrent(a):
            steps = tf.TensorArray(tf.float32, size=tf.shape(a)[0])
            state = tf.zeros([1, 3])
            for i in tf.range(tf.shape(a)[0]):
                state = tf.tanh(tf.matmul(state, w) + tf.expand_dims(a[i], 0))
                steps = steps.write(i, state)
            return tf.reduce_sum(steps.concat() ** 2)

        def slope(function):
            with tf.GradientTape() as tape:
                y = function(ROWS)
            return tape.gradient(y, w)

        expected = slope(recurrent)
        self.assertSame(slope(tf.function(recurrent)), expected)
        self.assertSame(tf.function(lambda: slope(recurrent))(), expected)

    def test_scan_and_map_fn_of_structures(self):
        def scanned(a):
            sums, products = tf.scan(lambda c, e: (c[0] + e * c[1], c[1] * e), a, (tf.zeros([3]), tf.ones([3])))
            return tf.map_fn(lambda pair: pair[0] / (pair[1] * pair[1] + 1.), (sums, products), fn_output_signature=tf.float32)

        self.check(scanned, ROWS)
        self.checkGradients(scanned, ROWS)
        self.checkGradients(lambda a: tf.foldr(lambda c, e: tf.sin(c) * e, a), ROWS)
        self.checkGradients(lambda a: tf.scan(lambda c, e: c * e + 1., a, reverse=True), ROWS)

    def test_what_is_not_read_gives_no_gradient(self):
        @tf.function
        def some(a, b):
            rows = tf.TensorArray(tf.float32, size=2, clear_after_read=False)
            for i in tf.range(1):
                rows = rows.write(i, a).write(i + 1, b)
            return rows.read(tf.constant(0)) * 2.

        with tf.GradientTape() as tape:
            tape.watch([ROWS, VECTOR])
            y = some(ROWS[0], VECTOR[:3])
        self.assertIsNone(tape.gradient(y, VECTOR))


class Values(ArrayCase):
    def test_a_write_leaves_the_array_of_before_as_it_was(self):
        @tf.function
        def both(a):
            first = tf.TensorArray(tf.float32, size=2, clear_after_read=False).unstack(a[:2])
            second = tf.cond(a[0] > 0., lambda: first.write(0, 7.), lambda: first)
            _, third = tf.while_loop(lambda i, array: i < 2, lambda i, array: (i + 1, array.write(i, 9.)), (0, first))
            return first.stack(), second.stack(), third.stack()

        self.assertEqual([each.numpy().tolist() for each in both(VECTOR)], [[1.5, -2.], [7., -2.], [9., 9.]])

    def test_thousands_of_elements_in_any_order(self):
        def permuted(order):
            array = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[], clear_after_read=False)
            for i in tf.range(tf.size(order)):
                array = array.write(order[i], i)
            return array.stack(), array.gather(order[::-1])

        order = np.random.default_rng(3).permutation(5000).astype(np.int32)
        stacked, gathered = tf.function(permuted)(tf.constant(order))
        np.testing.assert_array_equal(stacked, np.argsort(order))
        np.testing.assert_array_equal(gathered, np.arange(5000)[::-1])

    def test_as_argument_and_result(self):
        def doubled(array):
            for i in tf.range(array.size()):
                array = array.write(i, array.read(i) * 2.)
            return array

        made = tf.function(doubled)
        array = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(VECTOR[:3])
        with tf.GradientTape() as tape:
            tape.watch(VECTOR)
            given = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(VECTOR[:3])
            found = made(given)
            y = tf.reduce_sum(found.stack() * found.read(1))
        self.assertSame(found.stack(), doubled(array).stack())
        self.assertIsInstance(found, tf.TensorArray)
        self.assertEqual(tape.gradient(y, VECTOR).numpy().tolist(), [-8., 4. * (1.5 - 2. + 3.) + 4. * -2., -8., 0.])
        self.assertEqual(given.read(0).numpy(), 1.5)  # the function has one of its own
        self.assertEqual(made.experimental_get_tracing_count(), 1)
        made(tf.TensorArray(tf.float32, size=2).unstack(ROWS[:2]))
        self.assertEqual(made.experimental_get_tracing_count(), 2)
        outer = tf.function(lambda a: made(tf.TensorArray(tf.float32, size=4, clear_after_read=False).unstack(a)).concat())
        self.assertSame(outer(ROWS), tf.reshape(ROWS * 2., [-1]))

    def test_shapes_that_are_known(self):
        @tf.function
        def known(a):
            seen = []
            rows = tf.TensorArray(tf.float32, size=4, clear_after_read=False)
            for i in tf.range(4):
                rows = rows.write(i, a[i])
            seen += [rows.stack().shape.as_list(), rows.read(0).shape.as_list(), rows.concat().shape.as_list()]
            grown = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[None, 3])
            grown = grown.unstack(tf.reshape(a, [2, 2, 3]))
            seen += [grown.stack().shape.as_list(), grown.gather(tf.constant([0, 1])).shape.as_list()]
            return tf.constant(repr(seen))

        self.assertEqual(known(ROWS).numpy().decode(), "[[4, 3], [3], [12], [None, 2, 3], [2, 2, 3]]")

    def test_branches_that_write_different_shapes(self):
        def chosen(a):
            array = tf.TensorArray(tf.float32, size=1, clear_after_read=False)
            if a[0] > 0.:
                array = array.write(0, a)
            else:
                array = array.write(0, a[:2])
            return array.stack()

        for x in (VECTOR, -VECTOR):
            self.assertSame(tf.function(chosen)(x), chosen(x))


class Errors(ArrayCase):
    def test_indices(self):
        def read(i):
            array = tf.TensorArray(tf.float32, size=2, clear_after_read=False).unstack([1., 2.])
            return array.read(i)

        def write(i):
            array = tf.TensorArray(tf.float32, size=2)
            return array.write(i, 1.).stack()

        def gather(i):
            array = tf.TensorArray(tf.float32, size=2, clear_after_read=False).unstack([1., 2.])
            return array.gather([i, 0])

        self.assertFails(read, [tf.constant(2)], IndexError, "TensorArray: index is 2; the size is 2", 2)
        self.assertFails(read, [tf.constant(-1)], IndexError, "TensorArray: index is -1; must not be negative", 2)
        self.assertFails(write, [tf.constant(5)], IndexError, "index is 5; the size is 2, and dynamic_size is False", 2)
        self.assertFails(gather, [tf.constant(9)], IndexError, "TensorArray: index is 9; the size is 2", 2)
        with self.assertRaisesRegex(TypeError, "TensorArray: index is float32; needs an integer"):
            tf.function(read)(tf.constant(1.))

    def test_read_before_write(self):
        def early(n):
            array = tf.TensorArray(tf.float32, size=4)
            total = tf.constant(0.)
            for i in tf.range(n):
                if i > 1:
                    array = array.write(i, total)
                total += array.read(i)
            return total

        def cleared(n):
            array = tf.TensorArray(tf.float32, size=1).write(0, [1., 2.])
            first = array.read(0)
            return first + array.read(n)

        self.assertFails(early, [tf.constant(2)], tf.errors.InvalidArgumentError,
                         "TensorArray: index 0 was not written, and the element_shape is not known", 6)
        self.assertFails(cleared, [tf.constant(0)], tf.errors.InvalidArgumentError, "index 0 was read and is cleared", 3)

    def test_a_row_of_another_shape_that_a_run_knows(self):
        def uneven(n):
            array = tf.TensorArray(tf.float32, size=4)
            for i in tf.range(n):
                array = array.write(i, tf.ones([i + 1]))
            return array.concat()

        self.assertFails(uneven, [tf.constant(2)], tf.errors.InvalidArgumentError,
                         r"TensorArray: element_shape is \(1,?\), the value has shape \(2,?\)", 3)

    def test_dtype_and_shape_while_it_is_traced(self):
        def wrong(value, n):
            array = tf.TensorArray(tf.float32, size=4, element_shape=[2])
            for i in tf.range(n):
                array = array.write(i, value)
            return array.stack()

        with self.assertRaisesRegex(TypeError, "TensorArray: dtype is float32, the value is int32; cast it"):
            tf.function(wrong)(tf.constant([1, 2]), tf.constant(2))
        with self.assertRaisesRegex(ValueError, r"TensorArray: element_shape is \(2,\), the value has shape \(3,\)"):
            tf.function(wrong)(tf.constant([1., 2., 3.]), tf.constant(2))

    def test_too_many_slices(self):
        def unstacked(a):
            array = tf.TensorArray(tf.float32, size=2)
            return array.unstack(a).stack()

        with self.assertRaisesRegex(ValueError, "TensorArray: 4 slices; the size is 2, and dynamic_size is False"):
            tf.function(unstacked)(ROWS)
        with self.assertRaisesRegex(ValueError, "TensorArray: 4 slices; the size is 2, and dynamic_size is False"):
            tf.function(unstacked, input_signature=[tf.TensorSpec([None, 3])])(ROWS)


class Optionals(ArrayCase):
    """As variables of loops, results of branches, arguments and results."""

    def test_a_loop_until_there_is_none(self):
        def total(data):
            iterator = iter(data)
            found, last = iterator.get_next_as_optional(), tf.experimental.Optional.empty(data.element_spec)
            total = tf.constant(0.)
            while found.has_value():
                total = total * 2. + tf.reduce_sum(found.get_value()["x"])
                last, found = found, iterator.get_next_as_optional()
            return total, last.get_value(), found.has_value()

        data = tf.data.Dataset.from_tensor_slices({"x": VECTOR, "n": np.arange(4)}).batch(3)
        self.assertSame(tf.function(total)(data), total(data))

    def test_branches_arguments_and_results(self):
        spec = (tf.TensorSpec([], tf.float32), tf.TensorSpec([2], tf.float32))

        @tf.function
        def chosen(x):
            return tf.cond(x > 0., lambda: tf.experimental.Optional.from_value((x, tf.ones([2]))),
                           lambda: tf.experimental.Optional.empty(spec))

        @tf.function
        def value_of(optional):
            return optional.get_value()

        self.assertEqual(value_of(chosen(tf.constant(2.)))[0].numpy(), 2.)
        self.assertFalse(chosen(tf.constant(-2.)).has_value())
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Optional: get_value: it has no value"):
            value_of(chosen(tf.constant(-2.)))

    def test_data_sets_in_it(self):
        def windows(data):
            iterator = iter(data)
            found, total = iterator.get_next_as_optional(), tf.constant(0, tf.int64)
            while found.has_value():
                for x in found.get_value():
                    total = total * 3 + x
                found = iterator.get_next_as_optional()
            return total

        data = tf.data.Dataset.range(6).window(2)
        self.assertSame(tf.function(windows)(data), windows(data))

    def test_another_shape_is_refused(self):
        def changed(n):
            found = tf.experimental.Optional.from_value(tf.zeros([2]))
            for _ in tf.range(n):
                found = tf.experimental.Optional.from_value(tf.zeros([3]))
            return found

        with self.assertRaisesRegex(ValueError, "'found' must keep its shape"):
            tf.function(changed)(tf.constant(1))


class DataLoops(GraphCase):
    def test_an_iterator_goes_on_where_a_loop_left_it(self):
        @tf.function
        def first_above(iterator, limit):
            found = tf.constant(-1, tf.int64)
            for x in iterator:
                if x > limit:
                    found = x
                    break
            return found

        iterator = iter(tf.data.Dataset.range(10))
        self.assertEqual([int(first_above(iterator, tf.constant(limit, tf.int64))) for limit in (2, 5)], [3, 6])
        self.assertEqual(int(next(iterator)), 7)
        self.assertEqual(int(first_above(iterator, tf.constant(7, tf.int64))), 8)
        self.assertEqual(int(first_above(iterator, tf.constant(100, tf.int64))), -1)
        with self.assertRaises(StopIteration):
            next(iterator)

    def test_an_error_of_a_stage_has_its_text_and_the_next_element_follows(self):
        @tf.function
        def total(data):
            total = tf.constant(0.)
            for x in data:
                total += x
            return total

        data = tf.data.Dataset.from_tensor_slices([1., 0.]).map(lambda x: tf.debugging.check_numerics(1. / x, "quotient"))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "quotient"):
            total(data)


class UnderARecorder(GraphCase):
    def test_gradients_have_the_bits_of_a_run_without_records(self):
        def rows_and_last(x, count):
            rows, h = [], x
            for _ in tf.range(count):
                h = tf.tanh(h + x)
                rows.append(h)
                if tf.reduce_sum(h) > 1.:
                    h = h * 0.5
            return tf.reduce_sum(tf.stack(rows)) * tf.reduce_sum(h)

        made, x, count = tf.function(rows_and_last), tf.constant([0.3, -0.2, 0.9]), tf.constant(3)
        expected = gradients(lambda x: rows_and_last(x, count), x, 2).numpy().tolist()
        debug.attach(1 << 24, True)
        self.addCleanup(debug.stop)
        self.assertEqual(gradients(lambda x: made(x, count), x, 2).numpy().tolist(), expected)


PROGRAM = """\
@tf.function
def f(x):
    rows = tf.TensorArray(tf.float32, size=2)
    for i in tf.range(2):
        rows = rows.write(i, x[i])
    return rows.stack()
"""


class Records(CellThread):
    def setUp(self):
        context = graphs()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def tearDown(self):
        if debug.attached():
            debug.set_breakpoints([])
        super().tearDown()

    def records(self):
        return json.loads(debug.records_json())

    def test_a_write_is_a_record_on_its_line(self):
        self.run_to_its_end(PROGRAM + "y = f(tf.ones([2, 3]))\n")
        records = self.records()
        writes = [record for record in records if record["op"] == "TensorArray.write"]
        self.assertEqual([record["line"] for record in writes], [5, 5])
        self.assertEqual([records[write["parent"] - 1]["op"] for write in writes], ["iteration 1", "iteration 2"])
        rows = [record for record in records if record["op"] == "identity"]
        self.assertEqual([(row["line"], records[row["parent"] - 1]["op"]) for row in rows], [(5, "TensorArray.write")] * 2)
        stack = next(record for record in records if record["op"] == "stack")
        self.assertEqual((stack["line"], records[stack["parent"] - 1]["op"]), (6, "TensorArray.stack"))

    def test_the_watch_finds_a_nan_in_a_row(self):
        self.begin(PROGRAM + "x = tf.constant([[1., 2.], [3., float('nan')]])\ny = f(x)\n")
        debug.set_breakpoints([dict(kind="condition", condition="op:identity and nan(out)")])
        self.stop = 0
        self.thread.start()
        self.wait()
        at = self.records()[self.stop - 1]
        self.assertEqual((at["op"], at["line"]), ("identity", 5))
        write = self.records()[at["parent"] - 1]
        self.assertEqual(self.records()[write["parent"] - 1]["op"], "iteration 2")
        debug.set_breakpoints([])
        debug.gate("run")
        self.stop = 0

    def test_values_are_those_of_a_run_without_records(self):
        self.run_to_its_end(PROGRAM + "x = tf.reshape(tf.range(6.), [2, 3])\nwith tf.GradientTape() as tape:\n    tape.watch(x)\n"
                                      "    y = f(x)\ngrad = tape.gradient(y, x)\n")
        np.testing.assert_array_equal(self.names["y"], self.names["x"])
        np.testing.assert_array_equal(self.names["grad"], np.ones([2, 3]))


if __name__ == "__main__":
    unittest.main()
