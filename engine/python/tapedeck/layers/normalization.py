"""tf.layers.BatchNormalization, with TensorFlow 1's renormalization."""
from tapedeck import _engine
from tapedeck._core.composites import op as _op, tensor
from tapedeck._core.extents import is_late
from tapedeck._core.public import public
from tapedeck.keras.layers.normalization import BatchNormalization as KerasBatchNormalization
from tapedeck.keras.layers.normalization import move_towards
from tapedeck.layers.base import functional, Layer

_LIMITS = {"rmax", "rmin", "dmax"}


@public("layers.BatchNormalization")
class BatchNormalization(KerasBatchNormalization, Layer):
    """gamma·(x − mean) / √(variance + epsilon) + beta for each channel (Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167).

    With training=True mean and variance are the batch's, over all axes but `axis`, and the moving ones go towards them by 1 −
    momentum; otherwise the moving ones are used.
    renorm: correct the batch's moments by moving ones in training too (Ioffe 2017, https://arxiv.org/abs/1702.03275);
    renorm_clipping: a dict of 'rmin', 'rmax', 'dmax', the correction's limits; renorm_momentum: of those moving ones. fused: None
    or True for TensorFlow's fused op's moving variance, with n − 1 below, where inputs have four axes. adjustment: a function of
    the inputs' shape that returns scale and bias of the normal values in training. center, scale: whether there are beta and gamma;
    the others are initializers, regularizers and constraints.
    Errors: ValueError for an axis that is not there, other keys of renorm_clipping, and virtual_batch_size, which there is not.
    """

    _opens_scope = False

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones",
                 moving_mean_initializer="zeros", moving_variance_initializer="ones", beta_regularizer=None, gamma_regularizer=None,
                 beta_constraint=None, gamma_constraint=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99, fused=None,
                 trainable=True, virtual_batch_size=None, adjustment=None, name=None, **kwargs):
        super().__init__(axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer, moving_mean_initializer,
                         moving_variance_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint,
                         trainable=trainable, name=name, **kwargs)
        if virtual_batch_size is not None:
            raise ValueError(f"BatchNormalization: virtual_batch_size is {virtual_batch_size!r}; only None is taken")
        if set(renorm_clipping or ()) - _LIMITS:
            raise ValueError(f"renorm_clipping {renorm_clipping} contains keys not in {sorted(_LIMITS)}")
        self.renorm, self.renorm_momentum, self.virtual_batch_size = renorm, renorm_momentum, None
        self.renorm_clipping, self.adjustment = renorm_clipping or {}, adjustment
        self.fused = fused is None or fused

    def _make_moving(self, extents):
        super()._make_moving(extents)
        if not self.renorm:
            return
        for name, shape in (("renorm_mean", extents), ("renorm_mean_weight", ()), ("renorm_stddev", extents),
                            ("renorm_stddev_weight", ())):
            setattr(self, name, self.add_weight(name=name, shape=shape, initializer="zeros", trainable=False))

    def build(self, input_shape):
        super().build(input_shape)
        self.fused = self.fused and not self.renorm and self.adjustment is None and len(input_shape) == 4 \
            and self._channel_axis in (1, 3)

    def call(self, inputs, training=False):
        if is_late(training):
            if self.renorm or self.adjustment is not None:
                raise _engine.UnimplementedError("batch_normalization: training is a tensor of a graph, with renorm or adjustment; give "
                                                 "True or False")
            return self._called_by(training, inputs)
        if not training:
            return self._with(inputs, self.moving_mean, self.moving_variance)
        plain = not self.renorm and self.adjustment is None
        if plain and self._channel_axis is not None:
            outputs, mean, variance = _op("batch_norm")(inputs, *self._factors, self._channel_axis, self.epsilon)
        else:
            mean, variance = _op("moments")(inputs, self._over)
            if plain:
                outputs = self._with(inputs, mean, variance)
            else:
                outputs, mean, variance = self._corrected(inputs, mean, variance)
        if self._trainable:
            if self.fused:
                variance = variance * _unbiased(inputs, mean)
            self._follow(inputs, mean, variance)
        return outputs

    def _followed(self, inputs, mean, variance):
        return mean, variance * _unbiased(inputs, mean) if self.fused else variance

    def _corrected(self, inputs, mean, variance):
        """(outputs, the mean and the variance that the moving ones follow)."""
        deviation = _op("sqrt")(variance + self.epsilon)
        normal = (inputs - self._wide(mean)) / self._wide(deviation)
        if self.adjustment is not None:
            scale, bias = self.adjustment(_op("shape")(inputs))
            normal = normal * scale + bias
        if self.renorm:
            correction, distance, mean, deviation = self._renormed(_op("stop_gradient")(mean), _op("stop_gradient")(deviation))
            normal = normal * self._wide(correction) + self._wide(distance)
            variance = _op("square")(deviation) - self.epsilon
        if self.gamma is not None:
            normal = normal * self._wide(self.gamma)
        return (normal if self.beta is None else normal + self._wide(self.beta)), mean, variance

    def _renormed(self, mean, deviation):
        """(r, d, mean, deviation): equation 1 of the paper; the moving moments, begun at the first batch's."""
        mixed_mean = self.renorm_mean + (1 - self.renorm_mean_weight) * mean
        mixed_deviation = self.renorm_stddev + (1 - self.renorm_stddev_weight) * deviation
        correction, distance = deviation / mixed_deviation, (mean - mixed_mean) / mixed_deviation
        limits = self.renorm_clipping
        if limits.get("rmin") is not None:
            correction = _op("maximum")(correction, limits["rmin"])
        if limits.get("rmax") is not None:
            correction = _op("minimum")(correction, limits["rmax"])
        if limits.get("dmax") is not None:
            distance = _op("minimum")(_op("maximum")(distance, -limits["dmax"]), limits["dmax"])
        found = []
        for moving, weight, now in ((self.renorm_mean, self.renorm_mean_weight, mean),
                                    (self.renorm_stddev, self.renorm_stddev_weight, deviation)):
            move_towards(moving, now, self.renorm_momentum)
            move_towards(weight, _op("ones_like")(weight), self.renorm_momentum)
            found.append(moving / weight)
        return correction, distance, *found


def _unbiased(inputs, mean):
    """By what the variance of so many elements is multiplied: count / (count - 1)."""
    if inputs.shape.is_fully_defined():
        count = inputs.shape.num_elements() // max(mean.shape.num_elements(), 1)
        return count / max(count - 1, 1)
    count = _op("cast")(_op("size")(inputs), mean.dtype) / max(mean.shape.num_elements(), 1)
    return count / _op("maximum")(count - 1, tensor(1, mean.dtype))


functional(
    BatchNormalization, "batch_normalization", ("training", False, "trainable"),
    behind=("renorm", "renorm_clipping", "renorm_momentum", "fused", "virtual_batch_size", "adjustment"))
