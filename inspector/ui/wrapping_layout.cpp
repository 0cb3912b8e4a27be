#include "inspector/ui/wrapping_layout.h"

#include <algorithm>

namespace tapedeck::inspector {

WrappingLayout::~WrappingLayout() = default;

void WrappingLayout::addItem(QLayoutItem* item) {
  items_.emplace_back(item);
  invalidate();
}

QLayoutItem* WrappingLayout::itemAt(int index) const {
  return index >= 0 && index < count() ? items_[static_cast<std::size_t>(index)].get() : nullptr;
}

QLayoutItem* WrappingLayout::takeAt(int index) {
  if (index < 0 || index >= count()) return nullptr;
  QLayoutItem* item = items_[static_cast<std::size_t>(index)].release();
  items_.erase(items_.begin() + index);
  invalidate();
  return item;
}

QSize WrappingLayout::sizeHint() const {
  QSize size(0, 0);
  for (const auto& item : items_) {
    if (item->isEmpty()) continue;
    const QSize hint = item->sizeHint();
    size = QSize(size.width() + (size.width() > 0 ? spacing() : 0) + hint.width(),
                 std::max(size.height(), hint.height()));
  }
  const QMargins margins = contentsMargins();
  return size.grownBy(margins);
}

QSize WrappingLayout::minimumSize() const {
  QSize size(0, 0);
  for (const auto& item : items_)
    if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
  return size.grownBy(contentsMargins());
}

void WrappingLayout::setGeometry(const QRect& rectangle) {
  QLayout::setGeometry(rectangle);
  place(rectangle, true);
}

int WrappingLayout::place(const QRect& rectangle, bool move) const {
  const QRect room = rectangle.marginsRemoved(contentsMargins());
  int x = room.left(), y = room.top(), line = 0;
  for (const auto& item : items_) {
    if (item->isEmpty()) continue;
    const QSize size(std::min(item->sizeHint().width(), std::max(room.width(), item->minimumSize().width())),
                     item->sizeHint().height());
    if (x > room.left() && x + size.width() > room.left() + room.width()) {
      x = room.left();
      y += line + spacing();
      line = 0;
    }
    if (move) item->setGeometry(QRect(QPoint(x, y), size));
    x += size.width() + spacing();
    line = std::max(line, size.height());
  }
  const QMargins margins = contentsMargins();
  return y + line - room.top() + margins.top() + margins.bottom();
}

}  // namespace tapedeck::inspector
