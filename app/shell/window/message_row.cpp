#include "app/shell/window/message_row.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>

#include "inspector/model/plain_tip.h"
#include "inspector/ui/icons.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::app {
namespace {

constexpr int stripe = 4;
constexpr int symbol_size = 18;

const char* nameOf(MessageBar::Kind kind) {
  switch (kind) {
    case MessageBar::Kind::error:
      return "error";
    case MessageBar::Kind::warning:
      return "warning";
    case MessageBar::Kind::information:
      break;
  }
  return "information";
}

}  // namespace

MessageRow::MessageRow(MessageBar::Kind kind, const QString& sentence,
                       const QList<MessageBar::Choice>& choices, const QString& topic)
    : kind_(kind),
      sentence_(sentence),
      topic_(topic),
      offers_(!choices.isEmpty()),
      symbol_(inspector::plainLabel()),
      label_(inspector::plainLabel()) {
  setObjectName("message");
  symbol_->setObjectName("messageSymbol");
  setSentence(sentence);
  grid_ = new QGridLayout(this);
  grid_->setContentsMargins(10 + stripe, 6, 6, 6);
  grid_->setColumnStretch(1, 1);
  symbol_->setAlignment(Qt::AlignTop);
  label_->setObjectName("messageText");
  label_->setWordWrap(true);
  label_->setTextFormat(Qt::PlainText);
  label_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  grid_->addWidget(symbol_, 0, 0, Qt::AlignTop);
  grid_->addWidget(label_, 0, 1);
  if (!choices.isEmpty()) {
    buttons_ = new QWidget;
    auto* row = new QHBoxLayout(buttons_);
    row->setContentsMargins(0, 0, 0, 0);
    grid_->addWidget(buttons_, 0, 2, Qt::AlignTop);
  }
  for (const MessageBar::Choice& choice : choices) {
    auto* button = new QPushButton(choice.text);
    button->setToolTip(inspector::plainTip(QString("%1 (F8, then Enter)").arg(choice.text)));
    button->setAutoDefault(true);
    if (!first_) first_ = button;
    connect(button, &QPushButton::clicked, this, [this, act = choice.act] {
      emit closed();
      act();
    });
    buttons_->layout()->addWidget(button);
  }
  auto* close = new QToolButton;
  close->setObjectName("closeMessage");
  close->setIcon(inspector::icon("close"));
  close->setAutoRaise(true);
  close->setFocusPolicy(Qt::StrongFocus);
  close->setToolTip("Close this message (Ctrl+Shift+W)");
  close->setAccessibleName("Close this message");
  if (!first_) first_ = close;
  connect(close, &QToolButton::clicked, this, &MessageRow::closed);
  grid_->addWidget(close, 0, 3, Qt::AlignTop);
  paintSymbol();
}

QColor MessageRow::colour() const {
  const auto theme = inspector::Theme::fromPalette(palette());
  switch (kind_) {
    case MessageBar::Kind::error:
      return theme.error.stroke;
    case MessageBar::Kind::warning:
      return theme.warning.stroke;
    case MessageBar::Kind::information:
      break;
  }
  return theme.forward.stroke;
}

void MessageRow::paintSymbol() {
  const qreal ratio = devicePixelRatioF();
  const int side = inspector::scaled(symbol_size);
  symbol_->setPixmap(inspector::iconPixmap(nameOf(kind_), colour(), side, ratio));
}

void MessageRow::setSentence(const QString& sentence) {
  sentence_ = sentence;
  label_->setText(sentence);
  setAccessibleName(QString("%1: %2").arg(nameOf(kind_), sentence));
}

// Where the buttons would leave the sentence little room, they stand below it.
void MessageRow::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  constexpr int least_text = 320;
  const bool below = buttons_ && width() < buttons_->sizeHint().width() + least_text;
  if (below == below_) return;
  below_ = below;
  grid_->removeWidget(buttons_);
  if (below)
    grid_->addWidget(buttons_, 1, 1, Qt::AlignLeft);
  else
    grid_->addWidget(buttons_, 0, 2, Qt::AlignTop);
}

void MessageRow::focusFirst() {
  first_->setFocus(Qt::ShortcutFocusReason);
}

void MessageRow::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && event->modifiers() == Qt::NoModifier) {
    emit closed();
    return;
  }
  QFrame::keyPressEvent(event);
}

void MessageRow::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) paintSymbol();
}

void MessageRow::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  painter.fillRect(QRect(0, 0, stripe, height()), colour());
  painter.fillRect(QRect(stripe, height() - 1, width() - stripe, 1),
                   inspector::Theme::fromPalette(palette()).border);
}

}  // namespace tapedeck::app
