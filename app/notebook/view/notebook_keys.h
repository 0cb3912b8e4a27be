// The notebook's own keys, once: what is pressed, what it does, and the sentence that the list of keys shows.
#pragma once

#include <QKeySequence>
#include <QList>
#include <QString>
#include <optional>

class QKeyEvent;

namespace tapedeck::app {

/// Without a text cursor in a cell.
enum class NotebookCommand {
  edit,
  run,
  runAndAdvance,
  runAndInsert,
  previousCell,
  nextCell,
  firstCell,
  lastCell,
  selectUp,
  selectDown,
  selectAll,
  moveUp,
  moveDown,
  pageUp,
  pageDown,
  scrollDown,
  scrollUp,
  insertAbove,
  insertBelow,
  remove,
  merge,
  toMarkdown,
  toCode,
  toRaw,
  cut,
  copy,
  paste,
  undo,
  redo,
  tools,
  foldOutput,
  enterOutput,
  leave,
};

/// With the text cursor in a cell's source; each editor may decline where it means nothing there.
enum class EditorCommand {
  leave,
  newLine,
  run,
  runAndAdvance,
  runAndInsert,
  complete,
  help,
  comment,
  moveUp,
  moveDown,
  leaveUpwards,
  leaveDownwards,
};

std::optional<NotebookCommand> notebookCommand(const QKeyEvent& event);
std::optional<EditorCommand> editorCommand(const QKeyEvent& event);

/// All keys that do it.
QList<QKeySequence> keysOf(NotebookCommand command);
/// For tooltips: "Ctrl+Return", "D, D".
QString keyText(NotebookCommand command);

struct KeyHelp {
  QString keys;  ///< "Up or K", "D, D"
  QString text;
};
QList<KeyHelp> commandModeKeys();
QList<KeyHelp> editorKeys();

}  // namespace tapedeck::app
