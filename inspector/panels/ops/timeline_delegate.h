// How a row of the timeline looks: backward rows tinted, the pending one bold with an arrow, loading ones
// faint.
#pragma once

#include <QAbstractItemView>
#include <QStyledItemDelegate>

#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

class TimelineDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void setTheme(const Theme& theme) { theme_ = theme; }
  /// A line above the first row of each scope.
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  /// The row's tooltip; before it the cell's text where that is cut.
  bool helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                 const QModelIndex& index) override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

 private:
  Theme theme_ = Theme::light();
};

}  // namespace tapedeck::inspector
