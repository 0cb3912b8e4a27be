"""The losses of Keras as functions: what each example's prediction costs, y_true being what it should be.

Unless a function says otherwise: y_pred is of any floating dtype, integers become floatx(); y_true takes its dtype, and its
shape, or one that differs by a last axis of extent 1. The result has the dtype of y_pred and its shape without the last axis, of
which it is the mean. Errors: InvalidArgumentError for shapes that do not fit, TypeError for a value that cannot be converted to a tensor.
"""
import math

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.composites import in_dtype, limits, op, tensor
from tapedeck._core.extents import as_dtype_of, extent
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._nn.functions import l2_normalize
from tapedeck.keras.backend import epsilon
from tapedeck.keras.losses.weighting import floating, pair

_abs, _maximum, _minimum, _where, _log, _clip = (op(name) for name in (
    "abs", "maximum", "minimum", "where", "log", "clip_by_value"))
_mean, _sum, _square, _softplus = op("reduce_mean"), op("reduce_sum"), op("square"), op("softplus")
_softmax_loss = op("softmax_cross_entropy_with_logits")
_sparse_loss = op("sparse_softmax_cross_entropy_with_logits")
_sigmoid_loss = op("sigmoid_cross_entropy_with_logits")


def _mean_of(elements):
    """Makes a loss of a function that gives what each element costs; a Loss takes that alone, and one mean of it."""

    def decorate(function):
        function.elements = elements
        return function

    return decorate


def _squared_error(y_true, y_pred):
    return op("squared_difference")(*pair("mean_squared_error", y_true, y_pred))


@public("metrics.mean_squared_error", "keras.losses.mean_squared_error", "keras.metrics.mean_squared_error", "losses.MSE",
        "losses.mse", "metrics.MSE", "metrics.mse", "keras.losses.MSE", "keras.losses.mse", "keras.metrics.MSE",
        "keras.metrics.mse")
@_mean_of(_squared_error)
def mean_squared_error(y_true, y_pred):
    """The mean of (y_true − y_pred)² along the last axis."""
    return _mean(_squared_error(y_true, y_pred), axis=-1)


def _absolute_error(y_true, y_pred):
    y_true, y_pred = pair("mean_absolute_error", y_true, y_pred)
    return _abs(y_true - y_pred)


@public("losses.mean_absolute_error", "metrics.mean_absolute_error", "keras.losses.mean_absolute_error",
        "keras.metrics.mean_absolute_error", "losses.MAE", "losses.mae", "metrics.MAE", "metrics.mae", "keras.losses.MAE",
        "keras.losses.mae", "keras.metrics.MAE", "keras.metrics.mae")
@_mean_of(_absolute_error)
def mean_absolute_error(y_true, y_pred):
    """The mean of |y_true − y_pred| along the last axis."""
    return _mean(_absolute_error(y_true, y_pred), axis=-1)


def _percentage_error(y_true, y_pred):
    y_true, y_pred = pair("mean_absolute_percentage_error", y_true, y_pred)
    return 100. * _abs((y_true - y_pred) / _maximum(_abs(y_true), epsilon()))


@public("losses.mean_absolute_percentage_error", "metrics.mean_absolute_percentage_error",
        "keras.losses.mean_absolute_percentage_error", "keras.metrics.mean_absolute_percentage_error", "losses.MAPE", "losses.mape",
        "metrics.MAPE", "metrics.mape", "keras.losses.MAPE", "keras.losses.mape", "keras.metrics.MAPE", "keras.metrics.mape")
@_mean_of(_percentage_error)
def mean_absolute_percentage_error(y_true, y_pred):
    """The mean of 100·|y_true − y_pred| / max(|y_true|, 10⁻⁷) along the last axis."""
    return _mean(_percentage_error(y_true, y_pred), axis=-1)


def _squared_logarithmic_error(y_true, y_pred):
    y_true, y_pred = pair("mean_squared_logarithmic_error", y_true, y_pred)
    return op("squared_difference")(op("log1p")(_maximum(y_pred, epsilon())), op("log1p")(_maximum(y_true, epsilon())))


@public("losses.mean_squared_logarithmic_error", "metrics.mean_squared_logarithmic_error",
        "keras.losses.mean_squared_logarithmic_error", "keras.metrics.mean_squared_logarithmic_error", "losses.MSLE", "losses.msle",
        "metrics.MSLE", "metrics.msle", "keras.losses.MSLE", "keras.losses.msle", "keras.metrics.MSLE", "keras.metrics.msle")
@_mean_of(_squared_logarithmic_error)
def mean_squared_logarithmic_error(y_true, y_pred):
    """The mean of (ln(1 + y_true) − ln(1 + y_pred))² along the last axis; values below 10⁻⁷ count as that."""
    return _mean(_squared_logarithmic_error(y_true, y_pred), axis=-1)


@public("losses.cosine_similarity", "keras.losses.cosine_similarity", "losses.cosine_proximity", "keras.losses.cosine_proximity")
def cosine_similarity(y_true, y_pred, axis=-1):
    """−Σ y_true·y_pred / (‖y_true‖·‖y_pred‖) along axis: −1 for the same direction, 0 for right angles and for zeros, 1 for
    opposite ones.

    axis: one axis, or a list. Returns: the dtype of y_pred, its shape without the axis.
    """
    y_true, y_pred = pair("cosine_similarity", y_true, y_pred)
    return -_sum(l2_normalize(y_true, axis) * l2_normalize(y_pred, axis), axis=axis)


def _huber(y_true, y_pred, delta=1.0):
    y_true, y_pred = pair("huber", y_true, y_pred)
    size = _abs(y_pred - y_true)
    near = _minimum(size, in_dtype(delta, size.dtype))
    return .5 * _square(near) + delta * (size - near)


@public("losses.huber", "metrics.huber", "keras.losses.huber", "keras.metrics.huber")
@_mean_of(_huber)
def huber(y_true, y_pred, delta=1.0):
    """The mean along the last axis of ½·e² where the error's size |e| is at most delta, and of delta·|e| − ½·delta² beyond it
    (Huber 1964)."""
    return _mean(_huber(y_true, y_pred, delta), axis=-1)


def _log_cosh(y_true, y_pred):
    y_true, y_pred = pair("log_cosh", y_true, y_pred)
    error = y_pred - y_true
    return error + _softplus(-2. * error) - math.log(2.)


@public("losses.log_cosh", "metrics.log_cosh", "keras.losses.log_cosh", "keras.metrics.log_cosh", "losses.logcosh",
        "metrics.logcosh", "keras.losses.logcosh", "keras.metrics.logcosh")
@_mean_of(_log_cosh)
def log_cosh(y_true, y_pred):
    """The mean of ln cosh(y_pred − y_true) along the last axis, as e + softplus(−2·e) − ln 2, which does not overflow."""
    return _mean(_log_cosh(y_true, y_pred), axis=-1)


def _hinge_labels(y_true):
    """Labels of 0 and 1 as −1 and 1; others stay."""
    are_bits = op("reduce_all")(op("logical_or")(op("equal")(y_true, 0), op("equal")(y_true, 1)))
    return op("where")(are_bits, 2. * y_true - 1., y_true)


def _hinge(y_true, y_pred):
    y_true, y_pred = pair("hinge", y_true, y_pred, squeeze=False)
    return op("relu")(1. - _hinge_labels(y_true) * y_pred)


@public("losses.hinge", "metrics.hinge", "keras.losses.hinge", "keras.metrics.hinge")
@_mean_of(_hinge)
def hinge(y_true, y_pred):
    """The mean of max(0, 1 − y_true·y_pred) along the last axis. y_true: −1 and 1; or 0 and 1, which count as those."""
    return _mean(_hinge(y_true, y_pred), axis=-1)


def _squared_hinge(y_true, y_pred):
    return _square(_hinge(y_true, y_pred))


@public("losses.squared_hinge", "metrics.squared_hinge", "keras.losses.squared_hinge", "keras.metrics.squared_hinge")
@_mean_of(_squared_hinge)
def squared_hinge(y_true, y_pred):
    """The mean of max(0, 1 − y_true·y_pred)² along the last axis. y_true: −1 and 1; or 0 and 1, which count as those."""
    return _mean(_squared_hinge(y_true, y_pred), axis=-1)


@public("losses.categorical_hinge", "metrics.categorical_hinge", "keras.losses.categorical_hinge",
        "keras.metrics.categorical_hinge")
def categorical_hinge(y_true, y_pred):
    """max(0, 1 + max((1 − y_true)·y_pred) − Σ y_true·y_pred) along the last axis. y_true: 1 for the right class, 0 elsewhere."""
    y_true, y_pred = pair("categorical_hinge", y_true, y_pred, squeeze=False)
    right = _sum(y_true * y_pred, axis=-1)
    return op("relu")(op("reduce_max")((1. - y_true) * y_pred, axis=-1) - right + 1.)


@public("losses.kl_divergence", "metrics.kl_divergence", "keras.losses.kl_divergence", "keras.metrics.kl_divergence", "losses.KLD",
        "losses.kld", "losses.kullback_leibler_divergence", "metrics.KLD", "metrics.kld", "metrics.kullback_leibler_divergence",
        "keras.losses.KLD", "keras.losses.kld", "keras.losses.kullback_leibler_divergence", "keras.metrics.KLD",
        "keras.metrics.kld", "keras.metrics.kullback_leibler_divergence")
def kl_divergence(y_true, y_pred):
    """The divergence of Kullback and Leibler, Σ y_true·ln(y_true / y_pred) along the last axis; both are clipped to [10⁻⁷, 1]."""
    y_true, y_pred = (_clip(each, epsilon(), 1.) for each in pair("kl_divergence", y_true, y_pred, squeeze=False))
    return _sum(y_true * _log(y_true / y_pred), axis=-1)


def _poisson(y_true, y_pred):
    y_true, y_pred = pair("poisson", y_true, y_pred, squeeze=False)
    return y_pred - y_true * _log(y_pred + epsilon())


@public("losses.poisson", "metrics.poisson", "keras.losses.poisson", "keras.metrics.poisson")
@_mean_of(_poisson)
def poisson(y_true, y_pred):
    """The mean of y_pred − y_true·ln(y_pred + 10⁻⁷) along the last axis: the negative logarithm of Poisson's likelihood."""
    return _mean(_poisson(y_true, y_pred), axis=-1)


def _same_shape(function, y_true, y_pred):
    y_pred = floating(y_pred)
    y_true = in_dtype(y_true, y_pred.dtype)
    if y_true.shape != y_pred.shape:
        raise _engine.InvalidArgumentError(f"{function}: y_true {tuple(y_true.shape)} and y_pred {tuple(y_pred.shape)} must have "
                                           "one shape")
    if not y_pred.shape:
        raise _engine.InvalidArgumentError(f"{function}: y_true and y_pred are scalars; need at least one axis")
    return y_true, y_pred


def _axis(function, axis, y_pred):
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise ValueError(f"{function}: axis is {axis!r}; needs an integer")
    return axis


def _inside(probabilities):
    """Probabilities clipped to [10⁻⁷, 1 − 10⁻⁷]; in narrow dtypes to the nearest to 1 that there is below it, and as far from 0: a
    logarithm of 0 would make NaN of what has the weight 0."""
    least = {"float16": 2.**-11, "bfloat16": 2.**-8}.get(probabilities.dtype.name, epsilon())
    return _clip(probabilities, least, 1. - least)


def _cross_entropy(y_true, probabilities):
    p = _inside(probabilities)
    return -(y_true * _log(p) + (1. - y_true) * _log(1. - p))


def _binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    y_true, y_pred = _same_shape("binary_crossentropy", y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1. - label_smoothing) + .5 * label_smoothing
    return _sigmoid_loss(y_true, y_pred) if from_logits else _cross_entropy(y_true, y_pred)


@public("losses.binary_crossentropy", "metrics.binary_crossentropy", "keras.losses.binary_crossentropy",
        "keras.metrics.binary_crossentropy", "losses.BCE", "losses.bce", "metrics.BCE", "metrics.bce", "keras.losses.BCE",
        "keras.losses.bce", "keras.metrics.BCE", "keras.metrics.bce")
@_mean_of(_binary_crossentropy)
@needs_extents
def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """The mean along axis of −y_true·ln p − (1 − y_true)·ln(1 − p).

    y_true: the shape of y_pred; y_pred: the probabilities p, clipped to [10⁻⁷, 1 − 10⁻⁷], or, with from_logits, x for p = σ(x);
    label_smoothing: s, draws labels towards a half: y·(1 − s) + s/2.
    """
    return _mean(_binary_crossentropy(y_true, y_pred, from_logits, label_smoothing), axis=axis)


def _binary_focal_crossentropy(y_true, y_pred, apply_class_balancing=False, alpha=0.25, gamma=2.0, from_logits=False,
                               label_smoothing=0.0, axis=-1):
    y_true, y_pred = _same_shape("binary_focal_crossentropy", y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1. - label_smoothing) + .5 * label_smoothing
    if from_logits:
        y_pred = op("sigmoid")(y_pred)
    right = y_true * y_pred + (1. - y_true) * (1. - y_pred)
    loss = (1. - right) ** gamma * _cross_entropy(y_true, y_pred)
    return (y_true * alpha + (1. - y_true) * (1. - alpha)) * loss if apply_class_balancing else loss


@public("losses.binary_focal_crossentropy", "metrics.binary_focal_crossentropy", "keras.losses.binary_focal_crossentropy",
        "keras.metrics.binary_focal_crossentropy")
@_mean_of(_binary_focal_crossentropy)
def binary_focal_crossentropy(y_true, y_pred, apply_class_balancing=False, alpha=0.25, gamma=2.0, from_logits=False,
                              label_smoothing=0.0, axis=-1):
    """The mean along axis of binary_crossentropy's elements times (1 − q)^gamma, q being the probability that y_pred gives to
    y_true (Lin and others 2017, https://arxiv.org/abs/1708.02002).

    apply_class_balancing: positive ones count alpha, negative ones 1 − alpha. The others are those of binary_crossentropy.
    """
    return _mean(_binary_focal_crossentropy(y_true, y_pred, apply_class_balancing, alpha, gamma, from_logits, label_smoothing),
                 axis=axis)


def _smooth_classes(y_true, label_smoothing, axis):
    if not label_smoothing:
        return y_true
    return y_true * (1. - label_smoothing) + label_smoothing / as_dtype_of(y_true, extent(y_true, axis))


@public("losses.categorical_crossentropy", "metrics.categorical_crossentropy", "keras.losses.categorical_crossentropy",
        "keras.metrics.categorical_crossentropy")
def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    """−Σ y_true·ln p along axis, the classes.

    y_true: the probabilities of the classes, 1 for the right one and 0 for the others; the shape of y_pred. y_pred: the
    probabilities p, which are divided by their sum and clipped to [10⁻⁷, 1 − 10⁻⁷], or, with from_logits, x for p = softmax(x).
    label_smoothing: s, draws labels towards 1 / classes: y·(1 − s) + s / classes.
    Returns: the dtype of y_pred, its shape without axis. Errors: ValueError for an axis that is not an integer.
    """
    y_true, y_pred = _same_shape("categorical_crossentropy", y_true, y_pred)
    axis = _axis("categorical_crossentropy", axis, y_pred)
    y_true = _smooth_classes(y_true, label_smoothing, axis)
    if from_logits:
        return _softmax_loss(y_true, y_pred, axis)
    p = _inside(y_pred / _sum(y_pred, axis=axis, keepdims=True))
    return -_sum(y_true * _log(p), axis=axis)


@public("losses.categorical_focal_crossentropy", "metrics.categorical_focal_crossentropy",
        "keras.losses.categorical_focal_crossentropy", "keras.metrics.categorical_focal_crossentropy")
def categorical_focal_crossentropy(y_true, y_pred, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0, axis=-1):
    """−Σ alpha·(1 − p)^gamma·y_true·ln p along axis, the classes (Lin and others 2017, https://arxiv.org/abs/1708.02002).

    alpha: a number, or one for each class. The others are those of categorical_crossentropy.
    Returns: the dtype of y_pred, its shape without axis. Errors: ValueError for an axis that is not an integer.
    """
    y_true, y_pred = _same_shape("categorical_focal_crossentropy", y_true, y_pred)
    axis = _axis("categorical_focal_crossentropy", axis, y_pred)
    y_true = _smooth_classes(y_true, label_smoothing, axis)
    p = op("softmax")(y_pred, axis) if from_logits else y_pred
    p = _inside(p / _sum(p, axis=axis, keepdims=True))
    return -_sum(in_dtype(alpha, p.dtype) * (1. - p) ** gamma * y_true * _log(p), axis=axis)


def ignored(y_true, y_pred, ignore_class, axis=-1):
    """False where the label of a sparse_categorical_crossentropy is ignore_class; None without one."""
    if ignore_class is None:
        return None
    labels = _labels(tensor(y_true), tensor(y_pred), axis)
    return op("not_equal")(labels, tensor(ignore_class, labels.dtype))


def _labels(y_true, y_pred, axis):
    """The classes, as many axes as y_pred has beside that of the classes."""
    if 0 < len(y_true.shape) == len(y_pred.shape) and y_true.shape[axis] == 1:
        y_true = op("squeeze")(y_true, [axis])
    return y_true if y_true.dtype.is_integer else op("cast")(y_true, dtypes.int64)


@public("losses.sparse_categorical_crossentropy", "metrics.sparse_categorical_crossentropy",
        "keras.losses.sparse_categorical_crossentropy", "keras.metrics.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, ignore_class=None, axis=-1):
    """−ln p of the right class.

    y_true: its number, in [0, classes), whole or floating; the shape of y_pred without axis, or with extent 1 there. y_pred:
    the probabilities p of the classes along axis, clipped to [10⁻⁷, 1 − 10⁻⁷] and divided by their sum, or, with from_logits, x
    for p = softmax(x). ignore_class: a label whose examples cost nothing.
    Returns: the dtype of y_pred, its shape without axis. Errors: OutOfRangeError for labels outside.
    """
    y_pred = floating(y_pred)
    axis = _axis("sparse_categorical_crossentropy", axis, y_pred)
    rank = len(y_pred.shape)
    if not -rank <= axis < rank:
        raise _engine.InvalidArgumentError(f"sparse_categorical_crossentropy: axis {axis} is out of range for y_pred "
                                           f"{tuple(y_pred.shape)}")
    labels = _labels(tensor(y_true), y_pred, axis)
    axis %= rank
    if not labels.shape.is_compatible_with([*y_pred.shape[:axis], *y_pred.shape[axis + 1:]]):
        raise _engine.InvalidArgumentError(f"sparse_categorical_crossentropy: y_true {tuple(labels.shape)} and y_pred "
                                           f"{tuple(y_pred.shape)}; y_true needs the shape of y_pred without axis {axis}")
    if axis != rank - 1:
        y_pred = op("transpose")(y_pred, [*range(axis), *range(axis + 1, rank), axis])
    counts = ignored(labels, y_pred, ignore_class)
    if counts is not None:
        labels = _where(counts, labels, op("zeros_like")(labels))
    if not from_logits:
        y_pred = _log(_inside(y_pred))
    loss = _sparse_loss(labels, y_pred)
    return loss if counts is None else _where(counts, loss, op("zeros_like")(loss))


@public("losses.dice", "keras.losses.dice")
def dice(y_true, y_pred, axis=None):
    """1 − 2·Σ y_true·y_pred / (Σ y_true + Σ y_pred + 10⁻⁷) along axis, None for all of them (Milletari and others 2016,
    https://arxiv.org/abs/1606.04797). Returns: the dtype of y_pred, its shape without axis."""
    y_true, y_pred = pair("dice", y_true, y_pred, squeeze=False)
    both = _sum(y_true * y_pred, axis=axis)
    return 1. - 2. * both / (_sum(y_true, axis=axis) + _sum(y_pred, axis=axis) + epsilon())


@public("losses.tversky", "keras.losses.tversky")
def tversky(y_true, y_pred, alpha=0.5, beta=0.5, axis=None):
    """1 − b / (b + alpha·m + beta·f + 10⁻⁷) along axis, None for all of them, with b = Σ y_true·y_pred, m = Σ y_true·(1 − y_pred)
    and f = Σ (1 − y_true)·y_pred (Salehi and others 2017, https://arxiv.org/abs/1706.05721).

    Returns: the dtype of y_pred, its shape without axis.
    """
    y_true, y_pred = pair("tversky", y_true, y_pred, squeeze=False)
    both = _sum(y_true * y_pred, axis=axis)
    missed, false = _sum(y_true * (1. - y_pred), axis=axis), _sum((1. - y_true) * y_pred, axis=axis)
    return 1. - both / (both + alpha * missed + beta * false + epsilon())


@public("losses.circle", "keras.losses.circle")
@needs_extents
def circle(y_true, y_pred, ref_labels=None, ref_embeddings=None, remove_diagonal=True, gamma=80, margin=0.4):
    """The circle loss of embeddings (Sun and others 2020, https://arxiv.org/abs/2002.10857), of the distances 1 − y_pred·refᵀ.

    y_true: (batch,), integers, the class of each example; y_pred: (batch, features), rows of length 1. ref_labels,
    ref_embeddings: the examples that they are compared with, None for the batch itself, where remove_diagonal leaves each
    example itself out. gamma: the scale; margin: how far classes are to be apart.
    Returns: the dtype of y_pred, (batch,). 0 for an example that has no other of its class, or none of another one.
    """
    y_pred = floating(y_pred)
    y_true = in_dtype(y_true, dtypes.int64)
    labels = y_true if ref_labels is None else in_dtype(ref_labels, dtypes.int64)
    references = y_pred if ref_embeddings is None else in_dtype(ref_embeddings, y_pred.dtype)
    y_true, labels = op("reshape")(y_true, [-1]), op("reshape")(labels, [-1])
    distances = op("relu")(1. - op("matmul")(y_pred, references, transpose_b=True))
    same = op("equal")(op("expand_dims")(y_true, 1), op("expand_dims")(labels, 0))
    other = op("logical_not")(same)
    if remove_diagonal:
        if len(labels.shape) and labels.shape != y_true.shape:
            raise _engine.InvalidArgumentError(f"circle: remove_diagonal needs as many ref_labels {tuple(labels.shape)} as y_true "
                                               f"{tuple(y_true.shape)}")
        same = op("logical_and")(same, op("logical_not")(op("eye")(y_true.shape[0], dtype="bool")))
    nothing = op("fill")(distances.shape, tensor(float(limits(distances.dtype).min) / 4, distances.dtype))
    near = -gamma * op("relu")(margin + distances) * (margin - distances)
    far = gamma * op("relu")(1. + margin - distances) * (1. - margin - distances)
    lse = op("reduce_logsumexp")
    loss = _softplus(lse(_where(same, near, nothing), axis=1) + lse(_where(other, far, nothing), axis=1))
    any_of = op("reduce_any")
    counts = op("logical_and")(any_of(same, axis=1), any_of(other, axis=1))
    return _where(counts, loss, op("zeros_like")(loss))


@public("losses.categorical_generalized_cross_entropy", "keras.losses.categorical_generalized_cross_entropy")
@needs_extents
def categorical_generalized_cross_entropy(y_true, y_pred, q):
    """(1 − p^q) / q, p being the probability of the right class (Zhang and Sabuncu 2018, https://arxiv.org/abs/1805.07836).

    y_true: its number, the shape of y_pred without the last axis; y_pred: probabilities along the last axis; q: above 0.
    """
    y_pred = floating(y_pred)
    if not y_pred.ndim:
        raise _engine.InvalidArgumentError("categorical_generalized_cross_entropy: y_pred is a scalar; needs an axis of classes")
    labels = _labels(tensor(y_true), y_pred, -1)
    p = _sum(y_pred * op("one_hot")(labels, y_pred.shape[-1], dtype=y_pred.dtype), axis=-1)
    return (1. - p ** q) / q
