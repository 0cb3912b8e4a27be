// Trigonometric functions and error functions as vector code; outside a function's range here, the standard
// library's function is used. Included by vector/*.cpp only, as math.h.
#pragma once

#include <numbers>
#include <type_traits>

#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// ---- sin, cos ----

/// Up to this many multiples of π/2 are subtracted exactly.
constexpr double most_quarters = 0x1p20;
// π/2 in parts: the first ones have so few bits that their products with a count of quarters are exact.
constexpr double quarter_high = 0x1.921fb544p+0, quarter_middle = 0x1.0b4611a6p-34;
constexpr double quarter_middle_and_rest = 0x1.0b4611a626331p-34, quarter_rest = 0x1.3198a2e037073p-69;

/// x minus the nearest multiple of π/2, and the number of that multiple.
template <class T>
struct Quarters {
  std::int64_t count;
  T rest;
};
TAPEDECK_INLINE Quarters<double> quarters_of(double x) {
  using F = Format<double>;
  const double shifted = fused(x, 2 * std::numbers::inv_pi, F::integer_shift);
  const double n = shifted - F::integer_shift;
  return {static_cast<std::int64_t>(bits_of(shifted)),
          fused(-n, quarter_rest, fused(-n, quarter_middle, fused(-n, quarter_high, x)))};
}
TAPEDECK_INLINE Quarters<float> quarters_of(float x) {
  using F = Format<double>;
  const double wide = x, shifted = fused(wide, 2 * std::numbers::inv_pi, F::integer_shift);
  const double n = shifted - F::integer_shift;
  return {static_cast<std::int64_t>(bits_of(shifted)),
          static_cast<float>(fused(-n, quarter_middle_and_rest, fused(-n, quarter_high, wide)))};
}

/// The sine, `turned` quarter turns further.
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
  TAPEDECK_DEVICE static T otherwise(T x) {
    return std::sin(x);
  }
};
struct Cos : Sin {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    return sine(x, 1);
  }
  template <class T>
  TAPEDECK_DEVICE static T otherwise(T x) {
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
  TAPEDECK_DEVICE static T otherwise(T x) {
    return std::tan(x);
  }
};

// ---- hyperbolic functions ----

/// e^|x| / 2 through e^(|x|/2), so that it overflows only if the result does.
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
/// asin(a) up to ½; beyond it asin(√((1 − a)/2)), because asin(a) is π/2 minus twice that.
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

/// A product and its rounding error; the error of x² alone would cost e^(x²) about x² ulps.
struct Product {
  float value, lost;
};
TAPEDECK_INLINE Product exact_product(float a, float b) {
  const float value = a * b;
#ifdef TAPEDECK_FUSES
  return {value, fused(a, b, -value)};
#else
  const float a_high = std::bit_cast<float>(bits_of(a) & 0xfffff000U), a_low = a - a_high;
  const float b_high = std::bit_cast<float>(bits_of(b) & 0xfffff000U), b_low = b - b_high;
  return {value, ((a_high * b_high - value) + (a_high * b_low + a_low * b_high)) + a_low * b_low};
#endif
}
/// exp(−a²)·2⁶⁴, or with `half` exp(−a²/2)·2⁶⁴: normal numbers unless they are below 2⁻¹⁹⁰.
TAPEDECK_INLINE float lifted_bell(float a, bool half) {
  const auto [square, lost] = exact_product(half ? -0.5F * a : -a, a);
  const auto [n, r] = reduce_exponent(square);
  return (1.0F + expm1_near_zero(r + lost)) * power_of_two(n + 64.0F);
}

/// Φ(−a)·exp(a²/2)·`scale` for 0 ≤ a ≤ 14.4: t times a polynomial in t − 0.6, t = 1 / (1 + 0.27·a), fitted
/// for the least relative error (2.4e-8).
TAPEDECK_INLINE float normal_tail(float a, float scale) {
  const float t = 1.0F / fused(0.27F, a, 1.0F);
  return t * polynomial(t - 0.6F, scale * 0.237920472224F, scale * 0.40023391471F, scale * 0.47625981354F,
                        scale * 0.367521579484F, scale * 0.123540416093F, scale * -0.0639006444591F,
                        scale * -0.0695244477807F, scale * 0.0125292848857F, scale * 0.0289529493224F);
}

constexpr float erfc_vanishes = 10.2F;

/// x times a polynomial in x², fitted likewise on |x| ≤ 0.85 (6.1e-9).
TAPEDECK_INLINE float erf_near_zero(float x) {
  return x * polynomial(x * x, 1.12837916024F, -0.376125718531F, 0.112827175259F, -0.0268025516718F,
                        0.00505110017043F, -0.00063151560285F);
}

/// Right to 6 ulp.
TAPEDECK_INLINE float erfc_of(float x) {
  float a = std::fabs(x);
  a = a > erfc_vanishes ? erfc_vanishes : a;  // NaN passes
  // erfc(a) = 2·Φ(−√2·a). Where it is subnormal the product rounds once.
  const float tail =
      lifted_bell(a, false) * normal_tail(a * static_cast<float>(std::numbers::sqrt2), 0x1p-63F);
  const float far = x < 0.0F ? 2.0F - tail : tail;
  return std::fabs(x) < 0.5F ? 1.0F - erf_near_zero(x) : far;
}

TAPEDECK_INLINE float erf_of(float x) {
  // log(erfc(a)) as a polynomial, fitted for the least relative error of erf (2.1e-9) up to where that is 1.
  constexpr float is_one = 4.0F;
  const float a = std::fabs(x) > is_one ? is_one : std::fabs(x);  // NaN passes
  const float logarithm =
      polynomial(a, -0.000104522787091F, -1.12806101317F, -0.636518919686F, -0.10452594716F, 0.0225190631384F,
                 -0.00311785648215F, 0.000203676994284F);
  const auto [n, r] = reduce_exponent(logarithm);
  const float far = fused(-power_of_two(n), 1.0F + expm1_near_zero(r), 1.0F);
  return std::fabs(x) < 0.85F ? erf_near_zero(x) : std::copysign(far, x);
}

/// The inverse of erf, right to 4 ulp: x times a function of w = −log(1 − x²) (M. Giles, Approximating the
/// erfinv function, 2011), one polynomial up to w = 5, and one in √w behind it, fitted likewise (8e-8).
TAPEDECK_INLINE float erfinv_of(float x) {
  const float w = -log_of((1.0F - x) * (1.0F + x)), root = std::sqrt(w);
  const float near =
      polynomial(w - 2.5F, 1.501409359F, 0.2466402862F, -0.00417738678F, -0.001252741882F, 0.0002183444385F,
                 -4.963345565e-06F, -3.462704516e-06F, 4.661701618e-07F, 2.323262437e-08F, -8.791019992e-09F);
  const float far =
      polynomial(root - 3.0F, 2.832977004F, 1.001674232F, 0.00943503784F, -0.007626243567F, 0.005765543069F,
                 -0.003656542337F, 0.001292243794F, 8.251905002e-05F, -0.0001597770294F);
  const float value = x * (w < 5.0F ? near : far);
  return std::fabs(x) == 1.0F ? std::copysign(std::numeric_limits<float>::infinity(), x) : value;
}

/// x·Φ(x) = max(x, 0) − |x|·Φ(−|x|), accurate to 5 ulp even in the tail, where 1 + erf would cancel, and to 7
/// where Φ is subnormal (9 without fused multiply-adds). In two steps, because one long dependency chain
/// leaves arithmetic units idle: a loop does the first step for some elements, then the second.
///
/// Φ(−a) is exp(−a²/2) times N(a)/D(a), fitted on [0, 14.5] for the least relative error (6.2e-9). With
/// a² = r − n·2·ln 2 the other factor is 2ⁿ·exp(−r/2), and that is (q − r) / (q + r) with an even q(r): both
/// quotients are one division.
struct Gelu {
  struct Parts {
    float size;  ///< a
    float rest;  ///< r
    float top;   ///< N(a)·2ⁿ⁺⁶⁴
  };
  /// |x|, clamped where the tail vanishes; for NaN the clamp, too, because the other summand is NaN.
  TAPEDECK_INLINE static float size_of(float x) {
    const std::uint32_t bits = bits_of(x) & 0x7fffffffU, most = bits_of(14.5F);
    return std::bit_cast<float>(bits < most ? bits : most);
  }
  TAPEDECK_INLINE static Parts first(float x) {
    using F = Format<float>;
    constexpr float shift = F::integer_shift + 64.0F;
    const float a = size_of(x);
    // The square of the upper half of a's digits is exact.
    const float high = std::bit_cast<float>(bits_of(a) & 0xfffff000U), square = high * high;
    const float shifted = fused(square, -0.5F * F::log2_e, shift), n = shifted - shift;
    // 2·ln 2 rounded to float: the fit of N and D includes its error.
#ifdef TAPEDECK_FUSES
    const float reduced = fused(n, 0x1.62e43p+0F, square);
#else
    const float reduced = (square + n * 0x1.62ep+0F) + n * 0x1.0cp-14F;
#endif
    const float numerator =
        polynomial(a, 47.9584764691F, 42.1614079386F, 17.6625447029F, 3.92616483557F, 0.398945729917F);
    return {a, fused(a - high, a + high, reduced),
            std::bit_cast<float>(bits_of(numerator) + (bits_of(shifted) << F::mantissa_bits))};
  }
  TAPEDECK_INLINE static float second(float x, Parts parts) {
    const float a = parts.size, r = parts.rest, square = r * r;
    const float q = fused(square, fused(square, -0.000345746931169F, 0.0833330880622F), 4.0F);
    const float denominator =
        polynomial(a, 95.9169523426F, 160.85351356F, 115.708667868F, 45.2600926204F, 9.84197894344F + a);
    // Four times the tail, so that neither it nor a quarter of x loses many digits when subnormal.
    constexpr std::uint32_t lift = 62U << Format<float>::mantissa_bits;
    const float tail = parts.top * (q - r) / std::bit_cast<float>(bits_of(denominator * (q + r)) + lift);
    return fused(-0.25F * a, tail, x < 0.0F ? x * 0.0F : x);  // −∞·0 is NaN
  }
  TAPEDECK_INLINE static float apply(float x) {
    return second(x, first(x));
  }
};
TAPEDECK_INLINE float gelu_of(float x) {
  return Gelu::apply(x);
}

constexpr float normal_tail_vanishes = 14.4F;

/// Φ(x) + x·φ(x), the slope of x·Φ(x), accurate to a few ulp of the larger part.
TAPEDECK_INLINE float gelu_slope_of(float x) {
  constexpr float highest_density = 0.398942280F;  // 1/√(2π)
  float a = std::fabs(x);
  a = a > normal_tail_vanishes ? normal_tail_vanishes : a;  // NaN passes
  const float part = fused(-a, 0x1p-64F * highest_density, normal_tail(a, 0x1p-64F)) * lifted_bell(a, true);
  return x < 0.0F ? part : 1.0F - part;
}

// ---- atan, atan2, float32 ----

/// The angle of the point (x, y): atan of a ratio up to 1, by a polynomial fitted likewise (2.4e-9), rotated
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

/// The remainder of x / y with the sign of x, exact: the products fit in a double.
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

// ---- pow, float32 ----

/// xʸ = 2^(y·log₂|x|) in double, right to 0.54 ulp, for finite non-zero x and finite y.
struct Power {
  TAPEDECK_INLINE static bool fits(float x, float y) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float a = std::fabs(x);
    return (a > 0.0F) & (a < infinity) & (std::fabs(y) < infinity);
  }
  /// 2ᵏ·m with √½ ≤ m < √2: k + log₂(m) by atanh's series, fitted for the least relative error (4.2e-12).
  TAPEDECK_INLINE static double log2_of(double x) {
    using F = Format<double>;
    constexpr F::Bits mantissa_mask = (F::Bits{1} << F::mantissa_bits) - 1;
    const F::Bits shifted = bits_of(x) + (bits_of(1.0) - bits_of(F::sqrt_half));
    const double k = std::bit_cast<double>((shifted >> F::mantissa_bits) | bits_of(F::integer_base)) -
                     (F::integer_base + F::bias);
    const double m = std::bit_cast<double>((shifted & mantissa_mask) + bits_of(F::sqrt_half));
    const double s = (m - 1.0) / (m + 1.0);
    return fused(s,
                 polynomial(s * s, 2.88539008179008, 0.961796673350160936, 0.577083583261175,
                            0.411672827016909852, 0.340728010252543735),
                 k);
  }
  /// 2ˣ, fitted likewise (2e-9), and exact for whole numbers.
  TAPEDECK_INLINE static double exp2_of(double x) {
    using F = Format<double>;
    const double shifted = x + F::integer_shift, r = x - (shifted - F::integer_shift);
    const double p = polynomial(r, 1.0, 0.693147202855069818, 0.240226479136733636, 0.0555033247109735437,
                                0.00961843735320004267, 0.00133988744266465565, 0.0001535336299676856);
    return std::bit_cast<double>(bits_of(p) + (bits_of(shifted) << F::mantissa_bits));
  }
  TAPEDECK_INLINE static float apply(float x, float y) {
    constexpr double most = 160.0;  // 2^±160 is outside float32's range
    double exponent = static_cast<double>(y) * log2_of(std::fabs(static_cast<double>(x)));
    exponent = exponent > most ? most : exponent;
    exponent = exponent < -most ? -most : exponent;
    const auto size = static_cast<float>(exp2_of(exponent));
    const float half = 0.5F * y;
    const bool odd = half != std::trunc(half);  // where y is whole
    const float below = y != std::trunc(y) ? std::numeric_limits<float>::quiet_NaN() : odd ? -size : size;
    return x < 0.0F ? below : size;
  }
  TAPEDECK_DEVICE static float otherwise(float x, float y) { return std::pow(x, y); }
};

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
