// Where two tensors that should hold the same values do not.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// Two values x and y agree where |x - y| <= rtol * max(|x|, |y|) + atol + share * (the largest finite
/// magnitude of both tensors), where both are NaN, and where they are the same infinity. Values that are not
/// of floating point must be the same.
struct Tolerance {
  double rtol = 0, atol = 0, share = 0;
  bool exact() const { return rtol == 0 && atol == 0 && share == 0; }
};

struct TensorDifference {
  std::int64_t wrong = 0;  ///< values that do not agree
  std::int64_t index =
      -1;  ///< row-major, of the largest difference; of those that do not agree, where there are any
  double absolute = 0;  ///< the largest difference; infinite between a number and a NaN, or an infinity
  double relative = 0;  ///< that one, over the larger of the two magnitudes
  double first = 0, second = 0;  ///< what stands there; of complex numbers the magnitudes, of strings 0
  bool agrees() const { return wrong == 0; }
};

/// Of one shape; of one dtype, or both of floating point, or both complex.
TensorDifference compare_values(const Tensor& first, const Tensor& second, const Tolerance& tolerance);

/// Of the finite values; 0 for strings.
double largest_magnitude(const Tensor& tensor);

/// What is left of values that nobody holds: enough to see that all bits are the same, or that some values,
/// the extremes or the norm differ.
struct Digest {
  DType dtype{};
  Shape shape;
  std::uint64_t bits[2] = {0, 0};  ///< a hash of all of them
  std::uint64_t not_finite = 0;
  double minimum = 0, maximum = 0, norm = 0;  ///< of the finite values; 0 where there are none
  std::vector<double> samples;                ///< at equal distances, the first value first
  std::int64_t step = 1;                      ///< between samples
  std::size_t bytes() const { return sizeof(Digest) + samples.size() * sizeof(double); }
};
Digest digest_of(const Tensor& tensor);

/// `wrong` counts samples, or is 1 where other statistics differ (index -1 then).
TensorDifference compare_values(const Digest& first, const Tensor& second, const Tolerance& tolerance);

}  // namespace tapedeck
