// Quotients and remainders of 64-bit whole numbers. Below 2⁵³ they go by float64, which vectors divide: a
// quotient that is not whole is further from the next whole number than the rounding reaches. Included by
// vector/binary.cpp only.
#pragma once

#include <cstdint>

#include "engine/cpu/vector/arithmetic.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

using Whole = std::int64_t;

/// Towards 0; both are below 2⁵³.
TAPEDECK_INLINE Whole quotient_of(Whole x, Whole y) {
  return static_cast<Whole>(static_cast<double>(x) / static_cast<double>(y));
}
/// Whether what is left of a division towards 0 has the other sign than the divisor.
TAPEDECK_INLINE bool turns_round(Whole remainder, Whole y) {
  return (remainder != 0) & ((remainder ^ y) < 0);
}

struct FloorQuotient {
  TAPEDECK_INLINE static Whole below(Whole x, Whole y) {
    const Whole quotient = quotient_of(x, y);
    return quotient - (turns_round(x - quotient * y, y) ? 1 : 0);
  }
  static Whole any(Whole x, Whole y) { return floordiv_of(x, y); }
};
struct FloorRemainder {
  TAPEDECK_INLINE static Whole below(Whole x, Whole y) {
    const Whole remainder = x - quotient_of(x, y) * y;
    return turns_round(remainder, y) ? remainder + y : remainder;
  }
  static Whole any(Whole x, Whole y) { return mod_of(x, y); }
};
struct CutQuotient {
  TAPEDECK_INLINE static Whole below(Whole x, Whole y) { return quotient_of(x, y); }
  static Whole any(Whole x, Whole y) { return truncatediv_of(x, y); }
};
struct CutRemainder {
  TAPEDECK_INLINE static Whole below(Whole x, Whole y) { return x - quotient_of(x, y) * y; }
  static Whole any(Whole x, Whole y) { return truncatemod_of(x, y); }
};

template <class F>
void whole_division_loop(const void* a, std::int64_t a_step, const void* b, std::int64_t b_step, void* out,
                         std::int64_t count) {
  constexpr std::int64_t together = 64;
  constexpr Whole limit = Whole{1} << 53;
  const Whole* __restrict x = static_cast<const Whole*>(a);
  const Whole* __restrict z = static_cast<const Whole*>(b);
  Whole* __restrict y = static_cast<Whole*>(out);
  std::int64_t i = 0;
  const auto blocks = [&](auto left, auto right) {
    for (; i + together <= count; i += together) {
      Whole outside = 0;
      for (std::int64_t j = i; j < i + together; ++j) {
        const Whole p = left(j), q = right(j);
        outside |= (p >= limit) | (p <= -limit) | (q >= limit) | (q <= -limit) ? 1 : 0;
        y[j] = F::below(p, q);
      }
      if (outside != 0)
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
