// The layers of a tape: rows of the layout whose ops ran in one scope, as bands behind the nodes.
#pragma once

#include "inspector/panels/tape/graph_layout.h"

namespace tapedeck::inspector {

/// Neighbouring rows that share a scope are one lane, as wide as the tape, its title to the left of
/// everything. Rows of leaves belong to the rows that read them. A row whose ops are of several scopes has
/// none. `nodes` and `cells`: one per node of the graph. Time: linear.
std::vector<GraphLayout::Lane> scopeLanes(const TapeGraph& graph, const std::vector<QRectF>& nodes,
                                          const std::vector<GridCell>& cells);

}  // namespace tapedeck::inspector
