#include "engine/cpu/linear_algebra/linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/linear_algebra/blocked.h"

namespace tapedeck::cpu {
namespace {

template <class T>
Block<const T> read(const T* values, std::int64_t rows, std::int64_t columns) {
  return {values, rows, columns, columns};
}
template <class T>
Block<T> write(T* values, std::int64_t rows, std::int64_t columns) {
  return {values, rows, columns, columns};
}

/// a[order] = l·u, in separate memory.
template <class T>
struct Lu {
  Dense<T> packed;
  std::vector<std::int64_t> order;
  int sign;

  Lu(std::int64_t n, const T* a) : packed(n, n), order(static_cast<std::size_t>(n)) {
    copy_block<T>(read(a, n, n), packed.all());
    sign = factor_lu(packed.all(), order.data());
  }
  NumericalFailure zero_pivot() {
    const Block<T> a = packed.all();
    for (std::int64_t i = 0; i < a.rows; ++i)
      if (a(i, i) == T(0)) return {i, 0.0};
    return {};
  }
  Triangle<T> lower(bool transposed) { return {packed.all(), true, true, transposed}; }
  Triangle<T> upper(bool transposed) { return {packed.all(), false, false, transposed}; }
};

constexpr std::int64_t small_cholesky = 24;
constexpr std::int64_t rows_of_square = 256;

/// x = x·l⁻ᵀ, for some rows of x.
template <class T>
void solve_rows(Block<const T> l, Block<T> x) {
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = 0; j < l.rows; ++j) {
      T value = x(i, j);
      for (std::int64_t k = 0; k < j; ++k) value -= x(i, k) * l(j, k);
      x(i, j) = value / l(j, j);
    }
}

/// x = x·l⁻ᵀ
template <class T>
void solve_from_the_right(Block<const T> l, Block<T> x) {
  const std::int64_t n = l.rows;
  if (n <= small_cholesky)
    return for_blocks(
        x.rows, grain_for(static_cast<double>(n * n)),
        [&](std::int64_t begin, std::int64_t end) { solve_rows(l, x.part(begin, 0, end - begin, n)); });
  const std::int64_t first = n / 2;
  const Block<T> left = x.part(0, 0, x.rows, first), right = x.from(0, first);
  solve_from_the_right<T>(l.part(0, 0, first, first), left);
  subtract_product<T>(Sides::second_transposed, left, l.part(first, 0, n - first, first), right);
  solve_from_the_right<T>(l.from(first, first), right);
}

/// The lower triangle of a −= x·xᵀ.
template <class T>
void subtract_square(Block<const T> x, Block<T> a) {
  for (std::int64_t i = 0; i < a.rows; i += rows_of_square) {
    const std::int64_t rows = std::min(rows_of_square, a.rows - i);
    subtract_product<T>(Sides::second_transposed, x.part(i, 0, rows, x.columns),
                        x.part(0, 0, i + rows, x.columns), a.part(i, 0, rows, i + rows));
  }
}

template <class T>
NumericalFailure small_factor(Block<T> a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    T pivot = a(i, i);
    for (std::int64_t k = 0; k < i; ++k) pivot -= a(i, k) * a(i, k);
    if (pivot <= T(0)) return {i, static_cast<double>(pivot)};  // NaN continues, and propagates
    a(i, i) = std::sqrt(pivot);
    for (std::int64_t j = i + 1; j < a.rows; ++j) {
      T value = a(j, i);
      for (std::int64_t k = 0; k < i; ++k) value -= a(j, k) * a(i, k);
      a(j, i) = value / a(i, i);
    }
  }
  return {};
}

/// The lower triangle of a becomes l.
template <class T>
NumericalFailure factor(Block<T> a) {
  const std::int64_t n = a.rows;
  if (n <= small_cholesky) return small_factor(a);
  check_stop();
  const std::int64_t first = n / 2;
  const Block<T> corner = a.part(0, 0, first, first), below = a.part(first, 0, n - first, first);
  if (const NumericalFailure failure = factor(corner)) return failure;
  solve_from_the_right<T>(corner, below);
  subtract_square<T>(below, a.from(first, first));
  NumericalFailure failure = factor(a.from(first, first));
  if (failure) failure.place += first;
  return failure;
}

}  // namespace

template <class T>
NumericalFailure cholesky(std::int64_t n, const T* a, T* l) {
  const Block<T> out = write(l, n, n);
  copy_block<T>(read(a, n, n), out);
  const NumericalFailure failure = factor(out);
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % rows_of_square == 0) check_stop();
    std::fill(out.row(i) + i + 1, out.row(i) + n, T(0));
  }
  return failure;
}

template <class T>
NumericalFailure inverse(std::int64_t n, bool transposed, const T* a, T* out) {
  Lu<T> lu(n, a);
  if (const NumericalFailure failure = lu.zero_pivot()) return failure;
  const Block<T> x = write(out, n, n);
  clear_block(x);
  if (!transposed) {
    for (std::int64_t i = 0; i < n; ++i) x(i, lu.order[static_cast<std::size_t>(i)]) = T(1);
    solve_triangle(lu.lower(false), x);
    solve_triangle(lu.upper(false), x);
    return {};
  }
  Dense<T> unit(n, n);
  const Block<T> y = unit.all();
  for (std::int64_t i = 0; i < n; ++i) y(i, i) = T(1);
  solve_triangle(lu.upper(true), y);
  solve_triangle(lu.lower(true), y);
  for (std::int64_t i = 0; i < n; ++i) std::copy_n(y.row(i), n, x.row(lu.order[static_cast<std::size_t>(i)]));
  return {};
}

template <class T>
NumericalFailure solve(std::int64_t n, std::int64_t m, bool transposed, const T* a, const T* b, T* x) {
  Lu<T> lu(n, a);
  if (const NumericalFailure failure = lu.zero_pivot()) return failure;
  const Block<const T> right = read(b, n, m);
  const Block<T> out = write(x, n, m);
  if (!transposed) {
    for (std::int64_t i = 0; i < n; ++i)
      std::copy_n(right.row(lu.order[static_cast<std::size_t>(i)]), m, out.row(i));
    solve_triangle(lu.lower(false), out);
    solve_triangle(lu.upper(false), out);
    return {};
  }
  Dense<T> ordered(n, m);
  const Block<T> y = ordered.all();
  copy_block<T>(right, y);
  solve_triangle(lu.upper(true), y);
  solve_triangle(lu.lower(true), y);
  for (std::int64_t i = 0; i < n; ++i)
    std::copy_n(y.row(i), m, out.row(lu.order[static_cast<std::size_t>(i)]));
  return {};
}

template <class T>
NumericalFailure triangular_solve(std::int64_t n, std::int64_t m, bool lower, bool transposed, const T* a,
                                  const T* b, T* x) {
  for (std::int64_t i = 0; i < n; ++i)
    if (a[i * n + i] == T(0)) return {i, 0.0};
  copy_block<T>(read(b, n, m), write(x, n, m));
  solve_triangle<T>({read(a, n, n), lower, false, transposed}, write(x, n, m));
  return {};
}

template <class T>
T determinant(std::int64_t n, const T* a) {
  Lu<T> lu(n, a);
  T product = static_cast<T>(lu.sign);
  for (std::int64_t i = 0; i < n; ++i) product *= lu.packed.all()(i, i);
  return product;
}

template <class T>
void log_determinant(std::int64_t n, const T* a, T* sign, T* log) {
  *log = T(0);
  Lu<T> lu(n, a);
  *sign = static_cast<T>(lu.sign);
  for (std::int64_t i = 0; i < n; ++i) {
    const T pivot = lu.packed.all()(i, i);
    *log += std::log(std::abs(pivot));
    // 0 times what an earlier pivot made NaN is NaN; the sign 0 has none itself.
    *sign = pivot == T(0) ? std::abs(*sign * T(0)) : pivot < T(0) ? -*sign : pivot > T(0) ? *sign : pivot;
  }
  if (*sign == T(0)) *sign = T(0);
}

template <class T>
NumericalFailure lu(std::int64_t n, const T* a, T* packed, std::int64_t* order) {
  Lu<T> decomposition(n, a);
  if (const NumericalFailure failure = decomposition.zero_pivot()) return failure;
  copy_block<T>(decomposition.packed.all(), write(packed, n, n));
  std::copy(decomposition.order.begin(), decomposition.order.end(), order);
  return {};
}

#define TAPEDECK_REAL(T)                                                                                 \
  template NumericalFailure cholesky(std::int64_t, const T*, T*);                                        \
  template NumericalFailure inverse(std::int64_t, bool, const T*, T*);                                   \
  template NumericalFailure solve(std::int64_t, std::int64_t, bool, const T*, const T*, T*);             \
  template NumericalFailure triangular_solve(std::int64_t, std::int64_t, bool, bool, const T*, const T*, \
                                             T*);                                                        \
  template T determinant(std::int64_t, const T*);                                                        \
  template void log_determinant(std::int64_t, const T*, T*, T*);                                         \
  template NumericalFailure lu(std::int64_t, const T*, T*, std::int64_t*);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
