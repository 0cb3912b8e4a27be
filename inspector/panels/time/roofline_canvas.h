// The roofline (S. Williams, A. Waterman, D. Patterson, "Roofline: An Insightful Visual Performance Model for
// Multicore Architectures", 2009): each op by its operations per byte and its operations per second, below
// the machine's peak.
#pragma once

#include <QLineF>
#include <vector>

#include "inspector/model/runs/profile_model.h"
#include "inspector/ui/accessible_parts.h"
#include "inspector/ui/canvas/canvas_widget.h"

namespace tapedeck::inspector {

/// A click goes to an op's slowest call; arrows walk from the op that took the most time on, Enter goes to
/// it.
class RooflineCanvas : public CanvasWidget, public AccessibleParts {
  Q_OBJECT
 public:
  explicit RooflineCanvas(ProfileModel* model, QWidget* parent = nullptr);

  struct Point {
    QPointF at;
    double radius = 0;
    std::size_t row = 0;
  };
  const std::vector<Point>& points() const { return points_; }
  const std::vector<QRectF>& words() const { return words_; }  ///< of the plot, with their positions
  const std::vector<QLineF>& roofs() const { return roofs_; }  ///< the lines
  int walked() const { return walked_; }
  QSize sizeHint() const override { return {640, 300}; }

  /// The ops, that which took the most time first, and after them the machine's peaks.
  int accessiblePartCount() const override;
  AccessiblePart accessiblePart(int index) const override;
  int currentAccessiblePart() const override { return walked_; }

 public slots:
  void goToSlowest();

 protected:
  void paintCanvas(CanvasPainter& painter) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  /// What the axes reach over: powers of ten.
  struct Reach {
    double left = 0, right = 0, bottom = 0, top = 0;
    QRectF plot;
    QPointF at(double intensity, double gflops) const;
  };
  Reach reach(QSizeF size) const;
  void drawAxes(CanvasPainter& painter, const Reach& reach);
  void drawRoofs(CanvasPainter& painter, const Reach& reach);
  void drawPoints(CanvasPainter& painter, const Reach& reach);
  void nameRoofs(CanvasPainter& painter, const Reach& reach);
  void namePoints(CanvasPainter& painter, const Reach& reach);
  void write(CanvasPainter& painter, const QString& text, std::vector<QPointF> places, const QColor& color,
             const QRectF& plot, bool must);
  const protocol::ProfileRow* rowOf(int point) const;
  int pointAt(QPointF at) const;
  QStringList details(const protocol::ProfileRow& row) const;

  ProfileModel* model_;
  std::vector<Point> points_;
  std::vector<QRectF> words_;
  std::vector<QLineF> roofs_;
  int hovered_ = -1, walked_ = -1;
  QPointF last_at_;
};

}  // namespace tapedeck::inspector
