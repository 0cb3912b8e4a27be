// Summaries that a GPU computes of values in its memory, so that viewers need not copy the values: a few
// numbers per block, combined on the host.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace tapedeck::kernels {

/// Values per block; the last block may have fewer.
constexpr std::int64_t inspected_block = 1 << 16;
constexpr std::int64_t inspected_blocks(std::int64_t count) {
  return (count + inspected_block - 1) / inspected_block;
}

/// Summary of one block, in doubles. Extremes, mean and spread are over the finite values.
struct BlockSummary {
  std::uint64_t finite = 0, zeros = 0, subnormals = 0, nan = 0, positive_infinity = 0, negative_infinity = 0;
  double minimum = std::numeric_limits<double>::infinity();   ///< unchanged if no value is finite
  double maximum = -std::numeric_limits<double>::infinity();  ///< unchanged if no value is finite
  double mean = 0;
  double spread = 0;  ///< the sum of squared distances from the mean
};

/// What a cell shows of its values, as protocol::CellValue; NaN if any of them is NaN.
enum class CellValue : std::uint8_t { mean, extreme, minimum, maximum };

/// A plane of values, divided into cells of `step` values along each of its two axes; cells at the far edges
/// may be smaller.
struct Cells {
  std::array<std::int64_t, 2> extent, step, stride;  ///< of the plane, of a cell; between values
  std::int64_t count(std::size_t axis) const { return (extent[axis] + step[axis] - 1) / step[axis]; }
};

/// Values x and y differ unless they are equal, both NaN, or |x − y| ≤ absolute + relative·max(|x|, |y|)
/// (finite).
struct AllowedDifference {
  double absolute = 0, relative = 0;
};
struct BlockDifference {
  std::int64_t differing = 0;
  std::int64_t place = -1;  ///< index of the first element with the largest difference; −1: none differs
  double absolute = 0;      ///< the largest difference; infinite where it is not finite
  double relative = 0;      ///< the largest |x − y| / max(|x|, |y|)
};

}  // namespace tapedeck::kernels
