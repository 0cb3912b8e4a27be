"""Stages of data sets that are known only when a graph runs: they read tensors of the graph, or come as its arguments."""
from tapedeck import _engine
from tapedeck._core import nest
from tapedeck.data.specs import TensorSpec

_METHODS = frozenset(name for name in dir(_engine.DataStage) if not name.startswith("_"))
CARRIER = "int64", ()  # dtype and shape of the tensors through which graphs carry data sets and iterators


class GraphStage:
    """A stage that each run makes: make(values of `tensors`)."""

    def __init__(self, make, tensors):
        self.make, self.tensors = make, list(tensors)

    @staticmethod
    def carried_by(tensor):
        """The stage that carrier() gave the tensor for."""
        made = GraphStage(lambda values: _engine.carried_by(values[0]), [tensor])
        made.carrier = tensor
        return made

    carrier = None  # the tensor, of what is an argument
    name = "graph"

    def __getattr__(self, name):
        if name not in _METHODS:
            raise AttributeError(name)
        return lambda *args: made(lambda stage, *given: getattr(stage, name)(*given), self, *args)

    def cardinality(self):
        """How many elements there are, when the graph runs: an int64 tensor."""
        def counted(values):
            return [_engine.convert_to_tensor(self.make(values).cardinality(), "int64")]

        return _engine.graph_host_call("Dataset.cardinality", counted, self.tensors, [CARRIER])[0]


class Late:
    """An integer that a tensor of the graph has when that runs. check(value): the integer, or an error."""

    def __init__(self, tensor, check):
        self.tensors, self.make = [tensor], lambda values: check(values[0])


def is_stage(value):
    """Whether it is a stage of a data set."""
    return isinstance(value, (_engine.DataStage, GraphStage))


def _is_symbolic(value):
    return isinstance(value, _engine.Tensor) and _engine.is_symbolic(value)


def _late_tensors(value):
    """The graph's tensors without which the value is not known."""
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _late_tensors(part)]
    if _is_symbolic(value):
        return [value]
    if isinstance(value, (GraphStage, Late)):
        return value.tensors
    return getattr(value, "captured", ())


def _known(value, values):
    """The value, with these in place of _late_tensors(value)."""
    if isinstance(value, (list, tuple)):
        return type(value)([_known(part, values) for part in value])
    if _is_symbolic(value):
        return next(values)
    if isinstance(value, (GraphStage, Late)):
        return value.make([next(values) for _ in value.tensors])
    captured = getattr(value, "captured", ())
    return value.with_captured([next(values) for _ in captured]) if captured else value


def made(function, *args):
    """The stage function(*args); a GraphStage where args hold what only a run knows."""
    tensors = _late_tensors(args)
    if not tensors or not _engine.is_tracing():
        return function(*args)
    return GraphStage(lambda values: function(*_known(args, iter(values))), tensors)


def carrier(stage):
    """A tensor through which a graph carries the stage."""
    if isinstance(stage, _engine.DataStage):
        return _engine.carrier_of(stage)
    if stage.carrier is not None:
        return stage.carrier
    return _engine.graph_host_call("Dataset", lambda values: [_engine.carrier_of(stage.make(values))], stage.tensors, [CARRIER])[0]


def parts_of(kind, spec, gpu, tensor):
    """The parts of a Leaf (_functions/structures.py): of a data set as an argument of a function, whose traces are for the spec of its
    elements."""
    def of_tensors(tensors):
        [given] = tensors
        made = kind(GraphStage.carried_by(given) if _engine.is_symbolic(given) else _engine.carried_by(given), spec)
        made._gpu = gpu
        return made

    return ("dataset", gpu, key_of(spec)), (tensor,), (TensorSpec((), "int64"),), of_tensors


def key_of(spec):
    """What is equal for equal specs of elements."""
    return nest._shape_of(spec), tuple(nest.flatten(spec))
