// A table of Python values that unfold: what Variables and Watch share.
#pragma once

#include <QTreeView>

#include "inspector/model/variables/value_tree.h"

class QAction;

namespace tapedeck::inspector {

/// A click shows a tensor in the panels, a double click edits a small value, as do Enter and F2.
class ValueView : public QTreeView {
  Q_OBJECT
 public:
  /// `model`: the tree, or a proxy on it.
  ValueView(ValueTree* tree, QAbstractItemModel* model, QWidget* parent = nullptr);

  /// What its context menu offers.
  void setMenu(const QList<QAction*>& actions) { menu_ = actions; }
  /// As Python writes the current row's value; empty for none.
  QString currentExpression() const;

  // On the current row.
  void showCurrent();
  void editCurrent();
  void copyValue();
  void copyExpression();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void open(const QModelIndex& index);
  QModelIndex inTree(const QModelIndex& index) const;

  ValueTree* tree_;
  int letter_ = fontMetrics().horizontalAdvance(QLatin1Char('0'));  ///< that the columns are measured in
  QList<QAction*> menu_;
};

}  // namespace tapedeck::inspector
