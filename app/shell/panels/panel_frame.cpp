#include "app/shell/panels/panel_frame.h"

#include <QResizeEvent>

namespace tapedeck::app {

PanelFrame::PanelFrame(QWidget* panel, QSize minimum) : panel_(panel), minimum_(minimum) {
  panel->setParent(this);
  panel->show();
  setFocusProxy(panel);
}

void PanelFrame::resizeEvent(QResizeEvent* event) {
  panel_->setGeometry(QRect(QPoint(0, 0), event->size()));
}

}  // namespace tapedeck::app
