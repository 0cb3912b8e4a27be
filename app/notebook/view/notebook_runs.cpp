// Which cells a command runs, and what is said of cells that have run.
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/notebook_view_private.h"

namespace tapedeck::app {

void NotebookView::Private::runCells(const QList<int>& indices) {
  QStringList ids;
  for (const int i : indices) {
    const Cell& cell = document->cell(i);
    if (cell.type == CellType::markdown) widgetAt(i)->renderMarkdown();
    if (cell.type == CellType::code && !cell.source.trimmed().isEmpty()) ids += cell.id;
  }
  if (!ids.isEmpty()) emit view->runRequested(ids);
}

void NotebookView::Private::runRange(int begin, int end) {
  QList<int> indices;
  for (int i = std::max(begin, 0); i < end; ++i) indices += i;
  runCells(indices);
}

void NotebookView::runAll() {
  d_->runRange(0, d_->document->cellCount());
}
void NotebookView::runAbove() {
  d_->runRange(0, d_->current);
}
void NotebookView::runToHere() {
  d_->runRange(0, d_->current + 1);
}
void NotebookView::runFromHere() {
  if (d_->current >= 0) d_->runRange(d_->current, d_->document->cellCount());
}
void NotebookView::runSelected() {
  d_->runCells(selectedCells());
}

void NotebookView::setCellMark(const QString& cellId, CellMark mark, const QString& why) {
  if (mark == CellMark::none)
    d_->marks.remove(cellId);
  else
    d_->marks[cellId] = {mark, why};
  if (CellWidget* cell = d_->madeWidgetOf(cellId)) cell->setFreshness(mark, why);
}

CellMark NotebookView::cellMark(const QString& cellId) const {
  return d_->marks.value(cellId).mark;
}

}  // namespace tapedeck::app
