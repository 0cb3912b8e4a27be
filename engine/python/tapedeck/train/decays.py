"""TensorFlow 1's decaying learning rates.

Each is what it is at the step: `rate()` and float(rate) read global_step anew, so an optimiser that is given one follows its steps;
where a tensor is needed the rate of the moment is taken.
"""
import bisect
import math

import numpy as np

from tapedeck import _engine
from tapedeck._core import context, program_graph
from tapedeck._core.composites import tensor
from tapedeck._core.public import public
from tapedeck.train.updates import as_float, of_each


class DecayedRate:
    """A learning rate that depends on a step counter; of several steps an array of rates, in their shape."""

    def __init__(self, name, function):
        self._name, self._function = name, function

    def __call__(self):
        """The rate now, float32."""
        return _engine.constant(self._function(), "float32", None)

    def numpy(self):
        """The rate now, of NumPy's float32."""
        return np.float32(self._function())

    def __float__(self):
        return float(self._function())

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype)

    def __repr__(self):
        now = self.numpy()
        return f"<{self._name}: {f'{float(now):.8g}' if not now.ndim else f'shape {now.shape}'} now>"

    def __mul__(self, other):
        return self() * other

    __rmul__ = __mul__

    def __add__(self, other):
        return self() + other

    __radd__ = __add__

    def __sub__(self, other):
        return self() - other

    def __rsub__(self, other):
        return other - self()

    def __truediv__(self, other):
        return self() / other

    def __rtruediv__(self, other):
        return other / self()


def _decay(name, global_step, function):
    """The rate function(step), or one for each of several steps. ValueError without global_step."""
    if global_step is None:
        raise ValueError(f"global_step is required for {name}.")
    rate = DecayedRate(name, lambda: of_each(function, global_step))
    if program_graph.current() is None or isinstance(global_step, (int, float)):
        return rate
    if isinstance(global_step, _engine.Variable):  # a session has given it a value before
        return _engine.graph_host_call(name, lambda _: [rate()], [global_step.read_value()], [("float32", global_step.shape)])[0]

    def at(tensors):
        return [_engine.constant(of_each(function, tensors[0]), "float32", None)]

    return _engine.graph_host_call(name, at, [tensor(global_step)], [("float32", global_step.shape)])[0]


@public("train.exponential_decay")
def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate·decay_rate^(global_step / decay_steps); the exponent is cut to an integer with staircase.

    All numbers may be tensors, variables or functions. Errors: ValueError without global_step.
    """
    def rate(step):
        exponent = step / as_float(decay_steps)
        return as_float(learning_rate) * as_float(decay_rate) ** (math.floor(exponent) if staircase else exponent)

    return _decay("exponential_decay", global_step, rate)


@public("train.natural_exp_decay")
def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate·exp(−decay_rate·global_step / decay_steps). The arguments are exponential_decay's."""
    def rate(step):
        exponent = step / as_float(decay_steps)
        return as_float(learning_rate) * math.exp(-as_float(decay_rate) * (math.floor(exponent) if staircase else exponent))

    return _decay("natural_exp_decay", global_step, rate)


@public("train.inverse_time_decay")
def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate / (1 + decay_rate·global_step / decay_steps). The arguments are exponential_decay's."""
    def rate(step):
        quotient = step / as_float(decay_steps)
        return as_float(learning_rate) / (1.0 + as_float(decay_rate) * (math.floor(quotient) if staircase else quotient))

    return _decay("inverse_time_decay", global_step, rate)


def _dtype_of(number):
    """What value_of reads has it no more."""
    if callable(number) and not isinstance(number, (_engine.Tensor, _engine.Variable)):
        number = number()
    return number.dtype if isinstance(number, (_engine.Tensor, _engine.Variable)) else tensor(number).dtype


@public("train.piecewise_constant", "train.piecewise_constant_decay")
def piecewise_constant(x, boundaries, values, name=None):
    """values[0] for x up to boundaries[0], then values[1] up to boundaries[1], …; the last for what is above.

    x: a step counter. Errors: ValueError where there is not one value more than boundaries, where boundaries are of another dtype
    than x (int32 becomes int64), and where values are not of one dtype.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values; there are "
                         f"{len(boundaries)} and {len(values)}")
    dtype = _dtype_of(x)
    for boundary in map(tensor, boundaries):
        if boundary.dtype != dtype and (boundary.dtype.name, dtype.name) != ("int32", "int64"):
            raise ValueError(f"Boundaries ({boundary.dtype.name}) must have the same dtype as x ({dtype.name}).")
    kinds = {_dtype_of(value).name for value in values}
    if len(kinds) > 1:
        raise ValueError(f"Values must have elements all with the same dtype; they are {', '.join(sorted(kinds))}")
    limits = [as_float(boundary) for boundary in boundaries]
    return _decay("piecewise_constant", x, lambda step: as_float(values[bisect.bisect_left(limits, step)]))


@public("train.polynomial_decay")
def polynomial_decay(learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, name=None):
    """From learning_rate to end_learning_rate in decay_steps: (learning_rate − end)·(1 − step / decay_steps)^power + end.

    cycle: goes up again after decay_steps, to twice, three times … their number. Errors: ValueError without global_step.
    """
    def rate(step):
        first, last, steps = as_float(learning_rate), as_float(end_learning_rate), as_float(decay_steps)
        if cycle:
            steps *= max(1.0, math.ceil(step / steps))
        return (first - last) * (1.0 - min(step, steps) / steps) ** as_float(power) + last

    return _decay("polynomial_decay", global_step, rate)


@public("train.cosine_decay")
def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    """learning_rate·((1 − alpha)·½(1 + cos(π·step / decay_steps)) + alpha); alpha of it from decay_steps on.

    Source: I. Loshchilov, F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, equation 5.
    Errors: ValueError without global_step.
    """
    def rate(step):
        steps, least = as_float(decay_steps), as_float(alpha)
        cosine = 0.5 * (1.0 + math.cos(math.pi * min(step, steps) / steps))
        return as_float(learning_rate) * ((1.0 - least) * cosine + least)

    return _decay("cosine_decay", global_step, rate)


def restart(fraction, t_mul):
    """(the fraction of the period that the step is in, the period's number) of a step that is `fraction` first periods long; each
    period is t_mul times as long as the one before."""
    if t_mul == 1.0:
        number = math.floor(fraction)
        return fraction - number, number
    number = math.floor(math.log(1.0 - fraction * (1.0 - t_mul)) / math.log(t_mul))
    before = (1.0 - t_mul ** number) / (1.0 - t_mul)
    return (fraction - before) / t_mul ** number, number


@public("train.cosine_decay_restarts")
def cosine_decay_restarts(learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None):
    """Cosine decays one after another, each t_mul times as long as the one before, and from m_mul times as high.

    Source: Loshchilov, Hutter, as cosine_decay. Errors: ValueError without global_step.
    """
    def rate(step):
        fraction, number = restart(step / as_float(first_decay_steps), as_float(t_mul))
        least = as_float(alpha)
        cosine = 0.5 * as_float(m_mul) ** number * (1.0 + math.cos(math.pi * fraction))
        return as_float(learning_rate) * ((1.0 - least) * cosine + least)

    return _decay("cosine_decay_restarts", global_step, rate)


@public("train.linear_cosine_decay")
def linear_cosine_decay(learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None):
    """learning_rate·((alpha + 1 − step / decay_steps)·½(1 + cos(2π·num_periods·step / decay_steps)) + beta).

    Source: I. Bello, B. Zoph, V. Vasudevan, Q. V. Le, "Neural Optimizer Search with Reinforcement Learning", 2017.
    Errors: ValueError without global_step.
    """
    def rate(step):
        steps = as_float(decay_steps)
        fraction = min(step, steps) / steps
        cosine = 0.5 * (1.0 + math.cos(2.0 * math.pi * as_float(num_periods) * fraction))
        return as_float(learning_rate) * ((as_float(alpha) + 1.0 - fraction) * cosine + as_float(beta))

    return _decay("linear_cosine_decay", global_step, rate)


@public("train.noisy_linear_cosine_decay")
def noisy_linear_cosine_decay(learning_rate, global_step, decay_steps, initial_variance=1.0, variance_decay=0.55, num_periods=0.5,
                              alpha=0.0, beta=0.001, name=None):
    """linear_cosine_decay with a normal number of variance initial_variance / (1 + step)^variance_decay added to its linear part.

    Errors: ValueError without global_step.
    """
    def rate(step):
        steps = as_float(decay_steps)
        capped = min(step, steps)
        variance = as_float(initial_variance) / (1.0 + capped) ** as_float(variance_decay)
        with context.device("/cpu:0"):
            noise = float(_engine.op_function("random_normal")([], dtype="float64")) * variance ** 0.5
        fraction = capped / steps
        cosine = 0.5 * (1.0 + math.cos(2.0 * math.pi * as_float(num_periods) * fraction))
        return as_float(learning_rate) * ((as_float(alpha) + 1.0 - fraction + noise) * cosine + as_float(beta))

    return _decay("noisy_linear_cosine_decay", global_step, rate)
