// The VJP's panel but for its header: everything that VjpLayout places, drawn, clicked and walked by keys.
#pragma once

#include <QWidget>

#include "inspector/panels/vjp/vjp_layout.h"

namespace tapedeck::inspector {

/// Up and Down choose a row, Left and Right an element of a contribution, which is then explained; Return
/// shows the row's tensor in the panel Tensor, or goes to the row's record; Escape ends the explanation.
class VjpSheet : public QWidget {
  Q_OBJECT
 public:
  VjpSheet(VjpModel* model, const CellNames* cells, QWidget* parent = nullptr);

  const VjpLayout& contents() const { return layout_; }
  int currentRow() const { return current_; }  ///< -1: none
  void setCurrentRow(int row);
  /// What Return does.
  void openCurrent();

  QSize sizeHint() const override;

 signals:
  void rowShown(const QRectF& rect);  ///< it should be in sight

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void layOut();
  void paintGrid(QPainter& painter, const SheetRow& row) const;
  void paintNumbers(QPainter& painter, const SheetGrid& grid, const protocol::Tile& tile) const;
  int rowAt(QPointF point) const;
  void moveElement(int key);

  VjpModel* model_;
  const CellNames* cells_;
  VjpLayout layout_;
  int current_ = -1;
};

}  // namespace tapedeck::inspector
