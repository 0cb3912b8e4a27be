"""TensorFlow 1's tf.contrib.layers: functions that make their variables with tf.get_variable, initializers and regularizers."""
import functools
import math
import numbers

from tapedeck import _engine, _initializers as initializers
from tapedeck._core import dtypes
from tapedeck._core.composites import op, tensor
from tapedeck._core.extents import extent, extents, product
from tapedeck._core.public import public
from tapedeck._core.refusals import shown
from tapedeck._graph.collections import get_collection, GraphKeys
from tapedeck._linalg import functions as linalg
from tapedeck._nn import functions as _nn
from tapedeck._variables.scopes import variable_scope
from tapedeck.contrib.framework import add_arg_scope, model_variable
from tapedeck.layers.normalization import BatchNormalization

# ---- initializers ----


@public("contrib.layers.variance_scaling_initializer")
def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=dtypes.float32):
    """Random values of variance factor / n; mode: what n is: 'FAN_IN', 'FAN_OUT' or 'FAN_AVG'; uniform on ±√(3·factor/n), else of
    the truncated normal distribution of standard deviation √(1.3·factor/n). Errors: ValueError for another mode; TypeError for a
    dtype that is not floating."""
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initializer(shape, dtype=dtype, partition_info=None):
        shape = [int(extent) for extent in shape]
        fan_in = float(shape[-2] if len(shape) > 1 else shape[-1] if shape else 1) * math.prod(shape[:-2])
        fan_out = float(shape[-1] if shape else 1) * math.prod(shape[:-2])
        count = max({"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2}[mode], 1.)
        if uniform:
            limit = math.sqrt(3 * factor / count)
            return initializers.RandomUniform(-limit, limit, seed)(shape, dtype)
        return initializers.TruncatedNormal(0., math.sqrt(1.3 * factor / count), seed)(shape, dtype)

    return initializer


@public("contrib.layers.xavier_initializer", "contrib.layers.xavier_initializer_conv2d")
def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
    """Random values of variance 2 / (inputs + outputs): Glorot and Bengio 2010."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer

# ---- regularizers ----


def _scale(scale):
    if isinstance(scale, numbers.Integral) and not isinstance(scale, bool):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real) and scale < 0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}")
    return scale


@public("contrib.layers.l1_regularizer")
def l1_regularizer(scale, scope=None):
    """A function of weights that gives scale · Σ|w|; for 0 it gives None. ValueError for a scale below 0, and one that is an
    int."""
    if not _scale(scale):
        return lambda _: None
    return lambda weights: op("reduce_sum")(op("abs")(weights)) * scale


@public("contrib.layers.l2_regularizer")
def l2_regularizer(scale, scope=None):
    """A function of weights that gives scale · Σw²/2; for 0 it gives None. ValueError for a scale below 0, and one that is an
    int."""
    if not _scale(scale):
        return lambda _: None
    return lambda weights: op("l2_loss")(weights) * scale


@public("contrib.layers.l1_l2_regularizer")
def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    """The sum of l1_regularizer and l2_regularizer."""
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)])


@public("contrib.layers.sum_regularizer")
def sum_regularizer(regularizer_list, scope=None):
    """A function of weights that gives the sum of what these give; None of no regularizers."""
    present = [each for each in regularizer_list if each is not None]
    if not present:
        return None

    def regularizer(weights):
        values = [value for value in (each(weights) for each in present) if value is not None]
        return op("add_n")(values) if values else None

    return regularizer


@public("contrib.layers.apply_regularization")
def apply_regularization(regularizer, weights_list=None):
    """The sum of what the regularizer gives for each of the weights: a scalar. None for weights: those in the collection
    'weights'."""
    weights_list = get_collection(GraphKeys.WEIGHTS) if weights_list is None else weights_list
    if not weights_list:
        raise ValueError("No weights to regularize.")
    penalties = [regularizer(weights) for weights in weights_list]
    return op("add_n")([_engine.constant(0., None, None) if each is None else each for each in penalties])


# ---- layers ----

def _finished(outputs, normalizer_fn, normalizer_params, activation_fn):
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    return outputs if activation_fn is None else activation_fn(outputs)


def _with_biases(outputs, biases_initializer, biases_regularizer, normalizer_fn, trainable, data_format=None):
    """The outputs with biases, which those that are normalized do without."""
    if normalizer_fn is not None or biases_initializer is None:
        return outputs
    channels = outputs.shape[1] if data_format and data_format.startswith("NC") else outputs.shape[-1]
    biases = model_variable("biases", [channels], outputs.dtype, biases_initializer, biases_regularizer, trainable)
    return op("bias_add")(outputs, biases, data_format=data_format)


@public("contrib.layers.fully_connected")
@add_arg_scope
def fully_connected(inputs, num_outputs, activation_fn=op("relu"), normalizer_fn=None, normalizer_params=None,
                    weights_initializer=xavier_initializer(), weights_regularizer=None, biases_initializer=initializers.Zeros(),
                    biases_regularizer=None, reuse=None, variables_collections=None, outputs_collections=None, trainable=True,
                    scope=None):
    """A dense layer over the last axis: activation_fn(inputs · weights + biases), the variables "fully_connected/weights" and
    "biases".

    normalizer_fn: called in place of biases. Inside of a store or template the same scope has the same variables.
    Returns: inputs' shape with num_outputs in the last place. Errors: ValueError for a scalar.
    """
    inputs = tensor(inputs)
    if not inputs.ndim:
        raise ValueError("fully_connected: inputs is a scalar; needs at least 1 axis")
    with variable_scope(scope, "fully_connected", reuse=reuse):
        weights = model_variable("weights", [inputs.shape[-1], num_outputs], inputs.dtype, weights_initializer, weights_regularizer,
                                 trainable)
        outputs = inputs @ weights if inputs.ndim == 2 else linalg.tensordot(inputs, weights, 1)
        outputs = _with_biases(outputs, biases_initializer, biases_regularizer, normalizer_fn, trainable)
        return _finished(outputs, normalizer_fn, normalizer_params, activation_fn)


def _pair(value, count):
    return [int(value)] * count if isinstance(value, numbers.Integral) else [int(each) for each in value]


@public("contrib.layers.convolution", "contrib.layers.conv2d", "contrib.layers.convolution2d")
@add_arg_scope
def convolution(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=op("relu"),
                normalizer_fn=None, normalizer_params=None, weights_initializer=xavier_initializer(), weights_regularizer=None,
                biases_initializer=initializers.Zeros(), biases_regularizer=None, reuse=None, variables_collections=None,
                outputs_collections=None, trainable=True, scope=None):
    """A convolution over all axes but those of the batch and the channels, the variables "Conv/weights" and "biases".

    kernel_size, stride, rate: a number, or one for each axis. The others are those of fully_connected.
    """
    inputs = tensor(inputs)
    axes = inputs.ndim - 2
    if axes < 1:
        raise _engine.InvalidArgumentError(f"convolution: inputs has shape {tuple(inputs.shape)}; needs a batch, space and channels")
    channels = inputs.shape[1 if str(data_format).startswith("NC") else -1]
    with variable_scope(scope, "Conv", reuse=reuse):
        shape = [*_pair(kernel_size, axes), channels, num_outputs]
        weights = model_variable("weights", shape, inputs.dtype, weights_initializer, weights_regularizer, trainable)
        outputs = _nn.convolution(inputs, weights, strides=_pair(stride, axes), padding=padding, data_format=data_format,
                                  dilations=_pair(rate, axes))
        outputs = _with_biases(outputs, biases_initializer, biases_regularizer, normalizer_fn, trainable, data_format)
        return _finished(outputs, normalizer_fn, normalizer_params, activation_fn)


convolution2d = conv2d = convolution


@public("contrib.layers.max_pool2d")
@add_arg_scope
def max_pool2d(inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC", outputs_collections=None, scope=None):
    """The largest values of windows of images."""
    return _nn.max_pool2d(inputs, _pair(kernel_size, 2), _pair(stride, 2), padding, data_format=data_format)


@public("contrib.layers.avg_pool2d")
@add_arg_scope
def avg_pool2d(inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC", outputs_collections=None, scope=None):
    """The means of windows of images."""
    return _nn.avg_pool2d(inputs, _pair(kernel_size, 2), _pair(stride, 2), padding, data_format=data_format)


@public("contrib.layers.flatten")
@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """All axes but the batch's as one. ValueError for fewer than 2 axes."""
    inputs = tensor(inputs)
    if inputs.ndim < 2:
        raise ValueError("Inputs must have a least 2 dimensions.")
    return op("reshape")(inputs, [extent(inputs, 0), product(extents(inputs)[1:])])


@public("contrib.layers.dropout")
@add_arg_scope
def dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True, outputs_collections=None, scope=None, seed=None):
    """Zeroes values with the probability 1 - keep_prob, and divides the others by keep_prob, while training."""
    return _nn.dropout(inputs, rate=1 - keep_prob, noise_shape=noise_shape, seed=seed) if is_training else tensor(inputs)


@public("contrib.layers.batch_norm")
@add_arg_scope
def batch_norm(inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None, param_initializers=None,
               param_regularizers=None, updates_collections=None, is_training=True, reuse=None, variables_collections=None,
               outputs_collections=None, trainable=True, batch_weights=None, fused=None, data_format="NHWC",
               zero_debias_moving_mean=False, scope=None, renorm=False, renorm_clipping=None, renorm_decay=0.99):
    """Normalizes by the batch's mean and variance while training, else by their moving averages, which are updated at once; the
    variables "BatchNorm/beta", "gamma", "moving_mean" and "moving_variance".

    param_initializers: a dict of them by these names. NotImplementedError for batch_weights and zero_debias_moving_mean.
    """
    if batch_weights is not None or zero_debias_moving_mean:
        raise NotImplementedError("batch_norm: batch_weights and zero_debias_moving_mean are not supported")
    given = param_initializers or {}
    if not isinstance(given, dict):
        raise _engine.TypeMismatchError(f"batch_norm: param_initializers is {shown(given)}; needs a dict of initializers by name")
    names = {"beta": "beta_initializer", "gamma": "gamma_initializer", "moving_mean": "moving_mean_initializer",
             "moving_variance": "moving_variance_initializer"}
    unknown = [name for name in given if name not in names]
    if unknown:
        raise _engine.InvalidArgumentError(f"batch_norm: param_initializers has {unknown[0]!r}; its names are {', '.join(names)}")
    with variable_scope(scope, "BatchNorm", reuse=reuse) as opened:
        layer = BatchNormalization(
            axis=-1 if data_format == "NHWC" else 1, momentum=decay, epsilon=epsilon, center=center, scale=scale,
            trainable=trainable, _scope=opened, name=opened.name, **{names[name]: value for name, value in given.items()})
        outputs = layer(inputs, training=is_training)
    return outputs if activation_fn is None else activation_fn(outputs)


@public("contrib.layers.layer_norm")
@add_arg_scope
def layer_norm(inputs, center=True, scale=True, activation_fn=None, reuse=None, variables_collections=None,
               outputs_collections=None, trainable=True, begin_norm_axis=1, begin_params_axis=-1, scope=None):
    """Normalizes each example by its mean and variance from begin_norm_axis on; the variables "LayerNorm/beta" and "gamma" have the
    shape from begin_params_axis on."""
    inputs = tensor(inputs)
    if not inputs.ndim:
        raise _engine.InvalidArgumentError("layer_norm: inputs is a scalar; needs at least one axis")
    with variable_scope(scope, "LayerNorm", reuse=reuse):
        shape = inputs.shape[begin_params_axis:]
        beta = model_variable("beta", shape, inputs.dtype, initializers.Zeros(), trainable=trainable) if center else None
        gamma = model_variable("gamma", shape, inputs.dtype, initializers.Ones(), trainable=trainable) if scale else None
        axes = list(range(begin_norm_axis % inputs.ndim, inputs.ndim))
        mean, variance = _nn.moments(inputs, axes, keepdims=True)
        outputs = _nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)
    return outputs if activation_fn is None else activation_fn(outputs)


@public("contrib.layers.one_hot_encoding")
@add_arg_scope
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None):
    """Rows with on_value at the label: float32."""
    return op("one_hot")(labels, num_classes, on_value=on_value, off_value=off_value)


@public("contrib.layers.softmax")
def softmax(logits, scope=None):
    """tf.nn.softmax along the last axis."""
    return op("softmax")(logits)


@public("contrib.layers.repeat")
def repeat(inputs, repetitions, layer, *args, **kwargs):
    """Calls the layer again and again, each time with what it gave before; scopes "name/name_1", …"""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat"):
        name = scope or getattr(layer, "__name__", "layer")
        outputs = tensor(inputs)
        for number in range(repetitions):
            outputs = layer(outputs, *args, scope=f"{name}_{number + 1}", **kwargs)
        return outputs


@public("contrib.layers.stack")
def stack(inputs, layer, stack_args, **kwargs):
    """Calls the layer with each of stack_args, a value or a tuple of values, one after another; scopes "name/name_1", …"""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Stack"):
        name = scope or getattr(layer, "__name__", "layer")
        outputs = tensor(inputs)
        for number, given in enumerate(stack_args):
            given = given if isinstance(given, (list, tuple)) else (given,)
            outputs = layer(outputs, *given, scope=f"{name}_{number + 1}", **kwargs)
        return outputs


for _name, _activation in {"linear": None, "relu": op("relu"), "relu6": op("relu6"), "elu": op("elu")}.items():
    public(f"contrib.layers.{_name}")(functools.partial(fully_connected, activation_fn=_activation))
