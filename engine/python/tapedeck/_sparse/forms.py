"""SparseTensors in other forms: orders, shapes, parts, several as one. Gradients reach the values."""
import math

import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core import dtypes
from tapedeck._core.arguments import array, integer, integers, sequence
from tapedeck._core.composites import op, require_few, tensor
from tapedeck._core.indexed_slices import IndexedSlices
from tapedeck._core.host_ops import host_op
from tapedeck._core.public import public
from tapedeck._sparse.places import axis_of, extents_of, numbered, places_of, row_major, shape_of
from tapedeck._sparse.tensors import checked, is_sparse, like, SparseTensor


def _ordered(places, values, shape):
    """A SparseTensor of these values in the row-major order of their places."""
    order = row_major(places)
    if (order == np.arange(len(order))).all():
        return SparseTensor(places, values, shape)
    return SparseTensor(places[order], op("gather")(values, order), shape)


def _of_those(sparse, kept, places=None, shape=None):
    """A SparseTensor of the values of these numbers, at places and in a shape of its own where they are given."""
    places = places_of(sparse)[kept] if places is None else places
    return SparseTensor(places, op("gather")(sparse.values, kept), sparse.dense_shape if shape is None else shape)


@public("sparse.reorder", "sparse_reorder", in_errors=True)
@host_op(like)
def reorder(sp_input, name=None):
    """The same values in the row-major order of their places: a SparseTensor. TypeError for an argument that is not sparse."""
    sparse = checked("reorder", sp_input)
    return _ordered(places_of(sparse), sparse.values, sparse.dense_shape)


@public("sparse.transpose", "sparse_transpose", in_errors=True)
@host_op(like)
def transpose(sp_input, perm=None, name=None):
    """The axes in another order: a SparseTensor, its values in row-major order.

    perm: the old axis' number for each new one; None for the reverse order. Errors: InvalidArgumentError for a list that is not a
    permutation of the axes; TypeError for an argument that is not sparse.
    """
    sparse = checked("transpose", sp_input)
    shape = shape_of(sparse)
    order = list(range(len(shape)))[::-1] if perm is None else extents_of("transpose", "perm", perm, len(shape))
    if sorted(order) != list(range(len(shape))):
        raise InvalidArgumentError(f"transpose: perm is {order}; needs each of the axes 0 to {len(shape) - 1} once")
    return _ordered(places_of(sparse)[:, order], sparse.values, [shape[axis] for axis in order])


@public("sparse.reshape", "sparse_reshape", in_errors=True)
def reshape(sp_input, shape, name=None):
    """The same elements in another shape, their values in the order that they had: a SparseTensor.

    shape: the extents, −1 for one that follows. Errors: InvalidArgumentError for another number of elements, or of more than 2⁶³ − 1;
    TypeError for an argument that is not sparse.
    """
    sparse = checked("reshape", sp_input)
    own, wanted = shape_of(sparse), integers(shape, "shape")
    count, numbers = math.prod(own), numbered(places_of(sparse), own)
    rest = math.prod(extent for extent in wanted if extent != -1)
    if wanted.count(-1) == 1 and rest > 0 and count % rest == 0:
        wanted[wanted.index(-1)] = count // rest
    if numbers is None or min(wanted, default=0) < 0 or math.prod(wanted) != count:
        raise InvalidArgumentError(f"reshape: sp_input has shape {own}, {count} elements; shape is {integers(shape, 'shape')}")
    places = np.stack(np.unravel_index(numbers, wanted), 1) if wanted and len(numbers) else np.zeros([len(numbers), len(wanted)])
    return SparseTensor(places.astype(np.int64), sparse.values, wanted)


@public("sparse.expand_dims", in_errors=True)
def expand_dims(sp_input, axis=None, name=None):
    """An axis of extent 1 more: a SparseTensor. axis: its number in the result, counted from the end where it is below 0; None for
    the last. Errors: InvalidArgumentError for another number; TypeError for an argument that is not sparse."""
    sparse = checked("expand_dims", sp_input)
    shape = shape_of(sparse)
    place = axis_of("expand_dims", -1 if axis is None else axis, len(shape) + 1)
    return SparseTensor(np.insert(places_of(sparse), place, 0, axis=1), sparse.values, [*shape[:place], 1, *shape[place:]])


@public("sparse.slice", "sparse_slice", in_errors=True)
def slice(sp_input, start, size, name=None):
    """A part of the tensor: the elements from start on, size of them along each axis, less where it ends before.

    start, size: integers, one for each axis, not below 0. Returns: a SparseTensor of the part's shape.
    Errors: InvalidArgumentError for others; TypeError for an argument that is not sparse.
    """
    sparse = checked("slice", sp_input)
    shape, places = shape_of(sparse), places_of(sparse)
    start, size = (extents_of("slice", name, value, len(shape)) for name, value in (("start", start), ("size", size)))
    if min([0, *start, *size]) < 0:
        raise InvalidArgumentError(f"slice: start is {start} and size is {size}; they must not be below 0")
    extents = [max(0, min(wanted, extent - first)) for first, wanted, extent in zip(start, size, shape)]
    moved = places - np.array(start, np.int64).reshape(1, -1)
    kept = np.flatnonzero(((moved >= 0) & (moved < np.array(extents, np.int64).reshape(1, -1))).all(1))
    return _of_those(sparse, kept, moved[kept], extents)


@public("sparse.split", "sparse_split", in_errors=True)
def split(sp_input=None, num_split=None, axis=None, name=None, *, split_dim=None):
    """num_split parts along an axis (split_dim in TensorFlow 1), equal ones, or the first with one more: a list of SparseTensors.

    Errors: InvalidArgumentError for fewer than one part and more than the extent, and an axis that is not there; TypeError for what
    is not sparse.
    """
    sparse = checked("split", sp_input)
    shape = shape_of(sparse)
    place, count = axis_of("split", axis if split_dim is None else split_dim, len(shape)), integer(num_split, "num_split")
    if not 1 <= count <= shape[place]:
        raise InvalidArgumentError(f"split: num_split is {count}; the axis {place} has extent {shape[place]}")
    require_few("split: num_split", count)
    parts, first = [], 0
    for number in range(count):
        extent = shape[place] // count + (number < shape[place] % count)
        parts.append(slice(sparse, [first if each == place else 0 for each in range(len(shape))],
                           [extent if each == place else whole for each, whole in enumerate(shape)]))
        first += extent
    return parts


@public("sparse.concat", "sparse_concat", in_errors=True)
def concat(axis=None, sp_inputs=None, expand_nonconcat_dims=False, name=None, *, concat_dim=None, expand_nonconcat_dim=None):
    """SparseTensors one after the other along an axis: one of their values in row-major order.

    sp_inputs: a list; expand_nonconcat_dims: whether other extents may differ, and the largest counts. concat_dim and
    expand_nonconcat_dim: names in TensorFlow 1.
    Errors: InvalidArgumentError for none, other numbers of axes and different extents; TypeError for an argument that is not sparse and
    different dtypes.
    """
    given = [sp_inputs] if is_sparse(sp_inputs) else sequence(sp_inputs, "sp_inputs")
    inputs = [checked("concat", each, f"sp_inputs[{number}]") for number, each in enumerate(given)]
    if not inputs:
        raise InvalidArgumentError("concat: sp_inputs is empty")
    shapes = [shape_of(each) for each in inputs]
    place = axis_of("concat", axis if concat_dim is None else concat_dim, len(shapes[0]))
    expands = expand_nonconcat_dims if expand_nonconcat_dim is None else expand_nonconcat_dim
    others = {tuple(extent for number, extent in enumerate(shape) if number != place) for shape in shapes}
    if len({len(shape) for shape in shapes}) > 1 or len(others) > 1 and not expands:
        raise InvalidArgumentError(f"concat: sp_inputs have the shapes {shapes}; they may differ along axis {place} only")
    whole = [sum(extents) if number == place else max(extents) for number, extents in enumerate(zip(*shapes))]
    places, start = [places_of(each).copy() for each in inputs], 0
    for each, shape in zip(places, shapes):
        each[:, place] += start
        start += shape[place]
    return _ordered(np.concatenate(places), op("concat")([each.values for each in inputs], 0), whole)


@public("sparse.retain", "sparse_retain", in_errors=True)
@host_op(like)
def retain(sp_input, to_retain, name=None):
    """Some of the values: a SparseTensor. to_retain: (count,), bools. Errors: InvalidArgumentError for another number of them;
    TypeError for other dtypes and an argument that is not sparse."""
    sparse, kept = checked("retain", sp_input), array(to_retain, "to_retain")
    if kept.dtype != bool:
        raise _engine.TypeMismatchError(f"retain: to_retain is {kept.dtype}; needs bools")
    if kept.shape != (len(sparse.values),):
        raise InvalidArgumentError(f"retain: to_retain has shape {kept.shape}; sp_input has {len(sparse.values)} values")
    return _of_those(sparse, np.flatnonzero(kept))


@public("sparse.mask", "sparse_mask", in_errors=True)
def mask(a, mask_indices, name=None):
    """The rows of a tf.IndexedSlices whose indices are not among mask_indices, integers. TypeError for any other value."""
    if not isinstance(a, IndexedSlices):
        raise _engine.TypeMismatchError(f"mask: a is a {type(a).__name__}; needs a tf.IndexedSlices")
    own = a.indices.numpy()
    kept = np.flatnonzero(~np.isin(own, integers(mask_indices, "mask_indices")))
    return IndexedSlices(op("gather")(a.values, kept), tensor(own[kept]), a.dense_shape)


@public("sparse.reset_shape", "sparse_reset_shape", in_errors=True)
def reset_shape(sp_input, new_shape=None):
    """The same values in a larger tensor: a SparseTensor. new_shape: None for the smallest one that holds them.

    Errors: InvalidArgumentError for a shape with another number of axes or a smaller extent; TypeError for an argument that is not sparse.
    """
    sparse = checked("reset_shape", sp_input)
    own, places = shape_of(sparse), places_of(sparse)
    if new_shape is None:
        return SparseTensor(places, sparse.values, places.max(0, initial=-1) + 1)
    wanted = extents_of("reset_shape", "new_shape", new_shape, len(own))
    if any(new < old for new, old in zip(wanted, own)):
        raise InvalidArgumentError(f"reset_shape: new_shape is {wanted}; no extent may be below those of {own}")
    return SparseTensor(places, sparse.values, wanted)


@public("sparse.fill_empty_rows", "sparse_fill_empty_rows", in_errors=True)
def fill_empty_rows(sp_input, default_value, name=None):
    """The matrix with default_value in column 0 of each row that has no value.

    sp_input: a SparseTensor (rows, columns); default_value: a scalar.
    Returns: (a SparseTensor, its rows in order; bools (rows,), where a row had none). Gradients reach the values and default_value.
    Errors: InvalidArgumentError for another number of axes, for default_value with axes, and where there are no columns; TypeError
    for an argument that is not sparse and a default_value of another dtype.
    """
    sparse = checked("fill_empty_rows", sp_input)
    shape, places, default = shape_of(sparse), places_of(sparse), tensor(default_value, sparse.dtype)
    if len(shape) != 2 or default.ndim:
        raise InvalidArgumentError(f"fill_empty_rows: sp_input has {len(shape)} axes and default_value {default.ndim}; needs 2 and none")
    empty = np.bincount(places[:, 0], minlength=shape[0]) == 0
    rows = np.flatnonzero(empty)
    if len(rows):
        filled = np.stack([rows, np.zeros_like(rows)], 1)
        places = np.concatenate([places, filled])
        values = op("concat")([sparse.values, op("broadcast_to")(default, [len(rows)])], 0)
    else:
        values = sparse.values
    order = np.argsort(places[:, 0], kind="stable")
    return SparseTensor(places[order], op("gather")(values, order), shape), tensor(empty)


@public("sparse.eye", in_errors=True)
def eye(num_rows, num_columns=None, dtype=dtypes.float32, name=None):
    """Ones on the diagonal: a SparseTensor (num_rows, num_columns), None for num_rows. InvalidArgumentError for a number below 0."""
    rows = integer(num_rows, "num_rows")
    columns = rows if num_columns is None else integer(num_columns, "num_columns")
    if min(rows, columns) < 0:
        raise InvalidArgumentError(f"eye: num_rows is {rows} and num_columns is {columns}; they must not be below 0")
    diagonal = np.arange(min(rows, columns), dtype=np.int64)
    return SparseTensor(np.stack([diagonal, diagonal], 1), op("ones")([len(diagonal)], dtypes.as_dtype(dtype)), [rows, columns])
