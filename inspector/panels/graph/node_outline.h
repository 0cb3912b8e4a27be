// A graph's nodes as an outline with columns.
#pragma once

#include <QStyledItemDelegate>
#include <QTreeView>

#include "inspector/model/functions/graph_tree.h"

namespace tapedeck::inspector {

/// What a pass took out is struck through, and said in words in the last column.
class NodeDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

/// A click on the name of an input goes to its node; elsewhere it asks for the row's line.
class NodeOutline : public QTreeView {
  Q_OBJECT
 public:
  explicit NodeOutline(GraphTree* tree, QWidget* parent = nullptr);
  /// Which input's name is at this point of the viewport; -1: none.
  int inputAt(const QPoint& point) const;
  /// In the middle of that name.
  QPoint pointOf(const QModelIndex& index, int input) const;

 public slots:
  void goTo(const QModelIndex& index);
  void goToInput();   ///< the next of the node's inputs, each time it is called from the same one
  void goToReader();  ///< the first node that reads it

 signals:
  /// `enter`: the keyboard goes there, too.
  void lineWanted(const QModelIndex& index, bool enter);

 protected:
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  int deepestShown() const;
  void fit();
  QRect textRect(const QModelIndex& index) const;

  GraphTree* tree_;
  QPersistentModelIndex came_, from_;  ///< the input that I went to last, and from where
  int input_ = 0;
  int deepest_ = 2;  ///< that the column Node has room for
};

}  // namespace tapedeck::inspector
