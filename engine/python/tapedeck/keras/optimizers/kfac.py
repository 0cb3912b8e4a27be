"""tf.keras.optimizers.KFAC: tf.train.KFACOptimizer in Keras' form."""
from tapedeck import _engine
from tapedeck._core.public import public
from tapedeck.keras.optimizers.base import Optimizer
from tapedeck.train.kfac import Factored


@public("keras.optimizers.KFAC")
class KFAC(Factored, Optimizer):
    """Steps along natural gradients, with a Kronecker-factored Fisher matrix for each Dense and Conv2D layer of a model; other
    variables take the gradient. Slots: "momentum"; of kernels "input_factor" and "output_factor".

        model.compile(optimizer=tf.keras.optimizers.KFAC(0.1, damping=1e-2), loss=…)
        optimizer = tf.keras.optimizers.KFAC(0.1, model=model)
        optimizer.minimize(lambda: loss(model(images), labels), model.trainable_variables)

    model: None for the one that is compiled with it; the arguments and the sources are those of tf.train.KFACOptimizer. Factors
    come of minimize(), compute_gradients() and fit(): apply() alone uses those that are there.
    Errors: ValueError for other modes, for a loss that is not a function, and without a model; TypeError for one that has no layers.
    """

    _config_names = ("damping", "cov_ema_decay", "momentum", "norm_constraint", "inverse_update_interval", "estimation_mode",
                     "predictive")

    def __init__(self, learning_rate=0.1, damping=1e-2, cov_ema_decay=0.95, momentum=0.9, norm_constraint=None,
                 inverse_update_interval=10, estimation_mode="empirical", predictive=None, weight_decay=None, name=None, *,
                 model=None, **kwargs):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self._set_up(model, damping, cov_ema_decay, momentum, norm_constraint, inverse_update_interval, estimation_mode, predictive)
        self.damping, self.cov_ema_decay, self.momentum, self.norm_constraint = damping, cov_ema_decay, momentum, norm_constraint
        self.inverse_update_interval, self.estimation_mode, self.predictive = inverse_update_interval, estimation_mode, predictive

    def use_model(self, model):
        """The model whose layers have factors, where none was given."""
        if self._model is None:
            object.__setattr__(self, "_model", model)

    def compute_gradients(self, loss, var_list, tape=None):
        """A list of (gradient, variable); the factors are brought up to date. loss: a function of no arguments."""
        if not callable(loss) or isinstance(loss, (_engine.Tensor, _engine.Variable)):
            raise ValueError(f"KFAC: loss is {loss!r}; needs a function, in which the layers are called")
        variables = var_list() if callable(var_list) else var_list
        return self._evaluated(loss, [variables] if isinstance(variables, _engine.Variable) else variables)

    def _create_slots(self, variable):
        self._slot(variable, "momentum")

    def _update_all(self, pairs, rate):
        self._natural_step(pairs, rate)
