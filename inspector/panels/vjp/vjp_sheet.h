// The VJP's panel but for its header: everything that VjpLayout places, drawn, clicked and walked by keys.
#pragma once

#include <QWidget>

#include "inspector/panels/vjp/vjp_layout.h"

namespace tapedeck::inspector {

/// Up and Down choose a row, Left and Right an element of a contribution, which is then explained; Return
/// shows the row's tensor in the panel Tensor, or goes to the row's record; Escape ends the explanation. A
/// click or Shift with Up and Down chooses a formula, to be copied as TeX.
class VjpSheet : public QWidget {
  Q_OBJECT
 public:
  VjpSheet(VjpModel* model, const CellNames* cells, QWidget* parent = nullptr);
  ~VjpSheet() override;

  const VjpLayout& contents() const { return layout_; }
  int currentRow() const { return current_; }  ///< -1: none
  void setCurrentRow(int row);
  /// What Return does.
  void openCurrent();
  int chosenFormula() const { return chosen_; }  ///< -1: none
  void chooseFormula(int index);
  /// The chosen formula, else the VJP's own one, as TeX.
  void copyFormula() const;

  QSize sizeHint() const override;

 signals:
  void rowShown(const QRectF& rect);  ///< it should be visible: a row, or a formula
  void laidOut();                     ///< contents() may be others, or elsewhere

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void layOut();
  void setUnset();
  void paintGrid(QPainter& painter, const SheetRow& row) const;
  void paintNumbers(QPainter& painter, const SheetGrid& grid, const protocol::Tile& tile) const;
  int rowAt(QPointF point) const;
  int formulaAt(QPointF point) const;
  void moveElement(int key);

  VjpModel* model_;
  const CellNames* cells_;
  VjpLayout layout_;
  SetFormulas set_;
  quint64 job_ = 0;
  int current_ = -1;
  int chosen_ = -1;
};

}  // namespace tapedeck::inspector
