// Inverses and systems of equations. The gradients are those of Giles 2008, "Collected matrix
// derivative results for forward and reverse mode algorithmic differentiation" (below: Giles).
#include <limits>

#include "engine/ops/core/cost.h"
#include "engine/ops/linear_algebra/matrices.h"

namespace tapedeck::ops {
namespace {

constexpr const char* is_singular = "{o}: {i}{m} is singular: pivot {p} of its elimination is 0";

/// The tensor's matrices, one after another, for each matrix of `batch`, to which its own broadcast.
Tensor spread(const Tensor& tensor, const Shape& batch) {
  const int rank = tensor.rank();
  const Shape shape = joined(batch, {tensor.dim(rank - 2), tensor.dim(rank - 1)});
  if (tensor.shape() == shape) return contiguous(tensor);
  const int added = shape.rank() - rank;
  Strides strides;
  strides.resize(shape.rank());
  for (int axis = added; axis < shape.rank(); ++axis)
    strides[axis] = tensor.dim(axis - added) == 1 && shape[axis] != 1 ? 0 : tensor.strides()[axis - added];
  return contiguous(view_of(tensor, shape, strides));
}

/// Square matrices and right sides that fit them; batches broadcast.
TensorSpecs solve_shape(const OpContext& c) {
  require_same_dtype(c, 0, 1);
  const MatrixShape matrix = square_shape(c, 0);
  const MatrixShape rhs = matrix_shape(c, 1);
  if (rhs.rows != matrix.rows)
    fail<InvalidArgumentError>(c.op.name, ": matrix ", to_string(c.inputs[0].shape()), " and rhs ",
                               to_string(c.inputs[1].shape()), ": ", matrix.rows, " and ", rhs.rows,
                               " rows differ");
  const Shape batch = broadcast_shapes(matrix.batch, rhs.batch, c.op.name.c_str());
  return spec(c.inputs[0].dtype(), joined(batch, {rhs.rows, rhs.columns}));
}

/// Runs `kernel(of, matrix, rhs, out, text)` on all pairs of matrices.
template <class Kernel>
Tensors solve_forward(const OpContext& c, Kernel kernel) {
  Tensor out = allocate_output(c);
  const int rank = out.rank();
  const Shape batch(out.shape().span().first(static_cast<std::size_t>(rank - 2)));
  const Tensor matrix = spread(c.inputs[0], batch);
  const Tensor rhs = spread(c.inputs[1], batch);
  const kernels::Matrices of{out.dtype(), element_count(batch), out.dim(rank - 2), out.dim(rank - 1)};
  const kernels::FailureText text = failure_text(c, batch, is_singular);
  refuse(kernel(of, matrix.raw(), rhs.raw(), out.writable_data<std::byte>(), text), text);
  return one(std::move(out));
}

/// The gradients of X = op(A)⁻¹·B, given dB (Giles 2.3.1). `shape_of_a`: sets to 0 what A does not read.
template <class ShapeOfA>
Tensors solve_gradients(const VjpContext& c, const Tensor& rhs_gradient, bool adjoint, ShapeOfA shape_of_a) {
  const Tensor& x = c.outputs[0];
  Tensors gradients(2);
  if (c.wanted[0]) {
    const Tensor negated =
        adjoint ? product(x, rhs_gradient, false, true) : product(rhs_gradient, x, false, true);
    gradients[0] = unbroadcast(shape_of_a(-negated), c.inputs[0].shape());
  }
  if (c.wanted[1]) gradients[1] = unbroadcast(rhs_gradient, c.inputs[1].shape());
  return gradients;
}

}  // namespace

// ---- matrix_inverse ----
TAPEDECK_OP(matrix_inverse_op) = {
    .name = "matrix_inverse",
    .python_names = {"matrix_inverse", "linalg.inv"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "adjoint", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule = like_square,
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = square_shape(c, 0);
          const Tensor input = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          const kernels::FailureText text = failure_text(c, shape.batch, is_singular);
          refuse(backend().inverse(matrices(out, shape), c.get<bool>("adjoint"), input.raw(),
                                   out.writable_data<std::byte>(), text),
                 text);
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::outputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& y = c.outputs[0];
          const Tensor& g = c.cotangents[0];
          if (c.get<bool>("adjoint")) return one(-product(product(y, g, false, true), y));
          return one(-product(product(y, g, true), y, false, true));
        },
    .vjp_formula = "dA = −Yᵀ·dY·Yᵀ",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      return {a.matrices * (2 * n * n * n), cost::traffic(c)};
    },
    .doc = std::string("The inverse of square matrices, by LU with partial pivoting.\n\ninput: (…, n, n), ") +
           numbers_doc +
           "; adjoint: the inverse of the transposed matrix, of complex numbers conjugated.\n"
           "Returns: dtype and shape of input. Gradient: Giles 2008, 2.2.3.\n"
           "Errors: InvalidArgumentError for other shapes, and for a matrix with a pivot of 0, saying which; "
           "TypeMismatchError for another dtype.",
    .takes_others = true,
    .complex_vjp = true,
};
Tensor matrix_inverse(const Tensor& input, bool adjoint) {
  return run_op1(matrix_inverse_op, {input}, {adjoint});
}

// ---- matrix_solve ----
TAPEDECK_OP(matrix_solve_op) = {
    .name = "matrix_solve",
    .python_names = {"matrix_solve", "linalg.solve"},
    .inputs = {{.name = "matrix"}, {.name = "rhs"}},
    .attributes = {{.name = "adjoint", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule = solve_shape,
    .forward =
        [](const OpContext& c) {
          const bool adjoint = c.get<bool>("adjoint");
          return solve_forward(c,
                               [=](const auto& of, const void* a, const void* b, void* x, const auto& text) {
                                 return backend().solve(of, adjoint, a, b, x, text);
                               });
        },
    .vjp =
        [](const VjpContext& c) {
          const bool adjoint = c.get<bool>("adjoint");
          const Tensor rhs_gradient = matrix_solve(c.inputs[0], c.cotangents[0], !adjoint);
          return solve_gradients(c, rhs_gradient, adjoint, [](const Tensor& g) { return g; });
        },
    .vjp_formula = "with A matrix, B rhs: dB = A⁻ᵀ·dX, dA = −dB·Xᵀ",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows, right = cost::stack(c.inputs[1]).columns;
      return {a.matrices * (2 * n * n * n / 3 + 2 * n * n * right), cost::traffic(c)};
    },
    .doc =
        std::string("Solves systems of equations: A·X = B, by LU with partial pivoting.\n\nmatrix: A, (…, n, "
                    "n); rhs: B, (…, n, m); ") +
        numbers_doc +
        ", both of one dtype; leading axes broadcast; adjoint: Aᴴ·X = B.\n"
        "Returns: X, the dtype of both, (…, n, m). Gradient: Giles 2008, 2.3.1.\n"
        "Errors: InvalidArgumentError for shapes that do not fit, and for a matrix with a pivot of 0, saying "
        "which; TypeMismatchError for other or different dtypes.",
    .takes_others = true,
    .complex_vjp = true,
};
Tensor matrix_solve(const Tensor& matrix, const Tensor& rhs, bool adjoint) {
  return run_op1(matrix_solve_op, {matrix, rhs}, {adjoint});
}

// ---- matrix_triangular_solve ----
TAPEDECK_OP(matrix_triangular_solve_op) = {
    .name = "matrix_triangular_solve",
    .python_names = {"matrix_triangular_solve", "linalg.triangular_solve"},
    .inputs = {{.name = "matrix"}, {.name = "rhs"}},
    .attributes = {{.name = "lower", .kind = AttributeKind::boolean, .fallback = true},
                   {.name = "adjoint", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule = solve_shape,
    .forward =
        [](const OpContext& c) {
          const bool lower = c.get<bool>("lower");
          const bool adjoint = c.get<bool>("adjoint");
          return solve_forward(c,
                               [=](const auto& of, const void* a, const void* b, void* x, const auto& text) {
                                 return backend().triangular_solve(of, lower, adjoint, a, b, x, text);
                               });
        },
    .vjp =
        [](const VjpContext& c) {
          const bool lower = c.get<bool>("lower");
          const bool adjoint = c.get<bool>("adjoint");
          const Tensor rhs_gradient = matrix_triangular_solve(c.inputs[0], c.cotangents[0], lower, !adjoint);
          return solve_gradients(c, rhs_gradient, adjoint, [=](const Tensor& g) {
            return lower ? matrix_band_part(g, -1, 0) : matrix_band_part(g, 0, -1);
          });
        },
    .vjp_formula = "with A matrix, B rhs: dB = A⁻ᵀ·dX, dA = −(the triangle of dB·Xᵀ)",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      return {a.matrices * a.rows * a.rows * cost::stack(c.inputs[1]).columns, cost::traffic(c)};
    },
    .doc =
        std::string("Solves systems of equations with triangular matrices: A·X = B.\n\nmatrix: A, (…, n, n), "
                    "of which only one triangle is read; rhs: B, (…, n, m); ") +
        numbers_doc +
        ", both of one dtype; leading axes broadcast; lower: which triangle; adjoint: Aᴴ·X = B.\n"
        "Returns: X, the dtype of both, (…, n, m). Gradient: Giles 2008, 2.3.1.\n"
        "Errors: InvalidArgumentError for shapes that do not fit, and for a matrix with a 0 on its diagonal, "
        "saying which; TypeMismatchError for other or different dtypes.",
    .takes_others = true,
    .complex_vjp = true,
};
Tensor matrix_triangular_solve(const Tensor& matrix, const Tensor& rhs, bool lower, bool adjoint) {
  return run_op1(matrix_triangular_solve_op, {matrix, rhs}, {lower, adjoint});
}

// ---- pinv ----
TAPEDECK_OP(pinv_op) = {
    .name = "pinv",
    .python_names = {"linalg.pinv"},
    .inputs = {{.name = "a"}},
    .attributes = {{.name = "rcond", .kind = AttributeKind::real, .fallback = std::monostate{}},
                   {.name = "validate_args", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule =
        [](const OpContext& c) {
          const MatrixShape shape = inexact_matrix_shape(c, 0);
          return spec(c.inputs[0].dtype(), joined(shape.batch, {shape.columns, shape.rows}));
        },
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = matrix_shape(c, 0);
          const Tensor a = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          const double epsilon = real_dtype(out.dtype()) == DType::float32
                                     ? std::numeric_limits<float>::epsilon()
                                     : std::numeric_limits<double>::epsilon();
          const double rcond = c.is_none("rcond")
                                   ? 10.0 * static_cast<double>(std::max(shape.rows, shape.columns)) * epsilon
                                   : real_of(c.attribute("rcond"));
          backend().pseudo_inverse(matrices(a, shape), rcond, a.raw(), out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp =
        [](const VjpContext& c) {
          const Tensor& a = c.inputs[0];
          const Tensor& p = c.outputs[0];
          const Tensor& g = c.cotangents[0];
          const Tensor first = product(product(p, g, true), p, false, true);
          // (I − A·P)·dPᵀ·P·Pᵀ and Pᵀ·P·dPᵀ·(I − P·A), multiplied out.
          const Tensor left = product(product(g, p, true), p, false, true);
          const Tensor right = product(product(p, p, true), g, false, true);
          return one((left - matmul(a, matmul(p, left))) + (right - matmul(matmul(right, p), a)) - first);
        },
    .vjp_formula = "dA = −Pᵀ·dP·Pᵀ + (I − A·P)·dPᵀ·P·Pᵀ + Pᵀ·P·dPᵀ·(I − P·A)",
    .cost = [](const CostContext& c) -> OpCost {
      // The reduced singular value decomposition, and V·(S⁺·Uᵀ).
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double m = std::max(a.rows, a.columns), n = std::min(a.rows, a.columns);
      return {a.matrices * (14 * m * n * n + 8 * n * n * n + m * n + 2 * m * n * n), cost::traffic(c)};
    },
    .doc =
        std::string("Moore and Penrose's inverse of matrices, by the singular value decomposition.\n\na: (…, "
                    "m, n), ") +
        numbers_doc +
        "; rcond: singular values up to rcond times the largest count as 0; None for 10·max(m, n)·ε; "
        "validate_args "
        "changes nothing: arguments are always checked.\n"
        "Returns: the dtype of a, (…, n, m). Gradient: Golub and Pereyra 1973, SIAM J. Numer. Anal. 10(2), "
        "(4.12), where the rank does not change.\n"
        "Errors: InvalidArgumentError for fewer than 2 axes; TypeMismatchError for another dtype.",
    .takes_others = true,
    .complex_vjp = true,
};

}  // namespace tapedeck::ops
