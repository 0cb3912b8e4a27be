// The operands of a row side by side: small values as text, large ones as pictures.
#pragma once

#include <QWidget>

#include "inspector/model/compare/compare_model.h"

class QAction;
class QLabel;
class QTreeWidget;

namespace tapedeck::inspector {

/// Three heat maps in one scale of colours: left, right, and their difference in a scale of its own.
class OperandPicturesView : public QWidget {
  Q_OBJECT
 public:
  explicit OperandPicturesView(CompareModel* model, QWidget* parent = nullptr);
  bool hasPictures() const;
  /// "-2.55 … 2.38": what the tensor itself has, whatever scale of colours it shares.
  static QString rangeText(const std::optional<protocol::Tile>& tile);

 signals:
  void sideChosen(bool right);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  QRectF place(int which) const;
  CompareModel* model_;
};

class OperandsView : public QWidget {
  Q_OBJECT
 public:
  explicit OperandsView(CompareModel* model, QWidget* parent = nullptr);
  QTreeWidget* table() const { return table_; }
  OperandPicturesView* pictures() const { return pictures_; }
  QAction* showAction() const { return show_; }
  QAction* showRightAction() const { return showRight_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void showOperands();

  CompareModel* model_;
  QTreeWidget* table_;
  QLabel* attributes_;
  OperandPicturesView* pictures_;
  QAction *show_ = nullptr, *showRight_ = nullptr;
};

}  // namespace tapedeck::inspector
