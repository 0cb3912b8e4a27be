#include "inspector/panels/tape/scope_lanes.h"

#include <algorithm>
#include <map>

#include "inspector/panels/tape/grid.h"
#include "inspector/panels/tape/node_style.h"

namespace tapedeck::inspector {
namespace {

constexpr double lane_aside = 18, lane_inset = 3;
constexpr double title_room = 18;
constexpr int most_letters = 28;

struct Row {
  QString scope;
  bool ops = false, mixed = false;
};

/// Of each row that holds a node, in order.
std::map<int, Row> rowsOf(const TapeGraph& graph, const std::vector<QRectF>& nodes,
                          const std::vector<GridCell>& cells) {
  std::map<int, Row> rows;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    if (nodes[i].isNull()) continue;
    Row& row = rows[cells[i].row];
    // Sums of gradients stand where they are needed, whatever layer that is.
    const bool sum = node.kind == NodeKind::op && node.backward;
    if (isLeaf(node) || sum || node.kind == NodeKind::more || node.kind == NodeKind::playback) continue;
    row.mixed = row.mixed || (row.ops && row.scope != node.scope);
    row.scope = node.scope;
    row.ops = true;
  }
  // A value is above its readers.
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    if (row != rows.rbegin() && !row->second.ops) row->second = std::prev(row)->second;
  return rows;
}

}  // namespace

std::vector<GraphLayout::Lane> scopeLanes(const TapeGraph& graph, const std::vector<QRectF>& nodes,
                                          const std::vector<GridCell>& cells) {
  std::vector<GraphLayout::Lane> lanes;
  QRectF whole;
  for (const QRectF& node : nodes) whole |= node;
  int last = 0;
  for (const auto& [number, row] : rowsOf(graph, nodes, cells)) {
    if (row.mixed || row.scope.isEmpty()) continue;
    const double top = grid::channelTop(number) + grid::channel_height / 2 + lane_inset;
    const QRectF rect(whole.left() - lane_aside, top, whole.width() + 2 * lane_aside,
                      grid::row_pitch - 2 * lane_inset);
    if (!lanes.empty() && lanes.back().scope == row.scope && last + 1 == number) {
      lanes.back().rect |= rect;
    } else {
      const QString title =
          row.scope.size() <= most_letters ? row.scope : QChar(0x2026) + row.scope.right(most_letters - 1);
      const double width = nominalTextWidth(title, node_title_size, false) + 6;
      lanes.push_back(
          {row.scope, title, rect, QRectF(rect.left() - width - 6, rect.top() + 4, width, title_room)});
    }
    last = number;
  }
  return lanes;
}

}  // namespace tapedeck::inspector
