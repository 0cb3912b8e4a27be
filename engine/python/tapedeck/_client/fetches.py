"""What Session.run is asked for, and what it is given."""
import collections

import numpy as np

from tapedeck import _engine
from tapedeck._client.operation import Operation
from tapedeck._core import nest
from tapedeck._core.indexed_slices import IndexedSlices
from tapedeck._sparse.tensors import SparseTensor, SparseTensorValue
from tapedeck._core.public import public

IndexedSlicesValue = public("IndexedSlicesValue")(
    collections.namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"]))


def _as_numpy(tensor):
    value = tensor.numpy()
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


class Fetches:
    """The fetches of a run: `tensors` and numbers of `nodes` that the engine is asked for, and what is made of their values."""

    def __init__(self, graph, structure):
        self._graph, self.tensors, self.nodes, self._places = graph, [], [], {}
        self._fill = self._reader(structure)
        self.key = tuple(self._places), tuple(self.nodes)

    def filled(self, values, session):
        """The structure with these values of the tensors, and the session's of variables."""
        return self._fill([_as_numpy(value) for value in values], session)

    def _reader(self, fetch):
        """A function of the tensors' values and the session that gives the value of the fetch."""
        if fetch is None:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}")
        if isinstance(fetch, IndexedSlices):
            return self._parts(IndexedSlicesValue, (fetch.values, fetch.indices, fetch.dense_shape))
        if isinstance(fetch, SparseTensor):
            return self._parts(SparseTensorValue, (fetch.indices, fetch.values, fetch.dense_shape))
        if isinstance(fetch, (list, tuple, dict)) and nest.is_nested(fetch):
            return self._structured(fetch)
        return self._single(fetch)

    def _structured(self, fetch):
        keys = list(fetch) if isinstance(fetch, dict) else range(len(fetch))
        readers = [self._reader(fetch[key]) for key in keys]
        if isinstance(fetch, dict):
            made = type(fetch) if type(fetch) is not collections.defaultdict else dict
            return lambda values, session: made((key, reader(values, session)) for key, reader in zip(keys, readers))
        if hasattr(fetch, "_fields"):
            return lambda values, session: type(fetch)(*(reader(values, session) for reader in readers))
        made = tuple if isinstance(fetch, tuple) else list
        return lambda values, session: made(reader(values, session) for reader in readers)

    def _parts(self, made, tensors):
        readers = [None if tensor is None else self._single(tensor) for tensor in tensors]
        return lambda values, session: made(*(reader and reader(values, session) for reader in readers))

    def _single(self, fetch):
        try:
            found = self._graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or Tensor. ({error})") from None
        except ValueError as error:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})") from None
        except KeyError as error:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})") from None
        if isinstance(found, Operation):
            self.nodes += [node for node in found._nodes if node not in self.nodes]
            return lambda values, session: None
        if isinstance(found, _engine.Variable):
            return lambda values, session: session._value_of(found)
        if found._id not in self._places:
            self._places[found._id] = len(self.tensors)
            self.tensors.append(found)
        place = self._places[found._id]
        return lambda values, session: values[place]


class Feeds:
    """The feed_dict of a run: `tensors` and their `values`, tensors too."""

    def __init__(self, graph, feed_dict):
        self._graph, given = graph, {}
        for key, value in (feed_dict or {}).items():
            for tensor, part in self._pairs(key, value):
                given[tensor._id] = tensor, self._value(tensor, part)
        ordered = sorted(given.items())
        self.key = tuple(each for each, _ in ordered)
        self.tensors = [tensor for _, (tensor, _) in ordered]
        self.values = [value for _, (_, value) in ordered]

    def _pairs(self, key, value):
        if isinstance(key, SparseTensor):
            return list(zip((key.indices, key.values, key.dense_shape), value))
        if isinstance(key, (tuple, list)):
            return [pair for part, own in zip(key, value) for pair in self._pairs(part, own)]
        try:
            found = self._graph.as_graph_element(key, allow_operation=False)
            if isinstance(found, _engine.Variable) or self._graph._place_of(found) is None:
                raise ValueError(f"Tensor {key} may not be fed.")
        except Exception as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
        return [(found, value)]

    def _value(self, tensor, value):
        if isinstance(value, (_engine.Tensor, _engine.Variable)):
            raise TypeError("The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, "
                            f"lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was {value!r} which was passed to "
                            f"the feed with key {tensor.name!r}.")
        kind = tensor.dtype
        array = value if kind.name == "string" else np.asarray(value, dtype=None if kind.name == "bfloat16" else kind.as_numpy_dtype)
        made = _engine.constant(array, kind, None, True)
        if not tensor.shape.is_compatible_with(made.shape):
            raise ValueError(f"Cannot feed value of shape {tuple(made.shape)} for Tensor {tensor.name!r}, which has shape "
                             f"'{tensor.shape}'")
        return made
