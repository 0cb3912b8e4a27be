"""Python and NumPy values become tensors, or are refused by a clear error."""
import array
import collections
import collections.abc
import contextlib
import functools
import gc
import unittest
import warnings

import numpy as np

import tapedeck as tf


class Constant(unittest.TestCase):
    def check(self, value, dtype, shape, *, wanted=None):
        tensor = tf.constant(value, dtype=wanted)
        self.assertEqual(tensor.dtype, dtype)
        self.assertEqual(tensor.shape, shape)
        np.testing.assert_array_equal(tensor.numpy(), np.array(value, dtype.as_numpy_dtype))

    def test_numbers_and_lists_get_tensorflows_dtypes(self):
        self.check(1.5, tf.float32, ())
        self.check(7, tf.int32, ())
        self.check(True, tf.bool, ())
        self.check([], tf.float32, (0,))
        self.check([[], []], tf.float32, (2, 0))
        self.check([1, 2.5], tf.float32, (2,))
        self.check([[1, 2, 3], (4, 5, 6)], tf.int32, (2, 3))
        self.check([[[True], [False]]], tf.bool, (1, 2, 1))

    def test_a_dtype_can_be_given_in_every_form(self):
        for wanted in (tf.float64, "float64", np.float64, np.dtype("float64"), np.dtype(">f8").newbyteorder()):
            self.check([1, 2], tf.float64, (2,), wanted=wanted)
        self.check(2**40, tf.int64, (), wanted=tf.int64)
        self.assertEqual(tf.constant([1], dtype=float).dtype, tf.float32)

    def test_numpy_arrays_keep_their_dtype(self):
        for dtype in (np.bool_, np.int32, np.int64, np.float32, np.float64):
            values = np.arange(6).reshape(2, 3).astype(dtype)
            self.check(values, tf.as_dtype(dtype), (2, 3))
            self.check(values.T, tf.as_dtype(dtype), (3, 2))
            self.check(values[::-1, ::2], tf.as_dtype(dtype), (2, 2))
            self.check(values[0, 1], tf.as_dtype(dtype), ())
        self.check(np.longlong(5), tf.int64, ())
        self.check(np.arange(3).astype(">i4"), tf.int32, (3,))

    def test_lists_of_numpy_values_and_of_tensors(self):
        self.check([np.float64(1), np.float64(2)], tf.float64, (2,))
        rows = [np.arange(3, dtype=np.float32), np.ones(3, np.float32)]
        np.testing.assert_array_equal(tf.constant(rows).numpy(), np.array(rows))
        packed = tf.convert_to_tensor([tf.constant([1., 2.]), [3, 4]])
        self.assertEqual(packed.dtype, tf.float32)
        np.testing.assert_array_equal(packed.numpy(), [[1, 2], [3, 4]])

    def test_python_numbers_take_the_real_dtype_of_the_numpy_values_beside_them(self):
        for values, wanted in (([np.float32(1), 2], tf.float32), ([[np.float16(1)], [2.5]], tf.float16),
                               ([np.float32(1), np.float64(2)], tf.float64), ([np.int8(1), 300], tf.int64)):
            self.assertEqual(tf.constant(values).dtype, wanted, values)

    def test_every_sequence_is_a_list(self):
        class HoldsItself(collections.abc.Sequence):
            def __len__(self):
                return 1

            def __getitem__(self, index):
                if index:
                    raise IndexError
                return self

        self.check(range(3), tf.int32, (3,))
        self.check([range(2), range(2, 4)], tf.int32, (2, 2))
        self.check(collections.deque([1, 2.5]), tf.float32, (2,))
        self.assertEqual(float(tf.reduce_sum(range(5))), 10)
        self.assertEqual(tf.concat([range(2), [5]], 0).numpy().tolist(), [0, 1, 5])
        with self.assertRaisesRegex(TypeError, "^constant: value: None is not a tensor"):
            tf.constant([range(3), None])
        with self.assertRaisesRegex(TypeError, "of type dict_values to a tensor"):
            tf.constant({1: 2}.values())
        with self.assertRaises(RecursionError):
            tf.constant(HoldsItself())

    def test_a_list_that_holds_itself_is_refused(self):
        endless = []
        endless.append(endless)
        inner = [1.]
        inner.append([inner])
        variable = tf.Variable([1.])
        for values in (endless, inner, (endless,), [[1., 2.], endless]):
            for call in (tf.constant, tf.stack, tf.add_n, tf.reduce_sum, tf.Variable, variable.assign,
                         functools.partial(tf.constant, dtype=tf.float32), functools.partial(tf.concat, axis=0),
                         tf.ones([1]).__add__, tf.ones([1]).__eq__, tf.ones([3]).__getitem__, variable.__getitem__,
                         tf.GradientTape().watch, functools.partial(tf.gather, tf.ones([3])),
                         functools.partial(tf.cast, dtype=tf.float32), tf.nest.flatten):
                with self.assertRaises((RecursionError, ValueError, TypeError), msg=str(call)):
                    call(values)

    def test_an_array_that_changes_the_lists_around_it(self):
        class Clears:
            def __array__(self, dtype=None):
                outer.clear()
                gc.collect()
                return np.array([1.], np.float32)

        for reader in (tf.constant, tf.stack, functools.partial(tf.concat, axis=0)):
            outer = [[Clears(), Clears()], [Clears(), [object()]]]
            try:
                reader(outer)
            except (TypeError, ValueError):
                pass

    def test_lists_of_what_becomes_an_array(self):
        class Row:
            def __array__(self, dtype=None):
                return np.array([1., 2.], dtype or np.float32)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for values in ([Row(), Row()], (Row(), [3., 4.])):
                tensor = tf.constant(values)
                self.assertEqual((tensor.dtype, tensor.shape), (tf.float32, (2, 2)))

    def test_values_with_array_and_buffers(self):
        class WithArray:
            def __array__(self, dtype=None):
                return np.array([1., 2.], dtype or np.float64)

        self.assertEqual(tf.constant(WithArray()).dtype, tf.float64)
        self.assertEqual(tf.constant(np.asarray(array.array("f", [1, 2]))).dtype, tf.float32)

    def test_shape_reshapes_or_repeats(self):
        np.testing.assert_array_equal(tf.constant([1, 2, 3, 4], shape=(2, 2)).numpy(), [[1, 2], [3, 4]])
        np.testing.assert_array_equal(tf.constant(7., shape=[2, 3]).numpy(), np.full((2, 3), 7.))
        with self.assertRaises(ValueError):
            tf.constant([1, 2, 3], shape=(2, 2))

    def test_a_tensor_is_cast_by_constant_but_not_by_convert_to_tensor(self):
        tensor = tf.constant([1.5])
        self.assertEqual(tf.constant(tensor, dtype=tf.float64).dtype, tf.float64)
        self.assertIs(tf.convert_to_tensor(tensor).dtype, tf.float32)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "dtype float32, but float64 is wanted"):
            tf.convert_to_tensor(tensor, tf.float64)
        self.assertEqual(tf.convert_to_tensor([1, 2], dtype_hint=tf.float64).dtype, tf.float64)
        self.assertEqual(tf.convert_to_tensor([1.5], preferred_dtype=tf.int32).dtype, tf.float32)

    def test_a_frozen_array_is_shared_and_any_other_is_copied(self):
        def address(values):
            return np.asarray(tf.constant(values)).__array_interface__["data"][0]

        frozen = np.arange(8, dtype=np.float32)
        frozen.flags.writeable = False
        self.assertEqual(address(frozen), frozen.__array_interface__["data"][0])
        self.assertEqual(address(frozen[2:]), frozen[2:].__array_interface__["data"][0])
        from_bytes = np.frombuffer(bytes(16), np.float32)
        self.assertEqual(address(from_bytes), from_bytes.__array_interface__["data"][0])

        base = np.arange(8, dtype=np.float32)
        locked_view = base[:]
        locked_view.flags.writeable = False
        tensor = tf.constant(locked_view)
        base[0] = 100
        self.assertEqual(float(tensor[0]), 0.)
        self.assertNotEqual(address(frozen[::2]), frozen.__array_interface__["data"][0])
        misaligned = np.frombuffer(b"x" + np.arange(4, dtype=np.float32).tobytes(), np.uint8)[1:].view(np.float32)
        np.testing.assert_array_equal(tf.constant(misaligned).numpy(), np.arange(4))

    def test_a_shared_array_lives_as_long_as_the_tensor(self):
        frozen = np.arange(100000, dtype=np.float64)
        frozen.flags.writeable = False
        tensor = tf.constant(frozen)
        del frozen
        for _ in range(10):
            np.full(100000, -1.)
        self.assertEqual(float(tf.reduce_sum(tensor)), 99999 * 100000 / 2)


class WholeNumbers(unittest.TestCase):
    def test_those_beyond_int32_make_int64_as_in_tensorflow(self):
        for value in (2**31, -2**31 - 1, [1, 2**40], [[-2**63], [2**63 - 1]]):
            tensor = tf.constant(value)
            self.assertEqual(tensor.dtype, tf.int64)
            self.assertEqual(tensor.numpy().tolist(), value)
        for value in (2**31 - 1, -2**31, [1, -2**31]):
            self.assertEqual(tf.constant(value).dtype, tf.int32)
        self.assertEqual(tf.constant([1., 2**40]).dtype, tf.float32)
        self.assertEqual(tf.add(2**40, 1).numpy(), 2**40 + 1)
        with self.assertRaisesRegex(ValueError, "add: y: 1099511627776 does not fit in int32"):
            tf.constant(1) + 2**40


class Refused(unittest.TestCase):
    def check(self, error, pattern, value, **arguments):
        with self.assertRaisesRegex(error, pattern):
            tf.constant(value, **arguments)

    def test_numbers_that_do_not_fit_are_named(self):
        self.check(ValueError, "3000000000 does not fit in int32; pass dtype=tf.int64", 3000000000, dtype=tf.int32)
        self.check(ValueError, "-3000000000 does not fit in int32", [0, -3000000000], dtype=tf.int32)
        self.check(ValueError, "9223372036854775808 does not fit in int64", [1, 2**63])
        self.check(ValueError, "does not fit in int64", 2**63, dtype=tf.int64)
        self.check(ValueError, "4294967296 does not fit in int32", np.array([2**32]), dtype=tf.int32)
        self.check(ValueError, "does not fit in int64", np.array([2**63], np.uint64), dtype=tf.int64)
        self.check(ValueError, "does not fit in float32", 10**400, dtype=tf.float32)

    def test_lists_that_are_not_rectangular(self):
        self.check(ValueError, "not rectangular: lists of 2 and 1 at depth 1", [[1, 2], [3]])
        self.check(ValueError, r"not rectangular: 3 is where a list of 2 is expected", [[1, 2], 3])
        self.check(ValueError, r"not rectangular: \[3, 4\] is where a number is expected", [1, [3, 4]])
        nested = 1.
        for _ in range(33):
            nested = [nested]
        self.check(ValueError, "nested more than 32 deep", nested)
        self.assertEqual(tf.constant(nested[0]).shape, [1] * 32)

    def test_values_that_no_tensor_holds(self):
        self.check(TypeError, "constant: value: cannot convert 'text' to float32", "text", dtype=tf.float32)
        self.check(TypeError, "cannot convert 1 to string", ["a", 1])
        self.check(TypeError, "None is not a tensor", None)
        self.check(TypeError, "None is not a tensor", [1., None])
        self.check(TypeError, "cannot convert <object object", object())
        self.check(TypeError, r"cannot convert \(1\+2j\) to float32", 1 + 2j, dtype=tf.float32)
        self.check(TypeError, "cannot convert 1.5 to int32", 1.5, dtype=tf.int32)
        self.check(TypeError, "cannot convert True to float32", [1., True])
        self.check(TypeError, "cannot convert 1 to bool", 1, dtype=tf.bool)
        self.check(TypeError, "cannot convert 1 to bool", [True, 1][1:], dtype=tf.bool)

    def test_numpy_dtypes_that_no_tensor_has(self):
        self.check(TypeError, "NumPy dtype datetime64.* has no tensor dtype; tensors are bool, integers up to 64 bits",
                   np.zeros(2, "datetime64[s]"))
        self.check(TypeError, "NumPy array of dtype complex128 to float32", np.zeros(2, complex), dtype=tf.float32)
        self.check(TypeError, "NumPy array of dtype <U1 to float32", np.array(["a"]), dtype=tf.float32)
        self.check(TypeError, "an array of objects that holds 1; strings are bytes or str", np.array([1, "a"], object))
        self.check(TypeError, "NumPy array of dtype float64 to int32", np.zeros(2), dtype=tf.int32)
        np.testing.assert_array_equal(tf.constant(np.array([0, 255], np.uint8), dtype=tf.float32).numpy(), [0, 255])
        self.check(TypeError, "'quint8' is not one of bool, int32, int64, float32, float64", 1., dtype="quint8")
        self.assertEqual(tf.constant(np.zeros([1] * 32)).shape, [1] * 32)  # NumPy has no more either


class DTypes(unittest.TestCase):
    def test_a_dtype_equals_its_numpy_type_and_its_name(self):
        self.assertEqual(tf.float32, np.float32)
        self.assertEqual(tf.float32, np.dtype("float32"))
        self.assertEqual(np.dtype("int64"), tf.int64)
        self.assertEqual(tf.int32, "int32")
        self.assertNotEqual(tf.int32, tf.int64)
        self.assertNotEqual(tf.float32, None)
        self.assertNotEqual(tf.float32, "no such dtype")
        self.assertEqual(len({tf.float32, tf.float64, tf.as_dtype("float32")}), 2)

    def test_a_list_may_change_while_it_is_read(self):
        class Emptying:
            def __init__(self, holder):
                self.holder = holder

            def __array__(self, dtype=None):
                self.holder.clear()
                return np.array([1.], dtype or np.float32)

        for read in (tf.constant, lambda values: tf.concat(values, 0), lambda values: tf.add(values, 1.)):
            for others in ([range(1)] * 1000, [tf.ones([1])] * 1000, [[2.]] * 1000):  # enough that its memory is released
                values = []
                values += [Emptying(values), *others]
                with contextlib.suppress(tf.errors.OpError, IndexError):
                    read(values)
                self.assertEqual(values, [])

    def test_shape_and_value_that_do_not_fit_are_both_named(self):
        for value, shape in (([1, 2, 3], [5]), ([1, 2], []), ([1, 2, 3, 4], [2, -1])):
            with self.assertRaises(ValueError) as caught:
                tf.constant(value, shape=shape)
            self.assertEqual(str(caught.exception), f"constant: value has shape ({len(value)},), {len(value)} elements; "
                                                    f"shape is {shape}")
        self.assertEqual(tf.constant([[5]], shape=[3]).numpy().tolist(), [5, 5, 5])

    def test_a_dtype_describes_itself(self):
        self.assertEqual((tf.uint8.limits, tf.float16.limits, tf.bool.limits), ((0, 255), (0, 1), (False, True)))
        self.assertTrue(tf.float32.is_compatible_with("float32") and not tf.float32.is_compatible_with(tf.float64))
        self.assertEqual((tf.float32.is_complex, tf.int8.is_quantized, tf.float64.real_dtype), (False, False, tf.float64))
        with self.assertRaisesRegex(TypeError, "'ij,jk->ik' is not one of"):
            tf.as_dtype("ij,jk->ik")
        self.assertEqual((tf.float64.name, tf.float64.size, tf.float64.as_numpy_dtype), ("float64", 8, np.float64))
        self.assertTrue(tf.float32.is_floating and tf.int64.is_integer and tf.bool.is_bool)
        self.assertEqual((tf.int32.max, tf.int32.min), (2**31 - 1, -2**31))
        self.assertEqual((repr(tf.float32), str(tf.float32)), ("tf.float32", "<dtype: 'float32'>"))
        self.assertEqual(np.zeros(2, tf.float32).dtype, np.float32)
        with self.assertRaises(TypeError):
            tf.as_dtype("quint8")
        with self.assertRaises(TypeError):
            tf.bool.max


class Shapes(unittest.TestCase):
    def test_shapes_of_every_whole_number_dtype(self):
        for dtype in (tf.int8, tf.uint8, tf.int16, tf.uint16, tf.uint32, tf.int32, tf.int64):
            extents = tf.constant([2, 3], dtype)
            self.assertEqual(tf.zeros(extents).shape, (2, 3), dtype)
            self.assertEqual(tf.reshape(tf.range(6), tf.constant([[2, 0], [3, 0]], dtype)[:, 0]).shape, (2, 3), dtype)
            self.assertEqual(float(tf.reduce_sum(tf.ones([2, 3]), axis=tf.constant([0, 1], dtype))), 6, dtype)

    def test_a_shape_may_be_unknown_altogether(self):
        unknown, known = tf.TensorShape(None), tf.TensorShape([1, None])
        self.assertEqual((unknown.rank, unknown.dims, unknown.is_fully_defined(), bool(unknown), str(unknown), repr(unknown)),
                         (None, None, False, False, "<unknown>", "TensorShape(None)"))
        self.assertTrue(unknown == tf.TensorShape(unknown) and unknown != tf.TensorShape([]) and unknown.is_compatible_with([3])
                        and known.is_compatible_with(unknown))
        self.assertEqual((known.merge_with(None), unknown.merge_with([2]), unknown.with_rank(2)), (known, (2,), (None, None)))
        self.assertEqual((known.concatenate(unknown), unknown.concatenate([1])), (unknown, unknown))
        for refused in (unknown.as_list, lambda: len(unknown), lambda: list(unknown), unknown.assert_is_fully_defined):
            with self.assertRaisesRegex(ValueError, "unknown"):
                refused()
        with self.assertRaisesRegex(TypeError, "shape: TensorShape.None. is neither"):
            tf.zeros(unknown)
        tf.zeros([2]).set_shape(unknown)
        self.assertEqual(tf.ensure_shape(tf.zeros([2]), unknown).shape, (2,))
        self.assertEqual(tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], shape_invariants=[unknown])[0], 3)
        ragged = tf.data.Dataset.from_generator(lambda: iter([[1], [1, 2]]), tf.int32, unknown)
        self.assertEqual([each.shape for each in ragged], [(1,), (2,)])

    def test_shapes_are_compared_merged_and_joined(self):
        shape = tf.TensorShape([2, None])
        self.assertTrue(shape.is_compatible_with([2, 7]) and not shape.is_compatible_with([3, 7]))
        self.assertFalse(shape.is_compatible_with([2]))
        self.assertEqual((shape.merge_with([None, 3]), shape.concatenate([4])), ([2, 3], [2, None, 4]))
        self.assertEqual((shape.num_elements(), shape.is_fully_defined(), tf.TensorShape(5)), (None, False, (5,)))
        for refusal in (lambda: shape.merge_with([3, 3]), lambda: shape.assert_has_rank(3), lambda: shape.with_rank_at_least(3),
                        lambda: shape.with_rank_at_most(1), lambda: shape.assert_same_rank([1]), shape.assert_is_fully_defined,
                        lambda: tf.zeros([2, 3]).set_shape([2, 4])):
            with self.assertRaisesRegex(ValueError, "^Shape"):
                refusal()
        tf.zeros([2, 3]).set_shape([2, None])
        for dims in (tf.constant([2, 3]), np.array([2, 3]), (2, 3), iter([2, 3]), tf.TensorShape([2, 3]), [np.int64(2), tf.constant(3)]):
            shape = tf.TensorShape(dims)
            self.assertEqual((shape, [type(extent) for extent in shape]), ((2, 3), [int, int]))
        self.assertEqual(tf.TensorShape(tf.constant(4)), (4,))
        for dims, kind, shown in (([1.5], TypeError, "1.5"), ("ab", TypeError, "'a'"), ([[1]], TypeError, r"\[1\]"),
                                  ([2, -1], ValueError, "-1")):
            with self.assertRaisesRegex(kind, f"TensorShape: dims holds {shown}"):
                tf.TensorShape(dims)

    def test_a_shape_is_a_tuple_with_tensorflows_names(self):
        shape = tf.zeros([2, 3, 4]).shape
        self.assertEqual(shape, (2, 3, 4))
        self.assertEqual(shape, [2, 3, 4])
        self.assertNotEqual(shape, [2, 3])
        self.assertEqual((shape.ndims, shape.rank, shape.num_elements()), (3, 3, 24))
        self.assertEqual((shape.as_list(), shape.dims), ([2, 3, 4], [2, 3, 4]))
        self.assertIsInstance(shape[1:], tf.TensorShape)
        self.assertEqual((shape[1], (5,) + shape[1:], shape[:1] + [7]), (3, (5, 3, 4), (2, 7)))
        self.assertEqual((str(shape), repr(shape)), ("(2, 3, 4)", "TensorShape([2, 3, 4])"))
        self.assertEqual(tf.zeros([2]).get_shape(), (2,))
        self.assertEqual({shape: 1}[(2, 3, 4)], 1)



class Fills(unittest.TestCase):
    def test_long_tensors_hold_one_value_to_their_ends(self):
        for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.uint16, tf.int64, tf.bool):
            for value in (0, 1, 93):
                value = bool(value) if dtype == tf.bool else value
                for count in (1, 511, 512, 513, 1024, 1025, 4097, 70001, 4 << 20, (4 << 20) + 7):
                    t = tf.fill([count], tf.constant(value, dtype))
                    self.assertEqual(t.dtype, dtype)
                    wanted = tf.constant(value, dtype).numpy()
                    self.assertTrue((t.numpy() == wanted).all(), (dtype, value, count))
        self.assertTrue((tf.zeros([3000, 1000]).numpy() == 0).all())
        self.assertTrue((tf.ones([3000, 2000]).numpy() == 1).all())


if __name__ == "__main__":
    unittest.main()
