"""Programs that say `import tensorflow` run on Tapedeck as they are."""
import subprocess
import sys
import textwrap
import unittest

from tensorflow_programs import started

MODERN = """
    import sys
    import tensorflow as tf
    import tensorflow.keras as keras
    import tensorflow.compat.v1 as v1
    from tensorflow import math as tf_math
    import tensorflow.linalg
    import tapedeck

    assert tf is tapedeck and v1 is tf and keras is tf.keras and tf_math is tf.math and tensorflow.linalg is tf.linalg
    assert tapedeck.__spec__.name == "tapedeck" and tf.math.__spec__ is tapedeck.math.__spec__
    assert int(tf.__version__.split(".")[0]) == 2, tf.__version__
    assert sys.argv[1:] == ["--steps", "3"] and __name__ == "__main__" and __file__ == sys.argv[0]
    import beside
    x = tf.constant([1., 2.])
    assert (x == [1., 3.]).numpy().tolist() == [True, False]
    print("ran", beside.NAME)
"""
OLD = """
    import tensorflow as tf
    import tensorflow.contrib.eager as tfe
    from tensorflow.contrib.eager.python import tfe as again

    flags = tf.app.flags
    flags.DEFINE_integer("steps", 1, "How many.")
    flags.DEFINE_string(flag_name="kind", default_value="plain", docstring="Which.")
    FLAGS = flags.FLAGS

    def main(rest):
        assert (FLAGS.steps, FLAGS.kind, rest[1:]) == (3, "plain", ["more"]), rest
        assert tf.__version__ == tf.VERSION == "1.5.0" and again is tfe and tf.contrib.eager is tfe
        x, same = tf.constant(2.), tf.constant(2.)
        assert x == x and not x == same and x != same and len({x, same}) == 2
        assert repr(x).startswith("<tf.Tensor: id=") and repr(x).endswith("shape=(), dtype=float32, numpy=2.0>")
        assert tfe.implicit_gradients(lambda v: v * v)(tfe.Variable(3, name="v"))[0][0].numpy() == 6
        print("ran")

    if __name__ == "__main__":
        tfe.enable_eager_execution()
        tf.app.run()
"""


class Programs(unittest.TestCase):
    def test_one_of_today_finds_the_package_under_tensorflows_names(self):
        done = started(MODERN, "--steps", "3", beside="NAME = 'beside'")
        self.assertEqual((done.returncode, done.stdout), (0, "ran beside\n"), done.stderr)

    def test_one_of_2018_has_its_flags_and_the_behaviour_of_its_time(self):
        done = started(OLD, "--steps=3", "more")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)

    def test_every_way_to_contrib_eager_brings_the_behaviour_of_its_time(self):
        rest = """
            tf.enable_eager_execution()
            found = tfe.gradients_function(lambda x: x * x)(3)[0].numpy(), type(tf.ones([2, 3]).shape[0]).__name__, tf.__version__
            assert found == (6, "Dimension", "1.5.0") and tf.contrib.eager is tfe, found
        """
        for first in ("tfe = tf.contrib.eager", "from tensorflow.contrib import eager as tfe", "import tensorflow.contrib.eager as tfe",
                      "from tensorflow import contrib; tfe = contrib.eager", "import tensorflow.contrib as c; tfe = c.eager",
                      "tfe = getattr(tf.contrib, 'eager')", "from tensorflow.contrib.eager.python import tfe"):
            done = started(f"import tensorflow as tf\n{first}\n{textwrap.dedent(rest)}")
            self.assertEqual((done.returncode, done.stderr), (0, ""), first)

    def test_looking_at_contrib_changes_nothing(self):
        done = started("""
            import inspect
            import tensorflow as tf
            from tapedeck._session import console
            dir(tf.contrib), inspect.getmembers(tf.contrib), tf.contrib.layers
            assert "gradients_function" in console._attribute_names({"tf": tf}, "tf.contrib.eager")
            assert tf.__version__[0] == "2" and type(tf.ones([2, 3]).shape[0]) is int
            try:
                tf.contrib.nothing
            except AttributeError as error:
                print(error)
        """)
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", "tf.contrib.nothing is not in Tapedeck\n"))

    def test_keras_is_found_beside_tensorflow(self):
        done = started("""
            import keras
            from keras import layers
            from keras.datasets import mnist
            from keras.layers import Dense
            import keras.utils as utils
            import tf_keras
            import tensorflow as tf
            import tapedeck
            assert keras is tf.keras is tf_keras is tapedeck.keras and keras.__spec__.name == "tapedeck.keras"
            assert layers is tf.keras.layers and Dense is layers.Dense and utils is keras.utils and mnist is keras.datasets.mnist
            model = keras.Sequential([keras.Input((2,)), Dense(1)])
            model.compile("sgd", "mse")
            print(keras.__version__.split(".")[0], tf.keras.__version__ == keras.__version__, tf.__version__.split(".")[0])
            import keras.applications
        """)
        self.assertEqual(done.stdout, "3 True 2\n", done.stderr)
        self.assertIn("ModuleNotFoundError: No module named 'keras.applications'", done.stderr)

    def test_a_module_that_is_not_here_is_an_import_error_with_its_name(self):
        done = started("import tensorflow.distribute.cluster_resolver")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ModuleNotFoundError: No module named 'tensorflow.distribute'", done.stderr)

    def test_an_error_inside_a_module_is_not_taken_for_a_missing_one(self):
        done = started("import tensorflow as tf\nimport beside", beside="import nowhere_at_all")
        self.assertIn("No module named 'nowhere_at_all'", done.stderr)

    def test_what_main_returns_is_the_programs_exit_status(self):
        done = started("import tensorflow as tf\ndef main(_):\n    return 7\ntf.app.run(main)")
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_no_file_and_no_argument_are_told_in_a_sentence(self):
        missing = subprocess.run([sys.executable, "-B", "-m", "tapedeck", "--as-tensorflow", "/nowhere/program.py"], capture_output=True,
                                 text=True, timeout=200, check=False)
        self.assertEqual((missing.returncode, missing.stderr), (1, "There is no file /nowhere/program.py.\n"))
        none = subprocess.run([sys.executable, "-B", "-m", "tapedeck"], capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(none.returncode, 2)
        self.assertIn("Which program?", none.stderr)


class Behaviour(unittest.TestCase):
    """Each in a process of its own: the behaviour is the whole process's."""

    def check(self, program):
        done = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=200,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_v1_behavior_can_be_chosen_and_left(self):
        self.check("""
            import tapedeck as tf
            x, v = tf.constant([1., 2.]), tf.Variable([1., 2.])
            tf.compat.v1_behavior()
            assert (x == x) is True and (x == tf.constant([1., 2.])) is False and (v == v) is True and (v != v) is False
            assert "id=" in repr(x)
            tf.compat.v2_behavior()
            assert (x == tf.constant([1., 2.])).numpy().all() and "id=" not in repr(x)
            tf.compat.v1.disable_tensor_equality()
            assert (x == tf.constant([1., 2.])) is False
            tf.compat.v1.enable_tensor_equality()
            assert (x == x).numpy().all()
        """)

    def test_whole_numbers_have_gradients_in_v1_alone(self):
        self.check("""
            import tapedeck as tf
            def gradient():
                n = tf.Variable(3)
                with tf.GradientTape() as tape:
                    square = n * n
                return tape.gradient(square, n)
            assert gradient() is None
            tf.compat.v1_behavior()
            assert gradient().numpy() == 6 and gradient().dtype == tf.int32
        """)

    def test_tensorflow_itself_comes_first_where_a_session_only_lends_its_name(self):
        self.check("""
            import importlib.util, sys
            from tapedeck._session import as_tensorflow
            as_tensorflow.install(first=False)
            as_tensorflow.install(first=False)
            assert sum(isinstance(f, as_tensorflow.Finder) for f in sys.meta_path) == 1
            if isinstance(importlib.util.find_spec("tensorflow").loader, as_tensorflow.Finder):
                import tensorflow, tapedeck
                assert tensorflow is tapedeck and tapedeck.__version__ != tapedeck.VERSION
                from tensorflow.keras.layers import Dense
                assert Dense is tapedeck.keras.layers.Dense and "eager" in dir(tensorflow.contrib)
            if isinstance(importlib.util.find_spec("keras").loader, as_tensorflow.Finder):
                import keras.utils, tapedeck
                from keras.layers import Dense
                assert Dense is tapedeck.keras.layers.Dense and keras.utils is tapedeck.keras.utils
            as_tensorflow.uninstall()
            assert not any(isinstance(f, as_tensorflow.Finder) for f in sys.meta_path)
        """)

    def test_what_is_installed_under_the_name_keeps_it_in_a_session(self):
        self.check("""
            import os, sys, tempfile
            with tempfile.TemporaryDirectory() as folder:
                os.mkdir(os.path.join(folder, "keras"))
                for name in ("__init__", "layers"):
                    with open(os.path.join(folder, "keras", name + ".py"), "w") as file:
                        file.write(f"whose = 'its own {name}'")
                sys.path.insert(0, folder)
                from tapedeck._session import as_tensorflow
                as_tensorflow.install(first=False)
                import keras, keras.layers
                assert (keras.whose, keras.layers.whose) == ("its own __init__", "its own layers")
        """)


if __name__ == "__main__":
    unittest.main()
