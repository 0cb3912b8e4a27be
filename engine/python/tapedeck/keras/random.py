"""tf.keras.random: random tensors; an integer seed gives the same values each time, a SeedGenerator different ones."""
import numbers

from tapedeck import _engine
from tapedeck._core import context, dtypes
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extents
from tapedeck._core.public import public
from tapedeck._core.trackable import Trackable as _Trackable
from tapedeck._random import distributions as random, streams as random_streams
from tapedeck.keras import backend as _backend
from tapedeck.train.updates import number_variable


@public("keras.random.SeedGenerator")
class SeedGenerator(_Trackable):
    """Seeds one after the other. seed: an integer, None for one that is drawn; state: an int64 variable of it and of how many
    seeds were taken, which checkpoints hold. Errors: ValueError for a seed that is not an integer."""

    def __init__(self, seed=None, name=None):
        if seed is None:
            with context.device("/cpu:0"):
                seed = int(random.uniform([], maxval=2 ** 31 - 1, dtype=dtypes.int32))
        if not isinstance(seed, numbers.Integral):
            raise ValueError(f"Argument `seed` must be an integer. Received: seed={seed!r}")
        self.name, self._initial_seed = name or _backend.unique_name("seed_generator"), seed
        self.state = number_variable([int(seed), 0], dtype=dtypes.int64, name=f"{self.name}/seed_generator_state", import_scope="")

    def next(self):
        """The next seed, two int64 numbers."""
        taken = self.state.read_value()
        self.state.assign_add([0, 1])
        return taken

    def get_config(self):
        """What it was made with, by name."""
        return {"seed": self._initial_seed, "name": self.name}

    @classmethod
    def from_config(cls, config):
        """The generator of what get_config returned."""
        return cls(**config)


def _draw(stateful, stateless, seed, arguments, shape):
    """What one of two functions of tf.random draws: the first for a seed of None."""
    if seed is None:
        return stateful(shape, **arguments)
    return stateless(shape, seed.next() if isinstance(seed, SeedGenerator) else [int(seed), 0], **arguments)


def _floating(dtype):
    return dtypes.as_dtype(dtype or _backend.floatx())


@public("keras.random.normal")
def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """A tensor of normally distributed numbers; dtype None for floatx(). seed: a number, a SeedGenerator, or None for what
    tf.random.set_seed says."""
    return _draw(random.normal, random_streams.stateless_normal, seed,
                 {"mean": mean, "stddev": stddev, "dtype": _floating(dtype)}, shape)


@public("keras.random.truncated_normal")
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """A tensor of normally distributed numbers within two standard deviations. The arguments are those of normal."""
    return _draw(random.truncated_normal, random_streams.stateless_truncated_normal, seed,
                 {"mean": mean, "stddev": stddev, "dtype": _floating(dtype)}, shape)


@public("keras.random.uniform")
def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """A tensor of numbers in [minval, maxval). dtype and seed are those of normal."""
    return _draw(random.uniform, random_streams.stateless_uniform, seed,
                 {"minval": minval, "maxval": maxval, "dtype": _floating(dtype)}, shape)


@public("keras.random.randint")
def randint(shape, minval, maxval, dtype="int32", seed=None):
    """A tensor of integers in [minval, maxval). The seed is that of normal."""
    return _draw(random.uniform, random_streams.stateless_uniform, seed,
                 {"minval": minval, "maxval": maxval, "dtype": dtypes.as_dtype(dtype)}, shape)


@public("keras.random.categorical")
def categorical(logits, num_samples, dtype="int32", seed=None):
    """(batch, num_samples) classes, drawn as the rows of logits (batch, classes) say. The seed is that of normal."""
    if seed is None:
        return _op("random_categorical")(logits, num_samples, dtype=dtypes.as_dtype(dtype))
    seed = seed.next() if isinstance(seed, SeedGenerator) else [int(seed), 0]
    return random_streams.stateless_categorical(logits, num_samples, seed, dtype=dtypes.as_dtype(dtype))


@public("keras.random.dropout")
def dropout(inputs, rate, noise_shape=None, seed=None):
    """The inputs with that part of them 0 and the others divided by 1 - rate. noise_shape: extents of 1 drop together. The seed is
    that of normal. Errors: ValueError for a rate that is not in [0, 1)."""
    if not 0 <= rate < 1:
        raise ValueError(f"dropout: rate is {rate}; must be in [0, 1)")
    inputs = _engine.convert_to_tensor(inputs)
    shape = [mine if asked is None else asked for mine, asked in zip(extents(inputs), noise_shape or [None] * inputs.ndim)]
    kept = _op("cast")(uniform(shape, dtype=dtypes.float32, seed=seed) >= rate, inputs.dtype)
    return inputs * kept / (1.0 - rate)
