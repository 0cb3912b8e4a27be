"""Layers of several inputs that become one."""
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extent as extent_of, extents
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._nn import functions as nn
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.promotion import promoted
from tapedeck.keras.layers.weights import described


def _broadcast(one, other):
    """The extents of two examples together. ValueError where they do not broadcast."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    found = list(longer[:len(longer) - len(shorter)])
    for a, b in zip(longer[len(longer) - len(shorter):], shorter):
        if a is None or b is None:
            found.append(None if 1 not in (a, b) and a == b else b if a in (1, None) and b != 1 else a)
        elif a != b and 1 not in (a, b):
            raise ValueError(f"Inputs have incompatible shapes. Received shapes {tuple(one)} and {tuple(other)}")
        else:
            found.append(b if a == 1 else a)
    return found


class Merge(Layer):
    """An elementwise function of a list of at least `_least` tensors, which broadcast; those with fewer axes get axes of extent 1
    after the batch. Inputs of different dtypes become one that all of them fit in: integers beside float32 become float32. ValueError
    for another number of inputs, or what does not broadcast."""

    _least, _most = 1, None

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def _check(self, inputs):
        name = type(self).__name__
        if not isinstance(inputs, (list, tuple)) or isinstance(inputs, TensorShape):
            raise ValueError(f"A merge layer should be called on a list of inputs. Received: inputs={inputs} (not a list of "
                             f"tensors)")
        if len(inputs) < self._least or self._most is not None and len(inputs) > self._most:
            exactly = "exactly" if self._most is not None else "at least"
            raise ValueError(f"A `{name}` layer should be called on {exactly} {self._least} inputs. Received {len(inputs)} inputs")

    def build(self, input_shape):
        self._check(input_shape)
        self.compute_output_shape(input_shape)
        self.built = True

    def call(self, inputs):
        self._check(inputs)
        inputs = promoted(inputs)
        most = max(each.ndim for each in inputs)
        inputs = [each if each.ndim == most or not each.ndim else
                  _op("reshape")(each, [extent_of(each, 0), *[1] * (most - each.ndim), *extents(each)[1:]]) for each in inputs]
        return self._merged(inputs)

    def _merged(self, inputs):
        result = inputs[0]
        for each in inputs[1:]:
            result = self._two(result, each)
        return result

    def compute_output_shape(self, input_shape):
        shapes = as_shape(list(input_shape))
        self._check(shapes)
        result = list(shapes[0][1:])
        for each in shapes[1:]:
            result = _broadcast(result, each[1:])
        batches = {each[0] for each in shapes if len(each)} - {None}
        if len(batches - {1}) > 1:
            raise ValueError(f"Cannot merge tensors with different batch sizes. Received tensors with shapes "
                             f"{[tuple(s) for s in shapes]}")
        batch = max(batches) if len(batches) and all(each[0] is not None for each in shapes if len(each)) else None
        return TensorShape((batch, *result))

    def compute_mask(self, inputs, mask=None):
        masks = [each for each in mask or () if each is not None]
        if len(masks) < len(mask or ()) or not masks:
            return None
        result = masks[0]
        for each in masks[1:]:
            result = _op("logical_or")(result, each)
        return result


@public("keras.layers.Add")
class Add(Merge):
    """The sum of the inputs."""

    def _merged(self, inputs):
        if len(inputs) > 2 and len({tuple(each.shape) for each in inputs}) == 1:
            return _op("add_n")(inputs)
        return super()._merged(inputs)

    def _two(self, one, other):
        return _op("add")(one, other)


@public("keras.layers.Subtract")
class Subtract(Merge):
    """The first input less the second."""

    _least = _most = 2

    def _two(self, one, other):
        return _op("subtract")(one, other)


@public("keras.layers.Multiply")
class Multiply(Merge):
    """The product of the inputs."""

    def _two(self, one, other):
        return _op("multiply")(one, other)


@public("keras.layers.Average")
class Average(Add):
    """The mean of the inputs."""

    def _merged(self, inputs):
        return super()._merged(inputs) / len(inputs)


@public("keras.layers.Maximum")
class Maximum(Merge):
    """The largest of the inputs, elementwise."""

    def _two(self, one, other):
        return _op("maximum")(one, other)


@public("keras.layers.Minimum")
class Minimum(Merge):
    """The least of the inputs, elementwise."""

    def _two(self, one, other):
        return _op("minimum")(one, other)


@public("keras.layers.Concatenate")
class Concatenate(Merge):
    """The inputs one after the other along an axis. ValueError where other extents differ."""

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs):
        self._check(inputs)
        return _op("concat")(promoted(inputs), self.axis)

    def compute_output_shape(self, input_shape):
        shapes = as_shape(list(input_shape))
        self._check(shapes)
        axis = self.axis % len(shapes[0])
        result = list(shapes[0])
        for each in shapes[1:]:
            for place, extent in enumerate(each if len(each) == len(result) else ()):
                if place == axis:
                    result[axis] = None if None in (result[axis], extent) else result[axis] + extent
                elif None not in (result[place], extent) and result[place] != extent:
                    break
                else:
                    result[place] = extent if result[place] is None else result[place]
            else:
                if len(each) == len(result):
                    continue
            raise ValueError("A `Concatenate` layer requires inputs with matching shapes except for the concatenation axis. "
                             f"Received: input_shape={[tuple(shape) for shape in shapes]}")
        return TensorShape(result)

    def compute_mask(self, inputs, mask=None):
        if mask is None or all(each is None for each in mask):
            return None
        whole = []
        for value, each in zip(inputs, mask):
            if each is None:
                each = _op("ones_like")(value, dtype="bool")
            while each.ndim < value.ndim:
                each = _op("expand_dims")(each, -1)
            whole.append(_op("broadcast_to")(each, value.shape))
        return _op("reduce_all")(_op("concat")(whole, self.axis), axis=-1)

    def get_config(self):
        return {**super().get_config(), **described(self, "axis")}


@public("keras.layers.Dot")
class Dot(Merge):
    """The products of two inputs, summed over an axis of each, for each example.

    axes: the axis of both, or a pair; normalize: divide by the lengths first: the cosine. ValueError for axes of different extents.
    """

    _least = _most = 2

    def __init__(self, axes, normalize=False, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(axes, int) and not (isinstance(axes, (list, tuple)) and len(axes) == 2
                                              and all(isinstance(axis, int) for axis in axes)):
            raise ValueError(f"Invalid format for argument `axes`: it should be an integer or a pair of integers. Received: "
                             f"axes={axes}")
        self.axes, self.normalize = axes, normalize
        self.supports_masking = True

    def _two_axes(self, one, other):
        """The axes, counted from the front. ValueError where their extents differ."""
        axes = (self.axes,) * 2 if isinstance(self.axes, int) else self.axes
        first, second = axes[0] % len(one), axes[1] % len(other)
        if None not in (one[first], other[second]) and one[first] != other[second]:
            raise ValueError(f"Incompatible input shapes: axis values {one[first]} (at axis {first}) != {other[second]} (at axis "
                             f"{second}). Full input shapes: {tuple(one)}, {tuple(other)}")
        return first, second

    def call(self, inputs):
        self._check(inputs)
        one, other = promoted(inputs)
        first, second = self._two_axes(one.shape, other.shape)
        if self.normalize:
            one, other = nn.l2_normalize(one, first), nn.l2_normalize(other, second)
        left, right = "abcdefgh"[:one.ndim], "a" + "ijklmnop"[:other.ndim - 1]
        right = right[:second] + left[first] + right[second + 1:]
        kept = "".join(letter for letter in left + right[1:] if letter != left[first])
        result = _op("einsum")(f"{left},{right}->{kept}", [one, other])
        return _op("expand_dims")(result, -1) if result.ndim == 1 else result

    def compute_output_shape(self, input_shape):
        shapes = as_shape(list(input_shape))
        self._check(shapes)
        first, second = self._two_axes(*shapes)
        kept = [extent for place, extent in enumerate(shapes[0]) if place != first]
        kept += [extent for place, extent in enumerate(shapes[1]) if place not in (0, second)]
        return TensorShape(kept if len(kept) > 1 else (*kept, 1))

    def compute_mask(self, inputs, mask=None):
        return None

    def get_config(self):
        return {**super().get_config(), **described(self, "axes", "normalize")}


def _function(cls):
    def function(inputs, **kwargs):
        return cls(**kwargs)(inputs)

    function.__name__ = function.__qualname__ = cls.__name__.lower()
    what = cls.__doc__.partition("\n")[0]
    function.__doc__ = f"{what} inputs: a list of tensors; the others are what the layer {cls.__name__} takes."
    return public(f"keras.layers.{function.__name__}")(function)


add, subtract, multiply, average, maximum, minimum = map(_function, (Add, Subtract, Multiply, Average, Maximum, Minimum))


@public("keras.layers.concatenate")
def concatenate(inputs, axis=-1, **kwargs):
    """The inputs one after the other along an axis: the layer Concatenate."""
    return Concatenate(axis=axis, **kwargs)(inputs)


@public("keras.layers.dot")
def dot(inputs, axes=-1, **kwargs):
    """The products of two inputs, summed over an axis of each: the layer Dot."""
    return Dot(axes=axes, **kwargs)(inputs)
