// How the values are spread.
#pragma once

#include "inspector/model/tensor/notation.h"
#include "inspector/panels/tensor/tensor_pane.h"

namespace tapedeck::inspector {

class HistogramPane : public TensorPane {
 public:
  using TensorPane::TensorPane;

  void paint(CanvasPainter& painter, QSizeF area) override;
  void askForValues(QSizeF) override {}
  QString readout() const override;
  int partCount() const override;
  AccessiblePart part(int index) const override;
  int currentPart() const override { return hovered_; }
  bool mouseMove(QMouseEvent* event) override;
  bool key(QKeyEvent* event) override;
  void leave() override;

  bool logarithmic() const { return logarithmic_; }
  void setLogarithmic(bool on);
  QRectF barRect(int bin) const;  ///< as last drawn; null: no such bar

 private:
  QRectF plot() const;
  double heightOf(std::uint64_t count) const;
  int binAt(QPointF at) const;
  QString countIn(int bin) const;
  QString rangeOf(int bin) const;
  double edge(int bin) const;
  Notation notation() const;
  void drawAxes(CanvasPainter& painter);

  QSizeF area_;
  bool logarithmic_ = false;
  int hovered_ = -1;
};

}  // namespace tapedeck::inspector
