// Special functions, one element at a time in float64 unless they say otherwise. Included by vector/*.cpp
// only, inside the namespace of an instruction set.
#pragma once

#include <math.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "engine/cpu/vector/arithmetic.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// Klambauer, Unterthiner, Mayr, Hochreiter: Self-Normalizing Neural Networks (2017), equation 14.
inline constexpr double selu_alpha = 1.67326324235437728481;
inline constexpr double selu_scale = 1.05070098735548049342;

/// The type that keeps digits that double would lose. GPUs have no wider type, so they lose those digits near
/// the zeros of the digamma function and of sums over both sides of a pole, and where a factorial overflows
/// double.
#ifdef TAPEDECK_GPU
using Wide = double;
#else
using Wide = long double;
#endif

// std::lgamma writes the sign to a global variable, which is a data race.
TAPEDECK_DEVICE inline double lgamma_of(double x) {
#ifdef __CUDA_ARCH__
  return ::lgamma(x);
#else
  int sign = 0;
  return ::lgamma_r(x, &sign);
#endif
}
/// ln Γ of positive float32, computed in float64.
struct Lgamma {
  static constexpr float most = 1e30F;
  TAPEDECK_INLINE static bool fits(float x) { return x > 0.0F && x < most; }
  TAPEDECK_INLINE static float apply(float value) {
    const double x = value;
    // Near its zeros at 1 and 2: (x − 1)(x − 2) times a polynomial in x − 1.7, fitted on [0.8, 2.6] (3.3e-9).
    const double near = (x - 1.0) * (x - 2.0) *
                        polynomial(x - 1.7, 0.45622713195261244, -0.12408106675447943, 0.047515501872877459,
                                   -0.020920077915107797, 0.009919677450189731, -0.0049183351032372879,
                                   0.0024846136908055769, -0.0012852168083746349, 0.00076902938078464574,
                                   -0.00042982629857723234, 7.0052141396767327e-05, -1.9816596625662752e-05,
                                   0.00015623446989500598, -9.2853006006818497e-05);
    // Elsewhere Stirling's series (Abramowitz and Stegun, 6.1.41) of x + 8, less the logarithm of the factors
    // between.
    const double z = x + 8.0, i = 1.0 / z, square = i * i;
    const double between =
        (x * (x + 1.0)) * ((x + 2.0) * (x + 3.0)) * ((x + 4.0) * (x + 5.0)) * ((x + 6.0) * (x + 7.0));
    constexpr double half_log_two_pi = 0.91893853320467274178;
    const double series = i * polynomial(square, 1.0 / 12, -1.0 / 360, 1.0 / 1260);
    const double far =
        fused(z - 0.5, log_of_normal(z), half_log_two_pi - z) + (series - log_of_normal(between));
    return static_cast<float>(x > 0.8 && x < 2.6 ? near : far);
  }
  TAPEDECK_DEVICE static float otherwise(float x) {
    return static_cast<float>(lgamma_of(static_cast<double>(x)));
  }
};
TAPEDECK_DEVICE inline float lgamma_of(float x) {
  return guarded<Lgamma>(x);
}

/// Horner's rule; the coefficient of the highest power comes first.
template <std::size_t n, class Real>
TAPEDECK_DEVICE inline Real polynomial(const double (&coefficients)[n], Real x) {
  Real sum = coefficients[0];
  for (std::size_t i = 1; i < n; ++i) sum = sum * x + Real(coefficients[i]);
  return sum;
}

/// π·cot(πx), with exact range reduction: x is reduced to [−½, ½] first.
template <class Real>
TAPEDECK_DEVICE inline Real pi_cotangent(Real x) {
  return std::numbers::pi_v<Real> / std::tan(std::numbers::pi_v<Real> * (x - std::nearbyint(x)));
}

/// ψ(x) by recurrence and the asymptotic series (Abramowitz and Stegun, 6.3.5 and 6.3.18).
template <class Real>
TAPEDECK_DEVICE inline Real digamma_positive(Real x) {
  constexpr double series[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                               1.0 / 252, -1.0 / 120,     1.0 / 12};
  constexpr Real from =
      std::numeric_limits<Real>::digits > 53 ? 16 : 10;  // the series' remainder is below epsilon
  Real shifted = 0;
  for (; x < from; x += 1) shifted += 1 / x;
  const Real z = x < 1e17 ? 1 / (x * x) : 0;
  return std::log(x) - Real(0.5) / x - z * polynomial(series, z) - shifted;
}

/// ψ near its positive zero, by the Taylor series there: the recurrence would cancel all digits.
TAPEDECK_DEVICE inline double digamma_near_zero(double x) {
  constexpr double zero = 1.4616321449683622, zero_low = 9.549995429965697e-17;
  constexpr double series[] = {
      // ψ⁽ᵏ⁾(zero) / k! for k = 26 … 1
      -3.5430070947659604e-05, 5.178575795222081e-05,  -7.569179582195066e-05, 0.0001106337276874741,
      -0.00016170622091974803, 0.00023635601564027053, -0.0003454680251063077, 0.000504953265834602,
      -0.0007380709389960052,  0.0010788252019162967,  -0.0015769367714301972, 0.002305126326734928,
      -0.003369801655439328,   0.004926781395729853,   -0.007204534386356869,  0.010538791616612175,
      -0.01542476590494896,    0.022597648232218104,   -0.03316112647484736,   0.04880428816414311,
      -0.07219956125645471,    0.10782405069126237,    -0.16394270544240652,   0.258499760955651,
      -0.4427631689835921,     0.9676722454476212};
  const double distance = (x - zero) - zero_low;
  return distance * polynomial(series, distance);
}

/// Below 0 by reflection in long double: near a zero both terms nearly cancel, which leaves an error of 2⁻⁶³
/// of their size.
TAPEDECK_DEVICE inline double digamma_of(double x) {
  if (x > 1.2 && x < 1.75) return digamma_near_zero(x);
  if (x > 0.0 || x != x) return digamma_positive(x);
  if (x == 0.0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();  // a pole, and −∞
  using Real = Wide;
  return static_cast<double>(digamma_positive(1 - Real(x)) - pi_cotangent(Real(x)));
}

/// ψ of positive float32, computed in float64: the series as above, of x + 8, less the reciprocals between,
/// whose sum is one quotient. x + k and x + 7 − k have the product x² + 7·x + k·(7 − k).
struct Digamma {
  static constexpr float most = 1e30F;
  TAPEDECK_INLINE static bool fits(float x) { return x > 0.0F && x < most; }
  TAPEDECK_INLINE static float apply(float value) {
    const double x = value, z = x + 8.0, i = 1.0 / z, square = i * i;
    const double ends = x * (x + 7.0), outer = ends * (ends + 6.0);
    const double inner = (ends + 10.0) * (ends + 12.0);
    const double between =
        (2.0 * x + 7.0) * ((2.0 * ends + 6.0) * inner + (2.0 * ends + 22.0) * outer) / (outer * inner);
    const double series = fused(
        square,
        polynomial(square, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12),
        0.5 * i);
    return static_cast<float>((log_of_normal(z) - series) - between);
  }
  TAPEDECK_DEVICE static float otherwise(float x) {
    return static_cast<float>(digamma_of(static_cast<double>(x)));
  }
};
TAPEDECK_DEVICE inline float digamma_of(float x) {
  return guarded<Digamma>(x);
}

/// A compensated sum, which keeps the rounding errors of its additions (Neumaier 1974, Zeitschrift für
/// Angewandte Mathematik und Mechanik 54). For finite numbers.
template <class Real>
struct ExactSum {
  Real sum = 0;
  Real lost = 0;
  TAPEDECK_DEVICE void add(Real x) {
    const Real next = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  TAPEDECK_DEVICE Real value() const { return sum + lost; }
};

/// Hurwitz' zeta function for s > 1 and q > 0 by the Euler–Maclaurin formula (DLMF 25.11.5), times unitˢ: Σ
/// (unit / (q + k))ˢ, which stays in range where the function itself would underflow.
template <class Real>
TAPEDECK_DEVICE inline Real zeta_positive(Real s, Real q, Real unit = 1) {
  constexpr Real epsilon = std::numeric_limits<Real>::epsilon() / 8;
  // (2k)! / B₂ₖ
  constexpr double factors[] = {12.0,
                                -720.0,
                                30240.0,
                                -1209600.0,
                                47900160.0,
                                -1.8924375803183791606e9,
                                7.47242496e10,
                                -2.950130727918164224e12,
                                1.1646782814350067249e14,
                                -4.5979787224074726105e15,
                                1.8152105401943546773e17,
                                -7.1661652561756670113e18};
  if (q > 1e8 * std::fmax(Real(1), s))
    return (1 / (s - 1) + (Real(0.5) + s / (12 * q)) / q) * unit * std::pow(q / unit, 1 - s);
  ExactSum<Real> sum;
  sum.add(std::pow(q / unit, -s));
  if (std::isinf(sum.sum)) return sum.sum;
  Real base = q;
  Real term = 0;
  for (Real k = 1; k <= 9 || base <= 9; k += 1) {
    base = q + k;
    const Real low = (q - (base - (base - q))) + (k - (base - q));  // base + low is q + k exactly
    const Real power = std::pow(base / unit, -s);
    term = power - power * (s * low / base);
    sum.add(term);
    if (term * std::fmax(Real(1), base / (s - 1)) < epsilon * sum.sum) return sum.value();
  }
  sum.add(term * base / (s - 1));
  sum.add(Real(-0.5) * term);
  Real rising = 1;
  Real order = 0;
  for (const double factor : factors) {
    rising *= s + order;
    term /= base;
    const Real change = rising * term / factor;
    sum.add(change);
    if (std::fabs(change) < epsilon * sum.sum) break;
    order += 1;
    rising *= s + order;
    term /= base;
    order += 1;
  }
  return sum.value();
}

/// Σ 1 / (q + k)ˢ for whole s and q < 0 that is not whole: the sum over all integers less the far side keeps
/// the work bounded. For odd s the two sides cancel near a zero: long double keeps double's precision except
/// in a thousandth of the neighbourhood of the zero, where the error is 2⁻⁶³ of the larger side.
TAPEDECK_DEVICE inline double zeta_below(double s, double q) {
  using Real = Wide;
  const Real above = Real(q) - std::floor(Real(q));
  const Real below = std::ceil(Real(q)) - Real(q);  // 1 − above, exact where q is next to an integer
  const bool odd = std::fmod(s, 2.0) != 0.0;
  const Real far = zeta_positive<Real>(s, 1 - Real(q));
  if (odd && above == below) return static_cast<double>(far);
  const Real right = zeta_positive<Real>(s, above);
  const Real left = zeta_positive<Real>(s, below);
  if (odd && std::isinf(right) && std::isinf(left))
    return std::copysign(std::numeric_limits<double>::infinity(), static_cast<double>(below - above));
  return static_cast<double>(odd ? (right - left) + far : right + (left - far));
}

/// ζ(s, q) = Σ 1 / (q + k)ˢ.
TAPEDECK_DEVICE inline double zeta_of(double s, double q) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (s == 1.0) return infinity;
  if (!(s > 1.0) || q != q) return std::numeric_limits<double>::quiet_NaN();
  if (s == infinity) return q > 1.0 ? 0.0 : q == 1.0 ? 1.0 : std::numeric_limits<double>::quiet_NaN();
  if (q > 0.0) return q == infinity ? 0.0 : zeta_positive<double>(s, q);
  if (q == std::floor(q)) return infinity;
  if (s != std::floor(s)) return std::numeric_limits<double>::quiet_NaN();
  return zeta_below(s, q);
}

TAPEDECK_DEVICE inline Wide wide_lgamma(Wide x) {
#ifdef TAPEDECK_GPU
  return lgamma_of(x);
#else
  int sign = 0;
  return ::lgammal_r(x, &sign);
#endif
}

/// n! ζ(n + 1, x) for x > 0 where n! alone overflows: by logarithms in long double, whose sum is small if the
/// product is in double's range.
TAPEDECK_DEVICE inline double factorial_times_zeta(double n, double x) {
  using Real = Wide;
  if (std::isinf(x)) return 0.0;
  const Real s = Real(n) + 1;
  const Real logarithm = wide_lgamma(s) - s * std::log(Real(x));
  return static_cast<double>(std::exp(logarithm + std::log(zeta_positive<Real>(s, x, x))));
}

/// The same for x < 0: the side of the nearer pole dominates, or, at a half, both sides are equal.
TAPEDECK_DEVICE inline double factorial_times_zeta_below(double n, double x) {
  const double above = x - std::floor(x);
  const double below = std::ceil(x) - x;
  const bool odd = std::fmod(n, 2.0) != 0.0;
  if (above == below && !odd) return factorial_times_zeta(n, 1.0 - x);
  return above > below && !odd ? -std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::infinity();
}

/// ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹ n! ζ(n + 1, x) (Abramowitz and Stegun, 6.4.10).
TAPEDECK_DEVICE inline double polygamma_of(double n, double x) {
  if (n == 0.0) return digamma_of(x);
  if (!(n > 0.0) || n != std::floor(n) || std::isinf(n) || x != x)
    return std::numeric_limits<double>::quiet_NaN();
  double value = 0.0;
  if (n <= 170.0)
    value = std::tgamma(n + 1.0) * zeta_of(n + 1.0, x);
  else if (x > 0.0)
    value = factorial_times_zeta(n, x);
  else if (x == std::floor(x))
    value = std::numeric_limits<double>::infinity();
  else
    value = factorial_times_zeta_below(n, x);
  return std::fmod(n, 2.0) == 0.0 ? -value : value;
}

/// The normal distribution's quantile, from q = p − ½ and r = min(p, 1 − p), so that neither loses digits:
/// Wichura, Algorithm AS 241 (1988), PPND16.
TAPEDECK_DEVICE inline double normal_quantile(double q, double r) {
  constexpr double centre[] = {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
                               4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
                               1.3314166789178437745e+2, 3.3871328727963666080e+0};
  constexpr double under_centre[] = {
      5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
      5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0};
  constexpr double middle[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                               2.41780725177450611770e-1, 1.27045825245236838258e+0,
                               3.64784832476320460504e+0, 5.76949722146069140550e+0,
                               4.63033784615654529590e+0, 1.42343711074968357734e+0};
  constexpr double under_middle[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                     1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                     6.89767334985100004550e-1, 1.67638483018380384940e+0,
                                     2.05319162663775882187e+0, 1.0};
  constexpr double tail[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                             2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e+0,
                             5.46378491116411436990e+0, 6.65790464350110377720e+0};
  constexpr double under_tail[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                   1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                   1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                   5.99832206555887937690e-1,  1.0};
  if (!(r >= 0.0)) return std::numeric_limits<double>::quiet_NaN();
  if (r == 0.0) return std::copysign(std::numeric_limits<double>::infinity(), q);
  if (std::fabs(q) <= 0.425) {
    const double t = 0.180625 - q * q;
    return q * (polynomial(centre, t) / polynomial(under_centre, t));
  }
  const double root = std::sqrt(-std::log(r));
  const double size = root <= 5.0 ? polynomial(middle, root - 1.6) / polynomial(under_middle, root - 1.6)
                                  : polynomial(tail, root - 5.0) / polynomial(under_tail, root - 5.0);
  return std::copysign(size, q);
}

TAPEDECK_DEVICE inline double ndtri_of(double p) {
  return normal_quantile(p - 0.5, p < 0.5 ? p : 1.0 - p);
}
TAPEDECK_DEVICE inline double erfinv_of(double x) {
  return normal_quantile(0.5 * x, 0.5 * (1.0 - std::fabs(x))) * (std::numbers::sqrt2 / 2);
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
