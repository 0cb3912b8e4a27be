"""Functions of tf.keras.backend that are made of other parts of the package."""
import numpy as np

from tapedeck import _engine
from tapedeck._core import context, dtypes
from tapedeck._core.arguments import having
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._graph import control_flow
from tapedeck._nn import functions as nn
from tapedeck._random import distributions as random
from tapedeck.keras import backend
from tapedeck.keras.losses import functions as losses
from tapedeck.keras.models.model import Model


def _random(name, shape, dtype, seed, **arguments):
    return getattr(random, name)(shape, dtype=dtypes.as_dtype(dtype or backend.floatx()), seed=seed, **arguments)


@public("keras.backend.random_normal")
def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """tf.random.normal; dtype None for floatx()."""
    return _random("normal", shape, dtype, seed, mean=mean, stddev=stddev)


@public("keras.backend.truncated_normal")
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """tf.random.truncated_normal; dtype None for floatx()."""
    return _random("truncated_normal", shape, dtype, seed, mean=mean, stddev=stddev)


@public("keras.backend.random_uniform")
def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """tf.random.uniform; dtype None for floatx()."""
    return _random("uniform", shape, dtype, seed, minval=minval, maxval=maxval)


@public("keras.backend.random_bernoulli")
def random_bernoulli(shape, p=0.0, dtype=None, seed=None):
    """1 with probability p, else 0; dtype None for floatx()."""
    drawn = _random("uniform", shape, dtype, seed, minval=0.0, maxval=1.0)
    return _op("cast")(drawn < p, drawn.dtype)


@public("keras.backend.dropout")
def dropout(x, level, noise_shape=None, seed=None):
    """tf.nn.dropout: that part of x is 0, the rest divided by 1 - level."""
    return nn.dropout(x, rate=level, noise_shape=noise_shape, seed=seed)


@public("keras.backend.binary_crossentropy")
def binary_crossentropy(target, output, from_logits=False):
    """The elements' cross entropies of probabilities, or of logits, in the shape of the output; no mean is taken."""
    target, output = (_engine.convert_to_tensor(each) for each in (target, output))
    if from_logits:
        return _op("sigmoid_cross_entropy_with_logits")(target, output)
    output = backend.clip(output, backend.epsilon(), 1.0 - backend.epsilon())
    return -(target * _op("log")(output) + (1.0 - target) * _op("log")(1.0 - output))


@public("keras.backend.categorical_crossentropy")
def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """tf.keras.losses.categorical_crossentropy."""
    return losses.categorical_crossentropy(target, output, from_logits=from_logits, axis=axis)


@public("keras.backend.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1, ignore_class=None):
    """tf.keras.losses.sparse_categorical_crossentropy."""
    return losses.sparse_categorical_crossentropy(target, output, from_logits=from_logits, axis=axis, ignore_class=ignore_class)


@public("keras.backend.hard_sigmoid")
def hard_sigmoid(x):
    """0.2·x + 0.5, none below 0 nor above 1: Keras 2's, which tf.keras.activations.hard_sigmoid is no more."""
    return backend.clip(_engine.convert_to_tensor(x) * 0.2 + 0.5, 0.0, 1.0)


@public("keras.backend.l2_normalize")
def l2_normalize(x, axis=None):
    """tf.nn.l2_normalize."""
    return nn.l2_normalize(x, axis)


@public("keras.backend.in_top_k")
def in_top_k(predictions, targets, k):
    """tf.math.in_top_k(targets, predictions, k)."""
    return nn.in_top_k(targets, predictions, k)


@public("keras.backend.transpose")
def transpose(x):
    """The axes in the other order."""
    return _op("transpose")(x)


@public("keras.backend.reverse")
def reverse(x, axes):
    """tf.reverse along an axis or several."""
    return _op("reverse")(x, [axes] if isinstance(axes, int) else axes)


@public("keras.backend.repeat")
def repeat(x, n):
    """(batch, n, features) of (batch, features): n times each row. ValueError for other numbers of axes."""
    x = _engine.convert_to_tensor(x)
    if x.ndim != 2:
        raise ValueError(f"repeat: x has shape {tuple(x.shape)}; needs (batch, features)")
    return _op("tile")(_op("expand_dims")(x, 1), [1, n, 1])


@public("keras.backend.cumsum")
def cumsum(x, axis=0):
    """tf.cumsum."""
    return _op("cumsum")(x, axis)


@public("keras.backend.cumprod")
def cumprod(x, axis=0):
    """tf.math.cumprod."""
    return _op("cumprod")(x, axis)


@public("keras.backend.arange")
def arange(start, stop=None, step=1, dtype="int32"):
    """start, start + step, … below stop; with one argument from 0 to below it."""
    first, last = (0, start) if stop is None else (start, stop)
    return _op("cast")(_engine.constant(np.arange(first, last, step), None, None), dtypes.as_dtype(dtype))


@public("keras.backend.eye")
def eye(size, dtype=None, name=None):
    """A variable of ones on the diagonal; dtype None for floatx()."""
    return _engine.Variable(np.eye(size), dtype=dtype or backend.floatx(), name=name)


@public("keras.backend.update")
def update(x, new_x):
    """Assigns to a variable."""
    return having(x, "update: x", "assign", "variable").assign(new_x)


@public("keras.backend.update_add")
def update_add(x, increment):
    """Adds to a variable."""
    return having(x, "update_add: x", "assign_add", "variable").assign_add(increment)


@public("keras.backend.update_sub")
def update_sub(x, decrement):
    """Subtracts from a variable."""
    return having(x, "update_sub: x", "assign_sub", "variable").assign_sub(decrement)


@public("keras.backend.count_params")
def count_params(x):
    """How many elements it has."""
    return int(np.prod(tuple(having(x, "count_params: x", "shape", "tensor").shape)))


@public("keras.backend.bias_add")
def bias_add(x, bias, data_format=None):
    """x plus a bias for each channel, which are on the last axis, with "channels_first" on the second."""
    x, bias = (_engine.convert_to_tensor(each) for each in (x, bias))
    if data_format == "channels_first" and x.ndim > 2:
        bias = _op("reshape")(bias, [-1] + [1] * (x.ndim - 2))
    return x + bias


@public("keras.backend.map_fn")
def map_fn(fn, elems, name=None, dtype=None):
    """tf.map_fn."""
    return control_flow.map_fn(fn, elems, dtype=dtype)


@public("keras.backend.name_scope")
def name_scope(name):
    """tf.name_scope."""
    return context.name_scope(name)


@public("keras.backend.function")
def function(inputs, outputs, updates=None, name=None, **kwargs):
    """A function from the inputs of a functional model to some of its tensors, which take and return arrays."""
    model = Model(inputs=inputs, outputs=outputs)

    def run(values):
        result = model(values if len(values) > 1 else values[0])
        return [each.numpy() for each in (result if isinstance(result, (list, tuple)) else [result])]

    return run
