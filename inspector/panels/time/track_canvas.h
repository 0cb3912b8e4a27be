// The track: time from left to right, a row for each thread and depth, a box for each op.
#pragma once

#include <optional>
#include <utility>

#include "inspector/model/runs/profile_model.h"
#include "inspector/model/runs/profile_text.h"
#include "inspector/ui/accessible_parts.h"
#include "inspector/ui/canvas/canvas_widget.h"

namespace tapedeck::inspector {

/// A wheel zooms, dragging moves, Shift and dragging selects; a click goes to the op.
class TrackCanvas : public CanvasWidget, public AccessibleParts {
  Q_OBJECT
 public:
  TrackCanvas(ProfileModel* model, CellName name, QWidget* parent = nullptr);

  struct Shown {
    QRectF rect;
    RecordNumber record = 0;
    quint64 count = 0;
    std::size_t lane = 0, box = 0;
  };
  /// The boxes that the last frame drew.
  const std::vector<Shown>& shown() const { return shown_; }
  RecordNumber hovered() const { return hovered_; }
  /// Where a time is on the canvas.
  double xOf(double time) const;
  double timeAt(double x) const;
  QSize sizeHint() const override { return {640, 240}; }

  /// The lanes: one for each thread and depth.
  int accessiblePartCount() const override;
  AccessiblePart accessiblePart(int index) const override;

 public slots:
  void zoomIn();
  void zoomOut();
  void moveLeft();
  void moveRight();
  void fit();  ///< all of the span
  void centreCursor();
  void selectView();                              ///< the span becomes what is shown
  void show(tapedeck::inspector::TimeSpan span);  ///< with some room around it

 protected:
  void paintCanvas(CanvasPainter& painter) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  static constexpr double axis_height = 22, left_edge = 0;
  double trackWidth() const;
  struct Row {
    QString device;  ///< a GPU's; empty: the host's
    quint64 thread = 0;
    std::uint32_t depth = 0;
    double top = 0;
    int lane = -1;  ///< -1: a thread's title
  };
  std::vector<Row> rows() const;
  std::vector<Row> lanes() const;
  QString nameOf(const Row& row) const;
  double rowsHeight() const;
  /// What is shown, in time at which the program ran: pauses take no room.
  std::pair<double, double> runningView() const;
  double stepsTop() const;
  void drawAxis(CanvasPainter& painter);
  void drawPauses(CanvasPainter& painter);
  void drawLane(CanvasPainter& painter, const Row& row);
  void drawSteps(CanvasPainter& painter);
  void drawSelection(CanvasPainter& painter);
  void drawCursor(CanvasPainter& painter);
  QStringList details();
  void zoom(double factor, double x);
  void pan(double pixels);
  void setView(double from, double to);
  void hover(QPointF at);
  void describe();

  ProfileModel* model_;
  CellName name_;
  std::vector<Shown> shown_;
  RecordNumber hovered_ = 0;
  quint64 hovered_count_ = 0;
  qint64 hovered_time_ = 0;
  int hovered_step_ = -1;
  double scroll_ = 0;
  QPointF pressed_at_, last_at_;
  bool pressed_ = false, dragging_ = false, selecting_ = false;
  std::optional<TimeSpan> selected_;  ///< while it is drawn with the mouse
};

}  // namespace tapedeck::inspector
