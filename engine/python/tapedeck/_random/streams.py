"""Random numbers that depend on what is given alone: the stateless functions, and generators, whose state moves on."""
import contextlib
import os
import threading
import weakref

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes, nest
from tapedeck._core.arguments import array, integer, integers
from tapedeck._core.composites import op
from tapedeck._core.extents import is_late
from tapedeck._core.host_ops import Known, known_extents, needs_values, shape_of
from tapedeck._core.public import public
from tapedeck._core.refusals import naming
from tapedeck._core.trackable import Trackable
from tapedeck._random import distributions as random


_WORD = 2**64
_MOST = 2**20  # generators of one split; more are a mistake, and would exhaust the memory
living = weakref.WeakSet()  # all Generators
_places = threading.local()  # now: where the thread's random ops begin, or None


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
    """The random op inside begins at that place of the stream, whatever its seed. What an argument does to become a shape may
    draw, too: the place around it comes back."""
    around, place = getattr(_places, "now", None), (_signed(key % _WORD), _signed(counter % _WORD))
    _places.now = place
    _engine.set_random_place(place)
    try:
        yield
    finally:
        _places.now = around
        _engine.set_random_place(around)


def place_of_seed(seed, other=0):
    """Random ops inside begin where two integers say."""
    return _at(_mix(_mix(seed % _WORD) ^ (other % _WORD)))


def _stateless(function, seed):
    """The place that a stateless function's seed, two integers, names."""
    words = array(seed, "seed")
    if words.shape != (2,) or words.dtype.kind not in "iu":
        raise _engine.InvalidArgumentError(
            f"{function}: seed has shape {words.shape} and dtype {words.dtype}; needs two integers")
    return place_of_seed(*map(int, words))


def _check_algorithm(function, alg):
    if not isinstance(alg, (str, int, type(None))) or alg not in (None, "auto_select", "philox", "threefry", 1, 2, 3):
        raise _engine.InvalidArgumentError(f"{function}: alg is {alg!r}; must be 'auto_select', 'philox' or 'threefry', which change "
                                           "nothing")


def _of_shape(shape, dtype=None, output_dtype=None, **_):
    """What is known where only a run knows the seed."""
    return Known(dtypes.as_dtype(dtype or output_dtype), known_extents([shape] if isinstance(shape, int) else shape))


@public("random.stateless_uniform", in_errors=True)
@needs_values("seed", known=_of_shape)
def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None, alg="auto_select"):
    """As random.uniform, but the numbers depend on the arguments alone. seed: two integers; minval and maxval None:
    integers (int32, int64, uint32, uint64) of which every bit is random; alg: one of TensorFlow's names, which change nothing."""
    _check_algorithm("stateless_uniform", alg)
    with _stateless("stateless_uniform", seed):
        if minval is None and maxval is None and dtypes.as_dtype(dtype).is_integer:
            return _full_range("stateless_uniform", shape, dtype)
        return random.uniform(shape, 0 if minval is None else minval, maxval, dtype)


@public("random.stateless_normal", in_errors=True)
@needs_values("seed", known=_of_shape)
def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select"):
    """As random.normal, but the numbers depend on the arguments alone. seed: two integers; alg changes nothing."""
    _check_algorithm("stateless_normal", alg)
    with _stateless("stateless_normal", seed):
        return random.normal(shape, mean, stddev, dtype)


@public("random.stateless_truncated_normal", in_errors=True)
@needs_values("seed", known=_of_shape)
def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select"):
    """As random.truncated_normal, but the numbers depend on the arguments alone. seed: two integers; alg changes nothing."""
    _check_algorithm("stateless_truncated_normal", alg)
    with _stateless("stateless_truncated_normal", seed):
        return random.truncated_normal(shape, mean, stddev, dtype)


@public("random.stateless_categorical", in_errors=True)
@needs_values("seed", known=lambda logits, num_samples, dtype, **_: Known(dtype, [_engine.convert_to_tensor(logits).shape[0], num_samples]))
def stateless_categorical(logits, num_samples, seed, dtype=dtypes.int64, name=None):
    """As random.categorical, but the numbers depend on the arguments alone. seed: two integers."""
    with _stateless("stateless_categorical", seed):
        return op("random_categorical")(logits, num_samples, dtype)


@public("random.stateless_gamma", in_errors=True)
@needs_values("seed", known=_of_shape)
def stateless_gamma(shape, seed, alpha, beta=None, dtype=dtypes.float32, name=None):
    """As random.gamma, but the numbers depend on the arguments alone, and `shape` is that of the result. seed: two whole
    numbers. InvalidArgumentError where alpha and beta do not broadcast to shape."""
    dtype = dtypes.as_dtype(dtype)
    alpha = op("broadcast_to")(_engine.convert_to_tensor(alpha, dtype), shape)
    beta = None if beta is None else op("broadcast_to")(_engine.convert_to_tensor(beta, dtype), shape)
    with _stateless("stateless_gamma", seed):
        return random._with_rate(op("random_gamma")(alpha, []), beta)


@public("random.stateless_poisson", in_errors=True)
@needs_values("seed", known=_of_shape)
def stateless_poisson(shape, seed, lam, dtype=dtypes.int32, name=None):
    """As random.poisson, but the numbers depend on the arguments alone, and `shape` is that of the result. seed: two whole
    numbers. InvalidArgumentError where lam does not broadcast to shape."""
    lam = op("broadcast_to")(_engine.convert_to_tensor(lam, dtype_hint=dtypes.float32), shape)
    with _stateless("stateless_poisson", seed):
        return op("random_poisson")([], lam, dtype)


@public("random.stateless_binomial", in_errors=True)
@needs_values("seed", known=_of_shape)
def stateless_binomial(shape, seed, counts, probs, output_dtype=dtypes.int32, name=None):
    """How many of `counts` draws succeed, each with probability `probs`: the op random_binomial, whose numbers depend on the
    arguments alone. `shape` is that of the result; seed: two integers. InvalidArgumentError for counts that are below 0 or
    not integers, probs outside [0, 1], and where these do not broadcast to shape."""
    counts, probs = _trials(shape, counts, probs)
    with _stateless("stateless_binomial", seed):
        return op("random_binomial")(counts, probs, output_dtype)


def _trials(shape, counts, probs):
    return (op("broadcast_to")(_engine.convert_to_tensor(counts), shape),
            op("broadcast_to")(_engine.convert_to_tensor(probs, dtype_hint=dtypes.float32), shape))


def _full_range(function, shape, dtype):
    """Integers of which every bit is random."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64):
        raise _engine.TypeMismatchError(f"{function}: dtype is {dtype.name}; must be int32, int64, uint32 or uint64")
    extents = shape if is_late(shape) else integers(shape, "shape")
    if isinstance(extents, _engine.Tensor):
        extents = [extents[axis] for axis in range(extents.shape[0])]
    words = op("random_uniform")([*extents, dtype.size // 4], -2**31, 2**31, dtypes.int32)
    return op("bitcast")(words if dtype.size == 8 else op("squeeze")(words, axis=[-1]), dtype)


@public("random.experimental.stateless_shuffle", in_errors=True)
@needs_values("seed", known=lambda value, **_: Known(_engine.convert_to_tensor(value).dtype, shape_of(value)))
def stateless_shuffle(value, seed, alg="auto_select", name=None):
    """As random.shuffle, but the order depends on the seed, two integers, alone. alg changes nothing."""
    _check_algorithm("stateless_shuffle", alg)
    with _stateless("stateless_shuffle", seed):
        return op("random_shuffle")(value)


@public("random.split", "random.experimental.stateless_split", in_errors=True)
def split(seed, num=2, alg="auto_select"):
    """New seeds for the stateless functions, made of one: two integers.

    num: how many, or their shape; alg changes nothing.
    Returns: the dtype of seed (int32 or int64; of Python's numbers int32), (num…, 2).
    Errors: InvalidArgumentError for another seed, a negative num and another alg; TypeError for a value that is not an integer.
    """
    seed = _engine.convert_to_tensor(seed)
    if not seed.dtype.is_integer:
        raise _engine.TypeMismatchError(f"split: seed is {seed.dtype.name}; needs two integers")
    return stateless_uniform([*integers(num, "num"), 2], seed, None, None, seed.dtype, alg=alg)


@public("random.fold_in", "random.experimental.stateless_fold_in", in_errors=True)
def fold_in(seed, data, alg="auto_select"):
    """A new seed for the stateless functions, made of one, two integers, and of a further integer: data.

    alg changes nothing.
    Returns: the dtype of data (int32 or int64), (2,).
    Errors: InvalidArgumentError for another seed and another alg; TypeError for data that are not an integer.
    """
    data = _engine.convert_to_tensor(data)
    if data.ndim or not data.dtype.is_integer:
        raise _engine.TypeMismatchError(f"fold_in: data is {data.dtype.name} {tuple(data.shape)}; needs one integer")
    return op("stack")([stateless_uniform([], seed, None, None, data.dtype, alg=alg), data])


def _state(function, state):
    words = array(state, "state")
    if words.shape != (2,) or words.dtype.kind not in "iu":
        raise _engine.InvalidArgumentError(f"{function}: state has shape {words.shape} and dtype {words.dtype}; needs two integers, "
                                           "the key and the counter")
    return int(words[0]) % _WORD, int(words[1]) % _WORD


@public("random.Generator", "random.experimental.Generator")
class Generator(Trackable):
    """A sequence of random numbers of its own: tf.random.Generator.from_seed(1).normal([2, 3]).

    Its state is a key and a counter, which each draw moves on, and which checkpoints save. Threads that share it draw different
    numbers.
    copy_from: a generator, which the new one begins as; state: two integers, as the property; alg: one of TensorFlow's names,
    which change nothing.
    Errors: InvalidArgumentError for another state, neither or both, and another alg; TypeError for a value that is not a generator.
    """

    def __init__(self, copy_from=None, state=None, alg=None):
        _check_algorithm("Generator", alg)
        if (copy_from is None) == (state is None):
            raise _engine.InvalidArgumentError("Generator: needs either copy_from or state, and not both")
        if copy_from is not None and not isinstance(copy_from, Generator):
            raise _engine.TypeMismatchError(f"Generator: copy_from is {copy_from!r}; needs a tf.random.Generator")
        if _engine.is_tracing():
            _engine.check_creation()  # it has a state as a variable has a value
        with _engine.Untraced():
            self._key, self._counter = _state("Generator", copy_from.state if state is None else state)
        self._drawing = threading.RLock()  # what a shape does to become one may draw, too
        living.add(self)

    @classmethod
    def _made(cls, key, counter=0):
        return cls(state=[_signed(key % _WORD), _signed(counter % _WORD)])

    @classmethod
    def from_seed(cls, seed, alg=None):
        """The generator of an integer."""
        _check_algorithm("from_seed", alg)
        return cls._made(_mix(integer(seed, "seed") % _WORD))

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        """A generator with a random state."""
        _check_algorithm("from_non_deterministic_state", alg)
        if _engine.is_tracing():
            raise _engine.UnimplementedError("Generator: from_non_deterministic_state in a function that is traced, whose runs would all "
                                             "begin with the state of its trace; make the generator outside")
        return cls._made(int.from_bytes(os.urandom(8), "little"))

    @classmethod
    def from_state(cls, state, alg=None):
        """A generator with this state: (key, counter)."""
        _check_algorithm("from_state", alg)
        return cls._made(*_state("from_state", state))

    def __reduce__(self):
        return type(self).from_state, (self.state.numpy(),)

    @property
    def state(self):
        """(key, counter) as an int64 tensor."""
        if _engine.is_tracing():
            return _engine.graph_host_call("Generator.state", lambda _: [self.state], [], [("int64", (2,))])[0]
        with self._drawing:
            words = [_signed(self._key), _signed(self._counter)]
        return _engine.convert_to_tensor(np.array(words))

    def _own_state(self):
        return {"state": self.state}

    def _set_own_state(self, state):
        self.reset(state["state"])

    @property
    def key(self):
        """The key as an int64 tensor."""
        return self.state[0]

    def reset(self, state):
        """Sets the state: (key, counter)."""
        if self._later("reset", state):
            return
        with self._drawing:
            self._key, self._counter = _state("reset", state)

    def reset_from_seed(self, seed):
        """Restarts the sequence from a seed."""
        if self._later("reset_from_seed", seed):
            return
        with self._drawing:
            self._key, self._counter = _mix(integer(seed, "seed") % _WORD), 0

    def skip(self, delta):
        """Advances the counter."""
        if self._later("skip", delta):
            return
        with self._drawing:
            self._counter = (self._counter + integer(delta, "delta")) % _WORD

    def split(self, count=1):
        """A list of new generators, whose sequences have nothing to do with this one's or one another's.

        count: how many. Errors: TypeError for a value that is not an integer; InvalidArgumentError for one below 0;
        ResourceExhaustedError for more than 2²⁰.
        """
        count = integer(count, "count")
        if count < 0:
            raise _engine.InvalidArgumentError(f"split: count is {count}; must not be negative")
        if count > _MOST:
            raise _engine.ResourceExhaustedError(f"split: count is {count}; at most {_MOST} generators")
        with self._drawing:
            key, first, self._counter = self._key, self._counter, (self._counter + count) % _WORD
        return [self._made(_mix(key ^ _mix((first + number) % _WORD))) for number in range(count)]

    def _later(self, method, value):
        """In a function that is traced, has each run call the method. Returns: whether it has."""
        if not _engine.is_tracing():
            return False
        _engine.graph_host_call(f"Generator.{method}", lambda values: getattr(self, method)(values[0]) or [],
                                [_engine.convert_to_tensor(value)])
        return True

    def _draw_by_graph(self, function, arguments):
        """Each run draws the next numbers. Gradients flow as they do when the function is called."""
        structure = list(arguments)
        leaves = nest.flatten(structure)
        places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, (_engine.Tensor, _engine.Variable))]
        seen = []
        _engine.trace_graph("discarded", [], lambda _: seen.append(function(*arguments)) or [])

        def drawn(tensors):
            known = list(leaves)
            for place, value in zip(places, tensors):
                known[place] = value
            return [self._draw(function, *nest.pack_sequence_as(structure, known))]

        return _engine.graph_host_call("Generator", drawn, [leaves[place] for place in places], [(seen[0].dtype, seen[0].shape)], True)[0]

    def _draw(self, function, *arguments):
        if _engine.is_tracing():
            return self._draw_by_graph(function, arguments)
        with self._drawing:
            with _at(self._key, self._counter):
                result = function(*arguments)
            self._counter = (self._counter + result.shape.num_elements() + 1) % _WORD
        return result

    def uniform(self, shape, minval=0, maxval=None, dtype=dtypes.float32, name=None):
        """As random.uniform."""
        return self._draw(random.uniform, shape, minval, maxval, dtype)

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """As random.normal."""
        return self._draw(random.normal, shape, mean, stddev, dtype)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """As random.truncated_normal."""
        return self._draw(random.truncated_normal, shape, mean, stddev, dtype)

    def binomial(self, shape, counts, probs, dtype=dtypes.int32, name=None):
        """As stateless_binomial."""
        return self._draw(lambda *given: op("random_binomial")(*_trials(*given), dtype), shape, counts, probs)

    def uniform_full_int(self, shape, dtype=dtypes.uint64, name=None):
        """Integers of which every bit is random. dtype: int32, int64, uint32 or uint64."""
        return self._draw(_full_range, "uniform_full_int", shape, dtype)

    def make_seeds(self, count=1):
        """Seeds for the stateless functions: int64, (2, count), one in each column."""
        keys = self.uniform_full_int([integer(count, "count")], dtypes.int64)
        return op("stack")([keys, op("zeros_like")(keys)])


for _name, _method in list(vars(Generator).items()):
    if not _name.startswith("_") and not isinstance(_method, property):
        setattr(Generator, _name, classmethod(naming(_method.__func__)) if isinstance(_method, classmethod) else naming(_method))


_global_generator = None
_choosing = threading.Lock()


@public("random.get_global_generator", "random.experimental.get_global_generator", in_errors=True)
def get_global_generator():
    """The generator that is made at the first call, with a random state unless set_global_generator came first."""
    global _global_generator
    with _choosing:
        if _global_generator is None:
            with _engine.Untraced():  # it is of no function's
                _global_generator = Generator.from_non_deterministic_state()
        return _global_generator


@public("random.set_global_generator", "random.experimental.set_global_generator", in_errors=True)
def set_global_generator(generator):
    """What get_global_generator returns from now on. TypeError for a value that is not a generator."""
    global _global_generator
    if not isinstance(generator, Generator):
        raise _engine.TypeMismatchError(f"set_global_generator: generator is {generator!r}; needs a tf.random.Generator")
    with _choosing:
        _global_generator = generator
