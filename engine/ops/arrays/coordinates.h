// Slices by coordinates: the last axis of `indices` holds coordinates in the first axes of a tensor. Shared
// by the ops of scatter.cpp and tensor_scatter.cpp.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/narrow_values.h"

namespace tapedeck::ops {

/// The number of coordinates in each row of indices.
inline int depth_of(const OpContext& c, std::size_t input, const Shape& shape, int batch_axes = 0) {
  require_kind(c, input, Kind::index);
  const Shape& indices = c.inputs[input].shape();
  if (indices.rank() == 0)
    fail<InvalidArgumentError>(c.op.name, ": indices is a scalar; needs at least one axis");
  const std::int64_t depth = indices[indices.rank() - 1];
  if (depth > shape.rank() - batch_axes)
    fail<InvalidArgumentError>(c.op.name, ": indices ", to_string(indices), " hold ", depth,
                               " coordinates each, but shape ", to_string(shape), " has ",
                               shape.rank() - batch_axes, " axes for them");
  return static_cast<int>(depth);
}

/// The row-major numbers, over the first axes of `shape`, of the slices that the rows of indices select.
/// Throws OutOfRangeError, such as "gather_nd: indices[1] is (0, 7), outside of shape (2, 3)"; on a GPU at
/// the host's next read from it.
inline Tensor slice_numbers(const OpContext& c, std::size_t input, const Shape& shape, int depth,
                            int batch_axes = 0) {
  const Tensor indices = contiguous(widen(c.inputs[input]));
  std::int64_t rows = 1, batches = 1;
  for (int i = 0; i + 1 < indices.rank(); ++i) rows *= indices.dim(i);
  for (int i = 0; i < batch_axes; ++i) batches *= shape[i];
  Shape numbered;
  for (int i = 0; i < depth; ++i) numbered.push_back(shape[batch_axes + i]);
  const std::int64_t rows_per_batch = batches == 0 ? 1 : std::max<std::int64_t>(1, rows / batches);
  Tensor numbers = Tensor::allocate(DType::int64, {rows});
  const auto bad = backend().slice_numbers(indices.dtype(), indices.raw(), rows, numbered, rows_per_batch,
                                           numbers.writable_data<std::int64_t>(), c.op.name + ": indices");
  if (bad) {
    const auto read = [&](std::int64_t at) {  // only host memory can be read at once
      return indices.dtype() == DType::int32 ? std::int64_t{indices.data<std::int32_t>()[at]}
                                             : indices.data<std::int64_t>()[at];
    };
    Shape named;
    for (int k = 0; k < depth; ++k) named.push_back(read(*bad * depth + k));
    fail<OutOfRangeError>(c.op.name, ": indices[", *bad, "] is ", to_string(named), ", outside of shape ",
                          to_string(shape));
  }
  return numbers;
}

inline std::int64_t product_from(const Shape& shape, int axis) {
  std::int64_t product = 1;
  for (; axis < shape.rank(); ++axis) product *= shape[axis];
  return product;
}

/// indices.shape[:-1] + shape[axis:]
inline Shape slices_shape(const Shape& indices, const Shape& shape, int axis) {
  Shape result;
  for (int i = 0; i + 1 < indices.rank(); ++i) result.push_back(indices[i]);
  for (; axis < shape.rank(); ++axis) result.push_back(shape[axis]);
  return result;
}

/// Throws InvalidArgumentError if the shape of updates does not match indices and shape.
inline void require_updates(const OpContext& c, std::size_t indices, std::size_t updates, const Shape& shape,
                            int depth) {
  const Shape needed = slices_shape(c.inputs[indices].shape(), shape, depth);
  if (c.inputs[updates].shape() != needed)
    fail<InvalidArgumentError>(c.op.name, ": updates ", to_string(c.inputs[updates].shape()), " for indices ",
                               to_string(c.inputs[indices].shape()), " and shape ", to_string(shape),
                               "; needs ", to_string(needed));
}

/// Joins updates to target's slices, in order.
inline void join_slices(kernels::Segment op, const OpContext& c, std::size_t input, const Tensor& updates,
                        const Tensor& target) {
  const Shape& shape = target.shape();
  const int depth = depth_of(c, input, shape);
  const Tensor numbers = slice_numbers(c, input, shape, depth);
  if (updates.count() == 0 || target.count() == 0) return;
  const std::int64_t parts = is_complex(target.dtype()) ? 2 : 1;  // which add up separately
  backend().segment_rows(op, real_dtype(target.dtype()), updates.raw(), numbers.data<std::int64_t>(),
                         numbers.count(), parts * product_from(shape, depth),
                         target.writable_data<std::byte>());
}

}  // namespace tapedeck::ops
