// Bessel functions of the orders 0 and 1 for GPUs, under the names of cpu/loops/bessel.h, whose library does
// not run there. Accurate to about 1e-15 of the value; those of the first and second kind, which are CUDA's,
// to about 1e-15 of their amplitude.
#pragma once

#include <math.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "engine/tensor/device_code.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

/// 1 + Σ ∏ (4ν² − (2j − 1)²) / (8j·x), the common series of Hankel's expansions (DLMF 10.40.1 and 10.40.2;
/// for the first kind of −x).
constexpr double hankel_from = 30.0;  // 16 terms are exact then
TAPEDECK_DEVICE inline double hankel_series(int order, double x) {
  double term = 1.0, sum = 1.0;
  for (int j = 1; j <= 16 && std::fabs(term) > 1e-18; ++j) {
    const double odd = 2 * j - 1;
    term *= (4.0 * order - odd * odd) / (8.0 * j * x);
    sum += term;
  }
  return sum;
}

/// Σ (x²/4)ᵏ / (k!·(k + ν)!), times (x/2)ᵛ: DLMF 10.25.2. All terms have one sign.
TAPEDECK_DEVICE inline double bessel_i_series(int order, double x) {
  const double square = 0.25 * x * x;
  double term = 1.0, sum = 1.0;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= square / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return order == 1 ? 0.5 * x * sum : sum;
}

TAPEDECK_DEVICE inline double bessel_i(int order, bool scaled, double x) {
  if (x != x) return x;
  const double size = std::fabs(x);
  double value = 0.0;
  if (size <= hankel_from) {
    value = bessel_i_series(order, size) * (scaled ? std::exp(-size) : 1.0);
  } else if (size == std::numeric_limits<double>::infinity()) {
    value = scaled ? 0.0 : size;
  } else {
    value = hankel_series(order, -size) / (std::sqrt(2.0 * std::numbers::pi) * std::sqrt(size));
    const double half =
        scaled ? 1.0 : std::exp(0.5 * size);  // the exponential may overflow where the result does not
    value = value * half * half;
  }
  return order == 1 ? std::copysign(value, x) : value;
}

/// DLMF 10.31.1 and 10.31.2, for 0 < x ≤ 1.
TAPEDECK_DEVICE inline double bessel_k_series(int order, double x) {
  const double square = 0.25 * x * x;
  const double logarithm = std::log(x) - std::numbers::ln2;
  double term = 1.0, harmonic = 0.0, sum = 0.0;  // ψ(k + 1) is harmonic − γ
  for (int k = 0; k < 12; ++k) {
    if (k > 0) {
      term *= square / (static_cast<double>(k) * (k + order));
      harmonic += 1.0 / k;
    }
    const double psi = harmonic - std::numbers::egamma;
    sum += term * (order == 0 ? psi : 0.5 * (psi + psi + 1.0 / (k + 1)));
  }
  if (order == 0) return sum - logarithm * bessel_i_series(0, x);
  return 1.0 / x + (logarithm * bessel_i_series(1, x) - 0.5 * x * sum);
}

/// ∫ exp(−x·(cosh t − 1))·cosh(νt) dt (DLMF 10.32.9) by the trapezoidal rule, whose error falls
/// exponentially: K times eˣ.
TAPEDECK_DEVICE inline double bessel_k_integral(int order, double x) {
  const double width = 1.0 / std::sqrt(x);
  const double step = 0.6 * width < 0.2 ? 0.6 * width : 0.2;
  double sum = 0.5;
  for (int i = 1;; ++i) {
    const double t = step * i, half = std::sinh(0.5 * t);
    const double term = std::exp(-2.0 * x * half * half) * (order == 1 ? std::cosh(t) : 1.0);
    sum += term;
    if (term < 1e-18) return sum * step;
  }
}

TAPEDECK_DEVICE inline double bessel_k(int order, bool scaled, double x) {
  if (x != x || x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return std::numeric_limits<double>::infinity();
  if (x == std::numeric_limits<double>::infinity()) return 0.0;
  if (x <= 1.0) return bessel_k_series(order, x) * (scaled ? std::exp(x) : 1.0);
  const double grown = x > hankel_from
                           ? hankel_series(order, x) * std::sqrt(std::numbers::pi / 2.0) / std::sqrt(x)
                           : bessel_k_integral(order, x);
  return scaled ? grown : grown * std::exp(-x);
}

TAPEDECK_DEVICE inline double bessel_j(int order, double x) {
  if (order == 1 && std::fabs(x) < 1e-150) return 0.5 * x;
  return order == 0 ? ::j0(x) : ::j1(x);
}
TAPEDECK_DEVICE inline double bessel_y(int order, double x) {
  if (x != x || x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  return order == 0 ? ::y0(x) : ::y1(x);
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
