// The whole comparison in one line: where along it things differ.
#pragma once

#include <QWidget>

#include "inspector/model/compare/compare_model.h"

namespace tapedeck::inspector {

/// Changed rows are hatched in the middle, ops of the left side alone are blocks below it, those of the
/// right side above: shape tells them apart as well as colour. A click goes to a row; a triangle marks the
/// current row, a line the first difference.
class CompareStrip : public QWidget {
  Q_OBJECT
 public:
  explicit CompareStrip(CompareModel* model, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {200, 28}; }

 signals:
  void rowChosen(int row);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void choose(const QPointF& place);
  int rowAt(double x) const;
  double placeOf(int row) const;
  void describe();

  CompareModel* model_;
};

}  // namespace tapedeck::inspector
