"""What layers must give, computed with NumPy and SciPy alone: a case for each, with its inputs' shapes."""
import collections
import itertools

import numpy as np
from scipy import special

Case = collections.namedtuple("Case", "layer arguments shapes reference training ints")
CASES = []


def case(layer, arguments, *shapes, training=None, ints=None):
    """Decorates the reference of a layer: a function of its inputs and its weights."""
    def add(reference):
        CASES.append(Case(layer, arguments, shapes, reference, training, ints))
        return reference

    return add


def elementwise(layer, arguments, function, shape=(3, 6)):
    case(layer, arguments, shape)(lambda x, *weights: function(x))


def padded(x, window, strides, dilations, padding, value=0.):
    """The images with what 'same' (or 'causal') adds around them; channels last."""
    pairs = [(0, 0)]
    for extent, size, stride, rate in zip(x.shape[1:-1], window, strides, dilations):
        reach = (size - 1) * rate + 1
        total = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
        pairs.append({"same": (total // 2, total - total // 2), "causal": (reach - 1, 0), "valid": (0, 0)}[padding])
    return np.pad(x, [*pairs, (0, 0)], constant_values=value)


def windows(x, window, strides, dilations):
    """(the place of a window, its values, (batch, window…, channels)) for all of them."""
    counts = [(extent - (size - 1) * rate - 1) // stride + 1 for extent, size, stride, rate in
              zip(x.shape[1:-1], window, strides, dilations)]
    for place in itertools.product(*map(range, counts)):
        cut = tuple(slice(p * stride, p * stride + (size - 1) * rate + 1, rate)
                    for p, stride, size, rate in zip(place, strides, window, dilations))
        yield place, x[(slice(None), *cut)], counts


def convolve(x, kernel, bias, strides, dilations, padding, groups=1):
    rank = kernel.ndim - 2
    x, parts = padded(x, kernel.shape[:rank], strides, dilations, padding), []
    for own, filters in zip(np.split(x, groups, -1), np.split(kernel, groups, -1)):
        out = None
        for place, values, counts in windows(own, kernel.shape[:rank], strides, dilations):
            if out is None:
                out = np.zeros((len(x), *counts, filters.shape[-1]))
            out[(slice(None), *place)] = values.reshape(len(x), -1) @ filters.reshape(-1, filters.shape[-1])
        parts.append(out)
    return np.concatenate(parts, -1) + bias


def convolution(layer, shape, kernel_size, **arguments):
    rank = len(shape) - 2

    def reference(x, kernel, bias):
        def each(name):
            value = arguments.get(name, 1)
            return (value,) * rank if isinstance(value, int) else value

        return convolve(x, kernel, bias, each("strides"), each("dilation_rate"), arguments.get("padding", "valid"),
                        arguments.get("groups", 1))

    case(layer, dict(filters=4, kernel_size=kernel_size, bias_initializer="ones", **arguments), shape)(reference)


for _padding in ("valid", "same"):
    convolution("Conv1D", (2, 9, 3), 3, padding=_padding)
    convolution("Conv2D", (2, 5, 6, 3), (3, 2), padding=_padding, strides=2)
    convolution("Conv2D", (2, 6, 6, 2), 2, padding=_padding, dilation_rate=2)
    convolution("Conv3D", (2, 4, 5, 4, 2), (2, 3, 2), padding=_padding)
convolution("Conv1D", (2, 7, 2), 3, padding="causal", dilation_rate=2)
convolution("Conv2D", (2, 5, 5, 4), 3, groups=2)
convolution("Conv3D", (1, 4, 4, 4, 4), 2, groups=2, strides=2)


def transposed(layer, shape, kernel_size, output, **arguments):
    """Each value puts the kernel around its place; 'same' leaves out the edges."""
    @case(layer, dict(filters=2, kernel_size=kernel_size, bias_initializer="ones", **arguments), shape)
    def reference(x, kernel, bias):
        rank, stride = len(shape) - 2, arguments.get("strides", 1)
        extents = [(extent - 1) * stride + size + stride + 2 for extent, size in zip(x.shape[1:-1], kernel.shape)]
        whole = np.zeros((len(x), *extents, 2))
        for place in itertools.product(*map(range, x.shape[1:-1])):
            cut = tuple(slice(p * stride, p * stride + size) for p, size in zip(place, kernel.shape))
            whole[(slice(None), *cut)] += np.einsum("nc,...oc->n...o", x[(slice(None), *place)], kernel)
        begins = [0] * rank
        if arguments.get("padding") == "same":
            begins = [max((extent - 1) * stride + size - wanted, 0) // 2
                      for extent, size, wanted in zip(x.shape[1:-1], kernel.shape, output)]
        return whole[(slice(None), *(slice(b, b + extent) for b, extent in zip(begins, output)))] + bias


transposed("Conv1DTranspose", (2, 4, 3), 3, (9,), strides=2)
transposed("Conv1DTranspose", (2, 4, 3), 3, (8,), strides=2, padding="same")
transposed("Conv2DTranspose", (2, 3, 4, 3), 3, (7, 9), strides=2)
transposed("Conv2DTranspose", (2, 3, 4, 3), 3, (3, 4), padding="same")
transposed("Conv3DTranspose", (1, 2, 3, 2, 2), 2, (4, 6, 4), strides=2)


@case("DepthwiseConv1D", dict(kernel_size=3, depth_multiplier=2, padding="same"), (2, 7, 3))
@case("DepthwiseConv2D", dict(kernel_size=(2, 3), depth_multiplier=2, padding="same"), (2, 5, 6, 3))
def depthwise(x, kernel, bias=0.):
    parts = [convolve(x[..., c:c + 1], kernel[..., c:c + 1, :], 0., (1, 1), (1, 1), "same") for c in range(x.shape[-1])]
    return np.concatenate(parts, -1) + bias


@case("SeparableConv1D", dict(filters=4, kernel_size=3, depth_multiplier=2, padding="same"), (2, 7, 3))
@case("SeparableConv2D", dict(filters=4, kernel_size=2, depth_multiplier=2, padding="same"), (2, 5, 4, 3))
def separable(x, kernel, pointwise, bias):
    return depthwise(x, kernel) @ pointwise.reshape(pointwise.shape[-2:]) + bias


def pooling(kind, rank, shape, size, strides, padding):
    arguments = dict(pool_size=size, strides=strides, padding=padding)

    @case(f"{kind}Pooling{rank}D", arguments, shape)
    def reference(x):
        window, steps = (size,) * rank, (strides or size,) * rank
        value, function = (-np.inf, np.nanmax) if kind == "Max" else (np.nan, np.nanmean)  # NaN: does not count
        x, out = padded(x, window, steps, (1,) * rank, padding, value), None
        for place, values, counts in windows(x, window, steps, (1,) * rank):
            if out is None:
                out = np.zeros((len(x), *counts, x.shape[-1]))
            out[(slice(None), *place)] = function(values, tuple(range(1, rank + 1)))
        return out


for _kind, _reduce in (("Max", np.max), ("Average", np.mean)):
    for _rank, _shape in ((1, (2, 7, 3)), (2, (2, 5, 6, 3)), (3, (2, 3, 5, 4, 2))):
        pooling(_kind, _rank, _shape, 2, None, "valid")
        pooling(_kind, _rank, _shape, 3, 2, "same")
        case(f"Global{_kind}Pooling{_rank}D", {}, _shape)(
            lambda x, r=_reduce, k=_rank: r(x, tuple(range(1, k + 1))))
        case(f"Global{_kind}Pooling{_rank}D", dict(data_format="channels_first", keepdims=True), _shape)(
            lambda x, r=_reduce, k=_rank: r(x, tuple(range(2, k + 2)), keepdims=True))


def normal(x, axes, epsilon=1e-3):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


for _arguments, _shape, _over, _wide in (({}, (4, 3), (0,), (3,)), (dict(axis=1), (4, 3, 2, 2), (0, 2, 3), (1, 3, 1, 1)),
                                         (dict(axis=[1, 2]), (4, 3, 2, 2), (0, 3), (1, 3, 2, 1)),
                                         ({}, (40, 4, 4, 5), (0, 1, 2), (5,))):
    case("BatchNormalization", _arguments, _shape, training=True)(
        lambda x, g, b, m, v, over=_over, wide=_wide: normal(x, over) * g.reshape(wide) + b.reshape(wide))
    case("BatchNormalization", _arguments, _shape, training=False)(
        lambda x, g, b, m, v, wide=_wide:
            (x - m.reshape(wide)) / np.sqrt(v.reshape(wide) + 1e-3) * g.reshape(wide) + b.reshape(wide))
case("BatchNormalization", dict(center=False, scale=False, epsilon=1e-2), (5, 2), training=True)(lambda x, m, v: normal(x, 0, 1e-2))
case("LayerNormalization", {}, (4, 3, 5))(lambda x, g, b: normal(x, -1) * g + b)
case("LayerNormalization", dict(axis=[1, 2]), (4, 3, 5))(lambda x, g, b: normal(x, (1, 2)) * g + b)
case("LayerNormalization", dict(axis=1, scale=False), (4, 3, 5))(lambda x, b: normal(x, 1) + b[:, None])
case("GroupNormalization", dict(groups=2), (4, 3, 6))(
    lambda x, g, b: normal(x.reshape(4 if len(x) == 4 else len(x), 3, 2, 3), (1, 3)).reshape(x.shape) * g + b)
case("GroupNormalization", dict(groups=2, axis=1), (4, 6, 3))(
    lambda x, g, b: normal(x.reshape(len(x), 2, 9), 2).reshape(x.shape) * g[:, None] + b[:, None])
case("UnitNormalization", dict(axis=[1, 2]), (3, 2, 4))(lambda x: x / np.sqrt(np.square(x).sum((1, 2), keepdims=True)))
case("RMSNormalization", {}, (3, 4))(lambda x, s: x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 1e-6) * s)

case("Dense", dict(units=4, activation="tanh"), (3, 5))(lambda x, k, b: np.tanh(x @ k + b))
case("Dense", dict(units=4, use_bias=False), (3, 2, 5))(lambda x, k: x @ k)
case("EinsumDense", dict(equation="abc,cde->abde", output_shape=(None, 2, 5), bias_axes="de"), (2, 3, 4))(
    lambda x, k, b: np.einsum("abc,cde->abde", x, k) + b)
case("EinsumDense", dict(equation="...x,xy->...y", output_shape=7, bias_axes="y", activation="tanh"), (2, 3, 4))(
    lambda x, k, b: np.tanh(x @ k + b))
case("Embedding", dict(input_dim=5, output_dim=3), (4, 2), ints=5)(lambda x, table: table[x])

case("Flatten", {}, (2, 3, 4))(lambda x: x.reshape(len(x), 12))
case("Flatten", dict(data_format="channels_first"), (2, 3, 4, 2))(lambda x: x.transpose(0, 2, 3, 1).reshape(len(x), 24))
case("Reshape", dict(target_shape=(-1, 2)), (2, 3, 4))(lambda x: x.reshape(len(x), 6, 2))
case("Permute", dict(dims=(2, 1)), (2, 3, 4))(lambda x: x.transpose(0, 2, 1))
case("RepeatVector", dict(n=3), (2, 4))(lambda x: np.repeat(x[:, None], 3, 1))
case("ZeroPadding1D", dict(padding=(1, 2)), (2, 4, 3))(lambda x: np.pad(x, [(0, 0), (1, 2), (0, 0)]))
case("ZeroPadding2D", dict(padding=((1, 2), (3, 0)), data_format="channels_first"), (2, 3, 4, 5))(
    lambda x: np.pad(x, [(0, 0), (0, 0), (1, 2), (3, 0)]))
case("ZeroPadding3D", {}, (2, 2, 3, 2, 2))(lambda x: np.pad(x, [(0, 0), (1, 1), (1, 1), (1, 1), (0, 0)]))
case("Cropping1D", dict(cropping=(1, 2)), (2, 6, 3))(lambda x: x[:, 1:-2])
case("Cropping2D", dict(cropping=((1, 2), (0, 1))), (2, 6, 4, 5))(lambda x: x[:, 1:-2, :-1])
case("Cropping3D", dict(cropping=1, data_format="channels_first"), (2, 2, 4, 3, 5))(lambda x: x[:, :, 1:-1, 1:-1, 1:-1])
case("UpSampling1D", dict(size=3), (2, 4, 3))(lambda x: np.repeat(x, 3, 1))
case("UpSampling2D", dict(size=(2, 3), data_format="channels_first"), (2, 3, 4, 2))(lambda x: np.repeat(np.repeat(x, 2, 2), 3, 3))
case("UpSampling3D", {}, (2, 3, 2, 4, 2))(lambda x: x.repeat(2, 1).repeat(2, 2).repeat(2, 3))

case("Add", {}, (2, 3), (2, 3), (2, 3))(lambda x, y, z: x + y + z)
case("Add", {}, (2, 3, 4), (2, 4))(lambda x, y: x + y[:, None])
case("Subtract", {}, (2, 3), (2, 3))(lambda x, y: x - y)
case("Multiply", {}, (2, 3, 4), (2, 4), (2, 3, 1))(lambda x, y, z: x * y[:, None] * z)
case("Average", {}, (2, 3), (2, 3))(lambda x, y: (x + y) / 2)
case("Maximum", {}, (2, 3), (2, 3))(np.maximum)
case("Minimum", {}, (2, 3), (2, 3))(np.minimum)
case("Concatenate", dict(axis=1), (2, 3, 4), (2, 5, 4))(lambda x, y: np.concatenate([x, y], 1))
case("Dot", dict(axes=(2, 1)), (2, 4, 3), (2, 3, 5))(lambda x, y: x @ y)
case("Dot", dict(axes=1, normalize=True), (2, 3), (2, 3))(
    lambda x, y: ((x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1))[:, None])

for _name, _function in {
        "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6), "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
        "leaky_relu": lambda x: np.where(x > 0, x, .2 * x), "softplus": lambda x: np.log1p(np.exp(x)), "tanh": np.tanh,
        "selu": lambda x: 1.0507009873554804934 * np.where(x > 0, x, 1.6732632423543772848 * np.expm1(x)),
        "celu": lambda x: np.where(x > 0, x, np.expm1(x)), "softsign": lambda x: x / (1 + np.abs(x)), "sigmoid": special.expit,
        "silu": lambda x: x * special.expit(x), "gelu": lambda x: x * special.ndtr(x), "exponential": np.exp, "linear": lambda x: x,
        "hard_sigmoid": lambda x: np.clip(x / 6 + .5, 0, 1), "hard_silu": lambda x: x * np.clip(x / 6 + .5, 0, 1),
        "hard_tanh": lambda x: np.clip(x, -1, 1), "tanh_shrink": lambda x: x - np.tanh(x),
        "soft_shrink": lambda x: np.sign(x) * np.maximum(np.abs(x) - .5, 0),
        "hard_shrink": lambda x: np.where(np.abs(x) > .5, x, 0),
        "log_sigmoid": special.log_expit, "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
        "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2, "softmax": lambda x: special.softmax(x, -1),
        "log_softmax": lambda x: special.log_softmax(x, -1), "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
        "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x < 1, (x + 1)**2 / 4, x))}.items():
    elementwise("Activation", dict(activation=_name), _function)
elementwise("ReLU", dict(max_value=1., negative_slope=.1, threshold=.2),
            lambda x: np.where(x >= 1, 1, np.where(x >= .2, x, .1 * (x - .2))))
elementwise("LeakyReLU", {}, lambda x: np.where(x > 0, x, .3 * x))
elementwise("ELU", dict(alpha=.5), lambda x: np.where(x > 0, x, .5 * np.expm1(x)))
elementwise("ThresholdedReLU", dict(theta=.3), lambda x: np.where(x > .3, x, 0))
elementwise("Softmax", dict(axis=(1, 2)), lambda x: special.softmax(x, (1, 2)), (3, 4, 2))
case("PReLU", dict(alpha_initializer="ones", shared_axes=[1]), (3, 4, 5))(lambda x, a: np.where(x > 0, x, a * x))
elementwise("Identity", {}, lambda x: x)
elementwise("Lambda", dict(function=lambda x, power: x**power, arguments={"power": 2}), np.square)
elementwise("Masking", {}, lambda x: x, (2, 3, 4))
elementwise("Rescaling", dict(scale=2., offset=[1., 2., 3.]), lambda x: 2 * x + [1, 2, 3], (2, 3))
elementwise("Normalization", dict(mean=[1., 2., 3.], variance=[1., 4., 9.]), lambda x: (x - [1, 2, 3]) / [1, 2, 3], (2, 3))
for _name in ("Dropout", "SpatialDropout1D", "GaussianDropout", "AlphaDropout"):
    elementwise(_name, dict(rate=.5), lambda x: x, (2, 3, 4))
elementwise("GaussianNoise", dict(stddev=.5), lambda x: x)
elementwise("ActivityRegularization", dict(l1=.1), lambda x: x)
elementwise("CenterCrop", dict(height=3, width=2), lambda x: x[:, 1:4, 1:3], (2, 6, 5, 3))
for _mode, _rows in (("multi_hot", lambda hot: hot.max(-2)), ("count", lambda hot: hot.sum(-2)), ("one_hot", lambda hot: hot)):
    case("CategoryEncoding", dict(num_tokens=5, output_mode=_mode), (4, 3), ints=5)(lambda x, rows=_rows: rows(np.eye(5)[x]))
case("Discretization", dict(bin_boundaries=[-1., 0., 1.]), (4, 3))(lambda x: np.digitize(x, [-1, 0, 1]))
