"""TensorFlow's tf.linalg: what is made of several ops, beside the registry's own (tf.linalg.inv …)."""
import math as _math

from tapedeck import _engine
from tapedeck._core.arguments import integer, integers, number
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extents
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public


def _pair(op, a, b, first="a", second="b"):
    """Two arguments as tensors; a value without a dtype of its own, or an array beside a tensor, takes the other's."""
    def own(value):  # 2: a tensor, 1: an array
        return 2 if isinstance(value, (_engine.Tensor, _engine.Variable)) else int(hasattr(value, "dtype"))

    if own(a) > own(b):
        a = _engine.convert_to_tensor(a)
        return a, _engine.convert_to_tensor(b, None, a.dtype)
    if own(b) > own(a):
        b = _engine.convert_to_tensor(b)
        return _engine.convert_to_tensor(a, None, b.dtype), b
    return _engine.convert_to_tensor(a), _engine.convert_to_tensor(b)


@public("linalg.matrix_transpose", "matrix_transpose", "linalg.transpose", in_errors=True)
def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """The last two axes swapped; with conjugate, of complex numbers the conjugates.

    a: any dtype, (…, m, n).
    Returns: the dtype of a, (…, n, m), without a copy where nothing is conjugated.
    Errors: InvalidArgumentError for fewer than 2 axes.
    """
    a = _engine.convert_to_tensor(a)
    rank = len(a.shape)
    if rank < 2:
        raise _engine.InvalidArgumentError(f"matrix_transpose: a has shape {tuple(a.shape)}; a matrix needs at least 2 axes")
    return _op("transpose")(a, [*range(rank - 2), rank - 1, rank - 2], conjugate)


@public("linalg.adjoint", in_errors=True)
def adjoint(matrix, name=None):
    """The conjugate transpose of matrices; for real numbers, the last two axes swapped.

    matrix: any dtype, (…, m, n).
    Returns: the dtype of matrix, (…, n, m); of real numbers without a copy.
    Errors: InvalidArgumentError for fewer than 2 axes.
    """
    return matrix_transpose(matrix, conjugate=True)


@public("linalg.matvec", "matvec", in_errors=True)
def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """Matrices times vectors: Σⱼ a[…, i, j]·b[…, j].

    a: (…, m, n), or (…, n, m) with transpose_a or adjoint_a; b: (…, n); any numeric dtype, one for both; the axes before
    broadcast. a_is_sparse and b_is_sparse change nothing.
    Returns: that dtype, (…, m).
    Errors: InvalidArgumentError for shapes that do not fit; TypeError for other or different dtypes.
    """
    a, b = _pair("matvec", a, b)
    return _op("squeeze")(_op("matmul")(a, _op("expand_dims")(b, -1), transpose_a, adjoint_a=adjoint_a), axis=[-1])


@public("linalg.einsum", "einsum", in_errors=True, row="einsum")
def einsum(equation, *inputs, name=None, optimize=None):
    """Products of tensors, summed over axes. The inputs may also be one list of tensors; optimize changes nothing."""
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) and any(
            isinstance(part, (_engine.Tensor, _engine.Variable)) for part in inputs[0]):
        inputs = inputs[0]
    return _op("einsum")(equation, list(inputs))


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@public("linalg.tensordot", "tensordot", in_errors=True)
def tensordot(a, b, axes, name=None):
    """The product of two tensors, summed over axes of both.

    a, b: any numeric dtype, one for both; axes: how many (the last of a, the first of b; 0 for the outer product), or a pair
    of an axis or a list of them for each.
    Returns: that dtype, the other axes of a and then those of b.
    Errors: InvalidArgumentError for axes out of range, named twice, or of different extents; TypeError for different dtypes.
    """
    a, b = _pair("tensordot", a, b)
    ranks = len(a.shape), len(b.shape)
    if isinstance(axes, (list, tuple)) or hasattr(axes, "__len__"):
        if len(axes) != 2:
            raise _engine.InvalidArgumentError(f"tensordot: axes is {axes!r}; needs a number, or a pair")
        pairs = [integers(axis, "axes") for axis in axes]
    else:
        count = integer(axes, "axes")
        if not 0 <= count <= min(ranks):
            raise _engine.InvalidArgumentError(f"tensordot: axes is {count}; a has {ranks[0]} axes and b {ranks[1]}")
        pairs = [list(range(ranks[0] - count, ranks[0])), list(range(count))]
    for side, rank, listed in zip("ab", ranks, pairs):
        if len(pairs[0]) != len(pairs[1]) or any(not -rank <= axis < rank for axis in listed) or len(
                {axis % rank for axis in listed}) != len(listed):
            raise _engine.InvalidArgumentError(
                f"tensordot: axes {pairs} do not fit a {tuple(a.shape)} and b {tuple(b.shape)}: {side} needs {len(listed)} "
                f"different axes of its {rank}, as many as the other")
    left = list(_LETTERS[:ranks[0]])
    right = list(_LETTERS[ranks[0]:sum(ranks)])
    for i, j in zip(*pairs):
        if None not in (a.shape[i], b.shape[j]) and a.shape[i] != b.shape[j]:
            raise _engine.InvalidArgumentError(
                f"tensordot: a {tuple(a.shape)} and b {tuple(b.shape)}: axis {i} has {a.shape[i]} and axis {j} has {b.shape[j]}")
        right[j % ranks[1]] = left[i % ranks[0]]
    result = [letter for letter in left + right if (letter in left) != (letter in right)]
    return _op("einsum")(f"{''.join(left)},{''.join(right)}->{''.join(result)}", [a, b])


@public("linalg.tensor_diag", "diag", in_errors=True)
def tensor_diag(diagonal, name=None):
    """A tensor of twice the axes with `diagonal` where both halves of the indices agree, 0 elsewhere.

    diagonal: any dtype and shape.
    Returns: its dtype, its shape twice.
    Errors: InvalidArgumentError where that has too many axes.
    """
    diagonal = _engine.convert_to_tensor(diagonal)
    return _op("reshape")(_op("matrix_diag")(_op("reshape")(diagonal, [-1])), extents(diagonal) * 2)


@public("linalg.tensor_diag_part", "diag_part", in_errors=True)
@needs_extents
def tensor_diag_part(input, name=None):
    """The elements of `input` whose indices' halves agree.

    input: any dtype; its shape is some extents, twice.
    Returns: the dtype of input, those extents.
    Errors: InvalidArgumentError for another shape.
    """
    input = _engine.convert_to_tensor(input)
    half = len(input.shape) // 2
    if len(input.shape) != 2 * half or half == 0 or tuple(input.shape[:half]) != tuple(input.shape[half:]):
        raise _engine.InvalidArgumentError(
            f"tensor_diag_part: input has shape {tuple(input.shape)}; needs extents that come twice")
    size = _math.prod(input.shape[:half])
    return _op("reshape")(_op("matrix_diag_part")(_op("reshape")(input, [size, size])), list(input.shape[:half]))


@public("linalg.cross", "cross", in_errors=True)
@needs_extents
def cross(a, b, name=None):
    """The cross product of vectors of 3 on the last axis.

    a, b: any numeric dtype, one for both, and one shape.
    Returns: that dtype and shape.
    Errors: InvalidArgumentError for other or different shapes; TypeError for different dtypes.
    """
    a, b = _pair("cross", a, b)
    if tuple(a.shape) != tuple(b.shape) or not a.shape or a.shape[-1] != 3:
        raise _engine.InvalidArgumentError(
            f"cross: a {tuple(a.shape)} and b {tuple(b.shape)}; need one shape with 3 on the last axis")
    x, y = _op("unstack")(a, axis=-1), _op("unstack")(b, axis=-1)
    return _op("stack")([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]], axis=-1)


@public("linalg.logdet", "logdet", in_errors=True)
def logdet(matrix, name=None):
    """ln det of symmetric, or Hermitian, positive definite matrices, by Cholesky's decomposition.

    matrix: any floating or complex dtype, (…, n, n).
    Returns: the dtype of matrix, of complex ones that of their parts, shape (…).
    Errors: InvalidArgumentError for another shape, and a matrix that is not positive definite; TypeError for another dtype.
    """
    diagonal = _op("matrix_diag_part")(_op("cholesky")(matrix))
    if diagonal.dtype.is_complex:
        diagonal = _op("real")(diagonal)
    return 2. * _op("reduce_sum")(_op("log")(diagonal), axis=[-1])


@public("linalg.cholesky_solve", "cholesky_solve", in_errors=True)
def cholesky_solve(chol, rhs, name=None):
    """Solves A·X = rhs, given chol, the lower triangular result of cholesky(A).

    chol: any floating or complex dtype, (…, n, n); rhs: the same dtype, (…, n, k).
    Returns: X, that dtype, (…, n, k).
    Errors: InvalidArgumentError for shapes that do not fit, and a 0 on the diagonal; TypeError for other or different dtypes.
    """
    chol, rhs = _pair("cholesky_solve", chol, rhs)
    between = _op("matrix_triangular_solve")(chol, rhs, lower=True)
    return _op("matrix_triangular_solve")(chol, between, lower=True, adjoint=True)


@public("linalg.lstsq", "matrix_solve_ls", in_errors=True)
@needs_extents
def lstsq(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """The X that minimises ‖matrix·X − rhs‖² + l2_regularizer·‖X‖², in the Frobenius norm.

    matrix: any floating or complex dtype, (…, m, n); rhs: the same dtype, (…, m, k). fast: by Cholesky's decomposition of the normal
    equations, which needs full rank (InvalidArgumentError otherwise) and squares the condition number; where m < n and
    l2_regularizer is 0, the smallest solution. Otherwise by the pseudo-inverse, for any rank; l2_regularizer is then ignored.
    Returns: X, that dtype, (…, n, k).
    Errors: InvalidArgumentError for shapes that do not fit; TypeError for other or different dtypes.
    """
    matrix, rhs = _pair("lstsq", matrix, rhs)
    if len(matrix.shape) < 2 or len(rhs.shape) < 2 or matrix.shape[-2] != rhs.shape[-2]:
        raise _engine.InvalidArgumentError(
            f"lstsq: matrix {tuple(matrix.shape)} and rhs {tuple(rhs.shape)} need at least 2 axes and as many rows")
    if not fast:
        return _op("matmul")(_op("pinv")(matrix), rhs)
    rows, columns = matrix.shape[-2:]
    if rows is None or columns is None:
        raise _engine.InvalidArgumentError(f"lstsq: the last two axes of matrix {matrix.shape} must be known while a function is traced")
    tall = rows >= columns
    gram = _op("matmul")(matrix, matrix, adjoint_a=tall, adjoint_b=not tall)
    if isinstance(l2_regularizer, (_engine.Tensor, _engine.Variable)) or number(l2_regularizer, "l2_regularizer") != 0:
        gram = gram + l2_regularizer * _op("eye")(min(rows, columns), dtype=matrix.dtype)
    chol = _op("cholesky")(gram)
    if tall:
        return cholesky_solve(chol, _op("matmul")(matrix, rhs, adjoint_a=True))
    return _op("matmul")(matrix, cholesky_solve(chol, rhs), adjoint_a=True)
