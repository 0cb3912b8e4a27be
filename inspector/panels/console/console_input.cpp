#include "inspector/panels/console/console_input.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QKeyEvent>
#include <QScrollBar>
#include <QStringListModel>
#include <QTextBlock>
#include <algorithm>

#include "inspector/model/variables/console_model.h"

namespace tapedeck::inspector {

namespace {

constexpr int most_input_lines = 6;

}  // namespace

ConsoleInput::ConsoleInput(QWidget* parent)
    : QPlainTextEdit(parent), completer_(new QCompleter(this)), matches_(new QStringListModel(this)) {
  completer_->setModel(matches_);
  completer_->setWidget(this);
  completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, &ConsoleInput::complete);
  connect(this, &QPlainTextEdit::textChanged, this, [this] { fit(); });
  connect(this, &QPlainTextEdit::textChanged, completer_->popup(), &QWidget::hide);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setTabChangesFocus(true);  // where focusNextPrevChild does not keep it here
  fit();
}

void ConsoleInput::setHistory(const QStringList& history) {
  history_ = history;
  at_ = -1;
}

void ConsoleInput::fit() {
  const int lines = std::clamp(blockCount(), 1, most_input_lines);
  setVerticalScrollBarPolicy(blockCount() > most_input_lines ? Qt::ScrollBarAsNeeded
                                                             : Qt::ScrollBarAlwaysOff);
  const int margins = static_cast<int>(2 * document()->documentMargin()) + 2 * frameWidth();
  setFixedHeight(lines * fontMetrics().lineSpacing() + margins);
}

bool ConsoleInput::recall(int by) {
  const int last = static_cast<int>(history_.size()) - 1;
  if (last < 0) return false;
  const int next = at_ < 0 ? (by < 0 ? last : -2) : at_ + by;
  if (next < 0 && by < 0) return true;
  if (next == -2) return false;
  if (at_ < 0) typed_ = toPlainText();
  at_ = next > last ? -1 : next;
  setPlainText(at_ < 0 ? typed_ : history_[at_]);
  moveCursor(QTextCursor::End);
  return true;
}

// Before the text of a line a tab is a tab.
bool ConsoleInput::tab() {
  QTextCursor cursor = textCursor();
  const QString before = cursor.block().text().left(cursor.positionInBlock());
  if (before.trimmed().isEmpty()) {
    cursor.insertText(QStringLiteral("    "));
  } else {
    const QString code = toPlainText();
    emit completionWanted(code, static_cast<int>(code.left(cursor.position()).toStdU32String().size()));
  }
  return true;
}

void ConsoleInput::showCompletions(int start, int position, const QStringList& matches) {
  const std::u32string code = toPlainText().toStdU32String();
  const auto units = [&code](int points) {
    return static_cast<int>(
        QString::fromStdU32String(code.substr(0, static_cast<std::size_t>(points))).size());
  };
  const int length = static_cast<int>(code.size());
  // The text may have changed since it was asked for.
  if (matches.isEmpty() || position > length || start > position ||
      units(position) != textCursor().position())
    return;
  start_ = units(start);
  if (matches.size() == 1) return complete(matches.first());
  matches_->setStringList(matches);
  QRect place = cursorRect();
  place.setWidth(completer_->popup()->sizeHintForColumn(0) +
                 completer_->popup()->verticalScrollBar()->sizeHint().width() + 8);
  completer_->complete(place);
  completer_->popup()->setCurrentIndex(completer_->completionModel()->index(0, 0));
}

void ConsoleInput::complete(const QString& match) {
  QTextCursor cursor = textCursor();
  cursor.setPosition(start_, QTextCursor::KeepAnchor);
  cursor.insertText(match);
  setTextCursor(cursor);
}

bool ConsoleInput::focusNextPrevChild(bool next) {
  if (next && !textCursor().block().text().isEmpty()) return false;
  return QPlainTextEdit::focusNextPrevChild(next);
}

void ConsoleInput::keyPressEvent(QKeyEvent* event) {
  const int key = event->key();
  const bool enter = key == Qt::Key_Return || key == Qt::Key_Enter;
  if (completer_->popup()->isVisible() && (enter || key == Qt::Key_Tab || key == Qt::Key_Escape)) {
    if (key != Qt::Key_Escape) complete(completer_->popup()->currentIndex().data().toString());
    return completer_->popup()->hide();
  }
  const bool plain = event->modifiers() == Qt::NoModifier || event->modifiers() == Qt::KeypadModifier;
  if (enter && plain && ConsoleModel::isWhole(toPlainText())) return emit entered(toPlainText());
  if (enter && plain) {
    const QString line = textCursor().block().text();
    qsizetype spaces = 0;
    while (spaces < line.size() && line[spaces] == QLatin1Char(' ')) ++spaces;
    QString indent = line.left(spaces);
    if (line.trimmed().endsWith(QLatin1Char(':'))) indent += QStringLiteral("    ");
    return textCursor().insertText(QLatin1Char('\n') + indent);
  }
  if (key == Qt::Key_Up && plain && textCursor().blockNumber() == 0 && recall(-1)) return;
  if (key == Qt::Key_Down && plain && textCursor().blockNumber() == blockCount() - 1 && recall(1)) return;
  if (key == Qt::Key_Tab && plain && tab()) return;
  if (key == Qt::Key_Escape && running_) return emit stopWanted();
  if (key == Qt::Key_Escape) return event->ignore();
  QPlainTextEdit::keyPressEvent(event);
}

}  // namespace tapedeck::inspector
