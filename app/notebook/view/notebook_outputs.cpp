// The menu's actions on the outputs of the current cell.
#include "app/notebook/output/output_area.h"
#include "app/notebook/output/text/text_output.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/notebook_view_private.h"

namespace tapedeck::app {
namespace {

OutputArea* outputsOf(CellWidget* cell) {
  if (cell == nullptr) return nullptr;
  cell->realize();
  return cell->outputs();
}

}  // namespace

void NotebookView::foldOutput() {
  const OutputArea* outputs = outputsOf(d_->widgetAt(d_->current));
  if (outputs == nullptr) return;
  // All of them the same way: one that is unfolded folds all.
  const QList<TextOutput*> texts = outputs->foldingTexts();
  const bool unfolded =
      std::any_of(texts.begin(), texts.end(), [](const TextOutput* text) { return !text->folded(); });
  for (TextOutput* text : texts)
    if (text->folded() != unfolded) text->toggleFold();
}

void NotebookView::enterOutput() {
  const OutputArea* outputs = outputsOf(d_->widgetAt(d_->current));
  TextOutput* text = outputs == nullptr ? nullptr : outputs->longestText();
  if (text == nullptr) return;
  d_->arrange();
  const int top = text->mapTo(d_->column, QPoint(0, 0)).y();
  d_->showRange(top, top + text->height(), 12);
  text->enter();
}

void NotebookView::openOutput() {
  const OutputArea* outputs = outputsOf(d_->widgetAt(d_->current));
  TextOutput* text = outputs == nullptr ? nullptr : outputs->longestText();
  if (text != nullptr) text->openInEditor();
}

}  // namespace tapedeck::app
