#include "app/shell/message_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStyle>
#include <QToolButton>

namespace tapedeck::app {
namespace {

constexpr char topic_of_row[] = "topic";

struct Look {
  QStyle::StandardPixmap symbol;
  const char* colour;
};

Look lookOf(MessageBar::Kind kind) {
  switch (kind) {
    case MessageBar::Kind::error:
      return {QStyle::SP_MessageBoxCritical, "#c93c37"};
    case MessageBar::Kind::warning:
      return {QStyle::SP_MessageBoxWarning, "#c98a1b"};
    case MessageBar::Kind::information:
      break;
  }
  return {QStyle::SP_MessageBoxInformation, "#2f7fc4"};
}

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), rows_(new QVBoxLayout(this)) {
  setObjectName("messageBar");
  rows_->setContentsMargins(0, 0, 0, 0);
  rows_->setSpacing(1);
  hide();
}

void MessageBar::show(Kind kind, const QString& sentence, const QList<Choice>& choices,
                      const QString& topic) {
  const QWidget* old = row(topic);
  const int place = old ? rows_->indexOf(old) : rows_->count();
  auto* line = new QFrame;
  line->setObjectName("messageRow");
  line->setProperty(topic_of_row, topic);
  const Look look = lookOf(kind);
  line->setStyleSheet(
      QString("#messageRow { border: none; border-left: 4px solid %1; background: palette(base); }")
          .arg(look.colour));
  line->setAccessibleName(sentence);
  auto* layout = new QHBoxLayout(line);
  layout->setContentsMargins(10, 6, 6, 6);
  auto* symbol = new QLabel;
  symbol->setPixmap(style()->standardIcon(look.symbol, nullptr, this).pixmap(18, 18));
  symbol->setAlignment(Qt::AlignTop);
  layout->addWidget(symbol);
  auto* label = new QLabel(sentence);
  label->setObjectName("messageText");
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  layout->addWidget(label, 1);
  for (const Choice& choice : choices) {
    auto* button = new QPushButton(choice.text);
    connect(button, &QPushButton::clicked, this, [this, topic, act = choice.act] {
      dismiss(topic);
      act();
    });
    layout->addWidget(button, 0, Qt::AlignTop);
  }
  auto* close = new QToolButton;
  close->setText("✕");
  close->setAutoRaise(true);
  close->setToolTip("Close this message");
  close->setAccessibleName("Close this message");
  connect(close, &QToolButton::clicked, this, [this, topic] { dismiss(topic); });
  layout->addWidget(close, 0, Qt::AlignTop);
  dismiss(topic);
  rows_->insertWidget(place, line);
  QFrame::show();
}

void MessageBar::reword(const QString& topic, const QString& sentence) {
  QWidget* line = row(topic);
  if (!line) return;
  line->setAccessibleName(sentence);
  line->findChild<QLabel*>("messageText")->setText(sentence);
}

QString MessageBar::text() const {
  QStringList sentences;
  if (!isVisible()) return {};
  for (int i = 0; i < rows_->count(); ++i) sentences << rows_->itemAt(i)->widget()->accessibleName();
  return sentences.join('\n');
}

bool MessageBar::shows(const QString& topic) const {
  return row(topic) != nullptr;
}

void MessageBar::dismiss(const QString& topic) {
  QWidget* line = row(topic);
  if (!line) return;
  rows_->removeWidget(line);
  line->hide();
  line->deleteLater();  // one of its buttons may be what called
  setVisible(rows_->count() > 0);
}

QWidget* MessageBar::row(const QString& topic) const {
  for (int i = 0; i < rows_->count(); ++i) {
    QWidget* line = rows_->itemAt(i)->widget();
    if (line->property(topic_of_row).toString() == topic) return line;
  }
  return nullptr;
}

}  // namespace tapedeck::app
