// Truncated Taylor series: a value and its derivatives in one number.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace tapedeck::cpu {

/// f(a + ε) = Σ cₖ·εᵏ up to k = order; the k-th derivative is k!·cₖ. Arithmetic drops higher terms. Source:
/// Griewank and Walther, Evaluating Derivatives (2008), table 13.1.
template <std::size_t order>
struct Taylor {
  std::array<double, order + 1> c{};

  Taylor(double value = 0.0) { c[0] = value; }
  /// a + ε itself.
  static Taylor variable(double value) {
    Taylor x(value);
    if constexpr (order > 0) x.c[1] = 1.0;
    return x;
  }

  friend Taylor operator+(Taylor a, const Taylor& b) {
    for (std::size_t k = 0; k <= order; ++k) a.c[k] += b.c[k];
    return a;
  }
  friend Taylor operator-(Taylor a, const Taylor& b) {
    for (std::size_t k = 0; k <= order; ++k) a.c[k] -= b.c[k];
    return a;
  }
  friend Taylor operator*(const Taylor& a, const Taylor& b) {
    Taylor product;
    for (std::size_t k = 0; k <= order; ++k)
      for (std::size_t i = 0; i <= k; ++i) product.c[k] += a.c[i] * b.c[k - i];
    return product;
  }
  friend Taylor operator/(const Taylor& a, const Taylor& b) {
    Taylor quotient;
    for (std::size_t k = 0; k <= order; ++k) {
      double rest = a.c[k];
      for (std::size_t i = 0; i < k; ++i) rest -= quotient.c[i] * b.c[k - i];
      quotient.c[k] = rest / b.c[0];
    }
    return quotient;
  }
};

template <std::size_t order>
Taylor<order> log(const Taylor<order>& x) {
  Taylor<order> result(std::log(x.c[0]));
  for (std::size_t k = 1; k <= order; ++k) {
    double rest = static_cast<double>(k) * x.c[k];
    for (std::size_t i = 1; i < k; ++i) rest -= static_cast<double>(i) * result.c[i] * x.c[k - i];
    result.c[k] = rest / (static_cast<double>(k) * x.c[0]);
  }
  return result;
}

template <std::size_t order>
Taylor<order> sqrt(const Taylor<order>& x) {
  Taylor<order> result(std::sqrt(x.c[0]));
  for (std::size_t k = 1; k <= order; ++k) {
    double rest = x.c[k];
    for (std::size_t i = 1; i < k; ++i) rest -= result.c[i] * result.c[k - i];
    result.c[k] = rest / (2.0 * result.c[0]);
  }
  return result;
}

/// The series of f' from that of f.
template <std::size_t order>
Taylor<order - 1> derivative(const Taylor<order>& x) {
  Taylor<order - 1> result;
  for (std::size_t k = 1; k <= order; ++k) result.c[k - 1] = static_cast<double>(k) * x.c[k];
  return result;
}

/// The same series with fewer terms.
template <std::size_t less, std::size_t order>
Taylor<less> shortened(const Taylor<order>& x) {
  Taylor<less> result;
  for (std::size_t k = 0; k <= less; ++k) result.c[k] = x.c[k];
  return result;
}

}  // namespace tapedeck::cpu
