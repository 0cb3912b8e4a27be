#include "app/shell/panels/panel_frame.h"

#include <QAccessibleWidget>
#include <QResizeEvent>

namespace tapedeck::app {
namespace {

class AccessibleFrame : public QAccessibleWidget {
 public:
  explicit AccessibleFrame(PanelFrame* frame) : QAccessibleWidget(frame) {}
  int childCount() const override { return inSight() ? QAccessibleWidget::childCount() : 0; }
  QAccessibleInterface* child(int index) const override {
    return inSight() ? QAccessibleWidget::child(index) : nullptr;
  }
  QAccessibleInterface* childAt(int x, int y) const override {
    return inSight() ? QAccessibleWidget::childAt(x, y) : nullptr;
  }
  QAccessible::State state() const override {
    QAccessible::State state = QAccessibleWidget::state();
    if (!inSight()) state.invisible = state.offscreen = true;
    return state;
  }

 private:
  bool inSight() const { return static_cast<PanelFrame*>(widget())->inSight(); }
};

QAccessibleInterface* makeFrame(const QString&, QObject* object) {
  auto* frame = dynamic_cast<PanelFrame*>(object);
  return frame ? new AccessibleFrame(frame) : nullptr;
}

void exposeFrames() {
  [[maybe_unused]] static const bool installed = [] {
    QAccessible::installFactory(makeFrame);
    return true;
  }();
}

}  // namespace

PanelFrame::PanelFrame(QWidget* panel, QSize minimum) : panel_(panel), minimum_(minimum) {
  exposeFrames();
  panel->setParent(this);
  panel->show();
  setFocusProxy(panel);
}

bool PanelFrame::inSight() const {
  return window()->rect().intersects(QRect(mapTo(window(), QPoint()), size()));
}

void PanelFrame::resizeEvent(QResizeEvent* event) {
  panel_->setGeometry(QRect(QPoint(0, 0), event->size()));
}

}  // namespace tapedeck::app
