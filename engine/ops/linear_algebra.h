// The ops of diagonals.cpp, matrix_shapes.cpp, einsum.cpp, inverses.cpp, determinants.cpp, decompositions.cpp
// and matrix_functions.cpp as C++ functions, as in ops.h. Matrices are the last two axes; all axes before
// them form the batch.
#pragma once

#include "engine/ops/ops.h"

namespace tapedeck::ops {

// ---- diagonals.cpp ----
/// Which diagonals: `k` one or (lowest, highest); shorter ones are aligned as TensorFlow's `align` says.
struct Diagonals {
  Integers k = {0};
  std::string align = "RIGHT_LEFT";
};
Tensor matrix_diag(const Tensor& diagonal, const Diagonals& diagonals = {}, std::int64_t num_rows = -1,
                   std::int64_t num_cols = -1, double padding_value = 0.0);
Tensor matrix_diag_part(const Tensor& input, const Diagonals& diagonals = {}, double padding_value = 0.0);
Tensor matrix_set_diag(const Tensor& input, const Tensor& diagonal, const Diagonals& diagonals = {});

// ---- matrix_shapes.cpp ----
/// Negative: all of that side.
Tensor matrix_band_part(const Tensor& input, std::int64_t num_lower, std::int64_t num_upper);
Tensor trace(const Tensor& x);
/// The last two axes swapped.
Tensor matrix_transpose(const Tensor& a);

// ---- einsum.cpp ----
Tensor einsum(const std::string& equation, std::span<const Tensor> inputs);

// ---- inverses.cpp ----
Tensor matrix_inverse(const Tensor& input, bool adjoint = false);
Tensor matrix_solve(const Tensor& matrix, const Tensor& rhs, bool adjoint = false);
Tensor matrix_triangular_solve(const Tensor& matrix, const Tensor& rhs, bool lower = true,
                               bool adjoint = false);
Tensor pinv(const Tensor& a, std::optional<double> rcond = std::nullopt);

// ---- determinants.cpp ----
Tensor matrix_determinant(const Tensor& input);
/// (sign, ln |det|)
std::pair<Tensor, Tensor> slogdet(const Tensor& input);
/// Gradients of determinants: what multiplies their cotangents, and its derivative in a direction.
Tensor matrix_cofactor(const Tensor& input);
Tensor matrix_cofactor_derivative(const Tensor& input, const Tensor& direction);

// ---- decompositions.cpp ----
Tensor cholesky(const Tensor& input);
/// (q, r)
std::pair<Tensor, Tensor> qr(const Tensor& input, bool full_matrices = false);
/// s, u, v; s alone without compute_uv.
Tensors svd(const Tensor& tensor, bool full_matrices = false, bool compute_uv = true);
/// (eigenvalues, eigenvectors)
std::pair<Tensor, Tensor> self_adjoint_eig(const Tensor& tensor);
Tensor self_adjoint_eigvals(const Tensor& tensor);

// ---- lu.cpp ----
/// (lu, p)
std::pair<Tensor, Tensor> lu(const Tensor& input, DType output_idx_type = DType::int32);

// ---- matrix_functions.cpp ----
Tensor matrix_square_root(const Tensor& input);
Tensor matrix_exponential(const Tensor& input);
Tensor matrix_logarithm(const Tensor& input);

}  // namespace tapedeck::ops
