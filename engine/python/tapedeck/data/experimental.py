"""tf.data.experimental, whose functions tf.contrib.data had before: most are methods of Dataset now."""
from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.public import public
from tapedeck._core.refusals import shown
from tapedeck.data import structure as _structure
from tapedeck.data.arguments import AUTOTUNE, number
from tapedeck.data.dataset import Dataset, INFINITE_CARDINALITY
from tapedeck.data.files import TFRecordDataset
from tapedeck.data.iterators import packing
from tapedeck.io.features import parse_example
from tapedeck.io.files import matching
from tapedeck.io.records import TFRecordWriter as _RecordWriter


def _having_elements(function, value):
    if not hasattr(value, "element_spec"):
        raise _engine.TypeMismatchError(f"{function}: dataset_or_iterator: {shown(value)} is neither a data set nor an iterator")
    return value


@public("data.experimental.cardinality", "contrib.data.cardinality")
def cardinality(dataset):
    """dataset.cardinality(). TypeError for a value that is not a data set."""
    _structure.require_dataset(dataset, "cardinality")
    return dataset.cardinality()


@public("data.experimental.get_single_element", "contrib.data.get_single_element")
def get_single_element(dataset, name=None):
    """dataset.get_single_element(). TypeError for a value that is not a data set."""
    _structure.require_dataset(dataset, "get_single_element")
    return dataset.get_single_element()


@public("data.experimental.get_structure", "contrib.data.get_structure")
def get_structure(dataset_or_iterator):
    """Its element_spec. TypeError for what is neither a data set nor an iterator."""
    return _having_elements("get_structure", dataset_or_iterator).element_spec


@public("data.get_output_types")
def get_output_types(dataset_or_iterator):
    """Its output_types: the structure of the elements, with dtypes (TensorFlow 1).
    TypeError for what is neither a data set nor an iterator."""
    return _having_elements("get_output_types", dataset_or_iterator).output_types


@public("data.get_output_shapes")
def get_output_shapes(dataset_or_iterator):
    """Its output_shapes: the structure of the elements, with TensorShapes (TensorFlow 1).
    TypeError for what is neither a data set nor an iterator."""
    return _having_elements("get_output_shapes", dataset_or_iterator).output_shapes


@public("data.get_output_classes")
def get_output_classes(dataset_or_iterator):
    """Its output_classes: the structure of the elements, with classes (TensorFlow 1).
    TypeError for what is neither a data set nor an iterator."""
    return _having_elements("get_output_classes", dataset_or_iterator).output_classes


@public("data.experimental.get_next_as_optional", "contrib.data.get_next_as_optional")
def get_next_as_optional(iterator):
    """iterator.get_next_as_optional(). TypeError for a value that is not an iterator."""
    if not hasattr(iterator, "get_next_as_optional"):
        raise _engine.TypeMismatchError(f"get_next_as_optional: iterator: {shown(iterator)} is not an iterator of a data set")
    return iterator.get_next_as_optional()


@public("data.experimental.Counter", "contrib.data.Counter")
def Counter(start=0, step=1, dtype=None):
    """Dataset.counter."""
    return Dataset.counter(start, step, dtype or dtypes.int64)


@public("data.experimental.RandomDataset", "contrib.data.RandomDataset")
def RandomDataset(seed=None):
    """Dataset.random."""
    return Dataset.random(seed)


@public("data.experimental.choose_from_datasets", "contrib.data.choose_from_datasets")
def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=False):
    """Dataset.choose_from_datasets."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


@public("data.experimental.sample_from_datasets", "contrib.data.sample_from_datasets")
def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False):
    """Dataset.sample_from_datasets."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


@public("data.experimental.from_list", "contrib.data.from_list")
def from_list(elements, name=None):
    """A data set of the elements of a list, which have one structure. InvalidArgumentError for an empty list; TypeError where
    structures differ."""
    if not elements:
        raise _engine.InvalidArgumentError("from_list: elements is empty")
    made = [_structure.as_element(element) for element in elements]
    for element in made[1:]:
        if not _structure.same_form(made[0], element):
            raise TypeError(f"from_list: the elements differ in structure: {made[0]!r} and {element!r}")
    rows = list(zip(*map(_structure.flatten, made)))
    stack = _engine.op_function("stack")
    return Dataset.from_tensor_slices(_structure.pack(made[0], iter([stack(list(row)) for row in rows])))


@public("data.experimental.at", "contrib.data.at")
def at(dataset, index):
    """The element of that number. tf.errors.OutOfRangeError where there is none."""
    _structure.require_dataset(dataset, "at")
    place = number(index, "at", "index", 0)
    leaves = dataset._stage.skip(place).iterate(dataset._own_threads()).next()
    if leaves is None:
        raise _engine.OutOfRangeError(f"at: index is {place}; the data set has fewer elements")
    return packing(dataset)(leaves)


@public("data.experimental.parse_example_dataset", "contrib.data.parse_example_dataset")
def parse_example_dataset(features, num_parallel_calls=1, deterministic=None):
    """For Dataset.apply: batches of serialized examples as dicts of tensors, tf.io.parse_example's."""
    return lambda dataset: dataset.map(lambda serialized: parse_example(serialized, features),
                                       None if num_parallel_calls in (None, 1) else num_parallel_calls)


@public("data.experimental.make_batched_features_dataset", "contrib.data.make_batched_features_dataset")
def make_batched_features_dataset(file_pattern, batch_size, features, reader=None, label_key=None, reader_args=None,
                                  num_epochs=None,
                                  shuffle=True, shuffle_buffer_size=10000, shuffle_seed=None, prefetch_buffer_size=None,
                                  reader_num_threads=None, parser_num_threads=None, sloppy_ordering=False, drop_final_batch=False):
    """Batches of the examples in record files, as dicts of tensors by the features' names; with label_key (that dict without it,
    the label). reader: makes a data set of a path, TFRecordDataset unless given. Errors: ValueError for no file and an unknown
    label_key."""
    paths = matching(file_pattern)
    if not paths:
        raise ValueError(f"make_batched_features_dataset: no files match the pattern {file_pattern!r}")
    if label_key is not None and label_key not in features:
        raise ValueError(f"make_batched_features_dataset: label_key is {label_key!r}; the features are {sorted(features)}")
    dataset = (reader or TFRecordDataset)(paths, *(reader_args or ()))
    dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed) if shuffle else dataset
    dataset = dataset.repeat(num_epochs).batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads))
    if label_key is not None:
        dataset = dataset.map(lambda parsed: ({name: value for name, value in parsed.items() if name != label_key},
                                              parsed[label_key]))
    return dataset.prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)


@public("data.experimental.TFRecordWriter", "contrib.data.TFRecordWriter")
class TFRecordWriter:
    """Writes a data set of strings into a record file: TFRecordWriter(filename).write(dataset)."""

    def __init__(self, filename, compression_type=None):
        self._filename, self._compression = filename, compression_type

    def write(self, dataset):
        """Writes all elements. TypeError where they are not strings."""
        with _RecordWriter(self._filename, self._compression) as writer:
            for record in dataset:
                writer.write(record)


def _transformation(name, method):
    """A function that returns a function for Dataset.apply."""
    @public(f"data.experimental.{name}", f"contrib.data.{name}")
    def make(*args, **kwargs):
        return lambda dataset: getattr(dataset, method)(*args, **kwargs)
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"For Dataset.apply: Dataset.{method}."


for _name in ("ignore_errors", "group_by_window", "bucket_by_sequence_length", "scan", "take_while", "unbatch", "unique"):
    _transformation(_name, _name)
_transformation("enumerate_dataset", "enumerate")


@public("data.experimental.copy_to_device", "contrib.data.copy_to_device")
def copy_to_device(target_device, source_device="/cpu:0"):
    """For Dataset.apply, as the last stage: elements are made on the CPU, and an iterator copies them to the target, "/gpu:0"."""
    return _on_device(target_device)


@public("data.experimental.prefetch_to_device", "contrib.data.prefetch_to_device")
def prefetch_to_device(device, buffer_size=None):
    """For Dataset.apply, as the last stage: Dataset.prefetch, and then copy_to_device."""
    moved = _on_device(device)
    return lambda dataset: moved(dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size))


def _on_device(device):
    kind, number = _engine.check_device(device).lstrip("/").split(":")

    def moved(dataset):
        if kind == "cpu":
            return dataset
        result = dataset._same_spec(dataset._stage)
        result._gpu = int(number)
        return result

    return moved


@public("data.experimental.shuffle_and_repeat", "contrib.data.shuffle_and_repeat")
def shuffle_and_repeat(buffer_size, count=None, seed=None):
    """For Dataset.apply: shuffled, and repeated in another order each time."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


@public("data.experimental.map_and_batch", "contrib.data.map_and_batch")
def map_and_batch(map_func, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None):
    """For Dataset.apply: map, then batch."""
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


@public("contrib.data.batch_and_drop_remainder")
def batch_and_drop_remainder(batch_size):
    """For Dataset.apply: batches, of which a shorter last one is left out."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


@public("contrib.data.padded_batch_and_drop_remainder")
def padded_batch_and_drop_remainder(batch_size, padded_shapes, padding_values=None):
    """For Dataset.apply: padded batches, of which a shorter last one is left out."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


@public("data.experimental.parallel_interleave", "contrib.data.parallel_interleave")
def parallel_interleave(map_func, cycle_length, block_length=1, sloppy=False, buffer_output_elements=None,
                        prefetch_input_elements=None):
    """For Dataset.apply: Dataset.interleave with threads; always in the same order."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, AUTOTUNE)


@public("contrib.data.sloppy_interleave")
def sloppy_interleave(map_func, cycle_length, block_length=1):
    """For Dataset.apply: parallel_interleave."""
    return parallel_interleave(map_func, cycle_length, block_length)


@public("data.experimental.assert_cardinality", "contrib.data.assert_cardinality")
def assert_cardinality(expected_cardinality):
    """For Dataset.apply: the elements; FailedPreconditionError at the end where they are not as many."""
    expected = int(expected_cardinality)

    def apply(dataset):
        def run():
            iterator, count = dataset._stage.iterate(dataset._own_threads()), 0
            while (leaves := iterator.next()) is not None:
                count += 1
                if 0 <= expected < count:
                    raise _engine.FailedPreconditionError(f"assert_cardinality: the data set has more than {expected} elements")
                yield leaves
            if count < expected or expected == INFINITE_CARDINALITY:
                raise _engine.FailedPreconditionError(f"assert_cardinality: the data set has {count} elements, not {expected}")

        made = Dataset(_engine.data_from_generator(run), lambda: dataset.element_spec)
        made._cardinality = lambda: expected
        return made

    return apply
