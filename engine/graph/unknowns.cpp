#include "engine/graph/unknowns.h"

#include <algorithm>

namespace tapedeck::graph {
namespace {

constexpr std::size_t most_numbers = 12;  // that an unknown extent may be, in a search

/// What unknown extents and numbers may be: what is near.
std::vector<std::int64_t> near_numbers(const OpenCall& call, bool of_attribute) {
  std::vector<std::int64_t> numbers;
  const auto add = [&](std::int64_t number) {
    if ((number >= 0 || of_attribute) && number > -100 &&
        std::ranges::find(numbers, number) == numbers.end() && numbers.size() < most_numbers)
      numbers.push_back(number);
  };
  if (of_attribute)
    for (const std::int64_t number : {0, 1, 2, -1}) add(number);
  for (const Tensor& input : call.inputs)
    for (int axis = 0; axis < input.rank(); ++axis)
      if (!unknown_of(input).has(axis)) add(input.dim(axis));
  for (std::size_t i = 0; i < call.attributes.size(); ++i) {
    const Attribute& attribute = call.attributes[i];
    if (const auto* number = std::get_if<std::int64_t>(&attribute)) add(*number);
    const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute);
    if (!list) continue;
    std::int64_t product = 1;  // as many elements as a shape has, and as many axes
    for (const std::int64_t number : *list) product *= number > 0 && product < (1 << 30) ? number : 1;
    add(product);
    for (const std::int64_t number : *list) add(number);
    add(static_cast<std::int64_t>(list->size()));
  }
  for (const std::int64_t number : {1, 2, 3}) add(number);
  for (const std::int64_t number : extents)
    if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
  return numbers;
}

std::vector<Shape> near_shapes(std::size_t world, const std::vector<std::int64_t>& numbers) {
  std::vector<Shape> shapes;
  for (int i = 0; i < 5; ++i) {
    const int rank = (ranks[0] + static_cast<int>(world) + i) % 5;
    shapes.push_back(filled(rank, extents[world]));
    for (const std::int64_t number : numbers) {
      if (rank == 0) break;
      Shape last = shapes.back(), first = filled(rank, extents[world]);
      last = filled(rank, extents[world]);
      last[rank - 1] = number;
      first[0] = number;
      shapes.push_back(last);
      if (rank > 1) shapes.push_back(first);
      if (rank > 1) shapes.push_back(filled(rank, number));
    }
  }
  return shapes;
}

/// Whether the number may be another one with the same shapes of inputs.
bool is_open(const OpenNumber& number, std::size_t world) {
  return number.assumed || !number.values[world] || number.values[0] != number.values[1];
}

}  // namespace

Shape filled(int rank, std::int64_t extent) {
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(extent);
  return shape;
}

std::size_t first_of(const OpenCall& call, std::size_t input) {
  std::size_t first = 0;
  while (call.inputs[first].id() != call.inputs[input].id()) ++first;
  return first;
}

std::vector<Unknown> unknowns_of(const OpenCall& call, std::size_t world) {
  std::vector<Unknown> all;
  const std::vector<std::int64_t> numbers = near_numbers(call, false);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const UnknownShape unknown = unknown_of(call.inputs[i]);
    if (!unknown || first_of(call, i) != i) continue;
    if (unknown.rank) {
      all.push_back({i, -1, SIZE_MAX, {}, near_shapes(world, numbers)});
      continue;
    }
    for (int axis = 0; axis < call.inputs[i].rank(); ++axis)
      if (unknown.has(axis)) all.push_back({i, axis, SIZE_MAX, numbers, {}});
  }
  for (std::size_t i = 0; i < call.numbers.size(); ++i)
    if (!call.numbers[i].is_whole && is_open(call.numbers[i], world))
      all.push_back({0, -1, i, near_numbers(call, true), {}});
  return all;
}

}  // namespace tapedeck::graph
