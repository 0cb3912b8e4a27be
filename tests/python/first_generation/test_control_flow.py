"""Control flow with TensorFlow's arguments, and tf.print."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

import numpy as np

import tapedeck as tf


class Choices(unittest.TestCase):
    def test_cond(self):
        x, y = tf.constant(2), tf.constant(5)
        self.assertEqual(int(tf.cond(x < y, lambda: x + y, lambda: x * y)), 7)
        self.assertEqual(int(tf.cond(False, lambda: x + y, lambda: x * y)), 10)
        self.assertEqual(tf.cond(True, lambda: {"a": (x, [y])}, lambda: None), {"a": (x, [y])})
        calls = []
        tf.cond(tf.constant(True), lambda: calls.append("true"), lambda: calls.append("false"))
        self.assertEqual(calls, ["true"])
        with self.assertRaisesRegex(TypeError, "cond: false_fn is 3; needs a function"):
            tf.cond(True, lambda: 1, 3)
        with self.assertRaisesRegex(ValueError, r"cond: pred has shape \(2,\); needs a scalar"):
            tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2)

    def test_what_a_function_raises_passes_through(self):
        def fails():
            raise KeyError("mine")

        for call in (lambda: tf.cond(True, fails, fails), lambda: tf.case([(True, fails)]),
                     lambda: tf.switch_case(0, [fails]), lambda: tf.while_loop(lambda i: fails(), lambda i: i, [1]),
                     lambda: tf.map_fn(lambda x: fails(), tf.ones([2])), lambda: tf.foldl(lambda a, x: fails(), tf.ones([2]))):
            with self.assertRaisesRegex(KeyError, "^'mine'$"):
                call()

    def test_case(self):
        def pick(x, **arguments):
            x = tf.constant(x)
            return tf.case([(x < 0, lambda: "below"), (x < 10, lambda: "small")], **arguments)

        self.assertEqual((pick(-1), pick(3), pick(30, default=lambda: "large")), ("below", "small", "large"))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "none of the 2 preds holds"):
            pick(30)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"exclusive, but the preds of the pairs \[0, 1\] hold"):
            pick(-1, exclusive=True)
        self.assertEqual(pick(3, exclusive=True), "small")
        self.assertEqual(tf.case([(np.bool_(False), int), (np.bool_(True), lambda: "NumPy's")]), "NumPy's")
        for pairs, pattern in (([(1, int)], "the pred of pred_fn_pairs.0. is 1; needs a bool"), ([True], "needs a pair"),
                               ([(True, 2)], "needs a function"), ([(tf.constant(1), int)], "needs a bool"),
                               (3, "case: pred_fn_pairs is 3; needs a list or a dict")):
            with self.assertRaisesRegex(TypeError, pattern):
                tf.case(pairs)

    def test_switch_case(self):
        functions = [lambda: 17, lambda: 31]
        self.assertEqual([tf.switch_case(tf.constant(i), functions) for i in (0, 1, 2, -1)], [17, 31, 31, 31])
        self.assertEqual(tf.switch_case(5, functions, default=lambda: 0), 0)
        self.assertEqual(tf.switch_case(7, {7: lambda: "seven", 3: lambda: "three"}), "seven")
        self.assertEqual(tf.switch_case(4, [(7, lambda: "seven"), (3, lambda: "three")]), "seven")
        for arguments, kind, pattern in (((0., functions), TypeError, "branch_index is float32"), ((0, []), ValueError, "empty"),
                                         (([0, 1], functions), (ValueError, TypeError), "branch_index"),
                                         ((0, [3]), TypeError, "needs a function"), ((0, 3), TypeError, "branch_fns is 3; needs a list"),
                                         ((0, [(1, int), (1, int)]), ValueError, "the number 1 occurs twice")):
            with self.assertRaisesRegex(kind, "switch_case: .*" + pattern):
                tf.switch_case(*arguments)


class Loops(unittest.TestCase):
    def test_while_loop(self):
        i, total = tf.while_loop(lambda i, total: i < 5, lambda i, total: (i + 1, total + i), (tf.constant(0), tf.constant(0)))
        self.assertEqual((int(i), int(total)), (5, 10))
        result = tf.while_loop(lambda i: i < 100, lambda i: i * 2, [tf.constant(1)], maximum_iterations=3)
        self.assertEqual((type(result), int(result[0])), (list, 8))
        self.assertEqual(int(tf.while_loop(lambda i: False, lambda i: [i], [7])[0]), 7)
        nested = tf.while_loop(lambda i, state: i < 2, lambda i, state: [i + 1, {"x": (state["x"][0] * 3.,)}],
                               [tf.constant(0), {"x": (tf.constant(1.),)}])
        self.assertEqual(float(nested[1]["x"][0]), 9.)

    def test_while_loop_is_differentiable(self):
        x = tf.constant(2.)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, tf.constant(1.)))[1]
        self.assertEqual(float(tape.gradient(y, x)), 12.)

    def test_while_loop_refuses(self):
        for arguments, kind, pattern in (
                ((lambda i: True, lambda i: (i, i), [1]), ValueError, r"the result of body has the form \(·, ·\); needs \[·\]"),
                ((lambda i: True, lambda i: i, []), ValueError, "loop_vars is empty"),
                ((lambda i: True, lambda i: i, 3), TypeError, "loop_vars is int"), ((1, 2, [3]), TypeError, "cond is 1"),
                ((lambda x: x < 3, lambda x: x, [tf.ones([2])]), ValueError, r"the result of cond has shape \(2,\)"),
                ((lambda i: True, lambda i: i, [1], None, 10, True, False, 1.5), TypeError, "maximum_iterations is 1.5; needs an integer")):
            with self.assertRaisesRegex(kind, "while_loop: .*" + pattern):
                tf.while_loop(*arguments)


class Maps(unittest.TestCase):
    def test_map_fn(self):
        rows = np.arange(6.).reshape(3, 2)
        np.testing.assert_array_equal(tf.map_fn(lambda row: tf.reduce_sum(row), rows).numpy(), rows.sum(1))
        both = tf.map_fn(lambda pair: (pair[0] + pair[1], pair[0] - pair[1]), (rows, rows * 2))
        self.assertIsInstance(both, tuple)
        np.testing.assert_array_equal(both[1].numpy(), -rows)
        named = tf.map_fn(lambda row: {"largest": tf.argmax(row)}, rows, fn_output_signature={"largest": tf.int64})
        self.assertEqual(named["largest"].numpy().tolist(), [1, 1, 1])
        self.assertEqual(tf.map_fn(lambda x: 2, tf.constant([1., 2.]), dtype=tf.int32).numpy().tolist(), [2, 2])
        empty = tf.map_fn(lambda x: self.fail(), tf.zeros([0, 2]), fn_output_signature=tf.int64)
        self.assertEqual((empty.shape, empty.dtype), ((0,), tf.int64))

    def test_map_fn_refuses(self):
        ones = tf.ones([2])
        for arguments, pattern in (((lambda x: x, (ones, tf.ones([3]))), r"the extents \[2, 3\]; needs equal ones"),
                                   ((lambda x: x, tf.constant(1.)), "elems has a scalar"),
                                   ((lambda x: x, ones, tf.int32), "fn returns float32; fn_output_signature is int32")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "map_fn: .*" + pattern):
                tf.map_fn(*arguments)
        results = iter([1, (1, 2)])
        with self.assertRaisesRegex(ValueError, r"map_fn: result 1 of fn has the form \(·, ·\); needs ·"):
            tf.map_fn(lambda x: next(results), ones)
        with self.assertRaisesRegex(ValueError, r"map_fn: result 1 of fn is float32 \(2,\), result 0 float32 \(1,\)"):
            tf.map_fn(lambda n: tf.zeros([n]), tf.constant([1, 2]))
        with self.assertRaisesRegex(TypeError, "map_fn: result 0 of fn holds None; needs tensors"):
            tf.map_fn(lambda x: None, ones)
        with self.assertRaisesRegex(TypeError, "map_fn: fn is None"):
            tf.map_fn(None, ones)

    def test_gradients_go_through_map_fn(self):
        x = tf.constant([1., 2., 3.])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.map_fn(lambda e: e * e, x)
        self.assertEqual(tape.gradient(y, x).numpy().tolist(), [2, 4, 6])

    def test_vectorized_map(self):
        a, b = np.arange(6.).reshape(3, 2), np.array([[10., 20.]])
        np.testing.assert_array_equal(tf.vectorized_map(lambda pair: pair[0] + pair[1], (a, b)).numpy(), a + b)
        with self.assertRaisesRegex(ValueError, r"vectorized_map: .*the extents \[3, 2\]"):
            tf.vectorized_map(lambda pair: pair[0], (a, a[:2]))

    def test_scan(self):
        x = np.array([1, 2, 3, 4])
        np.testing.assert_array_equal(tf.scan(lambda a, e: a + e, x).numpy(), np.cumsum(x))
        np.testing.assert_array_equal(tf.scan(lambda a, e: a + e, x, reverse=True).numpy(), np.cumsum(x[::-1])[::-1])
        np.testing.assert_array_equal(tf.scan(lambda a, e: a * e, x, initializer=np.int64(10)).numpy(), 10 * np.cumprod(x))
        fibonacci = tf.scan(lambda a, _: (a[1], a[0] + a[1]), np.zeros(6), initializer=(0, 1))
        self.assertEqual(fibonacci[1].numpy().tolist(), [1, 2, 3, 5, 8, 13])
        none = tf.scan(lambda a, e: a, np.zeros((0, 2)), initializer=tf.ones([3]))
        self.assertEqual((none.shape, none.dtype), ((0, 3), tf.float32))
        for arguments, pattern in (((lambda a, e: (a, e), x), "the result of fn has the form"),
                                   ((lambda a, e: a, x[:0]), "elems is empty, and there is no initializer")):
            with self.assertRaisesRegex(ValueError, "scan: .*" + pattern):
                tf.scan(*arguments)

    def test_folds(self):
        x = np.array([1., 2., 3.])
        self.assertEqual(float(tf.foldl(lambda a, e: a - e, x)), (1 - 2) - 3)
        self.assertEqual(float(tf.foldr(lambda a, e: a - e, x)), (3 - 2) - 1)
        self.assertEqual(float(tf.foldl(lambda a, e: a * 10. + e, x, initializer=tf.constant(0., tf.float64))), 123.)
        self.assertEqual(float(tf.foldr(lambda a, e: a * 10. + e, x, initializer=tf.constant(0., tf.float64))), 321.)
        self.assertEqual(int(tf.foldl(lambda a, e: a, x[:0], initializer=5)), 5)
        pair = tf.foldl(lambda a, e: (a[0] + e[0], a[1] * e[1]), (x, x), initializer=(np.zeros(()), np.ones(())))
        self.assertEqual((float(pair[0]), float(pair[1])), (6., 6.))


class Print(unittest.TestCase):
    def shown(self, *inputs, **arguments):
        stream = io.StringIO()
        self.assertIsNone(tf.print(*inputs, output_stream=stream, **arguments))
        return stream.getvalue()

    def test_tensors_look_as_in_tensorflow(self):
        for value, text in ((tf.range(10), "[0 1 2 ... 7 8 9]"), (tf.range(6), "[0 1 2 3 4 5]"), (tf.constant(3), "3"),
                            (tf.constant([True, False]), "[1 0]"), (tf.constant([.1, 1., 1e10]), "[0.1 1 1e+10]"),
                            (tf.constant(np.pi, tf.float32), "3.14159274"), (tf.constant(np.pi, tf.float64), "3.1415926535897931"),
                            (tf.constant(.1, tf.float64), "0.1"), (tf.constant([np.inf, -np.inf, np.nan]), "[inf -inf nan]"),
                            (tf.zeros([0]), "[]"), (tf.reshape(tf.range(4), [2, 2]), "[[0 1]\n [2 3]]"),
                            (tf.reshape(tf.range(4), [2, 1, 2]), "[[[0 1]]\n\n [[2 3]]]"), (tf.Variable([1., 2.]), "[1 2]"),
                            (tf.constant(1, tf.int8), "1"), (tf.constant(.1, tf.float16), "0.0999755859")):
            self.assertEqual(self.shown(value), text + "\n")

    def test_summarize(self):
        x = tf.reshape(tf.range(25), [5, 5])
        self.assertEqual(self.shown(x, summarize=1), "[[0 ... 4]\n ...\n [20 ... 24]]\n")
        self.assertEqual(self.shown(tf.range(10), summarize=-1), "[0 1 2 3 4 5 6 7 8 9]\n")
        self.assertEqual(self.shown(tf.range(10), summarize=0), "[...]\n")
        self.assertEqual(self.shown(tf.range(10), summarize=np.int64(1)), "[0 ... 9]\n")

    def test_other_values_and_separators(self):
        x = tf.constant([1, 2])
        self.assertEqual(self.shown("x:", x, 2.5, None), "x: [1 2] 2.5 None\n")
        self.assertEqual(self.shown("a", "b", sep="-", end="!"), "a-b!")
        self.assertEqual(self.shown({"k": [x, "s"], "n": 1}), "{'k': [[1 2], 's'], 'n': 1}\n")
        self.assertEqual(self.shown("{}", [x, "{}"]), "{} [[1 2], '{}']\n")
        self.assertEqual(self.shown(), "\n")

    def test_where_it_goes(self):
        for name, redirect in (("stderr", contextlib.redirect_stderr), ("stdout", contextlib.redirect_stdout)):
            with redirect(io.StringIO()) as stream:
                tf.print("here", **({} if name == "stderr" else {"output_stream": sys.stdout}))
            self.assertEqual(stream.getvalue(), "here\n")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            for line in ("first", "second"):
                tf.print(line, output_stream="file://" + path)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "first\nsecond\n")
        with self.assertRaisesRegex(ValueError, "print: output_stream is 'nowhere'"):
            tf.print(1, output_stream="nowhere")
        with self.assertRaisesRegex(ValueError, "print: summarize is -2"):
            tf.print(1, summarize=-2)


if __name__ == "__main__":
    unittest.main()
