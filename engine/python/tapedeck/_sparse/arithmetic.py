"""Sums, products and extremes of SparseTensors. Gradients reach the values and the dense tensors."""
import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.composites import op, tensor
from tapedeck._core.host_ops import host_op, Known
from tapedeck._core.public import public
from tapedeck._sparse.places import distinct, places_of, shape_of
from tapedeck._sparse.tensors import checked, is_sparse, like, SparseTensor

_BLOCK = 2**24  # elements that a product gathers at a time


def _conjugated(values):
    return op("conj")(values) if values.dtype.is_complex else values


def _adjoint(matrix):
    return _conjugated(op("transpose")(matrix, [1, 0]))


def _product(sparse, dense, adjoint_a):
    """The sparse matrix, or its adjoint, times a dense one."""
    own, summed = (1, 0) if adjoint_a else (0, 1)
    shape, places = shape_of(sparse), places_of(sparse)
    if shape[summed] != dense.shape[0]:
        raise InvalidArgumentError(f"sparse_dense_matmul: a {tuple(shape)}{' adjoint' * adjoint_a} and b {tuple(dense.shape)}: the inner "
                                   f"extents {shape[summed]} and {dense.shape[0]} differ")
    values = op("expand_dims")(_conjugated(sparse.values) if adjoint_a else sparse.values, 1)
    width = max(1, _BLOCK // max(1, len(places)))
    parts = [op("unsorted_segment_sum")(op("gather")(block, places[:, summed]) * values, places[:, own], shape[own])
             for block in ([dense] if dense.shape[1] <= width else
                           [dense[:, first:first + width] for first in range(0, dense.shape[1], width)])]
    return parts[0] if len(parts) == 1 else op("concat")(parts, 1)


def _of_product(sp_a, b, adjoint_a, adjoint_b, **_):
    """What is known of the product of two matrices."""
    def extent(matrix, axis):
        matrix = checked("sparse_dense_matmul", matrix) if is_sparse(matrix) else tensor(matrix)
        return matrix.dtype, matrix.shape[axis] if matrix.shape.rank == 2 else None

    (dtype, rows), (_, columns) = extent(sp_a, 1 if adjoint_a else 0), extent(b, 0 if adjoint_b else 1)
    return Known(dtype, [rows, columns])


@public("sparse.sparse_dense_matmul", "sparse.matmul", "sparse_tensor_dense_matmul", in_errors=True)
@host_op(_of_product)
def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """The product of two matrices, one of them sparse.

    sp_a: a SparseTensor (rows, inner), and b: a tensor (inner, columns); or the other way round. adjoint_a, adjoint_b: whether the
    matrix is transposed, and of complex numbers conjugated, first. Values at the same place add up.
    Returns: their dtype, (rows, columns). Gradients reach the values and the dense matrix.
    Errors: InvalidArgumentError for other numbers of axes and different inner extents; TypeError for two sparse or two dense
    matrices, and different dtypes.
    """
    if is_sparse(sp_a) == is_sparse(b):
        what = "both are" if is_sparse(b) else "neither is"
        raise _engine.TypeMismatchError(f"sparse_dense_matmul: of sp_a and b {what} sparse; needs one SparseTensor and one tensor")
    if is_sparse(b):  # a·b = (bᴴ·aᴴ)ᴴ
        return _adjoint(sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a))
    sparse, dense = checked("sparse_dense_matmul", sp_a, "sp_a"), tensor(b)
    for argument, rank in (("sp_a", len(sparse.shape)), ("b", dense.ndim)):
        if rank != 2:
            raise InvalidArgumentError(f"sparse_dense_matmul: {argument} has {rank} axes; needs 2")
    return _product(sparse, _adjoint(dense) if adjoint_b else dense, bool(adjoint_a))


def _require_one_shape(function, one, other):
    if list(one) != list(other):
        raise InvalidArgumentError(f"{function}: the shapes {tuple(one)} and {tuple(other)} differ")


def _together(function, a, b):
    """(the places of both, the values of each there: 0 where it has none)."""
    _require_one_shape(function, shape_of(a), shape_of(b))
    places, which = distinct(np.concatenate([places_of(a), places_of(b)]), shape_of(a))
    own = len(places_of(a))
    return places, [op("unsorted_segment_sum")(sparse.values, numbers, len(places))
                    for sparse, numbers in ((a, which[:own]), (b, which[own:]))]


@public("sparse.add", "sparse_add", in_errors=True)
@host_op(lambda a, b, **_: like(a) if is_sparse(a) and is_sparse(b) else Known((a if is_sparse(a) else b).dtype, None))
def add(a, b, threshold=0, thresh=None, name=None):
    """The sum of two tensors of one shape, of which one or both are sparse.

    threshold (thresh in TensorFlow 1): of two sparse tensors, sums of a smaller magnitude are left out; at 0 none is.
    Returns: a SparseTensor of both one's places, in row-major order, for two; else a tensor. Gradients reach the values.
    Errors: InvalidArgumentError for different shapes; TypeError for two dense tensors, and different dtypes.
    """
    threshold = threshold if thresh is None else thresh
    if not is_sparse(a) and not is_sparse(b):
        raise _engine.TypeMismatchError("add: neither a nor b is sparse; needs a tf.SparseTensor")
    if is_sparse(a) and is_sparse(b):
        a, b = checked("add", a, "a"), checked("add", b, "b")
        places, (one, other) = _together("add", a, b)
        values = one + other
        left = op("abs")(values) >= tensor(threshold, dtype=op("abs")(values[:0]).dtype)
        kept = np.flatnonzero(left.numpy())
        if len(kept) < len(places):
            places, values = places[kept], op("gather")(values, kept)
        return SparseTensor(places, values, a.dense_shape)
    sparse, dense = (checked("add", a, "a"), tensor(b)) if is_sparse(a) else (checked("add", b, "b"), tensor(a))
    _require_one_shape("add", shape_of(sparse), dense.shape)
    if not len(sparse.values):
        return op("identity")(dense)
    return op("tensor_scatter_nd_add")(dense, sparse.indices, sparse.values)


def _extreme(function, sp_a, sp_b):
    a, b = checked(function, sp_a, "sp_a"), checked(function, sp_b, "sp_b")
    places, values = _together(function, a, b)
    return SparseTensor(places, op(function)(*values), a.dense_shape)


@public("sparse.maximum", "sparse_maximum", in_errors=True)
@host_op(lambda sp_a, **_: like(sp_a))
def maximum(sp_a, sp_b, name=None):
    """The larger of both values at each place of two SparseTensors of one shape, 0 where one has none: a SparseTensor.

    Errors: InvalidArgumentError for different shapes; TypeError for an argument that is not sparse.
    """
    return _extreme("maximum", sp_a, sp_b)


@public("sparse.minimum", "sparse_minimum", in_errors=True)
@host_op(lambda sp_a, **_: like(sp_a))
def minimum(sp_a, sp_b, name=None):
    """The smaller of both values at each place of two SparseTensors of one shape, 0 where one has none: a SparseTensor.

    Errors: as of sparse.maximum.
    """
    return _extreme("minimum", sp_a, sp_b)


def _same_places(function, sparse, other):
    if shape_of(sparse) != shape_of(other) or not np.array_equal(places_of(sparse), places_of(other)):
        raise InvalidArgumentError(f"{function}: the SparseTensors among the arguments have values at different places")


@public("sparse.map_values")
def map_values(op, *args, **kwargs):
    """op(*args, **kwargs) with the values of each SparseTensor in its place.

    op: a function, as tf.square; the SparseTensors must have their values at the same places.
    Returns: a SparseTensor of the result at these places.
    Errors: ValueError where no argument is sparse; InvalidArgumentError for different places, and a result that has not one value
    for each; TypeError for an argument that is not callable.
    """
    if not callable(op):
        raise _engine.TypeMismatchError(f"map_values: op is {op!r}; needs a function")
    found = [checked("map_values", value) for value in (*args, *kwargs.values()) if is_sparse(value)]
    if not found:
        raise InvalidArgumentError("map_values: none of the arguments is a tf.SparseTensor")
    for other in found[1:]:
        _same_places("map_values", found[0], other)
    result = tensor(op(*(each.values if is_sparse(each) else each for each in args),
                       **{name: each.values if is_sparse(each) else each for name, each in kwargs.items()}))
    if result.ndim != 1 or result.shape[0] != len(found[0].values):
        raise InvalidArgumentError(f"map_values: op returned shape {tuple(result.shape)}; needs ({len(found[0].values)},), a value for "
                                   "each place")
    return found[0].with_values(result)
