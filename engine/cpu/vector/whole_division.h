// Quotients and remainders of 64-bit whole numbers. Below 2⁵¹ they use float64, which has vector division: a
// quotient that is not whole is further from the next whole number than rounding reaches, and two additions,
// which every instruction set has, convert it back. Included by vector/binary.cpp only.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/cpu/vector/arithmetic.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

using Whole = std::int64_t;
using WholeBits = std::uint64_t;

constexpr int whole_range = 52;  ///< bits of the numbers from −2⁵¹ up to 2⁵¹ − 1
constexpr WholeBits whole_limit = WholeBits{1} << (whole_range - 1);
constexpr double whole_base = 0x1.8p52;  ///< x + this holds the nearest whole number in its low bits
constexpr auto whole_bits = std::bit_cast<WholeBits>(whole_base);

// For numbers in that range.
TAPEDECK_INLINE double number(Whole x) {
  return std::bit_cast<double>(static_cast<WholeBits>(x) + whole_bits) - whole_base;
}
TAPEDECK_INLINE Whole whole(double x) {
  return static_cast<Whole>(std::bit_cast<WholeBits>(x + whole_base) - whole_bits);
}
TAPEDECK_INLINE double floor_of(double x) {
  const double nearest = (x + whole_base) - whole_base;
  return nearest - (nearest > x ? 1.0 : 0.0);
}
TAPEDECK_INLINE double towards_zero(double x) {
  return x < 0 ? -floor_of(-x) : floor_of(x);
}

struct FloorQuotient {
  TAPEDECK_INLINE static Whole below(double x, double y) { return whole(floor_of(x / y)); }
  static Whole any(Whole x, Whole y) { return floordiv_of(x, y); }
};
struct FloorRemainder {
  TAPEDECK_INLINE static Whole below(double x, double y) { return whole(x - floor_of(x / y) * y); }
  static Whole any(Whole x, Whole y) { return mod_of(x, y); }
};
struct CutQuotient {
  TAPEDECK_INLINE static Whole below(double x, double y) { return whole(towards_zero(x / y)); }
  static Whole any(Whole x, Whole y) { return truncatediv_of(x, y); }
};
struct CutRemainder {
  TAPEDECK_INLINE static Whole below(double x, double y) { return whole(x - towards_zero(x / y) * y); }
  static Whole any(Whole x, Whole y) { return truncatemod_of(x, y); }
};

template <class F>
void whole_division_loop(const void* a, std::int64_t a_step, const void* b, std::int64_t b_step, void* out,
                         std::int64_t count) {
  constexpr std::int64_t together = 64;
  const Whole* __restrict x = static_cast<const Whole*>(a);
  const Whole* __restrict z = static_cast<const Whole*>(b);
  Whole* __restrict y = static_cast<Whole*>(out);
  std::int64_t i = 0;
  const auto blocks = [&](auto left, auto right) {
    for (; i + together <= count; i += together) {
      WholeBits outside = 0;
      for (std::int64_t j = i; j < i + together; ++j) {
        const Whole p = left(j), q = right(j);
        outside |= (static_cast<WholeBits>(p) + whole_limit) | (static_cast<WholeBits>(q) + whole_limit);
        y[j] = F::below(number(p), number(q));
      }
      if (outside >> whole_range != 0)
        for (std::int64_t j = i; j < i + together; ++j) y[j] = F::any(left(j), right(j));
    }
  };
  const auto row_x = [=](std::int64_t j) { return x[j]; };
  const auto row_z = [=](std::int64_t j) { return z[j]; };
  if (count >= together) {
    if (a_step == 1 && b_step == 1) blocks(row_x, row_z);
    if (a_step == 1 && b_step == 0) blocks(row_x, [value = *z](std::int64_t) { return value; });
    if (a_step == 0 && b_step == 1) blocks([value = *x](std::int64_t) { return value; }, row_z);
  }
  for (; i < count; ++i) y[i] = F::any(x[i * a_step], z[i * b_step]);
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
