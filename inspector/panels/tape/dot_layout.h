// Graphviz' dot on a tape graph.
#pragma once

#include <optional>

#include "inspector/panels/tape/graph_layout.h"

namespace tapedeck::inspector {

/// Forward ops in ranks from the top down; a VJP on the rank of its forward op, to the right of it, so that
/// gradients run back up beside the ops; custom gradients' ops in clusters. Nothing where Graphviz has no dot
/// plugin or gives up. Graphviz keeps global state: calls take turns.
std::optional<GraphLayout> dotLayout(const TapeGraph& graph);

}  // namespace tapedeck::inspector
