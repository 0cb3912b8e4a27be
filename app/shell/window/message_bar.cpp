#include "app/shell/window/message_bar.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/shell/window/message_row.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/icons.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"

namespace tapedeck::app {
namespace {

/// More would be too many to page through.
constexpr qsizetype most_messages = 8;

QToolButton* pageButton(const char* icon, const QString& tip) {
  auto* button = new QToolButton;
  button->setIcon(inspector::icon(icon));
  button->setAutoRaise(true);
  button->setFocusPolicy(Qt::StrongFocus);
  button->setToolTip(inspector::plainTip(tip));
  button->setAccessibleName(tip);
  return button;
}

}  // namespace

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent),
      column_(new QVBoxLayout),
      pager_(new QWidget),
      place_(inspector::plainLabel()),
      newer_(pageButton("previous", "Next message")),
      older_(pageButton("next", "Previous message (F8 from here)")) {
  setObjectName("messageBar");
  setAccessibleName("Messages");
  pager_->setObjectName("messagePager");
  place_->setObjectName("messagePlace");
  newer_->setObjectName("newerMessage");
  older_->setObjectName("olderMessage");
  auto* pages = new QHBoxLayout(pager_);
  pages->setContentsMargins(0, 6, 6, 6);
  pages->setSpacing(2);
  pages->addWidget(newer_);
  pages->addWidget(place_);
  pages->addWidget(older_);
  auto* whole = new QHBoxLayout(this);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->setSpacing(0);
  column_->setContentsMargins(0, 0, 0, 0);
  whole->addLayout(column_, 1);
  whole->addWidget(pager_, 0, Qt::AlignTop);
  connect(newer_, &QToolButton::clicked, this, [this] { page(shown_ - 1); });
  connect(older_, &QToolButton::clicked, this, [this] { page(shown_ + 1); });
  hide();
}

void MessageBar::show(Kind kind, const QString& sentence, const QList<Choice>& choices,
                      const QString& topic) {
  for (MessageRow* row : QList<MessageRow*>(rows_))
    if (topic.isEmpty() ? row->topic().isEmpty() && row->sentence() == sentence : row->topic() == topic)
      close(row);
  // The message that has the keyboard stays: the new one must not get the Enter that is meant for it.
  MessageRow* answered =
      !rows_.isEmpty() && isAncestorOf(QApplication::focusWidget()) ? rows_[shown_] : nullptr;
  auto* row = new MessageRow(kind, sentence, choices, topic);
  connect(row, &MessageRow::closed, this, [this, row] { close(row); });
  rows_.prepend(row);
  column_->insertWidget(0, row);
  const auto passing = [](const MessageRow* one) { return !one->offers(); };
  while (rows_.size() > most_messages) {
    const auto oldest = std::find_if(rows_.crbegin(), rows_.crend(), passing);
    if (oldest == rows_.crend()) break;
    close(*oldest);
  }
  shown_ = std::max<qsizetype>(0, rows_.indexOf(answered));
  showPage();
  QFrame::show();
}

void MessageBar::showPage() {
  shown_ = std::clamp<qsizetype>(shown_, 0, std::max<qsizetype>(0, rows_.size() - 1));
  for (qsizetype i = 0; i < rows_.size(); ++i) rows_[i]->setVisible(i == shown_);
  pager_->setVisible(rows_.size() > 1);
  place_->setText(QString("%1 of %2").arg(shown_ + 1).arg(rows_.size()));
  place_->setToolTip(inspector::plainTip(QString("%1 messages, the newest first (F8)").arg(rows_.size())));
  newer_->setEnabled(shown_ > 0);
  older_->setEnabled(shown_ + 1 < rows_.size());
}

void MessageBar::page(qsizetype index) {
  shown_ = index;
  showPage();
}

void MessageBar::reword(const QString& topic, const QString& sentence) {
  for (MessageRow* row : rows_)
    if (row->topic() == topic) row->setSentence(sentence);
}

QString MessageBar::text() const {
  QStringList lines;
  for (const MessageRow* row : rows_) lines << row->sentence();
  return lines.join('\n');
}

bool MessageBar::shows(const QString& topic) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const MessageRow* row) { return row->topic() == topic; });
}

void MessageBar::dismissShown() {
  if (!rows_.isEmpty()) close(rows_[shown_]);
}

void MessageBar::dismiss(const QString& topic) {
  for (MessageRow* row : QList<MessageRow*>(rows_))
    if (row->topic() == topic) close(row);
}

void MessageBar::focusMessage() {
  if (rows_.isEmpty()) return;
  if (isAncestorOf(QApplication::focusWidget())) page((shown_ + 1) % rows_.size());
  rows_[shown_]->focusFirst();
}

// The row goes on living until its button's click is over.
void MessageBar::close(MessageRow* row) {
  const qsizetype index = rows_.indexOf(row);
  if (index < 0) return;
  const bool focused = row->isAncestorOf(QApplication::focusWidget());
  rows_.removeAt(index);
  column_->removeWidget(row);
  row->hide();
  row->deleteLater();
  if (index < shown_) --shown_;
  showPage();
  if (rows_.isEmpty()) hide();
  if (focused && !rows_.isEmpty()) rows_[shown_]->focusFirst();
  if (rows_.isEmpty()) emit emptied(focused);
}

void MessageBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  painter.fillRect(QRect(0, height() - 1, width(), 1), inspector::Theme::fromPalette(palette()).border);
}

}  // namespace tapedeck::app
