// Vectors with a fixed number of lanes, whatever the registers' width: in one register if the instruction set
// has one that wide, else in halves. (GCC keeps vectors that are wider than a register in memory.) Included
// by vector/*.cpp only.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX2__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

/// Arithmetic per lane, and per half.
template <class Half>
struct Halves {
  Half low, high;

#define TAPEDECK_IN_HALVES(op)                                                                     \
  TAPEDECK_INLINE friend auto operator op(const Halves& a, const Halves& b) {                      \
    return Halves<decltype(a.low op b.low)>{a.low op b.low, a.high op b.high};                     \
  }                                                                                                \
  template <class T>                                                                               \
  requires std::is_arithmetic_v<T> TAPEDECK_INLINE friend auto operator op(const Halves& a, T b) { \
    return Halves<decltype(a.low op b)>{a.low op b, a.high op b};                                  \
  }
  TAPEDECK_IN_HALVES(+)
  TAPEDECK_IN_HALVES(-)
  TAPEDECK_IN_HALVES(*)
  TAPEDECK_IN_HALVES(&)
  TAPEDECK_IN_HALVES(|)
  TAPEDECK_IN_HALVES(==)
  TAPEDECK_IN_HALVES(!=)
  TAPEDECK_IN_HALVES(<)
  TAPEDECK_IN_HALVES(>)
#undef TAPEDECK_IN_HALVES
  template <class Other>
  TAPEDECK_INLINE Halves& operator+=(const Other& other) {
    return *this = *this + other;
  }
  template <class Other>
  TAPEDECK_INLINE Halves& operator-=(const Other& other) {
    return *this = *this - other;
  }
  template <class Other>
  TAPEDECK_INLINE Halves& operator*=(const Other& other) {
    return *this = *this * other;
  }
};
template <class V>
constexpr bool in_halves = false;
template <class Half>
constexpr bool in_halves<Halves<Half>> = true;

template <class T, int count>
struct WideType {
  static constexpr bool fits = count * sizeof(T) <= register_bytes;
  typedef T Whole __attribute__((vector_size(fits ? count * sizeof(T) : sizeof(T))));
  static auto type() {
    if constexpr (fits)
      return Whole{};
    else
      return Halves<decltype(WideType<T, count / 2>::type())>{};
  }
};
/// `count` lanes of T, a power of two.
template <class T, int count>
using Wide = decltype(WideType<T, count>::type());

template <class V>
TAPEDECK_INLINE auto lane(const V& vector, int at) {
  if constexpr (in_halves<V>) {
    constexpr int half = static_cast<int>(sizeof vector.low / sizeof(lane(vector.low, 0)));
    return at < half ? lane(vector.low, at) : lane(vector.high, at - half);
  } else {
    return vector[at];
  }
}
/// Every lane.
template <class V, class T>
TAPEDECK_INLINE void fill(V& vector, T value) {
  if constexpr (in_halves<V>) {
    fill(vector.low, value);
    vector.high = vector.low;
  } else {
    vector = V{} + value;
  }
}
template <class V, class T>
TAPEDECK_INLINE void load(V& vector, const T* from) {
  if constexpr (in_halves<V>) {
    load(vector.low, from);
    load(vector.high, from + sizeof vector.low / sizeof(T));
  } else {
    std::memcpy(&vector, from, sizeof vector);
  }
}
template <class V, class T>
TAPEDECK_INLINE void store(const V& vector, T* to) {
  if constexpr (in_halves<V>) {
    store(vector.low, to);
    store(vector.high, to + sizeof vector.low / sizeof(T));
  } else {
    std::memcpy(to, &vector, sizeof vector);
  }
}
/// Converts the numbers to the vector's doubles.
template <class V, class T>
TAPEDECK_INLINE void load_converted(V& vector, const T* from) {
  constexpr auto lanes = sizeof(V) / sizeof(lane(vector, 0));
  if constexpr (in_halves<V>) {
    load_converted(vector.low, from);
    load_converted(vector.high, from + lanes / 2);
  } else {
    typedef T Given __attribute__((vector_size(lanes * sizeof(T))));
    Given given;
    std::memcpy(&given, from, sizeof given);
#ifndef __AVX512DQ__
    if constexpr (std::is_same_v<T, std::int64_t>) {
      // The halves of each number in the low bits of 2⁸⁴ + 2⁶³ and of 2⁵²; only their sum is rounded.
      typedef std::uint64_t Bits __attribute__((vector_size(sizeof(V))));
      const auto bits = std::bit_cast<Bits>(given);
      const Bits high = (bits >> 32) ^ std::bit_cast<std::uint64_t>(0x1p84 + 0x1p63);
      const Bits low = (bits & 0xffffffff) | std::bit_cast<std::uint64_t>(0x1p52);
      vector = (std::bit_cast<V>(high) - (0x1p84 + 0x1p63 + 0x1p52)) + std::bit_cast<V>(low);
      return;
    }
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvector-operation-performance"  // bytes are converted one by one
    vector = __builtin_convertvector(given, V);
#pragma GCC diagnostic pop
  }
}

/// Per lane, or of two numbers: the first where the mask is set, else the second.
template <class Mask, class V>
TAPEDECK_INLINE V pick(const Mask& mask, const V& a, const V& b) {
  if constexpr (in_halves<V>)
    return {pick(mask.low, a.low, b.low), pick(mask.high, a.high, b.high)};
  else
    return mask ? a : b;
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
