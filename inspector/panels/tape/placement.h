// Places nodes one after the other, without moving those that have a place: for graphs that grow by steps,
// and where Graphviz is of no help.
#pragma once

#include <unordered_map>

#include "inspector/panels/tape/graph_layout.h"

namespace tapedeck::inspector {

/// Nodes from `first` on. Those whose key is in `places` stay there; an op goes below its inputs, a leaf
/// above its first reader, a VJP beside its forward op, what runs backwards above its inputs; each moves
/// aside to where nothing is. Time: about linear.
GraphLayout placeNodes(const TapeGraph& graph, int first, const std::unordered_map<quint64, QRectF>& places);

/// An edge drawn from node to node without looking at what lies between. `source`: the node that it is drawn
/// from.
Curve directCurve(const TapeGraph& graph, const GraphEdge& edge, int source, const QRectF& from,
                  const QRectF& to);

}  // namespace tapedeck::inspector
