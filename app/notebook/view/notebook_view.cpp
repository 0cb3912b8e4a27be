#include "app/notebook/view/notebook_view.h"

#include <QApplication>
#include <QLineEdit>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <QTimer>
#include <QWheelEvent>

#include "app/notebook/document/script.h"
#include "app/notebook/output/text/input_line.h"
#include "app/notebook/output/text/long_text.h"
#include "app/notebook/view/cell_metrics.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/editor_assistant.h"
#include "app/notebook/view/notebook_view_private.h"
#include "app/notebook/view/select_by_mouse.h"

namespace tapedeck::app {

NotebookView::NotebookView(Document* document, QWidget* parent)
    : QScrollArea(parent), d_(std::make_unique<Private>(this, document)) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  // Always there: a bar that comes and goes would wrap every text anew.
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
  setAccessibleName("Notebook");
  viewport()->setBackgroundRole(QPalette::Base);
  viewport()->setAutoFillBackground(true);
  setWidget(d_->column);
  d_->column->setAutoFillBackground(false);
  connect(d_->column, &Block::arrangeNeeded, this, [this] { d_->requestArrange(); });
  connect(d_->column, &CellColumn::addRequested, this,
          [this](CellType type) { d_->insert(d_->document->cellCount(), type, true); });
  connect(d_->toolbar, &CellToolbar::triggered, this,
          [this](const QString& id, CellAction action) { d_->toolTriggered(id, action); });
  connect(d_->toolbar, &CellToolbar::left, this, [this] { d_->setHovered(d_->hovered, false); });
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, [this] {
    if (d_->arranging) return;
    if (!d_->ownScroll) d_->followsMark = false;
    d_->arrange();
  });
  new SelectByMouse(this, [this](QPoint point) {
    for (int i = 0; i < d_->column->cells.size(); ++i) {
      if (!d_->column->cells[i]->geometry().contains(point)) continue;
      // In the text that is being edited it selects text.
      if (i == d_->current && d_->editing) return false;
      d_->selectTo(i);
      return true;
    }
    return false;
  });
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { d_->focusChanged(now); });
  d_->connectDocument();
  d_->rebuild();
}

NotebookView::~NotebookView() = default;

int NotebookView::currentCell() const {
  return d_->current;
}

void NotebookView::setCurrentCell(int index, bool editing) {
  if (index < 0 || index >= d_->document->cellCount()) return;
  const bool had_focus = isAncestorOf(QApplication::focusWidget()) || hasFocus();
  d_->anchor = nullptr;
  d_->select(index, editing);
  if (editing) {
    d_->widgetAt(index)->edit();
    if (!d_->editing) d_->select(index, true);  // not the active window: no focus event came
  } else if (had_focus || QApplication::focusWidget() == nullptr) {
    setFocus();
  }
  d_->showCurrent();
}

void NotebookView::setCellState(const QString& cellId, CellState state) {
  d_->states[cellId] = state;
  if (state == CellState::busy)
    d_->busy.insert(cellId);
  else
    d_->busy.remove(cellId);
  if (CellWidget* cell = d_->madeWidgetOf(cellId)) {
    const bool input = cell->inputLine() != nullptr && cell->isAncestorOf(QApplication::focusWidget());
    cell->setState(state);
    if (input && cell->inputLine() == nullptr) d_->leaveInput();
  }
  d_->turnOrRest();
}

// Nothing turns beside a cell that waits at its marked line: it does not run, and each turn is painted.
void NotebookView::Private::turnOrRest() {
  if (busy.isEmpty() || markPending) return spinner.stop();
  if (!spinner.isActive()) spinner.start();
}

CellState NotebookView::cellState(const QString& cellId) const {
  return d_->states.value(cellId, CellState::idle);
}

void NotebookView::setPausedLine(const QString& cellId, int line, bool pending) {
  // The session tells its state over and over while it waits: only a new place scrolls.
  if (cellId == d_->markedCell && line == d_->markedLine && pending == d_->markPending) return;
  if (CellWidget* old = d_->madeWidgetOf(d_->markedCell); old != nullptr && d_->markedCell != cellId) {
    old->setMark(0, false);
  }
  d_->markedCell = cellId;
  d_->markedLine = line;
  d_->markPending = pending;
  d_->turnOrRest();
  d_->applyMark();
  CellWidget* cell = d_->widgetOf(cellId);
  if (cell == nullptr || line < 1) return;
  cell->realize();
  d_->arrange();
  d_->showMark();
}

void NotebookView::setBreakpoints(const QString& cellId, const QList<LineBreakpoint>& breakpoints) {
  if (breakpoints.isEmpty())
    d_->breakpoints.remove(cellId);
  else
    d_->breakpoints[cellId] = breakpoints;
  if (CellWidget* cell = d_->madeWidgetOf(cellId)) cell->setBreakpoints(breakpoints);
}

std::pair<QString, int> NotebookView::currentLine() const {
  const CellWidget* cell = d_->widgetAt(d_->current);
  if (cell == nullptr || cell->cell().type != CellType::code || cell->editor() == nullptr) return {};
  int line = 0;
  int column = 0;
  cell->editor()->getCursorPosition(&line, &column);
  return {cell->id(), line + 1};
}

void NotebookView::goToLine(const QString& cellId, int line) {
  const int index = d_->document->indexOf(cellId);
  if (index < 0) return;
  setCurrentCell(index, true);
  if (CodeEditor* editor = d_->widgetAt(index)->editor()) editor->setCursorPosition(line - 1, 0);
}

void NotebookView::askInput(const QString& cellId, const QString& prompt, bool password) {
  CellWidget* cell = d_->widgetOf(cellId);
  if (cell == nullptr) return;
  const bool here = hasFocus() || isAncestorOf(QApplication::focusWidget());
  cell->realize();
  cell->askInput(prompt, password);
  d_->arrange();
  // A user who works in another panel keeps the focus there.
  if (here || QApplication::focusWidget() == nullptr) {
    d_->focusBeforeInput = here ? QApplication::focusWidget() : nullptr;
    cell->inputLine()->field()->setFocus();
  }
  const int bottom = cell->y() + cell->height();
  d_->showRange(bottom - cell->inputLine()->height(), bottom, 8);
}

void NotebookView::showCompletions(quint64 request, const QStringList& matches, int start, int end) {
  d_->assistant->showCompletions(request, matches, start, end);
}

void NotebookView::showHelp(quint64 request, const QString& text) {
  d_->assistant->showHelp(request, text);
}

void NotebookView::setClosesBrackets(bool on) {
  d_->closesBrackets = on;
  for (CellWidget* cell : std::as_const(d_->column->cells))
    if (cell->editor() != nullptr) cell->editor()->setClosesBrackets(on);
}

void NotebookView::setWrapsCode(bool on) {
  if (d_->wrapsCode == on) return;
  d_->wrapsCode = on;
  d_->retheme();
}

void NotebookView::setCompletesWhileTyping(bool on) {
  d_->assistant->setCompletesWhileTyping(on);
}

void NotebookView::showHeading(int index, const QString& text) {
  CellWidget* cell = d_->widgetAt(index);
  if (cell == nullptr) return;
  cell->realize();
  d_->arrange();
  verticalScrollBar()->setValue(cell->y() + cell->yOfText(text) - cell_metrics::top_of_notebook(d_->theme));
}

// ---- the menu's actions ----

void NotebookView::runCurrent() {
  if (d_->runSelected()) return;
  const int index = d_->current;
  d_->runCell(index);
  if (index >= 0 && index < d_->document->cellCount()) setCurrentCell(index, false);
}

void NotebookView::runCurrentAndAdvance() {
  const QList<int> selected = selectedCells();
  const int index = selected.isEmpty() ? -1 : selected.last();
  if (!d_->runSelected()) d_->runCell(index);
  if (index + 1 >= d_->document->cellCount()) {
    if (isScript(d_->document->path())) return;  // running a program changes nothing in its file
    d_->insert(d_->document->cellCount(), CellType::code, true);
  } else {
    setCurrentCell(index + 1, false);
  }
}

void NotebookView::insertAbove() {
  d_->insert(std::max(0, d_->current), CellType::code, false);
}
void NotebookView::insertBelow() {
  d_->insert(d_->current + 1, CellType::code, false);
}
void NotebookView::zoomIn() {
  d_->zoom = std::min(d_->zoom + 1, 20);
  d_->retheme();
}

void NotebookView::zoomOut() {
  d_->zoom = std::max(d_->zoom - 1, -5);
  d_->retheme();
}

void NotebookView::resetZoom() {
  if (d_->zoom == 0) return;
  d_->zoom = 0;
  d_->retheme();
}

// ---- events ----

bool NotebookView::event(QEvent* event) {
  // In the notebook Shift+Enter and Ctrl+Enter are Jupyter's keys, wherever in it the focus is; the menu's
  // entries of the same keys act from elsewhere.
  if (event->type() == QEvent::ShortcutOverride) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const auto modifiers = key->modifiers() & ~Qt::KeypadModifier;
    const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    if (enter && (modifiers == Qt::ShiftModifier || modifiers == Qt::ControlModifier)) {
      event->accept();
      return true;
    }
    // A long output has a search of its own.
    if (key->matches(QKeySequence::Find) && qobject_cast<LongText*>(QApplication::focusWidget()) != nullptr) {
      event->accept();
      return true;
    }
  }
  return QScrollArea::event(event);
}

void NotebookView::keyPressEvent(QKeyEvent* event) {
  if (d_->commandKey(*event)) {
    event->accept();
  } else {
    event->ignore();
  }
}

void NotebookView::resizeEvent(QResizeEvent* event) {
  // Panels come when a cell stops or draws a curve: the line where it stopped stays visible, else the
  // current cell. On the way the view may be too low for a line, so what was scrolled to counts as seen.
  const int top = verticalScrollBar()->value();
  const int bottom = top + event->oldSize().height();
  const auto [mark, end] = d_->markRange();
  const bool seen = mark < end && (d_->followsMark || (mark >= top && end <= bottom));
  const CellWidget* cell = d_->widgetAt(d_->current);
  const bool cell_seen = cell != nullptr && cell->y() < bottom && cell->y() + cell->height() > top;
  {
    const QScopedValueRollback own(d_->ownScroll, true);
    QScrollArea::resizeEvent(event);
    d_->arrange();
  }
  if (seen) {
    d_->showMark();
    // Once texts have their heights at the new width.
    QTimer::singleShot(0, this, [this] {
      if (d_->followsMark) d_->showMark();
    });
  } else if (cell_seen) {
    d_->showCurrent();
  }
}

void NotebookView::showEvent(QShowEvent* event) {
  QScrollArea::showEvent(event);
  d_->arrange();
}

void NotebookView::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) d_->retheme();
}

void NotebookView::wheelEvent(QWheelEvent* event) {
  if (event->modifiers() == Qt::ControlModifier && event->angleDelta().y() != 0) {
    event->angleDelta().y() > 0 ? zoomIn() : zoomOut();
    event->accept();
    return;
  }
  QScrollArea::wheelEvent(event);
}

bool NotebookView::focusNextPrevChild(bool next) {
  // Tab leaves the notebook; cells are reached by the arrow keys. QScrollArea would go through every text.
  return QAbstractScrollArea::focusNextPrevChild(next);
}

}  // namespace tapedeck::app
