"""Records have the call as the program wrote it, where the source is known and is what runs."""
import importlib
import json
import linecache
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
import warnings

import tapedeck as tf
from tapedeck import _engine

debug = _engine.debug
COLUMNS = hasattr(compile("", "", "exec"), "co_positions")  # Python 3.10 knows lines alone


class WrittenCalls(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        self.addCleanup(debug.stop)
        debug.attach(files_are_cells=True)
        self.files = 0

    def path(self, name):
        return os.path.join(self.folder, f"{name}.py")

    def write(self, text, name=None):
        self.files += 1
        name = name or f"written_calls_{id(self)}_{self.files}"
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return name

    def load(self, name):
        self.addCleanup(sys.modules.pop, name, None)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    def calls(self, text):
        """(op, call) of each record of a module of this text."""
        return self.calls_of(lambda: self.load(self.write(text)))

    def calls_of(self, run):
        known = len(json.loads(debug.records_json()))
        run()
        return [(one["op"], one["call"]) for one in json.loads(debug.records_json())[known:]]

    def assertWritten(self, found, columns, lines):
        self.assertEqual(found, columns if COLUMNS else lines)

    def test_expressions_statements_and_calls_of_functions_that_are_not_the_users(self):
        found = self.calls("""
            import tapedeck as tf
            x = tf.constant([1., 2.])
            y = tf.nn.relu(tf.exp(x) * 2.)  # twice
            y += x
            z = y[0]; w = -z
            layer = tf.keras.layers.Activation(tf.tanh)
            v = layer(x)
        """)
        self.assertWritten([call for _, call in found],
                           ["tf.exp(x)", "tf.exp(x) * 2.", "tf.nn.relu(tf.exp(x) * 2.)", "y += x", "y[0]", "-z", "layer(x)"],
                           [*["y = tf.nn.relu(tf.exp(x) * 2.)  # twice"] * 3, "y += x", *["z = y[0]; w = -z"] * 2, "v = layer(x)"])

    @unittest.skipUnless(COLUMNS, "Python 3.10 knows lines alone")
    def test_calls_on_several_lines_and_letters_of_several_bytes(self):
        found = self.calls('''
            import tapedeck as tf
            def größe(Δ):
                    if True:
                        return tf.add(Δ, tf.square(
                            Δ,
                            name="ΔΔ",  # twice
                        ))
            "Ω"; größe(tf.constant(2.))
            class Chain:
                def __init__(self, value): self.value = value
                def next(self): return Chain(self.value * 2.)
                two = property(lambda self: self.next())
            chained = (Chain(tf.constant(1.))
                       .next()  # the first
                       .next().two)
        ''')
        inner = 'tf.square(\n    Δ,\n    name="ΔΔ",  # twice\n)'
        self.assertEqual([call for _, call in found], [inner, f"tf.add(Δ, {inner})", *["self.value * 2."] * 3])

    @unittest.skipUnless(COLUMNS, "Python 3.10 knows lines alone")
    def test_a_method_on_a_line_of_its_own_has_what_it_is_called_of(self):
        text = "import types\nBox = lambda tf: types.SimpleNamespace(net=tf)\nmade = (Box(tf)\n   .net\n   .exp(1.))\n"
        linecache.cache["<chain>"] = len(text), None, text.splitlines(True), "<chain>"
        self.addCleanup(linecache.cache.pop, "<chain>")
        found = self.calls_of(lambda: exec(compile(text, "<chain>", "exec"), {"tf": tf}))
        self.assertEqual(found, [("exp", "Box(tf)\n   .net\n   .exp(1.)")])

    def test_a_tape_its_vjps_and_a_function_with_a_gradient_of_its_own(self):
        found = self.calls("""
            import tapedeck as tf
            @tf.custom_gradient
            def half(x):
                def grad(dy):
                    return dy * 0.5
                return x / 2., grad
            x = tf.constant(3.)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.square(half(x))
            dx = tape.gradient(y, x)
        """)
        by_op = {}
        for op, call in found:
            by_op.setdefault(op, []).append(call)
        if COLUMNS:
            self.assertIn("half(x)", by_op["half"])
            self.assertEqual(by_op["gradient"], ["tape.gradient(y, x)"])
            self.assertEqual(by_op["square"], ["tf.square(half(x))", "tape.gradient(y, x)"])
            self.assertIn("dy * 0.5", by_op["multiply"])
        else:
            self.assertEqual(by_op["gradient"], ["dx = tape.gradient(y, x)"])

    @unittest.skipUnless(COLUMNS, "Python 3.10 knows lines alone")
    def test_graph_functions_have_the_calls_that_were_traced(self):
        found = self.calls("""
            import tapedeck as tf
            @tf.function
            def f(x):
                if tf.reduce_sum(x) > 0.:
                    x = tf.exp(x) + 1.
                return tf.tanh(x)
            f(tf.constant([1.]))
        """)
        calls = dict(found)
        self.assertEqual((calls["exp"], calls["add"], calls["tanh"], calls["reduce_sum"]),
                         ("tf.exp(x)", "tf.exp(x) + 1.", "tf.tanh(x)", "tf.reduce_sum(x)"), found)

    def test_code_without_a_source_has_no_call(self):
        text = "y = tf.exp(1.)"
        self.assertEqual(self.calls_of(lambda: exec(text, {"tf": tf})), [("exp", "")])
        self.assertEqual(self.calls_of(lambda: exec(compile(text, "/nowhere/at/all.py", "exec"), {"tf": tf})), [("exp", "")])
        other = self.path(self.write("y = tf.tan(1.)\n"))  # a file of that name that says something else
        self.assertEqual(self.calls_of(lambda: exec(compile(text, other, "exec"), {"tf": tf})), [("exp", "")])

    def test_a_file_that_changed_since_it_was_imported_is_not_read(self):
        name = self.write("import tapedeck as tf\ndef f(): return tf.exp(1.)\ndef g(): return tf.exp(2.)\n")
        module = self.load(name)
        self.write("import tapedeck as tf\ndef f(): return tf.exp(8.)\ndef g(): return tf.exp(2.)\n", name)
        self.assertEqual(self.calls_of(module.f), [("exp", "")])
        line = "tf.exp(2.)" if COLUMNS else "def g(): return tf.exp(2.)"
        self.assertEqual(self.calls_of(module.g), [("exp", line)])  # this function did not change
        os.remove(self.path(name))
        self.assertEqual(self.calls_of(module.g), [("exp", line)])  # known already

    def test_a_file_that_changed_and_was_imported_again_is_read_again(self):
        name = self.write("import tapedeck as tf\ndef f(): return tf.exp(1.)\n")
        before = self.load(name).f
        self.calls_of(before)
        self.write("import tapedeck as tf\n\n\ndef f():\n    return tf.exp(\n        3.)\n", name)
        linecache.clearcache()
        sys.modules.pop(name)
        sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
        try:
            os.utime(self.path(name), (1, 1))
            module = self.load(name)
        finally:
            sys.dont_write_bytecode = kept
        self.assertWritten(self.calls_of(module.f), [("exp", "tf.exp(\n    3.)")], [("exp", "return tf.exp(")])
        self.assertEqual(self.calls_of(before)[0][1], "tf.exp(1.)" if COLUMNS else "def f(): return tf.exp(1.)")

    def test_a_very_long_call_says_how_much_is_not_shown(self):
        (_, call), = self.calls(f"import tapedeck as tf\ny = tf.exp([{'1., ' * 3000}])\n")
        self.assertRegex(call, r"^(y = )?tf\.exp\(\[1\., .*… \([89],\d\d\d more characters\)$")
        self.assertLess(len(call), 4100)

    def test_the_compilers_warnings_do_not_come_again(self):
        text = "import tapedeck as tf\nif 1 is 1: y = tf.exp(1.)\n"

        def warned(run):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                run()
                self.assertNotIn(("ignore", None, Warning, None, 0), warnings.filters)
            return [str(each.message) for each in seen]

        expected = warned(lambda: compile(text, "once", "exec"))
        self.assertEqual(len(expected), 1)
        name = self.write(text)
        found = []
        self.assertEqual(warned(lambda: found.extend(self.calls_of(lambda: self.load(name)))), expected)
        self.assertWritten(found, [("exp", "tf.exp(1.)")], [("exp", "if 1 is 1: y = tf.exp(1.)")])

    def test_a_program_without_positions_has_its_lines(self):
        name = self.write("""
            import json
            import tapedeck as tf
            from tapedeck import _engine
            _engine.debug.attach(files_are_cells=True)
            x = tf.add(tf.constant(1.),  # one
                       2.)
            print(json.dumps([(one["call"], one["call_is_line"]) for one in json.loads(_engine.debug.records_json())]))
        """)
        for options, expected in (([], [["tf.add(tf.constant(1.),  # one\n           2.)", False]] if COLUMNS else None),
                                  (["-X", "no_debug_ranges"], [["x = tf.add(tf.constant(1.),  # one", True]])):
            done = subprocess.run([sys.executable, *options, self.path(name)], capture_output=True, text=True, timeout=60, check=True)
            self.assertEqual(json.loads(done.stdout), expected or [["x = tf.add(tf.constant(1.),  # one", True]])


if __name__ == "__main__":
    unittest.main()
