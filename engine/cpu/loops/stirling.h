// Factors of the gamma function that keep their digits for large arguments.
#pragma once

#include <cmath>
#include <numbers>

#include "engine/tensor/device_code.h"

namespace tapedeck::cpu {

/// λ − 1 − ln λ for λ = 1 + μ > 0. Near 1 by ln λ = 2·artanh(h), h = μ/(2 + μ), so that nothing cancels.
TAPEDECK_DEVICE inline double log_excess(double lambda, double mu) {
  if (std::abs(mu) > 0.5) return lambda - 1.0 - std::log(lambda);
  const double h = mu / (2.0 + mu);
  const double t = h * h;
  double sum = 0.0;
  for (int k = 18; k >= 0; --k) sum = sum * t + 1.0 / (2 * k + 3);
  return 2.0 * t * (1.0 / (1.0 - h) - h * sum);
}

/// Γ*(z) = Γ(z) / (√(2π/z)·(z/e)ᶻ) for z > 0, from 10 on by Stirling's series (DLMF 5.11.1).
TAPEDECK_DEVICE inline double scaled_gamma(double z) {
  constexpr double series[] = {1.0 / 156,  -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                               1.0 / 1260, -1.0 / 360,      1.0 / 12};
  if (z < 10.0)  // Γ(z + 1) is finite where Γ(z) is not
    return std::tgamma(z + 1.0) * std::exp(z - z * std::log(z)) / std::sqrt(2.0 * std::numbers::pi * z);
  const double inverse = 1.0 / z;
  double sum = 0.0;
  for (const double factor : series) sum = sum * inverse * inverse + factor;
  return std::exp(sum * inverse);
}

/// xᵃ·e⁻ˣ / Γ(a + 1), for a ≥ 0 and x > 0: of a whole a, the probability of a under Poisson's distribution.
TAPEDECK_DEVICE inline double poisson_probability(double a, double x) {
  if (a < 10.0) {
    const double half = std::exp(-0.5 * x);  // in two parts: the power may be as large as the other is small
    if (half == 0.0) return 0.0;
    return half * std::pow(x, a) * half / std::tgamma(a + 1.0);
  }
  return std::exp(-a * log_excess(x / a, (x - a) / a)) /
         (std::sqrt(2.0 * std::numbers::pi * a) * scaled_gamma(a));
}

}  // namespace tapedeck::cpu
