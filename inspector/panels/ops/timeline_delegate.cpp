#include "inspector/panels/ops/timeline_delegate.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "inspector/model/ops/records_model.h"
#include "inspector/model/plain_tip.h"

namespace tapedeck::inspector {

void TimelineDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const auto is = [&](int role) { return index.data(role).toBool(); };
  const auto ink = [&](const QColor& color) { option->palette.setColor(QPalette::Text, color); };
  // Of shapes the result matters most, of a place its line.
  if (index.column() == RecordsModel::Shapes || index.column() == RecordsModel::Place)
    option->textElideMode = Qt::ElideLeft;
  // The focus frame around one cell says nothing in a table of rows.
  option->state &= ~QStyle::State_HasFocus;
  if (index.column() == RecordsModel::Number && is(RecordsModel::BookmarkRole))
    option->text.prepend(QStringLiteral("⚑ "));
  if (!is(RecordsModel::HereRole)) {
    ink(theme_.faintText);
    return;
  }
  if (is(RecordsModel::BackwardRole)) {
    option->backgroundBrush = mix(theme_.background, theme_.backward.fill, theme_.dark ? 0.4 : 0.65);
    if (index.column() == RecordsModel::Op) ink(theme_.backward.stroke);
  } else if (index.column() == RecordsModel::Op) {
    ink(theme_.forward.stroke);
  }
  // The same scope again says nothing new.
  if (index.column() == RecordsModel::Scope && !is(RecordsModel::ScopeBeginsRole)) ink(theme_.faintText);
  if (index.column() == RecordsModel::Shapes && is(RecordsModel::LostRole)) ink(theme_.faintText);
  if (is(RecordsModel::FailedRole)) ink(theme_.error.stroke);
  if (is(RecordsModel::PendingRole)) {
    option->font.setBold(true);
    if (index.column() == RecordsModel::Number) option->text.prepend(QStringLiteral("▶ "));
    if (index.column() == RecordsModel::Duration) option->text = QStringLiteral("▶ next");
  }
}

void TimelineDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                             const QModelIndex& index) const {
  // The table paints headings, across all columns.
  if (!index.data(RecordsModel::HeadingRole).isNull()) return;
  QStyledItemDelegate::paint(painter, option, index);
  if (index.row() == 0 || !index.data(RecordsModel::ScopeBeginsRole).toBool()) return;
  painter->save();
  painter->setPen(theme_.faintText);
  painter->drawLine(option.rect.topLeft(), option.rect.topRight());
  painter->restore();
}

bool TimelineDelegate::helpEvent(QHelpEvent* event, QAbstractItemView* view,
                                 const QStyleOptionViewItem& option, const QModelIndex& index) {
  if (event->type() != QEvent::ToolTip) return QStyledItemDelegate::helpEvent(event, view, option, index);
  QStringList lines;
  QStyleOptionViewItem shown = option;
  initStyleOption(&shown, index);
  if (sizeHint(option, index).width() > option.rect.width()) lines << shown.text.trimmed();
  if (const QString row = index.data(Qt::ToolTipRole).toString(); !row.isEmpty()) lines << row;
  QToolTip::showText(event->globalPos(), plainTip(lines.join(QLatin1Char('\n'))), view->viewport(),
                     option.rect);
  return true;
}

}  // namespace tapedeck::inspector
