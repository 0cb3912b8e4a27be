"""Tensors on GPUs: where they are made, how they travel, and where ops run."""
import copy
import pickle
import tempfile
import unittest

import numpy as np

from device_names import CPU, GPU
import tapedeck as tf
from debug_client import Client
from gpus import GPUS, in_thread, OnGpus, setUpModule  # noqa: F401
from tapedeck import _engine
from test_devices import Anywhere  # noqa: F401  (with GPUs, too)


class Tensors(OnGpus):
    def test_a_tensor_goes_there_and_back_with_every_bit(self):
        for dtype in ("float32", "float64", "int32", "int64", "bool", "float16", "bfloat16", "uint8", "complex64"):
            with self.subTest(dtype):
                values = tf.cast(tf.constant(np.arange(24.).reshape(2, 3, 4)).cpu(), dtype).cpu()
                there = values.gpu(0)
                self.assertEqual((there.device, there.shape, there.dtype), (GPU, values.shape, values.dtype))
                np.testing.assert_array_equal(there.numpy(), values.numpy())
                np.testing.assert_array_equal(there.cpu().numpy(), values.numpy())
        self.assertIn("GPU:0", tf.ones([2]).gpu().device.upper())
        with self.assertRaisesRegex(TypeError, "string, which stays on the CPU"):
            tf.constant("text").gpu()
        with self.assertRaisesRegex(RuntimeError, f"^gpu\\(\\): there is no /gpu:{GPUS}; this machine has {GPUS} GPUs"):
            tf.ones([2]).gpu(GPUS)

    def test_values_are_computed_again_where_it_is_asked(self):
        with tempfile.TemporaryDirectory(prefix="td-") as folder:
            endpoint = f"ipc://{folder}/debug"
            # Memory for the newest value alone: others are computed again.
            _engine.debug.start(endpoint, b"key", budget_bytes=1 << 20)
            try:
                x = tf.random_uniform([200_000])
                y = tf.exp(x)
                tf.square(x)
                entry = {"endpoint": endpoint, "key": "key", "protocol_version": _engine.debug.PROTOCOL_VERSION}
                with Client(entry) as client:
                    exp = next(one for one in client.ask("get_records", first=1, count=20, with_previews=False)["records"]
                               if one["op"] == "exp")
                    for device, source in ((None, "recomputed"), ("/device:CPU:0", "computed again on /cpu:0; it ran on /gpu:0"),
                                           (None, "recomputed")):
                        tf.debugging.set_replay_device(device)
                        self.assertEqual(client.ask("get_status")["replay_on_cpu"], device is not None)
                        self.assertEqual(client.ask("get_statistics", tensor=exp["outputs"][0]["id"], bins=1)["source"], source)
                with self.assertRaisesRegex(ValueError, "set_replay_device.*device is '/gpu:0'; must be one of None, '/cpu:0'"):
                    tf.debugging.set_replay_device("/gpu:0")
                with self.assertRaisesRegex(ValueError, "device is 3; must be one of"):
                    tf.debugging.set_replay_device(3)
                self.assertEqual(y.device, GPU)
            finally:
                _engine.debug.stop()
        with self.assertRaisesRegex(ValueError, "nothing records"):
            tf.debugging.set_replay_device(None)

    def test_values_of_nothing_and_of_python_are_made_there(self):
        for made in (tf.zeros([3]), tf.random_uniform([3]), tf.constant([1., 2.]), tf.constant(1.), tf.convert_to_tensor(np.ones(3)),
                     tf.Variable([1.]), tf.Variable(1.)):
            self.assertEqual(made.device, GPU)
        for made in (tf.constant("text"), tf.constant(1j), tf.constant([1], tf.uint64)):
            self.assertEqual(made.device, CPU)
        with tf.device("/cpu:0"):
            for made in (tf.zeros([3]), tf.constant([1., 2.]), tf.Variable([1.]), tf.constant([1.]) + [2.]):
                self.assertEqual(made.device, CPU)
            with tf.device("/gpu:0"):
                self.assertEqual(tf.zeros([3]).device, GPU)
            with tf.device(None):
                self.assertEqual(tf.zeros([3]).device, GPU)

    def test_ops_run_where_their_inputs_are(self):
        here, there = tf.constant([1., 2.]).cpu(), tf.constant([3., 4.])
        self.assertEqual((here + 1.).device, CPU)
        self.assertEqual((here + [1., 1.]).device, CPU)
        self.assertEqual((there * 2.).device, GPU)
        self.assertEqual((here + there).device, GPU)
        self.assertEqual((here + there).numpy().tolist(), [4., 6.])
        with tf.device("/cpu:0"):
            self.assertEqual((here + there).device, CPU)
        self.assertEqual(here[[1, 0]].device, CPU)
        self.assertEqual(there[[1, 0]].numpy().tolist(), [4., 3.])

    def test_ops_on_plain_whole_numbers_stay_on_the_cpu(self):
        self.assertEqual([tf.add(1, 2).device, tf.add(1., 2.).device], [CPU, GPU])
        counter, limit = tf.constant(0).cpu(), tf.constant(3, tf.int64).cpu()
        while tf.cast(counter, tf.int64) < limit:
            counter = counter + 1
            self.assertEqual((counter.device, (counter < 3).device), (CPU, CPU))
        self.assertEqual(counter.numpy(), 3)
        self.assertEqual((counter + tf.constant([1, 2])).device, GPU)
        self.assertEqual((tf.constant(True).cpu() & True).device, GPU)
        self.assertEqual(tf.zeros([2], tf.int32).device, GPU)
        with tf.device("/gpu:0"):
            self.assertEqual(tf.add(1, 2).device, GPU)

    def test_elements_come_to_python(self):
        there = tf.constant([[1., 2.], [3., 4.]])
        self.assertEqual(str(there), "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)")
        self.assertIn("numpy=", repr(there))
        self.assertEqual(np.asarray(there).tolist(), [[1., 2.], [3., 4.]])
        self.assertEqual(np.asarray(tf.transpose(there)).tolist(), [[1., 3.], [2., 4.]])
        self.assertEqual([row.numpy().tolist() for row in there], [[1., 2.], [3., 4.]])
        self.assertEqual((float(there[0, 1]), int(there[1, 0]), bool(there[0, 0] > 0.), len(there)), (2., 3, True, 2))
        self.assertEqual([10, 20, 30][tf.constant(1)], 20)
        self.assertEqual(f"{there[1, 1]:.2f}", "4.00")
        self.assertIn("array([[1., 2.]", repr(tf.Variable(there)))
        self.assertEqual(tf.reshape(tf.range(4), tf.constant([2, 2])).shape, (2, 2))
        with self.assertRaisesRegex(BufferError, "on a GPU"):
            memoryview(there)

    def test_copies_and_pickles(self):
        there = tf.constant([1., 2.])
        for other in (copy.deepcopy(there), pickle.loads(pickle.dumps(there))):
            self.assertEqual((other.device, other.numpy().tolist()), (GPU, [1., 2.]))
        variable = pickle.loads(pickle.dumps(tf.Variable([3.], name="v")))
        self.assertEqual((variable.device, variable.numpy().tolist()), (GPU, [3.]))

    def test_other_libraries_get_a_copy_on_the_cpu(self):
        there = tf.constant([1., 2.])
        self.assertEqual(there.__dlpack_device__(), (2, 0))
        self.assertEqual(there.cpu().__dlpack_device__(), (1, 0))
        with self.assertRaisesRegex(BufferError, r"on /gpu:0, whose memory is not given away; pass dl_device=\(1, 0\)"):
            there.__dlpack__()
        again = tf.experimental.dlpack.from_dlpack(there.__dlpack__(dl_device=(1, 0)))
        self.assertEqual((again.device, again.numpy().tolist()), (CPU, [1., 2.]))

    def test_an_op_without_a_kernel_runs_on_the_cpu_and_comes_back(self):
        there = tf.constant([[2., 0.], [0., 3.]])
        singular = tf.linalg.svd(there, compute_uv=False)
        self.assertEqual(singular.device, GPU)
        np.testing.assert_allclose(singular.numpy(), [3., 2.])

    def test_halves_are_multiplied_as_they_are(self):
        random = np.random.RandomState(3)
        for dtype in (tf.float16, tf.bfloat16):
            a, b = (tf.cast(tf.constant(random.randn(*shape)), dtype) for shape in ((5, 64, 96), (96, 128)))
            tf.config.experimental.reset_memory_stats("GPU:0")
            before = tf.config.experimental.get_memory_usage("GPU:0")
            product = tf.matmul(a, b)
            peak = tf.config.experimental.get_memory_info("GPU:0")["peak"]
            self.assertEqual((product.device, product.dtype), (GPU, dtype))
            self.assertLess(peak - before, 2 * 2 * 5 * 64 * 128)  # the result; no operand in float32 beside it
            with tf.device("/cpu:0"):
                expected = tf.matmul(a.cpu(), b.cpu())
            tolerance = 2 ** -10 if dtype == tf.float16 else 2 ** -7
            np.testing.assert_allclose(tf.cast(product, tf.float32).numpy(), tf.cast(expected, tf.float32).numpy(), tolerance, tolerance)
            self.assertEqual(tf.matmul(a[:, :, :0], b[:0]).numpy().tolist(), np.zeros((5, 64, 128)).tolist())

    def test_factors_are_rounded_to_tf32_where_that_is_asked_for(self):
        experimental = tf.config.experimental
        self.assertIs(experimental.tensor_float_32_execution_enabled(), False)
        a, b = np.random.RandomState(4).randn(2, 40, 40).astype(np.float32)
        exact, wide = tf.matmul(a, b).numpy(), tf.matmul(a.astype(np.float64), b.astype(np.float64)).numpy()
        np.testing.assert_allclose(exact, wide, atol=1e-5)
        self.addCleanup(experimental.enable_tensor_float_32_execution, False)
        experimental.enable_tensor_float_32_execution(True)
        self.assertIs(experimental.tensor_float_32_execution_enabled(), True)
        rounded = tf.matmul(a, b).numpy()
        self.assertGreater(np.abs(rounded - wide).max(), 1e-4)
        np.testing.assert_allclose(rounded, wide, atol=2e-2)
        np.testing.assert_array_equal(tf.matmul(a.astype(np.float64), b.astype(np.float64)).numpy(), wide)
        experimental.enable_tensor_float_32_execution(False)
        np.testing.assert_array_equal(tf.matmul(a, b).numpy(), exact)
        with self.assertRaisesRegex(TypeError, "enabled is 1; it needs a bool"):
            experimental.enable_tensor_float_32_execution(1)

    def test_threads_have_scopes_of_their_own(self):
        with tf.device("/cpu:0"):
            self.assertEqual(in_thread(lambda: tf.zeros([2]).device), GPU)
            self.assertEqual(tf.zeros([2]).device, CPU)

    def test_details_are_told(self):
        gpu = tf.config.list_physical_devices("GPU")[0]
        self.assertTrue(tf.config.experimental.get_device_details(gpu)["device_name"])
        self.assertEqual((tf.test.gpu_device_name(), tf.test.is_gpu_available()), ("/device:GPU:0", True))
        self.assertFalse(tf.test.is_gpu_available(min_cuda_compute_capability=(99, 0)))
        with tf.device(tf.test.gpu_device_name()):
            self.assertEqual(tf.ones([2]).device, GPU)

    def test_another_dtype_and_another_device_agree(self):
        x = tf.constant(np.linspace(0., 1., 50).astype(np.float32))
        report = tf.debugging.lockstep(lambda: tf.reduce_sum(tf.sin(x) * x), {"device": "/cpu:0", "dtype": "float32"},
                                       {"device": "/gpu:0", "dtype": "float64"})
        self.assertEqual(report.ops, 3)


if __name__ == "__main__":
    unittest.main()
