// Eigenvalues and eigenvectors, and the fixed phase of complex vectors.
#include "engine/ops/core/cost.h"
#include "engine/ops/linear_algebra/matrices.h"

namespace tapedeck::ops {

Tensor without_turn(const Tensor& v, const Tensor& dv, const Tensor& along) {
  const std::int64_t rows = v.dim(v.rank() - 2);
  const Tensor sizes = abs(stop_gradient(v));
  const Tensor reached = greater_equal(sizes, reduce_max(sizes, Integers{-2}, true) * kernels::leading_share);
  // The first one: the highest number, counted from below.
  const Tensor numbers =
      reshape(cast(range(static_cast<double>(rows), 0.0, -1.0, DType::float64), sizes.dtype()), {rows, 1});
  const Tensor place = where(reached, numbers, zeros_like(sizes));
  const Tensor leads = cast(equal(place, reduce_max(place, Integers{-2}, true)), sizes.dtype());
  const Tensor turn = leads * (imag(along) / reduce_sum(leads * real(v), Integers{-2}, true));
  const Tensor moved = complex(zeros_like(turn), turn);
  return dv ? dv - moved : -moved;
}

// ---- self_adjoint_eig ----
namespace {

Tensors eigen_forward(const OpContext& c) {
  const MatrixShape shape = square_shape(c, 0);
  const Tensor input = contiguous(c.inputs[0]);
  Tensors outputs;
  for (std::size_t i = 0; i < c.outputs.size(); ++i) outputs.push_back(allocate_output(c, i));
  const kernels::FailureText text =
      failure_text(c, shape.batch, "{o}: the eigenvalues of {i}{m} did not converge");
  refuse(
      backend().symmetric_eigen(matrices(input, shape), input.raw(), outputs[0].writable_data<std::byte>(),
                                outputs.size() > 1 ? outputs[1].writable_data<std::byte>() : nullptr, text),
      text);
  return outputs;
}

/// Only the lower triangle is read, so both sides of the diagonal add up there.
Tensor eigen_gradient(const Tensor& e, const Tensor& v, const Tensor& de, Tensor dv) {
  if (v.count() == 0) return v;
  Tensor middle;
  if (dv && is_complex(v.dtype())) dv = without_turn(v, dv, along_columns(v, dv));
  if (dv) middle = reciprocal_differences(e) * product(v, dv, true);
  if (de) middle = sum_of(middle, matrix_diag(without_imaginary(de)));
  const Tensor full = product(matmul(v, middle), v, false, true);
  return lower_with_half_diagonal(full + adjoint(full));
}

constexpr const char* eigen_doc =
    "tensor: A, (…, n, n), any floating or complex dtype, symmetric, of complex numbers Hermitian; only the "
    "lower triangle is read.\n";
constexpr const char* eigen_rest =
    "A matrix that holds NaN or ∞ gives NaN. Gradient: Giles 2008, 3.1, in the lower triangle; equal "
    "eigenvalues "
    "contribute 0.\n"
    "Errors: InvalidArgumentError for other shapes, or where the iteration does not converge, saying for "
    "which "
    "matrix; TypeMismatchError for another dtype.";

}  // namespace

TAPEDECK_OP(self_adjoint_eig_op) = {
    .name = "self_adjoint_eig",
    .python_names = {"self_adjoint_eig", "linalg.eigh"},
    .inputs = {{.name = "tensor"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          const MatrixShape shape = square_shape(c, 0);
          TensorSpecs specs = spec(c.inputs[0].dtype(), joined(shape.batch, {shape.rows}));
          specs.push_back({c.inputs[0].dtype(), c.inputs[0].shape()});
          return specs;
        },
    .forward = eigen_forward,
    .vjp_reads = VjpReads::outputs,
    .vjp =
        [](const VjpContext& c) {
          return one(eigen_gradient(c.outputs[0], c.outputs[1], c.cotangents[0], c.cotangents[1]));
        },
    .vjp_formula = "dA = V·(diag(de) + F∘(Vᵀ·dV))·Vᵀ, Fᵢⱼ = 1 / (eⱼ − eᵢ)",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      return {a.matrices * (9 * n * n * n), cost::traffic(c)};
    },
    .doc = std::string("Eigenvalues and eigenvectors of symmetric matrices: A = V·diag(e)·Vᵀ.\n\n") +
           eigen_doc +
           "Returns: (e, v), the dtype of tensor, (…, n) ascending and (…, n, n), v[:, i] belonging to e[i]; "
           "its first element that is not small beside its largest is positive. " +
           eigen_rest,
    .takes_others = true,
    .complex_vjp = true,
    .results = {.fields = {"e", "v"}},
};
static std::pair<Tensor, Tensor> self_adjoint_eig(const Tensor& tensor) {
  return run_op2(self_adjoint_eig_op, tensor);
}

TAPEDECK_OP(self_adjoint_eigvals_op) = {
    .name = "self_adjoint_eigvals",
    .python_names = {"self_adjoint_eigvals", "linalg.eigvalsh"},
    .inputs = {{.name = "tensor"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          const MatrixShape shape = square_shape(c, 0);
          return spec(c.inputs[0].dtype(), joined(shape.batch, {shape.rows}));
        },
    .forward = eigen_forward,
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const auto [e, v] = self_adjoint_eig(c.inputs[0]);
          return one(eigen_gradient(e, v, c.cotangents[0], {}));
        },
    .vjp_formula = "dA = V·diag(dz)·Vᵀ, V: the eigenvectors of A",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      return {a.matrices * (4 * n * n * n / 3), cost::traffic(c)};
    },
    .doc = std::string("Eigenvalues of symmetric matrices.\n\n") + eigen_doc +
           "Returns: the dtype of tensor, (…, n), ascending. " + eigen_rest,
    .takes_others = true,
    .complex_vjp = true,
};

// ---- eig ----
namespace {

/// TypeMismatchError for float16 and bfloat16, too: no complex dtype has such parts.
MatrixShape eig_shape(const OpContext& c) {
  const MatrixShape shape = square_shape(c, 0);
  if (is_narrow(c.inputs[0].dtype()))
    fail<TypeMismatchError>(c.op.name, ": tensor is ", dtype_name(c.inputs[0].dtype()),
                            "; needs float32, float64, complex64 or complex128");
  return shape;
}

Tensors eig_forward(const OpContext& c) {
  const MatrixShape shape = eig_shape(c);
  const Tensor input = contiguous(c.inputs[0]);
  Tensors outputs;
  for (std::size_t i = 0; i < c.outputs.size(); ++i) outputs.push_back(allocate_output(c, i));
  refuse(backend().general_eigen(matrices(input, shape), input.raw(), outputs[0].writable_data<std::byte>(),
                                 outputs.size() > 1 ? outputs[1].writable_data<std::byte>() : nullptr),
         failure_text(c, shape.batch, "{o}: the eigenvalues of {i}{m} did not converge"));
  return outputs;
}

DType complex_beside(DType dtype) {
  return is_complex(dtype) ? dtype : complex_dtype(dtype);
}

/// dA = V⁻ᴴ·(diag(de) + conj(F)∘(Vᴴ·dV − VᴴV·diag(Re Vᴴ·dV)))·Vᴴ, the last term because columns keep their
/// length.
Tensor eig_gradient(const Tensor& e, const Tensor& v, const Tensor& de, Tensor dv, DType dtype) {
  if (v.count() == 0) return cast(v, dtype);
  Tensor middle;
  if (dv) {
    dv = without_turn(v, dv, along_columns(v, dv));
    const Tensor turn = product(v, dv, true);
    const Tensor lengths =
        matmul(product(v, v, true), matrix_diag(without_imaginary(matrix_diag_part(turn))));
    middle = conj(reciprocal_differences(e)) * (turn - lengths);
  }
  if (de) middle = sum_of(middle, matrix_diag(de));
  return cast(matrix_solve(v, product(middle, v, false, true), true), dtype);
}

constexpr const char* eig_doc = "tensor: A, (…, n, n), float32, float64, complex64 or complex128.\n";
constexpr const char* eig_rest =
    "A matrix that holds NaN or ∞ gives NaN. Gradient: Boeddeker et al. 2017, arXiv:1701.00392, (4.77), "
    "where V has an "
    "inverse; equal eigenvalues contribute 0.\n"
    "Errors: InvalidArgumentError for other shapes, or where the iteration does not converge, saying for "
    "which "
    "matrix; TypeMismatchError for another dtype.";

}  // namespace

TAPEDECK_OP(eig_op) = {
    .name = "eig",
    .python_names = {"linalg.eig", "eig"},
    .inputs = {{.name = "tensor"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          const MatrixShape shape = eig_shape(c);
          const DType dtype = complex_beside(c.inputs[0].dtype());
          TensorSpecs specs = spec(dtype, joined(shape.batch, {shape.rows}));
          specs.push_back({dtype, c.inputs[0].shape()});
          return specs;
        },
    .forward = eig_forward,
    .vjp_reads = VjpReads::outputs,
    .vjp =
        [](const VjpContext& c) {
          return one(eig_gradient(c.outputs[0], c.outputs[1], c.cotangents[0], c.cotangents[1],
                                  c.inputs[0].dtype()));
        },
    .vjp_formula =
        "dA = V⁻ᴴ·(diag(de) + conj(F)∘(Vᴴ·dV − Vᴴ·V·D))·Vᴴ, Fᵢⱼ = 1 / (eⱼ − eᵢ), D: the real parts "
        "of the diagonal of Vᴴ·dV",
    .cost = [](const CostContext& c) -> OpCost {
      // Golub and Van Loan, 7.5.6: Schur's form with its vectors; a complex operation counts as four.
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      return {a.matrices * (100 * n * n * n), cost::traffic(c)};
    },
    .doc = std::string("Eigenvalues and eigenvectors of square matrices: A·v = e·v.\n\n") + eig_doc +
           "Returns: (e, v), complex64 or complex128, (…, n) in no order and (…, n, n), v[:, i] belonging to "
           "e[i]; its "
           "length is 1 and its first element that is not small beside its largest is positive. Values of "
           "real matrices "
           "that are not real come in conjugate pairs. " +
           eig_rest,
    .takes_others = true,
    .complex_vjp = true,
    .results = {.fields = {"e", "v"}},
    .gpu_kernel = false,
};

TAPEDECK_OP(eigvals_op) = {
    .name = "eigvals",
    .python_names = {"linalg.eigvals", "eigvals"},
    .inputs = {{.name = "tensor"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          const MatrixShape shape = eig_shape(c);
          return spec(complex_beside(c.inputs[0].dtype()), joined(shape.batch, {shape.rows}));
        },
    .forward = eig_forward,
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const auto [e, v] = run_op2(eig_op, c.inputs[0]);
          return one(eig_gradient(e, v, c.cotangents[0], {}, c.inputs[0].dtype()));
        },
    .vjp_formula = "dA = V⁻ᴴ·diag(dz)·Vᴴ, V: the eigenvectors of A",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      return {a.matrices * (40 * n * n * n), cost::traffic(c)};
    },
    .doc = std::string("Eigenvalues of square matrices.\n\n") + eig_doc +
           "Returns: complex64 or complex128, (…, n), in no order. " + eig_rest,
    .takes_others = true,
    .complex_vjp = true,
    .gpu_kernel = false,
};

}  // namespace tapedeck::ops
