// The LU decomposition of matrices.
#include "engine/ops/core/cost.h"
#include "engine/ops/linear_algebra/matrices.h"

namespace tapedeck::ops {
namespace {

TensorSpecs lu_shape(const OpContext& c) {
  const MatrixShape shape = square_shape(c, 0);
  const DType index = index_dtype_of<TypeMismatchError>(c, "output_idx_type");
  TensorSpecs specs = like_first(c);
  specs.push_back({index, joined(shape.batch, {shape.rows})});
  return specs;
}

Tensors lu_forward(const OpContext& c) {
  const MatrixShape shape = square_shape(c, 0);
  const Tensor input = contiguous(c.inputs[0]);
  Tensors outputs = one(allocate_output(c));
  outputs.push_back(allocate_output(c, 1));
  const kernels::FailureText text = failure_text(c, shape.batch, "{o}: {i}{m} is singular: pivot {p} is 0");
  refuse(backend().lu(matrices(input, shape), input.raw(), outputs[0].writable_data<std::byte>(),
                      outputs[1].dtype(), outputs[1].writable_data<std::byte>(), text),
         text);
  return outputs;
}

/// A[p] = L·U: d(A[p]) = L⁻ᵀ·(tril(Lᵀ·dL, −1) + triu(dU·Uᵀ))·U⁻ᵀ.
Tensors lu_vjp(const VjpContext& c) {
  const Tensor& a = c.inputs[0];
  if (a.count() == 0) return zero_gradient(c);
  const Tensor& packed = c.outputs[0];
  const Tensor unit = broadcast_to(eye(a.dim(a.rank() - 1), std::nullopt, a.dtype()), a.shape());
  const auto strictly_lower = [](const Tensor& x) {
    return matrix_band_part(x, -1, 0) - matrix_band_part(x, 0, 0);
  };
  const Tensor l = strictly_lower(packed) + unit;
  const Tensor u = matrix_band_part(packed, 0, -1);
  const Tensor& d = c.cotangents[0];
  const Tensor middle = strictly_lower(product(l, strictly_lower(d), true)) +
                        matrix_band_part(product(matrix_band_part(d, 0, -1), u, false, true), 0, -1);
  const Tensor left = matrix_triangular_solve(l, middle, true, true);
  const Tensor both = adjoint(matrix_triangular_solve(u, adjoint(left), false, false));
  return one(gather(both, argsort(c.outputs[1]), a.rank() - 2, a.rank() - 2));
}

}  // namespace

TAPEDECK_OP(lu_op) = {
    .name = "lu",
    .python_names = {"linalg.lu"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "output_idx_type", .kind = AttributeKind::dtype, .fallback = DType::int32}},
    .shape_rule = lu_shape,
    .forward = lu_forward,
    .vjp_reads = VjpReads::outputs,
    .vjp = lu_vjp,
    .vjp_formula = "dA[p] = L⁻ᵀ·(tril(Lᵀ·dL, −1) + triu(dU·Uᵀ))·U⁻ᵀ",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      return {a.matrices * (2 * n * n * n / 3), cost::traffic(c)};
    },
    .doc =
        "The LU decomposition of matrices with exchanges of rows: A[p] = L·U.\n\n"
        "input: A, (…, n, n), any floating or complex dtype; output_idx_type: int32 or int64, the dtype of "
        "p.\n"
        "Returns: (lu, p): in the shape of input U and, below its diagonal, L without its own, which is 1; "
        "and "
        "(…, n), the order of the rows of A. Gradient: de Hoog, Anderssen, Lukas 2011, \"Differentiation of "
        "matrix functionals using triangular factorization\", Mathematics of Computation 80.\n"
        "Errors: InvalidArgumentError for other shapes, and for a singular matrix, saying which; "
        "TypeMismatchError for other dtypes.",
    .takes_others = true,
    .complex_vjp = true,
    .results = {.fields = {"lu", "p"}, .tuple_name = "Lu"},
};

}  // namespace tapedeck::ops
