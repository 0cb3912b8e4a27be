#include "engine/cpu/products/gemm.h"

#include <algorithm>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/products/gemm_few_rows.h"
#include "engine/cpu/products/gemm_parts.h"
#include "engine/tensor/storage.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t packed_bytes = 8 << 20;  ///< of the right operand: stays in the L3 cache
constexpr std::int64_t columns_at_once = 4080;
constexpr std::int64_t left_strip = 768;  ///< of a transposed left operand: long runs of memory
constexpr std::int64_t fewest_rows = 48;  ///< of a task
constexpr std::int64_t most_rows_of_task = 96;
/// Of the left operand: a task's rows of it and the panels that pass stay in 512 KiB.
template <class T>
constexpr std::int64_t most_depth = 4096 / static_cast<std::int64_t>(sizeof(T));
constexpr std::int64_t worth_packing = 12 << 10;  ///< values: about 4 µs
constexpr std::int64_t min_transposed_depth =
    256;  ///< from here on, transposing the result costs little in comparison
constexpr std::int64_t columns_worth_packing = 256;  ///< fewer: the left operand's rows are read unpacked

/// Rows and columns of the result, cut into tasks: rows first, down to `few_rows` each, then columns, then
/// rows again.
class Cut {
 public:
  Cut(std::int64_t m, std::int64_t n, std::int64_t k) : m_(m), n_(n) {
    const std::int64_t wanted = tasks_worth(m, n, k);
    row_tasks_ = std::max(parts_of(m, most_rows_of_task), power_of_two_in(std::min(wanted, m / few_rows)));
    columns_ = parts_of(n / strip, std::max<std::int64_t>(1, wanted / row_tasks_)) * strip;
    column_tasks_ = columns_ == 0 ? 1 : std::max<std::int64_t>(1, n / columns_);
    row_tasks_ = std::max(row_tasks_, std::min(parts_of(wanted, column_tasks_), m / fewest_rows));
    if (row_tasks_ > 1) row_tasks_ += row_tasks_ % 2;  // machines have even numbers of cores
  }

  struct Task {
    std::int64_t row, rows, column, columns;
  };
  std::int64_t tasks() const { return row_tasks_ * column_tasks_; }
  /// The last task of a row takes the remaining columns, too.
  Task operator[](std::int64_t task) const {
    const std::int64_t column = task % column_tasks_;
    const std::int64_t row = first_row(task / column_tasks_);
    return {row, first_row(task / column_tasks_ + 1) - row, column * columns_,
            column + 1 < column_tasks_ ? columns_ : n_ - column * columns_};
  }
  std::int64_t most_rows() const { return parts_of(m_, row_tasks_) + 2 * row_multiple; }

 private:
  std::int64_t first_row(std::int64_t task) const {
    return task == row_tasks_ ? m_ : m_ * task / row_tasks_ / row_multiple * row_multiple;
  }

  std::int64_t m_, n_, columns_, row_tasks_, column_tasks_;
};

/// A transposed left operand is read unpacked, with all its columns contiguous, where the packed rows stay in
/// the cache. Otherwise each task packs its own.
bool packs_whole_left(const MatmulSize& size) {
  return size.transpose_a && size.m <= columns_at_once;
}

/// The product of all rows with some columns, over a run of k.
template <class T>
class Part {
 public:
  Part(const MatmulSize& size, const T* a, const T* b, const GemmTarget<T>& c)
      : size_(size), a_(a), b_(b), c_(c), loops_(gemm_loops<T>()) {}

  void run() {
    depth_ = even(size_.k, most_depth<T>, depth_multiple);
    columns_ = parts_of(size_.n, loops_.padding) * loops_.padding;
    rows_ = packs_whole_left(size_) ? parts_of(size_.m, loops_.tile_rows) * loops_.tile_rows : 0;
    const StoragePointer packed = gemm_buffer<T>((columns_ + rows_) * size_.k);
    right_ = reinterpret_cast<T*>(packed->data());
    left_ = right_ + columns_ * size_.k;
    pack();
    multiply();
  }

 private:
  /// Both operands (the left one where that is worth it) in runs of `depth_`, one behind the other.
  void pack() const {
    const std::int64_t runs = parts_of(size_.k, depth_);
    const std::int64_t width =
        std::clamp(size_.n * runs / enough_tasks / panel_multiple * panel_multiple, panel_multiple, strip);
    const std::int64_t right_strips = strips(size_.n, width);
    const std::int64_t left_strips = rows_ > 0 ? strips(size_.m, left_strip) : 0;
    const std::int64_t all = right_strips + left_strips;
    const std::int64_t grain = std::max<std::int64_t>(1, worth_packing / (depth_ * width));
    for_blocks(runs * all, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t p = task / all * depth_;
        const std::int64_t k = std::min(depth_, size_.k - p);
        const std::int64_t at = task % all;
        if (at < right_strips) {
          const std::int64_t j = at * width;
          const std::int64_t columns = at + 1 < right_strips ? width : size_.n - j;
          loops_.pack_right(size_.transpose_b, plain_left(), k, columns, right_from(p, j), size_.ldb,
                            right_ + p * columns_ + j * k);
        } else {
          const std::int64_t i = (at - right_strips) * left_strip;
          const std::int64_t rows = at + 1 < all ? left_strip : size_.m - i;
          loops_.pack_left(size_.transpose_a, rows, k, left_from(p, i), size_.lda, left_ + p * rows_ + i * k);
        }
      }
    });
  }

  void multiply() const {
    const Cut cut(size_.m, size_.n, size_.k);
    const bool packs = rows_ == 0 && !plain_left();
    for_blocks(cut.tasks(), 1, [&](std::int64_t begin, std::int64_t end) {
      const StoragePointer packed = gemm_buffer<T>(packs ? cut.most_rows() * depth_ : 0);
      for (std::int64_t task = begin; task < end; ++task)
        block(cut[task], packs ? reinterpret_cast<T*>(packed->data()) : nullptr);
    });
  }

  void block(const typename Cut::Task& task, T* packed) const {
    for (std::int64_t p = 0; p < size_.k; p += depth_) {
      const std::int64_t k = std::min(depth_, size_.k - p);
      T* right = right_ + p * columns_ + task.column * k;
      const GemmTarget<T> to{c_.values + task.row * c_.row + task.column, c_.row, c_.add || p > 0};
      if (packed)
        loops_.pack_left(size_.transpose_a, task.rows, k, left_from(p, task.row), size_.lda, packed);
      if (packed || rows_ > 0)
        loops_.multiply_packed(task.rows, task.columns, k, packed ? packed : left_ + p * rows_ + task.row * k,
                               0, right, to);
      else
        loops_.multiply(task.rows, task.columns, k, left_from(p, task.row), size_.lda, right, to);
    }
  }

  bool plain_left() const { return !size_.transpose_a && size_.n < columns_worth_packing; }
  /// How many strips of columns; the last takes the remaining ones, too.
  static std::int64_t strips(std::int64_t count, std::int64_t width) {
    return std::max<std::int64_t>(1, count / width);
  }
  const T* left_from(std::int64_t p, std::int64_t i) const {
    return a_ + (size_.transpose_a ? p * size_.lda + i : i * size_.lda + p);
  }
  const T* right_from(std::int64_t p, std::int64_t j) const {
    return b_ + (size_.transpose_b ? j * size_.ldb + p : p * size_.ldb + j);
  }

  const MatmulSize size_;
  const T* const a_;
  const T* const b_;
  const GemmTarget<T> c_;
  const GemmLoops<T>& loops_;
  std::int64_t depth_ = 0;
  std::int64_t columns_ = 0;  ///< of the packed right operand
  std::int64_t rows_ = 0;     ///< of the left one, where it is packed as a whole
  T* right_ = nullptr;
  T* left_ = nullptr;
};

/// The product with a vector: `matrix` has `rows` rows of `count` values, and the vector's values are
/// `x_step` apart.
template <class T>
struct MatrixVector {
  std::int64_t rows, count;
  const T* matrix;
  std::int64_t row;
  const T* x;
  std::int64_t x_step;
  bool sums_rows;  ///< the vector's values weigh the rows

  void run(T* out) const {
    StoragePointer copied;
    const T* contiguous = x;
    if (x_step != 1) {
      const std::int64_t length = sums_rows ? rows : count;
      copied = StoragePointer::allocate(static_cast<std::size_t>(length) * sizeof(T));
      auto* to = reinterpret_cast<T*>(copied->data());
      for (std::int64_t i = 0; i < length; ++i) to[i] = x[i * x_step];
      contiguous = to;
    }
    const GemmLoops<T>& loops = gemm_loops<T>();
    const double nanoseconds = static_cast<double>(sizeof(T)) / 40;  // a value
    if (sums_rows)
      for_blocks(count, std::max<std::int64_t>(64, grain_for(nanoseconds * static_cast<double>(rows))),
                 [&](std::int64_t begin, std::int64_t end) {
                   loops.vector_times_rows(rows, end - begin, matrix + begin, row, contiguous, out + begin);
                 });
    else
      for_blocks(rows, grain_for(nanoseconds * static_cast<double>(count)),
                 [&](std::int64_t begin, std::int64_t end) {
                   loops.rows_times_vector(end - begin, count, matrix + begin * row, row, contiguous,
                                           out + begin);
                 });
  }
};

/// True where it was a product with a vector, whose result is contiguous.
template <class T>
bool with_vector(const MatmulSize& size, const T* a, const T* b, T* c) {
  if (size.m == 1)
    MatrixVector<T>{size.transpose_b ? size.n : size.k,
                    size.transpose_b ? size.k : size.n,
                    b,
                    size.ldb,
                    a,
                    size.transpose_a ? size.lda : 1,
                    !size.transpose_b}
        .run(c);
  else if (size.n == 1)
    MatrixVector<T>{size.transpose_a ? size.k : size.m,
                    size.transpose_a ? size.m : size.k,
                    a,
                    size.lda,
                    b,
                    size.transpose_b ? 1 : size.ldb,
                    size.transpose_a}
        .run(c);
  return size.m == 1 || size.n == 1;
}

/// How much is computed for `count` columns, padding included.
double padded_share(std::int64_t count, std::int64_t padding) {
  return static_cast<double>(parts_of(count, padding) * padding) / static_cast<double>(count);
}

/// Whether to compute Aᵀ·B as (Bᵀ·A)ᵀ. Both operands are packed in the same way, so the operand that needs
/// less padding goes to the right.
template <class T>
bool computes_transposed(const MatmulSize& size, bool add) {
  if (add || !size.transpose_a || size.transpose_b || size.k < min_transposed_depth) return false;
  const std::int64_t padding = gemm_loops<T>().padding;
  return padded_share(size.n, padding) > padded_share(size.m, padding) * 1.02;
}

}  // namespace

template <class T>
void gemm(const MatmulSize& size, const T* a, const T* b, bool add, T* c, std::int64_t ldc) {
  if (size.k == 0 && !add)
    for (std::int64_t i = 0; i < size.m; ++i) std::fill_n(c + i * ldc, size.n, T(0));
  if (size.m == 0 || size.n == 0 || size.k == 0) return;
  if (!add && (size.m == 1 || ldc == 1) && with_vector(size, a, b, c)) return;
  if (!add && size.n == 1) {  // the same sums, wherever they go
    const StoragePointer column = StoragePointer::allocate(static_cast<std::size_t>(size.m) * sizeof(T));
    const auto* sums = reinterpret_cast<T*>(column->data());
    gemm(size, a, b, false, reinterpret_cast<T*>(column->data()), 1);
    for (std::int64_t i = 0; i < size.m; ++i) c[i * ldc] = sums[i];
    return;
  }
  if (computes_transposed<T>(size, add)) {
    const StoragePointer turned =
        StoragePointer::allocate(static_cast<std::size_t>(size.m * size.n) * sizeof(T));
    auto* values = reinterpret_cast<T*>(turned->data());
    gemm({size.n, size.m, size.k, true, false, size.ldb, size.lda}, b, a, false, values, size.m);
    return copy(sizeof(T), values, {1, size.m}, c, {ldc, 1}, {size.m, size.n});
  }
  if (size.m <= most_few_rows) return FewRows<T>{size, a, b, {c, ldc, add}}.run();
  const std::int64_t columns = even(size.n, columns_at_once, panel_multiple);
  const std::int64_t width = std::min(columns, size.n) + (packs_whole_left(size) ? size.m : 0);
  const std::int64_t most = packed_bytes / static_cast<std::int64_t>(sizeof(T)) / width;
  const std::int64_t run = even(size.k, std::max(most_depth<T>, most), 1);
  for (std::int64_t j = 0; j < size.n; j += columns)
    for (std::int64_t p = 0; p < size.k; p += run) {
      MatmulSize part = size;
      part.n = std::min(columns, size.n - j);
      part.k = std::min(run, size.k - p);
      Part<T>(part, a + (size.transpose_a ? p * size.lda : p),
              b + (size.transpose_b ? j * size.ldb + p : p * size.ldb + j), {c + j, ldc, add || p > 0})
          .run();
    }
}

template void gemm(const MatmulSize&, const float*, const float*, bool, float*, std::int64_t);
template void gemm(const MatmulSize&, const double*, const double*, bool, double*, std::int64_t);

}  // namespace tapedeck::cpu
