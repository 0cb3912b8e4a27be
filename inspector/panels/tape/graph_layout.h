// Where the nodes and edges of a tape stand: plain data, in logical pixels at zoom 1, y down.
#pragma once

#include <QPointF>
#include <QRectF>
#include <unordered_map>
#include <vector>

#include "inspector/model/tape_graph.h"

namespace tapedeck::inspector {

/// Cubic Bézier curves end to end: start, then control, control, end for each. Empty: the edge is not shown.
using Curve = std::vector<QPointF>;

struct GraphLayout {
  struct Frame {
    int node = -1;  ///< the custom gradient whose ops it surrounds
    QRectF rect;
  };
  std::vector<QRectF> nodes;  ///< one per node of the graph; null: left out
  std::vector<Curve> edges;   ///< one per edge, from the edge's `from` to its `to`
  std::vector<Frame> frames;  ///< outer ones before inner ones
  QRectF bounds;
  int left_out = 0;  ///< nodes that the limit left out: the oldest
};

constexpr int maximum_shown_nodes = 2000;
/// Graphviz takes a quarter of a second for this many, and its time grows with the square.
constexpr int maximum_ranked_nodes = 1000;

/// A fresh layout, by Graphviz' dot; by placement.h where the graph is large or Graphviz can not do it. Safe
/// from any thread; calls wait for one another.
GraphLayout layoutTapeGraph(const TapeGraph& graph);

/// Points along the curve, dense enough to look smooth at zoom 1.
std::vector<QPointF> flattened(const Curve& curve);

/// Lays out one graph after the other and keeps what it has placed where it is: stepping adds nodes,
/// rewinding takes them away, and nothing else moves. One thread at a time.
class SteadyLayout {
 public:
  /// `fresh`: forget earlier places.
  GraphLayout layout(const TapeGraph& graph, bool fresh);

 private:
  void remember(const TapeGraph& graph, const GraphLayout& layout);
  bool starts_over(const TapeGraph& graph, int first) const;

  quint64 tape_ = 0;
  std::unordered_map<quint64, QRectF> places_;
  struct Route {
    QRectF from, to;
    Curve curve;
  };
  std::unordered_map<quint64, Route> routes_;
};

/// The ops inside of custom gradients, by group.
class GroupMembers {
 public:
  explicit GroupMembers(const TapeGraph& graph);
  const std::vector<int>& of(int group) const;
  /// The group's header stands where values or gradients come in; they go out at the other end: the last
  /// member.
  int exit(int group) const;
  /// Where an edge is drawn from: a custom gradient's result comes from the user's op that made it.
  int drawnFrom(const GraphEdge& edge) const;

 private:
  const TapeGraph& graph_;
  std::unordered_map<int, std::vector<int>> members_;
};

/// Names a node for as long as its session lives: its record, or its leaf tensor.
quint64 nodeKey(const GraphNode& node);
/// Index of the first node that is shown; those before it are left out.
int firstShownNode(const TapeGraph& graph);
QRectF layoutBounds(const GraphLayout& layout);

}  // namespace tapedeck::inspector
