// Ops of diagonals.cpp, matrix_shapes.cpp and inverses.cpp as C++ functions, as in ops.h. Matrices are the
// last two axes; all axes before them form the batch.
#pragma once

#include "engine/ops/core/ops.h"

namespace tapedeck::ops {

// ---- diagonals.cpp ----
/// Selects diagonals: `k` one or (lowest, highest); shorter ones are aligned as in TensorFlow's `align`.
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

// ---- inverses.cpp ----
Tensor matrix_inverse(const Tensor& input, bool adjoint = false);
Tensor matrix_solve(const Tensor& matrix, const Tensor& rhs, bool adjoint = false);
Tensor matrix_triangular_solve(const Tensor& matrix, const Tensor& rhs, bool lower = true,
                               bool adjoint = false);

}  // namespace tapedeck::ops
