// What keys and tools do in the notebook.
#include <QApplication>
#include <QKeyEvent>
#include <QScrollBar>

#include "app/notebook/output/input_line.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view_private.h"
#include "app/notebook/view/popups.h"

namespace tapedeck::app {
namespace {

/// Two Ds within this time delete a cell.
constexpr qint64 double_key_ms = 800;

}  // namespace

void NotebookView::Private::select(int index, bool edit) {
  if (index < 0 || index >= column->cells.size()) return;
  const bool other = index != current;
  if (other && widgetAt(current) != nullptr) widgetAt(current)->setCurrent(false, false);
  current = index;
  editing = edit;
  widgetAt(index)->setCurrent(true, edit);
  placeToolbar();
  if (other) emit view->currentCellChanged(index);
}

void NotebookView::Private::focusChanged(QWidget* now) {
  if (now == nullptr) return;
  if (now == view) return select(current, false);
  if (!view->isAncestorOf(now)) {
    completions->hide();
    help->hide();
    return;
  }
  for (QWidget* widget = now; widget != nullptr && widget != column; widget = widget->parentWidget()) {
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

void NotebookView::Private::runByKey(CellWidget* cell, Qt::KeyboardModifiers modifiers) {
  completions->hide();
  help->hide();
  select(indexOf(cell), editing);
  if (modifiers.testFlag(Qt::AltModifier)) {
    runCell(current);
    insert(current + 1, CellType::code, true);
  } else if (modifiers.testFlag(Qt::ControlModifier)) {
    view->runCurrent();
  } else {
    view->runCurrentAndAdvance();
  }
}

void NotebookView::Private::giveInput(CellWidget* cell, const QString& text) {
  const QString prompt = cell->inputLine()->prompt();
  const bool secret = cell->inputLine()->field()->echoMode() == QLineEdit::Password;
  const QString id = cell->id();
  view->setFocus();
  cell->endInput();
  // As on a terminal, the question and the answer stay in the output.
  document->appendOutput(id,
                         {{"output_type", "stream"},
                          {"name", "stdout"},
                          {"text", (prompt + (secret ? QString("········") : text) + "\n").toStdString()}});
  emit view->inputGiven(text);
}

// ---- structure ----

void NotebookView::Private::insert(int index, CellType type, bool edit) {
  document->insertCell(index, type);
  view->setCurrentCell(index, edit);
}

void NotebookView::Private::remove(int index) {
  if (index < 0 || index >= document->cellCount()) return;
  document->removeCell(index);
  view->setFocus();
  showCurrent();
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
      remove(index);
      break;
  }
}

void NotebookView::Private::copyCell(bool cut) {
  if (current < 0) return;
  clipboardFull = true;
  clipboardType = document->cell(current).type;
  clipboardSource = document->cell(current).source;
  if (cut) remove(current);
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

// ---- help from the session ----

void NotebookView::Private::requestCompletion(CodeEditor* editor) {
  requester = editor;
  completionRequest = ++lastRequest;
  emit view->completionRequested(completionRequest, editor->source(), editor->cursorPosition());
}

void NotebookView::Private::requestHelp(CodeEditor* editor) {
  requester = editor;
  helpRequest = ++lastRequest;
  emit view->helpRequested(helpRequest, editor->source(), editor->cursorPosition());
}

// ---- command mode ----

bool NotebookView::Private::commandKey(QKeyEvent* event) {
  const Qt::KeyboardModifiers modifiers = event->modifiers() & ~Qt::KeypadModifier;
  const bool moving = modifiers == (Qt::ControlModifier | Qt::ShiftModifier);
  QScrollBar* bar = view->verticalScrollBar();
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (current < 0) return true;
      if (modifiers == Qt::NoModifier) {
        view->setCurrentCell(current, true);
      } else {
        runByKey(widgetAt(current), modifiers);
      }
      return true;
    case Qt::Key_Up:
    case Qt::Key_Down: {
      const int direction = event->key() == Qt::Key_Up ? -1 : 1;
      if (moving) {
        direction < 0 ? view->moveUp() : view->moveDown();
      } else if (modifiers == Qt::NoModifier) {
        view->setCurrentCell(current + direction, false);
      } else {
        return false;
      }
      return true;
    }
    case Qt::Key_Home:
    case Qt::Key_End:
      if (document->cellCount() == 0) return true;
      view->setCurrentCell(event->key() == Qt::Key_Home ? 0 : document->cellCount() - 1, false);
      return true;
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
      bar->setValue(bar->value() + (event->key() == Qt::Key_PageUp ? -bar->pageStep() : bar->pageStep()));
      return true;
    case Qt::Key_Space:
      bar->setValue(bar->value() +
                    (modifiers == Qt::ShiftModifier ? -bar->pageStep() : bar->pageStep()) * 9 / 10);
      return true;
    case Qt::Key_Escape:
      view->setFocus();
      return true;
    default:
      return false;
  }
}

bool NotebookView::Private::commandLetter(QKeyEvent* event) {
  const Qt::KeyboardModifiers modifiers = event->modifiers() & ~Qt::KeypadModifier;
  if (event->key() == Qt::Key_Z && modifiers == Qt::ShiftModifier) {
    document->redoStructure();
    return true;
  }
  if (modifiers != Qt::NoModifier) return false;
  if (event->key() != Qt::Key_D) deleteKey.invalidate();
  switch (event->key()) {
    case Qt::Key_A:
      view->insertAbove();
      return true;
    case Qt::Key_B:
      view->insertBelow();
      return true;
    case Qt::Key_D:
      if (event->isAutoRepeat()) return true;
      if (deleteKey.isValid() && deleteKey.elapsed() < double_key_ms) {
        deleteKey.invalidate();
        remove(current);
      } else {
        deleteKey.start();
      }
      return true;
    case Qt::Key_M:
      view->makeMarkdown();
      return true;
    case Qt::Key_Y:
      view->makeCode();
      return true;
    case Qt::Key_R:
      if (current >= 0) document->setCellType(current, CellType::raw);
      return true;
    case Qt::Key_J:
      view->setCurrentCell(current + 1, false);
      return true;
    case Qt::Key_K:
      view->setCurrentCell(current - 1, false);
      return true;
    case Qt::Key_Z:
      lastInserted = -1;
      document->undoStructure();
      if (lastInserted >= 0) view->setCurrentCell(lastInserted, false);
      return true;
    case Qt::Key_C:
      copyCell(false);
      return true;
    case Qt::Key_X:
      copyCell(true);
      return true;
    case Qt::Key_V:
      if (!clipboardFull) return true;
      document->insertCell(current + 1, clipboardType, clipboardSource);
      view->setCurrentCell(current + 1, false);
      return true;
    default:
      return false;
  }
}

}  // namespace tapedeck::app
