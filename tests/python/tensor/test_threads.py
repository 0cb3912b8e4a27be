"""Threads, interrupts, and what a fresh process prints."""
import functools
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import unittest
import weakref

import numpy as np

import tapedeck as tf
from tapedeck import tfe


def run(code, **options):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=200, check=False,
                          **options)


def raised_beside_each_other(functions):
    """Calls the functions at once, each in a thread. What they raised: threads would only print it."""
    raised = []

    def call(function):
        try:
            function()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=call, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


class Threads(unittest.TestCase):
    def test_eight_threads_get_the_right_values_and_gradients(self):
        shared = tf.constant(np.random.RandomState(0).randn(64, 64))
        reference = shared.numpy()

        def work(seed):
            generator = np.random.RandomState(seed)
            for _ in range(40):
                mine = generator.randn(64, 64)
                x = tf.constant(mine)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(tf.square(x @ shared))
                np.testing.assert_allclose(float(y), ((mine @ reference)**2).sum(), rtol=1e-9)
                np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * mine @ reference @ reference.T, rtol=1e-6, atol=1e-8)
                big = tf.exp(tf.fill([50000], float(seed)))
                np.testing.assert_allclose(big.numpy(), np.exp(np.float32(seed)), rtol=1e-5)

        self.assertEqual(raised_beside_each_other([functools.partial(work, seed) for seed in range(8)]), [])

    def test_a_variable_is_read_and_assigned_by_several_threads(self):
        v = tf.Variable(np.zeros(1000))
        torn = []

        def write(value):
            for _ in range(300):
                v.assign(np.full(1000, value))

        def read():
            for _ in range(600):
                values = v.numpy()
                if (values != values[0]).any():
                    torn.append(values)

        self.assertEqual(raised_beside_each_other([functools.partial(write, float(i)) for i in range(3)] + [read] * 3), [])
        self.assertEqual(torn, [])

    def test_no_change_of_a_variable_is_lost(self):
        v = tf.Variable(np.zeros(100000))

        def add():
            for _ in range(50):
                v.assign_add(np.ones(100000))
                v.assign_sub(np.full(100000, 3.))

        self.assertEqual(raised_beside_each_other([add] * 8), [])
        self.assertEqual(set(v.numpy()), {-800.})

    def test_other_threads_run_beside_one_large_matrix_or_image(self):
        generator = np.random.RandomState(2)
        a = tf.constant(generator.randn(400, 400))
        image, window = (tf.constant(generator.randn(*shape).astype(np.float32)) for shape in ((1, 256, 256, 32), (5, 5, 32, 64)))
        interval = sys.getswitchinterval()
        for call in (lambda: tf.linalg.svd(a), lambda: tf.nn.conv2d(image, window, 1, "SAME")):
            begun, ran = threading.Event(), []
            other = threading.Thread(target=lambda: (begun.wait(), ran.append(True)))
            other.start()
            sys.setswitchinterval(1e4)  # no other thread takes the lock from this one: it has to release it
            try:
                begun.set()
                call()
                ran_beside = list(ran)
            finally:
                sys.setswitchinterval(interval)
            other.join()
            self.assertEqual(ran_beside, [True])

    def test_a_daemon_thread_in_an_op_lets_the_process_end(self):
        for work in ("tf.matmul(x, x)", "tf.sort(x)", "tf.reduce_sum(tf.exp(x))", "f(x)"):
            ended = run(f"""
                import threading, time
                import tapedeck as tf
                from tapedeck import tfe
                x = tf.ones([400, 400])
                @tf.custom_gradient
                def f(x):
                    return tf.exp(x), lambda dy: dy
                def forever():
                    while True:
                        with tf.GradientTape() as tape:
                            tape.watch(x)
                            y = {work}
                        tape.gradient(y, x)
                threading.Thread(target=forever, daemon=True).start()
                time.sleep(.2)
            """)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""), work)

    def test_a_tape_belongs_to_its_thread(self):
        x = tf.constant(3.)
        elsewhere = []
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            thread = threading.Thread(target=lambda: elsewhere.append(x * x))
            thread.start()
            thread.join()
            y = x * 2.
        self.assertIsNone(tape.gradient(elsewhere[0], x))
        self.assertEqual(float(tape.gradient(y, x)), 2.)


class Stress(unittest.TestCase):
    """Eight threads run the same work at once, each from a place of its own on; every bit is what one thread finds."""

    @staticmethod
    def jobs():
        generator = np.random.RandomState(5)
        matrix, images = generator.standard_normal((40, 40)), generator.standard_normal((2, 8, 8, 3)).astype(np.float32)
        spread = matrix / 10 + 3 * np.eye(40)
        filters, long = generator.standard_normal((3, 3, 3, 4)).astype(np.float32), generator.standard_normal(60000)
        w = tf.Variable(matrix, name="shared")

        @tf.custom_gradient
        def clipped(x):
            return tf.identity(x), lambda upstream: tf.clip_by_value(upstream, -1., 1.)

        def of(f, *arrays):
            """f's results, and the gradients of their sum."""
            def job():
                tensors = [tf.constant(array) for array in arrays]
                with tf.GradientTape() as tape:
                    tape.watch(tensors)
                    result = f(*tensors)
                return [result] + tape.gradient(result, tensors + [w])
            return job

        def second(x):
            x = tf.constant(x)
            with tf.autodiff.ForwardAccumulator(x, x) as accumulator:
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(tf.sin(x) * x)
                gradient = tape.gradient(y, x)
            return [accumulator.jvp(gradient), tfe.jacobian_function(lambda v: v[:3] * tf.exp(v[1:4]))(x)[0]]

        return [of(lambda x: tf.reduce_sum(tf.square(x @ w)), matrix), of(tf.nn.softmax, matrix), of(tf.linalg.inv, spread),
                of(lambda x: tf.linalg.svd(x)[0], spread[:6, :6]), of(tf.exp, long), of(lambda x: tf.cumsum(tf.sort(x)), long),
                of(lambda x, f: tf.nn.conv2d(x, f, 1, "SAME"), images, filters), of(lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), images),
                of(lambda x: tf.einsum("ij,kj->ik", x, w[:20]), matrix), of(lambda x: clipped(x * 3.) * w, matrix),
                of(tf.recompute_grad(lambda x: tf.tanh(x @ w) @ x), matrix), of(lambda x: tf.stack([x[i] for i in range(5)]), matrix),
                of(lambda x: tf.cast(tf.cast(x, tf.float16), tf.float64), long), lambda: second(long[:10]),
                lambda: [tf.constant(float(tf.reduce_sum(tf.constant(long))))],
                lambda: [tf.constant(np.exp(np.asarray(tf.constant(long))))]]

    def check(self):
        jobs = self.jobs()

        def arrays(job):
            return [None if tensor is None else tensor.numpy().tobytes() for tensor in job()]

        expected = [arrays(job) for job in jobs]
        wrong = []
        barrier = threading.Barrier(8)

        def work(start):
            barrier.wait()
            for i in range(3 * len(jobs)):
                at = (start * 2 + i) % len(jobs)
                if arrays(jobs[at]) != expected[at]:
                    wrong.append(at)

        self.assertEqual(raised_beside_each_other([functools.partial(work, start) for start in range(8)]), [])
        self.assertEqual(wrong, [])

    def test_unrecorded(self):
        self.check()

    def test_recorded(self):
        tf.experimental.record_ops()
        try:
            self.check()
        finally:
            tf.experimental.record_ops(False)

    def test_recording_begins_and_ends_meanwhile(self):
        done = threading.Event()

        def switch():
            on = True
            while not done.is_set():
                on = not on
                tf._engine.debug.set_recording(on)

        tf.experimental.record_ops()
        switching = threading.Thread(target=switch)
        switching.start()
        try:
            self.check()
        finally:
            done.set()
            switching.join()
            tf.experimental.record_ops(False)


class Memory(unittest.TestCase):
    def test_objects_that_tapes_and_tensors_hold_are_freed(self):
        freed = []

        class Watched:
            def __del__(self):
                freed.append(self)

        def once():
            marker = Watched()

            @tf.custom_gradient
            def f(x):
                def grad(d, keep=marker):
                    return d * 2.
                return x * 2., grad

            tfe.gradients_function(f)(1.)

        once()
        gc.collect()
        self.assertEqual(len(freed), 1)

    def test_a_circle_of_tape_and_gradient_function_is_collected(self):
        def once(persistent):
            class Marker:
                pass

            marker, tape = Marker(), tf.GradientTape(persistent=persistent)

            @tf.custom_gradient
            def f(x):
                return x * 2., lambda d, keep=(marker, tape): d * 2.

            v = tf.Variable(1.)
            with tape:
                y = f(v)
            if persistent:
                tape.gradient(y, v)
            return weakref.ref(marker)

        for persistent in (False, True):
            reference = once(persistent)
            gc.collect()
            self.assertIsNone(reference())

    @unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "the address sanitizer keeps freed memory for a while")
    def test_memory_stays_bounded_over_many_ops(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def work(count):
            w = tf.Variable(tf.ones([100, 100]))
            for _ in range(count):
                with tf.GradientTape() as tape:
                    y = tf.reduce_sum(tf.square(w @ w) * .5)
                w.assign_sub(1e-9 * tape.gradient(y, w))
                repr(w[0, 0]), np.asarray(w), tf.constant([1., 2.]), memoryview(w.read_value())

        work(200)
        before = resident()
        work(2000)
        self.assertLess(resident() - before, 20e6)


class Interrupt(unittest.TestCase):
    def check(self, code):
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        try:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=200)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(out, "interrupted\n", error)
        self.assertEqual(process.returncode, 0, error)

    def test_a_loop_of_matmuls_ends_in_keyboard_interrupt(self):
        self.check("""
            import tapedeck as tf
            a = tf.random.normal([300, 300]) * .05
            try:
                print("ready", flush=True)
                while True:
                    a = tf.tanh(a @ a)
            except KeyboardInterrupt:
                print("interrupted")
            """)

    def test_a_long_op_is_left_and_the_engine_goes_on(self):
        self.check("""
            import tapedeck as tf
            from tapedeck import tfe
            def forever(x):
                print("ready", flush=True)
                for _ in range(10**9):
                    x = tf.exp(-tf.exp(tf.fill([4000000], x)))[0]
                return x
            try:
                tfe.gradients_function(forever)(1.)
            except KeyboardInterrupt:
                assert float(tfe.gradients_function(lambda x: x * x)(3.)[0]) == 6.
                print("interrupted")
            """)


class Process(unittest.TestCase):
    def test_a_program_runs_quietly_and_ends_cleanly(self):
        done = run("""
            import threading
            import numpy as np
            import tapedeck as tf
            kept = tf.constant(np.frombuffer(bytes(4000), np.float32))
            tape = tf.GradientTape(persistent=True)
            tape.__enter__()
            v = tf.Variable(1.)
            y = v * kept
            thread = threading.Thread(target=lambda: tf.matmul(tf.ones([50, 50]), tf.ones([50, 50])))
            thread.start()
            print("done")
            """)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("done\n", "", 0))

    def test_the_module_can_be_imported_in_any_order(self):
        for line in ("from tapedeck import tfe", "from tapedeck.math import log", "import tapedeck.keras.datasets.mnist",
                     "from tapedeck.linalg import matmul", "import tapedeck.errors", "from tapedeck import *"):
            done = run(line)
            self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", 0), line)


if __name__ == "__main__":
    unittest.main()
