"""What programs of TensorFlow see of their data: structures, printed forms, classes of errors, names of both generations."""
import collections
import os
import tempfile
import unittest

import numpy as np

import tapedeck as tf

Dataset = tf.data.Dataset


class Structures(unittest.TestCase):
    def test_a_list_that_map_returns_is_a_tuple_whose_parts_may_differ(self):
        made = Dataset.range(2).map(lambda x: tf.py_func(lambda v: (v * 2, np.float32(v)), [x], [tf.int64, tf.float32]))
        self.assertEqual([each.dtype for each in made.element_spec], [tf.int64, tf.float32])
        self.assertEqual([(int(a), float(b)) for a, b in made], [(0, 0.), (2, 1.)])

    def test_rebatch_takes_sizes_in_turn(self):
        made = Dataset.range(7).batch(3)
        self.assertEqual([x.tolist() for x in made.rebatch([1, 2]).as_numpy_iterator()], [[0], [1, 2], [3], [4, 5], [6]])
        self.assertEqual([x.tolist() for x in made.rebatch([2, 4], True).as_numpy_iterator()], [[0, 1], [2, 3, 4, 5]])
        self.assertEqual([x.tolist() for x in made.rebatch([5]).as_numpy_iterator()], [[0, 1, 2, 3, 4], [5, 6]])
        self.assertEqual(made.rebatch([1, 2]).element_spec, tf.TensorSpec([None], tf.int64))

    def test_concatenate_refuses_another_dtype_at_once(self):
        with self.assertRaisesRegex(TypeError, "int64 and float32"):
            Dataset.range(2).concatenate(Dataset.from_tensors(1.))

    def test_parsed_features_stand_in_their_names_order(self):
        example = tf.train.Example()
        for name in "ba":
            example.features.feature[name].int64_list.value.append(1)
        features = {name: tf.io.FixedLenFeature([], tf.int64) for name in "ba"}
        self.assertEqual(list(tf.io.parse_single_example(example.SerializeToString(), features)), ["a", "b"])
        self.assertEqual(list(tf.io.parse_example([example.SerializeToString()], features)), ["a", "b"])

    def test_a_csv_files_columns_are_an_ordered_dict(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.csv")
            with open(path, "w") as file:
                file.write("y,x\n1,2\n")
            batch = next(iter(tf.data.experimental.make_csv_dataset(path, 1, num_epochs=1)))
        self.assertIs(type(batch), collections.OrderedDict)
        self.assertEqual(list(batch), ["y", "x"])


    def test_a_predicate_gives_a_scalar_of_bool(self):
        for method in (Dataset.range(3).filter, Dataset.range(3).take_while):
            for predicate, text in ((lambda x: x, "int64 of shape \\(\\)"),
                                    (lambda x: tf.stack([x > 1, x > 2]), "bool of shape \\(2,\\)")):
                with self.assertRaisesRegex(ValueError, f"the predicate returned {text}; needs a scalar of bool"):
                    list(method(predicate))


class Checkpoints(unittest.TestCase):
    def test_an_iterator_gives_each_latest_checkpoint_and_ends_as_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            checkpoint, asked = tf.train.Checkpoint(v=tf.Variable(1.)), []
            self.assertEqual(list(tf.train.checkpoints_iterator(folder, timeout=0)), [])
            first = checkpoint.save(os.path.join(folder, "a"))
            found = tf.train.checkpoints_iterator(folder, timeout=0, timeout_fn=lambda: asked.append(1) or len(asked) == 2)
            self.assertEqual(next(found), first)
            second = checkpoint.save(os.path.join(folder, "a"))
            self.assertEqual(list(found), [second])
            self.assertEqual(len(asked), 2)


class Messages(unittest.TestCase):
    def test_a_sequence_example_grows_by_add_and_is_parsed(self):
        example = tf.train.SequenceExample()
        example.context.feature["n"].int64_list.value.append(2)
        for token in (5, 6):
            example.feature_lists.feature_list["tokens"].feature.add().int64_list.value.append(token)
        example.feature_lists.feature_list["tokens"].feature.add(int64_list=tf.train.Int64List(value=[7]))
        context, lists = tf.io.parse_single_sequence_example(
            example.SerializeToString(), {"n": tf.io.FixedLenFeature([], tf.int64)},
            {"tokens": tf.io.FixedLenSequenceFeature([], tf.int64)})
        self.assertEqual((int(context["n"]), lists["tokens"].numpy().tolist()), (2, [5, 6, 7]))

    def test_has_field_tells_whether_a_part_holds_anything(self):
        example = tf.train.Example()
        self.assertFalse(example.HasField("features"))
        example.features.feature["a"].int64_list.value.append(1)
        self.assertTrue(example.HasField("features"))
        with self.assertRaisesRegex(ValueError, "no field 'feature'"):
            example.HasField("feature")


class Printed(unittest.TestCase):
    def test_a_data_set_is_called_as_tensorflows_class_is(self):
        numbers = Dataset.range(4)
        for made, name in ((numbers, "_RangeDataset"), (Dataset.from_tensor_slices([1]), "_TensorSliceDataset"),
                           (Dataset.from_tensors(1), "_TensorDataset"), (numbers.batch(2), "_BatchDataset"),
                           (numbers.map(abs), "_MapDataset"), (numbers.map(abs, num_parallel_calls=2), "_ParallelMapDataset"),
                           (numbers.cache(), "CacheDataset"), (tf.data.TFRecordDataset("a"), "TFRecordDatasetV2"),
                           (numbers.with_options(tf.data.Options()), "_OptionsDataset")):
            self.assertEqual(repr(made).split()[0], "<" + name)

    def test_a_spec_of_a_data_set_tells_its_shape(self):
        self.assertEqual(repr(Dataset.range(4).window(2).element_spec),
                         "DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))")


class Names(unittest.TestCase):
    def test_options_have_the_fields_that_programs_set(self):
        options = tf.data.Options()
        options.autotune.enabled = True
        options.threading.private_threadpool_size = 2
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
        made = Dataset.range(2).with_options(options)
        self.assertEqual([int(x) for x in made], [0, 1])
        self.assertEqual(made.options().experimental_distribute.auto_shard_policy, 2)

    def test_first_generations_functions_tell_of_the_elements(self):
        made = Dataset.from_tensors([1, 2])
        self.assertEqual(tf.compat.v1.data.get_output_types(made), tf.int32)
        self.assertEqual(list(tf.compat.v1.data.get_output_shapes(made)), [2])
        self.assertIs(tf.compat.v1.data.get_output_classes(made), tf.Tensor)
        self.assertIs(tf.contrib.data.Dataset, Dataset)
        self.assertIs(tf.FixedLenFeature, tf.io.FixedLenFeature)
        self.assertEqual(tf.contrib.signal.hann_window(4).shape, tf.spectral.rfft([0., 1., 2., 3., 4., 5.]).shape)

    def test_a_generators_wrong_elements_are_tensorflows_errors(self):
        spec = tf.TensorSpec([2], tf.int32)
        for given, also in (([1], ValueError), (["a", "b"], TypeError), (1.5, TypeError)):
            with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
                list(Dataset.from_generator(lambda given=given: iter([given]), output_signature=spec))
            self.assertIsInstance(caught.exception, also)


if __name__ == "__main__":
    unittest.main()
