"""Python's own profilers see each op by its name, and native ones its kernel."""
import copy
import cProfile
import functools
import inspect
import pickle
import pstats
import shutil
import subprocess
import sys
import unittest

import tapedeck as tf
from tapedeck import _engine



def counts(function):
    """How often cProfile saw each built-in function, by its text."""
    profile = cProfile.Profile()
    profile.runcall(function)
    return {name: row[1] for (_, _, name), row in pstats.Stats(profile).stats.items()}


def events(function):
    found = []

    def see(frame, event, arg):
        if event.startswith("c_") and getattr(arg, "__module__", "").startswith("tapedeck"):
            found.append((event, f"{arg.__module__}.{arg.__qualname__}"))

    sys.setprofile(see)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


class ProfilersOfPython(unittest.TestCase):
    def test_cprofile_counts_each_call_by_name(self):
        a = tf.ones([2, 2])

        def f():
            for _ in range(7):
                tf.matmul(a, a, transpose_b=True)
            for _ in range(5):
                tf.exp(a)
            tf.linalg.matmul(a, a)

        found = counts(f)
        self.assertEqual(found["<built-in method tapedeck.matmul>"], 8)
        self.assertEqual(found["<built-in method tapedeck.exp>"], 5)

    def test_cprofile_counts_operators_by_their_ops(self):
        a, v = tf.ones([2, 2]), tf.Variable([[1.0, 2.0], [3.0, 4.0]])

        def f():
            for _ in range(3):
                (a + 1.0) @ a
                -a
                2.0 * v
                a < v

        found = counts(f)
        for name in ("add", "matmul", "negative", "multiply", "less"):
            self.assertEqual(found[f"<built-in method tapedeck.{name}>"], 3, name)

    def test_cprofile_counts_methods(self):
        a, v = tf.ones([2]), tf.Variable([1.0])

        def f():
            v.assign_add([1.0])
            a.numpy()
            with tf.GradientTape() as tape:
                tape.watch(a)
                y = a * a
            tape.gradient(y, a)

        names = " ".join(counts(f))
        for method in ("'assign_add' of 'tapedeck.Variable'", "'numpy' of 'tapedeck.Tensor'", "gradient"):
            self.assertIn(method, names)

    def test_setprofile_sees_calls_and_returns(self):
        a = tf.ones([2])

        def f():
            tf.exp(a)
            a * a

        self.assertEqual(events(f), [("c_call", "tapedeck.exp"), ("c_return", "tapedeck.exp"), ("c_call", "tapedeck.multiply"),
                                     ("c_return", "tapedeck.multiply")])

    def test_setprofile_sees_failures(self):
        def f():
            try:
                tf.ones([2]) + tf.ones([3])
            except tf.errors.InvalidArgumentError:
                pass

        self.assertEqual(events(f)[-2:], [("c_call", "tapedeck.add"), ("c_exception", "tapedeck.add")])

    def test_what_a_profile_function_raises_comes_out(self):
        def see(frame, event, arg):
            if event == "c_call" and arg is tf.add:
                raise KeyError("mine")

        a = tf.ones([2])
        with self.assertRaises(KeyError):
            sys.setprofile(see)
            try:
                a + a
            finally:
                sys.setprofile(None)
        self.assertEqual((a + a).numpy().tolist(), [2, 2])


class OpFunctions(unittest.TestCase):
    def test_they_are_found_where_their_names_say(self):
        self.assertEqual((tf.matmul.__name__, tf.matmul.__qualname__, tf.matmul.__module__), ("matmul", "matmul", "tapedeck"))
        self.assertTrue(inspect.isbuiltin(tf.matmul))
        self.assertEqual(repr(tf.matmul), "<built-in function matmul>")
        for name, function in _engine._functions_by_op.items():
            with self.subTest(name):
                self.assertEqual(function.__self__.op_name, name)
                self.assertIs(getattr(sys.modules[function.__module__], function.__name__), function)
                for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                    self.assertIs(pickle.loads(pickle.dumps(function, protocol)), function)
                self.assertIs(copy.deepcopy(function), function)

    def test_signatures_say_what_the_registry_says(self):
        for name, function in _engine._functions_by_op.items():
            with self.subTest(name):
                parameters = inspect.signature(function).parameters
                told = [each[0] for each in function.__self__.parameters]
                self.assertEqual(list(parameters), told if "name" in told else told + ["name"])
                for parameter, _, default in function.__self__.parameters:
                    found = parameters[parameter].default
                    if default is ...:
                        self.assertIs(found, inspect.Parameter.empty)
                    else:
                        wanted = default.name if isinstance(default, tf.DType) else default
                        self.assertEqual(tuple(found) if isinstance(found, list) else found, wanted)
                self.assertTrue(function.__doc__.strip())
        self.assertIn("transpose_b", str(inspect.signature(tf.matmul)))

    def test_they_are_used_as_any_function(self):
        a = tf.ones([2, 2])
        self.assertEqual(functools.partial(tf.matmul, transpose_b=True)(a, a).numpy().tolist(), [[2, 2], [2, 2]])
        self.assertEqual({tf.matmul: 1}[tf.linalg.matmul], 1)
        self.assertNotEqual(tf.add, tf.multiply)

        class Holder:
            f = tf.exp

        self.assertIs(Holder().f, tf.exp)
        original, calls = tf.exp, []
        try:
            tf.exp = lambda x: calls.append(x) or original(x)
            tf.exp(a)
        finally:
            tf.exp = original
        self.assertEqual(len(calls), 1)
        with self.assertRaises(TypeError):
            type(tf.exp.__self__)()


@unittest.skipUnless(shutil.which("nm"), "nm reads the module's symbols; Debian's package is binutils")
class NativeProfilers(unittest.TestCase):
    def test_the_module_names_its_kernels(self):
        symbols = subprocess.run(["nm", "-C", "--defined-only", _engine.__file__], capture_output=True, text=True, check=True).stdout
        for name in ("tapedeck::run_op", "matmul_forward", "matmul_vjp", "binary_loop<float, float", "Pool::worker", "Playback::play"):
            self.assertIn(name, symbols)


if __name__ == "__main__":
    unittest.main()
