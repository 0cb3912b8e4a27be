// I by its continued fraction (DLMF 8.17.22) on the side of the mean where that is short, or by its power
// series (8.17.8 expanded) where that is, from I(x; a, b) = 1 − I(1 − x; b, a).
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cpu/blocks.h"
#include "engine/cpu/incomplete.h"
#include "engine/cpu/stirling.h"

namespace tapedeck::cpu {
namespace {

constexpr double epsilon = 0x1p-54;
constexpr int most_terms = 1'000'000;  ///< some √max(a, b) are needed: enough up to 10¹¹

/// a, b, x and 1 − x.
struct BetaCall {
  double a, b, x, rest;
};

/// xᵃ·(1 − x)ᵇ / B(a, b); for large a or b from Γ(z) = √(2π/z)·(z/e)ᶻ·Γ*(z): what the powers have in common
/// is gone.
double scaled_density(const BetaCall& c) {
  const double sum = c.a + c.b;
  if (sum < 10.0)
    return std::pow(c.x, c.a) * std::pow(c.rest, c.b) * (c.a / sum * c.b) * std::tgamma(sum + 1.0) /
           (std::tgamma(c.a + 1.0) * std::tgamma(c.b + 1.0));
  const double difference = c.b * c.x - c.a * c.rest;  // a·μ, and −b·μ for the other
  const double exponent = c.a * log_excess(c.x * sum / c.a, difference / c.a) +
                          c.b * log_excess(c.rest * sum / c.b, -difference / c.b);
  const double ratio = scaled_gamma(sum) / (scaled_gamma(c.a) * scaled_gamma(c.b));
  return std::sqrt(c.a / sum * c.b / (2.0 * std::numbers::pi)) * ratio * std::exp(-exponent);
}

/// By Lentz's method.
double fraction(const BetaCall& c) {
  const auto away_from_zero = [](double value) { return value == 0.0 ? 1e-300 : value; };
  double upper = 1.0;
  double lower = 1.0 / away_from_zero(1.0 - (c.a + c.b) / (c.a + 1.0) * c.x);
  double value = lower;
  for (int m = 1; m < most_terms; ++m) {
    const double at = c.a + 2.0 * m;
    const double even = m / (at - 1.0) * ((c.b - m) / at) * c.x;
    lower = 1.0 / away_from_zero(1.0 + even * lower);
    upper = away_from_zero(1.0 + even / upper);
    value *= lower * upper;
    const double odd = -(c.a + m) / at * ((c.a + c.b + m) / (at + 1.0)) * c.x;
    lower = 1.0 / away_from_zero(1.0 + odd * lower);
    upper = away_from_zero(1.0 + odd / upper);
    value *= lower * upper;
    if (std::abs(lower * upper - 1.0) < epsilon) break;
  }
  return value;
}

/// xᵃ/(a·B)·(1 + a·Σ (1 − b)…(n − b)·xⁿ / (n!·(a + n))).
double power_series(const BetaCall& c) {
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

bool has_short_series(const BetaCall& c) {
  return c.b * c.x <= 1.0 && c.x <= 0.95;
}

double one_side(const BetaCall& c) {
  return std::min(1.0, has_short_series(c) ? power_series(c) : scaled_density(c) * fraction(c) / c.a);
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (!(a > 0.0) || !(b > 0.0) || std::isinf(a) || std::isinf(b) || !(x >= 0.0) || !(x <= 1.0))
    return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0 || x == 1.0) return x;
  const BetaCall call{a, b, x, 1.0 - x};
  // Beyond, the fraction's terms cancel; but 1 − t has no digits where t is all but 1.
  if (!has_short_series(call) && x > (a + 1.0) / (a + b + 2.0)) {
    const double other = one_side({b, a, call.rest, x});
    if (other < 0.9999) return 1.0 - other;
  }
  return one_side(call);
}

namespace {

template <class T>
void fill(const T* a, const T* b, const T* x, T* out, std::int64_t count) {
  for_blocks(count, grain_for(400.0), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      out[i] = static_cast<T>(
          incomplete_beta(static_cast<double>(a[i]), static_cast<double>(b[i]), static_cast<double>(x[i])));
  });
}

}  // namespace

void incomplete_beta(DType dtype, const void* a, const void* b, const void* x, void* out,
                     std::int64_t count) {
  if (dtype == DType::float32)
    fill(static_cast<const float*>(a), static_cast<const float*>(b), static_cast<const float*>(x),
         static_cast<float*>(out), count);
  else
    fill(static_cast<const double*>(a), static_cast<const double*>(b), static_cast<const double*>(x),
         static_cast<double*>(out), count);
}

}  // namespace tapedeck::cpu
