// A separate file: Boost's templates compiled for one instruction set must not be linked for another.
#include "engine/cpu/loops/bessel.h"

#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <limits>
#include <numbers>

namespace tapedeck::cpu {
namespace {

namespace policies = boost::math::policies;
/// Infinities and NaN instead of exceptions, without promotion to long double.
using Quiet =
    policies::policy<policies::domain_error<policies::ignore_error>,
                     policies::pole_error<policies::ignore_error>,
                     policies::overflow_error<policies::ignore_error>,
                     policies::evaluation_error<policies::ignore_error>, policies::promote_double<false>>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double series_from = 100.0;  // ten terms of the series below are exact then

/// 1 + Σ ∏ (4ν² − (2j − 1)²) / (8j·x), the common series of Hankel's expansions (DLMF 10.40.1 and 10.40.2;
/// for the first kind of −x).
double hankel_series(int order, double x) {
  double term = 1.0;
  double sum = 1.0;
  for (int j = 1; j <= 16 && std::fabs(term) > 1e-18; ++j) {
    const double odd = 2 * j - 1;
    term *= (4.0 * order - odd * odd) / (8.0 * j * x);
    sum += term;
  }
  return sum;
}

// Boost's approximations fail where squares or doubles of the argument overflow or underflow: there the first
// term of the series is exact.
constexpr double tiny = 1e-150;
constexpr double huge = 1e300;

/// The first term of Hankel's expansions (DLMF 10.17.3 and 10.17.4), the phase an exact sum of sine and
/// cosine.
double bessel_far(bool second, int order, double x) {
  const bool is_sum = second == (order == 1);  // J₀ and −Y₁
  const double wave = is_sum ? std::sin(x) + std::cos(x) : std::sin(x) - std::cos(x);
  return (second && order == 1 ? -wave : wave) * std::numbers::inv_sqrtpi / std::sqrt(x);
}

}  // namespace

double bessel_i(int order, bool scaled, double x) {
  if (std::isnan(x)) return x;
  if (order == 1 && std::fabs(x) < tiny) return 0.5 * x;
  const double size = std::fabs(x);
  double value = 0.0;
  if (scaled && size > series_from)
    value = std::isinf(size)
                ? 0.0
                : hankel_series(order, -size) / (std::sqrt(2.0 * std::numbers::pi) * std::sqrt(size));
  else if (std::isinf(size))
    value = infinity;
  else
    value = boost::math::cyl_bessel_i(order, size, Quiet()) * (scaled ? std::exp(-size) : 1.0);
  return order == 1 ? std::copysign(value, x) : value;
}

double bessel_k(int order, bool scaled, double x) {
  if (std::isnan(x) || x < 0.0) return not_a_number;
  if (x == 0.0) return infinity;
  if (std::isinf(x)) return 0.0;
  if (order == 1 && x < tiny) return 1.0 / x;
  if (scaled && x > series_from)
    return hankel_series(order, x) * std::sqrt(std::numbers::pi / 2.0) / std::sqrt(x);
  return boost::math::cyl_bessel_k(order, x, Quiet()) * (scaled ? std::exp(x) : 1.0);
}

double bessel_j(int order, double x) {
  if (std::isnan(x)) return x;
  const double size = std::fabs(x);
  if (order == 1 && size < tiny) return 0.5 * x;
  const double value = std::isinf(size) ? 0.0
                       : size > huge    ? bessel_far(false, order, size)
                                        : boost::math::cyl_bessel_j(order, size, Quiet());
  return order == 1 && std::signbit(x) ? -value : value;
}

double bessel_y(int order, double x) {
  if (std::isnan(x) || x < 0.0) return not_a_number;
  if (x == 0.0) return -infinity;
  if (std::isinf(x)) return 0.0;
  if (x > huge) return bessel_far(true, order, x);
  if (x < tiny)  // DLMF 10.8.1 and 10.8.2
    return order == 1 ? -2.0 / std::numbers::pi / x
                      : 2.0 / std::numbers::pi * (std::log(x) - std::numbers::ln2 + std::numbers::egamma);
  return boost::math::cyl_neumann(order, x, Quiet());
}

}  // namespace tapedeck::cpu
