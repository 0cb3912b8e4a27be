// What a GPU tells of values that lie there, so that whoever looks at them need not copy them: a few numbers
// for each block of values, which are joined on the host.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace tapedeck::kernels {

/// Values of a block; the last one may have fewer.
constexpr std::int64_t inspected_block = 1 << 16;
constexpr std::int64_t inspected_blocks(std::int64_t count) {
  return (count + inspected_block - 1) / inspected_block;
}

/// Of a block's values, as doubles. Extremes, mean and spread are those of the finite ones.
struct BlockSummary {
  std::uint64_t finite = 0, zeros = 0, subnormals = 0, nan = 0, positive_infinity = 0, negative_infinity = 0;
  double minimum = std::numeric_limits<double>::infinity();   ///< so where there are none
  double maximum = -std::numeric_limits<double>::infinity();  ///< so where there are none
  double mean = 0;
  double spread = 0;  ///< the sum of squared distances from the mean
};

/// Which of its values a cell tells, as in protocol::CellValue: NaN where one of them is.
enum class CellValue : std::uint8_t { mean, extreme, minimum, maximum };

/// A plane of values cut into cells of `step` values along each of its two axes; at its end they are smaller.
struct Cells {
  std::array<std::int64_t, 2> extent, step, stride;  ///< of the plane, of a cell; between values
  std::int64_t count(std::size_t axis) const { return (extent[axis] + step[axis] - 1) / step[axis]; }
};

/// Values x and y differ where they are not the same, nor both NaN, and |x − y| is not finite or more than
/// absolute + relative·max(|x|, |y|).
struct AllowedDifference {
  double absolute = 0, relative = 0;
};
struct BlockDifference {
  std::int64_t differing = 0;
  std::int64_t place = -1;  ///< in all of the values: the first with the largest difference; −1: none differs
  double absolute = 0;      ///< the largest difference; infinite where it is not finite
  double relative = 0;      ///< the largest |x − y| / max(|x|, |y|)
};

}  // namespace tapedeck::kernels
