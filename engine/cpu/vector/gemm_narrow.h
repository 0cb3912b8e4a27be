// Panels of the right operand, and products with those of few columns. Included by vector/gemm.cpp only.
#pragma once

#include "engine/cpu/vector/gemm_tile.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// Columns that would fill only a small part of a vector: each is computed as dot products over contiguous
// runs of k instead, if the rows of the left operand are not packed.
constexpr int narrow = 4;                  ///< columns of a narrow panel
constexpr std::int64_t narrow_depth = 64;  ///< below it, runs of k are too short
constexpr int narrow_rows = register_bytes == 64 ? 6 : 2;
template <class T>
constexpr bool has_narrow_panels = lanes<T> >= 8;

/// A panel of the right operand: `vectors` of columns, row by row, or a narrow one, column by column.
struct Panel {
  std::int64_t columns;
  int vectors;  ///< 0: narrow

  template <class T>
  std::int64_t padded() const {
    return vectors == 0 ? narrow : vectors * lanes<T>;
  }
};

/// The next panel of `left` columns: three vectors, but two if the last panel would otherwise have one, which
/// would stall on its loads.
template <class T>
Panel next_panel(std::int64_t left, bool plain_left, std::int64_t k) {
  const std::int64_t most_narrow = plain_left && k >= narrow_depth && has_narrow_panels<T> ? lanes<T> / 2 : 0;
  if (left <= most_narrow) return {std::min<std::int64_t>(left, narrow), 0};
  const std::int64_t rest = left % lanes<T>;
  const std::int64_t vectors = left / lanes<T> + (rest > most_narrow ? 1 : 0);
  const std::int64_t taken = vectors == 4 ? 2 : std::min<std::int64_t>(vectors, tile_vectors);
  return {std::min(left, taken * lanes<T>), static_cast<int>(taken)};
}

/// The sums of four vectors' lanes.
template <class T>
TAPEDECK_INLINE void add_lanes(const typename Register<T>::type (&sums)[narrow], T* out) {
  constexpr int width = Register<T>::lanes;
  typedef T Quad __attribute__((vector_size(4 * sizeof(T))));
  Quad quads[narrow];
  for (int j = 0; j < narrow; ++j) {
    Quad parts[width / 4];
    std::memcpy(parts, &sums[j], sizeof parts);
    quads[j] = parts[0];
    for (int i = 1; i < width / 4; ++i) quads[j] += parts[i];
  }
  const Quad low = __builtin_shufflevector(quads[0], quads[1], 0, 4, 2, 6) +
                   __builtin_shufflevector(quads[0], quads[1], 1, 5, 3, 7);
  const Quad high = __builtin_shufflevector(quads[2], quads[3], 0, 4, 2, 6) +
                    __builtin_shufflevector(quads[2], quads[3], 1, 5, 3, 7);
  const Quad all =
      __builtin_shufflevector(low, high, 0, 1, 4, 5) + __builtin_shufflevector(low, high, 2, 3, 6, 7);
  std::memcpy(out, &all, sizeof all);
}

/// R rows under a narrow panel.
template <class T, int R>
TAPEDECK_INLINE void narrow_tile(std::int64_t k, const Left<T, LeftForm::rows>& a, const T* b,
                                 const GemmTarget<T>& c, std::int64_t columns) {
  using Vector = typename Register<T>::type;
  constexpr int width = Register<T>::lanes;
  Vector sums[R][narrow];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < narrow; ++j) sums[i][j] = Vector{};
  std::int64_t p = 0;
  for (; p + width <= k; p += width) {
    Vector right[narrow];
#pragma GCC unroll 4
    for (int j = 0; j < narrow; ++j) std::memcpy(&right[j], b + j * k + p, sizeof(Vector));
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      Vector left;
      std::memcpy(&left, a.values + i * a.row + p, sizeof left);
#pragma GCC unroll 4
      for (int j = 0; j < narrow; ++j) sums[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < R; ++i) {
    T totals[narrow];
    add_lanes<T>(sums[i], totals);
    for (std::int64_t q = p; q < k; ++q)
      for (int j = 0; j < narrow; ++j) totals[j] += a.values[i * a.row + q] * b[j * k + q];
    for (std::int64_t j = 0; j < columns; ++j) {
      T& to = c.values[i * c.row + j];
      to = c.add ? to + totals[j] : totals[j];
    }
  }
}

/// All rows under a narrow panel.
template <class T>
void narrow_column(std::int64_t m, std::int64_t k, const Left<T, LeftForm::rows>& a, const T* b,
                   const GemmTarget<T>& c, std::int64_t columns) {
  std::int64_t i = 0;
  for (; i + narrow_rows <= m; i += narrow_rows)
    narrow_tile<T, narrow_rows>(k, {a.values + i * a.row, a.row}, b, {c.values + i * c.row, c.row, c.add},
                                columns);
  for (; i < m; ++i)
    narrow_tile<T, 1>(k, {a.values + i * a.row, a.row}, b, {c.values + i * c.row, c.row, c.add}, columns);
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
