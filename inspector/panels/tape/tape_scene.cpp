#include "inspector/panels/tape/tape_scene.h"

#include <algorithm>
#include <cmath>

#include "inspector/panels/tape/legend.h"
#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/tape_marks.h"

namespace tapedeck::inspector {

namespace {

constexpr double titles_zoom = 0.2, full_zoom = 0.6;
// Letters stay readable where the boxes are small.
constexpr double least_step = 1.5;    ///< between the points of an edge from far away, in pixels
constexpr double least_outlined = 5;  ///< height of a box that has an outline
constexpr double least_title = 8, usual_title = 10, least_line = 8, least_lane = 9;

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

/// Of a bookmark, as ⚑ in Ops: its pole begins in the box and ends above it.
void drawFlag(CanvasPainter& painter, QPointF at, double size) {
  const QColor& color = painter.theme().text;  // the cursor's frame has the accent colour
  const QPointF foot = at + QPointF(0, 0.3 * size), top = at - QPointF(0, size);
  const QPointF tip = top + QPointF(0.9 * size, 0.35 * size), low = top + QPointF(0, 0.7 * size);
  painter.triangle(top, tip, low, color);
  painter.line(foot, top, color, std::max(1.0, 0.12 * size));
}

}  // namespace

DetailLevel detailLevel(double zoom) {
  if (zoom < titles_zoom) return DetailLevel::boxes;
  return zoom < full_zoom ? DetailLevel::titles : DetailLevel::full;
}

VisibleItems visibleItems(const LaidOutGraph& laid, const QRectF& world) {
  VisibleItems items;
  const QRectF wide = world.adjusted(-20, -20, 20, 20);  // badges and thick frames stick out
  for (std::size_t i = 0; i < laid.layout.nodes.size(); ++i)
    if (!laid.layout.nodes[i].isNull() && wide.intersects(laid.layout.nodes[i]))
      items.nodes.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < laid.paths.size(); ++i)
    if (!laid.paths[i].empty() && wide.intersects(laid.path_bounds[i]))
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
  for (const int edge : items.edges) {
    const GraphEdge& drawn = laid_.graph.edges[edge];
    if (labelled(drawn) && !((mark(drawn.from) | mark(drawn.to)) & dim_mark)) drawEdgeLabel(edge);
  }
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
  const QRectF band = camera_.toWidget(lane.rect);
  painter_.fill(band, laneColor(theme), 8 * camera_.zoom);
  const double size = std::max(node_title_size * camera_.zoom, least_lane);
  if (band.height() < size + 2) return;
  // Its end stays beside the band, and its beginning on the canvas.
  QRectF title = camera_.toWidget(lane.title);
  title.setHeight(std::max(title.height(), size + 2));
  title.setLeft(
      std::max(2.0, std::min(title.left(), title.right() - 1.1 * nominalTextWidth(lane.text, size, false))));
  if (title.right() > title.left() + size)
    painter_.textIn(title, lane.text, size, theme.faintText, Qt::AlignRight);
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
  painter_.textIn(camera_.toWidget(laid_.layout.apart), apartTitle(laid_.graph),
                  node_line_size * camera_.zoom, painter_.theme().faintText);
}

void TapeScene::drawEdge(int index) {
  const GraphEdge& edge = laid_.graph.edges[index];
  const Theme& theme = painter_.theme();
  const bool strong = emphasised(edge);
  const QColor& stroke = edge.backward ? theme.backward.stroke : theme.forward.stroke;
  const bool dim = !strong && ((mark(edge.from) | mark(edge.to)) & dim_mark);
  const QColor color = strong ? stroke : mix(theme.background, stroke, dim ? 0.25 : 0.72);
  const double width = std::clamp(1.4 * camera_.zoom, 0.8, 2.4) * (strong ? 1.6 : 1);
  std::vector<QPointF> points;
  // From far away the points of a round corner are one.
  const double apart = detailLevel(camera_.zoom) == DetailLevel::boxes ? least_step : 0;
  const std::vector<QPointF>& path = laid_.paths[index];
  for (std::size_t i = 0; i < path.size(); ++i) {
    const QPointF point = camera_.toWidget(path[i]);
    if (points.empty() || i + 1 == path.size() || (point - points.back()).manhattanLength() >= apart)
      points.push_back(point);
  }
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
  Tint tint = nodeTint(theme, node);
  if (mark(index) & dim_mark)
    tint = {mix(theme.background, tint.fill, 0.35), mix(theme.background, tint.stroke, 0.35)};
  const QRectF rect = camera_.toWidget(laid_.layout.nodes[index]);
  const double zoom = camera_.zoom;
  if (rect.height() < least_outlined && !node.current && !node.odd && index != walked_ && index != hovered_ &&
      !mark(index) && path_.empty())
    return painter_.fill(rect, mix(tint.fill, tint.stroke, 0.5));
  const double radius = node.kind == NodeKind::constant ? rect.height() / 2 : 5 * zoom;
  const bool looked_at = index == hovered_ || index == walked_;
  if (!node.fold.isEmpty())  // a pile
    for (const double behind : {2.0, 1.0}) {
      const double away = behind * std::clamp(4 * zoom, 1.5, 5.0);
      painter_.fill(rect.translated(away, -away), tint.fill, radius);
      painter_.outline(rect.translated(away, -away), mix(tint.fill, tint.stroke, 0.75), 1, radius);
    }
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
  if (mark(index)) drawMarks(index, rect);
  if (detailLevel(zoom) == DetailLevel::boxes) {
    if (node.odd) drawOdd(rect);
    return;
  }
  drawNodeText(index, rect);
}

/// A cross: found where no letters are.
void TapeScene::drawOdd(const QRectF& rect) {
  const QColor& color = painter_.theme().error.stroke;
  painter_.line(rect.topLeft(), rect.bottomRight(), color, 1.5);
  painter_.line(rect.bottomLeft(), rect.topRight(), color, 1.5);
}

/// Hits have a frame with a full corner; ancestors a triangle at the left that points up, descendants one
/// that points down. A bookmark is a flag at the right.
void TapeScene::drawMarks(int index, const QRectF& rect) {
  const Theme& theme = painter_.theme();
  const double size = std::clamp(11 * camera_.zoom, 5.0, 11.0);
  if (mark(index) & hit_mark) {
    const QRectF wide = rect.adjusted(-2, -2, 2, 2);
    painter_.outline(wide, theme.success, 2, 5 * camera_.zoom);
    painter_.triangle(wide.topLeft(), wide.topLeft() + QPointF(1.6 * size, 0),
                      wide.topLeft() + QPointF(0, 1.6 * size), theme.success);
  }
  if (mark(index) & bookmark_mark) {
    const double flag = std::clamp(17 * camera_.zoom, 9.0, 17.0);
    drawFlag(painter_, rect.topRight() - QPointF(flag, 0), flag);
  }
  const QPointF corner(rect.left() - size - 3, rect.center().y());
  if (mark(index) & ancestor_mark)
    painter_.triangle(corner + QPointF(0, -1), corner + QPointF(size, -1),
                      corner + QPointF(size / 2, -1 - size), theme.text);
  if (mark(index) & descendant_mark)
    painter_.triangle(corner + QPointF(0, 1), corner + QPointF(size, 1), corner + QPointF(size / 2, 1 + size),
                      theme.text);
}

/// Inside the box, as large as fits, from `least_title` to `usual_title`; cut with an ellipsis where that is
/// too wide.
void TapeScene::drawTitle(int index, const QRectF& rect) {
  const GraphNode& node = laid_.graph.nodes[index];
  const Tint& tint = nodeTint(painter_.theme(), node);
  const QString title = nodeText(node).title;
  const QRectF inner = rect.adjusted(2, 0, -2, 0);
  double size = std::min(usual_title, 0.7 * inner.height());
  const double width = nominalTextWidth(title, size, true);
  if (width > inner.width()) size = std::max(std::min(size, least_title), size * inner.width() / width);
  painter_.textIn(inner, title, size, tint.stroke, Qt::AlignCenter, FontRole::bold);
}

void TapeScene::drawNodeText(int index, const QRectF& rect) {
  const GraphNode& node = laid_.graph.nodes[index];
  const Theme& theme = painter_.theme();
  const double zoom = camera_.zoom;
  if (detailLevel(zoom) == DetailLevel::titles) {
    drawTitle(index, rect);
    if (!node.odd) return;
    // At the right foot, as the badge at a larger zoom.
    const QRectF tab(rect.right() - 22, rect.bottom() - 5, 24, 10);
    painter_.fill(tab, theme.error.stroke, 5);
    return painter_.textIn(tab, QStringLiteral("NaN"), least_line, theme.background, Qt::AlignCenter,
                           FontRole::bold);
  }
  const NodeText text = nodeText(node);
  const QRectF inner = rect.adjusted(8 * zoom, 0, -8 * zoom, 0);
  const QColor& title = nodeTint(theme, node).stroke;
  const double title_height = std::max(17 * zoom, 11.0), line_height = std::max(15 * zoom, 9.5);
  const auto lines = static_cast<double>(text.lines.size());
  QRectF row(inner.left(), rect.center().y() - (title_height + lines * line_height) / 2, inner.width(),
             title_height);
  painter_.textIn(row, text.title, std::max(node_title_size * zoom, usual_title), title, Qt::AlignHCenter,
                  FontRole::bold);
  row.translate(0, title_height);
  row.setHeight(line_height);
  for (qsizetype i = 0; i < text.lines.size(); ++i, row.translate(0, line_height))
    painter_.textIn(row, text.lines[i], std::max(node_line_size * zoom, least_line),
                    i ? theme.text : theme.faintText);
}

/// At the feet of the node, where no edge ends: its kind at the left, its state at the right.
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
    const bool alert = state && word != oddText() && node.state != protocol::RecordState::failed;
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
  if (!entry.node.fold.isEmpty()) {
    painter.fill(sample.translated(3, -3), tint.fill, radius);
    painter.outline(sample.translated(3, -3), tint.stroke, 1, radius);
  }
  painter.fill(sample, tint.fill, radius);
  if (entry.node.odd)
    painter.textIn(sample, QStringLiteral("NaN"), least_line + 1, tint.stroke, Qt::AlignCenter,
                   FontRole::bold);
  if (entry.node.offTape)
    painter.dashedOutline(sample, tint.stroke, 1.2, 2.5);
  else
    painter.outline(sample, tint.stroke, 1, radius);
  if (entry.node.kind == NodeKind::variable)
    painter.outline(sample.adjusted(2, 2, -2, -2), tint.stroke, 1, 2);
  if (entry.bookmark) drawFlag(painter, sample.topRight() - QPointF(12, -4), 9);
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
