"""Functions of data sets as graphs: traced once, when the stage is made, and run for each element."""
import contextlib

from tapedeck import _engine
from tapedeck._core.public import NAMES
from tapedeck._functions import control
from tapedeck.data import settings, structure as _structure
from tapedeck.data.graph_stages import CARRIER, carrier, GraphStage, is_stage
from tapedeck.data.specs import DatasetSpec, TensorSpec


def traces():
    """Whether functions of stages that are made now are traced."""
    return not settings.debug_mode and (_engine.is_tracing() or not NAMES["config.functions_run_eagerly"]())


def parameter_of(spec):
    """(dtype, shape) of the tensor through which a graph takes what has the spec."""
    return CARRIER if isinstance(spec, DatasetSpec) else (spec.dtype, None if spec.shape is None else tuple(spec.shape))


def leaf_in_graph(spec, tensor):
    """What the function sees of such a tensor: itself, or a stage."""
    return GraphStage.carried_by(tensor) if isinstance(spec, DatasetSpec) else tensor


def as_tensor(leaf):
    """A leaf, a tensor or a stage, as a graph takes and gives it."""
    return carrier(leaf) if is_stage(leaf) else leaf


def named(function, of_stage):
    """What errors call the user's function."""
    return getattr(function, "__name__", of_stage)


class Traced:
    """A function of leaves, which returns leaves, as a graph. captured: tensors of the function around that it needs, which with_captured
    gives values."""

    def __init__(self, name, specs, function, of_stage=True):
        """specs: of the leaves that it takes. function: called once. of_stage: whether it runs where stages do, on the CPU."""
        self._name, self._specs = name, list(specs)
        self._gives = []

        def called(tensors):
            leaves = function([leaf_in_graph(spec, tensor) for spec, tensor in zip(self._specs, tensors)])
            self._gives = [is_stage(leaf) for leaf in leaves]
            return list(map(as_tensor, leaves))

        parameters = [(f"x{number}", *parameter_of(spec)) for number, spec in enumerate(self._specs)]
        with _engine.VariableCreation(False), NAMES["device"]("/cpu:0") if of_stage else contextlib.nullcontext():
            self._graph = _engine.trace_graph(name, parameters, called)
        self.captured = list(self._graph.symbolic_captures)

    def __call__(self, leaves, captured=None):
        try:
            tensors = self._graph(list(map(as_tensor, leaves)), captured)
        except Exception as error:
            file, line = _engine.graph_failure()
            if line:
                error.add_note(f"In the graph of {self._name}: {file}, line {line}")
            raise
        return [_engine.carried_by(tensor) if carries else tensor for carries, tensor in zip(self._gives, tensors)]

    def with_captured(self, values):
        """A function of leaves, as a stage calls it."""
        return lambda leaves: self(leaves, values)


def converted(function):
    """The user's function with its control flow in the graph."""
    return control.converted(function)


def zeros_of(spec):
    """The leaves of an element of zeros."""
    return [_zero(each) for each in _structure.flatten(spec)]


def _zero(spec):
    if isinstance(spec, TensorSpec):
        return _engine.op_function("zeros")([extent or 0 for extent in spec.shape or ()], dtype=spec.dtype)
    return _engine.data_from_element(zeros_of(spec.element_spec)).take(0)
