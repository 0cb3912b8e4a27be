// Conversions between row-major tensors and the column-major matrices of cuBLAS and cuSOLVER, for which a
// row-major matrix is its transpose.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {

/// Calls `f(T{})` with the C++ type of float32 or float64.
template <class F>
void visit_real(DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(float{});
  else
    f(double{});
}
inline std::size_t bytes_of(std::int64_t count, std::size_t size) {
  return static_cast<std::size_t>(count) * size;
}
void copy_within(const void* from, void* to, std::size_t bytes);

/// `count` matrices, `step` values apart, whose rows are `stride` values apart.
template <class T>
struct Layout {
  T* values;
  std::int64_t stride, step;
};

/// to = fromᵀ for each of `count` matrices rows × columns. If not nullptr: `divisors`, one per matrix, where
/// NaN gives zeros; `factors`, one per row of from.
template <class T>
void copy_transposed(std::int64_t count, std::int64_t rows, std::int64_t columns, Layout<const T> from,
                     Layout<T> to, const T* divisors = nullptr, const T* factors = nullptr);

/// The largest magnitude in each matrix of `size` values, 1 if all are 0; NaN if one is not finite. `lower`:
/// considers only the lower triangle, of matrices with `columns` columns.
template <class T>
void find_scales(std::int64_t count, std::int64_t size, std::int64_t columns, bool lower, const T* values,
                 T* scales);
/// to = from / scale, or 0 if the scale is NaN.
template <class T>
void divide_by_scales(std::int64_t count, std::int64_t size, const T* from, const T* scales, T* to);
/// values·scale, in place.
template <class T>
void multiply_by_scales(std::int64_t count, std::int64_t size, const T* scales, T* values);
/// Sets the values of matrices whose scale is NaN to NaN.
template <class T>
void set_nan_by_scales(std::int64_t count, std::int64_t size, const T* scales, T* values);

/// Vectors of matrices: element i of vector w lies at w·vector + i·element.
template <class T>
struct Vectors {
  const T* values;
  std::int64_t count;  ///< in each matrix
  std::int64_t length;
  std::int64_t vector, element, step;
};
/// 1 or −1, by kernels::leading_share; NaN if the matrix's scale is. For vectors from number `first` on;
/// `signs` has room for `row` signs per matrix.
template <class T>
void find_signs(std::int64_t count, const Vectors<T>& of, std::int64_t first, const T* scales,
                std::int64_t row, T* signs);
/// Row-major matrices: column j times factors[j], of `row` for each matrix, in place.
template <class T>
void multiply_columns(std::int64_t count, std::int64_t rows, std::int64_t columns, const T* factors,
                      std::int64_t row, T* values);
/// Identity matrices rows × columns.
template <class T>
void set_identity(std::int64_t count, std::int64_t rows, std::int64_t columns, T* values);

}  // namespace tapedeck::cuda
