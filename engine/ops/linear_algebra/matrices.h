// Shared by the ops on batches of matrices.
#pragma once

#include "engine/backend/backend.h"
#include "engine/ops/core/checks.h"
#include "engine/ops/elementwise/complex.h"
#include "engine/ops/linear_algebra/linear_algebra.h"

namespace tapedeck::ops {

/// For docstrings.
inline constexpr const char* numbers_doc = "any floating or complex dtype";

/// The extents of one matrix and of the batch axes.
struct MatrixShape {
  Shape batch;
  std::int64_t rows, columns;
  std::int64_t count() const { return element_count(batch); }
  std::int64_t size() const { return rows * columns; }
};

/// Throws InvalidArgumentError for fewer than 2 axes.
inline MatrixShape matrix_shape(const OpContext& c, std::size_t input) {
  const Shape& shape = c.inputs[input].shape();
  const int rank = shape.rank();
  if (rank < 2)
    fail<InvalidArgumentError>(c.op.name, ": ", input_name(c, input), " has shape ", to_string(shape),
                               "; a matrix needs at least 2 axes");
  return {Shape(shape.span().first(static_cast<std::size_t>(rank - 2))), shape[rank - 2], shape[rank - 1]};
}
/// The same, and TypeMismatchError for a dtype that is neither floating nor complex.
inline MatrixShape inexact_matrix_shape(const OpContext& c, std::size_t input) {
  require_kind(c, input, Kind::inexact);
  return matrix_shape(c, input);
}
/// The same, and InvalidArgumentError if the matrices are not square.
inline MatrixShape square_shape(const OpContext& c, std::size_t input) {
  const MatrixShape shape = inexact_matrix_shape(c, input);
  if (shape.rows != shape.columns)
    fail<InvalidArgumentError>(c.op.name, ": ", input_name(c, input), " has shape ",
                               to_string(c.inputs[input].shape()), "; needs square matrices");
  return shape;
}
/// The shape rule of ops that map square matrices to matrices of the same size.
inline TensorSpecs like_square(const OpContext& c) {
  square_shape(c, 0);
  return like_first(c);
}

inline Shape joined(Shape batch, std::initializer_list<std::int64_t> extents) {
  for (const std::int64_t extent : extents) batch.push_back(extent);
  return batch;
}

/// "input[1, 0]" for a matrix in a batch, "input" for a single one.
inline std::string matrix_name(const OpContext& c, std::size_t input, const Shape& batch,
                               std::int64_t number) {
  return input_name(c, input) + place_in_batch(batch, number);
}
/// The error pattern for a matrix of the first input.
inline kernels::FailureText failure_text(const OpContext& c, const Shape& batch, const char* pattern) {
  return {pattern, c.op.name, c.op.inputs[0].name, batch};
}
inline void refuse(const std::optional<kernels::MatrixFailure>& failure, const kernels::FailureText& text) {
  if (failure) throw InvalidArgumentError(failure_message(text, *failure));
}

/// The conjugate transpose; of real numbers the transpose.
inline Tensor adjoint(const Tensor& a) {
  return conj(matrix_transpose(a));
}
/// op(a)·op(b), with an operand's adjoint if its flag is set.
inline Tensor product(const Tensor& a, const Tensor& b, bool adjoint_a = false, bool adjoint_b = false) {
  return matmul(adjoint_a ? conj(a) : a, adjoint_b ? conj(b) : b, adjoint_a, adjoint_b);
}
/// Real numbers in the dtype of `other`, complex if that is.
inline Tensor beside(const Tensor& real, const Tensor& other) {
  return real.dtype() == other.dtype() ? real : cast(real, other.dtype());
}
/// The real parts, in the dtype of `a`.
inline Tensor without_imaginary(const Tensor& a) {
  return is_complex(a.dtype()) ? cast(real(a), a.dtype()) : a;
}

/// Calls `f(T{})` with the C++ type of float32 or float64.
template <class F>
void visit_real(DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(float{});
  else
    f(double{});
}

inline kernels::Matrices matrices(const Tensor& a, const MatrixShape& shape) {
  return {a.dtype(), shape.count(), shape.rows, shape.columns};
}

/// Vectors as matrices: (…, n) as (…, n, 1) or (…, 1, n).
inline Tensor as_column(const Tensor& vector) {
  return expand_dims(vector, -1);
}
inline Tensor as_row(const Tensor& vector) {
  return expand_dims(vector, -2);
}
/// A number per matrix, shaped for multiplication with matrices.
inline Tensor per_matrix(const Tensor& number) {
  return expand_dims(expand_dims(number, -1), -1);
}
/// The lower triangle with half of the diagonal.
inline Tensor lower_with_half_diagonal(const Tensor& matrix) {
  return matrix_band_part(matrix, -1, 0) - matrix_band_part(matrix, 0, 0) * 0.5;
}
/// 1 / x, and 0 where x is 0.
inline Tensor safe_reciprocal(const Tensor& x) {
  const Tensor is_zero = equal(x, number(0.0, x.dtype()));
  return where(is_zero, zeros_like(x), reciprocal(where(is_zero, ones_like(x), x)));
}
/// `a + b`; either may be undefined.
inline Tensor sum_of(const Tensor& a, const Tensor& b) {
  if (!a) return b;
  return b ? a + b : a;
}
/// Columns [begin, begin + count) of matrices.
inline Tensor columns_of(const Tensor& matrix, std::int64_t begin, std::int64_t count) {
  Integers begins(static_cast<std::size_t>(matrix.rank()), 0);
  Integers sizes(static_cast<std::size_t>(matrix.rank()), -1);
  begins.back() = begin;
  sizes.back() = count;
  return slice(matrix, begins, sizes);
}

/// 1 / (xⱼ − xᵢ), and 0 where they are equal.
inline Tensor reciprocal_differences(const Tensor& x) {
  return safe_reciprocal(as_row(x) - as_column(x));
}
/// vᴴ·dv of each column.
inline Tensor along_columns(const Tensor& v, const Tensor& dv) {
  return reduce_sum(conj(v) * dv, Integers{-2}, true);
}

// ---- eigen.cpp ----
/// A complex eigenvector is unique up to a phase, v·e^(iφ). The forward functions choose φ so that one
/// element is positive (leading_share). This removes from the cotangent dv, which may be undefined, the
/// component along the phase, so that the rest does not depend on φ. `along`: the sum of vᴴ·dv over the
/// vectors that share a phase.
Tensor without_turn(const Tensor& v, const Tensor& dv, const Tensor& along);

}  // namespace tapedeck::ops
