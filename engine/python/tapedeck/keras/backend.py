"""tf.keras.backend: functions on tensors under Keras' names."""
import collections

import numpy as np

from tapedeck import _engine
from tapedeck._array.shaping import repeat as _repeat
from tapedeck._core import dtypes
from tapedeck._core.arguments import having as _having
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extents, product
from tapedeck._core.public import public
from tapedeck._gradients.symbolic import gradients as _symbolic_gradients
from tapedeck._linalg.functions import tensordot as _tensordot
from tapedeck._variables.stores import forget_scopes as _forget_scopes
from tapedeck.keras import activations as _activations
from tapedeck.keras.layers import calls as _calls
from tapedeck.keras.settings import epsilon, floatx, image_data_format, set_epsilon, set_floatx, set_image_data_format  # noqa: F401
from tapedeck.keras.settings import numpy_floatx as _numpy_floatx

_uses = collections.defaultdict(int)  # how often a name was given since clear_session


@public("keras.backend.get_uid")
def get_uid(prefix=""):
    """How often this prefix was asked for, this time included."""
    _uses[prefix] += 1
    return _uses[prefix]


@public("keras.backend.reset_uids")
def reset_uids():
    """Names of layers begin anew: "dense"."""
    _uses.clear()


@public("keras.backend.clear_session", "keras.utils.clear_session")
def clear_session(free_memory=True):
    """Forgets what layers and variable scopes were called: the next Dense is "dense" again. There is no graph that could be cleared."""
    _uses.clear()
    _forget_scopes()


@public("keras.backend.unique_name")
def unique_name(base):
    """The base for the first that asks, then base_1, base_2 …"""
    number = get_uid(base) - 1
    return f"{base}_{number}" if number else base


@public("keras.backend.learning_phase")
def learning_phase():
    """1 while a layer is called with training=True, else 0."""
    return 1 if _calls.current.training else 0


@public("keras.backend.is_keras_tensor", "keras.utils.is_keras_tensor")
def is_keras_tensor(x):
    """True for what tf.keras.Input and calls of layers on it return."""
    return bool(getattr(x, "_is_symbolic", False))


@public("keras.backend.is_tensor")
def is_tensor(x):
    """True for tensors and variables."""
    return isinstance(x, (_engine.Tensor, _engine.Variable))


@public("keras.backend.variable")
def variable(value, dtype=None, name=None, constraint=None):
    """A variable of the value; dtype None for floatx()."""
    return _engine.Variable(value, dtype=dtype or floatx(), name=name, constraint=constraint)


@public("keras.backend.constant")
def constant(value, dtype=None, shape=None, name=None):
    """A tensor of the value; dtype None for floatx()."""
    return _engine.constant(value, dtype or floatx(), shape, True)


@public("keras.backend.get_value")
def get_value(x):
    """The value as a NumPy array, or as what it is where it is not a tensor."""
    return x.numpy() if is_tensor(x) else x


@public("keras.backend.set_value")
def set_value(x, value):
    """Assigns to a variable."""
    x.assign(np.asarray(value, x.dtype.as_numpy_dtype))


@public("keras.backend.batch_get_value")
def batch_get_value(tensors):
    """The values as NumPy arrays."""
    return [get_value(each) for each in tensors]


@public("keras.backend.batch_set_value")
def batch_set_value(tuples):
    """Assigns to variables: pairs of a variable and its value."""
    for each, value in tuples:
        set_value(each, value)


def _shaped(function, value, name="x"):
    return _having(value, f"{function}: {name}", "shape", "tensor")


@public("keras.backend.int_shape")
def int_shape(x):
    """The shape as a tuple."""
    return tuple(_shaped("int_shape", x).shape)


@public("keras.backend.ndim")
def ndim(x):
    """The number of axes."""
    return len(_shaped("ndim", x).shape)


@public("keras.backend.dtype")
def dtype(x):
    """The dtype's name."""
    return _having(_having(x, "dtype: x", "dtype", "tensor").dtype, "dtype: x.dtype", "name", "dtype").name


@public("keras.backend.eval")
def eval(x):
    """The value as a NumPy array."""
    return get_value(x)


@public("keras.backend.cast")
def cast(x, dtype):
    """The tensor as one of another dtype."""
    return _op("cast")(x, dtypes.as_dtype(dtype))


@public("keras.backend.cast_to_floatx")
def cast_to_floatx(x):
    """An array or a tensor as one of floatx()."""
    return cast(x, floatx()) if is_tensor(x) else np.asarray(x, _numpy_floatx())


def _reduction(name):
    def function(x, axis=None, keepdims=False):
        return _op(name)(x, axis=axis, keepdims=keepdims)

    called = name.removeprefix("reduce_").replace("variance", "var")
    function.__name__ = function.__qualname__ = called
    function.__doc__ = f"tf.{name} along an axis, or all."
    return public(f"keras.backend.{called}")(function)


for _name in ("sum", "mean", "prod", "std", "variance", "max", "min", "any", "all", "logsumexp"):
    _reduction(f"reduce_{_name}")


def _same(name, plain):
    def function(*args):
        return _op(plain)(*args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The op {plain}, whose docstring says what it does."
    return public(f"keras.backend.{name}")(function)


for _name, _plain in {
        "abs": "abs", "exp": "exp", "log": "log", "sqrt": "sqrt", "square": "square", "pow": "pow", "sign": "sign",
        "round": "round",
        "sin": "sin", "cos": "cos", "tanh": "tanh", "sigmoid": "sigmoid", "softplus": "softplus", "softsign": "softsign",
        "equal": "equal", "not_equal": "not_equal", "greater": "greater", "greater_equal": "greater_equal", "less": "less",
        "less_equal": "less_equal", "maximum": "maximum", "minimum": "minimum", "reshape": "reshape", "gather": "gather",
        "zeros_like": "zeros_like", "ones_like": "ones_like", "identity": "identity", "shape": "shape",
        "stop_gradient": "stop_gradient", "expand_dims": "expand_dims", "squeeze": "squeeze", "tile": "tile"}.items():
    _same(_name, _plain)


@public("keras.backend.argmax")
def argmax(x, axis=-1):
    """The places of the largest values along an axis."""
    return _op("argmax")(x, axis)


@public("keras.backend.argmin")
def argmin(x, axis=-1):
    """The places of the least values along an axis."""
    return _op("argmin")(x, axis)


@public("keras.backend.clip")
def clip(x, min_value, max_value):
    """The values, none below min_value nor above max_value; None for no limit."""
    x = _op("maximum")(x, min_value) if min_value is not None else _engine.convert_to_tensor(x)
    return _op("minimum")(x, max_value) if max_value is not None else x


@public("keras.backend.softmax")
def softmax(x, axis=-1):
    """tf.nn.softmax."""
    return _op("softmax")(x, axis)


@public("keras.backend.relu")
def relu(x, alpha=0.0, max_value=None, threshold=0.0):
    """tf.keras.activations.relu."""
    return _activations.relu(x, alpha, max_value, threshold)


@public("keras.backend.elu")
def elu(x, alpha=1.0):
    """tf.keras.activations.elu."""
    return _activations.elu(x, alpha)


@public("keras.backend.zeros")
def zeros(shape, dtype=None, name=None):
    """A variable of zeros; dtype None for floatx()."""
    return _engine.Variable(_op("zeros")(shape, dtype or floatx()), name=name)


@public("keras.backend.ones")
def ones(shape, dtype=None, name=None):
    """A variable of ones; dtype None for floatx()."""
    return _engine.Variable(_op("ones")(shape, dtype or floatx()), name=name)


@public("keras.backend.dot")
def dot(x, y):
    """The product over the last axis of x and the last but one of y."""
    return _tensordot(_shaped("dot", x), _shaped("dot", y, "y"), [[-1], [_dot_axis(y)]])


def _dot_axis(y):
    # the last but one, or the only one
    return -2 if len(y.shape) > 1 else 0


@public("keras.backend.batch_flatten")
def batch_flatten(x):
    """The first axis stays, the others become one."""
    shape = extents(_shaped("batch_flatten", x))
    if not shape:
        raise _engine.InvalidArgumentError("batch_flatten: x is a scalar; needs the axis of a batch")
    return _op("reshape")(x, [shape[0], product(shape[1:])])


@public("keras.backend.flatten")
def flatten(x):
    """All elements along one axis."""
    return _op("reshape")(x, [-1])


@public("keras.backend.permute_dimensions")
def permute_dimensions(x, pattern):
    """The axes in the order of the pattern."""
    return _op("transpose")(x, pattern)


@public("keras.backend.concatenate")
def concatenate(tensors, axis=-1):
    """The tensors one after the other along an axis."""
    return _op("concat")(tensors, axis)


@public("keras.backend.stack")
def stack(x, axis=0):
    """The tensors along a new axis."""
    return _op("stack")(x, axis)


@public("keras.backend.repeat_elements")
def repeat_elements(x, rep, axis):
    """Each slice along the axis `rep` times."""
    return _repeat(x, rep, axis)


@public("keras.backend.one_hot")
def one_hot(indices, num_classes):
    """Rows with a 1 at the index: float32."""
    return _op("one_hot")(indices, num_classes)


@public("keras.backend.switch")
def switch(condition, then_expression, else_expression):
    """One of two values, or what one of two functions returns, by a scalar; by a tensor elementwise."""
    if len(_engine.convert_to_tensor(condition).shape):
        return _op("where")(condition, *(each() if callable(each) else each for each in (then_expression, else_expression)))
    chosen = then_expression if bool(condition) else else_expression
    return chosen() if callable(chosen) else chosen


@public("keras.backend.in_train_phase")
def in_train_phase(x, alt, training=None):
    """x while training, else alt; both may be functions."""
    chosen = x if (learning_phase() if training is None else training) else alt
    return chosen() if callable(chosen) else chosen


@public("keras.backend.gradients")
def gradients(loss, variables):
    """tf.gradients(loss, variables), in a function that is being traced. RuntimeError where ops run at once: a tape does it there."""
    if not _engine.is_tracing():
        raise RuntimeError("gradients: K.gradients needs a graph; use tf.GradientTape")
    return _symbolic_gradients(loss, variables)
