"""Norms, and how many elements are not 0."""

import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.arguments import flag, integers, number
from tapedeck._core.composites import limits, op, tensor
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public


def _one_of(name, **given):
    """The one argument that was given under any of its names."""
    found = [(key, value) for key, value in given.items() if value is not None]
    if len(found) > 1:
        raise _engine.TypeMismatchError(f"{name}() got both {found[0][0]!r} and {found[1][0]!r}, which mean the same")
    return found[0][1] if found else None


@public("count_nonzero", "math.count_nonzero", in_errors=True)
def count_nonzero(input=None, axis=None, keepdims=None, dtype="int64", name=None, input_tensor=None,
                  reduction_indices=None, keep_dims=None):
    """How many elements along axes are not 0.

    input (input_tensor in TensorFlow 1): any dtype; NaN is not 0. axis: one axis, a list of axes, or None for all;
    keepdims: leave the reduced axes with extent 1; dtype: of the result.
    Returns: dtype, the shape of input without the reduced axes.
    Errors: InvalidArgumentError for an axis out of range or named twice.
    """
    x = tensor(_one_of("count_nonzero", input=input, input_tensor=input_tensor))
    axis = _one_of("count_nonzero", axis=axis, reduction_indices=reduction_indices)
    keep = flag(_one_of("count_nonzero", keepdims=keepdims, keep_dims=keep_dims), "keepdims")
    hits = op("cast")(op("cast")(x, "bool"), "int64")
    return op("cast")(op("reduce_sum")(hits, axis=axis, keepdims=keep), dtype)


def _where_not_0(x, function):
    """function(x) with 0 where x is 0, also in gradients: a subgradient where the function's own slope is infinite."""
    positive = op("not_equal")(x, 0)
    return op("where")(positive, function(op("where")(positive, x, op("ones_like")(x))), op("zeros_like")(x))


def _powers(sizes, order):
    return _where_not_0(sizes, lambda y: y**order) if order < 1 else sizes**order


def _scales(sizes, order, axis):
    """What sizes are divided by so that the sums of their powers keep their digits: the largest where one of these would overflow or
    underflow, else 1."""
    largest = op("stop_gradient")(op("reduce_max")(sizes, axis=axis, keepdims=True))
    info = limits(sizes.dtype)
    count = sizes.shape.num_elements() // max(1, largest.shape.num_elements())
    with np.errstate(over="ignore", under="ignore"):
        lowest, highest = (np.float64(limit) ** (1.0 / order) for limit in (info.tiny / info.eps, info.max / max(1, 2 * count)))
    too_large = op("logical_and")(op("is_finite")(largest), largest > float(min(highest, info.max)))
    too_small = op("logical_and")(largest > 0, largest < float(lowest))
    return op("where")(op("logical_or")(too_large, too_small), largest, op("ones_like")(largest))


def _vector_norm(x, order, axis, keepdims):
    if order in ("euclidean", 2):
        return op("reduce_euclidean_norm")(x, axis=axis, keepdims=keepdims)
    if order == 1:
        return op("reduce_sum")(op("abs")(x), axis=axis, keepdims=keepdims)
    if order == np.inf:
        return op("reduce_max")(op("abs")(x), axis=axis, keepdims=keepdims)
    if not isinstance(order, str) and order > 0:
        if not (x.dtype.is_floating or x.dtype.is_complex):
            raise _engine.TypeMismatchError(f"norm: tensor is {x.dtype.name}; ord {order} needs a floating dtype")
        sizes = op("abs")(x)
        scales = _scales(sizes, order, axis)
        sums = op("reduce_sum")(_powers(sizes / scales, order), axis=axis, keepdims=keepdims)
        return _where_not_0(sums, lambda y: y ** (1.0 / order)) * op("reshape")(scales, sums.shape)
    raise InvalidArgumentError(f"norm: ord is {order!r}; vectors have 'euclidean', numbers above 0, and inf")


def _matrix_norm(x, order, axis, keepdims):
    if order in ("euclidean", "fro"):
        return op("reduce_euclidean_norm")(x, axis=axis, keepdims=keepdims)
    if isinstance(order, str) or order not in (1, 2, np.inf):
        raise InvalidArgumentError(f"norm: ord is {order!r}; matrices have 'euclidean', 'fro', 1, 2 and inf")
    rank = x.ndim
    for a in axis:
        if not -rank <= a < rank:
            raise InvalidArgumentError(f"norm: axis {a} is out of range for shape {tuple(x.shape)}")
    rows, columns = (a % rank for a in axis)
    if rows == columns:
        raise InvalidArgumentError(f"norm: axis {list(axis)} names axis {rows} twice")
    if order == 2:
        return _spectral_norm(x, rows, columns, keepdims)
    added, largest = (rows, columns) if order == 1 else (columns, rows)
    sums = op("reduce_sum")(op("abs")(x), axis=added, keepdims=True)
    result = op("reduce_max")(sums, axis=largest, keepdims=True)
    return result if keepdims else op("squeeze")(result, axis=[rows, columns])


def _spectral_norm(x, rows, columns, keepdims):
    others = [a for a in range(x.ndim) if a not in (rows, columns)]
    values = op("svd")(op("transpose")(x, others + [rows, columns]), compute_uv=False)
    largest = op("reduce_max")(values, axis=-1)
    if keepdims:
        for a in sorted((rows, columns)):
            largest = op("expand_dims")(largest, a)
    return largest


@public("norm", "linalg.norm", in_errors=True)
@needs_extents
def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    """The norm of vectors, or of matrices.

    tensor: any floating or complex dtype. axis: None takes all elements as one vector; one axis the vectors along it; a pair
    (rows, columns) the matrices in them. ord: of vectors 'euclidean' (√Σ x²), a number p above 0 ((Σ |x|ᵖ)^(1/p)) or inf
    (the largest |x|); of matrices 'euclidean' or 'fro' (√Σ x²), 1 (the largest sum of a column's |x|), inf (of a row's)
    or 2 (the largest singular value). keepdims: leave the reduced axes with extent 1.
    Returns: the dtype of tensor ('euclidean' and 'fro'; the others of complex numbers in that of their parts, as in TensorFlow), its
    shape without the reduced axes. Gradient: the subgradient 0 of a vector of zeros,
    and of an element 0 for p below 1.
    Errors: InvalidArgumentError for another ord and for axes out of range or named twice; TypeError for another dtype.
    """
    x = _engine.convert_to_tensor(tensor)
    ord = ord if isinstance(ord, (str, int)) else number(ord, "ord")
    keep = flag(_one_of("norm", keepdims=keepdims, keep_dims=keep_dims), "keepdims")
    if isinstance(axis, (list, tuple)):
        axis = integers(axis, "axis")
        if len(axis) == 2:
            return _matrix_norm(x, ord, axis, keep)
        if len(axis) != 1:
            raise InvalidArgumentError(f"norm: axis {axis} names {len(axis)} axes; needs one axis, a pair, or None")
    return _vector_norm(x, ord, axis, keep)


@public("arg_max", in_errors=True)
def arg_max(input, dimension, output_type="int64", name=None):
    """TensorFlow 1's first name of tf.argmax; its axis is called dimension."""
    return op("argmax")(input, dimension, output_type)


@public("arg_min", in_errors=True)
def arg_min(input, dimension, output_type="int64", name=None):
    """TensorFlow 1's first name of tf.argmin; its axis is called dimension."""
    return op("argmin")(input, dimension, output_type)
