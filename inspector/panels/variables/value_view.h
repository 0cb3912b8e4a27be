// A table of Python values that unfold: what Variables and Watch share.
#pragma once

#include <QTreeView>

#include "inspector/model/value_tree.h"

class QAction;

namespace tapedeck::inspector {

/// A click shows a tensor in the panels, a double click edits a small value, as do Enter and F2.
class ValueView : public QTreeView {
  Q_OBJECT
 public:
  /// `model`: the tree, or a proxy on it.
  ValueView(ValueTree* tree, QAbstractItemModel* model, QWidget* parent = nullptr);

  /// Each with its key and a tooltip; they are the context menu, too.
  QList<QAction*> valueActions() const { return valueActions_; }
  /// Another one for both.
  void addValueAction(QAction* action);
  /// As Python writes the current row's value; empty for none.
  QString currentExpression() const;

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void showCurrent();
  void editCurrent();
  void copy(bool expression);
  void open(const QModelIndex& index);
  void addAction(const QString& text, const QKeySequence& key, const QString& tip, void (ValueView::*act)());
  void copyValue() { copy(false); }
  void copyExpression() { copy(true); }
  QModelIndex inTree(const QModelIndex& index) const;

  ValueTree* tree_;
  QList<QAction*> valueActions_;
};

}  // namespace tapedeck::inspector
