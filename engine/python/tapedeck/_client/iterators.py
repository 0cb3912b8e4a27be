"""Iterators of data sets in graphs: each session has its own."""
from tapedeck import _engine
from tapedeck._client.default_session import running
from tapedeck._core import dtypes, nest, program_graph
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck.data.dataset import Dataset
from tapedeck.data.graph_stages import GraphStage
from tapedeck.data.iterators import _Graphs, Iterator
from tapedeck.data.specs import TensorSpec
from tapedeck.data.structure import is_dataset


class SessionIterator:
    """An iterator of a tf.Graph. get_next() is the next element of each run; its initializer begins with the first one.

    begins_itself: whether a session that has not run an initializer begins at the first element.
    """

    def __init__(self, dataset, element_spec, other, begins_itself):
        self._dataset, self._spec, self._other, self._begins = dataset, element_spec, other, begins_itself

    def _now(self, _):
        """The Iterator of the session that runs."""
        found = running().resources.get(id(self))
        if found is None and self._begins:
            found = running().resources[id(self)] = Iterator(self._dataset)
        if found is None:
            raise _engine.FailedPreconditionError(
                "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer operation for "
                "this iterator before getting the next element.")
        return found

    def _in_graph(self):
        graphs = _Graphs(self._spec, self._other)
        graphs._find = self._now
        return graphs

    def get_next(self, name=None):
        """The next element, of each run. tf.errors.OutOfRangeError at the end."""
        return self._in_graph().take()

    @property
    def initializer(self):
        """The operation that begins with the first element. ValueError for an iterator that needs none, or has no data set."""
        if self._begins or self._dataset is None:
            raise ValueError("Iterator does not have an initializer.")
        made = program_graph.current()._iterator_initializers  # not the iterator's: a graph calls it, and would never go
        if id(self) not in made:
            made[id(self)] = self.make_initializer(self._dataset)
        return made[id(self)]

    def make_initializer(self, dataset, name=None):
        """The operation that begins with the first element of a data set, whose elements have the iterator's structure.

        Errors: TypeError for other dtypes.
        """
        if self._spec is not None and [spec.dtype for spec in nest.flatten(self._spec)] != [
                spec.dtype for spec in nest.flatten(dataset.element_spec)]:
            raise TypeError(f"Expected output types {self.output_types!r} but got dataset with output types {dataset.output_types!r}.")
        graph, stage = program_graph.current(), dataset._stage

        def begin(values):
            found = dataset
            if isinstance(stage, GraphStage):
                found = dataset._other(stage.make(values), dataset.element_spec)
            running().resources[id(self)] = Iterator(found)
            return []

        with graph._outermost():
            _engine.graph_host_call("MakeIterator", begin, stage.tensors if isinstance(stage, GraphStage) else [])
            return graph._new_operation("MakeIterator", [graph._engine.size - 1], name or "MakeIterator")

    element_spec = property(lambda self: self._spec, doc="The structure of the elements, with TensorSpecs.")
    output_types = property(lambda self: nest.map_structure(lambda spec: spec.dtype, self._spec), doc="The same with dtypes.")
    output_shapes = property(lambda self: nest.map_structure(lambda spec: spec.shape, self._spec), doc="The same with TensorShapes.")


@program_graph.provides("iterator_of")
def of_dataset(dataset, begins_itself):
    """An iterator of the current graph. ValueError for one that begins by itself with what only a run knows."""
    if begins_itself and isinstance(dataset._stage, GraphStage):
        raise ValueError("Cannot capture a placeholder (name:Placeholder, type:Placeholder) by value. Use make_initializable_iterator()")
    return SessionIterator(dataset, dataset.element_spec, dataset._other, begins_itself)


def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None):
    """An iterator of a tf.Graph without a data set: make_initializer(dataset) gives the operation that begins one.

    output_types, output_shapes: the structures of its elements. Errors: RuntimeError where ops run at once.
    """
    if program_graph.current() is None:
        raise RuntimeError("Iterator.from_structure is not supported when eager execution is enabled. "
                           "Use `for element in dataset` instead.")
    kinds = nest.flatten(output_types)
    shapes = [None] * len(kinds) if output_shapes is None else _flat_shapes(output_types, output_shapes)
    specs = [TensorSpec(shape, dtypes.as_dtype(kind)) for kind, shape in zip(kinds, shapes)]
    spec = nest.pack_sequence_as(output_types, specs) if nest.is_nested(output_types) else specs[0]
    return SessionIterator(None, spec, lambda stage, own: Dataset(stage, own), False)


def _flat_shapes(types, shapes):
    """The shapes in the order of the dtypes; a shape may be a list or a tuple itself."""
    if not nest.is_nested(types):
        return [TensorShape(shapes)]
    keys = sorted(types) if isinstance(types, dict) else range(len(types))
    return [shape for key in keys for shape in _flat_shapes(types[key], shapes[key])]


def _checked(dataset):
    if not is_dataset(dataset):
        raise TypeError(f"dataset is {dataset!r}; needs a tf.data.Dataset")
    return dataset


@public("data.make_one_shot_iterator")
def make_one_shot_iterator(dataset):
    """TensorFlow 1's name of dataset.make_one_shot_iterator(). TypeError for what is no data set."""
    return _checked(dataset).make_one_shot_iterator()


@public("data.make_initializable_iterator")
def make_initializable_iterator(dataset, shared_name=None):
    """TensorFlow 1's name of dataset.make_initializable_iterator(). TypeError for what is no data set."""
    return _checked(dataset).make_initializable_iterator(shared_name)


Iterator.from_structure = staticmethod(from_structure)
