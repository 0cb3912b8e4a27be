// The view's cells: made, placed and kept in step with the document.
#include <QApplication>
#include <QScopedValueRollback>
#include <QScrollBar>

#include "app/notebook/view/cell_metrics.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/editor_assistant.h"
#include "app/notebook/view/notebook_view_private.h"

namespace tapedeck::app {
namespace {

constexpr int spinner_interval = 60;
/// Cells this far outside the window are made as well, so that a line of scrolling shows no new work.
constexpr int lookahead = 300;
/// Cells created per turn of the event loop: enough for the tallest screen, few enough to keep
/// the window answering.
constexpr qsizetype made_at_once = 100;

}  // namespace

NotebookView::Private::Private(NotebookView* notebook_view, Document* notebook)
    : view(notebook_view),
      document(notebook),
      theme(NotebookTheme::of(notebook_view->palette(), 0)),
      outputUpdates(nullptr),
      macros(notebook) {
  column = new CellColumn(theme, view);
  toolbar = new CellToolbar(theme, column);
  toolbar->hide();
  assistant = new EditorAssistant(theme, view);
  QObject::connect(assistant, &EditorAssistant::completionRequested, view,
                   &NotebookView::completionRequested);
  QObject::connect(assistant, &EditorAssistant::completionWhileTyping, view,
                   &NotebookView::completionWhileTyping);
  assistant->sources = [this] {
    QStringList sources;
    for (int i = 0; i < document->cellCount(); ++i)
      if (document->cell(i).type == CellType::code) sources << document->cell(i).source;
    return sources;
  };
  QObject::connect(assistant, &EditorAssistant::helpRequested, view, &NotebookView::helpRequested);
  spinner.setInterval(spinner_interval);
  QObject::connect(&spinner, &QTimer::timeout, view, [this] {
    angle = (angle + 24) % 360;
    for (const QString& id : std::as_const(busy))
      if (CellWidget* cell = madeWidgetOf(id)) cell->turnSpinner(angle);
  });
  making.setInterval(0);
  QObject::connect(&making, &QTimer::timeout, view, [this] { makeMore(); });
}

void NotebookView::Private::connectDocument() {
  QObject::connect(document, &Document::reset, view, [this] { rebuild(); });
  QObject::connect(document, &Document::cellInserted, view, [this](int index) { inserted(index); });
  QObject::connect(document, &Document::cellRemoved, view, [this](int index) { removed(index); });
  QObject::connect(document, &Document::cellMoved, view, [this](int from, int to) { moved(from, to); });
  QObject::connect(document, &Document::cellChanged, view, [this](int index) {
    if (CellWidget* cell = madeWidgetOf(document->cell(index).id)) cell->sourceChanged();
    placeToolbar();
  });
  QObject::connect(document, &Document::outputEdited, view, [this](int index, const OutputChange& change) {
    outputUpdates.add(document->cell(index).id, change);
  });
  QObject::connect(&macros, &NotebookMacros::changed, view, [this] {
    for (CellWidget* cell : column->cells) cell->updateMacros();
  });
  QObject::connect(&outputUpdates, &OutputUpdates::due, view,
                   [this](const QString& id, const OutputNews& news) {
                     if (CellWidget* cell = madeWidgetOf(id)) cell->outputsChanged(news);
                   });
}

// ---- made and removed ----

CellWidget* NotebookView::Private::makeCellWidget(const QString& id, int number) {
  auto* cell = new CellWidget(document, id, theme, column);
  QObject::connect(cell, &CellWidget::sourceEdited, view, [this, id](const QString& source) {
    const int at = document->indexOf(id);
    if (at >= 0) document->setSource(at, source);
  });
  QObject::connect(cell, &CellWidget::pressed, view, [this, cell] {
    anchor = nullptr;
    select(indexOf(cell), false);
    view->setFocus();
  });
  QObject::connect(cell, &CellWidget::editRequested, view,
                   [this, cell] { view->setCurrentCell(indexOf(cell), true); });
  QObject::connect(cell, &CellWidget::inputGiven, view,
                   [this, cell](const QString& text) { giveInput(cell, text); });
  QObject::connect(cell, &CellWidget::placeClicked, view,
                   [this](int execution, int line) { goTo(execution, line); });
  QObject::connect(cell, &CellWidget::hovered, view, [this, id](bool inside) { setHovered(id, inside); });
  QObject::connect(cell, &CellWidget::editorMade, view,
                   [this, cell](CodeEditor* editor) { connectEditor(cell, editor); });
  cell->setMacros(&macros);
  cell->setNumber(number);
  cell->setState(states.value(id, CellState::idle));
  if (const auto mark = marks.constFind(id); mark != marks.constEnd())
    cell->setFreshness(mark->mark, mark->why);
  if (id == markedCell) cell->setMark(markedLine, markPending);
  cell->setBreakpoints(breakpoints.value(id));
  return cell;
}

void NotebookView::Private::connectEditor(CellWidget* cell, CodeEditor* editor) {
  const QString id = cell->id();
  QObject::connect(editor, &CodeEditor::lineClicked, view,
                   [this, id](int line) { emit view->lineClicked(id, line); });
  QObject::connect(editor, &CodeEditor::breakpointsMoved, view, &NotebookView::breakpointsMoved);
  QObject::connect(editor, &CodeEditor::commandGiven, view,
                   [this, cell](EditorCommand command) { editorKey(cell, command); });
  QObject::connect(editor, &CodeEditor::typed, view, [this] { assistant->hideHelp(); });
  // The line with the text cursor stays visible while the user types.
  QObject::connect(editor, &QsciScintilla::cursorPositionChanged, view, [this, editor](int, int) {
    if (!editor->hasFocus() || arranging) return;
    if (arrangeWanted) arrange();
    const int top = editor->mapTo(column, QPoint(0, editor->yOfCursor())).y();
    showRange(top, top + editor->lineHeight(), 12);
  });
  QObject::connect(editor, &CodeEditor::lettersTyped, view,
                   [this, editor] { assistant->lettersTyped(editor); });
  editor->setClosesBrackets(closesBrackets);
  editor->setHits(hits.value(id));
  editor->undoFilter = [this, cell](bool redo) {
    const int index = indexOf(cell);
    if (index < 0 || !document->undoesText(index, redo)) return false;
    redo ? document->redoStructure() : document->undoStructure();
    return true;
  };
  editor->keyFilter = [this](QKeyEvent* event) { return assistant->handleKey(event); };
}

void NotebookView::Private::rebuild() {
  for (CellWidget* cell : column->cells) {
    cell->hide();
    cell->deleteLater();
  }
  column->cells.clear();
  order.clear();
  making.stop();
  states.clear();
  busy.clear();
  marks.clear();
  spinner.stop();
  outputUpdates.clear();
  markedCell.clear();
  hovered.clear();
  current = -1;
  editing = false;
  for (int i = 0; i < document->cellCount(); ++i) order << document->cell(i).id;
  making.start();
  makeMore();
  column->setGrows(!document->locked());
  column->contentsChanged();
  view->verticalScrollBar()->setValue(0);
  if (document->cellCount() > 0) select(0, false);
}

// From the order of when the making began: whatever the document does meanwhile is done to all of them.
void NotebookView::Private::makeCells(qsizetype count) {
  const qsizetype made = column->cells.size();
  for (qsizetype i = made; i < std::min(count, order.size()); ++i) {
    CellWidget* cell = makeCellWidget(order[i], static_cast<int>(i) + 1);
    if (view->isVisible()) column->placeAtEnd(cell);
    column->cells += cell;
    cell->show();
  }
  if (column->cells.size() >= order.size()) {
    order.clear();
    making.stop();
  }
  if (column->cells.size() > made) column->contentsChanged();
}

void NotebookView::Private::makeMore() {
  makeCells(column->cells.size() + made_at_once);
}

CellWidget* NotebookView::Private::widgetAt(int index) {
  makeCells(index + 1);
  return column->cells.value(index);
}

CellWidget* NotebookView::Private::widgetOf(const QString& cellId) {
  return cellId.isEmpty() ? nullptr : widgetAt(document->indexOf(cellId));
}

CellWidget* NotebookView::Private::madeWidgetOf(const QString& cellId) const {
  return cellId.isEmpty() ? nullptr : column->cells.value(document->indexOf(cellId));
}

int NotebookView::Private::indexOf(const CellWidget* cell) const {
  return static_cast<int>(column->cells.indexOf(const_cast<CellWidget*>(cell)));
}

void NotebookView::Private::renumber() {
  for (int i = 0; i < column->cells.size(); ++i) column->cells[i]->setNumber(i + 1);
}

void NotebookView::Private::inserted(int index) {
  makeAllCells();
  column->cells.insert(index, makeCellWidget(document->cell(index).id, index + 1));
  column->cells[index]->show();
  if (current >= index) ++current;
  lastInserted = index;
  renumber();
  column->contentsChanged();
  if (current < 0) select(index, false);
}

void NotebookView::Private::removed(int index) {
  makeAllCells();
  CellWidget* cell = column->cells.takeAt(index);
  const bool was_current = index == current;
  const bool had_focus = cell->isAncestorOf(QApplication::focusWidget());
  if (current > index) --current;
  if (was_current) {
    current = -1;
    editing = false;
  }
  states.remove(cell->id());
  busy.remove(cell->id());
  if (hovered == cell->id()) hovered.clear();
  // The focus moves first: hiding the widget that has it would pass it to the next one.
  if (had_focus) view->setFocus();
  cell->disconnect(view);
  cell->hide();
  cell->deleteLater();
  renumber();
  column->contentsChanged();
  if (was_current) {
    const int next = std::min<int>(index, static_cast<int>(column->cells.size()) - 1);
    if (next >= 0) {
      select(next, false);
    } else {
      emit view->currentCellChanged(-1);
    }
  }
  placeToolbar();
}

void NotebookView::Private::moved(int from, int to) {
  makeAllCells();
  CellWidget* selected = widgetAt(current);
  column->cells.move(from, to);
  renumber();
  current = selected == nullptr ? -1 : indexOf(selected);
  column->contentsChanged();
  arrange();
  emit view->currentCellChanged(current);
}

void NotebookView::Private::retheme() {
  // Where the window's letters are larger than the program's, so are the notebook's.
  const int larger = view->font().pointSize() - QApplication::font().pointSize();
  theme = NotebookTheme::of(view->palette(), zoom + larger);
  theme.icons = view->font().pointSizeF() / QApplication::font().pointSizeF();
  theme.wrapsCode = wrapsCode;
  column->setTheme(theme);
  toolbar->setTheme(theme);
  assistant->setTheme(theme);
  for (CellWidget* cell : column->cells) cell->setTheme(theme);
  column->contentsChanged();
  arrange();
}

void NotebookView::Private::applyMark() {
  if (CellWidget* cell = madeWidgetOf(markedCell)) cell->setMark(markedLine, markPending);
}

// ---- placed ----

void NotebookView::Private::requestArrange() {
  if (arranging || arrangeWanted) return;
  arrangeWanted = true;
  QMetaObject::invokeMethod(
      view,
      [this] {
        if (arrangeWanted) arrange();
      },
      Qt::QueuedConnection);
}

void NotebookView::Private::arrange() {
  arrangeWanted = false;
  if (arranging || !view->isVisible()) return;
  arranging = true;
  QScrollBar* bar = view->verticalScrollBar();
  const int window = view->viewport()->height();
  // What the eye is on stays where it is: the current cell where it is visible, else the one that stopped,
  // else the first cell that begins in the window.
  const auto inSight = [&](const CellWidget* cell) {
    return cell != nullptr && cell->height() > 0 && cell->y() < bar->value() + window &&
           cell->y() + cell->height() > bar->value();
  };
  CellWidget* anchor = nullptr;
  for (CellWidget* cell : {widgetAt(current), madeWidgetOf(markedCell)})
    if (anchor == nullptr && inSight(cell)) anchor = cell;
  for (CellWidget* cell : column->cells) {
    if (anchor == nullptr && inSight(cell) && cell->y() >= bar->value()) anchor = cell;
  }
  const int offset = anchor == nullptr ? 0 : anchor->y() - bar->value();
  bool again = true;
  while (again) {
    const int width = view->viewport()->width();
    column->resize(width, column->heightFor(width));
    column->arrange();
    if (anchor != nullptr) bar->setValue(anchor->y() - offset);
    again = false;
    for (CellWidget* cell : column->cells) {
      const bool near = cell->y() < bar->value() + window + lookahead &&
                        cell->y() + cell->height() > bar->value() - lookahead;
      if (!near || cell->realized()) continue;
      cell->realize();
      again = true;
    }
  }
  arranging = false;
  placeToolbar();
}

void NotebookView::Private::showRange(int top, int bottom, int margin) {
  QScrollBar* bar = view->verticalScrollBar();
  const int window = view->viewport()->height();
  if (top - margin < bar->value()) {
    bar->setValue(top - margin);
  } else if (bottom + margin > bar->value() + window) {
    bar->setValue(std::min(bottom + margin - window, top - std::min(margin, top)));
  }
}

std::pair<int, int> NotebookView::Private::markRange() const {
  const CellWidget* cell = madeWidgetOf(markedCell);
  if (cell == nullptr || cell->editor() == nullptr || markedLine < 1) return {};
  const int top = cell->editor()->mapTo(column, QPoint(0, cell->editor()->yOfLine(markedLine))).y();
  return {top, top + cell->editor()->lineHeight()};
}

void NotebookView::Private::showMark() {
  const auto [top, end] = markRange();
  if (top >= end) return;
  const QScopedValueRollback own(ownScroll, true);
  showRange(top, end, 3 * (end - top));
  followsMark = true;
}

void NotebookView::Private::showCurrent() {
  CellWidget* cell = widgetAt(current);
  if (cell == nullptr || !view->isVisible()) return;
  arrange();
  // Making the cells on the way changes heights: look again until it is where it should be.
  for (int i = 0; i < 4; ++i) {
    const int before = view->verticalScrollBar()->value();
    const int window = view->viewport()->height();
    const bool tall = cell->height() > window - 2 * cell_metrics::top_of_notebook(theme);
    if (tall && cell->y() < before + window / 2 && cell->y() + cell->height() > before + window / 2) break;
    showRange(cell->y(), cell->y() + cell->height(), cell_metrics::top_of_notebook(theme));
    if (view->verticalScrollBar()->value() == before) break;
  }
}

void NotebookView::Private::placeToolbar() {
  CellWidget* cell = toolbar->entered() ? nullptr : madeWidgetOf(hovered);
  if (cell == nullptr) cell = widgetAt(current);
  if (cell == nullptr || document->locked()) {
    toolbar->hide();
    return;
  }
  const int index = indexOf(cell);
  toolbar->setCell(cell->id(), cell->cell().type, index == 0, index + 1 == document->cellCount());
  // Between this cell and the one above, where no text is.
  const int x = cell->width() - toolbar->width() - cell_metrics::right;
  toolbar->move(std::max(0, x), cell->y() + cell_metrics::above - toolbar->height());
  toolbar->show();
  toolbar->raise();
}

void NotebookView::Private::setHovered(const QString& cellId, bool inside) {
  const QPoint mouse = column->mapFromGlobal(QCursor::pos());
  if (inside) {
    hovered = cellId;
  } else if (hovered == cellId && !(toolbar->isVisible() && toolbar->geometry().contains(mouse))) {
    hovered.clear();
  }
  placeToolbar();
}

}  // namespace tapedeck::app
