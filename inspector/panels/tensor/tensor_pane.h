// One way to look at a tensor's values, drawn on the tensor canvas.
#pragma once

#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <functional>

#include "inspector/model/tensor/tensor_model.h"
#include "inspector/ui/accessible_parts.h"
#include "inspector/ui/canvas/canvas_painter.h"

namespace tapedeck::inspector {

class TensorPane {
 public:
  /// `changed`: something must be painted again.
  TensorPane(TensorModel* model, std::function<void()> changed)
      : model_(model), changed_(std::move(changed)) {}
  virtual ~TensorPane() = default;

  /// Draws into the canvas from its top left corner; `area` is what the pane has.
  virtual void paint(CanvasPainter& painter, QSizeF area) = 0;
  /// Reports the visible part to the model; called when the area, the layout or the place changed.
  virtual void askForValues(QSizeF area) = 0;
  /// Another tensor or layout: back to the start.
  virtual void layoutChanged() {}
  /// The element under the pointer, as a line of text.
  virtual QString readout() const { return {}; }
  /// Further notes on the picture, at the line's right end.
  virtual QString note() const { return {}; }
  /// The visible part, for screen readers; `rect` in the canvas.
  virtual int partCount() const { return 0; }
  virtual AccessiblePart part(int) const { return {}; }
  virtual int currentPart() const { return -1; }

  virtual bool mousePress(QMouseEvent*) { return false; }
  virtual bool mouseMove(QMouseEvent*) { return false; }
  virtual bool mouseRelease(QMouseEvent*) { return false; }
  virtual bool wheel(QWheelEvent*) { return false; }
  virtual bool key(QKeyEvent*) { return false; }
  virtual void leave() {}

 protected:
  TensorModel* model_;
  std::function<void()> changed_;
};

/// "[2, 5, 17]": where a shown row and column lie in the tensor, as reshaped. `to` marks ranges of a step
/// above 1.
QString indexText(const TensorModel& model, std::int64_t row, std::int64_t column, std::int64_t row_step = 1,
                  std::int64_t column_step = 1);

}  // namespace tapedeck::inspector
