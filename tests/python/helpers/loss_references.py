"""Losses in NumPy, values for them, and a derivative by differences, for tests."""
import numpy as np
from scipy import special

EPSILON = 1e-7


def normalized(x, axis=-1):
    return x / np.sqrt((x**2).sum(axis, keepdims=True))


def logit_loss(y, x):
    return np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))


def clipped(p):
    return np.clip(p, EPSILON, 1 - EPSILON)


def cross(y, p):
    return -(y * np.log(clipped(p)) + (1 - y) * np.log(1 - clipped(p)))


def shares(p):
    return clipped(p / p.sum(-1, keepdims=True))


def signs(y):
    return 2 * y - 1 if set(np.unique(y)) <= {0, 1} else y


# Each loss per example, of y_true and y_pred in (0, 1), as NumPy has it.
EXPECTED = {
    "mean_squared_error": lambda y, p: ((y - p)**2).mean(-1),
    "mean_absolute_error": lambda y, p: np.abs(y - p).mean(-1),
    "mean_absolute_percentage_error": lambda y, p: 100 * (np.abs(y - p) / np.maximum(np.abs(y), EPSILON)).mean(-1),
    "mean_squared_logarithmic_error": lambda y, p: (np.log((1 + y) / (1 + p))**2).mean(-1),
    "cosine_similarity": lambda y, p: -(normalized(y) * normalized(p)).sum(-1),
    "huber": lambda y, p: np.where(np.abs(y - p) <= 1, (y - p)**2 / 2, np.abs(y - p) - .5).mean(-1),
    "log_cosh": lambda y, p: np.log(np.cosh(p - y)).mean(-1),
    "hinge": lambda y, p: np.maximum(0, 1 - signs(y) * p).mean(-1),
    "squared_hinge": lambda y, p: (np.maximum(0, 1 - signs(y) * p)**2).mean(-1),
    "categorical_hinge": lambda y, p: np.maximum(0, 1 + ((1 - y) * p).max(-1) - (y * p).sum(-1)),
    "kl_divergence": lambda y, p: special.rel_entr(y, p).sum(-1),
    "poisson": lambda y, p: (p - y * np.log(p + EPSILON)).mean(-1),
    "binary_crossentropy": lambda y, p: cross(y, p).mean(-1),
    "binary_focal_crossentropy": lambda y, p: ((1 - y * p - (1 - y) * (1 - p))**2 * cross(y, p)).mean(-1),
    "categorical_crossentropy": lambda y, p: -(y * np.log(shares(p))).sum(-1),
    "categorical_focal_crossentropy": lambda y, p: -(.25 * (1 - shares(p))**2 * y * np.log(shares(p))).sum(-1),
    "dice": lambda y, p: 1 - 2 * (y * p).sum() / (y.sum() + p.sum() + EPSILON),
    "tversky": lambda y, p: 1 - (y * p).sum() / ((y * p).sum() + .5 * (y * (1 - p)).sum() + .5 * ((1 - y) * p).sum() + EPSILON),
}
CLASSES = {
    "mean_squared_error": "MeanSquaredError", "mean_absolute_error": "MeanAbsoluteError", "huber": "Huber", "log_cosh": "LogCosh",
    "mean_absolute_percentage_error": "MeanAbsolutePercentageError", "hinge": "Hinge", "squared_hinge": "SquaredHinge",
    "mean_squared_logarithmic_error": "MeanSquaredLogarithmicError", "cosine_similarity": "CosineSimilarity", "poisson": "Poisson",
    "categorical_hinge": "CategoricalHinge", "kl_divergence": "KLDivergence", "binary_crossentropy": "BinaryCrossentropy",
    "binary_focal_crossentropy": "BinaryFocalCrossentropy", "categorical_crossentropy": "CategoricalCrossentropy",
    "categorical_focal_crossentropy": "CategoricalFocalCrossentropy", "dice": "Dice", "tversky": "Tversky",
}


def values(shape=(4, 3), dtype=np.float64, seed=0):
    generator = np.random.RandomState(seed)
    return generator.uniform(.05, .95, shape).astype(dtype), generator.uniform(.05, .95, shape).astype(dtype)


def slope(function, x, place, step=1e-6):
    """The derivative with respect to one element."""
    ends = []
    for sign in (1, -1):
        moved = x.copy()
        moved[place] += sign * step
        ends.append(function(moved))
    return (ends[0] - ends[1]) / (2 * step)
