// Which shapes the results of a call have where not all of its inputs' shapes are known.
//
// A shape rule is a function of shapes that are known. So it is asked several times, each time in another
// "world", where what is unknown has other extents. What its answers agree in is known of the results.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "engine/ops/core/op.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck::graph {

constexpr std::size_t world_count = 3;
/// In which each unknown extent of each value has another number: for evaluations alone, as shapes do not
/// fit.
constexpr std::size_t scrambled_world = world_count;
/// A tensor's shape in each world; nothing where no call that leads to it is possible.
using Worlds = std::array<std::optional<Shape>, world_count>;
/// The worlds of a tensor of which that is unknown: two extents that much divides, and 1. Where the rank is
/// unknown, each world has another.
Worlds new_worlds(const Shape& shape, UnknownShape unknown);
/// What a number that only a run knows is taken to be in a world.
std::int64_t number_in_world(std::size_t world);

/// A number of an attribute that is known only when the graph runs.
struct OpenNumber {
  std::size_t attribute = 0;
  std::int32_t element = -1;                                    ///< of a list; -1: the attribute is a number
  std::array<std::optional<std::int64_t>, world_count> values;  ///< in each world, where that follows
  /// Instead of `element` and `values`: the whole attribute.
  bool is_whole = false;
  std::array<std::optional<std::vector<std::int64_t>>, world_count> lists;
  bool assumed = false;  ///< `values` do not follow from shapes alone
};

struct OpenCall {
  const OpDef& op;
  std::span<const Tensor> inputs;
  std::vector<Worlds> worlds;  ///< of each input
  const Attributes& attributes;
  std::vector<OpenNumber> numbers;
};

struct Inferred {
  TensorSpecs samples;
  std::vector<UnknownShape> unknown;  ///< of each result
  std::vector<Worlds> worlds;         ///< of each result
  Attributes attributes;              ///< of the sample
};

/// Throws what the op's shape rule throws where no extents can be right.
Inferred infer(const OpenCall& call);

/// With the number in its place. A real attribute gets it as a double.
void set_number(std::vector<Attribute>& attributes, std::size_t attribute, std::int32_t element,
                std::int64_t value);

}  // namespace tapedeck::graph
