// How the view shows what a search found.
#include "app/notebook/output/output_area.h"
#include "app/notebook/output/output_hits.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view_private.h"

namespace tapedeck::app {

void NotebookView::setHits(const QString& cellId, const SourceHits& hits) {
  if (hits.hits.isEmpty())
    d_->hits.remove(cellId);
  else
    d_->hits[cellId] = hits;
  const CellWidget* cell = d_->madeWidgetOf(cellId);
  if (cell != nullptr && cell->editor() != nullptr) cell->editor()->setHits(hits);
}

void NotebookView::showSourceHit(const QString& cellId, const TextHit& hit, bool enter) {
  CellWidget* cell = d_->widgetOf(cellId);
  if (cell == nullptr) return;
  if (cellId != d_->openedForHit) endHits();
  cell->realize();
  if (!cell->showsSource()) {
    cell->showSource();
    d_->openedForHit = cellId;
  }
  cell->showWholeSource();
  d_->arrange();
  CodeEditor* editor = cell->editor();
  if (enter) {
    setCurrentCell(d_->document->indexOf(cellId), true);
    editor->selectHit(hit);
    d_->openedForHit.clear();
  }
  const int top = editor->mapTo(d_->column, QPoint(0, editor->showHit(hit))).y();
  d_->showRange(top, top + editor->lineHeight(), 3 * editor->lineHeight());
}

void NotebookView::showOutputHit(const QString& cellId, int output, const TextHit& hit, const QString& text,
                                 std::size_t byte) {
  CellWidget* cell = d_->widgetOf(cellId);
  if (cell == nullptr) return;
  endHits();
  cell->realize();
  if (cell->outputs() == nullptr) return;
  cell->outputs()->showRow(output);
  d_->arrange();
  if (output >= cell->outputs()->count()) return;
  Block* row = cell->outputs()->row(output);
  d_->hitOutput = row;
  QRect place = showHitIn(*row, hit, text, byte);
  d_->arrange();  // what was unfolded is taller
  // Of an output that shows itself in another form: where it begins.
  if (place.isEmpty()) place = QRect(0, 0, 1, std::min(row->height(), viewport()->height() / 2));
  place.translate(row->mapTo(d_->column, QPoint()));
  d_->showRange(place.top(), place.bottom(), 40);
}

void NotebookView::endHits() {
  if (Block* output = std::exchange(d_->hitOutput, nullptr)) endHitIn(*output);
  CellWidget* opened = d_->widgetOf(std::exchange(d_->openedForHit, QString()));
  if (opened != nullptr && !opened->hasEditorFocus()) opened->renderMarkdown();
}

}  // namespace tapedeck::app
