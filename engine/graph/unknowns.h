// What is not known of a call, and what it may be: for searches of infer().
#pragma once

#include "engine/graph/inference.h"

namespace tapedeck::graph {

// Divided by much, powers of two above all; a product of three fits int32, in which tf.shape counts.
constexpr std::array<std::int64_t, world_count> extents{480, 960, 1};
constexpr std::array<int, world_count> ranks{2, 1, 0};

Shape filled(int rank, std::int64_t extent);
/// The first of the call's inputs that is the same tensor, and has the same shape.
std::size_t first_of(const OpenCall& call, std::size_t input);

/// An extent, a rank or a number that is not known, and what it may be.
struct Unknown {
  std::size_t input = 0;
  int axis = -1;                     ///< -1: the whole shape
  std::size_t number = SIZE_MAX;     ///< of the call's numbers, if it is one
  std::vector<std::int64_t> values;  ///< of an extent or a number
  std::vector<Shape> shapes;         ///< of a shape
  std::size_t options() const { return std::max(values.size(), shapes.size()); }
};

/// What may be changed of the call's samples in that world.
std::vector<Unknown> unknowns_of(const OpenCall& call, std::size_t world);

}  // namespace tapedeck::graph
