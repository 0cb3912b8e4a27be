"""Where fit, evaluate and predict take their batches from: arrays, tensors, datasets, Sequences and generators."""
import math
import warnings

import numpy as np

from tapedeck import _engine
from tapedeck._core import context, nest
from tapedeck._core.public import public
from tapedeck.keras.settings import floatx, numpy_floatx

_Tensor = _engine.Tensor


@public("keras.utils.pack_x_y_sample_weight")
def pack(x, y=None, sample_weight=None):
    """What is given of x, y and sample_weight, as train_step takes it."""
    if y is None:
        return (x,) if nest.is_nested(x) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


@public("keras.utils.unpack_x_y_sample_weight")
def unpack(data):
    """(x, y, sample_weight) of a batch, None for what is not there. ValueError for a tuple of another length."""
    if isinstance(data, list):
        data = tuple(data)
    if not isinstance(data, tuple):
        return data, None, None
    if not 1 <= len(data) <= 3:
        raise ValueError("Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, found a tuple of "
                         f"{len(data)}")
    return (*data, *[None] * (3 - len(data)))


def _map(function, structure):
    """nest.map_structure for dicts in their own order; None stays."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {name: _map(function, each) for name, each in structure.items()}
    if isinstance(structure, (list, tuple)):
        return type(structure)(_map(function, each) for each in structure)
    return function(structure)


def _leaves(structure):
    if structure is None:
        return []
    if isinstance(structure, dict):
        structure = list(structure.values())
    if isinstance(structure, (list, tuple)):
        return [leaf for each in structure for leaf in _leaves(each)]
    return [structure]


def _is_data(value):
    """Whether the value is an array, or a structure of arrays; a list of numbers is one array."""
    return isinstance(value, (np.ndarray, np.generic, _Tensor, _engine.Variable)) or hasattr(value, "__array__")


def _arrays(structure):
    """The structure with arrays: floating ones of NumPy in floatx, as Keras has it; lists of numbers become arrays."""
    if isinstance(structure, dict) or isinstance(structure, (list, tuple)) and any(map(_holds_data, structure)):
        return _map_children(structure)
    if isinstance(structure, (_Tensor, _engine.Variable)):
        return structure.numpy()
    array = np.asarray(structure)
    if array.dtype.kind == "f" and array.dtype != numpy_floatx():
        array = array.astype(numpy_floatx())
    if array.dtype.kind == "U":
        array = array.astype(object)
    return array


def _holds_data(value):
    return _is_data(value) or isinstance(value, dict) or isinstance(value, (list, tuple)) and any(map(_holds_data, value))


def _map_children(structure):
    if isinstance(structure, dict):
        return {name: _arrays(each) for name, each in structure.items()}
    return type(structure)(_arrays(each) for each in structure)


def _tensor(array):
    """A tensor of an array that has no other reference: without a copy."""
    array.setflags(write=False)
    return _engine.convert_to_tensor(array)


def is_arrays(x):
    """Whether x is what an ArrayFeed takes."""
    if x is None or hasattr(x, "element_spec") or hasattr(x, "__next__"):
        return False
    return _is_data(x) or isinstance(x, (dict, list, tuple))


def count_of(*structures):
    """How many examples arrays have. ValueError where they differ, or a scalar is among them."""
    counts = {}
    for name, structure in zip(("x", "y", "sample_weight"), structures):
        for leaf in _leaves(structure):
            if not np.ndim(leaf):
                raise ValueError(f"{name} holds {leaf!r}, a scalar; needs arrays whose first axis is that of the examples")
            counts.setdefault(len(leaf), name)
    if len(counts) > 1:
        sizes = ", ".join(f"{name}: {count}" for count, name in counts.items())
        raise ValueError("Data cardinality is ambiguous. Make sure all arrays contain the same number of samples. Sizes are "
                         f"{sizes}")
    if not counts:
        raise ValueError("needs at least one array")
    return next(iter(counts))


def weighted(y, sample_weight, class_weight):
    """sample_weight for a dict of classes' weights: that of each example's class. ValueError where there are several outputs."""
    if class_weight is None:
        return sample_weight
    leaves = _leaves(y)
    if len(leaves) != 1:
        raise ValueError(f"class_weight is only supported for models with a single output; y has {len(leaves)}")
    labels = np.asarray(leaves[0])
    if labels.ndim > 1:
        labels = labels.argmax(-1) if labels.shape[-1] > 1 else labels[..., 0]
    table = np.ones(max(int(labels.max(initial=0)), *map(int, class_weight)) + 1, numpy_floatx())
    for label, weight in class_weight.items():
        table[int(label)] = weight
    of_classes = table[labels.astype(np.int64)]
    return of_classes if sample_weight is None else of_classes * np.asarray(sample_weight)


class ArrayFeed:
    """Batches of arrays, in their order or in a new one for each pass."""

    def __init__(self, x, y=None, sample_weight=None, batch_size=None, shuffle=False, steps=None, class_weight=None):
        self.x, self.y, self.sample_weight = _arrays(x), None if y is None else _arrays(y), None if sample_weight is None else \
            _arrays(sample_weight)
        self.count = count_of(self.x, self.y, self.sample_weight)
        self.sample_weight = weighted(self.y, self.sample_weight, class_weight)
        self.batch_size = int(batch_size) if batch_size is not None else max(1, math.ceil(self.count / steps)) if steps else 32
        if self.batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; must be at least 1")
        self.shuffle = shuffle
        self.steps = -(-self.count // self.batch_size) if steps is None else min(steps, -(-self.count // self.batch_size))

    def split(self, fraction):
        """(the feed without the last examples, the arrays of these). ValueError where either has none."""
        if not 0 < fraction < 1:
            raise ValueError(f"`validation_split` must be between 0 and 1, received: {fraction}")
        first = math.floor(self.count * (1 - fraction))
        if first in (0, self.count):
            raise ValueError(f"Training data contains {self.count} samples, which is not sufficient to split it into a validation "
                             f"and training set as specified by `validation_split={fraction}`. Either provide more data, or a "
                             "different value for the `validation_split` argument.")
        parts = []
        for part in (slice(None, first), slice(first, None)):
            parts.append([_map(lambda array: array[part], each) for each in (self.x, self.y, self.sample_weight)])
        return ArrayFeed(*parts[0], batch_size=self.batch_size, shuffle=self.shuffle), parts[1]

    def epoch(self):
        """The batches of one pass: (first example's place in the pass, tuples of tensors)."""
        order = None
        if self.shuffle:
            order = _permutation(self.count)
        for number in range(self.steps):
            part = slice(number * self.batch_size, (number + 1) * self.batch_size)
            if order is not None:
                rows = order[part]
                take = lambda array: _tensor(array[rows])  # noqa: E731  (rows are copied)
            else:
                take = lambda array: _tensor(array[part].copy())  # noqa: E731
            yield pack(*(_map(take, each) for each in (self.x, self.y, self.sample_weight)))

    def restart(self):
        pass

    def epoch_ended(self):
        pass


def _permutation(count):
    """A random order of that many, drawn as the engine draws: tf.random.set_seed says which."""
    with _engine.QuietScope(), context.device("/cpu:0"):
        return _engine.op_function("random_shuffle")(_engine.constant(np.arange(count), None, None)).numpy()


class _Batches:
    """Batches that the caller provides. epoch() goes on where the last one ended if steps are given, and begins anew where they
    end."""

    def __init__(self, source, steps, class_weight):
        self._source, self.steps, self._class_weight = source, steps, class_weight
        self._counted, self._open = steps, None

    def _begin(self):
        return iter(self._source)

    def epoch(self):
        if self._counted is None:
            number = 0
            for number, batch in enumerate(self._begin(), 1):  # noqa: B007
                yield self._prepared(batch)
            self.steps = number
            return
        for number in range(self._counted):
            self._open = self._open or self._begin()
            batch = next(self._open, None)
            if batch is None:
                self._open = None
                if number or not self._again():
                    _warn_of_few(number, self._counted)
                    return
                self._open = self._begin()
                batch = next(self._open, None)
                if batch is None:
                    return
            yield self._prepared(batch)

    def restart(self):
        """What comes next is the first batch again, of what can begin anew."""
        self._open = None

    def _again(self):
        return True

    def _prepared(self, batch):
        if isinstance(batch, list):
            batch = tuple(batch)
        batch = _map(_as_tensor, batch)
        if self._class_weight is not None:
            x, y, sample_weight = unpack(batch)
            batch = pack(x, y, _as_tensor(weighted(y, sample_weight, self._class_weight)))
        return batch

    def epoch_ended(self):
        pass


def _as_tensor(value):
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and floatx() != "float64":
        value = value.astype(numpy_floatx())
    return value if isinstance(value, (_Tensor, _engine.Variable)) else _engine.convert_to_tensor(value)


def _warn_of_few(number, steps):
    warnings.warn("Your input ran out of data; interrupting training. Make sure that your dataset or generator can generate at "
                  f"least `steps_per_epoch * epochs` batches. It gave {number} of {steps} batches of this epoch.", stacklevel=4)


class DatasetFeed(_Batches):
    """Batches of a tf.data.Dataset, or of another thing that can be iterated over again and again."""

    def __init__(self, source, steps=None, class_weight=None):
        super().__init__(source, steps, class_weight)
        if steps is None:
            cardinality = getattr(source, "cardinality", None)
            known = int(cardinality()) if callable(cardinality) else len(source) if hasattr(source, "__len__") else -2
            if known == -1:
                raise ValueError("When passing an infinitely repeating dataset, please specify a `steps_per_epoch` value so that "
                                 "epoch level callbacks continue to work.")
            self.steps = known if known >= 0 else None


class GeneratorFeed(_Batches):
    """Batches of a generator: it is gone through once."""

    def _begin(self):
        return self._source

    def _again(self):
        return False


@public("keras.utils.Sequence", "keras.utils.PyDataset")
class Sequence:
    """A base of batches by number: a subclass defines __len__, and __getitem__, which gives the batch of a number: (x, y).

    workers, use_multiprocessing and max_queue_size change nothing.
    """

    def __init__(self, workers=1, use_multiprocessing=False, max_queue_size=10):
        self.workers, self.use_multiprocessing, self.max_queue_size = workers, use_multiprocessing, max_queue_size

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} does not define __len__()")

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__()")

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def on_epoch_end(self):
        """Called after each epoch of fit()."""


class SequenceFeed(_Batches):
    """Batches of a tf.keras.utils.Sequence: anything with a length and batches by number."""

    def __init__(self, source, steps=None, class_weight=None, shuffle=False):
        super().__init__(source, steps, class_weight)
        self.shuffle = shuffle
        self.steps = steps or len(source)

    def _begin(self):
        count = len(self._source)
        order = _permutation(count) if self.shuffle else range(count)
        return (self._source[int(number)] for number in order)

    def epoch_ended(self):
        if hasattr(self._source, "on_epoch_end"):
            self._source.on_epoch_end()


def feed_of(x, y=None, sample_weight=None, batch_size=None, steps=None, shuffle=False, class_weight=None):
    """Where the batches come from. ValueError for y or sample_weight beside what has them itself; TypeError for something else."""
    if x is None:
        raise ValueError("needs data: x is None")
    if is_arrays(x):
        return ArrayFeed(x, y, sample_weight, batch_size, shuffle, steps, class_weight)
    kind = type(x).__name__
    if y is not None:
        raise ValueError(f"`y` argument is not supported when using a {kind} as input; its batches are (x, y)")
    if sample_weight is not None:
        raise ValueError(f"`sample_weight` argument is not supported when using a {kind} as input; its batches are (x, y, weights)")
    if hasattr(x, "element_spec"):
        if batch_size is not None:
            raise ValueError(f"The `batch_size` argument must not be specified for the given input type. Received input: {kind}")
        return DatasetFeed(x, steps, class_weight)
    if hasattr(x, "__next__"):
        return GeneratorFeed(x, steps, class_weight)
    if hasattr(x, "__getitem__") and hasattr(x, "__len__"):
        return SequenceFeed(x, steps, class_weight, shuffle)
    if hasattr(x, "__iter__"):
        return DatasetFeed(x, steps, class_weight)
    raise TypeError(f"x is a {kind}; needs arrays, tensors, a tf.data.Dataset, a generator or a tf.keras.utils.Sequence")
