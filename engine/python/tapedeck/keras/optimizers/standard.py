"""tf.keras' optimisers. The formulas are documented with the ops of engine/optim. Arguments after `weight_decay` are Optimizer's."""
import math

from tapedeck._core.public import public
from tapedeck.keras.optimizers.base import Optimizer
from tapedeck.train.optimizers import check_ftrl
from tapedeck.train.updates import number_variable


@public("keras.optimizers.SGD", "keras.optimizers.legacy.SGD")
class SGD(Optimizer):
    """Gradient descent, with momentum or Nesterov's (ops gradient_descent, velocity). Slot: "momentum".

    Errors: ValueError for a momentum outside of [0, 1].
    """

    _config_names = "momentum", "nesterov"

    def __init__(self, learning_rate=0.01, momentum=0.0, nesterov=False, weight_decay=None, name=None, **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        if not isinstance(momentum, (int, float)) or not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be a float between [0, 1].")
        self.momentum, self.nesterov = momentum, nesterov

    def _create_slots(self, variable):
        if self.momentum:
            self._slot(variable, "momentum")

    def _update_all(self, pairs, rate):
        if self.momentum:
            self._run("velocity", pairs, (("momentum", 0.0),), (rate, self.momentum), (bool(self.nesterov),))
        else:
            self._run("gradient_descent", pairs, (), (rate,))


@public("keras.optimizers.RMSprop", "keras.optimizers.legacy.RMSprop")
class RMSprop(Optimizer):
    """RMSProp, centered or not, with momentum or without (ops rms_prop…). Slots: "velocity", "momentum", "average_gradient"."""

    _config_names = "rho", "momentum", "epsilon", "centered"

    def __init__(self, learning_rate=0.001, rho=0.9, momentum=0.0, epsilon=1e-7, centered=False, weight_decay=None, name=None,
                 **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def _slot_spec(self):
        return ((("average_gradient", 0.0),) if self.centered else ()) + (("velocity", 0.0),) + (
            (("momentum", 0.0),) if self.momentum > 0 else ())

    def _create_slots(self, variable):
        for name, initial in self._slot_spec():
            self._slot(variable, name, initial)

    def _update_all(self, pairs, rate):
        op_name = ("centered_" if self.centered else "") + "rms_prop" + ("_momentum" if self.momentum > 0 else "")
        momentum = (self.momentum,) if self.momentum > 0 else ()
        self._run(op_name, pairs, self._slot_spec(), (rate, self.rho, *momentum, self.epsilon))


@public("keras.optimizers.Adagrad", "keras.optimizers.legacy.Adagrad")
class Adagrad(Optimizer):
    """Adagrad (op adagrad). Slot: "accumulator"."""

    _config_names = "initial_accumulator_value", "epsilon"

    def __init__(self, learning_rate=0.001, initial_accumulator_value=0.1, epsilon=1e-7, weight_decay=None, name=None, **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def _create_slots(self, variable):
        self._slot(variable, "accumulator", float(self.initial_accumulator_value))

    def _update_all(self, pairs, rate):
        self._run("adagrad", pairs, (("accumulator", float(self.initial_accumulator_value)),), (rate, self.epsilon))


@public("keras.optimizers.Adadelta", "keras.optimizers.legacy.Adadelta")
class Adadelta(Optimizer):
    """Adadelta (op adadelta). Slots: "accumulated_grad", "accumulated_delta_var"."""

    _config_names = "rho", "epsilon"
    _slot_spec = ("accumulated_grad", 0.0), ("accumulated_delta_var", 0.0)

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-7, weight_decay=None, name=None, **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self.rho, self.epsilon = rho, epsilon

    def _create_slots(self, variable):
        for name, initial in self._slot_spec:
            self._slot(variable, name, initial)

    def _update_all(self, pairs, rate):
        self._run("adadelta", pairs, self._slot_spec, (rate, self.rho, self.epsilon))


@public("keras.optimizers.Adam", "keras.optimizers.legacy.Adam")
class Adam(Optimizer):
    """Adam, or AMSGrad (ops adam, adam_amsgrad). Slots: "momentum", "velocity", "velocity_hat". With weight_decay it is AdamW.

    Rows that an IndexedSlices does not name move along their moments.
    """

    _config_names = "beta_1", "beta_2", "epsilon", "amsgrad"
    _decays_itself = True

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, weight_decay=None, name=None,
                 **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self.beta_1, self.beta_2, self.epsilon, self.amsgrad = beta_1, beta_2, epsilon, amsgrad

    def _slot_spec(self):
        return (("momentum", 0.0), ("velocity", 0.0)) + ((("velocity_hat", 0.0),) if self.amsgrad else ())

    def _create_slots(self, variable):
        for name, initial in self._slot_spec():
            self._slot(variable, name, initial)

    def _update_all(self, pairs, rate):
        step = int(self.iterations) + 1
        size = rate * math.sqrt(1.0 - self.beta_2 ** step) / (1.0 - self.beta_1 ** step)
        numbers = size, self.beta_1, self.beta_2, self.epsilon
        for chosen, decay in _by_decay(self, pairs, rate):
            self._run("adam_amsgrad" if self.amsgrad else "adam", chosen, self._slot_spec(), (*numbers, decay), rows=False)


def _by_decay(optimizer, pairs, rate):
    """The pairs whose variables decay, with the part that they lose, and the others, with 0: those of the two that there are."""
    if not optimizer.weight_decay:
        return [(pairs, 0.0)]
    decaying = [pair for pair in pairs if optimizer._use_weight_decay(pair[1])]
    others = [pair for pair in pairs if not optimizer._use_weight_decay(pair[1])]
    return [(chosen, decay) for chosen, decay in ((decaying, float(optimizer.weight_decay) * rate), (others, 0.0)) if chosen]


@public("keras.optimizers.AdamW")
class AdamW(Adam):
    """Adam with decoupled weight decay (op adam): each step takes learning_rate·weight_decay of the variable away.

    Source: I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", 2019. ValueError for a weight_decay of None.
    """

    def __init__(self, learning_rate=0.001, weight_decay=0.004, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, name=None,
                 **kwargs):
        if weight_decay is None:
            raise ValueError("Argument `weight_decay` must be a float. Received: weight_decay=None")
        super().__init__(learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay, name=name, **kwargs)


@public("keras.optimizers.Adamax", "keras.optimizers.legacy.Adamax")
class Adamax(Optimizer):
    """Adamax (op adamax). Slots: "momentum", "norm"."""

    _config_names = "beta_1", "beta_2", "epsilon"
    _slot_spec = ("momentum", 0.0), ("norm", 0.0)

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, weight_decay=None, name=None, **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def _create_slots(self, variable):
        for name, initial in self._slot_spec:
            self._slot(variable, name, initial)

    def _update_all(self, pairs, rate):
        size = rate / (1.0 - self.beta_1 ** (int(self.iterations) + 1))
        self._run("adamax", pairs, self._slot_spec, (size, self.beta_1, self.beta_2, self.epsilon))


@public("keras.optimizers.Nadam", "keras.optimizers.legacy.Nadam")
class Nadam(Optimizer):
    """Adam with Nesterov's momentum (op nadam), of the momentum beta_1·(1 − ½·0.96ᵗ). Slots: "momentum", "velocity".

    Rows that an IndexedSlices does not name move along their moments.
    """

    _config_names = "beta_1", "beta_2", "epsilon"
    _slot_spec = ("momentum", 0.0), ("velocity", 0.0)

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, weight_decay=None, name=None, **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self._product = None  # of the momenta so far, a variable

    def build(self, variables):
        if self._product is None:
            first = self._restored_value("_product")
            self._product = number_variable(1.0 if first is None else first, dtype="float64", name=f"{self.name}/momentum_product",
                                            import_scope="")
        super().build(variables)

    def _create_slots(self, variable):
        for name, initial in self._slot_spec:
            self._slot(variable, name, initial)

    def _momentum(self, step):
        return self.beta_1 * (1.0 - 0.5 * 0.96 ** step)

    def _update_all(self, pairs, rate):
        step = int(self.iterations) + 1
        now, then = self._momentum(step), self._momentum(step + 1)
        product = float(self._product) * now
        self._product.assign(product)
        numbers = (rate * then / (1.0 - product * then), rate * (1.0 - now) / (1.0 - product), self.beta_1, self.beta_2,
                   1.0 - self.beta_2 ** step, self.epsilon)
        self._run("nadam", pairs, self._slot_spec, numbers, rows=False)


@public("keras.optimizers.Ftrl", "keras.optimizers.legacy.Ftrl")
class Ftrl(Optimizer):
    """FTRL-Proximal (op ftrl). Slots: "accumulator", "linear".

    Errors: ValueError for a negative initial_accumulator_value or strength, and a positive learning_rate_power.
    """

    _config_names = ("learning_rate_power", "initial_accumulator_value", "l1_regularization_strength", "l2_regularization_strength",
                     "l2_shrinkage_regularization_strength", "beta")

    def __init__(self, learning_rate=0.001, learning_rate_power=-0.5, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, l2_shrinkage_regularization_strength=0.0, beta=0.0, weight_decay=None, name=None,
                 **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        check_ftrl(initial_accumulator_value, learning_rate_power, l1_regularization_strength, l2_regularization_strength,
                   l2_shrinkage_regularization_strength)
        self.learning_rate_power, self.initial_accumulator_value, self.beta = learning_rate_power, initial_accumulator_value, beta
        self.l1_regularization_strength, self.l2_regularization_strength = l1_regularization_strength, l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def _slot_spec(self):
        return ("accumulator", float(self.initial_accumulator_value)), ("linear", 0.0)

    def _create_slots(self, variable):
        for name, initial in self._slot_spec():
            self._slot(variable, name, initial)

    def _update_all(self, pairs, rate):
        op_name = "ftrl_square_root" if self.learning_rate_power == -0.5 else "ftrl"
        l2 = self.l2_regularization_strength + self.beta / (2.0 * rate)
        self._run(op_name, pairs, self._slot_spec(), (rate, self.learning_rate_power, self.l1_regularization_strength, l2,
                                                      self.l2_shrinkage_regularization_strength))


@public("keras.optimizers.Lion")
class Lion(Optimizer):
    """Lion (op lion). Slot: "momentum". ValueError for a beta_1 outside of (0, 1]."""

    _config_names = "beta_1", "beta_2"
    _decays_itself = True

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.99, weight_decay=None, name=None, **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        if not 0 < beta_1 <= 1:
            raise ValueError("Argument `beta_1` must be in the [0, 1] range. Otherwise, the optimizer degenerates to SignSGD. "
                             f"Received: beta_1={beta_1}.")
        self.beta_1, self.beta_2 = beta_1, beta_2

    def _create_slots(self, variable):
        self._slot(variable, "momentum")

    def _update_all(self, pairs, rate):
        for chosen, decay in _by_decay(self, pairs, rate):
            self._run("lion", chosen, (("momentum", 0.0),), (rate, self.beta_1, self.beta_2, decay), rows=False)
