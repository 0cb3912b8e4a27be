// Functions that the expressions of elementwise_functions.h call, except the elementary ones: arithmetic that
// differs between integers and floating-point numbers, and between float32 (vector code) and float64 (the
// standard library). Included by vector/*.cpp only, inside the namespace of an instruction set.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/cpu/vector/math.h"
#include "engine/cpu/vector/transcendental.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// Integer arithmetic uses unsigned types: overflow wraps around, as in NumPy.
template <class T>
TAPEDECK_INLINE auto wrap(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return static_cast<std::make_unsigned_t<T>>(x);
}

template <class T>
TAPEDECK_INLINE T negative_of(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return -x;
  else
    return static_cast<T>(wrap(T(0)) - wrap(x));
}
template <class T>
TAPEDECK_INLINE T abs_of(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fabs(x);
  else
    return x < 0 ? negative_of(x) : x;
}
template <class T>
TAPEDECK_INLINE T sign_of(T x) {
  const T sign = static_cast<T>((x > T(0) ? T(1) : T(0)) - (x < T(0) ? T(1) : T(0)));
  return x == x ? sign : x;
}

// Integers need no rounding.
#define TAPEDECK_ROUNDING(name, function)      \
  template <class T>                           \
  TAPEDECK_INLINE T name(T x) {                \
    if constexpr (std::is_floating_point_v<T>) \
      return function(x);                      \
    else                                       \
      return x;                                \
  }
TAPEDECK_ROUNDING(floor_of, std::floor)
TAPEDECK_ROUNDING(ceil_of, std::ceil)
TAPEDECK_ROUNDING(round_of, std::nearbyint)
TAPEDECK_ROUNDING(trunc_of, std::trunc)
#undef TAPEDECK_ROUNDING

TAPEDECK_DEVICE inline double erf_of(double x) {
  return std::erf(x);
}
TAPEDECK_DEVICE inline double erfc_of(double x) {
  return std::erfc(x);
}
TAPEDECK_DEVICE inline double gelu_of(double x) {
  return 0.5 * x * std::erfc(x * -0.70710678118654752440);  // 1 + erf would cancel
}
TAPEDECK_DEVICE inline double asin_of(double x) {
  return std::asin(x);
}
TAPEDECK_DEVICE inline double acos_of(double x) {
  return std::acos(x);
}
TAPEDECK_INLINE float atan_of(float x) {
  return atan2_of(x, 1.0F);
}
TAPEDECK_DEVICE inline double atan_of(double x) {
  return std::atan(x);
}
TAPEDECK_DEVICE inline double atan2_of(double y, double x) {
  return std::atan2(y, x);
}
/// 1 + tanh would cancel for negative x: the sigmoid keeps its digits.
template <class T>
TAPEDECK_INLINE T gelu_tanh_of(T x) {
  return x * sigmoid_of(T(1.59576912160573071176) * (x + T(0.044715) * (x * x * x)));
}
/// dy·gelu′(x).
TAPEDECK_INLINE float gelu_grad_of(float dy, float x) {
  return dy * gelu_slope_of(x);
}
TAPEDECK_DEVICE inline double gelu_grad_of(double dy, double x) {
  const double density = 0.39894228040143267794 * std::exp(-0.5 * x * x);  // 1/√(2π)
  return dy * (0.5 * std::erfc(x * -0.70710678118654752440) + (density == 0.0 ? 0.0 : x * density));
}

/// For an F that does not accept all arguments.
template <class F, class T>
TAPEDECK_INLINE T guarded(T x) {
  return F::fits(x) ? F::apply(x) : F::otherwise(x);
}

// A shift by the number's width or more, or by a negative count, is undefined in C++; as in TensorFlow, the
// count is clamped.
template <class T>
TAPEDECK_INLINE int shift_count(T y) {
  constexpr T most = static_cast<T>(8 * sizeof(T) - 1);
  return static_cast<int>(y < T(0) ? T(0) : y > most ? most : y);
}

// Division rounds towards −∞, and the remainder has the divisor's sign. −1 is a special case because the
// lowest integer divided by it traps. int32 is divided in float64, which has vector division: a quotient that
// is not an integer is further from the next integer than rounding reaches.
template <class T>
TAPEDECK_INLINE T floordiv_of(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::floor(x / y);
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    const double quotient = std::floor(static_cast<double>(x) / static_cast<double>(y));
    return y == T(-1) ? negative_of(x) : static_cast<T>(quotient);
  } else {
    if (y == T(-1)) return negative_of(x);
    const T quotient = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
  }
}
/// The result of std::fmod, with the sign of y.
template <class T>
TAPEDECK_INLINE T floored(T remainder, T y) {
  const T turned = (remainder < T(0)) != (y < T(0)) ? remainder + y : remainder;
  return remainder == T(0) ? std::copysign(T(0), y) : turned;
}
template <class T>
TAPEDECK_INLINE T mod_of(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return floored(std::fmod(x, y), y);
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return static_cast<T>(wrap(x) - wrap(floordiv_of(x, y)) * wrap(y));
  } else {
    if (y == T(-1)) return 0;
    const T remainder = x % y;
    return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
  }
}
// The same, truncated towards 0; the remainder has the sign of x.
template <class T>
TAPEDECK_INLINE T truncatediv_of(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return std::trunc(x / y);
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return y == T(-1) ? negative_of(x) : static_cast<T>(static_cast<double>(x) / static_cast<double>(y));
  else
    return y == T(-1) ? negative_of(x) : static_cast<T>(x / y);
}
template <class T>
TAPEDECK_INLINE T truncatemod_of(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmod(x, y);
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return static_cast<T>(wrap(x) - wrap(truncatediv_of(x, y)) * wrap(y));
  else
    return y == T(-1) ? T(0) : static_cast<T>(x % y);
}
template <class T>
TAPEDECK_INLINE T pow_of(T x, T y) {
  if constexpr (std::is_same_v<T, float>) {
    return Power::fits(x, y) ? Power::apply(x, y) : Power::otherwise(x, y);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::pow(x, y);
  } else {
    auto base = wrap(x);
    auto result = wrap(T(1));
    for (auto exponent = wrap(y); exponent != 0; exponent >>= 1, base *= base)
      if (exponent & 1) result *= base;
    return static_cast<T>(result);
  }
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
