"""Layers that prepare data: scaling, sizes of images, class numbers as rows, and random changes of images in training."""
import math

import numpy as np

from tapedeck import _engine
from tapedeck._core import context, dtypes
from tapedeck._core.composites import in_dtype, op as _op
from tapedeck._core.extents import extent, extents, is_late
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._random import distributions as random
from tapedeck.keras.layers import sizes
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.normalization import axes_of
from tapedeck.keras.layers.reshaping import resized
from tapedeck.keras.layers.weights import described

_reshape = _op("reshape")


class _Prepares(Layer):
    """A layer without variables that training changes. Integers become the layer's dtype."""

    _arguments = ()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        vars(self)["_built"] = True

    def _floating(self, inputs):
        return in_dtype(inputs, self._dtype)

    def compute_output_shape(self, input_shape):
        return as_shape(input_shape)

    def get_config(self):
        return {**super().get_config(), **described(self, *self._arguments)}


@public("keras.layers.Rescaling")
class Rescaling(_Prepares):
    """inputs·scale + offset. scale, offset: numbers, or lists of one for each channel."""

    _arguments = "scale", "offset"

    def __init__(self, scale, offset=0.0, **kwargs):
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset

    def call(self, inputs):
        inputs = self._floating(inputs)
        scale, offset = (_engine.convert_to_tensor(np.asarray(each, "float64"), None) for each in (self.scale, self.offset))
        return inputs * _op("cast")(scale, inputs.dtype) + _op("cast")(offset, inputs.dtype)


@public("keras.layers.Normalization")
class Normalization(_Prepares):
    """(inputs − mean) / √variance for each place along `axis`, as adapt(data) found them.

    axis: one, several, or None for one mean of all; mean, variance: instead of adapt(); invert: inputs·√variance + mean.
    Errors: ValueError for one of mean and variance alone, and where neither these are given nor adapt() was called.
    """

    _arguments = "axis", "invert", "mean", "variance"

    def __init__(self, axis=-1, mean=None, variance=None, invert=False, **kwargs):
        super().__init__(**kwargs)
        vars(self)["_built"] = False
        self.axis = () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        if (mean is None) != (variance is None):
            raise ValueError("When setting values directly, both `mean` and `variance` must be set. Received: "
                             f"mean={mean} and variance={variance}")
        self.invert = invert
        vars(self).update(mean=mean, variance=variance, _given=(mean, variance))

    def build(self, input_shape):
        shape = TensorShape(input_shape)
        axes = axes_of(self.axis, shape, "Normalization")
        if any(shape[axis] is None for axis in axes):
            raise ValueError(f"All `axis` values to be kept must have a known shape. Received axis={self.axis}, "
                             f"inputs.shape={tuple(shape)}")
        own = vars(self)
        own["_over"] = [axis for axis in range(len(shape)) if axis not in axes]
        own["_spread"] = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
        if self._given[0] is None:
            extents = [shape[axis] for axis in axes]
            self.adapt_mean = self.add_weight(name="mean", shape=extents, initializer="zeros", trainable=False)
            self.adapt_variance = self.add_weight(name="variance", shape=extents, initializer="ones", trainable=False)
            self.count = self.add_weight(name="count", shape=(), dtype="int64", initializer="zeros", trainable=False)
        self.built = True

    def reset_state(self):
        """Forgets what adapt() found."""
        if self._built and self._given[0] is None:
            self.adapt_mean.assign(_op("zeros_like")(self.adapt_mean))
            self.adapt_variance.assign(_op("ones_like")(self.adapt_variance))
            self.count.assign(0)

    def adapt(self, data):
        """Finds mean and variance. data: an array, a tensor, or an iterable of batches."""
        if self._given[0] is not None:
            raise ValueError("Cannot `adapt` a Normalization layer that is initialized with static `mean` and `variance`, you "
                             f"passed mean={self._given[0]} and variance={self._given[1]}.")
        batches = [data] if hasattr(data, "shape") or isinstance(data, (list, tuple)) else data
        count, total, squares = 0, 0., 0.
        for batch in batches:
            values = np.asarray(batch.numpy() if hasattr(batch, "numpy") else batch, "float64")
            values = values.reshape(-1, 1) if values.ndim == 1 and self.axis == (-1,) else values
            if not self._built:
                self.build((None, *values.shape[1:]))
            here, over = math.prod(values.shape[axis] for axis in self._over), tuple(self._over)
            mean = values.mean(over)
            delta = mean - total if count else 0.
            if not here:
                raise ValueError(f"adapt: data has shape {values.shape}, which holds no values")
            share = here / (count + here)  # batches' means and variances, put together (Chan, Golub and LeVeque 1983)
            squares = squares + (values.var(over) - squares) * share + np.square(delta) * share * (1 - share)
            total, count = (total + delta * share if count else mean), count + here
        if count:
            for variable, value in ((self.adapt_mean, total), (self.adapt_variance, squares)):
                variable.assign(np.asarray(value, variable.dtype.as_numpy_dtype))
            self.count.assign(count)

    def call(self, inputs):
        inputs = self._floating(inputs)
        mean, variance = self._given
        if mean is None:
            mean, variance = self.adapt_mean.value(), self.adapt_variance.value()
        else:
            mean, variance = (_engine.convert_to_tensor(np.asarray(each, self._dtype.as_numpy_dtype)) for each in (mean, variance))
        mean, variance = (_reshape(_op("broadcast_to")(each, [e for a, e in enumerate(self._spread) if a not in self._over] or [1])
                                   if each.ndim <= 1 else each, self._spread) for each in (mean, variance))
        deviation = _op("maximum")(_op("sqrt")(variance), 1e-7)
        return inputs * deviation + mean if self.invert else (inputs - mean) / deviation


@public("keras.layers.Resizing")
class Resizing(_Prepares):
    """Images in other extents, by tf.image.resize.

    height, width: the new extents; interpolation: one of tf.image.resize's methods; crop_to_aspect_ratio: cut off what is too long
    first, so that nothing is distorted; pad_to_aspect_ratio: add fill_value around instead; antialias: as there; data_format: where
    the channels are. ValueError for both of the two.
    """

    _arguments = ("height", "width", "interpolation", "crop_to_aspect_ratio", "pad_to_aspect_ratio", "fill_mode", "fill_value",
                  "antialias", "data_format")

    def __init__(self, height, width, interpolation="bilinear", crop_to_aspect_ratio=False, pad_to_aspect_ratio=False,
                 fill_mode="constant", fill_value=0.0, antialias=False, data_format=None, **kwargs):
        super().__init__(**kwargs)
        if crop_to_aspect_ratio and pad_to_aspect_ratio:
            raise ValueError("Resizing: only one of crop_to_aspect_ratio and pad_to_aspect_ratio can be True")
        if fill_mode != "constant":
            raise ValueError(f"Resizing: fill_mode is {fill_mode!r}; must be 'constant'")
        self.height, self.width, self.interpolation = height, width, interpolation
        self.crop_to_aspect_ratio, self.pad_to_aspect_ratio = crop_to_aspect_ratio, pad_to_aspect_ratio
        self.fill_mode, self.fill_value, self.antialias = fill_mode, fill_value, antialias
        self.data_format = sizes.data_format_of(data_format)

    def call(self, inputs):
        inputs = _engine.convert_to_tensor(inputs)
        alone = inputs.ndim == 3
        values = self._in_proportion(_op("expand_dims")(inputs, 0) if alone else inputs)
        values = resized(values, self.compute_output_shape(values.shape), self.data_format, self.interpolation,
                         antialias=self.antialias)
        return self._floating(_op("squeeze")(values, [0]) if alone else values)

    def _in_proportion(self, inputs):
        """The images cut or filled up to the proportions of the result."""
        first = 2 if self.data_format == "channels_first" else 1
        rows, columns = inputs.shape[first:first + 2]
        if not (self.crop_to_aspect_ratio or self.pad_to_aspect_ratio):
            return inputs
        tall, wide = int(columns * self.height / self.width), int(rows * self.width / self.height)
        if self.crop_to_aspect_ratio:
            sizes_now = list(inputs.shape)
            sizes_now[first], sizes_now[first + 1] = min(rows, tall), min(columns, wide)
            begins = [0] * inputs.ndim
            begins[first], begins[first + 1] = (rows - sizes_now[first]) // 2, (columns - sizes_now[first + 1]) // 2
            return _op("slice")(inputs, begins, sizes_now)
        paddings = [0] * (2 * inputs.ndim)
        for place, missing in ((first, max(tall - rows, 0)), (first + 1, max(wide - columns, 0))):
            paddings[2 * place:2 * place + 2] = missing // 2, missing - missing // 2
        return _op("pad")(inputs, paddings, "CONSTANT", self.fill_value)

    def compute_output_shape(self, input_shape):
        shape = list(as_shape(input_shape))
        first = -2 if self.data_format == "channels_first" else -3
        shape[len(shape) + first], shape[len(shape) + first + 1] = self.height, self.width
        return TensorShape(shape)


@public("keras.layers.CenterCrop")
class CenterCrop(_Prepares):
    """The middle of images; smaller ones are made larger first. height, width: of the result; data_format: where the channels
    are."""

    _arguments = "height", "width", "data_format"

    def __init__(self, height, width, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.height, self.width, self.data_format = height, width, sizes.data_format_of(data_format)

    compute_output_shape = Resizing.compute_output_shape

    def call(self, inputs):
        return self._cut(self._floating(inputs), lambda room: room // 2)

    @needs_extents
    def _cut(self, inputs, place):
        first = inputs.ndim - (2 if self.data_format == "channels_first" else 3)
        wanted = {first: self.height, first + 1: self.width}
        if any(inputs.shape[axis] < extent for axis, extent in wanted.items()):
            return Resizing(self.height, self.width, crop_to_aspect_ratio=True, data_format=self.data_format,
                            dtype=self.dtype)(inputs)
        begins = [place(inputs.shape[axis] - wanted[axis]) if axis in wanted else 0 for axis in range(inputs.ndim)]
        return _op("slice")(inputs, begins, [wanted.get(axis, own) for axis, own in enumerate(extents(inputs))])


@public("keras.layers.CategoryEncoding")
class CategoryEncoding(_Prepares):
    """Class numbers as rows of num_tokens numbers.

    output_mode: 'one_hot', a row for each number; 'multi_hot', a row for each example, 1 where a number occurs; 'count', how often.
    Errors: ValueError for another mode, a num_tokens that is none, and numbers outside [0, num_tokens).
    """

    _arguments = "num_tokens", "output_mode"

    def __init__(self, num_tokens=None, output_mode="multi_hot", sparse=False, **kwargs):
        super().__init__(**kwargs)
        if output_mode not in ("count", "one_hot", "multi_hot"):
            raise ValueError(f"Unknown arg for output_mode: {output_mode}")
        if num_tokens is None or num_tokens < 1:
            raise ValueError(f"`num_tokens` must be >= 1. Received: num_tokens={num_tokens}.")
        self.num_tokens, self.output_mode = num_tokens, output_mode

    def _check(self, tensors):
        """ValueError for a number that is none of the classes'."""
        numbers, = tensors
        least, most = (int(_op(each)(numbers)) for each in ("reduce_min", "reduce_max"))
        if numbers.shape.num_elements() and not 0 <= least <= most < self.num_tokens:
            raise ValueError(f"Input values must be in the range 0 <= values < num_tokens with num_tokens={self.num_tokens}")

    def call(self, inputs, count_weights=None):
        numbers = _op("cast")(_engine.convert_to_tensor(inputs), dtypes.int64)
        if is_late(numbers):
            _engine.graph_host_call("CategoryEncoding", self._check, [numbers])
        else:
            self._check([numbers])
        rows = _op("one_hot")(numbers, self.num_tokens, dtype=self._dtype)
        if self.output_mode == "one_hot":
            return _op("squeeze")(rows, [-2]) if numbers.ndim > 1 and numbers.shape[-1] == 1 else rows
        if numbers.ndim == 0:
            return rows
        if self.output_mode == "multi_hot":
            return _op("reduce_max")(rows, axis=-2)
        if count_weights is not None:
            rows = rows * _op("expand_dims")(_op("cast")(count_weights, rows.dtype), -1)
        return _op("reduce_sum")(rows, axis=-2)

    def compute_output_shape(self, input_shape):
        shape = as_shape(input_shape)
        last = len(shape) > 0 and (self.output_mode != "one_hot" or len(shape) > 1 and shape[-1] == 1)
        return TensorShape((*(shape[:-1] if last else shape), self.num_tokens))


@public("keras.layers.Discretization")
class Discretization(_Prepares):
    """The number of the range in which a value lies: values below the first boundary are 0.

    bin_boundaries: ascending numbers; or num_bins, and adapt(data) finds boundaries between which as many values lie; output_mode:
    'int', or one of CategoryEncoding's. ValueError for both or neither of them.
    """

    _arguments = "bin_boundaries", "num_bins", "epsilon", "output_mode"

    def __init__(self, bin_boundaries=None, num_bins=None, epsilon=0.01, output_mode="int", sparse=False, dtype=None, name=None,
                 **kwargs):
        super().__init__(name=name, dtype=dtype, **kwargs)
        if (bin_boundaries is None) == (num_bins is None):
            raise ValueError("Both or neither of `num_bins` and `bin_boundaries` are set. Received: "
                             f"num_bins={num_bins} and bin_boundaries={bin_boundaries}")
        if output_mode not in ("int", "one_hot", "multi_hot", "count"):
            raise ValueError(f"Unknown arg for output_mode: {output_mode}")
        self.num_bins, self.epsilon, self.output_mode = num_bins, epsilon, output_mode
        vars(self)["bin_boundaries"] = None if bin_boundaries is None else list(bin_boundaries)

    def adapt(self, data):
        """Finds the boundaries. data: an array or a tensor."""
        values = np.asarray(data.numpy() if hasattr(data, "numpy") else data, "float64").reshape(-1)
        vars(self)["bin_boundaries"] = np.quantile(values, np.arange(1, self.num_bins) / self.num_bins).tolist()

    def call(self, inputs):
        if self.bin_boundaries is None:
            raise ValueError(f"You need to call `adapt` on '{self.name}' before it is called, or give bin_boundaries")
        values = _engine.convert_to_tensor(inputs)
        narrow = values.dtype.is_floating and values.dtype != dtypes.float64
        exact = dtypes.float32 if narrow else dtypes.float64  # of integers, too
        values, edges = _op("cast")(values, exact), _engine.constant(self.bin_boundaries, exact, None)
        places = _reshape(_op("searchsorted")(edges, _reshape(values, [-1]), "right"), extents(values))
        if self.output_mode == "int":
            return places
        return CategoryEncoding(len(self.bin_boundaries) + 1, self.output_mode, dtype=self.dtype)(places)

    def compute_output_shape(self, input_shape):
        shape = as_shape(input_shape)
        if self.output_mode == "int":
            return shape
        return CategoryEncoding(len(self.bin_boundaries) + 1, self.output_mode).compute_output_shape(shape)

    def get_config(self):
        config = super().get_config()
        return {**config, "num_bins": None} if self.bin_boundaries is not None else config


class RandomImages(_Prepares):
    """Changes images in training alone: (batch, height, width, channels), or one image."""

    def call(self, inputs, training=True):
        inputs = self._floating(inputs)
        if not training:
            return self._otherwise(inputs)
        alone = inputs.ndim == 3
        values = self._changed(_op("expand_dims")(inputs, 0) if alone else inputs)
        return _op("squeeze")(values, [0]) if alone else values

    def _otherwise(self, inputs):
        return inputs

    def _uniform(self, inputs, low, high):
        """A random number for each image."""
        return random.uniform([extent(inputs, 0), 1, 1, 1], low, high, inputs.dtype, self.seed)


@public("keras.layers.RandomFlip")
class RandomFlip(RandomImages):
    """In training, mirrors images, each or not by chance. mode: 'horizontal', 'vertical' or 'horizontal_and_vertical'. ValueError
    for another."""

    _arguments = "mode", "seed", "data_format"

    def __init__(self, mode="horizontal_and_vertical", seed=None, data_format=None, **kwargs):
        super().__init__(**kwargs)
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(f"Unknown `mode`: mode={mode}. Expected one of horizontal, vertical, horizontal_and_vertical")
        self.mode, self.seed, self.data_format = mode, seed, sizes.data_format_of(data_format)

    def _changed(self, inputs):
        first = 2 if self.data_format == "channels_first" else 1
        for axis, name in ((first + 1, "horizontal"), (first, "vertical")):
            if name in self.mode:
                inputs = _op("where")(self._uniform(inputs, 0., 1.) < 0.5, _op("reverse")(inputs, [axis]), inputs)
        return inputs


@public("keras.layers.RandomCrop")
class RandomCrop(RandomImages):
    """In training, a part of the images by chance, else the middle. height, width: of the part."""

    _arguments = "height", "width", "seed", "data_format"

    def __init__(self, height, width, seed=None, data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.height, self.width, self.seed, self.data_format = height, width, seed, sizes.data_format_of(data_format)

    compute_output_shape = Resizing.compute_output_shape
    _cut = CenterCrop._cut

    def _otherwise(self, inputs):
        return self._cut(inputs, lambda room: room // 2)

    def _changed(self, inputs):
        def drawn(room):
            with context.device("/cpu:0"):
                number = random.uniform([], 0, room + 1, dtypes.int32, self.seed)
            return number if _engine.is_symbolic(number) else int(number)

        return self._cut(inputs, drawn)


def _limits(argument, value, least, one_sided):
    """(low, high) of a factor that is a number or a pair. ValueError outside of [least, 1]."""
    try:
        pair = value if hasattr(value, "__len__") else (float(value) * (0 if one_sided else -1), float(value))
        low, high = sorted(map(float, pair))
    except (TypeError, ValueError):
        low = high = math.nan
    if not (least <= low <= 1 and least <= high <= 1):
        raise ValueError(f"The `{argument}` argument should be a number (or a list of two numbers) in the range [{least}, 1.0]. "
                         f"Received: {argument}={value}")
    return min(low, high), max(low, high)


@public("keras.layers.RandomContrast")
class RandomContrast(RandomImages):
    """In training, moves each image's values away from its channels' mean or towards it: (x − mean)·f + mean with a random f.

    factor: f lies between 1 − factor and 1 + factor, or 1 less the first and 1 and the second of two numbers; value_range: the
    least and the greatest value that images have. ValueError for a factor outside of [0, 1].
    """

    _arguments = "factor", "value_range", "seed"

    def __init__(self, factor, value_range=(0, 255), seed=None, **kwargs):
        super().__init__(**kwargs)
        self.factor, self.value_range, self.seed = factor, tuple(value_range), seed
        low, high = _limits("factor", factor, 0., False) if hasattr(factor, "__len__") else (float(factor),) * 2
        _limits("factor", high, 0., True)
        vars(self)["_between"] = 1 - low, 1 + high

    def _changed(self, inputs):
        mean = _op("reduce_mean")(inputs, axis=[1, 2], keepdims=True)
        changed = (inputs - mean) * self._uniform(inputs, *self._between) + mean
        return _op("clip_by_value")(changed, *(in_dtype(limit, inputs.dtype) for limit in self.value_range))


@public("keras.layers.RandomBrightness")
class RandomBrightness(RandomImages):
    """In training, adds a random number to each image.

    factor: the number lies between −factor and factor, or between two numbers, as shares of the range; value_range: the least and
    the greatest value that images have. ValueError for a factor outside of [−1, 1].
    """

    _arguments = "factor", "value_range", "seed"

    def __init__(self, factor, value_range=(0, 255), seed=None, **kwargs):
        super().__init__(**kwargs)
        self.factor, self.value_range, self.seed = factor, tuple(value_range), seed
        vars(self)["_between"] = _limits("factor", factor, -1., False)

    def _changed(self, inputs):
        least, most = self.value_range
        added = self._uniform(inputs, *self._between) * (most - least)
        return _op("clip_by_value")(inputs + added, *(in_dtype(limit, inputs.dtype) for limit in self.value_range))
