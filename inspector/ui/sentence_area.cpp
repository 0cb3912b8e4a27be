#include "inspector/ui/sentence_area.h"

#include <QEvent>
#include <QLabel>
#include <algorithm>

#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

SentenceArea::SentenceArea(const QString& label_name, int most_lines, QWidget* parent)
    : QScrollArea(parent), label_(plainLabel()), most_lines_(most_lines) {
  label_->setObjectName(label_name);
  label_->setWordWrap(true);
  label_->setTextFormat(Qt::PlainText);
  label_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  label_->setContentsMargins(8, 2, 8, 2);
  setWidget(label_);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::NoFocus);
}

void SentenceArea::setText(const QString& text, bool problem) {
  label_->setText(text);
  problem_ = problem;
  paintLabel();
  fit();
}

void SentenceArea::paintLabel() {
  QPalette colours;  // those of the window
  if (problem_) colours.setColor(QPalette::WindowText, Theme::fromPalette(palette()).error.stroke);
  label_->setPalette(colours);
}

void SentenceArea::fit() {
  const QMargins margins = label_->contentsMargins();
  const int most = most_lines_ * label_->fontMetrics().lineSpacing() + margins.top() + margins.bottom() + 2;
  setFixedHeight(std::clamp(label_->heightForWidth(std::max(100, width())), 0, most));
}

void SentenceArea::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  fit();
}

void SentenceArea::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (!label_) return;
  if (event->type() == QEvent::PaletteChange) paintLabel();
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) fit();
}

}  // namespace tapedeck::inspector
