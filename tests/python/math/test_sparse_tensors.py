"""tf.SparseTensor and what makes and reads it."""
import unittest

import numpy as np
import tapedeck as tf


class SparseTensors(unittest.TestCase):
    def test_it_becomes_a_whole_tensor_and_back(self):
        sparse = tf.SparseTensor([[0, 1], [2, 0]], [1., 2.], [3, 2])
        self.assertEqual((sparse.dtype, sparse.shape, sparse.get_shape()), (tf.float32, (3, 2), (3, 2)))
        whole = tf.sparse.to_dense(sparse)
        np.testing.assert_array_equal(whole, [[0, 1], [0, 0], [2, 0]])
        again = tf.sparse.from_dense(whole)
        np.testing.assert_array_equal(again.indices, sparse.indices)
        np.testing.assert_array_equal(again.values, sparse.values)
        np.testing.assert_array_equal(again.dense_shape, [3, 2])
        np.testing.assert_array_equal(tf.sparse_tensor_to_dense(sparse, default_value=-1.)[1], [-1, -1])
        empty = tf.SparseTensorValue(np.zeros([0, 2], np.int64), np.zeros([0]), [1, 2])
        np.testing.assert_array_equal(tf.sparse.to_dense(empty), [[0, 0]])
        self.assertEqual(tf.sparse.to_dense(tf.SparseTensor([[1]], ["x"], [2])).numpy().tolist(), [b"", b"x"])

    def test_its_dtype_counts_among_those_of_tensors(self):
        sparse = tf.SparseTensor([[0]], tf.constant([1.], tf.float64), [2])
        self.assertIs(tf.debugging.assert_same_float_dtype([sparse]), tf.float64)
        with self.assertRaisesRegex(ValueError, "float32 and float64"):
            tf.debugging.assert_same_float_dtype([tf.constant(1.), sparse])
        with self.assertRaises(TypeError):
            tf.debugging.assert_proper_iterable(sparse)

    def test_gradients_reach_values_and_tensors(self):
        values, x = tf.constant([1., 2.]), tf.constant([[0., 3.], [4., 0.]])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([values, x])
            y = tf.reduce_sum(tf.sparse.to_dense(tf.SparseTensor([[0], [2]], values, [3])) * [1., 2., 3.])
            z = tf.reduce_sum(tf.sparse.from_dense(x).values * [5., 6.])
        np.testing.assert_array_equal(tape.gradient(y, values), [1, 3])
        np.testing.assert_array_equal(tape.gradient(z, x), [[0, 5], [6, 0]])

    def test_what_does_not_belong_together_is_refused(self):
        for arguments, kind, text in ((([[0, 5]], [1.], [3, 2]), ValueError, r"indices\[0\] is \[0, 5\]; dense_shape is \[3, 2\]"),
                                      (([[0, 5]], [1., 2.], [3, 9]), ValueError, "1 indices and 2 values"),
                                      (([[.5]], [1.], [1]), TypeError, "indices are float64"),
                                      (([0], [1.], [1]), ValueError, r"indices \(1,\), values \(1,\) and dense_shape \(1,\)")):
            with self.assertRaisesRegex(kind, text):
                tf.SparseTensor(*arguments)
        with self.assertRaisesRegex(ValueError, "an index occurs twice"):
            tf.sparse.to_dense(tf.SparseTensor([[1], [1]], [1., 2.], [3]))
        with self.assertRaisesRegex(TypeError, "sp_input is a int"):
            tf.sparse.to_dense(3)

    def test_texts_are_split_at_each_of_the_delimiters_letters(self):
        split = tf.string_split(["a,b;,c", "d"], ",;")
        self.assertEqual(split.values.numpy().tolist(), [b"a", b"b", b"c", b"d"])
        self.assertEqual((split.indices.numpy().tolist(), split.shape), ([[0, 0], [0, 1], [0, 2], [1, 0]], (2, 3)))
        self.assertEqual(tf.string_split(["a,,b"], ",", skip_empty=False).values.numpy().tolist(), [b"a", b"", b"b"])
        self.assertEqual(tf.string_split(["xy"], "").values.numpy().tolist(), [b"x", b"y"])
        self.assertEqual((tf.string_split([""]).shape, tf.string_split([" one  two"]).shape), ((1, 0), (1, 2)))
        with self.assertRaisesRegex(ValueError, r"source has shape \(\)"):
            tf.string_split("a b")
        with self.assertRaisesRegex(TypeError, "source is int32"):
            tf.string_split([1])


if __name__ == "__main__":
    unittest.main()
