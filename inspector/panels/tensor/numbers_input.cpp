// Mouse and keys of the grid of numbers: selection and scrolling.
#include <algorithm>
#include <cmath>

#include "inspector/panels/tensor/numbers_pane.h"

namespace tapedeck::inspector {

std::optional<CellRange> NumbersPane::selection() const {
  if (!has_selection_) return std::nullopt;
  return CellRange{std::min(anchor_row_, row_), std::min(anchor_column_, column_),
                   std::max(anchor_row_, row_), std::max(anchor_column_, column_)};
}

void NumbersPane::selectAll() {
  if (model_->totalRows() <= 0 || model_->totalColumns() <= 0) return;
  has_selection_ = true;
  anchor_row_ = anchor_column_ = 0;
  row_ = model_->totalRows() - 1;
  column_ = model_->totalColumns() - 1;
  changed_();
}

void NumbersPane::selectCell(std::int64_t row, std::int64_t column) {
  select(row, column, false);
  reveal(row_, column_);
  keys_moved_ = true;
}

bool NumbersPane::cellAt(QPointF at, std::int64_t& row, std::int64_t& column) const {
  const QRectF cells = cellsArea();
  const double down = at.y() - cells.top(), right = at.x() - cells.left();
  if (down < 0 || right < 0) return false;
  // A selection may be dragged beyond the visible part.
  if (drag_ != Drag::cells && !cells.contains(at)) return false;
  row = static_cast<std::int64_t>(std::floor(top_ + down / metrics_.cell_height));
  column = static_cast<std::int64_t>(std::floor(left_ + right / metrics_.cell_width));
  return row < model_->totalRows() && column < model_->totalColumns();
}

void NumbersPane::select(std::int64_t row, std::int64_t column, bool extend) {
  row_ = std::clamp<std::int64_t>(row, 0, std::max<std::int64_t>(model_->totalRows() - 1, 0));
  column_ = std::clamp<std::int64_t>(column, 0, std::max<std::int64_t>(model_->totalColumns() - 1, 0));
  if (!extend || !has_selection_) {
    anchor_row_ = row_;
    anchor_column_ = column_;
  }
  has_selection_ = true;
  changed_();
}

void NumbersPane::reveal(std::int64_t row, std::int64_t column) {
  const auto shifted = [](double first, double visible, std::int64_t at) {
    const auto cell = static_cast<double>(at);
    if (cell < first) return cell;
    return cell + 1 > first + visible ? cell + 1 - visible : first;
  };
  scrollTo(shifted(top_, visibleRows(), row), shifted(left_, visibleColumns(), column));
}

bool NumbersPane::pageTowards(QPointF at) {
  const QRectF cells = cellsArea();
  const bool vertical = at.x() > cells.right() && !thumb(true).isNull();
  const bool horizontal = at.y() > cells.bottom() && !thumb(false).isNull();
  if (vertical == horizontal) return false;
  if (vertical)
    scrollTo(top_ + (at.y() < thumb(true).top() ? -visibleRows() : visibleRows()), left_);
  else
    scrollTo(top_, left_ + (at.x() < thumb(false).left() ? -visibleColumns() : visibleColumns()));
  return true;
}

bool NumbersPane::mousePress(QMouseEvent* event) {
  std::int64_t row = 0, column = 0;
  if (event->button() == Qt::RightButton) {  // the menu that comes is about the cell below the pointer
    const auto range = selection();
    if (cellAt(event->position(), row, column) && !(range && range->contains(row, column)))
      select(row, column, false);
    return false;
  }
  if (event->button() != Qt::LeftButton) return false;
  keys_moved_ = false;
  for (const bool vertical : {true, false}) {
    const QRectF bar = thumb(vertical);
    if (bar.isNull() || !bar.adjusted(-4, -4, 4, 4).contains(event->position())) continue;
    drag_ = vertical ? Drag::vertical : Drag::horizontal;
    drag_offset_ = vertical ? event->position().y() - bar.top() : event->position().x() - bar.left();
    return true;
  }
  if (pageTowards(event->position())) return true;
  if (!cellAt(event->position(), row, column)) return false;
  drag_ = Drag::cells;
  select(row, column, event->modifiers().testFlag(Qt::ShiftModifier));
  return true;
}

bool NumbersPane::mouseMove(QMouseEvent* event) {
  const bool inside = cellAt(event->position(), hovered_row_, hovered_column_);
  if (drag_ == Drag::cells && inside) select(hovered_row_, hovered_column_, true);
  if (drag_ == Drag::vertical || drag_ == Drag::horizontal) {
    const bool vertical = drag_ == Drag::vertical;
    const QRectF bar = thumb(vertical);
    const QRectF cells = cellsArea();
    const double start = vertical ? cells.top() : cells.left();
    const double room = vertical ? cells.height() - bar.height() : cells.width() - bar.width();
    const double at = (vertical ? event->position().y() : event->position().x()) - drag_offset_ - start;
    const double part = room > 0 ? std::clamp(at / room, 0.0, 1.0) : 0;
    if (vertical)
      scrollTo(part * (static_cast<double>(model_->totalRows()) - visibleRows()), left_);
    else
      scrollTo(top_, part * (static_cast<double>(model_->totalColumns()) - visibleColumns()));
  }
  if (!inside) hovered_row_ = hovered_column_ = -1;
  changed_();
  return true;
}

bool NumbersPane::mouseRelease(QMouseEvent*) {
  drag_ = Drag::none;
  changed_();
  return true;
}

void NumbersPane::leave() {
  hovered_row_ = hovered_column_ = -1;
  changed_();
}

bool NumbersPane::wheel(QWheelEvent* event) {
  keys_moved_ = false;
  QPointF notches = QPointF(event->angleDelta()) / 120;
  if (event->modifiers().testFlag(Qt::ShiftModifier)) notches = {notches.y(), notches.x()};
  scrollTo(top_ - notches.y() * 3, left_ - notches.x() * 2);
  return true;
}

bool NumbersPane::key(QKeyEvent* event) {
  if (event->matches(QKeySequence::SelectAll)) {
    selectAll();
    return true;
  }
  const bool extend = event->modifiers().testFlag(Qt::ShiftModifier);
  const bool far = event->modifiers().testFlag(Qt::ControlModifier);
  const auto page = std::max<std::int64_t>(1, static_cast<std::int64_t>(visibleRows()) - 1);
  const std::int64_t last_row = model_->totalRows() - 1, last_column = model_->totalColumns() - 1;
  // Without a selection an arrow selects the first visible cell.
  const bool arrow = event->key() == Qt::Key_Left || event->key() == Qt::Key_Right ||
                     event->key() == Qt::Key_Up || event->key() == Qt::Key_Down;
  if (!has_selection_) {
    row_ = static_cast<std::int64_t>(std::ceil(top_));
    column_ = static_cast<std::int64_t>(std::ceil(left_));
    if (arrow && !far) {
      select(row_, column_, false);
      return true;
    }
  }
  std::int64_t row = row_, column = column_;
  switch (event->key()) {
    case Qt::Key_Left:
      column = far ? 0 : column - 1;
      break;
    case Qt::Key_Right:
      column = far ? last_column : column + 1;
      break;
    case Qt::Key_Up:
      row = far ? 0 : row - 1;
      break;
    case Qt::Key_Down:
      row = far ? last_row : row + 1;
      break;
    case Qt::Key_PageUp:
      row -= page;
      break;
    case Qt::Key_PageDown:
      row += page;
      break;
    case Qt::Key_Home:
      column = 0;
      if (far) row = 0;
      break;
    case Qt::Key_End:
      column = last_column;
      if (far) row = last_row;
      break;
    default:
      return false;
  }
  select(row, column, extend);
  reveal(row_, column_);
  keys_moved_ = true;
  return true;
}

}  // namespace tapedeck::inspector
