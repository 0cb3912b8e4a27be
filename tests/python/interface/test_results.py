"""What ops with several results give Python: TensorFlow's tuples, named where it names them."""
import copy
import pickle
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine

MATRIX = np.array([[4., 1.], [1., 3.]])

# TensorFlow's names of tuple and fields.
NAMED = [
    (lambda: tf.linalg.qr(MATRIX), "Qr", ("q", "r")),
    (lambda: tf.qr(MATRIX), "Qr", ("q", "r")),
    (lambda: tf.linalg.lu(MATRIX), "Lu", ("lu", "p")),
    (lambda: tf.linalg.slogdet(MATRIX), "LogMatrixDeterminant", ("sign", "log_abs_determinant")),
    (lambda: tf.math.top_k([1., 3., 2.], 2), "TopKV2", ("values", "indices")),
    (lambda: tf.nn.top_k([1., 3., 2.], 2), "TopKV2", ("values", "indices")),
    (lambda: tf.unique([1, 2, 1]), "Unique", ("y", "idx")),
    (lambda: tf.unique_with_counts([1, 2, 1]), "UniqueWithCounts", ("y", "idx", "count")),
    (lambda: tf.nn.max_pool_with_argmax(np.ones((1, 2, 2, 1)), 2, 2, "VALID"), "MaxPoolWithArgmax", ("output", "argmax")),
]
PLAIN = [
    (lambda: tf.linalg.svd(MATRIX), 3), (lambda: tf.svd(MATRIX, full_matrices=True), 3), (lambda: tf.linalg.eigh(MATRIX), 2),
    (lambda: tf.self_adjoint_eig(MATRIX), 2), (lambda: tf.nn.moments(MATRIX, [0]), 2),
    (lambda: tf.linalg.normalize(MATRIX), 2),
]
LISTS = [(lambda: tf.split([1, 2, 3, 4], 2), 2), (lambda: tf.split([1, 2], 1), 1), (lambda: tf.unstack([1, 2, 3]), 3),
         (lambda: tf.meshgrid([1, 2], [3]), 2)]


class Results(unittest.TestCase):
    def test_named_tuples_have_tensorflows_names(self):
        for make, name, fields in NAMED:
            with self.subTest(name):
                result = make()
                self.assertIsInstance(result, tuple)
                self.assertEqual((type(result).__name__, result._fields), (name, fields))
                for field, part in zip(fields, result):
                    self.assertIs(getattr(result, field), part)
                    self.assertIsInstance(part, tf.Tensor)

    def test_others_are_plain_tuples_and_lists(self):
        for make, count in PLAIN:
            self.assertIs(type(make()), tuple)
            self.assertEqual(len(make()), count)
        for make, count in LISTS:
            self.assertIs(type(make()), list)
            self.assertEqual(len(make()), count)
        self.assertIsInstance(tf.linalg.svd(MATRIX, compute_uv=False), tf.Tensor)

    def test_every_op_with_several_results_says_what_python_gets(self):
        made = 0
        for name, function in _engine.op_functions.items():
            if function.__self__.result_fields:
                made += 1
                self.assertFalse(function.__self__.returns_list, name)
                self.assertEqual(len(set(function.__self__.result_fields)), len(function.__self__.result_fields), name)
            if function.__self__.tuple_class:
                self.assertEqual(function.__self__.tuple_class._fields, tuple(function.__self__.result_fields), name)
                self.assertIs(getattr(_engine, function.__self__.tuple_class.__name__), function.__self__.tuple_class)
        self.assertGreater(made, 8)

    def test_they_unpack_nest_copy_and_pickle(self):
        result = tf.linalg.qr(MATRIX)
        q, r = result
        np.testing.assert_allclose((q @ r).numpy(), MATRIX, atol=1e-14)
        doubled = tf.nest.map_structure(lambda part: 2. * part, result)
        self.assertEqual(type(doubled), type(result))
        for again in (copy.copy(result), pickle.loads(pickle.dumps(result))):
            self.assertIs(type(again), type(result))
            np.testing.assert_array_equal(again.q.numpy(), q.numpy())
        self.assertIs(type(result._replace(r=q)), type(result))

    def test_gradients_go_through_the_fields(self):
        x = tf.constant([1., 5., 3.])
        with tf.GradientTape() as tape:
            tape.watch(x)
            largest = tf.math.top_k(x, 2).values
        self.assertEqual(tape.gradient(largest, x).numpy().tolist(), [0, 1, 1])

    def test_positions_of_the_largest_have_the_dtype_asked_for(self):
        for index_type in (tf.int32, tf.int64):
            result = tf.math.top_k([[1., 3., 2.]], 2, index_type=index_type)
            self.assertEqual((result.indices.dtype, result.indices.numpy().tolist()), (index_type, [[1, 2]]))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "top_k: index_type is float32; needs int32 or int64"):
            tf.math.top_k([1.], 1, index_type=tf.float32)
        self.assertEqual(tf.unique([3, 3], out_idx=tf.int64).idx.dtype, tf.int64)


class Bools(unittest.TestCase):
    def test_positions_of_extremes(self):
        flags = tf.constant([[False, True, True], [True, True, False]])
        self.assertEqual(tf.argmax(flags, 1).numpy().tolist(), [1, 0])
        self.assertEqual(tf.argmin(flags, 1).numpy().tolist(), [0, 2])
        self.assertEqual(tf.argmax(flags).numpy().tolist(), [1, 0, 0])
        self.assertEqual(int(tf.argmax([False, False], output_type=tf.int32)), 0)

    def test_scattering(self):
        self.assertEqual(tf.scatter_nd([[1], [3], [1]], [True, False, False], [4]).numpy().tolist(), [False, True, False, False])
        rows = tf.scatter_nd([[2]], [[True, False]], [3, 2])
        self.assertEqual((rows.dtype, rows.numpy().tolist()), (tf.bool, [[False, False], [False, False], [True, False]]))


if __name__ == "__main__":
    unittest.main()
