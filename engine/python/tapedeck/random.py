"""Random numbers. Most functions come from the registry; this adds the seeds, and what is made of several ops."""
import contextlib
import os

import numpy as np

from tapedeck import _engine, dtypes
from tapedeck.shaping import broadcast_static_shape

_op = _engine.op_function


def set_seed(seed):
    """Makes the random ops that follow give the same numbers on every run; None ends that."""
    _engine.set_random_seed(None if seed is None else int(seed))


def gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    """Random numbers of the gamma distribution with shape parameter alpha and rate beta (None: 1).

    shape: how many for each pair of alpha and beta, which broadcast; dtype: float32 or float64. Returns dtype, shape + their
    shape. Differentiable with respect to beta. InvalidArgumentError for an alpha that is not above 0.
    """
    dtype = dtypes.as_dtype(dtype)
    alpha = _engine.convert_to_tensor(alpha, dtype)
    if beta is None:
        return _op("random_gamma")(alpha, shape, seed)
    beta = _engine.convert_to_tensor(beta, dtype)
    alpha = _op("broadcast_to")(alpha, broadcast_static_shape(alpha.shape, beta.shape))
    least = float(np.finfo(dtype.as_numpy_dtype).tiny)
    return _op("maximum")(_op("divide")(_op("random_gamma")(alpha, shape, seed), beta), least)


def bernoulli(shape, p=0.5, dtype=dtypes.int32, seed=None, name=None):
    """1 with probability p, else 0. p: a number or a tensor that broadcasts to shape; dtype: of the result."""
    p = _engine.convert_to_tensor(p, dtype_hint=dtypes.float32)
    uniform = _op("random_uniform")(shape, 0, 1, p.dtype, seed)
    return _op("cast")(_op("less")(uniform, p), dtype)


def multinomial(logits, num_samples, seed=None, name=None, output_dtype=dtypes.int64):
    """TensorFlow 1's name of tf.random.categorical."""
    return _op("random_categorical")(logits, num_samples, output_dtype, seed)


_WORD = 2**64


def _mix(x):
    """SplitMix64's mixing function (Steele, Lea, Flood, OOPSLA 2014)."""
    x = (x + 0x9E3779B97F4A7C15) % _WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % _WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % _WORD
    return x ^ (x >> 31)


def _signed(word):
    return word - _WORD if word >= _WORD // 2 else word


@contextlib.contextmanager
def _at(key, counter=0):
    """The random op inside begins at that place of the stream, whatever its seed."""
    _engine.set_random_place((_signed(key % _WORD), _signed(counter % _WORD)))
    try:
        yield
    finally:
        _engine.set_random_place(None)


def _stateless(seed):
    """The place that a stateless function's seed, two whole numbers, names."""
    words = np.asarray(seed)
    if words.shape != (2,) or words.dtype.kind not in "iu":
        raise _engine.InvalidArgumentError(f"seed has shape {words.shape} and dtype {words.dtype}; needs two whole numbers")
    return _at(_mix(_mix(int(words[0]) % _WORD) ^ (int(words[1]) % _WORD)))


def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None):
    """As random.uniform, but the numbers depend on the arguments alone. seed: two whole numbers."""
    with _stateless(seed):
        return _op("random_uniform")(shape, minval, maxval, dtype)


def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """As random.normal, but the numbers depend on the arguments alone. seed: two whole numbers."""
    with _stateless(seed):
        return _op("random_normal")(shape, mean, stddev, dtype)


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """As random.truncated_normal, but the numbers depend on the arguments alone. seed: two whole numbers."""
    with _stateless(seed):
        return _op("truncated_normal")(shape, mean, stddev, dtype)


def stateless_categorical(logits, num_samples, seed, dtype=dtypes.int64, name=None):
    """As random.categorical, but the numbers depend on the arguments alone. seed: two whole numbers."""
    with _stateless(seed):
        return _op("random_categorical")(logits, num_samples, dtype)


class Generator:
    """A sequence of random numbers of its own: tf.random.Generator.from_seed(1).normal([2, 3]).

    Its state is a key and a counter, which each draw moves on.
    """

    def __init__(self, key, counter=0):
        self._key, self._counter = key % _WORD, counter % _WORD

    @classmethod
    def from_seed(cls, seed, alg=None):
        """The generator of a whole number."""
        return cls(_mix(int(seed) % _WORD))

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        """A generator that nobody chose."""
        return cls(int.from_bytes(os.urandom(8), "little"))

    @classmethod
    def from_state(cls, state, alg=None):
        """The generator that had this state: (key, counter)."""
        key, counter = (int(word) for word in np.asarray(state))
        return cls(key, counter)

    @property
    def state(self):
        """(key, counter) as an int64 tensor."""
        return _engine.convert_to_tensor(np.array([_signed(self._key), _signed(self._counter)]))

    def reset_from_seed(self, seed):
        """Begins the sequence of that seed."""
        self._key, self._counter = _mix(int(seed) % _WORD), 0

    def skip(self, delta):
        """Moves the counter on."""
        self._counter = (self._counter + int(delta)) % _WORD

    def split(self, count=1):
        """A list of new generators, whose sequences have nothing to do with this one's or one another's."""
        made = [Generator(_mix(self._key ^ _mix(self._counter + number))) for number in range(count)]
        self.skip(count)
        return made

    def _draw(self, op, *arguments):
        with _at(self._key, self._counter):
            result = _op(op)(*arguments)
        self.skip(result.shape.num_elements() + 1)
        return result

    def uniform(self, shape, minval=0, maxval=None, dtype=dtypes.float32, name=None):
        """As random.uniform."""
        return self._draw("random_uniform", shape, minval, maxval, dtype)

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """As random.normal."""
        return self._draw("random_normal", shape, mean, stddev, dtype)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """As random.truncated_normal."""
        return self._draw("truncated_normal", shape, mean, stddev, dtype)


_global_generator = None


def get_global_generator():
    """The generator that is made at the first call, from a state that nobody chose unless set_global_generator came first."""
    global _global_generator
    if _global_generator is None:
        _global_generator = Generator.from_non_deterministic_state()
    return _global_generator


def set_global_generator(generator):
    """What get_global_generator returns from now on."""
    global _global_generator
    _global_generator = generator


# TensorFlow 1's names at the top.
functions = {"random_gamma": gamma, "multinomial": multinomial}
