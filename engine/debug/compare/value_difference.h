// Two tensors, element by element.
#pragma once

#include <cstdint>

#include "engine/record/cancel.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::debug {

/// Elements agree where |left − right| ≤ absolute + relative · max(|left|, |right|). NaN agrees with NaN, an
/// infinity with itself; with zeros everything else has to be equal.
struct Tolerance {
  double relative = 0, absolute = 0;
  bool operator==(const Tolerance&) const = default;
};

struct ValueDifference {
  bool comparable = true;  ///< false: other shapes, or text beside numbers
  std::uint64_t count = 0, differing = 0;
  double max_absolute = 0;  ///< of those that differ; infinite where one of the two is not finite
  double max_relative = 0;  ///< to the larger of the two; 0 of strings
  std::int64_t place = -1;  ///< row-major, of the largest absolute difference; -1: none differs
  bool differs() const { return !comparable || differing > 0; }
};

/// Dtypes may be others: the numbers count, int64 and uint64 to their last digit. Of complex numbers the
/// distance. Throws Cancelled.
ValueDifference compare_values(const Tensor& left, const Tensor& right, const Tolerance& tolerance,
                               const CancelFlag* cancel = nullptr);

}  // namespace tapedeck::debug
