// Elementary functions without branches, so that the compiler turns loops over them into vector code.
//
// Each is right to about 2 ulp and exact where the function is: zeros keep their sign, infinities and NaN
// follow IEEE 754 and C's Annex F, subnormal numbers are computed correctly. Products are fused with sums
// only where `fused` is called, so bits differ between instruction sets with and without it; the compiler
// fuses nothing by itself, so they do not depend on an element's position in a tensor. Included by
// vector/*.cpp and by the kernels of GPUs, inside the namespace of an instruction set.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/tensor/device_code.h"

#ifndef TAPEDECK_ISA  // of CUDA's sources
#define TAPEDECK_ISA device
#endif

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

#if defined(__FMA__) || defined(TAPEDECK_GPU)
#define TAPEDECK_FUSES
#endif

template <class T>
struct Format;

template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr float bias = 127.0F;
  static constexpr float integer_shift = 0x1.8p23F;  ///< x + this holds the nearest integer in its low bits
  static constexpr float integer_base = 0x1p23F;
  static constexpr float log2_e = 0x1.715476p+0F;
  static constexpr float ln2_high = 0x1.63p-1F;  ///< few bits, so that multiples by an exponent are exact
  static constexpr float ln2_low = -0x1.bd0106p-13F;
  static constexpr float ln2 = 0x1.62e43p-1F;
  static constexpr float sqrt_half = 0x1.6a09e6p-1F;
  static constexpr float exp_overflow = 89.0F;
  static constexpr float exp_underflow = -104.0F;
  static constexpr float subnormal_shift = 64.0F;  ///< lifts exp_underflow's exponent to a normal one
  static constexpr float subnormal_scale = 0x1p-64F;
  static constexpr float expm1_saturates = -20.0F;
  static constexpr float tanh_saturates = 10.0F;
  static constexpr float tiny = 0x1p-26F;  ///< |x| below it: expm1(x) rounds to x
};

template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa_bits = 52;
  static constexpr double bias = 1023.0;
  static constexpr double integer_shift = 0x1.8p52;
  static constexpr double integer_base = 0x1p52;
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln2_high = 0x1.62e42feep-1;
  static constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1;
  static constexpr double exp_overflow = 710.0;
  static constexpr double exp_underflow = -746.0;
  static constexpr double subnormal_shift = 128.0;
  static constexpr double subnormal_scale = 0x1p-128;
  static constexpr double expm1_saturates = -40.0;
  static constexpr double tanh_saturates = 22.0;
  static constexpr double tiny = 0x1p-55;
};

template <class T>
TAPEDECK_INLINE typename Format<T>::Bits bits_of(T x) {
  return std::bit_cast<typename Format<T>::Bits>(x);
}

/// a·b + c, rounded once where the instruction set can.
TAPEDECK_INLINE float fused(float a, float b, float c) {
#ifdef TAPEDECK_FUSES
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}
TAPEDECK_INLINE double fused(double a, double b, double c) {
#ifdef TAPEDECK_FUSES
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// c0 + c1·x + c2·x² + …
template <class T>
TAPEDECK_INLINE T polynomial(T, T c0) {
  return c0;
}
template <class T, class... Rest>
TAPEDECK_INLINE T polynomial(T x, T c0, Rest... rest) {
  return fused(x, polynomial<T>(x, static_cast<T>(rest)...), c0);
}

/// 2ⁿ for a whole number n within the normal exponents.
template <class T>
TAPEDECK_INLINE T power_of_two(T n) {
  using F = Format<T>;
  return std::bit_cast<T>(
      static_cast<typename F::Bits>(bits_of(n + (F::integer_shift + F::bias)) << F::mantissa_bits));
}

/// (eʳ − 1 − r) / r² on |r| ≤ ln(2)/2: fitted for the least relative error of eʳ − 1 (1.3e-8); for doubles
/// the Taylor series, truncated where the remainder is below half an ulp.
TAPEDECK_INLINE float exp_tail(float r) {
  return polynomial(r, 0.499999981441F, 0.16666543178F, 0.0416672017795F, 0.00836658033517F,
                    0.00138825101105F);
}
TAPEDECK_INLINE double exp_tail(double r) {
  return polynomial(r, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                    1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0);
}

/// x − n·ln 2.
template <class T>
TAPEDECK_INLINE T reduced_by(T x, T n) {
  using F = Format<T>;
  return fused(-n, F::ln2_low, fused(-n, F::ln2_high, x));
}
/// x = n·ln 2 + r.
template <class T>
struct Reduced {
  T n, r;
};
template <class T>
TAPEDECK_INLINE Reduced<T> reduce_exponent(T x) {
  using F = Format<T>;
  const T n = fused(x, F::log2_e, F::integer_shift) - F::integer_shift;
  return {n, reduced_by(x, n)};
}
/// eʳ − 1 of a reduced r.
template <class T>
TAPEDECK_INLINE T expm1_near_zero(T r) {
  return fused(r * r, exp_tail(r), r);
}

template <class T>
TAPEDECK_INLINE T exp_of(T x) {
  using F = Format<T>;
  x = x > F::exp_overflow ? F::exp_overflow : x;  // written so that NaN passes
  x = x < F::exp_underflow ? F::exp_underflow : x;
  const auto [n, r] = reduce_exponent(x);
  const T p = T(1) + expm1_near_zero(r);
  // In two steps: 2ⁿ alone may be out of range where the result is not; the last step rounds to subnormals.
  const T half = fused(n, T(0.5), F::integer_shift) - F::integer_shift;
  return p * power_of_two(half) * power_of_two(n - half);
}

/// exp for ordinary x and results (no overflow, underflow or NaN): the same bits in fewer steps.
struct Exp {
  template <class T>
  TAPEDECK_INLINE static bool fits(T x) {
    return std::fabs(x) <= (std::is_same_v<T, float> ? T(87) : T(708));
  }
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    using F = Format<T>;
    const T shifted = fused(x, F::log2_e, F::integer_shift);
    const T p = T(1) + expm1_near_zero(reduced_by(x, shifted - F::integer_shift));
    return std::bit_cast<T>(
        static_cast<typename F::Bits>(bits_of(p) + (bits_of(shifted) << F::mantissa_bits)));
  }
  template <class T>
  TAPEDECK_INLINE static T otherwise(T x) {
    return exp_of(x);
  }
};

/// exp(x) of an x that is not above zero.
template <class T>
TAPEDECK_INLINE T exp_of_negative(T x) {
  using F = Format<T>;
  x = x < F::exp_underflow ? F::exp_underflow : x;
  const auto [n, r] = reduce_exponent(x);
  const T p = T(1) + expm1_near_zero(r);
  // Within the normal exponents first; the last step rounds to subnormals.
  return p * power_of_two(n + F::subnormal_shift) * F::subnormal_scale;
}

template <class T>
TAPEDECK_INLINE T expm1_of(T x) {
  using F = Format<T>;
  T y = x > F::exp_overflow ? F::exp_overflow : x;
  y = y < F::expm1_saturates ? F::expm1_saturates : y;
  const auto [n, r] = reduce_exponent(y);
  const T half_scale = power_of_two(n - T(1));
  const T result = fused(half_scale, expm1_near_zero(r), half_scale - T(0.5)) * T(2);
  return std::fabs(x) < F::tiny ? x : result;
}
/// expm1(x) for x from 0 to a few dozen, where the power of two is in range.
template <class T>
TAPEDECK_INLINE T expm1_of_moderate(T x) {
  const auto [n, r] = reduce_exponent(x);
  const T scale = power_of_two(n);
  return fused(scale, expm1_near_zero(r), scale - T(1));
}

/// A normal positive x is 2ᵏ·(1 + f) with √½ ≤ 1 + f ≤ √2.
template <class T>
struct Mantissa {
  T k, f;
};
template <class T>
TAPEDECK_INLINE Mantissa<T> mantissa_of(T x, T exponent_offset) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  constexpr Bits mantissa_mask = (Bits{1} << F::mantissa_bits) - 1;
  const Bits shifted = bits_of(x) + (bits_of(T(1)) - bits_of(F::sqrt_half));
  const T k = std::bit_cast<T>(static_cast<Bits>((shifted >> F::mantissa_bits) | bits_of(F::integer_base))) -
              (F::integer_base + F::bias) + exponent_offset;
  return {k, std::bit_cast<T>(static_cast<Bits>((shifted & mantissa_mask) + bits_of(F::sqrt_half))) - T(1)};
}

/// (log(1 + f) − f) / f², fitted for the least relative error of the logarithm (4.1e-9).
TAPEDECK_INLINE float log_tail(float f) {
  return polynomial(f, -0.499999883464F, 0.333333256922F, -0.250015829587F, 0.200019739205F, -0.166090826211F,
                    0.141818253397F, -0.132429877072F, 0.129044322742F, -0.0762177697160F);
}
/// k·ln 2 + log(1 + f): ln 2 is so close to a float that its products need no second part. Right to 0.93 ulp.
TAPEDECK_INLINE float log_joined(float k, float f) {
  return fused(k, Format<float>::ln2, fused(f * f, log_tail(f), f));
}
/// The same with a correction, which is small beside an ulp of 1 + f.
TAPEDECK_INLINE float log_joined(float k, float f, float correction) {
  return fused(k, Format<float>::ln2, f + fused(f * f, log_tail(f), correction));
}
/// By atanh's series: log(1 + f) is twice that of s = f / (2 + f).
TAPEDECK_INLINE double log_joined(double k, double f, double correction = 0) {
  using F = Format<double>;
  const double square = f * f, s = f / (2.0 + f), z = s * s;
  const double tail = s * fused(0.5, square,
                                z * polynomial(z, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13,
                                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21)) +
                      fused(k, F::ln2_low, correction);
  return fused(k, F::ln2_high, f - fused(0.5, square, -tail));
}

template <class T>
TAPEDECK_INLINE T log_of_normal(T x) {
  const auto [k, f] = mantissa_of(x, T(0));
  return log_joined(k, f);
}

template <class T>
TAPEDECK_INLINE T log_of(T x) {
  using F = Format<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const bool subnormal = x < std::numeric_limits<T>::min();
  const T scaled = subnormal ? x * F::integer_base : x;
  const auto [k, f] = mantissa_of(scaled, subnormal ? T(-F::mantissa_bits) : T(0));
  T y = log_joined(k, f);
  y = x < infinity ? y : x;  // +∞ and NaN are their own logarithms
  y = x < T(0) ? std::numeric_limits<T>::quiet_NaN() : y;
  return x == T(0) ? -infinity : y;
}

/// log of normal positive numbers, likewise.
struct Log {
  template <class T>
  TAPEDECK_INLINE static bool fits(T x) {
    using F = std::numeric_limits<T>;
    // One comparison: bits of anything but a normal number wrap around, or are larger.
    return static_cast<typename Format<T>::Bits>(bits_of(x) - bits_of(F::min())) <=
           static_cast<typename Format<T>::Bits>(bits_of(F::max()) - bits_of(F::min()));
  }
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    return log_of_normal(x);
  }
  template <class T>
  TAPEDECK_INLINE static T otherwise(T x) {
    return log_of(x);
  }
};

template <class T>
TAPEDECK_INLINE T log1p_of(T x) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const T u = T(1) + x;
  const T lost = x >= T(1) ? T(1) - (u - x) : x - (u - T(1));  // what 1 + x rounded away
  const auto [k, f] = mantissa_of(u, T(0));
  T y = log_joined(k, f, lost / u);
  y = x < infinity ? y : x;
  y = x < T(-1) ? std::numeric_limits<T>::quiet_NaN() : y;
  y = x == T(-1) ? -infinity : y;
  return x == T(0) ? x : y;
}

/// tanh|x| = t / (t + 2) with t = e^(2|x|) − 1.
template <class T>
TAPEDECK_INLINE T tanh_of(T x) {
  const T a = std::fabs(x);
  const T t = expm1_of_moderate(T(2) * (a > Format<T>::tanh_saturates ? Format<T>::tanh_saturates : a));
  return std::copysign(t / (t + T(2)), x);
}

/// 1 / (1 + e^−x), of e = e^−|x|.
template <class T>
TAPEDECK_INLINE T sigmoid_from(T x, T e) {
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
template <class T>
TAPEDECK_INLINE T sigmoid_of(T x) {
  return sigmoid_from(x, exp_of_negative(-std::fabs(x)));
}
/// sigmoid of numbers of moderate size, likewise.
struct Sigmoid {
  template <class T>
  TAPEDECK_INLINE static bool fits(T x) {
    return Exp::fits(x);
  }
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    return sigmoid_from(x, Exp::apply(-std::fabs(x)));
  }
  template <class T>
  TAPEDECK_INLINE static T otherwise(T x) {
    return sigmoid_of(x);
  }
};

/// The Taylor series on |t| ≤ π/4, truncated where the remainder is below half an ulp.
TAPEDECK_INLINE float sin_near_zero(float t) {
  const float z = t * t;
  return fused(t * z, polynomial(z, -1.0F / 6, 1.0F / 120, -1.0F / 5040, 1.0F / 362880), t);
}
TAPEDECK_INLINE float cos_near_zero(float t) {
  const float z = t * t;
  return polynomial(z, 1.0F, -1.0F / 2, 1.0F / 24, -1.0F / 720, 1.0F / 40320, -1.0F / 3628800);
}
TAPEDECK_INLINE double sin_near_zero(double t) {
  const double z = t * t;
  return fused(t * z,
               polynomial(z, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                          1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0),
               t);
}
TAPEDECK_INLINE double cos_near_zero(double t) {
  const double z = t * t;
  return polynomial(z, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
                    -1.0 / 87178291200.0, 1.0 / 20922789888000.0);
}

template <class T>
TAPEDECK_INLINE T softplus_of(T x) {
  return (x < T(0) ? T(0) : x) + log1p_of(exp_of_negative(-std::fabs(x)));
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
