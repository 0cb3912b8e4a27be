"""Optimisers of TensorFlow 1's tf.contrib.opt, on the ops of engine/optim."""
from tapedeck._core.arguments import having
from tapedeck._core.public import public
from tapedeck.train.optimizer import Optimizer
from tapedeck.train.optimizers import AdamOptimizer, MomentumOptimizer
from tapedeck.train.steps import ExponentialMovingAverage
from tapedeck.train.updates import as_float, value_of


class _DecoupledDecay(Optimizer):
    """Takes weight_decay of each variable away before its step: of all, or of decay_var_list of minimize() and
    apply_gradients()."""

    def _keep_decay(self, weight_decay):
        self._weight_decay, self._decayed = weight_decay, None

    def minimize(self, loss, global_step=None, var_list=None, gate_gradients=Optimizer.GATE_OP, aggregation_method=None,
                 colocate_gradients_with_ops=False, name=None, grad_loss=None, decay_var_list=None):
        self._decayed = None if decay_var_list is None else {id(variable) for variable in decay_var_list}
        return super().minimize(loss, global_step, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, name,
                                grad_loss)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None, decay_var_list=None):
        if decay_var_list is not None:
            self._decayed = {id(variable) for variable in decay_var_list}
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _decays(self, variable):
        return self._decayed is None or id(variable) in self._decayed


@public("contrib.opt.AdamWOptimizer")
class AdamWOptimizer(_DecoupledDecay, AdamOptimizer):
    """Adam (op adam) that takes weight_decay of each variable away in each step; not times the learning rate.

    Source: I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", 2019.
    """

    def __init__(self, weight_decay, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="AdamW"):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._keep_decay(weight_decay)

    def _apply_all(self, pairs):
        size = self._step_size(float(self._beta1_power), float(self._beta2_power))
        numbers = size, value_of(self._beta1), value_of(self._beta2), value_of(self._epsilon)
        for decay, chosen in ((as_float(self._weight_decay), [pair for pair in pairs if self._decays(pair[1])]),
                              (0.0, [pair for pair in pairs if not self._decays(pair[1])])):
            self._run("adam", chosen, (("m", 0.0), ("v", 0.0)), (*numbers, decay), rows=False)


@public("contrib.opt.MomentumWOptimizer")
class MomentumWOptimizer(_DecoupledDecay, MomentumOptimizer):
    """Momentum (op momentum) that takes weight_decay of each variable away in each step; not times the learning rate."""

    def __init__(self, weight_decay, learning_rate, momentum, use_locking=False, name="MomentumW", use_nesterov=False):
        super().__init__(learning_rate, momentum, use_locking, name, use_nesterov)
        self._keep_decay(weight_decay)

    def _apply_all(self, pairs):
        for _, variable in pairs:
            if self._decays(variable):
                variable.assign_sub(variable * as_float(self._weight_decay))
        super()._apply_all(pairs)


@public("contrib.opt.LazyAdamOptimizer")
class LazyAdamOptimizer(AdamOptimizer):
    """Adam that leaves the rows, and their moments, that an IndexedSlices does not name (op sparse_adam)."""

    _rows = True


@public("contrib.opt.NadamOptimizer")
class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum, of constant beta1 (op nadam). Slots: "m", "v".

    Source: T. Dozat, "Incorporating Nesterov Momentum into Adam", 2016.
    """

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Nadam"):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _apply_all(self, pairs):
        size, beta1 = self._step_size(float(self._beta1_power), float(self._beta2_power)), as_float(self._beta1)
        numbers = size * beta1, size * (1.0 - beta1), beta1, value_of(self._beta2), 1.0, value_of(self._epsilon)
        self._run("nadam", pairs, (("m", 0.0), ("v", 0.0)), numbers, rows=False)


@public("contrib.opt.MovingAverageOptimizer")
class MovingAverageOptimizer(Optimizer):
    """Another optimiser, whose variables' averages are kept (tf.train.ExponentialMovingAverage).

    swap(): averages into the variables and back; average(variable): one of them.
    """

    def __init__(self, opt, average_decay=0.9999, num_updates=None, sequential_update=True):
        super().__init__(False, f"MovingAverage{having(opt, 'MovingAverageOptimizer: opt', 'get_name', 'optimizer').get_name()}")
        self._optimizer, self._average = opt, ExponentialMovingAverage(average_decay, num_updates)
        object.__setattr__(self, "_averaged", [])

    def compute_gradients(self, *args, **kwargs):
        """That of the other optimiser."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """That of the other optimiser; then the averages move."""
        pairs = list(grads_and_vars)
        self._optimizer.apply_gradients(pairs, global_step, name)
        known = {id(variable) for variable in self._averaged}
        object.__setattr__(self, "_averaged", [*self._averaged, *(variable for gradient, variable in pairs
                                                                  if gradient is not None and id(variable) not in known)])
        self._average.apply(self._averaged)

    def average(self, var):
        """The variable's average, a variable; None before the first step."""
        return self._average.average(var)

    def swap(self):
        """Exchanges the variables with their averages; a second call does the same back."""
        for variable in self._averaged:
            average = self._average.average(variable)
            value = variable.read_value()
            variable.assign(average)
            average.assign(value)

    def get_slot(self, var, name):
        """That of the other optimiser."""
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self):
        """Those of the other optimiser."""
        return self._optimizer.get_slot_names()

    def variables(self):
        """The other optimiser's, and the averages."""
        return [*self._optimizer.variables(), *(slot for _, _, slot in self._average._slots())]
