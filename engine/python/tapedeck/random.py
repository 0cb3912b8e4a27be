"""Random numbers. Most functions come from the registry; this adds the seeds, and what is made of several ops."""
import contextlib
import os
from operator import index as _index

import numpy as np

from tapedeck import _engine, dtypes
from tapedeck.composites import op as _op
from tapedeck.shaping import broadcast_static_shape as _broadcast_static_shape


def set_seed(seed):
    """Makes the random ops that follow give the same numbers on every run; None ends that."""
    _engine.set_random_seed(None if seed is None else int(seed))


def _is_number(value):
    return value is None or isinstance(value, (int, float))


def _between(draw, shape, first, second, dtype, seed, with_range):
    """A draw from the standard distribution, moved and stretched: differentiable with respect to both arguments."""
    dtype = dtypes.as_dtype(dtype)
    first, second = (_engine.convert_to_tensor(value, dtype_hint=dtype) for value in (first, second))
    for value in (first, second):
        if value.dtype != dtype:
            raise _engine.TypeMismatchError(f"{draw}: dtype is {dtype.name}, and an argument is {value.dtype.name}; cast it")
    standard = _op(draw)(shape, dtype=dtype, seed=seed)
    return standard * (second - first if with_range else second) + first


def uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Random numbers, uniform on [minval, maxval): the op random_uniform, whose docstring tells of seeds.

    shape: extents of the result; minval, maxval: the range, by default [0, 1); numbers, or, of a floating dtype, tensors that
    broadcast to shape, with respect to which the result is then differentiable; dtype: floating or whole (which needs a
    maxval); seed: whole number or None.
    Returns: dtype, shape.
    Errors: InvalidArgumentError for a negative extent, or an empty range of whole numbers; TypeError for bool.
    """
    dtype = dtypes.as_dtype(dtype)
    if _is_number(minval) and _is_number(maxval):
        return _op("random_uniform")(shape, minval, maxval, dtype, seed)
    if dtype.is_integer:
        return _op("random_uniform")(shape, _index(minval), None if maxval is None else _index(maxval), dtype, seed)
    return _between("random_uniform", shape, minval, 1. if maxval is None else maxval, dtype, seed, True)


def normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Random numbers of the normal distribution: the op random_normal, whose docstring tells of seeds.

    shape: extents of the result; mean, stddev: numbers, or tensors that broadcast to shape, with respect to which the result
    is then differentiable; dtype: floating; seed: whole number or None.
    Returns: dtype, shape.
    Errors: InvalidArgumentError for a negative extent; TypeError for another dtype.
    """
    if _is_number(mean) and _is_number(stddev):
        return _op("random_normal")(shape, mean, stddev, dtype, seed)
    return _between("random_normal", shape, mean, stddev, dtype, seed, False)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Random numbers of the normal distribution; those further than 2·stddev from the mean are drawn again.

    The arguments, the result and the errors are those of random.normal.
    """
    if _is_number(mean) and _is_number(stddev):
        return _op("truncated_normal")(shape, mean, stddev, dtype, seed)
    return _between("truncated_normal", shape, mean, stddev, dtype, seed, False)


def gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    """Random numbers of the gamma distribution with shape parameter alpha and rate beta (None: 1).

    shape: how many for each pair of alpha and beta, which broadcast; dtype: floating. Returns dtype, shape + their shape.
    Differentiable with respect to both, to alpha by the implicit derivative (see the op random_gamma_grad).
    InvalidArgumentError for an alpha that is not above 0.
    """
    dtype = dtypes.as_dtype(dtype)
    alpha = _engine.convert_to_tensor(alpha, dtype)
    if beta is None:
        return _op("random_gamma")(alpha, shape, seed)
    beta = _engine.convert_to_tensor(beta, dtype)
    alpha = _op("broadcast_to")(alpha, _broadcast_static_shape(alpha.shape, beta.shape))
    least = float(np.finfo(dtype.as_numpy_dtype).tiny)  # the distribution has no 0
    return _op("maximum")(_op("divide")(_op("random_gamma")(alpha, shape, seed), beta), least)


def bernoulli(shape, p=0.5, dtype=dtypes.int32, seed=None, name=None):
    """1 with probability p, else 0. p: a number or a tensor that broadcasts to shape; dtype: of the result."""
    p = _engine.convert_to_tensor(p, dtype_hint=dtypes.float32)
    uniform = _op("random_uniform")(shape, 0, 1, p.dtype, seed)
    return _op("cast")(_op("less")(uniform, p), dtype)


def random_crop(value, size, seed=None, name=None):
    """A part of a tensor, cut out at a place that is drawn uniformly.

    value: any dtype; size: the part's extents, one for each axis; seed: whole number or None.
    Returns: the dtype of value, shape size.
    Errors: InvalidArgumentError for a size that has another number of axes, or is larger than value.
    """
    value = _engine.convert_to_tensor(value)
    extents = [_index(extent) for extent in np.asarray(size).reshape(-1)]
    if len(extents) != value.ndim or any(not 0 <= part <= own for part, own in zip(extents, value.shape)):
        raise _engine.InvalidArgumentError(f"random_crop: size {extents} for value {tuple(value.shape)}; needs at most its extent "
                                           "for each axis")
    drawn = np.asarray(_op("random_uniform")([value.ndim], 0, 2**62, dtypes.int64, seed))
    begin = [int(number) % (own - part + 1) for number, own, part in zip(drawn, value.shape, extents)]
    return _op("slice")(value, begin, extents)


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


def _stateless(function, seed):
    """The place that a stateless function's seed, two whole numbers, names."""
    words = np.asarray(seed)
    if words.shape != (2,) or words.dtype.kind not in "iu":
        raise _engine.InvalidArgumentError(
            f"{function}: seed has shape {words.shape} and dtype {words.dtype}; needs two whole numbers")
    return _at(_mix(_mix(int(words[0]) % _WORD) ^ (int(words[1]) % _WORD)))


def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None):
    """As random.uniform, but the numbers depend on the arguments alone. seed: two whole numbers."""
    with _stateless("stateless_uniform", seed):
        return uniform(shape, minval, maxval, dtype)


def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """As random.normal, but the numbers depend on the arguments alone. seed: two whole numbers."""
    with _stateless("stateless_normal", seed):
        return normal(shape, mean, stddev, dtype)


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """As random.truncated_normal, but the numbers depend on the arguments alone. seed: two whole numbers."""
    with _stateless("stateless_truncated_normal", seed):
        return truncated_normal(shape, mean, stddev, dtype)


def stateless_categorical(logits, num_samples, seed, dtype=dtypes.int64, name=None):
    """As random.categorical, but the numbers depend on the arguments alone. seed: two whole numbers."""
    with _stateless("stateless_categorical", seed):
        return _op("random_categorical")(logits, num_samples, dtype)


def stateless_gamma(shape, seed, alpha, beta=None, dtype=dtypes.float32, name=None):
    """As random.gamma, but the numbers depend on the arguments alone, and `shape` is that of the result. seed: two whole
    numbers. InvalidArgumentError where alpha and beta do not broadcast to shape."""
    dtype = dtypes.as_dtype(dtype)
    alpha = _op("broadcast_to")(_engine.convert_to_tensor(alpha, dtype), shape)
    with _stateless("stateless_gamma", seed):
        values = _op("random_gamma")(alpha, [])
    return values if beta is None else _op("divide")(values, _engine.convert_to_tensor(beta, dtype))


def stateless_poisson(shape, seed, lam, dtype=dtypes.int32, name=None):
    """As random.poisson, but the numbers depend on the arguments alone, and `shape` is that of the result. seed: two whole
    numbers. InvalidArgumentError where lam does not broadcast to shape."""
    lam = _op("broadcast_to")(_engine.convert_to_tensor(lam, dtype_hint=dtypes.float32), shape)
    with _stateless("stateless_poisson", seed):
        return _op("random_poisson")([], lam, dtype)


def stateless_binomial(shape, seed, counts, probs, output_dtype=dtypes.int32, name=None):
    """How many of `counts` draws succeed, each with probability `probs`: the op random_binomial, whose numbers depend on the
    arguments alone. `shape` is that of the result; seed: two whole numbers. InvalidArgumentError for counts that are below 0 or
    not whole, probs outside [0, 1], and where these do not broadcast to shape."""
    counts, probs = _trials(shape, counts, probs)
    with _stateless("stateless_binomial", seed):
        return _op("random_binomial")(counts, probs, output_dtype)


def _trials(shape, counts, probs):
    return (_op("broadcast_to")(_engine.convert_to_tensor(counts), shape),
            _op("broadcast_to")(_engine.convert_to_tensor(probs, dtype_hint=dtypes.float32), shape))


def _full_range(shape, dtype):
    """Whole numbers of which every bit is random."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (dtypes.int32, dtypes.uint32, dtypes.int64):
        raise _engine.TypeMismatchError(f"uniform_full_int: dtype is {dtype.name}; must be int32, int64 or uint32")
    words = _op("random_uniform")([*(_index(extent) for extent in np.asarray(shape).reshape(-1).tolist()), dtype.size // 4], -2**31, 2**31, dtypes.int32)
    return _op("bitcast")(words if dtype.size == 8 else _op("squeeze")(words, axis=[-1]), dtype)


def _random_poisson(lam, shape, dtype=dtypes.float32, seed=None, name=None):
    """TensorFlow 1's tf.random_poisson: tf.random.poisson with its first arguments in another order."""
    return _op("random_poisson")(shape, lam, dtype, seed)


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
        self._counter = (self._counter + _index(delta)) % _WORD

    def split(self, count=1):
        """A list of new generators, whose sequences have nothing to do with this one's or one another's."""
        made = [Generator(_mix(self._key ^ _mix(self._counter + number))) for number in range(count)]
        self.skip(count)
        return made

    def _draw(self, function, *arguments):
        with _at(self._key, self._counter):
            result = function(*arguments)
        self.skip(result.shape.num_elements() + 1)
        return result

    def uniform(self, shape, minval=0, maxval=None, dtype=dtypes.float32, name=None):
        """As random.uniform."""
        return self._draw(uniform, shape, minval, maxval, dtype)

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """As random.normal."""
        return self._draw(normal, shape, mean, stddev, dtype)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """As random.truncated_normal."""
        return self._draw(truncated_normal, shape, mean, stddev, dtype)

    def binomial(self, shape, counts, probs, dtype=dtypes.int32, name=None):
        """As stateless_binomial."""
        return self._draw(lambda: _op("random_binomial")(*_trials(shape, counts, probs), dtype))

    def uniform_full_int(self, shape, dtype=dtypes.int64, name=None):
        """Whole numbers of which every bit is random. dtype: int32, int64 or uint32; TensorFlow's default, uint64, no tensor has."""
        return self._draw(_full_range, shape, dtype)

    def make_seeds(self, count=1):
        """Seeds for the stateless functions: int64, (2, count), one in each column."""
        keys = self.uniform_full_int([_index(count)])
        return _op("stack")([keys, _op("zeros_like")(keys)])


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
functions = {"random_crop": random_crop, "image.random_crop": random_crop, "random_gamma": gamma, "multinomial": multinomial,
             "random_uniform": uniform, "random_normal": normal, "truncated_normal": truncated_normal,
             "random_poisson": _random_poisson}
