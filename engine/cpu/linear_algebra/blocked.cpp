#include "engine/cpu/linear_algebra/blocked.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/cpu/blocks.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t small_product = 1 << 13;  ///< multiplications: less than packing costs
constexpr std::int64_t small_triangle = 24;
constexpr std::int64_t narrow_panel = 12;

/// Calls `body(row)` for the rows of a.
template <class T, class Body>
void for_rows(const Block<T>& a, Body&& body) {
  for_blocks(a.rows, grain_for(0.3 * static_cast<double>(a.columns + 1)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) body(i);
             });
}

/// Half of a count, in whole vectors if possible.
std::int64_t half_of(std::int64_t count) {
  const std::int64_t half = count / 2;
  return half >= 16 ? half / 16 * 16 : half;
}

template <class T>
MatmulSize size_of(Sides sides, const Block<const T>& a, const Block<const T>& b, const Block<T>& c) {
  const bool turned = sides == Sides::first_transposed;
  return {c.rows,   c.columns, turned ? a.rows : a.columns, turned, sides == Sides::second_transposed,
          a.stride, b.stride};
}

template <class T>
void subtract_small(const MatmulSize& size, Block<const T> a, Block<const T> b, Block<T> c) {
  for (std::int64_t i = 0; i < size.m; ++i) {
    T* out = c.row(i);
    for (std::int64_t p = 0; p < size.k; ++p) {
      const T left = size.transpose_a ? a(p, i) : a(i, p);
      if (size.transpose_b)
        for (std::int64_t j = 0; j < size.n; ++j) out[j] -= left * b(j, p);
      else
        for (std::int64_t j = 0; j < size.n; ++j) out[j] -= left * b(p, j);
    }
  }
}

/// Row by row of the small triangle `a`, for some columns of x.
template <class T>
void solve_small(const Triangle<T>& a, Block<T> x) {
  const std::int64_t n = x.rows;
  const bool forward = a.lower != a.transposed;
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return a.transposed ? a.values(j, i) : a.values(i, j);
  };
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = forward ? step : n - 1 - step;
    T* row = x.row(i);
    for (std::int64_t k = forward ? 0 : i + 1; k < (forward ? i : n); ++k) {
      const T factor = at(i, k);
      const T* other = x.row(k);
      for (std::int64_t j = 0; j < x.columns; ++j) row[j] -= factor * other[j];
    }
    if (a.unit) continue;
    const T pivot = at(i, i);
    for (std::int64_t j = 0; j < x.columns; ++j) row[j] /= pivot;
  }
}

template <class T>
void swap_rows(Block<T> a, std::int64_t i, std::int64_t j) {
  if (i != j) std::swap_ranges(a.row(i), a.row(i) + a.columns, a.row(j));
}

/// The elimination of a few columns, in separate memory: `exchanged[i]` is the row that row i was exchanged
/// with.
template <class T>
void factor_panel(Block<T> panel, std::int64_t* exchanged) {
  Dense<T> copied(panel.rows, panel.columns);
  const Block<T> a = copied.all();
  copy_block<T>(panel, a);
  for (std::int64_t k = 0; k < a.columns; ++k) {
    std::int64_t best = k;  // or the first NaN, which a pivot of 0 would lose
    for (std::int64_t i = k + 1; i < a.rows && !std::isnan(a(best, k)); ++i)
      if (!(std::abs(a(i, k)) <= std::abs(a(best, k)))) best = i;
    exchanged[k] = best;
    swap_rows(a, k, best);
    const T pivot = a(k, k);
    if (pivot == T(0)) continue;
    const T* pivots = a.row(k);
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      T* row = a.row(i);
      const T factor = row[k] /= pivot;
      for (std::int64_t j = k + 1; j < a.columns; ++j) row[j] -= factor * pivots[j];
    }
  }
  copy_block<T>(a, panel);
}

/// Toledo 1997, "Locality of reference in LU decomposition with partial pivoting", SIAM J. Matrix Anal. Appl.
/// 18(4): the left half of the columns, its effect on the right half, and the rest of that.
template <class T>
void factor_columns(Block<T> a, std::int64_t* exchanged) {
  const std::int64_t steps = std::min(a.rows, a.columns);
  if (a.columns <= narrow_panel || steps <= narrow_panel) {
    check_stop();
    const std::int64_t width = std::min(a.columns, steps);
    factor_panel(a.part(0, 0, a.rows, width), exchanged);
    if (width == a.columns) return;
    const Block<T> right = a.part(0, width, a.rows, a.columns - width);
    for (std::int64_t k = 0; k < width; ++k) swap_rows(right, k, exchanged[k]);
    return solve_triangle<T>({a.part(0, 0, width, width), true, true, false},
                             right.part(0, 0, width, right.columns));
  }
  const std::int64_t left = half_of(steps);
  factor_columns(a.part(0, 0, a.rows, left), exchanged);
  const Block<T> right = a.part(0, left, a.rows, a.columns - left);
  for (std::int64_t k = 0; k < left; ++k) swap_rows(right, k, exchanged[k]);
  const Block<T> top = right.part(0, 0, left, right.columns);
  solve_triangle<T>({a.part(0, 0, left, left), true, true, false}, top);
  const Block<T> rest = right.from(left, 0);
  subtract_product<T>(Sides::as_they_are, a.part(left, 0, a.rows - left, left), top, rest);
  factor_columns(rest, exchanged + left);
  for (std::int64_t k = left; k < steps; ++k) {
    exchanged[k] += left;
    swap_rows(a.part(0, 0, a.rows, left), k, exchanged[k]);
  }
}

}  // namespace

template <class T>
void clear_block(Block<T> a) {
  for_rows(a, [&](std::int64_t i) { std::fill_n(a.row(i), a.columns, T(0)); });
}

template <class T>
void copy_block(Block<const T> from, Block<T> to) {
  for_rows(from, [&](std::int64_t i) { std::copy_n(from.row(i), from.columns, to.row(i)); });
}

template <class T>
void copy_transposed(Block<const T> from, Block<T> to) {
  constexpr std::int64_t tile = 32;
  for_blocks((from.rows + tile - 1) / tile, grain_for(static_cast<double>(from.columns * tile)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t j = 0; j < from.columns; j += tile)
                 for (std::int64_t i = begin * tile; i < std::min(from.rows, end * tile); ++i)
                   for (std::int64_t k = j; k < std::min(from.columns, j + tile); ++k) to(k, i) = from(i, k);
             });
}

template <class T>
void set_product(Sides sides, Block<const T> a, Block<const T> b, Block<T> c) {
  gemm(size_of(sides, a, b, c), a.values, b.values, false, c.values, c.stride);
}

template <class T>
void subtract_product(Sides sides, Block<const T> a, Block<const T> b, Block<T> c) {
  const MatmulSize size = size_of(sides, a, b, c);
  if (size.m == 0 || size.n == 0 || size.k == 0) return;
  if (size.m * size.n * size.k <= small_product) return subtract_small(size, a, b, c);
  if (size.m == 1 || size.n == 1) {
    Dense<T> product(c.rows, c.columns);
    set_product<T>(sides, a, b, product.all());
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t j = 0; j < c.columns; ++j) c(i, j) -= product.all()(i, j);
    return;
  }
  // Products add; the smaller operand is negated.
  const bool first = a.rows * a.columns <= b.rows * b.columns;
  const Block<const T>& smaller = first ? a : b;
  Dense<T> negated(smaller.rows, smaller.columns);
  const Block<T> negative = negated.all();
  for (std::int64_t i = 0; i < smaller.rows; ++i)
    std::transform(smaller.row(i), smaller.row(i) + smaller.columns, negative.row(i), std::negate<T>());
  const Block<const T> left = first ? Block<const T>(negative) : a;
  const Block<const T> right = first ? b : Block<const T>(negative);
  gemm(size_of(sides, left, right, c), left.values, right.values, true, c.values, c.stride);
}

template <class T>
void solve_triangle(const Triangle<T>& a, Block<T> x) {
  const std::int64_t n = x.rows;
  if (n == 0 || x.columns == 0) return;
  if (n <= small_triangle)
    return for_blocks(
        x.columns, std::max<std::int64_t>(16, grain_for(static_cast<double>(n * n) / 4)),
        [&](std::int64_t begin, std::int64_t end) { solve_small(a, x.part(0, begin, n, end - begin)); });
  const std::int64_t first = half_of(n);
  const Block<const T> v = a.values;
  const Block<T> top = x.part(0, 0, first, x.columns), bottom = x.from(first, 0);
  const Triangle<T> upper_part{v.part(0, 0, first, first), a.lower, a.unit, a.transposed};
  const Triangle<T> lower_part{v.part(first, first, n - first, n - first), a.lower, a.unit, a.transposed};
  const Block<const T> between =
      a.lower ? v.part(first, 0, n - first, first) : v.part(0, first, first, n - first);
  const Sides sides = a.transposed ? Sides::first_transposed : Sides::as_they_are;
  if (a.lower != a.transposed) {
    solve_triangle(upper_part, top);
    subtract_product<T>(sides, between, top, bottom);
    solve_triangle(lower_part, bottom);
  } else {
    solve_triangle(lower_part, bottom);
    subtract_product<T>(sides, between, bottom, top);
    solve_triangle(upper_part, top);
  }
}

template <class T>
int factor_lu(Block<T> a, std::int64_t* order) {
  std::vector<std::int64_t> exchanged(static_cast<std::size_t>(std::min(a.rows, a.columns)));
  factor_columns(a, exchanged.data());
  std::iota(order, order + a.rows, std::int64_t{0});
  int sign = 1;
  for (std::size_t k = 0; k < exchanged.size(); ++k) {
    std::swap(order[k], order[exchanged[k]]);
    if (exchanged[k] != static_cast<std::int64_t>(k)) sign = -sign;
  }
  return sign;
}

#define TAPEDECK_REAL(T)                                                           \
  template void clear_block(Block<T>);                                             \
  template void copy_block(Block<const T>, Block<T>);                              \
  template void copy_transposed(Block<const T>, Block<T>);                         \
  template void set_product(Sides, Block<const T>, Block<const T>, Block<T>);      \
  template void subtract_product(Sides, Block<const T>, Block<const T>, Block<T>); \
  template void solve_triangle(const Triangle<T>&, Block<T>);                      \
  template int factor_lu(Block<T>, std::int64_t*);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
