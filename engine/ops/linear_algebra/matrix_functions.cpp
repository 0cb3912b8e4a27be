// Functions of square matrices.
#include "engine/ops/core/cost.h"
#include "engine/ops/linear_algebra/matrices.h"

namespace tapedeck::ops {
namespace {

/// The Kronecker product of matrices of one shape (…, n, n).
Tensor kronecker(const Tensor& a, const Tensor& b) {
  const int rank = a.rank();
  const std::int64_t n = a.dim(rank - 1);
  const Shape batch(a.shape().span().first(static_cast<std::size_t>(rank - 2)));
  const Tensor left = reshape(a, joined(batch, {n, 1, n, 1}));
  return reshape(left * reshape(b, joined(b.rank() == 2 ? Shape{} : batch, {1, n, 1, n})),
                 joined(batch, {n * n, n * n}));
}

Tensors square_root_vjp(const VjpContext& c) {
  const Tensor& x = c.outputs[0];
  if (x.count() == 0) return zero_gradient(c);
  const std::int64_t n = x.dim(x.rank() - 1);
  const Shape batch(x.shape().span().first(static_cast<std::size_t>(x.rank() - 2)));
  // Xᵀ·dA + dA·Xᵀ = dX, row by row as one vector: (Xᵀ ⊗ I + I ⊗ X)·vec(dA) = vec(dX).
  const Tensor unit = broadcast_to(eye(n, std::nullopt, x.dtype()), x.shape());
  const Tensor system = kronecker(matrix_transpose(x), unit) + kronecker(unit, x);
  const Tensor solution = matrix_solve(system, reshape(c.cotangents[0], joined(batch, {n * n, 1})));
  return one(reshape(solution, x.shape()));
}

/// The derivative of a function of matrices f at `a` in a direction, by the op itself: f[A E; 0 A] has it in
/// its upper right corner.
Tensor derivative(const OpDef& op, const Tensor& a, const Tensor& direction) {
  const std::int64_t n = a.dim(a.rank() - 1);
  const Tensor upper[] = {a, direction};
  const Tensor lower[] = {zeros_like(a), a};
  const Tensor rows[] = {concat(upper, -1), concat(lower, -1)};
  const Tensor result = run_op1(op, {concat(rows, -2)});
  Integers begin(static_cast<std::size_t>(a.rank()), 0);
  Integers size(static_cast<std::size_t>(a.rank()), -1);
  begin[begin.size() - 1] = n;
  size[size.size() - 2] = n;
  return slice(result, begin, size);
}

/// The largest absolute value of each matrix as a constant to gradients, in the dtype of `a`; 1 if it is 0 or
/// not finite.
Tensor magnitude(const Tensor& a) {
  const Tensor largest = reduce_max(abs(stop_gradient(a)), Integers{-2, -1}, true);
  const Tensor one_instead = number(1.0, largest.dtype());
  return beside(where(logical_and(is_finite(largest), greater(largest, number(0.0, largest.dtype()))),
                      largest, one_instead),
                a);
}

Tensor in_float64(const Tensor& a) {
  const DType wide = is_complex(a.dtype()) ? DType::complex128 : DType::float64;
  return a.dtype() == wide ? a : cast(a, wide);
}
Tensors in_dtype_of_input(const VjpContext& c, const Tensor& gradient) {
  const DType dtype = c.inputs[0].dtype();
  return one(dtype == gradient.dtype() ? gradient : cast(gradient, dtype));
}

/// The derivative is linear in the direction, which is scaled to size 1: with a large one exp would lose A.
Tensors exponential_vjp(const VjpContext& c) {
  const Tensor a = in_float64(c.inputs[0]), dy = in_float64(c.cotangents[0]);
  const Tensor size = magnitude(dy);
  return in_dtype_of_input(c, derivative(c.op, matrix_transpose(a), dy / size) * size);
}

/// The derivative of ln at A in the direction E is that at A/s in the direction E/s, and linear in E. A is
/// scaled to size 1, and E to A's least singular value: with a larger one the logarithm would lose the small
/// eigenvalues of A, which it moves close to 1 by roots.
Tensors logarithm_vjp(const VjpContext& c) {
  const Tensor a = in_float64(c.inputs[0]), dy = in_float64(c.cotangents[0]);
  if (a.count() == 0) return zero_gradient(c);
  const Tensor of_a = magnitude(a);
  const Tensor scaled_a = matrix_transpose(a) / of_a;
  const Tensor of_dy = magnitude(dy) * magnitude(matrix_inverse(stop_gradient(scaled_a)));
  return in_dtype_of_input(c, derivative(c.op, scaled_a, dy / of_dy) * (of_dy / of_a));
}

}  // namespace

TAPEDECK_OP(matrix_square_root_op) = {
    .name = "matrix_square_root",
    .python_names = {"matrix_square_root", "linalg.sqrtm"},
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule = like_square,
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = square_shape(c, 0);
          const Tensor input = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          const char* reason =
              is_complex(input.dtype())
                  ? "{o}: {i}{m} has no square root: an eigenvalue is 0 more than once"
                  : "{o}: {i}{m} has no real square root: an eigenvalue is negative, or 0 more than once";
          refuse(backend().matrix_square_root(matrices(input, shape), input.raw(),
                                              out.writable_data<std::byte>()),
                 failure_text(c, shape.batch, reason));
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::outputs,
    .vjp = square_root_vjp,
    .vjp_formula = "dA = the solution of Xᵀ·dA + dA·Xᵀ = dX",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      // Higham, algorithm 6.3: Schur's form and the triangular root.
      return {a.matrices * ((28 + 1.0 / 3) * n * n * n), cost::traffic(c)};
    },
    .doc =
        "The square root of matrices: X·X = A, with eigenvalues in the right half-plane, by Schur's form "
        "(Higham 1987, Linear Algebra and its Applications 88/89).\n\n"
        "input: A, (…, n, n), any floating or complex dtype.\n"
        "Returns: X, dtype and shape of input. A matrix that holds NaN or ∞ gives NaN. The gradient solves "
        "Sylvester's equation as a system of n² unknowns.\n"
        "Errors: InvalidArgumentError for other shapes, and for a matrix without a real root, saying which; "
        "TypeMismatchError for another dtype.",
    .takes_others = true,
    .gpu_kernel = false,
};

TAPEDECK_OP(matrix_exponential_op) = {
    .name = "matrix_exponential",
    .python_names = {"linalg.expm"},
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule = like_square,
    .forward =
        [](const OpContext& c) {
          const Tensor input = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          backend().matrix_exponential(matrices(input, square_shape(c, 0)), input.raw(),
                                       out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp = exponential_vjp,
    .vjp_formula = "dA = the upper right corner of exp [Aᵀ dY; 0 Aᵀ]",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      // Higham, algorithm 10.20: six products and a solution; how often it squares depends on values.
      return {a.matrices * ((12 + 8.0 / 3) * n * n * n), cost::traffic(c)};
    },
    .doc =
        "The exponential of matrices: Σ Aᵏ / k!, by scaling and squaring (Al-Mohy and Higham 2009, SIAM J. "
        "Matrix Anal. Appl. 31(3)); of triangular ones, in whatever order of their rows and columns, the "
        "diagonal is that of exp to the last digits.\n\n"
        "input: A, (…, n, n), any floating or complex dtype.\n"
        "Returns: dtype and shape of input. A matrix that holds NaN or ∞ gives NaN. Gradient: Al-Mohy and "
        "Higham 2009, SIAM J. Matrix Anal. Appl. 30(4), by an exponential of twice the extent.\n"
        "Errors: InvalidArgumentError for other shapes; TypeMismatchError for another dtype.",
    .takes_others = true,
    .gpu_kernel = false,
};

TAPEDECK_OP(matrix_logarithm_op) = {
    .name = "matrix_logarithm",
    .python_names = {"linalg.logm"},
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule = like_square,
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = square_shape(c, 0);
          const Tensor input = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          const char* reason = is_complex(input.dtype()) ? "{o}: {i}{m} has no logarithm: an eigenvalue is "
                                                           "0, or so small beside the largest that it "
                                                           "counts as 0"
                                                         : "{o}: {i}{m} has no real logarithm: an eigenvalue "
                                                           "is negative or 0, or so small beside the "
                                                           "largest that it counts as 0";
          refuse(
              backend().matrix_logarithm(matrices(input, shape), input.raw(), out.writable_data<std::byte>()),
              failure_text(c, shape.batch, reason));
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp = logarithm_vjp,
    .vjp_formula = "dA = the upper right corner of ln [Aᵀ dY; 0 Aᵀ]",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      // Higham, algorithm 11.9 with seven fractions; how many roots it takes depends on values.
      return {a.matrices * ((28 + 7.0 / 3) * n * n * n), cost::traffic(c)};
    },
    .doc =
        "The principal logarithm of matrices: the X with exp X = A whose eigenvalues have imaginary parts in "
        "(−π, π), by Schur's form (Al-Mohy and Higham 2012, SIAM J. Sci. Comput. 34(4)).\n\n"
        "input: A, (…, n, n), any floating or complex dtype. (TensorFlow's takes complex numbers only.)\n"
        "Returns: X, dtype and shape of input. A matrix that holds NaN or ∞ gives NaN. Gradient: Higham "
        "2008, "
        "(3.16), by a logarithm of twice the extent.\n"
        "Errors: InvalidArgumentError for other shapes, and for a matrix with an eigenvalue that is 0 or "
        "negative, saying which; TypeMismatchError for another dtype.",
    .takes_others = true,
    .gpu_kernel = false,
};

}  // namespace tapedeck::ops
