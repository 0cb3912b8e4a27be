"""What Python may do with a tensor of a function that is being traced: everything but read its value, and no crash."""
import copy
import operator
import pickle
import subprocess
import sys
import textwrap
import traceback
import unittest

import numpy as np

import tapedeck as tf
from graph_mode import GraphCase

NotAllowed = tf.errors.OperatorNotAllowedInGraphError


def traced(function, *arguments):
    """What function(*tensors of a trace) returns; its own exceptions propagate."""
    found = []

    def body(*tensors):
        found.append(function(*tensors))

    tf.function(body, autograph=False).get_concrete_function(*arguments)
    return found[0]


class Reads(GraphCase):
    def refused(self, read, value=None, error=NotAllowed):
        """The text of the error that reading a symbolic tensor like the value gives."""
        value = tf.constant(1.) if value is None else value
        try:
            traced(read, value)
        except error as raised:
            self.assertRegex(str(raised), "function that is being traced")
            self.assertIn("body", [frame.name for frame in traceback.extract_tb(raised.__traceback__)])
            return str(raised)
        self.fail(f"{error.__name__} was not raised")

    def test_reading_a_value_is_an_error_that_says_what_to_do(self):
        for read in (float, int, bool, complex, lambda x: x.numpy(), np.asarray, np.array, lambda x: np.add(x, 1.), pickle.dumps,
                     lambda x: 1 if x > 0. else 2, lambda x: f"{x:.3f}", lambda x: x.__dlpack__(), lambda x: x.__dlpack_device__(),
                     lambda x: list(tf.reshape(x, [1]).numpy()), lambda x: not x, lambda x: x and 1):
            self.assertRegex(self.refused(read), "compute with ops|run_functions_eagerly")
        whole = tf.constant(1)
        for read in (operator.index, lambda x: [1, 2][x], range, lambda x: tf.transpose(tf.ones([1, 1]), conjugate=x)):
            self.assertIn("needs a value", self.refused(read, whole))
        self.refused(memoryview, error=BufferError)
        self.assertTrue(issubclass(NotAllowed, TypeError))

    def test_a_variable_is_not_read_while_a_function_is_traced(self):
        variable = tf.Variable(3.)
        for read in (lambda _: variable.numpy(), lambda _: float(variable), lambda _: np.asarray(variable), lambda _: f"{variable:.2f}"):
            self.refused(read)
        self.assertEqual(traced(lambda _: repr(variable), tf.constant(1.)), "<tf.Variable 'Variable:0' shape=() dtype=float32>")

    def test_what_needs_no_value_works(self):
        def look(x):
            return (x.shape.as_list(), x.dtype, len(x), x.ndim, repr(x), str(x), f"{x}", x.device, hash(x) == hash(x), copy.copy(x) is x,
                    copy.deepcopy(x) is x, len(list(x)), x.get_shape().rank, x.ref().deref() is x, repr(x * 2.))

        found = traced(look, tf.ones([2, 3]))
        self.assertEqual(found[:4], ([2, 3], tf.float32, 2, 2))
        self.assertRegex(found[4], r"^<tf.Tensor '\w+' shape=\(2, 3\) dtype=float32>$")
        self.assertRegex(found[5], r'^Tensor\("\w+", shape=\(2, 3\), dtype=float32\)$')
        self.assertEqual((found[6], found[7:14]), (found[5], ("", True, True, True, 2, 2, True)))
        self.assertRegex(found[14], r"^<tf.Tensor 'multiply_\d+:0' shape=\(2, 3\) dtype=float32>$")

    def test_a_tensor_outlives_its_trace_as_a_name_alone(self):
        kept = traced(lambda x: x + 1., tf.constant(1.))
        self.assertEqual(repr(kept), "<tf.Tensor 'of a trace that has ended' shape=() dtype=float32>")
        for read in (float, lambda x: x.numpy(), pickle.dumps):
            with self.assertRaisesRegex(NotAllowed, "the trace of a graph function, which has ended"):
                read(kept)
        with self.assertRaisesRegex(ValueError, "which has ended"):
            tf.function(lambda: kept + 1.)()
        variable = tf.Variable(2.)
        for assign in (lambda: variable.assign(kept), lambda: tf.Variable(kept)):
            with self.assertRaisesRegex(ValueError, "belongs to (the trace of )?a graph function"):
                assign()
        for write in (tf.io.encode_png, tf.io.serialize_tensor, tf.data.Dataset.from_tensors, lambda x: tf.constant(x).numpy()):
            with self.assertRaises((NotAllowed, ValueError, TypeError)):
                write(kept)
        self.assertEqual(variable.numpy(), 2.)

    def test_shapes_and_constants_are_known(self):
        def f(x):
            rows = tf.shape(x)[0]
            flat = tf.reshape(x, [rows * tf.shape(x)[1]])
            assert int(tf.size(x)) == 6 and tf.rank(x) == 2 and float(tf.constant(2.) * 3.) == 6.
            assert (tf.shape(x) * 2).numpy().tolist() == [4, 6] and [5, 6, 7][rows] == 7
            assert tf.reduce_prod(tf.shape(tf.zeros_like(x))) == 6
            return flat, tf.zeros(tf.shape(x)), tf.reduce_sum(x, axis=rows - 1), tf.tile(x, [rows, 1]), tf.fill([rows], 3.)

        x = tf.constant([[1., 2., 3.], [4., 5., 6.]])
        self.assertAsEager(f, x)

    def test_an_index_may_be_a_tensor(self):
        x = tf.reshape(tf.range(12.), [3, 4])
        index, other = tf.constant(1), tf.constant(-1)
        for f in (lambda x, i, j: x[i], lambda x, i, j: x[j], lambda x, i, j: x[i, j], lambda x, i, j: x[:, i], lambda x, i, j: x[1:, j],
                  lambda x, i, j: x[i, 1:3], lambda x, i, j: x[None, i], lambda x, i, j: x[..., j]):
            self.assertAsEager(f, x, index, other)
        with self.assertRaises((IndexError, ValueError)):
            tf.function(lambda x, i: x[i])(x, tf.constant(3))


class Crashes(unittest.TestCase):
    def test_no_method_of_a_symbolic_tensor_crashes(self):
        program = textwrap.dedent("""
            import inspect, sys
            import numpy as np
            import tapedeck as tf
            seen = set()
            arguments = [(), (1,), (None,), (2.,), ("f",), (slice(0, 1),), ([0],), (tf.ones([2, 3]),), (tf.float32,), (1, 2),
                         (0, None, None)]

            def use(x):
                for name in dir(type(x)):
                    if name in ("__class__", "__init_subclass__", "__new__", "__init__", "__del__"):
                        continue
                    try:
                        thing = getattr(x, name)
                    except Exception as error:
                        seen.add(type(error).__name__)
                        continue
                    if not callable(thing):
                        continue
                    for given in (*arguments, (x,), (x, x)):
                        try:
                            thing(*given)
                        except (Exception, SystemError) as error:
                            assert type(error) is not SystemError, (name, given, error)
                            seen.add(type(error).__name__)
                for function in (bytes, bytearray, memoryview, np.frombuffer, list, tuple, set, dict, sum, max, sorted, any, all, iter, len,
                                 reversed, abs, round, divmod, pow, str, repr, hash, id, complex, chr, hex, ord):
                    try:
                        function(x)
                    except Exception as error:
                        seen.add(type(error).__name__)

            variable = tf.Variable(3.)

            def body(a, b, c, d, e):
                for x in (a, b, c, d, e, a + 1., b[0], a[None], variable):
                    use(x)

            kept = []
            tf.function(body, autograph=False).get_concrete_function(
                tf.ones([2, 3]), tf.constant([1, 2]), tf.constant(True), tf.constant("text"), tf.constant(1j))
            tf.function(lambda a, b: kept.extend([a, b * 2]), autograph=False).get_concrete_function(tf.ones([2]), tf.constant(3))
            for x in kept:
                use(x)
            assert "OperatorNotAllowedInGraphError" in seen, seen
            print("done", len(seen))
        """)
        ended = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout[:4]), (0, "done"), ended.stderr[-2000:])

    def test_no_function_crashes_on_a_symbolic_tensor(self):
        program = textwrap.dedent("""
            import faulthandler, sys, types
            import tapedeck as tf
            from tapedeck._core.public import NAMES
            faulthandler.enable()
            skipped = {"app.run", "tfe.run", "test.main", "load_op_library", "sysconfig.get_include"}

            def body(a, b, c):
                for name, thing in sorted(NAMES.items()):
                    if not isinstance(thing, (types.FunctionType, types.BuiltinFunctionType, type)) or name in skipped or "set_" in name:
                        continue
                    if any(each in name for each in ("disable", "enable", "compat", "load_data", "reset", "clear", "debugging.lockstep",
                                                     "experimental_run", "function", "defun")):
                        continue
                    for given in ((a,), (b,), (c,), (a, a), (a, b), (b, b), (a, [b]), ([a, a],), (a, b, b)):
                        try:
                            thing(*given)
                        except Exception:
                            pass

            tf.function(body, autograph=False).get_concrete_function(tf.ones([2, 3]), tf.constant(1), tf.constant(["text"]))
            print("done")
        """)
        ended = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual((ended.returncode, ended.stdout[-5:]), (0, "done\n"), ended.stderr[-3000:])


if __name__ == "__main__":
    unittest.main()
