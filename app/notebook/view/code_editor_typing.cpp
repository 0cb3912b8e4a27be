// The editor's text and keys.
#include <Qsci/qscicommandset.h>

#include <QKeyEvent>
#include <QRegularExpression>

#include "app/notebook/view/code_editor.h"

namespace tapedeck::app {

int CodeEditor::cursorPosition() const {
  const long position = SendScintilla(SCI_GETCURRENTPOS);
  const long shown = SendScintilla(SCI_COUNTCHARACTERS, 0UL, position);
  if (longLines_.empty()) return static_cast<int>(shown);
  return static_cast<int>(longLines_.whole(text(0, static_cast<int>(position))).toUcs4().size());
}

int CodeEditor::byteOffset(int codePoints) const {
  if (codePoints <= 0) return 0;
  if (!longLines_.empty()) {
    const QString shown = text();
    const QList<uint> code = longLines_.whole(shown).toUcs4().mid(0, codePoints);
    const qsizetype unit =
        QString::fromUcs4(reinterpret_cast<const char32_t*>(code.data()), code.size()).size();
    return static_cast<int>(shown.left(LongLines::Places(longLines_, shown).begin(unit)).toUtf8().size());
  }
  const auto byte = static_cast<int>(SendScintilla(SCI_POSITIONRELATIVE, 0UL, static_cast<long>(codePoints)));
  // Behind the end of the text Scintilla answers 0.
  return byte == 0 ? static_cast<int>(SendScintilla(SCI_GETLENGTH)) : byte;
}

std::pair<int, int> CodeEditor::selectedRange() const {
  const auto units = [this](int message) {
    const QString before = text(0, static_cast<int>(SendScintilla(static_cast<unsigned>(message))));
    return static_cast<int>(longLines_.whole(before).size());
  };
  return {units(SCI_GETSELECTIONSTART), units(SCI_GETSELECTIONEND)};
}

QString CodeEditor::textInRange(int start, int end) const {
  return start >= end ? QString() : longLines_.whole(text(byteOffset(start), byteOffset(end)));
}

void CodeEditor::replaceRange(int start, int end, const QString& text) {
  const QByteArray bytes = longLines_.fold(text).toUtf8();
  const int first = byteOffset(start);
  const int last = end > start ? byteOffset(end) : first;
  SendScintilla(SCI_SETTARGETRANGE, static_cast<unsigned long>(first), static_cast<long>(last));
  SendScintilla(SCI_REPLACETARGET, static_cast<uintptr_t>(bytes.size()), bytes.constData());
  SendScintilla(SCI_GOTOPOS, static_cast<unsigned long>(first + bytes.size()));
}

QString CodeEditor::textBeforeCursor() const {
  // In bytes: a column counts code points, and QString has two units for some of them.
  const long cursor = SendScintilla(SCI_GETCURRENTPOS);
  const long line = SendScintilla(SCI_LINEFROMPOSITION, static_cast<unsigned long>(cursor));
  const long start = SendScintilla(SCI_POSITIONFROMLINE, static_cast<unsigned long>(line));
  return text(static_cast<int>(start), static_cast<int>(cursor));
}

QPoint CodeEditor::cursorPoint() const {
  const long position = SendScintilla(SCI_GETCURRENTPOS);
  const int x = static_cast<int>(SendScintilla(SCI_POINTXFROMPOSITION, 0UL, position));
  const int y = static_cast<int>(SendScintilla(SCI_POINTYFROMPOSITION, 0UL, position));
  return viewport()->mapToGlobal(QPoint(x, y + lineHeight()));
}

void CodeEditor::toggleComment() {
  int first = 0;
  int last = 0;
  int ignored = 0;
  getCursorPosition(&first, &ignored);
  last = first;
  if (hasSelectedText()) {
    int end_column = 0;
    getSelection(&first, &ignored, &last, &end_column);
    if (end_column == 0 && last > first) --last;
  }
  bool all = true;
  for (int i = first; i <= last; ++i) {
    const QString line = text(i).trimmed();
    all = all && (line.isEmpty() || line.startsWith('#'));
  }
  beginUndoAction();
  for (int i = first; i <= last; ++i) {
    const QString line = text(i);
    if (line.trimmed().isEmpty()) continue;
    int indent = 0;
    while (indent < line.size() && line[indent].isSpace()) ++indent;
    if (!all) {
      insertAt("# ", i, indent);
    } else {
      setSelection(i, indent, i, indent + (line.mid(indent, 2) == "# " ? 2 : 1));
      removeSelectedText();
    }
  }
  endUndoAction();
}

void CodeEditor::newLine() {
  int line = 0;
  int column = 0;
  beginUndoAction();
  removeSelectedText();
  getCursorPosition(&line, &column);
  const QString before = textBeforeCursor();
  int spaces = 0;
  while (spaces < before.size() && (before[spaces] == ' ' || before[spaces] == '\t')) ++spaces;
  QString indent = before.left(spaces);
  if (language_ == Language::python) {
    const QString code = before.section('#', 0, 0).trimmed();
    static const QRegularExpression ends_block("^(return|pass|break|continue|raise)\\b");
    // Inside brackets the statement continues anyway.
    const bool open = code.count('(') + code.count('[') > code.count(')') + code.count(']');
    if (code.endsWith(':')) {
      indent += QString(indentationWidth(), ' ');
    } else if (code.contains(ends_block) && !open) {
      indent.chop(std::min<qsizetype>(indent.size(), indentationWidth()));
    }
  }
  insert("\n" + indent);
  setCursorPosition(line + 1, static_cast<int>(indent.size()));
  ensureCursorVisible();
  endUndoAction();
  emit typed();
}

// ---- keys ----

void CodeEditor::freeKeys() {
  // Scintilla has some ninety commands of its own. Those on letters (delete a line, make it lower case, …)
  // mean something else in a notebook, and an editor would keep their keys from the window's actions.
  const auto isText = [](int key) {
    const QKeyCombination combination = QKeyCombination::fromCombined(key);
    switch (combination.key()) {
      case Qt::Key_Z:
      case Qt::Key_Y:
      case Qt::Key_X:
      case Qt::Key_C:
      case Qt::Key_V:
      case Qt::Key_A:
        return combination.keyboardModifiers() == Qt::ControlModifier;
      case Qt::Key_Up:
      case Qt::Key_Down:
        return !combination.keyboardModifiers().testFlag(Qt::ControlModifier);
      default:
        return combination.key() >= Qt::Key_Escape;
    }
  };
  for (QsciCommand* command : standardCommands()->commands()) {
    if (command->key() != 0 && !isText(command->key())) command->setKey(0);
    if (command->alternateKey() != 0 && !isText(command->alternateKey())) command->setAlternateKey(0);
  }
}

bool CodeEditor::applies(EditorCommand command) const {
  const bool python = language_ == Language::python;
  // A line may go on in further rows.
  const auto row = [this](long position) { return SendScintilla(SCI_POINTYFROMPOSITION, 0UL, position); };
  const long cursor = SendScintilla(SCI_GETCURRENTPOS);
  switch (command) {
    case EditorCommand::complete:
    case EditorCommand::help:
      return python && !hasSelectedText() && !textBeforeCursor().trimmed().isEmpty();
    case EditorCommand::comment:
      return python;
    case EditorCommand::leaveUpwards:
      return row(cursor) == row(0);
    case EditorCommand::leaveDownwards:
      return row(cursor) == row(SendScintilla(SCI_GETLENGTH));
    default:
      return true;
  }
}

bool CodeEditor::handleKey(const QKeyEvent& event) {
  const auto command = editorCommand(event);
  if (!command || !applies(*command)) return false;
  if (*command == EditorCommand::newLine && isReadOnly()) {
    emit wholeWanted();
  } else if (*command == EditorCommand::newLine) {
    newLine();
  } else if (*command == EditorCommand::comment) {
    toggleComment();
  } else {
    emit commandGiven(*command);
  }
  return true;
}

void CodeEditor::keyPressEvent(QKeyEvent* event) {
  if (keyFilter && keyFilter(event)) return;
  const bool redo = event->matches(QKeySequence::Redo);
  if ((redo || event->matches(QKeySequence::Undo)) && undoFilter && undoFilter(redo)) return;
  if (handleKey(*event)) return;
  if (!handlePair(*event)) QsciScintilla::keyPressEvent(event);
  emit typed();
  const QString text = event->text();
  const bool plain = (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) == 0;
  if (plain && !text.isEmpty() && text[0].isPrint()) emit lettersTyped();
}

}  // namespace tapedeck::app
