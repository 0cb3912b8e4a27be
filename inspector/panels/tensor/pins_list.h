// The list of pinned values that opens below its button.
#pragma once

#include <QFrame>

#include "inspector/model/tensor/pins_model.h"

class QLabel;
class QPushButton;
class QTreeWidget;

namespace tapedeck::inspector {

/// A click or Enter shows a value, Delete or the cross at its right unpins it, Escape closes.
class PinsList : public QFrame {
  Q_OBJECT
 public:
  explicit PinsList(PinsModel* model, QWidget* parent = nullptr);
  /// Below the widget, inside the screen, with the pin of `tensor` selected (0: the first).
  void openBelow(const QWidget* widget, TensorId tensor);
  QTreeWidget* rows() const { return rows_; }

 signals:
  void chosen(const tapedeck::inspector::TensorChip& chip);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fill();
  void show(int row);
  void unpin(int row);

  PinsModel* model_;
  QLabel* hint_;
  QTreeWidget* rows_;
  QPushButton* all_;
};

}  // namespace tapedeck::inspector
