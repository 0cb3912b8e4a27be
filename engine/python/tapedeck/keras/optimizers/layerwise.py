"""tf.keras' optimisers whose steps depend on whole variables: Adafactor and LAMB, made of several ops."""
import math

from tapedeck._core.composites import op, tensor
from tapedeck._core.public import public
from tapedeck.keras.optimizers.base import Optimizer
from tapedeck.train.updates import dense

_mean, _maximum, _length = op("reduce_mean"), op("maximum"), op("reduce_euclidean_norm")


def _root_mean_square(x):
    return op("sqrt")(_mean(x * x)) if x.shape.num_elements() != 0 else tensor(0.0, x.dtype)


class _Layerwise(Optimizer):
    """One whose update_step takes the rate as Python's number: a tensor on a GPU would have to be waited for."""

    def _update_all(self, pairs, rate):
        for gradient, variable in pairs:
            self.update_step(dense(gradient, variable), variable, rate)


@public("keras.optimizers.Adafactor")
class Adafactor(_Layerwise):
    """Adafactor: second moments as products of a row and a column. Slots: "row", "column" of variables with at least two axes, else
    "velocity".

    The learning rate is at most 1/√t with relative_step, and is multiplied by the variable's root mean square, at least epsilon_2.
    Source: N. Shazeer, M. Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018, algorithms 4 and 5.
    """

    _config_names = "beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold", "relative_step"

    def __init__(self, learning_rate=0.001, beta_2_decay=-0.8, epsilon_1=1e-30, epsilon_2=1e-3, clip_threshold=1.0,
                 relative_step=True, weight_decay=None, name=None, **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self.beta_2_decay, self.epsilon_1, self.epsilon_2 = beta_2_decay, epsilon_1, epsilon_2
        self.clip_threshold, self.relative_step = clip_threshold, relative_step

    def _create_slots(self, variable):
        shape = list(variable.shape)
        if len(shape) < 2:
            return self._slot(variable, "velocity")
        self._slot(variable, "row", op("zeros")(shape[:-1], dtype=variable.dtype))
        self._slot(variable, "column", op("zeros")(shape[:-2] + shape[-1:], dtype=variable.dtype))

    def update_step(self, gradient, variable, learning_rate):
        step = int(self.iterations) + 1
        rate = float(learning_rate)
        if self._schedule is None and self.relative_step:
            rate = min(rate, 1.0 / math.sqrt(step))
        rate = min(rate, 1.0 / math.sqrt(step)) * _maximum(_root_mean_square(variable.read_value()), self.epsilon_2)
        moment = self._second_moment(gradient * gradient + self.epsilon_1, variable, 1.0 - step ** self.beta_2_decay)
        change = gradient * op("rsqrt")(moment)
        change = change / _maximum(_root_mean_square(change) / self.clip_threshold, 1.0)
        variable.assign_sub(change * rate)

    def _second_moment(self, square, variable, kept):
        def moved(name, estimate):
            slot = self._slot_of(variable, name)
            slot.assign(op("axpby")(tensor(kept, variable.dtype), slot, tensor(1.0 - kept, variable.dtype), estimate))
            return slot.read_value()

        if len(variable.shape) < 2:
            return moved("velocity", square)
        row, column = moved("row", _mean(square, axis=-1)), moved("column", _mean(square, axis=-2))
        row = row / _mean(row, axis=-1, keepdims=True)
        return op("expand_dims")(row, -1) * op("expand_dims")(column, -2)


@public("keras.optimizers.Lamb")
class Lamb(_Layerwise):
    """LAMB: Adam's steps, each variable's as long as the variable times the learning rate. Slots: "momentum", "velocity".

    Source: Y. You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", 2020, algorithm 2.
    """

    _config_names = "beta_1", "beta_2", "epsilon"

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, weight_decay=None, name=None, **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def _create_slots(self, variable):
        self._slot(variable, "momentum")
        self._slot(variable, "velocity")

    def update_step(self, gradient, variable, learning_rate):
        step = int(self.iterations) + 1
        moments = []
        for name, beta, estimate in ("momentum", self.beta_1, gradient), ("velocity", self.beta_2, gradient * gradient):
            slot = self._slot_of(variable, name)
            slot.assign(op("axpby")(tensor(beta, variable.dtype), slot, tensor(1.0 - beta, variable.dtype), estimate))
            moments.append(slot.read_value() / (1.0 - beta ** step))
        change = moments[0] / (op("sqrt")(moments[1]) + self.epsilon)
        own, length = _length(variable.read_value()), _length(change)
        there = op("logical_and")(own > 0, length > 0)
        share = op("where")(there, op("divide_no_nan")(own, length), op("ones_like")(own))
        variable.assign_sub(change * (share * float(learning_rate)))
