"""Data sets in functions that are traced: loops over them, iterators, functions of their stages, data sets as arguments and results."""
import contextlib
import gc
import os
import signal
import tempfile
import threading
import unittest
import weakref

import numpy as np

import tapedeck as tf
from collatz import collatz
from graph_mode import GraphCase
from tapedeck.data import settings

Dataset = tf.data.Dataset


class Files(GraphCase):
    def test_images_and_records_of_files(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, f"{number}.png") for number in range(3)]
            for number, path in enumerate(paths):
                tf.io.write_file(path, tf.io.encode_png(np.full((2, 3 + number, 3), number, np.uint8)))

            def loaded(path):
                image = tf.io.decode_png(tf.io.read_file(path), channels=3)
                return tf.reduce_mean(tf.cast(image, tf.float32)), tf.shape(image)

            data = Dataset.from_tensor_slices(paths).map(loaded)
            self.assertEqual([(float(mean), shape.numpy().tolist()) for mean, shape in data], [(n, [2, 3 + n, 3]) for n in range(3)])
            with self.assertRaises(tf.errors.NotFoundError) as caught:
                list(Dataset.from_tensors(os.path.join(folder, "none")).map(loaded))
            self.assertIn("In the graph of loaded", caught.exception.__notes__[0])

    def test_records_and_lines(self):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[4, 5]))
        example = tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()
        features = {"x": tf.io.FixedLenFeature([2], tf.int64)}
        parsed = Dataset.from_tensors(example).map(lambda text: tf.io.parse_single_example(text, features))
        self.assertEqual(parsed.element_spec, {"x": tf.TensorSpec([2], tf.int64)})
        self.assertEqual([row["x"].numpy().tolist() for row in parsed], [[4, 5]])
        lines = Dataset.from_tensor_slices(["1,2.5", "3,4.5"]).map(lambda line: tf.io.decode_csv(line, [0, 0.]))
        self.assertEqual([(int(a), float(b)) for a, b in lines], [(1, 2.5), (3, 4.5)])
        raw = Dataset.from_tensors(b"\1\0\2\0").map(lambda text: tf.io.decode_raw(text, tf.int16))
        self.assertEqual([values.numpy().tolist() for values in raw], [[1, 2]])


def numbers(*values):
    return [tf.constant(value, tf.int64) for value in values]


class Loops(GraphCase):
    def check(self, function, *arguments):
        """The graph of function(data set, …) gives what eager code gives, in each of two runs."""
        self.assertAsEager(function, *arguments)

    def test_all_elements_in_their_order(self):
        def folded(data):
            total = tf.constant(0, tf.int64)
            for x in data:
                total = total * 3 + x
            return total

        self.check(folded, Dataset.range(5))
        self.check(folded, Dataset.range(0))
        self.check(folded, Dataset.range(20).shuffle(20, seed=3, reshuffle_each_iteration=False).take(7))

    def test_break_continue_return(self):
        def until(data, limit):
            total, count = tf.constant(0, tf.int64), tf.constant(0)
            for v in data:
                if v % 2 == 0:
                    continue
                if total + v > limit:
                    break
                total += v
                count += 1
            return total, count

        def first_above(data, limit):
            for x in data:
                if x > limit:
                    return x
            return tf.constant(-1, tf.int64)

        for limit in numbers(3, 9, 100):
            self.check(until, Dataset.range(10), limit)
            self.check(first_above, Dataset.range(10), limit)

    def test_no_element_is_read_behind_a_break(self):
        made = []

        def generated():
            for i in range(10):
                made.append(i)
                yield i

        data = Dataset.from_generator(generated, output_signature=tf.TensorSpec([], tf.int32))

        @tf.function
        def until(data, limit):
            last = tf.constant(-1)
            for x in data:
                last = x
                if x >= limit:
                    break
            return last

        self.assertEqual(int(until(data, tf.constant(3))), 3)
        self.assertEqual(made, [0, 1, 2, 3])

    def test_enumerate_and_zip(self):
        def numbered(data):
            total = tf.constant(0, tf.int64)
            for i, (x, y) in enumerate(data, 1):
                total += tf.cast(i, tf.int64) * (x - y)
            return total

        def beside(data, values):
            total = tf.constant(0, tf.int64)
            for x, (y, z), v in zip(data, Dataset.zip((data, data)), values):
                total = total * 2 + x * y + z * v
            return total

        self.check(numbered, Dataset.zip((Dataset.range(4), Dataset.range(10, 14))))
        self.check(beside, Dataset.range(6), tf.constant([1, 2, 3], tf.int64))
        self.check(beside, Dataset.range(2), tf.constant([1, 2, 3], tf.int64))
        with self.assertRaisesRegex(TypeError, "zip: .* beside a data set"):
            tf.function(lambda data: [None for _ in zip(data, iter([1]))])(Dataset.range(2))

    def test_structures_of_elements(self):
        def summed(data):
            total = tf.constant(0.)
            for element in data:
                total += tf.reduce_sum(element["a"]) * element["b"][0] + tf.cast(tf.strings.length(element["b"][1]), tf.float32)
            return total

        self.check(summed, Dataset.from_tensor_slices({"a": [[1., 2.], [3., 4.]], "b": ([5., 6.], ["x", "yz"])}))

    def test_the_last_short_batch(self):
        shapes = []

        def batches(data):
            total, rows = tf.zeros([2]), tf.constant(0)
            for batch in data:
                shapes.append(tuple(batch.shape))
                total += tf.reduce_sum(batch * batch, 0) / tf.cast(tf.shape(batch)[0], tf.float32)
                rows += tf.shape(batch)[0]
            return total, rows

        data = Dataset.from_tensor_slices(np.arange(14, dtype=np.float32).reshape(7, 2)).batch(3)
        made = tf.function(batches)
        expected = batches(data)
        shapes.clear()
        self.assertSame(made(data), expected)
        self.assertEqual(shapes, [(None, 2)])

    def test_training_over_epochs(self):
        def trained(data, epochs):
            w = variable
            w.assign(0.)
            for _ in tf.range(epochs):
                for x, y in data:
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_mean((w * x - y) ** 2)
                    w.assign_sub(0.05 * tape.gradient(loss, w))
            return w.read_value()

        variable = tf.Variable(0.)
        data = Dataset.from_tensor_slices(([1., 2., 1., 3., 2.], [3., 6., 3., 9., 6.])).batch(2)
        made = tf.function(trained)
        np.testing.assert_array_equal(made(data, tf.constant(3)), trained(data, tf.constant(3)))

    def test_gradients_through_a_loop(self):
        def powers(x):
            total = tf.constant(1.)
            for factor in Dataset.from_tensor_slices([1., 2., 3.]):
                total *= x * factor
            return total

        x = tf.constant(2.)
        for function in (powers, tf.function(powers)):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = function(x)
                first = inner.gradient(y, x)
            self.assertEqual((float(first), float(outer.gradient(first, x))), (72., 72.))

    def test_data_sets_of_data_sets(self):
        def nested(data):
            total = tf.constant(0, tf.int64)
            for window in data:
                for x in window:
                    total = total * 2 + x
            return total

        self.check(nested, Dataset.range(5).window(2))

    def test_an_interrupt_leaves_the_loop(self):
        begun = threading.Event()

        def endless():
            while True:
                begun.set()
                yield 1

        data = Dataset.from_generator(endless, output_signature=tf.TensorSpec([], tf.int32))

        @tf.function
        def summed(data):
            total = tf.constant(0)
            for x in data:
                total += x
            return total

        summed(data.take(1))
        begun.clear()
        threading.Thread(target=lambda: (begun.wait(), os.kill(os.getpid(), signal.SIGINT))).start()
        with self.assertRaises(KeyboardInterrupt):
            summed(data)
        self.assertEqual(int(summed(data.take(3))), 3)

    def test_what_only_a_converted_loop_runs_over(self):
        for read in (lambda data: [x + 1 for x in data], lambda data: list(data), lambda data: list(zip(data, data))):
            with self.assertRaisesRegex(tf.errors.OpError, "data set"):
                tf.function(read)(Dataset.range(3))
        with self.assertRaisesRegex(tf.errors.UnimplementedError, "AutoGraph"):
            tf.function(lambda data: [x + 1 for x in data], autograph=False)(Dataset.range(3))

    def test_an_error_in_the_pipeline_names_the_lines(self):
        def checked(x):
            tf.debugging.assert_less(x, tf.constant(2, tf.int64))
            return x

        @tf.function
        def summed(data):
            total = tf.constant(0, tf.int64)
            for x in data:
                total += x
            return total

        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "element 2") as caught:
            summed(Dataset.range(5).map(checked))
        notes = "\n".join(caught.exception.__notes__)
        self.assertIn(f"In the graph of checked: {__file__}, line {checked.__code__.co_firstlineno + 1}", notes)
        self.assertIn(f"In the graph of summed: {__file__}, line {summed.python_function.__code__.co_firstlineno + 3}", notes)


class Iterators(GraphCase):
    def test_one_from_outside_goes_on(self):
        iterator = iter(Dataset.range(10))

        @tf.function
        def some(limit):
            total = tf.constant(0, tf.int64)
            for x in iterator:
                total += x
                if x >= limit:
                    break
            return total

        self.assertEqual(int(some(*numbers(3))), 6)
        self.assertEqual(int(next(iterator)), 4)
        self.assertEqual(int(some(*numbers(7))), 18)
        self.assertEqual([int(x) for x in iterator], [8, 9])

    def test_next_and_the_end(self):
        @tf.function
        def pair(iterator):
            return next(iterator), iterator.get_next()

        self.assertSame(pair(iter(Dataset.range(2))), tuple(numbers(0, 1)))
        self.assertSame(pair(iter(Dataset.range(5, 9))), tuple(numbers(5, 6)))
        self.assertEqual(pair.experimental_get_tracing_count(), 1)
        with self.assertRaisesRegex(tf.errors.OutOfRangeError, "End of sequence") as caught:
            pair(iter(Dataset.range(1)))
        self.assertIn("In the graph of pair", caught.exception.__notes__[-1])

    def test_one_that_the_function_makes(self):
        def first_two(data):
            iterator = iter(data)
            a = next(iterator)
            return a, next(iterator)

        self.assertAsEager(first_two, Dataset.range(3, 9))

    def test_optionals(self):
        @tf.function
        def or_minus_one(iterator):
            found = iterator.get_next_as_optional()
            if found.has_value():
                return found.get_value()
            return tf.constant(-1, tf.int64)

        iterator = iter(Dataset.range(2))
        self.assertEqual([int(or_minus_one(iterator)) for _ in range(3)], [0, 1, -1])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "it has no value"):
            tf.function(lambda iterator: iterator.get_next_as_optional().get_value())(iterator)

    def test_ends_with_the_run(self):
        """An iterator that a run began goes with it, whether or not it came to the end."""
        begun = []

        class Numbers:
            def __iter__(self):
                begun.append(weakref.ref(self))
                return self

            def __next__(self):
                return 1

        data = Dataset.from_generator(Numbers, output_signature=tf.TensorSpec([], tf.int32))

        @tf.function
        def taken(data, fails):
            total = tf.constant(0)
            for x in data:
                total += x
                if total > 3:
                    break
            tf.debugging.Assert(not fails, ["no"])
            return total

        self.assertEqual(int(taken(data, tf.constant(False))), 4)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            taken(data, tf.constant(True))
        gc.collect()
        self.assertEqual([each() for each in begun], [None, None])


class Signatures(GraphCase):
    def test_a_data_set_counts_by_its_element_spec(self):
        traces = []

        @tf.function
        def counted(data):
            traces.append(1)
            count = tf.constant(0)
            for _ in data:
                count += 1
            return count

        self.assertEqual([int(counted(data)) for data in (Dataset.range(3), Dataset.range(5), Dataset.range(2).map(lambda x: x + 1))],
                         [3, 5, 2])
        self.assertEqual(len(traces), 1)
        counted(Dataset.range(3).batch(2))
        counted(Dataset.from_tensor_slices([1., 2.]))
        self.assertEqual(len(traces), 3)
        concrete = counted.get_concrete_function(tf.data.DatasetSpec(tf.TensorSpec([], tf.int64)))
        self.assertEqual(int(concrete(Dataset.range(7))), 7)
        self.assertEqual(len(traces), 3)

    def test_a_captured_one_is_the_one_that_was_there(self):
        data = Dataset.range(3)

        @tf.function
        def summed():
            total = tf.constant(0, tf.int64)
            for x in data:
                total += x
            return total

        self.assertEqual(int(summed()), 3)
        data = Dataset.range(100)
        self.assertEqual(int(summed()), 3)

    def test_no_argument_is_kept(self):
        @tf.function
        def first(data):
            return next(iter(data))

        data = Dataset.range(3)
        gone = weakref.ref(data)
        first(data)
        del data
        gc.collect()
        self.assertIsNone(gone())

    def test_data_sets_as_results(self):
        shifted = tf.function(lambda data, n: data.map(lambda x: x + n).batch(2))
        made = shifted(Dataset.range(5), *numbers(10))
        self.assertEqual([x.numpy().tolist() for x in made], [[10, 11], [12, 13], [14]])
        self.assertEqual(made.element_spec, tf.TensorSpec([None], tf.int64))
        self.assertEqual([x.numpy().tolist() for x in shifted(Dataset.range(2), *numbers(0))], [[0, 1]])
        self.assertEqual(shifted.experimental_get_tracing_count(), 1)

    def test_stages_that_a_function_makes(self):
        def made(n, rows):
            total = tf.constant(0, tf.int64)
            for x in Dataset.range(n).map(lambda v: v * n).filter(lambda v: v != n).take(n - 1).batch(2):
                total = total * 3 + tf.reduce_sum(x)
            for row in Dataset.from_tensor_slices(rows).skip(1).repeat(2).concatenate(Dataset.from_tensors(rows[0])):
                total = total * 3 + tf.reduce_sum(row)
            for a, b in Dataset.zip((Dataset.range(n), Dataset.from_tensor_slices(rows))):
                total += a * b[0]
            return total, Dataset.range(n).cardinality()

        self.assertAsEager(made, *numbers(5), tf.constant([[1, 2], [3, 4], [5, 6]], tf.int64))


class Functions(GraphCase):
    """Of stages: traced once, when the stage is made."""

    def count(self, make):
        """How often a function is called by make(function), which goes through what it makes twice."""
        calls = []

        def counting(function):
            def counted(*arguments):
                calls.append(1)
                return function(*arguments)
            return counted

        made = make(counting)
        first, second = list(made), list(made)
        self.assertEqual(len(calls), 1)
        with eager():
            expected = list(make(counting))
        for one, other, wanted in zip(first, second, expected, strict=True):
            self.assertSame(one, other)
            self.assertSame(one, wanted)

    def test_map(self):
        self.count(lambda of: Dataset.range(10).map(of(lambda x: (x * x, {"a": tf.stack([x, x + 1])}))))
        self.count(lambda of: Dataset.range(10).map(of(lambda x: x * 3), num_parallel_calls=4))
        self.count(lambda of: Dataset.zip((Dataset.range(3), Dataset.range(3))).map(of(lambda x, y: x + y)))
        self.count(lambda of: Dataset.range(7).batch(3).map(of(lambda x: tf.boolean_mask(x, x % 2 == 0))))
        self.count(lambda of: Dataset.from_tensor_slices(["a b", "c", ""]).map(of(lambda x: tf.strings.split(x))))

    def test_filter_flat_map_interleave(self):
        self.count(lambda of: Dataset.range(10).filter(of(lambda x: x % 3 == 0)))
        self.count(lambda of: Dataset.range(10).take_while(of(lambda x: x < 4)))
        self.count(lambda of: Dataset.range(4).flat_map(of(lambda x: Dataset.range(x).map(lambda y: x * 10 + y))))
        self.count(lambda of: Dataset.from_tensor_slices([[1, 2], [3, 4]]).flat_map(of(lambda x: Dataset.from_tensor_slices(x).repeat(2))))
        self.count(lambda of: Dataset.range(4).interleave(of(lambda x: Dataset.from_tensors(x).repeat(3)), 2, num_parallel_calls=2))
        self.count(lambda of: Dataset.range(5).window(2).flat_map(of(lambda w: w.batch(2))))

    def test_control_flow_in_them(self):
        self.assertEqual([int(x) for x in Dataset.range(1, 13).map(collatz)], [0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14, 9])

    def test_reduce_scan_and_group(self):
        self.count(lambda of: [Dataset.range(6).reduce(tf.constant(1, tf.int64), of(lambda s, x: s * 2 + x))])
        self.count(lambda of: Dataset.range(5).scan(tf.constant(0, tf.int64), of(lambda s, x: (s + x, s * x))))
        self.count(lambda of: Dataset.range(8).group_by_window(lambda x: x % 2, of(lambda key, w: w.batch(4)), 4))
        total, count = Dataset.range(5).reduce((tf.constant(0., tf.float64), 0), lambda s, x: (s[0] + tf.cast(x, tf.float64), s[1] + 1))
        self.assertEqual((float(total), int(count)), (10., 5))

        @tf.function
        def folded(data, start):
            return data.reduce(start, lambda s, x: s + x)

        self.assertEqual(int(folded(Dataset.range(5), *numbers(100))), 110)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "int64.*float32|float32.*int64"):
            Dataset.range(3).reduce(tf.constant(0, tf.int64), lambda s, x: tf.cast(s + x, tf.float32))

    def test_element_specs_are_known_at_once(self):
        data = Dataset.range(3).map(lambda x: (tf.cast(x, tf.float32), tf.zeros([2, 3])))
        self.assertEqual(data.element_spec, (tf.TensorSpec([], tf.float32), tf.TensorSpec([2, 3], tf.float32)))
        self.assertEqual(Dataset.range(5).batch(2).map(lambda x: tf.concat([x, x], 0)).element_spec, tf.TensorSpec([None], tf.int64))

    def test_random_numbers_are_drawn_for_each_element(self):
        def drawn():
            tf.random.set_seed(4)
            return [x.numpy().tolist() for x in Dataset.range(4).map(lambda x: tf.random.uniform([2]))]

        traced = drawn()
        with eager():
            self.assertEqual(drawn(), traced)
        self.assertEqual(len({tuple(x) for x in traced}), 4)

    def test_python_in_them(self):
        data = Dataset.range(3).map(lambda x: tf.py_function(lambda a: a.numpy() * 2, [x], tf.int64))
        self.assertEqual([int(x) for x in data], [0, 2, 4])
        with self.assertRaisesRegex(tf.errors.OperatorNotAllowedInGraphError, r"numpy\(\) needs a value"):
            Dataset.range(3).map(lambda x: x.numpy())
        with eager():
            self.assertEqual([int(x) for x in Dataset.range(3).map(lambda x: x.numpy() * 2)], [0, 2, 4])
        self.addCleanup(setattr, settings, "debug_mode", False)
        tf.data.experimental.enable_debug_mode()
        self.assertEqual([int(x) for x in Dataset.range(3).map(lambda x: x.numpy() * 2)], [0, 2, 4])

    def test_variables_are_read_for_each_element(self):
        v = tf.Variable(1, dtype=tf.int64)
        data = Dataset.range(3).map(lambda x: x * v)
        self.assertEqual([int(x) for x in data], [0, 1, 2])
        v.assign(10)
        self.assertEqual([int(x) for x in data], [0, 10, 20])

    def test_gradients_of_what_a_function_captures(self):
        v = tf.Variable(3.)

        @tf.function
        def total(data):
            loss = tf.constant(0.)
            for x in data.map(lambda x: tf.cast(x, tf.float32)):
                loss += x * v * v
            return loss

        with tf.GradientTape() as tape:
            loss = total(Dataset.range(4))
        self.assertEqual((float(loss), float(tape.gradient(loss, v))), (54., 36.))


@contextlib.contextmanager
def eager():
    """Inside, functions run eagerly."""
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


if __name__ == "__main__":
    unittest.main()
