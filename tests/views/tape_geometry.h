// Whether the picture of a tape can be misread: pure geometry, for any graph and its layout.
#pragma once

#include <QLineF>
#include <cmath>

#include "inspector/panels/tape/graph_layout.h"
#include "inspector/panels/tape/node_style.h"

namespace tapedeck::test {

using inspector::GraphEdge;
using inspector::GraphLayout;
using inspector::GraphNode;
using inspector::NodeKind;
using inspector::TapeGraph;

/// Part of the line from a to b lies inside of the rectangle.
inline bool runsThrough(QPointF a, QPointF b, const QRectF& rect) {
  if (QRectF(a, b).normalized().adjusted(-0.01, -0.01, 0.01, 0.01).intersects(rect)) {
    if (rect.contains(a) || rect.contains(b)) return true;
    const QLineF line(a, b);
    const QPointF corners[] = {rect.topLeft(), rect.topRight(), rect.bottomRight(), rect.bottomLeft()};
    for (int i = 0; i < 4; ++i)
      if (line.intersects(QLineF(corners[i], corners[(i + 1) % 4]), nullptr) == QLineF::BoundedIntersection)
        return true;
  }
  return false;
}

inline QString nameOf(const TapeGraph& graph, int node) {
  const GraphNode& at = graph.nodes[static_cast<std::size_t>(node)];
  return (at.kind == NodeKind::vjp ? QStringLiteral("∂ ") : QString()) + at.op +
         QStringLiteral("#%1").arg(at.record);
}

inline QString nameOf(const TapeGraph& graph, const GraphEdge& edge) {
  return nameOf(graph, edge.from) + QStringLiteral(" → ") + nameOf(graph, edge.to);
}

/// Which two nodes overlap, or which node overlaps a label; empty: none.
inline QString overlap(const TapeGraph& graph, const GraphLayout& layout) {
  std::map<std::pair<int, int>, int> cells;
  for (std::size_t i = 0; i < layout.nodes.size(); ++i) {
    const auto [other, added] =
        cells.try_emplace({layout.cells[i].row, layout.cells[i].column}, static_cast<int>(i));
    if (!added) return nameOf(graph, static_cast<int>(i)) + " on " + nameOf(graph, other->second);
  }
  for (std::size_t a = 0; a < layout.nodes.size(); ++a)
    for (std::size_t b = a + 1; b < layout.nodes.size(); ++b)
      if (layout.nodes[a].intersects(layout.nodes[b]))
        return nameOf(graph, static_cast<int>(a)) + " over " + nameOf(graph, static_cast<int>(b));
  for (std::size_t e = 0; e < layout.labels.size(); ++e)
    for (std::size_t i = 0; i < layout.nodes.size() && !layout.labels[e].isNull(); ++i)
      if (layout.labels[e].intersects(layout.nodes[i]))
        return "label of " + nameOf(graph, graph.edges[e]) + " on " + nameOf(graph, static_cast<int>(i));
  return {};
}

/// The first edge that runs through a node that is not its end, or through a label that is not its own, or
/// along an edge of another tensor; empty: none.
inline QString misread(const TapeGraph& graph, const GraphLayout& layout) {
  const inspector::GroupMembers groups(graph);
  struct Line {
    QPointF a, b;
    std::size_t edge;
  };
  // Edges of one tensor may share their way.
  const auto sameNet = [&](std::size_t a, std::size_t b) {
    const GraphEdge &one = graph.edges[a], &other = graph.edges[b];
    const int source = groups.drawnFrom(one);
    return source == groups.drawnFrom(other) && one.fromSlot == other.fromSlot &&
           (source == one.from) == (source == other.from);
  };
  std::vector<Line> lines;
  for (std::size_t e = 0; e < layout.edges.size(); ++e) {
    const std::vector<QPointF> path = inspector::flattened(layout.edges[e]);
    for (std::size_t k = 1; k < path.size(); ++k) lines.push_back({path[k - 1], path[k], e});
  }
  for (const Line& line : lines) {
    const GraphEdge& edge = graph.edges[line.edge];
    const int source = groups.drawnFrom(edge);
    for (std::size_t i = 0; i < layout.nodes.size(); ++i) {
      const int node = static_cast<int>(i);
      const bool end = node == source || node == edge.to;
      // The ends may be touched at the border only.
      if (runsThrough(line.a, line.b, layout.nodes[i].adjusted(1, 1, -1, -1)))
        return nameOf(graph, edge) + (end ? " enters " : " runs through ") + nameOf(graph, node);
      if (end) continue;
      const inspector::NodeText text = inspector::nodeText(graph.nodes[i]);
      for (const bool state : {false, true}) {
        const QString& word = state ? text.state : text.badge;
        if (!word.isEmpty() &&
            runsThrough(line.a, line.b, inspector::badgeRect(layout.nodes[i], word, state)))
          return nameOf(graph, edge) + " runs through the badge of " + nameOf(graph, node);
      }
    }
    for (std::size_t e = 0; e < layout.labels.size(); ++e) {
      if (!layout.labels[e].isNull() && !sameNet(e, line.edge) &&
          runsThrough(line.a, line.b, layout.labels[e]))
        return nameOf(graph, edge) + " runs through the label of " + nameOf(graph, graph.edges[e]);
    }
    for (const GraphLayout::Frame& frame : layout.frames)
      if (!frame.title.isNull() && runsThrough(line.a, line.b, frame.title))
        return nameOf(graph, edge) + " runs through the title of a frame";
    if (!layout.apart.isNull() && runsThrough(line.a, line.b, layout.apart))
      return nameOf(graph, edge) + " runs through the title of what is apart";
  }
  for (const bool upright : {true, false}) {
    const auto across = [upright](QPointF p) { return upright ? p.x() : p.y(); };
    const auto along = [upright](QPointF p) { return upright ? p.y() : p.x(); };
    std::vector<Line> straight;
    for (const Line& line : lines)
      if (std::abs(across(line.a) - across(line.b)) < 0.01) straight.push_back(line);
    std::sort(straight.begin(), straight.end(),
              [&](const Line& x, const Line& y) { return across(x.a) < across(y.a); });
    for (std::size_t i = 0; i < straight.size(); ++i)
      for (std::size_t k = i + 1; k < straight.size() && across(straight[k].a) - across(straight[i].a) < 0.5;
           ++k) {
        if (sameNet(straight[i].edge, straight[k].edge)) continue;
        const auto ends = [&](const Line& line) { return std::minmax(along(line.a), along(line.b)); };
        const std::pair<double, double> x = ends(straight[i]), y = ends(straight[k]);
        if (std::min(x.second, y.second) - std::max(x.first, y.first) > 1)
          return nameOf(graph, graph.edges[straight[i].edge]) + " lies on " +
                 nameOf(graph, graph.edges[straight[k].edge]);
      }
  }
  return {};
}

/// The first VJP that is not in the row of its op, to the right of it; empty: none. Of a custom
/// gradient's framed ops it is the row where the result leaves.
inline QString unpaired(const TapeGraph& graph, const GraphLayout& layout) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    if (node.kind != NodeKind::vjp || node.forward < 0 || node.group >= 0) continue;
    double y = layout.nodes[static_cast<std::size_t>(node.forward)].center().y();
    for (std::size_t k = 0; k < graph.nodes.size(); ++k)
      for (int at = graph.nodes[k].group; at >= 0; at = graph.nodes[static_cast<std::size_t>(at)].group)
        if (at == node.forward) y = std::max(y, layout.nodes[k].center().y());
    if (std::abs(layout.nodes[i].center().y() - y) > 0.5 ||
        layout.nodes[i].left() <= layout.nodes[static_cast<std::size_t>(node.forward)].right())
      return nameOf(graph, static_cast<int>(i)) + " is not beside " + nameOf(graph, node.forward);
  }
  return {};
}

}  // namespace tapedeck::test
