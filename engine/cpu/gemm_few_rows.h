// Matrix products of few rows. Included by gemm.cpp.
#pragma once

#include "engine/cpu/blocks.h"
#include "engine/cpu/gemm_parts.h"
#include "engine/tensor/storage.h"

namespace tapedeck::cpu {

inline constexpr std::int64_t most_few_rows = 960;  ///< above, packing the right operand once for all pays
inline constexpr std::int64_t rows_at_once = 240;   ///< of a task, at most: each packs the right operand anew
inline constexpr std::int64_t fewest_tasks = 4;
inline constexpr std::int64_t fewest_rows_of_task = 16;
inline constexpr std::int64_t before_interrupt = std::int64_t{1} << 35;  ///< multiplications: some 0.3 s

/// Products of few rows: each task packs the panels of its own columns as it comes to them, with the first
/// rows that meet them.
template <class T>
struct FewRows {
  MatmulSize size;
  const T* a;
  const T* b;
  GemmTarget<T> c;

  void run() const {
    const GemmLoops<T>& loops = gemm_loops<T>();
    const std::int64_t wanted = tasks_worth(size.m, size.n, size.k);
    const std::int64_t column_tasks = column_tasks_of(wanted, loops.padding);
    const std::int64_t rows_of_task = column_tasks < fewest_tasks ? fewest_rows_of_task : few_rows;
    const std::int64_t row_tasks =
        std::max(parts_of(size.m, rows_at_once),
                 power_of_two_in(std::min(parts_of(wanted, column_tasks), size.m / rows_of_task)));
    const std::int64_t columns = even(size.n, parts_of(size.n, column_tasks), loops.padding);
    const std::int64_t rows = even(size.m, parts_of(size.m, row_tasks), row_multiple);
    const std::int64_t across = parts_of(size.n, columns), down = parts_of(size.m, rows);
    const std::int64_t depth = even(size.k, depth_at_once, depth_multiple);
    const std::int64_t packed_width = loops.panel + (size.transpose_a ? rows + loops.tile_rows : 0);
    const std::int64_t depths = std::max<std::int64_t>(1, before_interrupt / (size.m * size.n * depth));
    for (std::int64_t p = 0; p < size.k; p += depths * depth)
      for_blocks(across * down, 1, [&](std::int64_t begin, std::int64_t end) {
        const StoragePointer packed =
            StoragePointer::allocate(static_cast<std::size_t>(depth * packed_width) * sizeof(T));
        for (std::int64_t task = begin; task < end; ++task)
          for (std::int64_t q = p; q < std::min(size.k, p + depths * depth); q += depth)
            block(task % down * rows, task / down * columns, q, {rows, columns, depth},
                  reinterpret_cast<T*>(packed->data()));
      });
  }

 private:
  struct Extent {
    std::int64_t rows, columns, depth;
  };

  /// As many as are wanted and leave the columns wide enough, of about one width.
  std::int64_t column_tasks_of(std::int64_t wanted, std::int64_t padding) const {
    const std::int64_t narrowest = size.k > 2 * depth_at_once ? strip : panel_multiple;
    const std::int64_t vectors = parts_of(size.n, padding);
    const auto about_one_width = [vectors](std::int64_t tasks) {
      return parts_of(vectors, tasks) * tasks * 10 <= vectors * 11;
    };
    std::int64_t tasks = 1;
    while (2 * tasks <= wanted && size.n / (2 * tasks) >= narrowest && about_one_width(2 * tasks)) tasks *= 2;
    return tasks;
  }

  /// The part of the result from row `i` and column `j` on, over a run of k from `p` on.
  void block(std::int64_t i, std::int64_t j, std::int64_t p, const Extent& most, T* packed) const {
    MatmulSize part = size;
    part.m = std::min(most.rows, size.m - i);
    part.n = std::min(most.columns, size.n - j);
    part.k = std::min(most.depth, size.k - p);
    const std::int64_t later = std::min(most.depth, size.k - p - part.k);
    gemm_loops<T>().multiply_unpacked(part, a + (size.transpose_a ? p * size.lda + i : i * size.lda + p),
                                      b + (size.transpose_b ? j * size.ldb + p : p * size.ldb + j), packed,
                                      {c.values + i * c.row + j, c.row, c.add || p > 0}, later);
  }
};

}  // namespace tapedeck::cpu
