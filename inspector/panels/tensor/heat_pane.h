// The values as colours, over any size of tensor; and matrices as sheets of images.
#pragma once

#include <map>
#include <optional>

#include "inspector/model/tensor/number_format.h"
#include "inspector/model/tensor/value_range.h"
#include "inspector/panels/heat_picture.h"
#include "inspector/panels/tensor/tensor_pane.h"

namespace tapedeck::inspector {

class HeatPane : public TensorPane {
 public:
  using TensorPane::TensorPane;

  void paint(CanvasPainter& painter, QSizeF area) override;
  void askForValues(QSizeF area) override;
  void layoutChanged() override;
  QString readout() const override;
  /// Where there are too many cells to walk through, there is one part, which says so.
  int partCount() const override;
  AccessiblePart part(int index) const override;
  int currentPart() const override;
  bool mousePress(QMouseEvent* event) override;
  bool mouseMove(QMouseEvent* event) override;
  bool mouseRelease(QMouseEvent* event) override;
  bool wheel(QWheelEvent* event) override;
  bool key(QKeyEvent* event) override;
  void leave() override;

  QString note() const override;

  /// Kept for this tensor, or for what makes it: TensorModel::identity().
  void setScale(ColorScale scale);
  ColorScale scale() const { return choice().scale; }
  /// What the user typed as the range of colours; empty: from minimum to maximum.
  void setRangeText(const QString& text);
  QString rangeText() const { return choice().range; }
  QString rangeError() const { return parseRange(choice().range).error; }
  const ColorMap& colorMap() const { return map_; }
  /// Scrolls and zooms to it, and moves the cursor there: of the shown rows and
  /// columns, or of an image.
  void showElement(std::int64_t row, std::int64_t column);
  void showPixel(const ImagePlace& place);
  void fit();
  /// Where an element (of the shown rows and columns; in image mode: a pixel of the sheet) is in the canvas.
  QRectF cellRect(std::int64_t row, std::int64_t column) const;
  const ImageSheet& sheet() const { return sheet_; }
  /// A cell: shown row and column, in image mode of the sheet; of cells drawn as one the first.
  struct Cell {
    std::int64_t row = 0, column = 0;
    bool operator==(const Cell&) const = default;
  };
  /// The one that the arrow keys chose.
  const std::optional<Cell>& cursor() const { return cursor_; }

 private:
  static constexpr double bar_space = 108;  ///< at the right, for the colour bar and its labels
  QSizeF worldSize() const;
  QRectF plot() const;
  QPointF toWorld(QPointF at) const;
  QRectF toWidget(const QRectF& world) const;
  void updatePicture(const Theme& theme);
  void chooseFormats(const std::vector<double>& values);
  void drawMarks(CanvasPainter& painter);
  void drawColorBar(CanvasPainter& painter);
  double middleOfMap() const;
  void drawFigures(CanvasPainter& painter, const QRectF& cell, double value);
  void drawCursor(CanvasPainter& painter);
  void zoom(double factor, QPointF at);
  void pan(QPointF by);
  void keepInside();
  /// How many rows and columns are drawn as one cell.
  Cell steps() const;
  void moveCursor(std::int64_t rows, std::int64_t columns);
  void bringIntoSight(const Cell& cell);
  QRectF cursorRect() const;
  QString textAt(QPointF world) const;
  const double* valueAt(std::int64_t row, std::int64_t column) const;
  /// The visible cells of the tile: the position of the first, and how many there are.
  struct InSight {
    std::int64_t row = 0, column = 0, rows = 0, columns = 0;
  };
  InSight inSight() const;

  struct ColorChoice {
    ColorScale scale = ColorScale::automatic;
    QString range;
  };
  ColorChoice choice() const;
  void keepChoice(const ColorChoice& choice);
  /// How a cell's value came from several elements.
  QString cellWord() const;
  QString valueText(double value) const { return readout_format_.text(value); }
  void drawSmallMarks(CanvasPainter& painter);
  void drawExtremes(CanvasPainter& painter);
  void drawImageNames(CanvasPainter& painter);
  void showCell(const Cell& cell);

  std::map<QString, ColorChoice> choices_;
  bool below_ = false, above_ = false;            ///< there are values outside of a typed range
  NumberFormat readout_format_, figures_format_;  ///< of all values that are here
  int widest_figure_ = 0;                         ///< characters
  ColorMap map_;
  HeatPicture picture_;
  ImageSheet sheet_;
  QSizeF area_;
  bool fitted_ = true;
  double scale_x_ = 1, scale_y_ = 1;  ///< pixels for an element
  QPointF offset_;                    ///< of element (0, 0)
  bool dragging_ = false;
  QPointF last_;
  bool hovering_ = false;  ///< the pointer was used last, not a key
  std::optional<Cell> cursor_;
  /// What picture_ was made of, to make it again only when that changed.
  struct Made {
    const void* tile = nullptr;
    quint64 version = 0;
    double low = 0, high = 0;
    bool diverging = false, dark = false;
    double floor = 0;
    std::int64_t across = 0, above = 0;
    bool operator==(const Made&) const = default;
  } made_;
  quint64 version_ = 0;

 public:
  /// The model's values changed.
  void valuesChanged() { ++version_; }
};

}  // namespace tapedeck::inspector
