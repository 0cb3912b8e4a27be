"""Assignments to parts of a variable: slices, rows by number, places by coordinates."""
import copy
import pickle
import threading
import unittest

import numpy as np

from device_names import CPU
import tapedeck as tf

MATRIX = np.arange(12.).reshape(3, 4)


class Slices(unittest.TestCase):
    def test_every_index_assigns_where_numpy_does(self):
        mask = MATRIX % 3 == 0
        for index in (0, -1, slice(1, 3), (slice(None), 1), (slice(None, None, -2), slice(3, 0, -1)), Ellipsis, (..., 2), (1, ..., 0),
                      (slice(None), None, slice(1, 3)), [2, 0], (slice(None), [3, 1]), mask, (slice(0, 0), 1)):
            with self.subTest(index=index):
                wanted, v = MATRIX.copy(), tf.Variable(MATRIX, name="v")
                values = -np.arange(1., 1. + np.size(wanted[index])).reshape(wanted[index].shape)
                wanted[index] = values
                self.assertIs(v[index].assign(values), v)
                np.testing.assert_array_equal(v.numpy(), wanted)
                wanted[index] += 2 * values
                v[index].assign_add(2 * values)
                wanted[index] -= 5.
                v[index].assign_sub(5.)
                np.testing.assert_array_equal(v.numpy(), wanted)

    def test_every_dtype_can_be_assigned(self):
        for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.int8, tf.uint8, tf.int64, tf.bool):
            v = tf.Variable(tf.cast([0, 1, 0, 1], dtype))
            v[1:3].assign(tf.cast([0, 1], dtype))
            self.assertEqual(tf.cast(v, tf.int32).numpy().tolist(), [0, 0, 1, 1])

    def test_a_part_is_a_tensor_with_the_value_that_was_read(self):
        v = tf.Variable([1., 2., 3.])
        part = v[1:]
        self.assertIsInstance(part, tf.Tensor)
        v[1:].assign([5., 6.])
        np.testing.assert_array_equal(part.numpy(), [2, 3])
        np.testing.assert_array_equal((part + 1.).numpy(), [3, 4])
        part.assign_add([1., 1.])  # of the variable's value now
        np.testing.assert_array_equal(v.numpy(), [1, 6, 7])
        self.assertIs(copy.copy(part), part)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(part)).numpy(), [2, 3])
        self.assertFalse(hasattr(tf.constant([1.])[0], "assign"))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v[1:] * 2.)
        np.testing.assert_array_equal(tape.gradient(y, v).numpy(), [0, 2, 2])

    def test_a_part_outlives_the_name_of_its_variable(self):
        part = tf.Variable([1., 2.], name="gone")[0]
        self.assertEqual(part.assign(3.).numpy().tolist(), [3, 2])

    def test_what_does_not_fit_is_refused_by_name(self):
        v = tf.Variable(MATRIX, name="w")
        for assign, pattern in ((lambda: v[0].assign([1., 2.]), r"assign to a part of w:0: the part has shape \(4,\), the value \(2,\)"),
                                (lambda: v[0, 0].assign_add([[1.]]), r"assign_add to a part of w:0: the part has shape \(\), .*\(1, 1\)"),
                                (lambda: v[0].assign_sub(tf.constant(1.)), "w:0: assign_sub: a tensor of dtype float32, but float64"),
                                (lambda: v[7].assign(1.), "index 7 is out of range")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                assign()
        np.testing.assert_array_equal(v.numpy(), MATRIX)

    def test_first_generations_functions(self):
        v = tf.Variable([1., 2., 3.])
        self.assertIs(tf.assign(v, [4., 5., 6.]), v)
        self.assertIs(tf.assign_add(v[1:], [1., 1.]), v)
        self.assertEqual(tf.assign_sub(v, [1., 1., 1.]).numpy().tolist(), [3, 5, 6])
        for function in (tf.assign, tf.assign_add, tf.assign_sub):
            with self.assertRaisesRegex(TypeError, rf"^{function.__name__}: ref is a Tensor; needs a tf.Variable"):
                function(tf.constant(1.), 2.)


class Rows(unittest.TestCase):
    def test_rows_change_as_numpys_do(self):
        numbers, values = np.array([2, 0, 2]), np.array([[1., 2, 3, 4], [5, 6, 7, 8], [2, 2, 9, .5]])
        at = {"update": lambda a: a.__setitem__(numbers, values), "add": lambda a: np.add.at(a, numbers, values),
              "sub": lambda a: np.subtract.at(a, numbers, values), "mul": lambda a: np.multiply.at(a, numbers, values),
              "div": lambda a: np.divide.at(a, numbers, values), "min": lambda a: np.minimum.at(a, numbers, values),
              "max": lambda a: np.maximum.at(a, numbers, values)}
        for kind, change in at.items():
            wanted = MATRIX + 1
            change(wanted)
            v, w = tf.Variable(MATRIX + 1), tf.Variable(MATRIX + 1)
            self.assertIs(getattr(v, f"scatter_{kind}")(tf.IndexedSlices(values, numbers)), v)
            self.assertIs(getattr(tf, f"scatter_{kind}")(w, numbers, values), w)
            for result in (v, w):
                np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-15, err_msg=kind)

    def test_one_value_for_all_rows_and_indices_of_several_axes(self):
        v = tf.Variable([1., 2., 3.])
        self.assertEqual(tf.scatter_update(v, [0, 2], 9.).numpy().tolist(), [9, 2, 9])
        self.assertEqual(v.scatter_mul(tf.IndexedSlices([[2., 1.], [3., 1.]], [[0, 1], [0, 2]])).numpy().tolist(), [54, 2, 9])
        self.assertEqual(tf.scatter_add(v, 1, 5.).numpy().tolist(), [54, 7, 9])

    def test_several_values_of_one_row_come_one_after_another(self):
        v = tf.Variable([1e-30, 1e30, 3.])
        self.assertEqual(tf.scatter_mul(v, [[0, 1], [0, 1]], [[1e25, 1e-25], [1e25, 1e-25]]).numpy().tolist(),
                         [np.float32(1e-30) * np.float32(1e25) * np.float32(1e25),
                          np.float32(1e30) * np.float32(1e-25) * np.float32(1e-25), 3])
        tf.scatter_div(v, [1, 0, 1, 0, 1], [1e-25, 1e25, 1e-25, 1e25, 2.])
        np.testing.assert_allclose(v.numpy(), [1e-30, .5e30, 3], rtol=1e-6)
        w = tf.Variable(tf.constant([2**62, 20], tf.int64))
        self.assertEqual(tf.scatter_div(w, [0, 0, 1], tf.constant([2**40, 2**40, 3], tf.int64)).numpy().tolist(), [0, 6])
        v = tf.Variable(MATRIX + 1)
        numbers, values = np.array([1, 0, 1, 1, 2, 0]), np.arange(1., 25.).reshape(6, 4)
        wanted = MATRIX + 1
        for number, value in zip(numbers, values):
            wanted[number] *= value
        self.assertEqual(v.scatter_mul(tf.IndexedSlices(values, numbers)).numpy().tolist(), wanted.tolist())
        self.assertEqual(v.scatter_mul(tf.IndexedSlices(values[:0], numbers[:0])).numpy().tolist(), wanted.tolist())

    def test_numbers_without_a_dtype_take_the_variables(self):
        v, numbers = tf.Variable([1., 2.], dtype=tf.float64), [1, .1]
        rows = tf.IndexedSlices(numbers, [0, 1])
        numbers[1] = 5.  # too late
        self.assertEqual(v.scatter_update(rows).numpy().tolist(), [1, .1])
        self.assertEqual(v.scatter_add(tf.IndexedSlices([1], [0])).numpy().tolist(), [2, .1])

    def test_values_of_other_kinds_are_read_at_once_and_not_copied(self):
        class Rows:
            reads = 0

            def __array__(self, dtype=None, copy=None):
                self.reads += 1
                return np.array([1., 2.]) * self.reads

            def __deepcopy__(self, memo):
                raise RuntimeError("no copy")

        v, slices = tf.Variable(tf.zeros([2], tf.float64)), tf.IndexedSlices(Rows(), [0, 1])
        self.assertEqual(v.scatter_update(slices).numpy().tolist(), slices.values.numpy().tolist())

    def test_whole_numbers_divide_towards_zero(self):
        v = tf.Variable([-7, 7, 127], dtype=tf.int8)
        self.assertEqual(tf.scatter_div(v, [0, 1, 2, 2], tf.constant([2, -2, 100, 100], tf.int8)).numpy().tolist(), [-3, -3, 0])
        with self.assertRaisesRegex(ValueError, "scatter_div: .*zero|scatter_div: .* 0"):
            tf.scatter_div(v, [0], tf.constant([0], tf.int8))

    def test_batches(self):
        v = tf.Variable(np.zeros((2, 3, 2)))
        numbers, values = np.array([[0, 2], [1, 1]]), np.arange(8.).reshape(2, 2, 2)
        wanted = np.zeros((2, 3, 2))
        for batch in range(2):
            wanted[batch, numbers[batch]] = values[batch]
        np.testing.assert_array_equal(v.batch_scatter_update(tf.IndexedSlices(values, numbers)).numpy(), wanted)
        w = tf.Variable([1., 2., 3.])
        self.assertEqual(tf.batch_scatter_update(w, [2, 0], [7., 8.]).numpy().tolist(), [8, 2, 7])
        many = tf.Variable(tf.zeros([300, 2]))  # more batches than int8 has numbers
        tf.batch_scatter_update(many, tf.ones([300, 1], tf.int8), tf.ones([300, 1]))
        self.assertEqual(many.numpy().tolist(), [[0, 1]] * 300)

    def test_places(self):
        numbers = [[0, 1], [2, 3], [0, 1]]
        for kind, wanted in (("update", [30, 20]), ("add", [41, 31]), ("sub", [-39, -9]), ("min", [1, 11]), ("max", [30, 20])):
            for change in (lambda v: getattr(v, f"scatter_nd_{kind}")(numbers, [10., 20., 30.]),
                           lambda v: getattr(tf, f"scatter_nd_{kind}")(v, numbers, [10., 20., 30.])):
                v = tf.Variable(MATRIX)
                self.assertIs(change(v), v)
                self.assertEqual([v.numpy()[0, 1], v.numpy()[2, 3]], wanted, kind)
                self.assertEqual((v.numpy() != MATRIX).sum(), sum(a != b for a, b in zip(wanted, (1, 11))))

    def test_reading_some_rows(self):
        v = tf.Variable(MATRIX)
        np.testing.assert_array_equal(v.sparse_read([2, 2]).numpy(), MATRIX[[2, 2]])
        np.testing.assert_array_equal(v.gather_nd([[1, 2]]).numpy(), [6])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v.sparse_read([1, 1]))
        np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(y, v)).numpy()[:, 0], [0, 2, 0])

    def test_refusals_name_function_argument_and_values(self):
        v = tf.Variable([1, 2, 3], name="v")
        for call, kind, pattern in (
                (lambda: v.scatter_add([1]), TypeError, "^scatter_add: sparse_delta is a list; needs a tf.IndexedSlices"),
                (lambda: v.scatter_add(tf.IndexedSlices([1], [5])), IndexError, r"^scatter_add: .*5.*\(3,\); called with self: v:0 int32"),
                (lambda: v.scatter_mul(tf.IndexedSlices([1], [-1])), IndexError, r"^scatter_mul: indices\[0\] is -1; must be in \[0, 3\)"),
                (lambda: v.scatter_div(tf.IndexedSlices([[1, 1]], [[0, 3]])), IndexError,
                 r"^scatter_div: indices\[0, 1\] is 3; .*IndexedSlices\(values: int32 \(1, 2\), indices: int32 \(1, 2\)\)"),
                (lambda: v.scatter_add(tf.IndexedSlices(tf.constant([1.]), [0])), TypeError, "dtype float32, but int32 is wanted"),
                (lambda: tf.assign(v, tf.constant([1., 2., 3.])), TypeError, "v:0: assign: a tensor of dtype float32, but int32"),
                (lambda: tf.scatter_add(v, [0], [1, 2]), ValueError,
                 r"^scatter_add: the values have shape \(2,\); for indices \(1,\) and a variable \(3,\) it is \(1,\); "
                 "called with ref: v:0"),
                (lambda: tf.scatter_add(v, [.5], [1]), TypeError, "^scatter_add: indices are float32; needs integers"),
                (lambda: tf.scatter_add(v, [0], [.5]), TypeError, "^scatter_add: cannot convert 0.5 to int32"),
                (lambda: tf.scatter_min(tf.constant([1]), [0], [1]), TypeError, "^scatter_min: ref is a Tensor"),
                (lambda: tf.scatter_max(tf.Variable(1), 0, 1), ValueError, "^scatter_max: the variable is a scalar"),
                (lambda: v.scatter_nd_sub([[9]], [1]), IndexError, r"scatter_nd_sub: indices\[0\] is \(9,\), outside of shape \(3,\)"),
                (lambda: tf.scatter_nd_add([1], [[0]], [1]), TypeError, "^scatter_nd_add: ref is a list"),
                (lambda: v.batch_scatter_update(tf.IndexedSlices([[1], [2]], [[0], [1]])), ValueError,
                 r"^batch_scatter_update: indices \(2, 1\) must begin with the batches of the variable, \(3,\)"),
                (lambda: tf.IndexedSlices([1.], [.5]), TypeError, "^IndexedSlices: indices is float32")):
            with self.assertRaisesRegex(kind, pattern):
                call()
        self.assertEqual(v.numpy().tolist(), [1, 2, 3])

    def test_no_change_is_lost_between_threads(self):
        v, start = tf.Variable(np.zeros(4)), threading.Barrier(4)

        def work(place):
            start.wait()
            for _ in range(50):
                v[place].assign_add(1.)
                v.scatter_add(tf.IndexedSlices(np.ones(2), [place, 0]))

        threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(v.numpy().tolist(), [300, 100, 100, 100])


class IndexedSlices(unittest.TestCase):
    def test_it_holds_rows_and_their_numbers(self):
        rows = tf.IndexedSlices([[1., 2.], [3., 4.], [5., 6.]], [2, 0, 2], dense_shape=[4, 2])
        self.assertEqual((rows.dtype, rows.shape, rows.device, rows.dense_shape.numpy().tolist()), (tf.float32, (4, 2), CPU, [4, 2]))
        self.assertEqual((-rows).values.numpy().tolist(), [[-1, -2], [-3, -4], [-5, -6]])
        self.assertEqual(tf.convert_to_tensor(rows).numpy().tolist(), [[3, 4], [0, 0], [6, 8], [0, 0]])
        self.assertIn("indices=<tf.Tensor: shape=(3,)", repr(rows))
        with self.assertRaisesRegex(ValueError, "convert_to_tensor: value is an IndexedSlices whose dense_shape is not known"):
            tf.convert_to_tensor(tf.IndexedSlices([1.], [0]))
        with self.assertRaisesRegex(TypeError, "IndexedSlices of float32; dtype is"):
            tf.convert_to_tensor(rows, tf.float64)
        self.assertIsNone(tf.IndexedSlices([1.], [0]).shape)


class Recorded(unittest.TestCase):
    def setUp(self):
        tf.experimental.record_ops()
        self.addCleanup(tf.experimental.record_ops, False)

    def test_an_assignment_ends_the_path_of_gradients_and_is_named(self):
        for line, change in (("assign(u", lambda w, u: w[1:].assign(u * 2.)), ("assign_add(u", lambda w, u: w[1:].assign_add(u * 2.)),
                             ("assign_add(tf", lambda w, u: w.assign_add(tf.concat([u, [0.]], 0))),
                             ("scatter_mul", lambda w, u: w.scatter_mul(tf.IndexedSlices(u * 2., [0, 1]))),
                             ("scatter_nd_add", lambda w, u: w.scatter_nd_add([[0], [1]], u * 2.)),
                             ("tf.scatter_update", lambda w, u: tf.scatter_update(w, [0, 1], u * 2.))):
            u, w = tf.Variable([3., 3.], name="u"), tf.Variable([1., 2., 3.], name="w")
            with tf.GradientTape() as tape:
                change(w, u)
                y = w * 3.
            self.assertIsNone(tape.gradient(y, u))
            text = tf.explain_no_gradient(y, u)
            self.assertRegex(text, r"^The path from u:0 to y ends at the assignment to w:0, line \d+ of test_variable_parts.py")
            self.assertIn(line, text)

    def test_a_value_that_was_not_taped_is_blamed_before_the_assignment(self):
        u, w = tf.Variable([3.], name="u"), tf.Variable([1.], name="w")
        with tf.GradientTape() as tape:
            with tape.stop_recording():
                made = u * 2.
            w.assign_add(made)
            y = w * 3.
        self.assertIsNone(tape.gradient(y, u))
        self.assertIn("ends at multiply", tf.explain_no_gradient(y, u))


if __name__ == "__main__":
    unittest.main()
