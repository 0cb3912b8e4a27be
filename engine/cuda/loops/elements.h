// Elements of which only the size is known, and their shape.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/tensor/shape.h"

namespace tapedeck::cuda {

struct alignas(16) Bytes16 {
  std::uint64_t halves[2];
};

/// Calls `f(T{})` with a type of `size` bytes: 1, 2, 4, 8 or 16.
template <class F>
void visit_size(std::size_t size, F&& f) {
  switch (size) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(Bytes16{});
  }
}

/// A shape that kernels take by value.
struct Extents {
  int rank;
  std::int64_t extent[max_rank];

  explicit Extents(const Shape& shape) : rank(shape.rank()), extent{} {
    for (int axis = 0; axis < rank; ++axis) extent[axis] = shape[axis];
  }
};

}  // namespace tapedeck::cuda
