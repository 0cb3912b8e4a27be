"""Random numbers. Most functions come from the registry; this adds the seed, and what is made of several ops."""

import numpy as np

from tapedeck import _engine
from tapedeck._array.shaping import broadcast_static_shape as _broadcast_static_shape
from tapedeck._core import context, dtypes
from tapedeck._core.arguments import integer, integers
from tapedeck._core.composites import limits as _limits, op as _op
from tapedeck._core.extents import extents
from tapedeck._core.host_ops import Known, known_extents, needs_extents, needs_values
from tapedeck._core.public import public


@public("random.set_seed", "set_random_seed", in_errors=True)
def set_seed(seed):
    """Seeds the random ops that follow, so that every run gives the same numbers; None removes the seed. seed: an integer of 64 bits.

    Errors: TypeError for a value that is not an integer; InvalidArgumentError for a larger one.
    """
    number = None if seed is None else integer(seed, "seed")
    if number is not None and not -2**63 <= number < 2**63:
        raise _engine.InvalidArgumentError(f"set_seed: seed is {number}; needs an integer of 64 bits")
    _engine.set_random_seed(number)


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


@needs_values("minval", "maxval", known=lambda shape, dtype, **_: Known(dtype, known_extents(shape)))
def _uniform_integers(shape, minval, maxval, dtype, seed):
    limits = integer(minval, "minval"), None if maxval is None else integer(maxval, "maxval")
    return _op("random_uniform")(shape, *limits, dtype, seed)


@public("random.uniform", "random_uniform", in_errors=True, row="random_uniform")
def uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Random numbers, uniform on [minval, maxval). The limits may, of a floating dtype, be tensors that broadcast to shape, with
    respect to which the result is then differentiable."""
    dtype = dtypes.as_dtype(dtype)
    if _is_number(minval) and _is_number(maxval):
        return _op("random_uniform")(shape, minval, maxval, dtype, seed)
    if dtype.is_integer:
        return _uniform_integers(shape, minval, maxval, dtype, seed)
    return _between("random_uniform", shape, minval, 1. if maxval is None else maxval, dtype, seed, True)


@public("random.normal", "random_normal", in_errors=True, row="random_normal")
def normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Random numbers of the normal distribution. mean and stddev may be tensors that broadcast to shape, with respect to which the
    result is then differentiable."""
    if _is_number(mean) and _is_number(stddev):
        return _op("random_normal")(shape, mean, stddev, dtype, seed)
    return _between("random_normal", shape, mean, stddev, dtype, seed, False)


@public("random.truncated_normal", "truncated_normal", in_errors=True, row="truncated_normal")
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Random numbers of the normal distribution, of which those far from the mean are drawn again. mean and stddev may be tensors, as in
    random.normal."""
    if _is_number(mean) and _is_number(stddev):
        return _op("truncated_normal")(shape, mean, stddev, dtype, seed)
    return _between("truncated_normal", shape, mean, stddev, dtype, seed, False)


def _with_rate(draws, beta):
    """Draws of the gamma distribution of rate 1, at the rate beta; None for 1."""
    if beta is None:
        return draws
    return _op("maximum")(_op("divide")(draws, beta), float(_limits(draws.dtype).tiny))  # the distribution has no 0


@public("random.gamma", "random_gamma", in_errors=True)
@needs_extents
def gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    """Random numbers of the gamma distribution with shape parameter alpha and rate beta (None: 1).

    shape: how many for each pair of alpha and beta, which broadcast; dtype: floating. Returns dtype, shape + their shape.
    Differentiable with respect to both, to alpha by the implicit derivative (see the op random_gamma_grad).
    InvalidArgumentError for an alpha that is not above 0.
    """
    dtype = dtypes.as_dtype(dtype)
    alpha = _engine.convert_to_tensor(alpha, dtype)
    if beta is not None:
        beta = _engine.convert_to_tensor(beta, dtype)
        alpha = _op("broadcast_to")(alpha, _broadcast_static_shape(alpha.shape, beta.shape))
    return _with_rate(_op("random_gamma")(alpha, shape, seed), beta)


@public("random.bernoulli", in_errors=True)
def bernoulli(shape, p=0.5, dtype=dtypes.int32, seed=None, name=None):
    """1 with probability p, else 0. p: a number or a tensor that broadcasts to shape; dtype: of the result."""
    p = _engine.convert_to_tensor(p, dtype_hint=dtypes.float32)
    uniform = _op("random_uniform")(shape, 0, 1, p.dtype, seed)
    return _op("cast")(_op("less")(uniform, p), dtype)


def known_crop(value, size, **_):
    """What is known of a part of a tensor where only a run knows its place or size."""
    value = _engine.convert_to_tensor(value)
    return Known(value.dtype, known_extents(size) or (None if value.shape.rank is None else [None] * value.shape.rank))


@public("random.random_crop", "random_crop", "image.random_crop", in_errors=True)
@needs_values("size", known=known_crop)
def random_crop(value, size, seed=None, name=None):
    """A part of a tensor, cut out at a place that is drawn uniformly.

    value: any dtype; size: the part's extents, one for each axis; seed: integer or None.
    Returns: the dtype of value, shape size.
    Errors: InvalidArgumentError for a size that has another number of axes, or is larger than value.
    """
    value = _engine.convert_to_tensor(value)
    parts = integers(size, "size")
    if len(parts) != value.ndim or any(part < 0 or own is not None and part > own for part, own in zip(parts, value.shape)):
        raise _engine.InvalidArgumentError(f"random_crop: size {parts} for value {tuple(value.shape)}; needs at most its extent "
                                           "for each axis")
    with context.device("/cpu:0"):
        drawn = _op("random_uniform")([value.ndim], 0, 2**62, dtypes.int64, seed)
    if _engine.is_tracing():
        begin = [drawn[axis] % _op("cast")(own - part + 1, dtypes.int64) for axis, (own, part) in enumerate(zip(extents(value), parts))]
    else:
        begin = [int(number) % (own - part + 1) for number, own, part in zip(np.asarray(drawn), value.shape, parts)]
    return _op("slice")(value, begin, parts)


@public("random.multinomial", "multinomial", in_errors=True)
def multinomial(logits, num_samples, seed=None, name=None, output_dtype=dtypes.int64):
    """TensorFlow 1's name of tf.random.categorical."""
    return _op("random_categorical")(logits, num_samples, output_dtype, seed)


@public("random_poisson")
def random_poisson(lam, shape, dtype=dtypes.float32, seed=None, name=None):
    """TensorFlow 1's tf.random_poisson: tf.random.poisson with its first arguments in another order."""
    return _op("random_poisson")(shape, lam, dtype, seed)


# TensorFlow 1's names at the top.
