"""Optimisers where a graph is built: an update is an operation, and slots are variables of the graph."""
import contextlib

from tapedeck import _engine
from tapedeck._core import program_graph
from tapedeck._core.composites import tensor
from tapedeck._functions.host import called_by_graph
from tapedeck._gradients.symbolic import gradients
from tapedeck._graph.collections import get_collection, GraphKeys
from tapedeck.train import updates


@program_graph.provides("compute_gradients")
def compute_gradients(loss, var_list, grad_loss):
    """(gradient, variable) pairs of a loss of the current graph."""
    if callable(loss) and not isinstance(loss, (_engine.Tensor, _engine.Variable)):
        loss = loss()
    if var_list is None:
        variables = get_collection(GraphKeys.TRAINABLE_VARIABLES)
    else:
        variables = [var_list] if isinstance(var_list, _engine.Variable) else list(var_list)
    if not variables:
        raise ValueError("No variables to optimize.")
    return list(zip(gradients(loss, variables, None if grad_loss is None else [grad_loss]), variables))


def _symbolic_numbers(optimizer):
    """Hyperparameters that are tensors of a graph."""
    return [value for value in vars(optimizer).values() if isinstance(value, _engine.Tensor) and _engine.is_symbolic(value)]


@contextlib.contextmanager
def _all_ones(numbers):
    with updates.substituted({number._id: tensor(1, number.dtype) for number in numbers}):
        yield


def _make_slots(optimizer, pairs, numbers):
    """What the first update would make, made now: variables of the graph."""
    variables = [variable for _, variable in pairs]
    optimizer._create_slots(variables)
    with _engine.Untraced(), _all_ones(numbers):
        wanted = optimizer._slots_of_update(pairs)
    for variable, slots in wanted:
        for name, initial in slots:
            optimizer._slot(variable, name, initial)
    return [slot for variable, _, slot in optimizer._slots() if any(variable is each for each in variables)]


@program_graph.provides("apply_gradients")
def apply_gradients(optimizer, pairs, global_step, name):
    """The Operation of the current graph that updates the variables."""
    graph, first = program_graph.current(), program_graph.current()._engine.size
    name = name or optimizer.get_name()
    steps = [] if global_step is None else [global_step]
    if optimizer._builds_updates():
        optimizer._create_slots([variable for _, variable in pairs])
        optimizer._prepare()
        optimizer._finish(optimizer._apply_all(pairs), name)
        for step in steps:
            step.assign_add(1)
        return graph._new_operation("NoOp", graph._effects_since(first), name)
    numbers = _symbolic_numbers(optimizer)
    slots = _make_slots(optimizer, pairs, numbers)
    variables = [variable for _, variable in pairs]

    def update(values):
        now = values[len(pairs):]
        with updates.substituted({number._id: value for number, value in zip(numbers, now)}):
            optimizer.apply_gradients(list(zip(values[:len(pairs)], variables)), global_step)

    called_by_graph(name, update, [*(gradient for gradient, _ in pairs), *numbers])
    node = graph._engine.size - 1
    graph._given[node] = f"{name}/apply", True
    others = list(optimizer._other_variables())
    graph._host_variables[node] = [*variables, *slots, *others, *steps]
    return graph._new_operation("NoOp", [node], name)


@program_graph.provides("averaged")
def averaged(average, variables):
    """The Operation of the current graph that moves averages of variables (tf.train.ExponentialMovingAverage)."""
    graph = program_graph.current()
    slots = average._make_averages(variables)

    def update(_):
        average.apply(variables)

    called_by_graph(average.name, update, [])
    node = graph._engine.size - 1
    graph._given[node] = f"{average.name}/apply", True
    graph._host_variables[node] = [*variables, *slots]
    return graph._new_operation("NoOp", [node], average.name)
