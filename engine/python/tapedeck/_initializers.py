"""Initializers: functions of a shape that return a variable's initial value. With a seed, an integer, an initializer gives the same values
for the same shape and dtype at every call, whatever tf.random.set_seed says; without one, different values."""
import inspect as _inspect
import math as _math
from operator import index as _index

import numpy as _np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._random import distributions as _random
from tapedeck._random.streams import place_of_seed as _place_of_seed
from tapedeck.keras import named_objects as _named_objects
from tapedeck.keras.settings import floatx as _floatx


@public("initializers.Initializer", "keras.Initializer", "keras.initializers.Initializer")
class Initializer:
    """Called as initializer(shape, dtype=None): None for the dtype that it was made with, and of one that was made with None for
    tf.keras.backend.floatx().

    Errors: InvalidArgumentError for a negative extent; TypeError for a dtype that it cannot give, and a seed or a shape that is no
    integer.
    """

    def __init__(self, **arguments):
        vars(self).update(arguments)
        self._arguments = arguments

    def __call__(self, shape, dtype=None, partition_info=None):
        raise NotImplementedError(f"{type(self).__name__} does not define __call__()")

    def _dtype(self, dtype):
        dtype = self.dtype if dtype is None else dtype
        return _floatx() if dtype is None else dtype

    def _draw(self, function, extents, first, second, dtype):
        """Random numbers: the seed's, or the next ones."""
        if self.seed is None:
            return function(extents, first, second, dtype)
        try:
            seed = _index(self.seed)
        except TypeError:
            raise _engine.TypeMismatchError(f"{type(self).__name__}: seed is {self.seed!r}; needs an integer or None") from None
        with _place_of_seed(seed):
            return function(extents, first, second, dtype)

    def _extents(self, shape):
        """A shape, in whatever form, as a list of its extents."""
        try:
            return [_index(extent) for extent in _np.asarray(shape, None if _np.size(shape) else _np.int64).reshape(-1)]
        except TypeError:
            raise _engine.TypeMismatchError(f"{type(self).__name__}: shape is {shape!r}; needs integers") from None

    def get_config(self):
        """The constructor's arguments by name, a dict."""
        own = _inspect.signature(type(self)).parameters
        config = {name: value for name, value in getattr(self, "_arguments", {}).items() if name in own}
        if "dtype" in config:
            config["dtype"] = dtypes.as_dtype(self._dtype(None)).name
        return config

    @classmethod
    def from_config(cls, config):
        """An initializer with these arguments."""
        return cls(**config)


@public("initializers.Constant", "keras.initializers.Constant", "initializers.constant", "constant_initializer",
        "keras.initializers.constant")
class Constant(Initializer):
    """Every element is `value`; a list or an array of as many elements as the shape has is reshaped."""

    def __init__(self, value=0.0, dtype=None, verify_shape=False):
        super().__init__(value=value, dtype=dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return _engine.constant(self.value, self._dtype(dtype), shape)


@public("initializers.Zeros", "keras.initializers.Zeros", "initializers.zeros", "zeros_initializer", "keras.initializers.zeros")
class Zeros(Initializer):
    """All elements are 0."""

    def __init__(self, dtype=None):
        super().__init__(dtype=dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return _op("zeros")(shape, self._dtype(dtype))


@public("initializers.Ones", "keras.initializers.Ones", "initializers.ones", "ones_initializer", "keras.initializers.ones")
class Ones(Initializer):
    """All elements are 1."""

    def __init__(self, dtype=None):
        super().__init__(dtype=dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return _op("ones")(shape, self._dtype(dtype))


@public("initializers.RandomNormal", "keras.initializers.RandomNormal", "initializers.random_normal", "random_normal_initializer",
        "keras.initializers.random_normal")
class RandomNormal(Initializer):
    """Random numbers of the normal distribution: tf.random.normal."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=None):
        super().__init__(mean=mean, stddev=stddev, seed=seed, dtype=dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return self._draw(_random.normal, shape, self.mean, self.stddev, self._dtype(dtype))


@public("initializers.TruncatedNormal", "keras.initializers.TruncatedNormal", "initializers.truncated_normal",
        "keras.initializers.truncated_normal")
class TruncatedNormal(RandomNormal):
    """Random numbers of the normal distribution, none further than 2·stddev from the mean: tf.random.truncated_normal."""

    def __call__(self, shape, dtype=None, partition_info=None):
        return self._draw(_random.truncated_normal, shape, self.mean, self.stddev, self._dtype(dtype))


@public("initializers.RandomUniform", "keras.initializers.RandomUniform", "initializers.random_uniform",
        "random_uniform_initializer", "keras.initializers.random_uniform")
class RandomUniform(Initializer):
    """Random numbers, uniform on [minval, maxval): tf.random.uniform."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None, dtype=None):
        super().__init__(minval=minval, maxval=maxval, seed=seed, dtype=dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return self._draw(_random.uniform, shape, self.minval, self.maxval, self._dtype(dtype))


def _fans(shape):
    """How many inputs and how many outputs a layer with weights of this shape joins: those of one place, for a convolution."""
    if len(shape) < 2:
        return (shape[0], shape[0]) if shape else (1, 1)
    places = _math.prod(shape[:-2])
    return shape[-2] * places, shape[-1] * places


_TRUNCATED = .87962566103423978  # the standard deviation of the standard normal distribution between −2 and 2


def _number(cls, argument, value):
    """The value as a Python number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        kind = _engine.TypeMismatchError if isinstance(error, TypeError) else _engine.InvalidArgumentError
        raise kind(f"{cls}: {argument} is {value!r}; needs a number") from error


@public("initializers.VarianceScaling", "keras.initializers.VarianceScaling", "initializers.variance_scaling",
        "variance_scaling_initializer", "keras.initializers.variance_scaling")
class VarianceScaling(Initializer):
    """Random numbers of mean 0 and variance scale / n.

    scale: above 0 and finite; mode: what n is: 'fan_in', a unit's inputs, 'fan_out', its outputs, or 'fan_avg', the mean of both;
    distribution: 'truncated_normal' ('normal' means it too), 'untruncated_normal' or 'uniform'.
    Errors: InvalidArgumentError for other values.
    """

    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, dtype=None):
        distribution = distribution.lower() if isinstance(distribution, str) else distribution
        if not 0 < _number("VarianceScaling", "scale", scale) < _math.inf:
            raise _engine.InvalidArgumentError(f"VarianceScaling: scale is {scale!r}; must be above 0, and finite")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise _engine.InvalidArgumentError(f"VarianceScaling: mode is {mode!r}; must be 'fan_in', 'fan_out' or 'fan_avg'")
        if distribution not in ("normal", "truncated_normal", "untruncated_normal", "uniform"):
            raise _engine.InvalidArgumentError(f"VarianceScaling: distribution is {distribution!r}; must be 'truncated_normal', "
                                               "'untruncated_normal' or 'uniform'")
        super().__init__(scale=scale, mode=mode, distribution=distribution, seed=seed, dtype=dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype, extents = dtypes.as_dtype(self._dtype(dtype)), self._extents(shape)
        if not dtype.is_floating:
            raise _engine.TypeMismatchError(f"{type(self).__name__}: dtype is {dtype.name}; needs a floating dtype")
        fan_in, fan_out = _fans(extents)
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        deviation = _math.sqrt(self.scale / max(1., count))
        if self.distribution == "uniform":
            limit = deviation * _math.sqrt(3)
            return self._draw(_random.uniform, extents, -limit, limit, dtype)
        if self.distribution == "untruncated_normal":
            return self._draw(_random.normal, extents, 0., deviation, dtype)
        return self._draw(_random.truncated_normal, extents, 0., deviation / _TRUNCATED, dtype)


@public("initializers.GlorotUniform", "keras.initializers.GlorotUniform", "initializers.glorot_uniform",
        "glorot_uniform_initializer", "keras.initializers.glorot_uniform")
class GlorotUniform(VarianceScaling):
    """Uniform on ±√(6 / (inputs + outputs)) (Glorot and Bengio 2010), also called Xavier's."""

    def __init__(self, seed=None, dtype=None):
        super().__init__(1., "fan_avg", "uniform", seed, dtype)


@public("initializers.GlorotNormal", "keras.initializers.GlorotNormal", "initializers.glorot_normal", "glorot_normal_initializer",
        "keras.initializers.glorot_normal")
class GlorotNormal(VarianceScaling):
    """Truncated normal of variance 2 / (inputs + outputs) (Glorot and Bengio 2010), also called Xavier's."""

    def __init__(self, seed=None, dtype=None):
        super().__init__(1., "fan_avg", "truncated_normal", seed, dtype)


@public("initializers.HeUniform", "keras.initializers.HeUniform", "initializers.he_uniform", "keras.initializers.he_uniform")
class HeUniform(VarianceScaling):
    """Uniform on ±√(6 / inputs) (He, Zhang, Ren and Sun 2015, https://arxiv.org/abs/1502.01852)."""

    def __init__(self, seed=None, dtype=None):
        super().__init__(2., "fan_in", "uniform", seed, dtype)


@public("initializers.HeNormal", "keras.initializers.HeNormal", "initializers.he_normal", "keras.initializers.he_normal")
class HeNormal(VarianceScaling):
    """Truncated normal of variance 2 / inputs (He, Zhang, Ren and Sun 2015, https://arxiv.org/abs/1502.01852)."""

    def __init__(self, seed=None, dtype=None):
        super().__init__(2., "fan_in", "truncated_normal", seed, dtype)


@public("initializers.LecunUniform", "keras.initializers.LecunUniform", "initializers.lecun_uniform",
        "keras.initializers.lecun_uniform")
class LecunUniform(VarianceScaling):
    """Uniform on ±√(3 / inputs) (LeCun, Bottou, Orr and Müller 1998)."""

    def __init__(self, seed=None, dtype=None):
        super().__init__(1., "fan_in", "uniform", seed, dtype)


@public("initializers.LecunNormal", "keras.initializers.LecunNormal", "initializers.lecun_normal",
        "keras.initializers.lecun_normal")
class LecunNormal(VarianceScaling):
    """Truncated normal of variance 1 / inputs (LeCun, Bottou, Orr and Müller 1998)."""

    def __init__(self, seed=None, dtype=None):
        super().__init__(1., "fan_in", "truncated_normal", seed, dtype)


@public("initializers.Orthogonal", "keras.initializers.Orthogonal", "initializers.orthogonal", "orthogonal_initializer",
        "keras.initializers.orthogonal")
class Orthogonal(Initializer):
    """gain times a random matrix whose columns, or rows where these are fewer, are orthonormal (Saxe, McClelland and Ganguli
    2013, https://arxiv.org/abs/1312.6120). The axes before the last one are the rows.

    Errors: InvalidArgumentError for fewer than two axes and a gain that is not a number; TypeError for a dtype that is not floating.
    """

    def __init__(self, gain=1.0, seed=None, dtype=None):
        _number("Orthogonal", "gain", gain)
        super().__init__(gain=gain, seed=seed, dtype=dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        extents = self._extents(shape)
        if len(extents) < 2:
            raise _engine.InvalidArgumentError(f"Orthogonal: shape is {tuple(extents)}; a matrix needs at least 2 axes")
        rows, columns = _math.prod(extents[:-1]), extents[-1]
        q, r = _op("qr")(self._draw(_random.normal, [max(rows, columns), min(rows, columns)], 0., 1., self._dtype(dtype)))
        diagonal = _op("matrix_diag_part")(r)
        q = q * _op("where")(diagonal < 0, -_op("ones_like")(diagonal), _op("ones_like")(diagonal))  # uniform among all such
        return _op("reshape")(q if rows >= columns else _op("transpose")(q), extents) * self.gain


@public("initializers.Identity", "keras.initializers.Identity", "initializers.identity", "keras.initializers.identity")
class Identity(Initializer):
    """gain times the identity matrix, of whatever extents.

    Errors: InvalidArgumentError for a shape that is none of a matrix, and a gain that is not a number.
    """

    def __init__(self, gain=1.0, dtype=None):
        _number("Identity", "gain", gain)
        super().__init__(gain=gain, dtype=dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        extents = self._extents(shape)
        if len(extents) != 2:
            raise _engine.InvalidArgumentError(f"Identity: shape is {tuple(extents)}; a matrix has 2 axes")
        return _op("eye")(extents[0], extents[1], dtype=self._dtype(dtype)) * self.gain


@public("initializers.truncated_normal_initializer", "truncated_normal_initializer",
        "keras.initializers.truncated_normal_initializer")
class truncated_normal_initializer(TruncatedNormal):  # TensorFlow 2 has no such name
    """TensorFlow 1's TruncatedNormal, whose standard deviation is 1 where none is given."""

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=dtypes.float32):
        super().__init__(mean, stddev, seed, dtype)


_CLASSES = {
    "constant": Constant, "zeros": Zeros, "ones": Ones, "random_normal": RandomNormal, "random_uniform": RandomUniform,
    "truncated_normal": TruncatedNormal, "variance_scaling": VarianceScaling, "glorot_uniform": GlorotUniform,
    "glorot_normal": GlorotNormal, "he_uniform": HeUniform, "he_normal": HeNormal, "lecun_uniform": LecunUniform,
    "lecun_normal": LecunNormal, "orthogonal": Orthogonal, "identity": Identity,
}


@public("initializers.serialize", "keras.initializers.serialize")
def serialize(initializer):
    """A serialized initializer, which get() accepts: {"class_name", "config"}, or the name of a function."""
    return _named_objects.serialize(initializer)


@public("initializers.deserialize", "keras.initializers.deserialize")
def deserialize(config, custom_objects=None):
    """The initializer of what serialize() returned."""
    if isinstance(config, dict) and custom_objects:
        with _named_objects.custom_object_scope(custom_objects):
            return get(config)
    return get(config)


@public("initializers.get", "keras.initializers.get")
def get(identifier):
    """Returns an initializer from an identifier.

    identifier: a name ('glorot_uniform', 'GlorotUniform'), a dict of class_name and config, a class, an initializer or another
    function of a shape, or None.
    Returns: the initializer; None for None.
    Errors: InvalidArgumentError for an unknown name and a dict without class_name, TypeError for any other type.
    """
    config = {}
    if isinstance(identifier, dict):
        if "class_name" not in identifier:
            raise _engine.InvalidArgumentError(f"get: identifier is {identifier!r}; a dict needs class_name")
        identifier, config = identifier["class_name"], identifier.get("config", {})
    if isinstance(identifier, str):
        named = {**_CLASSES, **{cls.__name__: cls for cls in _CLASSES.values()}, "IdentityInitializer": Identity,
                 "OrthogonalInitializer": Orthogonal, "zero": Zeros, "one": Ones, "normal": RandomNormal, "uniform": RandomUniform}
        found = _named_objects.get_registered_object(identifier) or named.get(identifier)
        if found is None:
            raise _engine.InvalidArgumentError(f"get: identifier is {identifier!r}; must be one of {', '.join(_CLASSES)}")
        return found.from_config(config) if hasattr(found, "from_config") else found
    if isinstance(identifier, type):
        return identifier()
    if identifier is None or callable(identifier):
        return identifier
    raise _engine.TypeMismatchError(f"get: identifier is a {type(identifier).__name__}; needs a name or a function of a shape")
