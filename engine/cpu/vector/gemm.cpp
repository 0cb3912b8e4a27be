// Matrix products in registers: a tile of the result stays there while the operands' packed columns stream
// by.
//
// Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008.
#include <algorithm>
#include <cstring>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/gemm_narrow.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

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

/// Rows and columns that are transposed in registers.
template <class T>
constexpr int block = std::min<int>(8, Register<T>::lanes);

/// The vectors' first halves, or their second ones, lane by lane in turn.
template <bool second, class V>
TAPEDECK_INLINE V interleaved(const V& a, const V& b) {
  constexpr int lanes = static_cast<int>(sizeof(V) / sizeof a[0]), at = second ? lanes / 2 : 0;
  if constexpr (lanes == 8)
    return __builtin_shufflevector(a, b, at, at + 8, at + 1, at + 9, at + 2, at + 10, at + 3, at + 11);
  else if constexpr (lanes == 4)
    return __builtin_shufflevector(a, b, at, at + 4, at + 1, at + 5);
  else
    return __builtin_shufflevector(a, b, at, at + 2);
}

template <class T, int count>
TAPEDECK_INLINE void transpose_block(const T* from, std::int64_t row, T* to, std::int64_t padded) {
  typedef T Row __attribute__((vector_size(count * sizeof(T))));
  Row rows[count];
  for (int i = 0; i < count; ++i) std::memcpy(&rows[i], from + i * row, sizeof(Row));
  // Interleaving the first half with the second transposes when it is done log2(count) times.
  for (int turn = 1; turn < count; turn *= 2) {
    Row mixed[count];
    for (int i = 0; i < count / 2; ++i) {
      mixed[2 * i] = interleaved<false>(rows[i], rows[i + count / 2]);
      mixed[2 * i + 1] = interleaved<true>(rows[i], rows[i + count / 2]);
    }
    std::memcpy(rows, mixed, sizeof rows);
  }
  for (int i = 0; i < count; ++i) std::memcpy(to + i * padded, &rows[i], sizeof(Row));
}

/// to[p · padded + j] = from[j · row + p] for `count` values j.
template <class T, int count>
TAPEDECK_INLINE void transpose_blocks(std::int64_t rows, const T* from, std::int64_t row, T* to,
                                      std::int64_t padded) {
  std::int64_t p = 0;
  for (; p + count <= rows; p += count) transpose_block<T, count>(from + p, row, to + p * padded, padded);
  for (; p < rows; ++p)
    for (int i = 0; i < count; ++i) to[p * padded + i] = from[i * row + p];
}

/// to[p · padded + j] = from[j · row + p] for `width` values j, zeros behind them.
template <class T>
void transpose_rows(std::int64_t rows, std::int64_t width, const T* from, std::int64_t row, T* to,
                    std::int64_t padded) {
  std::int64_t j = 0;
  for (; j + block<T> <= width; j += block<T>)
    transpose_blocks<T, block<T>>(rows, from + j * row, row, to + j, padded);
  if constexpr (tile_rows < block<T>)  // a group of rows is less than a block
    for (; j + tile_rows <= width; j += tile_rows)
      transpose_blocks<T, tile_rows>(rows, from + j * row, row, to + j, padded);
  for (; j < width; ++j)
    for (std::int64_t p = 0; p < rows; ++p) to[p * padded + j] = from[j * row + p];
  for (; j < padded; ++j)
    for (std::int64_t p = 0; p < rows; ++p) to[p * padded + j] = T(0);
}

template <class T>
constexpr std::int64_t bytes_of(std::int64_t values) {
  return values * static_cast<std::int64_t>(sizeof(T));
}

constexpr std::int64_t bytes_ahead = 16 << 10;  ///< a third of an L1 cache

/// Groups of rows of a transposed operand, where they are contiguous: a whole cache line of each group at a
/// time, because groups are often a multiple of a page apart.
template <class T>
void pack_columns(std::int64_t whole, std::int64_t k, const T* a, std::int64_t lda, T* to) {
  constexpr std::int64_t bytes = tile_rows * static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t steps = std::max<std::int64_t>(1, cache_line / bytes);
  const std::int64_t rows_ahead =
      std::max<std::int64_t>(1, bytes_ahead / (whole * static_cast<std::int64_t>(sizeof(T))));
  std::int64_t p = 0;
  for (; p + steps <= k; p += steps) {
    // Too short for the hardware prefetcher.
    for (std::int64_t q = 0; q < steps; ++q) {
      const T* later = a + std::min(p + q + rows_ahead, k - 1) * lda;
      for (std::int64_t i = 0; i < whole; i += cache_line / static_cast<int>(sizeof(T)))
        __builtin_prefetch(later + i);
    }
    for (std::int64_t i = 0; i < whole; i += tile_rows)
      for (std::int64_t q = 0; q < steps; ++q)
        std::memcpy(to + i * k + (p + q) * tile_rows, a + (p + q) * lda + i, bytes);
  }
  for (; p < k; ++p)
    for (std::int64_t i = 0; i < whole; i += tile_rows)
      std::memcpy(to + i * k + p * tile_rows, a + p * lda + i, bytes);
}

template <class T>
void pack_left(bool transposed, std::int64_t m, std::int64_t k, const T* a, std::int64_t lda, T* to) {
  const std::int64_t whole = m / tile_rows * tile_rows;
  const std::int64_t group = tile_rows * k;
  if (transposed) {
    if (whole > 0) pack_columns(whole, k, a, lda, to);
    if (whole < m) copy_rows(k, m - whole, a + whole, lda, to + whole * k, tile_rows);
    return;
  }
  for (std::int64_t i = 0; i < m; i += tile_rows, to += group)
    transpose_rows(k, std::min<std::int64_t>(tile_rows, m - i), a + i * lda, lda, to, tile_rows);
}

template <class T>
void pack_narrow(bool transposed, std::int64_t k, std::int64_t columns, const T* b, std::int64_t ldb, T* to) {
  for (std::int64_t j = 0; j < columns; ++j)
    if (transposed)
      std::copy_n(b + j * ldb, k, to + j * k);
    else
      for (std::int64_t p = 0; p < k; ++p) to[j * k + p] = b[p * ldb + j];
  std::fill(to + columns * k, to + narrow * k, T(0));
}

template <class T>
void pack_right(bool transposed, bool plain_left, std::int64_t k, std::int64_t n, const T* b,
                std::int64_t ldb, T* to) {
  for (std::int64_t j = 0; j < n;) {
    const Panel panel = next_panel<T>(n - j, plain_left, k);
    const std::int64_t padded = panel.padded<T>();
    const T* from = transposed ? b + j * ldb : b + j;
    if (panel.vectors == 0)
      pack_narrow(transposed, k, panel.columns, from, ldb, to);
    else if (transposed)
      transpose_rows(k, panel.columns, from, ldb, to, padded);
    else
      copy_rows(k, panel.columns, from, ldb, to, padded);
    j += panel.columns;
    to += padded * k;
  }
}

/// All rows under one panel.
template <class T, LeftForm form>
void panel_product(std::int64_t m, std::int64_t k, const Left<T, form>& a, const Panel& panel,
                   const Right<T>& right, const GemmTarget<T>& c, Streams& streams) {
  if (panel.vectors == 3)
    column<T, 3, form>(m, k, a, right, c, panel.columns, streams);
  else if (panel.vectors == 2)
    column<T, 2, form>(m, k, a, right, c, panel.columns, streams);
  else if (panel.vectors == 1)
    column<T, 1, form>(m, k, a, right, c, panel.columns, streams);
  else if constexpr (form == LeftForm::rows && has_narrow_panels<T>)
    narrow_column<T>(m, k, a, right.panel, c, panel.columns);
}

/// How often the tiles of a panel call Stream::fetch.
std::int64_t turns_of(std::int64_t m, std::int64_t k) {
  return (m + tile_rows - 1) / tile_rows * (k / steps_per_fetch);
}

/// The rows of the first panel come from memory: two tiles ahead of it.
template <class T>
Stream rows_ahead(std::int64_t m, std::int64_t k, const T* a, std::int64_t row) {
  constexpr std::int64_t rows = 2 * tile_rows;
  return {a + rows * row, bytes_of<T>(k), bytes_of<T>(row), m - rows, turns_of(m - rows, k)};
}

template <class T, LeftForm form>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, T* b,
              const GemmTarget<T>& c) {
  const Left<T, form> left{a, a_row};
  Streams streams;
  if (form == LeftForm::rows) streams.left = rows_ahead(m, k, a, a_row);
  for (std::int64_t j = 0; j < n;) {
    const Panel panel = next_panel<T>(n - j, form == LeftForm::rows, k);
    const std::int64_t values = panel.padded<T>() * k;
    T* right = b + j * k;  // all panels before this one are full
    if (j + panel.columns < n)
      streams.right = Stream(right + values, bytes_of<T>(values), 0, 1, turns_of(m, k));
    panel_product<T, form>(m, k, left, panel, {right}, {c.values + j, c.row, c.add}, streams);
    streams = {};
    j += panel.columns;
  }
}

/// A panel that the first rows pack, if its rows are contiguous and whole vectors: others would reach behind
/// the operand.
template <class T, LeftForm form>
Right<T> panel_from(const MatmulSize& size, const Panel& panel, const T* b, T* packed) {
  if (!size.transpose_b && panel.columns == panel.padded<T>() && panel.vectors > 0)
    return {packed, b, size.ldb};
  pack_right(size.transpose_b, form == LeftForm::rows, size.k, panel.columns, b, size.ldb, packed);
  return {packed};
}

template <class T, LeftForm form>
void multiply_unpacked_form(const MatmulSize& size, const T* a, const T* b, T* packed, const GemmTarget<T>& c,
                            std::int64_t later) {
  const Left<T, form> left{a, size.lda};
  const std::int64_t turns = turns_of(size.m, size.k);
  Streams streams;
  if (form == LeftForm::columns)
    streams.left = Stream(a + size.k * size.lda, bytes_of<T>(size.m), bytes_of<T>(size.lda), later,
                          turns * std::max<std::int64_t>(1, size.n / (tile_vectors * lanes<T>)));
  else if (form == LeftForm::rows)
    streams.left = rows_ahead(size.m, size.k, a, size.lda);
  const std::int64_t step = size.transpose_b ? size.ldb : 1;
  for (std::int64_t j = 0; j < size.n;) {
    const Panel panel = next_panel<T>(size.n - j, form == LeftForm::rows, size.k);
    const std::int64_t next = j + panel.columns;
    if (form != LeftForm::rows && !size.transpose_b) {
      const bool last = next == size.n;
      const Panel after = next_panel<T>(last ? size.n : size.n - next, false, size.k);
      streams.right = Stream(last ? b + size.k * size.ldb : b + next, bytes_of<T>(after.columns),
                             bytes_of<T>(size.ldb), last ? later : size.k, turns);
    }
    const Right<T> right = panel_from<T, form>(size, panel, b + j * step, packed);
    panel_product(size.m, size.k, left, panel, right, {c.values + j, c.row, c.add}, streams);
    j = next;
  }
}

/// A tile reads a piece of a cache line for each k of a transposed left operand. If these lines fill the L1
/// cache, and are in as many pages, packing pays if several panels read the packed operand.
template <class T>
bool packs_left(const MatmulSize& size) {
  constexpr std::int64_t fewest_panels = 2, deep = 256, far = 512;
  return size.transpose_a && size.k > deep && bytes_of<T>(size.lda) >= far &&
         size.n >= fewest_panels * tile_vectors * lanes<T>;
}

template <class T>
void multiply_unpacked(const MatmulSize& size, const T* a, const T* b, T* packed, const GemmTarget<T>& c,
                       std::int64_t later) {
  if (packs_left<T>(size)) {
    T* left = packed + tile_vectors * lanes<T> * size.k;
    pack_left(true, size.m, size.k, a, size.lda, left);
    multiply_unpacked_form<T, LeftForm::groups>(size, left, b, packed, c, later);
  } else if (size.transpose_a)
    multiply_unpacked_form<T, LeftForm::columns>(size, a, b, packed, c, later);
  else
    multiply_unpacked_form<T, LeftForm::rows>(size, a, b, packed, c, later);
}

/// Sums of `count` products, in the lanes of several registers.
template <class T, int R>
TAPEDECK_INLINE void dots(std::int64_t count, const T* matrix, std::int64_t row, const T* x, T* out) {
  using Vector = typename Register<T>::type;
  constexpr int width = Register<T>::lanes;
  constexpr int turns = 8 / R;  // enough independent sums to hide their latency
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
  for (; p + width <= count; p += width) {
    Vector right;
    std::memcpy(&right, x + p, sizeof right);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      Vector left;
      std::memcpy(&left, matrix + i * row + p, sizeof left);
      sums[i][0] += left * right;
    }
  }
  Vector together[R];
  for (int i = 0; i < R; ++i) {
    together[i] = sums[i][0];
    for (int j = 1; j < turns; ++j) together[i] += sums[i][j];
  }
  T totals[R] = {};
  if constexpr (R == narrow && width >= 4)
    add_lanes<T>(together, totals);
  else
    for (int i = 0; i < R; ++i)
      for (int lane = 0; lane < width; ++lane) totals[i] += together[i][lane];
  for (int i = 0; i < R; ++i) {
    for (std::int64_t q = p; q < count; ++q) totals[i] += matrix[i * row + q] * x[q];
    out[i] = totals[i];
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
  constexpr std::int64_t at_once = 2048;  // sums that stay in the L1 cache
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
  loops.multiply = multiply<T, LeftForm::rows>;
  loops.multiply_packed = multiply<T, LeftForm::groups>;
  loops.multiply_unpacked = multiply_unpacked<T>;
  loops.rows_times_vector = rows_times_vector<T>;
  loops.vector_times_rows = vector_times_rows<T>;
}

}  // namespace

void add_gemm(LoopTable& table) {
  set(table.gemm_float);
  set(table.gemm_double);
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
