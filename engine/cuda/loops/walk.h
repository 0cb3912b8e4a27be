// Iteration over strided operands on a GPU: the operands' offsets of an element, from its number.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "engine/cpu/loops/iterate.h"
#include "engine/cuda/launch.h"

namespace tapedeck::cuda {

/// n / value without a division, for n and value up to 2³¹ (Granlund and Montgomery, Division by invariant
/// integers using multiplication, 1994).
struct Divisor {
  std::uint32_t value = 1, multiplier = 0, shift = 0;

  Divisor() = default;
  explicit Divisor(std::uint32_t of) : value(of) {
    while (shift < 31 && (std::uint32_t{1} << shift) < of) ++shift;
    multiplier =
        static_cast<std::uint32_t>(((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - of)) / of + 1);
  }
  __device__ __forceinline__ std::uint32_t divide(std::uint32_t n) const {
    return (__umulhi(n, multiplier) + n) >> shift;
  }
};

constexpr int walk_rank = 8;
constexpr std::int64_t most_walked = 0x7fffffff;  ///< elements of one launch

/// The offsets, in elements, of N operands over a row-major shape. The innermost axis comes first.
template <std::size_t N>
struct Walk {
  int rank = 1;
  std::uint32_t count = 0;  ///< elements
  Divisor extent[walk_rank];
  std::int64_t stride[walk_rank][N];
  std::uint32_t steps = 0;
  int width = 1;                   ///< elements of a step, along the innermost axis
  std::int64_t element_stride[N];  ///< within a step
  bool side_by_side[N];  ///< whether a step's elements are contiguous; steps then begin at multiples of their
                         ///< width

  /// Sets the step's width to `wide` if it divides the rows, or if there is one row, whose last step may be
  /// shorter.
  void widen(int wide) {
    const std::uint32_t row = extent[0].value, each = static_cast<std::uint32_t>(wide);
    if (wide == 1 || (rank > 1 && row % each != 0)) return;
    width = wide;
    steps = rank > 1 ? count / each : (count - 1) / each + 1;
    extent[0] = Divisor((row - 1) / each + 1);
    for (std::size_t k = 0; k < N; ++k) {
      element_stride[k] = stride[0][k];
      stride[0][k] *= wide;
      side_by_side[k] = element_stride[k] == 1;
      for (int axis = 1; axis < rank; ++axis)
        side_by_side[k] = side_by_side[k] && stride[axis][k] % wide == 0;
    }
  }

  /// The operands' offsets of the step with that number.
  __device__ __forceinline__ void offsets(std::uint32_t number, std::int64_t (&at)[N]) const {
    for (std::size_t k = 0; k < N; ++k) at[k] = 0;
#pragma unroll
    for (int axis = 0; axis < walk_rank; ++axis) {
      if (axis >= rank) break;
      const std::uint32_t next = axis + 1 < rank ? extent[axis].divide(number) : 0;
      const std::int64_t index = number - next * extent[axis].value;
      for (std::size_t k = 0; k < N; ++k) at[k] += index * stride[axis][k];
      number = next;
    }
  }
};

/// The callback of a walk: `start` are the operands' offsets of its first element, and `first` is that
/// element's row-major number. Type-erased, so that the walk is compiled once.
template <std::size_t N>
using WalkBody =
    std::function<void(const Walk<N>& walk, const std::array<std::int64_t, N>& start, std::int64_t first)>;

/// The axes from `first_axis` on.
template <std::size_t N>
void walk_parts(const cpu::Loops<N>& loops, int first_axis, const std::array<std::int64_t, N>& start,
                std::int64_t first, const WalkBody<N>& body) {
  std::int64_t inner = 1;
  bool fits = loops.rank - first_axis <= walk_rank;
  for (int axis = loops.rank - 1; axis > first_axis; --axis)
    inner *= loops.extent[static_cast<std::size_t>(axis)];
  const auto outer = static_cast<std::size_t>(first_axis);
  fits = fits && inner <= most_walked / loops.extent[outer];
  const auto moved = [&](std::int64_t index) {
    auto place = start;
    for (std::size_t k = 0; k < N; ++k) place[k] += index * loops.stride[k][outer];
    return place;
  };
  if (fits) {
    Walk<N> walk;
    walk.rank = loops.rank - first_axis;
    walk.count = walk.steps = static_cast<std::uint32_t>(inner * loops.extent[outer]);
    for (int axis = 0; axis < walk.rank; ++axis) {
      const auto from = static_cast<std::size_t>(loops.rank - 1 - axis);
      walk.extent[axis] = Divisor(static_cast<std::uint32_t>(loops.extent[from]));
      for (std::size_t k = 0; k < N; ++k) walk.stride[axis][k] = loops.stride[k][from];
    }
    body(walk, start, first);
  } else if (first_axis + 1 < loops.rank) {
    for (std::int64_t i = 0; i < loops.extent[outer]; ++i)
      walk_parts<N>(loops, first_axis + 1, moved(i), first + i * inner, body);
  } else {
    auto part = loops;
    for (std::int64_t i = 0; i < loops.extent[outer]; i += most_walked) {
      part.extent[outer] = std::min(most_walked, loops.extent[outer] - i);
      walk_parts<N>(part, first_axis, moved(i), first + i, body);
    }
  }
}

/// Calls `body` for the whole shape, or for parts that fit in a launch. Does not call it if the shape has no
/// elements.
template <std::size_t N>
void for_walks(const Shape& shape, const std::array<const Strides*, N>& strides, const WalkBody<N>& body) {
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == 0) return;
  walk_parts<N>(cpu::Loops<N>(shape, strides), 0, std::array<std::int64_t, N>{}, 0, body);
}

}  // namespace tapedeck::cuda
