// The regularized incomplete beta function and its density, one element at a time; NaN outside of the domain.
//
// I by its continued fraction (DLMF 8.17.22) on the side of the mean where that is short, or by its power
// series (8.17.8 expanded) where that is, from I(x; a, b) = 1 − I(1 − x; b, a); where a and b are large, by
// quadrature of the density.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/cpu/loops/incomplete_tables.h"
#include "engine/cpu/loops/stirling.h"

namespace tapedeck::cpu {
namespace beta_parts {

constexpr double epsilon = 0x1p-54;
constexpr int most_terms = 20'000;  ///< about √min(a, b) are needed, more only for x close to 1
constexpr double large_from = 1e4;  ///< with both above it the density is nearly normal
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Rounded, also where the compiler fuses products with sums.
TAPEDECK_DEVICE inline double rounded_product(double u, double v) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(u, v);
#else
  return u * v;
#endif
}

/// b·x − a·(1 − x), exact and rounded once: for large a and b the terms agree in all but the last digits, and
/// their difference is the distance from the mean.
TAPEDECK_DEVICE inline double exact_difference(double a, double b, double x) {
  const double rest = 1.0 - x;
  const double rest_low = (1.0 - rest) - x;  // exact: 1 − x = rest + rest_low
  double parts[6];
  const auto put_product = [&](int at, double u, double v) {
    parts[at + 1] = rounded_product(u, v);
    parts[at] = std::fma(u, v, -parts[at + 1]);
  };
  put_product(0, -a, rest_low);
  put_product(2, -a, rest);
  put_product(4, b, x);
  // Ogita, Rump, Oishi, "Accurate sum and dot product" (SIAM J. Sci. Comput. 26(6), 2005), algorithm 4.3.
  for (int pass = 0; pass < 6; ++pass)
    for (int i = 1; i < 6; ++i) {
      const double sum = parts[i] + parts[i - 1];
      const double of_first = sum - parts[i];
      parts[i - 1] = (parts[i] - (sum - of_first)) + (parts[i - 1] - of_first);
      parts[i] = sum;
    }
  double sum = 0.0;
  for (const double part : parts) sum += part;
  return sum;
}

/// a, b, x, 1 − x, and (a + b)·(x − a / (a + b)).
struct BetaCall {
  double a, b, x, rest, difference;
  TAPEDECK_DEVICE BetaCall swapped() const { return {b, a, rest, x, -difference}; }
};

/// a / (a + b), also where the sum is no double.
TAPEDECK_DEVICE inline double share(double a, double b) {
  return 1.0 / (1.0 + b / a);
}

/// a·(λ − 1 − ln λ) with λ = x·(a + b)/a.
TAPEDECK_DEVICE inline double weighted_excess(const BetaCall& c) {
  const double mu = c.difference / c.a;
  if (std::abs(mu) <= 0.5) return c.a * log_excess(1.0 + mu, mu);
  const double quotient = c.b / c.a;
  const double log_share = std::isinf(quotient) ? std::log(c.a) - std::log(c.b) : -std::log1p(quotient);
  const double log_x = c.x < 0.5 ? std::log(c.x) : std::log1p(-c.rest);
  return c.difference - c.a * (log_x - log_share);
}

/// Γ*(a + b) / (Γ*(a)·Γ*(b)), 1 where a and b are large.
TAPEDECK_DEVICE inline double scaled_gamma_ratio(double a, double b) {
  return scaled_gamma(a + b) / (scaled_gamma(a) * scaled_gamma(b));
}

constexpr double large_sum = 10.0;  ///< of a and b: from here on by Stirling's series

/// 1 / B(a, b) for a small sum of a and b.
TAPEDECK_DEVICE inline double inverse_beta(double a, double b) {
  const double sum = a + b;
  return a / sum * b * std::tgamma(sum + 1.0) / (std::tgamma(a + 1.0) * std::tgamma(b + 1.0));
}

/// xᵃ·(1 − x)ᵇ / B(a, b), divided by `divisor`, for a large sum of a and b from Γ(z) = √(2π/z)·(z/e)ᶻ·Γ*(z):
/// the common powers cancel.
TAPEDECK_DEVICE inline double stirling_density(const BetaCall& c, double divisor) {
  // In two parts, as the divisor may be as small as the powers.
  const double half =
      std::exp(-0.5 * (weighted_excess(c) + weighted_excess(c.swapped()))) / std::sqrt(divisor);
  const double width = c.a < c.b ? std::sqrt(c.a * share(c.b, c.a)) : std::sqrt(c.b * share(c.a, c.b));
  return half * width / std::sqrt(2.0 * std::numbers::pi) * scaled_gamma_ratio(c.a, c.b) * half;
}

/// xᵃ·(1 − x)ᵇ / B(a, b).
TAPEDECK_DEVICE inline double scaled_density(const BetaCall& c) {
  if (c.a + c.b >= large_sum) return stirling_density(c, 1.0);
  return std::pow(c.x, c.a) * std::pow(c.rest, c.b) * inverse_beta(c.a, c.b);
}

/// I below the mean for large a and b: the density's integral from x down to where it is e⁻⁴⁵ of that at x,
/// in units of its width √(ab/(a + b)) of the difference.
TAPEDECK_DEVICE inline double quadrature(const BetaCall& c) {
  const double width = c.a < c.b ? std::sqrt(c.a * share(c.b, c.a)) : std::sqrt(c.b * share(c.a, c.b));
  const double above_zero = 1.0 + c.difference / c.a, below_one = 1.0 - c.difference / c.b;
  if (!(above_zero > 0.0)) return 0.0;
  const double slope = -c.difference / width / (above_zero * below_one);
  const double reach = std::min(90.0 / (slope + std::sqrt(slope * slope + 90.0)), c.a / width * above_zero);
  double sum = 0.0;
  for (int i = 0; i < incomplete_tables::quadrature_count; ++i) {
    const double at = c.difference - width * reach * incomplete_tables::quadrature_point(i);
    const double of_a = at / c.a, of_b = -at / c.b;
    const double exponent = c.a * log_excess(1.0 + of_a, of_a) + c.b * log_excess(1.0 + of_b, of_b);
    sum += incomplete_tables::quadrature_weight(i) * std::exp(-exponent) / ((1.0 + of_a) * (1.0 + of_b));
  }
  return reach * sum * scaled_gamma_ratio(c.a, c.b) / std::sqrt(2.0 * std::numbers::pi);
}

/// I / scaled_density by Lentz's method; NaN where it does not converge. The even part of the continued
/// fraction (DLMF 8.17.22), as Didonato and Morris have it (ACM Transactions on Mathematical Software 18(3),
/// 1992, algorithm 708, BFRAC): its first denominator holds the difference, which 1 − x·(a + b)/(a + 1) would
/// lose.
TAPEDECK_DEVICE inline double fraction(const BetaCall& c) {
  const auto away_from_zero = [](double value) { return value == 0.0 ? 1e-300 : value; };
  const double start = 1.0 - c.difference;
  double denominator = away_from_zero(c.a / (c.a + 1.0) * start);
  double upper = denominator, lower = 0.0;
  for (int n = 1; n < most_terms; ++n) {
    const double at = c.a + (2.0 * n - 1.0);
    const double change = n * ((c.b - n) * c.x);
    const double alpha = (c.a + (n - 1.0)) / at * change * ((c.a + c.b + (n - 1.0)) / at * c.x);
    const double beta = n + change / at + (c.a + n) / (at + 2.0) * (start + n * (1.0 + c.rest));
    lower = 1.0 / away_from_zero(beta + alpha * lower);
    upper = away_from_zero(beta + alpha / upper);
    const double factor = upper * lower;
    denominator *= factor;
    if (std::abs(factor - 1.0) <= 4.0 * epsilon) return 1.0 / denominator;
  }
  return not_a_number;
}

/// xᵃ/(a·B)·(1 + a·Σ (1 − b)…(n − b)·xⁿ / (n!·(a + n))).
TAPEDECK_DEVICE inline double power_series(const BetaCall& c) {
  double product = 1.0, sum = 0.0;
  for (int n = 1; n < most_terms; ++n) {
    product *= (n - c.b) * c.x / n;
    const double term = product / (c.a + n);
    sum += term;
    if (std::abs(term) <= epsilon * std::abs(sum) || term == 0.0) break;
  }
  const double log_rest = c.x < 0.5 ? std::log1p(-c.x) : std::log(c.rest);
  return scaled_density(c) * std::exp(-c.b * log_rest) / c.a * (1.0 + c.a * sum);
}

TAPEDECK_DEVICE inline bool has_short_series(const BetaCall& c) {
  return c.b * c.x <= 1.0 && c.x <= 0.95;
}

/// The same; NaN stays NaN.
TAPEDECK_DEVICE inline double at_most_one(double probability) {
  return probability > 1.0 ? 1.0 : probability;
}

TAPEDECK_DEVICE inline double one_side(const BetaCall& c) {
  if (has_short_series(c)) return at_most_one(power_series(c));
  const double density = scaled_density(c);
  return density == 0.0 ? 0.0 : at_most_one(density * fraction(c));
}

}  // namespace beta_parts

/// I(x; a, b) = B(x; a, b) / B(a, b), for finite a > 0, b > 0 and 0 ≤ x ≤ 1.
TAPEDECK_DEVICE inline double incomplete_beta(double a, double b, double x) {
  using namespace beta_parts;
  if (!(a > 0.0) || !(b > 0.0) || std::isinf(a) || std::isinf(b) || !(x >= 0.0) || !(x <= 1.0))
    return not_a_number;
  if (x == 0.0 || x == 1.0) return x;
  const BetaCall call{a, b, x, 1.0 - x, exact_difference(a, b, x)};
  if (std::min(a, b) >= large_from)
    return call.difference <= 0.0 ? quadrature(call) : 1.0 - quadrature(call.swapped());
  // Beyond, the fraction's terms cancel; but 1 − t has no digits where t is all but 1.
  if (!has_short_series(call) && call.difference + (x - call.rest) > 0.0) {  // x > (a + 1) / (a + b + 2)
    const double other = one_side(call.swapped());
    if (other < 0.9999) return 1.0 - other;
    const double direct = one_side(call);
    return std::isnan(direct) ? 1.0 - other : direct;
  }
  return one_side(call);
}

/// ∂I/∂x = xᵃ⁻¹·(1 − x)ᵇ⁻¹ / B(a, b), without the loss of digits that its logarithm has where a or b is
/// large.
TAPEDECK_DEVICE inline double beta_density(double a, double b, double x) {
  using namespace beta_parts;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!(a > 0.0) || !(b > 0.0) || std::isinf(a) || std::isinf(b) || !(x >= 0.0) || !(x <= 1.0))
    return not_a_number;
  if (x == 0.0) return a < 1.0 ? infinity : a == 1.0 ? b : 0.0;
  if (x == 1.0) return b < 1.0 ? infinity : b == 1.0 ? a : 0.0;
  const BetaCall call{a, b, x, 1.0 - x, exact_difference(a, b, x)};
  if (a + b >= large_sum) return stirling_density(call, x * call.rest);
  const double factor = inverse_beta(a, b) * std::pow(call.rest, b) / call.rest;
  if (a >= 0.5) return factor * std::pow(x, a - 1.0);  // a − 1 is exact
  const double root = std::sqrt(x);                    // factor / x alone may be no double
  return factor * (std::pow(x, a) / root) / root;
}

}  // namespace tapedeck::cpu
