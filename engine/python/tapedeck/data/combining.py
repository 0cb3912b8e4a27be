"""Stages of several elements or data sets, made of the engine's. Each function is given the data sets and returns what dataset.py
makes another one of: (stage, spec), or (stage, spec, form)."""
import itertools

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.shapes import TensorShape
from tapedeck.data import structure as _structure
from tapedeck.data.arguments import number
from tapedeck.data.element_specs import batched, either
from tapedeck._functions import control
from tapedeck.data.functions import is_traced, runs_eagerly, ScalarFunction
from tapedeck.data.graph_stages import made
from tapedeck.data.iterators import packing
from tapedeck.data.specs import DatasetSpec, TensorSpec
from tapedeck.data.traced import converted, named, Traced, zeros_of


def _folding(function, state, result):
    """The leaves of a state that a function returned."""
    new = _structure.as_element(result)
    if not _structure.same_form(state, new):
        raise TypeError(f"{function} returned {new!r}, whose structure is not the state's, {state!r}")
    return _structure.flatten(new)


def reduced(dataset, initial_state, reduce_func):
    """Dataset.reduce."""
    state = _structure.as_element(initial_state)
    if _engine.is_tracing():
        return _reduced_by_graph(dataset, state, reduce_func)
    if is_traced(reduce_func):
        specs = [_structure.spec_of(leaf) for leaf in _structure.flatten(state)]
        called = converted(reduce_func)

        def folded(leaves):
            sequence = dataset._other(leaves[0], dataset.element_spec)
            return _structure.flatten(_reduced_by_graph(sequence, _structure.pack(state, iter(leaves[1:])), called))

        function = Traced(named(reduce_func, "reduce"), [DatasetSpec(dataset.element_spec), *specs], folded, False)
        return _structure.pack(state, iter(function([dataset._stage, *_structure.flatten(state)])))
    for element in dataset:
        state = _structure.pack(state, iter(_folding("reduce: reduce_func", state, reduce_func(state, element))))
    return state


def _reduced_by_graph(dataset, state, reduce_func):
    more, take = dataset._stream()

    def step(_, *leaves):
        result = reduce_func(_structure.pack(state, iter(leaves)), take())
        return [*_folding("reduce: reduce_func", state, result), more()]

    def next_step(goes_on, *leaves):
        *new, goes_on = step(goes_on, *leaves)
        return [goes_on, *new]

    _, *leaves = control.loop("reduce", lambda goes_on, *_: goes_on, next_step, [more(), *_structure.flatten(state)])
    return _structure.pack(state, iter(leaves))


def scanned(dataset, initial_state, scan_func):
    """Dataset.scan."""
    state = _structure.as_element(initial_state)
    count = len(_structure.flatten(state))
    known = {}
    function = converted(scan_func) if is_traced(scan_func) else scan_func

    def call(leaves):
        pack_state = _structure.packer(state)
        if "pack" not in known:
            known["pack"] = packing(dataset)
        result = function(pack_state(leaves[:count]), known["pack"](leaves[count:]))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(f"scan: scan_func returned {result!r}; needs (new state, output)")
        new, output = map(_structure.as_element, result)
        if not _structure.same_form(state, new):
            raise TypeError(f"scan: scan_func returned the state {new!r}, whose structure is not {state!r}")
        known.setdefault("spec", _structure.map_structure(_structure.spec_of, output))
        return _structure.flatten(new) + [getattr(leaf, "_stage", leaf) for leaf in _structure.flatten(output)]

    def spec():
        if "spec" not in known:
            with _engine.Untraced():
                leaves = dataset._stage.take(1).iterate(False).next()
                call(_structure.flatten(state) + (zeros_of(dataset.element_spec) if leaves is None else leaves))
        return known["spec"]

    made_of = call
    if is_traced(scan_func):
        specs = [_structure.spec_of(leaf) for leaf in _structure.flatten(state)]
        made_of = Traced(named(scan_func, "scan"), specs + _structure.flatten(dataset.element_spec), call)
    return dataset._made("scan", _structure.flatten(state), made_of), spec


def rebatched(dataset, sizes, drop_remainder):
    """Dataset.rebatch with several sizes."""
    rows = dataset.unbatch()

    def run():
        iterator, sizes_left = rows._stage.iterate(dataset._own_threads()), itertools.cycle(sizes)
        while True:
            size = next(sizes_left)
            found = list(itertools.islice(iter(iterator.next, None), size))
            if not found or (drop_remainder and len(found) < size):
                return
            yield [_engine.op_function("stack")(list(leaves)) for leaves in zip(*found)]

    return _engine.data_from_generator(run), lambda: batched(rows.element_spec, None)


def _padded_shape(shape):
    if shape is None:
        return None
    if isinstance(shape, _engine.Tensor):
        shape = shape.numpy().tolist()
    return [-1 if extent is None or int(extent) < 0 else int(extent) for extent in shape]


def padded(dataset, size, padded_shapes, padding_values, drop_remainder):
    """Dataset.padded_batch."""
    known = dataset.element_spec
    specs = _structure.flatten(known)
    shapes = [_padded_shape(shape) for shape in _structure.matching(known, padded_shapes, "padded_batch: padded_shapes")]
    values = [None if value is None else _engine.convert_to_tensor(value, spec.dtype)
              for value, spec in zip(_structure.matching(known, padding_values, "padded_batch: padding_values"), specs)]
    for value in values:
        if value is not None and value.shape.ndims:
            raise _engine.InvalidArgumentError(f"padded_batch: padding_values holds a tensor of shape {tuple(value.shape)}; needs "
                                               "scalars")

    def spec():
        rows = size if drop_remainder else None
        return _structure.pack(known, iter([_padded_spec(each, shape, rows) for each, shape in zip(specs, shapes)]))

    return dataset._made("padded_batch", size, shapes, values, drop_remainder), spec


def _padded_spec(spec, shape, rows):
    if shape is not None:
        return TensorSpec([rows] + [None if extent < 0 else extent for extent in shape], spec.dtype)
    return TensorSpec(None if spec.shape is None else [rows] + [None] * len(spec.shape), spec.dtype)


def first_form(datasets):
    """The form of the elements of one of them: of the first that has one."""
    for each in datasets[:-1]:
        try:
            return each._form()
        except Exception:  # an empty one's function, say, which minds what it is called with for its form
            continue
    return datasets[-1]._form()


def chosen(datasets, choice_dataset, stop_on_empty):
    """Dataset.choose_from_datasets."""
    for each in (*datasets, choice_dataset):
        _structure.require_dataset(each, "choose_from_datasets")
    if not datasets:
        raise _engine.InvalidArgumentError("choose_from_datasets: datasets is empty")

    def spec():
        found = datasets[0].element_spec
        for each in datasets[1:]:
            found = either(found, each.element_spec)
        return found

    return (made(_engine.data_choose, choice_dataset._stage, [each._stage for each in datasets], bool(stop_on_empty)), spec,
            lambda: first_form(datasets))


def drawing(count, weights):
    """For Dataset.sample_from_datasets: a function that makes a number below `count` of one that is below 2³² and drawn, each with
    its weight."""
    if not count:
        raise _engine.InvalidArgumentError("sample_from_datasets: datasets is empty")
    if _structure.is_dataset(weights):
        raise _engine.UnimplementedError("sample_from_datasets: weights is a data set; it takes a list of numbers")
    shares = np.full(count, 1.0) if weights is None else np.asarray(weights, np.float64)
    if shares.shape != (count,) or not (shares >= 0).all() or not shares.sum() > 0:
        raise _engine.InvalidArgumentError(f"sample_from_datasets: weights is {weights!r}; needs {count} numbers that are not "
                                           "below 0 and not all 0")
    limits = np.cumsum(shares / shares.sum()) * 2.0**32
    last = int(np.flatnonzero(shares)[-1])

    @runs_eagerly
    def choice(word):
        return min(int(np.searchsorted(limits, int(word), side="right")), last)

    return choice


def grouped(dataset, key_func, reduce_func, window_size, window_size_func):
    """Dataset.group_by_window."""
    if (window_size is None) == (window_size_func is None):
        raise _engine.InvalidArgumentError("group_by_window: needs either window_size or window_size_func")
    size = 0 if window_size is None else number(window_size, "group_by_window", "window_size", 1)
    reducing = _Reduction(dataset, reduce_func)
    sizes = None
    if window_size_func is not None:
        keys = dataset._other(_engine.data_range(0, 1, 1, dtypes.int64), TensorSpec((), dtypes.int64))
        sizes = ScalarFunction(keys, window_size_func, "group_by_window")
    stage = dataset._made("group_by_window", ScalarFunction(dataset, key_func, "group_by_window"), reducing, sizes, size)
    return stage, reducing.spec


class _Reduction:
    """reduce_func(key, data set), as the engine calls it."""

    def __init__(self, dataset, function):
        if not callable(function):
            raise TypeError(f"group_by_window: reduce_func is {function!r}; needs a function")
        self._dataset, self._function, self._spec, self._graph = dataset, function, None, None
        if is_traced(function):
            self._function = converted(function)
            specs = [TensorSpec((), dtypes.int64), DatasetSpec(dataset.element_spec)]
            traced = Traced(named(function, "group_by_window"), specs, self._called)
            self._graph, self.captured, self.with_captured = traced, traced.captured, traced.with_captured
            self._function = None  # as StageFunction

    def __call__(self, leaves):
        return self._called(leaves) if self._graph is None else self._graph(leaves)

    captured = ()

    def _called(self, leaves):
        key, window = leaves
        result = self._function(key, self._dataset._other(window, self._dataset.element_spec))
        if not _structure.is_dataset(result):
            raise TypeError(f"group_by_window: reduce_func returned {result!r}; needs a Dataset")
        self._spec = self._spec or result.element_spec
        return [result._stage]

    def spec(self):
        """That of the elements that come out."""
        if self._spec is None:
            self([_engine.convert_to_tensor(np.int64(0)), self._dataset.take(1)._stage])
        return self._spec


def bucketed(dataset, length_of, boundaries, sizes, padded_shapes, padding_values, to_boundary, no_padding, drop_remainder):
    """Dataset.bucket_by_sequence_length."""
    boundaries, sizes = [int(each) for each in boundaries], [int(each) for each in sizes]
    if len(sizes) != len(boundaries) + 1:
        raise _engine.InvalidArgumentError(f"bucket_by_sequence_length: {len(boundaries)} bucket_boundaries need "
                                           f"{len(boundaries) + 1} bucket_batch_sizes, not {len(sizes)}")
    if sorted(boundaries) != boundaries:
        raise _engine.InvalidArgumentError(f"bucket_by_sequence_length: bucket_boundaries is {boundaries}; must grow")

    @runs_eagerly
    def key(*element):
        return np.int64(np.searchsorted(boundaries, int(length_of(*element)), side="right"))

    @runs_eagerly
    def reduce(bucket, window):
        size = sizes[int(bucket)]
        if no_padding:
            return window.batch(size, drop_remainder)
        shapes = padded_shapes
        if to_boundary:
            if int(bucket) == len(boundaries):
                raise _engine.InvalidArgumentError(
                    "bucket_by_sequence_length: pad_to_bucket_boundary, and an element is as long as the "
                    f"last boundary, {boundaries[-1]}")
            shapes = _to_boundary(dataset.element_spec if shapes is None else shapes, boundaries[int(bucket)] - 1)
        return window.padded_batch(size, shapes, padding_values, drop_remainder)

    @runs_eagerly
    def size_of(bucket):
        return np.int64(sizes[int(bucket)])

    return grouped(dataset, key, reduce, None, size_of)


def _to_boundary(shapes, length):
    def filled(leaf):
        shape = leaf.shape if isinstance(leaf, TensorSpec) else leaf
        return TensorShape([length if extent is None or extent == -1 else extent for extent in shape])
    return _structure.map_structure(filled, shapes)


def unique(dataset):
    """Dataset.unique."""
    def run():
        seen = set()
        iterator = dataset._stage.iterate(dataset._own_threads())
        while (leaves := iterator.next()) is not None:
            key = tuple((leaf.shape, leaf.numpy().tobytes() if leaf.dtype.name != "string" else repr(leaf.numpy()))
                        for leaf in leaves)
            if key not in seen:
                seen.add(key)
                yield leaves
    return _engine.data_from_generator(run), lambda: dataset.element_spec
