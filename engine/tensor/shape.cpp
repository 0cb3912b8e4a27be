#include "engine/tensor/shape.h"

#include <algorithm>
#include <climits>

#include "engine/tensor/error.h"

namespace tapedeck {

Dims::Dims(std::span<const std::int64_t> values) {
  set_rank(static_cast<int>(std::min<std::size_t>(values.size(), INT_MAX)));
  std::copy(values.begin(), values.end(), begin());
}

void Dims::copy_far() {
  auto* fresh = new std::int64_t[max_rank];
  std::copy_n(far(), rank_, fresh);
  near_[0] = reinterpret_cast<std::int64_t>(fresh);
}

void Dims::move_values() {
  if (is_far()) {
    std::int64_t* left = far();
    std::copy_n(left, near_rank, near_.data());
    delete[] left;
    return;
  }
  auto* fresh = new std::int64_t[max_rank];
  std::copy_n(near_.data(), near_rank, fresh);
  near_[0] = reinterpret_cast<std::int64_t>(fresh);
}

void Dims::refuse_rank(int rank) {
  if (rank < 0) fail<InvalidArgumentError>("a tensor cannot have ", rank, " axes");
  fail<InvalidArgumentError>("a tensor has at most ", max_rank, " axes, not ", rank);
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool overflow = false;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return 0;
    overflow |= __builtin_mul_overflow(count, extent, &count);
  }
  if (overflow)
    fail<ResourceExhaustedError>("a tensor of shape ", to_string(shape), " has more than 2^63 elements");
  return count;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides;
  strides.resize(shape.rank());
  // Unsigned, because the extents beside an extent of 0 may have any product.
  std::uint64_t stride = 1;
  std::int64_t* to = strides.begin();
  const std::int64_t* extents = shape.begin();
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    to[axis] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(extents[axis], 1));
  }
  return strides;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  if (shape.rank() == 1) text += ",";
  return text + ")";
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  if (a == b) return a;
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const int shift = longer.rank() - shorter.rank();
  for (int axis = 0; axis < shorter.rank(); ++axis) {
    const std::int64_t one = longer[axis + shift], other = shorter[axis];
    if (one != other && one != 1 && other != 1)
      fail<InvalidArgumentError>(op, ": shapes ", to_string(a), " and ", to_string(b),
                                 " do not broadcast: extents ", a.rank() >= b.rank() ? one : other, " and ",
                                 a.rank() >= b.rank() ? other : one, " differ and neither is 1");
    result[axis + shift] = one == 1 ? other : one;
  }
  return result;
}

}  // namespace tapedeck
