// Variables that branches and loops read, as inputs of these.
#pragma once

#include <optional>

#include "engine/graph/graph.h"

namespace tapedeck::graph {

/// Whether the graph, or one inside it, reads a variable to which a gradient may flow.
bool reads_variables(const Graph& graph);
/// Whether the graph, or one inside it, gives the variable a value.
bool assigns(const Graph& graph, const Variable& variable);

/// The same graph, where each variable that a branch or a loop reads and that nothing assigns to is read once
/// and in front of it. So a tape sees that it is read also where no branch does. Nothing where there is none,
/// and where a function of the host language is called between reads.
std::optional<Graph> hoisted_reads(const Graph& graph);

}  // namespace tapedeck::graph
