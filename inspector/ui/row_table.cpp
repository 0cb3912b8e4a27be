#include "inspector/ui/row_table.h"

#include <QHeaderView>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollBar>
#include <algorithm>

#include "inspector/ui/follow_font.h"

namespace tapedeck::inspector {

RowTable::RowTable(QWidget* parent) : QTableView(parent) {
  setSelectionBehavior(SelectRows);
  setSelectionMode(SingleSelection);
  setEditTriggers(NoEditTriggers);
  setShowGrid(false);
  setWordWrap(false);
  setTabKeyNavigation(false);
  setHorizontalScrollMode(ScrollPerPixel);
  setCornerButtonEnabled(false);
  // One height for all rows, so that a million of them need no measuring.
  verticalHeader()->hide();
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setMinimumSectionSize(1);
  followFont(this, [this] { verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6); });
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setStretchLastSection(true);
  horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
}

void RowTable::setPlaceholder(const QString& text) {
  if (text == placeholder_) return;
  placeholder_ = text;
  viewport()->update();
}

QModelIndex RowTable::moveCursor(CursorAction action, Qt::KeyboardModifiers modifiers) {
  const int rows = model() ? model()->rowCount() : 0;
  if (rows == 0) return {};
  const QModelIndex at = currentIndex();
  const int column = std::max(at.column(), 0);
  switch (action) {
    case MoveHome:
      return model()->index(0, column);
    case MoveEnd:
      return model()->index(rows - 1, column);
    case MoveLeft:
    case MoveRight: {
      QScrollBar* bar = horizontalScrollBar();
      bar->setValue(bar->value() + (action == MoveLeft ? -40 : 40));
      return at;
    }
    default:
      return QTableView::moveCursor(action, modifiers);
  }
}

void RowTable::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  const int top = currentIndex().isValid() ? rowViewportPosition(currentIndex().row()) : viewport()->height();
  in_sight_ = top < viewport()->height() && top + verticalHeader()->defaultSectionSize() > 0;
  if (placeholder_.isEmpty() || (model() && model()->rowCount() > 0)) return;
  QPainter painter(viewport());
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(viewport()->rect().adjusted(16, 16, -16, -16), Qt::AlignCenter | Qt::TextWordWrap,
                   placeholder_);
}

// The current row stays visible if it was when last drawn: on the way to its size a table may be as low as
// its header.
void RowTable::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  if (in_sight_ && currentIndex().isValid()) scrollTo(currentIndex().siblingAtColumn(0));
}

}  // namespace tapedeck::inspector
