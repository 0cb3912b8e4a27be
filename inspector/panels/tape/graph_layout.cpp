#include "inspector/panels/tape/graph_layout.h"

#include <algorithm>
#include <cmath>

#include "inspector/panels/tape/edge_router.h"
#include "inspector/panels/tape/grid.h"
#include "inspector/panels/tape/grid_placement.h"
#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/scope_lanes.h"

namespace tapedeck::inspector {

namespace {

constexpr double graph_margin = 24;
constexpr double frame_aside = 14, frame_above = 22, frame_below = 26;
constexpr double frame_step = 5;  ///< what a frame is larger than one inside of it
constexpr double title_height = 14;

QPointF bezier(const QPointF* p, double t) {
  const double u = 1 - t;
  return p[0] * (u * u * u) + p[1] * (3 * u * u * t) + p[2] * (3 * u * t * t) + p[3] * (t * t * t);
}

bool isStraight(const QPointF* p) {
  const QPointF along = p[3] - p[0];
  const auto off = [&](QPointF at) { return std::abs(along.x() * at.y() - along.y() * at.x()); };
  const double limit = 0.05 * std::hypot(along.x(), along.y());
  return off(p[1] - p[0]) <= limit && off(p[2] - p[0]) <= limit;
}

QRectF nodeRect(const GraphNode& node, GridCell cell) {
  const QSizeF size = nodeSize(node);
  const QPointF centre = grid::box(cell).center();
  return {centre - QPointF(size.width() / 2, size.height() / 2), size};
}

/// How many frames lie inside of each frame.
std::map<int, int> depths(const TapeGraph& graph, const std::map<int, CellBox>& frames) {
  std::map<int, int> result;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const int inside = result[frame->first];
    const int outer = graph.nodes[static_cast<std::size_t>(frame->first)].group;
    if (outer >= 0) result[outer] = std::max(result[outer], inside + 1);
  }
  return result;
}

bool hasStrangers(const TapeGraph& graph, const GridPlacement& placement, int group, const CellBox& frame) {
  bool header = false;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!frame.contains(placement.cells()[i])) continue;
    bool member = static_cast<int>(i) == group;
    header = header || member;
    for (int at = graph.nodes[i].group; at >= 0 && !member;
         at = graph.nodes[static_cast<std::size_t>(at)].group)
      member = at == group;
    if (!member) return true;
  }
  return !header;
}

void addFrames(const TapeGraph& graph, const GridPlacement& placement, GraphLayout& layout) {
  std::map<int, int> depth = depths(graph, placement.frames());
  for (const auto& [group, cells] : placement.frames()) {
    if (hasStrangers(graph, placement, group, cells)) continue;
    const double more = frame_step * std::min(2, depth[group]);
    const QRectF whole = grid::box({cells.top, cells.left}) | grid::box({cells.bottom, cells.right});
    layout.frames.push_back(
        {group,
         whole.adjusted(-frame_aside - more, -frame_above - more, frame_aside + more, frame_below + more),
         QRectF()});
  }
}

bool meets(const Curve& curve, const QRectF& rect) {
  const QRectF wide = rect.adjusted(-2, -1, 2, 1);
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    const QRectF piece = QRectF(curve[i], curve[i + 1]).normalized().adjusted(-0.1, -0.1, 0.1, 0.1);
    if (piece.intersects(wide)) return true;
  }
  return false;
}

bool isFree(const GraphLayout& layout, const QRectF& spot) {
  const auto hit = [&spot](const QRectF& other) { return !other.isNull() && other.intersects(spot); };
  return std::none_of(
             layout.nodes.begin(), layout.nodes.end(),
             [&](const QRectF& other) { return hit(other.adjusted(0, 0, 0, grid::badge_strip - 3)); }) &&
         std::none_of(layout.labels.begin(), layout.labels.end(), hit) &&
         std::none_of(layout.frames.begin(), layout.frames.end(),
                      [&](const GraphLayout::Frame& other) { return hit(other.title); }) &&
         std::none_of(layout.edges.begin(), layout.edges.end(),
                      [&](const Curve& curve) { return meets(curve, spot); });
}

/// In a corner, or else along the border, where nothing runs through it; null: nowhere.
QRectF titleSpot(const TapeGraph& graph, const GraphLayout& layout, const GraphLayout::Frame& frame) {
  const GraphNode& node = graph.nodes[static_cast<std::size_t>(frame.node)];
  const QSizeF size(nominalTextWidth(frameTitle(node), frame_title_size, false) + 6, title_height);
  const QRectF inner = frame.rect.adjusted(4, 2, -4, -2);
  if (size.width() > inner.width()) return {};
  for (const double share : {0.0, 1.0, 0.3, 0.7})
    for (const bool top : {node.backward, !node.backward}) {
      const QRectF spot(QPointF(inner.left() + share * (inner.width() - size.width()),
                                top ? inner.top() : inner.bottom() - size.height()),
                        size);
      if (isFree(layout, spot)) return spot;
    }
  return {};
}

QRectF boundsOf(const GraphLayout& layout) {
  QRectF bounds = layout.apart;
  for (const QRectF& rect : layout.nodes) bounds |= rect;
  for (const GraphLayout::Frame& frame : layout.frames) bounds |= frame.rect;
  for (const GraphLayout::Lane& lane : layout.lanes) bounds |= lane.rect | lane.title;
  for (const Curve& curve : layout.edges)
    for (const QPointF& point : curve) bounds |= QRectF(point, QSizeF(0.01, 0.01));
  return bounds.isNull() ? bounds : bounds.adjusted(-graph_margin, -graph_margin, graph_margin, graph_margin);
}

}  // namespace

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
    if (graph_.nodes[static_cast<std::size_t>(*member)].tensor == edge.tensor) return exit(*member);
  // A step inside of the group: what comes in is read at its header.
  for (int at = graph_.nodes[static_cast<std::size_t>(edge.to)].group; at >= 0;
       at = graph_.nodes[static_cast<std::size_t>(at)].group)
    if (at == edge.from) return edge.from;
  return members.empty() ? edge.from : exit(edge.from);
}

GraphLayout layoutTapeGraph(const TapeGraph& graph, const std::atomic<bool>* cancelled) {
  GraphLayout layout;
  const GridPlacement placement(graph, cancelled);
  if (cancelled && *cancelled) return layout;
  layout.cells = placement.cells();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    layout.nodes.push_back(nodeRect(graph.nodes[i], layout.cells[i]));
  addFrames(graph, placement, layout);
  const EdgeRouter router(graph, placement, layout.nodes);
  layout.edges = router.curves();
  layout.labels = router.labels();
  if (cancelled && *cancelled) return layout;
  for (GraphLayout::Frame& frame : layout.frames) frame.title = titleSpot(graph, layout, frame);
  if (const auto apart = placement.apart()) {
    const QRectF cell = grid::box(*apart);
    layout.apart = QRectF(cell.left(), cell.center().y() - 10, cell.width(), 20);
  }
  layout.lanes = scopeLanes(graph, layout.nodes, layout.cells);
  layout.bounds = boundsOf(layout);
  return layout;
}

std::vector<QPointF> flattened(const Curve& curve) {
  std::vector<QPointF> points;
  if (curve.size() < 4) return points;
  points.push_back(curve.front());
  for (std::size_t i = 0; i + 3 < curve.size(); i += 3) {
    const int steps = isStraight(&curve[i]) ? 1 : 6;
    for (int step = 1; step <= steps; ++step)
      points.push_back(bezier(&curve[i], static_cast<double>(step) / steps));
  }
  return points;
}

}  // namespace tapedeck::inspector
