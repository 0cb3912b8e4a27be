// What runs, structure and help do in the notebook, asked for by keys, tools and the menu alike.
#include <QApplication>

#include "app/notebook/output/text/input_line.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/editor_assistant.h"
#include "app/notebook/view/notebook_view_private.h"

namespace tapedeck::app {

void NotebookView::Private::select(int index, bool edit) {
  if (index < 0 || index >= document->cellCount()) return;
  const bool other = index != current;
  // The focus that comes to the notebook leaves the selection as it is.
  if (other || edit) anchor = nullptr;
  if (other && widgetAt(current) != nullptr) widgetAt(current)->setCurrent(false, false);
  current = index;
  editing = edit;
  widgetAt(index)->setCurrent(true, edit);
  if (anchor == nullptr && selectionShown) showSelection();
  placeToolbar();
  if (other) emit view->currentCellChanged(index);
}

void NotebookView::Private::focusChanged(QWidget* now) {
  if (now == nullptr) return;
  if (now == view) return select(current, false);
  if (!view->isAncestorOf(now)) {
    assistant->hide();
    return;
  }
  for (QWidget* widget = now; widget != nullptr && widget != column; widget = widget->parentWidget()) {
    // A question of the running cell is answered on the way: the selection stays where Shift+Enter went.
    if (qobject_cast<InputLine*>(widget) != nullptr) return;
    auto* cell = qobject_cast<CellWidget*>(widget);
    if (cell != nullptr && indexOf(cell) >= 0) return select(indexOf(cell), cell->hasEditorFocus());
  }
}

// ---- run ----

void NotebookView::Private::runCell(int index) {
  if (index < 0 || index >= document->cellCount()) return;
  const Cell& cell = document->cell(index);
  if (cell.type == CellType::markdown) {
    CellWidget* widget = widgetAt(index);
    if (widget->hasEditorFocus()) view->setFocus();
    widget->renderMarkdown();
  } else if (cell.type == CellType::code && !cell.source.trimmed().isEmpty()) {
    emit view->runRequested({cell.id});
  }
}

void NotebookView::Private::runAndInsert() {
  runCell(current);
  insert(current + 1, CellType::code, true);
}

void NotebookView::Private::giveInput(CellWidget* cell, const QString& text) {
  const QString prompt = cell->inputLine()->prompt();
  const bool secret = cell->inputLine()->field()->echoMode() == QLineEdit::Password;
  const QString id = cell->id();
  leaveInput();
  cell->endInput();
  // As on a terminal, the question and the answer stay in the output.
  document->appendOutput(id,
                         {{"output_type", "stream"},
                          {"name", "stdout"},
                          {"text", (prompt + (secret ? QString("········") : text) + "\n").toStdString()}});
  emit view->inputGiven(text);
}

void NotebookView::Private::leaveInput() {
  QWidget* before = std::exchange(focusBeforeInput, nullptr);
  if (before == nullptr || !before->isVisible() || !view->isAncestorOf(before)) before = view;
  before->setFocus();
}

// ---- structure ----

void NotebookView::Private::insert(int index, CellType type, bool edit) {
  if (document->locked()) return;
  document->insertCell(index, type);
  view->setCurrentCell(index, edit);
}

void NotebookView::Private::toolTriggered(const QString& cellId, CellAction action) {
  const int index = document->indexOf(cellId);
  if (index < 0) return;
  const bool keep_editing = index == current && editing && action != CellAction::run;
  view->setCurrentCell(index, keep_editing);
  switch (action) {
    case CellAction::run:
      view->runCurrent();
      break;
    case CellAction::moveUp:
      view->moveUp();
      break;
    case CellAction::moveDown:
      view->moveDown();
      break;
    case CellAction::insertBelow:
      insert(index + 1, CellType::code, true);
      break;
    case CellAction::changeType:
      document->cell(index).type == CellType::code ? view->makeMarkdown() : view->makeCode();
      break;
    case CellAction::remove:
      removeSelected();
      break;
  }
}

void NotebookView::Private::goTo(int execution, int line) {
  for (int i = 0; i < document->cellCount(); ++i) {
    if (document->cell(i).executionCount != execution) continue;
    view->setCurrentCell(i, true);
    if (CodeEditor* editor = widgetAt(i)->editor()) editor->setCursorPosition(line - 1, 0);
    return;
  }
}

void NotebookView::Private::leave(CellWidget* cell, int direction) {
  const int next = indexOf(cell) + direction;
  if (next < 0 || next >= document->cellCount()) return;
  CellWidget* target = widgetAt(next);
  target->realize();
  // A rendered text is passed in command mode: opening its source would surprise.
  view->setCurrentCell(next, target->showsSource());
  if (CodeEditor* editor = target->editor()) {
    editor->setCursorPosition(direction < 0 ? editor->lines() - 1 : 0, 0);
  }
}

}  // namespace tapedeck::app
