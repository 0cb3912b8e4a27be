"""tf.keras.mixed_precision: losses that are scaled, so that small gradients of halves do not vanish."""
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._core.trackable import Trackable as _Trackable
from tapedeck.keras.optimizers import lookup as _optimizers
from tapedeck.keras.optimizers.base import Optimizer as _Optimizer
from tapedeck.train.updates import number_variable as _number_variable, values_of as _values_of, with_values as _with_values


@public("keras.mixed_precision.LossScaleOptimizer", "keras.optimizers.LossScaleOptimizer")
class LossScaleOptimizer(_Trackable):
    """An optimiser of a scaled loss: gradients are divided by the scale, and steps with NaN or infinite ones are left out.

        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())
        with tf.GradientTape() as tape:
            loss = optimizer.scale_loss(loss_of(model))
        optimizer.apply(tape.gradient(loss, variables), variables)

    inner_optimizer: of tf.keras.optimizers; initial_scale: the first scale; dynamic: it is doubled after dynamic_growth_steps steps
    with finite gradients and halved (never below 1) after one without; otherwise it stays. Whether they are finite Python has to
    know: each step reads that, and so waits for a GPU.
    Source: P. Micikevicius et al., "Mixed Precision Training", 2018, section 3.2.
    Errors: TypeError for a value that is not an optimiser.
    """

    def __init__(self, inner_optimizer, initial_scale=2.0 ** 15, dynamic_growth_steps=2000, dynamic=True, name=None):
        if not isinstance(inner_optimizer, _Optimizer):
            raise TypeError(f"LossScaleOptimizer: inner_optimizer is {inner_optimizer!r}; needs one of tf.keras.optimizers")
        self.inner_optimizer, self.dynamic = inner_optimizer, dynamic
        self.initial_scale, self.dynamic_growth_steps = float(initial_scale), dynamic_growth_steps
        self.name = name or "loss_scale_optimizer"
        for label, first, dtype in ("dynamic_scale", self.initial_scale, "float32"), ("step_counter", 0, "int32"):
            restored = self._restored_value("_" + label)
            setattr(self, "_" + label, _number_variable(first if restored is None else restored, dtype=dtype,
                                                        name=f"{self.name}/{label}", import_scope=""))

    @property
    def loss_scale(self):
        """The scale now, a float32 tensor."""
        return self._dynamic_scale.read_value()

    @property
    def learning_rate(self):
        """The inner optimiser's."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, rate):
        self.inner_optimizer.learning_rate = rate

    @property
    def iterations(self):
        """How many steps the inner optimiser made."""
        return self.inner_optimizer.iterations

    @property
    def variables(self):
        """The scale, how many steps had finite gradients since it changed, and the inner optimiser's."""
        return [self._dynamic_scale, self._step_counter, *self.inner_optimizer.variables]

    def build(self, variables):
        """Makes the inner optimiser's slots."""
        self.inner_optimizer.build(variables)

    def scale_loss(self, loss):
        """The loss times the scale."""
        return loss * _op("cast")(self._dynamic_scale, loss.dtype)

    get_scaled_loss = scale_loss

    def get_unscaled_gradients(self, grads):
        """The gradients divided by the scale; None stays None."""
        inverse = 1.0 / float(self._dynamic_scale)
        return [None if gradient is None else _with_values(gradient, _values_of(gradient) * inverse) for gradient in grads]

    def minimize(self, loss, var_list):
        """The gradients of the scaled loss, a function, with respect to the variables, applied. Returns: iterations."""
        pairs = self.inner_optimizer.compute_gradients(lambda: self.scale_loss(loss()), var_list)
        return self.apply_gradients(pairs)

    def apply_gradients(self, grads_and_vars, **kwargs):
        """apply() of (gradient, variable) pairs. Returns: iterations."""
        pairs = list(grads_and_vars)
        self.apply([gradient for gradient, _ in pairs], [variable for _, variable in pairs])
        return self.iterations

    def apply(self, grads, trainable_variables=None):
        """Updates the variables by gradients of the scaled loss, where all are finite; the scale changes as it must."""
        grads = list(grads)
        values = [_values_of(gradient) for gradient in grads if gradient is not None]
        finite = not values or bool(_op("reduce_all")(_op("stack")([_op("reduce_all")(_op("is_finite")(value)) for value in values])))
        if finite:
            self.inner_optimizer.apply(self.get_unscaled_gradients(grads), trainable_variables)
        if self.dynamic:
            self._adapt(finite)

    def _adapt(self, finite):
        if not finite:
            self._step_counter.assign(0)
            self._dynamic_scale.assign(max(1.0, float(self._dynamic_scale) / 2.0))
        elif int(self._step_counter) + 1 >= self.dynamic_growth_steps:
            self._step_counter.assign(0)
            self._dynamic_scale.assign(float(self._dynamic_scale) * 2.0)
        else:
            self._step_counter.assign_add(1)

    def get_config(self):
        """The arguments that it was made with, by name."""
        return {"inner_optimizer": _optimizers.serialize(self.inner_optimizer), "initial_scale": self.initial_scale,
                "dynamic_growth_steps": self.dynamic_growth_steps, "dynamic": self.dynamic, "name": self.name}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The optimiser of these arguments."""
        inner = config["inner_optimizer"]
        if isinstance(inner, dict):
            inner = _optimizers.deserialize(inner, custom_objects)
        return cls(**{**config, "inner_optimizer": inner})
