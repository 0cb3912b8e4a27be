"""GPUs for tests: those of the machine; where it has none, the emulated ones of the build, a library that the environment's
TAPEDECK_EMULATED_GPU names."""
import ctypes
import os
import sys
import threading
import unittest

import tapedeck as tf
from tapedeck import _engine, tfe


GPUS = tfe.num_gpus()


def visible_to_a_program(library):
    """The environment of a program whose GPUs are this library's."""
    return {**{name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}, "TAPEDECK_GPU_LIBRARY": library}


def setUpModule():
    """For modules whose tests need a GPU: where there is none, the test program begins anew on emulated ones."""
    library = os.environ.get("TAPEDECK_EMULATED_GPU", "")
    if GPUS == 0 and os.path.exists(library) and os.environ.get("TAPEDECK_GPU_LIBRARY") != library:
        sys.stderr.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], visible_to_a_program(library))


def in_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def _counter():
    return getattr(ctypes.CDLL(os.environ.get("TAPEDECK_GPU_LIBRARY")), "tapedeck_emulated_waits", None)


def emulated():
    return _counter() is not None


def waits():
    """How often the host has waited for the GPUs so far. Skips the test where they are no emulated ones, which count it."""
    counter = _counter()
    if counter is None:
        raise unittest.SkipTest("only emulated GPUs count waits")
    counter.restype = ctypes.c_ulonglong
    return counter()


@unittest.skipIf(GPUS == 0, "needs a GPU, or TAPEDECK_EMULATED_GPU")
class OnGpus(unittest.TestCase):
    """A base of tests that need a GPU; it leaves devices and policies as it found them."""

    def tearDown(self):
        self.assertIsNone(_engine.open_device())
        self.assertEqual(tf.config.experimental.get_device_policy(), "silent")
