"""What a layer expects of its inputs."""
from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.public import public


@public("keras.InputSpec", "layers.InputSpec", "keras.layers.InputSpec")
class InputSpec:
    """What a layer expects of one of its inputs; None of anything.

    dtype; shape: the extents, None in it for any; ndim, max_ndim, min_ndim: numbers of axes; axes: a dict of an axis' number to its
    extent; allow_last_axis_squeeze: a last axis of extent 1 may be missing, or be one too many; name: the
    input's, where inputs are a dict; optional: the input may be None.
    Errors: TypeError for axes that are not a dict of integers; ValueError for an axis beyond ndim or max_ndim.
    """

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None, allow_last_axis_squeeze=False,
                 name=None, optional=False):
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.shape = None if shape is None else tuple(shape)
        self.ndim = ndim if shape is None else len(self.shape)
        self.max_ndim, self.min_ndim, self.name, self.optional = max_ndim, min_ndim, name, optional
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        try:
            self.axes = {int(axis): extent for axis, extent in (axes or {}).items()}
        except (TypeError, ValueError, AttributeError):
            raise TypeError(f"InputSpec: axes is {axes!r}; needs a dict of integers to extents") from None
        limit = self.ndim if self.ndim is not None else max_ndim
        if self.axes and limit is not None and max(self.axes) >= limit:
            raise ValueError(f"InputSpec: axes names axis {max(self.axes)}, but an input has {limit} axes at most")

    def get_config(self):
        """The arguments that it was made with, by name."""
        return {"dtype": self.dtype, "shape": self.shape, "ndim": self.ndim, "max_ndim": self.max_ndim, "min_ndim": self.min_ndim,
                "axes": self.axes}

    @classmethod
    def from_config(cls, config):
        """The InputSpec of these arguments."""
        return cls(**config)

    def __repr__(self):
        parts = [f"{name}={value}" for name, value in self.get_config().items() if value]
        return f"InputSpec({', '.join(parts)})"


def _differs_by_last_axis(spec, shape):
    longer = spec.shape if spec.shape and len(shape) == spec.ndim - 1 else shape if len(shape) == spec.ndim + 1 else None
    return spec.allow_last_axis_squeeze and longer is not None and longer[-1] == 1


def _shape_difference(spec, shape):
    """What is wrong with a shape, in words, or None."""
    ndim = len(shape)
    if spec.ndim is not None and ndim != spec.ndim and not _differs_by_last_axis(spec, shape):
        return f"expected ndim={spec.ndim}, found ndim={ndim}. Full shape received: {shape}"
    if spec.max_ndim is not None and ndim > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={ndim}. Full shape received: {shape}"
    if spec.min_ndim is not None and ndim < spec.min_ndim:
        return f"expected min_ndim={spec.min_ndim}, found ndim={ndim}. Full shape received: {shape}"
    for axis, extent in spec.axes.items():
        if extent is not None and -ndim <= axis < ndim and shape[axis] not in (extent, None):
            return f"expected axis {axis} of input shape to have value {extent}, but received input with shape {shape}"
    if spec.shape is not None and any(None not in pair and pair[0] != pair[1] for pair in zip(spec.shape, shape)):
        return f"expected shape={spec.shape}, found shape={shape}"
    return None


def _check_one(spec, value, place, layer_name):
    if spec is None or value is None and spec.optional:
        return
    if not hasattr(value, "shape"):
        raise TypeError(f"Input {place} of layer \"{layer_name}\" is {value!r}; needs a tensor")
    wrong = _shape_difference(spec, tuple(value.shape))
    if wrong is None and spec.dtype is not None and dtypes.as_dtype(value.dtype).name != spec.dtype:
        wrong = f"expected dtype={spec.dtype}, found dtype={dtypes.as_dtype(value.dtype).name}"
    if wrong is not None:
        raise ValueError(f"Input {place} of layer \"{layer_name}\" is incompatible with the layer: {wrong}")


def check_inputs(spec, inputs, layer_name):
    """ValueError where inputs are not what spec, an InputSpec or a structure of them, says; TypeError for a value that is not a tensor."""
    if isinstance(spec, InputSpec) and isinstance(inputs, _engine.Tensor):
        return _check_one(spec, inputs, 0, layer_name)
    if isinstance(spec, dict) and isinstance(inputs, dict):
        missing = [name for name in spec if name not in inputs]
        if missing:
            raise ValueError(f"Missing data for input \"{missing[0]}\" of layer \"{layer_name}\"; its inputs are {list(spec)}, it "
                             f"got {list(inputs)}")
        specs, values = list(spec.values()), [inputs[name] for name in spec]
    else:
        specs = list(spec.values()) if isinstance(spec, dict) else list(spec) if isinstance(spec, (list, tuple)) else [spec]
        values = (list(inputs.values()) if isinstance(inputs, dict) else
                  list(inputs) if isinstance(inputs, (list, tuple)) else [inputs])
    if len(values) != len(specs):
        raise ValueError(f"Layer \"{layer_name}\" expects {len(specs)} input(s), but it received {len(values)} input tensors. "
                         f"Inputs received: {inputs}")
    for place, (each, value) in enumerate(zip(specs, values)):
        _check_one(each, value, place, layer_name)
