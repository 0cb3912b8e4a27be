// The text cursor of a long text: where it goes, and where that is.
#include <QScrollBar>
#include <climits>

#include "app/notebook/output/text/long_text.h"

namespace tapedeck::app {

QTextLine LongText::lineOf(const Place& place) const {
  return layoutOf(place.row).lineForTextPosition(place.column);
}

LongText::Place LongText::lineAway(const Place& from, int direction) const {
  const QTextLine line = lineOf(from);
  if (!line.isValid()) return from;
  const double x = line.cursorToX(from.column);
  const int wanted = line.lineNumber() + direction;
  std::size_t row = from.row;
  const QTextLayout* layout = &layoutOf(row);
  if (wanted >= 0 && wanted < layout->lineCount()) return {row, layout->lineAt(wanted).xToCursor(x)};
  const bool edge = direction < 0 ? row == 0 : row + 1 >= text_.rows();
  if (edge) return {row, direction < 0 ? 0 : static_cast<int>(layout->text().size())};
  row = direction < 0 ? row - 1 : row + 1;
  layout = &layoutOf(row);
  return {row, layout->lineAt(direction < 0 ? layout->lineCount() - 1 : 0).xToCursor(x)};
}

LongText::Place LongText::moved(Place from, CaretMove move) const {
  const QTextLayout& layout = layoutOf(from.row);
  const auto size = static_cast<int>(layout.text().size());
  const auto mode = move == CaretMove::wordLeft || move == CaretMove::wordRight ? QTextLayout::SkipWords
                                                                                : QTextLayout::SkipCharacters;
  switch (move) {
    case CaretMove::left:
    case CaretMove::wordLeft:
      if (from.column > 0) return {from.row, layout.previousCursorPosition(from.column, mode)};
      if (from.row == 0) return from;
      return {from.row - 1, static_cast<int>(layoutOf(from.row - 1).text().size())};
    case CaretMove::right:
    case CaretMove::wordRight:
      if (from.column < size) return {from.row, layout.nextCursorPosition(from.column, mode)};
      return from.row + 1 < text_.rows() ? Place{from.row + 1, 0} : from;
    case CaretMove::up:
    case CaretMove::down:
      return lineAway(from, move == CaretMove::up ? -1 : 1);
    case CaretMove::pageUp:
    case CaretMove::pageDown:
      for (int i = 0; i < verticalScrollBar()->pageStep(); ++i)
        from = lineAway(from, move == CaretMove::pageUp ? -1 : 1);
      return from;
    case CaretMove::lineStart:
      return {from.row, lineOf(from).textStart()};
    case CaretMove::lineEnd: {
      const QTextLine line = lineOf(from);
      const bool last = line.lineNumber() + 1 == layout.lineCount();
      return {from.row, line.textStart() + line.textLength() - (last ? 0 : 1)};
    }
    case CaretMove::start:
      return {};
    case CaretMove::end: {
      const std::size_t last = text_.rows() - 1;
      return {last, static_cast<int>(layoutOf(last).text().size())};
    }
  }
  return from;
}

void LongText::moveCursor(CaretMove move) {
  if (text_.rows() == 0) return;
  // A cursor that was left somewhere out of sight is not what one goes on from.
  const auto [first, last] = rowsInSight();
  if (!hasSelection() && (cursor_.row < first || cursor_.row > last)) anchor_ = cursor_ = {first, 0};
  cursor_ = moved(cursor_, move);
  bringIntoSight(cursor_);
}

double LongText::topOf(std::size_t row) const {
  double y = origin();
  for (std::size_t above = topRow(); above < row; ++above) y += heightOf(above);
  return y;
}

std::pair<std::size_t, std::size_t> LongText::rowsInSight() const {
  std::size_t last = topRow();
  for (double y = origin(); last + 1 < text_.rows(); ++last) {
    y += heightOf(last);
    if (y + heightOf(last + 1) > viewport()->height() + 1) break;
  }
  return {topRow(), last};
}

QRect LongText::cursorRect() const {
  const auto [first, last] = rowsInSight();
  if (text_.rows() == 0 || cursor_.row < first || cursor_.row > last + 1) return {};
  const QTextLine line = lineOf(cursor_);
  if (!line.isValid()) return {};
  const QRectF place(margin + line.cursorToX(cursor_.column), topOf(cursor_.row) + line.y(), 1,
                     line.height());
  return place.toRect().translated(viewport()->pos());
}

/// All of its row, with something around it where it was out of sight.
void LongText::bringIntoSight(const Place& place) {
  const auto [first, last] = rowsInSight();
  if (place.row >= first && place.row <= last) return;
  const bool near = place.row + 1 == first || place.row == last + 1;
  const double room = viewport()->height() - 2 * margin - heightOf(place.row);
  // Behind the last row it scrolls by as much as that takes.
  double above = place.row < first ? (near ? 0 : room / 3) : (near ? room : room / 3);
  std::size_t top = place.row;
  while (top > 0 && heightOf(top - 1) <= above) above -= heightOf(--top);
  verticalScrollBar()->setValue(static_cast<int>(std::min<std::size_t>(top, INT_MAX)));
}

}  // namespace tapedeck::app
