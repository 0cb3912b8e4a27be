"""Reductions of SparseTensors over axes, and the softmax of their rows."""
import math

import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.composites import op, require_memory, tensor, zero_of
from tapedeck._core.host_ops import host_op, Known
from tapedeck._core.public import public
from tapedeck._sparse.places import axes_of, distinct, numbered, places_of, shape_of
from tapedeck._sparse.tensors import checked, KnownSparse, like, SparseTensor


def _reduced(function, segments, sp_input, axis, keepdims, output_is_sparse, reduction_axes, keep_dims):
    sparse = checked(function, sp_input)
    shape, places = shape_of(sparse), places_of(sparse)
    axes = axes_of(function, axis if reduction_axes is None else reduction_axes, len(shape))
    keeps = bool(keepdims if keep_dims is None else keep_dims)
    kept = [number for number in range(len(shape)) if number not in axes]
    left, extents = places[:, kept], [shape[number] for number in kept]
    whole = [1 if number in axes else extent for number, extent in enumerate(shape)] if keeps else extents
    if output_is_sparse:
        found, which = distinct(left, extents)
        if keeps:
            found = np.insert(found, [place - number for number, place in enumerate(axes)], 0, axis=1)
        return SparseTensor(found, op(segments)(sparse.values, which, len(found)), whole)
    count = math.prod(extents)
    require_memory(f"{function}: a result of shape {whole}", count, sparse.dtype)
    which = numbered(left, extents)
    result = op(segments)(sparse.values, which, count)
    if segments != "unsorted_segment_sum":  # nothing's extreme is 0 here, as TensorFlow has it
        result = op("where")(tensor(np.bincount(which, minlength=count) > 0), result, zero_of(result))
    return op("reshape")(result, whole)


def _known(sp_input, output_is_sparse, **_):
    return KnownSparse(sp_input.dtype, None) if output_is_sparse else Known(sp_input.dtype, None)


@public("sparse.reduce_sum", "sparse_reduce_sum", in_errors=True)
@host_op(_known)
def reduce_sum(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None, *, reduction_axes=None, keep_dims=None):
    """The sum of the values along axes.

    sp_input: a SparseTensor; axis: one, several, or None for all; keepdims: whether they stay, with extent 1; output_is_sparse:
    whether the result is a SparseTensor of the places with a value. reduction_axes, keep_dims: the names in TensorFlow 1.
    Returns: its dtype; a tensor, 0 where there are no values. Gradients reach the values.
    Errors: InvalidArgumentError for an axis that is not there; TypeError for an argument that is not sparse.
    """
    return _reduced("reduce_sum", "unsorted_segment_sum", sp_input, axis, keepdims, output_is_sparse, reduction_axes, keep_dims)


@public("sparse.reduce_max", "sparse_reduce_max", in_errors=True)
@host_op(_known)
def reduce_max(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None, *, reduction_axes=None, keep_dims=None):
    """The largest of the values along axes: what is not stored does not count, and where nothing is stored the result is 0.

    The arguments and errors are those of sparse.reduce_sum.
    """
    return _reduced("reduce_max", "unsorted_segment_max", sp_input, axis, keepdims, output_is_sparse, reduction_axes, keep_dims)


@public("sparse.softmax", "sparse_softmax", in_errors=True)
@host_op(like)
def softmax(sp_input, name=None):
    """The softmax of each row's values along the last axis; what is not stored counts as −∞.

    sp_input: a SparseTensor of a floating dtype, at least two axes. Returns: a SparseTensor with values at the same places.
    Gradients reach the values.
    Errors: InvalidArgumentError for fewer axes; TypeError for other dtypes.
    """
    sparse = checked("softmax", sp_input)
    shape, values = shape_of(sparse), sparse.values
    if len(shape) < 2:
        raise InvalidArgumentError(f"softmax: sp_input has {len(shape)} axes; needs at least 2")
    if not values.dtype.is_floating:
        raise _engine.TypeMismatchError(f"softmax: sp_input is {values.dtype.name}; needs a floating dtype")
    rows, which = distinct(places_of(sparse)[:, :-1], shape[:-1])
    largest = op("stop_gradient")(op("unsorted_segment_max")(values, which, len(rows)))
    exponentials = op("exp")(values - op("gather")(largest, which))
    return sparse.with_values(exponentials / op("gather")(op("unsorted_segment_sum")(exponentials, which, len(rows)), which))
