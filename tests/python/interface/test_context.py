"""Devices, seeds, scopes, threads' number, summaries, initialisers."""
import copy
import pickle
import re
import unittest
from unittest import mock

import numpy as np

from device_names import CPU
import tapedeck as tf
from tapedeck import _engine, tfe


class Devices(unittest.TestCase):
    def test_the_cpu_is_there_and_a_missing_gpu_is_named(self):
        with tf.device("/cpu:0"):
            self.assertEqual(tf.zeros([2]).device, CPU)
        with tf.device(None):
            pass
        missing = tfe.num_gpus()
        tensor = tf.constant([1.])
        for action in (lambda: tensor.gpu(missing), lambda: tensor.gpu(gpu_index=missing), lambda: tf.Variable(1.).gpu(missing)):
            with self.assertRaisesRegex(RuntimeError, f"/gpu:{missing}") as caught:
                action()
            self.assertIsInstance(caught.exception, tf.errors.NotFoundError)
        with self.assertRaisesRegex(ValueError, "toaster"):
            with tf.device("/toaster:0"):
                self.fail("entered")
        with self.assertRaisesRegex(TypeError, "^device: name is 3; needs a string"):
            with tf.device(3):
                self.fail("entered")

    def test_a_tensor_names_its_device_in_full_and_tf_device_takes_every_form(self):
        for value in (tf.ones([2]), tf.Variable(1.), tf.Variable([1.])[:1], tf.IndexedSlices(tf.ones([1]), [0])):
            self.assertEqual(value.device, "/job:localhost/replica:0/task:0/device:CPU:0")
        self.assertTrue(tf.ones([]).device.endswith("CPU:0") and tf.ones([]).device.endswith("device:CPU:0"))
        for name in (CPU, "/cpu:0", "cpu:0", "CPU:0", "/device:CPU:0", "/job:localhost/replica:0/task:0/cpu:0", tf.ones([]).device):
            with tf.device(name):
                self.assertEqual(tf.zeros([2]).device, CPU)
            self.assertGreater(tf.config.experimental.get_memory_info(name)["peak"], 0)
        self.assertEqual(tfe.list_devices()[0], CPU)

    def test_devices_are_listed(self):
        gpus = tf.config.list_physical_devices("GPU")
        self.assertEqual((len(gpus), tf.test.is_gpu_available()), (tfe.num_gpus(), tfe.num_gpus() > 0))
        self.assertEqual(tf.config.list_physical_devices("CPU"), [("/physical_device:CPU:0", "CPU")])
        self.assertEqual(len(tf.config.list_physical_devices()), 1 + len(gpus))
        self.assertEqual([each.name for each in tf.config.list_logical_devices()][0], "/device:CPU:0")
        self.assertEqual(tf.config.list_physical_devices("TPU"), [])
        with self.assertRaisesRegex(TypeError, "device_type is int"):
            tf.config.list_physical_devices(1)
        with tf.device(tf.config.list_logical_devices()[0].name):
            self.assertEqual(tf.zeros([1]).device, CPU)


class Seeds(unittest.TestCase):
    def draw(self):
        return [tf.random_uniform((4,)).numpy().tolist(), tf.random.normal([3]).numpy().tolist()]

    def test_a_seed_repeats_the_numbers(self):
        tf.set_random_seed(1)
        first, second = self.draw(), self.draw()
        tf.random.set_seed(1)
        again = self.draw()
        tf.set_random_seed(2)
        other = self.draw()
        self.assertEqual(first, again)
        self.assertNotEqual(first, second)
        self.assertNotEqual(first, other)

    def test_the_numbers_are_distributed_as_said(self):
        tf.set_random_seed(3)
        uniform = tf.random.uniform([20000], minval=-1., maxval=3.).numpy()
        self.assertTrue((uniform >= -1).all() and (uniform < 3).all())
        self.assertAlmostEqual(uniform.mean(), 1., delta=.05)
        normal = tf.random.normal([20000], mean=2., stddev=.5).numpy()
        self.assertAlmostEqual(normal.mean(), 2., delta=.02)
        self.assertAlmostEqual(normal.std(), .5, delta=.02)


class Settings(unittest.TestCase):
    def test_eager_execution_is_always_on(self):
        tfe.enable_eager_execution()
        tf.enable_eager_execution()
        self.assertTrue(tf.executing_eagerly())
        calls = []
        with tf.control_dependencies([tf.constant(1), lambda: calls.append(1)]), tf.init_scope():
            self.assertEqual((tf.no_op(), tf.group(tf.constant(1), name="both"), calls), (None, None, [1]))
        with tf.control_dependencies(None):
            pass
        with self.assertRaisesRegex(TypeError, "^control_dependencies: control_inputs is 3; needs a list"):
            with tf.control_dependencies(3):
                self.fail("entered")

    def test_the_number_of_threads(self):
        before = tf.config.get_num_threads()
        self.addCleanup(tf.config.set_num_threads, before)
        tf.config.set_num_threads(3)
        self.assertEqual(tf.config.threading.get_intra_op_parallelism_threads(), 3)
        tf.config.threading.set_intra_op_parallelism_threads(0)
        self.assertEqual(tf.config.get_num_threads(), before)
        with self.assertRaises(ValueError):
            tf.config.set_num_threads(0)

    def test_name_scopes_nest_and_close(self):
        with tf.name_scope("outer") as name:
            self.assertEqual(name, "outer/")
            with tf.name_scope("inner") as name:
                self.assertEqual(name, "outer/inner/")
                v = tf.Variable(1., name="v")
                self.assertEqual((v.name, tf.Variable(1.).name), ("outer/inner/v:0", "outer/inner/Variable:0"))
            self.assertEqual(tf.Variable(1., name="w").name, "outer/w:0")
            with self.assertRaises(KeyError):
                with tf.name_scope("inner"):
                    raise KeyError
        self.assertEqual((tf.Variable(1., name="v").name, copy.deepcopy(v).name), ("v:0", "outer/inner/v:0"))
        with tf.name_scope("outer"):  # a copy keeps its name, wherever it is made
            for each in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
                self.assertEqual(each.name, "outer/inner/v:0")
            self.assertEqual(tf.Variable(1., name="v", import_scope="mine").name, "mine/v:0")
        for name in ("\ud800", "a\0b"):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "^Variable: name is .*, which holds what no text"):
                tf.Variable(1., name=name)
        for name in ("", "/", "a\0b", "\ud800", 3, None):
            with self.assertRaisesRegex(ValueError, f"^name_scope: {re.escape(repr(name))} is not a name"):
                with tf.name_scope(name):
                    self.fail("entered")

    def test_a_whole_scope_is_opened_again(self):
        with tf.name_scope("outer") as outer:
            pass
        with tf.name_scope("other"):
            with tf.name_scope(outer) as again:
                self.assertEqual((again, tf.Variable(1., name="v").name), ("outer/", "outer/v:0"))
                with tf.name_scope("inner") as inner:
                    self.assertEqual(inner, "outer/inner/")
            self.assertEqual(tf.Variable(1., name="v").name, "other/v:0")
        with self.assertRaisesRegex(RuntimeError, "scope"):
            _engine.pop_scope()

    def test_a_summary_goes_to_the_session_if_there_is_one(self):
        tf.summary.scalar("loss", tf.constant(2.), step=1)
        with mock.patch.object(_engine, "debug") as debug:
            tf.summary.scalar("loss", tf.constant(.5), step=tf.constant(7))
        debug.add_scalar.assert_called_once_with("loss", 7, .5)

    def test_initializers(self):
        np.testing.assert_array_equal(tf.initializers.zeros()([2, 3]).numpy(), np.zeros([2, 3]))
        self.assertEqual(tf.ones_initializer()([2], tf.float64).dtype, tf.float64)
        np.testing.assert_array_equal(tf.constant_initializer(-1e30)(()).numpy(), np.float32(-1e30))
        np.testing.assert_array_equal(tf.Variable(tf.initializers.constant(3)((2,))).numpy(), [3, 3])


if __name__ == "__main__":
    unittest.main()
