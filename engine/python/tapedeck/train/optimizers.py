"""TensorFlow 1's optimisers: tf.train.GradientDescentOptimizer and its siblings. The formulas are documented with the ops of engine/optim.

Learning rates and other numbers: numbers, scalar tensors or variables, or functions of no arguments that give one.
"""
from tapedeck._core.public import public
from tapedeck.train.optimizer import Optimizer
from tapedeck.train.updates import as_float, number_variable, value_of


@public("train.GradientDescentOptimizer")
class GradientDescentOptimizer(Optimizer):
    """Gradient descent (op gradient_descent)."""

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _apply_all(self, pairs):
        self._run("gradient_descent", pairs, (), (value_of(self._learning_rate),))


@public("train.MomentumOptimizer")
class MomentumOptimizer(Optimizer):
    """Momentum, or Nesterov's (op momentum). Slot: "momentum"."""

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, bool(use_nesterov)

    def _apply_all(self, pairs):
        self._run("momentum", pairs, (("momentum", 0.0),), (value_of(self._learning_rate), value_of(self._momentum)),
                  (self._use_nesterov,))


def _positive(name, value):
    if value <= 0.0:
        raise ValueError(f"{name} must be positive: {value}")
    return float(value)


@public("train.AdagradOptimizer")
class AdagradOptimizer(Optimizer):
    """Adagrad (op adagrad, with epsilon 0). Slot: "accumulator". ValueError for an initial_accumulator_value that is not
    positive."""

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        initial = _positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial

    def _apply_all(self, pairs):
        self._run("adagrad", pairs, (("accumulator", self._initial),), (value_of(self._learning_rate), 0.0))


@public("train.AdagradDAOptimizer")
class AdagradDAOptimizer(Optimizer):
    """Adagrad with dual averaging (op adagrad_da). global_step: the variable that counts the steps.

    Slots: "gradient_accumulator", "gradient_squared_accumulator". ValueError for an initial value that is not positive.
    """

    def __init__(self, learning_rate, global_step, initial_gradient_squared_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="AdagradDA"):
        initial = _positive("initial_gradient_squared_accumulator_value", initial_gradient_squared_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate, self._global_step, self._initial = learning_rate, global_step, initial
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _apply_all(self, pairs):
        slots = ("gradient_accumulator", 0.0), ("gradient_squared_accumulator", self._initial)
        step = as_float(self._global_step) + 1
        self._run("adagrad_da", pairs, slots, (value_of(self._learning_rate), value_of(self._l1), value_of(self._l2), step))


@public("train.AdadeltaOptimizer")
class AdadeltaOptimizer(Optimizer):
    """Adadelta (op adadelta). Slots: "accum", "accum_update"."""

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        super().__init__(use_locking, name)
        self._learning_rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _apply_all(self, pairs):
        numbers = value_of(self._learning_rate), value_of(self._rho), value_of(self._epsilon)
        self._run("adadelta", pairs, (("accum", 0.0), ("accum_update", 0.0)), numbers)


@public("train.RMSPropOptimizer")
class RMSPropOptimizer(Optimizer):
    """RMSProp (ops rms_prop_momentum, centered_rms_prop_momentum). Slots: "rms", of ones at first, "momentum", and "mg" where it is
    centered."""

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False, name="RMSProp"):
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum, self._epsilon = learning_rate, decay, momentum, epsilon
        self._centered = centered

    def _create_slots(self, var_list):
        for variable in var_list:  # in TensorFlow's order, which names them
            self._slot(variable, "rms", 1.0)
            if self._centered:
                self._slot(variable, "mg")

    def _apply_all(self, pairs):
        numbers = value_of(self._learning_rate), value_of(self._decay), value_of(self._momentum), value_of(self._epsilon)
        slots = ("rms", 1.0), ("momentum", 0.0)
        if self._centered:
            self._run("centered_rms_prop_momentum", pairs, (("mg", 0.0), *slots), numbers)
        else:
            self._run("rms_prop_momentum", pairs, slots, numbers)


@public("train.AdamOptimizer")
class AdamOptimizer(Optimizer):
    """Adam with epsilon outside of the bias corrections (op adam).

    Slots: "m", "v"; beta1_power and beta2_power are variables of its own. Rows that an IndexedSlices does not name move along their
    moments, as in TensorFlow; contrib.opt.LazyAdamOptimizer leaves them.
    """

    _rows = False

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._beta1_power = self._beta2_power = None

    def _get_beta_accumulators(self):
        """(beta1_power, beta2_power): beta to the number of the next step."""
        return self._beta1_power, self._beta2_power

    def _create_slots(self, var_list):
        if self._beta1_power is None:
            for name, beta in ("beta1_power", self._beta1), ("beta2_power", self._beta2):
                first = self._restored_value("_" + name)
                first = as_float(beta) if first is None else first
                setattr(self, "_" + name, number_variable(first, name=name, dtype="float64", import_scope=""))

    def _other_variables(self):
        return () if self._beta1_power is None else (self._beta1_power, self._beta2_power)

    def _step_size(self, beta1_power, beta2_power):
        return as_float(self._lr) * (1.0 - beta2_power) ** 0.5 / (1.0 - beta1_power)

    def _apply_all(self, pairs):
        size = self._step_size(float(self._beta1_power), float(self._beta2_power))
        numbers = size, value_of(self._beta1), value_of(self._beta2), value_of(self._epsilon), 0.0
        self._run("adam", pairs, (("m", 0.0), ("v", 0.0)), numbers, rows=self._rows)

    def _finish(self, update_ops, name_scope):
        self._beta1_power.assign(float(self._beta1_power) * as_float(self._beta1))
        self._beta2_power.assign(float(self._beta2_power) * as_float(self._beta2))


@public("train.FtrlOptimizer")
class FtrlOptimizer(Optimizer):
    """FTRL-Proximal (op ftrl). Slots: "accum", "linear".

    Errors: ValueError for a negative initial_accumulator_value or strength, and a positive learning_rate_power.
    """

    def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="Ftrl", accum_name=None, linear_name=None,
                 l2_shrinkage_regularization_strength=0.0):
        super().__init__(use_locking, name)
        check_ftrl(initial_accumulator_value, learning_rate_power, l1_regularization_strength, l2_regularization_strength,
                   l2_shrinkage_regularization_strength)
        self._learning_rate, self._power = learning_rate, float(learning_rate_power)
        self._initial = float(initial_accumulator_value)
        self._numbers = l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength

    def _apply_all(self, pairs):
        name = "ftrl_square_root" if self._power == -0.5 else "ftrl"
        numbers = value_of(self._learning_rate), self._power, *self._numbers
        self._run(name, pairs, (("accum", self._initial), ("linear", 0.0)), numbers)


def check_ftrl(initial, power, l1, l2, shrinkage):
    """Raises TensorFlow's ValueErrors for numbers that FTRL cannot have."""
    if initial < 0.0:
        raise ValueError(f"initial_accumulator_value {initial} needs to be positive or zero")
    if power > 0.0:
        raise ValueError(f"learning_rate_power {power} needs to be negative or zero")
    for name, strength in ("l1_regularization_strength", l1), ("l2_regularization_strength", l2), (
            "l2_shrinkage_regularization_strength", shrinkage):
        if strength < 0.0:
            raise ValueError(f"{name} {strength} needs to be positive or zero")


@public("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with the proximal operator of l1 and l2 (op proximal_gradient_descent)."""

    def __init__(self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
                 name="ProximalGradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate, self._l1, self._l2 = learning_rate, l1_regularization_strength, l2_regularization_strength

    def _apply_all(self, pairs):
        self._run("proximal_gradient_descent", pairs, (), (value_of(self._learning_rate), value_of(self._l1), value_of(self._l2)))


@public("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with the proximal operator of l1 and l2 (op proximal_adagrad). Slot: "accumulator". ValueError for an
    initial_accumulator_value that is not positive."""

    def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0, l2_regularization_strength=0.0,
                 use_locking=False, name="ProximalAdagrad"):
        initial = _positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _apply_all(self, pairs):
        numbers = value_of(self._learning_rate), value_of(self._l1), value_of(self._l2)
        self._run("proximal_adagrad", pairs, (("accumulator", self._initial),), numbers)
