#include "app/notebook/output/block.h"

namespace tapedeck::app {

int Block::heightFor(int width) {
  if (width != cachedWidth_) {
    cachedHeight_ = computeHeight(width);
    cachedWidth_ = width;
  }
  return cachedHeight_;
}

void Block::arrange() {
  if (placed_) return;
  placed_ = true;
  place();
}

void Block::contentsChanged() {
  Block* outermost = this;
  for (QWidget* widget = this; widget != nullptr; widget = widget->parentWidget()) {
    if (auto* block = qobject_cast<Block*>(widget)) {
      block->cachedWidth_ = -1;
      block->placed_ = false;
      outermost = block;
    }
  }
  emit outermost->arrangeNeeded();
}

void Block::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  placed_ = false;
  arrange();
}

}  // namespace tapedeck::app
