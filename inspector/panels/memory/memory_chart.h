// The curve of memory over the run: a stacked area for each kind of holder in the program, and on a scale of
// its own, on request, the recorder's memory.
#pragma once

#include <QWidget>

#include "inspector/model/runs/memory_model.h"
#include "inspector/ui/accessible_parts.h"

namespace tapedeck::inspector {

/// A click moves the cursor; the wheel zooms around the mouse. Keys, with the focus in it: Left and Right by
/// a piece, + and − zoom around the cursor, 0 shows the whole run.
class MemoryChart : public QWidget, public AccessibleParts {
  Q_OBJECT
 public:
  explicit MemoryChart(MemoryModel* model, QWidget* parent = nullptr);

  QSize sizeHint() const override { return {400, 160}; }
  /// The position of a record, in the widget's coordinates.
  double xOf(RecordNumber record) const;
  RecordNumber recordAt(double x) const;
  /// The largest value of the program's scale, in bytes, and of the recorder's.
  double most() const;
  double mostOfRecorder() const;
  bool recorderShown() const { return recorderShown_; }
  /// The curves of all holders that are shown, the peak, and what there was at the cursor.
  int accessiblePartCount() const override { return static_cast<int>(parts().size()); }
  AccessiblePart accessiblePart(int index) const override;
  int currentAccessiblePart() const override;

  QRectF plot() const;  ///< where the curve is: the scale is to its left

 public slots:
  void setRecorderShown(bool shown);
  void zoom(double factor, tapedeck::inspector::RecordNumber around);
  void showAll();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  enum class Part { variables, tapes, program, recorder, peak, cursor };
  std::vector<Part> parts() const;
  AccessiblePart curvePart(Part part) const;
  std::size_t pieceOf(RecordNumber record) const;
  QString pieceText(std::size_t piece) const;
  QString recorderText(const protocol::MemoryCurve& curve) const;
  void paintRecorder(QPainter& painter, const QRectF& plot) const;
  void paintAreas(QPainter& painter, const QRectF& plot) const;
  void paintAxis(QPainter& painter, const QRectF& plot) const;
  void paintMarks(QPainter& painter, const QRectF& plot) const;
  void paintLegend(QPainter& painter, const QRectF& plot) const;
  void describe();

  MemoryModel* model_;
  bool recorderShown_ = false;
};

}  // namespace tapedeck::inspector
