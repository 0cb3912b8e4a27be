"""Layers that are active in training only: noise and dropout."""
import math

from tapedeck._core.composites import in_dtype, op as _op
from tapedeck._core.extents import extents
from tapedeck._core.public import public
from tapedeck._nn import functions as nn
from tapedeck._random import distributions as random
from tapedeck.keras import regularizers
from tapedeck.keras.layers import sizes
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.input_spec import InputSpec
from tapedeck.keras.layers.weights import described


class _Noisy(Layer):
    """A layer that is active in training only."""

    _arguments = ()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        vars(self)["_built"] = True

    def call(self, inputs, training=False):
        return self._disturbed(inputs) if training else inputs

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)

    def get_config(self):
        return {**super().get_config(), **described(self, *self._arguments)}


def _share(rate, whole_too=True):
    """A rate as a number. ValueError outside of [0, 1], or [0, 1)."""
    try:
        found = float(rate)
    except (TypeError, ValueError):
        found = -1.
    if not 0 <= found <= 1 or found == 1 and not whole_too:
        raise ValueError(f"Invalid value received for argument `rate`. Expected a float value between 0 and 1. Received: "
                         f"rate={rate}")
    return rate


@public("keras.layers.Dropout")
class Dropout(_Noisy):
    """In training, sets each element to 0 with probability `rate`, and divides the others by 1 − rate.

    noise_shape: the shape of the choices, which broadcast to the inputs; None in it for an extent of the inputs. seed: a whole
    number for the same choices in each run. ValueError for a rate outside of [0, 1].
    """

    _arguments = "rate", "noise_shape", "seed"

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = _share(rate), noise_shape, seed

    def _noise_shape(self, inputs):
        return self.noise_shape

    def _disturbed(self, inputs):
        if self.rate == 1:
            return _op("zeros_like")(inputs)
        return nn.dropout(inputs, rate=self.rate, noise_shape=self._noise_shape(inputs), seed=self.seed)


class SpatialDropout(Dropout):
    """In training, sets whole channels of an example to 0 with probability `rate`, and divides the others by 1 − rate.

    data_format: where the channels are; seed: an integer for the same choices in each run.
    """

    _rank, _arguments = 2, ("rate", "seed", "data_format")

    def __init__(self, rate, data_format=None, seed=None, name=None, dtype=None, **kwargs):
        super().__init__(rate, seed=seed, name=name, dtype=dtype, **kwargs)
        self.data_format = sizes.data_format_of(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _noise_shape(self, inputs):
        shape, ones = inputs.shape, [1] * self._rank
        return [*shape[:2], *ones] if self.data_format == "channels_first" else [shape[0], *ones, shape[-1]]


@public("keras.layers.SpatialDropout1D")
class SpatialDropout1D(SpatialDropout):
    __doc__ = SpatialDropout.__doc__.replace("data_format: where the channels are; ", "")
    _rank, _arguments = 1, ("rate", "seed")

    def __init__(self, rate, seed=None, name=None, dtype=None, **kwargs):
        super().__init__(rate, "channels_last", seed, name, dtype, **kwargs)


@public("keras.layers.SpatialDropout2D")
class SpatialDropout2D(SpatialDropout):
    __doc__ = SpatialDropout.__doc__


@public("keras.layers.SpatialDropout3D")
class SpatialDropout3D(SpatialDropout):
    __doc__ = SpatialDropout.__doc__
    _rank = 3


@public("keras.layers.GaussianNoise")
class GaussianNoise(_Noisy):
    """In training, adds normal noise of this standard deviation. ValueError for one below 0."""

    _arguments = "stddev", "seed"

    def __init__(self, stddev, seed=None, **kwargs):
        super().__init__(**kwargs)
        if stddev < 0:
            raise ValueError(f"Invalid value received for argument `stddev`. Expected a float value of at least 0. Received: "
                             f"stddev={stddev}")
        self.stddev, self.seed = stddev, seed

    def _disturbed(self, inputs):
        return inputs + random.normal(extents(inputs), 0., self.stddev, inputs.dtype, self.seed)


@public("keras.layers.GaussianDropout")
class GaussianDropout(_Noisy):
    """In training, multiplies by normal noise of mean 1 and variance rate / (1 − rate) (Srivastava et al. 2014). ValueError for a
    rate outside of [0, 1)."""

    _arguments = "rate", "seed"

    def __init__(self, rate, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate, self.seed = _share(rate, False), seed

    def _disturbed(self, inputs):
        if not self.rate:
            return inputs
        return inputs * random.normal(extents(inputs), 1., math.sqrt(self.rate / (1 - self.rate)), inputs.dtype, self.seed)


@public("keras.layers.AlphaDropout")
class AlphaDropout(_Noisy):
    """In training, sets elements to selu's least value with probability `rate`, and moves and scales all, so that mean and variance
    of normal inputs stay (Klambauer, Unterthiner, Mayr and Hochreiter 2017, https://arxiv.org/abs/1706.02515).

    noise_shape, seed: as in Dropout. ValueError for a rate outside of [0, 1].
    """

    _arguments = "rate", "noise_shape", "seed"

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = _share(rate), noise_shape, seed

    def _disturbed(self, inputs):
        if not self.rate:
            return inputs
        least = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
        shape = [own if extent is None else extent for extent, own in zip(self.noise_shape or extents(inputs), extents(inputs))]
        kept = random.uniform(shape, 0., 1., inputs.dtype, self.seed) >= self.rate
        scale = ((1 - self.rate) * (1 + self.rate * least**2))**-0.5 if self.rate < 1 else 0.
        dropped = _op("fill")([1] * inputs.ndim, in_dtype(least, inputs.dtype))
        return _op("where")(kept, inputs, dropped) * scale - scale * least * self.rate


@public("keras.layers.ActivityRegularization")
class ActivityRegularization(Layer):
    """The inputs; a loss of l1·Σ|x| + l2·Σx² is added."""

    def __init__(self, l1=0.0, l2=0.0, **kwargs):
        super().__init__(activity_regularizer=regularizers.L1L2(l1, l2), **kwargs)
        self.supports_masking, self.l1, self.l2 = True, l1, l2
        vars(self)["_built"] = True

    def call(self, inputs):
        return inputs

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)

    def get_config(self):
        config = super().get_config()
        config.pop("activity_regularizer")
        return {**config, "l1": self.l1, "l2": self.l2}
