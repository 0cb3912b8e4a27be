#include "app/shell/message_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

namespace tapedeck::app {

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent), symbol_(new QLabel), label_(new QLabel), choices_(new QHBoxLayout) {
  setObjectName("messageBar");
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(10, 6, 6, 6);
  symbol_->setAlignment(Qt::AlignTop);
  label_->setObjectName("messageText");
  label_->setWordWrap(true);
  label_->setTextFormat(Qt::PlainText);
  label_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  layout->addWidget(symbol_);
  layout->addWidget(label_, 1);
  layout->addLayout(choices_);
  auto* close = new QToolButton;
  close->setText("✕");
  close->setAutoRaise(true);
  close->setToolTip("Close this message");
  close->setAccessibleName("Close this message");
  connect(close, &QToolButton::clicked, this, &MessageBar::dismiss);
  layout->addWidget(close, 0, Qt::AlignTop);
  hide();
}

void MessageBar::show(Kind kind, const QString& sentence, const QList<Choice>& choices) {
  while (QLayoutItem* item = choices_->takeAt(0)) {
    item->widget()->deleteLater();
    delete item;
  }
  for (const Choice& choice : choices) {
    auto* button = new QPushButton(choice.text);
    connect(button, &QPushButton::clicked, this, [this, act = choice.act] {
      dismiss();
      act();
    });
    choices_->addWidget(button, 0, Qt::AlignTop);
  }
  struct Look {
    const char *symbol, *colour;
  };
  const Look look = kind == Kind::error     ? Look{"⛔", "#c93c37"}
                    : kind == Kind::warning ? Look{"⚠", "#c98a1b"}
                                            : Look{"ℹ", "#2f7fc4"};
  symbol_->setText(look.symbol);
  setStyleSheet(QString("#messageBar { border: none; border-left: 4px solid %1; background: palette(base); }")
                    .arg(look.colour));
  label_->setText(sentence);
  setAccessibleName(sentence);
  QFrame::show();
}

QString MessageBar::text() const {
  return isVisible() ? label_->text() : QString();
}

void MessageBar::dismiss() {
  hide();
}

}  // namespace tapedeck::app
