// The cells that commands for several cells act on.
#include "app/notebook/view/notebook_view_private.h"

namespace tapedeck::app {

QList<int> NotebookView::selectedCells() const {
  return d_->current < 0 ? QList<int>() : QList<int>{d_->current};
}

}  // namespace tapedeck::app
