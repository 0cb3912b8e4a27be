"""Operators, Python protocols and printing of tensors."""
import copy
import gc
import operator
import pickle
import unittest
import weakref

import numpy as np

from device_names import CPU
import tapedeck as tf

a_values = np.array([[1.5, -2., 3.], [4., 5., -6.5]], np.float32)
b_values = np.array([2., .5, -4.], np.float32)


class Operators(unittest.TestCase):
    def test_arithmetic_agrees_with_numpy_in_both_orders(self):
        a, b = tf.constant(a_values), tf.constant(b_values)
        for operation in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod):
            wanted = operation(a_values, b_values)
            for left, right in ((a, b), (a, b_values), (a_values, b), (a, b_values.tolist()), (tf.Variable(a), b)):
                result = operation(left, right)
                self.assertIsInstance(result, tf.Tensor, (operation, type(left), type(right)))
                np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-6)
            np.testing.assert_allclose(operation(2., b).numpy(), operation(np.float32(2), b_values), rtol=1e-6)
            np.testing.assert_allclose(operation(b, 2).numpy(), operation(b_values, np.float32(2)), rtol=1e-6)
            np.testing.assert_allclose(operation(np.float64(3), b).numpy(), operation(np.float32(3), b_values), rtol=1e-6)

    def test_power_matmul_and_unary(self):
        a = tf.constant(a_values)
        np.testing.assert_allclose((a**2).numpy(), a_values**2, rtol=1e-6)
        np.testing.assert_allclose((2.**tf.constant(b_values)).numpy(), 2**b_values, rtol=1e-6)
        np.testing.assert_allclose((a @ a_values.T).numpy(), a_values @ a_values.T, rtol=1e-6)
        np.testing.assert_allclose((a_values.T @ a).numpy(), a_values.T @ a_values, rtol=1e-6)
        np.testing.assert_array_equal((-a).numpy(), -a_values)
        np.testing.assert_array_equal(abs(a).numpy(), abs(a_values))
        np.testing.assert_array_equal((+a).numpy(), a_values)
        with self.assertRaises(TypeError):
            pow(a, 2, 3)

    def test_integers_follow_python(self):
        values = np.array([-7, -1, 0, 5, 12], np.int32)
        tensor = tf.constant(values)
        np.testing.assert_array_equal((tensor // 3).numpy(), values // 3)
        np.testing.assert_array_equal((tensor % 3).numpy(), values % 3)
        self.assertEqual((tensor % 3).dtype, tf.int32)
        np.testing.assert_array_equal((tensor / 2).numpy(), values / 2)
        self.assertEqual((3 * tensor + 1).dtype, tf.int32)

    def test_bools(self):
        p, q = np.array([True, True, False]), np.array([True, False, False])
        for operation in (operator.and_, operator.or_, operator.xor):
            np.testing.assert_array_equal(operation(tf.constant(p), tf.constant(q)).numpy(), operation(p, q))
            np.testing.assert_array_equal(operation(tf.constant(p), True).numpy(), operation(p, True))
        np.testing.assert_array_equal((~tf.constant(p)).numpy(), ~p)
        for operation in (operator.and_, operator.or_, operator.xor):
            with self.assertRaisesRegex(TypeError, "float32; it needs bools or integers"):
                operation(tf.constant([1.]), tf.constant([3.]))

    def test_comparisons_are_elementwise(self):
        a = tf.constant(a_values)
        for operation in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
            np.testing.assert_array_equal(operation(a, 3.).numpy(), operation(a_values, 3.))
            np.testing.assert_array_equal(operation(3, a).numpy(), operation(3, a_values))
            np.testing.assert_array_equal(operation(a, a_values).numpy(), operation(a_values, a_values))

    def test_equality_with_what_cannot_be_compared(self):
        a = tf.constant(a_values)
        self.assertIs(a == None, False)  # noqa: E711
        self.assertIs(a != None, True)  # noqa: E711
        self.assertIs(a == "text", False)
        for result, wanted in ((a == tf.zeros([7]), False), (a != tf.zeros([7]), True)):  # as TensorFlow's, a tensor too
            self.assertEqual((result.dtype, result.shape, bool(result)), (tf.bool, (), wanted))
        with self.assertRaises(TypeError):
            a < "text"

    def test_dtypes_are_not_mixed_silently(self):
        with self.assertRaisesRegex(TypeError, "add: y: cannot convert 2.5 to int32"):
            tf.constant([1, 2]) + 2.5
        with self.assertRaisesRegex(TypeError, "multiply: x: cannot convert True to float32"):
            True * tf.constant(1.)
        with self.assertRaises((TypeError, ValueError)) as caught:
            tf.constant([1, 2]) + tf.constant([1., 2.])
        for word in ("add", "int32", "float32"):
            self.assertIn(word, str(caught.exception))
        with self.assertRaisesRegex(TypeError, "unsupported operand"):
            tf.constant(1.) + object()
        with self.assertRaisesRegex(TypeError, "cannot convert 'text' to float32"):
            tf.constant(1.) + ["text"]

    def test_an_object_with_a_reflected_operator_gets_its_turn(self):
        class Reflected:
            def __radd__(self, other):
                return "reflected"

        self.assertEqual(tf.constant(1.) + Reflected(), "reflected")

    def test_wrong_shapes_name_op_and_shapes(self):
        with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
            tf.zeros([2, 3]) + tf.zeros([4])
        for word in ("add", "(2, 3)", "(4,)"):
            self.assertIn(word, str(caught.exception))


class Protocols(unittest.TestCase):
    def test_truth_needs_one_element(self):
        self.assertTrue(tf.constant([[2.]]))
        self.assertFalse(tf.constant(0))
        self.assertTrue(tf.constant(float("nan")))
        with self.assertRaisesRegex(ValueError, r"shape \(2,\) with 2 elements is ambiguous"):
            bool(tf.constant([1, 2]))
        with self.assertRaises(ValueError):
            bool(tf.constant([]))

    def test_numbers(self):
        self.assertEqual((int(tf.constant(3.9)), float(tf.constant(3)), int(tf.constant([[7]]))), (3, 3., 7))
        self.assertEqual(int(tf.constant(2**62 + 1, dtype=tf.int64)), 2**62 + 1)
        with self.assertRaisesRegex(ValueError, r"shape \(2,\) has 2 elements; float\(\) needs one"):
            float(tf.constant([1., 2.]))
        self.assertEqual(list(range(tf.constant(3))), [0, 1, 2])
        self.assertEqual([10, 20, 30][tf.constant(1, dtype=tf.int64)], 20)
        for value in (1., [1]):
            with self.assertRaisesRegex(TypeError, "only an integer scalar"):
                range(tf.constant(value))

    def test_length_and_iteration(self):
        tensor = tf.constant(a_values)
        self.assertEqual(len(tensor), 2)
        rows = list(tensor)
        self.assertEqual(len(rows), 2)
        np.testing.assert_array_equal(rows[1].numpy(), a_values[1])
        first, second = tensor
        np.testing.assert_array_equal(first.numpy(), a_values[0])
        self.assertEqual(list(tf.zeros([0, 2])), [])
        for action in (len, iter, lambda t: t[0]):
            with self.assertRaises((TypeError, IndexError)):
                action(tf.constant(1.))

    def test_hash_is_identity(self):
        a, b = tf.constant(1.), tf.constant(1.)
        self.assertEqual({a: "a", b: "b"}[b], "b")

    def test_weak_references_and_freed_objects(self):
        tensor = tf.constant([1.])
        reference = weakref.ref(tensor)
        self.assertIs(reference(), tensor)
        del tensor
        gc.collect()
        self.assertIsNone(reference())
        tensors = [tf.constant(float(i)) for i in range(1000)]  # more than the free list holds
        del tensors[::2]
        self.assertEqual(sum(float(t) for t in tensors), float(sum(range(1, 1000, 2))))

    def test_copies_and_pickle(self):
        tensor = tf.constant(a_values)
        self.assertIs(copy.copy(tensor), tensor)
        self.assertIs(copy.deepcopy([tensor])[0], tensor)
        for value in (tensor, tf.constant(3, dtype=tf.int64), tf.transpose(tensor), tf.zeros([0, 3]), tensor[::2, ::-1],
                      tf.constant([1.5, -3e38], tf.bfloat16), tf.constant([True])):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                again = pickle.loads(pickle.dumps(value, protocol))
                self.assertEqual((again.dtype, again.shape), (value.dtype, value.shape))
                np.testing.assert_array_equal(again.numpy(), value.numpy())
        self.assertIs(pickle.loads(pickle.dumps(tf.float64)), tf.float64)
        self.assertIs(pickle.loads(pickle.dumps(tf.matmul)), tf.matmul)

    def test_tensors_cannot_be_made_by_their_type(self):
        with self.assertRaises(TypeError):
            tf.Tensor()

    def test_properties(self):
        tensor = tf.constant(a_values)
        self.assertEqual((tensor.ndim, tensor.device, tensor.dtype), (2, CPU, tf.float32))
        self.assertEqual(tensor.cpu().numpy().tolist(), tensor.numpy().tolist())
        with self.assertRaises(AttributeError):
            tensor.shape = (3,)


class Printing(unittest.TestCase):
    def test_str_and_repr_are_tensorflows(self):
        one = tf.constant([[4.]])
        self.assertEqual(str(one), "tf.Tensor([[4.]], shape=(1, 1), dtype=float32)")
        self.assertEqual(repr(one), "<tf.Tensor: shape=(1, 1), dtype=float32, numpy=array([[4.]], dtype=float32)>")
        self.assertEqual(str(tf.constant(3)), "tf.Tensor(3, shape=(), dtype=int32)")
        self.assertEqual(repr(tf.constant(2.5)), "<tf.Tensor: shape=(), dtype=float32, numpy=2.5>")
        matrix = tf.constant([[1., 2.], [3., 4.]])
        self.assertEqual(str(matrix), "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)")
        self.assertEqual(repr(tf.Variable([1, 2], name="v")),
                         "<tf.Variable 'v:0' shape=(2,) dtype=int32, numpy=array([1, 2], dtype=int32)>")

    def test_formats(self):
        self.assertEqual(f"{tf.constant(2.0):.3f}|{tf.constant(7):4d}|{tf.constant(1.5)}", "2.000|   7|1.5")
        self.assertEqual(f"{tf.Variable(.25):.1%}", "25.0%")
        with self.assertRaises(TypeError):
            format(tf.constant([1., 2.]), ".3f")


if __name__ == "__main__":
    unittest.main()
