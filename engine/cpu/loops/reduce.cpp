#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/reduced_blocks.h"

namespace tapedeck::cpu {
namespace {

// All sizes depend only on shapes: results must not depend on the number of threads.
constexpr std::int64_t block = reduced_block;
constexpr std::int64_t row_block = 512;    ///< rows that one loop reduces to one row
constexpr std::int64_t tile_width = 4096;  ///< columns that one loop keeps in the L1 cache
constexpr std::int64_t narrow = 256;       ///< rows shorter than this are taken several at a time

template <class T>
T neutral(Reduction op) {
  T value{};
  loops().reduce[static_cast<int>(op)][static_cast<int>(dtype_of<T>())](nullptr, 0, &value);
  return value;
}

/// Combines block results in order; sums of float32 in float64.
template <class T>
T combine_blocks(Reduction op, const T* parts, std::int64_t count, std::int64_t step) {
  if constexpr (std::is_same_v<T, float>)
    if (op == Reduction::sum) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(parts[i * step]);
      return static_cast<float>(sum);
    }
  std::vector<T> gathered;
  if constexpr (!std::is_same_v<T, bool>) {
    gathered.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) gathered.push_back(parts[i * step]);
    T result{};
    loops().reduce[static_cast<int>(op)][static_cast<int>(dtype_of<T>())](gathered.data(), count, &result);
    return result;
  } else {
    bool result = op == Reduction::all;
    for (std::int64_t i = 0; i < count; ++i)
      result = op == Reduction::all ? result && parts[i * step] : result || parts[i * step];
    return result;
  }
}

template <class T>
T reduce_row(Reduction op, const T* values, std::int64_t count) {
  const ReduceLoop loop = loops().reduce[static_cast<int>(op)][static_cast<int>(dtype_of<T>())];
  T result{};
  if (count <= block) {
    loop(values, count, &result);
    return result;
  }
  const std::int64_t blocks = (count + block - 1) / block;
  const auto parts = std::make_unique<T[]>(static_cast<std::size_t>(blocks));
  for_blocks(blocks, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      loop(values + i * block, std::min(block, count - i * block), &parts[static_cast<std::size_t>(i)]);
  });
  return combine_blocks(op, parts.get(), blocks, 1);
}

template <class T>
void reduce_rows_of(Reduction op, const T* values, std::int64_t outer, std::int64_t count, T* out) {
  for_blocks(outer, std::max<std::int64_t>(1, 16 * block / std::max<std::int64_t>(16, count)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) out[i] = reduce_row(op, values + i * count, count);
             });
}

/// One matrix count × inner to one row.
template <class T>
void reduce_columns(Reduction op, const T* values, std::int64_t count, std::int64_t inner, T* out) {
  const ReduceRowsLoop loop = loops().reduce_rows[static_cast<int>(op)][static_cast<int>(dtype_of<T>())];
  // Short rows: several consecutive ones form a long one, folded at the end.
  const std::int64_t together = std::min(count, inner < narrow ? (narrow + inner - 1) / inner : 1);
  const std::int64_t width = inner * together;
  const std::int64_t rows = count / together;
  const std::int64_t rest = count - rows * together;
  const std::int64_t rows_a_block = std::max(row_block, 65536 / width);
  const std::int64_t row_blocks = (rows + rows_a_block - 1) / rows_a_block;
  const std::int64_t tiles = (width + tile_width - 1) / tile_width;
  if (together == 1 && row_blocks == 1 && tiles == 1) return loop(values, rows, width, width, out);

  const std::int64_t part_rows = row_blocks + (rest > 0 ? 1 : 0);
  const auto parts = std::make_unique<T[]>(static_cast<std::size_t>(part_rows * width));
  std::fill_n(parts.get() + row_blocks * width, (part_rows - row_blocks) * width, neutral<T>(op));
  std::copy_n(values + rows * width, rest * inner, parts.get() + row_blocks * width);
  const std::int64_t work = std::min(rows, rows_a_block) * std::min(width, tile_width);
  for_blocks(
      row_blocks * tiles, std::max<std::int64_t>(1, 65536 / work), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t first_row = task / tiles * rows_a_block;
          const std::int64_t first_column = task % tiles * tile_width;
          loop(values + first_row * width + first_column, std::min(rows_a_block, rows - first_row), width,
               std::min(tile_width, width - first_column), parts.get() + task / tiles * width + first_column);
        }
      });
  if (part_rows * together == 1) {
    std::copy_n(parts.get(), inner, out);
    return;
  }
  for (std::int64_t j = 0; j < inner; ++j)
    out[j] = combine_blocks(op, parts.get() + j, part_rows * together, inner);
}

template <class T>
void reduce_typed(Reduction op, const T* values, std::int64_t outer, std::int64_t count, std::int64_t inner,
                  T* out) {
  if (outer * inner == 0) return;
  if (count == 0) {
    std::fill_n(out, outer * inner, neutral<T>(op));
    return;
  }
  if (inner == 1) return reduce_rows_of(op, values, outer, count, out);
  for_blocks(outer, std::max<std::int64_t>(1, 65536 / (count * inner)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i)
                 reduce_columns(op, values + i * count * inner, count, inner, out + i * inner);
             });
}

template <class T>
bool comes_first(bool largest, T candidate, T best) {
  if (best != best) return false;
  return candidate != candidate || (largest ? candidate > best : candidate < best);
}

constexpr std::int64_t searched_at_once = 64;
constexpr std::int64_t columns_at_once = 256;

/// The first of `count` values that is the extreme one, NaN where that is NaN.
template <class T>
std::int64_t position_of(const T* values, std::int64_t count, T extreme) {
  const auto is_it = [=](T value) { return value == extreme || (extreme != extreme && value != value); };
  std::int64_t first = 0;
  for (; first + searched_at_once <= count; first += searched_at_once) {
    int found = 0;
    for (std::int64_t i = 0; i < searched_at_once; ++i) found |= is_it(values[first + i]) ? 1 : 0;
    if (found) break;
  }
  while (first < count - 1 && !is_it(values[first])) ++first;
  return first;
}

template <class T>
void arg_extreme_typed(bool largest, const T* values, std::int64_t outer, std::int64_t count,
                       std::int64_t inner, std::int64_t* out) {
  const ReduceLoop extreme_of = loops().reduce[static_cast<int>(largest ? Reduction::max : Reduction::min)]
                                              [static_cast<int>(dtype_of<T>())];
  if (inner == 1 && count >= 16 && extreme_of)  // in vectors; then its position
    return for_blocks(outer, std::max<std::int64_t>(1, 131072 / count),
                      [=](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t i = begin; i < end; ++i) {
                          T extreme;
                          extreme_of(values + i * count, count, &extreme);
                          out[i] = position_of(values + i * count, count, extreme);
                        }
                      });
  const auto rows_loop = loops().arg_rows[static_cast<int>(dtype_of<T>())];
  if (inner >= 8 && rows_loop && count <= std::numeric_limits<std::int32_t>::max()) {
    const std::int64_t parts = (inner + columns_at_once - 1) / columns_at_once;
    return for_blocks(
        outer * parts, std::max<std::int64_t>(1, 65536 / (count * std::min(inner, columns_at_once))),
        [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t column = i % parts * columns_at_once;
            rows_loop(largest, values + i / parts * count * inner + column, count, inner,
                      std::min(columns_at_once, inner - column), out + i / parts * inner + column);
          }
        });
  }
  for_blocks(outer * inner, std::max<std::int64_t>(1, 32768 / count),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) {
                 const T* row = values + i / inner * count * inner + i % inner;
                 std::int64_t best = 0;
                 for (std::int64_t k = 1; k < count; ++k)
                   if (comes_first(largest, row[k * inner], row[best * inner])) best = k;
                 out[i] = best;
               }
             });
}

}  // namespace

void reduce(Reduction op, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
            std::int64_t inner, void* out) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    reduce_typed(op, static_cast<const T*>(values), outer, count, inner, static_cast<T*>(out));
  });
}

void combine_reduced_blocks(Reduction op, DType dtype, const void* parts, std::int64_t count, void* out) {
  if (dtype == DType::float32)
    *static_cast<float*>(out) = combine_blocks(op, static_cast<const float*>(parts), count, 1);
  else
    *static_cast<double*>(out) = combine_blocks(op, static_cast<const double*>(parts), count, 1);
}

void arg_extreme(bool largest, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                 std::int64_t inner, std::int64_t* out) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    arg_extreme_typed(largest, static_cast<const T*>(values), outer, count, inner, out);
  });
}

namespace {

/// The sums of `loop` over blocks, and their total.
template <class T>
T sum_of_blocks(DotLoop loop, const T* x, const T* y, std::int64_t count) {
  T sum{};
  if (count <= block) {
    loop(x, y, count, &sum);
    return sum;
  }
  const std::int64_t blocks = (count + block - 1) / block;
  const auto parts = std::make_unique<T[]>(static_cast<std::size_t>(blocks));
  for_blocks(blocks, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      loop(x + i * block, y + i * block, std::min(block, count - i * block),
           &parts[static_cast<std::size_t>(i)]);
  });
  return combine_blocks(Reduction::sum, parts.get(), blocks, 1);
}

void add_pairs(const DotLoop (&loop)[dtype_count], DType dtype, const void* a, const void* b,
               std::int64_t count, void* out) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>)
      *static_cast<T*>(out) = sum_of_blocks(loop[static_cast<int>(dtype)], static_cast<const T*>(a),
                                            static_cast<const T*>(b), count);
  });
}

}  // namespace

void dot(DType dtype, const void* a, const void* b, std::int64_t count, void* out) {
  add_pairs(loops().dot, dtype, a, b, count, out);
}

void squared_distance(DType dtype, const void* a, const void* b, std::int64_t count, void* out) {
  add_pairs(loops().squared_distance, dtype, a, b, count, out);
}

}  // namespace tapedeck::cpu
