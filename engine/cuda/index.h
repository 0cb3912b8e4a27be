// Index arithmetic in kernels.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "engine/cuda/launch.h"

namespace tapedeck::cuda {

/// Calls `f(std::int32_t{})` if numbers up to `most` plus a step of a grid fit, else `f(std::int64_t{})`:
/// 64-bit multiplication and division are many times slower on a GPU.
template <class F>
void visit_index(std::int64_t most, F&& f) {
  if (most <= std::numeric_limits<std::int32_t>::max() / 2)
    f(std::int32_t{});
  else
    f(std::int64_t{});
}

/// A divisor of non-negative numbers; 32-bit division uses multiplication (Granlund and Montgomery, "Division
/// by Invariant Integers using Multiplication", 1994, for numbers below 2³¹). 0 counts as 1.
template <class Index>
class Divisor {
 public:
  explicit Divisor(std::int64_t value) : value_(value > 0 ? static_cast<Index>(value) : 1) {
    if constexpr (sizeof(Index) == 4) {
      const auto divisor = static_cast<std::uint64_t>(value_);
      const int log = static_cast<int>(std::bit_width(divisor - 1));
      shift_ = log > 0 ? log - 1 : 0;
      factor_ = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + log)) + divisor - 1) / divisor);
    }
  }
  __device__ operator Index() const { return value_; }
  friend __device__ Index operator/(Index number, const Divisor& by) {
    if constexpr (sizeof(Index) == 4)
      return by.value_ == 1
                 ? number
                 : static_cast<Index>(__umulhi(static_cast<unsigned>(number), by.factor_) >> by.shift_);
    else
      return number / by.value_;
  }
  friend __device__ Index operator%(Index number, const Divisor& by) {
    return number - number / by * by.value_;
  }

 private:
  Index value_;
  std::uint32_t factor_ = 0;
  int shift_ = 0;
};

}  // namespace tapedeck::cuda
