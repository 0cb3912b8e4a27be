"""tf.keras.activations: functions of a tensor, elementwise but for softmax and its kin."""
from tapedeck import _engine
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extent
from tapedeck._core.public import public
from tapedeck.keras import named_objects as _named_objects

_relu, _maximum, _minimum, _where = _op("relu"), _op("maximum"), _op("minimum"), _op("where")
_elu, _sigmoid, _softplus, _tanh, _exp = _op("elu"), _op("sigmoid"), _op("softplus"), _op("tanh"), _op("exp")


@public("keras.activations.linear")
def linear(x):
    """x."""
    return x


@public("keras.activations.relu")
def relu(x, negative_slope=0.0, max_value=None, threshold=0.0):
    """The rectifier: x where x ≥ threshold, no more than max_value; else negative_slope·(x − threshold). Zeros for a slope of 0.

    x: numeric, any shape. Returns: dtype and shape of x. Errors: TypeError for bool.
    """
    if not negative_slope and max_value is None and not threshold:
        return _relu(x)
    x = _engine.convert_to_tensor(x)
    kept = _relu(x) if not threshold else _where(x > threshold, x, _op("zeros_like")(x))
    if max_value is not None:
        kept = _minimum(kept, max_value)
    return kept - negative_slope * _relu(threshold - x) if negative_slope else kept


@public("keras.activations.relu6")
def relu6(x):
    """The rectifier, no more than 6."""
    return _op("relu6")(x)


@public("keras.activations.leaky_relu")
def leaky_relu(x, negative_slope=0.2):
    """x where x > 0, else negative_slope·x."""
    return _op("leaky_relu")(x, negative_slope)


@public("keras.activations.elu")
def elu(x, alpha=1.0):
    """x where x > 0, else alpha·(eˣ − 1) (Clevert, Unterthiner and Hochreiter 2016)."""
    if alpha == 1.0:
        return _elu(x)
    x = _engine.convert_to_tensor(x)
    return _where(x > 0, x, alpha * _elu(x))


@public("keras.activations.celu")
def celu(x, alpha=1.0):
    """x where x > 0, else alpha·(e^(x/alpha) − 1) (Barron 2017)."""
    x = _engine.convert_to_tensor(x)
    return _relu(x) + alpha * _elu(_minimum(x, 0) / alpha)


@public("keras.activations.selu")
def selu(x):
    """The scaled exponential linear unit (Klambauer, Unterthiner, Mayr and Hochreiter 2017)."""
    return _op("selu")(x)


@public("keras.activations.gelu")
def gelu(x, approximate=False):
    """The Gaussian error linear unit (Hendrycks and Gimpel 2016)."""
    return _op("gelu")(x, approximate)


@public("keras.activations.silu", "keras.activations.swish")
def silu(x):
    """x·sigmoid(x)."""
    return _op("swish")(x)


swish = silu


@public("keras.activations.softmax")
def softmax(x, axis=-1):
    """Exponentials along an axis, or a list of axes, that add up to 1. ValueError for a tensor without at least two axes."""
    x = _engine.convert_to_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    if isinstance(axis, (list, tuple)):
        return _exp(x - _op("reduce_logsumexp")(x, axis=list(axis), keepdims=True))
    return _op("softmax")(x, axis)


@public("keras.activations.log_softmax")
def log_softmax(x, axis=-1):
    """The natural logarithm of softmax."""
    return _op("log_softmax")(x, axis)


@public("keras.activations.softplus")
def softplus(x):
    """log(1 + eˣ)."""
    return _softplus(x)


@public("keras.activations.softsign")
def softsign(x):
    """x / (1 + |x|)."""
    return _op("softsign")(x)


@public("keras.activations.tanh")
def tanh(x):
    """The hyperbolic tangent."""
    return _tanh(x)


@public("keras.activations.sigmoid")
def sigmoid(x):
    """1 / (1 + e⁻ˣ)."""
    return _sigmoid(x)


@public("keras.activations.exponential")
def exponential(x):
    """eˣ."""
    return _exp(x)


@public("keras.activations.hard_sigmoid")
def hard_sigmoid(x):
    """x/6 + ½, between 0 and 1."""
    x = _engine.convert_to_tensor(x)
    return _op("relu6")(x + 3) * (1 / 6)


@public("keras.activations.hard_silu", "keras.activations.hard_swish")
def hard_silu(x):
    """x·hard_sigmoid(x)."""
    x = _engine.convert_to_tensor(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@public("keras.activations.hard_tanh")
def hard_tanh(x):
    """x, between −1 and 1."""
    return _maximum(_minimum(x, 1), -1)


@public("keras.activations.tanh_shrink")
def tanh_shrink(x):
    """x − tanh(x)."""
    x = _engine.convert_to_tensor(x)
    return x - _tanh(x)


@public("keras.activations.soft_shrink")
def soft_shrink(x, threshold=0.5):
    """x nearer to 0 by threshold; 0 within it."""
    x = _engine.convert_to_tensor(x)
    return _relu(x - threshold) - _relu(-threshold - x)


@public("keras.activations.hard_shrink")
def hard_shrink(x, threshold=0.5):
    """x where |x| > threshold, else 0."""
    x = _engine.convert_to_tensor(x)
    return _where(_op("abs")(x) > threshold, x, _op("zeros_like")(x))


@public("keras.activations.threshold")
def threshold(x, threshold, default_value):
    """x where x > threshold, else default_value."""
    x = _engine.convert_to_tensor(x)
    return _where(x > threshold, x, _engine.convert_to_tensor(default_value, x.dtype))


@public("keras.activations.log_sigmoid")
def log_sigmoid(x):
    """The logarithm of sigmoid."""
    return _op("log_sigmoid")(x)


@public("keras.activations.mish")
def mish(x):
    """x·tanh(softplus(x)) (Misra 2020)."""
    x = _engine.convert_to_tensor(x)
    return x * _tanh(_softplus(x))


@public("keras.activations.squareplus")
def squareplus(x, b=4):
    """(x + √(x² + b)) / 2 (Barron 2021)."""
    x = _engine.convert_to_tensor(x)
    return (x + _op("sqrt")(x * x + b)) / 2


@public("keras.activations.glu")
def glu(x, axis=-1):
    """The first half along an axis times the sigmoid of the second (Dauphin, Fan, Auli and Grangier 2017)."""
    first, second = _op("split")(x, 2, axis)
    return first * _sigmoid(second)


@public("keras.activations.sparse_plus")
def sparse_plus(x):
    """0 up to −1, (x + 1)²/4 up to 1, then x."""
    x = _engine.convert_to_tensor(x)
    zeros = _op("zeros_like")(x)
    return _where(x <= -1, zeros, _where(x < 1, (x + 1) * (x + 1) / 4, x))


@public("keras.activations.sparse_sigmoid")
def sparse_sigmoid(x):
    """(x + 1)/2, between 0 and 1."""
    x = _engine.convert_to_tensor(x)
    return _maximum(_minimum((x + 1) / 2, 1), 0)


@public("keras.activations.sparsemax")
def sparsemax(x, axis=-1):
    """The point of the simplex nearest to x along an axis (Martins and Astudillo 2016, https://arxiv.org/abs/1602.02068)."""
    x = _engine.convert_to_tensor(x)
    if not -x.ndim <= axis < x.ndim:
        raise _engine.InvalidArgumentError(f"sparsemax: axis is {axis}; x has shape {tuple(x.shape)}")
    axis = axis % x.ndim
    last = x if axis == x.ndim - 1 else _op("transpose")(x, _swapped(axis, x.ndim))
    ordered = _op("sort")(last, -1, "DESCENDING")
    places = _op("cast")(_op("range")(1, extent(last, -1) + 1), last.dtype)
    sums = _op("cumsum")(ordered, -1)
    inside = _op("cast")(places * ordered > sums - 1, last.dtype)
    count = _op("reduce_sum")(inside, axis=-1, keepdims=True)
    limit = (_op("reduce_sum")(inside * ordered, axis=-1, keepdims=True) - 1) / count
    found = _relu(last - limit)
    return found if last is x else _op("transpose")(found, _swapped(axis, x.ndim))


def _swapped(axis, ndim):
    order = list(range(ndim))
    order[axis], order[-1] = order[-1], order[axis]
    return order


_named = {function.__name__: function for function in (
    relu, leaky_relu, relu6, softmax, celu, elu, selu, softplus, softsign, squareplus, soft_shrink, sparse_plus, silu, gelu, glu,
    tanh,
    tanh_shrink, threshold, sigmoid, sparse_sigmoid, exponential, hard_sigmoid, hard_silu, hard_tanh, hard_shrink, linear, mish,
    log_softmax, log_sigmoid, sparsemax)}
_named.update(swish=silu, hard_swish=hard_silu)


@public("keras.activations.serialize")
def serialize(activation):
    """A serialized activation, which get() accepts: its name, or a dict of a registered object."""
    if activation is None or _named.get(getattr(activation, "__name__", None)) is activation:
        return activation and activation.__name__
    if not hasattr(activation, "get_config") and getattr(activation, "__name__", None) in _named:
        return activation.__name__  # the op of that name: tf.nn.relu
    return _named_objects.serialize(activation)


@public("keras.activations.deserialize")
def deserialize(config, custom_objects=None):
    """The function of what serialize() returned."""
    return get(_named_objects.found(config, _named, "activation function", custom_objects))


@public("keras.activations.get")
def get(identifier):
    """A function by its name, by a dict of class_name and config, or as it is; linear for None. ValueError for a name that none
    has."""
    if identifier is None:
        return linear
    if isinstance(identifier, (str, dict)):
        return _named_objects.found(identifier, _named, "activation function")
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret activation function identifier: {identifier}")
