// The flame: a row for each depth of scopes or lines, a box as wide as its share of the time.
#pragma once

#include <QScrollBar>
#include <vector>

#include "inspector/model/runs/profile_model.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/ui/accessible_parts.h"
#include "inspector/ui/canvas/canvas_widget.h"

namespace tapedeck::inspector {

/// A click zooms to a box; a double click, or Enter, goes to its slowest op; Backspace zooms out. Arrows
/// walk: down to the largest part, up to the whole, left and right to the neighbours. What is higher than the
/// canvas scrolls: by the wheel, the bar, Page Up and Page Down, and with the box that is walked to.
class FlameCanvas : public CanvasWidget, public AccessibleParts {
  Q_OBJECT
 public:
  FlameCanvas(ProfileModel* model, CellNames* cells, QWidget* parent = nullptr);

  struct Box {
    QRectF rect;
    std::size_t node = 0;
  };
  const std::vector<Box>& boxes() const { return boxes_; }  ///< that the last frame drew
  std::size_t zoomed() const { return zoomed_; }
  std::size_t walked() const { return walked_; }
  QString label(std::size_t node) const;
  const QScrollBar* bar() const { return &bar_; }
  QSize sizeHint() const override { return {640, 240}; }

  /// The boxes that the last frame drew.
  int accessiblePartCount() const override { return static_cast<int>(boxes_.size()); }
  AccessiblePart accessiblePart(int index) const override;
  int currentAccessiblePart() const override;

 public slots:
  void zoomOut();
  void zoomAll();
  void goToSlowest();

 protected:
  void paintCanvas(CanvasPainter& painter) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  void take();
  void placeAll();
  void fitBar();
  void reveal();
  void draw(CanvasPainter& painter, const Box& box) const;
  void place(std::size_t node, double left, double width, double top, bool only);
  const protocol::ProfileNode& at(std::size_t node) const;
  std::vector<QString> path(std::size_t node) const;
  std::size_t find(const std::vector<QString>& path) const;
  std::size_t depthOf(std::size_t node) const;
  int boxAt(QPointF at) const;
  void walk(int key);
  void walkTo(std::size_t node);
  void zoomTo(std::size_t node);
  QStringList details(std::size_t node) const;
  void describe();

  ProfileModel* model_;
  CellNames* cells_;
  std::vector<protocol::ProfileNode> nodes_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<Box> boxes_;
  std::size_t zoomed_ = 0, walked_ = 0;
  int hovered_ = -1;  ///< node
  QPointF last_at_;
  QScrollBar bar_;             ///< in rows; hidden where all are visible
  int turned_ = 0;             ///< of the wheel, less than a row
  bool double_click_ = false;  ///< whose last release is still to come
};

}  // namespace tapedeck::inspector
