// How the rows of a comparison look.
#pragma once

#include <QStyledItemDelegate>

namespace tapedeck::inspector {

/// Ops on one side only leave the other side's cells hatched; the sign in the first column shows it, too.
class CompareDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

}  // namespace tapedeck::inspector
