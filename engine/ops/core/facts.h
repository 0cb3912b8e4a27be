// Facts about single ops for the analyses (engine/debug, Health), declared beside the op's row.
#pragma once

#include <cmath>
#include <cstdint>

namespace tapedeck {

/// Which activations Health has gauges for (record/health/health_gauges.h).
enum class Activation : std::uint8_t { none, rectifier, relu6, elu, selu, sigmoid, tanh, softmax };

/// In texts {o} is the op's name and {d} a dtype.
struct OpFacts {
  /// Why its VJP gives a zero gradient for a non-zero cotangent.
  const char* flat = "its slope is zero there";
  /// Why these operands give no finite result; nullptr if they are valid. b is used by ops with two operands.
  const char* (*outside)(double a, double b) = nullptr;
  /// Why infinite operands give NaN.
  const char* of_infinities = "an input is infinite, and the op is undefined there";
  const char* infix = nullptr;  ///< between two operands: " + "
  bool sums = false;            ///< a result is as large as its largest operand unless they cancel
  Activation activation = Activation::none;
};

namespace facts {

inline constexpr const char* saturated = "it is saturated there: so far out that {o} is flat in {d}";
inline constexpr const char* not_picked = "these elements were not picked";
inline constexpr const char* not_chosen = "another value was chosen there";
inline constexpr const char* other_factor = "the other factor is zero there, as with a mask";
inline constexpr const char* flat_everywhere = "{o} is flat everywhere";

inline constexpr const char* no_real = "of a negative number there is no real {o}";
inline const char* quotient(double a, double b) {
  if (b != 0) return nullptr;
  return a == 0 ? "0 / 0 is undefined" : "a number divided by 0 is infinite";
}
inline const char* beyond_one(double a, double) {
  return std::abs(a) > 1 ? "{o} takes numbers from -1 to 1" : nullptr;
}
inline const char* negative(double a, double) {
  return a < 0 ? no_real : nullptr;
}

}  // namespace facts
}  // namespace tapedeck
