#include "app/shell/window/message_bar.h"

#include <QApplication>
#include <QVBoxLayout>
#include <algorithm>

#include "app/shell/window/message_row.h"

namespace tapedeck::app {
namespace {

/// More would leave the notebook no room.
constexpr qsizetype most_messages = 4;

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), column_(new QVBoxLayout(this)) {
  setObjectName("messageBar");
  setAccessibleName("Messages");
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(0);
  hide();
}

void MessageBar::show(Kind kind, const QString& sentence, const QList<Choice>& choices,
                      const QString& topic) {
  for (MessageRow* row : QList<MessageRow*>(rows_))
    if (topic.isEmpty() ? row->topic().isEmpty() && row->sentence() == sentence : row->topic() == topic)
      close(row);
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
  QFrame::show();
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

void MessageBar::dismissNewest() {
  if (!rows_.isEmpty()) close(rows_.first());
}

void MessageBar::dismiss(const QString& topic) {
  for (MessageRow* row : QList<MessageRow*>(rows_))
    if (row->topic() == topic) close(row);
}

void MessageBar::focusMessage() {
  if (!rows_.isEmpty()) rows_.first()->focusFirst();
}

// The row goes on living until its button's click is over.
void MessageBar::close(MessageRow* row) {
  if (!rows_.removeOne(row)) return;
  const bool focused = row->isAncestorOf(QApplication::focusWidget());
  column_->removeWidget(row);
  row->hide();
  row->deleteLater();
  if (rows_.isEmpty()) hide();
  if (focused && !rows_.isEmpty()) rows_.first()->focusFirst();
  if (rows_.isEmpty()) emit emptied(focused);
}

}  // namespace tapedeck::app
