#include "inspector/ui/segment_button.h"

#include <QPainter>
#include <QStyle>
#include <QStyleOptionToolButton>

namespace tapedeck::inspector {

namespace {

constexpr int side = 10, above = 4;  ///< pixels around the text

}  // namespace

QSize SegmentButton::sizeHint() const {
  return {fontMetrics().horizontalAdvance(text()) + 2 * side, fontMetrics().height() + 2 * above};
}

void SegmentButton::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  QStyleOptionToolButton option;
  initStyleOption(&option);
  const bool hovered = option.state.testFlag(QStyle::State_MouseOver) && isEnabled();
  const QPalette::ColorRole ground = isChecked() ? QPalette::Highlight : QPalette::Button;
  const QPalette::ColorRole ink = isChecked() ? QPalette::HighlightedText : QPalette::ButtonText;
  painter.setPen(palette().color(hovered ? QPalette::Highlight : QPalette::Mid));
  painter.setBrush(palette().color(isDown() && !isChecked() ? QPalette::Mid : ground));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
  style()->drawItemText(&painter, rect(), Qt::AlignCenter | Qt::TextShowMnemonic, palette(), isEnabled(),
                        text(), ink);
  if (!hasFocus()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(palette().color(ink), 1, Qt::DotLine));
  painter.drawRect(rect().adjusted(3, 3, -4, -4));
}

}  // namespace tapedeck::inspector
