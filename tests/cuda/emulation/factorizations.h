// Factorisations of column-major matrices with LAPACK's conventions, by the simplest algorithms. Where LAPACK
// leaves results open they deliberately differ from the engine's CPU kernels: signs, the other triangle,
// elements after a failure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace emulation {

template <class T>
struct ColumnMajor {
  T* values;
  std::int64_t stride;
  T& operator()(std::int64_t i, std::int64_t j) const { return values[j * stride + i]; }
  T* column(std::int64_t j) const { return values + j * stride; }
};

/// The upper triangle becomes U with A = Uᵀ·U. Returns LAPACK's info; on failure the rest is overwritten.
template <class T>
int factor_positive(std::int64_t n, T* values, std::int64_t lda) {
  const ColumnMajor<T> a{values, lda};
  for (std::int64_t j = 0; j < n; ++j) {
    T pivot = a(j, j);
    for (std::int64_t k = 0; k < j; ++k) pivot -= a(k, j) * a(k, j);
    if (!(pivot > T(0))) {
      for (std::int64_t column = j; column < n; ++column) std::fill_n(a.column(column), column + 1, T(-7e7));
      return static_cast<int>(j) + 1;
    }
    a(j, j) = std::sqrt(pivot);
    for (std::int64_t i = j + 1; i < n; ++i) {
      T value = a(j, i);
      for (std::int64_t k = 0; k < j; ++k) value -= a(k, j) * a(k, i);
      a(j, i) = value / a(j, j);
    }
  }
  return 0;
}

/// LU by partial pivoting; pivots from 1. Continues past pivots of 0, and returns the first one. The real
/// library reports a single NaN as 0, and makes it 0.
template <class T, class Pivot>
int eliminate(std::int64_t m, std::int64_t n, T* values, std::int64_t lda, Pivot* pivots) {
  const ColumnMajor<T> a{values, lda};
  int info = 0;
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < m; ++i)
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    pivots[k] = static_cast<Pivot>(best + 1);
    if (m == 1 && n == 1 && a(0, 0) != a(0, 0)) a(0, 0) = T(0);
    if (a(best, k) == T(0)) {
      if (info == 0) info = static_cast<int>(k) + 1;
      continue;
    }
    for (std::int64_t j = 0; best != k && j < n; ++j) std::swap(a(k, j), a(best, j));
    for (std::int64_t i = k + 1; i < m; ++i) a(i, k) /= a(k, k);
    for (std::int64_t j = k + 1; j < n; ++j)
      for (std::int64_t i = k + 1; i < m; ++i) a(i, j) -= a(i, k) * a(k, j);
  }
  return info;
}

/// Householder's reflections: the value has the opposite sign of the first element.
template <class T>
void reflect(std::int64_t m, std::int64_t n, T* values, std::int64_t lda, T* taus) {
  const ColumnMajor<T> a{values, lda};
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    T below = T(0);
    for (std::int64_t i = k + 1; i < m; ++i) below = std::hypot(below, a(i, k));
    taus[k] = T(0);
    if (below == T(0)) continue;
    const T first = a(k, k), length = std::hypot(first, below);
    const T value = first < T(0) ? length : -length, difference = first - value;
    taus[k] = -difference / value;
    for (std::int64_t i = k + 1; i < m; ++i) a(i, k) /= difference;
    a(k, k) = value;
    for (std::int64_t j = k + 1; j < n; ++j) {
      T along = a(k, j);
      for (std::int64_t i = k + 1; i < m; ++i) along += a(i, k) * a(i, j);
      along *= taus[k];
      a(k, j) -= along;
      for (std::int64_t i = k + 1; i < m; ++i) a(i, j) -= along * a(i, k);
    }
  }
}

/// The first n columns of the product of k reflections.
template <class T>
void multiply_reflections(std::int64_t m, std::int64_t n, std::int64_t k, T* values, std::int64_t lda,
                          const T* taus) {
  const ColumnMajor<T> a{values, lda};
  std::vector<T> product(static_cast<std::size_t>(m * n), T(0));
  const ColumnMajor<T> q{product.data(), m};
  for (std::int64_t j = 0; j < n; ++j) q(j, j) = T(1);
  for (std::int64_t p = k - 1; p >= 0; --p)
    for (std::int64_t j = 0; j < n; ++j) {
      T along = q(p, j);
      for (std::int64_t i = p + 1; i < m; ++i) along += a(i, p) * q(i, j);
      along *= taus[p];
      q(p, j) -= along;
      for (std::int64_t i = p + 1; i < m; ++i) q(i, j) -= along * a(i, p);
    }
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(q.column(j), m, a.column(j));
}

/// The rotation (c, s) that makes a symmetric 2 × 2 matrix [a b; b d] diagonal.
template <class T>
std::pair<T, T> diagonalizing(T a, T b, T d) {
  const T zeta = (d - a) / (T(2) * b);
  const T t = (zeta >= T(0) ? T(1) : T(-1)) / (std::abs(zeta) + std::hypot(T(1), zeta));
  const T c = T(1) / std::hypot(T(1), t);
  return {c, c * t};
}
template <class T>
void rotate(std::int64_t count, T* x, T* y, std::int64_t step, T c, T s) {
  for (std::int64_t i = 0; i < count * step; i += step) {
    const T first = x[i];
    x[i] = c * first - s * y[i];
    y[i] = s * first + c * y[i];
  }
}

constexpr int most_sweeps = 60;

/// Jacobi rotations of the matrix whose upper triangle is in A; vectors replace it, ascending, every second
/// one negated. Returns 1 if it does not converge.
template <class T>
int diagonalize(bool vectors, std::int64_t n, T* values, std::int64_t lda, T* eigenvalues) {
  const ColumnMajor<T> a{values, lda};
  std::vector<T> rotated(static_cast<std::size_t>(n * n), T(0)), full = rotated;
  const ColumnMajor<T> v{rotated.data(), n}, b{full.data(), n};
  for (std::int64_t j = 0; j < n; ++j) {
    v(j, j) = T(1);
    for (std::int64_t i = 0; i <= j; ++i) b(i, j) = b(j, i) = a(i, j);
  }
  bool changed = true;
  for (int sweep = 0; changed && sweep < most_sweeps; ++sweep) {
    changed = false;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) {
        const T size = std::abs(b(i, i)) + std::abs(b(j, j)) + std::numeric_limits<T>::min();
        if (std::abs(b(i, j)) <= std::numeric_limits<T>::epsilon() * size / T(16)) continue;
        changed = true;
        const auto [c, s] = diagonalizing(b(i, i), b(i, j), b(j, j));
        rotate(n, b.column(i), b.column(j), 1, c, s);
        rotate(n, b.values + i, b.values + j, n, c, s);
        b(i, j) = b(j, i) = T(0);
        rotate(n, v.column(i), v.column(j), 1, c, s);
      }
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return b(i, i) < b(j, j); });
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    eigenvalues[j] = b(from, from);
    for (std::int64_t i = 0; i < n; ++i) a(i, j) = !vectors ? T(-7e7) : j % 2 == 1 ? -v(i, from) : v(i, from);
  }
  return changed ? 1 : 0;
}

/// Fills columns [from, to) of a with unit vectors that are orthogonal to all before them.
template <class T>
void complete(std::int64_t m, std::int64_t from, std::int64_t to, const ColumnMajor<T>& a) {
  std::int64_t next = m - 1;
  for (std::int64_t j = from; j < to;) {
    T* x = a.column(j);
    std::fill_n(x, m, T(0));
    x[next--] = T(1);
    for (int twice = 0; twice < 2; ++twice)
      for (std::int64_t k = 0; k < j; ++k) {
        const T along = std::inner_product(x, x + m, a.column(k), T(0));
        for (std::int64_t i = 0; i < m; ++i) x[i] -= along * a.column(k)[i];
      }
    const T length = std::sqrt(std::inner_product(x, x + m, x, T(0)));
    if (length < T(0.5) / std::sqrt(static_cast<T>(m))) continue;  // it was dependent on the others
    for (std::int64_t i = 0; i < m; ++i) x[i] /= length;
    ++j;
  }
}

/// Hestenes' rotations of the columns of A, m ≥ n: A = U·diag(s)·Vᵀ. U has `columns` columns, or none; every
/// second pair of vectors is negated. Destroys A.
template <class T>
void decompose(std::int64_t m, std::int64_t n, T* values, std::int64_t lda, T* s, std::int64_t columns, T* u,
               std::int64_t ldu, T* v, std::int64_t ldv, bool transposed) {
  const ColumnMajor<T> a{values, lda}, to_u{u, ldu}, to_v{v, ldv};
  std::vector<T> rotated(static_cast<std::size_t>(n * n), T(0));
  const ColumnMajor<T> w{rotated.data(), n};
  for (std::int64_t j = 0; j < n; ++j) w(j, j) = T(1);
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  const auto product = [&](std::int64_t i, std::int64_t j) {
    return std::inner_product(a.column(i), a.column(i) + m, a.column(j), T(0));
  };
  bool changed = true;
  for (int sweep = 0; changed && sweep < most_sweeps; ++sweep) {
    changed = false;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) {
        const T first = product(i, i), both = product(i, j), second = product(j, j);
        if (std::abs(both) <= epsilon * std::sqrt(first * second) || both == T(0)) continue;
        changed = true;
        const auto [c, turn] = diagonalizing(first, both, second);
        rotate(m, a.column(i), a.column(j), 1, c, turn);
        rotate(n, w.column(i), w.column(j), 1, c, turn);
      }
  }
  std::vector<T> lengths(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j) lengths[static_cast<std::size_t>(j)] = std::sqrt(product(j, j));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto length = [&](std::int64_t j) { return lengths[static_cast<std::size_t>(j)]; };
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return length(i) > length(j); });
  const T least = n == 0 ? T(0) : length(order[0]) * epsilon * static_cast<T>(n);
  std::int64_t rank = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    s[j] = length(from);
    if (columns == 0) continue;
    const T sign = j % 2 == 1 ? T(-1) : T(1);
    for (std::int64_t i = 0; i < n; ++i) (transposed ? to_v(j, i) : to_v(i, j)) = sign * w(i, from);
    if (s[j] <= least) continue;
    ++rank;
    for (std::int64_t i = 0; i < m; ++i) to_u(i, j) = sign * a(i, from) / s[j];
  }
  if (columns > 0) complete(m, rank, columns, to_u);
}

}  // namespace emulation
