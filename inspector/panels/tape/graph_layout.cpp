#include "inspector/panels/tape/graph_layout.h"

#include <algorithm>
#include <cmath>

#include "inspector/panels/tape/dot_layout.h"
#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/placement.h"

namespace tapedeck::inspector {

namespace {

constexpr std::size_t maximum_remembered = 20000;
constexpr double margin = 24;

quint64 edgeKey(const TapeGraph& graph, const GraphEdge& edge) {
  quint64 key = nodeKey(graph.nodes[edge.from]) * 0x9E3779B97F4A7C15u;
  key ^= nodeKey(graph.nodes[edge.to]) * 0xC2B2AE3D27D4EB4Fu + (key >> 29);
  return key ^ (static_cast<quint64>(edge.fromSlot + 1) << 40) ^
         (static_cast<quint64>(edge.toSlot + 2) << 20) ^ (edge.backward ? 2u : 0u) ^ (edge.arrives ? 1u : 0u);
}

QPointF bezier(const QPointF* p, double t) {
  const double u = 1 - t;
  return p[0] * (u * u * u) + p[1] * (3 * u * u * t) + p[2] * (3 * u * t * t) + p[3] * (t * t * t);
}

double edgeLength(const GraphLayout& layout) {
  double length = 0;
  for (const Curve& curve : layout.edges)
    if (curve.size() >= 4)
      length += std::hypot(curve.back().x() - curve.front().x(), curve.back().y() - curve.front().y());
  return length;
}

/// dot draws clusters that gradients leave again far apart; then placing one after the other is often
/// shorter.
GraphLayout shorter(GraphLayout ranked, GraphLayout placed) {
  return edgeLength(placed) < edgeLength(ranked) ? std::move(placed) : std::move(ranked);
}

}  // namespace

quint64 nodeKey(const GraphNode& node) {
  return isLeaf(node) ? node.tensor * 2 + 1 : node.record * 2;
}

GroupMembers::GroupMembers(const TapeGraph& graph) : graph_(graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const int group = graph.nodes[i].group; group >= 0 && group < static_cast<int>(i))
      members_[group].push_back(static_cast<int>(i));
}

const std::vector<int>& GroupMembers::of(int group) const {
  static const std::vector<int> none;
  const auto found = members_.find(group);
  return found == members_.end() ? none : found->second;
}

int GroupMembers::exit(int group) const {
  const std::vector<int>& members = of(group);
  return members.empty() ? group : exit(members.back());
}

int GroupMembers::drawnFrom(const GraphEdge& edge) const {
  const std::vector<int>& members = of(edge.from);
  for (auto member = members.rbegin(); member != members.rend(); ++member)
    if (graph_.nodes[*member].tensor == edge.tensor) return exit(*member);
  // A step inside of the group: what comes in is read at its header.
  const int outer = graph_.nodes[edge.to].group;
  return members.empty() || outer == edge.from ? edge.from : exit(edge.from);
}

int firstShownNode(const TapeGraph& graph) {
  return std::max(0, static_cast<int>(graph.nodes.size()) - maximum_shown_nodes);
}

QRectF layoutBounds(const GraphLayout& layout) {
  QRectF bounds;
  for (const QRectF& rect : layout.nodes) bounds |= rect;
  for (const GraphLayout::Frame& frame : layout.frames) bounds |= frame.rect;
  for (const Curve& curve : layout.edges)
    for (const QPointF& point : curve) bounds |= QRectF(point, QSizeF(0.01, 0.01));
  return bounds.isNull() ? bounds : bounds.adjusted(-margin, -margin, margin, margin);
}

GraphLayout layoutTapeGraph(const TapeGraph& graph) {
  const int first = firstShownNode(graph);
  if (static_cast<int>(graph.nodes.size()) - first <= maximum_ranked_nodes)
    if (std::optional<GraphLayout> ranked = dotLayout(graph))
      return ranked->frames.empty() ? std::move(*ranked)
                                    : shorter(std::move(*ranked), placeNodes(graph, first, {}));
  return placeNodes(graph, first, {});
}

std::vector<QPointF> flattened(const Curve& curve) {
  std::vector<QPointF> points;
  if (curve.size() < 4) return points;
  points.push_back(curve.front());
  for (std::size_t i = 0; i + 3 < curve.size(); i += 3) {
    const double length =
        std::abs(curve[i].x() - curve[i + 3].x()) + std::abs(curve[i].y() - curve[i + 3].y());
    const int steps = std::clamp(static_cast<int>(length / 8), 6, 48);
    for (int step = 1; step <= steps; ++step)
      points.push_back(bezier(&curve[i], static_cast<double>(step) / steps));
  }
  return points;
}

bool SteadyLayout::starts_over(const TapeGraph& graph, int first) const {
  if (graph.tape != tape_ || places_.size() > maximum_remembered) return true;
  int known = 0, added = 0;
  for (std::size_t i = first; i < graph.nodes.size(); ++i)
    (places_.count(nodeKey(graph.nodes[i])) ? known : added)++;
  return known == 0 || added > std::max(24, known);
}

GraphLayout SteadyLayout::layout(const TapeGraph& graph, bool fresh) {
  const int first = firstShownNode(graph);
  GraphLayout result;
  if (fresh || starts_over(graph, first)) {
    places_.clear();
    routes_.clear();
    tape_ = graph.tape;
    result = layoutTapeGraph(graph);
  } else {
    result = placeNodes(graph, first, places_);
    const GroupMembers groups(graph);
    for (std::size_t i = 0; i < graph.edges.size(); ++i) {
      const GraphEdge& edge = graph.edges[i];
      const auto route = routes_.find(edgeKey(graph, edge));
      if (route != routes_.end() && !result.edges[i].empty() &&
          route->second.from == result.nodes[edge.from] && route->second.to == result.nodes[edge.to])
        result.edges[i] = route->second.curve;
    }
    result.bounds = layoutBounds(result);
  }
  remember(graph, result);
  return result;
}

void SteadyLayout::remember(const TapeGraph& graph, const GraphLayout& layout) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (!layout.nodes[i].isNull()) places_[nodeKey(graph.nodes[i])] = layout.nodes[i];
  const GroupMembers groups(graph);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const GraphEdge& edge = graph.edges[i];
    if (!layout.edges[i].empty())
      routes_[edgeKey(graph, edge)] = {layout.nodes[groups.drawnFrom(edge)], layout.nodes[edge.to],
                                       layout.edges[i]};
  }
}

}  // namespace tapedeck::inspector
