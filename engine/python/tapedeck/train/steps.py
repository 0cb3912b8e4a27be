"""The global step, which counts the updates of a program, and averages over them."""
from tapedeck import _engine
from tapedeck._core import dtypes, program_graph
from tapedeck._core.arguments import having
from tapedeck._core.composites import op, tensor
from tapedeck._core.public import public
from tapedeck._graph.collections import get_collection, GraphKeys
from tapedeck.train.updates import as_float, number_variable, SlotUpdater

_global_step = None


def _graph(given):
    if given is not None and not hasattr(given, "_global_step"):
        raise TypeError(f"graph is {given!r}; needs a tf.Graph or None")
    return program_graph.current() if given is None else given


@public("train.get_global_step", "contrib.framework.get_global_step")
def get_global_step(graph=None):
    """The global step, an int64 variable; None where none was made. Each tf.Graph has its own, the current one where graph is None."""
    graph = _graph(graph)
    return _global_step if graph is None else graph._global_step


@public("train.create_global_step", "contrib.framework.create_global_step")
def create_global_step(graph=None):
    """Makes the global step, 0 at first: an int64 variable that is not trainable. ValueError where there is one."""
    global _global_step
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    graph = _graph(graph)
    if graph is None:
        _global_step = number_variable(0, dtype=dtypes.int64, name="global_step", import_scope="")
        return _global_step
    with graph.as_default():
        graph._global_step = number_variable(0, dtype=dtypes.int64, name="global_step", import_scope="")
        graph.add_to_collection(GraphKeys.GLOBAL_STEP, graph._global_step)
    return graph._global_step


@public("train.get_or_create_global_step", "contrib.framework.get_or_create_global_step")
def get_or_create_global_step(graph=None):
    """The global step, made where there is none."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


@public("train.assert_global_step", "contrib.framework.assert_global_step")
def assert_global_step(global_step_tensor):
    """TypeError for a value that is not an integer variable without axes."""
    if not isinstance(global_step_tensor, (_engine.Tensor, _engine.Variable)) or not global_step_tensor.dtype.is_integer:
        found = getattr(global_step_tensor, "dtype", global_step_tensor)
        raise TypeError(f'Existing "global_step" does not have integer type: {found}')
    if tuple(global_step_tensor.shape) != ():
        raise TypeError(f'Existing "global_step" is not scalar: {tuple(global_step_tensor.shape)}')


@public("train.global_step")
def global_step(sess, global_step_tensor):
    """The number in it: in the session where it is of a tf.Graph."""
    return int(global_step_tensor if sess is None else having(sess, "global_step: sess", "run", "session").run(global_step_tensor))


def reset_global_step():
    """For tests and tf.reset_default_graph: there is none again."""
    global _global_step
    _global_step = None


@public("train.ExponentialMovingAverage")
class ExponentialMovingAverage(SlotUpdater):
    """Exponential moving averages of variables: average ← decay·average + (1 − decay)·value.

        averages = tf.train.ExponentialMovingAverage(0.999)
        averages.apply(variables)            # after each step
        averages.average(variable)

    num_updates: a step counter; the decay is then at most (1 + num_updates) / (10 + num_updates), so that the first averages follow
    quickly. zero_debias: of tensors, averages begin at 0 and are corrected by 1 − decayᵗ.
    """

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        super().__init__()
        self._decay, self._num_updates, self._zero_debias, self._name = decay, num_updates, zero_debias, name

    @property
    def name(self):
        """The name that it was given."""
        return self._name

    def _slot_name(self, variable, name):
        return variable.name.rpartition(":")[0] + f"/{self._name}"

    def _decay_now(self):
        decay = as_float(self._decay)
        if self._num_updates is None:
            return decay
        updates = as_float(self._num_updates)
        return min(decay, (1.0 + updates) / (10.0 + updates))

    def apply(self, var_list=None):
        """Moves each variable's average to its value; the first call makes averages that are the values.

        var_list: variables of floating dtypes; in a tf.Graph, None for the trainable ones. Returns: there the operation that does
        it; elsewhere None. Errors: TypeError for others; ValueError without a list.
        """
        graph = program_graph.current()
        if var_list is None and graph is not None:
            var_list = get_collection(GraphKeys.TRAINABLE_VARIABLES)
        if var_list is None:
            raise ValueError("ExponentialMovingAverage.apply: var_list is None; eager programs have no list of all variables")
        variables = [var_list] if isinstance(var_list, _engine.Variable) else list(var_list)
        for variable in variables:
            if not isinstance(variable, _engine.Variable):
                raise TypeError(f"ExponentialMovingAverage.apply: {variable!r} is not a variable")
            if not variable.dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {variable.name}")
        if graph is not None:
            return program_graph.service("averaged")(self, variables)
        decay = self._decay_now()
        for variable in variables:
            value = variable.read_value()
            if self._zero_debias:
                average = self._slot(variable, "biased", 0.0)
                steps = self._slot(variable, "local_step", tensor(0.0, variable.dtype))
                steps.assign_add(1)
                average.assign(_mixed(decay, average, value))
                kept = op("pow")(tensor(decay, "float64"), op("cast")(steps, "float64"))
                corrected = average.read_value() / op("cast")(1.0 - kept, value.dtype)
                self._slot(variable, "average", corrected).assign(corrected)
            else:
                average = self._slot(variable, "average", value)
                average.assign(_mixed(decay, average, value))
        return None

    def _make_averages(self, variables):
        """The slots that apply() needs, of the current tf.Graph."""
        for variable in variables:
            if self._zero_debias:
                self._slot(variable, "biased", 0.0)
                self._slot(variable, "local_step", tensor(0.0, variable.dtype))
            self._slot(variable, "average", 0.0 if self._zero_debias else variable.initialized_value())
        return [slot for variable, _, slot in self._slots() if any(variable is each for each in variables)]

    def average(self, var):
        """The average beside the variable, a variable; None where there is none."""
        return self._slot_of(var, "average")

    def average_name(self, var):
        """What the variable's average is called."""
        return self._slot_name(var, "average")

    def variables_to_restore(self, moving_avg_variables=None):
        """A dict of averages' names to variables, for a Saver that puts averages in the variables' place."""
        averaged = [variable for variable, name, _ in self._slots() if name == "average"]
        wanted = averaged if moving_avg_variables is None else list(moving_avg_variables)
        return {self.average_name(variable): variable for variable in wanted}


def _mixed(decay, average, value):
    numbers = [tensor(number, value.dtype) for number in (decay, 1.0 - decay)]
    return op("axpby")(numbers[0], average, numbers[1], value)
