// Which part of a plane a canvas shows.
#pragma once

#include <QPointF>
#include <QRectF>
#include <algorithm>

namespace tapedeck::inspector {

/// widget = world · zoom + offset, in logical pixels.
struct Camera {
  double zoom = 1;
  QPointF offset;

  QPointF toWidget(QPointF world) const { return world * zoom + offset; }
  QPointF toWorld(QPointF widget) const { return (widget - offset) / zoom; }
  QRectF toWidget(const QRectF& world) const { return {toWidget(world.topLeft()), world.size() * zoom}; }
  QRectF toWorld(const QRectF& widget) const { return {toWorld(widget.topLeft()), widget.size() / zoom}; }

  /// The point under `anchor` (in the widget) stays under it.
  void zoomAt(QPointF anchor, double factor, double least, double most) {
    const double to = std::clamp(zoom * factor, least, most);
    offset = anchor - (anchor - offset) * (to / zoom);
    zoom = to;
  }
  /// Shows all of `world`, in the middle, at most `most` times enlarged.
  void fit(const QRectF& world, QSizeF view, double least, double most) {
    if (world.isEmpty() || view.isEmpty()) return;
    zoom = std::clamp(std::min(view.width() / world.width(), view.height() / world.height()), least, most);
    offset = QPointF(view.width() / 2, view.height() / 2) - world.center() * zoom;
  }
  /// Brings `point` as near to the middle as it goes without showing nothing where `world` could be.
  void centre(QPointF point, const QRectF& world, QSizeF view) {
    const auto along = [](double wanted, double low, double high, double extent) {
      return high - low <= extent ? (extent - low - high) / 2 : std::clamp(wanted, extent - high, -low);
    };
    const QPointF wanted = QPointF(view.width() / 2, view.height() / 2) - point * zoom;
    offset = {along(wanted.x(), world.left() * zoom, world.right() * zoom, view.width()),
              along(wanted.y(), world.top() * zoom, world.bottom() * zoom, view.height())};
  }
};

}  // namespace tapedeck::inspector
