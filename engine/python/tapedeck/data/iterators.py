"""Iterators of data sets."""
from tapedeck import _engine
from tapedeck._core.public import public
from tapedeck._core.trackable import Trackable
from tapedeck.data import structure as _structure
from tapedeck.data.specs import OptionalSpec, TensorSpec


def packing(dataset):
    """A function of the leaves that the engine gives for an element of the data set: it makes the element, in which data sets are
    as Python has them."""
    spec = dataset._form()
    pack, specs = _structure.packer(spec), _structure.flatten(spec)
    if all(isinstance(each, TensorSpec) for each in specs):
        return pack
    return lambda leaves: pack([dataset._other(leaf, each.element_spec) if isinstance(leaf, _engine.DataStage) else leaf
                                for leaf, each in zip(leaves, specs)])


def _on_gpu(next_leaves, number):
    """next_leaves, with tensors on that GPU; strings stay on the CPU."""
    def copied():
        leaves = next_leaves()
        return leaves and [leaf.gpu(number) if isinstance(leaf, _engine.Tensor) and leaf.dtype.name != "string" else leaf
                           for leaf in leaves]

    return copied


def require_no_trace():
    """UnimplementedError in a function that is being traced: its graph would have the elements of this moment in it."""
    if _engine.is_tracing():
        raise _engine.UnimplementedError("data set: its elements cannot be read in a function that is traced; read them outside and pass "
                                         "them to the function, or call tf.config.run_functions_eagerly(True)")


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
        iterator = dataset._stage.iterate(dataset._own_threads())
        next_leaves = iterator.next if dataset._gpu is None else _on_gpu(iterator.next, dataset._gpu)
        self.__dict__.update(_dataset=dataset, _iterator=iterator, _next_leaves=next_leaves, _pack=None)

    def __iter__(self):
        return self

    def _element(self, leaves):
        if self._pack is None:
            self.__dict__["_pack"] = packing(self._dataset)
        return self._pack(leaves)

    def __next__(self):
        require_no_trace()
        leaves = self._next_leaves()
        if leaves is None:
            raise StopIteration
        pack = self._pack
        return self._element(leaves) if pack is None else pack(leaves)

    next = __next__

    def get_next(self, name=None):
        """The next element. tf.errors.OutOfRangeError at the end."""
        require_no_trace()
        leaves = self._next_leaves()
        if leaves is None:
            raise _engine.OutOfRangeError("End of sequence")
        return self._element(leaves)

    def get_next_as_optional(self):
        """The next element as a tf.experimental.Optional, which is empty at the end."""
        require_no_trace()
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


@public("experimental.Optional", "data.experimental.Optional", "contrib.data.Optional")
class Optional:
    """A value that may be there, as an iterator's get_next_as_optional() gives it."""

    def __init__(self, spec, values=()):
        self._spec, self._values = spec, values

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
        return _engine.convert_to_tensor(bool(self._values))

    def get_value(self, name=None):
        """The value. InvalidArgumentError where there is none."""
        if not self._values:
            raise _engine.InvalidArgumentError("Optional: get_value: it has no value")
        return self._values[0]

    element_spec = property(lambda self: self._spec, doc="The spec of the value.")
    _type_spec = property(lambda self: OptionalSpec(self._spec))

    def __repr__(self):
        return f"Optional({self._values[0]!r})" if self._values else "Optional.empty"
