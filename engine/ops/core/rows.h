// Tensors as rows along some of their axes.
#pragma once

#include "engine/ops/core/checks.h"

namespace tapedeck::ops {

/// `shape` without the flagged axes, or with extent 1 there.
inline Shape reduced_shape(const Shape& shape, const std::vector<bool>& flags, bool keepdims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (!flags[static_cast<std::size_t>(axis)])
      result.push_back(shape[axis]);
    else if (keepdims)
      result.push_back(1);
  return result;
}

/// The order of axes that brings the flagged ones to the end: the tensor is then rows × count.
struct RowOrder {
  Integers permutation;
  std::int64_t rows = 1;
  std::int64_t count = 1;

  RowOrder(const Shape& shape, const std::vector<bool>& flags) {
    for (const bool last : {false, true})
      for (int axis = 0; axis < shape.rank(); ++axis)
        if (flags[static_cast<std::size_t>(axis)] == last) {
          permutation.push_back(axis);
          (last ? count : rows) *= shape[axis];
        }
  }

  Integers inverse() const {
    Integers positions(permutation.size());
    for (std::size_t i = 0; i < permutation.size(); ++i)
      positions[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
    return positions;
  }

  Tensor moved(const Tensor& tensor, const Integers& order) const {
    Shape shape;
    Strides strides;
    for (const std::int64_t axis : order) {
      shape.push_back(tensor.dim(static_cast<int>(axis)));
      strides.push_back(tensor.strides()[static_cast<int>(axis)]);
    }
    return view_of(tensor, shape, strides);
  }
  /// Contiguous values, axes in this order. For kernels.
  Tensor rows_of(const Tensor& tensor) const { return contiguous(moved(tensor, permutation)); }
  /// A tensor in this order, viewed in the original one.
  Tensor original_order(const Tensor& tensor) const { return moved(tensor, inverse()); }
};

}  // namespace tapedeck::ops
