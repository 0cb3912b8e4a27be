"""tf.debugging.lockstep: two runs of one function, compared op by op. What is put back for the second: test_lockstep_state.py."""
import inspect
import json
import threading
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine

lockstep = tf.debugging.lockstep
Difference = tf.errors.LockstepDifference
FLOAT32, FLOAT64 = {"dtype": "float32"}, {"dtype": "float64"}


def line_of(function, text):
    """The number of the function's line that holds the text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(place for place, line in enumerate(lines) if text in line)


def softplus(x):
    one = tf.exp(x) + 1.0
    return tf.math.log(one)


class EqualRuns(unittest.TestCase):
    def test_threads_give_the_same_bits(self):
        w = tf.Variable(tf.random.normal([256, 256], seed=1))

        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.softmax(w @ w) ** 2) + tf.reduce_sum(tf.sin(w))
            return tape.gradient(loss, w)

        threads = tf.config.get_num_threads()
        report = lockstep(step, {"threads": 1}, {"threads": 2})
        self.assertGreater(report.ops, 10)
        self.assertEqual((report.largest, report.where, report.statistics_only), (0, None, 0))
        np.testing.assert_array_equal(*report.results)
        self.assertEqual(tf.config.get_num_threads(), threads)
        self.assertIn("all values are the same", repr(report))
        self.assertIn("1 thread / 2 threads", repr(report))

    def test_counts_every_op_of_gradients(self):
        x = tf.constant([1.0, 2.0])

        def f():
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.exp(x) * x
            return tape.gradient(y, x)

        names = []
        tf.compat.v1
        from tapedeck import tfe
        tfe.add_execution_callback(lambda op, *rest: names.append(op))
        try:
            f()
        finally:
            tfe.clear_execution_callbacks()
        self.assertEqual(lockstep(f, None, None).ops, len(names))
        self.assertGreater(len(names), 3)

    def test_arguments_are_handed_on(self):
        report = lockstep(lambda a, b, c: a + b * c, None, None, tf.constant(1.0), 2.0, c=3.0)
        self.assertEqual([float(each) for each in report.results], [7, 7])

    def test_float64_agrees_where_no_digits_are_lost(self):
        w = tf.random.normal([64, 64], seed=3)
        report = lockstep(lambda: tf.tanh(w @ w / 64.0), FLOAT32, FLOAT64)
        self.assertEqual([each.dtype for each in report.results], [tf.float32, tf.float64])
        self.assertGreater(report.largest, 0)
        self.assertLess(report.largest, 1e-5)
        self.assertIn(report.where["name"], ("matmul", "divide", "tanh"))

    def test_an_object_and_a_device_are_settings(self):
        class Wide:
            dtype, threads = tf.float64, 2

        report = lockstep(lambda: tf.ones([2]) * 2.0, "/cpu:0", Wide)
        self.assertEqual(report.results[1].dtype, tf.float64)

    def test_what_is_no_setting_is_refused(self):
        for wrong in ({"dtypes": "float64"}, 3, {"threads": 0}, {"dtype": "int32"}):
            with self.assertRaisesRegex((TypeError, ValueError), "lockstep: .*a"):
                lockstep(lambda: None, wrong, None)
        with self.assertRaises(TypeError):
            lockstep(3, None, None)
        if not tf.config.list_physical_devices("GPU"):
            with self.assertRaisesRegex(tf.errors.NotFoundError, "there is no /gpu:0; this machine has 0 GPUs"):
                lockstep(lambda: None, "/cpu:0", "/gpu:0")


class Differences(unittest.TestCase):
    def test_finds_the_op_that_cancels(self):
        x = tf.constant([-20.0, -18.5, -21.0])
        with self.assertRaises(Difference) as raised:
            lockstep(softplus, FLOAT32, FLOAT64, x)
        error = raised.exception
        self.assertEqual((error.reason, error.op_name, error.number), ("value", "log", 3))
        self.assertEqual(error.line, line_of(softplus, "tf.math.log"))
        self.assertTrue(error.file.endswith("test_lockstep.py"))
        self.assertEqual(error.index, (1,))  # where e⁻¹⁸·⁵ is lost
        self.assertAlmostEqual(error.relative, 1)
        self.assertAlmostEqual(error.absolute / np.exp(-18.5), 1, places=5)
        self.assertEqual([each[0].dtype for each in error.outputs], [tf.float32, tf.float64])
        np.testing.assert_array_equal(error.inputs[0][0], [1, 1, 1])
        self.assertLess(error.inputs_apart, 1e-7)
        self.assertRegex(str(error), r"^lockstep: op 3, log \(line \d+ of test_lockstep.py\): element \[1\] of the output is 0 in the "
                                     r"first run \(float32\) and 9\.2\d+e-09 in the second \(float64\), a difference of 9.2\d*e-09 .*"
                                     r"Its inputs differ by 9\.2e-09 of their largest magnitude\.$")
        self.assertIsInstance(error, AssertionError)

    def test_an_overflow_is_a_difference(self):
        with self.assertRaises(Difference) as raised:
            lockstep(softplus, FLOAT32, FLOAT64, tf.constant(100.0))
        self.assertEqual((raised.exception.op_name, raised.exception.absolute), ("exp", float("inf")))

    def test_small_values_beside_large_ones_count_with_atol_0(self):
        x = tf.constant([-20.0, 20.0])
        self.assertGreater(lockstep(softplus, FLOAT32, FLOAT64, x).ops, 2)
        with self.assertRaises(Difference):
            lockstep(softplus, FLOAT32, FLOAT64, x, atol=0)

    def test_another_seed_shows_at_the_op_that_draws(self):
        def f():
            x = tf.ones([3]) * 2.0
            return x + tf.random.normal([3])

        with self.assertRaises(Difference) as raised:
            lockstep(f, {"seed": 1}, {"seed": 2})
        self.assertEqual(raised.exception.op_name, "random_normal")
        self.assertEqual(raised.exception.wrong, 3)
        self.assertIn("(seed 1)", str(raised.exception))
        self.assertEqual(lockstep(f, {"seed": 1}, {"seed": 1}).largest, 0)
        self.assertEqual(lockstep(f, None, None).largest, 0)

    def test_runs_that_part_are_named(self):
        def f(x):
            if float(tf.exp(x)) == float("inf"):
                return tf.zeros([])
            return tf.sqrt(x)

        with self.assertRaises(Difference) as raised:
            lockstep(f, FLOAT32, FLOAT64, tf.constant(100.0), rtol=float("inf"))
        error = raised.exception
        self.assertIn(error.reason, ("sequence", "value"))

        ways = iter([True, False])

        def parts():
            x = tf.ones([2])
            return tf.sin(x) if next(ways) else tf.cos(x)

        with self.assertRaises(Difference) as raised:
            lockstep(parts, None, None)
        error = raised.exception
        self.assertEqual((error.reason, error.op_name), ("sequence", "cos"))
        self.assertRegex(str(error), r"the runs part: the first goes on with op 2, sin \(line \d+ .*\), the second with op 2, cos")

    def test_runs_of_unequal_length_are_named(self):
        for lengths, reason, name in (((2, 3), "longer", "cos"), ((3, 2), "shorter", "cos")):
            turns = iter(lengths)

            def f():
                x = tf.ones([2])
                for _ in range(next(turns)):
                    x = tf.cos(x)

            with self.subTest(lengths), self.assertRaises(Difference) as raised:
                lockstep(f, None, None)
            self.assertEqual((raised.exception.reason, raised.exception.op_name), (reason, name))

    def test_shapes_and_whole_numbers_are_compared(self):
        shapes = iter([[2], [3]])
        with self.assertRaisesRegex(Difference, r"float32 \(2,\) in the first run and float32 \(3,\) in the second"):
            lockstep(lambda: tf.ones(next(shapes)), None, None)
        counts = iter([2**60, 2**60 + 1])
        with self.assertRaises(Difference) as raised:
            lockstep(lambda: tf.constant(next(counts), tf.int64) * 2, None, FLOAT64)
        self.assertEqual(raised.exception.absolute, 2)
        texts = iter(["a", "b"])
        with self.assertRaisesRegex(Difference, "texts"):
            lockstep(lambda: tf.strings.join([next(texts), "c"]), None, None)

    def test_the_traceback_leads_to_the_line(self):
        try:
            lockstep(softplus, FLOAT32, FLOAT64, tf.constant(-20.0))
        except Difference as error:
            lines, trace = [], error.__traceback__
            while trace:
                lines.append(trace.tb_lineno)
                trace = trace.tb_next
        self.assertIn(line_of(softplus, "tf.math.log"), lines)

    def test_it_stops_even_where_the_function_catches_everything(self):
        ran = []

        def f():
            x = tf.random.normal([3])
            try:
                x = tf.random.normal([3], seed=next(seeds))
            except Exception:
                pass
            ran.append(1)
            return x

        seeds = iter([1, 2])
        with self.assertRaises(Difference) as raised:
            lockstep(f, None, None)
        self.assertEqual(raised.exception.op_name, "random_normal")
        self.assertEqual(raised.exception.number, 2)

    def test_differences_inside_of_gradients_and_custom_gradients_are_found(self):
        @tf.custom_gradient
        def strange(x):
            def grad(dy):
                return tf.constant(np.full(3, next(factors), np.float32))
            return tf.identity(x), grad

        factors = iter([1.0, 2.0])
        x = tf.ones([3])

        def f():
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = strange(x)
            return tape.gradient(y, x)

        with self.assertRaises(Difference) as raised:
            lockstep(f, None, None)
        self.assertEqual((raised.exception.kind, raised.exception.wrong), ("vjp", 3))


class Exceptions(unittest.TestCase):
    def test_what_the_function_raises_comes_out_with_a_note(self):
        v = tf.Variable(1.0)
        for fails_in, note in ((1, "first run"), (2, "second run")):
            runs = iter([1, 2])

            def f():
                v.assign_add(1.0)
                if next(runs) == fails_in:
                    raise KeyError("mine")

            with self.subTest(note), self.assertRaises(KeyError) as raised:
                lockstep(f, {"threads": 1}, {"threads": 2})
            self.assertIn(note, raised.exception.__notes__[0])
            self.assertEqual(float(v), 1)
        self.assertFalse(_engine.lockstep.runs())
        self.assertEqual(lockstep(lambda: tf.ones([2]) + 1.0, None, None).ops, 2)

    def test_a_lockstep_inside_of_a_lockstep_is_refused(self):
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "cannot begin inside of a lockstep"):
            lockstep(lambda: lockstep(lambda: 1, None, None), None, None)
        self.assertFalse(_engine.lockstep.runs())

    def test_an_op_that_fails_in_both_runs_is_equal(self):
        def f():
            try:
                tf.debugging.check_numerics(tf.constant([1.0]) / 0.0, "not finite")
            except tf.errors.InvalidArgumentError:
                pass
            return tf.ones([2])

        self.assertEqual(lockstep(f, None, None).largest, 0)

    def test_ops_of_other_threads_pass(self):
        def f():
            def work():
                for _ in range(20):
                    tf.random.normal([3])
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            return tf.ones([2]) * 2.0

        self.assertEqual(lockstep(f, None, None).ops, 2)


class Memory(unittest.TestCase):
    def test_beyond_the_limit_statistics_are_compared(self):
        x = tf.random.normal([1000], seed=1)

        def f():
            y = x
            for _ in range(10):
                y = tf.sin(y)
            return y + (tf.one_hot(700, 1000) * next(shift))

        shift = iter([0.0, 0.0])
        report = lockstep(f, None, None, limit_bytes=20000)
        self.assertLessEqual(report.held_bytes, 20000)
        self.assertGreater(report.statistics_only, 5)
        self.assertIn("only statistics", repr(report))
        shift = iter([0.0, 1e-3])
        with self.assertRaises(Difference) as raised:
            lockstep(f, None, None, limit_bytes=0)
        self.assertEqual(raised.exception.op_name, "multiply")
        self.assertTrue(raised.exception.statistics_only)
        self.assertIsNone(raised.exception.outputs[0])
        self.assertIn("only statistics were left; a larger limit_bytes keeps them", str(raised.exception))
        shift = iter([0.0, 0.0])
        wide = lockstep(f, FLOAT32, FLOAT64, limit_bytes=0)
        self.assertGreater(wide.statistics_only, 5)

    def test_values_are_let_go_afterwards(self):
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
        lockstep(lambda: [tf.ones([100000]) * float(k) for k in range(20)] and None, None, None)
        self.assertLess(tf.config.experimental.get_memory_info("CPU:0")["current"], before + 1000000)


class WithRecorder(unittest.TestCase):
    def setUp(self):
        _engine.debug.attach()
        self.addCleanup(_engine.debug.stop)

    def test_both_runs_are_in_the_records_and_the_error_names_them(self):
        with self.assertRaises(Difference) as raised:
            lockstep(softplus, FLOAT32, FLOAT64, tf.constant(-20.0))
        records = {each["number"]: each for each in json.loads(_engine.debug.records_json())}
        first, second = raised.exception.records
        self.assertEqual([records[number]["op"] for number in (first, second)], ["log", "log"])
        self.assertLess(first, second)
        self.assertTrue(str(raised.exception).endswith(f"Records {first} and {second}."))

    def test_what_was_not_held_can_be_looked_up_in_its_record(self):
        values = iter([1.0, 2.0])
        with self.assertRaises(Difference) as raised:
            lockstep(lambda: tf.ones([1000]) * next(values), None, None, limit_bytes=0)
        self.assertRegex(str(raised.exception),
                         rf"only statistics were left; .* the window computes those of record {raised.exception.records[0]} "
                                                "again")

    def test_recording_may_begin_and_end_inside(self):
        def f():
            x = tf.ones([2])
            _engine.debug.set_recording(False)
            x = x + 1.0
            _engine.debug.set_recording(True)
            return x * 2.0

        before = _engine.debug.record_count()
        self.assertEqual(lockstep(f, None, None).ops, 3)
        self.assertEqual(_engine.debug.record_count(), before + 4)
        self.assertTrue(_engine.debug.recording())
        tf.ones([2]) + 1.0
        self.assertEqual(_engine.debug.record_count(), before + 6)


if __name__ == "__main__":
    unittest.main()
