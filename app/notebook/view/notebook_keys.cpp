#include "app/notebook/view/notebook_keys.h"

#include <QKeyEvent>
#include <QStringList>

namespace tapedeck::app {
namespace {

template <class Command>
struct Row {
  Command command;
  QList<QKeyCombination> keys;
  const char* text;
  int presses = 1;
};

constexpr auto control_shift = Qt::ControlModifier | Qt::ShiftModifier;

const QList<Row<NotebookCommand>>& notebookRows() {
  using C = NotebookCommand;
  static const QList<Row<C>> rows = {
      {C::edit, {Qt::Key_Return}, "Edit the cell"},
      {C::run, {Qt::ControlModifier | Qt::Key_Return}, "Run the selected cells"},
      {C::runAndAdvance, {Qt::ShiftModifier | Qt::Key_Return}, "Run the cell and go to the next"},
      {C::runAndInsert, {Qt::AltModifier | Qt::Key_Return}, "Run the cell and add one below"},
      {C::previousCell, {Qt::Key_Up, Qt::Key_K}, "To the cell above"},
      {C::nextCell, {Qt::Key_Down, Qt::Key_J}, "To the cell below"},
      {C::firstCell, {Qt::Key_Home, Qt::ControlModifier | Qt::Key_Home}, "To the first cell"},
      {C::lastCell, {Qt::Key_End, Qt::ControlModifier | Qt::Key_End}, "To the last cell"},
      {C::selectUp,
       {Qt::ShiftModifier | Qt::Key_Up, Qt::ShiftModifier | Qt::Key_K},
       "Extend the selection to the cell above, or shrink it"},
      {C::selectDown,
       {Qt::ShiftModifier | Qt::Key_Down, Qt::ShiftModifier | Qt::Key_J},
       "Extend the selection to the cell below, or shrink it"},
      {C::selectAll, {Qt::ControlModifier | Qt::Key_A}, "Select all cells"},
      {C::moveUp, {control_shift | Qt::Key_Up}, "Move the selected cells up"},
      {C::moveDown, {control_shift | Qt::Key_Down}, "Move the selected cells down"},
      {C::pageUp, {Qt::Key_PageUp}, "Scroll up by a page"},
      {C::pageDown, {Qt::Key_PageDown}, "Scroll down by a page"},
      {C::scrollDown, {Qt::Key_Space}, "Scroll down"},
      {C::scrollUp, {Qt::ShiftModifier | Qt::Key_Space}, "Scroll up"},
      {C::insertAbove, {Qt::Key_A}, "Add a code cell above"},
      {C::insertBelow, {Qt::Key_B}, "Add a code cell below"},
      {C::remove, {Qt::Key_D}, "Delete the selected cells", 2},
      {C::merge, {Qt::ShiftModifier | Qt::Key_M}, "Merge the selected cells, or the cell and the one below"},
      {C::toMarkdown, {Qt::Key_M}, "Make them Markdown cells"},
      {C::toCode, {Qt::Key_Y}, "Make them code cells"},
      {C::toRaw, {Qt::Key_R}, "Make them raw cells"},
      {C::cut,
       {Qt::Key_X, Qt::ControlModifier | Qt::Key_X},
       "Cut the selected cells, for this or another window"},
      {C::copy, {Qt::Key_C, Qt::ControlModifier | Qt::Key_C}, "Copy the selected cells, with their outputs"},
      {C::paste, {Qt::Key_V, Qt::ControlModifier | Qt::Key_V}, "Paste cells, or text as a cell, below"},
      {C::undo,
       {Qt::Key_Z, Qt::ControlModifier | Qt::Key_Z},
       "Undo a change to whole cells: added, deleted, moved, merged, replaced in them, outputs cleared, …"},
      {C::redo,
       {Qt::ShiftModifier | Qt::Key_Z, control_shift | Qt::Key_Z, Qt::ControlModifier | Qt::Key_Y},
       "Redo what was undone"},
      {C::tools, {Qt::Key_T}, "To the cell's tools: Left and Right choose, Enter presses"},
      {C::foldOutput, {Qt::ShiftModifier | Qt::Key_O}, "Fold a long output, or unfold it"},
      {C::enterOutput, {Qt::Key_E}, "To the output: arrows and Page Up and Down scroll it, / finds"},
      {C::leave, {Qt::Key_Escape}, "From the outputs and tools back to the cell"},
  };
  return rows;
}

const QList<Row<EditorCommand>>& editorRows() {
  using C = EditorCommand;
  static const QList<Row<C>> rows = {
      {C::leave, {Qt::Key_Escape}, "Leave the text; keys are commands then"},
      {C::newLine, {Qt::Key_Return}, "New line, indented as Python needs it"},
      {C::run, {Qt::ControlModifier | Qt::Key_Return}, "Run the cell"},
      {C::runAndAdvance, {Qt::ShiftModifier | Qt::Key_Return}, "Run the cell and go to the next"},
      {C::runAndInsert, {Qt::AltModifier | Qt::Key_Return}, "Run the cell and add one below"},
      {C::complete, {Qt::Key_Tab}, "After a name: complete it; at the start of a line: indent"},
      {C::help,
       {Qt::ShiftModifier | Qt::Key_Backtab},
       "After a name: help on it; at the start of a line: unindent"},
      {C::comment, {Qt::ControlModifier | Qt::Key_Slash}, "Comment out the lines, or uncomment them"},
      {C::moveUp, {control_shift | Qt::Key_Up}, "Move the cell up"},
      {C::moveDown, {control_shift | Qt::Key_Down}, "Move the cell down"},
      {C::leaveUpwards, {Qt::Key_Up}, "In the first line: to the cell above"},
      {C::leaveDownwards, {Qt::Key_Down}, "In the last line: to the cell below"},
  };
  return rows;
}

/// Keys that are the same to a user: both Enters, keypad or not; Shift+Tab with and without a name of its
/// own.
QKeyCombination pressed(const QKeyEvent& event) {
  Qt::KeyboardModifiers modifiers = event.modifiers() & ~Qt::KeypadModifier;
  auto key = static_cast<Qt::Key>(event.key());
  if (key == Qt::Key_Enter) key = Qt::Key_Return;
  if (key == Qt::Key_Tab && modifiers.testFlag(Qt::ShiftModifier)) key = Qt::Key_Backtab;
  if (key == Qt::Key_Backtab) modifiers |= Qt::ShiftModifier;
  return QKeyCombination(modifiers, key);
}

template <class Command>
std::optional<Command> find(const QList<Row<Command>>& rows, const QKeyEvent& event) {
  const QKeyCombination key = pressed(event);
  for (const Row<Command>& row : rows) {
    if (row.keys.contains(key)) return row.command;
  }
  return {};
}

QString textOf(QKeyCombination key, int presses) {
  if (key.key() == Qt::Key_Backtab) key = QKeyCombination(key.keyboardModifiers(), Qt::Key_Tab);
  const QString one = QKeySequence(key).toString(QKeySequence::NativeText);
  return QStringList(presses, one).join(", ");
}

template <class Command>
QList<KeyHelp> helpOf(const QList<Row<Command>>& rows) {
  QList<KeyHelp> help;
  for (const Row<Command>& row : rows) {
    QStringList keys;
    for (const QKeyCombination key : row.keys) keys += textOf(key, row.presses);
    help += {keys.join(" or "), QString::fromUtf8(row.text)};
  }
  return help;
}

}  // namespace

std::optional<NotebookCommand> notebookCommand(const QKeyEvent& event) {
  return find(notebookRows(), event);
}

std::optional<EditorCommand> editorCommand(const QKeyEvent& event) {
  return find(editorRows(), event);
}

QList<QKeySequence> keysOf(NotebookCommand command) {
  QList<QKeySequence> keys;
  for (const Row<NotebookCommand>& row : notebookRows()) {
    if (row.command != command) continue;
    for (const QKeyCombination key : row.keys) keys += QKeySequence(key);
  }
  return keys;
}

QString keyText(NotebookCommand command) {
  for (const Row<NotebookCommand>& row : notebookRows()) {
    if (row.command == command) return textOf(row.keys.first(), row.presses);
  }
  return {};
}

QList<KeyHelp> commandModeKeys() {
  return helpOf(notebookRows());
}

QList<KeyHelp> editorKeys() {
  return helpOf(editorRows());
}

}  // namespace tapedeck::app
