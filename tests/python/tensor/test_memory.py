"""Memory that freed tensors leave goes back to the system, and not while a loop uses it again and again."""
import gc
import os
import re
import resource
import time
import unittest

import tapedeck as tf

MB = 1 << 20


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def becomes(condition):
    give_up = time.monotonic() + 60
    while not condition() and time.monotonic() < give_up:
        time.sleep(0.02)
    return condition()


unless_sanitized = unittest.skipIf(re.search("lib[at]san", os.environ.get("LD_PRELOAD", "")), "sanitizers take memory of their own")


class Memory(unittest.TestCase):
    @unless_sanitized
    def test_dropped_tensors_go_back_to_the_system_without_being_asked(self):
        tf.config.experimental.trim_pool()
        before = resident()
        for sizes in ([400, 100, 300, 200], [1] * 300, [0.3] * 900):  # megabytes; small ones come from the C library's heap
            tensors = [tf.ones([int(size * MB) // 4]) for size in sizes]
            self.assertGreater(resident(), before + 200 * MB)
            self.assertGreaterEqual(tf.config.experimental.get_memory_info()["current"], 200 * MB)
            del tensors
            gc.collect()
            self.assertTrue(becomes(lambda: resident() < before + 64 * MB), f"{(resident() - before) / MB} MB stayed")
            self.assertTrue(becomes(lambda: tf.config.experimental.get_memory_info("/cpu:0")["pooled"] < 16 * MB))

    @unless_sanitized
    def test_a_loop_keeps_the_memory_that_it_uses_in_each_step(self):
        x = tf.ones([MB // 2])  # 2 MB: 512 pages
        for _ in range(10):
            y = x * 2. + 1.
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        end = time.monotonic() + 2.5
        steps = 0
        while time.monotonic() < end or steps < 100:
            y = x * 2. + 1.
            steps += 1
        del y
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults, 20 * 512)

    def test_trimming_gives_back_at_once(self):
        tensor = tf.ones([64 * MB // 4])
        peak = tf.config.experimental.get_memory_info()["peak"]
        self.assertGreaterEqual(peak, 64 * MB)
        held = resident()
        del tensor
        tf.config.experimental.trim_pool()
        self.assertLess(resident(), held - 48 * MB)
        self.assertLess(tf.config.experimental.get_memory_info()["pooled"], 16 * MB)
        with self.assertRaises(tf.errors.NotFoundError):
            tf.config.experimental.get_memory_info("/gpu:9")

    def test_a_forked_process_gives_back_its_own(self):
        tensors = [tf.ones([MB]) for _ in range(8)]
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            tf.config.set_num_threads(1)
            del tensors
            mine = [tf.ones([8 * MB]) + 1. for _ in range(4)]
            del mine
            fell = becomes(lambda: tf.config.experimental.get_memory_info()["pooled"] < 16 * MB)
            os.write(writing, b"fell" if fell else b"stayed")
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            self.assertEqual(answer.read(), b"fell")
        os.waitpid(child, 0)


if __name__ == "__main__":
    unittest.main()
