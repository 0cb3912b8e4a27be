// Places nodes one after the other, without moving those that have a place: for graphs that grow by steps,
// and where Graphviz is of no help.
#pragma once

#include <unordered_map>

#include "inspector/graph/graph_layout.h"

namespace tapedeck::inspector {

/// Nodes from `first` on. Those whose key is in `places` stay there; an op goes below its inputs, a leaf
/// above its first reader, a VJP beside its forward op, what runs backwards above its inputs; each moves
/// aside to where nothing is. Time: about linear.
GraphLayout placeNodes(const TapeGraph& graph, int first, const std::unordered_map<quint64, QRectF>& places);

}  // namespace tapedeck::inspector
