#include "inspector/panels/compare/compare_delegate.h"

#include <QPainter>

#include "inspector/model/compare/compare_rows.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

using protocol::RowKind;

void CompareDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  option->state &= ~QStyle::State_HasFocus;  // the row is what is chosen
  // Of an op its number, of a place its line, of shapes the result matters most.
  const bool op = index.column() == CompareRows::LeftOp || index.column() == CompareRows::RightOp;
  option->textElideMode = op                                    ? Qt::ElideMiddle
                          : index.column() == CompareRows::Sign ? Qt::ElideRight
                                                                : Qt::ElideLeft;
  if (!index.data(CompareRows::HereRole).toBool()) return;
  const Theme theme = Theme::fromPalette(option->palette);
  const auto ink = [&](const QColor& color) { option->palette.setColor(QPalette::Text, color); };
  const auto kind = static_cast<RowKind>(index.data(CompareRows::KindRole).toInt());
  const bool differs = index.data(CompareRows::DiffersRole).toBool();
  if (kind == RowKind::only_left || kind == RowKind::only_right) {
    const Tint& tint = kind == RowKind::only_left ? theme.backward : theme.forward;
    if (!index.data(CompareRows::MissingRole).toBool())
      option->backgroundBrush = mix(theme.background, tint.fill, theme.dark ? 0.4 : 0.65);
    if (index.column() == CompareRows::Sign) ink(tint.stroke);
  } else if (kind != RowKind::same) {
    option->backgroundBrush = mix(theme.background, theme.warning.fill, theme.dark ? 0.4 : 0.65);
    if (index.column() == CompareRows::Sign) ink(theme.warning.stroke);
  } else if (differs) {
    if (index.column() == CompareRows::Sign) ink(theme.error.stroke);
  } else if (index.column() == CompareRows::Sign) {
    ink(theme.faintText);
  }
  if (differs && index.column() == CompareRows::Sign) option->font.setBold(true);
}

void CompareDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);
  const bool right = index.column() == CompareRows::RightOp;
  painter->save();
  const Theme theme = Theme::fromPalette(option.palette);
  if (index.data(CompareRows::MissingRole).toBool())
    painter->fillRect(option.rect, QBrush(mix(theme.background, theme.axis, 0.35), Qt::BDiagPattern));
  if (right) {
    painter->setPen(theme.border);
    painter->drawLine(option.rect.topLeft(), option.rect.bottomLeft());
  }
  painter->restore();
}

}  // namespace tapedeck::inspector
