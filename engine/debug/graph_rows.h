// A graph as rows: an outline with a row for each node.
#pragma once

#include "engine/graph/functions.h"
#include "engine/protocol/graph_functions.h"
#include "engine/record/cancel.h"

namespace tapedeck::debug {

/// Adds `count` rows of the stage from answer.first on, and sets answer.total.
void write_rows(const graph::TracedGraph& trace, std::size_t stage, std::size_t count,
                protocol::GraphRows& answer, const CancelFlag* cancel);

}  // namespace tapedeck::debug
