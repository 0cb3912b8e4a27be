"""Calls of the package as text, run eagerly and in a tf.function: tests/data/function_calls.txt has them."""
import logging

import numpy as np

import tapedeck as tf
from tapedeck import _engine
from tapedeck._core import nest
from tapedeck.logging import get_logger


# ---- what stands in the calls


def reals(shape, dtype="float32"):
    """Numbers between 0.05 and 0.95, of complex dtypes both parts, the same for one shape."""
    random = np.random.default_rng(sum(shape) + len(shape))
    values = random.uniform(.05, .95, shape)
    if dtype.startswith("complex"):
        values = values + 1j * random.uniform(.05, .95, shape)
    return tf.cast(tf.constant(values), dtype)


def integers(shape, limit, dtype="int32"):
    return tf.cast(tf.constant(np.random.default_rng(sum(shape)).integers(0, limit, shape)), dtype)


def flags(shape):
    return tf.constant(np.random.default_rng(sum(shape)).integers(0, 2, shape) > 0)


def empty(shape, dtype):
    return tf.zeros(shape, dtype)


_NAMES = {"tf": tf, "reals": reals, "integers": integers, "flags": flags, "empty": empty}


def arguments_of(text):
    """(args, kwargs) of a call's text."""
    return eval(f"call({text.partition('(')[2]}", {**_NAMES, "call": lambda *args, **kwargs: (args, kwargs)})


def function_of(text):
    """The function that a call's text calls."""
    found = tf
    for part in text.partition("(")[0].split("."):
        found = getattr(found, part)
    return found


# ---- both ways of a call


class _Warnings(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def _parts(leaf):
    if isinstance(leaf, (_engine.Tensor, _engine.Variable)):
        return [np.asarray(leaf.numpy())]
    return [each.numpy() for each in leaf._carried()] if hasattr(type(leaf), "_carried") else []


def _bits(values):
    return [(each.dtype.name, each.shape, each.tolist() if each.dtype == object else each.tobytes())
            for leaf in nest.flatten(values) for each in _parts(leaf)]


def outcome(text, is_open):
    """both_ways of a call's text. is_open: whether the extents of its tensors are not known while it is traced."""
    function, (args, kwargs) = function_of(text), arguments_of(text)
    structure = [list(args), dict(kwargs)]
    leaves = nest.flatten(structure)
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, _engine.Tensor)]

    def called(*given):
        new = list(leaves)
        for place, tensor in zip(places, given):
            new[place] = tensor
        positional, named = nest.pack_sequence_as(structure, new)
        return function(*positional, **named)

    tensors = [leaves[place] for place in places]
    return both_ways(called, tensors, [[None] * tensor.ndim if is_open else tensor.shape for tensor in tensors])


def both_ways(called, tensors, shapes):
    """"same" where a function of tensors of these shapes, in which extents may be None, gives the bits of the eager call; else what
    happened."""
    tf.random.set_seed(7)
    wanted = _bits(called(*tensors))
    assert wanted, "it returns no tensor"
    signature = [tf.TensorSpec(shape, tensor.dtype) for tensor, shape in zip(tensors, shapes)]
    warnings, logger = _Warnings(), get_logger()
    others = logger.handlers[:]
    logger.handlers[:] = [warnings]
    try:
        tf.random.set_seed(7)
        got = _bits(tf.function(called, input_signature=signature, autograph=False)(*tensors))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        logger.handlers[:] = others
    eagerly = [each for each in warnings.texts if "runs eagerly" in each]
    return eagerly[0] if eagerly else "same" if got == wanted else f"gives {got}, not {wanted}"
