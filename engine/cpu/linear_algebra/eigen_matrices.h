// Eigen's view of contiguous row-major matrices. Only for decompositions and matrix functions: Eigen is slow
// to compile.
#pragma once

#define EIGEN_NO_DEBUG          // a failed assertion would end the session
#define EIGEN_DONT_PARALLELIZE  // work is spread over the engine's threads
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <Eigen/Dense>
#pragma GCC diagnostic pop

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tapedeck::cpu {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Eigen's algorithms work on columns.
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
Eigen::Map<const RowMajor<T>> read(const T* values, std::int64_t rows, std::int64_t columns) {
  return {values, rows, columns};
}
template <class T>
Eigen::Map<RowMajor<T>> write(T* values, std::int64_t rows, std::int64_t columns) {
  return {values, rows, columns};
}

template <class T>
void fill_nan(T* values, std::int64_t count) {
  if (values) std::fill_n(values, count, std::numeric_limits<T>::quiet_NaN());
}
template <class T>
bool all_finite(const T* values, std::int64_t count) {
  return std::all_of(values, values + count, [](T x) { return std::isfinite(x); });
}

}  // namespace tapedeck::cpu
