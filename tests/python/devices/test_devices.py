"""Devices: tf.device, policies, memory, and programs that find GPUs or none. Tests on GPUs are those of test_gpu_*.py."""
import os
import subprocess
import sys
import unittest

from device_names import CPU, full, GPU
import tapedeck as tf
from gpus import GPUS, in_thread, visible_to_a_program
from tapedeck import _engine, tfe


def emulated_library(test):
    library = os.environ.get("TAPEDECK_EMULATED_GPU")
    if not library or not os.path.exists(library):
        test.skipTest("TAPEDECK_EMULATED_GPU names no library")
    return library


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
                        self.assertEqual(tf.zeros([2]).device, CPU)
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

    def test_another_device_stands_for_one_that_is_not_there_unless_placement_is_hard(self):
        self.assertIs(tf.config.get_soft_device_placement(), True)
        first = "/gpu:0" if GPUS else "/cpu:0"
        for name, place in ((f"/gpu:{GPUS}", first), (f"GPU:{GPUS + 7}", first), ("/cpu:1", "/cpu:0")):
            with self.subTest(name), tf.device(name):
                self.assertEqual((tf.ones([2]).device, tf.add(1., 1.).device), (full(place),) * 2)
        with self.assertRaisesRegex(ValueError, "toaster"), tf.device("/toaster:0"):
            self.fail("entered")
        self.addCleanup(tf.config.set_soft_device_placement, True)
        tf.config.set_soft_device_placement(False)
        self.assertIs(tf.config.get_soft_device_placement(), False)
        for name in (f"/gpu:{GPUS}", f"GPU:{GPUS}", "/cpu:1"):
            with self.subTest(name), self.assertRaisesRegex(tf.errors.NotFoundError, "^device: there is no /[cg]pu:[0-9]+; this machine "
                                                                                     f"has {GPUS} GPUs that this build can use"):
                with tf.device(name):
                    self.fail("entered")
        self.assertIsNone(_engine.open_device())

    def test_policies_are_those_of_tensorflow(self):
        self.assertEqual((tfe.DEVICE_PLACEMENT_EXPLICIT, tfe.DEVICE_PLACEMENT_WARN, tfe.DEVICE_PLACEMENT_SILENT,
                          tfe.DEVICE_PLACEMENT_SILENT_FOR_INT32), (0, 1, 2, 3))
        for policy in ("explicit", "warn", "silent_for_int32"):
            tf.config.experimental.set_device_policy(policy)
            self.assertEqual(tf.config.experimental.get_device_policy(), policy)
            self.assertEqual(in_thread(tf.config.experimental.get_device_policy), "silent")
        tf.config.experimental.set_device_policy(None)
        with self.assertRaisesRegex(ValueError, "'loud' is not a device policy"):
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
        self.assertEqual(tensor.cpu().device, CPU)


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
    def test_gpus_can_be_hidden(self):
        library = emulated_library(self)
        ask = "import tapedeck as tf; from tapedeck import _engine, tfe; print(tfe.num_gpus(), tf.ones([2]).device, _engine.why_no_gpu())"
        for visible, told in (("", f"0 {CPU} CUDA_VISIBLE_DEVICES hides all GPUs"), ("-1", f"0 {CPU} CUDA_VISIBLE_DEVICES hides all GPUs"),
                              ("0,1", f"2 {GPU}")):
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
