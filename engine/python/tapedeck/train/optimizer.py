"""tf.train.Optimizer: TensorFlow 1's interface of optimisers."""
import inspect

from tapedeck import _engine
from tapedeck._core import program_graph
from tapedeck._core.indexed_slices import IndexedSlices
from tapedeck._core.public import public
from tapedeck._functions.host import called_by_graph
from tapedeck._gradients.tape import GradientTape
from tapedeck.train.updates import dense, SlotUpdater, value_of


def _takes(loss, count):
    """Whether the function needs as many arguments as there are variables, and not none."""
    try:
        signature = inspect.signature(loss)
    except (TypeError, ValueError):
        return False
    needed = [each for each in signature.parameters.values()
              if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return 0 < len(needed) <= count


def _names(variables):
    return [f"<tf.Variable '{variable.name}' shape={tuple(variable.shape)} dtype={variable.dtype.name}>" for variable in variables]


@public("train.Optimizer")
class Optimizer(SlotUpdater):
    """A base of optimisers: those of tf.train, and users' own.

        optimizer = tf.train.AdamOptimizer(1e-3)
        optimizer.minimize(lambda: loss(model), global_step=tf.train.get_or_create_global_step())
        optimizer.apply_gradients(tfe.implicit_gradients(loss)(model))

    Own ones override _apply_dense(gradient, variable) (or _resource_apply_dense) and, for IndexedSlices,
    _apply_sparse(gradient, variable); and where they need to _create_slots(variables), _prepare() and
    _finish(update_ops, name_scope). _zeros_slot and _get_or_make_slot make slots there.
    name: in front of what the slots are called; use_locking changes nothing.
    Errors: ValueError for no name.
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking, name):
        if not name:
            raise ValueError("Must specify the optimizer name")
        super().__init__()
        self._name, self._use_locking = name, use_locking

    def get_name(self):
        """The name that it was given."""
        return self._name

    def minimize(self, loss, global_step=None, var_list=None, gate_gradients=GATE_OP, aggregation_method=None,
                 colocate_gradients_with_ops=False, name=None, grad_loss=None):
        """compute_gradients() and apply_gradients() with the same arguments.

        Errors: theirs; ValueError where no variable has a gradient.
        """
        pairs = self.compute_gradients(loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss)
        if not any(gradient is not None for gradient, _ in pairs):
            raise ValueError("No gradients provided for any variable, check your graph for ops that do not support gradients, "
                             f"between variables {_names(variable for _, variable in pairs)} and loss {loss}.")
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(self, loss, var_list=None, gate_gradients=GATE_OP, aggregation_method=None,
                          colocate_gradients_with_ops=False, grad_loss=None):
        """A list of (gradient, variable). The gradient is None where the loss does not depend on the variable.

        loss: in a tf.Graph a tensor; elsewhere a function that returns a tensor, of no arguments, or of the variables in var_list
        (TensorFlow 1.5); var_list: None for all trainable variables that it reads, in a graph for all that are trainable, in the order
        of their construction; grad_loss: weights of the loss's elements. The others change nothing.
        Errors: RuntimeError for a loss that is not a function; ValueError for another gate_gradients.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError("gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH. "
                             f"Not {gate_gradients}")
        if program_graph.current() is not None:
            return program_graph.service("compute_gradients")(loss, var_list, grad_loss)
        if not callable(loss) or isinstance(loss, (_engine.Tensor, _engine.Variable)):
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled.")
        with GradientTape() as tape:
            if var_list is not None:
                var_list = [var_list] if isinstance(var_list, _engine.Variable) else list(var_list)
                tape.watch(var_list)
            value = loss() if var_list is None or not _takes(loss, len(var_list)) else loss(*var_list)
        variables = list(tape.watched_variables()) if var_list is None else var_list
        if not variables:
            raise ValueError("No variables to optimize.")
        return list(zip(tape.gradient(value, variables, grad_loss), variables))

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Updates the variables; a gradient of None leaves its variable. global_step: a variable that 1 is added to, or None.

        Returns: in a tf.Graph the operation that does it; elsewhere None.
        Errors: ValueError where there is no pair, and where all gradients are None; TypeError for a value that is not a gradient;
        NotImplementedError for a value that is not a variable.
        """
        pairs = [(_gradient(gradient, variable), variable) for gradient, variable in grads_and_vars]
        for _, variable in pairs:
            if not isinstance(variable, _engine.Variable):
                raise NotImplementedError(f"Trying to update a Tensor {variable}: apply_gradients changes variables")
        if not pairs:
            raise ValueError("No variables provided.")
        wanted = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        if not wanted:
            raise ValueError(f"No gradients provided for any variable: {_names(variable for _, variable in pairs)}.")
        if program_graph.current() is not None:
            return program_graph.service("apply_gradients")(self, wanted, global_step, name)
        if called_by_graph("apply_gradients", lambda values: self.apply_gradients(
                list(zip(values, [variable for _, variable in wanted])), global_step), [gradient for gradient, _ in wanted]):
            return None
        self._create_slots([variable for _, variable in wanted])
        self._prepare()
        updated = self._apply_all(wanted)
        self._finish(updated, name)
        for _, variable in wanted:
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable.read_value()))
        if global_step is not None:
            global_step.assign_add(1)
        return None

    def get_slot(self, var, name):
        """The slot of that name beside the variable, a variable; None where there is none."""
        return self._slot_of(var, name)

    def get_slot_names(self):
        """The names of the slots, sorted."""
        return sorted(self._slot_table)

    def variables(self):
        """The optimiser's own variables: its slots, and others, by name."""
        return sorted([*self._other_variables(), *(slot for _, _, slot in self._slots())], key=lambda variable: variable.name)

    def _other_variables(self):
        """Variables of the optimiser that are not slots."""
        return ()

    def _builds_updates(self):
        """Whether users' functions say in ops how variables are updated: a graph has them itself then."""
        return type(self)._apply_all is Optimizer._apply_all

    def _apply_all(self, pairs):
        """What becomes of (gradient, variable) pairs; users' classes override the functions that it calls."""
        return [self._apply_rows(gradient, variable) if isinstance(gradient, IndexedSlices) else self._apply_one(gradient, variable)
                for gradient, variable in pairs]

    def _apply_one(self, gradient, variable):
        if type(self)._resource_apply_dense is not Optimizer._resource_apply_dense:
            return self._resource_apply_dense(gradient, variable)
        return self._apply_dense(gradient, variable)

    def _apply_rows(self, gradient, variable):
        kind = type(self)
        if kind._resource_apply_sparse is not Optimizer._resource_apply_sparse:
            rows, own = _engine.op_function("unique")(gradient.indices)
            summed = _engine.op_function("unsorted_segment_sum")(gradient.values, own, rows.shape[0])
            return self._resource_apply_sparse(summed, variable, rows)
        if kind._apply_sparse is not Optimizer._apply_sparse:
            return self._apply_sparse(gradient, variable)
        return self._apply_one(dense(gradient, variable), variable)

    def _apply_dense(self, grad, var):
        raise NotImplementedError(f"{type(self).__name__} does not say how a gradient is applied: _apply_dense")

    def _resource_apply_dense(self, grad, handle):
        raise NotImplementedError(f"{type(self).__name__} does not say how a gradient is applied: _resource_apply_dense")

    def _apply_sparse(self, grad, var):
        raise NotImplementedError(f"{type(self).__name__} does not say how rows are updated: _apply_sparse")

    def _resource_apply_sparse(self, grad, handle, indices):
        raise NotImplementedError(f"{type(self).__name__} does not say how rows are updated: _resource_apply_sparse")

    def _create_slots(self, var_list):
        """Before the first update of variables."""

    def _prepare(self):
        """Before each update: where hyperparameters become tensors."""

    def _finish(self, update_ops, name_scope):
        """After all variables' updates."""

    def _call_if_callable(self, param):
        return value_of(param)

    def _zeros_slot(self, var, slot_name, op_name):
        """The slot of that name, of zeros at first."""
        return self._slot(var, slot_name)

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        """The slot of that name, of `val` at first."""
        return self._slot(var, slot_name, val)

    def _slot_name(self, variable, name):
        """As TensorFlow 1 calls them: "w/Adam", "w/Adam_1"."""
        taken = sum(id(variable) in slots for slots in self._slot_table.values())
        return variable.name.rpartition(":")[0] + f"/{self._name}" + (f"_{taken}" if taken else "")


def _gradient(gradient, variable):
    if gradient is None or isinstance(gradient, (_engine.Tensor, IndexedSlices)):
        return gradient
    try:
        return _engine.convert_to_tensor(gradient, variable.dtype, None)
    except TypeError:
        raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {gradient}") from None
