"""Nested structures, and the references that can be their keys."""
import unittest

import tapedeck as tf


class Nest(unittest.TestCase):
    def test_a_function_is_mapped_over_several_structures(self):
        summed = tf.nest.map_structure(lambda a, b, c: a + b + c, {"x": 1, "y": [2, (3,)]}, {"y": [20, (30,)], "x": 10},
                                       {"x": 100, "y": [200, (300,)]})
        self.assertEqual(summed, {"x": 111, "y": [222, (333,)]})
        self.assertEqual(tf.nest.map_structure(lambda a: -a, (1, [2])), (-1, [-2]))

    def test_what_is_no_sequence_is_named(self):
        with self.assertRaisesRegex(TypeError, "^pack_sequence_as: flat_sequence is 3; needs a list"):
            tf.nest.pack_sequence_as([1], 3)

    def test_a_shape_is_one_leaf(self):
        shape = tf.zeros([2, 3]).shape
        self.assertIs(tf.nest.flatten([shape, 1])[0], shape)
        self.assertEqual(tf.map_fn(lambda row: row.shape, tf.zeros([2, 3])).numpy().tolist(), [[3], [3]])

    def test_tensorflows_argument_for_composites_is_taken(self):
        self.assertEqual(tf.nest.flatten([1, {"a": 2}], expand_composites=True), [1, 2])
        self.assertEqual(tf.nest.pack_sequence_as([0, (0,)], [1, 2], expand_composites=True), [1, (2,)])
        self.assertEqual(tf.nest.map_structure(lambda a: -a, {"b": 1}, expand_composites=True), {"b": -1})
        tf.nest.assert_same_structure([1], [2], True, True)

    def test_keys_without_an_order_are_named(self):
        for call in (lambda: tf.nest.flatten({1: 2, "a": 3}), lambda: tf.nest.map_structure(str, [{1: 2, None: 3}])):
            with self.assertRaisesRegex(TypeError, r"nest: the keys \[1, .*\] of a dict cannot be sorted"):
                call()

    def test_structures_that_differ_are_refused(self):
        with self.assertRaisesRegex(ValueError, r"the structures differ: \[1\] has 1 leaves, \[1, 2\] has 2"):
            tf.nest.map_structure(max, [1], [1, 2])
        with self.assertRaises(TypeError):
            tf.nest.assert_same_structure([1], (1,))
        with self.assertRaises(TypeError):
            tf.nest.assert_same_structure({"a": 1}, {"b": 1})
        tf.nest.assert_same_structure([1, {"a": 2}], (3, {"a": 4}), check_types=False)
        with self.assertRaisesRegex(TypeError, "map_structure: func is 3; needs a function"):
            tf.nest.map_structure(3, [1])


class References(unittest.TestCase):
    def test_a_reference_is_equal_to_those_of_the_same_object_alone(self):
        tensor, variable = tf.constant([1., 2.]), tf.Variable([1., 2.])
        self.assertEqual({tensor.ref(): "t", variable.ref(): "v"}[variable.ref()], "v")
        self.assertEqual(tensor.ref(), tensor.experimental_ref())
        self.assertNotEqual(tensor.ref(), tf.constant([1., 2.]).ref())
        self.assertIs(tensor.ref().deref(), tensor)
        self.assertIs(variable.ref().deref(), variable)
        self.assertIn("Reference wrapping <tf.Variable", repr(variable.ref()))


if __name__ == "__main__":
    unittest.main()
