#include "engine/cpu/linear_algebra/reflectors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cpu/blocks.h"
#include "engine/cpu/linear_algebra/linear_algebra.h"

namespace tapedeck::cpu {
namespace {

/// One column after another, of a panel in separate memory. The columns become their vectors.
template <class T>
std::vector<T> reflect_columns(Block<T> a, Block<T> r) {
  std::vector<T> taus, sums(static_cast<std::size_t>(a.columns));
  for (std::int64_t j = 0; j < a.columns; ++j) {
    check_stop();
    const auto reflection = Reflection<T>::make(a.rows - j, a.row(j) + j, a.stride);
    taus.push_back(reflection.tau);
    // The columns behind it: c −= tau·v·(vᵀ·c).
    const auto first = static_cast<std::size_t>(j) + 1;
    std::fill(sums.begin(), sums.end(), T(0));
    for (std::int64_t i = j; i < a.rows; ++i)
      for (std::size_t k = first; k < sums.size(); ++k) sums[k] += a(i, j) * a.row(i)[k];
    for (std::size_t k = first; k < sums.size(); ++k) sums[k] *= reflection.tau;
    for (std::int64_t i = j; i < a.rows; ++i)
      for (std::size_t k = first; k < sums.size(); ++k) a.row(i)[k] -= a(i, j) * sums[k];
    for (std::int64_t i = 0; i < j; ++i) {
      r(i, j) = a(i, j);
      a(i, j) = T(0);
    }
    r(j, j) = reflection.value;
    for (std::int64_t i = j + 1; i < r.rows; ++i) r(i, j) = T(0);
  }
  return taus;
}

}  // namespace

template <class T>
Reflection<T> Reflection<T>::make(std::int64_t count, T* x, std::int64_t step) {
  const T first = x[0];
  x[0] = T(1);
  T largest = T(0);
  bool any = false;
  for (std::int64_t i = 1; i < count; ++i) {
    largest = std::max(largest, std::abs(x[i * step]));
    any = any || x[i * step] != T(0);
  }
  if (!any) return {T(0), first};
  largest = std::max(largest, std::abs(first));
  T sum = (first / largest) * (first / largest);
  for (std::int64_t i = 1; i < count; ++i) sum += (x[i * step] / largest) * (x[i * step] / largest);
  const T length = largest * std::sqrt(sum);
  const T value = first >= T(0) ? -length : length;
  for (std::int64_t i = 1; i < count; ++i) x[i * step] /= first - value;
  return {(value - first) / value, value};
}

template <class T>
Reflectors<T>::Reflectors(Dense<T> v, const std::vector<T>& taus)
    : v_(std::move(v)), t_(static_cast<std::int64_t>(taus.size()), static_cast<std::int64_t>(taus.size())) {
  const auto n = static_cast<std::int64_t>(taus.size());
  Dense<T> products(n, n);
  const Block<T> t = t_.all(), p = products.all();
  if (n > 0) set_product<T>(Sides::first_transposed, v_.all(), v_.all(), p);
  for (std::int64_t j = 0; j < n; ++j) {
    t(j, j) = taus[static_cast<std::size_t>(j)];
    for (std::int64_t i = 0; i < j; ++i) {
      T sum = T(0);
      for (std::int64_t k = i; k < j; ++k) sum += t(i, k) * p(k, j);
      t(i, j) = -t(j, j) * sum;
    }
  }
}

template <class T>
void Reflectors<T>::apply(bool transposed, Block<T> c) {
  const Block<T> v = v_.all();
  if (c.columns == 0 || v.columns == 0) return;
  Dense<T> first(v.columns, c.columns), second(v.columns, c.columns);
  set_product<T>(Sides::first_transposed, v, c, first.all());
  set_product<T>(transposed ? Sides::first_transposed : Sides::as_they_are, t_.all(), first.all(),
                 second.all());
  subtract_product<T>(Sides::as_they_are, v, second.all(), c);
}

template <class T>
std::vector<Reflectors<T>> factor_qr(Block<T> a) {
  std::vector<Reflectors<T>> q;
  const std::int64_t steps = std::min(a.rows, a.columns);
  for (std::int64_t k = 0; k < steps; k += reflections_at_once) {
    const std::int64_t width = std::min(reflections_at_once, steps - k);
    const Block<T> panel = a.part(k, k, a.rows - k, width);
    Dense<T> copied(panel.rows, width);
    copy_block<T>(panel, copied.all());
    const std::vector<T> taus = reflect_columns<T>(copied.all(), panel);
    q.emplace_back(std::move(copied), taus);
    q.back().apply(true, a.from(k, k + width));
  }
  return q;
}

template <class T>
void write_q(std::vector<Reflectors<T>>& q, std::int64_t offset, Block<T> c) {
  clear_block(c);
  for (std::int64_t i = 0; i < c.columns; ++i) c(i, i) = T(1);
  for (auto i = static_cast<std::int64_t>(q.size()) - 1; i >= 0; --i) {
    const std::int64_t at = i * reflections_at_once + offset;
    q[static_cast<std::size_t>(i)].apply(false, c.from(at, std::min(at, c.columns)));
  }
}

template <class T>
void qr(std::int64_t m, std::int64_t n, bool full, const T* a, T* q, T* r) {
  const std::int64_t least = std::min(m, n);
  const std::int64_t columns = full ? m : least;
  const Block<T> orthogonal{q, m, columns, columns}, triangle{r, columns, n, n};
  if (!std::all_of(a, a + m * n, [](T x) { return std::isfinite(x); })) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    std::fill_n(q, m * columns, nan);
    clear_block(triangle);
    for (std::int64_t i = 0; i < least; ++i) std::fill(triangle.row(i) + i, triangle.row(i) + n, nan);
    return;
  }
  Dense<T> copied(m, n);
  copy_block<T>({a, m, n, n}, copied.all());
  std::vector<Reflectors<T>> reflectors = factor_qr<T>(copied.all());
  write_q<T>(reflectors, 0, orthogonal);
  clear_block(triangle);
  copy_block<T>(copied.all().part(0, 0, least, n), triangle);
}

#define TAPEDECK_REAL(T)                                                      \
  template struct Reflection<T>;                                              \
  template class Reflectors<T>;                                               \
  template std::vector<Reflectors<T>> factor_qr(Block<T>);                    \
  template void write_q(std::vector<Reflectors<T>>&, std::int64_t, Block<T>); \
  template void qr(std::int64_t, std::int64_t, bool, const T*, T*, T*);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
