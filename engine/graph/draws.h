// What the random ops of a run drew.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "engine/graph/graph.h"

namespace tapedeck::graph {

/// By the number of the node that drew: key and counter.
class Draws {
 public:
  /// What the run of the graph around drew (Node::draw_of); nullptr: there is none.
  void set_outer(const Draws* outer) { outer_ = outer; }
  /// The attributes of a node in this run: one that draws goes on in its sequence, or repeats what another
  /// drew; inputs give late numbers.
  Attributes drawn(const Node& node, std::int32_t number, std::span<const Tensor> inputs);
  bool empty() const { return places_.empty(); }

 private:
  using Place = std::pair<Attribute, Attribute>;
  std::map<std::int32_t, Place> places_;
  const Draws* outer_ = nullptr;
};

}  // namespace tapedeck::graph
