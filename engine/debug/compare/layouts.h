// Two tensors of two frameworks: perhaps the same numbers with their axes in another order.
#pragma once

#include <string>
#include <vector>

#include "engine/debug/compare/value_difference.h"

namespace tapedeck::debug {

/// How the left tensor's axes become the right one's.
struct LayoutMatch {
  std::vector<int> axes;  ///< the right tensor has the left one's axes in this order; empty: as they are
  bool reshaped = false;  ///< the same number of elements in the same order, other extents
  /// "after transposing the axes 0, 2, 3, 1", "as one row of elements"; empty: as they are.
  std::string text() const;
  bool operator==(const LayoutMatch&) const = default;
};

struct LaidOutDifference {
  ValueDifference values;
  LayoutMatch layout;
  Shape shape;  ///< of the left tensor so laid out: what `values.place` counts in
  Tensor left;  ///< so laid out
  /// Of tensors of one shape that differ, and whose order of axes counts: the order under which they agree.
  LayoutMatch agreeing = {};
};

/// Between tensors of one shape. Where shapes differ, any order may be meant.
enum class EqualShapes : std::uint8_t {
  same_axes,  ///< values that agree in another order alone differ
  any_axes    ///< weights of two frameworks, which keep them in different orders
};

/// Extents in falling order, without ones: the same for tensors that can be permutations of each other.
std::vector<std::int64_t> unordered_extents(const Shape& shape);

/// As compare_values, under the order of axes under which they agree; else under the one under which they
/// come closest, the order that they have first. Of more than `most_orders` orders that fit the first are
/// tried.
LaidOutDifference compare_layouts(const Tensor& left, const Tensor& right, const Tolerance& tolerance,
                                  EqualShapes equal_shapes, const CancelFlag* cancel = nullptr);

}  // namespace tapedeck::debug
