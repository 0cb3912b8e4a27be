// What the notebook's keys do.
#include <QKeyEvent>
#include <QScrollBar>

#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/editor_assistant.h"
#include "app/notebook/view/notebook_view_private.h"

namespace tapedeck::app {
namespace {

/// Two Ds within this time delete a cell.
constexpr qint64 double_key_ms = 800;

}  // namespace

bool NotebookView::Private::commandKey(const QKeyEvent& event) {
  const auto command = notebookCommand(event);
  if (!command || *command != NotebookCommand::remove) deleteKey.invalidate();
  if (!command) return false;
  if (*command == NotebookCommand::remove) {
    removeByKey(event.isAutoRepeat());
  } else if (!goByKey(*command)) {
    changeByKey(*command);
  }
  return true;
}

void NotebookView::Private::removeByKey(bool autoRepeat) {
  if (autoRepeat) return;
  if (deleteKey.isValid() && deleteKey.elapsed() < double_key_ms) {
    deleteKey.invalidate();
    removeSelected();
  } else {
    deleteKey.start();
  }
}

bool NotebookView::Private::goByKey(NotebookCommand command) {
  QScrollBar* bar = view->verticalScrollBar();
  switch (command) {
    case NotebookCommand::previousCell:
      view->setCurrentCell(current - 1, false);
      return true;
    case NotebookCommand::nextCell:
      view->setCurrentCell(current + 1, false);
      return true;
    case NotebookCommand::firstCell:
      view->setCurrentCell(0, false);
      return true;
    case NotebookCommand::lastCell:
      view->setCurrentCell(document->cellCount() - 1, false);
      return true;
    case NotebookCommand::selectUp:
      selectTo(current - 1);
      return true;
    case NotebookCommand::selectDown:
      selectTo(current + 1);
      return true;
    case NotebookCommand::selectAll:
      view->selectAllCells();
      return true;
    case NotebookCommand::pageUp:
      bar->setValue(bar->value() - bar->pageStep());
      return true;
    case NotebookCommand::pageDown:
      bar->setValue(bar->value() + bar->pageStep());
      return true;
    case NotebookCommand::scrollUp:
      bar->setValue(bar->value() - bar->pageStep() * 9 / 10);
      return true;
    case NotebookCommand::scrollDown:
      bar->setValue(bar->value() + bar->pageStep() * 9 / 10);
      return true;
    case NotebookCommand::tools:
      hovered.clear();
      placeToolbar();
      toolbar->enter();
      return true;
    case NotebookCommand::foldOutput:
      view->foldOutput();
      return true;
    case NotebookCommand::enterOutput:
      view->enterOutput();
      return true;
    case NotebookCommand::leave:
      if (view->hasFocus() && selectionShown) {
        anchor = nullptr;
        showSelection();
      } else if (view->hasFocus()) {
        emit view->escaped();
      }
      view->setFocus();
      return true;
    default:
      return false;
  }
}

void NotebookView::Private::changeByKey(NotebookCommand command) {
  switch (command) {
    case NotebookCommand::edit:
      return view->setCurrentCell(current, true);
    case NotebookCommand::run:
      return view->runCurrent();
    case NotebookCommand::runAndAdvance:
      if (current >= 0) view->runCurrentAndAdvance();
      return;
    case NotebookCommand::runAndInsert:
      if (current >= 0) runAndInsert();
      return;
    case NotebookCommand::moveUp:
      return view->moveUp();
    case NotebookCommand::moveDown:
      return view->moveDown();
    case NotebookCommand::insertAbove:
      return view->insertAbove();
    case NotebookCommand::insertBelow:
      return view->insertBelow();
    case NotebookCommand::toMarkdown:
      return view->makeMarkdown();
    case NotebookCommand::toCode:
      return view->makeCode();
    case NotebookCommand::toRaw:
      return convertSelected(CellType::raw);
    case NotebookCommand::merge:
      return view->mergeSelected();
    case NotebookCommand::cut:
      return copySelected(true);
    case NotebookCommand::copy:
      return copySelected(false);
    case NotebookCommand::paste:
      return paste();
    case NotebookCommand::undo:
      lastInserted = -1;
      document->undoStructure();
      if (lastInserted >= 0) view->setCurrentCell(lastInserted, false);
      return;
    case NotebookCommand::redo:
      return document->redoStructure();
    default:
      return;
  }
}

void NotebookView::Private::editorKey(CellWidget* cell, EditorCommand command) {
  assistant->hide();
  const int index = indexOf(cell);
  if (index < 0) return;
  switch (command) {
    case EditorCommand::leave:
      select(index, false);
      return view->setFocus();
    case EditorCommand::run:
      select(index, editing);
      return view->runCurrent();
    case EditorCommand::runAndAdvance:
      select(index, editing);
      return view->runCurrentAndAdvance();
    case EditorCommand::runAndInsert:
      select(index, editing);
      return runAndInsert();
    case EditorCommand::moveUp:
      return view->moveUp();
    case EditorCommand::moveDown:
      return view->moveDown();
    case EditorCommand::leaveUpwards:
      return leave(cell, -1);
    case EditorCommand::leaveDownwards:
      return leave(cell, 1);
    case EditorCommand::complete:
      return assistant->askCompletions(cell->editor());
    case EditorCommand::help:
      return assistant->askHelp(cell->editor());
    case EditorCommand::newLine:
    case EditorCommand::comment:
      return;  // the editor's own
  }
}

}  // namespace tapedeck::app
