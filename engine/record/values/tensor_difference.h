// Differences between two tensors that should hold the same values.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// Two values x and y agree if |x − y| ≤ rtol·max(|x|, |y|) + atol + share·(the largest finite magnitude of
/// both tensors), if both are NaN, or if they are the same infinity. Values that are not floating-point must
/// be equal.
struct Tolerance {
  double rtol = 0, atol = 0, share = 0;
  bool exact() const { return rtol == 0 && atol == 0 && share == 0; }
};

struct TensorDifference {
  std::int64_t wrong = 0;   ///< values that do not agree
  std::int64_t index = -1;  ///< row-major, of the largest difference; among values that do not agree, if any
  double absolute = 0;      ///< the largest difference; infinite between a number and NaN or infinity
  double relative = 0;      ///< that difference / the larger of the two magnitudes
  double first = 0, second = 0;  ///< the values there; for complex numbers the magnitudes, for strings 0
  bool agrees() const { return wrong == 0; }
};

/// The shapes must be equal; the dtypes equal, both floating-point, or both complex.
TensorDifference compare_values(const Tensor& first, const Tensor& second, const Tolerance& tolerance);

/// Of the finite values; 0 for strings.
double largest_magnitude(const Tensor& tensor);

/// A digest of values that are no longer held: enough to see whether all bits are the same, or some values,
/// the extremes or the norm differ.
struct Digest {
  DType dtype{};
  Shape shape;
  std::uint64_t bits[2] = {0, 0};  ///< a hash of all of them
  std::uint64_t not_finite = 0;
  double minimum = 0, maximum = 0, norm = 0;  ///< of the finite values; 0 if there are none
  std::vector<double> samples;                ///< at equal distances, the first value first
  std::int64_t step = 1;                      ///< between samples
  std::size_t bytes() const { return sizeof(Digest) + samples.size() * sizeof(double); }
};
Digest digest_of(const Tensor& tensor);

/// `wrong` counts samples, or is 1 if other statistics differ (index is then −1).
TensorDifference compare_values(const Digest& first, const Tensor& second, const Tolerance& tolerance);

}  // namespace tapedeck
