// Trigonometric functions and error functions as vector code; where an argument is out of a function's range
// here, the standard library's takes its place. Included by vector/*.cpp only, as math.h.
#pragma once

#include <numbers>
#include <type_traits>

#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// ---- sin, cos ----

/// Multiples of π/2 below this many are taken away exactly.
constexpr double most_quarters = 0x1p20;
// π/2 in parts: the first ones have so few bits that their products with a count of quarters are exact.
constexpr double quarter_high = 0x1.921fb544p+0, quarter_middle = 0x1.0b4611a6p-34;
constexpr double quarter_middle_and_rest = 0x1.0b4611a626331p-34, quarter_rest = 0x1.3198a2e037073p-69;

/// x less the nearest multiple of π/2, and which one it is.
template <class T>
struct Quarters {
  std::int64_t count;
  T rest;
};
TAPEDECK_INLINE Quarters<double> quarters_of(double x) {
  using F = Format<double>;
  const double shifted = x * (2 * std::numbers::inv_pi) + F::integer_shift;
  const double n = shifted - F::integer_shift;
  return {static_cast<std::int64_t>(bits_of(shifted)),
          ((x - n * quarter_high) - n * quarter_middle) - n * quarter_rest};
}
TAPEDECK_INLINE Quarters<float> quarters_of(float x) {
  using F = Format<double>;
  const double wide = x, shifted = wide * (2 * std::numbers::inv_pi) + F::integer_shift;
  const double n = shifted - F::integer_shift;
  return {static_cast<std::int64_t>(bits_of(shifted)),
          static_cast<float>((wide - n * quarter_high) - n * quarter_middle_and_rest)};
}

/// The sine `turned` quarters of a circle further.
template <class T>
TAPEDECK_INLINE T sine(T x, int turned) {
  using Bits = typename Format<T>::Bits;
  const auto [count, rest] = quarters_of(x);
  const auto quarter = static_cast<Bits>(count + turned);
  const T value = (quarter & 1) != 0 ? cos_near_zero(rest) : sin_near_zero(rest);
  return std::bit_cast<T>(static_cast<Bits>(bits_of(value) ^ (quarter & 2) << (8 * sizeof(T) - 2)));
}

struct Sin {
  template <class T>
  TAPEDECK_INLINE static bool fits(T x) {
    return std::fabs(x) < static_cast<T>(most_quarters);
  }
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    const T value = sine(x, 0);
    return x == T(0) ? x : value;  // −0 is its own sine
  }
  template <class T>
  static T otherwise(T x) {
    return std::sin(x);
  }
};
struct Cos : Sin {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    return sine(x, 1);
  }
  template <class T>
  static T otherwise(T x) {
    return std::cos(x);
  }
};

struct Tan : Sin {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    const auto [count, rest] = quarters_of(x);
    const T s = sin_near_zero(rest), c = cos_near_zero(rest);
    const bool turned = (count & 1) != 0;
    const T value = (turned ? -c : s) / (turned ? s : c);
    return x == T(0) ? x : value;
  }
  template <class T>
  static T otherwise(T x) {
    return std::tan(x);
  }
};

// ---- hyperbolic functions ----

/// e^|x| / 2, by way of e^(|x|/2), which does not overflow before its half does.
template <class T>
TAPEDECK_INLINE T half_exp(T x) {
  const T root = exp_of(T(0.5) * std::fabs(x));
  return T(0.5) * root * root;
}
template <class T>
TAPEDECK_INLINE T cosh_of(T x) {
  const T half = half_exp(x);
  return half + T(0.25) / half;
}
template <class T>
TAPEDECK_INLINE T sinh_of(T x) {
  const T half = half_exp(x);
  const T a = std::fabs(x) < T(1) ? std::fabs(x) : T(1);
  const T less_one = expm1_of(a);
  const T near = T(0.5) * (less_one + less_one / (less_one + T(1)));
  const T value = std::fabs(x) < T(1) ? near : half - T(0.25) / half;
  return std::copysign(value, x);
}

// ---- asin, acos, float32 ----

/// asin(x) / x − 1 for x² ≤ ¼, fitted for the least error (of asin: 2e-9).
TAPEDECK_INLINE float asin_tail(float square) {
  return square * polynomial(square, 0.166666663181F, 0.0750009850115F, 0.0445981149555F, 0.0311152380102F,
                             0.0170820294747F, 0.0337991121091F);
}
/// asin(a) up to ½; beyond it asin(√((1 − a)/2)), for asin(a) is π/2 less twice that.
TAPEDECK_INLINE float arc_of(float a) {
  const float square = a <= 0.5F ? a * a : 0.5F * (1.0F - a);
  const float above = std::sqrt(square);
  const float root = a <= 0.5F ? a : above;
  return root + root * asin_tail(square);
}
TAPEDECK_INLINE float asin_of(float x) {
  const float a = std::fabs(x), arc = arc_of(a);
  const float far = 1.57079637F - (2.0F * arc - -4.37113883e-8F);
  return std::copysign(a <= 0.5F ? arc : far, x);
}
TAPEDECK_INLINE float acos_of(float x) {
  const float a = std::fabs(x), arc = arc_of(a);
  const float near = 1.57079637F - (std::copysign(arc, x) - -4.37113883e-8F);
  const float behind = 3.14159274F - (2.0F * arc - -8.74227766e-8F);
  const float far = x < 0.0F ? behind : 2.0F * arc;
  return a <= 0.5F ? near : far;
}

// ---- error functions, float32 ----

/// exp(−x²·scale), scale ½ or 1: the rounding of x² would cost as many ulps as x² is large.
TAPEDECK_INLINE float exp_of_square(float x, float scale) {
  const float high = std::bit_cast<float>(bits_of(x) & 0xfffff000U), low = x - high;
  const float square = x * x;
  const float lost = ((high * high - square) + 2.0F * high * low) + low * low;
  return exp_of_negative(-square * scale) * (1.0F - lost * scale);
}

/// erfc(a)·exp(a²) for 0 ≤ a ≤ 10.2: t times a polynomial in t − 0.58, t = 1 / (1 + a/2), fitted for the
/// least relative error (3.5e-9).
TAPEDECK_INLINE float scaled_erfc(float a) {
  const float t = 1.0F / (1.0F + 0.5F * a);
  return t * polynomial(t - 0.58F, 0.569408721669F, 0.779018834098F, 0.586853918928F, 0.0851470279647F,
                        -0.203349896369F, -0.0516237069571F, 0.114032674952F, 0.00413546395906F,
                        -0.0743324082029F, 0.0164158041365F, 0.0357676090466F);
}

constexpr float erfc_vanishes = 10.2F;

/// x times a polynomial in x², fitted likewise on |x| ≤ 1 (1.2e-9).
TAPEDECK_INLINE float erf_near_zero(float x) {
  return x * polynomial(x * x, 1.12837916573F, -0.376126258237F, 0.112835851424F, -0.0268538116768F,
                        0.00518832719466F, -0.00080101893115F, 7.85384711167e-5F);
}

/// Right to 6 ulp.
TAPEDECK_INLINE float erfc_of(float x) {
  float a = std::fabs(x);
  a = a > erfc_vanishes ? erfc_vanishes : a;  // NaN passes
  const float tail = exp_of_square(a, 1.0F) * scaled_erfc(a);
  const float far = x < 0.0F ? 2.0F - tail : tail;
  return std::fabs(x) < 0.5F ? 1.0F - erf_near_zero(x) : far;
}

TAPEDECK_INLINE float erf_of(float x) {
  const float a = std::fabs(x) > erfc_vanishes ? erfc_vanishes : std::fabs(x);
  const float far = std::copysign(1.0F - exp_of_square(a, 1.0F) * scaled_erfc(a), x);
  return std::fabs(x) < 1.0F ? erf_near_zero(x) : x != x ? x : far;
}

/// x·Φ(x), right to 7 ulp. Φ of a negative number is taken from the tail, where 1 + erf would cancel.
TAPEDECK_INLINE float gelu_of(float x) {
  constexpr float vanishes = 14.4F, root_half = static_cast<float>(std::numbers::sqrt2 / 2);
  float a = std::fabs(x);
  a = a > vanishes ? vanishes : a;
  const float exponential = exp_of_square(a, 0.5F);
  const float scaled = 0.5F * scaled_erfc(a * root_half);
  // Where the tail is subnormal its product with x may not be: the exponential comes last.
  const float whole = x < 0.0F ? x * scaled * exponential : x * (1.0F - scaled * exponential);
  return x < -vanishes ? x * 0.0F : whole;
}

/// Φ(x) + x·φ(x), the slope of x·Φ(x), right to some ulp of the larger part.
TAPEDECK_INLINE float gelu_slope_of(float x) {
  constexpr float vanishes = 14.4F, root_half = static_cast<float>(std::numbers::sqrt2 / 2);
  constexpr float highest_density = 0.398942280F;  // 1/√(2π)
  float a = std::fabs(x);
  a = a > vanishes ? vanishes : a;  // NaN passes
  const float exponential = exp_of_square(a, 0.5F);
  const float tail = 0.5F * scaled_erfc(a * root_half) * exponential;
  const float part = a * highest_density * exponential;
  return x < 0.0F ? tail - part : 1.0F - tail + part;
}

// ---- atan, atan2, float32 ----

/// The angle of the point (x, y): atan of a ratio up to 1, by a polynomial fitted likewise (2.4e-9), turned
/// to its octant.
TAPEDECK_INLINE float atan2_of(float y, float x) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float across = std::fabs(x), up = std::fabs(y);
  const float smaller = across < up ? across : up, larger = across < up ? up : across;
  float ratio = smaller / larger;
  ratio = larger == 0.0F ? 0.0F : ratio;
  ratio = smaller == infinity ? 1.0F : ratio;
  const float z = ratio * ratio;
  const float angle =
      ratio + ratio * (polynomial(z, -2.37e-9F, -0.333332836305F, 0.19998265741F, -0.142619300049F,
                                  0.109420146527F, -0.083772690265F, 0.0575513118824F, -0.0308038136949F,
                                  0.0107265253323F, -0.00175383693078F));
  // π/2 and π in two parts each.
  constexpr float half_high = 1.57079637F, half_low = -4.37113883e-8F;
  const float first = up > across ? half_high - (angle - half_low) : angle;
  const bool behind = std::signbit(x);
  const float second = behind ? 2.0F * half_high - (first - 2.0F * half_low) : first;
  return std::copysign(x != x || y != y ? x + y : second, y);
}

// ---- fmod, float32 ----

/// The remainder of x / y with the sign of x, exact: a double holds the products that arise.
struct Fmod {
  static constexpr double most = 0x1p29;  ///< quotient
  TAPEDECK_INLINE static bool fits(float x, float y) {
    return std::fabs(static_cast<double>(x)) < most * std::fabs(static_cast<double>(y)) &&
           std::fabs(y) < std::numeric_limits<float>::infinity();
  }
  TAPEDECK_INLINE static float apply(float x, float y) {
    const double wide = std::fabs(static_cast<double>(x)), by = std::fabs(static_cast<double>(y));
    const double rest = wide - std::trunc(wide / by) * by;
    return std::copysign(static_cast<float>(rest < 0 ? rest + by : rest), x);  // the quotient was rounded up
  }
};

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
