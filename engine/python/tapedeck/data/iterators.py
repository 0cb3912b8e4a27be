"""Iterators of data sets."""
from tapedeck import _engine
from tapedeck._core.public import NAMES, public
from tapedeck._core.shapes import TensorShape
from tapedeck._core.trackable import Trackable
from tapedeck.data import structure as _structure
from tapedeck.data.graph_stages import CARRIER, GraphStage, is_stage, key_of
from tapedeck.data.specs import DatasetSpec, OptionalSpec, TensorSpec
from tapedeck.data.traced import as_tensor, leaf_in_graph, parameter_of, zeros_of


def packing(dataset):
    """A function of the leaves that the engine gives for an element of the data set: it makes the element, in which data sets are
    as Python has them."""
    spec = dataset._form()
    pack, specs = _structure.packer(spec), _structure.flatten(spec)
    if all(isinstance(each, TensorSpec) for each in specs):
        return pack
    return lambda leaves: pack([dataset._other(leaf, each.element_spec) if is_stage(leaf) else leaf
                                for leaf, each in zip(leaves, specs)])


def _on_gpu(next_leaves, number):
    """next_leaves, with tensors on that GPU; strings stay on the CPU."""
    def copied():
        leaves = next_leaves()
        return leaves and [leaf.gpu(number) if isinstance(leaf, _engine.Tensor) and leaf.dtype.name != "string" else leaf
                           for leaf in leaves]

    return copied


def require_no_trace():
    """UnimplementedError in a function that is being traced, for what would read the elements of this moment in Python."""
    if _engine.is_tracing():
        raise _engine.UnimplementedError(
            "data set: its elements are known only when the graph runs; in a function that is traced a `for` loop of a function that "
            "AutoGraph converts, Dataset.reduce and iterators' get_next() read them, or call tf.config.run_functions_eagerly(True)")


class _Graphs:
    """What graphs do with an iterator that they find when they run. Each method adds a call to the graph."""

    def __init__(self, element_spec, other, iterator=None, carrier=None):
        """other(stage, spec): a data set; iterator: an Iterator, or None for the one that the tensor `carrier` carries."""
        self._spec, self._other, self._carrier = element_spec, other, carrier
        self._tensors = [] if carrier is None else [carrier]
        self._find = (lambda values: _engine.carried_by(values[0])) if iterator is None else lambda _: iterator

    def _call(self, name, function, results):
        return _engine.graph_host_call(name, lambda values: function(self._find(values)), self._tensors, results)

    def more(self):
        """Whether there is another element: a scalar bool tensor."""
        if self._carrier is not None:
            return _engine.graph_iterator_more(self._carrier)
        return self._call("more elements", lambda iterator: [_engine.convert_to_tensor(iterator._iterator.has_next())], [("bool", ())])[0]

    def take(self):
        """The next element. OutOfRangeError at the end."""
        def taken(iterator):
            leaves = iterator._next_leaves()
            if leaves is None:
                raise _engine.OutOfRangeError("End of sequence")
            return list(map(as_tensor, leaves))

        specs = self._leaf_specs()
        results = list(map(parameter_of, specs))
        if self._carrier is not None and all(isinstance(each, TensorSpec) for each in specs):
            return self._element(_engine.graph_iterator_next(self._carrier, results))
        return self._element(self._call("next element", taken, results))

    def optional(self):
        """(whether there is another element, that element, or zeros)."""
        def taken(iterator):
            leaves = iterator._next_leaves()
            found = zeros_of(self._spec) if leaves is None else leaves
            return [_engine.convert_to_tensor(leaves is not None), *map(as_tensor, found)]

        there, *leaves = self._call("next element", taken, [("bool", ()), *map(parameter_of, self._leaf_specs())])
        return there, self._element(leaves)

    def _leaf_specs(self):
        return _structure.flatten(self._spec)

    def _element(self, tensors):
        leaves = [self._other(leaf_in_graph(spec, tensor), spec.element_spec) if isinstance(spec, DatasetSpec) else tensor
                  for spec, tensor in zip(self._leaf_specs(), tensors)]
        return _structure.pack(self._spec, iter(leaves))


@public("data.Iterator", "tfe.Iterator")
class Iterator(Trackable):
    """An iterator of a data set's elements: `for`, next(), get_next().

    dataset: a Dataset, whose first element is the next one. In a checkpoint it is a part like a variable: restored, the iterator of
    an equal data set goes on with the same next element, shuffled, batched or prefetched alike. Errors that a stage raises name the
    stage and the element; the next call goes on after it.
    """

    def __init__(self, dataset=None, components=None, element_spec=None):
        if not _structure.is_dataset(dataset):
            raise TypeError(f"Iterator: dataset is {dataset!r}; needs a tf.data.Dataset")
        require_no_trace()
        iterator = dataset._stage.iterate(dataset._own_threads())
        next_leaves = iterator.next if dataset._gpu is None else _on_gpu(iterator.next, dataset._gpu)
        self.__dict__.update(_dataset=dataset, _iterator=iterator, _next_leaves=next_leaves, _pack=None)

    def __iter__(self):
        require_no_trace()
        return self

    def _in_graph(self):
        return _Graphs(self.element_spec, self._dataset._other, iterator=self)

    def _stream(self):
        graphs = self._in_graph()
        return graphs.more, graphs.take

    def _graph_parts(self):
        return _iterator_parts(self.element_spec, self._dataset._other, _engine.carrier_of(self))

    def _element(self, leaves):
        if self._pack is None:
            self.__dict__["_pack"] = packing(self._dataset)
        return self._pack(leaves)

    def __next__(self):
        if _engine.is_tracing():
            return self._in_graph().take()
        leaves = self._next_leaves()
        if leaves is None:
            raise StopIteration
        pack = self._pack
        return self._element(leaves) if pack is None else pack(leaves)

    next = __next__

    def get_next(self, name=None):
        """The next element. tf.errors.OutOfRangeError at the end."""
        if _engine.is_tracing():
            return self._in_graph().take()
        leaves = self._next_leaves()
        if leaves is None:
            raise _engine.OutOfRangeError("End of sequence")
        return self._element(leaves)

    def get_next_as_optional(self):
        """The next element as a tf.experimental.Optional, which is empty at the end."""
        if _engine.is_tracing():
            there, element = self._in_graph().optional()
            return Optional(self.element_spec, (element,), there)
        leaves = self._next_leaves()
        return Optional(self.element_spec) if leaves is None else Optional(self.element_spec, (self._element(leaves),))

    @property
    def element_spec(self):
        """The structure of the elements, with a TensorSpec for each tensor."""
        return self._dataset.element_spec

    output_types = property(lambda self: self._dataset.output_types, doc="The structure of the elements, with dtypes.")
    output_shapes = property(lambda self: self._dataset.output_shapes, doc="The structure of the elements, with TensorShapes.")
    output_classes = property(lambda self: self._dataset.output_classes, doc="The structure of the elements, with classes.")

    @property
    def initializer(self):
        """ValueError: an eager iterator needs none."""
        raise ValueError("Iterator does not have an initializer: it begins when it is made")

    def _own_state(self):
        numbers, tensors = self._iterator.save()
        return {"position": numbers, **{f"value_{number}": tensor for number, tensor in enumerate(tensors)}}

    def _set_own_state(self, state):
        values = [state[f"value_{number}"] for number in range(sum(name.startswith("value_") for name in state))]
        as_tensor = _engine.convert_to_tensor
        self._iterator.restore(as_tensor(state["position"]), [as_tensor(value) for value in values])

    def __repr__(self):
        return f"<{type(self).__name__} of {self._dataset!r}>"


def _iterator_parts(spec, other, tensor):
    def of_tensors(tensors):
        [given] = tensors
        return GraphIterator(None, given, spec, other) if _engine.is_symbolic(given) else _engine.carried_by(given)

    return ("iterator", key_of(spec)), (tensor,), (TensorSpec((), "int64"),), of_tensors


class GraphIterator:
    """An iterator that begins when a graph runs, or that comes as its argument: `for`, next(), get_next()."""

    # _stream() gives what a loop of a graph needs: more(), a scalar bool tensor, whether there is another element; and take(), which is
    # that. They are called in turn.

    def __init__(self, dataset=None, carrier=None, element_spec=None, other=None):
        """Of a data set, or the tensor that carries an Iterator."""
        if dataset is not None:
            stage, spec, other, gpu = dataset._stage, dataset.element_spec, dataset._other, dataset._gpu

            def begun(values):
                found = other(stage.make(values) if isinstance(stage, GraphStage) else stage, spec)
                found._gpu = gpu
                return [_engine.carrier_of(Iterator(found))]

            tensors = stage.tensors if isinstance(stage, GraphStage) else []
            carrier, element_spec = _engine.graph_host_call("iterator", begun, tensors, [CARRIER])[0], spec
        self._carrier, self._spec, self._other = carrier, element_spec, other

    def _in_graph(self):
        return _Graphs(self._spec, self._other, carrier=self._carrier)

    def _stream(self):
        graphs = self._in_graph()
        return graphs.more, graphs.take

    def _graph_parts(self):
        return _iterator_parts(self._spec, self._other, self._carrier)

    def __iter__(self):
        require_no_trace()
        return self

    def __next__(self):
        return self._in_graph().take()

    def get_next(self, name=None):
        """The next element. tf.errors.OutOfRangeError at the end."""
        return self._in_graph().take()

    def get_next_as_optional(self):
        """The next element as a tf.experimental.Optional, which is empty at the end."""
        there, element = self._in_graph().optional()
        return Optional(self._spec, (element,), there)

    element_spec = property(lambda self: self._spec, doc="The structure of the elements, with a TensorSpec for each tensor.")


@public("data.NumpyIterator")
class NumpyIterator:
    """An iterator of a data set's elements as NumPy arrays."""

    def __init__(self, dataset):
        self._iterator = iter(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        return _structure.map_structure(_as_numpy, next(self._iterator))


def _as_numpy(leaf):
    return leaf.numpy() if isinstance(leaf, _engine.Tensor) else leaf.as_numpy_iterator()


def _leaf_of(spec, tensor):
    """The leaf that a graph carries by the tensor."""
    if not isinstance(spec, DatasetSpec):
        return tensor
    stage = leaf_in_graph(spec, tensor) if _engine.is_symbolic(tensor) else _engine.carried_by(tensor)
    return NAMES["data.Dataset"](stage, spec.element_spec)


def _spec_seen(spec, tensor):
    """The spec of a leaf of which a graph knows what it knows of the tensor."""
    return spec if isinstance(spec, DatasetSpec) else TensorSpec(None if tensor.shape.rank is None else tensor.shape, tensor.dtype)


@public("experimental.Optional", "data.experimental.Optional", "contrib.data.Optional")
class Optional:
    """A value that may be there, as an iterator's get_next_as_optional() gives it."""

    def __init__(self, spec, values=(), there=None):
        """there: in a graph, whether there is one of the values."""
        self._spec, self._values, self._there = spec, values, there

    @staticmethod
    def from_value(value):
        """One that holds the value, a structure of tensors."""
        element = _structure.as_element(value)
        return Optional(_structure.map_structure(_structure.spec_of, element), (element,))

    @staticmethod
    def empty(element_spec):
        """One that holds nothing."""
        return Optional(element_spec)

    def has_value(self, name=None):
        """A bool tensor: whether there is a value."""
        if self._there is not None:
            return self._there
        return _engine.convert_to_tensor(bool(self._values))

    def get_value(self, name=None):
        """The value. InvalidArgumentError where there is none."""
        if self._there is not None:
            NAMES["debugging.Assert"](self._there, ["Optional: get_value: it has no value"])
        if not self._values:
            raise _engine.InvalidArgumentError("Optional: get_value: it has no value")
        return self._values[0]

    element_spec = property(lambda self: self._spec, doc="The spec of the value.")
    _type_spec = property(lambda self: OptionalSpec(self._spec))

    # ---- in graphs (_autograph/state.py): whether there is a value, and its leaves, zeros where there is none

    def _is_formed(self):
        return True

    def _carried(self):
        leaves = map(_structure.as_leaf, _structure.flatten(self._values[0])) if self._values else zeros_of(self._spec)
        return [self.has_value(), *map(as_tensor, leaves)]

    def _carried_shapes(self):
        return [None, *(None if isinstance(each, DatasetSpec) else TensorShape(each.shape) for each in _structure.flatten(self._spec))]

    def _maker(self):
        return Optional(self._spec)._with

    def _with(self, tensors):
        if tensors is None:
            return self
        there, *leaves = tensors
        specs = _structure.flatten(self._spec)
        element = _structure.pack(self._spec, map(_leaf_of, specs, leaves))
        if not _engine.is_symbolic(there):
            return Optional(self._spec, (element,) if bool(there) else ())
        return Optional(_structure.pack(self._spec, map(_spec_seen, specs, leaves)), (element,), there)

    def __repr__(self):
        return f"Optional({self._values[0]!r})" if self._values else "Optional.empty"
