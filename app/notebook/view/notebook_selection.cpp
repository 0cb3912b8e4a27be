// Several cells at once: what is selected, and the commands that act on all of it.
#include <QApplication>
#include <QClipboard>
#include <QMouseEvent>
#include <QWindow>

#include "app/notebook/document/cell_clipboard.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view_private.h"
#include "app/notebook/view/select_by_mouse.h"
#include "app/notebook/view/source_excerpt.h"

namespace tapedeck::app {

// ---- what is selected ----

QList<int> NotebookView::selectedCells() const {
  QList<int> indexes;
  if (d_->current < 0) return indexes;
  const int from = d_->anchor == nullptr ? -1 : d_->indexOf(d_->anchor);
  const int first = from < 0 ? d_->current : std::min(from, d_->current);
  const int last = std::max(from, d_->current);
  for (int i = first; i <= last; ++i) indexes << i;
  return indexes;
}

void NotebookView::Private::selectTo(int index) {
  if (index < 0 || index >= document->cellCount() || current < 0) return;
  const bool begun = anchor != nullptr && indexOf(anchor) >= 0;
  selectRange(begun ? indexOf(anchor) : current, index);
  showCurrent();
}

/// `last` becomes the current cell; it may be the upper one.
void NotebookView::Private::selectRange(int first, int last) {
  // Keys act on cells then, not in a text.
  if (view->isAncestorOf(QApplication::focusWidget())) view->setFocus();
  select(last, false);
  anchor = first == last ? nullptr : widgetAt(first);
  showSelection();
}

void NotebookView::Private::showSelection() {
  const QList<int> selected = view->selectedCells();
  const bool several = selected.size() > 1;
  selectionShown = several;
  for (int i = 0; i < column->cells.size(); ++i)
    column->cells[i]->setSelected(several && i >= selected.first() && i <= selected.last());
  view->setAccessibleDescription(several ? QString("%1 cells are selected").arg(selected.size()) : QString());
}

void NotebookView::selectAllCells() {
  if (d_->document->cellCount() > 0) d_->selectRange(0, d_->document->cellCount() - 1);
}

SelectByMouse::SelectByMouse(NotebookView* view, std::function<bool(QPoint)> select)
    : QObject(view), view_(view), select_(std::move(select)) {
  qApp->installEventFilter(this);
}

// Seen before any widget gets it: the press alone would move the focus, and with it the current cell.
bool SelectByMouse::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::MouseButtonPress || !object->isWindowType()) return false;
  const auto* press = static_cast<QMouseEvent*>(event);
  if (press->button() != Qt::LeftButton || press->modifiers() != Qt::ShiftModifier) return false;
  QWidget* window = view_->window();
  if (!view_->isVisible() || static_cast<QObject*>(window->windowHandle()) != object ||
      QApplication::activePopupWidget() != nullptr)
    return false;
  QWidget* hit = window->childAt(press->position().toPoint());
  const bool inside = hit != nullptr && view_->widget()->isAncestorOf(hit);
  return inside && select_(view_->widget()->mapFrom(window, press->position().toPoint()));
}

// ---- commands ----

void NotebookView::deleteCurrent() {
  d_->removeSelected();
}

void NotebookView::Private::removeSelected() {
  const QList<int> selected = view->selectedCells();
  if (selected.isEmpty() || document->locked()) return;
  const UndoStep step(document);
  for (int i = selected.last(); i >= selected.first(); --i) document->removeCell(i);
  // The one that comes to the place, as where one alone is deleted.
  if (document->cellCount() > 0) select(std::min(selected.first(), document->cellCount() - 1), false);
  view->setFocus();
  showCurrent();
}

void NotebookView::moveUp() {
  d_->moveSelected(-1);
}

void NotebookView::moveDown() {
  d_->moveSelected(1);
}

// The neighbour goes to their other side: one step, however many they are.
void NotebookView::Private::moveSelected(int direction) {
  const QList<int> selected = view->selectedCells();
  if (selected.isEmpty()) return;
  const int neighbour = direction < 0 ? selected.first() - 1 : selected.last() + 1;
  if (neighbour >= 0 && neighbour < document->cellCount())
    document->moveCell(neighbour, direction < 0 ? selected.last() : selected.first());
  showCurrent();
}

void NotebookView::makeCode() {
  d_->convertSelected(CellType::code);
}

void NotebookView::makeMarkdown() {
  d_->convertSelected(CellType::markdown);
}

void NotebookView::Private::convertSelected(CellType type) {
  const UndoStep step(document);
  for (const int index : view->selectedCells()) document->setCellType(index, type);
}

bool NotebookView::Private::runSelected() {
  const QList<int> selected = view->selectedCells();
  if (selected.size() < 2) return false;
  QStringList ids;
  for (const int index : selected) {
    const Cell& cell = document->cell(index);
    if (cell.type == CellType::markdown) widgetAt(index)->renderMarkdown();
    if (cell.type == CellType::code && !cell.source.trimmed().isEmpty()) ids << cell.id;
  }
  if (!ids.isEmpty()) emit view->runRequested(ids);
  return true;
}

void NotebookView::clearOutputs() {
  d_->forgetStates(selectedCells());
}

void NotebookView::clearAllOutputs() {
  QList<int> all;
  for (int i = 0; i < d_->document->cellCount(); ++i) all << i;
  d_->forgetStates(all);
}

void NotebookView::Private::forgetStates(const QList<int>& indexes) {
  if (document->locked()) return;
  document->removeOutputs(indexes);
  for (const int index : indexes) {
    const QString id = document->cell(index).id;
    const CellState state = view->cellState(id);
    if (state != CellState::busy && state != CellState::queued && states.contains(id))
      view->setCellState(id, CellState::idle);
  }
}

void NotebookView::cutCells() {
  d_->copySelected(true);
}

void NotebookView::copyCells() {
  d_->copySelected(false);
}

void NotebookView::pasteCells() {
  d_->paste();
}

void NotebookView::Private::copySelected(bool cut) {
  const QList<int> selected = view->selectedCells();
  if (selected.isEmpty() || (cut && document->locked())) return;
  QApplication::clipboard()->setMimeData(new CopiedCells(document->shareCells(selected)));
  if (cut) removeSelected();
}

void NotebookView::Private::paste() {
  if (document->locked()) return;
  QString problem;
  const std::vector<SharedCell> cells = cellsFrom(QApplication::clipboard()->mimeData(), &problem);
  if (cells.empty()) {
    emit view->told(problem);
    return;
  }
  const QList<int> selected = view->selectedCells();
  const int at = selected.isEmpty() ? 0 : selected.last() + 1;
  document->insertCells(at, cells);
  const int last = at + static_cast<int>(cells.size()) - 1;
  view->setFocus();
  selectRange(at, last);
  showCurrent();
}

// ---- split and merge ----

void NotebookView::splitCurrent() {
  const CellWidget* cell = d_->widgetAt(d_->current);
  if (cell == nullptr || d_->document->locked()) return;
  const CodeEditor* editor = cell->editor();
  if (editor == nullptr || editor->isReadOnly()) {
    emit told(editor == nullptr ? QString("Press Enter to edit: the cell is split at the text cursor")
                                : QString("Only a part of this cell's text is shown: show all of it first"));
    return;
  }
  const int index = d_->current;
  const bool editing = d_->editing;
  const auto [start, end] = editor->selectedRange();
  {
    const UndoStep step(d_->document);
    if (end > start && end < d_->document->cell(index).source.size()) d_->document->splitCell(index, end);
    // What is selected from the beginning on has nothing before it.
    if (end == start || start > 0) d_->document->splitCell(index, start);
  }
  setCurrentCell(index + (end == start || start > 0 ? 1 : 0), editing);
  if (CodeEditor* second = d_->widgetAt(d_->current)->editor()) second->setCursorPosition(0, 0);
}

void NotebookView::mergeSelected() {
  const QList<int> selected = selectedCells();
  if (selected.isEmpty() || d_->document->locked()) return;
  const int first = selected.first();
  const int last = selected.size() > 1 ? selected.last() : first + 1;
  if (last >= d_->document->cellCount()) {
    emit told("There is no cell below to merge this one with");
    return;
  }
  const bool editing = d_->editing;
  d_->document->mergeCells(first, last);
  setCurrentCell(first, editing);
}

}  // namespace tapedeck::app
