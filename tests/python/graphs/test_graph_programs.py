"""Programs that were written for TensorFlow 1 build graphs where they do not enable eager execution, and find what they import."""
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

from tapedeck._session.graph_programs import builds_graph
from tensorflow_programs import started

HELPER = """
    import tensorflow as tf

    def value(tensor):
        return tf.Session().run(tensor)
"""


class Programs(unittest.TestCase):
    def passes(self, program, **files):
        done = started(program, **files)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)

    def test_one_with_sessions_builds_a_graph_from_its_first_line_on(self):
        self.passes("""
            import tensorflow as tf
            x = tf.Variable(tf.ones((2, 2)))
            loss = tf.reduce_sum(x * tf.constant([[1.0, 2.0], [3.0, 4.0]]))
            step = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
            assert not tf.executing_eagerly() and x.shape[0].value == 2
            session = tf.InteractiveSession()
            session.run(x.initializer)
            found = []
            for _ in range(3):
                found.append(float(loss.eval()))
                step.run()
            assert found == [10.0, 2.5, -5.0], found
            print("ran")
        """)

    def test_one_that_enables_eager_execution_is_eager_whatever_its_helpers_have(self):
        self.passes("""
            import helper
            import tensorflow as tf
            from tensorflow.contrib.eager.python import tfe
            tfe.enable_eager_execution()
            assert tf.executing_eagerly() and float(tf.constant(2.0) * 3) == 6
            print("ran")
        """, helper=HELPER)

    def test_what_it_imports_from_its_folder_counts(self):
        self.passes("""
            import helper
            import tensorflow as tf
            assert helper.value(tf.constant(2.0) * 3) == 6
            print("ran")
        """, helper=HELPER)

    def test_one_of_version_2_is_eager_until_it_disables_that(self):
        self.passes("""
            import tensorflow.compat.v1 as tf
            assert tf.executing_eagerly()
            tf.disable_v2_behavior()
            x = tf.placeholder(tf.float32, [])
            assert tf.constant([1.0]).shape[0].value == 1
            with tf.Session() as session:
                assert session.run(x + 1, {x: 2}) == 3
            try:
                tf.enable_eager_execution()
            except ValueError as error:
                assert "must be called at program startup" in str(error)
                print("ran")
        """)

    def test_a_default_graph_can_be_begun_anew(self):
        self.passes("""
            import tensorflow as tf
            first = tf.get_default_graph()
            tf.placeholder(tf.float32, name="x")
            tf.train.get_or_create_global_step()
            tf.reset_default_graph()
            assert tf.get_default_graph() is not first and tf.train.get_global_step() is None
            x = tf.placeholder(tf.float32, name="x")
            assert x.name == "x:0" and tf.Session().run(x * 2, {x: 3}) == 6
            print("ran")
        """)

    def test_functions_with_gradients_of_their_own(self):
        self.passes("""
            import tensorflow as tf
            from tensorflow.python.framework import function

            @function.Defun(tf.float32, tf.float32)
            def twice(x, dy):
                return 2.0 * dy

            @function.Defun(tf.float32, grad_func=twice)
            def square(x):
                return x * x

            x = tf.placeholder(tf.float32, [])
            y = square(x)
            slope, = tf.gradients(y, [x])
            assert tf.Session().run([y, slope], {x: 5}) == [25, 2]
            print("ran")
        """)

    def test_what_programs_import_of_tensorflows_own_files(self):
        self.passes("""
            import tensorflow as tf
            from tensorflow.contrib import graph_editor as ge
            from tensorflow.contrib.graph_editor import transform
            from tensorflow.core.protobuf import rewriter_config_pb2
            from tensorflow.python.client import device_lib, timeline
            from tensorflow.python.framework import ops
            from tensorflow.python.ops import gen_nn_ops

            assert callable(ops.set_shapes_for_outputs) and ops.get_default_graph is tf.get_default_graph
            config = tf.ConfigProto(graph_options=tf.GraphOptions(rewrite_options=rewriter_config_pb2.RewriterConfig(
                memory_optimization=rewriter_config_pb2.RewriterConfig.MANUAL)))
            config.gpu_options.allow_growth = True
            assert device_lib.list_local_devices()[0].device_type == "CPU"
            with tf.name_scope("part"):
                a = tf.Variable(1.0, name="a")
                changed = a.assign(5.0)
                value = tf.identity(a * 1, name="value")
            assert [each.name for each in ge.select_ops("part/value.*")] == ["part/value"]
            session = tf.Session(config=config)
            session.run(a.initializer, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=tf.RunMetadata())
            assert session.run(value) == 1
            ge.reroute.add_control_inputs(value.op, [changed.op])
            assert session.run(value) == 5
            assert session.run(gen_nn_ops._relu_grad(tf.constant([2.0, 3.0]), tf.constant([-1.0, 1.0]))).tolist() == [0, 3]
            print("ran")
        """)

    def test_tensorflows_examples_import_one_another(self):
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "one", "one.py")
            program = os.path.join(folder, "two", "two_test.py")
            for path, text in (other, "VALUE = 7\n"), (
                    program, "from tensorflow.contrib.eager.python.examples.one import one\nprint(one.VALUE)\n"):
                os.mkdir(os.path.dirname(path))
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, "-B", "-m", "tapedeck", "--as-tensorflow", program],
                                  capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "7\n"), done.stderr)


class Signs(unittest.TestCase):
    def builds(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(text))
            return builds_graph(path)

    def test_names_of_version_1_below_tensorflow_itself(self):
        self.assertTrue(self.builds("import tensorflow as tf\nx = tf.placeholder(tf.float32)"))
        self.assertTrue(self.builds("from tensorflow import Session"))
        self.assertFalse(self.builds("import tensorflow as tf\nx = tf.compat.v1.placeholder(tf.float32)"))
        self.assertFalse(self.builds("import tensorflow as tf\nx = tf.constant(1.0)"))
        self.assertFalse(self.builds("import tensorflow as tf\ntf.enable_eager_execution()\ndef f(): return tf.Session()"))
        self.assertFalse(self.builds("import database\ndatabase.Session()"))

    def test_what_is_no_program_builds_none(self):
        self.assertFalse(self.builds("this is not Python"))
        self.assertFalse(builds_graph("/nowhere/program.py"))


if __name__ == "__main__":
    unittest.main()
