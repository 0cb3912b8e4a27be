#include "engine/cpu/bidiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cpu/blocks.h"

namespace tapedeck::cpu {
namespace {

template <class T>
using Vector = std::vector<T>;

template <class T>
Block<T> as_column(Vector<T>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size()), 1, 1};
}

/// The first `count` columns of a tall matrix, from a row on.
template <class T>
struct Columns {
  Block<T> part;
  Columns(Dense<T>& matrix, std::int64_t row, std::int64_t count)
      : part(matrix.all().part(row, 0, matrix.all().rows - row, count)) {}

  /// columnsᵀ·x
  Vector<T> dots(const Vector<T>& x) const {
    Vector<T> sums(static_cast<std::size_t>(part.columns), T(0));
    for (std::int64_t i = 0; i < part.rows; ++i) {
      const T* row = part.row(i);
      const T factor = x[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += factor * row[k];
    }
    return sums;
  }
  /// x −= columns·weights
  void subtract_from(Vector<T>& x, const T* weights) const {
    for (std::int64_t i = 0; i < part.rows; ++i) {
      const T* row = part.row(i);
      T sum = T(0);
      for (std::int64_t k = 0; k < part.columns; ++k) sum += row[k] * weights[k];
      x[static_cast<std::size_t>(i)] -= sum;
    }
  }
};

/// Some columns and rows of a, whose reflections are u's and v's; what is left to do of them for the rest is
/// a −= u·yᵀ + x·vᵀ (Dongarra, Hammarling and Sorensen 1989, "Block reduction of matrices to condensed forms
/// for eigenvalue computations", J. Comput. Appl. Math. 27).
template <class T>
class Panel {
 public:
  Panel(Block<T> a, std::int64_t width)
      : a_(a), u_(a.rows, width), x_(a.rows, width), v_(a.columns, width), y_(a.columns, width) {}

  void reduce(Bidiagonal<T>& result, bool vectors) {
    Vector<T> of_u, of_v;
    for (std::int64_t i = 0; i < u_.all().columns; ++i) {
      check_stop();
      of_u.push_back(reduce_column(i, result));
      of_v.push_back(i + 1 < a_.columns ? reduce_row(i, result) : T(0));
    }
    update_rest();
    if (!vectors) return;
    result.u.emplace_back(std::move(u_), of_u);
    if (a_.columns == 1) return;
    Dense<T> below(a_.columns - 1, v_.all().columns);  // their first row is 0
    copy_block<T>(v_.all().from(1, 0), below.all());
    result.v.emplace_back(std::move(below), of_v);
  }

 private:
  T reduce_column(std::int64_t i, Bidiagonal<T>& result) {
    Vector<T> column;
    for (std::int64_t row = i; row < a_.rows; ++row) column.push_back(a_(row, i));
    Columns<T>(u_, i, i).subtract_from(column, y_.all().row(i));
    Columns<T>(x_, i, i).subtract_from(column, v_.all().row(i));
    const Reflection<T> reflection = Reflection<T>::make(a_.rows - i, column.data(), 1);
    result.d.push_back(reflection.value);
    for (std::int64_t row = i; row < a_.rows; ++row)
      u_.all()(row, i) = column[static_cast<std::size_t>(row - i)];
    if (i + 1 == a_.columns) return reflection.tau;
    Vector<T> y(static_cast<std::size_t>(a_.columns - i - 1));
    set_product<T>(Sides::first_transposed, a_.from(i, i + 1), as_column(column), as_column(y));
    Columns<T>(y_, i + 1, i).subtract_from(y, Columns<T>(u_, i, i).dots(column).data());
    Columns<T>(v_, i + 1, i).subtract_from(y, Columns<T>(x_, i, i).dots(column).data());
    for (std::size_t k = 0; k < y.size(); ++k)
      y_.all()(i + 1 + static_cast<std::int64_t>(k), i) = reflection.tau * y[k];
    return reflection.tau;
  }

  T reduce_row(std::int64_t i, Bidiagonal<T>& result) {
    Vector<T> row(a_.row(i) + i + 1, a_.row(i) + a_.columns);
    Columns<T>(y_, i + 1, i + 1).subtract_from(row, u_.all().row(i));
    Columns<T>(v_, i + 1, i).subtract_from(row, x_.all().row(i));
    const Reflection<T> reflection =
        Reflection<T>::make(static_cast<std::int64_t>(row.size()), row.data(), 1);
    result.e.push_back(reflection.value);
    for (std::size_t k = 0; k < row.size(); ++k) v_.all()(i + 1 + static_cast<std::int64_t>(k), i) = row[k];
    if (i + 1 == a_.rows) return reflection.tau;
    Vector<T> x(static_cast<std::size_t>(a_.rows - i - 1));
    set_product<T>(Sides::as_they_are, a_.from(i + 1, i + 1), as_column(row), as_column(x));
    Columns<T>(u_, i + 1, i + 1).subtract_from(x, Columns<T>(y_, i + 1, i + 1).dots(row).data());
    Columns<T>(x_, i + 1, i).subtract_from(x, Columns<T>(v_, i + 1, i).dots(row).data());
    for (std::size_t k = 0; k < x.size(); ++k)
      x_.all()(i + 1 + static_cast<std::int64_t>(k), i) = reflection.tau * x[k];
    return reflection.tau;
  }

  void update_rest() {
    const std::int64_t width = u_.all().columns;
    const Block<T> rest = a_.from(width, width);
    subtract_product<T>(Sides::second_transposed, u_.all().from(width, 0), y_.all().from(width, 0), rest);
    subtract_product<T>(Sides::second_transposed, x_.all().from(width, 0), v_.all().from(width, 0), rest);
  }

  Block<T> a_;
  Dense<T> u_, x_, v_, y_;
};

/// A block of a bidiagonal matrix, read from its end where that is the larger one: then it is the transposed
/// matrix, with rows and columns in reverse.
template <class T>
struct Part {
  T* d;
  T* e;
  std::int64_t step, count;
  T& diagonal(std::int64_t i) const { return d[i * step]; }
  T& above(std::int64_t i) const { return e[i * step]; }
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

/// The shift; 0 where one would cost the small singular values their digits.
template <class T>
T shift_of(const Part<T>& part) {
  for (std::int64_t i = 0; i < part.count; ++i)
    if (part.diagonal(i) == T(0)) return T(0);
  const std::int64_t last = part.count - 1;
  const T shift = smaller_singular_value(part.diagonal(last - 1), part.above(last - 1), part.diagonal(last));
  const T relative = shift / part.diagonal(0);
  return relative * relative < std::numeric_limits<T>::epsilon() ? T(0) : shift;
}

/// Demmel and Kahan 1990, "Accurate singular values of bidiagonal matrices", SIAM J. Sci. Stat. Comput.
/// 11(5).
template <class T>
void step_without_shift(const Part<T>& part, Rotations<T>& left, Rotations<T>& right) {
  T c = T(1), before_c = T(1), before_s = T(0);
  const std::int64_t last = part.count - 1;
  for (std::int64_t i = 0; i < last; ++i) {
    const auto first = Rotation<T>::of(part.diagonal(i) * c, part.above(i));
    if (i > 0) part.above(i - 1) = before_s * first.r;
    const auto second = Rotation<T>::of(before_c * first.r, part.diagonal(i + 1) * first.s);
    part.diagonal(i) = second.r;
    right.add(first.c, first.s);
    left.add(second.c, second.s);
    c = first.c;
    before_c = second.c;
    before_s = second.s;
  }
  const T end = part.diagonal(last) * c;
  part.diagonal(last) = end * before_c;
  part.above(last - 1) = end * before_s;
}

/// Golub and Kahan's step (Golub and Van Loan, "Matrix computations", algorithm 8.6.1).
template <class T>
void step_with_shift(const Part<T>& part, T shift, Rotations<T>& left, Rotations<T>& right) {
  const T start = part.diagonal(0);
  T f = (std::abs(start) - shift) * (std::copysign(T(1), start) + shift / start), g = part.above(0);
  const std::int64_t last = part.count - 1;
  for (std::int64_t i = 0; i < last; ++i) {
    const auto first = Rotation<T>::of(f, g);
    if (i > 0) part.above(i - 1) = first.r;
    f = first.c * part.diagonal(i) + first.s * part.above(i);
    part.above(i) = first.c * part.above(i) - first.s * part.diagonal(i);
    g = first.s * part.diagonal(i + 1);
    part.diagonal(i + 1) *= first.c;
    const auto second = Rotation<T>::of(f, g);
    part.diagonal(i) = second.r;
    f = second.c * part.above(i) + second.s * part.diagonal(i + 1);
    part.diagonal(i + 1) = second.c * part.diagonal(i + 1) - second.s * part.above(i);
    if (i + 1 < last) {
      g = second.s * part.above(i + 1);
      part.above(i + 1) *= second.c;
    }
    right.add(first.c, first.s);
    left.add(second.c, second.s);
  }
  part.above(last - 1) = f;
}

template <class T>
void step(const Part<T>& part, Rotations<T>& left, Rotations<T>& right) {
  const T shift = shift_of(part);
  if (shift == T(0))
    step_without_shift(part, left, right);
  else
    step_with_shift(part, shift, left, right);
}

}  // namespace

template <class T>
Bidiagonal<T> reduce_to_bidiagonal(Block<T> a, bool vectors) {
  Bidiagonal<T> result;
  for (std::int64_t k = 0; k < a.columns; k += reflections_at_once)
    Panel<T>(a.from(k, k), std::min(reflections_at_once, a.columns - k)).reduce(result, vectors);
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
    if (std::abs(*top) >= std::abs(d[static_cast<std::size_t>(last)])) {
      u.start(first);
      v.start(first);
      step<T>({top, e.data() + first, 1, count}, u, v);
    } else {
      u.start(last, true);
      v.start(last, true);
      step<T>({d.data() + last, e.data() + last - 1, -1, count}, v, u);
    }
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
