"""The acceptance programs, each as one function: converted they print what they print in Python, and raise what they raise."""
import ast
import contextlib
import glob
import io
import linecache
import os
import unittest

import numpy as np

import tapedeck as tf

FOLDER = os.environ.get("TAPEDECK_PROGRAMS", "")


def as_function(path):
    """The program as a function without arguments, under the program's own file name and lines."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    (function,) = ast.parse("def program():\n    pass").body
    function.body = tree.body
    text = ast.unparse(ast.fix_missing_locations(ast.Module([function], [])))
    name = f"<{os.path.basename(path)}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), space)
    return space["program"]


def printed(function):
    tf.random.set_seed(3)
    np.random.seed(3)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            function()
        except Exception as error:
            return out.getvalue(), type(error).__name__, str(error)
    return out.getvalue(), None


@unittest.skipUnless(FOLDER, "the folder of the acceptance programs is not given; set the environment variable TAPEDECK_PROGRAMS")
class Programs(unittest.TestCase):
    def test_each_prints_what_it_prints_in_python(self):
        paths, passed = sorted(glob.glob(os.path.join(FOLDER, "[0-9]*.py"))), 0
        self.assertGreater(len(paths), 15)
        for path in paths:
            with self.subTest(os.path.basename(path)):
                function = as_function(path)
                wanted = printed(function)
                self.assertEqual(printed(tf.autograph.to_graph(function)), wanted)
                passed += wanted[1] is None
        self.assertGreater(passed, 15)


if __name__ == "__main__":
    unittest.main()
