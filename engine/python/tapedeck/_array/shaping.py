"""Functions on shapes, places and parts of tensors that are made of several ops, or read their arguments first."""
import math

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.arguments import array, integer, integers, sequence
from tapedeck._core.composites import op as _op, require_few, require_memory
from tapedeck._core.extents import count, extent, extents, is_late
from tapedeck._core.host_ops import Known, needs_extents, needs_values, shape_of
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape, UnknownShape

_to_tensor = _engine.convert_to_tensor
_InvalidArgument = _engine.InvalidArgumentError


@public("pad", in_errors=True)
def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """Pads a tensor with a value or with its own mirror image.

    paddings: a pair of numbers (before, after) for each axis. mode: "CONSTANT" for constant_values; "REFLECT" for a mirror image
    without the edge; "SYMMETRIC" for one that repeats the edge. Returns the dtype of tensor,
    its extents with the paddings added. InvalidArgumentError for paddings that do not fit.
    """
    if is_late(paddings):
        flat = _op("reshape")(paddings, [-1]) if isinstance(paddings, _engine.Tensor) else [each for pair in paddings for each in pair]
        return _op("pad")(tensor, flat, mode, constant_values)
    pairs = array(paddings, "paddings")
    if pairs.size == 0:
        pairs = pairs.reshape(-1, 2).astype(np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise _InvalidArgument(f"pad: paddings has shape {pairs.shape}; it is a list of pairs, one for each axis")
    return _op("pad")(tensor, pairs.ravel().tolist(), mode, constant_values)


def _is_whole(value, name):
    is_tensor = isinstance(value, (_engine.Tensor, _engine.Variable))
    return value.dtype.is_integer if is_tensor else array(value, name).dtype.kind in "iu"


@public("linspace", "lin_space", in_errors=True)
@needs_extents
def linspace(start, stop, num, name=None, axis=0):
    """num evenly spaced numbers from start to stop, both included.

    start, stop: any floating dtype, one for both, of shapes that broadcast, or both integers, which give float64 as in
    TensorFlow; axis: index of the new axis in the result. InvalidArgumentError for num below 1.
    """
    whole = _is_whole(start, "start"), _is_whole(stop, "stop")
    if all(whole):
        start, stop = (_op("cast")(end, dtypes.float64) for end in (start, stop))
    if np.ndim(start) == 0 and np.ndim(stop) == 0:
        return _op("linspace")(start, stop, num)
    start = _to_tensor(start)
    if not start.dtype.is_floating:
        start = _op("cast")(start, dtypes.float32)
    stop = _to_tensor(stop, dtype_hint=start.dtype)
    both = broadcast_static_shape(start.shape, stop.shape)
    axis = integer(axis, "axis")
    place = len(both) + 1 + axis if axis < 0 else axis
    if not 0 <= place <= len(both):
        raise _InvalidArgument(f"linspace: axis {axis} is out of range for a result of {len(both) + 1} axes")
    start, stop = (_op("expand_dims")(_op("broadcast_to")(end, both), place) for end in (start, stop))
    zero, one = _to_tensor(0., start.dtype), _to_tensor(1., start.dtype)
    steps = _op("linspace")(zero, one, num)
    if num == 1:
        return start
    inner = _op("reshape")(steps[1:-1], [-1] + [1] * (len(both) - place))
    return _op("concat")([start, start + (stop - start) * inner, stop], place)  # the ends are exact


@public("shape_n", in_errors=True)
def shape_n(input, out_type=dtypes.int32, name=None):
    """The extents of several tensors, each as a tensor."""
    return [_op("shape")(tensor, out_type) for tensor in sequence(input, "input")]


@public("broadcast_static_shape", in_errors=True)
def broadcast_static_shape(shape_x, shape_y):
    """The shape to which two shapes broadcast by NumPy's rule. ValueError where they do not."""
    shape_x, shape_y = tuple(integers(shape_x, "shape_x")), tuple(integers(shape_y, "shape_y"))
    try:
        return TensorShape(np.broadcast_shapes(shape_x, shape_y))
    except ValueError:
        raise _InvalidArgument(f"broadcast_static_shape: {shape_x} and {shape_y} do not broadcast") from None


@public("broadcast_dynamic_shape", in_errors=True)
@needs_values("shape_x", "shape_y", known=lambda **_: Known("int32", [None]))
def broadcast_dynamic_shape(shape_x, shape_y):
    """The shape to which two shapes broadcast by NumPy's rule, as an int32 tensor."""
    return _to_tensor(np.array(broadcast_static_shape(shape_x, shape_y), np.int32))


@public("boolean_mask", in_errors=True)
def boolean_mask(tensor, mask, axis=None, name="boolean_mask"):
    """The slices of a tensor for which a mask is True.

    mask: bool, as many of tensor's axes as it has, from axis (None: 0) on, which become one. Returns the dtype of tensor.
    InvalidArgumentError for a mask that is a scalar or of other extents.
    """
    tensor, mask = _to_tensor(tensor), _to_tensor(mask)
    if not mask.dtype.is_bool:
        raise _engine.TypeMismatchError(f"boolean_mask: mask is {mask.dtype.name}; needs bool")
    axis = 0 if axis is None else integer(axis, "axis")
    first = axis + tensor.ndim if axis < 0 else axis
    if mask.ndim is None or tensor.ndim is None:
        raise _InvalidArgument(f"boolean_mask: the number of axes of mask, {mask.shape}, and of tensor, {tensor.shape}, must be known")
    covered = tensor.shape[first:first + mask.ndim]
    if mask.ndim == 0 or not 0 <= first <= tensor.ndim or not covered.is_compatible_with(mask.shape):
        raise _InvalidArgument(f"boolean_mask: mask {mask.shape} does not fit tensor {tensor.shape} from axis {axis} on")
    if mask.ndim > 1:
        own, merged = extents(tensor), count(mask)
        merged = [*own[:first], merged, *own[first + mask.ndim:]]
        tensor, mask = _op("reshape")(tensor, merged), _op("reshape")(mask, [-1])
    indices = _op("reshape")(_op("where_indices")(mask), [-1])
    return _op("gather")(tensor, indices, axis=first)


@public("sequence_mask", in_errors=True)
def sequence_mask(lengths, maxlen=None, dtype=dtypes.bool, name=None):
    """For each length a row of maxlen values, of which that many first ones hold.

    lengths: any integer dtype, any shape; maxlen: None for the largest of them; dtype: of the result. Returns the shape of
    lengths with an axis of extent maxlen at its end.
    """
    lengths = _to_tensor(lengths)
    if not lengths.dtype.is_integer:
        raise _engine.TypeMismatchError(f"sequence_mask: lengths is {lengths.dtype.name}; needs integers")
    if is_late(lengths) or is_late(maxlen):
        return _late_mask(lengths, _op("reduce_max")(lengths) if maxlen is None else maxlen, dtypes.as_dtype(dtype))
    if maxlen is None:
        maxlen = max(0, int(_op("reduce_max")(lengths))) if lengths.shape.num_elements() != 0 else 0
    elif np.ndim(array(maxlen, "maxlen")) != 0:
        raise _InvalidArgument(f"sequence_mask: maxlen has shape {np.shape(maxlen)}; needs a scalar")
    maxlen = integer(maxlen, "maxlen")
    require_memory(f"sequence_mask: a mask of {lengths.shape.num_elements()} rows of {maxlen}",
                   max(1, lengths.shape.num_elements()) * max(0, maxlen), dtypes.int64)
    return _late_mask(lengths, maxlen, dtypes.as_dtype(dtype))


def _late_mask(lengths, maxlen, dtype):
    places = _op("range")(maxlen, dtype=dtypes.int64)
    mask = _op("less")(places, _op("cast")(_op("expand_dims")(lengths, -1), dtypes.int64))
    return mask if dtype == dtypes.bool else _op("cast")(mask, dtype)


@public("meshgrid", in_errors=True)
def meshgrid(*args, indexing="xy", name=None):
    """Grids of coordinates from one vector per axis, a list of as many tensors.

    indexing: "ij", axis i of the grids is that of vector i; "xy", the first two axes change places. ValueError for another.
    """
    if indexing not in ("xy", "ij"):
        raise _InvalidArgument(f"meshgrid: indexing is {indexing!r}; must be 'xy' or 'ij'")
    vectors = [_op("reshape")(vector, [-1]) for vector in args]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    lengths = [extent(vectors[axis], 0) for axis in order]
    grids = []
    for number, vector in enumerate(vectors):
        along = [1] * len(vectors)
        along[order.index(number)] = -1
        grids.append(_op("broadcast_to")(_op("reshape")(vector, along), lengths))
    return grids


def _repeated_by(input, axis, **_):
    """What is known where a tensor says how often each slice comes."""
    tensor = _to_tensor(input)
    if axis is None:
        return Known(tensor.dtype, [None])
    shape = tensor.shape.as_list() if tensor.shape.rank is not None else None
    if shape is not None:
        shape[integer(axis, "axis")] = None
    return Known(tensor.dtype, shape)


@public("repeat", in_errors=True)
@needs_values("repeats", known=_repeated_by)
def repeat(input, repeats, axis=None, name=None):
    """Repeats each slice of an axis.

    repeats: a number, or one for each slice; axis: None for the values in row-major order. InvalidArgumentError for a
    negative number, or another count of them than of slices.
    """
    tensor = _to_tensor(input)
    if axis is None:
        tensor, axis = _op("reshape")(tensor, [-1]), 0
    axis = integer(axis, "axis")
    if not -tensor.ndim <= axis < tensor.ndim:
        raise _InvalidArgument(f"repeat: axis {axis} is out of range for shape {tuple(tensor.shape)}")
    counts = array(repeats, "repeats")
    if counts.dtype.kind not in "iu":
        raise _engine.TypeMismatchError(f"repeat: repeats is {counts.dtype.name}; needs integers")
    extent = tensor.shape[axis]
    if extent is None and counts.size == 1 and (counts >= 0).all():
        return _repeated(tensor, int(counts.reshape(-1)[0]), axis % tensor.ndim)
    if counts.ndim > 1 or counts.size not in (1, extent) or (counts < 0).any():
        raise _InvalidArgument(f"repeat: repeats {counts.tolist()} for axis {axis} of shape {tuple(tensor.shape)}; needs one "
                               "number, or one for each slice, none negative")
    total = sum(counts.reshape(-1).tolist()) * (extent if counts.size == 1 else 1)
    slice_size = tensor.shape.num_elements() // extent if extent else 1
    require_memory(f"repeat: the result of {total} slices of axis {axis} of shape {tuple(tensor.shape)}",
                    total * max(1, slice_size), tensor.dtype)
    return _op("gather")(tensor, np.repeat(np.arange(extent), counts.reshape(-1).astype(np.int64)), axis=axis)


def _repeated(tensor, times, axis):
    """Each slice of an axis whose extent is known when the graph runs."""
    own = extents(tensor)
    apart = _op("tile")(_op("expand_dims")(tensor, axis + 1), [times if number == axis + 1 else 1 for number in range(len(own) + 1)])
    return _op("reshape")(apart, [*own[:axis], own[axis] * times, *own[axis + 1:]])


@public("dynamic_partition", in_errors=True)
def dynamic_partition(data, partitions, num_partitions, name=None):
    """Sorts slices of a tensor into a list of tensors: part i has those whose number is i, in their order.

    partitions: any integer dtype, its shape a beginning of that of data, numbers in [0, num_partitions). InvalidArgumentError
    for other shapes; IndexError for other numbers.
    """
    data, partitions = _to_tensor(data), _to_tensor(partitions)
    if not partitions.dtype.is_integer:
        raise _engine.TypeMismatchError(f"dynamic_partition: partitions is {partitions.dtype.name}; needs integers")
    if not data.shape[:partitions.ndim].is_compatible_with(partitions.shape):
        raise _InvalidArgument(f"dynamic_partition: partitions {partitions.shape} is not a prefix of data {data.shape}")
    if _engine.is_symbolic(partitions) and _engine.known_value(partitions) is None:
        num_partitions = integer(num_partitions, "num_partitions")
        require_few("dynamic_partition: num_partitions", num_partitions)
        return [boolean_mask(data, _op("equal")(partitions, part)) for part in range(num_partitions)]
    numbers = np.asarray(partitions)
    num_partitions = integer(num_partitions, "num_partitions")
    if numbers.size and not (0 <= numbers.min() and numbers.max() < num_partitions):
        raise _engine.OutOfRangeError(f"dynamic_partition: partitions holds {numbers.min()} to {numbers.max()}; must be in "
                                      f"[0, {num_partitions})")
    if num_partitions < 1:
        raise _InvalidArgument(f"dynamic_partition: num_partitions is {num_partitions}; needs at least 1")
    require_few("dynamic_partition: num_partitions", num_partitions)
    flat = _op("reshape")(data, [numbers.size] + list(data.shape[partitions.ndim:]))
    return [_op("gather")(flat, np.flatnonzero(numbers.reshape(-1) == part)) for part in range(num_partitions)]


def _stitched(indices, data, **_):
    first, places = _to_tensor(data[0]), _to_tensor(indices[0])
    is_known = first.shape.rank is not None and places.shape.rank is not None
    return Known(first.dtype, [None, *first.shape.as_list()[places.shape.rank:]] if is_known else None)


@public("dynamic_stitch", in_errors=True)
@needs_values("indices", known=_stitched)
def dynamic_stitch(indices, data, name=None):
    """Puts slices of several tensors together by number: result[indices[k][i]] = data[k][i], the last one where a number occurs
    twice, zeros where a number is missing.

    indices: a list of tensors of any integer dtype; data: a list of tensors of one dtype whose shapes begin with theirs.
    """
    indices, data = ([_to_tensor(each) for each in sequence(value, name)]
                     for value, name in ((indices, "indices"), (data, "data")))
    if not indices or len(indices) != len(data):
        raise _InvalidArgument(f"dynamic_stitch: {len(indices)} tensors of indices for {len(data)} of data")
    rest = tuple(data[0].shape[indices[0].ndim:])
    for number, (places, values) in enumerate(zip(indices, data)):
        if tuple(values.shape) != tuple(places.shape) + rest:
            raise _InvalidArgument(f"dynamic_stitch: data[{number}] {tuple(values.shape)} for indices[{number}] "
                                   f"{tuple(places.shape)}; needs {tuple(places.shape) + rest}")
    places = _op("concat")([_op("reshape")(each, [-1, 1]) for each in indices], 0)
    values = _op("concat")([_op("reshape")(each, (-1,) + rest if 0 not in rest else (each.shape[0],) + rest)
                            for each in data], 0)
    if not places.dtype.is_integer:
        raise _engine.TypeMismatchError(f"dynamic_stitch: indices are {places.dtype.name}; needs integers")
    if places.shape[0] and int(_op("reduce_min")(places)) < 0:
        raise _engine.OutOfRangeError(f"dynamic_stitch: indices hold {int(_op('reduce_min')(places))}; none may be below 0")
    count = int(_op("reduce_max")(places)) + 1 if places.shape[0] else 0
    return _op("tensor_scatter_nd_update")(_op("zeros")((max(0, count),) + rest, data[0].dtype), places, values)


@public("ensure_shape", in_errors=True)
def ensure_shape(x, shape, name=None):
    """Returns x after checking its shape; None in shape matches any extent. InvalidArgumentError for another shape."""
    x = _to_tensor(x)
    if shape is None or isinstance(shape, UnknownShape):
        return x
    if not x.shape.is_fully_defined():
        checked = _op("identity")(x)
        checked.set_shape(shape)
        return checked
    wanted = [None if extent is None else integer(extent, "shape") for extent in sequence(shape, "shape")]
    if len(wanted) != x.ndim or any(extent not in (None, own) for extent, own in zip(wanted, x.shape)):
        raise _InvalidArgument(f"ensure_shape: x has shape {tuple(x.shape)}, not {tuple(wanted)}")
    return x


def _unravelled(indices, dims, **_):
    indices, dims = _to_tensor(indices), _to_tensor(dims)
    axes = dims.shape[0] if dims.shape.rank == 1 else None
    return Known(indices.dtype, None if indices.shape.rank is None else [axes, *indices.shape.as_list()])


@public("unravel_index", in_errors=True)
@needs_values("indices", "dims", known=_unravelled)
def unravel_index(indices, dims, name=None):
    """Row-major numbers of elements as coordinates in a tensor of extents dims.

    indices: any integer dtype, a scalar or one axis. Returns its dtype, (rank,) + the shape of indices. IndexError for a number
    outside of dims.
    """
    indices = _to_tensor(indices)
    if not indices.dtype.is_integer or indices.ndim > 1:
        raise _InvalidArgument(f"unravel_index: indices is {indices.dtype.name} {tuple(indices.shape)}; needs integers "
                               "with at most one axis")
    values, extents = np.asarray(indices), integers(dims, "dims")
    count = math.prod(extents)
    if not extents or min(extents) < 0:
        raise _InvalidArgument(f"unravel_index: dims are {extents}; need at least one, none below 0")
    if values.size and not (0 <= values.min() and values.max() < count):
        raise _engine.OutOfRangeError(f"unravel_index: indices holds {values.min()} to {values.max()}; must be in [0, {count})")
    return _to_tensor(np.array(np.unravel_index(values, extents), values.dtype).reshape((len(extents),) + values.shape))


@public("reverse_sequence", in_errors=True)
@needs_values("seq_lengths", known=lambda input, **_: Known(_to_tensor(input).dtype, shape_of(input)))
def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None):
    """Reverses the first seq_lengths[b] elements of seq_axis, for each b of batch_axis (None: 0).

    seq_lengths: any integer dtype, one for each b, at most the extent of seq_axis. Returns the dtype and shape of input.
    """
    tensor, lengths = _to_tensor(input), array(seq_lengths, "seq_lengths")
    seq_axis, batch_axis = (integer(new if new is not None else old if old is not None else 0, name)
                            for name, new, old in (("seq_axis", seq_axis, seq_dim), ("batch_axis", batch_axis, batch_dim)))
    seq_axis, batch_axis = (axis + tensor.ndim if axis < 0 else axis for axis in (seq_axis, batch_axis))
    if not (0 <= seq_axis < tensor.ndim and 0 <= batch_axis < tensor.ndim) or seq_axis == batch_axis:
        raise _InvalidArgument(f"reverse_sequence: seq_axis {seq_axis} and batch_axis {batch_axis} for shape "
                               f"{tuple(tensor.shape)}; needs two axes of it")
    batches, extent = tensor.shape[batch_axis], tensor.shape[seq_axis]
    if lengths.shape != (batches,) or lengths.dtype.kind not in "iu" or (lengths < 0).any() or (lengths > extent).any():
        raise _InvalidArgument(f"reverse_sequence: seq_lengths {lengths.tolist()} for shape {tuple(tensor.shape)}; needs "
                               f"{batches} numbers in [0, {extent}]")
    places = np.arange(extent)
    places = np.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    order = [batch_axis, seq_axis] + [axis for axis in range(tensor.ndim) if axis not in (batch_axis, seq_axis)]
    turned = _op("gather")(_op("transpose")(tensor, order), places, axis=1, batch_dims=1)
    return _op("transpose")(turned, np.argsort(order).tolist())
