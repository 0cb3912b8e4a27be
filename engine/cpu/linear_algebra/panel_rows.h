// Vectors of a panel as rows padded with zeros to whole registers, so that the loops of products with a
// vector have no remainder. A position in a row is the index of the matrix's row or column.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cpu/linear_algebra/blocked.h"
#include "engine/cpu/parallel.h"
#include "engine/cpu/products/gemm_parts.h"

namespace tapedeck::cpu {

inline constexpr std::int64_t whole_registers = 16;  ///< values, of every dtype and instruction set

inline std::int64_t filled_up(std::int64_t count) {
  return parts_of(count, whole_registers) * whole_registers;
}
/// The last position at or before `position` where a register begins.
inline std::int64_t register_of(std::int64_t position) {
  return position / whole_registers * whole_registers;
}

/// The power of two at or below the largest element. Matrices are divided by it so that no square overflows
/// or underflows; the division and its inverse are exact.
template <class T>
T scale_of(T largest) {
  if (largest == T(0)) return T(1);
  constexpr int most = std::numeric_limits<T>::max_exponent - 2;  // its reciprocal is no subnormal number
  return std::ldexp(T(1), std::clamp(std::ilogb(largest), -most, most));
}

/// Calls check_stop() before a row or column of a few hundred elements or more, and before every few shorter
/// ones.
inline void check_stop_at(std::int64_t position, std::int64_t elements) {
  if (elements >= 512 || position % 64 == 0) check_stop();
}

/// A matrix whose rows are padded with zeros.
template <class T>
class FilledMatrix {
 public:
  FilledMatrix(std::int64_t rows, std::int64_t columns)
      : columns_(columns), values_(rows, filled_up(columns)) {}
  Block<T> all() { return values_.all().part(0, 0, values_.all().rows, columns_); }

 private:
  std::int64_t columns_;
  Dense<T> values_;
};

template <class T>
class PanelRows {
 public:
  PanelRows(std::int64_t count, std::int64_t length) : rows_(count, filled_up(length)), length_(length) {}

  T* row(std::int64_t i) { return rows_.all().row(i); }
  std::int64_t filled_length() { return rows_.all().columns; }
  /// Of all rows, from a position on.
  Block<T> from(std::int64_t position) {
    return rows_.all().part(0, position, rows_.all().rows, length_ - position);
  }

  /// Products of the first `count` rows with x, which is 0 in the first register up to its first element.
  void dots(std::int64_t count, std::int64_t first_register, const T* x, T* out) {
    const std::int64_t length = filled_length();
    gemm_loops<T>().rows_times_vector(count, length - first_register, row(0) + first_register, length,
                                      x + first_register, out);
  }
  /// out = Σ weights[i]·row(i) of the first `count` rows, from a register on.
  void sum(std::int64_t count, std::int64_t first_register, const T* weights, T* out) {
    const std::int64_t length = filled_length();
    gemm_loops<T>().vector_times_rows(count, length - first_register, row(0) + first_register, length,
                                      weights, out + first_register);
  }

 private:
  Dense<T> rows_;
  std::int64_t length_;
};

}  // namespace tapedeck::cpu
