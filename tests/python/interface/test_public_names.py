"""How names get into `tf.`: the registry's rows, and the table that @public fills where things are defined."""
import ast
import inspect
import pathlib
import pickle
import subprocess
import sys
import types
import unittest

import tapedeck as tf
from tapedeck import _engine
from tapedeck._core import namespaces, public

PACKAGE = pathlib.Path(tf.__file__).parent


def found(path):
    """The object under tf.<path>."""
    value = tf
    for name in path.split("."):
        value = getattr(value, name)
    return value


class Names(unittest.TestCase):
    def test_each_name_of_the_table_is_in_its_place(self):
        self.assertGreater(len(public.NAMES), 1500)
        for path, thing in public.NAMES.items():
            wanted = namespaces._submodule(thing) if isinstance(thing, public.Namespace) else thing
            self.assertIs(found(path), wanted, path)
            namespace, _, name = path.rpartition(".")
            self.assertIn(name, namespaces._submodule(namespace).__all__, path)

    def test_a_namespace_lists_the_tables_and_the_registrys_names_alone(self):
        known = {*public.NAMES, *_engine.op_functions, *public.LATER,
                 *(module.__name__.removeprefix("tapedeck.") for module in namespaces.public_modules())}
        for module in namespaces.public_modules():
            path = module.__name__.removeprefix("tapedeck").lstrip(".")
            for name in module.__all__:
                self.assertIn(f"{path}.{name}" if path else name, known)
            self.assertEqual(len(set(module.__all__)), len(module.__all__), path)

    def test_every_file_that_names_something_is_loaded_or_comes_later(self):
        loaded = subprocess.run([sys.executable, "-c", "import sys, tapedeck; print(*sys.modules)"], capture_output=True, text=True,
                                check=True).stdout.split()
        later = tuple(set(public.LATER.values()))
        for file in sorted(PACKAGE.rglob("*.py")):
            parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            tree = ast.parse(file.read_text(encoding="utf-8"))
            names = any(isinstance(node, ast.Call) and getattr(node.func, "id", "") == "public" for node in ast.walk(tree))
            if names and not module.startswith(later):
                self.assertIn(module, loaded)

    def test_a_namespace_with_a_file_is_that_file(self):
        tf.contrib.learn.datasets.mnist, tf.contrib.cudnn_rnn, tf.flags, tf.logging, tf.app
        for module in namespaces.public_modules():
            path = PACKAGE.joinpath(*module.__name__.split(".")[1:])
            has_file = path.with_suffix(".py").exists() if path != PACKAGE else True
            self.assertEqual(hasattr(module, "__file__"), has_file or (path / "__init__.py").exists(), module.__name__)

    def test_a_name_cannot_mean_two_things(self):
        with self.assertRaisesRegex(AssertionError, "tf.matrix_transpose names two things"):
            public.public("matrix_transpose")(lambda: None)

    def test_functions_and_classes_are_pickled_by_their_public_place(self):
        for path, thing in public.NAMES.items():
            if isinstance(thing, types.FunctionType) and "<" not in thing.__qualname__ and thing.__module__.startswith("tapedeck."):
                if found(path) is thing and path.rpartition(".")[2] == thing.__name__:
                    self.assertNotIn("._", thing.__module__, path)
        for thing in (tf.einsum, tf.nn.conv2d, tf.errors.InvalidArgumentError, tf.initializers.Zeros, tf.TensorShape):
            self.assertIs(pickle.loads(pickle.dumps(thing)), thing)

    def test_namespaces_with_several_names_are_one_module(self):
        import tapedeck.contrib.eager
        import tapedeck.contrib.signal
        for one, other in ((tf.contrib.eager, tf.tfe), (tf.contrib.signal, tf.signal), (tf.spectral, tf.signal),
                           (tf.compat.v1, tf), (tf.io.gfile, tf.gfile), (tf.optimizers, tf.keras.optimizers),
                           (tapedeck.contrib.eager, tf.tfe)):
            self.assertIs(one, other)

    def test_what_few_programs_use_is_imported_when_they_ask(self):
        code = ("import sys, tapedeck as tf\n"
                "assert 'unittest' not in sys.modules and 'tapedeck.contrib.cudnn_rnn' not in sys.modules\n"
                "assert 'TestCase' in tf.test.__all__ and tf.test.TestCase.__name__ == 'TestCase'\n"
                "assert tf.contrib.cudnn_rnn.CudnnLSTM is sys.modules['tapedeck.contrib.cudnn_rnn'].CudnnLSTM\n"
                "assert 'CudnnLSTM' in tf.contrib.cudnn_rnn.__all__\n")
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_a_namespace_without_a_file_has_its_folders_docstring(self):
        self.assertEqual(tf.nn.__doc__, sys.modules["tapedeck._nn"].__doc__)
        self.assertTrue(all(inspect.getdoc(module) for module in namespaces.public_modules()))


if __name__ == "__main__":
    unittest.main()
