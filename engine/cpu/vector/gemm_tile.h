// Tiles of a matrix product: some rows by some vectors of columns, whose sums stay in registers while the
// operands stream through. Included by vector/gemm.cpp only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/wide.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// With three vectors to a row, the tile, a row of the right operand and one value of the left fill the
// registers: 32 of AVX-512, 16 of the others.
constexpr int tile_rows = register_bytes == 64 ? 8 : 4;
constexpr int tile_vectors = 3;
constexpr int cache_line = 64;
constexpr int steps_per_fetch = 8;

template <class T>
struct Register {
  typedef T type __attribute__((vector_size(register_bytes)));
  static constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));
};
template <class T>
constexpr std::int64_t lanes = Register<T>::lanes;

enum class LeftForm : std::uint8_t {
  rows,     ///< not packed, `row` values apart
  columns,  ///< a transposed operand, not packed: values of one k contiguous, `row` values apart
  groups,   ///< of tile_rows rows, packed by pack_left: values of one k contiguous
};

template <class T, LeftForm form>
struct Left {
  const T* values;
  std::int64_t row;

  TAPEDECK_INLINE T at(int i, std::int64_t p) const {
    if constexpr (form == LeftForm::rows)
      return values[i * row + p];
    else
      return values[p * (form == LeftForm::columns ? row : tile_rows) + i];
  }
  /// The rows from `i` on, of an operand that is `k` deep.
  TAPEDECK_INLINE Left from(std::int64_t i, std::int64_t k) const {
    if constexpr (form == LeftForm::rows)
      return {values + i * row, row};
    else if constexpr (form == LeftForm::columns)
      return {values + i, row};
    else
      return {values + i / tile_rows * tile_rows * k + i % tile_rows, row};
  }
};

/// A packed panel of the right operand; one that is not packed yet has a source, whose rows are `row` values
/// apart.
template <class T>
struct Right {
  T* panel;
  const T* source = nullptr;
  std::int64_t row = 0;
};

/// Prefetches runs of memory into the L2 cache, a few lines at a time, while tiles are computed.
class Stream {
 public:
  Stream() = default;
  /// `bytes` at a time, `step` apart; `runs` of them, over `turns` calls of fetch().
  Stream(const void* from, std::int64_t bytes, std::int64_t step, std::int64_t runs, std::int64_t turns)
      : at_(static_cast<const char*>(from)),
        run_end_(at_ + bytes),
        jump_(step - bytes),
        step_(step),
        left_(bytes > 0 ? runs : 0) {
    const std::int64_t lines = (bytes + cache_line - 1) / cache_line * left_;
    lines_ = static_cast<int>(std::min<std::int64_t>(most_lines, lines / std::max<std::int64_t>(1, turns)));
  }

  /// More at once would stall on memory, together with everything queued after them.
  TAPEDECK_INLINE void fetch() {
    for (int i = 0; i <= lines_ && left_ > 0; ++i) {
      __builtin_prefetch(at_, 0, 2);
      at_ += cache_line;
      if (at_ < run_end_) continue;
      at_ = run_end_ + jump_;
      run_end_ += step_;
      --left_;
    }
  }

 private:
  static constexpr int most_lines = 3;

  const char* at_ = nullptr;
  const char* run_end_ = nullptr;
  std::int64_t jump_ = 0, step_ = 0, left_ = 0;
  int lines_ = 0;  ///< at a time, beside the first
};

/// What the next tiles will read, to be prefetched.
struct Streams {
  Stream left, right;
};

/// Writes or adds R rows of V vectors, of which `columns` belong to the result.
template <class T, int R, int V>
TAPEDECK_INLINE void finish(const typename Register<T>::type (&sums)[R][V], const GemmTarget<T>& c,
                            std::int64_t columns) {
  using Vector = typename Register<T>::type;
  constexpr int width = Register<T>::lanes;
  if (columns == V * width) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 3
      for (int j = 0; j < V; ++j) {
        T* to = c.values + i * c.row + j * width;
        Vector sum = sums[i][j];
        if (c.add) {
          Vector before;
          std::memcpy(&before, to, sizeof before);
          sum += before;
        }
        std::memcpy(to, &sum, sizeof sum);
      }
    return;
  }
  T edge[R][V * width];
  std::memcpy(edge, sums, sizeof edge);
  for (int i = 0; i < R; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      T& to = c.values[i * c.row + j];
      to = c.add ? to + edge[i][j] : edge[i][j];
    }
}

/// c (R rows, `columns` of V vectors) = a·b or c + a·b, over k values of each row of a. `packs`: b is read
/// from its source, and packed for the rows that follow.
template <class T, int R, int V, LeftForm form, bool packs>
TAPEDECK_INLINE void tile(std::int64_t k, const Left<T, form>& a, const Right<T>& b, const GemmTarget<T>& c,
                          std::int64_t columns, Streams& streams) {
  using Vector = typename Register<T>::type;
  constexpr int width = Register<T>::lanes;
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < V; ++j) __builtin_prefetch(c.values + i * c.row + j * width, 1);
  Vector sums[R][V];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < V; ++j) sums[i][j] = Vector{};
  const auto step = [&](std::int64_t p) __attribute__((always_inline)) {
    Vector right[V];
#pragma GCC unroll 3
    for (int j = 0; j < V; ++j) {
      T* panel = b.panel + (p * V + j) * width;
      std::memcpy(&right[j], packs ? b.source + p * b.row + j * width : panel, sizeof(Vector));
      if constexpr (packs) std::memcpy(panel, &right[j], sizeof(Vector));
    }
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const T left = a.at(i, p);
#pragma GCC unroll 3
      for (int j = 0; j < V; ++j) sums[i][j] += left * right[j];
    }
  };
  Streams ahead = streams;  // in registers
  std::int64_t p = 0;
  for (; p + steps_per_fetch <= k; p += steps_per_fetch) {
    if constexpr (form != LeftForm::groups) ahead.left.fetch();
    if constexpr (form != LeftForm::rows) ahead.right.fetch();
// Fully unrolled, the compiler would interleave the eight steps and run out of registers.
#pragma GCC unroll 2
    for (int q = 0; q < steps_per_fetch; ++q) step(p + q);
  }
  for (; p < k; ++p) step(p);
  streams = ahead;
  finish<T, R, V>(sums, c, columns);
}

/// All rows under V vectors of columns. A right operand with a source is packed by the first rows.
template <class T, int V, LeftForm form>
void column(std::int64_t m, std::int64_t k, const Left<T, form>& a, const Right<T>& b, const GemmTarget<T>& c,
            std::int64_t columns, Streams& streams) {
  const auto run = [&]<int R>(std::integral_constant<int, R>, std::int64_t i) {
    const GemmTarget<T> to{c.values + i * c.row, c.row, c.add};
    if (i == 0 && b.source)
      tile<T, R, V, form, true>(k, a, b, to, columns, streams);
    else
      tile<T, R, V, form, false>(k, a.from(i, k), b, to, columns, streams);
  };
  std::int64_t i = 0;
  for (; i + tile_rows <= m; i += tile_rows) run(std::integral_constant<int, tile_rows>{}, i);
  if (tile_rows > 4 && m - i >= 4) {
    run(std::integral_constant<int, 4>{}, i);
    i += 4;
  }
  if (m - i >= 2) {
    run(std::integral_constant<int, 2>{}, i);
    i += 2;
  }
  if (m - i >= 1) run(std::integral_constant<int, 1>{}, i);
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
