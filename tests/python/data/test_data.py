"""Data sets: every stage against what it means in plain Python. Random trees of stages: test_data_trees.py."""
import collections
import itertools
import unittest

import numpy as np

import tapedeck as tf

Dataset = tf.data.Dataset


def setUpModule():
    """Functions of stages are called for each element here; test_data_in_functions.py has those that are traced."""
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    unittest.addModuleCleanup(tf.config.run_functions_eagerly, before)



def values(dataset):
    """The elements as nested Python lists and tuples."""
    return [plain(element) for element in dataset]


def plain(element):
    if isinstance(element, dict):
        return {key: plain(value) for key, value in element.items()}
    if isinstance(element, tuple):
        return tuple(map(plain, element))
    return element.numpy().tolist()


class Sources(unittest.TestCase):
    def test_from_tensors_is_one_element(self):
        self.assertEqual(values(Dataset.from_tensors(([1, 2], {"a": 3.5}))), [([1, 2], {"a": 3.5})])
        self.assertEqual(len(Dataset.from_tensors(1)), 1)

    def test_slices_are_the_rows_of_every_leaf(self):
        dataset = Dataset.from_tensor_slices({"x": np.arange(6).reshape(3, 2), "y": (np.arange(3.), [True, False, True])})
        self.assertEqual(values(dataset),
                         [{"x": [0, 1], "y": (0., True)}, {"x": [2, 3], "y": (1., False)}, {"x": [4, 5], "y": (2., True)}])
        self.assertEqual(dataset.element_spec["x"], tf.TensorSpec([2], tf.int64))

    def test_slices_of_different_numbers_or_of_a_scalar_are_refused(self):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "component 0 has 3 slices and component 1 has 2"):
            Dataset.from_tensor_slices(([1, 2, 3], [1, 2]))
        with self.assertRaisesRegex(ValueError, "component 0 is a scalar"):
            Dataset.from_tensor_slices(5)

    def test_a_read_only_array_is_not_copied(self):
        array = np.arange(12.).reshape(4, 3).copy()
        array.flags.writeable = False
        row = next(iter(Dataset.from_tensor_slices(array)))
        self.assertTrue(np.shares_memory(np.asarray(row), array))

    def test_range_counts_as_pythons(self):
        for arguments in [(5,), (2, 7), (1, 10, 3), (10, 1, -4), (3, 3), (5, 2), (-3, 4, 2)]:
            dataset = Dataset.range(*arguments)
            self.assertEqual(values(dataset), list(range(*arguments)))
            self.assertEqual(len(dataset), len(range(*arguments)))
        self.assertEqual(Dataset.range(3, output_type=tf.float32).element_spec, tf.TensorSpec([], tf.float32))
        self.assertRaises(ValueError, Dataset.range)
        self.assertRaisesRegex(tf.errors.InvalidArgumentError, "step is 0", Dataset.range, 1, 5, 0)

    def test_a_generator_begins_anew_for_each_iterator(self):
        def generator(count):
            for number in range(count):
                yield number, [number] * number
        dataset = Dataset.from_generator(generator, (tf.int64, tf.int32), ([], [None]), args=(3,))
        for _ in range(2):
            self.assertEqual(values(dataset), [(0, []), (1, [1]), (2, [2, 2])])
        signed = Dataset.from_generator(lambda: iter([1, 2]), output_signature=tf.TensorSpec([], tf.float32))
        self.assertEqual(values(signed), [1., 2.])

    def test_what_a_generator_may_not_give_is_named(self):
        dataset = Dataset.from_generator(lambda: iter([[1], [2, 3]]), tf.int32, [1])
        iterator = iter(dataset)
        next(iterator)
        with self.assertRaisesRegex(ValueError, r"from_generator \(stage 1 of 1\), element 1: .*shape \(2,\) where .*shape \(1,\)"):
            next(iterator)
        with self.assertRaisesRegex(TypeError, "could not be converted to int32"):
            list(Dataset.from_generator(lambda: iter(["a"]), tf.int32))
        with self.assertRaisesRegex(TypeError, "does not have the structure"):
            list(Dataset.from_generator(lambda: iter([1]), (tf.int32, tf.int32)))
        self.assertRaises(TypeError, Dataset.from_generator, lambda: iter([1]))

    def test_random_numbers_repeat_with_their_seed(self):
        first, second = (values(Dataset.random(seed=4).take(5)) for _ in range(2))
        self.assertEqual(first, second)
        self.assertNotEqual(first, values(Dataset.random(seed=5).take(5)))
        again = Dataset.random(seed=4, rerandomize_each_iteration=True).take(5)
        self.assertNotEqual(values(again), values(again))

    def test_a_mapped_file_is_read_in_place(self):
        import os
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.npy")
            np.save(path, np.arange(20.).reshape(10, 2))
            before = tf.config.experimental.get_memory_info("CPU:0")["current"]
            dataset = Dataset.from_tensor_slices(np.load(path, mmap_mode="r"))
            self.assertEqual(tf.config.experimental.get_memory_info("CPU:0")["current"], before)
            self.assertEqual(values(dataset.batch(5))[1][4], [18., 19.])


class Stages(unittest.TestCase):
    def test_map_gives_a_tuples_parts_as_arguments_and_takes_any_structure(self):
        dataset = Dataset.from_tensor_slices((np.arange(3), np.arange(3.)))
        self.assertEqual(values(dataset.map(lambda a, b: {"sum": tf.cast(a, tf.float64) + b})),
                         [{"sum": 0.}, {"sum": 2.}, {"sum": 4.}])
        self.assertEqual(values(dataset.map(lambda a, b: [a, a])), [(0, 0), (1, 1), (2, 2)])
        self.assertEqual(values(dataset.map(lambda *pair: (1, 2.))), [(1, 2.)] * 3)
        Point = collections.namedtuple("Point", "x y")
        points = dataset.map(Point).map(lambda point: point.x)
        self.assertEqual(values(points), [0, 1, 2])

    def test_a_functions_structure_may_not_change(self):
        dataset = Dataset.range(3).map(lambda x: (x, x) if int(x) == 2 else x)
        with self.assertRaisesRegex(TypeError, r"map \(stage 2 of 2\), element 2: map: the function returned .* before it was"):
            list(dataset)

    def test_element_spec_of_map_knows_what_other_elements_need_not_have(self):
        dataset = Dataset.range(10).map(lambda x: tf.ones([2]) * tf.cast(x, tf.float32)).batch(4)
        self.assertEqual(dataset.element_spec, tf.TensorSpec([None, 2], tf.float32))
        self.assertEqual(dataset.map(lambda x: x + 1).element_spec, tf.TensorSpec([None, 2], tf.float32))
        self.assertEqual(Dataset.range(0).map(lambda x: (x, tf.zeros([3]))).element_spec[1], tf.TensorSpec([3], tf.float32))

    def test_types_shapes_and_classes_have_the_elements_structure(self):
        dataset = Dataset.from_tensor_slices({"a": np.zeros((4, 3), np.float32), "b": np.arange(4)}).batch(2, drop_remainder=True)
        self.assertEqual(dataset.output_types, {"a": tf.float32, "b": tf.int64})
        self.assertEqual(dataset.output_shapes, {"a": tf.TensorShape([2, 3]), "b": tf.TensorShape([2])})
        self.assertEqual(dataset.output_classes, {"a": tf.Tensor, "b": tf.Tensor})
        self.assertIn("BatchDataset element_spec={'a': TensorSpec(shape=(2, 3)", repr(dataset))

    def test_padded_batch_fills_up_to_the_longest_or_to_a_shape(self):
        dataset = Dataset.range(1, 6).map(lambda n: (tf.fill([n], n), n))
        self.assertEqual(values(dataset.padded_batch(2)),
                         [([[1, 0], [2, 2]], [1, 2]), ([[3, 3, 3, 0], [4, 4, 4, 4]], [3, 4]), ([[5] * 5], [5])])
        fixed = dataset.padded_batch(2, padded_shapes=([6], []), padding_values=(np.int64(-1), None), drop_remainder=True)
        self.assertEqual(values(fixed)[1][0], [[3, 3, 3, -1, -1, -1], [4, 4, 4, 4, -1, -1]])
        self.assertEqual(fixed.element_spec[0], tf.TensorSpec([2, 6], tf.int64))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "extent of 4 along axis 0, more than its padded shape's 3"):
            list(dataset.padded_batch(2, padded_shapes=([3], [])))
        grids = Dataset.range(1, 3).map(lambda n: tf.ones([n, 3 - n]))
        np.testing.assert_array_equal(next(iter(grids.padded_batch(2))), [[[1, 1], [0, 0]], [[1, 0], [1, 0]]])

    def test_batch_refuses_elements_that_differ(self):
        dataset = Dataset.range(1, 4).map(lambda n: tf.ones([n])).batch(2)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                    r"batch \(stage 3 of 3\), element 1: component 0 has shape \(2,\) where the batch has \(1,\)"):
            next(iter(dataset))

    def test_shuffle_gives_every_element_once_and_looks_no_further_than_its_buffer(self):
        for size in (1, 3, 20, 100):
            order = values(Dataset.range(20).shuffle(size, seed=3))
            self.assertEqual(sorted(order), list(range(20)))
            for place, element in enumerate(order):
                self.assertLess(element, place + size)
        self.assertEqual(values(Dataset.range(5).shuffle(1)), list(range(5)))

    def test_shuffle_draws_alike_from_rows_and_from_elements(self):
        rows = Dataset.from_tensor_slices(np.arange(50))
        for size in (7, 50, 80):
            by_rows = values(rows.shuffle(size, seed=9))
            self.assertEqual(by_rows, values(rows.map(lambda x: x).shuffle(size, seed=9)))
            self.assertEqual(by_rows, [x for batch in rows.shuffle(size, seed=9).batch(8) for x in batch.numpy()])

    def test_seeds_decide_the_order_as_tensorflows_do(self):
        def order(graph_seed, seed, **kwargs):
            tf.set_random_seed(graph_seed)
            dataset = Dataset.range(30).shuffle(30, seed=seed, **kwargs)
            return values(dataset), values(dataset)
        try:
            self.assertEqual(order(1, 2), order(1, 2))
            self.assertEqual(order(1, None), order(1, None))
            self.assertNotEqual(order(1, 2), order(1, 3))
            self.assertNotEqual(order(1, 2), order(2, 2))
            first, second = order(1, 2)
            self.assertNotEqual(first, second)
            first, second = order(1, 2, reshuffle_each_iteration=False)
            self.assertEqual(first, second)
        finally:
            tf.set_random_seed(None)

    def test_repeat_shuffles_anew_each_time(self):
        both = values(Dataset.range(20).shuffle(20, seed=1).repeat(2))
        self.assertNotEqual(both[:20], both[20:])
        self.assertEqual(sorted(both[:20]), sorted(both[20:]))

    def test_every_place_is_as_likely_for_every_element(self):
        counts = np.zeros((6, 6))
        for seed in range(600):
            for place, element in enumerate(values(Dataset.range(6).shuffle(6, seed=seed))):
                counts[place, element] += 1
        self.assertLess(((counts - 100) ** 2 / 100).sum(), 60)  # chi squared of 25 degrees: above 60 once in 10,000 times

    def test_repeating_nothing_ends(self):
        self.assertEqual(values(Dataset.range(0).repeat()), [])
        self.assertEqual(values(Dataset.range(3).filter(lambda x: False).repeat(4)), [])
        self.assertEqual(values(Dataset.range(0).shuffle(3).batch(2).repeat()), [])

    def test_windows_are_data_sets_of_each_leaf(self):
        def model(count, size, shift, stride, drop):
            windows = [list(range(start, min(start + (size - 1) * stride + 1, count), stride)) for start in range(0, count, shift)]
            return [window for window in windows if len(window) == size or not drop]
        for count, size, shift, stride in itertools.product((0, 1, 7), (1, 2, 3), (1, 2, 5), (1, 2)):
            for drop in (False, True):
                dataset = Dataset.range(count).window(size, shift, stride, drop)
                self.assertEqual([values(window) for window in dataset], model(count, size, shift, stride, drop),
                                 (count, size, shift, stride))
                self.assertEqual(len(dataset), len(model(count, size, shift, stride, drop)))
        pairs = Dataset.from_tensor_slices({"a": np.arange(4), "b": np.arange(4.)}).window(2)
        self.assertEqual([(values(w["a"]), values(w["b"])) for w in pairs], [([0, 1], [0., 1.]), ([2, 3], [2., 3.])])
        self.assertEqual(values(pairs.flat_map(lambda w: Dataset.zip((w["b"], w["a"])))), [(0., 0), (1., 1), (2., 2), (3., 3)])

    def test_interleave_takes_blocks_in_turn(self):
        # The example of TensorFlow's documentation.
        dataset = Dataset.range(1, 6).interleave(lambda x: Dataset.from_tensors(x).repeat(6), cycle_length=2, block_length=4)
        expected = [1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5]
        self.assertEqual(values(dataset), expected)
        parallel = Dataset.range(1, 6).interleave(lambda x: Dataset.from_tensors(x).repeat(6), 2, 4, num_parallel_calls=2)
        self.assertEqual(values(parallel), expected)
        with self.assertRaisesRegex(TypeError, r"flat_map \(stage 2 of 2\), element 0: the function returned no Dataset"):
            list(Dataset.range(2).flat_map(lambda x: x))

    def test_scan_reduce_and_take_while(self):
        sums = Dataset.range(6).scan(np.int64(0), lambda total, x: (total + x, total * 10 + x))
        self.assertEqual(values(sums), [0, 1, 12, 33, 64, 105])
        none = Dataset.range(0).scan(np.int64(0), lambda total, x: (total + x, total + x))
        self.assertEqual(none.element_spec, tf.TensorSpec([], tf.int64))
        self.assertEqual(values(none.concatenate(Dataset.range(3)).map(lambda x: 2 * x)), [0, 2, 4])
        self.assertEqual(int(Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x)), 10)
        total, count = Dataset.range(5).reduce((np.int64(0), 0), lambda state, x: (state[0] + x, state[1] + 1))
        self.assertEqual((int(total), int(count)), (10, 5))
        self.assertEqual(values(Dataset.range(10).take_while(lambda x: x < 4)), [0, 1, 2, 3])

    def test_choices_come_from_the_data_set_that_they_name(self):
        datasets = [Dataset.range(0, 3), Dataset.range(10, 12)]
        choice = Dataset.from_tensor_slices(np.array([0, 1, 1, 1, 0, 0, 0]))
        self.assertEqual(values(Dataset.choose_from_datasets(datasets, choice, False)), [0, 10, 11, 1, 2])
        self.assertEqual(values(Dataset.choose_from_datasets(datasets, choice)), [0, 10, 11])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "the choice is 2; there are 2 data sets"):
            list(Dataset.choose_from_datasets(datasets, Dataset.range(3)))
        sampled = values(Dataset.sample_from_datasets([Dataset.range(1000), Dataset.range(1000, 2000)], [0.8, 0.2],
                                                      seed=1).take(1000))
        self.assertAlmostEqual(sum(x < 1000 for x in sampled) / 1000, 0.8, delta=0.05)
        self.assertEqual(values(Dataset.sample_from_datasets([Dataset.range(2), Dataset.range(5, 9)], [0., 1.], seed=2).take(3)),
                         [5, 6, 7])

    def test_groups_come_out_when_they_are_full_and_the_rest_at_the_end(self):
        dataset = Dataset.range(10).group_by_window(lambda x: x % 3, lambda key, window: window.batch(3), window_size=3)
        self.assertEqual(values(dataset), [[0, 3, 6], [1, 4, 7], [2, 5, 8], [9]])
        sized = Dataset.range(8).group_by_window(lambda x: x % 2, lambda key, window: window.batch(9),
                                                 window_size_func=lambda key: key + 1)
        self.assertEqual(values(sized), [[0], [2], [1, 3], [4], [6], [5, 7]])

    def test_buckets_hold_elements_of_similar_length(self):
        dataset = Dataset.from_generator(lambda: iter([[1], [1] * 5, [2] * 2, [3] * 6, [4] * 3]), tf.int32, [None])
        buckets = dataset.bucket_by_sequence_length(len, [4], [2, 2])
        self.assertEqual(values(buckets), [[[1, 0], [2, 2]], [[1] * 5 + [0], [3] * 6], [[4] * 3]])
        filled = dataset.bucket_by_sequence_length(len, [4, 8], [2, 2, 2], pad_to_bucket_boundary=True)
        self.assertEqual([tuple(batch.shape) for batch in filled], [(2, 3), (2, 7), (1, 3)])

    def test_cached_elements_are_made_once(self):
        made = []
        dataset = Dataset.range(3).map(lambda x: made.append(int(x)) or x).cache()
        next(iter(dataset))  # not to the end: not kept
        made.clear()
        for _ in range(3):
            self.assertEqual(values(dataset), [0, 1, 2])
        self.assertEqual(made, [0, 1, 2])

    def test_a_cache_in_a_file_outlives_its_data_set(self):
        import os
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path, made = os.path.join(folder, "cache"), []

            def dataset():
                return Dataset.range(3).map(lambda x: (made.append(int(x)) or x, tf.ones([2, 2]))).cache(path)
            expected = [(x, [[1., 1.], [1., 1.]]) for x in range(3)]
            next(iter(dataset()))
            self.assertEqual(os.listdir(folder), [])
            made.clear()
            self.assertEqual(values(dataset()), expected)
            self.assertEqual(values(dataset()), expected)
            self.assertEqual(made[:3], [0, 1, 2])
            file, = (os.path.join(folder, name) for name in os.listdir(folder))
            with open(file, "r+b") as stream:
                stream.truncate(os.path.getsize(file) - 1)
            with self.assertRaisesRegex(tf.errors.DataLossError, r"cache \(stage 3 of 3\), element 2: .*record 2"):
                list(dataset())

    def test_errors_can_be_ignored(self):
        dataset = Dataset.range(5).map(lambda x: 6 // (int(x) - 2)).ignore_errors()
        self.assertEqual(values(dataset), [-3, -6, 6, 3])
        self.assertEqual(values(Dataset.range(5).apply(tf.data.experimental.ignore_errors())), list(range(5)))

    def test_unique_unbatch_rebatch_enumerate_and_single(self):
        self.assertEqual(values(Dataset.from_tensor_slices([1, 2, 1, 3, 2]).unique()), [1, 2, 3])
        batches = Dataset.range(7).batch(3)
        self.assertEqual(values(batches.unbatch()), list(range(7)))
        self.assertEqual(values(batches.rebatch(4)), [[0, 1, 2, 3], [4, 5, 6]])
        self.assertEqual(values(Dataset.from_tensor_slices([5., 6.]).enumerate(3)), [(3, 5.), (4, 6.)])
        self.assertEqual(int(Dataset.range(4, 5).get_single_element()), 4)
        self.assertRaises(tf.errors.InvalidArgumentError, Dataset.range(2).get_single_element)

    def test_cardinality_is_known_where_it_can_be(self):
        dataset = Dataset.range(10)
        known = {"batch": (dataset.batch(3), 4), "drop": (dataset.batch(3, True), 3), "take": (dataset.take(4), 4),
                 "skip": (dataset.skip(12), 0), "repeat": (dataset.repeat(3), 30),
                 "zip": (Dataset.zip((dataset, dataset.take(2))), 2),
                 "shard": (dataset.shard(3, 1), 3), "concatenate": (dataset.concatenate(dataset), 20),
                 "map": (dataset.map(lambda x: x), 10),
                 "endless": (dataset.repeat(), tf.data.INFINITE_CARDINALITY),
                 "filter": (dataset.filter(bool), tf.data.UNKNOWN_CARDINALITY),
                 "endless take": (dataset.repeat().take(7), 7),
                 "endless skip": (dataset.repeat().skip(7), tf.data.INFINITE_CARDINALITY)}
        for name, (made, count) in known.items():
            self.assertEqual(int(made.cardinality()), count, name)
        self.assertRaisesRegex(TypeError, "infinite", len, dataset.repeat())
        self.assertRaisesRegex(TypeError, "unknown", len, dataset.filter(bool))

    def test_bad_arguments_are_named(self):
        dataset = Dataset.range(3)
        for call, words in [(lambda: dataset.batch(0), "batch: batch_size is 0; must be at least 1"),
                            (lambda: dataset.shuffle(0), "shuffle: buffer_size is 0"),
                            (lambda: dataset.window(-1), "window: size is -1"),
                            (lambda: dataset.shard(2, 2), "shard: index is 2; must be below num_shards, 2"),
                            (lambda: dataset.prefetch(-2), "prefetch: buffer_size is -2"),
                            (lambda: dataset.map(bool, num_parallel_calls=0), "map: num_parallel_calls is 0")]:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, words):
                call()
        self.assertRaisesRegex(TypeError, "batch: batch_size is 2.5", dataset.batch, 2.5)
        self.assertRaisesRegex(TypeError, "map: 5 is not a function", dataset.map, 5)
        self.assertRaisesRegex(TypeError, "apply: transformation_func returned 3", dataset.apply, lambda d: 3)
        self.assertRaisesRegex(TypeError, "zip: the argument is a list", Dataset.zip, [dataset])


class Names(unittest.TestCase):
    def test_tensorflow_1s_functions_for_apply(self):
        contrib = tf.contrib.data
        dataset = Dataset.range(7)
        self.assertEqual(values(dataset.apply(contrib.batch_and_drop_remainder(3))), [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(values(dataset.apply(contrib.map_and_batch(lambda x: x * 2, 4))), [[0, 2, 4, 6], [8, 10, 12]])
        self.assertEqual(values(dataset.batch(3).apply(contrib.unbatch())), list(range(7)))
        self.assertEqual(sorted(values(dataset.apply(contrib.shuffle_and_repeat(7, 2, seed=1)))), sorted(list(range(7)) * 2))
        self.assertEqual(values(dataset.apply(contrib.enumerate_dataset(2)).take(1)), [(2, 0)])
        self.assertEqual(values(dataset.apply(contrib.ignore_errors())), list(range(7)))
        self.assertEqual(values(dataset.apply(tf.data.experimental.assert_cardinality(7))), list(range(7)))
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "has more than 3 elements"):
            list(dataset.apply(tf.data.experimental.assert_cardinality(3)))

    def test_elements_of_a_list_and_by_number(self):
        dataset = tf.data.experimental.from_list([(1, {"a": [1., 2.]}), (3, {"a": [3., 4.]})])
        self.assertEqual(values(dataset), [(1, {"a": [1., 2.]}), (3, {"a": [3., 4.]})])
        self.assertEqual(plain(tf.data.experimental.at(dataset, 1)), (3, {"a": [3., 4.]}))
        self.assertRaisesRegex(tf.errors.OutOfRangeError, "index is 2", tf.data.experimental.at, dataset, 2)
        self.assertRaises(TypeError, tf.data.experimental.from_list, [1, (1, 2)])
        self.assertRaises(tf.errors.InvalidArgumentError, tf.data.experimental.from_list, [])

    def test_options_and_optionals_are_kept(self):
        options = tf.data.Options()
        options.deterministic = False
        self.assertIs(Dataset.range(2).with_options(options).options(), options)
        iterator = iter(Dataset.range(1))
        there, missing = iterator.get_next_as_optional(), iterator.get_next_as_optional()
        self.assertTrue(there.has_value())
        self.assertEqual(int(there.get_value()), 0)
        self.assertFalse(missing.has_value())
        self.assertRaises(tf.errors.InvalidArgumentError, missing.get_value)

    def test_arrays_come_out_of_a_numpy_iterator(self):
        elements = list(Dataset.from_tensor_slices({"a": np.arange(2)}).as_numpy_iterator())
        self.assertEqual(elements, [{"a": 0}, {"a": 1}])
        self.assertIsInstance(elements[0]["a"], np.int64)


if __name__ == "__main__":
    unittest.main()
