// Graphs from JSON (README.md). Nothing in it is believed.
#pragma once

#include "engine/graph/graph.h"
#include "engine/saved_model/weights.h"

namespace tapedeck::saved_model {

/// The graph, traced again from what the JSON says: each op's own rule has checked its call, and the results
/// are what that rule says. `variables`: by their numbers. Throws DataLossError with the node's place.
graph::Graph read_graph(const Json& json, std::span<const Variable> variables, const WeightsToRead& weights,
                        const std::string& place);

}  // namespace tapedeck::saved_model
