"""tf.Variable."""
import copy
import gc
import os
import pickle
import tempfile
import unittest

import numpy as np

from device_names import CPU
import tapedeck as tf
from tapedeck import tfe


class WithNote(tf.Variable):
    pass


class Variable(unittest.TestCase):
    def test_it_holds_what_a_constant_would(self):
        self.assertEqual(tf.Variable([1., 2.]).dtype, tf.float32)
        self.assertEqual(tf.Variable(3, dtype=tf.float64).dtype, tf.float64)
        self.assertEqual(float(tf.Variable(lambda: tf.constant(4.))), 4.)
        self.assertEqual(tf.Variable(np.eye(2)).shape, (2, 2))
        self.assertIs(tfe.Variable, tf.Variable)
        with self.assertRaisesRegex(TypeError, "Variable: initial_value: cannot convert <object object"):
            tf.Variable(object())

    def test_names_and_properties(self):
        self.assertEqual(tf.Variable(1., name="w").name, "w:0")
        self.assertEqual(tf.Variable(1.).name, "Variable:0")
        v = tf.Variable([[1., 2.]], trainable=False)
        self.assertEqual((v.trainable, v.shape, v.ndim, v.device, len(v)), (False, (1, 2), 2, CPU, 1))
        self.assertTrue(tf.Variable(1.).trainable)
        self.assertEqual(len({v: 1, tf.Variable(1.): 2}), 2)

    def test_what_is_no_bool_does_not_say_whether_it_is_trainable(self):
        for trainable, shown in ((np.array([1, 2]), r"array\(\[1, 2\]\)"), (tf.zeros([2]), "<tf.Tensor"), ("no", "'no'")):
            with self.assertRaisesRegex(TypeError, f"Variable: trainable is {shown}.*; needs True, False or None"):
                tf.Variable(1., trainable=trainable)
        self.assertEqual([tf.Variable(1., trainable=each).trainable for each in (None, True, np.bool_(False), 0)],
                         [True, True, False, False])

    def test_it_is_printed_as_its_value_is(self):
        for value, text in ((tf.constant([1.5, 2.], tf.bfloat16), "shape=(2,) dtype=bfloat16, numpy=array([1.5, 2. ], dtype=bfloat16)>"),
                            (tf.constant(1.5), "shape=() dtype=float32, numpy=1.5>"),
                            (tf.constant([[1], [2]]), "shape=(2, 1) dtype=int32, numpy=\narray([[1],\n       [2]], dtype=int32)>")):
            self.assertEqual(repr(tf.Variable(value, name="v")), "<tf.Variable 'v:0' " + text)

    def test_assignment_leaves_values_read_before(self):
        v = tf.Variable([1., 2.])
        before = v.read_value()
        shared = np.asarray(v)
        self.assertIs(v.assign([3, 4]), v)
        np.testing.assert_array_equal(v.assign_add([1., 1.]).numpy(), [4, 5])
        np.testing.assert_array_equal(v.assign_sub(np.ones(2)).numpy(), [3, 4])
        np.testing.assert_array_equal(before.numpy(), [1, 2])
        np.testing.assert_array_equal(shared, [1, 2])
        np.testing.assert_array_equal(v.value().numpy(), [3, 4])
        v.assign(v * 2)
        np.testing.assert_array_equal(v.numpy(), [6, 8])

    def test_assignments_that_do_not_fit_name_the_variable(self):
        v = tf.Variable([1., 2.], name="weights")
        with self.assertRaisesRegex(ValueError, r"weights.*\(3,\)"):
            v.assign([1., 2., 3.])
        with self.assertRaisesRegex(ValueError, "weights.*float64"):
            v.assign(tf.constant([1., 2.], tf.float64))
        with self.assertRaisesRegex(TypeError, "weights.*cannot convert True"):
            v.assign([True, False])
        with self.assertRaisesRegex(ValueError, r"weights.*\(2, 2\)"):
            v.assign_add(tf.ones([2, 2]))
        np.testing.assert_array_equal(v.numpy(), [1, 2])

    def test_it_acts_as_its_value(self):
        v = tf.Variable([3., 4.])
        np.testing.assert_array_equal((v + 1).numpy(), [4, 5])
        np.testing.assert_array_equal((1 - v).numpy(), [-2, -3])
        np.testing.assert_array_equal((v == [3, 0]).numpy(), [True, False])
        np.testing.assert_array_equal((-v).numpy(), [-3, -4])
        self.assertEqual(float(tf.reduce_sum(v)), 7.)
        self.assertEqual(float(v[1]), 4.)
        self.assertEqual([float(x) for x in v], [3., 4.])
        self.assertTrue(tf.Variable(2.) > 1.)
        self.assertEqual((int(tf.Variable(2.5)), f"{tf.Variable(2.5):.2f}"), (2, "2.50"))
        v += 1.
        self.assertIsInstance(v, tf.Tensor)

    def test_a_tape_sums_over_all_values_it_saw(self):
        v = tf.Variable(2.)
        with tf.GradientTape() as tape:
            y = v * v
            v.assign(5.)
            z = y + v * 3.
        self.assertEqual(float(tape.gradient(z, v)), 4. + 3.)

    def test_copies_are_variables_of_their_own(self):
        v = tf.Variable([1., 2.], name="v", trainable=False)
        for copied in (copy.copy(v), copy.deepcopy({"a": [v]})["a"][0], *(pickle.loads(pickle.dumps(v, p)) for p in range(6))):
            self.assertIsInstance(copied, tf.Variable)
            self.assertEqual((copied.name, copied.trainable, copied.dtype), ("v:0", False, tf.float32))
            copied.assign_add([1., 1.])
            self.assertEqual((copied.numpy().tolist(), v.numpy().tolist()), ([2., 3.], [1., 2.]))
        both = copy.deepcopy([v, v])
        self.assertIs(both[0], both[1])
        v = WithNote(1.)
        v.note = [v]
        copied = copy.deepcopy(v)
        self.assertIsInstance(copied, WithNote)
        self.assertIs(copied.note[0], copied)

    def test_tensorflows_arguments_in_its_order(self):
        v = tf.Variable([1, 2], False, True, None, "w", None, tf.float64, shape=[None], synchronization=None, use_resource=True)
        self.assertEqual((v.name, v.dtype, v.trainable, v.shape), ("w:0", tf.float64, False, (None,)))
        with self.assertRaisesRegex(ValueError, r"^Variable: initial_value has shape \(1,\), shape is \[2\]"):
            tf.Variable([1.], shape=[2])
        self.assertIs(tf.Variable(1., constraint=abs).constraint, abs)
        with self.assertRaisesRegex(ValueError, "constraint"):
            tf.Variable(1., constraint="abs")
        with self.assertRaisesRegex(TypeError, "variable_def is 3; only None is taken there"):
            tf.Variable(1., variable_def=3)

    def test_extents_that_are_not_known_may_change(self):
        v = tf.Variable(tf.zeros([2, 3]), name="v", shape=tf.TensorShape([None, 3]))
        self.assertEqual((v.shape, v.get_shape()), ((None, 3), (None, 3)))
        self.assertEqual((v.read_value().shape, len(v), v.ndim), ((2, 3), 2, 2))
        before = v.read_value()
        self.assertIs(v.assign(tf.ones([4, 3])), v)
        self.assertEqual((v.shape, v.read_value().shape, before.shape, len(v)), ((None, 3), (4, 3), (2, 3), 4))
        v.assign_add([[1., 2., 3.]])
        self.assertEqual(v.numpy()[3].tolist(), [2., 3., 4.])
        self.assertTrue(repr(v).startswith("<tf.Variable 'v:0' shape=(None, 3) dtype=float32, numpy="), repr(v))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v)
        self.assertEqual(tape.gradient(y, v).shape, (4, 3))
        for value, shape in ((tf.ones([4, 2]), r"\(4, 2\)"), (tf.ones([3]), r"\(3,\)"), (tf.ones([1, 2, 3]), r"\(1, 2, 3\)")):
            with self.assertRaisesRegex(ValueError, rf"assign to v:0: the variable has shape \(None, 3\), the value {shape}"):
                v.assign(value)
        # What is added to the value does not make another shape of it.
        with self.assertRaisesRegex(ValueError, r"assign to v:0: the variable has shape \(4, 3\), the value \(5, 4, 3\)"):
            v.assign_add(tf.ones([5, 4, 3]))
        for copied in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
            self.assertEqual(copied.shape, (None, 3))
            self.assertEqual(copied.assign(tf.zeros([0, 3])).read_value().shape, (0, 3))
        self.assertEqual(len(v), 4)

    def test_a_shape_of_which_nothing_is_known_may_be_any(self):
        v = tf.Variable([1, 2], name="any", shape=tf.TensorShape(None))
        self.assertEqual(v.shape, tf.TensorShape(None))
        self.assertIn("shape=<unknown> dtype=int32", repr(v))
        for value in (5, [[1, 2, 3]], []):
            value = tf.constant(value, tf.int32)
            self.assertEqual(v.assign(value).numpy().tolist(), value.numpy().tolist())
        self.assertEqual(tf.Variable([1, 2], shape=[2]).shape, (2,))
        with self.assertRaisesRegex(ValueError, r"the variable has shape \(2,\), the value \(3,\)"):
            tf.Variable([1, 2], shape=[2]).assign([1, 2, 3])

    def test_a_checkpoint_restores_another_extent_where_it_is_not_known(self):
        with tempfile.TemporaryDirectory() as folder:
            saved = tf.train.Checkpoint(v=tf.Variable(tf.ones([5, 3]))).save(os.path.join(folder, "all"))
            v = tf.Variable(tf.zeros([2, 3]), shape=[None, 3])
            tf.train.Checkpoint(v=v).restore(saved)
            self.assertEqual(v.numpy().tolist(), np.ones((5, 3)).tolist())
            with self.assertRaisesRegex(ValueError, r"shape \(5, 3\).*has shape \(None, 2\)"):
                tf.train.Checkpoint(v=tf.Variable(tf.zeros([2, 2]), shape=[None, 2])).restore(saved)

    def test_subclasses_and_cycles_are_freed(self):
        class Named(tf.Variable):
            pass

        v = Named(1.)
        v.note = v
        with tf.GradientTape() as tape:
            y = v * v
        self.assertIs(tape.watched_variables()[0], v)
        self.assertEqual(float(tape.gradient(y, v)), 2.)
        del v, tape
        gc.collect()


if __name__ == "__main__":
    unittest.main()
