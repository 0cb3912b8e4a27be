"""An interrupt ends an op that takes long: it does not wait for the op's result."""
import operator
import os
import signal
import threading
import unittest

import tapedeck as tf

from long_calls import LONG_CALLS


class Interrupted(Exception):
    pass


def raise_interrupted(*_):
    raise Interrupted


class LongOps(unittest.TestCase):
    def setUp(self):
        before = signal.signal(signal.SIGINT, raise_interrupted)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def test_each_is_ended_without_a_result(self):
        for name, make in LONG_CALLS.items():
            with self.subTest(name):
                self.interrupt(make())

    def interrupt(self, call):
        """A machine that has much else to do may give the other thread its turn only after the op: then it is tried again."""
        for _ in range(5):
            if self.results_with_interrupt(call) == [None]:
                return
        self.fail("the op ran to its end")

    def results_with_interrupt(self, call):
        """No line of Python runs between the lock's release and the end of the op: the other thread gets its turn while the
        op runs, and a result would be in the list before the interrupt is."""
        lock, results = threading.Lock(), []

        def send():
            with lock:
                os.kill(os.getpid(), signal.SIGINT)
        lock.acquire()
        thread = threading.Thread(target=send)
        thread.start()
        with self.assertRaises(Interrupted):
            try:
                results.extend(map(operator.call, (lock.release, call)))
            finally:
                thread.join()
            raise AssertionError("the interrupt came after the op")
        return results

    def test_ops_work_as_before_after_an_interrupt(self):
        self.interrupt(LONG_CALLS["matrix_inverse of a batch"]())
        self.interrupt(LONG_CALLS["sort"]())
        x = tf.random.normal([500, 500]) + 40. * tf.eye(500)
        self.assertLess(float(tf.reduce_max(tf.abs(tf.linalg.inv(x) @ x - tf.eye(500)))), 1e-4)
        self.assertTrue(bool(tf.reduce_all(tf.sort([3., 1., 2.]) == [1., 2., 3.])))


if __name__ == "__main__":
    unittest.main()
