#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/cpu/blocked.h"
#include "engine/cpu/blocks.h"
#include "engine/cpu/column_signs.h"
#include "engine/cpu/linear_algebra.h"
#include "engine/cpu/reflectors.h"
#include "engine/cpu/rotations.h"

namespace tapedeck::cpu {
namespace {

/// a = q·t·qᵀ with t tridiagonal, d on its diagonal and e beside it.
template <class T>
struct Tridiagonal {
  std::vector<T> d, e;
  std::vector<Reflectors<T>> q;  ///< of panels, each of which starts one row below its first column
};

/// The columns [k, k + width) of a symmetric matrix: v are their reflections' vectors and w what is left to
/// do of them for the rest, a −= v·wᵀ + w·vᵀ. Rows of both begin at row k + 1 of a.
template <class T>
class Panel {
 public:
  Panel(Block<T> a, std::int64_t k, std::int64_t width)
      : a_(a), k_(k), v_(a.rows - k - 1, width), w_(a.rows - k - 1, width) {}

  void reduce(Tridiagonal<T>& result, std::vector<T>& taus) {
    for (std::int64_t j = 0; j < v_.all().columns; ++j) {
      check_stop();
      reduce_column(j, result, taus);
    }
  }

  void update_rest() {
    const std::int64_t width = v_.all().columns, rows = v_.all().rows - width + 1;
    Dense<T> left(rows, 2 * width), right(rows, 2 * width);
    const Block<T> v = v_.all().from(width - 1, 0), w = w_.all().from(width - 1, 0);
    copy_block<T>(v, left.all().part(0, 0, rows, width));
    copy_block<T>(w, left.all().from(0, width));
    copy_block<T>(w, right.all().part(0, 0, rows, width));
    copy_block<T>(v, right.all().from(0, width));
    subtract_product<T>(Sides::second_transposed, left.all(), right.all(), a_.from(k_ + width, k_ + width));
  }

  Dense<T> take_vectors() { return std::move(v_); }

 private:
  void reduce_column(std::int64_t j, Tridiagonal<T>& result, std::vector<T>& taus) {
    const std::int64_t column = k_ + j, n = a_.rows;
    const Block<T> v = v_.all(), w = w_.all();
    std::vector<T> x(a_.row(column) + column, a_.row(column) + n);  // a is symmetric
    for (std::int64_t i = 0; j > 0 && i < n - column; ++i)
      for (std::int64_t l = 0; l < j; ++l)
        x[static_cast<std::size_t>(i)] -= v(j - 1 + i, l) * w(j - 1, l) + w(j - 1 + i, l) * v(j - 1, l);
    result.d.push_back(x[0]);
    const std::int64_t below = n - column - 1;
    const Reflection<T> reflection = Reflection<T>::make(below, x.data() + 1, 1);
    result.e.push_back(reflection.value);
    taus.push_back(reflection.tau);
    for (std::int64_t i = 0; i < below; ++i) v(j + i, j) = x[static_cast<std::size_t>(i) + 1];
    finish_column(j, below, reflection.tau, x);
  }

  /// w = tau·(a·v − v·(wᵀ·v) − w·(vᵀ·v)), less what of it lies along v, by halves.
  void finish_column(std::int64_t j, std::int64_t below, T tau, std::vector<T>& x) {
    const std::int64_t column = k_ + j;
    const Block<T> v = v_.all(), w = w_.all();
    std::vector<T> product(static_cast<std::size_t>(below)), of_w(static_cast<std::size_t>(j)), of_v = of_w;
    set_product<T>(Sides::as_they_are, a_.from(column + 1, column + 1), {x.data() + 1, below, 1, 1},
                   {product.data(), below, 1, 1});
    for (std::int64_t i = 0; i < below; ++i)
      for (std::int64_t l = 0; l < j; ++l) {
        of_w[static_cast<std::size_t>(l)] += w(j + i, l) * v(j + i, j);
        of_v[static_cast<std::size_t>(l)] += v(j + i, l) * v(j + i, j);
      }
    T along = T(0);
    for (std::int64_t i = 0; i < below; ++i) {
      T value = product[static_cast<std::size_t>(i)];
      for (std::int64_t l = 0; l < j; ++l)
        value -=
            v(j + i, l) * of_w[static_cast<std::size_t>(l)] + w(j + i, l) * of_v[static_cast<std::size_t>(l)];
      w(j + i, j) = tau * value;
      along += w(j + i, j) * v(j + i, j);
    }
    for (std::int64_t i = 0; i < below; ++i) w(j + i, j) -= tau * along / 2 * v(j + i, j);
  }

  Block<T> a_;
  std::int64_t k_;
  Dense<T> v_, w_;
};

/// Destroys a, of which both triangles are read (Dongarra, Hammarling and Sorensen 1989, "Block reduction of
/// matrices to condensed forms for eigenvalue computations", J. Comput. Appl. Math. 27).
template <class T>
Tridiagonal<T> reduce(Block<T> a, bool vectors) {
  Tridiagonal<T> result;
  for (std::int64_t k = 0; k + 1 < a.rows; k += reflections_at_once) {
    Panel<T> panel(a, k, std::min(reflections_at_once, a.rows - 1 - k));
    std::vector<T> taus;
    panel.reduce(result, taus);
    panel.update_rest();
    if (vectors) result.q.emplace_back(panel.take_vectors(), taus);
  }
  result.d.push_back(a(a.rows - 1, a.rows - 1));
  return result;
}

/// One step of the QR algorithm with Wilkinson's shift on rows [first, last] (Golub and Van Loan, "Matrix
/// computations", algorithm 8.3.2).
template <class T>
void qr_step(std::vector<T>& d, std::vector<T>& e, std::size_t first, std::size_t last,
             Rotations<T>& rotations) {
  const T half = (d[last - 1] - d[last]) / 2, corner = e[last - 1];
  const T root = std::hypot(half, corner);
  const T shift = half == T(0) ? d[last] - std::abs(corner)
                               : d[last] - corner * (corner / (half + (half > T(0) ? root : -root)));
  T x = d[first] - shift, z = e[first];
  rotations.start(static_cast<std::int64_t>(first));
  for (std::size_t k = first; k < last; ++k) {
    const auto [c, s, r] = Rotation<T>::of(x, z);
    if (k > first) e[k - 1] = r;
    const T upper = c * d[k] + s * e[k], middle = c * e[k] + s * d[k + 1];
    const T crossed = c * e[k] - s * d[k], lower = c * d[k + 1] - s * e[k];
    d[k] = c * upper + s * middle;
    d[k + 1] = c * lower - s * crossed;
    e[k] = c * crossed + s * lower;
    if (k + 1 < last) {
      x = e[k];
      z = s * e[k + 1];
      e[k + 1] *= c;
    }
    rotations.add(c, s);
  }
  rotations.apply_some();
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
    qr_step(d, e, first, last, rotations);
  }
  rotations.apply();
  return true;
}

/// The symmetric matrix whose lower triangle a has, its largest value 1, and that value.
template <class T>
T mirrored(Block<const T> a, Block<T> to) {
  T largest = T(0);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j <= i; ++j) largest = std::max(largest, std::abs(a(i, j)));
  const T scale = largest == T(0) ? T(1) : largest;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    check_stop();
    for (std::int64_t j = 0; j <= i; ++j) to(i, j) = a(i, j) / scale;
    for (std::int64_t j = i + 1; j < a.rows; ++j) to(i, j) = a(j, i) / scale;
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
  Dense<T> copied(n, n);
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
