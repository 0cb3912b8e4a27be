// Which nodes of a graph a tape has that knows some of its inputs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/graph/graph.h"

namespace tapedeck::graph {

class TapedGraph;

/// A branch or a loop that a tape has.
struct TapedControl {
  std::vector<std::shared_ptr<TapedGraph>> graphs;  ///< of a branch both sides, of a loop the body
  std::vector<Value> inputs;                        ///< those of the node that the tape knows, each once
  std::vector<std::size_t> outputs;                 ///< its results to which gradients flow
};

struct TapedNodes {
  std::vector<bool> taped;  ///< by node
  std::map<std::int32_t, TapedControl> controls;
  std::size_t count = 0;  ///< of those that are taped; a branch or a loop counts for more than one
};

/// Where the input of a side or a body (its parameter's number) is among the inputs of the node.
std::size_t outer_input(const Node& node, std::size_t graph, std::int32_t parameter);
/// The values by which a custom gradient's node gives gradients to its function's inputs and variables, in
/// that order. Nothing where the graph does not read a variable exactly once.
std::optional<std::vector<Value>> inputs_of_custom(const Graph& graph, const Node& node);

/// Nothing where the run is not for one call (gradient_graph.h). `alone`: a single tape records, which will
/// have stopped when its VJPs run. `nested`: the graph is a side or a body.
std::optional<TapedNodes> taped_nodes(const Graph& graph, const std::vector<Value>& inputs, bool alone,
                                      bool nested);

}  // namespace tapedeck::graph
