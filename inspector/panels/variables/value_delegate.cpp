#include "inspector/panels/variables/value_delegate.h"

#include <QApplication>
#include <QPainter>
#include <algorithm>

#include "inspector/model/variables/value_text.h"
#include "inspector/model/variables/value_tree.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

/// The value is cut off before its mark: which moment it is of is never out of sight.
QString withMarkInSight(const QString& text, const QString& mark, const QFontMetrics& letters, int width) {
  if (mark.isEmpty() || !text.endsWith(mark) || letters.horizontalAdvance(text) <= width) return text;
  const QString value = text.chopped(mark.size());
  // Of a mark that names several moments, both ends.
  const int few = std::min(width / 3, letters.horizontalAdvance(value));
  const QString shown = letters.elidedText(mark, Qt::ElideMiddle, width - few);
  return letters.elidedText(value, Qt::ElideRight, width - letters.horizontalAdvance(shown)) + shown;
}

}  // namespace

// Changed values are bold, errors and values without a repr in their colour and italics.
void ValueDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const Theme theme = Theme::fromPalette(option->palette);
  const int kind = index.data(ValueTree::RowKindRole).toInt();
  option->font.setBold(kind == ValueTree::Group ||
                       (index.column() == ValueTree::Value && index.data(ValueTree::ChangedRole).toBool()));
  if (kind == ValueTree::More || (kind == ValueTree::Code && index.column() == ValueTree::Name))
    option->font.setItalic(true);
  if (index.column() != ValueTree::Value) return;
  if (index.data(ValueTree::ErrorRole).toBool()) {
    option->font.setItalic(true);
    option->palette.setColor(QPalette::Text, theme.error.stroke);
  }
  const QStyle* style = option->widget ? option->widget->style() : QApplication::style();
  const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, option, option->widget) + 1;
  if (const int room = option->rect.width() - 2 * margin - 1; room > 0)
    option->text = withMarkInSight(option->text, asOfMark(index.data(ValueTree::AsOfRole).toString()),
                                   QFontMetrics(option->font), room);
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
