"""tf.data.Dataset: the engine's stages in TensorFlow's shape."""
import os

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes, program_graph
from tapedeck._core.composites import require_few
from tapedeck._core.public import public
from tapedeck.data import settings, structure as _structure
from tapedeck.data.arguments import AUTOTUNE, late_number, number, threads_of
from tapedeck.data.combining import bucketed, chosen, drawing, first_form, grouped, padded, rebatched, reduced, scanned, unique
from tapedeck.data.element_specs import batched, either, nest_specs, rows
from tapedeck.data.functions import Predicate, StageFunction
from tapedeck.data.graph_stages import carrier, made, parts_of
from tapedeck.data.generators import generator_dataset
from tapedeck.data.iterators import GraphIterator, Iterator, NumpyIterator, require_no_trace
from tapedeck.data.specs import DatasetSpec, TensorSpec
from tapedeck.io.files import matching

INFINITE_CARDINALITY = public("data.INFINITE_CARDINALITY", "data.experimental.INFINITE_CARDINALITY")(-1)
UNKNOWN_CARDINALITY = public("data.UNKNOWN_CARDINALITY", "data.experimental.UNKNOWN_CARDINALITY")(-2)
_PREFETCHED = 8  # elements made ahead by default
# What TensorFlow calls the data sets of stages, where that is not the stage's own name: programs print them.
_CLASSES = {"from_tensor_slices": "_TensorSliceDataset", "from_tensors": "_TensorDataset", "from_generator": "_FlatMapDataset",
            "cache": "CacheDataset", "choose_from_datasets": "_DirectedInterleaveDataset", "text_line": "TextLineDatasetV2",
            "tf_record": "TFRecordDatasetV2", "fixed_length_record": "FixedLengthRecordDatasetV2"}


@public("data.Dataset", "contrib.data.Dataset")
class DatasetV2:
    """A sequence of elements, each a structure of tensors, made by a tree of stages that the engine runs.

    Data sets are immutable; each method returns a new one. Functions (map, filter, …) take a tuple's parts as several arguments. Where
    tf.functions are traced, they are traced, too: once, when the stage is made; else they are called for each element. Without
    num_parallel_calls they run on the thread that iterates, where a debugger records and steps their ops; on the threads of parallel
    stages and of prefetch ops are neither recorded nor taped (tf.data.experimental.enable_debug_mode() makes all stages work on the
    iterating thread). An exception in a function is raised by the iterator's next call: of the same class, with the stage and
    the element's number.
    """

    _class = None  # what TensorFlow calls it, where its stage does not tell
    _gpu = None  # the number of the one that the elements of its iterators are copied to

    def __init__(self, stage, spec, form=None):
        self._stage, self._known_spec, self._known_form = stage, spec, form

    def _called(self, name):
        self._class = name
        return self

    def _own_threads(self):
        return not settings.debug_mode

    @staticmethod
    def _other(stage, spec, form=None):
        """Another data set, for files that this one does not know: those below it."""
        return DatasetV2(stage, spec, form)

    def _made(self, method, *args):
        """self._stage.method(*args); where only a run of a graph knows args, a stage of that graph."""
        return made(lambda stage, *given: getattr(stage, method)(*given), self._stage, *args)

    def _same_spec(self, stage):
        return DatasetV2(stage, lambda: self.element_spec, self._form)

    def _form(self):
        """A spec of the elements' structure: of the leaves only what kind they are need be true. For elements that are there, and
        so never a reason to call a function that has not been called."""
        return self.element_spec if self._known_form is None else self._known_form()

    # ---- what is known of it

    @property
    def element_spec(self):
        """The structure of the elements, with a TensorSpec for each tensor. What a function returns is seen at its first call;
        where it has not been called yet, it is called for the first element."""
        if callable(self._known_spec):
            self._known_spec = self._known_spec()
        return self._known_spec

    @property
    def output_types(self):
        """The structure of the elements, with dtypes (TensorFlow 1)."""
        return _structure.map_structure(lambda each: each.dtype, self.element_spec)

    @property
    def output_shapes(self):
        """The structure of the elements, with TensorShapes (TensorFlow 1)."""
        return _structure.map_structure(lambda each: each.shape, self.element_spec)

    @property
    def output_classes(self):
        """The structure of the elements, with classes (TensorFlow 1)."""
        return _structure.map_structure(lambda each: _engine.Tensor if isinstance(each, TensorSpec) else DatasetV2,
                                        self.element_spec)

    def cardinality(self):
        """How many elements: an int64 tensor; INFINITE_CARDINALITY (-1) or UNKNOWN_CARDINALITY (-2)."""
        return _engine.convert_to_tensor(self._cardinality(), dtypes.int64)

    def _cardinality(self):  # of a stage of a graph a tensor
        return self._stage.cardinality()

    def __len__(self):
        count = self._cardinality()
        if isinstance(count, _engine.Tensor):
            raise TypeError("len() of a data set that each run of a graph makes; cardinality() gives a tensor")
        if count < 0:
            raise TypeError("The dataset is infinite." if count == INFINITE_CARDINALITY else "The dataset length is unknown.")
        return count

    def __bool__(self):
        return True

    def __repr__(self):
        name = self._stage.name
        called = self._class or _CLASSES.get(name) or "_" + name.title().replace("_", "") + "Dataset"
        return f"<{called} element_spec={self.element_spec!r}>"

    # ---- going through it

    def __iter__(self):
        require_no_trace()
        return Iterator(self)

    def _graph_parts(self):
        return parts_of(DatasetV2, self.element_spec, self._gpu, carrier(self._stage))

    @staticmethod
    def _parts_of_spec(spec):
        return parts_of(DatasetV2, spec, None, None)

    def _begun(self):
        """An iterator of a graph."""
        return GraphIterator(self)

    def _stream(self):
        return self._begun()._stream()

    def make_one_shot_iterator(self):
        """An iterator (TensorFlow 1), whose get_next() raises tf.errors.OutOfRangeError at the end. In a tf.Graph get_next() is called
        once; it is the next element of each run."""
        if program_graph.current() is not None:
            return program_graph.service("iterator_of")(self, True)
        return Iterator(self)

    def make_initializable_iterator(self, shared_name=None):
        """In a tf.Graph an iterator, which begins when a session runs its `initializer`. Where ops run at once, RuntimeError: an
        iterator begins there when it is made."""
        if program_graph.current() is not None:
            return program_graph.service("iterator_of")(self, False)
        raise RuntimeError("dataset.make_initializable_iterator is not supported when eager execution is enabled. "
                           "Use `for element in dataset` instead.")

    def as_numpy_iterator(self):
        """An iterator of the elements as NumPy arrays."""
        return NumpyIterator(self)

    def get_single_element(self, name=None):
        """The only element. InvalidArgumentError where there is none, or more."""
        found = list(self.take(2))
        if len(found) != 1:
            raise _engine.InvalidArgumentError("get_single_element: the data set has " +
                                               ("no element" if not found else "more than one element"))
        return found[0]

    def reduce(self, initial_state, reduce_func, name=None):
        """Folds reduce_func(state, element) → state over all elements; returns the last state, in the structure of initial_state.

        Errors: TypeError for a state of another structure; where reduce_func is traced, InvalidArgumentError for one of another dtype.
        """
        return reduced(self, initial_state, reduce_func)

    # ---- sources

    @staticmethod
    def from_tensors(tensors, name=None):
        """One element: the tensors."""
        element = _structure.as_element(tensors)
        leaves = [getattr(leaf, "_stage", leaf) for leaf in _structure.flatten(element)]
        return DatasetV2(made(_engine.data_from_element, leaves), _structure.map_structure(_structure.spec_of, element))

    @staticmethod
    def from_tensor_slices(tensors, name=None):
        """An element for each row of the tensors. InvalidArgumentError (a ValueError) where their numbers differ or one is a
        scalar.

        Elements are views of the tensors. A read-only array, such as np.load(…, mmap_mode="r") makes, is not copied.
        """
        element = _structure.as_element(tensors)
        spec = _structure.map_structure(lambda leaf: rows(TensorSpec.from_tensor(leaf)), element)
        return DatasetV2(made(_engine.data_from_slices, _structure.flatten(element)), spec)

    @staticmethod
    def from_generator(generator, output_types=None, output_shapes=None, args=None, output_signature=None, name=None):
        """The elements of generator(*args), which begins anew for each iterator.

        output_types, output_shapes (TensorFlow 1), or output_signature, a structure of TensorSpecs: what each element is
        converted to and checked against. A restored iterator runs the generator again up to where it was.
        """
        return DatasetV2(*generator_dataset(generator, output_types, output_shapes, args, output_signature))

    @staticmethod
    def range(*args, **kwargs):
        """range(stop), range(start, stop) or range(start, stop, step): integers. output_type: int64 unless given."""
        output_type = dtypes.as_dtype(kwargs.pop("output_type", None) or dtypes.int64)
        kwargs.pop("name", None)
        if kwargs or not 1 <= len(args) <= 3:
            raise ValueError(f"range: takes 1 to 3 numbers, output_type and name; got {args!r} and {kwargs!r}")
        limits = slice(*(late_number(arg, "range", "an argument") for arg in args))
        step = 1 if limits.step is None else limits.step
        stage = made(_engine.data_range, limits.start or 0, limits.stop, step, output_type)
        return DatasetV2(stage, TensorSpec((), output_type))

    @staticmethod
    def counter(start=0, step=1, dtype=dtypes.int64, name=None):
        """start, start + step, … without an end."""
        return DatasetV2.range(start, 2**63 - 1 if step > 0 else -2**63, step, output_type=dtype)

    @staticmethod
    def random(seed=None, rerandomize_each_iteration=None, name=None):
        """Integers below 2³², int64, without an end; the same for each iterator unless rerandomize_each_iteration."""
        stage = _engine.data_random(None if seed is None else number(seed, "random", "seed"), not rerandomize_each_iteration)
        return DatasetV2(stage, TensorSpec((), dtypes.int64))

    @staticmethod
    def zip(*args, datasets=None, name=None):
        """Elements that are structures of the data sets' elements, as long as all have one. Takes one structure, or several."""
        structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(structure, list):
            raise TypeError("zip: the argument is a list; needs a tuple or a dict of data sets")
        inputs = _structure.flatten(structure)
        for each in inputs:
            _structure.require_dataset(each, "zip")
        return DatasetV2(made(_engine.data_zip, [each._stage for each in inputs]),
                         lambda: nest_specs(structure, lambda each: each.element_spec),
                         lambda: nest_specs(structure, lambda each: each._form()))

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None, name=None):
        """The paths that match the pattern, or any of several. InvalidArgumentError where there are none. shuffle: True unless
        False is given."""
        paths = matching(file_pattern)
        if not paths:
            raise _engine.InvalidArgumentError(f"list_files: no files match the pattern {file_pattern!r}")
        dataset = DatasetV2.from_tensor_slices([path.encode() for path in paths])
        return dataset.shuffle(len(paths), seed) if shuffle is None or shuffle else dataset

    @staticmethod
    def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=True):
        """The next element of datasets[i] for each i of choice_dataset."""
        return DatasetV2(*chosen(datasets, choice_dataset, stop_on_empty_dataset))

    @staticmethod
    def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False, rerandomize_each_iteration=None):
        """The next element of a data set that is drawn, each with its weight (equal ones where none are given)."""
        datasets = list(datasets)
        choice = drawing(len(datasets), weights)
        choices = DatasetV2.random(seed, rerandomize_each_iteration is not False).map(choice)
        return DatasetV2(*chosen(datasets, choices, stop_on_empty_dataset))

    # ---- one element at a time

    def map(self, map_func, num_parallel_calls=None, deterministic=None, synchronous=None, use_unbounded_threadpool=False,
            name=None):
        """map_func(*element) of each element, in their order. num_parallel_calls: how many at once, on threads of their own."""
        function = StageFunction(self, map_func, "map")
        threads = threads_of(num_parallel_calls, "map")
        stage = self._made("parallel_map", function, threads) if threads else self._made("map", function, "map")
        return DatasetV2(stage, function.spec)._called("_ParallelMapDataset" if threads else None)

    map_with_legacy_function = map

    def filter(self, predicate, name=None):
        """The elements for which predicate(*element), a scalar of bool, is true. ValueError for another one."""
        return self._same_spec(self._made("filter", Predicate(self, predicate, "filter")))

    filter_with_legacy_function = filter

    def take_while(self, predicate, name=None):
        """The elements up to the first for which predicate(*element), a scalar of bool, is false. ValueError for another one."""
        return self._same_spec(self._made("take_while", Predicate(self, predicate, "take_while")))

    def scan(self, initial_state, scan_func, name=None):
        """scan_func(state, element) → (new state, output): the outputs."""
        return DatasetV2(*scanned(self, initial_state, scan_func))

    def flat_map(self, map_func, name=None):
        """The elements of the data set map_func(*element) of each element, one data set after another."""
        return self._interleaved(map_func, 1, 1, False, "flat_map")

    def interleave(self, map_func, cycle_length=None, block_length=None, num_parallel_calls=None, deterministic=None, name=None):
        """block_length elements in turn from each of cycle_length data sets map_func(*element) that are open at once."""
        threads = threads_of(num_parallel_calls, "interleave")
        cycle = AUTOTUNE if cycle_length is None else number(cycle_length, "interleave", "cycle_length", -1)
        if cycle == 0:
            raise _engine.InvalidArgumentError("interleave: cycle_length is 0; must be at least 1")
        require_few("interleave: cycle_length", cycle)
        block = 1 if block_length is None else number(block_length, "interleave", "block_length", 1)
        return self._interleaved(map_func, cycle if cycle > 0 else max(threads, len(os.sched_getaffinity(0))), block, bool(threads),
                                 "interleave")

    def _interleaved(self, map_func, cycle, block, prefetched, name):
        function = StageFunction(self, map_func, name)

        def spec():
            found = function.spec()
            if not isinstance(found, DatasetSpec):
                raise TypeError(f"{name}: map_func must return a Dataset; its result is {found!r}")
            return found.element_spec

        made = DatasetV2(self._made("interleave", function, cycle, block, prefetched, name), spec)
        return made._called("_ParallelInterleaveDataset" if prefetched else None)

    def enumerate(self, start=0, name=None):
        """(number, element), from `start` on; int64."""
        first = number(start, "enumerate", "start")
        return DatasetV2.zip((DatasetV2.range(first, 2**63 - 1), self))

    def take(self, count, name=None):
        """The first count elements; all for -1."""
        return self._same_spec(self._made("take", late_number(count, "take", "count")))

    def skip(self, count, name=None):
        """All but the first count elements; none for -1."""
        return self._same_spec(self._made("skip", late_number(count, "skip", "count")))

    def repeat(self, count=None, name=None):
        """Repeats the elements count times; indefinitely for None and -1."""
        return self._same_spec(self._made("repeat", -1 if count is None else late_number(count, "repeat", "count")))

    def shard(self, num_shards, index, name=None):
        """Every num_shards-th element, from the index-th on."""
        shards = number(num_shards, "shard", "num_shards", 1)
        index = number(index, "shard", "index", 0)
        if index >= shards:
            raise _engine.InvalidArgumentError(f"shard: index is {index}; must be below num_shards, {shards}")
        return self._same_spec(self._made("shard", shards, index))

    def concatenate(self, dataset, name=None):
        """The elements, and then those of another data set of the same structure and dtypes. TypeError where they differ, here
        or, where a function has yet to be called for it, as soon as that is known."""
        _structure.require_dataset(dataset, "concatenate")
        if not callable(self._known_spec) and not callable(dataset._known_spec):
            either(self.element_spec, dataset.element_spec)
        return DatasetV2(self._made("concatenate", dataset._stage), lambda: either(self.element_spec, dataset.element_spec),
                         lambda: first_form([self, dataset]))

    def ignore_errors(self, log_warning=False, name=None):
        """Skips elements that raise errors."""
        return self._same_spec(self._stage.ignore_errors())

    def unbatch(self, name=None):
        """Each row of the elements as an element."""
        return DatasetV2(self._stage.unbatch(), lambda: _structure.map_structure(rows, self.element_spec), self._form)

    def unique(self, name=None):
        """Each element the first time it comes."""
        return DatasetV2(*unique(self))

    # ---- several elements

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None):
        """batch_size elements as one, along a new first axis. The last one is shorter, or left out with drop_remainder."""
        size, drop = late_number(batch_size, "batch", "batch_size", 1), bool(drop_remainder)
        rows = size if drop and isinstance(size, int) else None
        made = DatasetV2(self._made("batch", size, drop), lambda: batched(self.element_spec, rows), self._form)
        return made._called(None if num_parallel_calls is None else "_ParallelBatchDataset")

    def rebatch(self, batch_size, drop_remainder=False, name=None):
        """The rows of the elements in batches of another size; of several sizes in turn where batch_size is a list."""
        sizes = np.asarray(batch_size).tolist()
        if isinstance(sizes, list) and len(sizes) != 1:
            sizes = [number(size, "rebatch", "batch_size", 1) for size in sizes]
            return DatasetV2(*rebatched(self, sizes, bool(drop_remainder)))
        return self.unbatch().batch(sizes[0] if isinstance(sizes, list) else sizes, drop_remainder)

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name=None):
        """As batch(), of elements of different extents, which are filled up with padding_values (0, or an empty string).

        padded_shapes: a structure of shapes; an extent None or -1, and None for a shape, are the longest of each batch.
        """
        size = number(batch_size, "padded_batch", "batch_size", 1)
        return DatasetV2(*padded(self, size, padded_shapes, padding_values, bool(drop_remainder)))

    def window(self, size, shift=None, stride=1, drop_remainder=False, name=None):
        """Data sets of size elements, each `stride` after the one before; the next begins shift (size) elements later. Of a
        structure, each leaf becomes a data set."""
        size, stride = number(size, "window", "size", 1), number(stride, "window", "stride", 1)
        shift = size if shift is None else number(shift, "window", "shift", 1)
        return DatasetV2(self._stage.window(size, shift, stride, bool(drop_remainder)),
                         lambda: _structure.map_structure(DatasetSpec, self.element_spec))

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None, name=None):
        """The elements in an order that is drawn: each of the next buffer_size that are left. For all to be as likely anywhere,
        buffer_size must be the number of elements (or more, or None).

        seed: with tf.random.set_seed the same order in every program; without both, another one each time. Each iterator has
        another order, unless reshuffle_each_iteration is False. The order is not that of TensorFlow's own generator.
        """
        if buffer_size is None:
            buffer_size = self._cardinality()
            if buffer_size < 0:
                raise _engine.InvalidArgumentError("shuffle: buffer_size is None, and the number of elements is not known")
            buffer_size = max(1, buffer_size)
        size = number(buffer_size, "shuffle", "buffer_size", 1)
        seed = None if seed is None else number(seed, "shuffle", "seed")
        return self._same_spec(self._made("shuffle", size, seed, reshuffle_each_iteration is not False))

    def cache(self, filename="", name=None):
        """Caches the elements in memory, or in a file that later programs read."""
        if isinstance(filename, _engine.Tensor):
            filename = filename.numpy()
        return self._same_spec(self._stage.cache(os.fsdecode(filename)))

    def prefetch(self, buffer_size, name=None):
        """Prefetches up to buffer_size elements on a background thread. AUTOTUNE: a default number."""
        size = number(AUTOTUNE if buffer_size is None else buffer_size, "prefetch", "buffer_size", -1)
        return self if size == 0 else self._same_spec(self._stage.prefetch(_PREFETCHED if size == AUTOTUNE else size))

    def group_by_window(self, key_func, reduce_func, window_size=None, window_size_func=None, name=None):
        """The elements of the data sets reduce_func(key, data set of window_size elements that have the key)."""
        return DatasetV2(*grouped(self, key_func, reduce_func, window_size, window_size_func))

    def bucket_by_sequence_length(self, element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes=None,
                                  padding_values=None, pad_to_bucket_boundary=False, no_padding=False, drop_remainder=False,
                                  name=None):
        """Padded batches of elements of similar length: those below bucket_boundaries[0], below bucket_boundaries[1], …"""
        return DatasetV2(*bucketed(self, element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values,
                                   pad_to_bucket_boundary, no_padding, drop_remainder))

    # ---- others

    def apply(self, transformation_func):
        """transformation_func(self), which must be a data set."""
        result = transformation_func(self)
        if not isinstance(result, DatasetV2):
            raise TypeError(f"apply: transformation_func returned {result!r}; needs a Dataset")
        return result

    def with_options(self, options, name=None):
        """The same data set: options choose between ways that the engine does not have."""
        if not isinstance(options, settings.Options):
            raise TypeError(f"with_options: options is {options!r}; needs a tf.data.Options")
        made = self._same_spec(self._stage)._called("_OptionsDataset")
        made._options = options
        return made

    def options(self):
        """The tf.data.Options that with_options() was given last."""
        return getattr(self, "_options", None) or settings.Options()

    def __reduce__(self):
        raise TypeError("a Dataset cannot be pickled: it may hold functions and open files")


Dataset = DatasetV1 = DatasetV2
public("contrib.data.Dataset")(Dataset)
