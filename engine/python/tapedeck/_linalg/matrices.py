"""Functions of matrices that TensorFlow makes of several ops, or calls with its arguments in another order."""
import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.composites import op, tensor
from tapedeck._core.extents import extents
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._math.reductions import norm as norm_of


def _lower_and_upper(name, lower_upper, perm):
    packed, order = tensor(lower_upper), tensor(perm)
    if packed.ndim < 2 or packed.shape[-1] != packed.shape[-2] or tuple(order.shape) != tuple(packed.shape[:-1]):
        raise InvalidArgumentError(f"{name}: lower_upper {tuple(packed.shape)} and perm {tuple(order.shape)}; needs square "
                                   "matrices and one number for each row")
    if not order.dtype.is_integer:
        raise _engine.TypeMismatchError(f"{name}: perm is {order.dtype.name}; needs int32 or int64")
    lower = op("matrix_set_diag")(op("matrix_band_part")(packed, -1, 0), op("ones_like")(op("matrix_diag_part")(packed)))
    return lower, op("matrix_band_part")(packed, 0, -1), order


def _rows(matrix, order):
    """Rows of matrices in another order, for each matrix its own."""
    return op("gather")(matrix, order, axis=order.ndim - 1, batch_dims=order.ndim - 1)


@public("linalg.lu_solve", in_errors=True)
@needs_extents
def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """Solves A·X = rhs, given the results of tf.linalg.lu(A).

    lower_upper: (…, n, n); perm: (…, n); rhs: (…, n, k), of the same axes before the last two.
    Returns: X, (…, n, k).
    Errors: InvalidArgumentError for shapes that do not fit; TypeError for different dtypes.
    """
    lower, upper, order = _lower_and_upper("lu_solve", lower_upper, perm)
    rhs = tensor(rhs)
    if rhs.ndim < 2 or rhs.shape[-2] != lower.shape[-1]:
        raise InvalidArgumentError(f"lu_solve: rhs {tuple(rhs.shape)} for lower_upper {tuple(lower.shape)}; needs as many rows")
    batch = np.broadcast_shapes(tuple(order.shape[:-1]), tuple(rhs.shape[:-2]))
    turned = _rows(op("broadcast_to")(rhs, batch + tuple(rhs.shape[-2:])),
                   op("broadcast_to")(order, batch + tuple(order.shape[-1:])))
    between = op("matrix_triangular_solve")(lower, turned, lower=True)
    return op("matrix_triangular_solve")(upper, between, lower=False)


@public("linalg.lu_reconstruct", in_errors=True)
def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """The matrices A of which tf.linalg.lu(A) gave lower_upper (…, n, n) and perm (…, n).

    Returns: (…, n, n).
    Errors: InvalidArgumentError for shapes that do not fit.
    """
    lower, upper, order = _lower_and_upper("lu_reconstruct", lower_upper, perm)
    return _rows(op("matmul")(lower, upper), op("argsort")(order))


@public("linalg.lu_matrix_inverse", in_errors=True)
@needs_extents
def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
    """The inverses of the matrices of which tf.linalg.lu gave lower_upper (…, n, n) and perm (…, n).

    Returns: (…, n, n).
    Errors: InvalidArgumentError for shapes that do not fit.
    """
    packed = tensor(lower_upper)
    unit = op("eye")(packed.shape[-1] if packed.ndim else 0, dtype=packed.dtype)
    return lu_solve(packed, perm, op("broadcast_to")(unit, packed.shape))


@public("linalg.matrix_rank", in_errors=True)
def matrix_rank(a, tol=None, validate_args=False, name=None):
    """How many singular values of matrices are above tol.

    a: any floating or complex dtype, (…, m, n); tol: None for the largest singular value · max(m, n) · epsilon of the dtype, as NumPy
    takes it.
    Returns: int32, the axes before the last two.
    Errors: InvalidArgumentError for fewer than 2 axes; TypeError for another dtype.
    """
    values = op("svd")(a, compute_uv=False)
    if tol is None:
        a = tensor(a)
        epsilon = 2.0**-7 if a.dtype.name == "bfloat16" else float(np.finfo(a.dtype.as_numpy_dtype).eps)
        if values.shape[-1] == 0:
            return op("zeros")(extents(values)[:-1], "int32")
        longest = extents(a)[-2:]
        known = all(isinstance(each, int) for each in longest)
        longest = max(longest) if known else op("cast")(op("maximum")(*longest), values.dtype)
        tol = op("reduce_max")(values, axis=-1, keepdims=True) * (longest * epsilon)
    else:
        tol = op("expand_dims")(tensor(tol, values.dtype), -1)
    return op("reduce_sum")(op("cast")(op("greater")(values, tol), "int32"), axis=-1)


@public("linalg.normalize", in_errors=True)
def normalize(tensor, ord="euclidean", axis=None, name=None):
    """(tensor / norm, norm), the norm of tf.norm with its reduced axes left with extent 1.

    tensor, ord, axis: as in tf.norm.
    Returns: two tensors of the dtype of tensor, of its shape and of the norm's.
    Errors: as those of tf.norm.
    """
    x = _engine.convert_to_tensor(tensor)
    norm = norm_of(x, ord, axis, keepdims=True)
    if norm.dtype != x.dtype:
        norm = op("cast")(norm, x.dtype)
    return op("divide")(x, norm), norm
