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
  std::vector<QLayoutItem*> line;
  int y = room.top(), used = 0, height = 0;
  const auto finish = [&] {
    if (move) placeLine(line, QRect(room.left(), y, room.width(), height), used);
    y += height;
    line.clear();
    used = height = 0;
  };
  for (const auto& item : items_) {
    if (item->isEmpty()) continue;
    const int width = widthOf(*item, room.width());
    if (!line.empty() && used + spacing() + width > room.width()) {
      finish();
      y += spacing();
    }
    used += (line.empty() ? 0 : spacing()) + width;
    height = std::max(height, item->sizeHint().height());
    line.push_back(item.get());
  }
  finish();
  const QMargins margins = contentsMargins();
  return y - room.top() + margins.top() + margins.bottom();
}

int WrappingLayout::widthOf(const QLayoutItem& item, int room) {
  return std::min(item.sizeHint().width(), std::max(room, item.minimumSize().width()));
}

void WrappingLayout::placeLine(const std::vector<QLayoutItem*>& line, const QRect& room, int used) const {
  const auto expands = [](const QLayoutItem* item) {
    return item->expandingDirections().testFlag(Qt::Horizontal);
  };
  auto expanding = static_cast<int>(std::count_if(line.begin(), line.end(), expands));
  int rest = std::max(0, room.width() - used), x = room.left();
  for (QLayoutItem* item : line) {
    int width = widthOf(*item, room.width());
    if (expands(item)) {
      const int more = std::min(rest / expanding--, item->maximumSize().width() - width);
      rest -= std::max(0, more);
      width += std::max(0, more);
    }
    const int height = item->sizeHint().height();
    item->setGeometry(QRect(x, room.top() + (room.height() - height) / 2, width, height));
    x += width + spacing();
  }
}

}  // namespace tapedeck::inspector
