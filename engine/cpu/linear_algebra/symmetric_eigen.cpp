#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/linear_algebra/blocked.h"
#include "engine/cpu/linear_algebra/column_signs.h"
#include "engine/cpu/linear_algebra/linear_algebra.h"
#include "engine/cpu/linear_algebra/panel_rows.h"
#include "engine/cpu/linear_algebra/reflectors.h"
#include "engine/cpu/linear_algebra/rotations.h"

namespace tapedeck::cpu {
namespace {

/// a = q·t·qᵀ with t tridiagonal, d on its diagonal and e beside it.
template <class T>
struct Tridiagonal {
  std::vector<T> d, e;
  std::vector<Reflectors<T>> q;  ///< of panels, each of which starts one row below its first column
};

/// The columns [k, k + width) of a symmetric matrix, whose rows are filled up: v are their reflections'
/// vectors and w what is left to do of them for the rest, a −= v·wᵀ + w·vᵀ. They are rows here, v and w in
/// turn.
template <class T>
class Panel {
 public:
  Panel(Block<T> a, std::int64_t k, std::int64_t width)
      : a_(a),
        k_(k),
        width_(width),
        rows_(2 * width, a.rows),
        x_(static_cast<std::size_t>(rows_.filled_length())),
        sums_(x_.size()),
        weights_(static_cast<std::size_t>(2 * width)) {}

  void reduce(Tridiagonal<T>& result, std::vector<T>& taus) {
    for (std::int64_t j = 0; j < width_; ++j) {
      check_stop_at(k_ + j, a_.rows);
      reduce_column(j, result, taus);
    }
  }

  void update_rest() {
    const Block<T> left = rows_.from(k_ + width_);
    if (left.columns == 0) return;
    Dense<T> right(left.rows, left.columns);
    for (std::int64_t i = 0; i < left.rows; ++i)
      std::copy_n(left.row(i ^ 1), left.columns, right.all().row(i));
    subtract_product<T>(Sides::first_transposed, left, right.all(), a_.from(k_ + width_, k_ + width_));
  }

  /// As columns, from row k + 1 of a on.
  Dense<T> vectors() {
    const Block<T> rows = rows_.from(k_ + 1);
    Dense<T> columns(rows.columns, width_);
    const Block<T> every_second{rows.values, width_, rows.columns, 2 * rows.stride};
    copy_transposed<T>(every_second, columns.all());
    return columns;
  }

 private:
  void reduce_column(std::int64_t j, Tridiagonal<T>& result, std::vector<T>& taus) {
    const std::int64_t column = k_ + j, n = a_.rows;
    T* const v = rows_.row(2 * j);
    std::copy_n(a_.row(column) + column, n - column, v + column);  // a is symmetric
    if (j > 0) {
      for (std::int64_t i = 0; i < 2 * j; ++i) weight(i) = rows_.row(i ^ 1)[column];
      rows_.sum(2 * j, register_of(column), weights_.data(), sums_.data());
      for (std::int64_t i = column; i < n; ++i) v[i] -= sums_[static_cast<std::size_t>(i)];
    }
    result.d.push_back(v[column]);
    v[column] = T(0);
    const Reflection<T> reflection = Reflection<T>::make(n - column - 1, v + column + 1, 1);
    result.e.push_back(reflection.value);
    taus.push_back(reflection.tau);
    finish_column(j, reflection.tau);
  }

  /// w = tau·(a·v − v·(wᵀ·v) − w·(vᵀ·v)), less what of it lies along v, by halves.
  void finish_column(std::int64_t j, T tau) {
    const std::int64_t below = k_ + j + 1, first = register_of(below), n = a_.rows;
    const T* const v = rows_.row(2 * j);
    T* const w = rows_.row(2 * j + 1);
    multiply(below, v);
    for (std::int64_t i = below; i < n; ++i) w[i] = x_[static_cast<std::size_t>(i)];
    if (j > 0) {
      rows_.dots(2 * j, first, v, weights_.data());
      for (std::int64_t i = 0; i < 2 * j; i += 2) std::swap(weight(i), weight(i + 1));
      rows_.sum(2 * j, first, weights_.data(), sums_.data());
      for (std::int64_t i = below; i < n; ++i) w[i] -= sums_[static_cast<std::size_t>(i)];
    }
    T along = T(0);
    for (std::int64_t i = below; i < n; ++i) {
      w[i] *= tau;
      along += w[i] * v[i];
    }
    const T half = tau * along / 2;
    for (std::int64_t i = below; i < n; ++i) w[i] -= half * v[i];
  }

  /// x = a·v, from a row on: v's sum of a's rows, which are its columns.
  void multiply(std::int64_t row, const T* v) {
    const std::int64_t first = register_of(row), rows = a_.rows - row;
    const std::int64_t grain = filled_up(grain_for(static_cast<double>(rows) * sizeof(T) / 40));
    for_blocks(rows_.filled_length() - first, grain, [&](std::int64_t begin, std::int64_t end) {
      gemm_loops<T>().vector_times_rows(rows, end - begin, a_.row(row) + first + begin, a_.stride, v + row,
                                        x_.data() + first + begin);
    });
  }

  T& weight(std::int64_t i) { return weights_[static_cast<std::size_t>(i)]; }

  Block<T> a_;
  std::int64_t k_, width_;
  PanelRows<T> rows_;
  std::vector<T> x_, sums_, weights_;
};

/// Destroys a, of which both triangles are read, and whose rows are filled up (Dongarra, Hammarling and
/// Sorensen 1989, "Block reduction of matrices to condensed forms for eigenvalue computations", J. Comput.
/// Appl. Math. 27).
template <class T>
Tridiagonal<T> reduce(Block<T> a, bool vectors) {
  Tridiagonal<T> result;
  for (std::int64_t k = 0; k + 1 < a.rows; k += reflections_at_once) {
    Panel<T> panel(a, k, std::min(reflections_at_once, a.rows - 1 - k));
    std::vector<T> taus;
    panel.reduce(result, taus);
    panel.update_rest();
    if (vectors) result.q.emplace_back(panel.vectors(), taus);
  }
  result.d.push_back(a(a.rows - 1, a.rows - 1));
  return result;
}

/// Wilkinson's, of the last two rows.
template <class T>
T shift_of(const std::vector<T>& d, const std::vector<T>& e, std::size_t last) {
  const T half = (d[last - 1] - d[last]) / 2, corner = e[last - 1];
  if (half == T(0)) return d[last] - std::abs(corner);
  const T root = std::hypot(half, corner);
  return d[last] - corner * (corner / (half + (half > T(0) ? root : -root)));
}

/// d becomes the eigenvalues. False where the iteration does not converge.
template <class T>
bool iterate(std::vector<T>& d, std::vector<T>& e, Rotations<T>& rotations) {
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  std::int64_t steps = 60 * static_cast<std::int64_t>(d.size());
  std::size_t last = d.size() - 1;
  while (last > 0) {
    const auto is_small = [&](std::size_t i) {
      return std::abs(e[i]) <= epsilon * (std::abs(d[i]) + std::abs(d[i + 1])) ||
             std::abs(e[i]) < std::numeric_limits<T>::min();
    };
    if (is_small(last - 1)) {
      e[--last] = T(0);
      continue;
    }
    std::size_t first = last - 1;
    while (first > 0 && !is_small(first - 1)) --first;
    if (steps-- == 0) return false;
    if (steps % 16 == 0) check_stop();
    const auto count = static_cast<std::int64_t>(last - first + 1);
    const auto [c, s] = rotations.room(static_cast<std::int64_t>(first), count - 1);
    rotation_loops<T>().symmetric_step(d.data() + first, e.data() + first, count, shift_of(d, e, last), c, s);
    rotations.apply_some();
  }
  rotations.apply();
  return true;
}

/// The symmetric matrix whose lower triangle a has, divided by a scale, and that scale.
template <class T>
T mirrored(Block<const T> a, Block<T> to) {
  T largest = T(0);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j <= i; ++j) largest = std::max(largest, std::abs(a(i, j)));
  const T scale = scale_of(largest), factor = 1 / scale;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    check_stop_at(i, a.rows);
    for (std::int64_t j = 0; j <= i; ++j) to(i, j) = a(i, j) * factor;
    for (std::int64_t j = i + 1; j < a.rows; ++j) to(i, j) = a(j, i) * factor;
  }
  return scale;
}

template <class T>
void fill_nan(T* values, std::int64_t count) {
  if (values) std::fill_n(values, count, std::numeric_limits<T>::quiet_NaN());
}

}  // namespace

template <class T>
bool symmetric_eigen(std::int64_t n, const T* a, T* e, T* v) {
  if (n == 0) return true;
  for (std::int64_t row = 0; row < n; ++row)
    if (!std::all_of(a + row * n, a + row * n + row + 1, [](T x) { return std::isfinite(x); })) {
      fill_nan(e, n);
      fill_nan(v, n * n);
      return true;
    }
  FilledMatrix<T> copied(n, n);
  const T scale = mirrored<T>({a, n, n, n}, copied.all());
  Tridiagonal<T> t = reduce(copied.all(), v != nullptr);
  Dense<T> columns(v ? n : 0, v ? n : 0);
  if (v) {
    const Block<T> q = copied.all();
    write_q<T>(t.q, 1, q);
    copy_transposed<T>(q, columns.all());
  }
  Rotations<T> rotations(columns.all());
  if (!iterate(t.d, t.e, rotations)) return false;
  std::vector<std::size_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return t.d[i] < t.d[j]; });
  for (std::size_t i = 0; i < order.size(); ++i) e[i] = t.d[order[i]] * scale;
  if (!v) return true;
  for (std::size_t i = 0; i < order.size(); ++i)
    std::copy_n(columns.all().row(static_cast<std::int64_t>(order[i])), n,
                copied.all().row(static_cast<std::int64_t>(i)));
  const Block<T> vectors{v, n, n, n};
  copy_transposed<T>(copied.all(), vectors);
  turn_columns(vectors, column_signs<T>(vectors));
  return true;
}

template bool symmetric_eigen(std::int64_t, const float*, float*, float*);
template bool symmetric_eigen(std::int64_t, const double*, double*, double*);

}  // namespace tapedeck::cpu
