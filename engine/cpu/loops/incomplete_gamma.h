// The regularized incomplete gamma function and its density, one element at a time; NaN outside of the
// domain.
//
// P by its power series (DLMF 8.11.4), Q by its continued fraction (8.9.2); where both are long, for large a
// and x near a, Temme's uniform expansion (8.12.3). Where P is near 1 and x small, Q has a series of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/cpu/loops/incomplete_tables.h"
#include "engine/cpu/loops/stirling.h"

namespace tapedeck::cpu {
namespace gamma_parts {

constexpr double epsilon = 0x1p-54;
constexpr int most_terms = 1'000'000;  ///< never reached: a few hundred suffice
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// P = xᵃ·e⁻ˣ/Γ(a + 1)·Σ xⁿ / ((a + 1)…(a + n)).
TAPEDECK_DEVICE inline double lower_series(double a, double x) {
  double term = 1.0, sum = 1.0;
  for (int n = 1; n < most_terms && term > epsilon * sum; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return std::min(1.0, poisson_probability(a, x) * sum);
}

/// Q = xᵃ·e⁻ˣ/Γ(a)·1/(x + 1 − a − 1(1 − a)/(x + 3 − a − …)), by Lentz's method.
TAPEDECK_DEVICE inline double upper_fraction(double a, double x) {
  double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, fraction = d;
  for (int n = 1; n < most_terms; ++n) {
    const double numerator = n * (a - n);
    b += 2.0;
    d = 1.0 / (numerator * d + b);
    c = b + numerator / c;
    const double factor = c * d;
    fraction *= factor;
    if (std::abs(factor - 1.0) < epsilon) break;
  }
  return a * poisson_probability(a, x) * fraction;
}

/// ln Γ(1 + a) for |a| ≤ ½ (DLMF 5.7.3): relative accuracy to the last digit, also for tiny a.
TAPEDECK_DEVICE inline double log_gamma_near_one(double a) {
  constexpr double one_minus_euler = 0.42278433509846713939;
  constexpr double series[] = {
      // (−1)ᵏ(ζ(k) − 1)/k for k = 29 … 2
      -6.42296456383810002e-11, 1.33047643742444895e-10,  -2.75952288512423315e-10,  5.73136724167886201e-10,
      -1.19214014058609121e-9,  2.48367454380247832e-9,   -5.18347504197004666e-9,   1.08386592148969541e-8,
      -2.27110946089431649e-8,  4.76981016936398057e-8,   -1.00432248239680996e-7,   2.12071848055546659e-7,
      -4.49246919876456604e-7,  9.55141213040741983e-7,   -2.03921575380136624e-6,   4.3748667899074878e-6,
      -9.4394882752683959e-6,   0.0000205072127756706916, -0.0000449262367381331417, 0.0000994575127818085337,
      -0.00022315475845357938,  0.000509669524743042422,  -0.00119275391170326098,   0.00289051033074152329,
      -0.00738555102867398527,  0.0205808084277845479,    -0.0673523010531980951,    0.322467033424113218};
  double sum = 0.0;
  for (const double factor : series) sum = sum * a + factor;
  return a * (one_minus_euler + a * sum) - std::log1p(a);
}

/// Q for a up to 1.5 and small x by 1 − xᵃ/Γ(a + 1)·(1 + a·Σ (−x)ⁿ / (n!·(a + n))) (DLMF 8.7.1), the 1 kept
/// apart.
TAPEDECK_DEVICE inline double upper_series(double a, double x) {
  double power = 1.0, sum = 0.0;
  for (int n = 1; n < most_terms; ++n) {
    power *= -x / n;
    const double term = power / (a + n);
    sum += term;
    if (std::abs(term) <= epsilon * std::abs(sum)) break;
  }
  const double log_gamma = a <= 0.5 ? log_gamma_near_one(a) : log_gamma_near_one(a - 1.0) + std::log(a);
  const double exponent = a * std::log(x) - log_gamma;
  return -std::expm1(exponent) - std::exp(exponent) * a * sum;
}

TAPEDECK_DEVICE inline bool is_in_transition(double a, double x) {
  return a >= 100.0 && std::abs(x - a) <= 0.3 * a;
}

/// P or Q in the transition: ½·erfc(∓η√(a/2)) ∓ e^(−aη²/2)/√(2πa)·Σ cₖ(η)·a⁻ᵏ (DLMF 8.12.3 and 8.12.4).
TAPEDECK_DEVICE inline double uniform_expansion(bool upper, double a, double x) {
  const double half_square = log_excess(x / a, (x - a) / a);
  const double eta = std::copysign(std::sqrt(2.0 * half_square), x - a);
  double sum = 0.0;
  for (int k = incomplete_tables::temme_orders - 1; k >= 0; --k) {
    double value = 0.0;
    for (int n = incomplete_tables::temme_terms; n >= 0; --n)
      value = value * eta + incomplete_tables::temme(k, n);
    sum = sum / a + value;
  }
  const double rest = std::exp(-a * half_square) / std::sqrt(2.0 * std::numbers::pi * a) * sum;
  const double argument = eta * std::sqrt(0.5 * a);
  return upper ? 0.5 * std::erfc(argument) + rest : 0.5 * std::erfc(-argument) - rest;
}

/// Whether a and x are outside the domain or at its ends; `value`: then the result, for a function that is 0
/// at x = 0 and 1 at ∞.
TAPEDECK_DEVICE inline bool is_known(double a, double x, double& value) {
  if (!(a > 0.0) || !(x >= 0.0) || (std::isinf(a) && std::isinf(x)))
    value = not_a_number;
  else if (x == 0.0 || std::isinf(a))
    value = 0.0;
  else if (std::isinf(x))
    value = 1.0;
  else
    return false;
  return true;
}

/// Whether Q is computed first: it is the smaller part, or has its own series.
TAPEDECK_DEVICE inline bool upper_comes_first(double a, double x) {
  if (x > 1.1) return x > a;
  return x <= 0.5 ? -0.4 / std::log(x) >= a : x * 1.1 >= a;
}

TAPEDECK_DEVICE inline double upper_directly(double a, double x) {
  return x > 1.1 ? upper_fraction(a, x) : upper_series(a, x);
}

}  // namespace gamma_parts

/// P(a, x) = γ(a, x) / Γ(a), for finite a > 0 and x ≥ 0; 1 at x = ∞.
TAPEDECK_DEVICE inline double lower_incomplete_gamma(double a, double x) {
  using namespace gamma_parts;
  double value = 0.0;
  if (is_known(a, x, value)) return value;
  if (is_in_transition(a, x)) return uniform_expansion(false, a, x);
  return x > 1.1 && x > a ? 1.0 - upper_fraction(a, x) : lower_series(a, x);
}

/// Q(a, x) = 1 − P(a, x), without the loss of digits where P is near 1.
TAPEDECK_DEVICE inline double upper_incomplete_gamma(double a, double x) {
  using namespace gamma_parts;
  double value = 0.0;
  if (is_known(a, x, value)) return 1.0 - value;
  if (is_in_transition(a, x)) return uniform_expansion(true, a, x);
  return upper_comes_first(a, x) ? upper_directly(a, x) : 1.0 - lower_series(a, x);
}

/// ∂P/∂x = xᵃ⁻¹·e⁻ˣ / Γ(a), without the loss of digits that its logarithm has where a is large; at 0 its
/// limit.
TAPEDECK_DEVICE inline double gamma_density(double a, double x) {
  using namespace gamma_parts;
  if (!(a >= 0.0) || !(x >= 0.0) || a == 0.0 || (std::isinf(a) && std::isinf(x))) return not_a_number;
  if (std::isinf(a) || std::isinf(x)) return 0.0;
  if (x == 0.0) return a < 1.0 ? std::numeric_limits<double>::infinity() : a == 1.0 ? 1.0 : 0.0;
  // In two parts, as one may be as large as the other is small.
  if (a < 10.0) {
    const double half = std::exp(-0.5 * x);
    if (half == 0.0) return 0.0;
    const double power = a < 0.5 ? a * std::pow(x, a) / x : std::pow(x, a - 1.0) * a;  // a − 1 exact
    return half * power * half / std::tgamma(a + 1.0);
  }
  const double half = std::exp(-0.5 * a * log_excess(x / a, (x - a) / a));
  if (half == 0.0) return 0.0;
  return half * (std::sqrt(a / (2.0 * std::numbers::pi)) / x) * half / scaled_gamma(a);
}

}  // namespace tapedeck::cpu
