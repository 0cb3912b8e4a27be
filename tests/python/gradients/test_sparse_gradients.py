"""Gradients of variables of which only rows were gathered: IndexedSlices, and who takes them."""
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import tfe


def table(rows=4):
    return tf.Variable(np.arange(rows * 2.0).reshape(rows, 2), dtype="float32")


class Gradients(unittest.TestCase):
    def check(self, gradient, indices, values, shape=(4, 2)):
        self.assertIsInstance(gradient, tf.IndexedSlices)
        self.assertEqual(gradient.indices.numpy().tolist(), indices)
        np.testing.assert_allclose(gradient.values.numpy(), values)
        self.assertEqual(tuple(gradient.shape), shape)

    def test_that_of_gathered_rows_names_them(self):
        w = table()
        for lookup in tf.gather, tf.nn.embedding_lookup, lambda w, i: w.sparse_read(i):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(lookup(w, [[3, 1], [1, 0]]) * [1.0, 10.0])
            self.check(tape.gradient(y, w), [3, 1, 1, 0], [[1, 10]] * 4)
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(lookup(w, [2]))
            self.check(tape.gradient(y, [w])[0], [2], [[1, 1]])

    def test_several_gathers_are_joined(self):
        w = table()
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(w, [2])) + 3.0 * tf.reduce_sum(tf.gather(w, tf.constant([0], tf.int64)))
        gradient = tape.gradient(y, {"w": w})["w"]
        self.assertEqual(sorted(gradient.indices.numpy().tolist()), [0, 2])
        np.testing.assert_allclose(tf.convert_to_tensor(gradient).numpy(), [[3, 3], [0, 0], [1, 1], [0, 0]])

    def test_other_uses_make_it_whole(self):
        w = table()
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(w, [2, 2])) + tf.reduce_sum(w)
        np.testing.assert_array_equal(tape.gradient(y, w).numpy(), [[1, 1], [1, 1], [3, 3], [1, 1]])

    def test_other_axes_tensors_and_what_was_made_of_a_variable_have_whole_ones(self):
        w, x = table(), tf.ones([4, 2])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            of_columns = tf.reduce_sum(tf.gather(w, [0], axis=1))
            of_tensor = tf.reduce_sum(tf.gather(x, [1]))
            of_product = tf.reduce_sum(tf.gather(w * 2.0, [1]))
        np.testing.assert_array_equal(tape.gradient(of_columns, w).numpy(), [[1, 0]] * 4)
        np.testing.assert_array_equal(tape.gradient(of_tensor, x).numpy(), [[0, 0], [1, 1], [0, 0], [0, 0]])
        np.testing.assert_array_equal(tape.gradient(of_product, w).numpy(), [[0, 0], [2, 2], [0, 0], [0, 0]])

    def test_implicit_gradients_have_them(self):
        w = table()
        (gradient, variable), = tfe.implicit_gradients(lambda: tf.reduce_sum(tf.gather(w, [1])))()
        self.check(gradient, [1], [[1, 1]])
        self.assertIs(variable, w)

    def test_jacobians_and_second_derivatives_are_of_whole_tensors(self):
        w = table()
        with tf.GradientTape() as tape:
            y = tf.gather(w, [1, 3])
        jacobian = tape.jacobian(y, w)
        self.assertEqual(tuple(jacobian.shape), (2, 2, 4, 2))
        self.assertEqual(float(tf.reduce_sum(jacobian)), 4.0)
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.gather(w, [1, 3]) ** 3)
            gradient = inner.gradient(y, w)
            total = tf.reduce_sum(gradient.values)
        second = outer.gradient(total, w)
        self.check(second, [1, 3], [[12, 18], [36, 42]])

    def test_persistent_tapes_give_them_again(self):
        w = table()
        with tf.GradientTape(persistent=True) as tape:
            y = tf.reduce_sum(tf.gather(w, [1]))
        for _ in range(2):
            self.check(tape.gradient(y, w), [1], [[1, 1]])

    def test_a_gathered_target_is_no_row_gradient(self):
        w = table()
        with tf.GradientTape() as tape:
            y = tf.gather(w, [1])
            z = tf.reduce_sum(y * y)
        of_y, of_w = tape.gradient(z, [y, w])
        np.testing.assert_array_equal(of_y.numpy(), [[4, 6]])
        np.testing.assert_array_equal(tf.convert_to_tensor(of_w).numpy()[1], [4, 6])

    def test_clipping_and_scaling_take_them(self):
        slices = tf.IndexedSlices([[3.0], [4.0]], [0, 2], [3, 1])
        np.testing.assert_allclose(tf.clip_by_norm(slices, 1.0).values.numpy().ravel(), [0.6, 0.8], rtol=1e-6)
        (clipped, other), norm = tf.clip_by_global_norm([slices, tf.constant([12.0])], 6.5)
        self.assertEqual(float(norm), 13.0)
        np.testing.assert_allclose(clipped.values.numpy().ravel(), [1.5, 2.0], rtol=1e-6)
        self.assertEqual(clipped.indices.numpy().tolist(), [0, 2])
        self.assertEqual(tf.scalar_mul(2.0, slices).values.numpy().ravel().tolist(), [6.0, 8.0])
        self.assertEqual(tuple(tf.scalar_mul(2.0, slices).shape), (3, 1))

    def test_ops_take_the_whole_tensor(self):
        slices = tf.IndexedSlices([[3.0], [4.0], [5.0]], [0, 2, 0], [3, 1])
        self.assertEqual(float(tf.reduce_sum(slices)), 12.0)
        self.assertEqual((tf.ones([3, 1]) * slices).numpy().ravel().tolist(), [8.0, 0.0, 4.0])
        self.assertEqual(tf.add_n([slices, tf.ones([3, 1])]).numpy().ravel().tolist(), [9.0, 1.0, 5.0])
        w = table()
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.gather(w, [1]) ** 3)
            square = tf.reduce_sum(inner.gradient(y, w))
        self.check(outer.gradient(square, w), [1], [[12, 18]])
        with self.assertRaisesRegex(ValueError, "dense_shape is not known"):
            tf.reduce_sum(tf.IndexedSlices([[3.0]], [0]))


class Tapes(unittest.TestCase):
    def test_one_that_was_never_entered_says_so(self):
        w, tape = tf.Variable(1.0), tf.GradientTape()
        with self.assertRaisesRegex(RuntimeError, "the tape recorded nothing, as it was never entered"):
            tape.gradient(w * w, w)

    def test_integer_variables_are_named_and_have_no_gradient(self):
        n = tf.Variable(3)
        self.assertEqual([(g, v is n) for g, v in tfe.implicit_gradients(lambda: n * 2)()], [(None, True)])
        with tf.GradientTape() as tape:
            n * 2
        self.assertEqual([v is n for v in tape.watched_variables()], [True])

    def test_arguments_by_name_alone_are_refused(self):
        with self.assertRaisesRegex(ValueError, "Functions to be differentiated cannot receive keyword arguments: square got x"):
            def square(x):
                return x * x
            tfe.gradients_function(square)(x=tf.constant(2.0))


class Variables(unittest.TestCase):
    def test_constraints_are_kept_and_copied(self):
        import copy
        v = tf.Variable([1.0], constraint=tf.nn.relu)
        self.assertIs(v.constraint, tf.nn.relu)
        self.assertIs(copy.deepcopy(v).constraint, tf.nn.relu)
        v.constraint = None
        self.assertIsNone(v.constraint)
        with self.assertRaisesRegex(ValueError, "The `constraint` argument must be a callable; it is 3"):
            tf.Variable(1.0, constraint=3)

    def test_a_constraint_that_holds_its_variable_is_freed_with_it(self):
        import gc
        import weakref
        v = tf.Variable([1.0])
        v.constraint = lambda x, own=v: x + own
        seen = weakref.ref(v)
        del v
        gc.collect()
        self.assertIsNone(seen())

    def test_load_assigns(self):
        v = tf.Variable([1.0, 2.0])
        v.load([3.0, 4.0], session=None)
        self.assertEqual(v.numpy().tolist(), [3.0, 4.0])


if __name__ == "__main__":
    unittest.main()
