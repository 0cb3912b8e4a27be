"""tf.keras.optimizers.schedules: learning rates as functions of the step."""
import bisect
import math

import numpy as np

from tapedeck import _engine
from tapedeck._core.public import public
from tapedeck.keras import named_objects as _named_objects
from tapedeck.keras.settings import floatx
from tapedeck.train.decays import restart
from tapedeck.train.updates import of_each


@public("keras.optimizers.schedules.LearningRateSchedule")
class LearningRateSchedule:
    """A base of schedules: called with a step, a number or a scalar tensor, they give the rate; of an array or a tensor of steps one
    rate for each. Own ones override __call__ and get_config()."""

    def __call__(self, step):
        raise NotImplementedError(f"Learning rate schedule '{type(self).__name__}' must override `__call__(self, step)`.")

    def get_config(self):
        """The arguments that it was made with, by name."""
        raise NotImplementedError(f"Learning rate schedule '{type(self).__name__}' must override `get_config()` in order to be "
                                  "serializable.")

    @classmethod
    def from_config(cls, config):
        """The schedule of these arguments."""
        return cls(**config)


class _Schedule(LearningRateSchedule):
    """One whose rate is a function of Python's floats: _rate(step)."""

    _names = ()

    def __call__(self, step):
        return _engine.constant(of_each(self._rate, step), floatx(), None)

    def get_config(self):
        return {name: getattr(self, name) for name in (*self._names, "name")}


def _plain(value):
    """A number as Python's, so that configs may be written as JSON."""
    return value.item() if isinstance(value, np.generic) else value


@public("keras.optimizers.schedules.ExponentialDecay")
class ExponentialDecay(_Schedule):
    """initial_learning_rate·decay_rate^(step / decay_steps); the exponent is cut to an integer with staircase. ValueError for
    decay_steps that are not positive."""

    _names = "initial_learning_rate", "decay_steps", "decay_rate", "staircase"

    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False, name="ExponentialDecay"):
        self.initial_learning_rate, self.decay_steps, self.decay_rate = map(_plain, (initial_learning_rate, decay_steps, decay_rate))
        self.staircase, self.name = staircase, name
        _require_positive("decay_steps", decay_steps)

    def _rate(self, step):
        exponent = step / self.decay_steps
        return self.initial_learning_rate * self.decay_rate ** (math.floor(exponent) if self.staircase else exponent)


@public("keras.optimizers.schedules.InverseTimeDecay")
class InverseTimeDecay(_Schedule):
    """initial_learning_rate / (1 + decay_rate·step / decay_steps); the quotient is cut to an integer with staircase. ValueError
    for decay_steps that are not positive."""

    _names = ExponentialDecay._names

    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False, name="InverseTimeDecay"):
        self.initial_learning_rate, self.decay_steps, self.decay_rate = map(_plain, (initial_learning_rate, decay_steps, decay_rate))
        self.staircase, self.name = staircase, name
        _require_positive("decay_steps", decay_steps)

    def _rate(self, step):
        quotient = step / self.decay_steps
        return self.initial_learning_rate / (1.0 + self.decay_rate * (math.floor(quotient) if self.staircase else quotient))


@public("keras.optimizers.schedules.PiecewiseConstantDecay")
class PiecewiseConstantDecay(_Schedule):
    """values[0] for steps up to boundaries[0], then values[1] up to boundaries[1], …; the last above. ValueError where there is not
    one value more than boundaries."""

    _names = "boundaries", "values"

    def __init__(self, boundaries, values, name="PiecewiseConstant"):
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values. Received: "
                             f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of length {len(values)}.")
        self.boundaries, self.values, self.name = [*map(_plain, boundaries)], [*map(_plain, values)], name

    def _rate(self, step):
        return self.values[bisect.bisect_left(self.boundaries, step)]


@public("keras.optimizers.schedules.PolynomialDecay")
class PolynomialDecay(_Schedule):
    """From initial_learning_rate to end_learning_rate in decay_steps: (initial − end)·(1 − step / decay_steps)^power + end. cycle:
    again from decay_steps on, over twice, three times … their number. ValueError for decay_steps that are not positive."""

    _names = "initial_learning_rate", "decay_steps", "end_learning_rate", "power", "cycle"

    def __init__(self, initial_learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, name="PolynomialDecay"):
        self.initial_learning_rate, self.decay_steps = _plain(initial_learning_rate), _plain(decay_steps)
        self.end_learning_rate, self.power, self.cycle, self.name = _plain(end_learning_rate), _plain(power), cycle, name
        _require_positive("decay_steps", decay_steps)

    def _rate(self, step):
        steps = self.decay_steps * (max(1.0, math.ceil(step / self.decay_steps)) if self.cycle else 1.0)
        part = (1.0 - min(step, steps) / steps) ** self.power
        return (self.initial_learning_rate - self.end_learning_rate) * part + self.end_learning_rate


@public("keras.optimizers.schedules.CosineDecay")
class CosineDecay(_Schedule):
    """Down half a cosine, from initial_learning_rate to alpha of it in decay_steps; with warmup_target up to that in a straight
    line first, in warmup_steps, and down from there. (Loshchilov, Hutter 2017, equation 5.) ValueError for decay_steps that are not
    positive."""

    _names = "initial_learning_rate", "decay_steps", "alpha", "warmup_target", "warmup_steps"

    def __init__(self, initial_learning_rate, decay_steps, alpha=0.0, name="CosineDecay", warmup_target=None, warmup_steps=0):
        self.initial_learning_rate, self.decay_steps, self.alpha = _plain(initial_learning_rate), _plain(decay_steps), _plain(alpha)
        self.warmup_target, self.warmup_steps, self.name = _plain(warmup_target), _plain(warmup_steps), name
        _require_positive("decay_steps", decay_steps)

    def _rate(self, step):
        highest = self.initial_learning_rate
        if self.warmup_target is not None:
            highest = self.warmup_target
            if step < self.warmup_steps:
                return self.initial_learning_rate + (highest - self.initial_learning_rate) * step / self.warmup_steps
            step -= self.warmup_steps
        cosine = 0.5 * (1.0 + math.cos(math.pi * min(step, self.decay_steps) / self.decay_steps))
        return highest * ((1.0 - self.alpha) * cosine + self.alpha)


@public("keras.optimizers.schedules.CosineDecayRestarts")
class CosineDecayRestarts(_Schedule):
    """Cosine decays one after another, each t_mul times as long as the one before, and from m_mul times as high. (Loshchilov,
    Hutter 2017.) ValueError for first_decay_steps that are not positive."""

    _names = "initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha"

    def __init__(self, initial_learning_rate, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name="SGDRDecay"):
        self.initial_learning_rate, self.first_decay_steps = _plain(initial_learning_rate), _plain(first_decay_steps)
        self.t_mul, self.m_mul, self.alpha, self.name = _plain(t_mul), _plain(m_mul), _plain(alpha), name
        _require_positive("first_decay_steps", first_decay_steps)

    def _rate(self, step):
        fraction, number = restart(step / self.first_decay_steps, self.t_mul)
        cosine = 0.5 * self.m_mul ** number * (1.0 + math.cos(math.pi * fraction))
        return self.initial_learning_rate * ((1.0 - self.alpha) * cosine + self.alpha)


def _require_positive(name, number):
    if number <= 0:
        raise ValueError(f"Argument `{name}` must be > 0. Received: {name}={number}")


_named = {kind.__name__: kind for kind in (ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay, PolynomialDecay, CosineDecay,
                                           CosineDecayRestarts)}


@public("keras.optimizers.schedules.serialize")
def serialize(learning_rate_schedule):
    """A schedule as {"class_name", "config"}."""
    return _named_objects.serialize(learning_rate_schedule)


@public("keras.optimizers.schedules.deserialize")
def deserialize(config, custom_objects=None):
    """The schedule of what serialize() returned. ValueError for a class that none has."""
    return _named_objects.found(config, _named, "learning rate schedule", custom_objects)
