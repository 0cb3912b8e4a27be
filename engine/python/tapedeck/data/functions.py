"""Users' functions as stages call them: lists of leaves in, lists of leaves out."""
from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.shapes import TensorShape
from tapedeck._functions import tracebacks
from tapedeck.data import structure as _structure
from tapedeck.data.iterators import packing
from tapedeck.data.specs import TensorSpec
from tapedeck.data.traced import converted, named, Traced, traces, zeros_of

_tensor = _engine.Tensor


def runs_eagerly(function):
    """Marks a function of the package's own: it reads elements' values in Python, and is not traced."""
    function.runs_eagerly = True
    return function


def is_traced(function):
    """Whether a stage that is made now has the function as a graph."""
    return traces() and not getattr(function, "runs_eagerly", False)


def _guessed_shape(shape, unknown):
    """The shape of a function's first result. unknown: (axis, extent) of the argument's extents that other elements need not
    have; where the result has them at the same axis it need not, either."""
    return TensorShape([None if (axis, extent) in unknown else extent for axis, extent in enumerate(shape)])


def _unknown_extents(spec, leaves):
    return {(axis, actual) for each, leaf in zip(_structure.flatten(spec), leaves)
            if isinstance(each, TensorSpec) and each.shape is not None
            for axis, (extent, actual) in enumerate(zip(each.shape, leaf.shape)) if extent is None}


class StageFunction:
    """function(*element), for the elements of `dataset`. Where tf.functions are traced it is a graph, traced here; else it is called for
    each element, and its results' structure is known from the first call on.

    Called with a list of leaves by the engine, from any thread.
    """

    captured = ()  # tensors of the graph function around that it needs

    def __init__(self, dataset, function, name, as_scalar=False):
        if not callable(function):
            raise TypeError(f"{name}: {function!r} is not a function")
        self._dataset, self._function, self._name = dataset, function, name
        self._pack = self._spec = self._graph = None
        # 0 for one tensor, n for a tuple of n, the sorted keys of a dict of tensors: quickly checked
        self._width = self._keys = None
        if is_traced(function):
            self._trace(function)

    def _trace(self, function):
        self._function, specs = converted(function), _structure.flatten(self._dataset.element_spec)
        try:
            traced = Traced(named(function, self._name), specs, self._called)
        except Exception as error:
            if not tracebacks.is_beyond_graphs(error, specs):
                raise
            tracebacks.warn_of_eager(f"the function of {self._name}", error)
            self._function = function
            self._pack = self._spec = self._width = self._keys = None
            return
        self._graph, self.captured, self.with_captured = traced, traced.captured, traced.with_captured
        self._function = None  # it may refer to what owns the data set, which Python's garbage collector does not see in stages

    def __call__(self, leaves):
        return self._called(leaves) if self._graph is None else self._graph(leaves)

    def _called(self, leaves):
        if self._pack is None:
            self._pack = packing(self._dataset)
        result = _structure.unpacked(self._function, self._pack(leaves))
        if type(result) is _tensor:
            if self._width == 0:
                return [result]
        elif type(result) is tuple:
            if len(result) == self._width and all(type(leaf) is _tensor for leaf in result):
                return list(result)
        elif type(result) is dict and self._keys is not None and len(result) == len(self._keys):
            found = [result.get(key) for key in self._keys]
            if all(type(leaf) is _tensor for leaf in found):
                return found
        return self._flattened(result, leaves)

    def _flattened(self, result, leaves):
        if type(result) is list:  # as tf.py_func gives; its tensors need not fit into one
            result = tuple(result)
        if not _structure.is_nested(result):
            result = result if hasattr(result, "_stage") else _structure.as_leaf(result)
        else:
            result = _structure.as_element(result)
        if self._spec is None:
            self._learn(result, leaves)
        elif not _structure.same_form(self._spec, result):
            raise TypeError(f"{self._name}: the function returned {_described(result)}; before it was {_described(self._spec)}")
        return [getattr(leaf, "_stage", leaf) for leaf in _structure.flatten(result)]

    def _learn(self, result, leaves):
        unknown = () if _engine.is_tracing() else _unknown_extents(self._dataset.element_spec, leaves)

        def spec(leaf):
            known = _structure.spec_of(leaf)
            guessed = unknown and isinstance(known, TensorSpec)
            return TensorSpec(_guessed_shape(known.shape, unknown), known.dtype) if guessed else known

        self._spec = _structure.map_structure(spec, result)
        if isinstance(self._spec, TensorSpec):
            self._width = 0
        elif type(result) is tuple and all(isinstance(each, TensorSpec) for each in self._spec):
            self._width = len(result)
        elif type(result) is dict and all(isinstance(each, TensorSpec) for each in self._spec.values()):
            self._keys = sorted(result)

    def spec(self):
        """The structure of the results. Where the function has not run yet, it is run for the first element, or for zeros where
        there is none."""
        if self._spec is None:
            with _engine.Untraced():
                leaves = self._dataset._stage.take(1).iterate(False).next()
                self(zeros_of(self._dataset.element_spec) if leaves is None else leaves)
        return self._spec


def _described(value):
    return _structure.map_structure(lambda leaf: "tensor" if hasattr(leaf, "dtype") else "Dataset", value)


class ScalarFunction(StageFunction):
    """A key: one scalar of bool or an integer."""

    def _flattened(self, result, leaves):
        self._spec = False
        return [_structure.as_leaf(result)]

    def spec(self):
        return None


class Predicate(ScalarFunction):
    """A scalar of bool. ValueError where the function returns anything else."""

    def _flattened(self, result, leaves):
        [leaf] = super()._flattened(result, leaves)
        if leaf.dtype != dtypes.bool or leaf.ndim:
            raise _engine.InvalidArgumentError(f"the predicate returned {leaf.dtype.name} of shape {tuple(leaf.shape)}; needs a "
                                               "scalar of bool")
        return [leaf]
