#include "engine/cpu/linear_algebra/bidiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cpu/blocks.h"
#include "engine/cpu/linear_algebra/panel_rows.h"

namespace tapedeck::cpu {
namespace {

/// Columns and rows [k, k + width) of a, whose rows are filled up. Their reflections are u's and v's; what is
/// left to do of them for the rest is a −= u·yᵀ + x·vᵀ (Dongarra, Hammarling and Sorensen 1989, "Block
/// reduction of matrices to condensed forms for eigenvalue computations", J. Comput. Appl. Math. 27). They
/// are rows here, u and x in turn as long as a's columns, y and v in turn as long as its rows.
template <class T>
class Panel {
 public:
  Panel(Block<T> a, std::int64_t k, std::int64_t width)
      : a_(a),
        k_(k),
        width_(width),
        ux_(2 * width, a.rows),
        yv_(2 * width, a.columns),
        sums_(static_cast<std::size_t>(std::max(ux_.filled_length(), yv_.filled_length()))),
        weights_(static_cast<std::size_t>(2 * width)) {}

  void reduce(Bidiagonal<T>& result, bool vectors) {
    std::vector<T> of_u, of_v;
    for (std::int64_t i = 0; i < width_; ++i) {
      check_stop_at(k_ + i, a_.rows);
      of_u.push_back(reduce_column(i, result));
      of_v.push_back(k_ + i + 1 < a_.columns ? reduce_row(i, result) : T(0));
    }
    if (k_ + width_ < a_.columns)
      subtract_product<T>(Sides::first_transposed, ux_.from(k_ + width_), yv_.from(k_ + width_),
                          a_.from(k_ + width_, k_ + width_));
    if (!vectors) return;
    result.u.emplace_back(every_second(ux_.from(k_)), of_u);
    if (k_ + 1 < a_.columns)
      result.v.emplace_back(every_second(yv_.from(k_ + 1).from(1, 0)), of_v);  // above, they are 0
  }

 private:
  T reduce_column(std::int64_t i, Bidiagonal<T>& result) {
    const std::int64_t column = k_ + i, right = column + 1, first = register_of(column);
    T* const u = ux_.row(2 * i);
    for (std::int64_t row = column; row < a_.rows; ++row) u[row] = a_(row, column);
    if (i > 0) {
      for (std::int64_t l = 0; l < 2 * i; ++l) weight(l) = yv_.row(l)[column];
      ux_.sum(2 * i, first, weights_.data(), sums_.data());
      for (std::int64_t row = column; row < a_.rows; ++row) u[row] -= sums_[static_cast<std::size_t>(row)];
    }
    const Reflection<T> reflection = Reflection<T>::make(a_.rows - column, u + column, 1);
    result.d.push_back(reflection.value);
    if (right == a_.columns) return reflection.tau;
    T* const y = yv_.row(2 * i);
    multiply_columns(column, u, y);
    if (i > 0) {
      ux_.dots(2 * i, first, u, weights_.data());
      subtract_sum(yv_, 2 * i, right, y);
    }
    for (std::int64_t l = right; l < a_.columns; ++l) y[l] *= reflection.tau;
    return reflection.tau;
  }

  T reduce_row(std::int64_t i, Bidiagonal<T>& result) {
    const std::int64_t row = k_ + i, right = row + 1;
    T* const v = yv_.row(2 * i + 1);
    for (std::int64_t l = 0; l < 2 * i + 1; ++l) weight(l) = ux_.row(l)[row];
    yv_.sum(2 * i + 1, register_of(right), weights_.data(), sums_.data());
    for (std::int64_t l = right; l < a_.columns; ++l) v[l] = a_(row, l) - sums_[static_cast<std::size_t>(l)];
    const Reflection<T> reflection = Reflection<T>::make(a_.columns - right, v + right, 1);
    result.e.push_back(reflection.value);
    T* const x = ux_.row(2 * i + 1);
    multiply_rows(right, v, x);
    yv_.dots(2 * i + 1, register_of(right), v, weights_.data());
    subtract_sum(ux_, 2 * i + 1, right, x);
    for (std::int64_t l = right; l < a_.rows; ++l) x[l] *= reflection.tau;
    return reflection.tau;
  }

  /// to −= Σ weights·rows, from a position on.
  void subtract_sum(PanelRows<T>& rows, std::int64_t count, std::int64_t position, T* to) {
    rows.sum(count, register_of(position), weights_.data(), sums_.data());
    for (std::int64_t l = position; l < rows.from(0).columns; ++l)
      to[l] -= sums_[static_cast<std::size_t>(l)];
  }

  /// y = uᵀ·a for the columns after a column, from its row on.
  void multiply_columns(std::int64_t column, const T* u, T* y) {
    const std::int64_t first = register_of(column + 1), rows = a_.rows - column;
    for_blocks(yv_.filled_length() - first, grain_of(rows), [&](std::int64_t begin, std::int64_t end) {
      gemm_loops<T>().vector_times_rows(rows, end - begin, a_.row(column) + first + begin, a_.stride,
                                        u + column, sums_.data() + first + begin);
    });
    std::copy(sums_.data() + column + 1, sums_.data() + a_.columns, y + column + 1);
  }

  /// x = a·v, from a row on.
  void multiply_rows(std::int64_t row, const T* v, T* x) {
    const std::int64_t first = register_of(row), length = yv_.filled_length() - first;
    for_blocks(a_.rows - row, grain_of(length), [&](std::int64_t begin, std::int64_t end) {
      gemm_loops<T>().rows_times_vector(end - begin, length, a_.row(row + begin) + first, a_.stride,
                                        v + first, x + row + begin);
    });
  }

  /// The number of registers whose products with this many values make a block.
  static std::int64_t grain_of(std::int64_t values) {
    return filled_up(grain_for(static_cast<double>(values) * sizeof(T) / 40));
  }

  /// Rows 0, 2, 4, … as columns.
  static Dense<T> every_second(Block<T> rows) {
    const Block<T> half{rows.values, (rows.rows + 1) / 2, rows.columns, 2 * rows.stride};
    Dense<T> columns(half.columns, half.rows);
    copy_transposed<T>(half, columns.all());
    return columns;
  }

  T& weight(std::int64_t i) { return weights_[static_cast<std::size_t>(i)]; }

  Block<T> a_;
  std::int64_t k_, width_;
  PanelRows<T> ux_, yv_;
  std::vector<T> sums_, weights_;
};

/// The smaller singular value of [f g; 0 h].
template <class T>
T smaller_singular_value(T f, T g, T h) {
  const T low = std::min(std::abs(f), std::abs(h)), high = std::max(std::abs(f), std::abs(h));
  g = std::abs(g);
  if (low == T(0)) return T(0);
  const T sum = 1 + low / high, difference = (high - low) / high;
  if (g < high) {
    const T ratio = (g / high) * (g / high);
    return low * (2 / (std::sqrt(sum * sum + ratio) + std::sqrt(difference * difference + ratio)));
  }
  const T ratio = high / g;
  if (ratio == T(0)) return low * high / g;
  const T first = sum * ratio, second = difference * ratio;
  return 2 * (low / (std::sqrt(1 + first * first) + std::sqrt(1 + second * second))) * ratio;
}

/// The shift; 0 if a shift would lose digits of the small singular values.
template <class T>
T shift_of(const BidiagonalPart<T>& part) {
  for (std::int64_t i = 0; i < part.count; ++i)
    if (part.d[i * part.step] == T(0)) return T(0);
  const std::int64_t last = (part.count - 1) * part.step, before = last - part.step;
  const T shift = smaller_singular_value(part.d[before], part.e[before], part.d[last]);
  const T relative = shift / part.d[0];
  return relative * relative < std::numeric_limits<T>::epsilon() ? T(0) : shift;
}

template <class T>
void step(const BidiagonalPart<T>& part, const typename Rotations<T>::Room& left,
          const typename Rotations<T>::Room& right) {
  rotation_loops<T>().bidiagonal_step(part, shift_of(part), left.c, left.s, right.c, right.s);
}

}  // namespace

template <class T>
Bidiagonal<T> reduce_to_bidiagonal(Block<T> a, bool vectors) {
  Bidiagonal<T> result;
  for (std::int64_t k = 0; k < a.columns; k += reflections_at_once)
    Panel<T>(a, k, std::min(reflections_at_once, a.columns - k)).reduce(result, vectors);
  return result;
}

template <class T>
void iterate_singular_values(std::vector<T>& d, std::vector<T>& e, Rotations<T>& u, Rotations<T>& v) {
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  std::int64_t last = static_cast<std::int64_t>(d.size()) - 1;
  const auto is_small = [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return std::abs(e[at]) <= epsilon * (std::abs(d[at]) + std::abs(d[at + 1])) ||
           std::abs(e[at]) < std::numeric_limits<T>::min();
  };
  for (std::int64_t steps = 60 * (last + 1); last > 0 && steps > 0;) {
    if (is_small(last - 1)) {
      e[static_cast<std::size_t>(--last)] = T(0);
      continue;
    }
    std::int64_t first = last - 1;
    while (first > 0 && !is_small(first - 1)) --first;
    if (--steps % 16 == 0) check_stop();
    const std::int64_t count = last - first + 1;
    T* const top = d.data() + first;
    // From its end where that is the larger one.
    const bool descending = std::abs(*top) < std::abs(d[static_cast<std::size_t>(last)]);
    const auto of_u = u.room(descending ? last : first, count - 1, descending);
    const auto of_v = v.room(descending ? last : first, count - 1, descending);
    if (descending)
      step<T>({d.data() + last, e.data() + last - 1, -1, count}, of_v, of_u);
    else
      step<T>({top, e.data() + first, 1, count}, of_u, of_v);
    u.apply_some();
    v.apply_some();
  }
  u.apply();
  v.apply();
}

#define TAPEDECK_REAL(T)                                       \
  template Bidiagonal<T> reduce_to_bidiagonal(Block<T>, bool); \
  template void iterate_singular_values(std::vector<T>&, std::vector<T>&, Rotations<T>&, Rotations<T>&);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
