#include "inspector/panels/tape/tape_scene.h"

#include <algorithm>
#include <cmath>

#include "inspector/panels/tape/legend.h"
#include "inspector/panels/tape/node_style.h"

namespace tapedeck::inspector {

namespace {

QRectF boundsOf(const std::vector<QPointF>& points) {
  double left = points[0].x(), right = left, top = points[0].y(), bottom = top;
  for (const QPointF& point : points) {
    left = std::min(left, point.x());
    right = std::max(right, point.x());
    top = std::min(top, point.y());
    bottom = std::max(bottom, point.y());
  }
  return {left, top, right - left + 0.1, bottom - top + 0.1};
}

/// Closed for values, open for gradients: not told apart by colour alone.
void drawArrowHead(CanvasPainter& painter, QPointF tip, QPointF before, const QColor& color, double scale,
                   bool open) {
  const QPointF along = tip - before;
  const double length = std::hypot(along.x(), along.y());
  if (length < 1e-6) return;
  const QPointF back = tip - along / length * (9 * scale);
  const QPointF side = QPointF(-along.y(), along.x()) / length * (4.4 * scale);
  if (!open) return painter.triangle(tip, back + side, back - side, color);
  const QPointF lines[] = {back + side, tip, back - side};
  painter.polyline(lines, color, std::max(1.0, 1.7 * scale));
}

}  // namespace

DetailLevel detailLevel(double zoom) {
  if (zoom < 0.3) return DetailLevel::boxes;
  return zoom < 0.6 ? DetailLevel::titles : DetailLevel::full;
}

VisibleItems visibleItems(const LaidOutGraph& laid, const QRectF& world) {
  VisibleItems items;
  const QRectF wide = world.adjusted(-20, -20, 20, 20);  // badges and thick frames stick out
  for (std::size_t i = 0; i < laid.layout.nodes.size(); ++i)
    if (!laid.layout.nodes[i].isNull() && wide.intersects(laid.layout.nodes[i]))
      items.nodes.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < laid.paths.size(); ++i)
    if (!laid.paths[i].empty() && wide.intersects(boundsOf(laid.paths[i])))
      items.edges.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < laid.layout.frames.size(); ++i)
    if (wide.intersects(laid.layout.frames[i].rect)) items.frames.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < laid.layout.lanes.size(); ++i)
    if (wide.intersects(laid.layout.lanes[i].rect | laid.layout.lanes[i].title))
      items.lanes.push_back(static_cast<int>(i));
  return items;
}

int nodeAt(const LaidOutGraph& laid, QPointF world) {
  for (std::size_t i = laid.layout.nodes.size(); i-- > 0;)  // the last drawn is in front
    if (!laid.layout.nodes[i].isNull() && laid.layout.nodes[i].contains(world)) return static_cast<int>(i);
  return -1;
}

void TapeScene::draw(const VisibleItems& items) {
  for (const int lane : items.lanes) drawLane(laid_.layout.lanes[lane]);
  for (const int frame : items.frames) drawFrame(laid_.layout.frames[frame]);
  for (const int edge : items.edges)
    if (!emphasised(laid_.graph.edges[edge])) drawEdge(edge);
  for (const int edge : items.edges)
    if (emphasised(laid_.graph.edges[edge])) drawEdge(edge);
  for (const int node : items.nodes) drawNode(node);
  for (const Arrow& arrow : arrows_)  // over the thick frame of the cursor's node
    drawArrowHead(painter_, arrow.tip, arrow.before, arrow.color, camera_.zoom, arrow.open);
  for (const int node : items.nodes) drawBadge(node);  // arrow heads must not hide their words
  if (detailLevel(camera_.zoom) != DetailLevel::full) return;
  drawApart();
  for (const int edge : items.edges)
    if (labelled(laid_.graph.edges[edge])) drawEdgeLabel(edge);
}

bool TapeScene::emphasised(const GraphEdge& edge) const {
  const auto near = [this](int node) {
    return node == hovered_ || node == walked_ || (node >= 0 && laid_.graph.nodes[node].current);
  };
  return near(edge.from) || near(edge.to);
}

bool TapeScene::labelled(const GraphEdge& edge) const {
  if (edge.backward) return true;
  const bool looked_at =
      edge.from == hovered_ || edge.to == hovered_ || edge.from == walked_ || edge.to == walked_;
  return looked_at && !edge.label.isEmpty();
}

void TapeScene::drawLane(const GraphLayout::Lane& lane) {
  const Theme& theme = painter_.theme();
  painter_.fill(camera_.toWidget(lane.rect), laneColor(theme), 8 * camera_.zoom);
  if (detailLevel(camera_.zoom) == DetailLevel::boxes) return;
  painter_.textIn(camera_.toWidget(lane.title), lane.text, node_title_size * camera_.zoom, theme.faintText);
}

void TapeScene::drawFrame(const GraphLayout::Frame& frame) {
  const Theme& theme = painter_.theme();
  const QRectF rect = camera_.toWidget(frame.rect);
  painter_.fill(rect, mix(theme.background, theme.custom.stroke, theme.dark ? 0.08 : 0.045),
                8 * camera_.zoom);
  painter_.dashedOutline(rect, theme.custom.stroke, 1.2, 3);
  if (detailLevel(camera_.zoom) != DetailLevel::full) return;
  if (frame.title.isNull()) return;
  painter_.textIn(camera_.toWidget(frame.title), frameTitle(laid_.graph.nodes[frame.node]),
                  frame_title_size * camera_.zoom, theme.custom.stroke);
}

void TapeScene::drawApart() {
  if (laid_.layout.apart.isNull()) return;
  painter_.textIn(camera_.toWidget(laid_.layout.apart), apartTitle(), node_line_size * camera_.zoom,
                  painter_.theme().faintText);
}

void TapeScene::drawEdge(int index) {
  const GraphEdge& edge = laid_.graph.edges[index];
  const Theme& theme = painter_.theme();
  const bool strong = emphasised(edge);
  const QColor& stroke = edge.backward ? theme.backward.stroke : theme.forward.stroke;
  const QColor color = strong ? stroke : mix(theme.background, stroke, 0.72);
  const double width = std::clamp(1.4 * camera_.zoom, 0.8, 2.4) * (strong ? 1.6 : 1);
  std::vector<QPointF> points;
  for (const QPointF& point : laid_.paths[index]) points.push_back(camera_.toWidget(point));
  if (edge.backward && camera_.zoom > 0.12)
    painter_.dashed(points, color, width, std::max(3.0, 7 * camera_.zoom), std::max(2.0, 4.5 * camera_.zoom));
  else
    painter_.polyline(points, color, width);
  if (detailLevel(camera_.zoom) == DetailLevel::boxes) return;
  const std::size_t last = points.size() - 1;
  arrows_.push_back({points[last], points[last - 1], color, edge.backward});
}

void TapeScene::drawEdgeLabel(int index) {
  const QRectF& place = laid_.layout.labels[static_cast<std::size_t>(index)];
  if (place.isNull()) return;
  const GraphEdge& edge = laid_.graph.edges[index];
  const Theme& theme = painter_.theme();
  const QRectF rect = camera_.toWidget(place);
  painter_.fill(rect, theme.background, rect.height() / 2);
  painter_.textIn(rect, edgeLabel(edge), edge_label_size * camera_.zoom,
                  edge.backward ? theme.backward.stroke : theme.forward.stroke);
}

void TapeScene::drawNode(int index) {
  const GraphNode& node = laid_.graph.nodes[index];
  const Theme& theme = painter_.theme();
  const Tint& tint = nodeTint(theme, node);
  const QRectF rect = camera_.toWidget(laid_.layout.nodes[index]);
  const double zoom = camera_.zoom;
  const double radius = node.kind == NodeKind::constant ? rect.height() / 2 : 5 * zoom;
  const bool looked_at = index == hovered_ || index == walked_;
  painter_.fill(rect, tint.fill, radius);
  const bool on_path = std::find(path_.begin(), path_.end(), index) != path_.end();
  if (on_path) painter_.hatch(rect, mix(tint.fill, theme.warning.stroke, 0.45), std::max(4.0, 7 * zoom));
  const bool quiet = node.offTape || node.kind == NodeKind::more;
  if (node.state == protocol::RecordState::pending || quiet)
    painter_.dashedOutline(rect, tint.stroke, std::max(1.0, (quiet ? 1.2 : 1.6) * zoom),
                           (quiet ? 2.5 : 5) * zoom);
  else
    painter_.outline(rect, looked_at ? tint.stroke : mix(tint.fill, tint.stroke, 0.75), looked_at ? 2 : 1.2,
                     radius);
  if (node.kind == NodeKind::variable && detailLevel(zoom) != DetailLevel::boxes) {
    const double inset = 3 * zoom;
    painter_.outline(rect.adjusted(inset, inset, -inset, -inset), mix(tint.fill, tint.stroke, 0.5), 1,
                     3 * zoom);
  }
  const double out = std::max(2.0, 3 * zoom);
  if (on_path)
    painter_.outline(rect.adjusted(-2 * out, -2 * out, 2 * out, 2 * out), theme.warning.stroke,
                     std::max(1.5, 2 * zoom), radius + 2 * out);
  if (node.current)
    painter_.outline(rect.adjusted(-out, -out, out, out), theme.accent, std::max(2.0, 3 * zoom),
                     radius + out);
  else if (index == walked_)
    painter_.dashedOutline(rect.adjusted(-out, -out, out, out), theme.accent, 2, 4);
  if (detailLevel(zoom) == DetailLevel::boxes) return;
  drawNodeText(node, rect);
}

void TapeScene::drawNodeText(const GraphNode& node, const QRectF& rect) {
  const Theme& theme = painter_.theme();
  const NodeText text = nodeText(node);
  const double zoom = camera_.zoom;
  const QRectF inner = rect.adjusted(8 * zoom, 0, -8 * zoom, 0);
  const QColor& title = nodeTint(theme, node).stroke;
  if (detailLevel(zoom) == DetailLevel::titles) {
    painter_.textIn(inner, text.title, node_title_size * std::max(zoom, 0.55), title, Qt::AlignCenter,
                    FontRole::bold);
    return;
  }
  const double title_height = 17 * zoom, line_height = 15 * zoom;
  const auto lines = static_cast<double>(text.lines.size());
  QRectF row(inner.left(), rect.center().y() - (title_height + lines * line_height) / 2, inner.width(),
             title_height);
  painter_.textIn(row, text.title, node_title_size * zoom, title, Qt::AlignHCenter, FontRole::bold);
  row.translate(0, title_height);
  row.setHeight(line_height);
  for (qsizetype i = 0; i < text.lines.size(); ++i, row.translate(0, line_height))
    painter_.textIn(row, text.lines[i], node_line_size * zoom, i ? theme.text : theme.faintText);
}

/// At the feet of the node, where no edge ends: what it is at the left, what it waits for at the right.
void TapeScene::drawBadge(int index) {
  const GraphNode& node = laid_.graph.nodes[index];
  if (detailLevel(camera_.zoom) != DetailLevel::full) return;
  const NodeText text = nodeText(node);
  const Theme& theme = painter_.theme();
  const double zoom = camera_.zoom;
  for (const bool state : {false, true}) {
    const QString& word = state ? text.state : text.badge;
    if (word.isEmpty()) continue;
    const QRectF rect = camera_.toWidget(badgeRect(laid_.layout.nodes[index], word, state));
    const bool alert = state && node.state != protocol::RecordState::failed;
    painter_.fill(rect, alert ? theme.accent : nodeTint(theme, node).stroke, rect.height() / 2);
    painter_.textIn(rect.adjusted(2 * zoom, 0, -2 * zoom, 0), word, badge_size * zoom, theme.background,
                    Qt::AlignCenter, FontRole::bold);
  }
}

namespace {

constexpr double legend_row = 24, legend_margin = 10, legend_sample = 32, legend_text_size = 11.5;

double legendColumn() {
  double width = 0;
  for (const LegendEntry& entry : legendEntries())
    width = std::max(width, nominalTextWidth(entry.text, legend_text_size, false));
  return std::ceil(width * 1.05) + legend_sample + 3 * legend_margin;
}

int legendColumns(double width) {
  return std::clamp(static_cast<int>(width / legendColumn()), 1, static_cast<int>(legendEntries().size()));
}

void drawLegendEntry(CanvasPainter& painter, const LegendEntry& entry, const QRectF& sample) {
  const Theme& theme = painter.theme();
  if (entry.edge) {
    const QPointF points[] = {{sample.left(), sample.center().y()}, {sample.right(), sample.center().y()}};
    const QColor& color = entry.backward ? theme.backward.stroke : theme.forward.stroke;
    if (entry.backward)
      painter.dashed(points, color, 1.5, 6, 4);
    else
      painter.polyline(points, color, 1.5);
    return drawArrowHead(painter, points[1], points[0], color, 1, entry.backward);
  }
  const Tint& tint = nodeTint(theme, entry.node);
  const double radius = entry.node.kind == NodeKind::constant ? sample.height() / 2 : 4;
  painter.fill(sample, tint.fill, radius);
  if (entry.node.offTape)
    painter.dashedOutline(sample, tint.stroke, 1.2, 2.5);
  else
    painter.outline(sample, tint.stroke, 1, radius);
  if (entry.node.kind == NodeKind::variable)
    painter.outline(sample.adjusted(2, 2, -2, -2), tint.stroke, 1, 2);
  if (entry.node.current) painter.outline(sample.adjusted(-1, -1, 1, 1), theme.accent, 2.5, radius);
}

}  // namespace

double tapeLegendHeight(double width) {
  const int columns = legendColumns(width), count = static_cast<int>(legendEntries().size());
  return (count + columns - 1) / columns * legend_row + legend_margin;
}

void drawTapeLegend(CanvasPainter& painter) {
  const Theme& theme = painter.theme();
  const QSizeF size = painter.size();
  const double height = tapeLegendHeight(size.width());
  const QRectF band(0, size.height() - height, size.width(), height);
  painter.fill(band, theme.panel);
  painter.line(band.topLeft(), band.topRight(), theme.border);
  const int columns = legendColumns(size.width());
  const double width = size.width() / columns;
  int index = 0;
  for (const LegendEntry& entry : legendEntries()) {
    const QRectF cell((index % columns) * width,
                      band.top() + legend_margin / 2 + index / columns * legend_row, width, legend_row);
    ++index;
    const QRectF sample(cell.left() + legend_margin, cell.top() + 5, legend_sample, legend_row - 10);
    drawLegendEntry(painter, entry, sample);
    painter.textIn(cell.adjusted(legend_sample + 2 * legend_margin, 0, 0, 0), entry.text, legend_text_size,
                   theme.text, Qt::AlignLeft);
  }
}

}  // namespace tapedeck::inspector
