// The positions of a tape's nodes, edges and labels: plain data, in logical pixels at zoom 1, y down.
#pragma once

#include <QPointF>
#include <QRectF>
#include <atomic>
#include <unordered_map>
#include <vector>

#include "inspector/model/tape/tape_folding.h"

namespace tapedeck::inspector {

/// Cubic Bézier curves end to end: start, then control, control, end for each. Empty: the edge is not shown.
using Curve = std::vector<QPointF>;

/// A node's place in the grid of the layout.
struct GridCell {
  int row = 0, column = 0;
  bool operator==(const GridCell&) const = default;
};

struct GraphLayout {
  struct Frame {
    int node = -1;  ///< the custom gradient whose ops it surrounds
    QRectF rect;
    QRectF title;  ///< where its title has room; null: nowhere
  };
  /// Rows of one scope: a layer.
  struct Lane {
    QString scope;
    QString text;  ///< the scope, its beginning left out where it is long
    QRectF rect;
    QRectF title;  ///< to the left of it
  };
  std::vector<QRectF> nodes;  ///< one per node of the graph
  std::vector<GridCell> cells;
  std::vector<Curve> edges;  ///< one per edge, from the edge's `from` to its `to`
  std::vector<QRectF>
      labels;  ///< one per edge: room for its label; null: another edge of the same tensor has it
  std::vector<Frame> frames;  ///< outer ones before inner ones
  std::vector<Lane> lanes;    ///< from the top down; none overlap
  QRectF apart;               ///< title of the ops that are not on the tape; null: there are none
  QRectF bounds;
};

/// Forward ops run down in rows, each below what it reads, leaves above their first reader; a VJP is in
/// the row of its op, to the right, so that gradients run back up as the values came down. A custom
/// gradient's ops are framed; the frame of its VJP is beside it, both feet on one row. Ops that are not
/// on the tape are below it. Edges run in the lanes between rows and columns: through no node and no label,
/// and never along another tensor's edge.
///
/// A node's place depends on the nodes before it alone: nodes that a step adds move nothing, and rewinding
/// only removes some. Time: about linear. Any thread. Stops early, with any result, where `cancelled` becomes
/// true.
GraphLayout layoutTapeGraph(const TapeGraph& graph, const std::atomic<bool>* cancelled = nullptr);

/// Points along the curve, dense enough to look smooth at zoom 1.
std::vector<QPointF> flattened(const Curve& curve);

/// The ops inside of custom gradients, by group.
class GroupMembers {
 public:
  explicit GroupMembers(const TapeGraph& graph);
  const std::vector<int>& of(int group) const;
  /// The group's header is where values or gradients enter; they leave at the other end: the last member.
  int exit(int group) const;
  /// Where an edge is drawn from: a custom gradient's result comes from the user's op that made it.
  int drawnFrom(const GraphEdge& edge) const;

 private:
  const TapeGraph& graph_;
  std::unordered_map<int, std::vector<int>> members_;
};

}  // namespace tapedeck::inspector
