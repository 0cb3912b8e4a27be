#include "engine/graph/draws.h"

#include <tuple>

#include "engine/ops/random/random_state.h"

namespace tapedeck::graph {

Attributes Draws::drawn(const Node& node, std::int32_t number, std::span<const Tensor> inputs) {
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < node.attributes.size(); ++i) values.push_back(node.attributes[i]);
  fill_late_numbers(node, inputs, values);
  if (!node.draws) return Attributes(std::move(values));
  inputs = inputs.first(operand_count(node));
  Attribute &key = values[node.op->place_of("key")], &counter = values[node.op->place_of("counter")];
  if (node.draw_of >= 0)
    std::tie(key, counter) = places_.at(node.draw_of);
  else if (const auto outer = outer_draw_of(node))
    std::tie(key, counter) = outer_->places_.at(*outer);
  else
    resolve_random(*node.op, values, inputs);
  places_[number] = {key, counter};
  return Attributes(std::move(values));
}

}  // namespace tapedeck::graph
