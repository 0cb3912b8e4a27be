"""Layers that give their inputs mean 0 and variance 1, of a batch, an example, or groups of channels."""

from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._core.extents import extents, is_late, product
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.shapes import TensorShape
from tapedeck._graph.collections import collected_updates
from tapedeck._nn import functions as nn
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.input_spec import InputSpec
from tapedeck.keras.layers.weights import described, keep_weight_arguments

_reshape, _batch_norm, _layer_norm = _op("reshape"), _op("batch_norm"), _op("layer_norm")


class _Scaled(Layer):
    """What the layers share: gamma and beta, by which the normal values are scaled and moved."""

    _casts_integers = True

    _arguments = ()

    def _keep(self, axis, epsilon, center, scale, weights):
        self.axis, self.epsilon, self.center, self.scale = axis, epsilon, center, scale
        keep_weight_arguments(self, weights)
        self.supports_masking = True
        self.gamma = self.beta = None

    def _make(self, shape):
        if self.scale:
            self.gamma = self._weight("gamma", shape)
        if self.center:
            self.beta = self._weight("beta", shape)

    def _weight(self, name, shape):
        return self.add_weight(name=name, shape=shape, initializer=getattr(self, f"{name}_initializer"),
                               regularizer=getattr(self, f"{name}_regularizer"), constraint=getattr(self, f"{name}_constraint"))

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)

    def get_config(self):
        return {**super().get_config(), **described(
            self, "axis", "epsilon", "center", "scale", "beta_initializer", "gamma_initializer", "beta_regularizer",
            "gamma_regularizer", "beta_constraint", "gamma_constraint", *self._arguments)}


def _factors(layer, extents):
    """gamma and beta, or ones and zeros where the layer has none."""
    return (layer.gamma if layer.gamma is not None else _op("ones")(extents, layer._dtype),
            layer.beta if layer.beta is not None else _op("zeros")(extents, layer._dtype))


def axes_of(axis, shape, layer):
    """Axes, counted from the front, in order. ValueError for one that is not there, or named twice."""
    ndim, given = len(shape), [axis] if not hasattr(axis, "__len__") else list(axis)
    found = sorted(each % ndim for each in given if -ndim <= each < ndim)
    if len(found) != len(given) or len(set(found)) != len(found):
        raise ValueError(f"Invalid axis {axis} of {layer} for inputs of shape {tuple(shape)}; needs different axes in [{-ndim}, "
                         f"{ndim})")
    return found


@public("keras.layers.BatchNormalization")
class BatchNormalization(_Scaled):
    """gamma·(x − mean) / √(variance + epsilon) + beta for each channel (Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167).

    In training mean and variance are the batch's, over all axes but `axis`; the moving ones go towards them by 1 − momentum.
    Otherwise, and where `trainable` is False, the moving ones are used.
    center, scale: whether there are beta and gamma; the others are initializers, regularizers and constraints of the variables.
    Errors: ValueError for an axis that is not there, and an extent of it that is not known.
    """

    _arguments = "momentum", "moving_mean_initializer", "moving_variance_initializer"

    def __init__(self, axis=-1, momentum=0.99, epsilon=0.001, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones",
                 moving_mean_initializer="zeros", moving_variance_initializer="ones", beta_regularizer=None, gamma_regularizer=None,
                 beta_constraint=None, gamma_constraint=None, synchronized=False, **kwargs):
        super().__init__(**kwargs)
        self._keep(axis, epsilon, center, scale, dict(
            beta_initializer=beta_initializer, gamma_initializer=gamma_initializer, moving_mean_initializer=moving_mean_initializer,
            moving_variance_initializer=moving_variance_initializer, beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint, gamma_constraint=gamma_constraint))
        self.momentum, self.synchronized = float(momentum), synchronized

    def build(self, input_shape):
        shape = TensorShape(input_shape)
        axes = axes_of(self.axis, shape, "BatchNormalization")
        extents = [shape[axis] for axis in axes]
        if None in extents:
            raise ValueError(f"BatchNormalization: axis {self.axis} of inputs of shape {tuple(shape)} has no known extent")
        self._make(extents)
        self._make_moving(extents)
        own = vars(self)
        own["_channel_axis"] = axes[0] if len(axes) == 1 else None
        own["_factors"] = _factors(self, extents)
        own["_over"] = [axis for axis in range(len(shape)) if axis not in axes]
        own["_spread"] = None if axes == [len(shape) - 1] else [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
        self.input_spec = InputSpec(ndim=len(shape), axes=dict(zip(axes, extents)))
        self.built = True

    def _make_moving(self, extents):
        self.moving_mean = self.add_weight(name="moving_mean", shape=extents, initializer=self.moving_mean_initializer,
                                           trainable=False)
        self.moving_variance = self.add_weight(name="moving_variance", shape=extents, initializer=self.moving_variance_initializer,
                                               trainable=False)

    def _wide(self, value):
        return value if value is None or self._spread is None else _reshape(value, self._spread)

    _chooses = True

    def _called_by(self, training, inputs):
        """call() in the graph of a program of TensorFlow 1, where a run says whether it trains: the moving mean and variance move in an
        operation of their own, which then runs or changes nothing."""
        mean, variance = _op("moments")(inputs, self._over)
        followed = self._followed(inputs, mean, variance)
        chosen = []
        for moving, now, goal in zip((self.moving_mean, self.moving_variance), (mean, variance), followed):
            before = moving.read_value()
            chosen.append(_op("where")(training, now, before))
            if self._trainable:
                with collected_updates("AssignMovingAvg"):
                    moving.assign(_op("where")(training, moved(before, goal, self.momentum), before))
        return self._with(inputs, *chosen)

    def _followed(self, inputs, mean, variance):
        """What the moving ones go towards."""
        return mean, variance

    def call(self, inputs, training=False, mask=None):
        if is_late(training):
            return self._called_by(training, inputs)
        if not training or not self._trainable:
            return self._with(inputs, self.moving_mean, self.moving_variance)
        if mask is None and self._channel_axis is not None:
            scale, offset = self._factors
            outputs, mean, variance = _batch_norm(inputs, scale, offset, self._channel_axis, self.epsilon)
            self._follow(inputs, mean, variance)
            return outputs
        if mask is not None:
            weights = _op("cast")(mask, inputs.dtype)
            weights = _reshape(weights, [*extents(weights), *[1] * (inputs.ndim - weights.ndim)])
            mean, variance = nn.weighted_moments(inputs, self._over, weights)
        else:
            mean, variance = _op("moments")(inputs, self._over)
        outputs = self._with(inputs, mean, variance)
        self._follow(inputs, mean, variance)
        return outputs

    def _with(self, inputs, mean, variance):
        return nn.batch_normalization(inputs, self._wide(mean), self._wide(variance), self._wide(self.beta), self._wide(self.gamma),
                                      self.epsilon)

    def _follow(self, inputs, mean, variance):
        if inputs.shape.num_elements() != 0:  # the mean of nothing is NaN
            for moving, now in ((self.moving_mean, mean), (self.moving_variance, variance)):
                move_towards(moving, now, self.momentum)


def move_towards(moving, now, momentum):
    """moving·momentum + now·(1 − momentum); no tape sees it."""
    with collected_updates("AssignMovingAvg"):
        moving.assign(moved(moving, now, momentum))


def moved(before, now, momentum):
    """before·momentum + now·(1 − momentum)."""
    return _op("axpby")(momentum, before, 1 - momentum, _op("stop_gradient")(now))


@public("keras.layers.LayerNormalization")
class LayerNormalization(_Scaled):
    """gamma·(x − mean) / √(variance + epsilon) + beta with mean and variance of each example along `axis` (Ba, Kiros and Hinton
    2016, https://arxiv.org/abs/1607.06450).

    axis: one, or several; center, scale: whether there are beta and gamma; the others are initializers, regularizers and
    constraints.
    Errors: ValueError for an axis that is not there.
    """

    def __init__(self, axis=-1, epsilon=0.001, center=True, scale=True, beta_initializer="zeros", gamma_initializer="ones",
                 beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, **kwargs):
        super().__init__(**kwargs)
        self._keep(list(axis) if hasattr(axis, "__len__") else axis, epsilon, center, scale, dict(
            beta_initializer=beta_initializer, gamma_initializer=gamma_initializer, beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint, gamma_constraint=gamma_constraint))

    def build(self, input_shape):
        shape = TensorShape(input_shape)
        axes = axes_of(self.axis, shape, "LayerNormalization")
        self._make([shape[axis] for axis in axes])
        own = vars(self)
        own["_over"], own["_factors"] = axes, _factors(self, [shape[axis] for axis in axes])
        last = axes == list(range(len(shape) - len(axes), len(shape)))
        own["_spread"] = None if last else [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
        self.built = True

    def call(self, inputs):
        if self._spread is None:
            scale, offset = self._factors
            return _layer_norm(inputs, scale, offset, self._over[0], self.epsilon)[0]
        gamma, beta = (each if each is None else _reshape(each, self._spread) for each in (self.gamma, self.beta))
        return nn.layer_normalization(inputs, gamma, beta, self._over, self.epsilon)


@public("keras.layers.RMSNormalization")
class RMSNormalization(Layer):
    """scale·x / √(mean of x² along `axis` + epsilon) (Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467)."""

    _casts_integers = True

    def __init__(self, axis=-1, epsilon=1e-6, **kwargs):
        super().__init__(**kwargs)
        self.axis, self.epsilon, self.supports_masking = axis, epsilon, True

    def build(self, input_shape):
        shape = TensorShape(input_shape)
        axes = axes_of(self.axis, shape, "RMSNormalization")
        self.scale = self.add_weight(name="scale", shape=[shape[axis] for axis in axes], initializer="ones")
        own = vars(self)
        own["_over"] = axes
        own["_spread"] = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
        self.built = True

    def call(self, inputs):
        power = _op("reduce_mean")(_op("square")(inputs), axis=self._over, keepdims=True)
        return inputs * _op("rsqrt")(power + self.epsilon) * _reshape(self.scale, self._spread)

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)

    def get_config(self):
        return {**super().get_config(), **described(self, "axis", "epsilon")}


@public("keras.layers.GroupNormalization")
class GroupNormalization(_Scaled):
    """gamma·(x − mean) / √(variance + epsilon) + beta with mean and variance of groups of channels of each example (Wu and He 2018,
    https://arxiv.org/abs/1803.08494).

    groups: how many, −1 for one for each channel; axis: that of the channels. The others are those of LayerNormalization.
    Errors: ValueError for channels that groups do not divide.
    """

    _arguments = ("groups",)

    def __init__(self, groups=32, axis=-1, epsilon=0.001, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones",
                 beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, **kwargs):
        super().__init__(**kwargs)
        self.groups = groups
        self._keep(axis, epsilon, center, scale, dict(
            beta_initializer=beta_initializer, gamma_initializer=gamma_initializer, beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint, gamma_constraint=gamma_constraint))

    def build(self, input_shape):
        shape = TensorShape(input_shape)
        axis, = axes_of(self.axis, shape, "GroupNormalization")
        channels = shape[axis]
        if channels is None:
            raise ValueError(f"Axis {self.axis} of input tensor should have a defined dimension but the layer received an input "
                             f"with shape {tuple(shape)}.")
        if self.groups == -1:
            self.groups = channels
        if channels < self.groups or channels % self.groups:
            raise ValueError(f"Number of groups ({self.groups}) must be a divisor of the number of channels ({channels}).")
        self._make([channels])
        vars(self).update(_channel_axis=axis, _plain=None)
        self.input_spec = InputSpec(ndim=len(shape), axes={axis: channels})
        self.built = True

    def _plain_factors(self, size):
        """Ones and zeros for rows of this size."""
        if self._plain is None or self._plain[0].shape[0] != size:
            vars(self)["_plain"] = _op("ones")([size], self._dtype), _op("zeros")([size], self._dtype)
        return self._plain

    @needs_extents
    def _normalized(self, inputs):
        axis = self._channel_axis
        order = [0, axis, *(place for place in range(1, inputs.ndim) if place != axis)]
        moved = inputs if axis == 1 else _op("transpose")(inputs, order)
        shape = extents(moved)
        size = product(shape[1:]) // self.groups
        rows = _reshape(moved, [shape[0], self.groups, size])  # each group in one piece
        normal = _reshape(_layer_norm(rows, *self._plain_factors(size), 2, self.epsilon)[0], shape)
        return normal if axis == 1 else _op("transpose")(normal, [order.index(place) for place in range(len(order))])

    def call(self, inputs):
        normal = self._normalized(inputs)
        wide = [-1, *[1] * (inputs.ndim - self._channel_axis - 1)]
        if self.gamma is not None:
            normal = normal * _reshape(self.gamma, wide)
        return normal if self.beta is None else normal + _reshape(self.beta, wide)


@public("keras.layers.UnitNormalization")
class UnitNormalization(Layer):
    """x / √(Σx²), the sum along `axis`, one or several. TypeError for an axis that is not an integer."""

    _casts_integers = True

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        if isinstance(axis, (list, tuple)):
            axis = list(axis)
        if not all(isinstance(each, int) for each in (axis if isinstance(axis, list) else [axis])):
            raise TypeError(f"Invalid value for `axis` argument: expected an int or a list/tuple of ints. Received: axis={axis}")
        self.axis, self.supports_masking = axis, True
        vars(self)["_built"] = True

    def call(self, inputs):
        return nn.l2_normalize(inputs, self.axis if isinstance(self.axis, int) else list(self.axis))

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)

    def get_config(self):
        return {**super().get_config(), **described(self, "axis")}
