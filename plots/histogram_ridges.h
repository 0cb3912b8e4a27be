// How values were spread over the steps: a ridge for each step, the newest in front.
#pragma once

#include <QWidget>
#include <optional>

#include "inspector/ui/accessible_parts.h"
#include "plots/histogram_drawing.h"

namespace tapedeck::plots {

class HistogramRidges : public QWidget, public inspector::AccessibleParts {
  Q_OBJECT
 public:
  explicit HistogramRidges(QWidget* parent = nullptr);

  void setHistograms(const inspector::Pictures<inspector::StepHistogram>& histograms, const QString& name);
  void setForm(HistogramForm form);
  /// The ridge that was made at or before that record is marked.
  void setCursorRecord(inspector::RecordNumber record);

  HistogramPlace place() const { return place_; }  ///< where the mouse or the keys are
  QString readOut() const { return drawing_.readOut(place_); }
  const HistogramDrawing& drawing() const { return drawing_; }
  const QString& name() const { return name_; }

  /// The steps that are drawn, the oldest first.
  int accessiblePartCount() const override { return static_cast<int>(drawing_.shown().size()); }
  inspector::AccessiblePart accessiblePart(int index) const override;
  int currentAccessiblePart() const override;

 signals:
  void stepChosen(quint64 record);

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void choose(HistogramPlace place);
  void changed();
  HistogramPlace cursorPlace() const;

  HistogramDrawing drawing_;
  QPixmap picture_;  ///< of drawing_, without header and marks; null: it is to be drawn
  QString name_;
  HistogramPlace place_;
  std::shared_ptr<const inspector::StepHistogram> placed_;  ///< the step that place_ is in
  std::optional<QPointF> mouse_;
  inspector::RecordNumber cursor_ = 0;
};

}  // namespace tapedeck::plots
