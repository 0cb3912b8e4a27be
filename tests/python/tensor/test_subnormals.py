"""tf.set_flush_denormal: ops take subnormal numbers for 0 where the user asks for it, and nothing else does."""
import os
import subprocess
import sys
import threading
import unittest

import numpy as np

import tapedeck as tf

TINY = {"float32": np.float32(1e-40), "float64": np.float64(1e-310)}


class FlushDenormal(unittest.TestCase):
    def setUp(self):
        self.addCleanup(tf.set_flush_denormal, tf.get_flush_denormal())
        if not tf.set_flush_denormal(True):
            self.skipTest("this processor cannot flush subnormal numbers")
        tf.set_flush_denormal(False)

    def test_off_by_default_and_told(self):
        self.assertFalse(tf.get_flush_denormal())
        self.assertTrue(tf.set_flush_denormal(True))
        self.assertTrue(tf.get_flush_denormal())
        self.assertTrue(tf.config.get_flush_denormal())

    def test_results_and_operands_are_flushed_on_every_thread_of_the_engine(self):
        for dtype, tiny in TINY.items():
            for count in (3, 1 << 21):  # the second on all threads
                x = tf.constant(np.full(count, tiny))
                smallest = tf.constant(np.full(count, np.finfo(dtype).tiny))
                self.assertTrue((tf.multiply(x, tf.ones_like(x)).numpy() == tiny).all())
                tf.set_flush_denormal(True)
                self.assertTrue((tf.multiply(x, tf.ones_like(x)).numpy() == 0).all())
                self.assertTrue((tf.multiply(smallest, 0.5 * tf.ones_like(x)).numpy() == 0).all())
                self.assertTrue((tf.multiply(smallest, tf.ones_like(x)).numpy() == np.finfo(dtype).tiny).all())
                tf.set_flush_denormal(False)
                self.assertTrue((tf.multiply(x, tf.ones_like(x)).numpy() == tiny).all())

    def test_products_convolutions_and_reductions_are_flushed(self):
        a = tf.constant(np.full((300, 300), 1e-40, np.float32))
        image = tf.constant(np.full((2, 20, 20, 3), 1e-40, np.float32))
        kernel = tf.constant(np.full((3, 3, 3, 4), 0.25, np.float32))
        eye = tf.eye(300)

        def results():
            return tf.matmul(a, eye), tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME"), tf.reduce_sum(a)

        for result in results():
            self.assertTrue((result.numpy() != 0).any())
        tf.set_flush_denormal(True)
        for result in results():
            self.assertTrue((result.numpy() == 0).all())

    def test_a_playback_is_flushed(self):
        def slope():
            x = tf.constant(np.full(10, 1e-38, np.float32))
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(x * x * 1e-3)
            return tape.gradient(y, x).numpy()
        self.assertTrue((slope() != 0).all())
        tf.set_flush_denormal(True)
        self.assertTrue((slope() == 0).all())

    def test_numpy_and_python_are_not_changed_after_ops_and_errors_in_them(self):
        tf.set_flush_denormal(True)
        tf.multiply(tf.constant(np.full(1 << 21, 1e-40, np.float32)), 1.0)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tf.linalg.inv(tf.zeros([3, 3]))
        self.assertNotEqual(np.float32(1e-38) * np.float32(0.01), 0)
        self.assertNotEqual((np.full(9, 1e-40, np.float32) * np.float32(1)).sum(), 0)
        self.assertNotEqual(1e-308 * 0.1, 0.0)

    def test_numpy_inside_a_custom_gradient_is_not_changed(self):
        tf.set_flush_denormal(True)
        seen = []

        @tf.custom_gradient
        def f(x):
            def vjp(dy):
                seen.append(np.float32(1e-38) * np.float32(0.01))
                return dy
            seen.append(np.float32(1e-38) * np.float32(0.01))
            return tf.identity(x), vjp
        x = tf.constant([1.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x)
        self.assertEqual(len(seen), 2)
        self.assertTrue(all(seen))

    def test_other_threads_of_the_user_follow(self):
        tf.set_flush_denormal(True)
        results = []
        thread = threading.Thread(target=lambda: results.append((tf.constant(TINY["float32"]) * 1.0).numpy()))
        thread.start()
        thread.join()
        self.assertEqual(results[0], 0)

    def test_the_environment_turns_it_on(self):
        program = "import tapedeck as tf; print(tf.get_flush_denormal(), (tf.constant(1e-40) * 1.0).numpy() == 0)"
        for value, expected in (("1", "True True"), ("0", "False False")):
            environment = dict(os.environ, TAPEDECK_FLUSH_DENORMAL=value)
            printed = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True,
                                     check=True).stdout.strip()
            self.assertEqual(printed, expected)

    def test_what_is_no_bool_is_refused(self):
        for wrong in (1, None, "on"):
            with self.assertRaises(TypeError):
                tf.set_flush_denormal(wrong)


if __name__ == "__main__":
    unittest.main()
