"""Devices: tf.device, copies, policies, variables and gradients on GPUs.

What needs a GPU runs on one where there is one; else, in a process of its own, on the emulated GPUs of the build, a library that
the environment's TAPEDECK_EMULATED_GPU names.
"""
import copy
import gc
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine, tfe

GPUS = tfe.num_gpus()


def in_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def emulated_library(test):
    library = os.environ.get("TAPEDECK_EMULATED_GPU")
    if not library or not os.path.exists(library):
        test.skipTest("TAPEDECK_EMULATED_GPU names no library")
    return library


def visible_to_a_program(library):
    """The environment of a program whose GPUs are this library's."""
    return {**{name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}, "TAPEDECK_GPU_LIBRARY": library}


class Anywhere(unittest.TestCase):
    def tearDown(self):
        self.assertIsNone(_engine.open_device())
        self.assertEqual(tf.config.experimental.get_device_policy(), "silent")

    def test_scopes_nest_and_none_ends_them(self):
        with tf.device("/cpu:0"):
            self.assertEqual(_engine.open_device(), "/cpu:0")
            for nothing in (None, ""):
                with tf.device(nothing):
                    self.assertIsNone(_engine.open_device())
                    with tf.device("/device:CPU:0"):
                        self.assertEqual(tf.zeros([2]).device, "/cpu:0")
            self.assertEqual(_engine.open_device(), "/cpu:0")

    def test_a_scope_ends_with_an_exception_and_holds_for_its_thread_alone(self):
        with self.assertRaises(KeyError):
            with tf.device("/cpu:0"):
                self.assertIsNone(in_thread(_engine.open_device))
                raise KeyError
        self.assertIsNone(_engine.open_device())

        def numbers():
            with tf.device("/cpu:0"):
                yield _engine.open_device()
                yield _engine.open_device()

        generator = numbers()
        self.assertEqual(next(generator), "/cpu:0")
        generator.close()
        self.assertIsNone(_engine.open_device())

    def test_a_device_that_is_not_there_is_refused_unless_placement_is_soft(self):
        self.assertFalse(tf.config.get_soft_device_placement())
        for name in (f"/gpu:{GPUS}", f"GPU:{GPUS}", "/cpu:1"):
            with self.subTest(name), self.assertRaisesRegex(RuntimeError, "there is no /[cg]pu:[0-9]+"):
                with tf.device(name):
                    self.fail("entered")
        tf.config.set_soft_device_placement(True)
        try:
            self.assertTrue(tf.config.get_soft_device_placement())
            with tf.device(f"/gpu:{GPUS}"):
                self.assertEqual(tf.ones([2]).device, "/cpu:0")
            with self.assertRaisesRegex(ValueError, "toaster"), tf.device("/toaster:0"):
                self.fail("entered")
        finally:
            tf.config.set_soft_device_placement(False)

    def test_policies_are_those_of_tensorflow(self):
        self.assertEqual((tfe.DEVICE_PLACEMENT_EXPLICIT, tfe.DEVICE_PLACEMENT_WARN, tfe.DEVICE_PLACEMENT_SILENT,
                          tfe.DEVICE_PLACEMENT_SILENT_FOR_INT32), (0, 1, 2, 3))
        for policy in ("explicit", "warn", "silent_for_int32"):
            tf.config.experimental.set_device_policy(policy)
            self.assertEqual(tf.config.experimental.get_device_policy(), policy)
            self.assertEqual(in_thread(tf.config.experimental.get_device_policy), "silent")
        tf.config.experimental.set_device_policy(None)
        with self.assertRaisesRegex(ValueError, "'loud' is no device policy"):
            tf.config.experimental.set_device_policy("loud")
        with self.assertRaisesRegex(ValueError, "device_policy must be one of"):
            tfe.enable_eager_execution(device_policy=7)
        tfe.enable_eager_execution(device_policy=tfe.DEVICE_PLACEMENT_EXPLICIT)
        self.assertEqual(in_thread(tf.config.experimental.get_device_policy), "explicit")
        tfe.enable_eager_execution(device_policy=tfe.DEVICE_PLACEMENT_SILENT)
        self.assertEqual(in_thread(tf.config.experimental.get_device_policy), "silent")

    def test_devices_and_their_memory_are_told(self):
        self.assertEqual(len(tfe.list_devices()), 1 + GPUS)
        self.assertEqual(tf.config.experimental.list_physical_devices(), tf.config.get_visible_devices())
        self.assertEqual(tf.config.experimental.get_device_details(tf.config.list_physical_devices("CPU")[0]), {})
        kept = tf.ones([1 << 20])
        tf.config.experimental.reset_memory_stats("CPU:0")
        info = tf.config.experimental.get_memory_info("CPU:0")
        self.assertLess(info["peak"], info["current"] + (1 << 20))
        self.assertEqual(tf.config.experimental.get_memory_usage("/cpu:0"), tf.config.experimental.get_memory_info()["current"])
        del kept
        with self.assertRaisesRegex(RuntimeError, f"there is no /gpu:{GPUS}"):
            tf.config.experimental.reset_memory_stats(f"GPU:{GPUS}")
        with self.assertRaisesRegex(TypeError, "device is 3"):
            tf.config.experimental.get_device_details(3)


@unittest.skipIf(GPUS, "there is a GPU")
class WithoutGpus(unittest.TestCase):
    def test_everything_says_so(self):
        self.assertEqual((tfe.num_gpus(), tf.test.is_gpu_available(), tf.test.gpu_device_name()), (0, False, ""))
        self.assertEqual((tf.config.list_physical_devices("GPU"), tf.config.list_logical_devices("GPU")), ([], []))
        self.assertIsInstance(tf.test.is_built_with_cuda(), bool)
        self.assertTrue(_engine.why_no_gpu())

    def test_gpu_tells_why_there_is_none(self):
        tensor = tf.constant([1.])
        for place in (tensor, tf.Variable(1.)):
            with self.assertRaises(tf.errors.NotFoundError) as caught:
                place.gpu()
            self.assertEqual(str(caught.exception), "gpu(): there is no /gpu:0; this machine has 0 GPUs that this build can use: " +
                             _engine.why_no_gpu())
        self.assertIs(type(tensor.cpu()), type(tensor))
        self.assertEqual(tensor.cpu().device, "/cpu:0")


@unittest.skipUnless(GPUS, "no GPU")
class OnGpus(unittest.TestCase):
    def tearDown(self):
        self.assertIsNone(_engine.open_device())

    def test_a_tensor_goes_there_and_back_with_every_bit(self):
        for dtype in ("float32", "float64", "int32", "int64", "bool", "float16", "bfloat16", "uint8", "complex64"):
            with self.subTest(dtype):
                values = tf.cast(tf.constant(np.arange(24.).reshape(2, 3, 4)).cpu(), dtype).cpu()
                there = values.gpu(0)
                self.assertEqual((there.device, there.shape, there.dtype), ("/gpu:0", values.shape, values.dtype))
                np.testing.assert_array_equal(there.numpy(), values.numpy())
                np.testing.assert_array_equal(there.cpu().numpy(), values.numpy())
        self.assertIn("GPU:0", tf.ones([2]).gpu().device.upper())
        with self.assertRaisesRegex(TypeError, "string, which stays on the CPU"):
            tf.constant("text").gpu()
        with self.assertRaisesRegex(RuntimeError, f"^gpu\\(\\): there is no /gpu:{GPUS}; this machine has {GPUS} GPUs"):
            tf.ones([2]).gpu(GPUS)

    def test_values_are_computed_again_where_it_is_asked(self):
        from debug_client import Client
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
                self.assertEqual(y.device, "/gpu:0")
            finally:
                _engine.debug.stop()
        with self.assertRaisesRegex(ValueError, "nothing records"):
            tf.debugging.set_replay_device(None)

    def test_values_of_nothing_and_of_python_are_made_there(self):
        for made in (tf.zeros([3]), tf.random_uniform([3]), tf.constant([1., 2.]), tf.constant(1.), tf.convert_to_tensor(np.ones(3)),
                     tf.Variable([1.]), tf.Variable(1.)):
            self.assertEqual(made.device, "/gpu:0")
        for made in (tf.constant("text"), tf.constant(1j), tf.constant([1], tf.uint64)):
            self.assertEqual(made.device, "/cpu:0")
        with tf.device("/cpu:0"):
            for made in (tf.zeros([3]), tf.constant([1., 2.]), tf.Variable([1.]), tf.constant([1.]) + [2.]):
                self.assertEqual(made.device, "/cpu:0")
            with tf.device("/gpu:0"):
                self.assertEqual(tf.zeros([3]).device, "/gpu:0")
            with tf.device(None):
                self.assertEqual(tf.zeros([3]).device, "/gpu:0")

    def test_ops_run_where_their_inputs_are(self):
        here, there = tf.constant([1., 2.]).cpu(), tf.constant([3., 4.])
        self.assertEqual((here + 1.).device, "/cpu:0")
        self.assertEqual((here + [1., 1.]).device, "/cpu:0")
        self.assertEqual((there * 2.).device, "/gpu:0")
        self.assertEqual((here + there).device, "/gpu:0")
        self.assertEqual((here + there).numpy().tolist(), [4., 6.])
        with tf.device("/cpu:0"):
            self.assertEqual((here + there).device, "/cpu:0")
        self.assertEqual(here[[1, 0]].device, "/cpu:0")
        self.assertEqual(there[[1, 0]].numpy().tolist(), [4., 3.])

    def test_ops_on_plain_whole_numbers_stay_on_the_cpu(self):
        self.assertEqual([tf.add(1, 2).device, tf.add(1., 2.).device], ["/cpu:0", "/gpu:0"])
        counter, limit = tf.constant(0).cpu(), tf.constant(3, tf.int64).cpu()
        while tf.cast(counter, tf.int64) < limit:
            counter = counter + 1
            self.assertEqual((counter.device, (counter < 3).device), ("/cpu:0", "/cpu:0"))
        self.assertEqual(counter.numpy(), 3)
        self.assertEqual((counter + tf.constant([1, 2])).device, "/gpu:0")
        self.assertEqual((tf.constant(True).cpu() & True).device, "/gpu:0")
        self.assertEqual(tf.zeros([2], tf.int32).device, "/gpu:0")
        with tf.device("/gpu:0"):
            self.assertEqual(tf.add(1, 2).device, "/gpu:0")

    def test_policies_decide_about_copies(self):
        here, there = tf.constant([1., 2.]).cpu(), tf.constant([3., 4.])
        whole = tf.constant([1, 2]).cpu()
        try:
            tf.config.experimental.set_device_policy("explicit")
            with self.assertRaisesRegex(ValueError, r"^add: an input is on /cpu:0 and the op runs on /gpu:0; copy it first"):
                here + there
            self.assertEqual((there + 1.).numpy().tolist(), [4., 5.])
            tf.config.experimental.set_device_policy("silent_for_int32")
            self.assertEqual((whole + tf.constant([1, 1])).numpy().tolist(), [2, 3])
            with self.assertRaisesRegex(ValueError, "copy it first"):
                here + there
        finally:
            tf.config.experimental.set_device_policy(None)

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
            self.assertEqual((other.device, other.numpy().tolist()), ("/gpu:0", [1., 2.]))
        variable = pickle.loads(pickle.dumps(tf.Variable([3.], name="v")))
        self.assertEqual((variable.device, variable.numpy().tolist()), ("/gpu:0", [3.]))

    def test_other_libraries_get_a_copy_on_the_cpu(self):
        there = tf.constant([1., 2.])
        self.assertEqual(there.__dlpack_device__(), (2, 0))
        self.assertEqual(there.cpu().__dlpack_device__(), (1, 0))
        with self.assertRaisesRegex(BufferError, r"on /gpu:0, whose memory is not given away; pass dl_device=\(1, 0\)"):
            there.__dlpack__()
        again = tf.experimental.dlpack.from_dlpack(there.__dlpack__(dl_device=(1, 0)))
        self.assertEqual((again.device, again.numpy().tolist()), ("/cpu:0", [1., 2.]))

    def test_variables_stay_on_their_device(self):
        variable = tf.Variable(tf.constant([1., 2.]))
        variable.assign(tf.constant([3., 4.]).cpu())
        self.assertEqual((variable.device, variable.numpy().tolist()), ("/gpu:0", [3., 4.]))
        variable.assign_add([1., 1.])
        with tf.device("/cpu:0"):
            variable.assign_sub([2., 2.])
            here = tf.Variable(tf.constant([1.]).gpu())
        self.assertEqual((variable.device, variable.numpy().tolist()), ("/gpu:0", [2., 3.]))
        self.assertEqual(here.device, "/cpu:0")
        here.assign(tf.constant([5.]))
        self.assertEqual((here.device, here.numpy().tolist()), ("/cpu:0", [5.]))

    def test_memory_returns_the_moment_a_variable_goes(self):
        bytes_of = tf.config.experimental.get_memory_info
        gc.collect()
        before = bytes_of("GPU:0")["current"]
        variable = tf.Variable(tf.zeros([1 << 20]))
        self.assertGreaterEqual(bytes_of("GPU:0")["current"], before + (4 << 20))
        del variable
        self.assertLess(bytes_of("GPU:0")["current"], before + (4 << 20))
        tf.config.experimental.reset_memory_stats("GPU:0")
        info = bytes_of("GPU:0")
        self.assertLess(info["peak"], info["current"] + (4 << 20))

    def test_gradients_cross_devices(self):
        w = tf.Variable([[1., 2.], [3., 4.]])
        x = tf.constant([[1., -1.]]).cpu()
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.matmul(x, w) ** 2.)
        self.assertEqual(y.device, "/gpu:0")
        dx, dw = tape.gradient(y, [x, w])
        self.assertEqual((dx.device, dw.device), ("/cpu:0", "/gpu:0"))
        self.assertEqual(dx.numpy().tolist(), [[-12., -28.]])
        self.assertEqual(dw.numpy().tolist(), [[-4., -4.], [4., 4.]])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * x)
        self.assertEqual(tape.gradient(y, x).device, "/cpu:0")

    def test_an_op_without_a_kernel_runs_on_the_cpu_and_comes_back(self):
        there = tf.constant([[2., 0.], [0., 3.]])
        singular = tf.linalg.svd(there, compute_uv=False)
        self.assertEqual(singular.device, "/gpu:0")
        np.testing.assert_allclose(singular.numpy(), [3., 2.])

    def test_halves_are_multiplied_as_they_are(self):
        random = np.random.RandomState(3)
        for dtype in (tf.float16, tf.bfloat16):
            a, b = (tf.cast(tf.constant(random.randn(*shape)), dtype) for shape in ((5, 64, 96), (96, 128)))
            tf.config.experimental.reset_memory_stats("GPU:0")
            before = tf.config.experimental.get_memory_usage("GPU:0")
            product = tf.matmul(a, b)
            peak = tf.config.experimental.get_memory_info("GPU:0")["peak"]
            self.assertEqual((product.device, product.dtype), ("/gpu:0", dtype))
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

    def test_a_model_trains_there(self):
        x = tf.constant(np.random.RandomState(1).randn(32, 3).astype(np.float32))
        y = tf.matmul(x, [[1.], [-2.], [3.]])
        for optimizer in (tf.keras.optimizers.Adam(0.1), tf.train.MomentumOptimizer(0.01, 0.9)):
            w = tf.Variable(tf.zeros([3, 1]))
            for _ in range(300):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((tf.matmul(x, w) - y) ** 2.)
                optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            self.assertEqual(w.device, "/gpu:0")
            np.testing.assert_allclose(w.numpy(), [[1.], [-2.], [3.]], atol=0.05)

    def test_another_dtype_and_another_device_agree(self):
        x = tf.constant(np.linspace(0., 1., 50).astype(np.float32))
        report = tf.debugging.lockstep(lambda: tf.reduce_sum(tf.sin(x) * x), {"device": "/cpu:0", "dtype": "float32"},
                                       {"device": "/gpu:0", "dtype": "float64"})
        self.assertEqual(report.ops, 3)

    def test_data_sets_stay_on_the_cpu(self):
        seen = []

        def double(x):
            seen.append((x.device, (x * 2.).device))
            return x * 2.

        dataset = tf.data.Dataset.from_tensor_slices(tf.constant([1., 2., 3., 4.])).map(double).batch(2).prefetch(1)
        batches = list(dataset)
        self.assertEqual([batch.numpy().tolist() for batch in batches], [[2., 4.], [6., 8.]])
        self.assertEqual({*seen, (batches[0].device, "/cpu:0")}, {("/cpu:0", "/cpu:0")})

    def test_a_data_set_gives_its_elements_to_a_gpu_where_that_is_asked_for(self):
        dataset = tf.data.Dataset.from_tensor_slices(([1., 2., 3., 4.], ["a", "b", "c", "d"])).batch(2)
        for moved in (tf.data.experimental.copy_to_device("/gpu:0"), tf.data.experimental.prefetch_to_device("/gpu:0", 1)):
            found = [(numbers.device, numbers.numpy().tolist(), texts.device) for numbers, texts in dataset.apply(moved)]
            self.assertEqual(found, [("/gpu:0", [1., 2.], "/cpu:0"), ("/gpu:0", [3., 4.], "/cpu:0")])
        self.assertEqual(next(iter(dataset.apply(tf.data.experimental.copy_to_device("/cpu:0"))))[0].device, "/cpu:0")

    def test_checkpoints_hold_what_was_there(self):
        variable = tf.Variable([1., 2., 3.])
        with tempfile.TemporaryDirectory() as folder:
            path = tf.train.Checkpoint(v=variable).save(os.path.join(folder, "c"))
            variable.assign([0., 0., 0.])
            tf.train.Checkpoint(v=variable).restore(path)
        self.assertEqual((variable.device, variable.numpy().tolist()), ("/gpu:0", [1., 2., 3.]))

    def test_threads_have_scopes_of_their_own(self):
        with tf.device("/cpu:0"):
            self.assertEqual(in_thread(lambda: tf.zeros([2]).device), "/gpu:0")
            self.assertEqual(tf.zeros([2]).device, "/cpu:0")

    def test_details_are_told(self):
        gpu = tf.config.list_physical_devices("GPU")[0]
        self.assertTrue(tf.config.experimental.get_device_details(gpu)["device_name"])
        self.assertEqual((tf.test.gpu_device_name(), tf.test.is_gpu_available()), ("/device:GPU:0", True))
        self.assertFalse(tf.test.is_gpu_available(min_cuda_compute_capability=(99, 0)))
        with tf.device(tf.test.gpu_device_name()):
            self.assertEqual(tf.ones([2]).device, "/gpu:0")


LOSING_PROGRAM = """
import threading
import tapedeck as tf
x = tf.ones([3])
y = tf.tanh(tf.exp(x))
def tell(call):
    try:
        call()
        print("no error")
    except tf.errors.InternalError as error:
        assert isinstance(error, RuntimeError)
        print(error)
tell(y.numpy)
tell(y.numpy)
tell(lambda: tf.negative(x))
thread = threading.Thread(target=tell, args=(lambda: x + x,))
thread.start()
thread.join()
with tf.device("/cpu:0"):
    print("the host has", float(tf.add(1., 1.)))
"""


@unittest.skipIf(GPUS, "the GPU itself is tested")
class Emulated(unittest.TestCase):
    def test_what_needs_a_gpu_holds_on_emulated_ones(self):
        library = emulated_library(self)
        run = subprocess.run([sys.executable, "-B", "-m", "unittest", "test_devices.OnGpus", "test_devices.Anywhere"],
                             env=visible_to_a_program(library), cwd=os.path.dirname(os.path.abspath(__file__)),
                             capture_output=True, text=True, timeout=250)
        self.assertEqual(run.returncode, 0, run.stderr[-20000:])
        self.assertNotIn("skipped", run.stderr)

    def test_gpus_can_be_hidden(self):
        library = emulated_library(self)
        ask = "import tapedeck as tf; from tapedeck import _engine, tfe; print(tfe.num_gpus(), tf.ones([2]).device, _engine.why_no_gpu())"
        for visible, told in (("", "0 /cpu:0 CUDA_VISIBLE_DEVICES hides all GPUs"), ("-1", "0 /cpu:0 CUDA_VISIBLE_DEVICES hides all GPUs"),
                              ("0,1", "2 /gpu:0")):
            with self.subTest(visible):
                run = subprocess.run([sys.executable, "-B", "-c", ask], capture_output=True, text=True, timeout=200,
                                     env={**visible_to_a_program(library), "CUDA_VISIBLE_DEVICES": visible})
                self.assertEqual((run.stdout.strip(), run.returncode), (told, 0), run.stderr)

    def test_a_lost_gpu_is_an_internal_error_again_and_again_and_the_program_ends_by_itself(self):
        library = emulated_library(self)
        run = subprocess.run([sys.executable, "-B", "-c", LOSING_PROGRAM], capture_output=True, text=True, timeout=200,
                             env={**visible_to_a_program(library), "TAPEDECK_EMULATED_GPU_FAULT": "exp"})
        self.assertEqual(run.returncode, 0, run.stderr[-20000:])
        first, *later, cpu = run.stdout.splitlines()
        self.assertIn("an illegal memory access was encountered (cudaErrorIllegalAddress) on /gpu:0; in flight, the newest first: "
                      "tanh (kernel tanh), exp (kernel exp)", first)
        self.assertEqual(later, [first] * 3)
        self.assertEqual(cpu, "the host has 2.0")


if __name__ == "__main__":
    unittest.main()
