// The whole graph, small, in a corner of the canvas, with a frame around the visible part.
#pragma once

#include <QImage>
#include <memory>

#include "inspector/panels/tape/layout_worker.h"
#include "inspector/ui/canvas/camera.h"
#include "inspector/ui/canvas/canvas_painter.h"

namespace tapedeck::inspector {

class TapeMinimap {
 public:
  /// Its rectangle on a canvas of that size; null where that has no room for it, or the whole graph is
  /// visible.
  QRectF place(const LaidOutGraph& laid, const Camera& camera, QSizeF room) const;
  /// To the left corner where it would cover the cursor's node in the right one, and back where that one is
  /// free again.
  void stepAside(const LaidOutGraph& laid, const Camera& camera, QSizeF room);
  void draw(CanvasPainter& painter, const std::shared_ptr<const LaidOutGraph>& laid, const Camera& camera,
            QSizeF room);
  /// The point of the plane that a point of the map shows.
  static QPointF toWorld(QPointF at, const QRectF& place, const QRectF& bounds);

 private:
  /// Boxes in their colours; nodes that would be smaller than a pixel take one.
  static QImage picture(const LaidOutGraph& laid, const Theme& theme, QSize size);

  QRectF placeAt(bool left, const LaidOutGraph& laid, const Camera& camera, QSizeF room) const;

  bool left_ = false;
  QImage picture_;
  std::shared_ptr<const LaidOutGraph> of_;
  Theme theme_;
};

}  // namespace tapedeck::inspector
