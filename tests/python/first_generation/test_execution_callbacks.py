"""tfe's execution callbacks, as TensorFlow 1.5 has them."""
import contextlib
import io
import pickle
import threading
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine, tfe


class Callbacks(unittest.TestCase):
    def setUp(self):
        self.addCleanup(tfe.clear_execution_callbacks)
        self.calls = []

    def note(self, *call):
        self.calls.append(call)

    def test_each_op_is_told_with_all_that_it_had(self):
        a = tf.constant([[1.0, 2.0]])
        tfe.add_execution_callback(self.note)
        b = tf.matmul(a, a, transpose_b=True)
        (op, name, attributes, inputs, outputs), = self.calls
        self.assertEqual((op, name), ("matmul", None))
        self.assertEqual(dict(zip(attributes[::2], attributes[1::2]))["transpose_b"], True)
        self.assertIsInstance(attributes, tuple)
        self.assertEqual([each._id for each in inputs], [a._id, a._id])
        self.assertEqual([each._id for each in outputs], [b._id])
        tfe.clear_execution_callbacks()
        tf.matmul(a, a, transpose_b=True)
        self.assertEqual(len(self.calls), 1)

    def test_gradients_optimisers_and_operators_are_told(self):
        v = tf.Variable([1.0, 2.0])
        tfe.add_execution_callback(self.note)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v)
        tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tape.gradient(loss, v), v)])
        names = [call[0] for call in self.calls]
        for name in ("multiply", "reduce_sum"):
            self.assertIn(name, names)
        self.assertGreater(len(names), 4)
        np.testing.assert_allclose(v, [0.8, 1.6], rtol=1e-6)

    def test_callbacks_run_in_their_order_and_their_own_ops_are_not_told(self):
        order = []
        tfe.add_execution_callback(lambda *call: order.append(("first", float(call[4][0] + 1.0))))
        tfe.add_execution_callback(lambda *call: order.append(("second", call[0])))
        tf.constant(1.0) * 2.0
        self.assertEqual(order, [("first", 3), ("second", "multiply")])

    def test_what_one_raises_comes_out_of_the_op(self):
        def refuse(*call):
            raise KeyError("mine")

        a = tf.ones([2])
        tfe.add_execution_callback(refuse)
        with self.assertRaisesRegex(KeyError, "mine"):
            tf.exp(a)
        with self.assertRaisesRegex(KeyError, "mine"):
            a + a
        tfe.clear_execution_callbacks()
        self.assertEqual((a + a).numpy().tolist(), [2, 2])
        with self.assertRaises(TypeError):
            tfe.add_execution_callback(3)

    def test_ops_of_other_threads_are_told(self):
        tfe.add_execution_callback(self.note)
        thread = threading.Thread(target=lambda: tf.exp(tf.ones([2])))
        thread.start()
        thread.join()
        self.assertEqual([call[0] for call in self.calls], ["ones", "exp"])

    def test_a_recorder_sees_the_same_ops_behind_them(self):
        _engine.debug.attach()
        self.addCleanup(_engine.debug.stop)
        tfe.add_execution_callback(self.note)
        tf.exp(tf.ones([2]))
        self.assertEqual(_engine.debug.record_count(), len(self.calls))
        tfe.clear_execution_callbacks()
        tf.exp(tf.ones([2]))
        self.assertEqual(_engine.debug.record_count(), 4)
        self.assertEqual(len(self.calls), 2)


class Numbers(unittest.TestCase):
    def setUp(self):
        self.addCleanup(tfe.clear_execution_callbacks)

    def test_seterr_raises_where_they_come_from(self):
        self.assertEqual(tfe.seterr(inf_or_nan="raise"), {"inf_or_nan": "ignore"})
        with self.assertRaisesRegex(tfe.InfOrNanError, r"Output 1 of 1 of op log \(name: None\) contains 1 inf\(s\) and 1 nan\(s\) out "
                                                       r"of a total of 3 element\(s\). Tensor value: \[-inf +nan +0") as raised:
            tf.math.log([0.0, -1.0, 1.0])
        error = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((error.op_type, error.output_index, error.num_outputs), ("log", 0, 1))
        self.assertEqual(tfe.seterr(), {"inf_or_nan": "raise"})
        self.assertEqual(tfe.seterr(inf_or_nan="ignore"), {"inf_or_nan": "raise"})
        self.assertTrue(np.isinf(tf.math.log(0.0)))
        with self.assertRaisesRegex(ValueError, "inf_or_nan is 'stop'; must be 'ignore'"):
            tfe.seterr(inf_or_nan="stop")

    def test_errstate_ends(self):
        def other(*call):
            pass

        tfe.add_execution_callback(other)
        with tfe.errstate(inf_or_nan="raise"):
            with self.assertRaises(tfe.InfOrNanError):
                tf.constant(1.0) / 0.0
            with tfe.errstate(inf_or_nan="ignore"):
                tf.constant(1.0) / 0.0
        tf.constant(1.0) / 0.0
        self.assertEqual(tfe.seterr(), {"inf_or_nan": "ignore"})

    def test_print_and_warn(self):
        tfe.seterr(inf_or_nan="print")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            tf.constant(1.0) / 0.0
        self.assertIn("Warning: Output 1 of 1 of op divide", printed.getvalue())
        tfe.seterr(inf_or_nan="warn")
        with self.assertLogs("tensorflow", "WARNING") as logged:
            tf.constant(1.0) / 0.0
        self.assertIn("contains 1 inf(s) out of a total of 1 element(s)", logged.output[0])

    def test_one_kind_alone(self):
        tfe.add_execution_callback(tfe.nan_callback)
        tf.constant(1.0) / 0.0
        with self.assertRaises(tfe.InfOrNanError):
            tf.constant(0.0) / 0.0
        tfe.clear_execution_callbacks()
        tfe.add_execution_callback(tfe.inf_callback)
        tf.constant(0.0) / 0.0
        tf.constant(1, tf.int32) * 2
        with self.assertRaises(tfe.InfOrNanError):
            tf.constant(1.0) / 0.0


if __name__ == "__main__":
    unittest.main()
