#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/cpu/linear_algebra/bidiagonal.h"
#include "engine/cpu/linear_algebra/column_signs.h"
#include "engine/cpu/linear_algebra/linear_algebra.h"
#include "engine/cpu/linear_algebra/panel_rows.h"
#include "engine/cpu/parallel.h"

namespace tapedeck::cpu {
namespace {

template <class T>
bool all_finite(const T* values, std::int64_t count) {
  return std::all_of(values, values + count, [](T x) { return std::isfinite(x); });
}
template <class T>
void fill_nan(T* values, std::int64_t count) {
  if (values) std::fill_n(values, count, std::numeric_limits<T>::quiet_NaN());
}
template <class T>
void set_identity(T* values, std::int64_t rows, std::int64_t columns) {
  if (!values) return;
  std::fill_n(values, rows * columns, T(0));
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) values[i * columns + i] = T(1);
}

/// a = u·diag(s)·vᵀ for a with at least as many rows as columns. The vectors are rows here: uᵀ and vᵀ.
template <class T>
class Decomposition {
 public:
  /// Destroys a, a FilledMatrix. `columns`: of u; 0 for singular values alone.
  Decomposition(Block<T> a, std::int64_t columns)
      : u_(columns, columns > 0 ? a.rows : 0), v_(columns > 0 ? a.columns : 0, columns > 0 ? a.columns : 0) {
    Bidiagonal<T> b = reduce_to_bidiagonal(a, columns > 0);
    s_ = std::move(b.d);
    if (columns > 0) {
      write_rows(b.u, 0, u_.all());
      write_rows(b.v, 1, v_.all());
    }
    Rotations<T> left(u_.all()), right(v_.all());
    iterate_singular_values(s_, b.e, left, right);
    order_.resize(s_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t i, std::size_t j) { return std::abs(s_[i]) > std::abs(s_[j]); });
  }

  void write_values(T scale, T* to) const {
    for (std::size_t i = 0; i < order_.size(); ++i) to[i] = std::abs(s_[order_[i]]) * scale;
  }
  void write_u(Block<T> to) { write(u_.all(), false, to); }
  void write_v(Block<T> to) { write(v_.all(), true, to); }

 private:
  static void write_rows(std::vector<Reflectors<T>>& q, std::int64_t offset, Block<T> to) {
    Dense<T> columns(to.columns, to.rows);
    write_q<T>(q, offset, columns.all());
    copy_transposed<T>(columns.all(), to);
  }
  /// In the order of the singular values, which are positive where those of v turn round.
  void write(Block<T> rows, bool turns, Block<T> to) {
    Dense<T> ordered(rows.rows, rows.columns);
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::size_t from = at < order_.size() ? order_[at] : at;
      const T sign = turns && from < s_.size() && s_[from] < T(0) ? T(-1) : T(1);
      std::transform(rows.row(static_cast<std::int64_t>(from)),
                     rows.row(static_cast<std::int64_t>(from)) + rows.columns, ordered.all().row(i),
                     [=](T x) { return sign * x; });
    }
    copy_transposed<T>(ordered.all(), to);
  }

  std::vector<T> s_;
  std::vector<std::size_t> order_;
  Dense<T> u_, v_;
};

/// The same of a taller matrix: by that of r, of a = q·r.
template <class T>
void decompose_tall(Block<T> a, T scale, T* s, Block<T> u, Block<T> v) {
  const std::int64_t n = a.columns;
  std::vector<Reflectors<T>> q = factor_qr(a);
  FilledMatrix<T> r(n, n);
  copy_block<T>(a.part(0, 0, n, n), r.all());
  Decomposition<T> parts(r.all(), v.values ? n : 0);
  parts.write_values(scale, s);
  if (!v.values) return;
  parts.write_v(v);
  set_identity(u.values, u.rows, u.columns);
  parts.write_u(u.part(0, 0, n, n));
  for (auto i = static_cast<std::int64_t>(q.size()) - 1; i >= 0; --i)
    q[static_cast<std::size_t>(i)].apply(false, u.from(i * reflections_at_once, 0));
}

/// For a with at least as many rows as columns.
template <class T>
void decompose(Block<T> a, T scale, T* s, Block<T> u, Block<T> v) {
  if (a.rows > a.columns + a.columns / 2) return decompose_tall(a, scale, s, u, v);
  Decomposition<T> parts(a, v.values ? u.columns : 0);
  parts.write_values(scale, s);
  if (!v.values) return;
  parts.write_u(u);
  parts.write_v(v);
}

}  // namespace

template <class T>
void svd(std::int64_t m, std::int64_t n, bool full, const T* a, T* s, T* u, T* v) {
  const std::int64_t least = std::min(m, n);
  const std::int64_t columns_of_u = full ? m : least, columns_of_v = full ? n : least;
  if (least == 0) {
    set_identity(u, m, columns_of_u);
    set_identity(v, n, columns_of_v);
    return;
  }
  if (!all_finite(a, m * n)) {
    fill_nan(s, least);
    fill_nan(u, m * columns_of_u);
    fill_nan(v, n * columns_of_v);
    return;
  }
  T largest = T(0);
  for (std::int64_t i = 0; i < m * n; ++i) largest = std::max(largest, std::abs(a[i]));
  const T scale = scale_of(largest), factor = 1 / scale;
  const bool tall = m >= n;
  FilledMatrix<T> copied(tall ? m : n, tall ? n : m);
  if (tall)
    copy_block<T>({a, m, n, n}, copied.all());
  else
    copy_transposed<T>({a, m, n, n}, copied.all());
  for (std::int64_t i = 0; i < copied.all().rows; ++i) {
    check_stop_at(i, least);
    for (std::int64_t j = 0; j < least; ++j) copied.all()(i, j) *= factor;
  }
  const Block<T> left{u, m, columns_of_u, columns_of_u}, right{v, n, columns_of_v, columns_of_v};
  decompose(copied.all(), scale, s, tall ? left : right, tall ? right : left);
  if (!u) return;
  // Both vectors of a singular value turn together; the others, each by itself.
  const std::vector<T> signs = column_signs<T>(left);
  turn_columns(left, signs);
  if (columns_of_v == least) return turn_columns(right, {signs.begin(), signs.begin() + least});
  std::vector<T> others = column_signs<T>(right);
  std::copy_n(signs.begin(), least, others.begin());
  turn_columns(right, others);
}

template <class T>
void pseudo_inverse(std::int64_t m, std::int64_t n, double rcond, const T* a, T* out) {
  if (m == 0 || n == 0) return;
  if (!all_finite(a, m * n)) return fill_nan(out, m * n);
  const std::int64_t least = std::min(m, n);
  std::vector<T> s(static_cast<std::size_t>(least));
  Dense<T> u(m, least), v(n, least);
  svd(m, n, false, a, s.data(), u.all().values, v.all().values);
  const T limit = static_cast<T>(rcond) * s[0];
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < least; ++k) {
      const T value = s[static_cast<std::size_t>(k)];
      v.all()(i, k) = value > limit ? v.all()(i, k) / value : T(0);
    }
  set_product<T>(Sides::second_transposed, v.all(), u.all(), {out, n, m, m});
}

#define TAPEDECK_REAL(T)                                                     \
  template void svd(std::int64_t, std::int64_t, bool, const T*, T*, T*, T*); \
  template void pseudo_inverse(std::int64_t, std::int64_t, double, const T*, T*);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
