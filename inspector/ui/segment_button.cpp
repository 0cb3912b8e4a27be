#include "inspector/ui/segment_button.h"

#include <QButtonGroup>
#include <QHBoxLayout>
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

QWidget* segmentRow(QButtonGroup* group, const QStringList& texts, const QStringList& tips, QWidget* parent) {
  auto* widget = new QWidget(parent);
  auto* row = new QHBoxLayout(widget);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  for (int i = 0; i < texts.size(); ++i) {
    auto* button = new SegmentButton(widget);
    button->setText(texts[i]);
    button->setCheckable(true);
    button->setToolTip(tips[i]);
    button->setAccessibleName(tips[i]);
    group->addButton(button, i);
    row->addWidget(button);
  }
  group->button(0)->setChecked(true);
  return widget;
}

}  // namespace tapedeck::inspector
