// Normal numbers from random words, as vector code. Included by vector/*.cpp and cuda/loops/random.cu only,
// as math.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

/// A word as a fraction above 0, at most 1.
TAPEDECK_INLINE float fraction_of(std::uint32_t word) {
  return (static_cast<float>(static_cast<std::int32_t>(word >> 1)) + 0.5F) * 0x1p-31F;
}
TAPEDECK_INLINE double fraction_of(std::uint64_t word) {
  return 2.0 - std::bit_cast<double>(word >> 12 | std::uint64_t{0x3FF} << 52);
}

/// A word as an angle: that of the nearest axis, in quarters of a circle, and the rest, in radians.
template <class T>
struct Angle {
  typename Format<T>::Bits quarters;
  T rest;
};
TAPEDECK_INLINE Angle<float> angle_of(std::uint32_t word) {
  const std::uint32_t quarters = (word + (std::uint32_t{1} << 29)) >> 30;
  const auto rest = static_cast<std::int32_t>(word - (quarters << 30));
  return {quarters, static_cast<float>(rest) * static_cast<float>(2 * std::numbers::pi * 0x1p-32)};
}
TAPEDECK_INLINE Angle<double> angle_of(std::uint64_t word) {
  const double circle = std::bit_cast<double>(word >> 12 | std::uint64_t{0x3FF} << 52) - 1.0;
  const double nearest = (circle * 4.0 + Format<double>::integer_shift) - Format<double>::integer_shift;
  return {bits_of(nearest + Format<double>::integer_shift),
          (circle - nearest * 0.25) * (2 * std::numbers::pi)};
}

/// Two independent normal numbers from two words, by Box and Muller's method.
template <class T>
TAPEDECK_INLINE void box_muller(typename Format<T>::Bits first, typename Format<T>::Bits second, T& x, T& y) {
  using Bits = typename Format<T>::Bits;
  constexpr int sign_shift = 8 * sizeof(T) - 1;
  const T radius = std::sqrt(T(-2) * log_of_normal(fraction_of(first)));
  const auto [quarters, rest] = angle_of(second);
  const T s = sin_near_zero(rest), c = cos_near_zero(rest);
  const bool swapped = (quarters & 1) != 0;
  const Bits cosine_sign = ((quarters + 1) >> 1 & 1) << sign_shift, sine_sign = (quarters >> 1 & 1)
                                                                                << sign_shift;
  x = radius * std::bit_cast<T>(static_cast<Bits>(bits_of(swapped ? s : c) ^ cosine_sign));
  y = radius * std::bit_cast<T>(static_cast<Bits>(bits_of(swapped ? c : s) ^ sine_sign));
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
