// The values as numbers in a grid that scrolls over any size of tensor.
#pragma once

#include <optional>

#include "inspector/model/tensor/number_format.h"
#include "inspector/panels/tensor/tensor_pane.h"

namespace tapedeck::inspector {

/// A cell as the last frame drew it. Plain data, for tests and screen readers.
struct NumberCell {
  std::int64_t row = 0, column = 0;
  QString text;  ///< empty: its value is being fetched
  QRectF rect;
  bool selected = false;
  bool unusual = false;  ///< NaN or infinite
};

/// Rows and columns [top, bottom], [left, right].
struct CellRange {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  std::int64_t rows() const { return bottom - top + 1; }
  std::int64_t columns() const { return right - left + 1; }
  bool operator==(const CellRange&) const = default;
  bool contains(std::int64_t row, std::int64_t column) const {
    return row >= top && row <= bottom && column >= left && column <= right;
  }
};

class NumbersPane : public TensorPane {
 public:
  using TensorPane::TensorPane;

  void paint(CanvasPainter& painter, QSizeF area) override;
  void askForValues(QSizeF area) override;
  void layoutChanged() override;
  QString readout() const override;
  int partCount() const override { return static_cast<int>(cells_.size()); }
  AccessiblePart part(int index) const override;
  int currentPart() const override;
  bool mousePress(QMouseEvent* event) override;
  bool mouseMove(QMouseEvent* event) override;
  bool mouseRelease(QMouseEvent* event) override;
  bool wheel(QWheelEvent* event) override;
  bool key(QKeyEvent* event) override;
  void leave() override;
  /// The model's values changed.
  void valuesChanged() { formatted_ = false; }

  const std::vector<NumberCell>& visibleCells() const { return cells_; }
  std::optional<CellRange> selection() const;
  void selectAll();
  /// Selects one cell and scrolls to it.
  void selectCell(std::int64_t row, std::int64_t column);
  /// Scrolls by cells.
  void scrollTo(double row, double column);
  double topRow() const { return top_; }
  double leftColumn() const { return left_; }

 private:
  struct Metrics {
    double character = 7.3;
    double cell_width = 80, cell_height = 20;
    double header_width = 40, header_height = 22;
  };
  void measure(const CanvasPainter& painter);
  void chooseFormat(const protocol::Tile& tile);
  void drawCells(CanvasPainter& painter);
  void drawCell(CanvasPainter& painter, std::int64_t row, std::int64_t column, const QRectF& rect);
  void drawHeaders(CanvasPainter& painter);
  void drawScrollBars(CanvasPainter& painter);
  /// What scroll bars, where they are needed, and headers leave.
  QRectF cellsArea() const;
  QRectF thumb(bool vertical) const;
  /// Where there is a scroll bar: a page forward, or back.
  bool pageTowards(QPointF at);
  double visibleRows() const;
  double visibleColumns() const;
  const double* value(std::int64_t row, std::int64_t column) const;
  QString textOf(std::int64_t row, std::int64_t column) const;
  bool cellAt(QPointF at, std::int64_t& row, std::int64_t& column) const;
  void select(std::int64_t row, std::int64_t column, bool extend);
  void reveal(std::int64_t row, std::int64_t column);

  Metrics metrics_;
  NumberFormat format_;
  bool formatted_ = false;      ///< format_ and widest_ are those of the tile
  TensorId format_tensor_ = 0;  ///< whose values format_ was chosen for
  int widest_ = 0;              ///< characters, of all that was shown of this tensor
  QSizeF area_;
  double top_ = 0, left_ = 0;  ///< the first visible row and column
  std::vector<NumberCell> cells_;
  bool has_selection_ = false;
  bool keys_moved_ = false;  ///< the selected cell must stay visible, also when wider numbers arrive
  std::int64_t anchor_row_ = 0, anchor_column_ = 0, row_ = 0, column_ = 0;
  std::int64_t hovered_row_ = -1, hovered_column_ = -1;
  enum class Drag { none, cells, vertical, horizontal } drag_ = Drag::none;
  double drag_offset_ = 0;
};

}  // namespace tapedeck::inspector
