"""The losses of Keras as objects. Each one's reduction, name and dtype are those of Loss; the others are those of its function."""
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.composites import in_dtype, op
from tapedeck._core.public import public
from tapedeck.keras.losses import functions
from tapedeck.keras.losses.base import LossFunctionWrapper
from tapedeck.keras.losses.weighting import floating

_MEAN = "sum_over_batch_size"


@public("losses.MeanSquaredError", "keras.losses.MeanSquaredError")
class MeanSquaredError(LossFunctionWrapper):
    """The mean of (y_true − y_pred)², in one pass of the op mean_squared_error where nothing is weighed."""

    def __init__(self, reduction=_MEAN, name="mean_squared_error", dtype=None):
        super().__init__(functions.mean_squared_error, reduction, name, dtype)

    def _unweighted(self, y_true, y_pred):
        y_pred = floating(y_pred)
        y_true = in_dtype(y_true, y_pred.dtype)
        if y_true.shape == y_pred.shape and y_pred.shape and 0 not in y_pred.shape:
            return op("mean_squared_error")(y_true, y_pred)
        return super()._unweighted(y_true, y_pred)


@public("losses.MeanAbsoluteError", "keras.losses.MeanAbsoluteError")
class MeanAbsoluteError(LossFunctionWrapper):
    """The mean of |y_true − y_pred|."""

    def __init__(self, reduction=_MEAN, name="mean_absolute_error", dtype=None):
        super().__init__(functions.mean_absolute_error, reduction, name, dtype)


@public("losses.MeanAbsolutePercentageError", "keras.losses.MeanAbsolutePercentageError")
class MeanAbsolutePercentageError(LossFunctionWrapper):
    """The mean of 100·|y_true − y_pred| / max(|y_true|, 10⁻⁷)."""

    def __init__(self, reduction=_MEAN, name="mean_absolute_percentage_error", dtype=None):
        super().__init__(functions.mean_absolute_percentage_error, reduction, name, dtype)


@public("losses.MeanSquaredLogarithmicError", "keras.losses.MeanSquaredLogarithmicError")
class MeanSquaredLogarithmicError(LossFunctionWrapper):
    """The mean of (ln(1 + y_true) − ln(1 + y_pred))²; values below 10⁻⁷ count as that."""

    def __init__(self, reduction=_MEAN, name="mean_squared_logarithmic_error", dtype=None):
        super().__init__(functions.mean_squared_logarithmic_error, reduction, name, dtype)


@public("losses.LogCosh", "keras.losses.LogCosh")
class LogCosh(LossFunctionWrapper):
    """The mean of ln cosh(y_pred − y_true)."""

    def __init__(self, reduction=_MEAN, name="log_cosh", dtype=None):
        super().__init__(functions.log_cosh, reduction, name, dtype)


@public("losses.Hinge", "keras.losses.Hinge")
class Hinge(LossFunctionWrapper):
    """The mean of max(0, 1 − y_true·y_pred). y_true: −1 and 1; or 0 and 1, which count as those."""

    def __init__(self, reduction=_MEAN, name="hinge", dtype=None):
        super().__init__(functions.hinge, reduction, name, dtype)


@public("losses.SquaredHinge", "keras.losses.SquaredHinge")
class SquaredHinge(LossFunctionWrapper):
    """The mean of max(0, 1 − y_true·y_pred)². y_true: −1 and 1; or 0 and 1, which count as those."""

    def __init__(self, reduction=_MEAN, name="squared_hinge", dtype=None):
        super().__init__(functions.squared_hinge, reduction, name, dtype)


@public("losses.CategoricalHinge", "keras.losses.CategoricalHinge")
class CategoricalHinge(LossFunctionWrapper):
    """max(0, 1 + max((1 − y_true)·y_pred) − Σ y_true·y_pred) of each example: y_true is 1 for the right class, 0 elsewhere."""

    def __init__(self, reduction=_MEAN, name="categorical_hinge", dtype=None):
        super().__init__(functions.categorical_hinge, reduction, name, dtype)


@public("losses.KLDivergence", "keras.losses.KLDivergence")
class KLDivergence(LossFunctionWrapper):
    """The divergence of Kullback and Leibler, Σ y_true·ln(y_true / y_pred) of each example; both are clipped to [10⁻⁷, 1]."""

    def __init__(self, reduction=_MEAN, name="kl_divergence", dtype=None):
        super().__init__(functions.kl_divergence, reduction, name, dtype)


@public("losses.Poisson", "keras.losses.Poisson")
class Poisson(LossFunctionWrapper):
    """The mean of y_pred − y_true·ln(y_pred + 10⁻⁷)."""

    def __init__(self, reduction=_MEAN, name="poisson", dtype=None):
        super().__init__(functions.poisson, reduction, name, dtype)


@public("losses.CosineSimilarity", "keras.losses.CosineSimilarity")
class CosineSimilarity(LossFunctionWrapper):
    """−Σ y_true·y_pred / (‖y_true‖·‖y_pred‖) along axis: −1 for the same direction, 1 for the opposite one."""

    def __init__(self, axis=-1, reduction=_MEAN, name="cosine_similarity", dtype=None):
        super().__init__(functions.cosine_similarity, reduction, name, dtype, axis=axis)


@public("losses.Huber", "keras.losses.Huber")
class Huber(LossFunctionWrapper):
    """The mean of ½·e² where the error's size |e| is at most delta, and of delta·|e| − ½·delta² beyond it."""

    def __init__(self, delta=1.0, reduction=_MEAN, name="huber_loss", dtype=None):
        super().__init__(functions.huber, reduction, name, dtype, delta=delta)


@public("losses.BinaryCrossentropy", "keras.losses.BinaryCrossentropy")
class BinaryCrossentropy(LossFunctionWrapper):
    """−y_true·ln p − (1 − y_true)·ln(1 − p) of each label on its own, averaged along axis and then over the examples."""

    def __init__(self, from_logits=False, label_smoothing=0.0, axis=-1, reduction=_MEAN, name="binary_crossentropy", dtype=None):
        super().__init__(functions.binary_crossentropy, reduction, name, dtype, from_logits=from_logits,
                         label_smoothing=label_smoothing, axis=axis)


@public("losses.BinaryFocalCrossentropy", "keras.losses.BinaryFocalCrossentropy")
class BinaryFocalCrossentropy(LossFunctionWrapper):
    """The binary cross entropy, in which what is predicted well counts less."""

    def __init__(self, apply_class_balancing=False, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0, axis=-1,
                 reduction=_MEAN, name="binary_focal_crossentropy", dtype=None):
        super().__init__(functions.binary_focal_crossentropy, reduction, name, dtype,
                         apply_class_balancing=apply_class_balancing, alpha=alpha, gamma=gamma, from_logits=from_logits,
                         label_smoothing=label_smoothing, axis=axis)


@public("losses.CategoricalCrossentropy", "keras.losses.CategoricalCrossentropy")
class CategoricalCrossentropy(LossFunctionWrapper):
    """−Σ y_true·ln p of each example, y_true being the probabilities of the classes along axis."""

    def __init__(self, from_logits=False, label_smoothing=0.0, axis=-1, reduction=_MEAN, name="categorical_crossentropy",
                 dtype=None):
        super().__init__(functions.categorical_crossentropy, reduction, name, dtype, from_logits=from_logits,
                         label_smoothing=label_smoothing, axis=axis)


@public("losses.CategoricalFocalCrossentropy", "keras.losses.CategoricalFocalCrossentropy")
class CategoricalFocalCrossentropy(LossFunctionWrapper):
    """The categorical cross entropy, in which what is predicted well counts less."""

    def __init__(self, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0, axis=-1, reduction=_MEAN,
                 name="categorical_focal_crossentropy", dtype=None):
        super().__init__(functions.categorical_focal_crossentropy, reduction, name, dtype, alpha=alpha, gamma=gamma,
                         from_logits=from_logits, label_smoothing=label_smoothing, axis=axis)


@public("losses.SparseCategoricalCrossentropy", "keras.losses.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """−ln p of each example's right class, y_true being its number. Those of ignore_class are left out of the mean."""

    def __init__(self, from_logits=False, ignore_class=None, reduction=_MEAN, axis=-1, name="sparse_categorical_crossentropy",
                 dtype=None):
        super().__init__(functions.sparse_categorical_crossentropy, reduction, name, dtype, from_logits=from_logits,
                         ignore_class=ignore_class, axis=axis)

    def _counts(self, y_true, y_pred, values):
        return functions.ignored(y_true, y_pred, self._fn_kwargs["ignore_class"], self._fn_kwargs["axis"])


@public("losses.CategoricalGeneralizedCrossEntropy", "keras.losses.CategoricalGeneralizedCrossEntropy")
class CategoricalGeneralizedCrossEntropy(LossFunctionWrapper):
    """(1 − p^q) / q of each example's right class, y_true being its number."""

    def __init__(self, q=0.5, reduction=_MEAN, name="categorical_generalized_cross_entropy", dtype=None):
        if not 0 < q < 1:
            raise ValueError(f"CategoricalGeneralizedCrossEntropy: q is {q!r}; must be in (0, 1)")
        super().__init__(functions.categorical_generalized_cross_entropy, reduction, name, dtype, q=q)


@public("losses.Dice", "keras.losses.Dice")
class Dice(LossFunctionWrapper):
    """1 − 2·Σ y_true·y_pred / (Σ y_true + Σ y_pred + 10⁻⁷) along axis, None for all of them."""

    def __init__(self, reduction=_MEAN, name="dice", axis=None, dtype=None):
        super().__init__(functions.dice, reduction, name, dtype, axis=axis)


@public("losses.Tversky", "keras.losses.Tversky")
class Tversky(LossFunctionWrapper):
    """1 − b / (b + alpha·m + beta·f + 10⁻⁷) along axis, None for all of them: see the function tversky."""

    def __init__(self, alpha=0.5, beta=0.5, reduction=_MEAN, name="tversky", axis=None, dtype=None):
        super().__init__(functions.tversky, reduction, name, dtype, alpha=alpha, beta=beta, axis=axis)


@public("losses.Circle", "keras.losses.Circle")
class Circle(LossFunctionWrapper):
    """The circle loss of embeddings: see the function circle. Its mean leaves out the examples that cost nothing."""

    def __init__(self, gamma=80.0, margin=0.4, remove_diagonal=True, reduction=_MEAN, name="circle", dtype=None):
        super().__init__(functions.circle, reduction, name, dtype, gamma=gamma, margin=margin, remove_diagonal=remove_diagonal)

    def __call__(self, y_true, y_pred, sample_weight=None, ref_labels=None, ref_embeddings=None):
        """The loss of embeddings y_pred of the classes y_true, compared with those of ref_labels: see the function circle."""
        if (ref_labels is None) != (ref_embeddings is None):
            raise InvalidArgumentError("circle: give both ref_labels and ref_embeddings, or neither")
        self._references = {} if ref_labels is None else {"ref_labels": ref_labels, "ref_embeddings": ref_embeddings}
        try:
            return super().__call__(y_true, y_pred, sample_weight)
        finally:
            del self._references

    def call(self, y_true, y_pred):
        """What the function gives."""
        return self.fn(y_true, y_pred, **self._fn_kwargs, **getattr(self, "_references", {}))

    def _counts(self, y_true, y_pred, values):
        return op("greater")(values, 0.)
