// Matrix products of few rows. Included by gemm.cpp.
#pragma once

#include "engine/cpu/blocks.h"
#include "engine/cpu/products/gemm_parts.h"

namespace tapedeck::cpu {

inline constexpr std::int64_t most_few_rows = 960;  ///< above, packing the right operand once for all pays
inline constexpr std::int64_t rows_at_once =
    240;  ///< of a task, at most: each task packs the right operand again
inline constexpr std::int64_t fewest_tasks = 4;
inline constexpr std::int64_t fewest_rows_of_task = 16;
inline constexpr std::int64_t tasks_of_thread = 2;                       ///< if each costs another packing
inline constexpr std::int64_t before_interrupt = std::int64_t{1} << 35;  ///< multiplications: about 0.3 s

/// Products of few rows: each task packs the panels of its columns when it reaches them, while computing
/// their first rows. Deep products are split along k first: otherwise each task would read and pack a whole
/// operand for its part of the result.
template <class T>
class FewRows {
 public:
  FewRows(const MatmulSize& size, const T* a, const T* b, const GemmTarget<T>& c)
      : size_(size), a_(a), b_(b), c_(c), loops_(gemm_loops<T>()) {}

  void run() {
    depth_ = even(size_.k, depth_at_once, depth_multiple);
    steps_ = parts_of(size_.k, depth_);
    runs_ = runs_worth();
    cut();
    StoragePointer sums;
    if (runs_ > 1) {
      sums = gemm_buffer<T>((runs_ - 1) * size_.m * size_.n);
      sums_ = reinterpret_cast<T*>(sums->data());
    }
    const std::int64_t together =
        std::max<std::int64_t>(1, before_interrupt / (size_.m * size_.n * depth_ * runs_));
    for (std::int64_t step = 0; step < parts_of(steps_, runs_); step += together)
      for_blocks(across_ * down_ * runs_, 1, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t left = size_.transpose_a ? rows_ + loops_.tile_rows : 0;
        const StoragePointer packed = gemm_buffer<T>(depth_ * (loops_.panel + left));
        for (std::int64_t task = begin; task < end; ++task)
          part(task, step, step + together, reinterpret_cast<T*>(packed->data()));
      });
    if (runs_ > 1) add_sums();
  }

 private:
  /// How many runs of k get separate sums: as many as cost little compared with reading the operands. It
  /// depends only on the size, because rounding depends on it.
  std::int64_t runs_worth() const {
    constexpr std::int64_t shallowest = 2 * depth_at_once, most = 4;
    const std::int64_t read = size_.k * (size_.m + size_.n), moved = 2 * size_.m * size_.n;
    return std::max<std::int64_t>(1,
                                  power_of_two_in(std::min({most, size_.k / shallowest, read / moved / 4})));
  }

  /// Rows and columns of a task.
  void cut() {
    std::int64_t wanted = parts_of(tasks_worth(size_.m, size_.n, size_.k), runs_);
    if (runs_ > 1) wanted = std::min(wanted, parts_of(tasks_of_thread * thread_count(), runs_));
    const std::int64_t column_tasks = column_tasks_of(wanted);
    const std::int64_t rows_of_task = column_tasks < fewest_tasks ? fewest_rows_of_task : few_rows;
    const std::int64_t row_tasks =
        std::max(parts_of(size_.m, rows_at_once),
                 power_of_two_in(std::min(parts_of(wanted, column_tasks), size_.m / rows_of_task)));
    columns_ = even(size_.n, parts_of(size_.n, column_tasks), loops_.padding);
    rows_ = even(size_.m, parts_of(size_.m, row_tasks), row_multiple);
    across_ = parts_of(size_.n, columns_);
    down_ = parts_of(size_.m, rows_);
  }

  /// At most `wanted` tasks of about equal width whose columns are wide enough.
  std::int64_t column_tasks_of(std::int64_t wanted) const {
    const std::int64_t narrowest = size_.k > 2 * depth_at_once ? strip : panel_multiple;
    const std::int64_t vectors = parts_of(size_.n, loops_.padding);
    const auto about_one_width = [vectors](std::int64_t tasks) {
      return parts_of(vectors, tasks) * tasks * 10 <= vectors * 11;
    };
    std::int64_t tasks = 1;
    while (2 * tasks <= wanted && size_.n / (2 * tasks) >= narrowest && about_one_width(2 * tasks))
      tasks *= 2;
    return tasks;
  }

  /// Steps of a task, counted from the first step of its run of k.
  void part(std::int64_t task, std::int64_t begin, std::int64_t end, T* packed) const {
    const std::int64_t i = task % down_ * rows_, j = task / down_ % across_ * columns_;
    const std::int64_t run = task / (down_ * across_);
    const std::int64_t first = first_step(run), behind = first_step(run + 1);
    const GemmTarget<T> to = run == 0 ? c_ : GemmTarget<T>{sums_of(run), size_.n, false};
    MatmulSize part = size_;
    part.m = std::min(rows_, size_.m - i);
    part.n = std::min(columns_, size_.n - j);
    for (std::int64_t step = first + begin; step < std::min(first + end, behind); ++step) {
      const std::int64_t p = step * depth_;
      const std::int64_t left = std::min(size_.k, behind * depth_) - p;
      part.k = std::min(depth_, left);
      loops_.multiply_unpacked(part, a_ + (size_.transpose_a ? p * size_.lda + i : i * size_.lda + p),
                               b_ + (size_.transpose_b ? j * size_.ldb + p : p * size_.ldb + j), packed,
                               {to.values + i * to.row + j, to.row, to.add || step > first},
                               std::min(depth_, left - part.k));
    }
  }

  std::int64_t first_step(std::int64_t run) const { return steps_ * run / runs_; }
  /// For all runs but the first, whose sums go into the result.
  T* sums_of(std::int64_t run) const { return sums_ + (run - 1) * size_.m * size_.n; }

  void add_sums() const {
    const double nanoseconds = 0.2 * static_cast<double>(runs_ * size_.n);  // a row
    for_blocks(size_.m, grain_for(nanoseconds), [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t run = 1; run < runs_; ++run) {
          const T* from = sums_of(run) + i * size_.n;
          T* to = c_.values + i * c_.row;
          for (std::int64_t j = 0; j < size_.n; ++j) to[j] += from[j];
        }
    });
  }

  const MatmulSize size_;
  const T* const a_;
  const T* const b_;
  const GemmTarget<T> c_;
  const GemmLoops<T>& loops_;
  std::int64_t depth_ = 0, steps_ = 0;   ///< of k
  std::int64_t runs_ = 0;                ///< of k, of some steps
  std::int64_t rows_ = 0, columns_ = 0;  ///< of a task
  std::int64_t down_ = 0, across_ = 0;   ///< tasks
  T* sums_ = nullptr;
};

}  // namespace tapedeck::cpu
