// The precomputed tables of a Fourier transform of a given length. Plans are computed once and cached.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tapedeck::cpu {

/// One pass over all numbers: it turns `stride` interleaved transforms of radix·rest numbers into radix times
/// as many of `rest`.
struct FourierPass {
  std::int64_t radix, rest, stride;
  std::int64_t twiddles;  ///< where its roots begin: for each p < rest, w^(p·k) for k from 1 to radix − 1
  std::int64_t roots;     ///< of a radix above 5: where w^k of the radix begin
};

/// Real and imaginary parts alternate.
template <class T>
struct FourierPlan {
  std::int64_t count;
  std::vector<FourierPass> passes;
  std::vector<T> numbers;
  /// For transforms of 2·count real numbers as pairs: e^(−πik/count) for k up to count.
  std::vector<T> half_turns;
};
template <class T>
std::shared_ptr<const FourierPlan<T>> fourier_plan(std::int64_t count);

/// The operand of a call of FourierLoops: lines of numbers, `step` apart, of which line i begins at i / inner
/// · inner · count + i % inner (where inner is the step).
struct FourierLines {
  std::int64_t first, lines, inner;
};

/// Loops over several lines at once, in the lanes of registers.
template <class T>
struct FourierLoops {
  std::int64_t lanes = 1;
  /// Transforms complex lines in place; `inverse`: also divides by their length.
  void (*transform)(const FourierPlan<T>& plan, bool inverse, T* values, const FourierLines& lines) = nullptr;
  /// Transforms contiguous lines of `count` real numbers to the first count / 2 + 1 results each. The plan is
  /// for count / 2 if count is even, else for count.
  void (*transform_real)(const FourierPlan<T>& plan, std::int64_t count, const T* values, std::int64_t lines,
                         T* out) = nullptr;
};

}  // namespace tapedeck::cpu
