// Matrix products in registers: a tile of the result stays there while the operands' packed columns stream
// by.
//
// Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008.
#include <algorithm>
#include <cstring>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// With three vectors to a row, the tile, a row of the right operand and one value of the left fill the
// registers: 32 of AVX-512, 16 of the others.
#if defined(__AVX512F__)
constexpr int register_bytes = 64;
constexpr int tile_rows = 8;
#elif defined(__AVX2__)
constexpr int register_bytes = 32;
constexpr int tile_rows = 4;
#else
constexpr int register_bytes = 16;
constexpr int tile_rows = 4;
#endif
constexpr int tile_vectors = 3;
constexpr int cache_line = 64;

template <class T>
struct Register {
  typedef T type __attribute__((vector_size(register_bytes)));
  static constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));
};
template <class T>
constexpr std::int64_t lanes = Register<T>::lanes;

/// The left operand: rows as they stand, `row` values apart, or packed by pack_left.
template <class T>
struct Left {
  const T* values;
  std::int64_t row;
};

/// c (R rows, `columns` of V vectors) = a·b or c + a·b, over k values of each row of a.
template <class T, int R, int V, bool packed>
TAPEDECK_INLINE void tile(std::int64_t k, const Left<T>& a, const T* b, const GemmTarget<T>& c,
                          std::int64_t columns) {
  using Vector = typename Register<T>::type;
  constexpr int width = Register<T>::lanes;
  Vector sums[R][V];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < V; ++j) sums[i][j] = Vector{};
  for (std::int64_t p = 0; p < k; ++p) {
    Vector right[V];
#pragma GCC unroll 3
    for (int j = 0; j < V; ++j) std::memcpy(&right[j], b + (p * V + j) * width, sizeof(Vector));
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const T left = packed ? a.values[p * tile_rows + i] : a.values[i * a.row + p];
#pragma GCC unroll 3
      for (int j = 0; j < V; ++j) sums[i][j] += left * right[j];
    }
  }
  if (columns == V * width) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 3
      for (int j = 0; j < V; ++j) {
        T* to = c.values + i * c.row + j * width;
        if (c.add) {
          Vector before;
          std::memcpy(&before, to, sizeof before);
          sums[i][j] += before;
        }
        std::memcpy(to, &sums[i][j], sizeof(Vector));
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

/// All rows under V vectors of columns.
template <class T, int V, bool packed>
void column(std::int64_t m, std::int64_t k, const Left<T>& a, const T* b, const GemmTarget<T>& c,
            std::int64_t columns, bool fetches) {
  const auto run = [&]<int R>(std::integral_constant<int, R>, std::int64_t i) {
    // Packed rows stand in groups of tile_rows.
    const T* left = packed ? a.values + i / tile_rows * tile_rows * k + i % tile_rows : a.values + i * a.row;
    tile<T, R, V, packed>(k, {left, a.row}, b, {c.values + i * c.row, c.row, c.add}, columns);
  };
  std::int64_t i = 0;
  for (; i + tile_rows <= m; i += tile_rows) {
    if (fetches && !packed)
      for (int r = 0; r < tile_rows; ++r) {
        const T* later = a.values + std::min(i + 2 * tile_rows + r, m - 1) * a.row;
        for (std::int64_t p = 0; p < k; p += cache_line / static_cast<int>(sizeof(T)))
          __builtin_prefetch(later + p);
      }
    run(std::integral_constant<int, tile_rows>{}, i);
  }
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

/// How many vectors of columns the next panel has, of `left` columns: three, but two before a last one that
/// would have one alone, which keeps the processor waiting for its loads.
template <class T>
int panel_vectors(std::int64_t left) {
  const std::int64_t vectors = (left + lanes<T> - 1) / lanes<T>;
  return static_cast<int>(vectors == 4 ? 2 : std::min<std::int64_t>(vectors, tile_vectors));
}

template <class T, bool packed>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
              const GemmTarget<T>& c) {
  for (std::int64_t j = 0; j < n;) {
    const int vectors = panel_vectors<T>(n - j);
    const std::int64_t columns = std::min(n - j, vectors * lanes<T>);
    const GemmTarget<T> to{c.values + j, c.row, c.add};
    const T* right = b + j * k;  // all panels before this one are full
    if (vectors == 3)
      column<T, 3, packed>(m, k, {a, a_row}, right, to, columns, j == 0);
    else if (vectors == 2)
      column<T, 2, packed>(m, k, {a, a_row}, right, to, columns, j == 0);
    else
      column<T, 1, packed>(m, k, {a, a_row}, right, to, columns, j == 0);
    j += columns;
  }
}

/// to[p · padded + j] = from[p · row + j] for `width` values j, zeros behind them.
template <class T>
void copy_rows(std::int64_t rows, std::int64_t width, const T* from, std::int64_t row, T* to,
               std::int64_t padded) {
  constexpr std::int64_t whole = tile_vectors * lanes<T>;
  if (width == whole) {
    for (std::int64_t p = 0; p < rows; ++p, from += row, to += whole)
      std::memcpy(to, from, whole * sizeof(T));
    return;
  }
  for (std::int64_t p = 0; p < rows; ++p, from += row, to += padded) {
    std::copy_n(from, width, to);
    std::fill(to + width, to + padded, T(0));
  }
}

constexpr int block = 8;  ///< rows and columns that are transposed in registers

template <class T>
TAPEDECK_INLINE void transpose_block(const T* from, std::int64_t row, T* to, std::int64_t padded) {
  typedef T Row __attribute__((vector_size(block * sizeof(T))));
  Row rows[block];
  for (int i = 0; i < block; ++i) std::memcpy(&rows[i], from + i * row, sizeof(Row));
  // Interleaving the first half with the second transposes when it is done log2(block) times.
  for (int turn = 0; turn < 3; ++turn) {
    Row mixed[block];
    for (int i = 0; i < block / 2; ++i) {
      mixed[2 * i] = __builtin_shufflevector(rows[i], rows[i + block / 2], 0, 8, 1, 9, 2, 10, 3, 11);
      mixed[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + block / 2], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::memcpy(rows, mixed, sizeof rows);
  }
  for (int i = 0; i < block; ++i) std::memcpy(to + i * padded, &rows[i], sizeof(Row));
}

/// to[p · padded + j] = from[j · row + p] for `width` values j, zeros behind them.
template <class T>
void transpose_rows(std::int64_t rows, std::int64_t width, const T* from, std::int64_t row, T* to,
                    std::int64_t padded) {
  std::int64_t j = 0;
  for (; j + block <= width; j += block) {
    std::int64_t p = 0;
    for (; p + block <= rows; p += block)
      transpose_block(from + j * row + p, row, to + p * padded + j, padded);
    for (; p < rows; ++p)
      for (std::int64_t i = j; i < j + block; ++i) to[p * padded + i] = from[i * row + p];
  }
  for (; j < width; ++j)
    for (std::int64_t p = 0; p < rows; ++p) to[p * padded + j] = from[j * row + p];
  for (; j < padded; ++j)
    for (std::int64_t p = 0; p < rows; ++p) to[p * padded + j] = T(0);
}

constexpr std::int64_t bytes_ahead = 16 << 10;  ///< a third of a first cache

template <class T>
void pack_left(bool transposed, std::int64_t m, std::int64_t k, const T* a, std::int64_t lda, T* to) {
  const std::int64_t whole = m / tile_rows * tile_rows;
  const std::int64_t group = tile_rows * k;
  if (transposed) {
    const std::int64_t rows_ahead =
        std::max<std::int64_t>(1, bytes_ahead / (m * static_cast<std::int64_t>(sizeof(T))));
    for (std::int64_t p = 0; p < k; ++p) {
      // Too short for the processor to see what comes next.
      const T* later = a + std::min(p + rows_ahead, k - 1) * lda;
      for (std::int64_t i = 0; i < whole; i += cache_line / static_cast<int>(sizeof(T)))
        __builtin_prefetch(later + i);
      for (std::int64_t i = 0; i < whole; i += tile_rows)
        std::memcpy(to + i * k + p * tile_rows, a + p * lda + i, tile_rows * sizeof(T));
    }
    if (whole < m) copy_rows(k, m - whole, a + whole, lda, to + whole * k, tile_rows);
    return;
  }
  for (std::int64_t i = 0; i < m; i += tile_rows, to += group)
    transpose_rows(k, std::min<std::int64_t>(tile_rows, m - i), a + i * lda, lda, to, tile_rows);
}

template <class T>
void pack_right(bool transposed, std::int64_t k, std::int64_t n, const T* b, std::int64_t ldb, T* to) {
  for (std::int64_t j = 0; j < n;) {
    const std::int64_t padded = panel_vectors<T>(n - j) * lanes<T>;
    const std::int64_t columns = std::min(n - j, padded);
    if (transposed)
      transpose_rows(k, columns, b + j * ldb, ldb, to, padded);
    else
      copy_rows(k, columns, b + j, ldb, to, padded);
    j += columns;
    to += padded * k;
  }
}

/// Sums of `count` products, in the lanes of several registers.
template <class T, int R>
TAPEDECK_INLINE void dots(std::int64_t count, const T* matrix, std::int64_t row, const T* x, T* out) {
  using Vector = typename Register<T>::type;
  constexpr int width = Register<T>::lanes;
  constexpr int turns = 8 / R;  // enough sums under way to hide how long each takes
  Vector sums[R][turns];
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < turns; ++j) sums[i][j] = Vector{};
  std::int64_t p = 0;
  for (; p + turns * width <= count; p += turns * width)
#pragma GCC unroll 8
    for (int j = 0; j < turns; ++j) {
      Vector right;
      std::memcpy(&right, x + p + j * width, sizeof right);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        Vector left;
        std::memcpy(&left, matrix + i * row + p + j * width, sizeof left);
        sums[i][j] += left * right;
      }
    }
  for (int i = 0; i < R; ++i) {
    Vector sum = sums[i][0];
    for (int j = 1; j < turns; ++j) sum += sums[i][j];
    T total = T(0);
    for (int lane = 0; lane < width; ++lane) total += sum[lane];
    for (std::int64_t q = p; q < count; ++q) total += matrix[i * row + q] * x[q];
    out[i] = total;
  }
}

template <class T>
void rows_times_vector(std::int64_t rows, std::int64_t count, const T* matrix, std::int64_t row, const T* x,
                       T* out) {
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) dots<T, 4>(count, matrix + i * row, row, x, out + i);
  for (; i < rows; ++i) dots<T, 1>(count, matrix + i * row, row, x, out + i);
}

template <class T>
void vector_times_rows(std::int64_t rows, std::int64_t count, const T* matrix, std::int64_t row, const T* x,
                       T* __restrict out) {
  constexpr std::int64_t at_once = 2048;  // sums that stay in the first cache
  for (std::int64_t j = 0; j < count; j += at_once) {
    const std::int64_t columns = std::min(at_once, count - j);
    T* __restrict sums = out + j;
    std::fill_n(sums, columns, T(0));
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
      const T* from = matrix + i * row + j;
      const T a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3];
      for (std::int64_t q = 0; q < columns; ++q)
        sums[q] += (a * from[q] + b * from[row + q]) + (c * from[2 * row + q] + d * from[3 * row + q]);
    }
    for (; i < rows; ++i)
      for (std::int64_t q = 0; q < columns; ++q) sums[q] += x[i] * matrix[i * row + j + q];
  }
}

template <class T>
void set(GemmLoops<T>& loops) {
  loops.tile_rows = tile_rows;
  loops.panel = tile_vectors * lanes<T>;
  loops.padding = lanes<T>;
  loops.pack_left = pack_left<T>;
  loops.pack_right = pack_right<T>;
  loops.multiply = multiply<T, false>;
  loops.multiply_packed = multiply<T, true>;
  loops.rows_times_vector = rows_times_vector<T>;
  loops.vector_times_rows = vector_times_rows<T>;
}

}  // namespace

void add_gemm(LoopTable& table) {
  set(table.gemm_float);
  set(table.gemm_double);
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
