// How the view shows what a search found.
#include "app/notebook/output/output_area.h"
#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/static_text.h"
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
  d_->arrange();
  if (cell->outputs() == nullptr || output >= cell->outputs()->count()) return;
  const Block* row = cell->outputs()->row(output);
  QRect place(row->mapTo(d_->column, QPoint()), row->size());
  for (StaticText* shown : row->findChildren<StaticText*>()) {
    QTextCursor cursor(shown->document());
    const int start = static_cast<int>(hit.start);
    if (start + hit.length >= shown->document()->characterCount()) continue;
    cursor.setPosition(start);
    cursor.setPosition(start + static_cast<int>(hit.length), QTextCursor::KeepAnchor);
    if (cursor.selectedText().replace(QChar::ParagraphSeparator, u'\n') != text) continue;
    shown->setTextCursor(cursor);
    QTextCursor begin(shown->document());
    begin.setPosition(start);
    place = shown->cursorRect(begin).translated(shown->viewport()->mapTo(d_->column, QPoint()));
    break;
  }
  if (LongText* scrolling = row->findChild<LongText*>(); scrolling != nullptr && scrolling->isVisible())
    scrolling->showHit(byte, text);
  // Of an output that shows another part, or itself in another form: where it begins.
  place.setHeight(std::min(place.height(), viewport()->height() / 2));
  d_->showRange(place.top(), place.bottom(), 40);
}

void NotebookView::endHits() {
  CellWidget* opened = d_->widgetOf(std::exchange(d_->openedForHit, QString()));
  if (opened != nullptr && !opened->hasEditorFocus()) opened->renderMarkdown();
}

}  // namespace tapedeck::app
