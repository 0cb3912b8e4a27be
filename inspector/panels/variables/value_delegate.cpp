#include "inspector/panels/variables/value_delegate.h"

#include <QPainter>
#include <algorithm>

#include "inspector/model/variables/value_tree.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

// Changed values are bold, errors and values without a repr in their colour and italics.
void ValueDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const Theme theme = Theme::fromPalette(option->palette);
  const int kind = index.data(ValueTree::RowKindRole).toInt();
  option->font.setBold(kind == ValueTree::Group ||
                       (index.column() == ValueTree::Value && index.data(ValueTree::ChangedRole).toBool()));
  if (kind == ValueTree::More || (kind == ValueTree::Code && index.column() == ValueTree::Name))
    option->font.setItalic(true);
  if (index.column() != ValueTree::Value || !index.data(ValueTree::ErrorRole).toBool()) return;
  option->font.setItalic(true);
  option->palette.setColor(QPalette::Text, theme.error.stroke);
}

void ValueDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);
  if (index.column() != ValueTree::Histogram) return;
  const auto bars = index.data(ValueTree::HistogramRole).value<QList<quint64>>();
  const quint64 most = bars.isEmpty() ? 0 : *std::max_element(bars.begin(), bars.end());
  if (most == 0) return;
  const Theme theme = Theme::fromPalette(option.palette);
  const QRectF room = QRectF(option.rect).adjusted(4, 3, -4, -3);
  const double width = room.width() / static_cast<double>(bars.size());
  painter->save();
  const bool selected = option.state & QStyle::State_Selected;
  const QColor color = selected ? option.palette.color(QPalette::HighlightedText) : theme.forward.stroke;
  for (qsizetype i = 0; i < bars.size(); ++i) {
    if (bars[i] == 0) continue;
    const double height =
        std::max(1.0, room.height() * static_cast<double>(bars[i]) / static_cast<double>(most));
    painter->fillRect(QRectF(room.left() + static_cast<double>(i) * width, room.bottom() - height,
                             std::max(1.0, width - 0.5), height),
                      color);
  }
  painter->restore();
}

}  // namespace tapedeck::inspector
