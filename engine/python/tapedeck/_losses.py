"""TensorFlow's tf.losses: TensorFlow 1's functions, which give one number for a batch, and beside them what tf.keras.losses has.

The functions that end with the argument `reduction` are TensorFlow 1's. labels and predictions (logits) have one shape, and labels
take the dtype of predictions, float32 where that is none of real numbers; weights are one number, or have as many axes as the
losses and on each 1 or their extent. Errors: InvalidArgumentError (a ValueError) for shapes that do not fit, and for None.
"""
import functools
import inspect

from tapedeck import _engine
from tapedeck._core import program_graph
from tapedeck._core.composites import op as _op, tensor as _tensor
from tapedeck._core.extents import as_dtype_of, count as number_of_elements, extent, extents
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._graph.collections import add_to_collection, get_collection, GraphKeys
from tapedeck.keras.losses.weighting import floating as _floating, in_dtype as _in_dtype

_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"


@public("losses.Reduction")
class Reduction:
    """How weighted losses are reduced: not at all (NONE), or their SUM is divided by the sum of the weights (MEAN), by the
    number of losses (SUM_OVER_BATCH_SIZE), or by the number of those whose weight is not 0 (SUM_BY_NONZERO_WEIGHTS)."""

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS = _BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls):
        """All of them."""
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key):
        """ValueError for any other value."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key!r}; must be one of {', '.join(map(repr, sorted(set(cls.all()))))}")


def _collected(function):
    """The function; in a tf.Graph its result goes into the collection that the argument loss_collection names."""
    place = list(inspect.signature(function).parameters).index("loss_collection")

    @functools.wraps(function)
    def called(*args, **kwargs):
        loss = function(*args, **kwargs)
        collection = args[place] if len(args) > place else kwargs.get("loss_collection", "losses")
        if program_graph.current() is not None and collection:
            add_to_collection(collection, loss)
        return loss

    return called


class _Scope:
    """A name scope for the records of a loss."""

    def __init__(self, scope, default):
        self._name = scope or default

    def __enter__(self):
        _engine.push_scope(self._name)

    def __exit__(self, *_):
        _engine.pop_scope()


def _pair(function, labels, predictions, labels_name="labels", predictions_name="predictions"):
    """Both as tensors of one floating dtype and one shape."""
    for name, value in ((labels_name, labels), (predictions_name, predictions)):
        if value is None:
            raise _engine.InvalidArgumentError(f"{function}: {name} must not be None")
    predictions = _floating(predictions)
    labels = _in_dtype(labels, predictions.dtype)
    if labels.shape != predictions.shape:
        raise _engine.InvalidArgumentError(f"{function}: Shapes of {labels_name} {tuple(labels.shape)} and {predictions_name} "
                                           f"{tuple(predictions.shape)} are incompatible")
    return labels, predictions


def _weights(function, weights, values):
    """Weights that fit the values, in their dtype."""
    if weights is None:
        raise _engine.InvalidArgumentError(f"{function}: weights must not be None")
    weights = _in_dtype(weights, values.dtype)
    if weights.shape and (len(weights.shape) != len(values.shape)
                          or any(None not in (given, own) and given not in (1, own) for given, own in zip(weights.shape, values.shape))):
        raise _engine.InvalidArgumentError(
            f"{function}: weights can not be broadcast to values. values.shape={tuple(values.shape)}. "
            f"weights.shape={tuple(weights.shape)}. Needs one number, or as many axes, and on each 1 or the same extent")
    return weights


def _is_one(weights):
    return isinstance(weights, (int, float)) and weights == 1


def _present(values, weights):
    """1 where the weight is not 0, else 0, of the values' shape."""
    return _op("broadcast_to")(_op("cast")(_op("not_equal")(weights, 0), values.dtype), extents(values))


def _reduced(function, losses, weights, reduction):
    Reduction.validate(reduction)
    losses = _floating(losses)
    if _is_one(weights):
        if reduction == Reduction.NONE:
            return losses
        if reduction == Reduction.SUM or 0 in losses.shape:
            return _op("reduce_sum")(losses)
        if losses.shape.is_fully_defined():
            return _op("reduce_mean")(losses)
        is_empty = _op("equal")(_op("size")(losses), 0)
        return _op("where")(is_empty, _in_dtype(0, losses.dtype), _op("reduce_mean")(losses))
    weights = _weights(function, weights, losses)
    weighted = losses * weights
    if reduction == Reduction.NONE:
        return weighted
    total = _op("reduce_sum")(weighted)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = _in_dtype(number_of_elements(losses), losses.dtype)
    elif reduction == Reduction.MEAN:
        count = _op("reduce_sum")(_op("broadcast_to")(weights, extents(losses)))
    else:
        count = _op("reduce_sum")(_present(losses, weights))
    return _op("divide_no_nan")(total, count)


@public("losses.compute_weighted_loss")
@_collected
def compute_weighted_loss(losses, weights=1.0, scope=None, loss_collection="losses", reduction=_BY_NONZERO_WEIGHTS):
    """Losses, weighed and reduced.

    losses: (batch, …), integers become float32; weights: one number, or as many axes as losses, and on each 1 or the same
    extent; loss_collection: where the result goes in a tf.Graph; elsewhere it changes nothing, as in TensorFlow's eager execution.
    Returns: the dtype of losses; a scalar, 0 where nothing counts; for Reduction.NONE the shape of losses.
    Errors: InvalidArgumentError for weights that do not fit; ValueError for another reduction.
    """
    with _Scope(scope, "weighted_loss"):
        return _reduced("compute_weighted_loss", losses, weights, reduction)


@public("losses.absolute_difference")
@_collected
def absolute_difference(labels, predictions, weights=1.0, scope=None, loss_collection="losses", reduction=_BY_NONZERO_WEIGHTS):
    """|predictions − labels|, weighed and reduced as compute_weighted_loss does."""
    with _Scope(scope, "absolute_difference"):
        labels, predictions = _pair("absolute_difference", labels, predictions)
        return _reduced("absolute_difference", _op("abs")(predictions - labels), weights, reduction)


@public("losses.cosine_distance")
@_collected
def cosine_distance(labels, predictions, axis=None, weights=1.0, scope=None, loss_collection="losses",
                    reduction=_BY_NONZERO_WEIGHTS, dim=None):
    """1 − Σ labels·predictions along axis, which keeps the extent 1; weighed and reduced as compute_weighted_loss does.

    labels, predictions: vectors of length 1 along axis (dim in earlier versions).
    """
    if axis is not None and dim is not None:
        raise _engine.InvalidArgumentError(f"cosine_distance: Cannot specify both 'axis' and 'dim'; they are {axis!r} and {dim!r}")
    axis = dim if axis is None else axis
    if axis is None:
        raise _engine.InvalidArgumentError("cosine_distance: You must specify 'axis'")
    with _Scope(scope, "cosine_distance_loss"):
        labels, predictions = _pair("cosine_distance", labels, predictions)
        losses = 1. - _op("reduce_sum")(predictions * labels, axis=axis, keepdims=True)
        return _reduced("cosine_distance", losses, weights, reduction)


@public("losses.hinge_loss")
@_collected
def hinge_loss(labels, logits, weights=1.0, scope=None, loss_collection="losses", reduction=_BY_NONZERO_WEIGHTS):
    """max(0, 1 − (2·labels − 1)·logits), weighed and reduced as compute_weighted_loss does. labels: 0 and 1."""
    with _Scope(scope, "hinge_loss"):
        labels, logits = _pair("hinge_loss", labels, logits, predictions_name="logits")
        return _reduced("hinge_loss", _op("relu")(1. - (2. * labels - 1.) * logits), weights, reduction)


@public("losses.huber_loss")
@_collected
def huber_loss(labels, predictions, weights=1.0, delta=1.0, scope=None, loss_collection="losses", reduction=_BY_NONZERO_WEIGHTS):
    """½·e² where the error's size |e| is at most delta, else delta·|e| − ½·delta²; weighed and reduced as compute_weighted_loss
    does."""
    with _Scope(scope, "huber_loss"):
        labels, predictions = _pair("huber_loss", labels, predictions)
        size = _op("abs")(predictions - labels)
        near = _op("minimum")(size, _in_dtype(delta, size.dtype))
        return _reduced("huber_loss", .5 * _op("square")(near) + delta * (size - near), weights, reduction)


@public("losses.log_loss")
@_collected
def log_loss(labels, predictions, weights=1.0, epsilon=1e-7, scope=None, loss_collection="losses", reduction=_BY_NONZERO_WEIGHTS):
    """−labels·ln(predictions + epsilon) − (1 − labels)·ln(1 − predictions + epsilon), weighed and reduced as compute_weighted_loss
    does."""
    with _Scope(scope, "log_loss"):
        labels, predictions = _pair("log_loss", labels, predictions)
        log = _op("log")
        losses = -(labels * log(predictions + epsilon)) - (1. - labels) * log(1. - predictions + epsilon)
        return _reduced("log_loss", losses, weights, reduction)


@public("losses.mean_pairwise_squared_error")
@_collected
@needs_extents
def mean_pairwise_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection="losses"):
    """The sum over the examples of the mean over all pairs i < j of their elements of (dᵢ − dⱼ)², d being predictions − labels.

    labels, predictions: (batch, …); weights: one number, or as many axes as labels, and on each 1 or the same extent; an example's
    pairs are those of its elements whose weight is not 0.
    Returns: the dtype of predictions; a scalar, 0 where nothing counts.
    """
    with _Scope(scope, "mean_pairwise_squared_error"):
        labels, predictions = _pair("mean_pairwise_squared_error", labels, predictions)
        if not predictions.shape:
            raise _engine.InvalidArgumentError("mean_pairwise_squared_error: labels and predictions are scalars; need examples")
        difference = predictions - labels
        weights = _weights("mean_pairwise_squared_error", weights, difference)
        axes = list(range(1, len(difference.shape)))

        def within(values):
            return _op("reduce_sum")(values, axis=axes, keepdims=True) if axes else values

        count = within(_present(difference, weights))
        others = _op("relu")(count - 1.)
        ratio = _op("divide_no_nan")
        squares, sums = within(_op("square")(difference)), within(difference)
        losses = 2. * ratio(squares, others) - 2. * ratio(_op("square")(sums), count * others)
        return _op("reduce_sum")(losses * weights)


@public("losses.mean_squared_error", row="mean_squared_error")
@_collected
def mean_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection="losses", reduction=_BY_NONZERO_WEIGHTS):
    """The squared differences of predictions and labels, weighed and reduced as compute_weighted_loss does; where all count alike, by
    the op. tf.keras.losses.mean_squared_error is TensorFlow 2's function of that name."""
    with _Scope(scope, "mean_squared_error"):
        labels, predictions = _pair("mean_squared_error", labels, predictions)
        averaged = reduction in (_BY_NONZERO_WEIGHTS, Reduction.MEAN, Reduction.SUM_OVER_BATCH_SIZE)
        if _is_one(weights) and averaged and 0 not in labels.shape:
            return _op("mean_squared_error")(labels, predictions)
        return _reduced("mean_squared_error", _op("squared_difference")(predictions, labels), weights, reduction)


@public("losses.sigmoid_cross_entropy")
@_collected
def sigmoid_cross_entropy(multi_class_labels, logits, weights=1.0, label_smoothing=0, scope=None, loss_collection="losses",
                          reduction=_BY_NONZERO_WEIGHTS):
    """tf.nn.sigmoid_cross_entropy_with_logits, weighed and reduced as compute_weighted_loss does.

    label_smoothing: s, draws labels towards a half: labels·(1 − s) + s/2.
    """
    with _Scope(scope, "sigmoid_cross_entropy_loss"):
        labels, logits = _pair("sigmoid_cross_entropy", multi_class_labels, logits, "multi_class_labels", "logits")
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + .5 * label_smoothing
        losses = _op("sigmoid_cross_entropy_with_logits")(labels, logits)
        return _reduced("sigmoid_cross_entropy", losses, weights, reduction)


@public("losses.softmax_cross_entropy")
@_collected
def softmax_cross_entropy(onehot_labels, logits, weights=1.0, label_smoothing=0, scope=None, loss_collection="losses",
                          reduction=_BY_NONZERO_WEIGHTS):
    """tf.nn.softmax_cross_entropy_with_logits along the last axis, weighed and reduced as compute_weighted_loss does. The labels
    get no gradient.

    weights: of the shape of logits without the last axis. label_smoothing: s, draws labels towards 1 / classes:
    labels·(1 − s) + s / classes.
    """
    with _Scope(scope, "softmax_cross_entropy_loss"):
        labels, logits = _pair("softmax_cross_entropy", onehot_labels, logits, "onehot_labels", "logits")
        if label_smoothing > 0 and labels.ndim:  # the op says what is wrong with a scalar
            labels = labels * (1 - label_smoothing) + label_smoothing / as_dtype_of(labels, extent(labels, -1))
        losses = _op("softmax_cross_entropy_with_logits")(_op("stop_gradient")(labels), logits)
        return _reduced("softmax_cross_entropy", losses, weights, reduction)


@public("losses.sparse_softmax_cross_entropy")
@_collected
@needs_extents
def sparse_softmax_cross_entropy(labels, logits, weights=1.0, scope=None, loss_collection="losses", reduction=_BY_NONZERO_WEIGHTS):
    """tf.nn.sparse_softmax_cross_entropy_with_logits, weighed and reduced as compute_weighted_loss does.

    labels: integers in [0, classes), of the shape of logits without the last axis, or with extent 1 there; so are weights.
    """
    for name, value in (("labels", labels), ("logits", logits)):
        if value is None:
            raise _engine.InvalidArgumentError(f"sparse_softmax_cross_entropy: {name} must not be None")
    with _Scope(scope, "sparse_softmax_cross_entropy_loss"):
        labels, logits = _tensor(labels), _floating(logits)
        if labels.shape and len(labels.shape) == len(logits.shape) and labels.shape[-1] == 1:
            labels = _op("squeeze")(labels, [-1])
        if not _is_one(weights) and weights is not None:
            weights = _tensor(weights)
            if len(weights.shape) == len(labels.shape) + 1 and weights.shape[-1] == 1:
                weights = _op("squeeze")(weights, [-1])
        losses = _op("sparse_softmax_cross_entropy_with_logits")(labels, logits)
        return _reduced("sparse_softmax_cross_entropy", losses, weights, reduction)


@public("losses.add_loss")
def add_loss(loss, loss_collection="losses"):
    """Adds the loss to a collection of the tf.Graph. Where ops run at once it does nothing, as in TensorFlow: there are no collections,
    and no end of a step that would empty them."""
    if program_graph.current() is not None and loss_collection:
        add_to_collection(loss_collection, loss)


@public("losses.get_losses")
def get_losses(scope=None, loss_collection="losses"):
    """The losses of a collection of the tf.Graph, those whose names begin with scope. Where ops run at once it is an empty list, as in
    TensorFlow, which collects no losses."""
    return [] if program_graph.current() is None else get_collection(loss_collection, scope)


@public("losses.get_regularization_losses")
def get_regularization_losses(scope=None):
    """What the regularisers of variables of the tf.Graph give. Where ops run at once it is an empty list, as in TensorFlow: the losses
    of a layer's regularisers are its attribute `losses`."""
    return [] if program_graph.current() is None else get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@public("losses.get_regularization_loss")
def get_regularization_loss(scope=None, name="total_regularization_loss"):
    """The sum of get_regularization_losses(); 0, a float32 scalar, where there is none."""
    found = get_regularization_losses(scope)
    return _op("add_n")(found) if found else _tensor(0.)


@public("losses.get_total_loss")
def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    """The sum of the losses of the tf.Graph, with those of the regularisers.

    Errors: RuntimeError where ops run at once, since TensorFlow's eager execution collects no losses that could be added: add them
    yourself, those of a layer's regularisers being its attribute `losses`; ValueError where there is none.
    """
    if program_graph.current() is not None:
        found = get_losses(scope) + (get_regularization_losses(scope) if add_regularization_losses else [])
        if not found:
            raise ValueError("get_total_loss: the graph has no losses")
        return _op("add_n")(found)
    raise RuntimeError("get_total_loss: eager execution collects no losses; add up what the losses' functions returned, and the "
                       "attribute `losses` of layers and models")
