#include "inspector/ui/segment_button.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QPainter>
#include <QStyle>
#include <QStyleOptionToolButton>

#include "inspector/model/plain_tip.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::inspector {

namespace {

constexpr int side = 10, above = 4;  ///< pixels around the text

QLayout* gaplessRow(QWidget* widget) {
  auto* row = new QHBoxLayout(widget);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  return row;
}

}  // namespace

QSize SegmentButton::sizeHint() const {
  return {fontMetrics().horizontalAdvance(text()) + 2 * scaled(side),
          fontMetrics().height() + 2 * scaled(above)};
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
  QLayout* row = gaplessRow(widget);
  for (int i = 0; i < texts.size(); ++i) {
    auto* button = new SegmentButton(widget);
    button->setText(texts[i]);
    button->setCheckable(true);
    button->setToolTip(plainTip(tips[i]));
    button->setAccessibleName(tips[i]);
    group->addButton(button, i);
    row->addWidget(button);
  }
  group->button(0)->setChecked(true);
  return widget;
}

QWidget* segmentRow(const QList<QAction*>& actions, QWidget* parent) {
  auto* widget = new QWidget(parent);
  QLayout* row = gaplessRow(widget);
  for (QAction* action : actions) {
    auto* button = new SegmentButton(widget);
    button->setDefaultAction(action);
    row->addWidget(button);
  }
  return widget;
}

}  // namespace tapedeck::inspector
