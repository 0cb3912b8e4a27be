// The controls of the heat map: its scale of colours, their range, what a cell of many elements shows, and
// which axes are images.
#pragma once

#include <QWidget>

#include "inspector/panels/tensor/tensor_canvas.h"

class QAction;
class QActionGroup;
class QComboBox;
class QLineEdit;
class QToolButton;

namespace tapedeck::inspector {

class HeatOptions : public QWidget {
  Q_OBJECT
 public:
  /// Actions belong to `view`.
  HeatOptions(TensorModel* model, TensorCanvas* canvas, QWidget* view, QWidget* parent);

  QLineEdit* rangeBox() const { return range_; }
  QComboBox* scaleBox() const { return scale_; }
  QToolButton* moreButton() const { return more_; }

 signals:
  /// "“5” is not a range of colours: …"; empty: the text is good.
  void rangeErrorChanged(const QString& sentence);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void makeScale();
  void makeRange();
  void makeMore();
  void showChoice();
  void setWidths();
  QAction* choice(QActionGroup* group, const QString& text, const QString& tip, int value);

  TensorModel* model_;
  TensorCanvas* canvas_;
  QWidget* view_;
  QComboBox* scale_ = nullptr;
  QLineEdit* range_ = nullptr;
  QToolButton* more_ = nullptr;
  QActionGroup* cells_ = nullptr;
  QActionGroup* pictures_ = nullptr;
};

}  // namespace tapedeck::inspector
