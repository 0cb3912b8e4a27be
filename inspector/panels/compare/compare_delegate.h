// How the rows of a comparison look.
#pragma once

#include <QStyledItemDelegate>

namespace tapedeck::inspector {

/// What stands on one side only leaves the other side's cells hatched; the sign in the first column says it,
/// too.
class CompareDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

}  // namespace tapedeck::inspector
