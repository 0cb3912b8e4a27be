// The canvas of the tensor panel: one of the panes, or a sentence instead.
#pragma once

#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/tensor/heat_pane.h"
#include "inspector/panels/tensor/histogram_pane.h"
#include "inspector/panels/tensor/numbers_pane.h"
#include "inspector/ui/canvas/canvas_widget.h"

namespace tapedeck::inspector {

enum class TensorMode { numbers, heatMap, histogram };

class TensorCanvas : public CanvasWidget, public AccessibleParts {
  Q_OBJECT
 public:
  explicit TensorCanvas(TensorModel* model, QWidget* parent = nullptr);

  TensorMode mode() const { return mode_; }
  NumbersPane& numbers() { return numbers_; }
  HeatPane& heatMap() { return heat_; }
  HistogramPane& histogram() { return histogram_; }
  /// The text instead of a picture: why there are no values, the one value of a scalar; empty: a pane is
  /// shown.
  QString sentence() const;
  bool showsScalar() const;
  QString scalarText() const;
  /// The line at the bottom.
  QString readout() const;
  /// Where the values come from, at its right; empty where they are held.
  QString sourceText() const;
  /// The full text of that line: what cells show of their elements, and where the values come from.
  QString noteText() const;
  /// Shown in that line where it is empty, or with `first` instead of its text.
  void setFooter(const QString& text, bool first);
  QString footer() const { return footer_; }

  /// The visible numbers, cells or bars.
  int accessiblePartCount() const override;
  AccessiblePart accessiblePart(int index) const override;
  int currentAccessiblePart() const override;

 public slots:
  void setMode(tapedeck::inspector::TensorMode mode);
  /// The selected numbers, all their digits, columns by tabs and rows by newlines. They are fetched where
  /// they are not here; at most 262,144.
  void copy();
  /// Among the numbers: selects the one at this shown row and column, and scrolls to it.
  void selectNumber(std::int64_t row, std::int64_t column);

 signals:
  void modeChanged();
  void selectionChanged();  ///< of the numbers
  void copied(const QString& sentence);

 protected:
  void paintCanvas(CanvasPainter& painter) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  TensorPane& pane();
  const TensorPane& pane() const { return const_cast<TensorCanvas*>(this)->pane(); }
  QSizeF paneArea() const;
  void layoutChanged();
  void valuesChanged();
  /// Updates the description of the whole tensor for screen readers.
  void describe();
  void takeCopy(const protocol::Tile& tile);
  void drawScalar(CanvasPainter& painter);
  void tellSelection();

  TensorModel* model_;
  TensorMode mode_ = TensorMode::numbers;
  NumbersPane numbers_;
  HeatPane heat_;
  HistogramPane histogram_;
  std::vector<std::int64_t> known_shape_, known_slice_;
  std::optional<ImageGrid> known_images_;
  QString footer_;
  bool footer_first_ = false;
  std::optional<CellRange> known_selection_;
};

}  // namespace tapedeck::inspector
