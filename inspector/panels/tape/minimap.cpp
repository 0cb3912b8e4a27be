#include "inspector/panels/tape/minimap.h"

#include <QPainter>
#include <algorithm>

#include "inspector/panels/tape/node_style.h"

namespace tapedeck::inspector {

namespace {

constexpr double share = 0.3;  ///< of the canvas, each way
constexpr double most_width = 200, most_height = 220, least_side = 24;
constexpr double map_margin = 8, map_inset = 4;
constexpr double least_canvas_width = 260, least_canvas_height = 180;

}  // namespace

QRectF TapeMinimap::place(const LaidOutGraph& laid, const Camera& camera, QSizeF room) const {
  return placeAt(left_, laid, camera, room);
}

void TapeMinimap::stepAside(const LaidOutGraph& laid, const Camera& camera, QSizeF room) {
  if (laid.current < 0) return;
  constexpr double badges = 12;  // stick out of it
  const QRectF node = camera.toWidget(
      laid.layout.nodes[static_cast<std::size_t>(laid.current)].adjusted(-badges, -badges, badges, badges));
  const auto covers = [&](bool left) { return placeAt(left, laid, camera, room).intersects(node); };
  left_ = covers(false) && !covers(true);
}

QRectF TapeMinimap::placeAt(bool left, const LaidOutGraph& laid, const Camera& camera, QSizeF room) const {
  const QRectF bounds = laid.layout.bounds;
  if (bounds.isEmpty() || room.width() < least_canvas_width || room.height() < least_canvas_height) return {};
  // Fit leaves exactly nothing over, give or take a rounding.
  const QRectF sight = camera.toWorld(QRectF(QPointF(), room).adjusted(-1, -1, 1, 1));
  if (sight.contains(bounds)) return {};
  const QSizeF most(std::min(most_width, share * room.width()), std::min(most_height, share * room.height()));
  QSizeF size = bounds.size().scaled(most, Qt::KeepAspectRatio);
  // A long chain is a line otherwise: it is stretched to where one can hit it.
  size = size.expandedTo({least_side, least_side});
  size += QSizeF(2 * map_inset, 2 * map_inset);
  const double x = left ? map_margin : room.width() - size.width() - map_margin;
  return {QPointF(x, room.height() - size.height() - map_margin), size};
}

QPointF TapeMinimap::toWorld(QPointF at, const QRectF& place, const QRectF& bounds) {
  const QRectF inner = place.adjusted(map_inset, map_inset, -map_inset, -map_inset);
  const double x = std::clamp((at.x() - inner.left()) / inner.width(), 0.0, 1.0);
  const double y = std::clamp((at.y() - inner.top()) / inner.height(), 0.0, 1.0);
  return {bounds.left() + x * bounds.width(), bounds.top() + y * bounds.height()};
}

QImage TapeMinimap::picture(const LaidOutGraph& laid, const Theme& theme, QSize size) {
  QImage image(size, QImage::Format_ARGB32_Premultiplied);
  image.fill(theme.panel);
  QPainter painter(&image);
  const QRectF bounds = laid.layout.bounds;
  const double across = size.width() / bounds.width(), down = size.height() / bounds.height();
  for (std::size_t i = 0; i < laid.graph.nodes.size(); ++i) {
    const QRectF& rect = laid.layout.nodes[i];
    if (rect.isNull()) continue;
    const QRectF small((rect.left() - bounds.left()) * across, (rect.top() - bounds.top()) * down,
                       std::max(1.0, rect.width() * across), std::max(1.0, rect.height() * down));
    const Tint& tint = nodeTint(theme, laid.graph.nodes[i]);
    painter.fillRect(small, laid.graph.nodes[i].odd ? tint.stroke : mix(tint.fill, tint.stroke, 0.35));
  }
  return image;
}

void TapeMinimap::draw(CanvasPainter& painter, const std::shared_ptr<const LaidOutGraph>& laid,
                       const Camera& camera, QSizeF room) {
  const QRectF at = place(*laid, camera, room);
  if (at.isNull()) return;
  const Theme& theme = painter.theme();
  const QRectF inner = at.adjusted(map_inset, map_inset, -map_inset, -map_inset);
  const QSize size = inner.size().toSize().expandedTo({1, 1});
  if (of_ != laid || picture_.size() != size || !(theme_ == theme)) {
    picture_ = picture(*laid, theme, size);
    of_ = laid;
    theme_ = theme;
  }
  painter.fill(at, theme.panel, 4);
  painter.image(inner, picture_);
  painter.outline(at, theme.border, 1, 4);
  const QRectF bounds = laid->layout.bounds;
  const auto small = [&](const QRectF& world) {
    const QRectF rect((world.left() - bounds.left()) / bounds.width() * inner.width() + inner.left(),
                      (world.top() - bounds.top()) / bounds.height() * inner.height() + inner.top(),
                      world.width() / bounds.width() * inner.width(),
                      world.height() / bounds.height() * inner.height());
    return rect;
  };
  const QRectF sight = small(camera.toWorld(QRectF(QPointF(), room))).intersected(inner);
  if (!sight.isEmpty()) painter.outline(sight.adjusted(-1, -1, 1, 1), theme.accent, 2);
  if (laid->current < 0) return;
  const QPointF here = small(laid->layout.nodes[static_cast<std::size_t>(laid->current)]).center();
  painter.line(here - QPointF(4, 0), here + QPointF(4, 0), theme.accent, 2);
  painter.line(here - QPointF(0, 4), here + QPointF(0, 4), theme.accent, 2);
}

}  // namespace tapedeck::inspector
